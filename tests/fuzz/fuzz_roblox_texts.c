/*
 * Any bytes as a file of a chunk, the first byte saying which one: what is refused names a line, or
 * is raw.bin; what is accepted reads back, and what is read back changes nothing.
 */
#include <errno.h>

#include "../lib/place_case.h"
#include "formats/cells/cells.h"
#include "fuzz.h"

/* Edge 2, every record form. */
static const char chunk[] = "01 01 000000 000000 000000 000000 02 48 00 81 02 c6 64 00 ff 80 01";

/* Arrays stand behind the texts, and no refusal of one names a line. */
static unsigned count_texts(void)
{
    unsigned count = 0;

    while ((tfs_rbx_tree.chunk.files[count].views & TFS_VIEWS_ARRAYS) == 0)
        count++;
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct tfs_key key = {0};
    struct tfs_error err = {0};
    struct tfs_put put = {.fresh = size > 0 && data[0] >= 128};
    struct tree_files c;

    if (size == 0)
        return 0;
    const struct tfs_file *file = &tfs_rbx_tree.chunk.files[data[0] % count_texts()];
    place_open_hex(&c, chunk);
    if (place_put(&c, file->lens, key, (struct tfs_span){data + 1, size - 1}, &put, &err) < 0) {
        REQUIRE(err.code == -EBADMSG && err.text[0] != '\0');
        REQUIRE(err.line > 0 || (file->flags & TFS_FILE_RAW) != 0);
    } else {
        const struct tfs_doc *doc = c.doc;
        struct maker_bytes text = place_get(&c, file->lens, key);
        REQUIRE(tfs_cells_check(c.save, c.doc, key, NULL, &err) == 0);
        put = (struct tfs_put){0};
        REQUIRE(place_put(&c, file->lens, key, place_span(&text), &put, &err) == 0);
        REQUIRE(c.doc == doc);
        maker_release(&text);
    }
    tree_files_close(&c);
    return 0;
}

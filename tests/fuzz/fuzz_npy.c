/*
 * Any bytes as an array of a chunk, the first byte saying which one, and whether it was made from
 * what the chunk shows now: what is accepted leaves a chunk that decodes, reads back, and is no
 * change the second time.
 */
#include <errno.h>

#include "../lib/place_case.h"
#include "formats/cells/cells.h"
#include "fuzz.h"

/* Edge 2, every record form. */
static const char chunk[] = "01 01 000000 000000 000000 000000 02 48 00 81 02 c6 64 00 ff 80 01";

static const struct tfs_file *array_file(unsigned number)
{
    unsigned first = 0;

    while ((tfs_rbx_tree.chunk.files[first].views & TFS_VIEWS_ARRAYS) == 0)
        first++;
    return &tfs_rbx_tree.chunk.files[first + number % (tfs_rbx_tree.chunk.count - first)];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct tfs_key key = {0};
    struct tfs_error err = {0};
    struct tfs_put put = {0};
    struct tree_files c;

    if (size == 0)
        return 0;
    const struct tfs_file *file = array_file(data[0] & 0x7f);
    place_open_hex(&c, chunk);
    struct maker_bytes before = place_get(&c, file->lens, key);
    if (data[0] >= 128)
        put.original = place_span(&before);
    if (place_put(&c, file->lens, key, (struct tfs_span){data + 1, size - 1}, &put, &err) < 0) {
        REQUIRE(err.code == -EBADMSG && err.text[0] != '\0');
    } else {
        const struct tfs_doc *doc = c.doc;
        struct maker_bytes after = place_get(&c, file->lens, key);
        REQUIRE(tfs_cells_check(c.save, c.doc, key, NULL, &err) == 0);
        put = (struct tfs_put){0};
        REQUIRE(place_put(&c, file->lens, key, place_span(&after), &put, &err) == 0);
        REQUIRE(c.doc == doc);
        maker_release(&after);
    }
    maker_release(&before);
    tree_files_close(&c);
    return 0;
}

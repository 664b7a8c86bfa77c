/*
 * Any bytes as a terrain file: what opens shows all its files, writing one back is no edit, and it
 * encodes to the very bytes it came from; what does not open is refused with a sentence.
 */
#include <errno.h>

#include "../lib/tree_files.h"
#include "formats/beamng/beamng.h"
#include "fuzz.h"

/* Writing back what was read changes nothing. */
static void check_file(void *arg, const char *path)
{
    struct tree_files *t = arg;
    struct tfs_buf text = {0};
    uint64_t version = t->doc->version;

    REQUIRE(tree_files_get(t, path, &text) == 0);
    if (tree_files_writable(t, path)) {
        REQUIRE(tree_files_put(t, path, tfs_buf_span(&text)) == 0);
        REQUIRE(t->doc->version == version);
    }
    tfs_buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfs_span bytes = {data, size};
    struct tfs_buf back = {0};
    struct tree_files t;
    int result = tree_files_open(&t, &tfs_beamng_ter, "/nowhere/fuzz.ter", bytes);

    if (result < 0) {
        REQUIRE(result == -EBADMSG || result == -ENOTSUP || result == -EFBIG);
        REQUIRE(t.err.code == result && t.err.text[0] != '\0');
        return 0;
    }
    tree_files_encode(&t, &back);
    REQUIRE(tfs_span_equal(tfs_buf_span(&back), bytes));
    if (t.doc->count <= 4 && size < 65536)
        tree_files_walk(&t, check_file, &t);
    tree_files_close(&t);
    tfs_buf_release(&back);
    return 0;
}

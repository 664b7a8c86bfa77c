/*
 * Any bytes as a file of a name that the first byte chooses, for all formats at once: at most one
 * takes it, and then it is a save like others (tests/lib/edit_target.h). Two bytes more say how
 * many of the last bytes are edits.
 */
#include <string.h>

#include "../lib/edit_target.h"
#include "fuzz.h"

static const char *const names[] = {
    "file",  "region_0_0_0.cosmicreach", "a.rbxl",    "a.rbxlx", "a.ter", "r.0.0.0.vxr", "a.sqlite",
    "a.vxb", "a.terrain.json",           "meta.vxrm",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfs_cursor in = tfs_cursor_init((struct tfs_span){data, size});
    const char *name = names[tfs_take_u8(&in) % (sizeof(names) / sizeof(names[0]))];
    size_t edits = tfs_take_u16le(&in);
    char path[FUZZ_PATH];

    edits = edits < tfs_cursor_left(&in) ? edits : tfs_cursor_left(&in);
    struct tfs_span bytes = tfs_take(&in, tfs_cursor_left(&in) - edits);
    fuzz_save_clear(fuzz_save_dir());
    snprintf(path, sizeof(path), "%s/%s", fuzz_save_dir(), name);
    fuzz_save_write(path, bytes);
    strange_target(path, tfs_take(&in, edits));
    return 0;
}

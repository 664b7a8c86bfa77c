/*
 * info.txt of the root: what the map is.
 */
#include "formats/views/info.h"
#include "formats/luanti/lenses.h"
#include "formats/luanti/map.h"
#include "formats/views/pictures/picture.h"

static void add_lines(struct tfs_buf *out, struct tfs_save *save, const struct tfs_doc *doc,
                      struct tfs_error *err)
{
    (void)err;
    tfs_luanti_map_describe(doc, out);
    tfs_info_line(out, "chunk size", "16 16 16");
    tfs_picture_info(out, save->tree, doc);
    tfs_info_line(out, "light",
                  "new air takes the light beside it, all else is kept as stored; `/fixlight` in "
                  "the game computes it again");
    tfs_info_line(out, "running server",
                  "keeps blocks in memory and writes them over edits: stop it before editing what "
                  "players are near");
}

const struct tfs_lens tfs_luanti_info_lens = TFS_INFO_LENS(add_lines);

/*
 * A file of one block: the save is its chunk 0_0_0.
 *
 * Must not know texts. The bytes say little about themselves at their start, so the probe decodes
 * the whole file where they may be a block.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "formats/godot_voxel/godot_voxel.h"
#include "formats/godot_voxel/counts.h"
#include "formats/containers/file.h"

/* Compressed bytes and header of the largest block that is read. */
#define FILE_MAX (TFS_GODOT_DATA_MAX + TFS_GODOT_DATA_MAX / 128 + 1024)

/* Of what was a block once: a container that knows the file better may have it. */
#define BID_DAMAGED 1

static const struct tfs_key only_key;

/* Single blocks of Godot 3's own files: another frame around the same. */
static bool is_old_file(struct tfs_span head)
{
    return head.size >= 4 &&
           (memcmp(head.data, "VXB_", 4) == 0 || memcmp(head.data, "VXBM", 4) == 0);
}

/* ---- probing --------------------------------------------------------------------------------- */

static int read_all(const struct tfs_probe *probe, struct tfs_blob **bytes, struct tfs_error *err)
{
    struct tfs_buf out = {0};
    size_t size = (size_t)probe->st.st_size;
    uint8_t *room = tfs_buf_reserve(&out, size);

    if (room == NULL)
        return tfs_fail_memory(err);
    ssize_t got = pread(probe->fd, room, size, 0);
    if (got >= 0 && (size_t)got == size) {
        out.size = size;
        tfs_blob_take(&out, bytes, err);
    } else {
        tfs_fail(err, -EIO, "cannot be read");
    }
    tfs_buf_release(&out);
    return err->code;
}

/* A large file of another format is not read for this. */
static bool is_possible(const struct tfs_probe *probe)
{
    const uint64_t size = (uint64_t)probe->st.st_size;

    return S_ISREG(probe->st.st_mode) && size >= probe->head.size && size <= FILE_MAX &&
           tfs_godot_block_may_begin(probe->head, size);
}

static int single_probe(const struct tfs_probe *probe)
{
    struct tfs_godot_block block = {0};
    struct tfs_blob *bytes = NULL;
    struct tfs_error ignored = {0};
    int bid = TFS_BID_NONE;

    if (is_old_file(probe->head))
        return TFS_BID_FULL;
    if (!is_possible(probe))
        return TFS_BID_NONE;
    if (read_all(probe, &bytes, &ignored) < 0)
        return ignored.code == -ENOMEM ? -ENOMEM : TFS_BID_NONE;
    if (tfs_godot_block_open(bytes, &block, &ignored) == 0)
        bid = TFS_BID_FULL;
    else if (ignored.code == -ENOMEM)
        bid = -ENOMEM;
    else if (tfs_godot_block_begins(tfs_blob_span(bytes)))
        bid = BID_DAMAGED;
    tfs_godot_block_release(&block);
    tfs_blob_unref(bytes);
    return bid;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* *own: the chunk's number, which is the block's size. */
static int check_block(struct tfs_blob *bytes, uint64_t *own, struct tfs_error *err)
{
    struct tfs_godot_block block;

    if (is_old_file(tfs_blob_span(bytes)))
        return tfs_fail(err, -ENOTSUP,
                        "is a block file of Godot 3 (VXB), which is not read: regions and "
                        "databases of Godot 3 are");
    if (tfs_godot_block_open(bytes, &block, err) < 0)
        return err->code;
    *own = tfs_godot_sides_of(&block);
    tfs_godot_block_release(&block);
    return 0;
}

static int make_doc(struct tfs_facts *facts, struct tfs_blob *bytes, uint64_t own,
                    struct tfs_doc **doc, struct tfs_error *err)
{
    struct tfs_chunk chunk = {.key = only_key, .slot = TFS_SLOT_NONE, .own = own, .blob = bytes};
    struct tfs_edit edit;

    if (tfs_edit_open_empty(facts, &edit, err) == 0 && tfs_edit_put(&edit, &chunk, err) == 0)
        *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return err->code;
}

static struct tfs_godot_rules *rules_of(const struct tfs_facts *facts)
{
    return facts->own;
}

static int single_decode(struct tfs_save *save, struct tfs_blob *bytes, struct tfs_doc **doc,
                         struct tfs_error *err)
{
    struct tfs_facts *facts = NULL;
    uint64_t own;

    (void)save;
    if (check_block(bytes, &own, err) < 0 ||
        tfs_facts_create(sizeof(struct tfs_godot_rules), &facts, err) < 0)
        return err->code;
    struct tfs_godot_rules *rules = rules_of(facts);
    *rules = (struct tfs_godot_rules){.container = "this file", .lods = 1};
    make_doc(facts, bytes, own, doc, err);
    tfs_facts_unref(facts);
    return err->code;
}

static int single_encode(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_sink *sink,
                         struct tfs_error *err)
{
    const struct tfs_chunk *chunk = tfs_doc_find(doc, only_key);

    (void)save;
    return tfs_sink_span(sink, tfs_blob_span(chunk->blob), err);
}

static const struct tfs_file_codec codec = {.decode = single_decode, .encode = single_encode};

/* ---- the container --------------------------------------------------------------------------- */

static int single_open(struct tfs_save *save, struct tfs_error *err)
{
    if (tfs_godot_cache_create(save, err) == 0 && tfs_whole_file_open(save, err) < 0)
        tfs_godot_cache_free(save);
    return err->code;
}

static int single_reload(struct tfs_save *save, struct tfs_error *err)
{
    tfs_godot_cache_clear(save);
    return tfs_whole_file_reload(save, err);
}

static void single_close(struct tfs_save *save)
{
    tfs_godot_cache_free(save);
    tfs_whole_file_close(save);
}

const struct tfs_container tfs_godot_block_container = {
    .format = "godot_voxel",
    .name = "block file",
    .tree = &tfs_godot_block_tree,
    .probe = single_probe,
    .open = single_open,
    .commit = tfs_whole_file_commit,
    .changed = tfs_whole_file_changed,
    .reload = single_reload,
    .journal = &tfs_whole_file_journal,
    .close = single_close,
    .file = &codec,
};

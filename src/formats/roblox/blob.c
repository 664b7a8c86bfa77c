/*
 * A file that is one SmoothGrid value, nothing else.
 *
 * Its first two bytes say little, so a probe that finds them walks the value: the chunks of its
 * first megabytes, or all of a smaller one.
 */
#include <errno.h>
#include <unistd.h>

#include "formats/roblox/roblox.h"
#include "formats/roblox/source_write.h"

static int blob_scan(struct tfs_rbx_source *source, struct tfs_facts *facts, uint64_t inflate_limit,
                     struct tfs_error *err)
{
    const size_t size = source->file->size;
    const struct tfs_rbx_holder whole = {.size = size, .body_size = size};
    const struct tfs_rbx_value value = {.property = TFS_RBX_SMOOTH_GRID, .size = size};

    (void)facts;
    (void)inflate_limit;
    source->bodies = tfs_blob_ref(source->file);
    if (tfs_rbx_add_group(source, TFS_RBX_NO_GRID, err) < 0 ||
        tfs_rbx_add_holder(source, whole, err) < 0)
        return err->code;
    return tfs_rbx_add_value(source, value, err);
}

static void blob_body(const struct tfs_rbx_source *source, const struct tfs_rbx_holder *holder,
                      const struct tfs_rbx_pieces *values, struct tfs_rbx_pieces *body)
{
    (void)source;
    (void)holder;
    tfs_rbx_pieces_add_all(body, values);
}

static int blob_write(const struct tfs_rbx_source *source, struct tfs_rbx_holder *holder,
                      const struct tfs_rbx_pieces *body, struct tfs_sink *sink,
                      struct tfs_error *err)
{
    (void)source;
    (void)holder;
    return tfs_rbx_pieces_write(body, sink, err);
}

static int blob_check(const struct tfs_rbx_source *source, const struct tfs_rbx_holder *holder,
                      const struct tfs_rbx_pieces *body, struct tfs_readback *written,
                      struct tfs_error *err)
{
    (void)source;
    (void)holder;
    return tfs_rbx_pieces_expect(body, written, err);
}

static const struct tfs_rbx_kind blob_kind = {
    .scan = blob_scan, .body = blob_body, .write = blob_write, .check = blob_check};

static int blob_decode(struct tfs_save *save, struct tfs_blob *bytes, struct tfs_doc **doc,
                       struct tfs_error *err)
{
    return tfs_rbx_decode(&blob_kind, save, bytes, doc, err);
}

#define PROBED ((size_t)4 << 20)

/* Is a large file a value, as far as its first megabytes say? */
static bool begins_as_value(const struct tfs_probe *probe)
{
    struct tfs_buf bytes = {0};
    uint8_t *room = probe->st.st_size <= (off_t)PROBED ? NULL : tfs_buf_reserve(&bytes, PROBED);
    const bool begins = room != NULL && pread(probe->fd, room, PROBED, 0) == (ssize_t)PROBED &&
                        tfs_rbx_value_begins((struct tfs_span){room, PROBED});

    tfs_buf_release(&bytes);
    return begins;
}

/* Is the whole file a value? */
static int is_value(const struct tfs_probe *probe)
{
    struct tfs_file_handle file = {.fd = probe->fd};
    struct tfs_rbx_index index = {0};
    struct tfs_blob *bytes = NULL;
    struct tfs_error err = {0};
    int fits = tfs_file_read(&file, TFS_INFLATE_LIMIT, &bytes, &err) == 0 &&
               tfs_rbx_index_open(tfs_blob_span(bytes), &index, &err) == 0;

    tfs_rbx_index_release(&index);
    tfs_blob_unref(bytes);
    return err.code == -ENOMEM ? -ENOMEM : fits;
}

/* Less than any other format may say: a file that nobody else wants is refused with the place
 * where it stops being a value. */
#define BID_DAMAGED 1

static int blob_probe(const struct tfs_probe *probe)
{
    const struct tfs_span head = probe->head;

    if (head.size < 2 || head.data[0] != TFS_RBX_VERSION || head.data[1] > TFS_RBX_LOG2_MAX)
        return TFS_BID_NONE;
    int value = begins_as_value(probe) ? 1 : is_value(probe);
    return value < 0 ? value : value > 0 ? TFS_BID_LOW : BID_DAMAGED;
}

static const struct tfs_file_codec blob_codec = {
    .decode = blob_decode, .encode = tfs_rbx_encode, .check = tfs_rbx_check};

const struct tfs_container tfs_rbx_blob_container = {
    .format = TFS_RBX_FORMAT,
    .name = "SmoothGrid value",
    .tree = &tfs_rbx_tree,
    .probe = blob_probe,
    TFS_WHOLE_FILE(&blob_codec),
};

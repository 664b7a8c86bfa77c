/*
 * A `.ter` file <-> a document of tiles, and the container around it.
 *
 * Must not know what the tree shows. The whole file is read and written by
 * formats/containers/file.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "formats/beamng/beamng.h"
#include "formats/beamng/level_folder.h"
#include "formats/beamng/sidecar.h"
#include "formats/containers/file.h"

/* ---- decoding -------------------------------------------------------------------------------- */

/* All planes' rows of a row of tiles, one plane after another. */
struct band {
    uint8_t *bytes;
    uint32_t height;
};

static int read_band(const struct tfs_beamng_file *file, const struct tfs_beamng_layout *layout,
                     uint32_t z, const struct band *band, struct tfs_error *err)
{
    const size_t samples = (size_t)layout->side * band->height;

    for (unsigned i = 0; i < tfs_beamng_plane_count(layout); i++) {
        const struct tfs_beamng_plane *plane = tfs_beamng_plane_at(layout, i);
        const uint64_t at = TFS_BEAMNG_HEADER + plane->before * tfs_beamng_samples(layout) +
                            (uint64_t)z * layout->side * plane->bytes;
        if (tfs_beamng_file_copy(file, at, band->bytes + plane->before * samples,
                                 samples * plane->bytes, err) < 0)
            return err->code;
    }
    return 0;
}

/* A tile's samples of planes `first` to `end` - 1 out of its band. */
static int cut_planes(const struct tfs_beamng_layout *layout, const struct band *band,
                      struct tfs_key key, unsigned first, unsigned end, struct tfs_blob **blob,
                      struct tfs_error *err)
{
    struct tfs_beamng_tile tile = tfs_beamng_tile_of(layout, key);
    uint8_t bytes[TFS_BEAMNG_TILE_BYTES_MAX];
    size_t size = 0;

    tile.z = 0;
    for (unsigned i = first; i < end; i++) {
        const struct tfs_beamng_plane *plane = tfs_beamng_plane_at(layout, i);
        const size_t pitch = (size_t)layout->side * plane->bytes;
        tfs_beamng_tile_cut(&tile, plane->bytes,
                            band->bytes + plane->before * (size_t)layout->side * band->height,
                            (ptrdiff_t)pitch, bytes + size);
        size += plane->bytes * tfs_beamng_tile_samples(&tile);
    }
    return tfs_blob_copy((struct tfs_span){bytes, size}, blob, err);
}

/* A row of tiles: first all heights, then all else. So the heights lie side by side in memory, and
 * once others have taken their place there is no hole for each tile but one for each row, which
 * can go back to the system. */
static int add_row(const struct tfs_beamng_layout *layout, int32_t z, const struct band *band,
                   struct tfs_edit *edit, struct tfs_error *err)
{
    const int32_t tiles = (int32_t)tfs_beamng_tiles_a_side(layout);
    struct tfs_chunk *row = calloc((size_t)tiles, sizeof(*row));

    if (row == NULL)
        return tfs_fail_memory(err);
    for (int32_t x = 0; x < tiles && err->code == 0; x++) {
        row[x] = (struct tfs_chunk){
            .key = {.x = x, .z = z}, .slot = TFS_SLOT_NONE, .tag = tfs_beamng_sample_size(layout)};
        cut_planes(layout, band, row[x].key, 0, 1, &row[x].blob, err);
    }
    for (int32_t x = 0; x < tiles && err->code == 0; x++)
        cut_planes(layout, band, row[x].key, 1, tfs_beamng_plane_count(layout), &row[x].extra, err);
    for (int32_t x = 0; x < tiles && err->code == 0; x++)
        tfs_edit_put(edit, &row[x], err);
    for (int32_t x = 0; x < tiles; x++)
        tfs_chunk_unref(&row[x]);
    free(row);
    return err->code;
}

/* All tiles, in the order of their keys. */
static int add_tiles(const struct tfs_beamng_file *file, const struct tfs_beamng_layout *layout,
                     struct tfs_edit *edit, struct tfs_error *err)
{
    const int32_t tiles = (int32_t)tfs_beamng_tiles_a_side(layout);
    struct band band = {.bytes = malloc((size_t)layout->side * TFS_BEAMNG_TILE_SIDE *
                                        tfs_beamng_sample_size(layout))};

    if (band.bytes == NULL)
        return tfs_fail_memory(err);
    for (struct tfs_key key = {.z = 0}; key.z < tiles && err->code == 0; key.z++) {
        const struct tfs_beamng_tile first = tfs_beamng_tile_of(layout, key);
        band.height = first.height;
        if (read_band(file, layout, first.z, &band, err) == 0)
            add_row(layout, key.z, &band, edit, err);
    }
    free(band.bytes);
    return err->code;
}

static int read_table(const struct tfs_beamng_file *file, const struct tfs_beamng_layout *layout,
                      struct tfs_blob **table, struct tfs_error *err)
{
    const uint64_t at = tfs_beamng_table_at(layout);
    struct tfs_buf bytes = {0};
    uint8_t *room = tfs_buf_reserve(&bytes, (size_t)(file->size - at));

    if (room == NULL)
        return tfs_fail_memory(err);
    if (tfs_beamng_file_copy(file, at, room, (size_t)(file->size - at), err) == 0) {
        bytes.size = (size_t)(file->size - at);
        tfs_blob_take(&bytes, table, err);
    }
    tfs_buf_release(&bytes);
    return err->code;
}

static struct tfs_beamng_facts *facts_of(const struct tfs_facts *facts)
{
    return facts->own;
}

/* What the file beside it says. BeamNG writes one, Torque3D does not. */
static int look_at_sidecar(struct tfs_save *save, struct tfs_facts *facts, struct tfs_span table,
                           struct tfs_error *err)
{
    static const char *const notes[] = {
        [TFS_BEAMNG_SIDECAR_ABSENT] = "there was no .terrain.json beside the terrain when it was "
                                      "read; the game makes one when it saves",
        [TFS_BEAMNG_SIDECAR_AGREES] = NULL,
        [TFS_BEAMNG_SIDECAR_DIFFERS] = "the .terrain.json listed other materials than the terrain "
                                       "when it was read; the terrain counts",
        [TFS_BEAMNG_SIDECAR_DAMAGED] = "no list of materials could be read in the .terrain.json; "
                                       "it is left as it is",
    };
    struct tfs_beamng_facts *own = facts_of(facts);
    enum tfs_beamng_sidecar_state state;

    if (tfs_beamng_sidecar_look(save->path, tfs_beamng_names_init(table, own->layout.nul), &state) <
        0)
        return tfs_fail_memory(err);
    atomic_init(&own->sidecar, state);
    if (notes[state] == NULL || (state == TFS_BEAMNG_SIDECAR_ABSENT && own->layout.version <= 7))
        return 0;
    return tfs_facts_note(facts, err, TFS_NOTE_WARNING, "%s", notes[state]);
}

static int make_facts(struct tfs_save *save, const struct tfs_beamng_layout *layout,
                      struct tfs_span table, struct tfs_facts **facts, struct tfs_error *err)
{
    struct tfs_facts *made = NULL;

    if (tfs_facts_create(sizeof(struct tfs_beamng_facts), &made, err) < 0)
        return err->code;
    struct tfs_beamng_facts *own = facts_of(made);
    own->layout = *layout;
    if (tfs_beamng_ground_look(save->path, layout->version, made, &own->ground, err) < 0 ||
        look_at_sidecar(save, made, table, err) < 0) {
        tfs_facts_unref(made);
        return err->code;
    }
    made->shipped = own->ground.level[0] != '\0'; /* levels are packed */
    *facts = made;
    return 0;
}

static int make_doc(const struct tfs_beamng_file *file, struct tfs_facts *facts,
                    struct tfs_blob *table, struct tfs_doc **doc, struct tfs_error *err)
{
    struct tfs_edit edit;

    if (tfs_edit_open_empty(facts, &edit, err) == 0 &&
        add_tiles(file, tfs_beamng_layout_of(edit.base), &edit, err) == 0) {
        tfs_edit_common(&edit, table);
        *doc = tfs_edit_finish(&edit);
    }
    tfs_edit_release(&edit);
    return err->code;
}

static int read_terrain(struct tfs_save *save, const struct tfs_beamng_file *file,
                        struct tfs_doc **doc, struct tfs_error *err)
{
    struct tfs_beamng_layout layout = {0};
    struct tfs_blob *table = NULL;
    struct tfs_facts *facts = NULL;

    if (tfs_beamng_read(file, &layout, err) == 0 && read_table(file, &layout, &table, err) == 0 &&
        make_facts(save, &layout, tfs_blob_span(table), &facts, err) == 0)
        make_doc(file, facts, table, doc, err);
    tfs_facts_unref(facts);
    tfs_blob_unref(table);
    return err->code;
}

static int ter_decode(struct tfs_save *save, struct tfs_blob *bytes, struct tfs_doc **doc,
                      struct tfs_error *err)
{
    const struct tfs_beamng_file file = {.size = bytes->size, .bytes = bytes->data};

    return read_terrain(save, &file, doc, err);
}

static int ter_decode_file(struct tfs_save *save, int fd, uint64_t size, struct tfs_doc **doc,
                           struct tfs_error *err)
{
    const struct tfs_beamng_file file = {.size = size, .fd = fd};

    return read_terrain(save, &file, doc, err);
}

/* ---- encoding -------------------------------------------------------------------------------- */

static int write_planes(const struct tfs_doc *doc, struct tfs_sink *sink, struct tfs_error *err)
{
    const struct tfs_beamng_layout *layout = tfs_beamng_layout_of(doc);
    uint8_t *row = malloc((size_t)layout->side * 4);

    if (row == NULL)
        return tfs_fail_memory(err);
    for (unsigned i = 0; i < tfs_beamng_plane_count(layout); i++) {
        const struct tfs_beamng_plane *plane = tfs_beamng_plane_at(layout, i);
        for (uint32_t z = 0; z < layout->side && err->code == 0; z++) {
            tfs_beamng_row(doc, plane, z, row);
            sink->write(sink, row, (size_t)layout->side * plane->bytes, err);
        }
    }
    free(row);
    return err->code;
}

static int ter_encode(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_sink *sink,
                      struct tfs_error *err)
{
    const struct tfs_beamng_layout *layout = tfs_beamng_layout_of(doc);
    struct tfs_buf header = {0};

    (void)save;
    tfs_buf_u8(&header, layout->version);
    tfs_buf_u32le(&header, layout->side);
    if (tfs_buf_check(&header, err) == 0 && tfs_sink_span(sink, tfs_buf_span(&header), err) == 0 &&
        write_planes(doc, sink, err) == 0)
        tfs_sink_span(sink, tfs_blob_span(tfs_beamng_table(doc)), err);
    tfs_buf_release(&header);
    return err->code;
}

/* ---- what was written is read back ----------------------------------------------------------- */

/* Where the encoder goes a second time. */
struct comparing {
    struct tfs_sink sink; /* first */
    struct tfs_readback *written;
};

static int compare_bytes(struct tfs_sink *sink, const void *data, size_t size,
                         struct tfs_error *err)
{
    struct comparing *c = (struct comparing *)sink;

    return tfs_readback_expect(c->written, (struct tfs_span){data, size}, err);
}

/* The file has no other freedom than its layout, which nothing in it names: where its table of
 * names ends tells. */
static int ter_check(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_readback *written,
                     struct tfs_error *err)
{
    const struct tfs_beamng_file file = {.size = written->size, .fd = written->fd};
    const struct tfs_beamng_layout *layout = tfs_beamng_layout_of(doc);
    struct comparing to = {{compare_bytes}, written};
    struct tfs_beamng_layout read = *layout;

    if (ter_encode(save, doc, &to.sink, err) < 0 || tfs_beamng_detect(&file, &read, err) < 0)
        return err->code;
    if (read.extra == layout->extra && read.nul == layout->nul)
        return 0;
    return tfs_fail(err, -EIO, "it would be read as one of another layout");
}

/* It follows a change of the names, if need be in a later commit. */
static bool sidecar_follows(const struct tfs_doc *before, const struct tfs_doc *after)
{
    return tfs_beamng_facts(after)->sidecar_stale ||
           !tfs_blob_equal(tfs_beamng_table(before), tfs_beamng_table(after));
}

static int ter_committed(struct tfs_save *save, const struct tfs_doc *before,
                         const struct tfs_doc *after, struct tfs_error *err)
{
    struct tfs_beamng_facts *facts = tfs_beamng_facts(after);
    enum tfs_beamng_sidecar_state state;

    if (!sidecar_follows(before, after))
        return 0;
    const int result = tfs_beamng_sidecar_update(save->path, tfs_beamng_names_of(after),
                                                 save->keeper, &state, err);
    facts->sidecar_stale = result < 0;
    atomic_store(&facts->sidecar, (int)state);
    return result;
}

/* A process that is killed before the sidecar follows leaves the new one. */
static void ter_committing(struct tfs_save *save, const struct tfs_doc *doc,
                           struct tfs_replacement *follower)
{
    if (!sidecar_follows(save->doc, doc))
        return;
    tfs_beamng_sidecar_prepare(save->path, tfs_beamng_names_of(doc), follower);
}

/* The sidecar follows now what a killed process wrote; of that, the warnings are read again. */
static int follow(struct tfs_save *save, struct tfs_error *err)
{
    const struct tfs_beamng_names names = tfs_beamng_names_of(save->doc);
    enum tfs_beamng_sidecar_state state;
    struct tfs_error ignored = {0};

    if (save->read_only != NULL || !tfs_beamng_sidecar_is_prepared(save->path, names))
        return 0;
    tfs_undo_apart(save->keeper, save->path);
    const int result = tfs_beamng_sidecar_update(save->path, names, save->keeper, &state, &ignored);
    tfs_undo_apart(save->keeper, NULL);
    return result < 0 ? 0 : tfs_whole_file_reload(save, err);
}

/* What a killed process left of a new sidecar goes when the save is locked, as that of a new
 * terrain does. */
static int ter_open(struct tfs_save *save, struct tfs_error *err)
{
    if (tfs_whole_file_open(save, err) < 0)
        return err->code;
    if (save->options.lock == TFS_LOCK_EXCLUSIVE && follow(save, err) < 0) {
        tfs_doc_unref(save->doc);
        save->doc = NULL;
        tfs_whole_file_close(save);
        return err->code;
    }
    char *sidecar = tfs_beamng_sidecar_path(save->path); /* without memory the next mount sweeps */
    if (sidecar != NULL && save->options.lock == TFS_LOCK_EXCLUSIVE)
        tfs_file_remove_strays(sidecar);
    free(sidecar);
    return 0;
}

/* ---- probing --------------------------------------------------------------------------------- */

/* Does the whole file have one of the layouts? Looks at its header and at its name table. */
static bool fits(const struct tfs_probe *probe)
{
    const struct tfs_beamng_file file = {.size = (uint64_t)probe->st.st_size, .fd = probe->fd};
    struct tfs_error ignored = {0};
    struct tfs_beamng_layout layout = {0};

    return tfs_beamng_head(probe->head, file.size, &layout, &ignored) == 0 &&
           tfs_beamng_detect(&file, &layout, &ignored) == 0;
}

/* The version byte is weak magic. A file with the right name gets a low bid whatever is in it: the
 * decoder says best what is wrong with it. */
static int ter_probe(const struct tfs_probe *probe)
{
    bool named = tfs_beamng_is_terrain(probe->name);

    if (!S_ISREG(probe->st.st_mode) || probe->head.size == 0)
        return TFS_BID_NONE;
    if (fits(probe))
        return named ? TFS_BID_CERTAIN : TFS_BID_FULL;
    return named ? TFS_BID_LOW : TFS_BID_NONE;
}

static const struct tfs_file_codec codec = {
    .decode = ter_decode,
    .decode_file = ter_decode_file,
    .encode = ter_encode,
    .check = ter_check,
    .committing = ter_committing,
    .committed = ter_committed,
};

const struct tfs_container tfs_beamng_ter = {
    .format = "beamng",
    .name = "terrain file",
    .tree = &tfs_beamng_tree,
    .probe = ter_probe,
    .saves = tfs_beamng_level_saves,
    .open = ter_open,
    .commit = tfs_whole_file_commit,
    .changed = tfs_whole_file_changed,
    .reload = tfs_whole_file_reload,
    .journal = &tfs_whole_file_journal,
    .close = tfs_whole_file_close,
    .file = &codec,
};

/*
 * The name table <-> palette.txt, `INDEX NAME` a line; and the names of the masks.
 *
 * Must not know pictures. Materials are indices: names may repeat or be empty, and only entries at
 * the end can go. The layer map never changes here.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/beamng/lenses.h"
#include "text/lines.h"
#include "text/name.h"

#define FILE_NAME_MAX 255 /* bytes, of the kernel */
#define MASK_ENDING   ".png"

static int palette_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                       struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_beamng_names names = tfs_beamng_names_of(doc);
    struct tfs_span name;

    (void)save;
    (void)at;
    for (uint32_t i = 0; tfs_beamng_names_next(&names, &name); i++) {
        tfs_buf_printf(out, "%" PRIu32, i);
        if (name.size > 0)
            tfs_buf_u8(out, ' ');
        tfs_name_print(out, name);
        tfs_buf_u8(out, '\n');
    }
    return tfs_buf_check(out, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct parser {
    struct tfs_beamng_names old; /* entries not yet met again */
    uint32_t old_count, count;
    bool changed;          /* a name, or their number */
    struct tfs_buf *table; /* entries in their canonical form */
    struct tfs_buf name;
};

static int parse_index(const struct parser *p, struct tfs_line *line, struct tfs_error *err)
{
    struct tfs_line word;
    int64_t index;

    (void)tfs_line_word(line, &word); /* a line that says something has a word */
    if (tfs_line_number(&word, "index", 0, UINT32_MAX, &index, err) < 0)
        return err->code;
    if (index != p->count)
        return tfs_fail_line(err, &word,
                             "index %" PRId64 " stands where %" PRIu32 " is expected: materials are"
                             " numbered from 0 without gaps, and only the last ones can be removed",
                             index, p->count);
    return 0;
}

/* What is refused of a name that the file did not have with this number. */
static int check_new_name(const struct parser *p, const struct tfs_line *line,
                          struct tfs_error *err)
{
    if (p->count >= p->old_count && p->count >= TFS_BEAMNG_HOLE)
        return tfs_fail_line(err, line,
                             "there can be 255 materials, 0 to 254: the layer 255 is a hole");
    if (p->name.size > TFS_BEAMNG_LENGTH_MAX)
        return tfs_fail_line(err, line, "the name has %zu bytes, at most %d can be stored",
                             p->name.size, TFS_BEAMNG_LENGTH_MAX);
    if (p->name.size > 0 && memchr(p->name.data, 0, p->name.size) != NULL)
        return tfs_fail_line(err, line, "a name cannot hold a byte 0");
    return 0;
}

static int parse_line(struct parser *p, struct tfs_line line, struct tfs_error *err)
{
    struct tfs_span old = {NULL, 0};
    struct tfs_error why = {0};

    if (parse_index(p, &line, err) < 0)
        return err->code;
    tfs_buf_clear(&p->name);
    if (tfs_name_parse(&p->name, line.text, &why) < 0)
        return tfs_fail_at(err, why.code, line.number, line.column + why.column - 1, "%s",
                           why.text);
    if (tfs_buf_check(&p->name, err) < 0)
        return err->code;
    if (!tfs_beamng_names_next(&p->old, &old) || !tfs_span_equal(old, tfs_buf_span(&p->name))) {
        if (check_new_name(p, &line, err) < 0)
            return err->code;
        p->changed = true;
    }
    tfs_beamng_name_add(p->table, tfs_buf_span(&p->name), p->old.nul);
    p->count++;
    return 0;
}

static int parse(struct parser *p, struct tfs_span text, struct tfs_error *err)
{
    struct tfs_lines lines;
    struct tfs_line line;

    if (tfs_lines_init(&lines, text, err) < 0 || tfs_lines_check_end(text, err) < 0)
        return err->code;
    while (tfs_lines_next(&lines, &line))
        if (parse_line(p, line, err) < 0)
            return err->code;
    return tfs_buf_check(p->table, err);
}

/* ---- removing -------------------------------------------------------------------------------- */

struct use {
    uint64_t samples;
    uint32_t x, z; /* the first one, by rows from the south */
};

/* How the materials are used; `use` has 256 entries. */
static void count_use(const struct tfs_beamng_terrain *terrain, uint8_t *row, struct use *use)
{
    uint32_t side = terrain->layout.side;

    for (uint32_t z = 0; z < side; z++) {
        tfs_beamng_terrain_row(terrain, &tfs_beamng_layers, z, row);
        for (uint32_t x = 0; x < side; x++)
            if (use[row[x]].samples++ == 0) {
                use[row[x]].x = x;
                use[row[x]].z = z;
            }
    }
}

/* Entries from `count` on, of `old_count`, shall go: none of them may be in use. Layers that never
 * had a material do not keep the others from going. */
static int check_unused(const struct tfs_doc *doc, uint32_t count, uint32_t old_count,
                        struct tfs_error *err)
{
    const uint32_t end = old_count < TFS_BEAMNG_HOLE ? old_count : TFS_BEAMNG_HOLE;
    struct use use[256] = {{0}};
    struct tfs_beamng_terrain terrain = {0};
    uint8_t *row = malloc(tfs_beamng_layout_of(doc)->side);
    int result = row == NULL ? tfs_fail_memory(err) : tfs_beamng_terrain_init(doc, &terrain, err);

    if (result == 0)
        count_use(&terrain, row, use);
    for (uint32_t i = count; result == 0 && i < end; i++)
        if (use[i].samples > 0)
            result =
                tfs_fail(err, -EBADMSG,
                         "material %" PRIu32 " is used by %" PRIu64 " samples, first at %" PRIu32
                         ",%" PRIu32 " (x,z): it cannot be removed",
                         i, use[i].samples, use[i].x, use[i].z);
    tfs_beamng_terrain_release(&terrain);
    free(row);
    return result;
}

static int store(struct tfs_edit *edit, const struct parser *p, struct tfs_error *err)
{
    struct tfs_buf table = {0};
    struct tfs_blob *blob = NULL;

    if (p->count < p->old_count &&
        check_unused(tfs_edit_doc(edit), p->count, p->old_count, err) < 0)
        return err->code;
    tfs_buf_u32le(&table, p->count);
    tfs_buf_add_span(&table, tfs_buf_span(p->table));
    int result = tfs_blob_take(&table, &blob, err);
    if (result == 0) {
        tfs_edit_common(edit, blob);
        result = tfs_beamng_terrain_check_layout(edit, err);
    }
    tfs_blob_unref(blob);
    tfs_buf_release(&table);
    return result;
}

static int palette_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_buf table = {0};
    struct parser p = {.old = tfs_beamng_names_of(tfs_edit_doc(edit)), .table = &table};

    (void)save;
    (void)at;
    (void)put;
    p.old_count = p.old.left;
    int result = parse(&p, text, err);
    if (result == 0 && (p.changed || p.count != p.old_count))
        result = store(edit, &p, err);
    tfs_buf_release(&p.name);
    tfs_buf_release(&table);
    return result;
}

const struct tfs_lens tfs_beamng_palette_lens = {.get = palette_get, .put = palette_put};
const struct tfs_lens tfs_beamng_array_palette_lens = {.get = palette_get};

/* ---- names of masks -------------------------------------------------------------------------- */

/* The length of the character of printed text at `at`, which may be an escape. It is never cut. */
static size_t character_size(struct tfs_span text, size_t at)
{
    size_t left = text.size - at;
    size_t size = 1;

    if (text.data[at] == '\\')
        size = text.data[at + 1] == 'x' ? 4 : 2;
    else
        while (size < left && (text.data[at + size] & 0xc0) == 0x80)
            size++;
    return size;
}

/* A name as it is printed, in a file name: without slashes, cut where it becomes too long. */
static void add_file_name(struct tfs_buf *out, struct tfs_span printed, size_t room)
{
    for (size_t at = 0; at < printed.size;) {
        bool slash = printed.data[at] == '/';
        size_t size = character_size(printed, at);
        struct tfs_span shown =
            slash ? tfs_span_of("\\x2f") : (struct tfs_span){printed.data + at, size};
        if (shown.size > room)
            return;
        tfs_buf_add_span(out, shown);
        room -= shown.size;
        at += size;
    }
}

void tfs_beamng_mask_name(const struct tfs_doc *doc, uint32_t member, struct tfs_buf *out)
{
    struct tfs_beamng_names names = tfs_beamng_names_of(doc);
    struct tfs_span name = {NULL, 0};
    struct tfs_buf printed = {0};
    size_t begin = out->size;

    for (uint32_t i = 0; i <= member && tfs_beamng_names_next(&names, &name); i++)
        ;
    /* Nothing behind the room there is can show, and a name may have 64 KiB. */
    if (name.size > FILE_NAME_MAX)
        name.size = FILE_NAME_MAX;
    tfs_name_print(&printed, name);
    tfs_buf_printf(out, "%02" PRIu32 "_", member);
    add_file_name(out, tfs_buf_span(&printed),
                  FILE_NAME_MAX - strlen(MASK_ENDING) - (out->size - begin));
    tfs_buf_add_text(out, MASK_ENDING);
    out->failed = out->failed || printed.failed;
    tfs_buf_release(&printed);
}

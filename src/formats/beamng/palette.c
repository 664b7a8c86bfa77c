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
#include "formats/beamng/materials.h"
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
    struct tfs_beamng_names was; /* entries of what this list was made from, not yet met again */
    bool changed;                /* a name, or their number */
    struct tfs_buf table;        /* entries in their canonical form */
    struct tfs_buf name;
};

static void parser_release(struct parser *p)
{
    tfs_buf_release(&p->name);
    tfs_buf_release(&p->table);
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

/* A new name, whose number went to another one since: layers of that one would become this one. */
static int fail_taken(const struct parser *p, const struct tfs_line *line, struct tfs_span old,
                      struct tfs_error *err)
{
    char name[TFS_QUOTED];

    return tfs_fail_line(err, line,
                         "material %" PRIu32 " came to the terrain since, as %s: add this one "
                         "behind it",
                         p->count, tfs_name_quote(old, name));
}

static int parse_line(struct parser *p, struct tfs_line line, struct tfs_error *err)
{
    struct tfs_span old = {NULL, 0}, was;
    struct tfs_line word;
    int64_t index;

    tfs_buf_clear(&p->name);
    (void)tfs_line_word(&line, &word); /* a line that says something has a word */
    if (tfs_line_number(&word, "index", 0, UINT32_MAX, &index, err) < 0)
        return err->code;
    if (index != p->count)
        return tfs_fail_line(err, &word,
                             "index %" PRId64 " stands where %" PRIu32 " is expected: materials are"
                             " numbered from 0 without gaps, and only the last ones can be removed",
                             index, p->count);
    if (tfs_line_name(&line, &p->name, err) < 0)
        return err->code;
    struct tfs_span name = tfs_buf_span(&p->name);
    const bool there = tfs_beamng_names_next(&p->old, &old);
    const bool known = tfs_beamng_names_next(&p->was, &was);
    if (known && there && tfs_span_equal(was, name))
        name = old;
    if (!known && there && !tfs_span_equal(old, name))
        return fail_taken(p, &line, old, err);
    if (!there || !tfs_span_equal(old, name)) {
        if (check_new_name(p, &line, err) < 0)
            return err->code;
        p->changed = true;
    }
    tfs_beamng_name_add(&p->table, name, p->old.nul);
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
    return 0;
}

/* ---- what cannot be -------------------------------------------------------------------------- */

/* Did a name of the terrain leave its lines for this one? */
static bool is_moved(const struct tfs_beamng_materials *old, const struct tfs_beamng_materials *new,
                     uint32_t line, uint32_t *from)
{
    bool moved = false;

    for (uint32_t i = 0; i < old->count; i++) {
        if (!tfs_span_equal(old->at[i], new->at[line]))
            continue;
        if (i < new->count && tfs_span_equal(new->at[i], old->at[i]))
            return false;
        moved = old->at[i].size > 0;
        *from = i;
    }
    return moved;
}

/* A list in which a name of the terrain moved to another line is of another moment. */
static int check_moment(const struct tfs_doc *doc, struct tfs_span table, struct tfs_error *err)
{
    const bool nul = tfs_beamng_layout_of(doc)->nul;
    struct tfs_beamng_materials old, new;
    char name[TFS_QUOTED];
    uint32_t from = 0;

    tfs_beamng_materials_find(tfs_blob_span(tfs_beamng_table(doc)), nul, &old);
    tfs_beamng_materials_find(table, nul, &new);
    for (uint32_t i = 0; i < new.count; i++)
        if (is_moved(&old, &new, i, &from))
            return tfs_fail(err, -EBADMSG,
                            "material %" PRIu32 " is %s, which is material %" PRIu32
                            " of the terrain: names were moved, so this list is of another moment; "
                            "edit the one that the save has now",
                            i, tfs_name_quote(new.at[i], name), from);
    return 0;
}

/* Materials from `count` on, of `old_count`, shall go: none of them may be in use. Layers that
 * never had a material do not keep the others from going. */
static int check_unused(const struct tfs_doc *doc, uint32_t count, uint32_t old_count,
                        struct tfs_error *err)
{
    const uint32_t side = tfs_beamng_layout_of(doc)->side;
    uint32_t lowest = old_count < TFS_BEAMNG_HOLE ? old_count : TFS_BEAMNG_HOLE;
    uint32_t first_x = 0, first_z = 0;
    uint64_t samples = 0; /* of the lowest one in use */
    uint8_t *row = malloc(side);
    int result = row == NULL ? tfs_fail_memory(err) : 0;

    for (uint32_t z = 0; z < side && result == 0; z++) {
        tfs_beamng_row(doc, &tfs_beamng_layers, z, row);
        for (uint32_t x = 0; x < side; x++) {
            if (row[x] >= count && row[x] < lowest) {
                samples = 0;
                lowest = row[x];
                first_x = x;
                first_z = z;
            }
            samples += row[x] == lowest;
        }
    }
    if (result == 0 && samples > 0 && lowest < old_count && lowest < TFS_BEAMNG_HOLE)
        result = tfs_fail(err, -EBADMSG,
                          "material %" PRIu32 " is used by %" PRIu64 " samples, first at %" PRIu32
                          ",%" PRIu32 " (x,z): it cannot be removed",
                          lowest, samples, first_x, first_z);
    free(row);
    return result;
}

static int store(struct tfs_edit *edit, const struct parser *p, struct tfs_error *err)
{
    const struct tfs_doc *doc = tfs_edit_doc(edit);
    struct tfs_blob *table = NULL;

    if (p->count < p->old_count && check_unused(doc, p->count, p->old_count, err) < 0)
        return err->code;
    if (tfs_beamng_table_make(p->count, &p->table, &table, err) == 0 &&
        check_moment(doc, tfs_blob_span(table), err) == 0) {
        tfs_edit_common(edit, table);
        tfs_beamng_terrain_check_layout(edit, err);
    }
    tfs_blob_unref(table);
    return err->code;
}

/* The table of the list that another one was made from, which may be longer than can be stored. */
static int read_original(const struct tfs_doc *doc, struct tfs_span text, struct tfs_blob **table,
                         struct tfs_error *err)
{
    struct parser p = {.old_count = UINT32_MAX, .old.nul = tfs_beamng_layout_of(doc)->nul};

    if (parse(&p, text, err) == 0 && tfs_beamng_table_make(p.count, &p.table, table, err) == 0)
        check_moment(doc, tfs_blob_span(*table), err);
    parser_release(&p);
    return err->code;
}

/* Materials that came since stay, where this list took none away. */
static void keep_rest(struct parser *p)
{
    struct tfs_span name;

    for (; p->was.left == 0 && tfs_beamng_names_next(&p->old, &name); p->count++)
        tfs_beamng_name_add(&p->table, name, p->old.nul);
}

static int palette_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_doc *doc = tfs_edit_doc(edit);
    const struct tfs_beamng_names names = tfs_beamng_names_of(doc);
    struct parser p = {.old = names, .was = names, .old_count = names.left};
    struct tfs_blob *original = NULL;

    (void)save, (void)at;
    if (put->original.size > 0 && read_original(doc, put->original, &original, err) == 0)
        p.was = tfs_beamng_names_init(tfs_blob_span(original), p.old.nul);
    if (err->code == 0 && parse(&p, text, err) == 0) {
        keep_rest(&p);
        if (p.changed || p.count != p.old_count)
            store(edit, &p, err);
    }
    parser_release(&p);
    tfs_blob_unref(original);
    return err->code;
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

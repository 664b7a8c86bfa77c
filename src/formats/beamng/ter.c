/*
 * The bytes of a `.ter` file -> which layout it has and where its parts lie.
 *
 * Must not know documents or tiles. The version does not settle the layout (FORMAT.md,
 * section 1.1): a layout fits when its name table ends exactly where the file ends.
 */
#include "formats/beamng/ter.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"

#define ENDING       ".ter"
#define VERSION_LOW  7
#define VERSION_HIGH 9
#define LENGTH_LONG  255 /* a u16 length follows */
#define TABLE_MIN    4   /* the count */

#define EXTRA_TEXTURE   1
#define EXTRA_CORNERS   4
#define EXTRA_COMMUNITY 5

/* The extra bytes a sample that a layout can have, in the order in which layouts are tried and
 * named. Its name table comes after them. */
#define EXTRA_SIZES 4
static const uint8_t extra_sizes[EXTRA_SIZES] = {0, EXTRA_CORNERS, EXTRA_COMMUNITY, EXTRA_TEXTURE};

const struct tfs_beamng_plane tfs_beamng_heights = {"heights", 0, 2};
const struct tfs_beamng_plane tfs_beamng_layers = {"layers", 2, 1};
const struct tfs_beamng_plane tfs_beamng_corners = {"corners", 3, 4};

static const struct tfs_beamng_plane community[] = {
    {"texture", 3, 1},    {"coverage_0", 4, 1}, {"coverage_1", 5, 1},
    {"coverage_2", 6, 1}, {"coverage_3", 7, 1},
};

unsigned tfs_beamng_plane_count(const struct tfs_beamng_layout *layout)
{
    return layout->extra == EXTRA_COMMUNITY ? 7 : layout->extra > 0 ? 3 : 2;
}

const struct tfs_beamng_plane *tfs_beamng_plane_at(const struct tfs_beamng_layout *layout,
                                                   unsigned i)
{
    if (i < TFS_BEAMNG_EXTRA)
        return i == 0 ? &tfs_beamng_heights : &tfs_beamng_layers;
    return layout->extra == EXTRA_CORNERS ? &tfs_beamng_corners : &community[i - TFS_BEAMNG_EXTRA];
}

const char *tfs_beamng_layout_name(const struct tfs_beamng_layout *layout)
{
    switch (layout->extra) {
    case EXTRA_TEXTURE:
        return "4 bytes a sample (heights, layers, texture map)";
    case EXTRA_CORNERS:
        return "7 bytes a sample (heights, layers, corners)";
    case EXTRA_COMMUNITY:
        return "8 bytes a sample (heights, layers, texture map, 4 coverage maps)";
    default:
        return "3 bytes a sample (heights, layers)";
    }
}

unsigned tfs_beamng_sample_size(const struct tfs_beamng_layout *layout)
{
    return 3u + layout->extra;
}

uint64_t tfs_beamng_samples(const struct tfs_beamng_layout *layout)
{
    return (uint64_t)layout->side * layout->side;
}

uint64_t tfs_beamng_table_at(const struct tfs_beamng_layout *layout)
{
    return TFS_BEAMNG_HEADER + tfs_beamng_samples(layout) * tfs_beamng_sample_size(layout);
}

bool tfs_beamng_is_terrain(const char *name)
{
    const size_t length = strlen(name), ending = strlen(ENDING);

    return length > ending && strcasecmp(name + length - ending, ENDING) == 0;
}

/* ---- the name table -------------------------------------------------------------------------- */

struct tfs_beamng_names tfs_beamng_names_init(struct tfs_span table, bool nul)
{
    struct tfs_beamng_names names = {.in = tfs_cursor_init(table), .nul = nul};

    names.left = tfs_take_u32le(&names.in);
    return names;
}

bool tfs_beamng_names_next(struct tfs_beamng_names *names, struct tfs_span *name)
{
    if (names->left == 0)
        return false;
    names->left--;

    uint16_t length = tfs_take_u8(&names->in);
    if (length == LENGTH_LONG)
        length = tfs_take_u16le(&names->in);
    *name = tfs_take(&names->in, length);
    if (names->nul && tfs_take_u8(&names->in) != 0)
        names->in.failed = true;
    return !names->in.failed;
}

void tfs_beamng_name_add(struct tfs_buf *out, struct tfs_span name, bool nul)
{
    if (name.size < LENGTH_LONG) {
        tfs_buf_u8(out, (uint8_t)name.size);
    } else {
        tfs_buf_u8(out, LENGTH_LONG);
        tfs_buf_u16le(out, (uint16_t)name.size);
    }
    tfs_buf_add_span(out, name);
    if (nul)
        tfs_buf_u8(out, 0);
}

/* ---- the same in a file, without its names --------------------------------------------------- */

int tfs_beamng_file_copy(const struct tfs_beamng_file *file, uint64_t at, uint8_t *out, size_t size,
                         struct tfs_error *err)
{
    if (at > file->size || size > file->size - at)
        return tfs_fail(err, -EIO, "cannot be read: it ends");
    if (file->bytes != NULL) {
        memcpy(out, file->bytes + at, size);
        return 0;
    }
    const ssize_t got = tfs_file_read_at(file->fd, at, out, size);
    if (got < 0)
        return tfs_fail(err, (int)got, "cannot be read: %s", strerror((int)-got));
    return (size_t)got == size ? 0 : tfs_fail(err, -EIO, "cannot be read: it ends");
}

/* 1: these are the `size` bytes at `at`, little-endian; 0: there are not so many. */
static int read_number(const struct tfs_beamng_file *file, uint64_t at, unsigned size,
                       uint32_t *value, struct tfs_error *err)
{
    uint8_t bytes[4];

    if (at > file->size || size > file->size - at)
        return 0;
    if (tfs_beamng_file_copy(file, at, bytes, size, err) < 0)
        return err->code;
    for (*value = 0; size-- > 0;)
        *value = *value << 8 | bytes[size];
    return 1;
}

/* The name at *at, which goes on to the next one: 1, or 0 when it is none. */
static int skip_name(const struct tfs_beamng_file *file, bool nul, uint64_t *at,
                     struct tfs_error *err)
{
    uint32_t length = 0, end = 0;
    int found = read_number(file, (*at)++, 1, &length, err);

    if (found == 1 && length == LENGTH_LONG) {
        found = read_number(file, *at, 2, &length, err);
        *at += 2;
    }
    *at += length;
    if (found == 1 && nul)
        found = read_number(file, (*at)++, 1, &end, err);
    return found < 1 ? found : end == 0 && *at <= file->size;
}

/* Does the table at `at` end at the end of the file: 1 or 0? A table without names shows nothing of
 * a terminator: then it is `habit`, the layout's own. */
static int table_fits(const struct tfs_beamng_file *file, uint64_t at, bool nul, bool habit,
                      struct tfs_error *err)
{
    uint32_t count = 0;
    int found = read_number(file, at, 4, &count, err);

    if (found < 1)
        return found;
    at += 4;
    if (count > TFS_BEAMNG_NAMES_MAX || count > file->size - at || (count == 0 && nul != habit))
        return 0;
    while (found == 1 && count-- > 0)
        found = skip_name(file, nul, &at, err);
    return found < 1 ? found : at == file->size;
}

/* ---- the layout ------------------------------------------------------------------------------ */

int tfs_beamng_head(struct tfs_span head, uint64_t size, struct tfs_beamng_layout *layout,
                    struct tfs_error *err)
{
    struct tfs_cursor in = tfs_cursor_init(head);
    struct tfs_beamng_layout found = {.version = tfs_take_u8(&in)};

    found.side = tfs_take_u32le(&in);
    if (head.size > 0 && (found.version < VERSION_LOW || found.version > VERSION_HIGH))
        return tfs_fail(err, -ENOTSUP, "terrain version %u is not supported, only 7, 8 and 9",
                        found.version);
    if (in.failed || size < TFS_BEAMNG_HEADER + TABLE_MIN)
        return tfs_fail(err, -EBADMSG,
                        "the file is cut off within its header, it has %" PRIu64 " bytes", size);
    if (found.side == 0)
        return tfs_fail(err, -EBADMSG, "the terrain has 0 samples a side (offset 1)");
    if (found.side > TFS_BEAMNG_SIDE_MAX)
        return tfs_fail(err, -EFBIG,
                        "the terrain has %" PRIu32 " samples a side, at most %d are "
                        "read (offset 1)",
                        found.side, TFS_BEAMNG_SIDE_MAX);
    if (size < tfs_beamng_table_at(&found) + TABLE_MIN)
        return tfs_fail(err, -EBADMSG,
                        "the file is cut off: %" PRIu32 " x %" PRIu32 " samples need %" PRIu64
                        " bytes at least, it has %" PRIu64,
                        found.side, found.side, tfs_beamng_table_at(&found) + TABLE_MIN, size);
    *layout = found;
    return 0;
}

static uint8_t own_extra(uint8_t version)
{
    return version == 8 ? EXTRA_CORNERS : 0;
}

/* Nothing fits: what the size is nearest to, for a user that wants to mend the file. */
static int fail_fit(const struct tfs_beamng_layout *layout, uint64_t size, struct tfs_error *err)
{
    uint64_t like = (size - TFS_BEAMNG_HEADER - TABLE_MIN) / tfs_beamng_samples(layout);
    struct tfs_beamng_layout guess = *layout;

    for (unsigned i = 0; i < EXTRA_SIZES; i++) {
        guess.extra = extra_sizes[i];
        if (like == tfs_beamng_sample_size(&guess))
            return tfs_fail(err, -EBADMSG,
                            "the table of material names does not end where the file ends, after 3,"
                            " 7, 8 or 4 bytes a sample: by its size it has %s, with a table at "
                            "offset %" PRIu64 " that is cut off, damaged or followed by more",
                            tfs_beamng_layout_name(&guess), tfs_beamng_table_at(&guess));
    }
    return tfs_fail(err, -EBADMSG,
                    "the table of material names does not end where the file ends, after 3, 7, 8 or"
                    " 4 bytes a sample: the file has %" PRIu64 " bytes for %" PRIu32 " x %" PRIu32
                    " samples",
                    size, layout->side, layout->side);
}

int tfs_beamng_detect(const struct tfs_beamng_file *file, struct tfs_beamng_layout *layout,
                      struct tfs_error *err)
{
    struct tfs_beamng_layout found = *layout, tried = *layout;
    unsigned fits = 0, own = 0;

    for (unsigned i = 0; i < 2 * EXTRA_SIZES; i++) {
        tried.extra = extra_sizes[i / 2];
        tried.nul = i % 2;
        bool habit = tried.extra == EXTRA_COMMUNITY || tried.extra == EXTRA_TEXTURE;
        bool is_own = tried.extra == own_extra(layout->version);
        int result = table_fits(file, tfs_beamng_table_at(&tried), tried.nul, habit, err);
        if (result < 0)
            return result;
        if (result == 0)
            continue;
        fits++;
        own += is_own;
        if (own == 0 || is_own)
            found = tried;
    }
    if (fits == 0)
        return fail_fit(layout, file->size, err);
    if (own != 1 && fits != 1)
        return tfs_fail(err, -EBADMSG, "%u layouts fit this file equally well", fits);
    *layout = found;
    return 0;
}

int tfs_beamng_read(const struct tfs_beamng_file *file, struct tfs_beamng_layout *layout,
                    struct tfs_error *err)
{
    uint8_t head[TFS_BEAMNG_HEADER];
    const struct tfs_span span = {head,
                                  file->size < sizeof(head) ? (size_t)file->size : sizeof(head)};
    struct tfs_beamng_layout found = {0};

    if (tfs_beamng_file_copy(file, 0, head, span.size, err) < 0 ||
        tfs_beamng_head(span, file->size, &found, err) < 0 ||
        tfs_beamng_detect(file, &found, err) < 0)
        return err->code;
    *layout = found;
    return 0;
}

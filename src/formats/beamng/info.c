/*
 * What a terrain is -> info.txt.
 */
#include "formats/views/info.h"

#include <errno.h>
#include <inttypes.h>

#include "formats/beamng/layers.h"
#include "formats/beamng/lenses.h"
#include "image/png.h"

struct survey {
    uint16_t low, high;
    uint64_t layers[256]; /* samples of each */
};

static void survey_samples(const struct tfs_doc *doc, struct survey *s)
{
    *s = (struct survey){.low = UINT16_MAX};
    for (size_t i = 0; i < doc->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, i);
        const struct tfs_span samples = tfs_blob_span(chunk->blob);
        const uint8_t *heights = samples.data, *layers = tfs_blob_span(chunk->extra).data;
        for (size_t k = 0; 2 * k < samples.size; k++) {
            const uint16_t height = (uint16_t)(heights[2 * k] | heights[2 * k + 1] << 8);
            s->low = height < s->low ? height : s->low;
            s->high = height > s->high ? height : s->high;
            s->layers[layers[k]]++;
        }
    }
}

/* "253 (6 samples), 254 (1)", or "none". */
static int add_strays(const struct survey *s, uint32_t materials, struct tfs_buf *out,
                      struct tfs_error *err)
{
    struct tfs_buf list = {0};

    for (unsigned i = materials; i < TFS_BEAMNG_HOLE; i++) {
        if (s->layers[i] > 0 && list.size == 0)
            tfs_buf_printf(&list, "%u (%" PRIu64 " samples)", i, s->layers[i]);
        else if (s->layers[i] > 0)
            tfs_buf_printf(&list, ", %u (%" PRIu64 ")", i, s->layers[i]);
    }
    tfs_buf_u8(&list, '\0');
    if (tfs_buf_check(&list, err) == 0)
        tfs_info_line(out, "layers-without-material", "%s",
                      list.size > 1 ? (const char *)list.data : "none");
    tfs_buf_release(&list);
    return err->code;
}

static void add_corners(const struct tfs_doc *doc, struct tfs_buf *out)
{
    const struct tfs_beamng_layout *layout = tfs_beamng_layout_of(doc);
    uint64_t odd = tfs_beamng_corners_odd(doc);

    if (layout->extra != tfs_beamng_corners.bytes)
        return;
    if (odd == 0)
        tfs_info_line(out, "corners", "follow the rule");
    else
        tfs_info_line(out, "corners", "%" PRIu64 " of %" PRIu64 " squares %s not follow the rule",
                      odd, tfs_beamng_samples(layout), odd == 1 ? "does" : "do");
}

static const char *sidecar_text(const struct tfs_doc *doc)
{
    static const char *const texts[] = {
        [TFS_BEAMNG_SIDECAR_ABSENT] = "absent",
        [TFS_BEAMNG_SIDECAR_AGREES] = "agrees",
        [TFS_BEAMNG_SIDECAR_DIFFERS] = "differs (other materials than the terrain)",
        [TFS_BEAMNG_SIDECAR_DAMAGED] =
            "damaged (no list of materials can be read in it); it is left as it is",
    };

    return texts[atomic_load(&tfs_beamng_facts(doc)->sidecar)];
}

static void add_layout(const struct tfs_beamng_layout *layout, struct tfs_buf *out)
{
    tfs_info_line(out, "version", "%u", layout->version);
    tfs_info_line(out, "layout", "%s", tfs_beamng_layout_name(layout));
    tfs_info_line(out, "name-terminator", "%s", layout->nul ? "00" : "none");
    tfs_info_line(out, "size", "%" PRIu32 " x %" PRIu32 " samples", layout->side, layout->side);
    tfs_info_line(
        out, "orientation", "pictures have north up, texts and the file begin in the south%s",
        layout->version == 7 ? "; pictures of Torque3D's editor are south up and stretched" : "");
    if (layout->side > TFS_PNG_SIDE_MAX) {
        tfs_info_line(out, "pictures", "map.png alone above %d samples a side", TFS_PNG_SIDE_MAX);
        tfs_info_line(out, "map scale", "%u", 1u << tfs_beamng_map_shift(layout->side));
    }
}

static void add_metres(const struct survey *s, const struct tfs_beamng_ground *ground,
                       struct tfs_buf *out)
{
    if (ground->scaled)
        tfs_info_line(out, "metres", "%.3f to %.3f", ground->low + s->low * ground->metres,
                      ground->low + s->high * ground->metres);
}

/* What makes metres of heightmap.png. Samples are points, and pixels are squares around them. */
static void add_gdal(const struct tfs_beamng_layout *layout, const struct tfs_beamng_ground *g,
                     struct tfs_buf *out)
{
    const double half = g->square / 2, length = (layout->side - 1) * g->square;
    const double numbers[] = {g->low,
                              g->low + UINT16_MAX * g->metres,
                              g->position[0] - half,
                              g->position[1] + length + half,
                              g->position[0] + length + half,
                              g->position[1] - half};
    char text[6][TFS_BEAMNG_NUMBER_ROOM];

    if (!g->scaled || layout->side > TFS_PNG_SIDE_MAX)
        return;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        tfs_beamng_number(numbers[i], text[i]);
    tfs_info_line(out, "gdal", "-scale 0 65535 %s %s -a_ullr %s %s %s %s", text[0], text[1],
                  text[2], text[3], text[4], text[5]);
}

/* Where it lies in its level. */
static void add_ground(const struct tfs_beamng_ground *ground, struct tfs_buf *out)
{
    char x[TFS_BEAMNG_NUMBER_ROOM], y[TFS_BEAMNG_NUMBER_ROOM], z[TFS_BEAMNG_NUMBER_ROOM];

    if (ground->level[0] == '\0')
        return;
    tfs_info_line(out, "level", "%s", ground->level);
    tfs_info_line(out, "terrain-block", "%s",
                  !ground->live      ? "none"
                  : ground->block[0] ? ground->block
                                     : "one without a name");
    if (ground->placed)
        tfs_info_line(out, "position", "%s %s %s", tfs_beamng_number(ground->position[0], x),
                      tfs_beamng_number(ground->position[1], y),
                      tfs_beamng_number(ground->position[2], z));
    if (ground->live)
        tfs_info_line(out, "square-size", "%s metres", tfs_beamng_number(ground->square, x));
    if (ground->height > 0)
        tfs_info_line(out, "max-height", "%s metres", tfs_beamng_number(ground->height, x));
}

static int add_survey(const struct survey *s, const struct tfs_doc *doc, struct tfs_buf *out,
                      struct tfs_error *err)
{
    uint32_t materials = tfs_beamng_name_count(doc);

    tfs_info_line(out, "heights", "%u to %u", s->low, s->high);
    add_metres(s, &tfs_beamng_facts(doc)->ground, out);
    tfs_info_line(
        out, "height-unit", "%s",
        tfs_beamng_layout_of(doc)->version == 7 ? "1/32 metre" : "maxHeight / 65535 metres");
    tfs_info_line(out, "materials", "%" PRIu32, materials);
    tfs_info_line(out, "holes", "%" PRIu64, s->layers[TFS_BEAMNG_HOLE]);
    if (add_strays(s, materials, out, err) < 0)
        return err->code;
    add_corners(doc, out);
    tfs_info_line(out, "sidecar", "%s", sidecar_text(doc));
    return 0;
}

static void add_lines(struct tfs_buf *out, struct tfs_save *save, const struct tfs_doc *doc,
                      struct tfs_error *err)
{
    struct survey s;

    (void)save;
    survey_samples(doc, &s);
    add_layout(tfs_beamng_layout_of(doc), out);
    add_ground(&tfs_beamng_facts(doc)->ground, out);
    add_gdal(tfs_beamng_layout_of(doc), &tfs_beamng_facts(doc)->ground, out);
    add_survey(&s, doc, out, err);
}

const struct tfs_lens tfs_beamng_info_lens = TFS_INFO_LENS(add_lines);

/*
 * Names of the pictures that the World Editor exports -> files of the tree.
 *
 * Its set is NAME_heightmap.png, NAME_layerMap_N_MATERIAL.png, NAME_holemap.png and
 * NAME_terrainPreset.json, which has the scale. Torque3D's editor gives its pictures the same names
 * but turns them over and stretches the heights, so they are refused for its terrains.
 */
#include "formats/beamng/editor_set.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "formats/beamng/lenses.h"
#include "image/png.h"
#include "text/json.h"

#define HEIGHTS  "_heightmap.png"
#define HOLES    "_holemap.png"
#define LAYER    "_layermap_"
#define PICTURE  ".png"
#define PRESET   "terrainPreset.json"
#define SCALE    "heightScale"
#define TORQUE3D 7
#define NEAR     1e-5 /* of a scale: less than a third of a step of 16 bits */

static bool ends_in(const char *name, const char *ending)
{
    const size_t length = strlen(name), n = strlen(ending);

    return length >= n && strcasecmp(name + length - n, ending) == 0;
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* "3_Rock.png" of a mask; NULL: it is none. */
static const char *behind_layer(const char *name)
{
    const char *found = NULL;

    if (!ends_in(name, PICTURE))
        return NULL;
    for (const char *at = name; (at = strcasestr(at, LAYER)) != NULL; at += strlen(LAYER))
        found = at + strlen(LAYER);
    return found;
}

/* "3_" and what follows it. */
static const char *take_number(const char *text, uint32_t *number)
{
    *number = 0;
    if (*text < '0' || *text > '9')
        return NULL;
    for (; *text >= '0' && *text <= '9'; text++)
        *number = *number > TFS_BEAMNG_NAMES_MAX ? *number : *number * 10 + (uint32_t)(*text - '0');
    return *text == '_' ? text + 1 : NULL;
}

static bool name_of(const struct tfs_doc *doc, uint32_t number, struct tfs_span *name)
{
    struct tfs_beamng_names names = tfs_beamng_names_of(doc);
    bool there = true;

    for (uint32_t i = 0; there && i <= number; i++)
        there = tfs_beamng_names_next(&names, name);
    return there;
}

/* Could the editor have given a file this name? What no name of a file can have is not compared. */
static bool could_be_called(struct tfs_span name, const char *material, size_t length)
{
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] < ' ' || strchr("/\\:*?\"<>|", name.data[i]) != NULL)
            return true;
    return name.size == length && memcmp(name.data, material, length) == 0;
}

static int find_mask(const struct tfs_doc *doc, const char *name, struct tfs_buf *path,
                     struct tfs_error *err)
{
    struct tfs_span called = {0};
    uint32_t number;
    const char *material = behind_layer(name);

    if (material != NULL)
        material = take_number(material, &number);
    if (material == NULL)
        return 0;
    const size_t length = strlen(material) - strlen(PICTURE);
    if (number >= TFS_BEAMNG_HOLE || !name_of(doc, number, &called))
        return tfs_fail(err, -EBADMSG,
                        "is the mask of material %.*s, but the terrain has %u: add it to "
                        "palette.txt first",
                        (int)strspn(behind_layer(name), "0123456789"), behind_layer(name),
                        tfs_beamng_name_count(doc));
    if (!could_be_called(called, material, length))
        return tfs_fail(err, -EBADMSG,
                        "is the mask of material %u, %.*s, but that is %.*s in the terrain: give "
                        "the file the number and name that palette.txt has",
                        number, (int)length, material, (int)called.size, (const char *)called.data);
    tfs_buf_add_text(path, "layers/");
    tfs_beamng_mask_name(doc, number, path);
    return 1;
}

/* ---- the set --------------------------------------------------------------------------------- */

static int find_path(struct tfs_save *save, const struct tfs_doc *doc, const char *name,
                     struct tfs_buf *path, struct tfs_error *err)
{
    const size_t before = path->size;
    int found = 1;

    (void)save;
    if (ends_in(name, HEIGHTS))
        tfs_buf_add_text(path, "heightmap.png");
    else if (ends_in(name, HOLES))
        tfs_buf_add_text(path, "holes.png");
    else
        found = find_mask(doc, name, path, err);
    if (found > 0 && tfs_beamng_layout_of(doc)->version == TORQUE3D) {
        path->size = before;
        return tfs_fail(err, -EBADMSG,
                        "is named as pictures of the World Editor, and that of Torque3D turns "
                        "them over and stretches the heights: turn a mask (convert -flip) and give "
                        "it the name that it has in the tree");
    }
    return found < 0 || tfs_buf_check(path, err) == 0 ? found : err->code;
}

static bool is_preset(const char *name)
{
    return ends_in(name, PRESET);
}

/* With another scale the same numbers would be other heights. */
static int check_preset(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_span text,
                        struct tfs_error *err)
{
    const struct tfs_beamng_ground *ground = &tfs_beamng_facts(doc)->ground;
    char theirs[TFS_BEAMNG_NUMBER_ROOM], ours[TFS_BEAMNG_NUMBER_ROOM];
    struct tfs_json json;

    (void)save;
    if (tfs_json_open(text, JSON_DECODE_INT_AS_REAL, &json) < 0)
        return tfs_fail_memory(err);
    const bool read = json_is_object(json.root);
    const json_t *value = json_object_get(json.root, SCALE);
    const double scale = json_is_number(value) ? json_number_value(value) : ground->height;
    tfs_json_close(&json);
    if (!read)
        return tfs_fail(err, -EBADMSG,
                        "is not the JSON of a preset: take it away to import the "
                        "pictures without it");
    if (ground->height == 0 || fabs(scale - ground->height) <= NEAR * ground->height)
        return 0;
    return tfs_fail(err, -EBADMSG,
                    "is of a terrain that is %s metres high, this one is %s: the numbers of its "
                    "height map would be other heights. Make maxHeight of the level the same, or "
                    "take this file away to import them as they are",
                    tfs_beamng_number(scale, theirs), tfs_beamng_number(ground->height, ours));
}

const struct tfs_foreign tfs_beamng_editor_set = {
    .path = find_path, .is_about = is_preset, .check = check_preset};

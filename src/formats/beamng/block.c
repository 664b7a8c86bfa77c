/*
 * The text of an `items.level.json` -> its TerrainBlock objects.
 *
 * Must not know where such files lie. A level has thousands of objects: only lines with the word
 * are looked into, whatever else stands in them. What cannot be a number of a terrain (negative,
 * beyond any world) is not known.
 */
#include "formats/beamng/block.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "text/json.h"

#define CLASS    "TerrainBlock"
#define FAR      1e7               /* metres */
#define SQUARE   1.0               /* where the level does not say it */
#define LINE_MAX ((size_t)1 << 20) /* bytes of an object */
#define MARK     "\xef\xbb\xbf"

void tfs_beamng_block_release(struct tfs_beamng_block *block)
{
    free(block->name);
    free(block->file);
}

void tfs_beamng_blocks_release(struct tfs_beamng_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++)
        tfs_beamng_block_release(&blocks->items[i]);
    free(blocks->items);
    *blocks = (struct tfs_beamng_blocks){0};
}

/* ---- one object ------------------------------------------------------------------------------ */

/* A copy of one string of it; NULL: it has none, or one with a byte 0. */
static int take_text(const json_t *object, const char *key, char **text)
{
    const json_t *value = json_object_get(object, key);
    const char *string = json_string_value(value);

    *text = NULL;
    if (string == NULL || strlen(string) != json_string_length(value))
        return 0;
    *text = strdup(string);
    return *text == NULL ? -ENOMEM : 0;
}

/* "-512 -512 0", as older levels have it. */
static bool read_numbers(const char *text, double *numbers, size_t count)
{
    char *end;

    for (size_t i = 0; i < count; i++, text = end + strspn(end, ", \t")) {
        numbers[i] = strtod(text, &end);
        if (end == text)
            return false;
    }
    return *text == '\0';
}

/* `count` numbers of it, each at most FAR away: one alone, a list, or a string of them. */
static bool take_numbers(const json_t *object, const char *key, double *numbers, size_t count)
{
    const json_t *value = json_object_get(object, key);
    bool known = json_is_array(value) ? json_array_size(value) == count : count == 1;

    if (json_is_string(value))
        known = read_numbers(json_string_value(value), numbers, count);
    for (size_t i = 0; known && i < count && !json_is_string(value); i++) {
        const json_t *one = json_is_array(value) ? json_array_get(value, i) : value;
        known = json_is_number(one);
        numbers[i] = json_number_value(one);
    }
    for (size_t i = 0; known && i < count; i++)
        known = fabs(numbers[i]) <= FAR;
    return known;
}

static int read_block(const json_t *object, struct tfs_beamng_block *block)
{
    if (take_text(object, "name", &block->name) < 0 ||
        take_text(object, "terrainFile", &block->file) < 0)
        return -ENOMEM;
    block->placed = take_numbers(object, "position", block->position, 3);
    if (!take_numbers(object, "squareSize", &block->square, 1) || block->square <= 0)
        block->square = SQUARE;
    if (!take_numbers(object, "maxHeight", &block->height, 1) || block->height < 0)
        block->height = 0;
    return 0;
}

static int add_block(const json_t *object, struct tfs_beamng_blocks *blocks)
{
    struct tfs_beamng_block block = {0},
                            *items = tfs_array_grow(blocks->items, blocks->count, sizeof(*items));

    if (items != NULL)
        blocks->items = items;
    if (items == NULL || read_block(object, &block) < 0) {
        tfs_beamng_block_release(&block);
        return -ENOMEM;
    }
    items[blocks->count++] = block;
    return 0;
}

static int read_line(struct tfs_span line, struct tfs_beamng_blocks *blocks)
{
    struct tfs_json json = {.root = NULL};
    int result = 0;

    if (line.size <= LINE_MAX &&
        tfs_json_open(line, JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, &json) < 0)
        return -ENOMEM;
    const char *class = json_string_value(json_object_get(json.root, "class"));
    if (!json_is_object(json.root))
        blocks->bad++;
    else if (class != NULL && strcmp(class, CLASS) == 0)
        result = add_block(json.root, blocks);
    tfs_json_close(&json);
    return result;
}

/* ---- the lines ------------------------------------------------------------------------------- */

static struct tfs_span take_line(struct tfs_cursor *in)
{
    const uint8_t *end = memchr(in->at, '\n', tfs_cursor_left(in));
    struct tfs_span line = tfs_take(in, end == NULL ? tfs_cursor_left(in) : (size_t)(end - in->at));

    if (end != NULL)
        (void)tfs_take(in, 1);
    return line;
}

int tfs_beamng_blocks_read(struct tfs_span text, struct tfs_beamng_blocks *blocks)
{
    struct tfs_cursor in = tfs_cursor_init(text);
    int result = 0;

    if (text.size >= strlen(MARK) && memcmp(text.data, MARK, strlen(MARK)) == 0)
        (void)tfs_take(&in, strlen(MARK));
    while (result == 0 && tfs_cursor_left(&in) > 0) {
        struct tfs_span line = take_line(&in);
        if (line.size > 0 && memmem(line.data, line.size, CLASS, strlen(CLASS)) != NULL)
            result = read_line(line, blocks);
    }
    return result;
}

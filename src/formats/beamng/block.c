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
#include "formats/beamng/json.h"

#define CLASS  "TerrainBlock"
#define FAR    1e7 /* metres */
#define SQUARE 1.0 /* where the level does not say it */
#define MARK   "\xef\xbb\xbf"

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

/* One string of it: 1, 0 or negative as tfs_beamng_json_find. */
static int find_text(struct tfs_span line, const char *key, char **text)
{
    struct tfs_span value;
    int there = tfs_beamng_json_find(line, key, &value);

    return there > 0 ? tfs_beamng_json_text(value, text) : there;
}

static int is_block(struct tfs_span line)
{
    char *class = NULL;
    int there = find_text(line, "class", &class);
    const bool same = class != NULL && strcmp(class, CLASS) == 0;

    free(class);
    return there > 0 ? same : there;
}

/* `count` numbers of it, each at most FAR away: 1, 0 or -ENOMEM. */
static int find_numbers(struct tfs_span line, const char *key, double *numbers, size_t count)
{
    struct tfs_span value;
    int there = tfs_beamng_json_find(line, key, &value);
    bool known = there > 0 && tfs_beamng_json_numbers(value, numbers, count);

    for (size_t i = 0; known && i < count; i++)
        known = fabs(numbers[i]) <= FAR;
    return there < 0 ? there : known;
}

static int read_block(struct tfs_span line, struct tfs_beamng_block *block)
{
    double square = 0, height = 0;

    int named = find_text(line, "name", &block->name);
    int filed = find_text(line, "terrainFile", &block->file);
    int placed = find_numbers(line, "position", block->position, 3);
    int squared = find_numbers(line, "squareSize", &square, 1);
    int scaled = find_numbers(line, "maxHeight", &height, 1);
    if (named < 0 || filed < 0 || placed < 0 || squared < 0 || scaled < 0)
        return -ENOMEM;
    block->placed = placed > 0;
    block->square = squared > 0 && square > 0 ? square : SQUARE;
    block->height = scaled > 0 && height > 0 ? height : 0;
    return 0;
}

static int add_block(struct tfs_span line, struct tfs_beamng_blocks *blocks)
{
    struct tfs_beamng_block block = {0}, *items;
    int is = is_block(line);

    if (is <= 0) {
        blocks->bad += is == -EBADMSG;
        return is == -ENOMEM ? is : 0;
    }
    items = tfs_array_grow(blocks->items, blocks->count, sizeof(*items));
    if (items != NULL)
        blocks->items = items;
    if (items == NULL || read_block(line, &block) < 0) {
        tfs_beamng_block_release(&block);
        return -ENOMEM;
    }
    items[blocks->count++] = block;
    return 0;
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
            result = add_block(line, blocks);
    }
    return result;
}

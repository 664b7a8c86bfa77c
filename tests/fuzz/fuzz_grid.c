/*
 * Any bytes as grid text of several shapes: what is accepted must print and read back as the same
 * values, and what is refused must have a sentence.
 */
#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "text/grid.h"

#define VALUES 64

static const struct tfs_grid_rules all_rules[] = {
    {{2, 2, 2, TFS_GRID_DECIMAL, 2}, 11, "the palette has 12 entries"},
    {{16, 1, 1, TFS_GRID_DECIMAL, 3}, 255, "0 to 255"},
    {{1, 2, 3, TFS_GRID_DECIMAL, 10}, UINT32_MAX, "it has 32 bits"},
    {{3, 1, 2, TFS_GRID_HEX, 3}, 0xfff, "000 to fff"},
    {{1, 1, 4, TFS_GRID_HEX, 8}, 0xfffffffe, "it has 32 bits"},
    {{2, 2, 2, TFS_GRID_SIGNED, 6}, 32767, "-32768 to 32767"},
    {{2, 1, 1, TFS_GRID_FLOAT, 15}, 0, ""},
};

static int parse(struct tfs_span text, const struct tfs_grid_rules *rules, uint32_t *values,
                 bool *filled)
{
    struct tfs_lines lines;
    struct tfs_error err = {0};
    int result = tfs_lines_init(&lines, text, &err);

    if (result == 0)
        result = tfs_grid_parse(&lines, NULL, rules, values, filled, &err);
    REQUIRE(result == err.code);
    if (result < 0) {
        REQUIRE(result == -EBADMSG);
        REQUIRE(err.text[0] != '\0' && err.line > 0 && err.column > 0);
    }
    return result;
}

static void check(struct tfs_span text, const struct tfs_grid_rules *rules)
{
    const struct tfs_grid_shape *shape = &rules->shape;
    size_t count = (size_t)shape->sx * shape->sy * shape->sz;
    uint32_t values[VALUES], back[VALUES];
    struct tfs_buf printed = {0};
    bool filled, filled_back;

    REQUIRE(count <= VALUES);
    if (parse(text, rules, values, &filled) < 0)
        return;
    for (size_t i = 0; i < count && shape->base < TFS_GRID_SIGNED; i++)
        REQUIRE(values[i] <= rules->high);
    if (filled)
        tfs_grid_print_fill(&printed, shape, values[0]);
    else
        tfs_grid_print_rows(&printed, shape, values);
    REQUIRE(printed.size ==
            (filled ? tfs_grid_fill_size(shape, values[0]) : tfs_grid_rows_size(shape)));
    REQUIRE(parse(tfs_buf_span(&printed), rules, back, &filled_back) == 0);
    REQUIRE(filled_back == filled);
    REQUIRE(memcmp(values, back, count * sizeof(values[0])) == 0);
    tfs_buf_release(&printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < sizeof(all_rules) / sizeof(all_rules[0]); i++)
        check((struct tfs_span){data, size}, &all_rules[i]);
    return 0;
}

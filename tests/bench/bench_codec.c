/*
 * Nanoseconds to render and to parse one grid of 4,096 values, beside the plainest loop that does
 * the same without labels, places and checks: a ready table of all values' texts for rendering, one
 * digit after the other for parsing. Both are run in turn and the best of many rounds counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "text/grid.h"

#define VALUES 4096
#define ROUNDS 400
#define CELL   8

struct work {
    struct tfs_grid_rules rules;
    uint32_t values[VALUES], parsed[VALUES];
    char (*cells)[CELL]; /* text of every value, with its blank */
    struct tfs_buf text;
    uint8_t plain[VALUES * CELL + CELL];
};

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static void render(struct work *work)
{
    tfs_buf_clear(&work->text);
    tfs_grid_print_rows(&work->text, &work->rules.shape, work->values);
}

static void render_plain(struct work *work)
{
    uint8_t *out = work->plain;

    for (size_t i = 0; i < VALUES; i++, out += work->rules.shape.width + 1)
        memcpy(out, work->cells[work->values[i]], CELL);
}

static void parse(struct work *work)
{
    struct tfs_lines lines;
    struct tfs_error err = {0};

    if (tfs_lines_init(&lines, tfs_buf_span(&work->text), &err) < 0 ||
        tfs_grid_parse(&lines, NULL, &work->rules, work->parsed, NULL, &err) < 0) {
        fprintf(stderr, "bench_codec: %s\n", err.text);
        exit(EXIT_FAILURE);
    }
}

static void parse_plain(struct work *work)
{
    const uint32_t base = work->rules.shape.base == TFS_GRID_HEX ? 16 : 10;
    const uint8_t *at = work->plain;
    uint32_t *out = work->parsed;

    for (size_t i = 0; i < VALUES; i++) {
        uint32_t v = 0;
        while (*at == ' ')
            at++;
        for (; *at > ' '; at++)
            v = v * base + (uint32_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
        *out++ = v;
    }
}

static void best_of(void (*step)(struct work *), struct work *work, uint64_t *best)
{
    uint64_t begin = now();
    step(work);
    uint64_t took = now() - begin;

    *best = took < *best ? took : *best;
}

static void require_values(const struct work *work, const char *who)
{
    if (memcmp(work->parsed, work->values, sizeof(work->values)) != 0) {
        fprintf(stderr, "bench_codec: %s read other values than were written\n", who);
        exit(EXIT_FAILURE);
    }
}

static void measure(struct work *work, const char *name)
{
    uint64_t best[4] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

    for (int round = 0; round < ROUNDS; round++) {
        best_of(render, work, &best[0]);
        best_of(render_plain, work, &best[1]);
        best_of(parse, work, &best[2]);
        require_values(work, "tfs_grid_parse");
        best_of(parse_plain, work, &best[3]);
        require_values(work, "the plain loop");
    }
    printf("%s\t%ju\t%ju\t%.2f\t%ju\t%ju\t%.2f\n", name, (uintmax_t)best[0], (uintmax_t)best[1],
           (double)best[0] / (double)best[1], (uintmax_t)best[2], (uintmax_t)best[3],
           (double)best[2] / (double)best[3]);
}

static void run(struct work *work, const char *name, enum tfs_grid_base base, uint32_t width,
                uint32_t count)
{
    uint32_t random = 1;

    work->rules = (struct tfs_grid_rules){{16, 16, 16, base, width}, count - 1, "it has an end"};
    work->cells = malloc((size_t)count * CELL);
    if (work->cells == NULL)
        abort();
    for (uint32_t v = 0; v < count; v++) {
        char text[16];
        snprintf(text, sizeof(text), base == TFS_GRID_HEX ? "%0*x      " : "%*u      ", (int)width,
                 v);
        memcpy(work->cells[v], text, CELL);
    }
    for (size_t i = 0; i < VALUES; i++) {
        random = random * 1664525U + 1013904223U;
        work->values[i] = (uint32_t)((uint64_t)random * count >> 32);
    }
    measure(work, name);
    free(work->cells);
}

int main(void)
{
    struct work *work = calloc(1, sizeof(*work));

    if (work == NULL)
        return EXIT_FAILURE;
    printf("4096 values\trender\tplain\tratio\tparse\tplain\tratio\n");
    run(work, "decimal 1", TFS_GRID_DECIMAL, 1, 10);
    run(work, "decimal 2", TFS_GRID_DECIMAL, 2, 100);
    run(work, "decimal 3", TFS_GRID_DECIMAL, 3, 1000);
    run(work, "decimal 5", TFS_GRID_DECIMAL, 5, 65536);
    run(work, "hex 3", TFS_GRID_HEX, 3, 4096);
    tfs_buf_release(&work->text);
    free(work);
    return EXIT_SUCCESS;
}

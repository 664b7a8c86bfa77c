/*
 * bench_picture SAVE: milliseconds to decode every chunk once, to render both pictures of the save
 * for the first time, and again after one chunk changed; then the same in CPU time of all threads,
 * which other programs disturb less. Each is the best of some rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/cells/cells.h"
#include "formats/godot_voxel/counts.h"
#include "formats/views/pictures/picture.h"
#include "formats/roblox/cells.h"

#define ROUNDS 7

static struct tfs_save *save;
static struct tfs_error err;

static void must(int result)
{
    if (result < 0) {
        fprintf(stderr, "bench_picture: %s\n", err.text);
        exit(EXIT_FAILURE);
    }
}

struct moment {
    double wall, cpu; /* milliseconds */
};

static double read_clock(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct moment now(void)
{
    return (struct moment){read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_PROCESS_CPUTIME_ID)};
}

static struct moment since(struct moment start)
{
    struct moment end = now();

    return (struct moment){end.wall - start.wall, end.cpu - start.cpu};
}

/* ---- decoding -------------------------------------------------------------------------------- */

static void decode_cells(const struct tfs_chunk *chunk)
{
    struct tfs_cells *cells;

    must(tfs_cells_make(save, save->doc, chunk, 1, &cells, &err));
    tfs_cells_unref(cells);
}

static void decode_roblox(const struct tfs_chunk *chunk)
{
    struct tfs_cells *cells;

    must(tfs_cells_make(save, save->doc, chunk, TFS_CELLS_ALL, &cells, &err));
    tfs_cells_unref(cells);
}

static void decode_godot(const struct tfs_chunk *chunk)
{
    struct tfs_cells *cells;

    must(tfs_cells_make(save, save->doc, chunk, 0, &cells, &err));
    tfs_cells_unref(cells);
}

static const struct {
    const char *format;
    void (*decode)(const struct tfs_chunk *chunk);
} games[] = {
    {"cosmic_reach", decode_cells},
    {"roblox", decode_roblox},
    {"godot_voxel", decode_godot},
};

#define GAMES (sizeof(games) / sizeof(games[0]))

static struct moment decode_all(void)
{
    unsigned game = 0;
    struct moment start = now();

    while (game < GAMES && strcmp(games[game].format, save->container->format) != 0)
        game++;
    for (size_t i = 0; game < GAMES && i < save->doc->count; i++)
        games[game].decode(tfs_doc_at(save->doc, i));
    return since(start);
}

/* ---- rendering ------------------------------------------------------------------------------- */

static struct moment render(const struct tfs_doc *doc)
{
    struct tfs_buf out = {0};
    struct moment start = now();

    must(tfs_heightmap_lens.get(save, doc, tfs_lens_at(&tfs_heightmap_lens, (struct tfs_key){0}, 0),
                                &out, &err));
    must(tfs_map_lens.get(save, doc, tfs_lens_at(&tfs_map_lens, (struct tfs_key){0}, 0), &out,
                          &err));
    struct moment took = since(start);
    tfs_buf_release(&out);
    return took;
}

static struct moment render_edited(void)
{
    struct tfs_key key = tfs_doc_at(save->doc, 0)->key;
    struct tfs_edit edit;

    must(tfs_edit_open(save->doc, &edit, &err));
    must(tfs_edit_remove(&edit, key, &err));
    must(tfs_chunk_create(save, &edit, key, &err));
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    struct moment took = render(doc);
    tfs_doc_unref(doc);
    tfs_edit_release(&edit);
    return took;
}

int main(int argc, char **argv)
{
    const struct tfs_open_options options = {.inflate_limit = TFS_INFLATE_LIMIT};
    struct moment best[3] = {{1e9, 1e9}, {1e9, 1e9}, {1e9, 1e9}};

    for (unsigned round = 0; argc == 2 && round < ROUNDS; round++) {
        must(tfs_save_open(argv[1], NULL, &options, &save, &err));
        struct moment took[3];
        took[0] = decode_all();
        took[1] = render(save->doc);
        took[2] = render_edited();
        for (unsigned i = 0; i < 3; i++) {
            best[i].wall = took[i].wall < best[i].wall ? took[i].wall : best[i].wall;
            best[i].cpu = took[i].cpu < best[i].cpu ? took[i].cpu : best[i].cpu;
        }
        tfs_save_close(save);
    }
    printf("%.3f %.3f %.3f ", best[0].wall, best[1].wall, best[2].wall);
    printf("%.3f %.3f %.3f\n", best[0].cpu, best[1].cpu, best[2].cpu);
    return argc == 2 ? EXIT_SUCCESS : EXIT_FAILURE;
}

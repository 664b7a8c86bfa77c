/*
 * A seed -> a terrain file.
 */
#include "ter_maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"Grass",     "DirtRoad",     "Rock",
                                    "BeachSand", "asphalt worn", "warning_material"};
#define NAMES (sizeof(names) / sizeof(names[0]))

static void material_name(unsigned i, char name[64])
{
    if (i < NAMES)
        snprintf(name, 64, "%s", names[i]);
    else
        snprintf(name, 64, "%s_%u", names[i % NAMES], i);
}

/* A number from a place that looks like noise and is the same every time. */
static uint32_t noise(uint64_t seed, uint32_t x, uint32_t z)
{
    uint64_t v = seed * UINT64_C(0x9e3779b97f4a7c15) + x * UINT64_C(0xbf58476d1ce4e5b9) +
                 z * UINT64_C(0x94d049bb133111eb);

    v ^= v >> 29;
    v *= UINT64_C(0xbf58476d1ce4e5b9);
    v ^= v >> 32;
    return (uint32_t)v;
}

/* How far on the way from one point of a lattice to the next, of 2^(3 shift): level at both. */
static uint64_t way(uint32_t at, unsigned shift)
{
    const uint64_t size = UINT64_C(1) << shift, f = at % size;

    return f * f * (3 * size - 2 * f);
}

/* Noise on a lattice of 2^shift, smooth in between; 0 to 65535. */
static uint32_t smooth(uint64_t seed, uint32_t x, uint32_t z, unsigned shift)
{
    const uint64_t size = UINT64_C(1) << 3 * shift, fx = way(x, shift), fz = way(z, shift);
    uint32_t lx = x >> shift, lz = z >> shift;
    uint64_t south = (uint64_t)(noise(seed, lx, lz) & 0xffff) * (size - fx) +
                     (uint64_t)(noise(seed, lx + 1, lz) & 0xffff) * fx;
    uint64_t north = (uint64_t)(noise(seed, lx, lz + 1) & 0xffff) * (size - fx) +
                     (uint64_t)(noise(seed, lx + 1, lz + 1) & 0xffff) * fx;

    return (uint32_t)((south * (size - fz) + north * fz) >> 6 * shift);
}

static uint16_t height_at(const struct ter_world *w, uint32_t x, uint32_t z)
{
    return (uint16_t)((smooth(w->seed, x, z, 7) * 12 + smooth(w->seed + 1, x, z, 4) * 3 +
                       (noise(w->seed + 2, x, z) & 0xfff)) >>
                      4);
}

static uint8_t layer_at(const struct ter_world *w, uint32_t x, uint32_t z)
{
    if (smooth(w->seed + 4, x, z, 3) > 62000)
        return 255;
    if (w->materials == 0)
        return 0;
    if (smooth(w->seed + 3, x, z, 5) % 8192 < 300)
        return (uint8_t)(w->materials - 1);
    return (uint8_t)((uint32_t)height_at(w, x, z) * w->materials >> 16);
}

void ter_corner_rule(const uint8_t *layers, uint32_t side, uint64_t i, uint8_t corners[4])
{
    uint64_t last = (uint64_t)side * side - 1;
    uint64_t reads[4] = {i, i + 1, i + side, i + side + 1};

    for (int c = 0; c < 4; c++)
        corners[c] = layers[reads[c] < last ? reads[c] : last];
}

static void add_extra(struct maker_bytes *b, const struct ter_world *w, const uint8_t *layers)
{
    uint64_t count = (uint64_t)w->side * w->side;
    unsigned planes = w->kind == TER_COMMUNITY ? 5 : w->kind == TER_TEXTURE;
    uint8_t corners[4];

    for (uint64_t i = 0; i < count && w->kind == TER_CORNERS; i++) {
        ter_corner_rule(layers, w->side, i, corners);
        maker_add(b, corners, 4);
    }
    for (unsigned p = 0; p < planes; p++)
        for (uint64_t i = 0; i < count; i++)
            maker_u8(
                b, noise(w->seed + 5 + p, (uint32_t)(i % w->side), (uint32_t)(i / w->side)) & 0xff);
}

void ter_make(struct maker_bytes *b, const struct ter_world *w)
{
    uint64_t count = (uint64_t)w->side * w->side;
    char name[64];

    maker_u8(b, w->version);
    for (unsigned shift = 0; shift < 32; shift += 8)
        maker_u8(b, w->side >> shift & 0xff);
    for (uint32_t z = 0; z < w->side; z++)
        for (uint32_t x = 0; x < w->side; x++) {
            uint16_t height = height_at(w, x, z);
            uint8_t bytes[2] = {(uint8_t)height, (uint8_t)(height >> 8)};
            maker_add(b, bytes, 2);
        }
    size_t at = b->size;
    for (uint32_t z = 0; z < w->side; z++)
        for (uint32_t x = 0; x < w->side; x++)
            maker_u8(b, layer_at(w, x, z));
    uint8_t *layers = malloc(count);
    if (layers == NULL)
        abort();
    memcpy(layers, b->data + at, count);
    add_extra(b, w, layers);
    free(layers);
    uint8_t table[4] = {(uint8_t)w->materials};
    maker_add(b, table, 4);
    for (unsigned i = 0; i < w->materials; i++) {
        material_name(i, name);
        maker_u8(b, (unsigned)strlen(name));
        maker_add(b, name, strlen(name) + (w->nul ? 1 : 0));
    }
}

static void add_text(struct maker_bytes *b, const char *text)
{
    maker_add(b, text, strlen(text));
}

void ter_make_sidecar(struct maker_bytes *b, const struct ter_world *w, const char *name)
{
    char line[512], material[64];
    uint64_t count = (uint64_t)w->side * w->side;

    snprintf(line, sizeof(line),
             "{\n  \"binaryFormat\": \"version(char), size(unsigned int), heightMap(heightMapSize *"
             " heightMapItemSize), layerMap(layerMapSize * layerMapItemSize), materialNames\",\n"
             "  \"datafile\": \"levels/demo/%s\",\n  \"heightMapItemSize\": 2,\n"
             "  \"heightMapSize\": %llu,\n  \"heightmapImage\": \"\",\n"
             "  \"layerMapItemSize\": 1,\n  \"layerMapSize\": %llu,\n  \"materials\": [",
             name, (unsigned long long)count, (unsigned long long)count);
    add_text(b, line);
    for (unsigned i = 0; i < w->materials; i++) {
        material_name(i, material);
        snprintf(line, sizeof(line), "%s\n    \"%s\"", i == 0 ? "" : ",", material);
        add_text(b, line);
    }
    snprintf(line, sizeof(line), "%s],\n  \"size\": %u,\n  \"version\": %u\n}",
             w->materials > 0 ? "\n  " : "", w->side, w->version);
    add_text(b, line);
}

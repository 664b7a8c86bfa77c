/*
 * Worlds for make_region: `demo` and `bench` are a landscape as the game might have made it (stone
 * and ores, caves, magma at the bottom, dirt, grass, sand, water, trees, air); `random` is anything
 * the format allows. Must not use any code of src/.
 */
#include "region_maker.h"

#include <string.h>

/* ---- landscape ------------------------------------------------------------------------------- */

enum block {
    AIR,
    GABBRO,
    KOMATIITE,
    LIMESTONE,
    GRAVEL,
    COAL,
    IRON,
    BAUXITE,
    GOLD,
    RUBY,
    MAGMA,
    LAVA,
    DIRT,
    GRASS,
    BLADES,
    SAND,
    WATER,
    LOG,
    LEAVES,
    LEAVES_FAR,
    BLOCKS
};

static const char *const block_names[2][BLOCKS] = {
    {"base:air[default]",
     "base:stone_gabbro[default]",
     "base:stone_komatiite[default]",
     "base:stone_limestone[default]",
     "base:stone_gravel[default]",
     "base:coal[default]",
     "base:ore_iron[default]",
     "base:ore_bauxite[default]",
     "base:ore_gold[default]",
     "base:ore_ruby[default]",
     "base:magma[default]",
     "base:lava[type=source]",
     "base:dirt[default]",
     "base:grass[type=full]",
     "base:grass_blades[default]",
     "base:sand[default]",
     "base:water[type=source]",
     "base:tree_log[default]",
     "base:leaves_poplar[dist=1,type=decaying]",
     "base:leaves_poplar[dist=2,type=decaying]"},
    {"base:air",
     "base:stone_gabbro",
     "base:stone_komatiite",
     "base:stone_limestone",
     "base:stone_gravel",
     "base:coal",
     "base:ore_iron",
     "base:ore_bauxite",
     "base:ore_gold",
     "base:ore_ruby",
     "base:magma",
     "base:lava[type=source]",
     "base:dirt",
     "base:grass[type=full]",
     "base:grass_blades",
     "base:sand",
     "base:water[type=source]",
     "base:tree_log",
     "base:leaves_poplar[dist=1,type=decaying]",
     "base:leaves_poplar[dist=2,type=decaying]"},
};

#define TREE_CELL 8

struct world {
    uint32_t seed;
    int32_t ground; /* mean height of the surface */
    int32_t hills;
    int32_t sea;
    int32_t magma; /* below: magma and lava */
};

static uint32_t hash(uint32_t seed, int32_t x, int32_t y, int32_t z)
{
    uint32_t h =
        seed ^ (uint32_t)x * 0x8da6b343U ^ (uint32_t)y * 0xd8163841U ^ (uint32_t)z * 0xcb1ab31fU;
    h = (h ^ h >> 15) * 0x2c1b3c6dU;
    h = (h ^ h >> 12) * 0x297a2d39U;
    return h ^ h >> 15;
}

/* Smooth noise 0..255 with features of 2^shift blocks; integers only, so it is the same
 * everywhere. */
static int32_t noise(uint32_t seed, int32_t x, int32_t y, int32_t z, unsigned shift)
{
    int32_t cell = 1 << shift, part = cell - 1, sum = 0;
    int32_t fx = x & part, fy = y & part, fz = z & part;
    for (int32_t corner = 0; corner < 8; corner++) {
        int32_t wx = corner & 1 ? fx : cell - fx, wy = corner & 2 ? fy : cell - fy;
        int32_t wz = corner & 4 ? fz : cell - fz;
        uint32_t h = hash(seed, (x >> shift) + (corner & 1), (y >> shift) + (corner >> 1 & 1),
                          (z >> shift) + (corner >> 2));
        sum += (int32_t)(h & 255) * (wx * wy * wz >> shift);
    }
    return sum >> (2 * shift);
}

static int32_t surface(const struct world *w, int32_t x, int32_t z)
{
    int32_t wide = noise(w->seed + 1, x, 0, z, 6), near = noise(w->seed + 2, x, 0, z, 4);
    return w->ground + ((wide - 128) * w->hills >> 7) + ((near - 128) * w->hills >> 9);
}

static enum block stone_at(const struct world *w, int32_t x, int32_t y, int32_t z)
{
    static const enum block ores[8] = {COAL, COAL, COAL, IRON, IRON, BAUXITE, BAUXITE, GOLD};
    uint32_t vein = hash(w->seed + 3, x >> 2, y >> 2, z >> 2);
    if (vein % 23 == 0 && hash(w->seed + 4, x, y, z) % 3 == 0)
        return vein % 701 == 0 ? RUBY : ores[vein >> 8 & 7];
    int32_t kind = noise(w->seed + 5, x, y, z, 5);
    if (kind > 170)
        return LIMESTONE;
    return kind > 150 ? GRAVEL : y > w->ground / 2 ? GABBRO : KOMATIITE;
}

static enum block below_ground(const struct world *w, int32_t x, int32_t y, int32_t z, int32_t top)
{
    bool cave = noise(w->seed + 6, x, y * 2, z, 4) > 178;
    if (y <= w->magma)
        return cave ? LAVA : MAGMA;
    if (cave && y < top - 2)
        return AIR;
    if (y > top - 4)
        return top <= w->sea + 1 ? SAND : y == top ? GRASS : DIRT;
    return stone_at(w, x, y, z);
}

/* A tree whose trunk stands in the cell of (x, z), seen at (x, y, z); AIR where it is not. */
static enum block tree_at(const struct world *w, int32_t x, int32_t y, int32_t z)
{
    int32_t cx = x / TREE_CELL * TREE_CELL, cz = z / TREE_CELL * TREE_CELL;
    uint32_t h = hash(w->seed + 7, cx, 0, cz);
    int32_t dx = x - cx - 3 - (int32_t)(h & 1), dz = z - cz - 3 - (int32_t)(h >> 1 & 1);
    if (h % 3 == 0 || dx * dx + dz * dz > 8)
        return AIR;
    int32_t foot = surface(w, x - dx, z - dz), up = y - foot, tall = 5 + (int32_t)(h >> 4 & 1);
    if (foot <= w->sea + 1 || up < 1 || up > tall + 2)
        return AIR;
    if (dx == 0 && dz == 0 && up <= tall)
        return LOG;
    int32_t away = dx * dx + dz * dz + (up - tall) * (up - tall);
    return up < tall - 2 || away > 7 ? AIR : away > 3 ? LEAVES_FAR : LEAVES;
}

static enum block block_at(const struct world *w, int32_t x, int32_t y, int32_t z, int32_t top)
{
    if (y <= top)
        return below_ground(w, x, y, z, top);
    if (y <= w->sea)
        return WATER;
    enum block tree = y < top + 12 ? tree_at(w, x, y, z) : AIR;
    if (tree == AIR && y == top + 1 && top > w->sea + 1 && hash(w->seed + 8, x, 0, z) % 5 == 0)
        return BLADES;
    return tree;
}

static bool opaque(uint16_t id)
{
    return id != AIR && id != WATER && id != BLADES && id != LEAVES && id != LEAVES_FAR &&
           id != LAVA;
}

struct scene {
    uint16_t ids[MAKER_VOXELS];
    uint8_t sky[MAKER_VOXELS];
    uint16_t light[MAKER_VOXELS];
    bool dark, unlit;
};

static void scene_voxel(const struct world *w, struct scene *s, unsigned i, int32_t y, int32_t top)
{
    int32_t lit = 15 - 2 * (top - y > 0 ? top - y : 0), glow = 15 - (y - w->magma);
    bool open = !opaque(s->ids[i]);
    s->sky[i] = (uint8_t)(y > top || (open && lit > 0) ? (lit > 0 ? lit : 0) : 0);
    s->light[i] = 0;
    if (open && y <= top && glow > 0)
        s->light[i] = (uint16_t)((glow > 15 ? 15 : glow) << 8 | (glow > 15 ? 4 : glow / 4) << 4);
    s->dark = s->dark && s->sky[i] == 0;
    s->unlit = s->unlit && s->light[i] == 0;
}

static void scene_fill(const struct world *w, struct scene *s, const struct maker_chunk *chunk)
{
    s->dark = s->unlit = true;
    for (unsigned column = 0; column < 256; column++) {
        int32_t x = chunk->x * 16 + (int32_t)(column & 15);
        int32_t z = chunk->z * 16 + (int32_t)(column >> 4);
        int32_t top = surface(w, x, z);
        for (unsigned ly = 0; ly < 16; ly++) {
            int32_t y = chunk->y * 16 + (int32_t)ly;
            unsigned i = ly * 256 + column;
            s->ids[i] = (uint16_t)block_at(w, x, y, z, top);
            scene_voxel(w, s, i, y, top);
        }
    }
}

static void world_chunk(const struct world *w, struct maker_chunk *chunk)
{
    static struct scene s;
    scene_fill(w, &s, chunk);
    const char *const *names = block_names[chunk->version >= 3];
    maker_game_blocks(&chunk->body, names, BLOCKS, s.ids, chunk->version);
    maker_sky(&chunk->body, s.dark ? NULL : s.sky);
    maker_light(&chunk->body, s.unlit ? NULL : s.light);
}

/* Columns of `tall` chunks, the first ones of a square, until there are `chunks`. */
static void world_make(struct maker_region *r, const struct world *w, unsigned chunks,
                       unsigned tall, unsigned entities_at)
{
    static const char chest[] = "CRB\2 a chest of the demo\0\1\2\3";
    unsigned side = 1;
    while (side * side * tall < chunks)
        side++;
    for (unsigned i = 0; i < chunks; i++) {
        unsigned column = i / tall;
        struct maker_chunk *chunk = maker_region_add(r, (int32_t)(column % side),
                                                     (int32_t)(i % tall), (int32_t)(column / side));
        world_chunk(w, chunk);
        if (chunk->version > 0)
            maker_entities(&chunk->body, chest, i == entities_at ? (int64_t)sizeof chest : -1);
    }
}

void maker_demo(struct maker_region *r, unsigned chunks, uint64_t seed)
{
    struct world w = {.seed = (uint32_t)seed, .ground = 22, .hills = 8, .sea = 20, .magma = 3};
    world_make(r, &w, chunks, chunks < 768 ? 3 : 16, 1);
}

void maker_bench(struct maker_region *r, unsigned chunks, uint64_t seed)
{
    struct world w = {.seed = (uint32_t)seed, .ground = 150, .hills = 30, .sea = 140, .magma = 9};
    world_make(r, &w, chunks, 16, 9);
}

/* ---- anything -------------------------------------------------------------------------------- */

static void random_name(struct maker_bytes *b, struct maker_random *r)
{
    static const char *const odd[] = {
        "base:air",     "base:air[default]",  "base:stone",   "a,b",
        "say \"hi\"",   " both ends ",        "back\\slash",  "#hash",
        "na\xc3\xafve", "\xff\xfe not UTF-8", "line\nbreak",  "tab\there",
        "fill",         "palette 3 x",        "base:airship", "base:air[type=thin]",
        "12",           "\xc2\x85",           "\x7f",         "x,y,z,block",
    };
    uint32_t kind = maker_draw(r, 4);
    if (kind == 0) {
        maker_string(b, odd[maker_draw(r, sizeof odd / sizeof *odd)]);
    } else if (kind == 1) {
        uint32_t size = 1 + maker_draw(r, 12);
        maker_s32(b, size);
        for (uint32_t i = 0; i < size; i++)
            maker_u8(b, maker_draw(r, 256));
    } else {
        maker_string(b, block_names[maker_draw(r, 2)][maker_draw(r, BLOCKS)]);
    }
}

static uint32_t random_palette_size(struct maker_random *r)
{
    static const uint32_t most[8] = {1, 2, 4, 16, 16, 200, 600, 4096};
    uint32_t kind = maker_draw(r, 64);
    return 1 + maker_draw(r, most[kind < 8 ? kind : 1 + kind % 4]);
}

static void random_layer(struct maker_bytes *b, struct maker_random *r, uint32_t palette,
                         int32_t version)
{
    static const uint32_t room[] = {4096, 256, 4096, 4, 16, 256, 4096, 2};
    enum maker_layer type = (enum maker_layer)maker_draw(r, 8);
    uint32_t below = room[type] < palette ? room[type] : palette, few = 1 + maker_draw(r, below);
    uint16_t ids[256];
    bool same = type == MAKER_SINGLE_BYTE || type == MAKER_SINGLE_INT || maker_draw(r, 4) == 0;
    for (unsigned i = 0; i < 256; i++)
        ids[i] = (uint16_t)(i && same ? ids[0] : maker_draw(r, few));
    maker_layer(b, type, ids, version);
}

static void random_blocks(struct maker_bytes *b, struct maker_random *r, int32_t version)
{
    if (maker_draw(r, 6) == 0) {
        maker_u8(b, 1);
        random_name(b, r);
        return;
    }
    uint32_t count = random_palette_size(r);
    maker_u8(b, 2);
    maker_s32(b, count);
    for (uint32_t i = 0; i < count; i++)
        random_name(b, r);
    for (unsigned y = 0; y < MAKER_LAYERS; y++)
        random_layer(b, r, count, version);
}

static void random_bytes(struct maker_bytes *b, struct maker_random *r, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        maker_u8(b, maker_draw(r, 256));
}

static void random_sky(struct maker_bytes *b, struct maker_random *r)
{
    uint32_t kind = 1 + maker_draw(r, 3);
    maker_u8(b, kind);
    if (kind == 3)
        maker_u8(b, maker_draw(r, maker_draw(r, 4) ? 16 : 256));
    for (unsigned y = 0; kind == 2 && y < MAKER_LAYERS; y++) {
        uint32_t type = 1 + maker_draw(r, 2);
        maker_u8(b, type);
        random_bytes(b, r, type == 1 ? 1 : 128);
    }
}

static void random_light(struct maker_bytes *b, struct maker_random *r)
{
    static const uint32_t sizes[] = {0, 3, 512, 131, 131, 131};
    uint32_t kind = 1 + maker_draw(r, 2);
    maker_u8(b, kind);
    for (unsigned y = 0; kind == 2 && y < MAKER_LAYERS; y++) {
        uint32_t type = maker_draw(r, 3) ? 1 + maker_draw(r, 2) : 1 + maker_draw(r, 5);
        maker_u8(b, type);
        random_bytes(b, r, sizes[type]);
    }
}

void maker_random_body(struct maker_bytes *b, struct maker_random *r, int32_t version)
{
    random_blocks(b, r, version);
    random_sky(b, r);
    random_light(b, r);
    if (version == 0)
        return;
    bool present = maker_draw(r, 3) == 0;
    maker_u8(b, present);
    if (present) {
        uint32_t size = maker_draw(r, 40);
        maker_s32(b, size);
        random_bytes(b, r, size);
    }
}

/* 0..n-1 in a random order. */
static void shuffle(uint16_t *order, unsigned n, struct maker_random *r)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned k = maker_draw(r, i + 1);
        order[i] = order[k];
        order[k] = (uint16_t)i;
    }
}

static void add_random_chunk(struct maker_region *r, struct maker_random *rnd,
                             const int32_t *region, unsigned column, unsigned y, int32_t version)
{
    struct maker_chunk *chunk =
        maker_region_add(r, region[0] * 16 + (int32_t)(column >> 4), region[1] * 16 + (int32_t)y,
                         region[2] * 16 + (int32_t)(column & 15));
    chunk->version = version;
    maker_random_body(&chunk->body, rnd, version);
}

/* Version of a chunk or column: mostly the region's, at times an older one of its layout. */
static int32_t random_version(const struct maker_region *r, struct maker_random *rnd)
{
    int32_t lowest = r->version <= 3 ? 0 : 4;
    if (maker_draw(rnd, 3))
        return r->version;
    return lowest + (int32_t)maker_draw(rnd, (uint32_t)(r->version - lowest + 1));
}

/* `count` chunks of one column at random heights. */
static void add_random_column(struct maker_region *r, struct maker_random *rnd,
                              const int32_t *region, unsigned column, unsigned count)
{
    int32_t version = random_version(r, rnd);
    for (unsigned y = 0, left = count; left > 0; y++) {
        if (maker_draw(rnd, 16 - y) >= left)
            continue;
        add_random_chunk(r, rnd, region, column, y, version);
        left--;
    }
}

void maker_random_region(struct maker_region *r, unsigned chunks, uint64_t seed)
{
    struct maker_random rnd = {seed};
    uint16_t order[4096];
    int32_t region[3];
    for (unsigned i = 0; i < 3; i++)
        region[i] = (int32_t)maker_draw(&rnd, 7) - 3;
    if (r->version <= 3) {
        shuffle(order, 4096, &rnd);
        for (unsigned i = 0; i < chunks; i++)
            add_random_chunk(r, &rnd, region, order[i] & 255, order[i] >> 8,
                             random_version(r, &rnd));
        return;
    }
    if (r->version >= 5)
        r->compression = maker_draw(&rnd, 3) ? 2 : 0;
    shuffle(order, 256, &rnd);
    for (unsigned i = 0, left = chunks; left > 0; i++) {
        unsigned needed = left - left * (255 - i) / (256 - i); /* so that the columns suffice */
        unsigned most = left < 16 ? left : 16, n = 1 + maker_draw(&rnd, most);
        n = n < needed ? needed : n;
        add_random_column(r, &rnd, region, order[i], n < most ? n : most);
        left -= n < most ? n : most;
    }
}

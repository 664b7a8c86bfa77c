/*
 * SmoothGrid values and places from plain cells. Must not use any code of src/, which it is there
 * to test.
 */
#include "place_maker.h"

#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static void *must(void *memory)
{
    if (!memory) {
        fputs("out of memory\n", stderr);
        exit(3);
    }
    return memory;
}

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) : -1;
}

void place_hex(struct maker_bytes *b, const char *hex)
{
    int high = -1;
    for (; *hex; hex++) {
        int digit = hex_digit(*hex);
        if (digit < 0)
            continue;
        if (high >= 0)
            maker_u8(b, (unsigned)(high * 16 + digit));
        high = high >= 0 ? -1 : digit;
    }
}

static void add_text(struct maker_bytes *b, const char *text)
{
    maker_add(b, text, strlen(text));
}

static void add_u32le(struct maker_bytes *b, uint32_t v)
{
    for (unsigned i = 0; i < 32; i += 8)
        maker_u8(b, v >> i & 0xff);
}

/* ---- SmoothGrid ------------------------------------------------------------------------------ */

void place_offset(struct maker_bytes *b, const int32_t from[3], const int32_t to[3])
{
    for (unsigned byte = 4; byte > 0; byte--)
        for (unsigned axis = 0; axis < 3; axis++)
            maker_u8(b, ((uint32_t)to[axis] - (uint32_t)from[axis]) >> (8 * (byte - 1)) & 0xff);
}

static bool same_cell(struct place_cell a, struct place_cell b)
{
    return a.material == b.material && a.occupancy == b.occupancy && a.water == b.water;
}

void place_records(struct maker_bytes *b, const struct place_cell *cells, size_t count)
{
    for (size_t i = 0; i < count;) {
        struct place_cell cell = cells[i];
        size_t run = 1;
        while (!cell.water && run < 256 && i + run < count && same_cell(cells[i + run], cell))
            run++;
        bool occupancy = cell.occupancy != (cell.material ? 255 : 0);
        bool counted = run > 1 || cell.water;
        maker_u8(b, cell.material | (occupancy ? 0x40u : 0) | (counted ? 0x80u : 0));
        if (occupancy)
            maker_u8(b, cell.occupancy);
        if (counted)
            maker_u8(b, (unsigned)run - 1);
        if (cell.water)
            maker_u8(b, cell.water);
        i += run;
    }
}

static struct place_cell random_cell(struct maker_random *r)
{
    struct place_cell cell = {(uint8_t)maker_draw(r, 64), (uint8_t)maker_draw(r, 256), 0};
    switch (maker_draw(r, 4)) {
    case 0:
        return (struct place_cell){0, 0, 0};
    case 1:
        cell.occupancy = 255;
        break;
    case 2:
        cell.water = (uint8_t)maker_draw(r, 256);
        break;
    default:
        break;
    }
    if (cell.material == 0)
        cell.occupancy = 0;
    if (cell.material < 2 || cell.occupancy == 255)
        cell.water = 0;
    return cell;
}

void place_random_cells(struct maker_random *r, struct place_cell *cells, size_t count)
{
    for (size_t i = 0; i < count;) {
        struct place_cell cell = random_cell(r);
        size_t run = maker_draw(r, 3) ? maker_draw(r, 5) + 1 : maker_draw(r, 600) + 1;
        for (; run > 0 && i < count; run--)
            cells[i++] = cell;
    }
}

/* ---- a landscape ----------------------------------------------------------------------------- */

static uint32_t lattice(uint64_t seed, int64_t x, int64_t z)
{
    struct maker_random r = {seed ^ (uint64_t)x * UINT64_C(0x9E3779B1) ^ (uint64_t)z << 32};
    return maker_draw(&r, 256);
}

/* Height of the ground in 1/256 voxels, between -16 and 16 voxels, smooth over 16 voxels. */
static int64_t ground(uint64_t seed, int64_t x, int64_t z)
{
    int64_t gx = x >= 0 ? x / 16 : -((15 - x) / 16), gz = z >= 0 ? z / 16 : -((15 - z) / 16);
    int64_t fx = x - gx * 16, fz = z - gz * 16;
    int64_t low = lattice(seed, gx, gz) * (16 - fx) + lattice(seed, gx + 1, gz) * fx;
    int64_t high = lattice(seed, gx, gz + 1) * (16 - fx) + lattice(seed, gx + 1, gz + 1) * fx;
    return (low * (16 - fz) + high * fz) * 32 / 256 - 16 * 256;
}

static struct place_cell landscape_cell(int64_t y, int64_t height)
{
    static const int64_t sea = -4;
    int64_t top = height >> 8;
    if (y > top)
        return y > sea ? (struct place_cell){0, 0, 0} : (struct place_cell){1, 255, 0};
    if (y < top)
        return (struct place_cell){y < top - 4 ? 8 : 14, 255, 0};
    uint8_t occupancy = (uint8_t)(height & 0xff);
    uint8_t water = y <= sea && occupancy < 255 ? 255 : 0;
    return (struct place_cell){top <= sea + 1 ? 6 : 2, occupancy, water};
}

static void landscape_chunk(const struct place_world *w, const int32_t at[3],
                            struct place_cell *cells)
{
    int64_t edge = INT64_C(1) << w->log2;
    for (int64_t z = 0; z < edge; z++)
        for (int64_t x = 0; x < edge; x++) {
            int64_t height = ground(w->seed, at[0] * edge + x, at[2] * edge + z);
            for (int64_t y = 0; y < edge; y++)
                cells[(y * edge + z) * edge + x] = landscape_cell(at[1] * edge + y, height);
        }
}

void place_grid(struct maker_bytes *b, const struct place_world *world)
{
    size_t count = (size_t)1 << 3 * world->log2;
    struct place_cell *cells = must(malloc(count * sizeof(*cells)));
    struct maker_random random = {world->seed};
    int32_t last[3] = {0, 0, 0};
    int32_t side = 1;
    while ((unsigned)(side * side * 2) < world->chunks)
        side++;
    maker_u8(b, 1);
    maker_u8(b, world->log2);
    for (unsigned i = 0; i < world->chunks; i++) {
        int32_t n = (int32_t)i;
        int32_t at[3] = {n / (2 * side) - side / 2, n / side % 2 - 1, n % side - side / 2};
        if (world->random)
            place_random_cells(&random, cells, count);
        else
            landscape_chunk(world, at, cells);
        place_offset(b, last, at);
        place_records(b, cells, count);
        memcpy(last, at, sizeof(last));
    }
    free(cells);
}

/* ---- binary places --------------------------------------------------------------------------- */

void place_magic(struct maker_bytes *b, uint32_t classes, uint32_t instances)
{
    place_hex(b, "3c 72 6f 62 6c 6f 78 21 89 ff 0d 0a 1a 0a 00 00");
    add_u32le(b, classes);
    add_u32le(b, instances);
    place_hex(b, "00000000 00000000");
}

static size_t compress(enum place_coding coding, const struct maker_bytes *payload, uint8_t *out,
                       size_t room)
{
    if (coding == PLACE_ZSTD)
        return ZSTD_compress(out, room, payload->data, payload->size, 9);
    return (size_t)LZ4_compress_default((const char *)payload->data, (char *)out,
                                        (int)payload->size, (int)room);
}

void place_chunk(struct maker_bytes *b, const char name[4], enum place_coding coding,
                 const struct maker_bytes *payload)
{
    maker_add(b, name, 4);
    if (coding == PLACE_STORED) {
        add_u32le(b, 0);
        add_u32le(b, (uint32_t)payload->size);
        add_u32le(b, 0);
        maker_add(b, payload->data, payload->size);
        return;
    }
    size_t room = payload->size + payload->size / 100 + 1024;
    uint8_t *packed = must(malloc(room));
    size_t size = compress(coding, payload, packed, room);
    add_u32le(b, (uint32_t)size);
    add_u32le(b, (uint32_t)payload->size);
    add_u32le(b, 0);
    maker_add(b, packed, size);
    free(packed);
}

static void add_string(struct maker_bytes *b, const void *data, size_t size)
{
    add_u32le(b, (uint32_t)size);
    maker_add(b, data, size);
}

void place_inst(struct maker_bytes *b, uint32_t class_id, const char *name, uint32_t count)
{
    add_u32le(b, class_id);
    add_string(b, name, strlen(name));
    maker_u8(b, 0);
    add_u32le(b, count);
    for (uint32_t i = 0; i < count * 4; i++)
        maker_u8(b, i + 4 > count * 4 ? 2 : 0);
}

void place_prop(struct maker_bytes *b, uint32_t class_id, const char *name,
                const struct maker_bytes *values, size_t count)
{
    add_u32le(b, class_id);
    add_string(b, name, strlen(name));
    maker_u8(b, 1);
    for (size_t i = 0; i < count; i++)
        add_string(b, values[i].data, values[i].size);
}

void place_end(struct maker_bytes *b)
{
    struct maker_bytes end = {0};
    add_text(&end, "</roblox>");
    place_chunk(b, "END", PLACE_STORED, &end);
    maker_release(&end);
}

static void chunk_of_prop(struct maker_bytes *b, enum place_coding coding, uint32_t class_id,
                          const char *name, const struct maker_bytes *values, size_t count)
{
    struct maker_bytes payload = {0};
    place_prop(&payload, class_id, name, values, count);
    place_chunk(b, "PROP", coding, &payload);
    maker_release(&payload);
}

static void chunk_of_inst(struct maker_bytes *b, enum place_coding coding, uint32_t class_id,
                          const char *name, uint32_t count)
{
    struct maker_bytes payload = {0};
    place_inst(&payload, class_id, name, count);
    place_chunk(b, "INST", coding, &payload);
    maker_release(&payload);
}

/* Value 0 is the Terrain's, the others are the regions'. */
static struct maker_bytes *make_values(const struct place_file *file)
{
    struct maker_bytes *values = must(calloc(file->regions + 1, sizeof(*values)));
    for (unsigned i = 0; i <= file->regions; i++) {
        struct place_world world = file->world;
        world.seed += i;
        world.chunks = i ? world.chunks / (i + 1) : world.chunks;
        place_grid(&values[i], &world);
    }
    return values;
}

static void release_values(const struct place_file *file, struct maker_bytes *values)
{
    for (unsigned i = 0; i <= file->regions; i++)
        maker_release(&values[i]);
    free(values);
}

static const char no_physics[] = "02 03 00000000 00000000 00000000";

void place_binary(struct maker_bytes *b, const struct place_file *file)
{
    struct maker_bytes *values = make_values(file);
    struct maker_bytes other = {0}, physics = {0};
    add_text(&other, "print('hello')");
    place_hex(&physics, no_physics);
    place_magic(b, 3, 2 + file->regions);
    chunk_of_inst(b, file->coding, 7, "Script", 1);
    chunk_of_inst(b, file->coding, 0x125, "Terrain", 1);
    if (file->regions)
        chunk_of_inst(b, file->coding, 3, "TerrainRegion", file->regions);
    if (file->physics)
        chunk_of_prop(b, file->coding, 0x125, "PhysicsGrid", &physics, 1);
    chunk_of_prop(b, file->coding, 0x125, "SmoothGrid", values, 1);
    if (file->regions)
        chunk_of_prop(b, file->coding, 3, "SmoothGrid", values + 1, file->regions);
    chunk_of_prop(b, file->coding, 7, "Source", &other, 1);
    place_end(b);
    maker_release(&other);
    maker_release(&physics);
    release_values(file, values);
}

/* ---- XML places ------------------------------------------------------------------------------ */

void place_base64(struct maker_bytes *b, const struct maker_bytes *bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes->size; i += 3) {
        uint32_t v = 0;
        for (size_t k = 0; k < 3; k++)
            v = v << 8 | (i + k < bytes->size ? bytes->data[i + k] : 0u);
        if (i > 0 && i / 3 * 4 % 72 == 0)
            maker_u8(b, '\n');
        for (size_t k = 0; k < 4; k++)
            maker_u8(b, i + k > bytes->size ? '=' : (unsigned char)digits[v >> (18 - 6 * k) & 63]);
    }
}

static void add_binary_string(struct maker_bytes *b, const char *name, const struct maker_bytes *v)
{
    bool lines = (v->size + 2) / 3 * 4 > 72;
    add_text(b, "<BinaryString name=\"");
    add_text(b, name);
    add_text(b, lines ? "\"><![CDATA[" : "\">");
    place_base64(b, v);
    add_text(b, lines ? "]]></BinaryString>\n" : "</BinaryString>\n");
}

static void add_item(struct maker_bytes *b, const char *class, unsigned referent)
{
    char text[128];
    snprintf(text, sizeof(text), "<Item class=\"%s\" referent=\"RBX%u\">\n<Properties>\n", class,
             referent);
    add_text(b, text);
}

void place_xml(struct maker_bytes *b, const struct place_file *file)
{
    struct maker_bytes *values = make_values(file);
    struct maker_bytes physics = {0};
    place_hex(&physics, no_physics);
    add_text(b, "<roblox version=\"4\">\n<External>null</External>\n");
    add_item(b, "Script", 0);
    add_text(b, "<ProtectedString name=\"Source\"><![CDATA[-- <Item class=\"Terrain\">]]>"
                "</ProtectedString>\n</Properties>\n</Item>\n");
    add_item(b, "Terrain", 1);
    if (file->physics)
        add_binary_string(b, "PhysicsGrid", &physics);
    add_binary_string(b, "SmoothGrid", &values[0]);
    add_text(b, "</Properties>\n");
    for (unsigned i = 1; i <= file->regions; i++) {
        add_item(b, "TerrainRegion", i + 1);
        add_binary_string(b, "SmoothGrid", &values[i]);
        add_text(b, "</Properties>\n</Item>\n");
    }
    add_text(b, "</Item>\n</roblox>\n");
    maker_release(&physics);
    release_values(file, values);
}

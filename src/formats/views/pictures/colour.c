/*
 * The name of a block or of a material -> a colour, by the words in it: what a person would paint
 * it with.
 *
 * Must not know any format. The words are common to games; a name without one of them gets a muted
 * colour of its own, made from its bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/views/pictures/picture.h"

#define WORD_MAX 15
#define MUTED    0x605b54 /* three quarters of what an unknown name is painted with */

/* Sorted. Of several words in a name the one of highest rank counts: `stone_gravel` is gravel. */
struct word {
    char word[WORD_MAX + 1];
    uint8_t rank;
    uint32_t colour;
};

enum { MATTER = 1, KIND, THING, WATER };

static const struct word words[] = {
    {"aluminium", KIND, 0xb7b9bd},  {"ash", KIND, 0x6e6a66},        {"asphalt", KIND, 0x4a4c4e},
    {"basalt", KIND, 0x4b4a50},     {"bauxite", THING, 0xa5623f},   {"beach", MATTER, 0xd6c692},
    {"bedrock", KIND, 0x3a3a3c},    {"birch", MATTER, 0xc9bd96},    {"black", THING, 0x2a2a2e},
    {"blue", THING, 0x4560b0},      {"brick", KIND, 0x96583f},      {"bricks", KIND, 0x96583f},
    {"brown", THING, 0x6d4a30},     {"bush", THING, 0x557a37},      {"cactus", THING, 0x54803a},
    {"carpet", MATTER, 0xb9433e},   {"clay", KIND, 0x9ea4b0},       {"cliff", MATTER, 0x877b6e},
    {"coal", THING, 0x3c3c40},      {"cobble", KIND, 0x7d7d7b},     {"cobblestone", KIND, 0x7d7d7b},
    {"concrete", KIND, 0xa1a19d},   {"copper", THING, 0xb8704c},    {"coral", THING, 0xd8776a},
    {"crop", THING, 0xa3a045},      {"crystal", THING, 0x9fc6d8},   {"cyan", THING, 0x3f9aa5},
    {"desert", MATTER, 0xd0b280},   {"diamond", THING, 0x74d3d1},   {"dirt", KIND, 0x7d5a3c},
    {"door", THING, 0x7d5e3a},      {"dust", MATTER, 0xb59d78},     {"emerald", THING, 0x3fb765},
    {"farmland", KIND, 0x6b4a2f},   {"fern", THING, 0x5b8a3c},      {"field", MATTER, 0x8a9650},
    {"flower", THING, 0xc8a24a},    {"forest", MATTER, 0x54703a},   {"gabbro", KIND, 0x77787a},
    {"glacier", KIND, 0xa9cbe6},    {"glass", KIND, 0xb9d3da},      {"gold", THING, 0xe0b93f},
    {"granite", KIND, 0x96705f},    {"grass", KIND, 0x6a9a44},      {"gravel", KIND, 0x8b8783},
    {"gray", THING, 0x7a7c80},      {"green", THING, 0x4f8a41},     {"grey", THING, 0x7a7c80},
    {"ground", KIND, 0x75583c},     {"hay", THING, 0xc3a53f},       {"ice", KIND, 0xa6cbec},
    {"iron", THING, 0xb49a86},      {"jungle", MATTER, 0x3f7a2c},   {"komatiite", KIND, 0x56605c},
    {"lava", THING, 0xe2641f},      {"lawn", MATTER, 0x6a9a44},     {"leaf", THING, 0x43752f},
    {"leaves", THING, 0x43752f},    {"light", MATTER, 0xeadf9e},    {"lime", THING, 0x86bf3c},
    {"limestone", KIND, 0xbdb59d},  {"log", THING, 0x6a4e31},       {"lunar", MATTER, 0x9a9a96},
    {"magenta", THING, 0xb04aa6},   {"magma", THING, 0xb6461d},     {"marble", KIND, 0xd7d6d0},
    {"meadow", MATTER, 0x7d9c4b},   {"metal", MATTER, 0x9ea3a8},    {"moss", THING, 0x5e7d38},
    {"mud", KIND, 0x57452f},        {"mushroom", THING, 0xa8463c},  {"mycelium", KIND, 0x74646c},
    {"netherrack", KIND, 0x6f3230}, {"oak", MATTER, 0x8a6a3f},      {"obsidian", KIND, 0x241b33},
    {"ocean", WATER, 0x3a6ea8},     {"orange", THING, 0xd8822f},    {"ore", MATTER, 0x84827f},
    {"path", KIND, 0x94814f},       {"pavement", KIND, 0x9a9a94},   {"pink", THING, 0xd88aa4},
    {"planks", THING, 0xa9834f},    {"purple", THING, 0x7a4aa0},    {"quartz", KIND, 0xe2ddd3},
    {"red", THING, 0xad3a34},       {"road", MATTER, 0x6a6762},     {"rock", MATTER, 0x7c7c7b},
    {"rocks", MATTER, 0x7c7c7b},    {"rocky", MATTER, 0x8a7f72},    {"ruby", THING, 0xb02743},
    {"salt", KIND, 0xd9d5ce},       {"sand", KIND, 0xd9c98f},       {"sandstone", KIND, 0xcbb67d},
    {"sapling", THING, 0x55843a},   {"sapphire", THING, 0x3556b5},  {"seaweed", THING, 0x4d6846},
    {"sediment", MATTER, 0xab9877}, {"sidewalk", KIND, 0x9a9a94},   {"silver", THING, 0xc3c8cc},
    {"slate", KIND, 0x5b626a},      {"snow", THING, 0xeef3f7},      {"soil", KIND, 0x75583c},
    {"spruce", MATTER, 0x5d4426},   {"stone", MATTER, 0x7f7f7f},    {"sulfur", THING, 0xcdbb3f},
    {"tarmac", KIND, 0x4a4c4e},     {"terracotta", KIND, 0x9d5f44}, {"tree", MATTER, 0x5a7a35},
    {"tundra", KIND, 0x8b8a62},     {"volcanic", MATTER, 0x55504e}, {"volcano", MATTER, 0x55504e},
    {"water", WATER, 0x3a6ea8},     {"wheat", THING, 0xc8b04a},     {"white", THING, 0xe6e7e8},
    {"wood", KIND, 0x8a683f},       {"wool", KIND, 0xdedcd6},       {"yellow", THING, 0xddc23f},
};

#define WORDS (sizeof(words) / sizeof(words[0]))

static bool is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_capital(uint8_t c)
{
    return c >= 'A' && c <= 'Z';
}

/* Where the word at `at` ends: RockyDirt is two words. */
static size_t word_end(struct tfs_span name, size_t at)
{
    while (++at < name.size && is_letter(name.data[at]))
        if (is_capital(name.data[at]) && !is_capital(name.data[at - 1]))
            break;
    return at;
}

static int compare_words(const void *key, const void *element)
{
    return strcmp(key, ((const struct word *)element)->word);
}

/* The table's word that `text` is, else the longest one that it ends in: bluestone is stone. */
static const struct word *find_word(struct tfs_span text)
{
    char key[WORD_MAX + 1] = {0};

    for (size_t skip = text.size > WORD_MAX ? text.size - WORD_MAX : 0; skip + 2 < text.size;
         skip++) {
        for (size_t i = skip; i <= text.size; i++)
            key[i - skip] = i < text.size ? (char)(text.data[i] | 0x20) : '\0';
        const struct word *found = bsearch(key, words, WORDS, sizeof(words[0]), compare_words);
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* The name itself, without its namespace and its properties. */
static struct tfs_span bare_name(struct tfs_span name)
{
    const uint8_t *bracket = name.size > 0 ? memchr(name.data, '[', name.size) : NULL;
    struct tfs_span bare = {name.data, bracket ? (size_t)(bracket - name.data) : name.size};
    const uint8_t *colon = bare.size > 0 ? memchr(bare.data, ':', bare.size) : NULL;

    if (colon != NULL) {
        bare.size -= (size_t)(colon + 1 - bare.data);
        bare.data = colon + 1;
    }
    return bare;
}

uint32_t tfs_colour_of_name(struct tfs_span name, bool *water)
{
    const struct word *best = NULL;
    struct tfs_span bare = bare_name(name);

    for (size_t at = 0, end; at < bare.size; at = end) {
        end = word_end(bare, at);
        const struct word *found = find_word((struct tfs_span){bare.data + at, end - at});
        if (found != NULL && (best == NULL || found->rank > best->rank))
            best = found;
    }
    *water = best != NULL && best->rank == WATER;
    return best != NULL ? best->colour : (tfs_colour_of_hash(bare) >> 2 & 0x3f3f3f) + MUTED;
}

/* FNV-1a, then three channels from 72 to 199: neither garish nor lost in the shade. */
uint32_t tfs_colour_of_hash(struct tfs_span bytes)
{
    uint32_t hash = 2166136261U;

    for (size_t i = 0; i < bytes.size; i++)
        hash = (hash ^ bytes.data[i]) * 16777619U;
    hash ^= hash >> 15;
    hash *= 0x2c1b3c6dU;
    hash ^= hash >> 13;
    return (hash & 0x7f7f7fU) + 0x484848U;
}

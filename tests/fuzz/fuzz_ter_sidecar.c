/*
 * Any bytes as the .terrain.json beside a terrain: a list that is found is one that a JSON library
 * finds too and with the same names, and the other way round; one that is rewritten agrees with the
 * terrain, and rewriting it again changes nothing.
 */
#include <jansson.h>
#include <string.h>

#include "formats/beamng/json.h"
#include "formats/beamng/sidecar.h"
#include "fuzz.h"

#define KEY "materials"

static struct tfs_beamng_names names_of(struct tfs_buf *table)
{
    static const char *const names[] = {"Grass", "Dirt \"Road\"", "\xc3\xa4\xff"};

    tfs_buf_clear(table);
    tfs_buf_u32le(table, 3);
    for (unsigned i = 0; i < 3; i++)
        tfs_beamng_name_add(table, tfs_span_of(names[i]), false);
    return tfs_beamng_names_init(tfs_buf_span(table), false);
}

static unsigned depth_of(struct tfs_span text)
{
    unsigned depth = 0, most = 0;

    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '[' || text.data[i] == '{')
            most = ++depth > most ? depth : most;
        else if ((text.data[i] == ']' || text.data[i] == '}') && depth > 0)
            depth--;
    }
    return most;
}

/* The list as the library has it; NULL: it refuses the text, or has no list of strings. */
static const json_t *list_of(const json_t *root)
{
    const json_t *list = json_object_get(root, KEY);

    if (!json_is_array(list))
        return NULL;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_is_string(json_array_get(list, i)))
            return NULL;
    return list;
}

/* The library takes less: no text nested deeper than it likes, no surrogate alone, no number beyond
 * a double. But what it takes is taken, unless it has a NUL, which the library skips behind a
 * number. */
static void check_against_library(struct tfs_span text, bool found, struct tfs_span array)
{
    json_t *root = json_loadb((const char *)text.data, text.size,
                              JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    const json_t *list = list_of(root);

    if (root != NULL && depth_of(text) < TFS_BEAMNG_JSON_NESTING &&
        memchr(text.data, 0, text.size) == NULL)
        REQUIRE(found == (list != NULL));
    if (found && list != NULL) {
        struct tfs_beamng_json_strings strings = tfs_beamng_json_strings_init(array);
        size_t count = 0;
        for (; tfs_beamng_json_strings_next(&strings); count++) {
            const json_t *value = json_array_get(list, count);
            struct tfs_buf name = {0};
            REQUIRE(value != NULL);
            tfs_beamng_json_decode(&name, strings.text);
            REQUIRE(tfs_span_equal(tfs_buf_span(&name),
                                   (struct tfs_span){(const uint8_t *)json_string_value(value),
                                                     json_string_length(value)}));
            tfs_buf_release(&name);
        }
        REQUIRE(count == json_array_size(list));
    }
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct tfs_span text = {data, size};
    struct tfs_buf table = {0}, once = {0}, twice = {0};
    struct tfs_beamng_names names = names_of(&table);
    struct tfs_span array = {0};
    enum tfs_beamng_sidecar_state state;
    bool found = tfs_beamng_json_find_strings(text, KEY, &array) == 1;

    check_against_library(text, found, array);
    REQUIRE(tfs_beamng_sidecar_compare(text, names, &state) == 0);
    REQUIRE((state == TFS_BEAMNG_SIDECAR_DAMAGED) == !found);
    REQUIRE(tfs_beamng_sidecar_rewrite(text, names, &once) == found);
    if (found) {
        REQUIRE(tfs_beamng_sidecar_compare(tfs_buf_span(&once), names, &state) == 0);
        REQUIRE(state == TFS_BEAMNG_SIDECAR_AGREES);
        REQUIRE(tfs_beamng_sidecar_rewrite(tfs_buf_span(&once), names, &twice));
        REQUIRE(tfs_span_equal(tfs_buf_span(&once), tfs_buf_span(&twice)));
    } else {
        REQUIRE(once.size == 0);
    }
    tfs_buf_release(&table);
    tfs_buf_release(&once);
    tfs_buf_release(&twice);
    return 0;
}

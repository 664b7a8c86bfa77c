/*
 * Any bytes as the .terrain.json beside a terrain: one that lists other names is rewritten, agrees
 * then, and is JSON that says nothing else anew; rewriting it again changes nothing.
 */
#include <jansson.h>
#include <string.h>

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

/* All but the list. */
static json_t *rest_of(struct tfs_span text)
{
    json_t *root = json_loadb((const char *)text.data, text.size, JSON_ALLOW_NUL, NULL);

    REQUIRE(json_object_del(root, KEY) == 0);
    return root;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct tfs_span text = {data, size};
    struct tfs_buf table = {0}, once = {0}, twice = {0};
    struct tfs_beamng_names names = names_of(&table);
    enum tfs_beamng_sidecar_state state;

    REQUIRE(tfs_beamng_sidecar_compare(text, names, &state) == 0);
    if (state == TFS_BEAMNG_SIDECAR_DIFFERS) {
        tfs_beamng_sidecar_rewrite(text, names, &once);
        REQUIRE(tfs_beamng_sidecar_compare(tfs_buf_span(&once), names, &state) == 0);
        REQUIRE(state == TFS_BEAMNG_SIDECAR_AGREES);
        tfs_beamng_sidecar_rewrite(tfs_buf_span(&once), names, &twice);
        REQUIRE(tfs_span_equal(tfs_buf_span(&once), tfs_buf_span(&twice)));
        json_t *before = rest_of(text), *after = rest_of(tfs_buf_span(&once));
        REQUIRE(json_equal(before, after));
        json_decref(before);
        json_decref(after);
    }
    tfs_buf_release(&table);
    tfs_buf_release(&once);
    tfs_buf_release(&twice);
    return 0;
}

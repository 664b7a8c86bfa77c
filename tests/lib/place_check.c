/* The properties of every file that holds Roblox terrain. */
#include "place_check.h"

#include <errno.h>

#include "../fuzz/fuzz.h"
#include "formats/cells/cells.h"
#include "formats/roblox/source.h"

#define CHUNKS_MAX 8 /* looked at in one file: more only takes time */
#define LOG2_MAX   6 /* the same */

static const struct tfs_key spare = {0, 77, 77, 77};

static void check_chunk(struct tree_files *c, const struct tfs_chunk *chunk)
{
    const struct tfs_key key = chunk->key;
    struct tfs_error err = {0};
    REQUIRE(tfs_cells_check(c->save, c->doc, key, NULL, &err) == 0);
    for (unsigned i = 0; i < tfs_rbx_tree.chunk.count && chunk->tag <= LOG2_MAX; i++) {
        const struct tfs_lens *lens = tfs_rbx_tree.chunk.files[i].lens;
        const struct tfs_doc *before = c->doc;
        struct tfs_put put = {0};
        struct maker_bytes text = place_get(c, lens, key);
        REQUIRE(place_put(c, lens, key, place_span(&text), &put, &err) == 0);
        REQUIRE(c->doc == before);
        maker_release(&text);
    }
}

/* Decodes what an edited document gives, and compares. */
static void check_again(struct tree_files *c)
{
    struct maker_bytes file = place_encode(c);
    struct tree_files again;
    place_open(&again, c->save->container, &file);
    REQUIRE(again.doc->count == c->doc->count);
    for (size_t i = 0; i < c->doc->count; i++)
        REQUIRE(tfs_chunk_same(tfs_doc_at(c->doc, i), tfs_doc_at(again.doc, i)));
    tree_files_close(&again);
    maker_release(&file);
}

static void check_edit(struct tree_files *c, struct tfs_span bytes)
{
    struct tfs_error err = {0};
    if (tfs_rbx_locked(c->doc, 0) != NULL || tfs_doc_find(c->doc, spare) != NULL ||
        tfs_rbx_group(c->doc, 0)->log2 > LOG2_MAX)
        return;
    REQUIRE(place_create(c, spare, &err) == 0);
    check_again(c);
    REQUIRE(place_write(c, PLACE_LENS(PLACE_MATERIALS), spare, "fill 2", &err) == 0);
    check_again(c);
    REQUIRE(place_remove(c, spare, &err) == 0);
    struct maker_bytes file = place_encode(c);
    REQUIRE(tfs_span_equal(place_span(&file), bytes));
    maker_release(&file);
}

static void check_accepted(const struct tfs_container *container, struct tfs_span bytes)
{
    struct tree_files c;
    struct maker_bytes copy = {0};
    maker_add(&copy, bytes.data, bytes.size);
    place_open(&c, container, &copy);
    struct maker_bytes file = place_encode(&c);
    REQUIRE(tfs_span_equal(place_span(&file), bytes));
    struct maker_bytes info = place_get(&c, &tfs_rbx_info_lens, (struct tfs_key){0});
    REQUIRE(info.size > 0);
    for (size_t i = 0; i < c.doc->count && i < CHUNKS_MAX; i++)
        check_chunk(&c, tfs_doc_at(c.doc, i));
    check_edit(&c, bytes);
    maker_release(&info);
    maker_release(&file);
    maker_release(&copy);
    tree_files_close(&c);
}

void place_check(const struct tfs_container *container, struct tfs_span bytes)
{
    struct tfs_error err = {0};
    if (place_try(container, bytes, &err) == 0) {
        check_accepted(container, bytes);
        return;
    }
    REQUIRE(err.code == -EBADMSG || err.code == -ENOTSUP || err.code == -EFBIG);
    REQUIRE(err.text[0] != '\0');
}

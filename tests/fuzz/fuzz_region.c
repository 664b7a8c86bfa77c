/*
 * Any bytes as a Cosmic Reach region, or (without its magic) as a version and the body of a chunk:
 * what is refused has a sentence; of what is accepted everything can be read, written back without
 * a change, and encoded again.
 */
#include <errno.h>
#include <string.h>

#include "formats/cells/cells.h"
#include "formats/cosmic_reach/body.h"
#include "formats/cosmic_reach/cosmic_reach.h"
#include "formats/cosmic_reach/region.h"
#include "formats/containers/file.h"
#include "fuzz.h"

#define INFLATE_MAX (4U << 20)
#define CHUNKS_MAX  8 /* looked at in one input: more only takes time */

static const struct tfs_tree *const tree = &tfs_cosmic_reach_tree;
static const struct tfs_file_codec *codec;

static struct tfs_save save_of(void)
{
    static char path[] = "region_0_0_0.cosmicreach";

    codec = tfs_cosmic_reach_region.file;
    return (struct tfs_save){
        .container = &tfs_cosmic_reach_region,
        .tree = tree,
        .path = path,
        .name = path,
        .options.inflate_limit = INFLATE_MAX,
    };
}

static void put_back(struct tfs_save *save, struct tfs_doc *doc, const struct tfs_file *file,
                     struct tfs_at at, struct tfs_span text)
{
    struct tfs_error err = {0};
    struct tfs_put put = {0};
    struct tfs_edit edit;

    REQUIRE(tfs_edit_open(doc, &edit, &err) == 0);
    REQUIRE(file->lens->put(save, &edit, at, text, &put, &err) == 0);
    REQUIRE(!edit.changed);
    tfs_edit_release(&edit);
}

static void check_file(struct tfs_save *save, struct tfs_doc *doc, const struct tfs_file *file,
                       struct tfs_key key, bool damaged)
{
    const struct tfs_at at = tfs_lens_at(file->lens, key, 0);
    struct tfs_error err = {0};
    struct tfs_buf text = {0};

    if ((file->flags & TFS_FILE_OPTIONAL) && !file->lens->exists(save, doc, at))
        return;
    REQUIRE(file->lens->get(save, doc, at, &text, &err) == 0);
    if (file->lens->size != NULL)
        REQUIRE(file->lens->size(save, doc, at) == (int64_t)text.size);
    if (!damaged)
        put_back(save, doc, file, at, tfs_buf_span(&text));
    tfs_buf_release(&text);
}

static void check_chunk(struct tfs_save *save, struct tfs_doc *doc, const struct tfs_chunk *chunk)
{
    struct tfs_error err = {0};
    bool damaged = (chunk->flags & TFS_CHUNK_DAMAGED) != 0;

    if (!damaged)
        REQUIRE(tfs_cells_check(save, doc, chunk->key, NULL, &err) == 0);
    for (unsigned i = 0; i < tree->chunk.count; i++)
        if (!damaged || (tree->chunk.files[i].flags & TFS_FILE_RAW))
            check_file(save, doc, &tree->chunk.files[i], chunk->key, damaged);
}

struct collector {
    struct tfs_sink sink;
    struct tfs_buf bytes;
};

static int collect(struct tfs_sink *sink, const void *data, size_t size, struct tfs_error *err)
{
    struct tfs_buf *bytes = &((struct collector *)sink)->bytes;

    tfs_buf_add(bytes, data, size);
    return tfs_buf_check(bytes, err);
}

/* Written again and read back, every chunk is the same. */
static void check_encode(struct tfs_save *save, const struct tfs_doc *doc)
{
    struct collector out = {.sink.write = collect};
    struct tfs_error err = {0};
    struct tfs_blob *bytes = NULL;
    struct tfs_doc *again = NULL;

    if (tfs_facts_find(doc->facts, TFS_NOTE_DAMAGED) != NULL)
        return;
    REQUIRE(codec->encode(save, doc, &out.sink, &err) == 0);
    REQUIRE(tfs_blob_take(&out.bytes, &bytes, &err) == 0);
    REQUIRE(codec->decode(save, bytes, &again, &err) == 0);
    REQUIRE(again->count == doc->count);
    for (size_t i = 0; i < doc->count; i++)
        REQUIRE(tfs_chunk_same(tfs_doc_at(doc, i), tfs_doc_at(again, i)));
    tfs_doc_unref(again);
    tfs_blob_unref(bytes);
}

static void fuzz_file(struct tfs_span input)
{
    struct tfs_save save = save_of();
    struct tfs_error err = {0};
    struct tfs_blob *bytes = NULL;
    struct tfs_doc *doc = NULL;

    REQUIRE(tfs_save_caches_make(&save, &err) == 0);
    REQUIRE(tfs_blob_copy(input, &bytes, &err) == 0);
    if (codec->decode(&save, bytes, &doc, &err) < 0) {
        REQUIRE(err.code == -EBADMSG || err.code == -ENOTSUP || err.code == -EFBIG);
        REQUIRE(err.text[0] != '\0' && doc == NULL);
    } else {
        for (size_t i = 0; i < doc->count && i < CHUNKS_MAX; i++)
            check_chunk(&save, doc, tfs_doc_at(doc, i));
        check_file(&save, doc, &tree->root.files[0], (struct tfs_key){0}, true);
        check_file(&save, doc, &tree->root.files[1], (struct tfs_key){0}, doc->count == 0);
        /* Arrays are as large as the bounds; nobody asks for them but by a range. */
        for (unsigned i = 2; i < tree->root.count; i++)
            if (tree->root.files[i].views != TFS_VIEWS_ARRAYS &&
                tree->root.files[i].count(tree, doc) > 0)
                check_file(&save, doc, &tree->root.files[i], (struct tfs_key){0},
                           tree->root.files[i].lens->put == NULL);
        check_encode(&save, doc);
    }
    tfs_save_caches_free(&save);
    tfs_doc_unref(doc);
    tfs_blob_unref(bytes);
}

/* The body as raw.bin of a chunk of that version. */
static void fuzz_body(uint32_t version, struct tfs_span body)
{
    struct tfs_save save = save_of();
    struct tfs_error err = {0};
    struct tfs_facts *facts = NULL;
    struct tfs_doc *empty = NULL;
    struct tfs_edit edit;
    struct tfs_put put = {0};

    REQUIRE(tfs_save_caches_make(&save, &err) == 0);
    REQUIRE(tfs_facts_create(sizeof(struct tfs_cosmic_facts), &facts, &err) == 0);
    ((struct tfs_cosmic_facts *)facts->own)->version = version;
    REQUIRE(tfs_doc_create(facts, &empty, &err) == 0);
    REQUIRE(tfs_edit_open(empty, &edit, &err) == 0);
    REQUIRE(tfs_chunk_create(&save, &edit, (struct tfs_key){0}, &err) == 0);
    if (tree->chunk.files[0].lens->put(
            &save, &edit, tfs_lens_at(tree->chunk.files[0].lens, (struct tfs_key){0}, 0), body,
            &put, &err) < 0) {
        REQUIRE(err.code == -EBADMSG && err.text[0] != '\0');
    } else {
        struct tfs_doc *doc = tfs_edit_finish(&edit);
        check_chunk(&save, doc, tfs_doc_at(doc, 0));
        tfs_doc_unref(doc);
    }
    tfs_save_caches_free(&save);
    tfs_edit_release(&edit);
    tfs_doc_unref(empty);
    tfs_facts_unref(facts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] != (uint8_t)TFS_COSMIC_MAGIC[0])
        fuzz_body(data[0] & TFS_COSMIC_VERSION_MAX, (struct tfs_span){data + 1, size - 1});
    else
        fuzz_file((struct tfs_span){data, size});
    return 0;
}

/* Fuzz targets of edits: see edit_target.h. */
#include "edit_target.h"

#include <errno.h>

#include "../fuzz/fuzz.h"

static struct tfs_save *open_save(const char *path, enum tfs_lock lock)
{
    const struct tfs_open_options options = {.lock = lock};
    struct tfs_save *save = NULL;
    struct tfs_error err = {0};

    if (tfs_save_open(path, NULL, &options, &save, &err) < 0) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        abort();
    }
    return save;
}

#define STRANGE_CHUNKS_MAX 16 /* more would only be slow */

/* ---- in memory ------------------------------------------------------------------------------- */

static struct tfs_save *opened[FUZZ_SAVES];

static void close_all(void)
{
    for (int i = 0; i < FUZZ_SAVES; i++)
        tfs_save_close(opened[i]);
}

/* The save of that kind, with edits of it checked once when nothing was edited. */
static struct tfs_save *save_of(enum fuzz_save kind)
{
    static bool registered;
    struct lens_check c;
    char path[FUZZ_PATH];

    if (opened[kind] != NULL)
        return opened[kind];
    fuzz_save_make(kind, fuzz_save_dir(), path);
    if (!registered)
        registered = atexit(close_all) == 0;
    opened[kind] = open_save(path, TFS_LOCK_EXCLUSIVE);
    lens_check_open(&c, opened[kind]);
    lens_check_unedited(&c);
    lens_check_close(&c);
    return opened[kind];
}

void edit_target(const enum fuzz_save *kinds, size_t count, struct tfs_span bytes)
{
    struct lens_check c;

    if (bytes.size == 0)
        return;
    lens_check_open(&c, save_of(kinds[bytes.data[0] % count]));
    lens_check_edits(&c, (struct tfs_span){bytes.data + 1, bytes.size - 1});
    if (c.save->container->file != NULL && c.doc->version != c.save->doc->version)
        lens_check_encoding(&c);
    lens_check_close(&c);
}

/* ---- on disk --------------------------------------------------------------------------------- */

/* What was committed, as another program reads it. */
static void check_disk(struct lens_check *c)
{
    struct lens_check again;
    struct tfs_save *save = open_save(c->save->path, TFS_LOCK_NONE);

    lens_check_open(&again, save);
    /* info.txt still tells what was found strange when the save was read, and to the second reader
     * of a database that somebody has it open. */
    lens_check_same(c, &again, !c->strange && !tfs_container_is_database(save->container));
    lens_check_close(&again);
    tfs_save_close(save);
}

/* Edits, a commit, and what is on disk then. */
static void edit_and_commit(struct lens_check *c, struct tfs_span edits)
{
    struct tfs_error err = {0};

    lens_check_edits(c, edits);
    if (c->doc->count > CHUNKS_TOO_MANY)
        return;
    int result = c->save->container->commit(c->save, c->doc, &err);
    if (result == 0) {
        tfs_doc_unref(c->doc);
        c->doc = tfs_doc_ref(c->save->doc);
        check_disk(c);
        REQUIRE(c->save->container->changed(c->save, NULL, &err) == 0);
    } else {
        REQUIRE(err.text[0] != '\0' && result != -ESTALE && result != -ENOMEM);
        REQUIRE(result != -EROFS || c->save->read_only != NULL);
    }
}

void commit_target(const enum fuzz_save *kinds, size_t count, struct tfs_span bytes)
{
    struct lens_check c;
    char path[FUZZ_PATH];

    if (bytes.size == 0)
        return;
    fuzz_save_clear(fuzz_save_dir());
    fuzz_save_make(kinds[bytes.data[0] % count], fuzz_save_dir(), path);
    struct tfs_save *save = open_save(path, TFS_LOCK_EXCLUSIVE);
    lens_check_open(&c, save);
    c.chunks_max = 4;
    edit_and_commit(&c, (struct tfs_span){bytes.data + 1, bytes.size - 1});
    lens_check_close(&c);
    tfs_save_close(save);
}

void strange_target(const char *path, struct tfs_span edits)
{
    const struct tfs_open_options options = {.lock = TFS_LOCK_EXCLUSIVE, .inflate_limit = 1 << 20};
    struct tfs_save *save = NULL;
    struct tfs_error err = {0};
    struct lens_check c;
    int result = tfs_save_open(path, NULL, &options, &save, &err);

    if (result < 0) {
        REQUIRE(result == err.code && err.text[0] != '\0' && result != -ENOMEM);
        return;
    }
    lens_check_open(&c, save);
    c.strange = true;
    c.chunks_max = (uint32_t)c.doc->count + 4;
    if (c.doc->count <= STRANGE_CHUNKS_MAX) {
        lens_check_unedited(&c);
        edit_and_commit(&c, edits);
    }
    lens_check_close(&c);
    tfs_save_close(save);
}

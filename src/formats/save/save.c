/*
 * The life of a save: opened by the container that was found (containers/find.c), fetched from,
 * closed.
 *
 * Must not know any format.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/journal.h"
#include "formats/views/arrays/kept.h"
#include "formats/views/arrays/numbers.h"
#include "formats/views/pictures/columns.h"
#include "formats/cells/cells.h"
#include "formats/views/view_sets.h"
#include "formats/containers/folder.h"
#include "formats/views/new_names.h"

const char *tfs_save_called(const struct tfs_save *save)
{
    return save->options.name != NULL ? save->options.name : save->name;
}

/* ---- the life of a save ---------------------------------------------------------------------- */

/* Why a save was read-only at some time. */
struct tfs_sentence {
    struct tfs_sentence *next;
    char text[TFS_ERROR_TEXT];
};

void tfs_save_reasons_release(struct tfs_save *save)
{
    for (struct tfs_sentence *next, *sentence = save->sentences; sentence; sentence = next) {
        next = sentence->next;
        free(sentence);
    }
    save->sentences = NULL;
    save->read_only = NULL;
}

int tfs_save_caches_make(struct tfs_save *save, struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = save->tree->cells;

    if (kind == NULL)
        return 0;
    save->numbers = tfs_numbers_create(kind);
    save->cells = tfs_cells_cache_create();
    save->kept = tfs_kept_create();
    save->columns = tfs_columns_create(save);
    return save->numbers == NULL || save->cells == NULL || save->kept == NULL ||
                   save->columns == NULL
               ? tfs_fail_memory(err)
               : 0;
}

void tfs_save_caches_free(struct tfs_save *save)
{
    tfs_numbers_free(save->numbers);
    tfs_cells_cache_free(save->cells);
    tfs_kept_free(save->kept);
    tfs_columns_free(save->columns);
}

static void save_free(struct tfs_save *save)
{
    tfs_save_reasons_release(save);
    tfs_save_caches_free(save);
    tfs_known_names_free(save->known_names);
    tfs_doc_unref(save->doc);
    free(save->path);
    free(save->only);
    free(save);
}

/* A program that may write keeps what it replaces. */
static int open_keeper(struct tfs_save *save, struct tfs_error *err)
{
    if (save->options.undo.when == TFS_UNDO_NEVER || !tfs_save_is_locked(save))
        return 0;
    return tfs_undo_open(save->path, &save->options.undo, &save->keeper, err);
}

/* Of a save that is gone, or is none any more: its journal may be there all the same. */
static void say_what_waits(const char *path, struct tfs_error *err)
{
    const bool lost = err->code == -ENOENT || err->code == -EBADMSG || err->code == -EINVAL ||
                      err->code == -ENOTSUP;
    const size_t size = strlen(err->text);
    char name[TFS_JOURNAL_NAME], *journal = lost ? tfs_journal_path(path) : NULL;
    struct stat st;

    tfs_journal_name(path, name);
    if (journal != NULL && lstat(journal, &st) == 0 && S_ISREG(st.st_mode))
        snprintf(err->text + size, sizeof(err->text) - size,
                 "; edits that were accepted wait in its journal %.120s until it is back", name);
    free(journal);
}

void tfs_save_close(struct tfs_save *save)
{
    if (save == NULL)
        return;
    save->container->close(save);
    tfs_undo_close(save->keeper);
    save_free(save);
}

bool tfs_save_lacks(const struct tfs_save *save, const struct tfs_doc *doc,
                    const struct tfs_key *chunk)
{
    (void)save;
    return tfs_folder_lacks(doc, chunk);
}

int tfs_save_complete(struct tfs_save *save, const struct tfs_key *chunk, struct tfs_error *err)
{
    struct tfs_doc *doc = NULL;

    if (!tfs_save_lacks(save, save->doc, chunk) || tfs_folder_complete(save, chunk, &doc, err) < 0)
        return err->code;
    tfs_doc_unref(save->doc);
    save->doc = doc;
    return 0;
}

/* ---- before a commit ------------------------------------------------------------------------- */

int tfs_save_check_allowed(const struct tfs_save *save, struct tfs_error *err)
{
    if (save->read_only != NULL)
        return tfs_fail(err, -EROFS, "cannot be written: %s", save->read_only);
    if (!tfs_save_is_locked(save))
        return tfs_fail(err, -EROFS, "was opened for reading only");
    return 0;
}

struct checking {
    struct tfs_save *save;
    const struct tfs_doc *doc;
    struct tfs_error *err;
};

static int check_changed(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct checking *c = arg;

    (void)before;
    return after == NULL ? 0 : tfs_cells_check(c->save, c->doc, after->key, NULL, c->err);
}

int tfs_save_check_chunks(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_error *err)
{
    struct checking checking = {save, doc, err};

    return tfs_doc_diff(save->doc, doc, check_changed, &checking);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The path of one file of a folder that is opened is what is shown of it. */
static int find_only(struct tfs_save *save, const char *path, struct tfs_error *err)
{
    const struct tfs_folder_kind *kind = save->container->files;
    const size_t above = strlen(save->path) + 1;
    struct tfs_key key;

    if (kind == NULL)
        return 0;
    save->only = realpath(path, NULL);
    if (save->only == NULL || access(save->only, R_OK) < 0)
        return tfs_fail(err, -errno, "cannot be opened: %s", strerror(errno));
    if (strlen(save->only) > above && kind->key(save->only + above, &key))
        return 0;
    free(save->only);
    save->only = NULL;
    return 0;
}

/* One file that cannot be read is refused, as it is where it lies in no folder. */
static int check_only(struct tfs_save *save, struct tfs_error *err)
{
    if (save->only == NULL || tfs_save_complete(save, NULL, err) < 0)
        return err->code;
    return tfs_folder_check_only(save->doc->facts, err);
}

int tfs_save_open(const char *path, const char *format, const struct tfs_open_options *options,
                  struct tfs_save **save, struct tfs_error *err)
{
    struct tfs_save *opened = calloc(1, sizeof(*opened));

    if (opened == NULL)
        return tfs_fail_memory(err);
    opened->options = *options;
    if (opened->options.inflate_limit == 0)
        opened->options.inflate_limit = TFS_INFLATE_LIMIT;
    if (tfs_save_find(path, options->name, format, &opened->container, &opened->path, err) < 0 ||
        find_only(opened, path, err) < 0) {
        say_what_waits(path, err);
        goto fail;
    }
    opened->name = strrchr(opened->path, '/') + 1;
    opened->tree = opened->container->tree;
    if (tfs_save_caches_make(opened, err) < 0 ||
        tfs_chosen_check(opened->tree, options->views, err) < 0 || open_keeper(opened, err) < 0)
        goto fail;
    if (opened->container->open(opened, err) < 0) {
        say_what_waits(path, err);
        tfs_undo_close(opened->keeper);
        goto fail;
    }
    if ((!options->later && tfs_save_complete(opened, NULL, err) < 0) ||
        check_only(opened, err) < 0) {
        tfs_save_close(opened);
        return err->code;
    }
    *save = opened;
    return 0;
fail:
    save_free(opened);
    return err->code;
}

static int check_free(const struct tfs_save *save, struct tfs_error *err)
{
    return tfs_chunks_are_fixed(save)
               ? tfs_fail(err, -EPERM,
                          "this save has these chunks for good: none can be made, moved or removed")
               : 0;
}

int tfs_chunk_create(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                     struct tfs_error *err)
{
    return check_free(save, err) < 0 ? err->code : save->tree->chunk_create(save, edit, key, err);
}

int tfs_chunk_fits(const struct tfs_tree *tree, const struct tfs_doc *ours,
                   const struct tfs_doc *theirs, const struct tfs_chunk *chunk,
                   struct tfs_error *err)
{
    return tree->fits == NULL ? 0 : tree->fits(ours, theirs, chunk, err);
}

int tfs_chunk_remove(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                     struct tfs_error *err)
{
    const struct tfs_doc *doc = tfs_edit_doc(edit);
    const struct tfs_chunk *chunk;

    if (check_free(save, err) < 0 || tfs_doc_need(doc, key, &chunk, err) < 0 ||
        tfs_chunk_fits(save->tree, doc, doc, chunk, err) < 0)
        return err->code;
    return tfs_edit_remove(edit, key, err);
}

static int move_as_it_is(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key from,
                         struct tfs_key to, struct tfs_error *err)
{
    const struct tfs_doc *doc = tfs_edit_doc(edit);
    const struct tfs_chunk *chunk;

    if (tfs_doc_need(doc, from, &chunk, err) < 0)
        return err->code;
    struct tfs_chunk moved = *chunk;
    moved.key = to;
    return tfs_chunk_fits(save->tree, doc, doc, &moved, err) < 0
               ? err->code
               : tfs_edit_move(edit, from, to, err);
}

int tfs_chunk_move(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key from,
                   struct tfs_key to, struct tfs_error *err)
{
    if (check_free(save, err) < 0)
        return err->code;
    return save->tree->chunk_move != NULL ? save->tree->chunk_move(save, edit, from, to, err)
                                          : move_as_it_is(save, edit, from, to, err);
}

int tfs_chunk_load(struct tfs_save *save, const struct tfs_chunk *chunk, struct tfs_blob **blob,
                   struct tfs_error *err)
{
    struct tfs_chunk copy = *chunk;

    tfs_chunk_ref(&copy);
    if (!tfs_chunk_is_unread(chunk, false) || tfs_chunks_fetch(save, &copy, 1, err) == 1) {
        *blob = copy.blob;
        copy.blob = NULL;
        if (*blob == NULL)
            tfs_fail(err, -ENOENT, "this chunk has no bytes");
    }
    tfs_chunk_unref(&copy);
    return err->code;
}

size_t tfs_chunks_fetch(struct tfs_save *save, struct tfs_chunk *chunks, size_t count,
                        struct tfs_error *err)
{
    size_t ready = 0;

    while (ready < count && (chunks[ready].flags & TFS_CHUNK_UNREAD_ALL) == 0)
        ready++;
    if (ready == count)
        return ready;
    return ready + save->container->fetch(save, chunks + ready, count - ready, err);
}

/* Who comes to a chunk that failed behind others asks for it again. */
int tfs_chunks_each(struct tfs_save *save, struct tfs_chunk *chunks, size_t count,
                    tfs_fetched_fn each, void *arg, struct tfs_error *err)
{
    size_t ready = 0, i = 0;

    for (; i < count && err->code == 0; i++) {
        if (i == ready && (ready += tfs_chunks_fetch(save, chunks + i, count - i, err)) > i)
            tfs_error_reset(err);
        ready = ready > i ? ready : i + 1;
        each(arg, &chunks[i], err);
        tfs_chunk_unref(&chunks[i]);
    }
    for (; i < count; i++)
        tfs_chunk_unref(&chunks[i]);
    return err->code;
}

void tfs_save_set_read_only(struct tfs_save *save, const struct tfs_error *why)
{
    struct tfs_sentence *sentence = save->sentences;

    while (sentence != NULL && strcmp(sentence->text, why->text) != 0)
        sentence = sentence->next;
    if (why->code < 0 && sentence == NULL) {
        sentence = calloc(1, sizeof(*sentence));
        if (sentence != NULL) {
            memcpy(sentence->text, why->text, sizeof(sentence->text));
            sentence->next = save->sentences;
            save->sentences = sentence;
        }
    }
    if (why->code == 0)
        save->read_only = NULL;
    else
        save->read_only = sentence != NULL ? sentence->text : "it cannot be written";
}

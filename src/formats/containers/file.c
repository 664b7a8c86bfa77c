/*
 * A file's bytes and a codec -> a container: locking, reading, replacing, verifying, reloading.
 *
 * Must not know any format. Invariants:
 *   1. save->doc is what the file with the identity own->file.st holds, which is of own->version; a
 *      save that is only read may show a later one, with the edits of a journal;
 *   2. while the save is open for writing, the file at save->path is locked by us, unless somebody
 *      replaced it (then `changed` says so);
 *   3. a document takes save->doc's place only after its bytes were written, read back, decoded and
 *      found to say the same.
 */
#include "formats/cells/cells.h"
#include "formats/containers/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/journal.h"
#include "base/print.h"

struct whole_file {
    struct tfs_file_handle file;
    bool unsure; /* the file is the new one, but its directory could not be made durable */
    bool hashed; /* `hash` is that of what it holds */
    struct tfs_hash hash;
    uint64_t version; /* of the document that it holds */
};

static struct whole_file *file_of(const struct tfs_save *save)
{
    return save->own;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct decoding {
    struct tfs_save *save;
    struct tfs_doc *doc;
};

static int decode_file(void *arg, int fd, uint64_t size, struct tfs_error *err)
{
    struct decoding *d = arg;

    tfs_doc_unref(d->doc);
    d->doc = NULL;
    return d->save->container->file->decode_file(d->save, fd, size, &d->doc, err);
}

/* A journal is compared with what the save holds: without reading that a second time. */
static int read_hash(const struct tfs_save *save, struct tfs_span bytes, struct whole_file *own,
                     struct tfs_error *err)
{
    const int found = tfs_journal_find(save->path, err);

    own->hashed = found > 0;
    if (own->hashed)
        own->hash = tfs_hash_of(bytes);
    return found < 0 ? found : 0;
}

/* From own->file. */
static int read_doc(struct tfs_save *save, struct whole_file *own, struct tfs_doc **doc,
                    struct tfs_error *err)
{
    const struct tfs_file_codec *codec = save->container->file;
    const uint64_t limit = save->options.inflate_limit;
    struct decoding decoding = {save, NULL};
    struct tfs_blob *bytes = NULL;

    if (codec->decode_file != NULL) {
        if (tfs_file_read_by(&own->file, limit, decode_file, &decoding, err) == 0)
            *doc = decoding.doc;
        else
            tfs_doc_unref(decoding.doc);
    } else if (tfs_file_read(&own->file, limit, &bytes, err) == 0) {
        if (read_hash(save, tfs_blob_span(bytes), own, err) == 0)
            codec->decode(save, bytes, doc, err);
        tfs_blob_unref(bytes);
    }
    return err->code;
}

/* What is read-only about a save shows in info.txt, so it does not depend on how it was opened. */
static int check_writable(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_error *err)
{
    const struct tfs_facts *facts = doc->facts;
    const char *refusal = tfs_facts_find(facts, TFS_NOTE_READ_ONLY);
    const char *damage = tfs_facts_find(facts, TFS_NOTE_DAMAGED);
    struct tfs_error why = {0};

    /* The first reason stays. */
    if (refusal != NULL)
        tfs_fail(&why, -EROFS, "%s", refusal);
    else if (damage != NULL)
        tfs_fail(&why, -EROFS, "it is damaged: %s", damage);
    if (tfs_file_writable(save->path, &why) == -ENOMEM)
        return tfs_fail_memory(err);
    tfs_save_set_read_only(save, &why);
    return 0;
}

/* What a killed process left of a new save, or of its journal. */
static void remove_strays(const char *path)
{
    tfs_file_remove_strays(path);
    tfs_journal_remove_strays(path);
}

int tfs_whole_file_open(struct tfs_save *save, struct tfs_error *err)
{
    struct whole_file *own = calloc(1, sizeof(*own));

    if (own == NULL)
        return tfs_fail_memory(err);
    own->file.fd = -1;
    if (tfs_file_open(save->path, tfs_save_is_locked(save), &own->file, err) < 0)
        goto fail;
    if (tfs_save_is_locked(save))
        remove_strays(save->path);
    if ((tfs_save_is_locked(save) && tfs_file_settle(save->path, err) < 0) ||
        read_doc(save, own, &save->doc, err) < 0 || check_writable(save, save->doc, err) < 0)
        goto fail;
    own->version = save->doc->version;
    save->own = own;
    save->st = own->file.st;
    return 0;
fail:
    tfs_file_close(&own->file);
    free(own);
    return err->code;
}

void tfs_whole_file_close(struct tfs_save *save)
{
    struct whole_file *own = file_of(save);

    tfs_file_close(&own->file);
    free(own);
    save->own = NULL;
}

int tfs_whole_file_changed(struct tfs_save *save, const struct tfs_key *chunk,
                           struct tfs_error *err)
{
    const struct whole_file *own = file_of(save);

    (void)chunk;
    return tfs_file_changed(save->path, &own->file.st, err);
}

static int hash_of(struct tfs_save *save, struct tfs_key file, struct tfs_hash *hash,
                   struct stat *st, struct tfs_error *err)
{
    const struct whole_file *own = file_of(save);
    struct tfs_hash found = own->hash;
    struct stat now;

    (void)file;
    if (!own->hashed && tfs_hash_file(own->file.fd, &found, err) < 0)
        return err->code;
    if (fstat(own->file.fd, &now) < 0)
        return tfs_fail_errno(err, "cannot be examined");
    if (!tfs_file_same(&now, &own->file.st))
        return tfs_fail(err, -ESTALE, "was changed by another program since it was read");
    *hash = found;
    *st = now;
    return 0;
}

const struct tfs_journal_files tfs_whole_file_journal = {.hash = hash_of};

/* The save holds `doc` now, in the file of `now`. Takes both over. */
static void adopt(struct tfs_save *save, const struct whole_file *now, struct tfs_doc *doc)
{
    struct tfs_doc *before = save->doc;

    *file_of(save) = *now;
    file_of(save)->version = doc->version;
    save->st = now->file.st;
    save->doc = doc;
    tfs_doc_unref(before);
}

bool tfs_whole_file_unsure(const struct tfs_save *save)
{
    const struct whole_file *own = file_of(save);

    return own->unsure;
}

int tfs_whole_file_reload(struct tfs_save *save, struct tfs_error *err)
{
    struct whole_file *own = file_of(save), fresh = *own;
    struct tfs_doc *doc = NULL;
    struct stat now;

    /* A program that replaced the file left our lock on one that is no longer there. A program that
     * wrote into it did not, and a second lock would only meet the first. */
    bool replaced = lstat(save->path, &now) < 0 || now.st_dev != own->file.st.st_dev ||
                    now.st_ino != own->file.st.st_ino;
    fresh.hashed = false;
    if (replaced && tfs_file_open(save->path, tfs_save_is_locked(save), &fresh.file, err) < 0)
        return err->code;
    if (read_doc(save, &fresh, &doc, err) < 0 || tfs_doc_keep_slots(doc, save->doc, err) < 0 ||
        check_writable(save, doc, err) < 0)
        goto fail;
    if (replaced)
        tfs_file_close(&own->file);
    fresh.unsure = own->unsure && !replaced;
    adopt(save, &fresh, doc);
    return 0;
fail:
    tfs_doc_unref(doc);
    if (replaced)
        tfs_file_close(&fresh.file);
    return err->code;
}

/* ---- verification ---------------------------------------------------------------------------- */

/* What was written does not say what it should: a fault of the codec or of the disk, never of the
 * user's text. Without memory, nothing was found out. */
static int fail_verify(const struct tfs_error *why, struct tfs_error *err)
{
    if (why->code == -ENOMEM)
        return tfs_fail(err, why->code, "%s", why->text);
    return tfs_fail(err, -EIO, "the save does not read back as it was written: %s", why->text);
}

static int compare(const struct tfs_doc *intended, const struct tfs_doc *written,
                   struct tfs_error *err)
{
    if (tfs_doc_check_written(intended, written, err) < 0)
        return err->code;
    if (!tfs_blob_equal(intended->common, written->common))
        return tfs_fail(err, -EIO, "what belongs to the whole save is another thing");
    return 0;
}

struct collector {
    struct tfs_sink sink; /* first */
    struct tfs_buf bytes;
};

static int collect(struct tfs_sink *sink, const void *bytes, size_t size, struct tfs_error *err)
{
    struct collector *collector = (struct collector *)sink;

    tfs_buf_add(&collector->bytes, bytes, size);
    return tfs_buf_check(&collector->bytes, err);
}

int tfs_whole_file_again(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_doc **again,
                         struct tfs_error *err)
{
    const struct tfs_file_codec *codec = save->container->file;
    struct collector file = {.sink.write = collect};
    struct tfs_blob *bytes = NULL;
    struct tfs_doc *read = NULL;
    struct tfs_error why = {0};

    if (codec->encode(save, doc, &file.sink, &why) == 0 &&
        tfs_blob_take(&file.bytes, &bytes, &why) == 0 &&
        codec->decode(save, bytes, &read, &why) == 0 && compare(doc, read, &why) == 0 &&
        tfs_doc_keep_slots(read, doc, &why) == 0) {
        *again = read;
        read = NULL;
    }
    if (why.code != 0)
        tfs_fail(err, why.code == -ENOMEM ? -ENOMEM : -EBADMSG, "%s", why.text);
    tfs_doc_unref(read);
    tfs_blob_unref(bytes);
    tfs_buf_release(&file.bytes);
    return err->code;
}

/* The chunks of `written`, which says what `doc` does. */
static void check_chunks(struct tfs_save *save, const struct tfs_doc *doc,
                         const struct tfs_doc *written, struct tfs_error *why)
{
    if (save->checked != doc)
        tfs_save_check_chunks(save, written, why);
}

/* Decodes what was written. */
static int verify_decoded(struct tfs_save *save, struct tfs_doc *doc, struct tfs_replacement *r,
                          struct tfs_doc **written, struct tfs_hash *hash, struct tfs_error *err)
{
    struct tfs_error why = {0};
    struct tfs_blob *bytes = NULL;
    struct tfs_doc *found = NULL;

    if (tfs_replacement_read(r, &bytes, err) < 0)
        return err->code;
    if (save->container->file->decode(save, bytes, &found, &why) == 0 &&
        compare(doc, found, &why) == 0)
        check_chunks(save, doc, found, &why);
    if (why.code != 0) {
        tfs_doc_unref(found);
        fail_verify(&why, err);
    } else {
        *hash = tfs_hash_of(tfs_blob_span(bytes));
        *written = found;
    }
    tfs_blob_unref(bytes);
    return err->code;
}

/* Has the codec look at what was written, which knows what it copied. */
static int verify_checked(struct tfs_save *save, struct tfs_doc *doc, struct tfs_replacement *r,
                          struct tfs_doc **written, struct tfs_hash *hash, struct tfs_error *err)
{
    struct tfs_readback found;
    struct tfs_error why = {0};

    /* The last bytes are written here: a full disk is no fault of what was written. */
    if (tfs_replacement_readback(r, &found, err) < 0)
        return err->code;
    if (save->container->file->check(save, doc, &found, &why) == 0 &&
        tfs_readback_end(&found, hash, &why) == 0)
        check_chunks(save, doc, doc, &why);
    tfs_readback_release(&found);
    if (why.code != 0)
        return fail_verify(&why, err);
    *written = tfs_doc_ref(doc);
    return 0;
}

int tfs_whole_file_fill(struct tfs_save *save, struct tfs_doc *doc, struct tfs_replacement *r,
                        struct tfs_doc **written, struct tfs_hash *hash, struct tfs_error *err)
{
    const struct tfs_file_codec *codec = save->container->file;

    if (codec->encode(save, doc, &r->sink, err) < 0)
        return err->code;
    return (codec->check != NULL ? verify_checked : verify_decoded)(save, doc, r, written, hash,
                                                                    err);
}

/* The keeper of a journal is told of what is written. *adopted: what the save holds from then
 * on. */
static int fill(struct tfs_save *save, struct tfs_doc *doc, struct tfs_replacement *r,
                struct tfs_doc **adopted, struct tfs_error *err)
{
    struct tfs_doc *written = NULL;
    struct tfs_hash hash;

    if (tfs_whole_file_fill(save, doc, r, &written, &hash, err) == 0 &&
        save->container->file->rereads)
        tfs_doc_keep_slots(written, doc, err);
    if (err->code == 0 && save->rewrite.wrote != NULL)
        save->rewrite.wrote(save->rewrite.arg, (struct tfs_key){0}, hash, true, err);
    if (err->code == 0)
        *adopted = tfs_doc_ref(save->container->file->rereads ? written : doc);
    tfs_doc_unref(written);
    return err->code;
}

/* ---- committing ------------------------------------------------------------------------------ */

int tfs_whole_file_commit(struct tfs_save *save, struct tfs_doc *doc, struct tfs_error *err)
{
    struct whole_file *own = file_of(save);
    const struct tfs_file_codec *codec = save->container->file;
    struct tfs_file_handle file = own->file;
    struct tfs_doc *adopted = NULL;
    struct tfs_replacement r;

    if (tfs_save_check_allowed(save, err) < 0 ||
        tfs_replacement_open(save->path, &file, &r, err) < 0)
        return err->code;
    if (fill(save, doc, &r, &adopted, err) < 0) {
        tfs_replacement_cancel(&r);
        return err->code;
    }
    const int written = r.fd;
    struct tfs_replacement follower = {0};
    if (codec->committing != NULL)
        codec->committing(save, doc, &follower);
    tfs_undo_begin(save->keeper);
    r.keeper = save->keeper;
    tfs_replacement_finish(&r, &file, err);
    /* With a handle of the new file the rename happened, even if what came after it failed: the
     * save holds the new document then, what follows it follows, and the caller hears of the
     * failure. */
    if (file.fd != written) {
        own->file.st = file.st; /* a second name may have moved its ctime */
        tfs_replacement_cancel(&follower);
        tfs_doc_unref(adopted);
        return err->code;
    }
    const struct whole_file now = {.file = file, .unsure = err->code < 0};
    struct tfs_doc *before = tfs_doc_ref(save->doc);
    adopt(save, &now, adopted);
    if (codec->committed != NULL)
        codec->committed(save, before, doc, err);
    tfs_replacement_cancel(&follower);
    tfs_doc_unref(before);
    return err->code;
}

/* ---- to another place ------------------------------------------------------------------------ */

static int fill_replacement(struct tfs_save *save, struct tfs_doc *doc, struct tfs_replacement *r,
                            struct tfs_error *err)
{
    struct tfs_doc *adopted = NULL;

    if (doc->version == file_of(save)->version)
        return tfs_replacement_copy(r, &file_of(save)->file, err);
    fill(save, doc, r, &adopted, err);
    tfs_doc_unref(adopted);
    return err->code;
}

int tfs_whole_file_write(struct tfs_save *save, struct tfs_doc *doc, struct tfs_save *over,
                         const char *path, struct tfs_error *err)
{
    struct whole_file *target = over == NULL ? NULL : file_of(over);
    struct tfs_file_handle file = {.fd = -1};
    struct tfs_replacement r;

    if (over != NULL && tfs_save_check_allowed(over, err) < 0)
        return err->code;
    if (over != NULL)
        file = target->file;
    else
        tfs_file_remove_strays(path);
    if (tfs_replacement_open(over != NULL ? over->path : path, over != NULL ? &file : NULL, &r,
                             err) < 0)
        return err->code;
    if ((over == NULL && tfs_replacement_give(&r, &save->st, err) < 0) ||
        fill_replacement(save, doc, &r, err) < 0) {
        tfs_replacement_cancel(&r);
        return err->code;
    }
    r.keeper = over != NULL ? over->keeper : NULL;
    tfs_replacement_finish(&r, &file, err);
    if (over != NULL)
        target->file = file;
    else
        tfs_file_close(&file);
    return err->code;
}

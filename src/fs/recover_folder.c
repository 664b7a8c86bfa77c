/*
 * A file and the journal of its folder -> the file as it will be. See recover_folder.h.
 */
#include "fs/recover_folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/containers/file.h"
#include "fs/recover_apply.h"

/* What the journal says of the file that is read alone; NULL: nothing. */
static int find_alone(const struct tfs_recovery *folder, const struct tfs_recover_file **file,
                      struct tfs_error *err)
{
    const struct tfs_recover_files *files = &folder->files;

    *file = NULL;
    for (size_t i = 0; i < files->count && *file == NULL; i++) {
        char *path = folder->save->container->journal->path(folder->save, files->files[i].key);
        if (path == NULL)
            return tfs_fail_memory(err);
        if (strcmp(path, folder->alone->path) == 0)
            *file = &files->files[i];
        free(path);
    }
    return 0;
}

struct joining {
    const struct tfs_recovery *r;
    struct tfs_edit edit;
    struct tfs_error *err;
};

static int join_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct joining *j = arg;
    struct tfs_chunk chunk = *(after != NULL ? after : before);

    chunk.slot = TFS_SLOT_NONE;
    j->r->save->container->file->from_folder(tfs_edit_doc(&j->edit), &chunk);
    if (after != NULL)
        return tfs_edit_put(&j->edit, &chunk, j->err);
    return tfs_doc_find(tfs_edit_doc(&j->edit), chunk.key) == NULL
               ? 0
               : tfs_edit_remove(&j->edit, chunk.key, j->err);
}

/* Puts the edits of the folder that are of this file on what it holds. */
static int join_edits(struct tfs_recovery *r, const struct tfs_recovery *folder,
                      struct tfs_error *err)
{
    struct joining j = {.r = r, .err = err};

    if (tfs_edit_open(r->save->doc, &j.edit, err) < 0)
        return err->code;
    if (tfs_doc_diff(folder->save->doc, folder->doc, join_chunk, &j) == 0)
        r->doc = tfs_edit_finish(&j.edit);
    tfs_edit_release(&j.edit);
    r->count = folder->count;
    r->last = folder->last;
    return err->code == 0 && tfs_recovery_check(r, err) == 0 ? tfs_recovery_read_again(r, err)
                                                             : err->code;
}

static bool has_changed(const struct tfs_recovery *r)
{
    struct tfs_error ignored = {0};

    return r->save->container->changed(r->save, &ignored) > 0;
}

static int fail_changing(struct tfs_error *err)
{
    return tfs_fail(err, -ESTALE, "another program is changing it");
}

/* The journal of the folder, as far as it is about this file. ESTALE: the file is another one than
 * the folder has by now. */
static int apply_folder(struct tfs_recovery *r, struct tfs_recovery *folder, struct tfs_error *err)
{
    const struct tfs_recover_file *file;

    int found = tfs_recovery_read(folder, err);
    if (found == 0)
        return fail_changing(err); /* the journal is gone, and the file may hold its edits */
    if (found < 0 || find_alone(folder, &file, err) < 0)
        return err->code;
    /* Of a file that it does not name, an earlier journal may have said more. */
    if (file != NULL ? !tfs_file_same(&file->st, &r->save->st) : has_changed(r))
        return fail_changing(err);
    if (file != NULL && !file->ours)
        return tfs_fail(err, -EBADMSG, "%s", TFS_RECOVERY_OTHERS);
    if (file == NULL ||
        tfs_recovery_apply_files(folder, false, file, &folder->doc, &folder->count, err) < 0 ||
        !tfs_recovery_says_more(folder, folder->doc) || join_edits(r, folder, err) < 0)
        return err->code;
    tfs_recovery_show(r);
    if (folder->text.damaged > 0)
        tfs_recovery_say(
            r, "warning: the journal of its folder is damaged, what follows is not shown");
    else
        tfs_recovery_say(r, "%s only in the journal of its folder yet",
                         tfs_recovery_edits(r, "is", "are"));
    return 0;
}

static int show_folder(struct tfs_recovery *r, struct tfs_error *err)
{
    char notice[TFS_ERROR_TEXT] = "";
    struct tfs_recovery folder = {.alone = r->save, .notice = notice};

    if (tfs_whole_file_open_folder(r->save, &folder.save, err) == 0) {
        folder.beside = tfs_journal_beside(folder.save);
        if (folder.beside == NULL)
            tfs_fail_memory(err);
        else if (folder.save->container->journal != NULL)
            apply_folder(r, &folder, err);
    }
    tfs_recovery_release(&folder);
    tfs_save_close(folder.save);
    return err->code;
}

/* Looks at the journal of the folder once. ESTALE: at another moment than the file was read. */
static void try_folder(struct tfs_recovery *r, struct tfs_error *waits, struct tfs_error *why)
{
    if (tfs_whole_file_waits(r->save, waits) == -EROFS)
        show_folder(r, why);
    else if (waits->code == 0 && has_changed(r))
        fail_changing(why);
}

int tfs_recover_folder(struct tfs_recovery *r, struct tfs_error *err)
{
    const struct tfs_file_codec *codec = r->save->container->file;
    struct tfs_error waits = {0}, why = {0};

    if (codec == NULL || codec->folder == NULL || r->notice[0] != '\0')
        return 0;
    try_folder(r, &waits, &why);
    for (int i = 0; why.code == -ESTALE && i < TFS_RECOVERY_TRIES; i++) {
        tfs_error_reset(&waits);
        tfs_error_reset(&why);
        if (r->save->container->reload(r->save, &why) == 0)
            try_folder(r, &waits, &why);
    }
    if (waits.code == -ENOMEM || why.code == -ENOMEM)
        return tfs_fail_memory(err);
    if (why.code < 0)
        tfs_recovery_say(r, "warning: %.200s; they are not shown here: %.200s", waits.text,
                         why.text);
    return 0;
}

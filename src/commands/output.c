/*
 * Bytes -> a new file, or one in the place of an older one of its kind.
 *
 * Must not know what is in it. A hostile repository may have put a link, or a file that matters,
 * where the output goes: neither is touched.
 */
#include "commands/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mounts.h"

#define BEGINS_MAX 64

/* In a mount of ours a new file would be scratch, and gone with the mount. */
static int check_lasting(const char *path, const char *directory, struct tfs_error *err)
{
    char at[PATH_MAX];
    struct tfs_mounted mount;
    int found = 0;

    snprintf(at, sizeof(at), "%s", directory);
    while (found == 0 && at[0] != '\0') {
        found = tfs_mounted_at(at, &mount);
        *strrchr(at, '/') = '\0';
    }
    if (found <= 0)
        return found < 0 ? tfs_fail_memory(err) : 0;
    if (tfs_mounted_is_ours(&mount))
        tfs_fail(err, -EINVAL,
                 "%s: this is in a mount of terrainfs, where a new file is lost at its end: name a "
                 "place outside",
                 path);
    tfs_mounted_release(&mount);
    return err->code;
}

int tfs_output_resolve(const char *path, char out[TFS_OUTPUT_PATH], struct tfs_error *err)
{
    char *directory = tfs_file_directory(path);
    char real[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;

    if (directory == NULL)
        return tfs_fail_memory(err);
    if (*name == '\0')
        tfs_fail(err, -EINVAL, "%s: a name of a file is missing", path);
    else if (realpath(directory, real) == NULL)
        tfs_fail_errno(err, path);
    else if (check_lasting(path, real, err) == 0)
        snprintf(out, TFS_OUTPUT_PATH, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
    free(directory);
    return err->code;
}

static bool is_kind(const struct tfs_file_handle *file, const struct tfs_output_kind *kind)
{
    uint8_t head[BEGINS_MAX];

    return kind->begins.size <= sizeof(head) &&
           pread(file->fd, head, kind->begins.size, 0) == (ssize_t)kind->begins.size &&
           memcmp(head, kind->begins.data, kind->begins.size) == 0;
}

/* Opens what is there, under its lock: `old` has fd -1 when nothing is. */
static int open_old(const char *path, const struct tfs_output_kind *kind,
                    struct tfs_file_handle *old, struct tfs_error *err)
{
    struct tfs_error why = {0};
    struct stat st;

    old->fd = -1;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : tfs_fail_errno(err, path);
    if (!S_ISREG(st.st_mode))
        return tfs_fail(err, -EEXIST, "%s: it is there already, and is no file", path);
    if (tfs_file_open(path, true, old, &why) < 0)
        return tfs_fail(err, why.code, "%s: %s", path, why.text);
    if (is_kind(old, kind))
        return 0;
    tfs_file_close(old);
    return tfs_fail(err, -EEXIST, "%s: it is there already, and is not %s", path, kind->name);
}

int tfs_output_open(const char *path, const struct tfs_output_kind *kind, const struct stat *like,
                    struct tfs_output *out, struct tfs_error *err)
{
    char resolved[TFS_OUTPUT_PATH];
    struct stat shared = *like;

    *out = (struct tfs_output){.old = {.fd = -1}};
    if (tfs_output_resolve(path, resolved, err) < 0 || open_old(resolved, kind, &out->old, err) < 0)
        return err->code;
    const bool there = out->old.fd >= 0;
    tfs_file_remove_strays(resolved);
    if (tfs_replacement_open(resolved, there ? &out->old : NULL, &out->file, err) < 0) {
        tfs_file_close(&out->old);
        return err->code;
    }
    out->open = true;
    shared.st_mode |= S_IWUSR;
    if (!there && tfs_replacement_give(&out->file, &shared, err) < 0)
        tfs_output_cancel(out);
    return err->code;
}

int tfs_output_settle(struct tfs_output *out, struct tfs_error *err)
{
    struct tfs_readback written;

    if (tfs_replacement_readback(&out->file, &written, err) == 0 && fdatasync(out->file.fd) < 0)
        tfs_fail_errno(err, "a file beside the result could not be written");
    tfs_readback_release(&written);
    return err->code;
}

int tfs_output_finish(struct tfs_output *out, struct tfs_error *err)
{
    out->open = false;
    tfs_replacement_finish(&out->file, &out->old, err);
    tfs_file_close(&out->old);
    return err->code;
}

void tfs_output_cancel(struct tfs_output *out)
{
    if (!out->open)
        return;
    out->open = false;
    tfs_replacement_cancel(&out->file);
    tfs_file_close(&out->old);
}

int tfs_output_remove(const char *path, const struct tfs_output_kind *kind, struct tfs_error *err)
{
    struct tfs_file_handle old;
    struct tfs_error why = {0};
    char resolved[TFS_OUTPUT_PATH];

    if (tfs_output_resolve(path, resolved, err) < 0)
        return err->code;
    if (open_old(resolved, kind, &old, &why) == 0 && old.fd >= 0) {
        if (unlink(resolved) < 0)
            tfs_fail_errno(err, path);
        tfs_file_close(&old);
    }
    return err->code;
}

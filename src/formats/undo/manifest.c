/*
 * A generation <-> the texts in its directory that say what it holds (docs/undo.md).
 *
 * Must not know saves. The texts are read as any other foreign file: a path in them leads nowhere
 * but below the generation and below the save.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/print.h"
#include "formats/undo/disk.h"
#include "text/name.h"

#define HEAD         "terrainfs undo 1"
#define MANIFEST_MAX (UINT64_C(64) << 20)

static const char *const kinds[TFS_UNDO_KINDS] = {
    [TFS_UNDO_FILE] = "file", [TFS_UNDO_FOLDER] = "folder", [TFS_UNDO_DATABASE] = "database"};

/* ---- writing --------------------------------------------------------------------------------- */

void tfs_manifest_head(const struct tfs_generation *generation, struct tfs_buf *out)
{
    tfs_buf_printf(out, HEAD "\nkind %s\ntime %" PRId64 "\nundoes %u\nsave ",
                   kinds[generation->kind], generation->time, generation->undoes);
    tfs_name_print(out, tfs_span_of(generation->save));
    tfs_buf_u8(out, '\n');
}

void tfs_manifest_run(uint64_t run, struct tfs_buf *out)
{
    tfs_buf_printf(out, "run %" PRIu64 "\n", run);
}

void tfs_manifest_file(const struct tfs_undo_file *file, struct tfs_buf *out)
{
    const struct tfs_undo_mark *was = &file->was;

    tfs_buf_printf(out, "file %" PRIu64 " %" PRId64 " %lld %ld ", was->ino, was->size,
                   (long long)was->mtime.tv_sec, was->mtime.tv_nsec);
    tfs_name_print(out, tfs_span_of(file->path));
    tfs_buf_u8(out, '\n');
}

/* A record of what we left, by the number of the file. */
struct left {
    uint64_t ino;
    int64_t size, seconds, nanoseconds;
    uint64_t sum;
};

static uint64_t sum_of(const struct left *left, size_t number)
{
    return tfs_checksum((struct tfs_span){(const uint8_t *)left, offsetof(struct left, sum)},
                        number + 1);
}

int tfs_undo_note_left(int fd, size_t number, struct tfs_undo_mark mark)
{
    struct left left = {mark.ino, mark.size, mark.mtime.tv_sec, mark.mtime.tv_nsec, 0};

    left.sum = sum_of(&left, number);
    ssize_t n = pwrite(fd, &left, sizeof(left), (off_t)(number * sizeof(left)));
    return n == (ssize_t)sizeof(left) ? 0 : n < 0 ? -errno : -EIO;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A path that leads below a directory. */
static bool is_below(const char *path)
{
    if (path[0] == '\0' || strlen(path) >= PATH_MAX)
        return false;
    for (const char *part = path;; part++) {
        size_t length = strcspn(part, "/");
        if (length == 0 || length > NAME_MAX || (length == 1 && part[0] == '.') ||
            (length == 2 && part[0] == '.' && part[1] == '.'))
            return false;
        part += length;
        if (*part == '\0')
            return true;
    }
}

/* The name that the rest of a line is; NULL: none, or no memory. */
static char *take_name(const char *text, struct tfs_error *err)
{
    struct tfs_buf name = {0};
    char *copy = NULL;

    if (tfs_name_parse(&name, tfs_span_of(text), err) == 0 && tfs_buf_check(&name, err) == 0 &&
        (name.size == 0 || memchr(name.data, '\0', name.size) == NULL)) {
        copy = strndup(name.size == 0 ? "" : (const char *)name.data, name.size);
        if (copy == NULL)
            tfs_fail_memory(err);
    }
    tfs_buf_release(&name);
    return copy;
}

static int fail_line(const char *what, struct tfs_error *err)
{
    return tfs_fail(err, -EBADMSG, "the list of an earlier version is damaged: %s", what);
}

static int take_kind(const char *word, struct tfs_generation *generation, struct tfs_error *err)
{
    for (unsigned i = 0; i < TFS_UNDO_KINDS; i++)
        if (strcmp(kinds[i], word) == 0) {
            generation->kind = (enum tfs_undo_kind)i;
            return 0;
        }
    return fail_line("its kind", err);
}

static int take_file(const char *text, struct tfs_generation *generation, struct tfs_error *err)
{
    struct tfs_undo_file file = {0};
    long long seconds;
    int end = 0;

    if (sscanf(text, "%" SCNu64 " %" SCNd64 " %lld %ld %n", &file.was.ino, &file.was.size, &seconds,
               &file.was.mtime.tv_nsec, &end) != 4 ||
        end == 0)
        return fail_line("a file", err);
    file.was.mtime.tv_sec = seconds;
    file.path = take_name(text + end, err);
    struct tfs_undo_file *files =
        file.path == NULL ? NULL
                          : tfs_array_grow(generation->files, generation->count, sizeof(*files));
    if (files == NULL || !is_below(file.path)) {
        if (files != NULL)
            generation->files = files;
        else if (file.path != NULL)
            tfs_fail_memory(err);
        free(file.path);
        return err->code == -ENOMEM ? err->code : fail_line("a path", err);
    }
    generation->files = files;
    generation->files[generation->count++] = file;
    return 0;
}

static int take_save(const char *text, struct tfs_generation *generation, struct tfs_error *err)
{
    free(generation->save);
    generation->save = take_name(text, err);
    return generation->save == NULL ? fail_line("the path of its save", err) : 0;
}

static int take_run(const char *text, struct tfs_generation *generation, struct tfs_error *err)
{
    uint64_t *runs = tfs_array_grow(generation->runs, generation->run_count, sizeof(*runs));

    if (runs == NULL)
        return tfs_fail_memory(err);
    generation->run = strtoull(text, NULL, 10);
    generation->runs = runs;
    runs[generation->run_count++] = generation->run;
    return 0;
}

static int take_line(char *line, struct tfs_generation *generation, struct tfs_error *err)
{
    char *rest = line + strcspn(line, " ");

    if (*rest == ' ')
        *rest++ = '\0';
    if (strcmp(line, "kind") == 0)
        return take_kind(rest, generation, err);
    if (strcmp(line, "file") == 0)
        return take_file(rest, generation, err);
    if (strcmp(line, "save") == 0)
        return take_save(rest, generation, err);
    if (strcmp(line, "run") == 0)
        return take_run(rest, generation, err);
    if (strcmp(line, "time") == 0)
        generation->time = strtoll(rest, NULL, 10);
    else if (strcmp(line, "undoes") == 0)
        generation->undoes = (unsigned)strtoul(rest, NULL, 10);
    else
        return fail_line("an unknown line", err);
    return 0;
}

/* All whole lines: what a killed program wrote last may be torn. */
static int take_text(struct tfs_span bytes, struct tfs_generation *generation,
                     struct tfs_error *err)
{
    char *text = strndup(bytes.size == 0 ? "" : (const char *)bytes.data, bytes.size);
    char *line = text, *end;
    bool first = true;

    if (text == NULL)
        return tfs_fail_memory(err);
    for (; err->code == 0 && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        if (first && strcmp(line, HEAD) != 0)
            tfs_fail(err, -ENOTSUP, "an earlier version was kept by another version of terrainfs");
        else if (!first)
            take_line(line, generation, err);
        first = false;
    }
    if (generation->save == NULL)
        fail_line("it is not whole", err);
    free(text);
    return err->code;
}

static int read_left(int directory, struct tfs_generation *generation, struct tfs_error *err)
{
    int fd = openat(directory, TFS_UNDO_LEFT, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct left left;

    if (fd < 0)
        return errno == ENOENT ? 0 : tfs_fail_errno(err, "an earlier version cannot be read");
    for (size_t i = 0; i < generation->count; i++) {
        struct tfs_undo_file *file = &generation->files[i];
        ssize_t n = pread(fd, &left, sizeof(left), (off_t)(i * sizeof(left)));
        if (n != (ssize_t)sizeof(left) || left.sum != sum_of(&left, i))
            continue;
        file->left = (struct tfs_undo_mark){left.ino, left.size, {left.seconds, left.nanoseconds}};
        file->replaced = true;
    }
    close(fd);
    return 0;
}

static int read_bytes(int directory, struct tfs_blob **bytes, struct tfs_error *err)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    struct tfs_file_handle file = {.fd = openat(directory, TFS_UNDO_MANIFEST, flags)};

    if (file.fd < 0)
        return errno == ENOENT ? -ENOENT : tfs_fail_errno(err, "the list cannot be opened");
    tfs_file_read(&file, MANIFEST_MAX, bytes, err);
    tfs_file_close(&file);
    return err->code;
}

int tfs_generation_read(int own, const char *own_path, unsigned number,
                        struct tfs_generation *generation, struct tfs_error *err)
{
    struct tfs_generation read = {.number = number};
    struct tfs_error why = {0};
    struct tfs_blob *bytes = NULL;
    char name[16];

    snprintf(name, sizeof(name), "%u", number);
    int directory = openat(own, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return 0;
    int result = read_bytes(directory, &bytes, &why);
    if (result == 0 && take_text(tfs_blob_span(bytes), &read, &why) == 0 &&
        read_left(directory, &read, &why) == 0 &&
        tfs_print(&read.directory, "%s/%s/" TFS_UNDO_FILES, own_path, name) < 0) {
        read.directory = NULL;
        tfs_fail_memory(&why);
    }
    close(directory);
    tfs_blob_unref(bytes);
    if (result == 0 && why.code == 0) {
        *generation = read;
        return 1;
    }
    tfs_generation_release(&read);
    return why.code == -ENOMEM ? tfs_fail_memory(err) : 0;
}

/* Says no whole line which save it is of? Also what another version writes does. */
static bool is_nameless(struct tfs_span text)
{
    static const char name[] = "save ";

    while (text.size > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        if (end == NULL)
            return true;
        if (text.size >= sizeof(name) && memcmp(text.data, name, sizeof(name) - 1) == 0)
            return false;
        text.size -= (size_t)(end + 1 - text.data);
        text.data = end + 1;
    }
    return true;
}

bool tfs_generation_is_none(int own, unsigned number)
{
    struct tfs_blob *bytes = NULL;
    struct tfs_error ignored = {0};
    char name[16];

    snprintf(name, sizeof(name), "%u", number);
    int directory = openat(own, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return false;
    int result = read_bytes(directory, &bytes, &ignored);
    bool none = result == -ENOENT || (result == 0 && is_nameless(tfs_blob_span(bytes)));
    close(directory);
    tfs_blob_unref(bytes);
    return none;
}

void tfs_generation_release(struct tfs_generation *generation)
{
    for (size_t i = 0; i < generation->count; i++)
        free(generation->files[i].path);
    free(generation->files);
    free(generation->runs);
    free(generation->save);
    free(generation->directory);
    *generation = (struct tfs_generation){0};
}

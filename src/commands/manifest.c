/*
 * Paths and hashes <-> `.terrainfs/manifest`. Knows no save and no tree.
 */
#include "commands/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "formats/views/view_sets.h"
#include "text/lines.h"
#include "text/name.h"

#define HEAD          "terrainfs manifest 1"
#define TEMPORARY     "manifest.new"
#define ORIGINAL      "original/%s%s" /* the path, and what `packed_ending` says */
#define HASH_SIZE     32              /* hexadecimal digits */
#define SIZE_MAX_READ (UINT64_C(1) << 30)
#define ORIGINAL_MAX  (UINT64_C(300) << 20) /* a picture of 8192 x 8192 pixels of 4 bytes */
#define READ_STEP     65536

static void hash_print(struct tfs_span text, char out[HASH_SIZE + 1])
{
    const struct tfs_hash hash = tfs_hash_of(text);

    snprintf(out, HASH_SIZE + 1, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_ignore(int directory, mode_t mode)
{
    static const char text[] = "*\n";
    const size_t size = sizeof(text) - 1;
    int fd = openat(directory, ".gitignore", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

    if (fd < 0)
        return -1;
    bool whole = write(fd, text, size) == (ssize_t)size;
    return close(fd) == 0 && whole ? 0 : -1;
}

static int print_head(FILE *out, const char *format, unsigned views)
{
    struct tfs_buf names = {0};

    if (tfs_chosen_all(views))
        return fprintf(out, HEAD "\nformat %s\n", format);
    tfs_chosen_print(views, &names);
    int printed = names.failed ? -1
                               : fprintf(out, HEAD "\nformat %s\nviews %.*s\n", format,
                                         (int)names.size, (const char *)names.data);
    tfs_buf_release(&names);
    return printed;
}

int tfs_manifest_begin(int tree, mode_t directory_mode, mode_t file_mode, const char *format,
                       unsigned views, struct tfs_manifest_writer *writer, struct tfs_error *err)
{
    struct tfs_manifest_writer w = {.directory = -1};
    int fd = -1;

    if (mkdirat(tree, TFS_MANIFEST_DIR, directory_mode) == 0)
        w.directory =
            openat(tree, TFS_MANIFEST_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (w.directory >= 0 && write_ignore(w.directory, file_mode) == 0)
        fd = openat(w.directory, TEMPORARY, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file_mode);
    w.out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (w.out && print_head(w.out, format, views) > 0) {
        *writer = w;
        return 0;
    }
    tfs_fail_errno(err, TFS_MANIFEST_DIR "/" TFS_MANIFEST);
    if (fd >= 0 && !w.out)
        close(fd);
    tfs_manifest_close(&w);
    return err->code;
}

/* The path as it stands in a line. */
static int print_path(struct tfs_buf *out, const char *path, struct tfs_error *err)
{
    tfs_name_print(out, tfs_span_of(path));
    return tfs_buf_check(out, err);
}

int tfs_manifest_add(struct tfs_manifest_writer *writer, const char *path, struct tfs_span text,
                     struct tfs_error *err)
{
    char hash[HASH_SIZE + 1];
    struct tfs_buf name = {0};

    hash_print(text, hash);
    if (print_path(&name, path, err) == 0 &&
        fprintf(writer->out, "file %s %.*s\n", hash, (int)name.size, (const char *)name.data) < 0)
        tfs_fail_errno(err, TFS_MANIFEST_DIR "/" TFS_MANIFEST);
    writer->files++;
    tfs_buf_release(&name);
    return err->code;
}

/* Opens a new file below the directory, and makes the directories on the way. */
static int create_below(int directory, char *path, mode_t directory_mode, mode_t file_mode)
{
    for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int made = mkdirat(directory, path, directory_mode);
        *slash = '/';
        if (made < 0 && errno != EEXIST)
            return -1;
    }
    return openat(directory, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file_mode);
}

static int write_packed(int fd, struct tfs_span text)
{
    gzFile out = gzdopen(fd, "wb1");
    bool whole;

    if (!out) {
        close(fd);
        return -1;
    }
    whole = gzfwrite(text.data, 1, text.size, out) == text.size;
    return gzclose(out) == Z_OK && whole ? 0 : -1;
}

/* A name that would become too long has no ending. */
static const char *packed_ending(const char *path)
{
    static const char ending[] = ".gz";
    const char *slash = strrchr(path, '/');

    return strlen(slash == NULL ? path : slash + 1) + strlen(ending) > NAME_MAX ? "" : ending;
}

int tfs_manifest_add_original(struct tfs_manifest_writer *writer, const char *path,
                              struct tfs_span text, mode_t directory_mode, mode_t file_mode,
                              struct tfs_error *err)
{
    char name[PATH_MAX];
    int fd;

    if (tfs_manifest_add(writer, path, text, err) < 0)
        return err->code;
    if (snprintf(name, sizeof(name), ORIGINAL, path, packed_ending(path)) >= (int)sizeof(name))
        return tfs_fail(err, -ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
    fd = create_below(writer->directory, name, directory_mode, file_mode);
    if (fd >= 0 && write_packed(fd, text) == 0)
        return 0;
    return tfs_fail_errno(err, TFS_MANIFEST_DIR "/original");
}

int tfs_manifest_finish(struct tfs_manifest_writer *writer, bool partial, struct tfs_error *err)
{
    FILE *out = writer->out;
    bool written = fprintf(out, "%send %zu\n", partial ? "partial\n" : "", writer->files) > 0;

    writer->out = NULL;
    if (fclose(out) == 0 && written &&
        renameat(writer->directory, TEMPORARY, writer->directory, TFS_MANIFEST) == 0)
        return 0;
    return tfs_fail_errno(err, TFS_MANIFEST_DIR "/" TFS_MANIFEST);
}

void tfs_manifest_close(struct tfs_manifest_writer *writer)
{
    if (writer->out)
        fclose(writer->out);
    if (writer->directory >= 0)
        close(writer->directory);
    *writer = (struct tfs_manifest_writer){.directory = -1};
}

/* ---- reading --------------------------------------------------------------------------------- */

static int lines_add(struct tfs_manifest_lines *lines, struct tfs_span path, struct tfs_span hash,
                     struct tfs_error *err)
{
    struct tfs_manifest_line *items = tfs_array_grow(lines->items, lines->count, sizeof(*items));

    if (!items)
        return tfs_fail_memory(err);
    lines->items = items;
    lines->items[lines->count++] = (struct tfs_manifest_line){path, hash};
    return 0;
}

static int compare_lines(const void *a, const void *b)
{
    return tfs_span_compare(((const struct tfs_manifest_line *)a)->path,
                            ((const struct tfs_manifest_line *)b)->path);
}

/* Two lines for one file are refused. */
static int lines_sort(struct tfs_manifest_lines *lines, struct tfs_error *err)
{
    if (lines->count)
        qsort(lines->items, lines->count, sizeof(*lines->items), compare_lines);
    for (size_t i = 1; i < lines->count; i++)
        if (compare_lines(&lines->items[i - 1], &lines->items[i]) == 0)
            return tfs_fail(err, -EBADMSG, "it lists a file twice");
    return 0;
}

/* The first line whose path is not below `path`. */
static size_t lines_find(const struct tfs_manifest_lines *lines, struct tfs_span path)
{
    size_t low = 0, high = lines->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (tfs_span_compare(lines->items[middle].path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_hash(struct tfs_span text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < text.size; i++)
        if (memchr(digits, text.data[i], sizeof(digits) - 1) == NULL)
            return false;
    return text.size == HASH_SIZE;
}

static int fail_line(const struct tfs_line *line, struct tfs_error *err)
{
    return tfs_fail_line(err, line, "this is no line of a manifest");
}

/* Reading of one manifest. */
struct reading {
    struct tfs_manifest *manifest;
    const char *format;
    bool began, named, ended; /* lines that must be there */
};

static int read_end(struct reading *r, struct tfs_line *line, struct tfs_error *err)
{
    int64_t count;

    if (tfs_line_number(line, "the number of files", 0, INT64_MAX, &count, err) < 0)
        return err->code;
    if ((uint64_t)count != r->manifest->files.count)
        return tfs_fail_line(err, line, "the manifest is not whole, it has lines of %zu files",
                             r->manifest->files.count);
    r->ended = true;
    return 0;
}

static int read_views(const struct tfs_line *names, unsigned *views, struct tfs_error *err)
{
    struct tfs_error ignored = {0};

    if (tfs_chosen_parse(names->text, views, &ignored) == 0)
        return 0;
    return tfs_fail_line(err, names, "these are no views that this program knows");
}

/* The rest of a line behind its first word. */
static int read_rest(struct reading *r, struct tfs_span kind, struct tfs_line *rest,
                     const struct tfs_line *whole, struct tfs_error *err)
{
    struct tfs_line word;

    if (tfs_span_equal(kind, tfs_span_of("end")))
        return read_end(r, rest, err);
    if (tfs_span_equal(kind, tfs_span_of("format"))) {
        r->named = tfs_span_equal(rest->text, tfs_span_of(r->format));
        return r->named ? 0
                        : tfs_fail_line(err, rest,
                                        "the tree was exported from a save of another "
                                        "format, this one is %s",
                                        r->format);
    }
    if (tfs_span_equal(kind, tfs_span_of("views")))
        return read_views(rest, &r->manifest->views, err);
    if (tfs_span_equal(kind, tfs_span_of("partial"))) {
        r->manifest->partial = true;
        return 0;
    }
    if (!tfs_line_word(rest, &word) || rest->text.size == 0)
        return fail_line(whole, err);
    if (tfs_span_equal(kind, tfs_span_of("file")) && is_hash(word.text))
        return lines_add(&r->manifest->files, rest->text, word.text, err);
    return fail_line(whole, err);
}

static int read_line(struct reading *r, const struct tfs_line *line, struct tfs_error *err)
{
    struct tfs_line rest = *line, kind;

    if (!r->began) {
        r->began = tfs_span_equal(line->text, tfs_span_of(HEAD));
        return r->began ? 0 : tfs_fail_line(err, line, "this is no manifest of version 1");
    }
    if (r->ended || !tfs_line_word(&rest, &kind))
        return fail_line(line, err);
    return read_rest(r, kind.text, &rest, line, err);
}

static int read_lines(struct tfs_manifest *manifest, const char *format, struct tfs_error *err)
{
    struct reading r = {.manifest = manifest, .format = format};
    struct tfs_lines lines;
    struct tfs_line line;

    if (tfs_lines_init(&lines, tfs_blob_span(manifest->text), err) < 0)
        return err->code;
    while (tfs_lines_next(&lines, &line))
        if (read_line(&r, &line, err) < 0)
            return err->code;
    if (!r.named || !r.ended)
        return tfs_fail(err, -EBADMSG, "the manifest is not whole, it has no end");
    return lines_sort(&manifest->files, err);
}

/* Is there one? Links are not followed: what DIR holds is what stands below it. */
static int find_manifest(const char *dir, char path[PATH_MAX], struct tfs_error *err)
{
    struct stat st;

    if (snprintf(path, PATH_MAX, "%s/" TFS_MANIFEST_DIR, dir) >=
        PATH_MAX - (int)sizeof(TFS_MANIFEST))
        return tfs_fail(err, -ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : tfs_fail_errno(err, "it cannot be looked at");
    if (!S_ISDIR(st.st_mode))
        return 0;
    strcat(path, "/" TFS_MANIFEST);
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : tfs_fail_errno(err, "it cannot be looked at");
    return S_ISREG(st.st_mode) ? 1 : tfs_fail(err, -EBADMSG, "it is not a regular file");
}

/* Is there a file of this name beside the manifest? */
static bool has_file(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    const int n = snprintf(path, sizeof(path), "%s/" TFS_MANIFEST_DIR "/%s", dir, name);

    return n < (int)sizeof(path) && lstat(path, &st) == 0;
}

bool tfs_manifest_is_cut(const char *dir)
{
    return has_file(dir, TEMPORARY) && !has_file(dir, TFS_MANIFEST);
}

static int read_manifest(const char *path, const char *format, struct tfs_manifest *manifest,
                         struct tfs_error *err)
{
    struct tfs_file_handle file;

    if (tfs_file_open(path, false, &file, err) < 0)
        return err->code;
    int result = tfs_file_read(&file, SIZE_MAX_READ, &manifest->text, err);
    tfs_file_close(&file);
    return result < 0 ? result : read_lines(manifest, format, err);
}

int tfs_manifest_load(const char *dir, const char *format, struct tfs_manifest *manifest,
                      struct tfs_error *err)
{
    struct tfs_manifest m = {0};
    char path[PATH_MAX];
    int found = find_manifest(dir, path, err);

    if (found < 0)
        return found;
    if (found && read_manifest(path, format, &m, err) < 0) {
        tfs_manifest_release(&m);
        return err->code;
    }
    m.present = found;
    m.cut = !found && tfs_manifest_is_cut(dir);
    *manifest = m;
    return 0;
}

void tfs_manifest_release(struct tfs_manifest *manifest)
{
    free(manifest->files.items);
    tfs_blob_unref(manifest->text);
    *manifest = (struct tfs_manifest){0};
}

int tfs_manifest_has(const struct tfs_manifest *manifest, const char *path, struct tfs_span text,
                     struct tfs_error *err)
{
    const struct tfs_manifest_lines *files = &manifest->files;
    struct tfs_buf name = {0};
    char hash[HASH_SIZE + 1];
    int has = print_path(&name, path, err);

    if (has == 0) {
        size_t at = lines_find(files, tfs_buf_span(&name));

        hash_print(text, hash);
        has = at < files->count && tfs_span_equal(files->items[at].path, tfs_buf_span(&name)) &&
              tfs_span_equal(files->items[at].hash, tfs_span_of(hash));
    }
    tfs_buf_release(&name);
    return has;
}

static bool lists_below(const struct tfs_manifest_lines *files, struct tfs_span directory)
{
    size_t at = lines_find(files, directory);

    return at < files->count && files->items[at].path.size >= directory.size &&
           memcmp(files->items[at].path.data, directory.data, directory.size) == 0;
}

int tfs_manifest_lists(const struct tfs_manifest *manifest, const char *path, struct tfs_error *err)
{
    const struct tfs_manifest_lines *files = &manifest->files;
    struct tfs_buf name = {0};
    int lists = print_path(&name, path, err);

    if (lists == 0) {
        size_t at = lines_find(files, tfs_buf_span(&name));

        lists = at < files->count && tfs_span_equal(files->items[at].path, tfs_buf_span(&name));
        tfs_buf_u8(&name, '/');
        lists = lists || (!name.failed && lists_below(files, tfs_buf_span(&name)));
    }
    if (tfs_buf_check(&name, err) < 0)
        lists = err->code;
    tfs_buf_release(&name);
    return lists;
}

/* Unpacks what is open in `fd`, which it closes. */
static int read_packed(int fd, struct tfs_buf *text, struct tfs_error *err)
{
    gzFile in = gzdopen(fd, "rb");
    int n = -1;

    if (!in) {
        close(fd);
        return tfs_fail_memory(err);
    }
    while (text->size <= ORIGINAL_MAX) {
        uint8_t *room = tfs_buf_reserve(text, READ_STEP);
        if (!room || (n = gzread(in, room, READ_STEP)) <= 0)
            break;
        text->size += (size_t)n;
    }
    bool whole = gzclose(in) == Z_OK && n == 0;
    if (tfs_buf_check(text, err) < 0)
        return err->code;
    return whole ? 0 : tfs_fail(err, -EBADMSG, "it is damaged");
}

/* Opens a regular file. -1: there is none; negative: what is there is none. */
static int open_original(const char *dir, const char *path, int *fd, struct tfs_error *err)
{
    char name[PATH_MAX];
    struct stat st;

    *fd = -1;
    if (snprintf(name, sizeof(name), "%s/" TFS_MANIFEST_DIR "/" ORIGINAL, dir, path,
                 packed_ending(path)) >= PATH_MAX)
        return tfs_fail(err, -ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
    *fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0)
        return errno == ENOENT ? 0 : tfs_fail_errno(err, "it cannot be opened");
    if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
        return 0;
    close(*fd);
    return tfs_fail(err, -EBADMSG, "it is not a regular file");
}

int tfs_manifest_original(const struct tfs_manifest *manifest, const char *dir, const char *path,
                          struct tfs_buf *text, struct tfs_error *err)
{
    int fd, has = 0;

    if (!manifest->present || open_original(dir, path, &fd, err) < 0 || fd < 0)
        return err->code;
    if (read_packed(fd, text, err) == 0)
        has = tfs_manifest_has(manifest, path, tfs_buf_span(text), err);
    if (has == 0)
        tfs_fail(err, -EBADMSG, "it is not what was exported");
    return err->code ? err->code : 1;
}

/*
 * What no container takes -> the most helpful sentence that can be said about it.
 *
 * Must not know any format: what there is comes from the registry.
 */
#include "formats/stranger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/print.h"

/* ---- which formats there are ----------------------------------------------------------------- */

/* The known formats, each once, joined by ", ". The rows of a format stand together. */
static void list_formats(struct tfs_buf *out)
{
    const char *last = "";

    for (size_t i = 0; tfs_containers[i] != NULL; i++) {
        if (strcmp(tfs_containers[i]->format, last) == 0)
            continue;
        tfs_buf_add_text(out, *last == '\0' ? "" : ", ");
        tfs_buf_add_text(out, tfs_containers[i]->format);
        last = tfs_containers[i]->format;
    }
    tfs_buf_u8(out, '\0');
}

/* A failure that ends with the list of formats. */
static int fail_listing(struct tfs_error *err, int code, const char *begin, const char *what)
{
    struct tfs_buf list = {0};

    list_formats(&list);
    if (tfs_buf_check(&list, err) == 0)
        tfs_fail(err, code, "%s%s (known formats: %s)", begin, what, (const char *)list.data);
    tfs_buf_release(&list);
    return err->code;
}

bool tfs_container_is_of(const struct tfs_container *container, const char *format)
{
    return format == NULL || strcmp(container->format, format) == 0;
}

/* Does `name` end in one of the blank-separated `endings`? Case aside, as game files come. */
static bool has_ending(const char *name, const char *endings)
{
    size_t length = strlen(name);

    while (endings != NULL && *endings != '\0') {
        size_t n = strcspn(endings, " ");
        if (n > 0 && n <= length && strncasecmp(name + length - n, endings, n) == 0)
            return true;
        endings += n + strspn(endings + n, " ");
    }
    return false;
}

bool tfs_container_is_named(const struct tfs_container *container, const char *path)
{
    return has_ending(path, container->endings);
}

bool tfs_stranger_named(const char *path, const char *format)
{
    for (size_t i = 0; tfs_containers[i] != NULL; i++)
        if (tfs_container_is_of(tfs_containers[i], format) &&
            tfs_container_is_named(tfs_containers[i], path))
            return true;
    return false;
}

int tfs_fail_format(const char *format, struct tfs_error *err)
{
    return fail_listing(err, -EINVAL, "there is no format ", format);
}

/* ---- what a file says it is ------------------------------------------------------------------ */

/* Files that people give instead of a save, by their first bytes. */
struct known {
    const char *magic;
    size_t size;
    const char *text;
};

#define KNOWN(magic, text)                                                                         \
    {                                                                                              \
        magic, sizeof(magic) - 1, text                                                             \
    }

static const struct known others[] = {
    KNOWN("version https://git-lfs.github.com/spec/",
          "is a Git LFS pointer, the save itself is not here: git lfs pull brings it"),
    KNOWN("TERRAGEN", "is a terrain of Terragen, not of BeamNG or Torque3D: gdal_translate makes a "
                      "picture of its heights"),
    KNOWN("\x1f\x8b", "is packed with gzip: gunzip it, and give what was in it"),
    KNOWN("\x28\xb5\x2f\xfd", "is packed with zstd: unzstd it, and give what was in it"),
    KNOWN("PK\x03\x04", "is a zip archive: unpack it, and give the save that was in it"),
    KNOWN("7z\xbc\xaf\x27\x1c", "is a 7z archive: unpack it, and give the save that was in it"),
    KNOWN("Rar!", "is a RAR archive: unpack it, and give the save that was in it"),
    KNOWN("\xff\xd8\xff", "is a JPEG picture, not a save; pictures that become terrain are PNG, "
                          "and are written into the tree of a save"),
    KNOWN("\x89PNG\r\n", "is a PNG picture, not a save; pictures are written into the tree of a "
                         "save, with a mount or with terrainfs put"),
};

bool tfs_stranger_known(const struct tfs_probe *probe, struct tfs_error *err)
{
    const struct tfs_span head = probe->head;

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (head.size >= others[i].size &&
            memcmp(head.data, others[i].magic, others[i].size) == 0) {
            tfs_fail(err, -EBADMSG, "%s", others[i].text);
            return true;
        }
    return false;
}

/* What one container can say about it. 1: it was said. */
static int say_of(const struct tfs_container *container, const struct tfs_probe *probe,
                  struct tfs_error *err)
{
    if (S_ISDIR(probe->st.st_mode))
        return container->hint != NULL && container->hint(probe, err) < 0;
    if (has_ending(probe->name, container->endings))
        tfs_fail(err, -EBADMSG,
                 "is named like a save of %s, but its content is not that of one: it is damaged, "
                 "or something else; a backup or terrainfs undo may have it whole",
                 container->format);
    else if (has_ending(probe->name, container->beside))
        tfs_fail(err, -EBADMSG, "%s", container->beside_text);
    return err->code < 0;
}

/* Is it a folder that shows a save: a mount, or an export? */
static bool is_tree(const struct tfs_probe *probe)
{
    static const char begin[] = "format: ";
    char head[sizeof(begin) - 1], *path = NULL;
    int fd = tfs_print(&path, "%s/info.txt", probe->path) < 0
                 ? -1
                 : open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    bool is = fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
              memcmp(head, begin, sizeof(head)) == 0;

    if (fd >= 0)
        close(fd);
    free(path);
    return is;
}

int tfs_fail_stranger(const struct tfs_probe *probe, const char *format, struct tfs_error *err)
{
    const bool folder = S_ISDIR(probe->st.st_mode);

    if (!folder && probe->head.size == 0)
        return tfs_fail(err, -EBADMSG,
                        "is empty: a save that was not written to its end; "
                        "restore it from a backup");
    if (tfs_stranger_known(probe, err))
        return err->code;
    if (folder && is_tree(probe))
        return tfs_fail(err, -EBADMSG,
                        "is what a mount or an export shows of a save: give the save itself");
    for (size_t i = 0; tfs_containers[i] != NULL; i++)
        if (tfs_container_is_of(tfs_containers[i], format) && say_of(tfs_containers[i], probe, err))
            return err->code;
    if (format != NULL)
        return tfs_fail(err, -EBADMSG, "is not a save of the format %s", format);
    return fail_listing(err, -EBADMSG, folder ? "is a folder that " : "is a file that ",
                        "no format fits");
}

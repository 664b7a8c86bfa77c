/*
 * A path -> the save that it means, and the container that opens it.
 *
 * Must not know any format: what there is comes from the registry.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "formats/format.h"
#include "formats/containers/several_saves.h"

static bool is_of(const struct tfs_container *container, const char *format)
{
    return format == NULL || strcmp(container->format, format) == 0;
}

bool tfs_save_is_named(const char *path, const char *format)
{
    const size_t length = strlen(path);

    for (const struct tfs_ending *ending = tfs_endings; ending->format != NULL; ending++) {
        const size_t n = strlen(ending->text);
        if ((format == NULL || strcmp(ending->format, format) == 0) && n <= length &&
            strcasecmp(path + length - n, ending->text) == 0)
            return true;
    }
    return false;
}

/* ---- where the saves are --------------------------------------------------------------------- */

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct tfs_part *)a)->path, ((const struct tfs_part *)b)->path);
}

/* All that the path means beside itself; the first format that knows anything decides. */
static int look_around(const char *path, const char *format, struct tfs_parts *parts,
                       struct tfs_error *err)
{
    struct tfs_parts found = {0};

    for (size_t i = 0; tfs_containers[i] != NULL && found.count == 0; i++) {
        const struct tfs_container *container = tfs_containers[i];
        if (container->saves == NULL || !is_of(container, format))
            continue;
        found.format = container->format;
        if (container->saves(path, &found, err) < 0) {
            tfs_parts_release(&found);
            return err->code;
        }
    }
    if (found.count > 0)
        qsort(found.items, found.count, sizeof(*found.items), compare_paths);
    *parts = found;
    return 0;
}

/* It is not a folder of several then. */
static bool is_elsewhere(const struct tfs_parts *parts)
{
    return parts->count == 1 && parts->items[0].path[0] == '\0';
}

int tfs_parts_find(const char *path, const char *format, struct tfs_parts *parts,
                   struct tfs_error *err)
{
    if (look_around(path, format, parts, err) < 0)
        return err->code;
    if (is_elsewhere(parts))
        tfs_parts_release(parts);
    return 0;
}

/* ---- probing --------------------------------------------------------------------------------- */

/* Opens what the probes look at; `head` has room for TFS_PROBE_HEAD bytes. */
static int probe_open(const char *path, const char *name, uint8_t *head, struct tfs_probe *probe,
                      struct tfs_error *err)
{
    struct tfs_probe p = {.path = path, .name = name, .fd = -1};
    ssize_t size = 0;

    /* Looked at before it is opened: opening a device can do something. */
    if (stat(path, &p.st) < 0)
        return tfs_fail_errno(err, "cannot be examined");
    if (!S_ISREG(p.st.st_mode) && !S_ISDIR(p.st.st_mode))
        return tfs_fail(err, -EINVAL, "is neither a file nor a folder");
    p.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (p.fd < 0)
        return tfs_fail_errno(err, "cannot be opened");
    if (S_ISREG(p.st.st_mode))
        size = tfs_file_read_at(p.fd, 0, head, TFS_PROBE_HEAD);
    if (size < 0) {
        close(p.fd);
        return tfs_fail(err, (int)size, "cannot be read: %s", strerror((int)-size));
    }
    p.head = (struct tfs_span){head, (size_t)size};
    *probe = p;
    return 0;
}

/* A failure that ends with the known formats, each once. The rows of a format stand together. */
static int fail_listing(struct tfs_error *err, int code, const char *begin, const char *what)
{
    struct tfs_buf list = {0};
    const char *last = "";

    for (size_t i = 0; tfs_containers[i] != NULL; i++) {
        if (strcmp(tfs_containers[i]->format, last) != 0)
            tfs_buf_printf(&list, "%s%s", *last == '\0' ? "" : ", ", tfs_containers[i]->format);
        last = tfs_containers[i]->format;
    }
    tfs_buf_u8(&list, '\0');
    if (tfs_buf_check(&list, err) == 0)
        tfs_fail(err, code, "%s%s (known formats: %s)", begin, what, (const char *)list.data);
    tfs_buf_release(&list);
    return err->code;
}

/* Git has left this in the place of a save, whose name it has: no format may take it. */
static bool is_pointer(struct tfs_span head)
{
    static const char magic[] = "version https://git-lfs.github.com/spec/";

    return head.size >= sizeof(magic) - 1 && memcmp(head.data, magic, sizeof(magic) - 1) == 0;
}

static int fail_equal(const struct tfs_container *a, const struct tfs_container *b,
                      struct tfs_error *err)
{
    return tfs_fail(err, -EINVAL,
                    "fits two formats equally well, %s (%s) and %s (%s): -o format=NAME decides",
                    a->format, a->name, b->format, b->name);
}

/* The container that bids most. */
static int choose(const struct tfs_probe *probe, const char *format,
                  const struct tfs_container **chosen, struct tfs_error *err)
{
    const struct tfs_container *best = NULL, *equal = NULL;
    int high = TFS_BID_NONE;
    bool known = false;

    for (size_t i = 0; tfs_containers[i] != NULL; i++) {
        if (!is_of(tfs_containers[i], format))
            continue;
        int bid = tfs_containers[i]->probe(probe);
        if (bid < 0)
            return tfs_fail_memory(err);
        known = true;
        if (bid > high) {
            best = tfs_containers[i];
            equal = NULL;
            high = bid;
        } else if (bid == high && best != NULL) {
            equal = tfs_containers[i];
        }
    }
    if (!known)
        return fail_listing(err, -EINVAL, "there is no format ", format);
    if (is_pointer(probe->head))
        return tfs_fail(
            err, -EBADMSG,
            "is a Git LFS pointer, the save itself is not here: git lfs pull brings it");
    if (equal != NULL)
        return fail_equal(best, equal, err);
    if (best == NULL)
        return fail_listing(err, -EBADMSG, S_ISDIR(probe->st.st_mode) ? "is a folder" : "is a file",
                            " that no format fits: it is damaged, or no save");
    *chosen = best;
    return 0;
}

/* The descriptor is closed before the container opens the file: on some network filesystems closing
 * any descriptor of a file drops the locks on it. */
static int probe_path(const char *path, const char *name, const char *format,
                      const struct tfs_container **chosen, struct tfs_error *err)
{
    uint8_t head[TFS_PROBE_HEAD];
    struct tfs_probe probe;

    if (probe_open(path, name, head, &probe, err) < 0)
        return err->code;
    choose(&probe, format, chosen, err);
    close(probe.fd);
    return err->code;
}

/* Of a save that lies elsewhere the same is said as if it had been given, with its name. */
static int probe_elsewhere(const char *path, const char *format,
                           const struct tfs_container **chosen, struct tfs_error *err)
{
    const char *name = strrchr(path, '/') + 1;
    struct tfs_error why = {0};

    if (probe_path(path, name, format, chosen, &why) < 0)
        tfs_fail(err, why.code, "%s %s", name, why.text);
    return err->code;
}

int tfs_save_find(const char *path, const char *name, const char *format,
                  const struct tfs_container **container, char **found, struct tfs_error *err)
{
    const struct tfs_container *unasked;
    char *real = realpath(path, NULL);
    struct tfs_parts parts = {0};

    if (container == NULL)
        container = &unasked;
    if (real == NULL)
        return tfs_fail(err, -errno, "cannot be opened: %s", strerror(errno));
    if (look_around(real, format, &parts, err) < 0)
        goto out;
    if (is_elsewhere(&parts)) {
        free(real);
        real = parts.items[0].save;
        parts.items[0].save = NULL;
        probe_elsewhere(real, format, container, err);
    } else if (parts.count > 0) {
        tfs_fail(err, -EINVAL, "holds several saves, and one is wanted here, such as %s",
                 parts.items[0].save);
    } else {
        probe_path(real, name != NULL ? name : strrchr(real, '/') + 1, format, container, err);
    }
    if (err->code == 0) {
        *found = real;
        real = NULL;
    }
out:
    tfs_parts_release(&parts);
    free(real);
    return err->code;
}

bool tfs_save_is(const char *path, const char *format)
{
    struct tfs_error ignored = {0};
    char *found = NULL;
    const bool is = tfs_save_find(path, NULL, format, NULL, &found, &ignored) == 0;

    free(found);
    return is;
}

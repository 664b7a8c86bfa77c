/*
 * A list of names -> the list of materials of a JSON text, in the text's own spelling.
 *
 * Must not know the terrain. Whatever cannot be understood stays as it is: tools and debugging are
 * what BeamNG writes this file for, the terrain does not need it.
 */
#include "formats/beamng/sidecar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/file.h"
#include "formats/beamng/json.h"

#define SAVE_ENDING    ".ter"
#define SIDECAR_ENDING ".terrain.json"
#define SIDECAR_MAX    (UINT64_C(16) << 20)
#define KEY            "materials"

char *tfs_beamng_sidecar_path(const char *save_path)
{
    size_t length = strlen(save_path), ending = strlen(SAVE_ENDING);

    errno = 0;
    if (length < ending || strcasecmp(save_path + length - ending, SAVE_ENDING) != 0)
        return NULL;
    char *path = malloc(length - ending + sizeof(SIDECAR_ENDING));
    if (path != NULL) {
        memcpy(path, save_path, length - ending);
        memcpy(path + length - ending, SIDECAR_ENDING, sizeof(SIDECAR_ENDING));
    }
    return path;
}

/* ---- the text -------------------------------------------------------------------------------- */

/* Does the string say this name, as far as JSON can say it? 1, 0 or -ENOMEM. */
static int says(struct tfs_span text, struct tfs_span name)
{
    struct tfs_buf wanted = {0}, printed = {0}, said = {0};

    tfs_beamng_json_print(&printed, name);
    if (printed.size >= 2)
        tfs_beamng_json_decode(&wanted, (struct tfs_span){printed.data + 1, printed.size - 2});
    tfs_beamng_json_decode(&said, text);
    int same = tfs_span_equal(tfs_buf_span(&wanted), tfs_buf_span(&said));
    if (printed.failed || wanted.failed || said.failed)
        same = -ENOMEM;
    tfs_buf_release(&wanted);
    tfs_buf_release(&printed);
    tfs_buf_release(&said);
    return same;
}

int tfs_beamng_sidecar_compare(struct tfs_span json, struct tfs_beamng_names names,
                               enum tfs_beamng_sidecar_state *state)
{
    struct tfs_span array, name;
    int same = tfs_beamng_json_find_strings(json, KEY, &array);

    *state = TFS_BEAMNG_SIDECAR_DAMAGED;
    if (same <= 0)
        return same;
    struct tfs_beamng_json_strings strings = tfs_beamng_json_strings_init(array);
    while (same > 0 && tfs_beamng_json_strings_next(&strings))
        same = tfs_beamng_names_next(&names, &name) ? says(strings.text, name) : 0;
    *state = same > 0 && names.left == 0 ? TFS_BEAMNG_SIDECAR_AGREES : TFS_BEAMNG_SIDECAR_DIFFERS;
    return same < 0 ? same : 0;
}

/* White space of a list: before the first element, before the others, before the bracket. */
struct spelling {
    struct tfs_span first, next, last;
};

static struct spelling spelling_of(struct tfs_span array)
{
    struct tfs_beamng_json_strings strings = tfs_beamng_json_strings_init(array);
    struct spelling s = {tfs_span_of("\n    "), tfs_span_of("\n    "), tfs_span_of("\n  ")};

    if (!tfs_beamng_json_strings_next(&strings))
        return s;
    s.first = s.next = strings.before;
    if (tfs_beamng_json_strings_next(&strings)) {
        s.next = strings.before;
        while (tfs_beamng_json_strings_next(&strings))
            ;
    }
    s.last = strings.before;
    return s;
}

bool tfs_beamng_sidecar_rewrite(struct tfs_span json, struct tfs_beamng_names names,
                                struct tfs_buf *out)
{
    struct tfs_span array, name;
    bool first = true;

    if (tfs_beamng_json_find_strings(json, KEY, &array) <= 0)
        return false;
    struct spelling s = spelling_of(array);
    size_t before = (size_t)(array.data - json.data);
    tfs_buf_add(out, json.data, before);
    tfs_buf_u8(out, '[');
    for (; tfs_beamng_names_next(&names, &name); first = false) {
        if (!first)
            tfs_buf_u8(out, ',');
        tfs_buf_add_span(out, first ? s.first : s.next);
        tfs_beamng_json_print(out, name);
    }
    if (!first)
        tfs_buf_add_span(out, s.last);
    tfs_buf_u8(out, ']');
    tfs_buf_add(out, array.data + array.size, json.size - before - array.size);
    return true;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* What there is, read: 0, or negative when there is nothing to be read. *file stays open. */
static int read_sidecar(const char *path, struct tfs_file_handle *file, struct tfs_blob **json,
                        struct tfs_error *err)
{
    if (tfs_file_open(path, false, file, err) < 0)
        return err->code;
    if (tfs_file_read(file, SIDECAR_MAX, json, err) < 0)
        tfs_file_close(file);
    return err->code;
}

/* Is there none that concerns us: absent, or too strange to be one? Else reading it failed. */
static bool is_none(int code)
{
    return code == -ENOENT || code == -ENOTDIR || code == -ELOOP || code == -EINVAL ||
           code == -EFBIG || code == -EACCES;
}

int tfs_beamng_sidecar_look(const char *save_path, struct tfs_beamng_names names,
                            enum tfs_beamng_sidecar_state *state)
{
    char *path = tfs_beamng_sidecar_path(save_path);
    struct tfs_file_handle file;
    struct tfs_blob *json = NULL;
    struct tfs_error ignored = {0};

    *state = TFS_BEAMNG_SIDECAR_ABSENT;
    if (path == NULL)
        return -errno;
    int result = read_sidecar(path, &file, &json, &ignored);
    if (result == 0) {
        result = tfs_beamng_sidecar_compare(tfs_blob_span(json), names, state);
        tfs_file_close(&file);
    } else if (access(path, F_OK) == 0) {
        *state = TFS_BEAMNG_SIDECAR_DAMAGED;
    }
    tfs_blob_unref(json);
    free(path);
    return result == -ENOMEM ? result : 0;
}

static int replace(const char *path, struct tfs_file_handle *file, struct tfs_span json,
                   struct tfs_keeper *keeper, struct tfs_error *err)
{
    struct tfs_replacement r;

    if (tfs_replacement_open(path, file, &r, err) < 0)
        return err->code;
    if (tfs_sink_span(&r.sink, json, err) < 0) {
        tfs_replacement_cancel(&r);
        return err->code;
    }
    r.keeper = keeper;
    return tfs_replacement_finish(&r, file, err);
}

/* Writes the sidecar that is open in `file` and says `json`, if it says other names. */
static int rewrite(const char *path, struct tfs_file_handle *file, struct tfs_span json,
                   struct tfs_beamng_names names, struct tfs_keeper *keeper, struct tfs_error *err)
{
    enum tfs_beamng_sidecar_state state;
    struct tfs_buf out = {0};

    if (tfs_beamng_sidecar_compare(json, names, &state) < 0)
        return tfs_fail_memory(err);
    if (state != TFS_BEAMNG_SIDECAR_DIFFERS)
        return 0;
    if (!tfs_beamng_sidecar_rewrite(json, names, &out) || out.failed)
        tfs_fail_memory(err);
    else
        replace(path, file, tfs_buf_span(&out), keeper, err);
    tfs_buf_release(&out);
    return err->code;
}

/* Writes all of `json` into the temp file. */
static int write_durably(struct tfs_replacement *r, struct tfs_span json, struct tfs_error *err)
{
    struct tfs_blob *back = NULL;

    if (tfs_sink_span(&r->sink, json, err) < 0 || tfs_replacement_read(r, &back, err) < 0)
        return err->code;
    tfs_blob_unref(back);
    return fdatasync(r->fd) == 0 ? 0 : tfs_fail_errno(err, "cannot be made durable");
}

void tfs_beamng_sidecar_prepare(const char *save_path, struct tfs_beamng_names names,
                                struct tfs_replacement *next)
{
    char *path = tfs_beamng_sidecar_path(save_path);
    enum tfs_beamng_sidecar_state state;
    struct tfs_file_handle file;
    struct tfs_blob *json = NULL;
    struct tfs_error ignored = {0};
    struct tfs_buf out = {0};

    if (path != NULL && read_sidecar(path, &file, &json, &ignored) == 0) {
        if (tfs_beamng_sidecar_compare(tfs_blob_span(json), names, &state) == 0 &&
            state == TFS_BEAMNG_SIDECAR_DIFFERS &&
            tfs_beamng_sidecar_rewrite(tfs_blob_span(json), names, &out) && !out.failed &&
            tfs_replacement_open(path, &file, next, &ignored) == 0 &&
            write_durably(next, tfs_buf_span(&out), &ignored) < 0)
            tfs_replacement_cancel(next);
        tfs_file_close(&file);
    }
    tfs_buf_release(&out);
    tfs_blob_unref(json);
    free(path);
}

static bool says_names(void *arg, int fd)
{
    const struct tfs_beamng_names *names = arg;
    struct tfs_file_handle file = {.fd = fd};
    enum tfs_beamng_sidecar_state state = TFS_BEAMNG_SIDECAR_DAMAGED;
    struct tfs_blob *json = NULL;
    struct tfs_error ignored = {0};

    if (tfs_file_read(&file, SIDECAR_MAX, &json, &ignored) == 0)
        (void)tfs_beamng_sidecar_compare(tfs_blob_span(json), *names, &state);
    tfs_blob_unref(json);
    return state == TFS_BEAMNG_SIDECAR_AGREES;
}

bool tfs_beamng_sidecar_is_prepared(const char *save_path, struct tfs_beamng_names names)
{
    char *path = tfs_beamng_sidecar_path(save_path);
    bool prepared = path != NULL && tfs_file_find_stray(path, says_names, &names);

    free(path);
    return prepared;
}

int tfs_beamng_sidecar_update(const char *save_path, struct tfs_beamng_names names,
                              struct tfs_keeper *keeper, struct tfs_error *err)
{
    char *path = tfs_beamng_sidecar_path(save_path);
    struct tfs_file_handle file;
    struct tfs_blob *json = NULL;
    struct tfs_error why = {0};

    if (path == NULL && errno == 0)
        return 0;
    if (path == NULL) {
        tfs_fail_memory(&why);
    } else if (read_sidecar(path, &file, &json, &why) == 0) {
        rewrite(path, &file, tfs_blob_span(json), names, keeper, &why);
        tfs_file_close(&file);
    } else if (is_none(why.code)) {
        tfs_error_reset(&why);
    }
    if (why.code < 0)
        tfs_fail(err, why.code, "the terrain is saved, but not the list of materials in %s: %s",
                 path == NULL ? "its .terrain.json" : strrchr(path, '/') + 1, why.text);
    tfs_blob_unref(json);
    free(path);
    return why.code;
}

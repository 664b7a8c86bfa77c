/*
 * A list of names -> the list of materials of a JSON text, in the text's own spelling.
 *
 * Must not know the terrain. Whatever cannot be understood stays as it is: tools and debugging are
 * what BeamNG writes this file for, the terrain does not need it. A library says whether the text
 * is JSON and what it lists, but not where the list lies and how it is spelt.
 */
#include "formats/beamng/sidecar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/file.h"
#include "text/json.h"
#include "text/name.h"

#define SAVE_ENDING    ".ter"
#define SIDECAR_ENDING ".terrain.json"
#define SIDECAR_MAX    (UINT64_C(1) << 20)
#define KEY            "materials"
#define REPLACEMENT    "\xef\xbf\xbd" /* U+FFFD */

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

/* ---- names ----------------------------------------------------------------------------------- */

/* Takes the next bytes of a name that are UTF-8, or U+FFFD for one that is not. */
static struct tfs_span take_piece(struct tfs_cursor *name)
{
    const size_t sound = tfs_utf8_prefix((struct tfs_span){name->at, tfs_cursor_left(name)});

    if (sound > 0)
        return tfs_take(name, sound);
    (void)tfs_take_u8(name);
    return tfs_span_of(REPLACEMENT);
}

/* Does the string say this name, as far as JSON can say it? */
static bool says(const json_t *string, struct tfs_span name)
{
    struct tfs_cursor in = tfs_cursor_init(name),
                      said = tfs_cursor_init((struct tfs_span){
                          (const uint8_t *)json_string_value(string), json_string_length(string)});

    while (tfs_cursor_left(&in) > 0) {
        const struct tfs_span piece = take_piece(&in);
        if (!tfs_span_equal(tfs_take(&said, piece.size), piece))
            return false;
    }
    return tfs_cursor_left(&said) == 0;
}

static void print_byte(struct tfs_buf *out, uint8_t c)
{
    static const char meanings[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *meaning = c == 0 ? NULL : strchr(meanings, c);

    if (meaning != NULL)
        tfs_buf_printf(out, "\\%c", letters[meaning - meanings]);
    else if (c < 0x20)
        tfs_buf_printf(out, "\\u%04x", c);
    else
        tfs_buf_u8(out, c);
}

static void print_name(struct tfs_buf *out, struct tfs_span name)
{
    struct tfs_cursor in = tfs_cursor_init(name);

    tfs_buf_u8(out, '"');
    while (tfs_cursor_left(&in) > 0) {
        const struct tfs_span piece = take_piece(&in);
        for (size_t i = 0; i < piece.size; i++)
            print_byte(out, piece.data[i]);
    }
    tfs_buf_u8(out, '"');
}

/* ---- the list -------------------------------------------------------------------------------- */

/* The text of the list, and its white space: before the first element, before the others, before
 * the bracket. */
struct list {
    struct tfs_span all, first, next, last;
};

static bool take(struct tfs_cursor *in, uint8_t c)
{
    return tfs_cursor_left(in) > 0 && *in->at == c && tfs_take_u8(in) == c;
}

static struct tfs_span take_space(struct tfs_cursor *in)
{
    const uint8_t *begin = in->at;

    while (tfs_cursor_left(in) > 0 && memchr(" \t\r\n", *in->at, 4) != NULL)
        (void)tfs_take_u8(in);
    return (struct tfs_span){begin, (size_t)(in->at - begin)};
}

/* A string that is one, with its quotes. */
static struct tfs_span take_string(struct tfs_cursor *in)
{
    const uint8_t *begin = in->at;

    (void)tfs_take_u8(in);
    while (tfs_cursor_left(in) > 0 && !take(in, '"'))
        if (tfs_take_u8(in) == '\\')
            (void)tfs_take_u8(in);
    return (struct tfs_span){begin, (size_t)(in->at - begin)};
}

static struct list take_list(struct tfs_cursor *in)
{
    struct list list = {.all = {in->at, 0}};
    size_t count = 0;

    (void)tfs_take_u8(in);
    list.first = list.next = list.last = take_space(in);
    for (; tfs_cursor_left(in) > 0 && *in->at == '"'; count++) {
        (void)take_string(in);
        list.last = take_space(in);
        if (!take(in, ','))
            continue;
        const struct tfs_span space = take_space(in);
        list.next = count == 0 ? space : list.next;
    }
    (void)tfs_take_u8(in);
    list.all.size = (size_t)(in->at - list.all.data);
    if (count == 0)
        list = (struct list){list.all, tfs_span_of("\n    "), tfs_span_of("\n    "),
                             tfs_span_of("\n  ")};
    return list;
}

/* Finds the list of a text that has one. False: its key is spelt with escapes. */
static bool find_list(struct tfs_span text, struct list *list)
{
    struct tfs_cursor in = tfs_cursor_init(text);
    bool found = false;
    int depth = 0;

    while (tfs_cursor_left(&in) > 0 && !found) {
        if (*in.at == '"') {
            const bool key = tfs_span_equal(take_string(&in), tfs_span_of("\"" KEY "\""));
            (void)take_space(&in);
            found = key && depth == 1 && take(&in, ':');
        } else {
            const uint8_t c = tfs_take_u8(&in);
            depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        }
    }
    (void)take_space(&in);
    if (found)
        *list = take_list(&in);
    return found;
}

static void print_list(const struct list *list, struct tfs_beamng_names names, struct tfs_buf *out)
{
    struct tfs_span name;
    bool first = true;

    tfs_buf_u8(out, '[');
    for (; tfs_beamng_names_next(&names, &name); first = false) {
        tfs_buf_add_text(out, first ? "" : ",");
        tfs_buf_add_span(out, first ? list->first : list->next);
        print_name(out, name);
    }
    if (!first)
        tfs_buf_add_span(out, list->last);
    tfs_buf_u8(out, ']');
}

/* ---- the text -------------------------------------------------------------------------------- */

/* The list as the library has it; NULL: the text is not JSON, or has no such list. */
static const json_t *strings_of(const struct tfs_json *json)
{
    const json_t *strings = json_object_get(json->root, KEY);

    for (size_t i = 0; i < json_array_size(strings); i++)
        if (!json_is_string(json_array_get(strings, i)))
            return NULL;
    return json_is_array(strings) ? strings : NULL;
}

int tfs_beamng_sidecar_compare(struct tfs_span text, struct tfs_beamng_names names,
                               enum tfs_beamng_sidecar_state *state)
{
    const uint32_t count = names.left;
    struct tfs_json json;
    struct tfs_span name;
    struct list list;

    if (tfs_json_open(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &json) < 0)
        return -ENOMEM;
    const json_t *strings = strings_of(&json);
    *state = TFS_BEAMNG_SIDECAR_DAMAGED;
    if (strings != NULL && find_list(text, &list))
        *state = json_array_size(strings) == count ? TFS_BEAMNG_SIDECAR_AGREES
                                                   : TFS_BEAMNG_SIDECAR_DIFFERS;
    for (size_t i = 0; tfs_beamng_names_next(&names, &name); i++)
        if (*state == TFS_BEAMNG_SIDECAR_AGREES && !says(json_array_get(strings, i), name))
            *state = TFS_BEAMNG_SIDECAR_DIFFERS;
    tfs_json_close(&json);
    return 0;
}

void tfs_beamng_sidecar_rewrite(struct tfs_span text, struct tfs_beamng_names names,
                                struct tfs_buf *out)
{
    struct list list;

    if (!find_list(text, &list))
        return;
    const uint8_t *behind = list.all.data + list.all.size;
    tfs_buf_add(out, text.data, (size_t)(list.all.data - text.data));
    print_list(&list, names, out);
    tfs_buf_add(out, behind, (size_t)(text.data + text.size - behind));
}

/* ---- the file -------------------------------------------------------------------------------- */

/* What there is beside a save. */
struct beside {
    char *path;
    struct tfs_file_handle file;
    enum tfs_beamng_sidecar_state state;
    struct tfs_buf wanted; /* of one that differs: what it is to be */
};

static void beside_close(struct beside *b)
{
    tfs_file_close(&b->file);
    tfs_buf_release(&b->wanted);
    free(b->path);
}

static int read_text(struct beside *b, struct tfs_beamng_names names, struct tfs_error *err)
{
    struct tfs_blob *text = NULL;

    if (tfs_file_open(b->path, false, &b->file, err) < 0 ||
        tfs_file_read(&b->file, SIDECAR_MAX, &text, err) < 0)
        return err->code;
    if (tfs_beamng_sidecar_compare(tfs_blob_span(text), names, &b->state) < 0)
        tfs_fail_memory(err);
    else if (b->state == TFS_BEAMNG_SIDECAR_DIFFERS)
        tfs_beamng_sidecar_rewrite(tfs_blob_span(text), names, &b->wanted);
    tfs_blob_unref(text);
    return err->code < 0 ? err->code : tfs_buf_check(&b->wanted, err);
}

/* To be closed after a failure, too. */
static int beside_open(const char *save_path, struct tfs_beamng_names names, struct beside *b,
                       struct tfs_error *err)
{
    *b = (struct beside){.path = tfs_beamng_sidecar_path(save_path), .file.fd = -1};
    if (b->path == NULL)
        return errno == 0 ? 0 : tfs_fail_memory(err);
    if (access(b->path, F_OK) == 0)
        b->state = TFS_BEAMNG_SIDECAR_DAMAGED;
    return read_text(b, names, err);
}

int tfs_beamng_sidecar_look(const char *save_path, struct tfs_beamng_names names,
                            enum tfs_beamng_sidecar_state *state)
{
    struct tfs_error why = {0};
    struct beside b;

    beside_open(save_path, names, &b, &why);
    *state = b.state;
    beside_close(&b);
    return why.code == -ENOMEM ? why.code : 0;
}

/* Writes all of it into the temp file. */
static int write_durably(struct tfs_replacement *r, struct tfs_span text, struct tfs_error *err)
{
    struct tfs_blob *back = NULL;

    if (tfs_sink_span(&r->sink, text, err) < 0 || tfs_replacement_read(r, &back, err) < 0)
        return err->code;
    tfs_blob_unref(back);
    return fdatasync(r->fd) == 0 ? 0 : tfs_fail_errno(err, "cannot be made durable");
}

void tfs_beamng_sidecar_prepare(const char *save_path, struct tfs_beamng_names names,
                                struct tfs_replacement *next)
{
    struct tfs_error ignored = {0};
    struct beside b;

    if (beside_open(save_path, names, &b, &ignored) == 0 && b.state == TFS_BEAMNG_SIDECAR_DIFFERS &&
        tfs_replacement_open(b.path, &b.file, next, &ignored) == 0 &&
        write_durably(next, tfs_buf_span(&b.wanted), &ignored) < 0)
        tfs_replacement_cancel(next);
    beside_close(&b);
}

static bool says_names(void *arg, int fd)
{
    const struct tfs_beamng_names *names = arg;
    struct beside stray = {.file.fd = fd};
    struct tfs_blob *text = NULL;
    struct tfs_error ignored = {0};

    if (tfs_file_read(&stray.file, SIDECAR_MAX, &text, &ignored) == 0)
        (void)tfs_beamng_sidecar_compare(tfs_blob_span(text), *names, &stray.state);
    tfs_blob_unref(text);
    return stray.state == TFS_BEAMNG_SIDECAR_AGREES;
}

bool tfs_beamng_sidecar_is_prepared(const char *save_path, struct tfs_beamng_names names)
{
    char *path = tfs_beamng_sidecar_path(save_path);
    bool prepared = path != NULL && tfs_file_find_stray(path, says_names, &names);

    free(path);
    return prepared;
}

static int replace(struct beside *b, struct tfs_keeper *keeper, struct tfs_error *err)
{
    struct tfs_replacement r;

    if (tfs_replacement_open(b->path, &b->file, &r, err) < 0)
        return err->code;
    if (tfs_sink_span(&r.sink, tfs_buf_span(&b->wanted), err) < 0) {
        tfs_replacement_cancel(&r);
        return err->code;
    }
    r.keeper = keeper;
    return tfs_replacement_finish(&r, &b->file, err);
}

/* Is there none that concerns us: absent, or too strange to be one? Else reading it failed. */
static bool is_none(int code)
{
    return code == -ENOENT || code == -ENOTDIR || code == -ELOOP || code == -EINVAL ||
           code == -EFBIG || code == -EACCES;
}

int tfs_beamng_sidecar_update(const char *save_path, struct tfs_beamng_names names,
                              struct tfs_keeper *keeper, enum tfs_beamng_sidecar_state *state,
                              struct tfs_error *err)
{
    struct tfs_error why = {0};
    struct beside b;

    if (beside_open(save_path, names, &b, &why) < 0 && is_none(why.code))
        tfs_error_reset(&why);
    if (why.code == 0 && b.state == TFS_BEAMNG_SIDECAR_DIFFERS && replace(&b, keeper, &why) == 0)
        b.state = TFS_BEAMNG_SIDECAR_AGREES;
    if (why.code < 0)
        tfs_fail(err, why.code, "the terrain is saved, but not the list of materials in %s: %s",
                 b.path == NULL ? "its .terrain.json" : strrchr(b.path, '/') + 1, why.text);
    *state = b.state;
    beside_close(&b);
    return why.code;
}

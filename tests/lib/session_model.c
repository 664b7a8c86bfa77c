/*
 * Drafts against a model of them, call by call: see session_model.h.
 */
#include "session_model.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/session/inode.h"
#include "session_driver.h"
#include "session_format.h"

#define HANDLES    4
#define OWNERS     2
#define TEXT       128
#define LONG       60  /* texts do not grow beyond it */
#define PLAYED_MAX 200 /* steps of one play */
#define ABSENT     "\x01"

enum file { RAW, WORDS, NOTE, FILES };

static const char *const file_names[FILES] = {"raw.bin", "text.txt", "part/note.txt"};
static const int places[] = {0, 1, -2};

#define CHUNKS  3
#define UNKNOWN "\2" /* `base` of a draft that lacks what others wrote */

struct open_file {
    struct tfs_handle *handle; /* NULL: not open */
    uint64_t id;
    int chunk;
    enum file file;
    unsigned opened; /* the step */
    bool writer, append, cut;
    bool gone;
    bool draft, dirty, refused, unborn;
    bool wrote[OWNERS];
    char text[TEXT]; /* of the draft */
    size_t accepted; /* characters that are not its own */
    char base[TEXT]; /* what the file showed; of a file that is gone: what it shows for good */
};

static struct {
    char blobs[CHUNKS][TEXT];
    struct open_file open[HANDLES];
    uint64_t seed;
    bool played; /* choices come from there, not from the seed */
    struct tfs_cursor choices;
    unsigned step;
} m;

/* ---- chance ---------------------------------------------------------------------------------- */

static unsigned chance(unsigned below)
{
    if (m.played)
        return tfs_take_u8(&m.choices) % below;
    m.seed = m.seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(m.seed >> 33) % below;
}

static const char *some_text(void)
{
    static const char *const texts[] = {"a", "bc", "DE", "xyz", "7", "!", "|n"};
    return texts[chance(sizeof(texts) / sizeof(texts[0]))];
}

static void differ(const char *what, const char *got, const char *wanted)
{
    fprintf(stderr, "step %u: %s: got '%s', wanted '%s'\n", m.step, what, got, wanted);
    abort();
}

static void same(const char *what, int got, int wanted)
{
    char a[16], b[16];

    snprintf(a, sizeof(a), "%d", got);
    snprintf(b, sizeof(b), "%d", wanted);
    if (got != wanted)
        differ(what, a, b);
}

/* ---- what the fake format does --------------------------------------------------------------- */

static const char *bar_of(const char *blob)
{
    const char *bar = strchr(blob, '|');
    return bar != NULL ? bar : blob + strlen(blob);
}

static const char *shown(int chunk, enum file file)
{
    static char out[TEXT];
    const char *blob = m.blobs[chunk], *bar = bar_of(blob);

    if (file == NOTE && *bar == '\0')
        return ABSENT;
    snprintf(out, sizeof(out), "%s", file == NOTE ? bar + 1 : blob);
    if (file == WORDS)
        out[bar - blob] = '\0';
    return out;
}

static bool acceptable(enum file file, const char *text)
{
    if (file == NOTE)
        return true;
    if (*text == '\0' || (file == RAW && *text == '!'))
        return false;
    for (; file == WORDS && *text != '\0'; text++)
        if (!isalpha((unsigned char)*text))
            return false;
    return true;
}

/* 0 or -EBADMSG. */
static int accept(int chunk, enum file file, const char *text)
{
    char *blob = m.blobs[chunk], old[TEXT];
    const char *bar = bar_of(strcpy(old, blob));

    if (!acceptable(file, text))
        return -EBADMSG;
    if (file == RAW)
        snprintf(blob, TEXT, "%.*s", TEXT - 1, text);
    else if (file == NOTE)
        snprintf(blob, TEXT, "%.*s|%.60s", (int)(bar - old), old, text);
    else
        snprintf(blob, TEXT, "%.60s%.62s", text, bar);
    for (size_t i = 0; file == WORDS && text[i] != '\0'; i++)
        blob[i] = (char)tolower((unsigned char)blob[i]);
    for (int i = 0; i < HANDLES; i++)
        if (m.open[i].unborn && m.open[i].chunk == chunk && m.open[i].file == file) {
            m.open[i].unborn = false;
            snprintf(m.open[i].base, TEXT, UNKNOWN);
        }
    return 0;
}

/* ---- drafts ---------------------------------------------------------------------------------- */

/* The one that was opened first. */
static struct open_file *unborn_of(int chunk, enum file file)
{
    struct open_file *first = NULL;

    for (int i = 0; i < HANDLES; i++)
        if (m.open[i].handle != NULL && m.open[i].unborn && m.open[i].chunk == chunk &&
            m.open[i].file == file && (first == NULL || m.open[i].opened < first->opened))
            first = &m.open[i];
    return first;
}

/* What the file says to a program without a draft. */
static const char *seen(int chunk, enum file file)
{
    return unborn_of(chunk, file) != NULL ? "" : shown(chunk, file);
}

static void begin(struct open_file *f)
{
    if (f->draft)
        return;
    if (!f->gone)
        snprintf(f->base, TEXT, "%s", shown(f->chunk, f->file));
    snprintf(f->text, TEXT, "%s", f->gone ? f->base : seen(f->chunk, f->file));
    f->accepted = strlen(f->text);
    f->unborn = !f->gone && unborn_of(f->chunk, f->file) != NULL;
    f->draft = true;
}

/* The status of a commit point. */
static int commit(struct open_file *f)
{
    const char *now = shown(f->chunk, f->file);
    char merged[2 * TEXT];
    bool behind = false;
    int result;

    if (!f->draft || !(f->dirty || f->refused))
        return 0;
    if (f->gone)
        result = -ESTALE;
    else if (f->cut || strcmp(now, f->base) == 0)
        result = accept(f->chunk, f->file, f->text);
    else if (!f->append || f->accepted > strlen(f->text))
        result = -ESTALE;
    else {
        snprintf(merged, sizeof(merged), "%s%s", strcmp(now, ABSENT) == 0 ? "" : now,
                 f->text + f->accepted);
        result = accept(f->chunk, f->file, merged);
        behind = true;
    }
    f->dirty = false;
    f->refused = result < 0;
    if (result < 0)
        return result;
    memset(f->wrote, 0, sizeof(f->wrote));
    snprintf(f->base, TEXT, "%s", behind ? UNKNOWN : shown(f->chunk, f->file));
    f->accepted = strlen(f->text);
    f->cut = f->cut && !f->append;
    return 0;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static const char *path_of(int chunk, enum file file)
{
    static char path[64];

    snprintf(path, sizeof(path), "chunks/%s/%s",
             (const char *const[]){"0_0_0", "1_0_0", "-2_3_4"}[chunk], file_names[file]);
    return path;
}

static void open_one(struct open_file *f)
{
    static const int flags[] = {O_RDONLY, O_RDWR, O_RDWR | O_TRUNC, O_RDWR | O_APPEND,
                                O_WRONLY | O_APPEND | O_TRUNC};
    const int how = flags[chance(sizeof(flags) / sizeof(flags[0]))];
    const int chunk = (int)chance(CHUNKS);
    const enum file file = (enum file)chance(FILES);
    const bool absent = strcmp(seen(chunk, file), ABSENT) == 0;

    if (absent && how == O_RDONLY)
        return;
    *f = (struct open_file){.chunk = chunk, .file = file, .opened = m.step};
    f->handle = open_path(path_of(chunk, file), how);
    f->id = f->handle->inode->id;
    f->writer = how != O_RDONLY;
    f->append = (how & O_APPEND) != 0;
    f->dirty = f->draft = (how & O_TRUNC) != 0 || absent;
    f->cut = absent ? !f->append : (how & O_TRUNC) != 0;
    f->unborn = absent;
    snprintf(f->base, TEXT, "%s", f->writer ? ABSENT : seen(chunk, file));
}

/* Its name is not there any more, and nobody has said what becomes of it. */
static bool has_vanished(const struct open_file *f)
{
    return strcmp(f->gone ? f->base : seen(f->chunk, f->file), ABSENT) == 0;
}

static void write_one(struct open_file *f)
{
    const char *text = some_text();
    const unsigned owner = chance(OWNERS);

    if (!f->writer || has_vanished(f))
        return;
    begin(f);
    size_t size = strlen(f->text), at = chance((unsigned)size + 1);
    if (f->append)
        at = size;
    if (at + strlen(text) > LONG)
        return;
    same("write",
         tfs_session_write(session, f->handle, owner + 1, f->append ? 0 : at, tfs_span_of(text),
                           false),
         0);
    memcpy(f->text + at, text, strlen(text));
    f->text[at + strlen(text) > size ? at + strlen(text) : size] = '\0';
    f->dirty = true;
    f->refused = false;
    f->wrote[owner] = true;
}

static int set_size(struct tfs_handle *handle, uint64_t id, size_t size)
{
    const struct stat values = {.st_size = (off_t)size};
    struct answer a;

    answer_init(&a);
    tfs_session_setattr(session, id, handle, &values, TFS_SET_SIZE, REPLY(&a));
    return answer_wait(&a);
}

static void cut_one(struct open_file *f)
{
    if (!f->writer || has_vanished(f))
        return;
    begin(f);
    const size_t size = chance((unsigned)strlen(f->text) + 1);
    same("ftruncate", set_size(f->handle, f->id, size), 0);
    f->text[size] = '\0';
    f->cut = f->cut || size == 0;
    f->accepted = size == 0 ? 0 : SIZE_MAX;
    f->dirty = f->wrote[0] = f->wrote[1] = true;
    f->refused = false;
}

static void flush_one(struct open_file *f)
{
    const unsigned owner = chance(OWNERS);
    struct answer a;

    answer_init(&a);
    tfs_session_flush(session, f->handle, owner + 1, REPLY(&a));
    same("close", answer_wait(&a), f->wrote[owner] ? commit(f) : 0);
}

static void release_one(struct open_file *f)
{
    tfs_session_release(session, f->handle);
    same("sync", sync_directory("chunks"), 0);
    if (f->dirty)
        commit(f);
    f->handle = NULL;
}

static void put_one(void)
{
    const int chunk = (int)chance(CHUNKS);
    const enum file file = (enum file)chance(FILES);
    const char *text = some_text();

    same("put", put(path_of(chunk, file), text), accept(chunk, file, text));
}

static void truncate_one(void)
{
    const int chunk = (int)chance(CHUNKS);
    const enum file file = (enum file)chance(FILES);
    char text[TEXT];
    struct tfs_attr attr;

    snprintf(text, sizeof(text), "%s", seen(chunk, file));
    if (strcmp(text, ABSENT) == 0)
        return;
    text[chance((unsigned)strlen(text) + 1)] = '\0';
    int result = -ESTALE;
    for (int tries = 0; tries < 2 && result == -ESTALE; tries++) {
        same("look", look(path_of(chunk, file), &attr), 0);
        result = set_size(NULL, attr.id, strlen(text));
    }
    same("truncate", result, accept(chunk, file, text));
}

/* Another file takes the name: who has the old one open goes on with it. */
static void rename_one(void)
{
    const int chunk = (int)chance(CHUNKS);
    const enum file file = (enum file)chance(FILES);
    const char *text = some_text();
    char was[TEXT];

    if (unborn_of(chunk, file) != NULL)
        return; /* what becomes of a name that is being created is nobody's promise */
    snprintf(was, sizeof(was), "%s", shown(chunk, file));
    same("put", put("temp", text), 0);
    const int result = accept(chunk, file, text);
    same("rename", rename_path("temp", path_of(chunk, file)), result);
    if (result < 0)
        same("unlink", unlink_path("temp"), 0);
    for (int i = 0; result == 0 && i < HANDLES; i++) {
        struct open_file *f = &m.open[i];
        if (f->handle == NULL || f->gone || f->chunk != chunk || f->file != file)
            continue;
        f->gone = true;
        f->unborn = false;
        if (f->writer)
            snprintf(f->base, TEXT, "%s", was);
    }
}

static void change_outside(void)
{
    static const char *const theirs[] = {"out", "out|side", "q", "zero"};
    const int chunk = (int)chance(CHUNKS - 1);
    const char *blob = theirs[chance(sizeof(theirs) / sizeof(theirs[0]))];

    fake_disk.theirs = fake_doc_with(save->doc, places[chunk], blob);
    fake_disk.changed = 1;
    same("sync", sync_directory("chunks"), 0);
    snprintf(m.blobs[chunk], TEXT, "%s", blob);
}

/* ---- what is seen ---------------------------------------------------------------------------- */

static void compare(const char *what, const char *got, const char *wanted)
{
    if (strcmp(got, wanted) != 0)
        differ(what, got, wanted);
}

static void check_file(int chunk, enum file file)
{
    const struct open_file *unborn = unborn_of(chunk, file);
    const char *wanted = seen(chunk, file);
    struct tfs_attr attr;

    if (strcmp(wanted, ABSENT) == 0) {
        same(path_of(chunk, file), look(path_of(chunk, file), &attr), -ENOENT);
        return;
    }
    compare(path_of(chunk, file), cat(path_of(chunk, file)), wanted);
    same("look", look(path_of(chunk, file), &attr), 0);
    same("size", (int)attr.st.st_size, (int)strlen(unborn != NULL ? unborn->text : wanted));
}

static void check(void)
{
    for (int i = 0; i < CHUNKS * FILES; i++)
        check_file(i / FILES, (enum file)(i % FILES));
    for (int i = 0; i < HANDLES; i++) {
        const struct open_file *f = &m.open[i];
        if (f->handle == NULL)
            continue;
        const char *without = f->gone || !f->writer ? f->base : seen(f->chunk, f->file);
        if (strcmp(without, ABSENT) != 0)
            compare("what a handle reads", text_of_handle(f->handle), f->draft ? f->text : without);
    }
    for (int i = 0; i < CHUNKS; i++)
        compare("the disk", fake_blob(save->doc, places[i]), m.blobs[i]);
}

static void take_step(void)
{
    struct open_file *f = &m.open[chance(HANDLES)];
    static void (*const on_open[])(struct open_file *) = {write_one, write_one, write_one,  cut_one,
                                                          flush_one, flush_one, release_one};
    static void (*const others[])(void) = {put_one, truncate_one, rename_one, change_outside};
    const unsigned what = chance(12);

    if (what >= 8)
        others[what - 8]();
    else if (f->handle == NULL)
        open_one(f);
    else if (what == 7)
        same("fsync", sync_file(f->handle), commit(f));
    else
        on_open[what](f);
    check();
}

static void start(void)
{
    open_with((struct tfs_session_options){0});
    for (int i = 0; i < CHUNKS; i++)
        snprintf(m.blobs[i], TEXT, "%s", fake_blob(save->doc, places[i]));
}

static void finish(void)
{
    for (int i = 0; i < HANDLES; i++)
        if (m.open[i].handle != NULL)
            release_one(&m.open[i]);
    check();
    (void)tfs_session_finish(session);
    tfs_session_close(session);
    memset(&m, 0, sizeof(m));
}

void session_model_run(unsigned episode, unsigned count)
{
    m.seed = episode * UINT64_C(2654435761) + 1;
    start();
    for (m.step = 0; m.step < count; m.step++)
        take_step();
    finish();
}

void session_model_play(struct tfs_span choices)
{
    m.played = true;
    m.choices = tfs_cursor_init(choices);
    start();
    for (m.step = 0; m.step < PLAYED_MAX && tfs_cursor_left(&m.choices) > 0; m.step++)
        take_step();
    finish();
}

/*
 * The session against a model of it, call by call: see session_model.h. Removed names stay away: no
 * directory comes to rest.
 */
#include "session_model.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/session/ops.h"
#include "fs/store/state.h"
#include "session_driver.h"
#include "session_format.h"

#define COORDINATES 3  /* chunks 0_0_0 to 2_0_0 come and go */
#define CHUNKS      64 /* that ever were, in one run */
#define HANDLES     4
#define NODES       256
#define SCRATCH     3
#define TEXT        128
#define PLAYED_MAX  200 /* steps of one play */
#define MOVED_MAX   60  /* characters of a text that is renamed onto a file: it may double then */

enum file { RAW, WORDS, NOTE, FILES };

static const char *const file_names[FILES] = {"raw.bin", "text.txt", "part/note.txt"};

/* A chunk directory, wherever it is moved. */
struct chunk {
    bool alive;
    int x;
    char blob[TEXT];
    bool removed[FILES];
    bool unlinked; /* that of the note is not of a note that was renamed away */
    bool part_removed;
    bool hidden; /* just made: what was not created is absent */
    bool created[FILES];
    bool part_created;
};

/* What handles hold. */
struct node {
    bool used;
    bool schema; /* shows `file` of chunks[chunk]; else a scratch file, maybe without a name */
    int chunk;
    enum file file;
    bool pending, dirty;
    char bytes[TEXT];
    int handles;
};

struct open_file {
    struct tfs_handle *handle;
    uint64_t id; /* held, as a kernel does, as long as the file is open */
    struct node *node;
    bool wrote;
    bool outdated, refused; /* another program changed what it wrote; and it heard of that */
};

static struct {
    struct chunk chunks[CHUNKS];
    int chunk_count;
    struct node nodes[NODES];
    struct node *scratch[SCRATCH]; /* s0, s1, s2 in the root */
    struct open_file open[HANDLES];
    char disk[COORDINATES][TEXT];
    bool unsaved;
    bool refused; /* a document was, which may be kept beside the save */
    bool staging; /* commit=N */
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
    static const char *const texts[] = {"a", "bc", "DE", "xyz", "7", "!", "|n", "|", ""};
    return texts[chance(sizeof(texts) / sizeof(texts[0]))];
}

/* ---- what the fake format does --------------------------------------------------------------- */

static const char *bar_of(const char *blob)
{
    const char *bar = strchr(blob, '|');
    return bar != NULL ? bar : blob + strlen(blob);
}

static void show(const struct chunk *chunk, enum file file, char *out)
{
    const char *bar = bar_of(chunk->blob);
    switch (file) {
    case RAW:
        strcpy(out, chunk->blob);
        return;
    case WORDS:
        snprintf(out, TEXT, "%.*s", (int)(bar - chunk->blob), chunk->blob);
        return;
    case NOTE:
        strcpy(out, *bar != '\0' ? bar + 1 : "");
        return;
    case FILES:
        return;
    }
}

static bool acceptable(enum file file, const char *text)
{
    if (file == NOTE)
        return true;
    if (*text == '\0' || (file == RAW && *text == '!'))
        return false;
    for (; file == WORDS && *text != '\0'; text++) {
        if (!isalpha((unsigned char)*text))
            return false;
    }
    return true;
}

/* The blob after an accepted text. */
static void apply(const struct chunk *chunk, enum file file, const char *text, char *blob)
{
    const char *bar = bar_of(chunk->blob);
    if (file == RAW) {
        strcpy(blob, text);
    } else if (file == NOTE) {
        snprintf(blob, TEXT, "%.*s|%.60s", (int)(bar - chunk->blob), chunk->blob, text);
    } else {
        snprintf(blob, TEXT, "%.60s%.62s", text, bar);
        for (size_t i = 0; text[i] != '\0'; i++)
            blob[i] = (char)tolower((unsigned char)blob[i]);
    }
}

/* ---- the model ------------------------------------------------------------------------------- */

static struct chunk *chunk_at(int x)
{
    for (int i = 0; i < m.chunk_count; i++) {
        if (m.chunks[i].alive && m.chunks[i].x == x)
            return &m.chunks[i];
    }
    return NULL;
}

static struct node *node_of(const struct chunk *chunk, enum file file)
{
    for (int i = 0; i < NODES; i++) {
        struct node *node = &m.nodes[i];
        if (node->used && node->schema && node->chunk == chunk - m.chunks && node->file == file)
            return node;
    }
    return NULL;
}

static struct node *new_node(void)
{
    for (int i = 0; i < NODES; i++) {
        if (!m.nodes[i].used) {
            m.nodes[i] = (struct node){.used = true};
            return &m.nodes[i];
        }
    }
    abort();
}

static void drop_node(struct node *node)
{
    for (int i = 0; i < SCRATCH; i++) {
        if (m.scratch[i] == node)
            return;
    }
    if (node->handles == 0)
        node->used = false;
}

static bool in_document(const struct chunk *chunk, enum file file)
{
    return chunk->alive && (file != NOTE || *bar_of(chunk->blob) != '\0');
}

static bool part_visible(const struct chunk *chunk)
{
    return !chunk->part_removed && (!chunk->hidden || chunk->part_created);
}

/* By its name alone, whatever its directory is. */
static bool file_visible(const struct chunk *chunk, enum file file)
{
    if (chunk->removed[file] || (chunk->hidden && !chunk->created[file]))
        return false;
    const struct node *node = node_of(chunk, file);
    return (node != NULL && node->pending) || in_document(chunk, file);
}

static bool reachable(const struct chunk *chunk, enum file file)
{
    return file != NOTE || part_visible(chunk);
}

static void reveal(struct chunk *chunk, enum file file)
{
    chunk->unlinked = chunk->unlinked && file != NOTE;
    chunk->removed[file] = false;
    chunk->created[file] = true;
}

static void set_blob(struct chunk *chunk, const char *blob)
{
    if (strcmp(chunk->blob, blob) == 0)
        return;
    strcpy(chunk->blob, blob);
    m.unsaved = true;
}

static bool same_as_disk(void)
{
    for (int x = 0; x < COORDINATES; x++) {
        const struct chunk *chunk = chunk_at(x);
        if (strcmp(m.disk[x], chunk != NULL ? chunk->blob : "") != 0)
            return false;
    }
    return true;
}

static int commit(void)
{
    if (!m.unsaved)
        return 0;
    if (fake_disk.fail != 0)
        return fake_disk.fail;
    for (int x = 0; x < COORDINATES; x++) {
        const struct chunk *chunk = chunk_at(x);
        strcpy(m.disk[x], chunk != NULL ? chunk->blob : "");
    }
    m.unsaved = false;
    return 0;
}

/* After an operation on names that was taken back. */
static void undone(void)
{
    m.unsaved = !same_as_disk();
}

static int refuse(void)
{
    m.refused = true;
    return -EBADMSG;
}

/* A removed note is stored as absent. */
static void end_note(struct chunk *chunk)
{
    char words[TEXT];
    if (in_document(chunk, NOTE)) {
        show(chunk, WORDS, words);
        set_blob(chunk, words);
    }
    chunk->removed[NOTE] = chunk->unlinked = false;
}

/* Puts an acceptable text on the chunk, which takes an unlinked note along: did that change it? */
static bool accept(struct chunk *chunk, enum file file, const char *text)
{
    char blob[TEXT];
    const struct chunk before = *chunk;
    if (chunk->unlinked && file != NOTE)
        end_note(chunk);
    bool edited = strcmp(chunk->blob, before.blob) != 0;
    apply(chunk, file, text, blob);
    edited = edited || strcmp(chunk->blob, blob) != 0;
    set_blob(chunk, blob);
    if (!edited)
        *chunk = before;
    return edited;
}

static int validate(struct node *node)
{
    if (!acceptable(node->file, node->bytes))
        return refuse();
    (void)accept(&m.chunks[node->chunk], node->file, node->bytes);
    node->dirty = false;
    return 0;
}

/* What a file shows now, whoever asks. */
static void content(const struct chunk *chunk, enum file file, char *out)
{
    const struct node *node = node_of(chunk, file);
    if (node != NULL && node->pending)
        strcpy(out, node->bytes);
    else
        show(chunk, file, out);
}

/* The node goes on as a scratch file with what it shows. */
static void detach(struct node *node)
{
    if (!node->pending)
        show(&m.chunks[node->chunk], node->file, node->bytes);
    node->schema = node->pending = node->dirty = false;
}

/* ---- checking -------------------------------------------------------------------------------- */

static void says(void *arg)
{
    answered(arg, 0, NULL);
}

static bool is_written(struct tfs_store *store)
{
    pthread_mutex_lock(&store->lock);
    const bool rests = store->rewrite.state == TFS_REWRITE_RESTS;
    pthread_mutex_unlock(&store->lock);
    return !rests;
}

/* Until the worker has done what a close left to it, and the save is not being written. */
static void settle(void)
{
    struct tfs_store *store = session->branches[0].store;
    struct answer a;
    do {
        answer_init(&a);
        if (tfs_session_after_check(session, 1, says, &a) < 0)
            abort();
        answer_wait(&a);
    } while (is_written(store));
}

#define AGREE(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "step %u: ", m.step);                                                  \
            fprintf(stderr, __VA_ARGS__);                                                          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static const char *path_of(int x, const char *name)
{
    static char paths[4][TEXT];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, TEXT, "chunks/%d_0_0%s%s", x, *name != '\0' ? "/" : "", name);
    return path;
}

/* A path has the id of an open file if it is that file, and else another one. */
static void check_id(const char *path, const struct node *node)
{
    struct tfs_attr attr;
    AGREE(look(path, &attr) == 0, "%s: cannot be looked up", path);
    for (int i = 0; i < HANDLES; i++) {
        const struct open_file *open = &m.open[i];
        if (open->node != NULL)
            AGREE((open->id == attr.id) == (open->node == node), "%s: id %llu, handle %d has %llu",
                  path, (unsigned long long)attr.id, i, (unsigned long long)open->id);
    }
}

static void check_file(const struct chunk *chunk, enum file file)
{
    char text[TEXT];
    const char *path = path_of(chunk->x, file_names[file]);
    bool there = reachable(chunk, file) && file_visible(chunk, file);
    AGREE(exists(path) == there, "%s: there is %d", path, there);
    if (!there)
        return;
    content(chunk, file, text);
    const char *shown = cat(path);
    AGREE(strcmp(shown, text) == 0, "%s: \"%s\", not \"%s\"", path, shown, text);
    check_id(path, node_of(chunk, file));
}

static void check_list(const struct chunk *chunk)
{
    char names[TEXT] = ". .. ";
    for (enum file f = RAW; f < NOTE; f++) {
        if (file_visible(chunk, f))
            strcat(strcat(names, file_names[f]), " ");
    }
    if (part_visible(chunk))
        strcat(names, "part ");
    const char *listed = list(path_of(chunk->x, ""));
    AGREE(strcmp(listed, names) == 0, "%d: \"%s\", not \"%s\"", chunk->x, listed, names);
}

static void check_handles(void)
{
    for (int i = 0; i < HANDLES; i++) {
        char text[TEXT];
        const struct node *node = m.open[i].node;
        if (node == NULL)
            continue;
        if (!node->schema || node->pending)
            strcpy(text, node->bytes);
        else if (in_document(&m.chunks[node->chunk], node->file))
            show(&m.chunks[node->chunk], node->file, text);
        else
            strcpy(text, strerror(ESTALE));
        const char *shown = text_of_handle(m.open[i].handle, 0);
        AGREE(strcmp(shown, text) == 0, "handle %d: \"%s\", not \"%s\"", i, shown, text);
    }
}

static void check_all(void)
{
    settle();
    for (int x = 0; x < COORDINATES; x++) {
        const struct chunk *chunk = chunk_at(x);
        const char *stored = fake_blob(save->doc, x);
        AGREE(strcmp(stored, m.disk[x]) == 0, "disk %d: \"%s\", not \"%s\"", x, stored, m.disk[x]);
        AGREE(exists(path_of(x, "")) == (chunk != NULL), "chunk %d", x);
        if (chunk == NULL)
            continue;
        check_list(chunk);
        for (enum file f = RAW; f < FILES; f++)
            check_file(chunk, f);
    }
    for (int i = 0; i < SCRATCH; i++) {
        char name[] = {'s', (char)('0' + i), '\0'};
        const struct node *node = m.scratch[i];
        AGREE(exists(name) == (node != NULL), "%s", name);
        AGREE(node == NULL || strcmp(cat(name), node->bytes) == 0, "%s: %s", name, cat(name));
        if (node != NULL)
            check_id(name, node);
    }
    check_handles();
}

/* ---- open files ------------------------------------------------------------------------------ */

static struct open_file *some_open(void)
{
    struct open_file *open = &m.open[chance(HANDLES)];
    return open->node != NULL ? open : NULL;
}

static struct chunk *some_chunk(void)
{
    return chunk_at((int)chance(COORDINATES));
}

static void take_handle(struct open_file *open, struct node *node, const char *path, bool cut)
{
    struct tfs_attr attr;
    open->handle = open_path(path, O_WRONLY | (cut ? O_TRUNC : 0));
    AGREE(look(path, &attr) == 0, "%s: is open and not there", path);
    open->id = attr.id;
    open->node = node;
    node->handles++;
    if (cut) {
        node->bytes[0] = '\0';
        node->pending = node->dirty = node->schema;
    }
    open->wrote = cut;
}

static void step_open(void)
{
    struct open_file *open = &m.open[chance(HANDLES)];
    struct chunk *chunk = some_chunk();
    enum file file = (enum file)chance(FILES);
    if (open->node != NULL || chunk == NULL || !reachable(chunk, file))
        return;
    bool cut = chance(2) == 0 || !file_visible(chunk, file);
    struct node *node = node_of(chunk, file);
    if (node == NULL) {
        node = new_node();
        node->schema = true;
        node->chunk = (int)(chunk - m.chunks);
        node->file = file;
    }
    take_handle(open, node, path_of(chunk->x, file_names[file]), cut);
    reveal(chunk, file);
}

static void step_open_scratch(void)
{
    struct open_file *open = &m.open[chance(HANDLES)];
    unsigned i = chance(SCRATCH);
    char name[] = {'s', (char)('0' + i), '\0'};
    if (open->node != NULL)
        return;
    if (m.scratch[i] == NULL)
        m.scratch[i] = new_node();
    take_handle(open, m.scratch[i], name, chance(2) == 0);
}

static void step_write(void)
{
    struct open_file *open = some_open();
    const char *text = some_text();
    if (open == NULL)
        return;
    struct node *node = open->node;
    int expected = 0;
    if (node->schema && !node->pending) {
        if (in_document(&m.chunks[node->chunk], node->file))
            show(&m.chunks[node->chunk], node->file, node->bytes);
        else
            expected = -ESTALE;
    }
    uint64_t end = strlen(node->bytes);
    if (open->outdated && node->schema) {
        expected = -ESTALE;
        open->refused = m.refused = true;
    } else if (end > 20 || (expected < 0 && chance(2) == 0))
        return;
    AGREE(write_text(open->handle, end, text) == expected, "write is %d", expected);
    if (expected < 0)
        return;
    strcat(node->bytes, text);
    node->pending = node->dirty = node->schema;
    open->wrote = true;
}

static void step_truncate(void)
{
    struct open_file *open = some_open();
    struct answer a;
    struct stat values = {.st_size = 0};
    if (open == NULL)
        return;
    answer_init(&a);
    struct tfs_attr attr;
    uint64_t id = look("all.txt", &attr) == 0 ? attr.id : 0; /* only the handle counts */
    tfs_session_setattr(session, id, open->handle, &values, TFS_SET_SIZE, REPLY(&a));
    AGREE(answer_wait(&a) == 0, "ftruncate");
    open->node->bytes[0] = '\0';
    open->node->pending = open->node->dirty = open->node->schema;
    open->wrote = true;
    open->outdated = open->refused = false;
}

static int expect_flush(struct node *node, bool barrier)
{
    int result = node->schema && node->dirty ? validate(node) : 0;
    int committed = barrier || !m.staging ? commit() : 0;
    return result < 0 ? result : committed;
}

static void step_flush(void)
{
    struct open_file *open = some_open();
    if (open == NULL)
        return;
    const struct node *node = open->node;
    bool goes =
        open->wrote && !open->refused && node->schema && (node->dirty || (m.unsaved && !m.staging));
    int expected = open->refused ? -ESTALE : goes ? expect_flush(open->node, false) : 0;
    int result = flush(open->handle);
    AGREE(result == expected, "flush: %d, not %d", result, expected);
}

static void step_fsync(void)
{
    struct open_file *open = some_open();
    if (open == NULL)
        return;
    struct chunk *chunk = &m.chunks[open->node->chunk];
    if (open->node->schema && chunk->alive && chunk->unlinked && !open->refused)
        end_note(chunk);
    int expected = open->refused ? -ESTALE : expect_flush(open->node, true);
    int result = sync_file(open->handle);
    AGREE(result == expected, "fsync: %d, not %d", result, expected);
}

static void release(struct open_file *open)
{
    struct node *node = open->node;
    tfs_session_release(session, open->handle);
    *open = (struct open_file){0};
    node->handles--;
    if (node->handles == 0 && node->schema && node->pending) {
        (void)expect_flush(node, false);
        node->pending = node->dirty = false;
    }
    if (node->schema)
        node->used = node->handles > 0;
    else
        drop_node(node);
}

static void step_release(void)
{
    struct open_file *open = some_open();
    if (open != NULL)
        release(open);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void unlink_file(struct chunk *chunk, enum file file)
{
    AGREE(unlink_path(path_of(chunk->x, file_names[file])) == 0, "unlink");
    struct node *node = node_of(chunk, file);
    if (node != NULL)
        detach(node);
    chunk->removed[file] = true;
    chunk->unlinked = chunk->unlinked || file == NOTE;
    chunk->created[file] = false;
}

static void step_unlink(void)
{
    struct chunk *chunk = some_chunk();
    enum file file = (enum file)chance(FILES);
    if (chunk != NULL && reachable(chunk, file) && file_visible(chunk, file))
        unlink_file(chunk, file);
}

static void step_unlink_scratch(void)
{
    unsigned i = chance(SCRATCH);
    char name[] = {'s', (char)('0' + i), '\0'};
    struct node *node = m.scratch[i];
    if (node == NULL)
        return;
    AGREE(unlink_path(name) == 0, "unlink %s", name);
    m.scratch[i] = NULL;
    drop_node(node);
}

/* fsync of chunks/X, or of its part/. */
static void step_sync_directory(void)
{
    struct chunk *chunk = some_chunk();
    bool part = chance(2) == 0;
    if (chunk == NULL || (part && !part_visible(chunk)))
        return;
    if (chunk->unlinked)
        end_note(chunk);
    int expected = commit();
    int result = sync_directory(path_of(chunk->x, part ? "part" : ""));
    AGREE(result == expected, "fsyncdir: %d, not %d", result, expected);
}

static void step_make_part(void)
{
    struct tfs_attr attr;
    struct chunk *chunk = some_chunk();
    if (chunk == NULL)
        return;
    int expected = part_visible(chunk) ? -EEXIST : 0;
    AGREE(make_directory(path_of(chunk->x, "part"), &attr) == expected, "mkdir part");
    if (expected == 0) {
        chunk->part_removed = false;
        chunk->part_created = true;
    }
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static void step_make_chunk(void)
{
    struct tfs_attr attr;
    int x = (int)chance(COORDINATES);
    int expected = chunk_at(x) != NULL ? -EEXIST : 0;
    if (m.chunk_count == CHUNKS)
        return;
    if (expected == 0) {
        struct chunk *chunk = &m.chunks[m.chunk_count++];
        *chunk = (struct chunk){.alive = true, .x = x, .blob = "empty", .hidden = true};
        m.unsaved = true;
        expected = m.staging ? 0 : commit();
        chunk->alive = expected == 0;
        if (expected < 0)
            undone();
    }
    int result = make_directory(path_of(x, ""), &attr);
    AGREE(result == expected, "mkdir %d: %d, not %d", x, result, expected);
}

static void step_remove_chunk(void)
{
    struct chunk *chunk = some_chunk();
    if (chunk == NULL || chance(3) > 0)
        return;
    for (enum file f = RAW; f < FILES; f++) {
        if (reachable(chunk, f) && file_visible(chunk, f))
            unlink_file(chunk, f);
    }
    if (part_visible(chunk)) {
        AGREE(remove_directory(path_of(chunk->x, "part")) == 0, "rmdir part");
        chunk->part_removed = true;
        chunk->part_created = false;
    }
    chunk->alive = false;
    m.unsaved = true;
    int expected = m.staging ? 0 : commit();
    chunk->alive = expected < 0;
    if (expected < 0)
        undone();
    int result = remove_directory(path_of(chunk->x, ""));
    AGREE(result == expected, "rmdir %d: %d, not %d", chunk->x, result, expected);
}

static void step_move_chunk(void)
{
    struct chunk *chunk = some_chunk();
    int to = (int)chance(COORDINATES);
    if (chunk == NULL || to == chunk->x)
        return;
    const struct chunk before = *chunk;
    int expected = chunk_at(to) != NULL ? -EEXIST : 0;
    if (expected == 0) {
        if (chunk->unlinked)
            end_note(chunk);
        chunk->x = to;
        m.unsaved = true;
        expected = m.staging ? 0 : commit();
        if (expected < 0) {
            *chunk = before;
            undone();
        }
    }
    int result = rename_path(path_of(before.x, ""), path_of(to, ""));
    AGREE(result == expected, "mv %d %d: %d, not %d", before.x, to, result, expected);
}

/* ---- renaming files -------------------------------------------------------------------------- */

static void step_rename_away(void)
{
    struct chunk *chunk = some_chunk();
    enum file file = (enum file)chance(FILES);
    unsigned i = chance(SCRATCH);
    char name[] = {'s', (char)('0' + i), '\0'};
    if (chunk == NULL || !reachable(chunk, file) || !file_visible(chunk, file))
        return;
    AGREE(rename_path(path_of(chunk->x, file_names[file]), name) == 0, "mv to %s", name);
    struct node *node = node_of(chunk, file);
    if (node == NULL) {
        node = new_node();
        node->chunk = (int)(chunk - m.chunks);
        node->file = file;
    }
    detach(node);
    chunk->removed[file] = true;
    struct node *old = m.scratch[i];
    m.scratch[i] = node;
    if (old != NULL)
        drop_node(old);
}

/* Puts the bytes of `node` on a file of the schema, as a rename does: 0, or what it fails with, and
 * nothing has changed then. */
static int rename_onto(struct chunk *chunk, enum file file, const char *text)
{
    const struct chunk before = *chunk;
    if (!acceptable(file, text)) {
        /* What waits for the disk has another chance all the same. */
        if (!m.staging)
            (void)commit();
        return refuse();
    }
    bool edited = accept(chunk, file, text);
    int result = m.staging ? 0 : commit();
    if (result < 0 && edited) {
        *chunk = before;
        undone();
    }
    return result;
}

/* `node` shows the file from now on; who had it open goes on with `shown`, or, if the file was
 * absent, with what it shows now. */
static void attach(struct node *node, struct chunk *chunk, enum file file, const char *shown)
{
    struct node *old = node_of(chunk, file);
    bool bytes = !node->schema || node->pending;
    if (old != NULL && old != node) {
        if (!old->pending && shown != NULL)
            strcpy(old->bytes, shown);
        else if (!old->pending)
            show(chunk, file, old->bytes);
        old->schema = old->pending = old->dirty = false;
    }
    node->schema = true;
    node->chunk = (int)(chunk - m.chunks);
    node->file = file;
    node->pending = node->handles > 0 && bytes;
    node->dirty = false;
    node->used = node->handles > 0;
    reveal(chunk, file);
}

static void step_rename_scratch(void)
{
    struct chunk *chunk = some_chunk();
    enum file file = (enum file)chance(FILES);
    unsigned i = chance(SCRATCH);
    char name[] = {'s', (char)('0' + i), '\0'};
    char shown[TEXT] = "";
    struct node *node = m.scratch[i];
    if (chunk == NULL || node == NULL || !reachable(chunk, file) || strlen(node->bytes) > MOVED_MAX)
        return;
    bool there = in_document(chunk, file);
    content(chunk, file, shown);
    int expected = rename_onto(chunk, file, node->bytes);
    int result = rename_path(name, path_of(chunk->x, file_names[file]));
    AGREE(result == expected, "mv %s: %d, not %d", name, result, expected);
    if (result < 0)
        return;
    m.scratch[i] = NULL;
    attach(node, chunk, file, there ? shown : NULL);
}

static void step_rename_schema(void)
{
    struct chunk *from = some_chunk(), *to = some_chunk();
    enum file file = (enum file)chance(FILES), target = (enum file)chance(FILES);
    char text[TEXT] = "", shown[TEXT] = "";
    if (from == NULL || to == NULL || (from == to && file == target) || !reachable(from, file) ||
        !file_visible(from, file) || !reachable(to, target))
        return;
    content(from, file, text);
    if (strlen(text) > MOVED_MAX)
        return;
    bool there = in_document(to, target);
    content(to, target, shown);
    int expected = rename_onto(to, target, text);
    int result =
        rename_path(path_of(from->x, file_names[file]), path_of(to->x, file_names[target]));
    AGREE(result == expected, "mv: %d, not %d", result, expected);
    if (result < 0)
        return;
    struct node *node = node_of(from, file);
    if (node == NULL) {
        node = new_node();
        node->schema = true;
        node->chunk = (int)(from - m.chunks);
        node->file = file;
    }
    attach(node, to, target, there ? shown : NULL);
    from->removed[file] = true;
    from->unlinked = from->unlinked || file == NOTE;
}

/* ---- the disk -------------------------------------------------------------------------------- */

static void step_disk(void)
{
    fake_disk.fail = fake_disk.fail == 0 && chance(2) == 0 ? -ENOSPC : 0;
}

/* What was accepted of the chunk's files makes room for what another program wrote. */
static void outdate(const struct chunk *chunk)
{
    for (int i = 0; i < NODES; i++) {
        struct node *node = &m.nodes[i];
        if (!node->used || !node->schema || !node->pending || &m.chunks[node->chunk] != chunk)
            continue;
        node->pending = false;
        for (int h = 0; h < HANDLES; h++)
            m.open[h].outdated = m.open[h].outdated || (m.open[h].node == node && m.open[h].wrote);
    }
}

/* Another program writes a chunk, while nothing of ours waits. */
static void step_outside(void)
{
    struct chunk *chunk = some_chunk();
    bool waits = m.unsaved;
    for (int i = 0; i < NODES; i++)
        waits = waits || (m.nodes[i].used && m.nodes[i].dirty);
    if (chunk == NULL || waits)
        return;
    const char *theirs = chance(2) == 0 ? "theirs" : "they|wrote";
    if (strcmp(chunk->blob, theirs) != 0)
        outdate(chunk);
    strcpy(chunk->blob, theirs);
    strcpy(m.disk[chunk->x], chunk->blob);
    fake_disk.theirs = fake_doc_with(save->doc, chunk->x, chunk->blob);
    fake_disk.changed = 1;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void (*const steps[])(void) = {
    step_open,       step_open,           step_open,       step_open_scratch,   step_write,
    step_write,      step_write,          step_write,      step_truncate,       step_flush,
    step_flush,      step_fsync,          step_release,    step_release,        step_release,
    step_unlink,     step_unlink_scratch, step_make_part,  step_sync_directory, step_make_chunk,
    step_make_chunk, step_remove_chunk,   step_move_chunk, step_rename_away,    step_rename_scratch,
    step_disk,       step_rename_scratch, step_outside,    step_rename_schema,
};

static void begin(bool staging)
{
    static const char *const blobs[] = {"zero", "one|note"};
    m.staging = staging;
    open_with(
        (struct tfs_session_options){.linger_ms = 3600000, .commit_seconds = m.staging ? 3600 : 0});
    for (int x = 0; x < 2; x++) {
        struct chunk *chunk = &m.chunks[m.chunk_count++];
        *chunk = (struct chunk){.alive = true, .x = x};
        strcpy(chunk->blob, blobs[x]);
        strcpy(m.disk[x], blobs[x]);
    }
}

/* What is left to be done at unmount: removed notes go, and all that waits is saved. A scratch file
 * that is the only copy of what the save held would be kept: here they all go. */
static void finish(void)
{
    for (int i = 0; i < SCRATCH; i++) {
        const char name[] = {'s', (char)('0' + i), '\0'};
        if (m.scratch[i] != NULL)
            AGREE(unlink_path(name) == 0, "unlink %s", name);
    }
    for (int x = 0; x < COORDINATES; x++) {
        struct chunk *chunk = chunk_at(x);
        if (chunk != NULL && chunk->unlinked)
            end_note(chunk);
    }
    (void)commit();
    AGREE(tfs_session_finish(session) == 0, "something was not saved: %s", messages);
    for (int x = 0; x < COORDINATES; x++)
        AGREE(strcmp(fake_blob(save->doc, x), m.disk[x]) == 0,
              "disk %d at the end: \"%s\", not "
              "\"%s\"",
              x, fake_blob(save->doc, x), m.disk[x]);
}

static void end(void)
{
    fake_disk.fail = 0;
    for (int i = 0; i < HANDLES; i++) {
        if (m.open[i].node != NULL)
            release(&m.open[i]);
    }
    settle();
    if (!m.refused)
        finish();
    tfs_session_close(session);
    tfs_doc_unref(fake_disk.theirs);
    fake_disk.theirs = NULL;
}

static void do_step(void)
{
    steps[chance(sizeof(steps) / sizeof(steps[0]))]();
    check_all();
    m.step++;
}

void session_model_run(unsigned episode, unsigned count)
{
    memset(&m, 0, sizeof(m));
    m.seed = episode * UINT64_C(0x9e3779b97f4a7c15) + 1;
    begin(episode % 3 == 2);
    while (m.step < count)
        do_step();
    end();
}

void session_model_play(struct tfs_span choices)
{
    memset(&m, 0, sizeof(m));
    m.played = true;
    m.choices = tfs_cursor_init(choices);
    begin(chance(2) == 1);
    while (tfs_cursor_left(&m.choices) > 0 && m.step < PLAYED_MAX)
        do_step();
    end();
}

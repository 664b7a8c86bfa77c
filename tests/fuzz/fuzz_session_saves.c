/*
 * Any bytes as calls of a session on a real small save, with another program that replaces the file
 * now and then. No model of the format, but what must hold whatever it is:
 *   a call that fails leaves the save on disk as it was,
 *   a flush that says 0 has its text in the save,
 *   what nobody is writing reads in the session as it does in the save, opened anew,
 *   st_size is true, a path has the id of an open file only if it reads the same,
 *   no temp file stays, and at the end nothing is lost: saved, or kept beside the save.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "../lib/fuzz_saves.h"
#include "../lib/place_maker.h"
#include "../lib/session_driver.h"
#include "../lib/ter_maker.h"
#include "fuzz.h"

#define HANDLES   3
#define STEPS_MAX 60
#define PATH      160
#define VARIANTS  4
#define FILES_MAX 2000

static const enum fuzz_save kinds[] = {
    FUZZ_REGION_TABLE, FUZZ_REGION_COLUMNS, FUZZ_BLOB, FUZZ_XML, FUZZ_BLOCK,
    FUZZ_VXR,          FUZZ_STREAM,         FUZZ_TER};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct open_file {
    struct tfs_handle *handle;
    uint64_t id;
    char path[PATH];
    bool writable;
    bool wrote; /* it shows what was written as it was written */
    bool dirty; /* and that was after a flush said 0 */
    bool own;   /* by this handle, whose flush is then a commit point */
};

static struct {
    unsigned index; /* into kinds */
    enum fuzz_save kind;
    char path[FUZZ_PATH];
    struct tfs_cursor in;
    struct open_file open[HANDLES];
    bool single;  /* the save is one file */
    bool outside; /* another program has written the save, */
    bool broken;  /* and last something that is none */
    bool against; /* edits stand against what it wrote */
    bool renamed; /* names were made, moved or removed: some may be away, or wait for others */
    struct tfs_save *disk;                    /* the save as it is now, opened anew, or NULL */
    struct tfs_buf before;                    /* bytes of the file */
    struct tfs_buf variants[KINDS][VARIANTS]; /* what the other program writes */
} w;

static unsigned choose(unsigned below)
{
    return tfs_take_u8(&w.in) % below;
}

/* ---- the disk -------------------------------------------------------------------------------- */

static void look_at_disk(void)
{
    const struct tfs_open_options options = {.lock = TFS_LOCK_NONE};
    struct tfs_error err = {0};

    tfs_save_close(w.disk);
    w.disk = NULL;
    int result = tfs_save_open(w.path, NULL, &options, &w.disk, &err);
    if (result < 0 && !w.broken) {
        fprintf(stderr, "the save cannot be opened: %s\n", err.text);
        abort();
    }
}

/* No names but the save, what lies beside it, and what could not be saved; `journal`: the save may
 * lack edits that are in one. */
static void check_directory(bool journal)
{
    DIR *dir = opendir(fuzz_save_dir());

    REQUIRE(dir != NULL);
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        REQUIRE(strstr(e->d_name, ".terrainfs-") == NULL ||
                (journal && strstr(e->d_name, ".terrainfs-journal") != NULL));
    closedir(dir);
}

static bool has_unsaved(void)
{
    DIR *dir = opendir(fuzz_save_dir());
    bool found = false;

    REQUIRE(dir != NULL);
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        found = found || strstr(e->d_name, ".unsaved-") != NULL ||
                strstr(e->d_name, ".rejected-") != NULL;
    closedir(dir);
    return found;
}

/* ---- files of the save ----------------------------------------------------------------------- */

static void path_of(const struct tfs_node *node, char path[PATH])
{
    struct tfs_buf text = {0};

    tfs_tree_path(w.disk, w.disk->doc, node, &text);
    REQUIRE(text.size < PATH);
    memcpy(path, text.data, text.size);
    path[text.size] = '\0';
    tfs_buf_release(&text);
}

static unsigned walk(const struct tfs_node *dir, unsigned index, struct tfs_node *found)
{
    struct tfs_node node;
    unsigned count = 0;
    size_t next;

    for (size_t i = 0;
         tfs_tree_entry(w.disk, w.disk->doc, dir, i, &next, &node) > 0 && count < FILES_MAX;
         i = next) {
        if (tfs_node_is_directory(&node))
            count += walk(&node, index >= count ? index - count : UINT32_MAX, found);
        else if (count++ == index)
            *found = node;
        if (found->file >= 0 && count > index)
            break;
    }
    return count;
}

/* Any file of the save on disk; false: the save cannot be read. */
static bool some_file(char path[PATH])
{
    const struct tfs_node root = TFS_NODE_ROOT;
    struct tfs_node found = TFS_NODE_ROOT;
    unsigned index = tfs_take_u8(&w.in);

    if (w.disk == NULL)
        return false;
    unsigned count = walk(&root, index, &found);
    if (found.file < 0)
        walk(&root, index % count, &found);
    REQUIRE(found.file >= 0);
    path_of(&found, path);
    return true;
}

static bool get_on_disk(const char *path, struct tfs_buf *text)
{
    struct tfs_node node;
    struct tfs_error err = {0};

    if (w.disk == NULL || tfs_tree_resolve(w.disk, w.disk->doc, path, true, &node) < 0 ||
        tfs_node_is_directory(&node))
        return false;
    REQUIRE(tfs_node_file(w.disk, &node)
                ->lens->get(w.disk, w.disk->doc, tfs_node_at(w.disk, &node), text, &err) == 0);
    return true;
}

/* ---- the session's view ---------------------------------------------------------------------- */

/* What the handle wrote is seen by its owner; without one, as the kernel reads for its pages, what
 * is accepted. */
enum reader { READ_FOR_PAGES, READ_BY_OWNER };

static int read_session(struct tfs_handle *handle, enum reader reader, struct tfs_buf *text)
{
    struct tfs_blob *hold = NULL;
    struct tfs_span bytes = {0};
    int result = tfs_session_read(session, handle, reader, 0, 1 << 24, &hold, &bytes);

    if (result >= 0)
        tfs_buf_add_span(text, bytes);
    tfs_blob_unref(hold);
    return result;
}

static bool is_written(const char *path)
{
    for (unsigned i = 0; i < HANDLES; i++)
        if (w.open[i].handle != NULL && w.open[i].wrote && strcmp(w.open[i].path, path) == 0)
            return true;
    return false;
}

static bool any_dirty(void)
{
    return w.open[0].dirty || w.open[1].dirty || w.open[2].dirty;
}

static void check_ids(const struct tfs_attr *attr, struct tfs_span text)
{
    for (unsigned i = 0; i < HANDLES; i++) {
        struct tfs_buf held = {0};
        if (w.open[i].handle == NULL || w.open[i].id != attr->id)
            continue;
        REQUIRE(read_session(w.open[i].handle, READ_FOR_PAGES, &held) == 0);
        REQUIRE(tfs_span_equal(tfs_buf_span(&held), text));
        tfs_buf_release(&held);
    }
}

static void check_file(const char *path)
{
    struct tfs_buf shown = {0}, stored = {0};
    struct tfs_handle *handle;
    struct tfs_attr attr;
    bool keep;
    int result = look(path, &attr);

    if (result < 0) {
        REQUIRE(result == -ENOENT && w.renamed);
        return;
    }
    REQUIRE(tfs_session_open_file(session, attr.id, O_RDONLY, &handle, &keep) == 0);
    REQUIRE(read_session(handle, READ_FOR_PAGES, &shown) == 0);
    tfs_session_release(session, handle);
    REQUIRE(attr.st.st_size == (off_t)shown.size);
    check_ids(&attr, tfs_buf_span(&shown));
    /* info.txt also tells what was found when the save was read. */
    if (!w.renamed && !is_written(path) && strcmp(path, "info.txt") != 0) {
        REQUIRE(get_on_disk(path, &stored));
        if (!tfs_span_equal(tfs_buf_span(&shown), tfs_buf_span(&stored))) {
            fprintf(stderr, "%s reads\n%.*s---- and on disk\n%.*s", path, (int)shown.size,
                    (const char *)shown.data, (int)stored.size, (const char *)stored.data);
            abort();
        }
    }
    tfs_buf_release(&shown);
    tfs_buf_release(&stored);
}

static void check_chunk(const struct tfs_node *dir)
{
    struct tfs_node node;
    size_t next;

    for (size_t i = 0; tfs_tree_entry(w.disk, w.disk->doc, dir, i, &next, &node) > 0; i = next) {
        char path[PATH];
        if (tfs_node_is_directory(&node)) {
            if (dir->scope == TFS_SCOPE_CHUNK)
                check_chunk(&node);
            continue;
        }
        path_of(&node, path);
        check_file(path);
    }
}

/* Until the worker has looked at the disk and done what closes left to it. */
static void settle(void)
{
    (void)tfs_session_look(session, 1);
}

/* The root's files, and those of one chunk. */
static void check_all(unsigned step)
{
    const struct tfs_node root = TFS_NODE_ROOT;

    settle();
    look_at_disk();
    check_directory(false);
    if (w.disk == NULL || w.broken || w.against)
        return;
    check_chunk(&root);
    if (w.disk->doc->count > 0) {
        const struct tfs_chunk *chunk = tfs_doc_at(w.disk->doc, step % w.disk->doc->count);
        const struct tfs_node node = {
            .scope = TFS_SCOPE_CHUNK, .key = chunk->key, .slot = chunk->slot, .file = -1};
        check_chunk(&node);
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void before_call(void)
{
    if (w.single)
        fuzz_save_read(w.path, &w.before);
}

/* What every call may answer, and that the save is as it was when it failed. */
static void after_call(int result)
{
    struct tfs_buf after = {0};

    REQUIRE(result != -ENOMEM && result != -ENOSPC && result != -EDEADLK && result != -ENOSYS);
    REQUIRE(result != -EIO || w.broken);
    if (result == -ESTALE && w.outside)
        w.against = true;
    if (result < 0 && w.single) {
        fuzz_save_read(w.path, &after);
        REQUIRE(tfs_span_equal(tfs_buf_span(&after), tfs_buf_span(&w.before)));
    }
    tfs_buf_release(&after);
}

static struct open_file *some_open(void)
{
    struct open_file *open = &w.open[choose(HANDLES)];

    return open->handle != NULL ? open : NULL;
}

static void written(struct open_file *open)
{
    open->wrote = open->dirty = open->own = true;
}

static void do_open(void)
{
    struct open_file *open = &w.open[choose(HANDLES)];
    unsigned flags = choose(4);
    struct tfs_attr attr;
    bool keep;

    if (open->handle != NULL || !some_file(open->path) || look(open->path, &attr) < 0)
        return;
    int mode = flags == 3 ? O_RDONLY : O_RDWR | (flags == 2 ? O_TRUNC : 0);
    int result = tfs_session_open_file(session, attr.id, mode, &open->handle, &keep);
    REQUIRE(result == 0 || result == -EACCES || result == -ESTALE || result == -EROFS ||
            (result == -EIO && w.broken));
    if (result < 0) {
        *open = (struct open_file){0};
        return;
    }
    open->id = attr.id;
    open->writable = flags != 3;
    if (flags == 2)
        written(open);
}

static int truncate_open(struct open_file *open, off_t size)
{
    struct stat values = {.st_size = size};
    struct answer a;

    answer_init(&a);
    tfs_session_setattr(session, open->id, open->handle, &values, TFS_SET_SIZE, REPLY(&a));
    return answer_wait(&a);
}

/* The text that is to be written: of the input, of this file, of another, or that with one byte
 * changed. */
static void some_text(const struct open_file *open, struct tfs_buf *text)
{
    char path[PATH];
    unsigned kind = choose(4);

    if (kind == 0) {
        size_t size = tfs_take_u16le(&w.in), left = tfs_cursor_left(&w.in);
        tfs_buf_add_span(text, tfs_take(&w.in, size < left ? size : left));
        return;
    }
    if (kind == 2 && some_file(path))
        get_on_disk(path, text);
    else
        get_on_disk(open->path, text);
    if (kind == 3 && text->size > 0) {
        uint16_t at = tfs_take_u16le(&w.in);
        text->data[at % text->size] = tfs_take_u8(&w.in);
    }
}

/* As `cp` and editors do. */
static void do_rewrite(void)
{
    struct open_file *open = some_open();
    struct tfs_buf text = {0};

    if (open == NULL || !open->writable)
        return;
    some_text(open, &text);
    before_call();
    int result = truncate_open(open, 0);
    after_call(result);
    if (result == 0) {
        result = tfs_session_write(session, open->handle, 1, 0, tfs_buf_span(&text), false);
        after_call(result);
        written(open);
    }
    tfs_buf_release(&text);
}

static void do_write_at(void)
{
    struct open_file *open = some_open();
    uint16_t at = tfs_take_u16le(&w.in);
    struct tfs_span text = tfs_take(&w.in, choose(8));

    if (open == NULL || !open->writable)
        return;
    before_call();
    int result = tfs_session_write(session, open->handle, 1, at, text, choose(8) == 0);
    after_call(result);
    if (result >= 0)
        written(open);
}

static void do_truncate(void)
{
    struct open_file *open = some_open();
    uint16_t size = tfs_take_u16le(&w.in);

    if (open == NULL || !open->writable)
        return;
    before_call();
    int result = truncate_open(open, size);
    after_call(result);
    if (result == 0)
        written(open);
}

/* Lines of the root's palette mean names by their place, and the names are sorted: the text said
 * once more would rename again. */
static bool is_names(const char *path)
{
    return w.kind <= FUZZ_REGION_COLUMNS && strcmp(path, "palette.txt") == 0;
}

/* Writing the text into the save as it is on disk now would be no edit: so it is there. */
static void check_saved(const struct open_file *open, struct tfs_span text)
{
    struct tfs_node node;
    struct tfs_edit edit;
    struct tfs_put put = {0};
    struct tfs_error err = {0};

    look_at_disk();
    if (w.disk == NULL || w.renamed || w.against || is_names(open->path) ||
        tfs_tree_resolve(w.disk, w.disk->doc, open->path, true, &node) < 0)
        return;
    const struct tfs_file *file = tfs_node_file(w.disk, &node);
    if (file->lens->put == NULL || node.scope == TFS_SCOPE_ROOT)
        return;
    REQUIRE(tfs_edit_open(w.disk->doc, &edit, &err) == 0);
    REQUIRE(file->lens->put(w.disk, &edit, tfs_node_at(w.disk, &node), text, &put, &err) == 0);
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    REQUIRE(doc->version == w.disk->doc->version);
    tfs_doc_unref(doc);
    tfs_edit_release(&edit);
}

static void do_flush(bool sync)
{
    struct open_file *open = some_open();
    struct tfs_buf text = {0};

    if (open == NULL)
        return;
    int held = read_session(open->handle, READ_BY_OWNER, &text);
    before_call();
    int result = sync ? sync_file(open->handle) : flush(open->handle);
    after_call(result);
    if (result == 0 && (open->own || (sync && open->dirty)) && held == 0)
        check_saved(open, tfs_buf_span(&text));
    if (result == 0 && (sync || open->own)) {
        for (unsigned i = 0; i < HANDLES; i++)
            if (strcmp(w.open[i].path, open->path) == 0)
                w.open[i].dirty = w.open[i].own = false;
    }
    tfs_buf_release(&text);
}

/* What it wrote stays as it is as long as another handle has the file open. */
static void do_release(struct open_file *open)
{
    if (open == NULL)
        return;
    const struct open_file closed = *open;
    tfs_session_release(session, open->handle);
    *open = (struct open_file){0};
    for (unsigned i = 0; i < HANDLES; i++) {
        struct open_file *other = &w.open[i];
        if (other->handle == NULL || other->id != closed.id)
            continue;
        other->wrote = other->wrote || closed.wrote;
        other->dirty = other->dirty || closed.dirty;
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *some_name(char path[PATH])
{
    static const char *const scratch[] = {"s0", "chunks/.s1", ".terrainfs/s2", "info.txt~"};

    if (choose(2) == 1 && some_file(path))
        return path;
    return strcpy(path, scratch[choose(4)]);
}

static void do_unlink(void)
{
    char path[PATH];
    struct tfs_attr attr;

    if (look(some_name(path), &attr) < 0 || S_ISDIR(attr.st.st_mode))
        return;
    before_call();
    int result = unlink_path(path);
    after_call(result);
    w.renamed = w.renamed || result == 0;
}

static void do_rename(void)
{
    char from[PATH], to[PATH];
    const char *name;

    some_name(from);
    some_name(to);
    if (parent_of(from, &name) == 0 || parent_of(to, &name) == 0)
        return;
    before_call();
    int result = rename_path(from, to);
    after_call(result);
    w.renamed = w.renamed || result == 0;
}

static void do_scratch(void)
{
    struct open_file *open = &w.open[choose(HANDLES)];
    char path[PATH];
    const char *name;
    struct tfs_attr attr;

    some_name(path);
    uint64_t parent = parent_of(path, &name);
    if (open->handle != NULL || parent == 0)
        return;
    before_call();
    int result =
        tfs_session_create(session, parent, name, 0644, 0, 0, O_RDWR, &open->handle, &attr);
    after_call(result);
    if (result < 0) {
        open->handle = NULL;
        return;
    }
    strcpy(open->path, path);
    open->id = attr.id;
    open->writable = w.renamed = true;
    written(open);
}

static void some_chunk(char path[PATH])
{
    int x = (int)choose(4) - 1, y = (int)choose(3), z = (int)choose(2);

    snprintf(path, PATH, "chunks/%d_%d_%d", x, y, z);
}

static void do_chunk(void)
{
    char from[PATH], to[PATH];
    struct tfs_attr attr;
    int result = 0;

    some_chunk(from);
    before_call();
    switch (choose(3)) {
    case 0:
        result = make_directory(from, &attr);
        break;
    case 1:
        result = look(from, &attr) == 0 ? remove_directory(from) : -ENOENT;
        break;
    default:
        some_chunk(to);
        result = look(from, &attr) == 0 ? rename_path(from, to) : -ENOENT;
    }
    after_call(result);
    w.renamed = w.renamed || result == 0;
}

static void do_sync_directory(void)
{
    char path[PATH];
    struct tfs_attr attr;

    some_chunk(path);
    if (look(path, &attr) < 0)
        strcpy(path, "chunks");
    before_call();
    after_call(sync_directory(path));
}

/* ---- another program ------------------------------------------------------------------------- */

/* The save after rmdir of its last chunk; of a format that has fixed ones, as it is. */
static void make_smaller(struct tfs_buf *out)
{
    const struct tfs_open_options options = {.lock = TFS_LOCK_EXCLUSIVE};
    struct tfs_error err = {0};
    struct tfs_edit edit;
    struct tfs_save *opened;

    REQUIRE(tfs_save_open(w.path, NULL, &options, &opened, &err) == 0);
    if (!tfs_chunks_are_fixed(opened) && opened->doc->count > 1) {
        REQUIRE(tfs_edit_open(opened->doc, &edit, &err) == 0);
        REQUIRE(tfs_edit_remove(&edit, tfs_doc_at(opened->doc, opened->doc->count - 1)->key,
                                &err) == 0);
        struct tfs_doc *doc = tfs_edit_finish(&edit);
        REQUIRE(opened->container->commit(opened, doc, &err) == 0);
        tfs_doc_unref(doc);
        tfs_edit_release(&edit);
    }
    tfs_save_close(opened);
    fuzz_save_read(w.path, out);
}

/* A save of the same game that is laid out otherwise. */
static void make_other(enum fuzz_save kind, struct tfs_buf *out)
{
    static const enum fuzz_save others[FUZZ_SAVES] = {[FUZZ_REGION_TABLE] = FUZZ_REGION_COLUMNS,
                                                      [FUZZ_REGION_COLUMNS] = FUZZ_REGION_TABLE,
                                                      [FUZZ_BLOB] = FUZZ_BLOB,
                                                      [FUZZ_XML] = FUZZ_XML,
                                                      [FUZZ_BLOCK] = FUZZ_OLD_BLOCK,
                                                      [FUZZ_TER] = FUZZ_CORNERS,
                                                      [FUZZ_VXR] = FUZZ_VXR};
    struct maker_bytes bytes = {0};
    char path[FUZZ_PATH];

    fuzz_save_clear(fuzz_save_dir());
    if (kind == FUZZ_BLOB) {
        place_grid(&bytes, &(struct place_world){.seed = 5, .chunks = 3, .log2 = 2});
    } else if (kind == FUZZ_XML) {
        place_xml(&bytes, &(struct place_file){.world = {.seed = 5, .chunks = 1, .log2 = 3}});
    } else if (kind == FUZZ_TER) {
        ter_make(&bytes, &(struct ter_world){7, TER_PLAIN, false, 9, 3, 2});
    } else {
        fuzz_save_make(others[kind], fuzz_save_dir(), path);
        fuzz_save_read(path, out);
    }
    if (bytes.size > 0)
        tfs_buf_add(out, bytes.data, bytes.size);
    maker_release(&bytes);
}

/* Made once for each kind: as it was, smaller, laid out otherwise, and cut. */
static void make_variants(unsigned kind)
{
    struct tfs_buf *v = w.variants[kind];

    if (v[0].size > 0)
        return;
    fuzz_save_clear(fuzz_save_dir());
    fuzz_save_make(kinds[kind], fuzz_save_dir(), w.path);
    fuzz_save_read(w.path, &v[0]);
    make_smaller(&v[1]);
    make_other(kinds[kind], &v[2]);
    tfs_buf_add(&v[3], v[0].data, v[0].size / 2);
}

static void do_outside(void)
{
    unsigned variant = choose(VARIANTS);
    char path[FUZZ_PATH + 8];

    if (!w.single)
        return;
    snprintf(path, sizeof(path), "%s.new", w.path);
    fuzz_save_write(path, tfs_buf_span(&w.variants[w.index][variant]));
    REQUIRE(rename(path, w.path) == 0);
    w.outside = true;
    w.against = w.against || any_dirty();
    w.broken = variant == 3;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void begin(void)
{
    const struct tfs_open_options open_options = {.lock = TFS_LOCK_EXCLUSIVE};
    (void)tfs_take_u8(&w.in);
    struct tfs_error err = {0};

    w.kind = kinds[w.index];
    w.single = w.kind != FUZZ_STREAM;
    if (w.single)
        make_variants(w.index);
    fuzz_save_clear(fuzz_save_dir());
    fuzz_save_make(w.kind, fuzz_save_dir(), w.path);
    REQUIRE(tfs_save_open(w.path, NULL, &open_options, &save, &err) == 0);
    const struct tfs_session_options options = {
        .linger_ms = 3600000, .scratch_limit = 1 << 26, .cache_limit = 1 << 16, .exit_fd = -1};
    const struct tfs_events events = {0};
    REQUIRE(tfs_session_open(save, &options, &events, &session, &err) == 0);
    look_at_disk();
}

static void end(void)
{
    for (unsigned i = 0; i < HANDLES; i++)
        if (w.open[i].handle != NULL)
            do_release(&w.open[i]);
    settle();
    before_call();
    int result = tfs_session_finish(session);
    REQUIRE(result == 0 || result == 3);
    tfs_session_close(session);
    REQUIRE(result == 0 || has_unsaved());
    look_at_disk();
    check_directory(result != 0);
    tfs_save_close(w.disk);
    w.disk = NULL;
    tfs_buf_release(&w.before);
}

static void do_flush_one(void)
{
    do_flush(false);
}

static void do_sync(void)
{
    do_flush(true);
}

static void do_close(void)
{
    do_release(some_open());
}

/* The first ones touch no more than what handles hold: the rest is looked at less often. */
static void (*const steps[])(void) = {
    do_open,      do_open,           do_rewrite, do_rewrite, do_write_at, do_truncate,
    do_flush_one, do_flush_one,      do_sync,    do_close,   do_unlink,   do_rename,
    do_scratch,   do_sync_directory, do_chunk,   do_outside,
};
#define QUIET_STEPS 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    w.in = tfs_cursor_init((struct tfs_span){data, size});
    w.outside = w.broken = w.against = w.renamed = false;
    w.index = choose(KINDS);
    begin();
    for (unsigned step = 0; tfs_cursor_left(&w.in) > 0 && step < STEPS_MAX; step++) {
        unsigned which = choose(sizeof(steps) / sizeof(steps[0]));
        steps[which]();
        if (which >= QUIET_STEPS || step % 8 == 0)
            check_all(step);
    }
    end();
    return 0;
}

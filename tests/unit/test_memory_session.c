/*
 * A session without memory, on saves of each game: whatever allocation fails, the call that needed
 * it says so or does without, a call that is made again succeeds, what was accepted is in the save,
 * and what was written is not lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "../lib/session_driver.h"
#include "../lib/small_saves.h"
#include "../memory/failing.h"
#include "../memory/sweep.h"
#include "scratch.h"

#define PATH (2 * PATH_MAX)

/* What is edited of a kind: a file, and what is said in it with a number. */
static const struct subject {
    const char *kind, *path, *text, *shows;
    const char *optional; /* a file that may be removed */
} subjects[] = {
    {"cosmic_7", "chunks/0_0_0/lights/sky.txt", "fill %u\n", NULL, "chunks/0_0_0/entities.bin"},
    {"cosmic_3", "chunks/0_0_0/lights/block.txt", "fill 00%u\n", NULL,
     "chunks/0_0_0/lights/sky.txt"},
    {"blob", "chunks/0_0_0/materials.txt", "fill %u\n", NULL, NULL},
    {"stream", "chunks/-50_-1_-50/channels/type.txt", "depth 16\nfill %u\n", NULL, NULL},
    {"folder", "chunks/0_0_0/channels/type.txt", "depth 16\nfill %u\n", NULL, NULL},
    {"ter", "chunks/0_0_0/heights.txt", "fill %u\n", NULL, NULL},
};
#define SUBJECTS ((int)(sizeof(subjects) / sizeof(subjects[0])))

static struct {
    const struct subject *subject;
    const struct small_save *kind;
    char path[PATH];
    char text[8][64];         /* what is written, by number */
    char dir[100], name[100]; /* of the subject's file */
    struct tfs_save *save;
    struct tfs_session *session;
    struct tfs_handle *handle;
    uint64_t parent, id;
    struct tfs_buf wanted, seen, other;
    unsigned step; /* the next one of the script */
    char said[4096];
} t;

static void on_message(void *arg, const char *line)
{
    (void)arg;
    if (strlen(t.said) + strlen(line) + 2 < sizeof(t.said))
        strcat(strcat(t.said, line), "\n");
}

static void invalidate(void *arg, uint64_t id)
{
    (void)arg;
    (void)id;
}

static void setup(void)
{
    scratch_setup_in_memory();
    tzset(); /* keeps what it reads */
    /* Nowhere but beside the save. */
    ck_assert_int_eq(setenv("XDG_STATE_HOME", "/dev/null/state", 1), 0);
}

static void teardown(void)
{
    tfs_buf_release(&t.wanted);
    tfs_buf_release(&t.seen);
    tfs_buf_release(&t.other);
    scratch_teardown();
}

/* ---- saves and sessions ---------------------------------------------------------------------- */

static void make(void)
{
    ck_assert_int_eq(nftw(scratch_dir, scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
    ck_assert_int_eq(mkdir(scratch_dir, 0755), 0);
    t.kind->make(t.path);
}

static void start(int number)
{
    const struct subject *subject = &subjects[number];
    const char *slash = strrchr(subject->path, '/');

    t.subject = subject;
    for (int i = 0; i < small_save_count; i++)
        if (strcmp(small_saves[i].name, subject->kind) == 0)
            t.kind = &small_saves[i];
    snprintf(t.path, sizeof(t.path), "%s", scratch_path(t.kind->file));
    snprintf(t.dir, sizeof(t.dir), "%.*s", (int)(slash - subject->path), subject->path);
    snprintf(t.name, sizeof(t.name), "%s", slash + 1);
    for (unsigned i = 0; i < 8; i++) {
        char number_text[12];
        const char *mark = strstr(subject->text, "%u");
        snprintf(number_text, sizeof(number_text), "%u", i + 1);
        snprintf(t.text[i], sizeof(t.text[i]), "%.*s%s%s", (int)(mark - subject->text),
                 subject->text, number_text, mark + 2);
    }
}

static void open_save(enum tfs_lock lock)
{
    const struct tfs_open_options options = {.lock = lock};
    struct tfs_error err = {0};

    ck_assert_msg(tfs_save_open(t.path, NULL, &options, &t.save, &err) == 0, "%s", err.text);
}

struct script {
    const char *name;
    int (*steps[16])(void);
    bool one;    /* only for saves that are one file */
    bool silent; /* no call fails when its text is refused */
};

static const struct script *script;

static int try_session(struct tfs_error *err)
{
    const struct tfs_session_options options = {
        .scratch_limit = 1 << 20, .cache_limit = 1 << 20, .linger_ms = 3600000, .exit_fd = -1};
    const struct tfs_events events = {.message = on_message, .invalidate = invalidate};

    return tfs_session_open(t.save, &options, &events, &t.session, err);
}

static void begin_session(void)
{
    struct tfs_error err = {0};

    make();
    open_save(TFS_LOCK_EXCLUSIVE);
    t.said[0] = '\0';
    t.step = 0;
    t.handle = NULL;
    ck_assert_int_eq(try_session(&err), 0);
}

static void add_files(const struct tfs_node *dir, struct tfs_buf *out)
{
    struct tfs_error err = {0};
    struct tfs_node node;
    size_t next;

    for (size_t i = 0; tfs_tree_entry(t.save, t.save->doc, dir, i, &next, &node) > 0; i = next) {
        tfs_tree_path(t.save, t.save->doc, &node, out);
        tfs_buf_u8(out, '\n');
        if (tfs_node_is_directory(&node))
            add_files(&node, out);
        else
            ck_assert_int_eq(
                tfs_node_file(t.save, &node)
                    ->lens->get(t.save, t.save->doc, tfs_node_at(t.save, &node), out, &err),
                0);
    }
}

/* What the save on disk shows, opened anew. */
static void show_save(struct tfs_buf *out)
{
    const struct tfs_node root = TFS_NODE_ROOT;

    tfs_buf_clear(out);
    open_save(TFS_LOCK_NONE);
    add_files(&root, out);
    tfs_save_close(t.save);
    ck_assert(!out->failed);
}

/* Names beside the save: what could not be saved would be there. */
static int beside(void)
{
    return scratch_count();
}

/* What another program makes of a save that is one file: its first edit. */
static void make_other(void)
{
    struct tfs_error err = {0};
    struct tfs_buf text = {0};
    struct tfs_edit edit;
    uint8_t part[4096];
    size_t n;

    tfs_buf_clear(&t.other);
    make();
    open_save(TFS_LOCK_EXCLUSIVE);
    small_edit_text(t.save, t.save->doc, &t.kind->edits[0], &text);
    ck_assert_int_eq(tfs_edit_open(t.save->doc, &edit, &err), 0);
    ck_assert_int_eq(small_edit_apply(t.save, &edit, &t.kind->edits[0], tfs_buf_span(&text), &err),
                     0);
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    ck_assert_int_eq(t.save->container->commit(t.save, doc, &err), 0);
    tfs_doc_unref(doc);
    tfs_edit_release(&edit);
    tfs_buf_release(&text);
    tfs_save_close(t.save);
    FILE *file = fopen(t.path, "rb");
    ck_assert_ptr_nonnull(file);
    while ((n = fread(part, 1, sizeof(part), file)) > 0)
        tfs_buf_add(&t.other, part, n);
    fclose(file);
    ck_assert_uint_gt(t.other.size, 0);
}

/* ---- steps: each may be made again when it failed -------------------------------------------- */

static int look_up(const char *path, struct tfs_attr *attr)
{
    char copy[200], *rest = copy, *name;

    snprintf(copy, sizeof(copy), "%s", path);
    *attr = (struct tfs_attr){.id = 1};
    while ((name = strsep(&rest, "/")) != NULL) {
        t.parent = attr->id;
        int result = tfs_session_lookup(t.session, t.parent, name, attr);
        if (result < 0)
            return result;
    }
    return 0;
}

/* Until the worker did what a close left to it. */
static int settle(void)
{
    return tfs_session_look(t.session, 1);
}

static int open_at(const char *path, int flags)
{
    struct tfs_attr attr;
    bool keep;
    /* As the front end does. */
    int result = tfs_session_current(t.session, 1) ? 0 : settle();

    if (result == 0)
        result = look_up(path, &attr);
    for (int i = 0; i < 2 && result == 0; i++) {
        t.id = attr.id;
        result = tfs_session_open_file(t.session, attr.id, flags, &t.handle, &keep);
        if (result != -ESTALE)
            break;
        result = look_up(path, &attr);
    }
    return result;
}

static int open_subject(void)
{
    return open_at(t.subject->path, O_WRONLY | O_TRUNC);
}

static int write_number(unsigned number)
{
    return tfs_session_write(t.session, t.handle, 1, 0, tfs_span_of(t.text[number]), false);
}

static int close_checked(void)
{
    struct answer a;

    answer_init(&a);
    tfs_session_flush(t.session, t.handle, 1, REPLY(&a));
    int result = answer_wait(&a);
    if (result == 0) {
        tfs_session_release(t.session, t.handle);
        t.handle = NULL;
    }
    return result;
}

static int sync_handle(void)
{
    struct answer a;

    answer_init(&a);
    tfs_session_fsync(t.session, t.handle, REPLY(&a));
    return answer_wait(&a);
}

static int release(void)
{
    tfs_session_release(t.session, t.handle);
    t.handle = NULL;
    return 0;
}

/* Does the file show what was accepted last? */
static int read_number(unsigned number)
{
    struct tfs_blob *hold = NULL;
    struct tfs_span bytes;
    struct tfs_handle *handle;
    struct tfs_attr attr;
    bool keep;
    int result = look_up(t.subject->path, &attr);

    if (result == 0)
        result = tfs_session_open_file(t.session, attr.id, O_RDONLY, &handle, &keep);
    if (result < 0)
        return result;
    result = tfs_session_read(t.session, handle, 0, 0, 1 << 20, &hold, &bytes);
    tfs_session_release(t.session, handle);
    if (result < 0)
        return result;
    /* The canonical text differs in its head only: it ends with the number. */
    const char *text = t.text[number];
    char last[16];
    snprintf(last, sizeof(last), " %u\n", number + 1);
    bool same =
        bytes.size >= strlen(text) && (memmem(bytes.data, bytes.size, text, strlen(text)) != NULL ||
                                       memmem(bytes.data, bytes.size, last, strlen(last)) != NULL);
    bool sized = (uint64_t)attr.st.st_size == bytes.size;
    tfs_blob_unref(hold);
    return same && sized ? 0 : -EBADMSG;
}

static int list_names(void)
{
    const char *const directories[] = {"chunks", t.dir};
    struct tfs_attr attr;
    int result = 0;

    for (unsigned i = 0; i < 2 && result == 0; i++) {
        result = look_up(directories[i], &attr);
        if (result == 0)
            result = tfs_session_getattr(t.session, attr.id, NULL, &attr);
    }
    return result;
}

static int create_at(const char *path)
{
    struct tfs_attr attr;
    int result = look_up(path, &attr);
    const char *name = strrchr(path, '/');

    if (result != -ENOENT)
        return result == 0 ? -EEXIST : result;
    /* t.parent is the last directory that was there. */
    return tfs_session_create(t.session, t.parent, name + 1, 0644, 0, 0, O_WRONLY | O_EXCL,
                              &t.handle, &attr);
}

static const char *beside_subject(const char *name)
{
    static char path[8][220];
    static unsigned turn;

    turn = (turn + 1) % 8;
    snprintf(path[turn], sizeof(path[0]), "%s/%s", t.dir, name);
    return path[turn];
}

static int create_new(void)
{
    return create_at(beside_subject("new.tmp"));
}

static int create_subject(void)
{
    return create_at(t.subject->path);
}

static int rename_to(const char *from, const char *to)
{
    struct tfs_attr attr;
    struct answer a;
    int result = look_up(t.dir, &attr);

    answer_init(&a);
    if (result < 0)
        return result;
    tfs_session_rename(t.session, attr.id, from, attr.id, to, false, REPLY(&a));
    return answer_wait(&a);
}

static int rename_onto(void)
{
    return rename_to("new.tmp", t.name);
}

static int rename_away(void)
{
    return rename_to(t.name, "backup~");
}

static int rename_backup(void)
{
    return rename_to("backup~", "backup.old");
}

static int unlink_name(const char *path)
{
    struct tfs_attr attr;
    int result = look_up(path, &attr);

    if (result < 0)
        return result;
    return tfs_session_unlink(t.session, t.parent, strrchr(path, '/') + 1);
}

static int unlink_backup(void)
{
    return unlink_name(beside_subject("backup.old"));
}

static int unlink_subject(void)
{
    return unlink_name(t.subject->path);
}

static int unlink_optional(void)
{
    return t.subject->optional == NULL ? 0 : unlink_name(t.subject->optional);
}

static int sync_optional(void)
{
    struct tfs_attr attr;
    struct answer a;
    char dir[100];

    if (t.subject->optional == NULL)
        return 0;
    snprintf(dir, sizeof(dir), "%.*s",
             (int)(strrchr(t.subject->optional, '/') - t.subject->optional), t.subject->optional);
    int result = look_up(dir, &attr);
    if (result < 0)
        return result;
    answer_init(&a);
    tfs_session_fsync_directory(t.session, attr.id, REPLY(&a));
    return answer_wait(&a);
}

static int make_link(void)
{
    struct tfs_attr attr;
    int result = look_up(t.dir, &attr);

    return result < 0 ? result
                      : tfs_session_symlink(t.session, attr.id, ".#lock", "me", 0, 0, &attr);
}

static int set_times(void)
{
    struct stat values = {.st_mtim = {.tv_sec = 1000}};
    struct tfs_attr attr;
    struct answer a;
    int result = look_up(t.subject->path, &attr);

    answer_init(&a);
    if (result < 0)
        return result;
    tfs_session_setattr(t.session, attr.id, NULL, &values, TFS_SET_MTIME, REPLY(&a));
    return answer_wait(&a);
}

static int chunk_call(bool made)
{
    struct tfs_attr attr;
    struct answer a;

    if (t.kind->to == NULL)
        return 0;
    int result = look_up("chunks", &attr);
    answer_init(&a);
    if (result < 0)
        return result;
    if (made)
        tfs_session_mkdir(t.session, attr.id, t.kind->to, 0755, 0, 0, REPLY(&a));
    else
        tfs_session_rmdir(t.session, attr.id, t.kind->to, REPLY(&a));
    return answer_wait(&a);
}

static int make_chunk(void)
{
    return chunk_call(true);
}

static int remove_chunk(void)
{
    return chunk_call(false);
}

/* A directory of a group, made or removed; where the format has groups. */
static int group_call(const char *path, bool made)
{
    struct tfs_attr attr;
    struct answer a;

    if (t.save->tree->group_dir == NULL || t.save->tree->fixed_groups)
        return 0;
    int result = look_up(path, &attr);
    answer_init(&a);
    if (result < 0 && result != -ENOENT)
        return result;
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    if (made)
        tfs_session_mkdir(t.session, t.parent, name, 0755, 0, 0, REPLY(&a));
    else
        tfs_session_rmdir(t.session, t.parent, name, REPLY(&a));
    return answer_wait(&a);
}

#define GROUP_CALLS(n, path)                                                                       \
    static int make_group_##n(void)                                                                \
    {                                                                                              \
        return group_call(path, true);                                                             \
    }                                                                                              \
    static int remove_group_##n(void)                                                              \
    {                                                                                              \
        return group_call(path, false);                                                            \
    }
GROUP_CALLS(0, "lods")
GROUP_CALLS(1, "lods/2")
GROUP_CALLS(2, "lods/2/chunks")
GROUP_CALLS(3, "lods/2/chunks/0_0_0")

static int move_chunk(void)
{
    struct tfs_attr attr;
    struct answer a;

    if (t.kind->to == NULL)
        return 0;
    int result = look_up("chunks", &attr);
    answer_init(&a);
    if (result < 0)
        return result;
    tfs_session_rename(t.session, attr.id, t.kind->from, attr.id, t.kind->to, false, REPLY(&a));
    return answer_wait(&a);
}

/* Another program's save takes the place of ours; without memory of its own. */
static int replace_save(void)
{
    char other[PATH + 10];

    snprintf(other, sizeof(other), "%s.other", t.path);
    int fd = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool good = fd >= 0 && write(fd, t.other.data, t.other.size) == (ssize_t)t.other.size &&
                close(fd) == 0 && rename(other, t.path) == 0;
    return good ? 0 : -EIO;
}

static int open_reader(void)
{
    return open_at(t.subject->path, O_RDONLY);
}

static int open_idle_writer(void)
{
    return open_at(t.subject->path, O_RDWR);
}

/* The handle keeps what it read. */
static int read_and_hold(void)
{
    struct tfs_blob *hold = NULL;
    struct tfs_span bytes;
    int result = tfs_session_read(t.session, t.handle, 1, 0, 1, &hold, &bytes);

    tfs_blob_unref(hold);
    return result;
}

#define WRITES(n)                                                                                  \
    static int write_##n(void)                                                                     \
    {                                                                                              \
        return write_number(n);                                                                    \
    }                                                                                              \
    static int read_##n(void)                                                                      \
    {                                                                                              \
        return read_number(n);                                                                     \
    }
WRITES(0)
WRITES(1)
WRITES(2)
WRITES(3)
WRITES(4)

/* ---- scripts --------------------------------------------------------------------------------- */

static const struct script scripts[] = {
    {.name = "write", .steps = {open_subject, write_0, close_checked, settle, read_0, list_names}},
    {.name = "sync", .steps = {open_subject, write_1, sync_handle, close_checked, read_1}},
    /* No flush: what a mapping writes, or a program that was killed. */
    {.name = "release", .steps = {open_subject, write_2, release, settle}, .silent = true},
    {.name = "rename",
     .steps = {create_new, write_3, close_checked, rename_onto, read_3, list_names}},
    {.name = "backup",
     .steps = {rename_away, create_subject, write_4, close_checked, rename_backup, read_4,
               unlink_backup}},
    {.name = "unlink", .steps = {unlink_subject, create_subject, write_1, close_checked, read_1}},
    {.name = "optional", .steps = {unlink_optional, sync_optional, list_names}},
    {.name = "chunk", .steps = {make_chunk, remove_chunk, move_chunk, list_names}},
    {.name = "group",
     .steps = {make_group_0, make_group_1, make_group_2, make_group_3, list_names, remove_group_3,
               remove_group_2, remove_group_1, remove_group_0, list_names}},
    {.name = "reload",
     .steps = {replace_save, settle, list_names, open_subject, write_0, close_checked, read_0},
     .one = true},
    {.name = "never released", .steps = {open_reader, open_idle_writer, read_and_hold}},
    {.name = "others",
     .steps = {make_link, set_times, open_subject, write_2, close_checked, set_times, read_2}},
};
#define SCRIPTS ((int)(sizeof(scripts) / sizeof(scripts[0])))

static int act_script(struct tfs_error *err)
{
    for (; script->steps[t.step] != NULL; t.step++) {
        int result = script->steps[t.step]();
        if (result < 0)
            return tfs_fail(err, result, "step %u", t.step);
    }
    return 0;
}

static void end_script(int result)
{
    struct tfs_error err = {0};

    (void)result;
    /* What was made, removed or moved, and could not be made durable, is so and waits. */
    const int again = act_script(&err);
    if (again == -EEXIST || again == -ENOENT) {
        tfs_error_reset(&err);
        t.step++;
    }
    ck_assert_msg(act_script(&err) == 0, "%s: step %u again: %d: %s", sweep_now(), t.step, err.code,
                  t.said);
    int unsaved = tfs_session_finish(t.session);
    /* One that could not be told of is left behind when memory comes back. */
    int names = (strcmp(t.kind->name, "ter") == 0 ? 2 : 1);
    tfs_session_close(t.session);
    if (script->silent && strstr(t.said, "out of memory") != NULL)
        return;
    ck_assert_msg(unsaved == 0 && beside() == names,
                  "%s: what could not be saved is another thing: %s", sweep_now(), t.said);
    show_save(&t.seen);
    ck_assert_msg(
        t.wanted.size == 0 || tfs_span_equal(tfs_buf_span(&t.seen), tfs_buf_span(&t.wanted)),
        "%s: the save says something else: %s", sweep_now(), t.said);
}

static void sweep_script(const struct script *which)
{
    struct tfs_error err = {0};

    script = which;
    if (which->one)
        make_other();
    tfs_buf_clear(&t.wanted);
    begin_session();
    ck_assert_msg(act_script(&err) == 0, "%s: %s %d: %s", which->name, err.text, err.code, t.said);
    end_script(0);
    tfs_buf_add_span(&t.wanted, tfs_buf_span(&t.seen));
    sweep(which->name, &(struct sweep){begin_session, act_script, end_script});
}

/* Subject and script number n of those that fit, as a number for both; SUBJECTS * SCRIPTS: there
 * are not so many. */
static int nth_pair(int n)
{
    int i = 0;

    for (; i < SUBJECTS * SCRIPTS; i++) {
        const char *kind = subjects[i / SCRIPTS].kind;
        const struct script *one = &scripts[i % SCRIPTS];
        bool unfit = strcmp(kind, "folder") == 0 && one->one;
        if (!unfit && n-- == 0)
            break;
    }
    return i;
}

static int count_pairs(void)
{
    int count = 0;

    while (nth_pair(count) < SUBJECTS * SCRIPTS)
        count++;
    return count;
}

START_TEST(call_without_memory_fails_and_succeeds_when_made_again)
{
    int pair = nth_pair(_i);

    start(pair / SCRIPTS);
    sweep_script(&scripts[pair % SCRIPTS]);
    sweep_tell(t.kind->name);
}
END_TEST

/* ---- beginning and end ----------------------------------------------------------------------- */

static void begin_open(void)
{
    make();
    open_save(TFS_LOCK_EXCLUSIVE);
}

static void end_open(int result)
{
    struct tfs_error err = {0};

    if (result < 0)
        ck_assert_int_eq(try_session(&err), 0);
    ck_assert_int_eq(tfs_session_finish(t.session), 0);
    tfs_session_close(t.session);
}

START_TEST(session_begins_or_says_that_there_is_no_memory)
{
    start(_i);
    script = &scripts[0];
    sweep("begin", &(struct sweep){begin_open, try_session, end_open});
    sweep_tell(t.kind->name);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("memory_session");
    TCase *c = unit_case(s, "session");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, in_full() ? 3600 : 100);
    tcase_add_loop_test(c, session_begins_or_says_that_there_is_no_memory, 0, SUBJECTS);
    tcase_add_loop_test(c, call_without_memory_fails_and_succeeds_when_made_again, 0,
                        count_pairs());
    return s;
}

UNIT_MAIN(suite)

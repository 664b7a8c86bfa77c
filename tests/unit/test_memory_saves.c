/*
 * Saves of each kind without memory: whatever allocation fails, opening, reading, editing, writing
 * and reading again say so, leave the save on disk and in memory as it was, lose nothing, and
 * succeed when there is memory again.
 */
#include <errno.h>
#include <stdlib.h>

#include "../lib/small_saves.h"
#include "../memory/sweep.h"
#include "scratch.h"

#define PATH (2 * PATH_MAX)

/* What all acts share. */
static struct {
    const struct small_save *kind;
    char path[PATH];
    struct tfs_save *save;
    struct tfs_doc *doc;        /* edited */
    struct tfs_buf out, text;   /* of an act; put by it */
    struct tfs_buf old, wanted; /* what there was, what there must be after success */
    struct tfs_buf seen;
    const struct small_edit *edit;
    struct tfs_node node;
    int (*change)(struct tfs_edit *edit, struct tfs_error *err);
} t;

static void teardown(void)
{
    struct tfs_buf *const bufs[] = {&t.out, &t.text, &t.old, &t.wanted, &t.seen};

    for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++)
        tfs_buf_release(bufs[i]);
    scratch_teardown();
}

/* ---- saves ----------------------------------------------------------------------------------- */

/* The files of the scratch directory, afresh. */
static void make(void)
{
    ck_assert_int_eq(nftw(scratch_dir, scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
    ck_assert_int_eq(mkdir(scratch_dir, 0755), 0);
    t.kind->make(t.path);
}

static void start_with(const struct small_save *kind)
{
    t.kind = kind;
    snprintf(t.path, sizeof(t.path), "%s", scratch_path(t.kind->file));
    make();
}

static void start(int kind)
{
    start_with(&small_saves[kind]);
}

/* Of the kinds that a test is about. */
static const struct small_save *nth_kind(bool (*is_about)(const struct small_save *), int n)
{
    int i = 0;

    while (i < small_save_count && (!is_about(&small_saves[i]) || n-- > 0))
        i++;
    return i < small_save_count ? &small_saves[i] : NULL;
}

static int count_kinds(bool (*is_about)(const struct small_save *))
{
    int count = 0;

    while (nth_kind(is_about, count) != NULL)
        count++;
    return count;
}

static int try_open(struct tfs_error *err)
{
    const struct tfs_open_options options = {.lock = TFS_LOCK_EXCLUSIVE};

    return tfs_save_open(t.path, NULL, &options, &t.save, err);
}

static void must_open(void)
{
    struct tfs_error err = {0};

    ck_assert_msg(try_open(&err) == 0, "%s", err.text);
}

static void shut(void)
{
    tfs_doc_unref(t.doc);
    t.doc = NULL;
    tfs_save_close(t.save);
    t.save = NULL;
}

/* All files below a directory of the tree: names, and what they show. */
static void add_files(const struct tfs_doc *doc, const struct tfs_node *dir, struct tfs_buf *out)
{
    struct tfs_error err = {0};
    struct tfs_node node;
    size_t next;

    for (size_t i = 0; tfs_tree_entry(t.save, doc, dir, i, &next, &node) > 0; i = next) {
        tfs_tree_path(t.save, doc, &node, out);
        tfs_buf_u8(out, '\n');
        if (tfs_node_is_directory(&node))
            add_files(doc, &node, out);
        else
            ck_assert_msg(
                tfs_node_file(t.save, &node)
                        ->lens->get(t.save, doc, tfs_node_at(t.save, &node), out, &err) == 0,
                "%s", err.text);
    }
}

static void show(const struct tfs_doc *doc, struct tfs_buf *out)
{
    const struct tfs_node root = TFS_NODE_ROOT;

    tfs_buf_clear(out);
    add_files(doc, &root, out);
    ck_assert(!out->failed);
}

static void show_disk(struct tfs_buf *out)
{
    tfs_buf_clear(out);
    small_save_bytes(scratch_dir, out);
    ck_assert(!out->failed);
}

static bool same(const struct tfs_buf *a, const struct tfs_buf *b)
{
    return tfs_span_equal(tfs_buf_span(a), tfs_buf_span(b));
}

/* Says where two listings differ. */
static const char *difference(const struct tfs_buf *a, const struct tfs_buf *b)
{
    static char text[200];
    size_t at = 0;

    while (at < a->size && at < b->size && a->data[at] == b->data[at])
        at++;
    size_t from = at > 30 ? at - 30 : 0;
    snprintf(text, sizeof(text), "%zu: %.80s | %.80s", at, (const char *)a->data + from,
             (const char *)b->data + from);
    return text;
}

#define SAME(a, b, what)                                                                           \
    ck_assert_msg(same(a, b), "%s: %s: %s", sweep_now(), what, difference(a, b))

/* ---- opening --------------------------------------------------------------------------------- */

static void begin_open(void)
{
}

static void end_open(int result)
{
    if (result < 0)
        must_open();
    show(t.save->doc, &t.seen);
    shut();
    SAME(&t.seen, &t.wanted, "it opened, and shows something else");
}

START_TEST(save_opens_or_says_that_there_is_no_memory)
{
    start(_i);
    must_open();
    show(t.save->doc, &t.wanted);
    shut();
    sweep("open", &(struct sweep){begin_open, try_open, end_open});
    sweep_tell(t.kind->name);
}
END_TEST

/* ---- reading --------------------------------------------------------------------------------- */

static int act_get(struct tfs_error *err)
{
    int result = tfs_node_file(t.save, &t.node)
                     ->lens->get(t.save, t.save->doc, tfs_node_at(t.save, &t.node), &t.out, err);

    return result == 0 ? tfs_buf_check(&t.out, err) : result;
}

static void end_get(int result)
{
    struct tfs_error err = {0};

    if (result < 0) {
        tfs_buf_release(&t.out);
        ck_assert_msg(act_get(&err) == 0, "%s", err.text);
    }
    SAME(&t.out, &t.wanted, "it reads otherwise");
    tfs_buf_release(&t.out);
    shut();
}

static void sweep_get(const struct tfs_node *node)
{
    const struct sweep acts = {must_open, act_get, end_get};
    struct tfs_buf path = {0};
    struct tfs_error err = {0};

    t.node = *node;
    must_open();
    tfs_tree_path(t.save, t.save->doc, node, &path);
    tfs_buf_u8(&path, 0);
    ck_assert_int_eq(act_get(&err), 0);
    tfs_buf_clear(&t.wanted);
    tfs_buf_add_span(&t.wanted, tfs_buf_span(&t.out));
    tfs_buf_release(&t.out);
    shut();
    sweep((const char *)path.data, &acts);
    tfs_buf_release(&path);
}

/* All files of the tree, collected before the save is opened anew for each. */
static size_t collect(const struct tfs_node *dir, struct tfs_node *nodes, size_t count, size_t max)
{
    struct tfs_node node;
    size_t next;

    for (size_t i = 0; tfs_tree_entry(t.save, t.save->doc, dir, i, &next, &node) > 0; i = next) {
        if (tfs_node_is_directory(&node))
            count = collect(&node, nodes, count, max);
        else if (count < max)
            nodes[count++] = node;
    }
    return count;
}

START_TEST(file_is_read_or_says_that_there_is_no_memory)
{
    const struct tfs_node root = TFS_NODE_ROOT;
    struct tfs_node nodes[60];

    start(_i);
    must_open();
    size_t count = collect(&root, nodes, 0, sizeof(nodes) / sizeof(nodes[0]));
    shut();
    for (size_t i = 0; i < count; i++)
        sweep_get(&nodes[i]);
    sweep_tell(t.kind->name);
}
END_TEST

/* ---- editing --------------------------------------------------------------------------------- */

static int by_text(struct tfs_edit *edit, struct tfs_error *err)
{
    return small_edit_apply(t.save, edit, t.edit, tfs_buf_span(&t.text), err);
}

static struct tfs_key key_of(const char *name)
{
    struct tfs_key key = {0};

    tfs_chunk_name_parse(name, &key);
    return key;
}

static int by_making(struct tfs_edit *edit, struct tfs_error *err)
{
    return tfs_chunk_create(t.save, edit, key_of(t.kind->to), err);
}

static int by_moving(struct tfs_edit *edit, struct tfs_error *err)
{
    return tfs_chunk_move(t.save, edit, key_of(t.kind->from), key_of(t.kind->to), err);
}

static int by_removing(struct tfs_edit *edit, struct tfs_error *err)
{
    return tfs_chunk_remove(t.save, edit, key_of(t.kind->from), err);
}

static int act_edit(struct tfs_error *err)
{
    struct tfs_edit edit;
    int result = tfs_edit_open(t.save->doc, &edit, err);

    if (result < 0)
        return result;
    result = t.change(&edit, err);
    if (result == 0)
        t.doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return result;
}

static void must_edit(void)
{
    struct tfs_error err = {0};

    ck_assert_msg(act_edit(&err) == 0, "%s", err.text);
    ck_assert(t.doc != t.save->doc);
}

static void end_edit(int result)
{
    if (result < 0) {
        show(t.save->doc, &t.seen);
        SAME(&t.seen, &t.old, "a failed edit changed something");
        must_edit();
    }
    show(t.doc, &t.seen);
    shut();
    SAME(&t.seen, &t.wanted, "the edit did something else");
}

/* ---- writing --------------------------------------------------------------------------------- */

static void begin_commit(void)
{
    make();
    must_open();
    must_edit();
}

static int act_commit(struct tfs_error *err)
{
    return t.save->container->commit(t.save, t.doc, err);
}

static bool several_files(void)
{
    return strstr(t.kind->name, "folder") != NULL || strncmp(t.kind->name, "ter", 3) == 0;
}

static void end_commit(int result)
{
    struct tfs_error err = {0};

    if (result < 0) {
        show_disk(&t.seen);
        /* Of several files some may be new and others old; what they show then is all there. */
        if (several_files())
            show(t.save->doc, &t.seen);
        else if (!same(&t.seen, &t.old))
            SAME(&t.seen, &t.wanted, "a failed commit left something else");
        ck_assert_msg(act_commit(&err) == 0, "no commit after a failed one: %s", err.text);
    }
    shut();
    show_disk(&t.seen);
    SAME(&t.seen, &t.wanted, "the commit wrote something else");
}

/* The change without memory, and then the commit. */
static void sweep_change(const char *what, int (*change)(struct tfs_edit *, struct tfs_error *))
{
    char commit[200];

    t.change = change;
    make();
    must_open();
    show(t.save->doc, &t.old);
    if (t.edit != NULL) {
        tfs_buf_clear(&t.text);
        small_edit_text(t.save, t.save->doc, t.edit, &t.text);
    }
    must_edit();
    show(t.doc, &t.wanted);
    shut();
    sweep(what, &(struct sweep){must_open, act_edit, end_edit});
    show_disk(&t.old);
    begin_commit();
    struct tfs_error err = {0};
    ck_assert_msg(act_commit(&err) == 0, "%s", err.text);
    shut();
    show_disk(&t.wanted);
    snprintf(commit, sizeof(commit), "%s, commit", what);
    sweep(commit, &(struct sweep){begin_commit, act_commit, end_commit});
}

/* Does the edit change something? Not every kind has every file. */
static bool applies(void)
{
    struct tfs_error err = {0};
    struct tfs_node node;

    t.change = by_text;
    must_open();
    bool good = small_save_find(t.save, t.save->doc, t.edit->path, &node) == 0 &&
                (t.edit->change == SMALL_TEXT || tfs_node_exists(t.save, t.save->doc, &node));
    if (good) {
        tfs_buf_clear(&t.text);
        small_edit_text(t.save, t.save->doc, t.edit, &t.text);
        good = act_edit(&err) == 0 && t.doc != t.save->doc;
    }
    shut();
    return good;
}

START_TEST(edit_is_made_and_written_or_nothing_is)
{
    unsigned swept = 0;

    start(_i);
    for (unsigned i = 0; i < SMALL_EDITS && t.kind->edits[i].path != NULL; i++) {
        t.edit = &t.kind->edits[i];
        make();
        if (!applies())
            continue;
        sweep_change(t.edit->path, by_text);
        swept++;
    }
    ck_assert_uint_ge(swept, 3);
    sweep_tell(t.kind->name);
}
END_TEST

static bool has_free_places(const struct small_save *kind)
{
    return kind->to != NULL;
}

START_TEST(chunk_is_made_moved_or_removed_or_nothing_is)
{
    start_with(nth_kind(has_free_places, _i));
    t.edit = NULL;
    sweep_change("mkdir", by_making);
    sweep_change("mv", by_moving);
    sweep_change("rmdir", by_removing);
    sweep_tell(t.kind->name);
}
END_TEST

/* ---- reading again --------------------------------------------------------------------------- */

/* Another program's save takes the place of ours. */
static void begin_reload(void)
{
    char other[PATH + 10];

    make();
    must_open();
    tfs_buf_clear(&t.seen);
    snprintf(other, sizeof(other), "%s.other", t.path);
    FILE *file = fopen(other, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(t.text.data, 1, t.text.size, file), t.text.size);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(rename(other, t.path), 0);
}

static int act_reload(struct tfs_error *err)
{
    return t.save->container->reload(t.save, err);
}

static void end_reload(int result)
{
    struct tfs_error err = {0};

    if (result < 0) {
        show(t.save->doc, &t.seen);
        SAME(&t.seen, &t.old, "a failed reload changed what is shown");
        ck_assert_int_eq(t.save->container->changed(t.save, NULL, &err), 1);
        ck_assert_msg(act_reload(&err) == 0, "no reload after a failed one: %s", err.text);
    }
    ck_assert_int_eq(t.save->container->changed(t.save, NULL, &err), 0);
    show(t.save->doc, &t.seen);
    shut();
    SAME(&t.seen, &t.wanted, "something else was read");
}

/* The bytes of the save with its first edit, in t.text; what it showed before and then. */
static void make_other(void)
{
    struct tfs_error err = {0};
    FILE *file;
    uint8_t part[4096];
    size_t n;

    t.edit = &t.kind->edits[0];
    t.change = by_text;
    must_open();
    small_edit_text(t.save, t.save->doc, t.edit, &t.text);
    show(t.save->doc, &t.old);
    must_edit();
    show(t.doc, &t.wanted);
    ck_assert_int_eq(act_commit(&err), 0);
    shut();
    tfs_buf_clear(&t.text);
    ck_assert_ptr_nonnull(file = fopen(t.path, "rb"));
    while ((n = fread(part, 1, sizeof(part), file)) > 0)
        tfs_buf_add(&t.text, part, n);
    fclose(file);
}

/* A folder is not replaced by one rename. */
static bool is_one_file(const struct small_save *kind)
{
    return kind->parts[0] == NULL || strcmp(kind->parts[0], kind->file) == 0;
}

START_TEST(save_of_another_program_is_read_or_ours_is_kept)
{
    start_with(nth_kind(is_one_file, _i));
    make_other();
    sweep("reload", &(struct sweep){begin_reload, act_reload, end_reload});
    sweep_tell(t.kind->name);
}
END_TEST

/* ---- upgrading ------------------------------------------------------------------------------- */

static void count_refused(void *arg, const struct tfs_chunk *chunk, const char *why)
{
    (void)chunk;
    ck_assert_ptr_nonnull(why);
    ++*(int *)arg;
}

static int by_upgrading(struct tfs_edit *edit, struct tfs_error *err)
{
    size_t count = 0;
    int refused = 0;
    int result = t.save->tree->upgrade(t.save, edit, count_refused, &refused, &count, err);

    return result == 0 && refused > 0 ? tfs_fail(err, -EBADMSG, "a chunk was left out") : result;
}

/* The others are as new as can be. */
static bool is_old(const struct small_save *kind)
{
    return strcmp(kind->name, "block_2") == 0;
}

START_TEST(save_is_upgraded_or_nothing_is)
{
    start_with(nth_kind(is_old, _i));
    t.edit = NULL;
    sweep_change("upgrade", by_upgrading);
    sweep_tell(t.kind->name);
}
END_TEST

START_TEST(every_test_is_about_some_kind)
{
    ck_assert_int_ge(count_kinds(has_free_places), 5);
    ck_assert_int_ge(count_kinds(is_one_file), 10);
    ck_assert_int_eq(count_kinds(is_old), 1);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("memory_saves");
    TCase *c = unit_case(s, "saves");

    tcase_add_checked_fixture(c, scratch_setup_in_memory, teardown);
    tcase_set_timeout(c, in_full() ? 3600 : 100);
    tcase_add_loop_test(c, save_opens_or_says_that_there_is_no_memory, 0, small_save_count);
    tcase_add_loop_test(c, file_is_read_or_says_that_there_is_no_memory, 0, small_save_count);
    tcase_add_loop_test(c, edit_is_made_and_written_or_nothing_is, 0, small_save_count);
    tcase_add_loop_test(c, chunk_is_made_moved_or_removed_or_nothing_is, 0,
                        count_kinds(has_free_places));
    tcase_add_loop_test(c, save_of_another_program_is_read_or_ours_is_kept, 0,
                        count_kinds(is_one_file));
    tcase_add_loop_test(c, save_is_upgraded_or_nothing_is, 0, count_kinds(is_old));
    tcase_add_test(c, every_test_is_about_some_kind);
    return s;
}

UNIT_MAIN(suite)

/* formats/save: which container gets a save, and what is said when none does. */
#include <errno.h>

#include "formats/format.h"
#include "scratch.h"

static struct tfs_error err;

static const struct tfs_tree tree;

/* ---- toy formats: each bids by the first letter of the content or the name ------------------- */

static int opened, closed;
static char opened_path[PATH_MAX], opened_name[PATH_MAX];
static uint64_t opened_limit;
static size_t head_size;

static int bid_if(const struct tfs_probe *probe, char letter, int bid)
{
    head_size = probe->head.size;
    ck_assert_str_eq(strrchr(probe->path, '/') + 1, probe->name);
    ck_assert_int_ge(probe->fd, 0);
    return probe->head.size > 0 && probe->head.data[0] == letter ? bid : TFS_BID_NONE;
}

static int probe_apple(const struct tfs_probe *probe)
{
    return bid_if(probe, 'a', TFS_BID_CERTAIN);
}

static int probe_low(const struct tfs_probe *probe)
{
    return probe->head.size > 0 && probe->head.data[0] < 'm' ? TFS_BID_LOW : TFS_BID_NONE;
}

static int probe_pear(const struct tfs_probe *probe)
{
    return bid_if(probe, 'p', TFS_BID_FULL);
}

static int probe_folder(const struct tfs_probe *probe)
{
    return S_ISDIR(probe->st.st_mode) && probe->head.size == 0 &&
                   faccessat(probe->fd, "meta", F_OK, 0) == 0
               ? TFS_BID_CERTAIN
               : TFS_BID_NONE;
}

static int toy_open(struct tfs_save *save, struct tfs_error *e)
{
    if (strcmp(save->name, "bad") == 0)
        return tfs_fail(e, -EBADMSG, "offset 1: is bad");
    opened++;
    snprintf(opened_path, sizeof(opened_path), "%s", save->path);
    snprintf(opened_name, sizeof(opened_name), "%s", save->name);
    opened_limit = save->options.inflate_limit;
    ck_assert_ptr_eq(save->tree, &tree);
    struct tfs_facts *facts = NULL;
    if (tfs_facts_create(0, &facts, e) == 0)
        tfs_doc_create(facts, &save->doc, e);
    tfs_facts_unref(facts);
    return e->code;
}

static void toy_close(struct tfs_save *save)
{
    ck_assert_ptr_nonnull(save->doc);
    closed++;
}

/* Its own number says what becomes of it: 0 it cannot be read, 1 it has bytes, 2 it has none. */
static size_t toy_fetch(struct tfs_save *save, struct tfs_chunk *chunks, size_t count,
                        struct tfs_error *e)
{
    (void)save;
    (void)count;
    ck_assert_ptr_null(chunks->extra);
    if (chunks->own == 0)
        return (void)tfs_fail(e, -EIO, "cannot be read"), 0;
    if (chunks->own == 1)
        tfs_blob_copy(tfs_span_of("fetched"), &chunks->blob, e);
    chunks->flags &= ~(uint32_t)TFS_CHUNK_UNREAD_ALL;
    return 1;
}

#define TOY(format_, name_, probe_, fetch_)                                                        \
    {                                                                                              \
        .format = format_, .name = name_, .tree = &tree, .probe = probe_, .open = toy_open,        \
        .fetch = fetch_, .close = toy_close                                                        \
    }

static const struct tfs_container apple_file = TOY("apple", "apple file", probe_apple, NULL);
static const struct tfs_container apple_low = TOY("apple", "apple bag", probe_low, NULL);
static const struct tfs_container pear_file = TOY("pear", "pear file", probe_pear, toy_fetch);
static const struct tfs_container quince_file = TOY("quince", "quince file", probe_pear, NULL);
static const struct tfs_container folder = TOY("folder", "folder", probe_folder, NULL);

/* Instead of those of the program: the linker takes no other when there is this one. */
const struct tfs_container *const tfs_containers[] = {&apple_file,  &apple_low, &pear_file,
                                                      &quince_file, &folder,    NULL};
const struct tfs_ending tfs_endings[] = {{NULL, NULL}};

/* ---- opening --------------------------------------------------------------------------------- */

/* Opens the path; the container's name, or NULL when it is refused. */
static const char *name_of(const char *path, const char *format)
{
    const struct tfs_open_options options = {.lock = TFS_LOCK_NONE};
    struct tfs_save *save = NULL;

    tfs_error_reset(&err);
    opened = closed = 0;
    int code = tfs_save_open(path, format, &options, &save, &err);
    ck_assert_int_eq(code, err.code);
    if (code < 0) {
        ck_assert_ptr_null(save);
        ck_assert_int_eq(closed, 0);
        return NULL;
    }
    const char *name = save->container->name;
    tfs_save_close(save);
    ck_assert_int_eq(opened, 1);
    ck_assert_int_eq(closed, 1);
    return name;
}

START_TEST(save_goes_to_the_container_that_bids_most)
{
    const struct {
        const char *content, *format, *name;
    } cases[] = {
        {"a", NULL, "apple file"},  {"b", NULL, "apple bag"},       {"a", "apple", "apple file"},
        {"p", "pear", "pear file"}, {"p", "quince", "quince file"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        scratch_write("save", cases[i].content);
        const char *name = name_of(scratch_path("save"), cases[i].format);
        ck_assert_msg(name != NULL, "%zu: %s", i, err.text);
        ck_assert_str_eq(name, cases[i].name);
    }
}
END_TEST

START_TEST(save_that_no_container_takes_is_refused_with_a_sentence)
{
    const struct {
        const char *name, *content, *format;
        int code;
        const char *sentence;
    } cases[] = {
        {"x.dat", "z", NULL, -EBADMSG,
         "is a file that no format fits: it is damaged, or no save (known formats: apple, pear, "
         "quince, folder)"},
        {"x.pear", "", "pear", -EBADMSG,
         "is a file that no format fits: it is damaged, or no save (known formats: apple, pear, "
         "quince, folder)"},
        {"x.pear", "version https://git-lfs.github.com/spec/v1\n", NULL, -EBADMSG,
         "is a Git LFS pointer, the save itself is not here: git lfs pull brings it"},
        {"x.dat", "a", "plum", -EINVAL,
         "there is no format plum (known formats: apple, pear, quince, folder)"},
        {"x.dat", "p", NULL, -EINVAL,
         "fits two formats equally well, pear (pear file) and quince (quince file): -o "
         "format=NAME decides"},
        {"bad", "a", NULL, -EBADMSG, "offset 1: is bad"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        scratch_write(cases[i].name, cases[i].content);
        ck_assert_ptr_null(name_of(scratch_path(cases[i].name), cases[i].format));
        ck_assert_int_eq(err.code, cases[i].code);
        ck_assert_str_eq(err.text, cases[i].sentence);
    }
}
END_TEST

START_TEST(save_path_is_resolved)
{
    ck_assert_int_eq(mkdir(scratch_path("real"), 0700), 0);
    scratch_write("real/save", "a");
    ck_assert_int_eq(symlink("real", scratch_path("dir")), 0);
    ck_assert_int_eq(symlink("dir/save", scratch_path("link")), 0);
    ck_assert_int_eq(chdir(scratch_dir), 0);
    ck_assert_ptr_nonnull(name_of("./dir/../link", NULL));
    ck_assert_str_eq(opened_path, scratch_path("real/save"));
    ck_assert_str_eq(opened_name, "save");
    ck_assert_uint_eq(opened_limit, TFS_INFLATE_LIMIT);
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

START_TEST(save_may_be_a_folder)
{
    ck_assert_int_eq(mkdir(scratch_path("world"), 0700), 0);
    ck_assert_ptr_null(name_of(scratch_path("world"), NULL));
    ck_assert_str_eq(err.text, "is a folder that no format fits: it is damaged, or no save (known "
                               "formats: apple, pear, quince, folder)");
    scratch_write("world/meta", "");
    ck_assert_str_eq(name_of(scratch_path("world/"), NULL), "folder");
}
END_TEST

START_TEST(save_that_is_no_file_is_refused)
{
    ck_assert_int_eq(mkfifo(scratch_path("fifo"), 0600), 0);
    ck_assert_ptr_null(name_of(scratch_path("fifo"), NULL));
    ck_assert_int_eq(err.code, -EINVAL);
    ck_assert_ptr_null(name_of("/dev/null", NULL));
    ck_assert_int_eq(err.code, -EINVAL);
    ck_assert_ptr_null(name_of(scratch_path("missing"), NULL));
    ck_assert_int_eq(err.code, -ENOENT);
    tfs_save_close(NULL);
}
END_TEST

START_TEST(save_probe_sees_the_first_bytes_and_no_more)
{
    char text[TFS_PROBE_HEAD * 2 + 1];

    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    scratch_write("save", text);
    ck_assert_str_eq(name_of(scratch_path("save"), NULL), "apple file");
    ck_assert_uint_eq(head_size, TFS_PROBE_HEAD);
}
END_TEST

/* ---- chunks and read-only -------------------------------------------------------------------- */

START_TEST(save_chunk_is_held_or_fetched)
{
    struct tfs_save save = {.container = &pear_file};
    struct tfs_blob *held = NULL, *blob = NULL;
    struct tfs_chunk chunk = {.own = 1, .flags = TFS_CHUNK_UNREAD};

    ck_assert_int_eq(tfs_chunk_load(&save, &chunk, &blob, &err), 0);
    ck_assert(tfs_span_equal(tfs_blob_span(blob), tfs_span_of("fetched")));
    tfs_blob_unref(blob);
    chunk.own = 0;
    ck_assert_int_eq(tfs_chunk_load(&save, &chunk, &blob, &err), -EIO);
    tfs_error_reset(&err);
    chunk.own = 2;
    ck_assert_int_eq(tfs_chunk_load(&save, &chunk, &blob, &err), -ENOENT);
    tfs_error_reset(&err);

    ck_assert_int_eq(tfs_blob_copy(tfs_span_of("held"), &held, &err), 0);
    chunk = (struct tfs_chunk){.blob = held};
    ck_assert_int_eq(tfs_chunk_load(&save, &chunk, &blob, &err), 0);
    ck_assert_ptr_eq(blob, held);
    tfs_blob_unref(blob);
    tfs_blob_unref(held);
}
END_TEST

START_TEST(save_fetches_what_chunks_do_not_hold)
{
    struct tfs_save save = {.container = &pear_file};
    struct tfs_blob *held = NULL;

    ck_assert_int_eq(tfs_blob_copy(tfs_span_of("held"), &held, &err), 0);
    struct tfs_chunk chunks[] = {{.blob = held},
                                 {.own = 1, .flags = TFS_CHUNK_UNREAD},
                                 {.own = 0, .flags = TFS_CHUNK_UNREAD},
                                 {.blob = held}};
    ck_assert_uint_eq(tfs_chunks_fetch(&save, chunks, 4, &err), 2);
    ck_assert_int_eq(err.code, 0);
    ck_assert_uint_eq(chunks[1].flags, 0);
    ck_assert(tfs_span_equal(tfs_blob_span(chunks[1].blob), tfs_span_of("fetched")));
    ck_assert_uint_eq(tfs_chunks_fetch(&save, chunks + 2, 2, &err), 0);
    ck_assert_int_eq(err.code, -EIO);
    ck_assert_uint_eq(tfs_chunks_fetch(&save, chunks + 3, 1, &err), 1);
    ck_assert_uint_eq(tfs_chunks_fetch(&save, chunks, 0, &err), 0);
    tfs_blob_unref(chunks[1].blob);
    tfs_blob_unref(held);
}
END_TEST

static void close_nothing(struct tfs_save *save)
{
    (void)save;
}

/* A thread may be reading the sentence while a reload sets another. */
START_TEST(save_keeps_the_reasons_for_having_been_read_only)
{
    static const struct tfs_container plain = {.close = close_nothing};
    struct tfs_save *save = calloc(1, sizeof(*save));
    struct tfs_error unknown = {0}, damaged = {0}, none = {0};

    ck_assert_ptr_nonnull(save);
    save->container = &plain;
    tfs_fail(&unknown, -ENOTSUP, "version 9 is not known");
    tfs_fail(&damaged, -EBADMSG, "it is damaged");
    tfs_save_set_read_only(save, &unknown);
    const char *first = save->read_only;
    tfs_save_set_read_only(save, &damaged);
    ck_assert_str_eq(save->read_only, "it is damaged");
    ck_assert_str_eq(first, "version 9 is not known");
    tfs_save_set_read_only(save, &none);
    ck_assert(save->read_only == NULL);
    tfs_save_set_read_only(save, &unknown);
    ck_assert_ptr_eq(save->read_only, first);
    tfs_save_close(save);
}
END_TEST

static Suite *save_suite(void)
{
    Suite *suite = suite_create("save");
    TCase *opening = unit_case(suite, "opening");

    tcase_add_checked_fixture(opening, scratch_setup, scratch_teardown);
    tcase_add_test(opening, save_goes_to_the_container_that_bids_most);
    tcase_add_test(opening, save_that_no_container_takes_is_refused_with_a_sentence);
    tcase_add_test(opening, save_path_is_resolved);
    tcase_add_test(opening, save_may_be_a_folder);
    tcase_add_test(opening, save_that_is_no_file_is_refused);
    tcase_add_test(opening, save_probe_sees_the_first_bytes_and_no_more);
    tcase_add_test(opening, save_chunk_is_held_or_fetched);
    tcase_add_test(opening, save_fetches_what_chunks_do_not_hold);
    tcase_add_test(opening, save_keeps_the_reasons_for_having_been_read_only);
    return suite;
}

UNIT_MAIN(save_suite)

/*
 * Every truncation and every flipped byte of one small save of each kind: it is refused with a
 * sentence, or what it shows can be read, written back without a change, encoded to the very bytes,
 * and edited into a save that opens again.
 *
 * In a small file each bit is flipped, and bytes become 00 and ff; in a large one, a bit of every
 * fifth byte or fewer, so that each byte of a field has its turn. In full
 * (torture/memory) every byte of a small file becomes every other value, in a large one all bits
 * are flipped, and all is checked of each.
 */
#include <errno.h>
#include <stdlib.h>

#include "../lib/small_saves.h"
#include "formats/containers/file.h"
#include "in_full.h"
#include "scratch.h"

#define PATH (2 * PATH_MAX)
/* Bytes of a file; more of them are not flipped in every way. */
#define LARGE (in_full() ? 1000 : 300)

/* One damaged file. */
static struct {
    const struct small_save *kind;
    char save[PATH]; /* the path that is opened */
    char part[PATH]; /* the file that is damaged */
    struct tfs_buf original, damaged;
    char what[200]; /* was done to it */
    unsigned opened, refused, edited;
} t;

#define REQUIRE(property, ...)                                                                     \
    do {                                                                                           \
        if (!(property)) {                                                                         \
            fprintf(stderr, "%s, %s: ", t.kind->name, t.what);                                     \
            ck_abort_msg(__VA_ARGS__);                                                             \
        }                                                                                          \
    } while (0)

/* ---- files ----------------------------------------------------------------------------------- */

static void read_part(struct tfs_buf *bytes)
{
    FILE *file = fopen(t.part, "rb");
    uint8_t part[4096];
    size_t n;

    ck_assert_ptr_nonnull(file);
    while ((n = fread(part, 1, sizeof(part), file)) > 0)
        tfs_buf_add(bytes, part, n);
    ck_assert(!bytes->failed);
    fclose(file);
}

static void write_part(struct tfs_span bytes)
{
    int fd = open(t.part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes.data, bytes.size), (ssize_t)bytes.size);
    close(fd);
}

/* The save as it was, all of its files: an edit may have written others than the damaged one. */
static void make_again(void)
{
    ck_assert_int_eq(nftw(t.save, scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
    t.kind->make(t.save);
}

/* ---- what every save that opens has to do ---------------------------------------------------- */

static bool may_refuse(int code)
{
    return code == -EBADMSG || code == -ENOTSUP || code == -EFBIG || code == -EINVAL ||
           code == -EROFS;
}

static int open_save(struct tfs_save **save, struct tfs_error *err)
{
    const struct tfs_open_options options = {.lock = TFS_LOCK_EXCLUSIVE,
                                             .inflate_limit = UINT64_C(1) << 24};
    int result = tfs_save_open(t.save, NULL, &options, save, err);

    REQUIRE(result == err->code, "opening said %d and %d", result, err->code);
    REQUIRE(result == 0 || (may_refuse(result) && err->text[0] != '\0'),
            "not a clean refusal: %d %s", result, err->text);
    return result;
}

static void check_file(struct tfs_save *save, const struct tfs_node *node)
{
    const struct tfs_file *file = tfs_node_file(save, node);
    struct tfs_at at = tfs_node_at(save, node);
    struct tfs_error err = {0};
    struct tfs_put put = {0};
    struct tfs_buf text = {0};
    struct tfs_edit edit;

    int64_t size = file->lens->size != NULL ? file->lens->size(save, save->doc, at) : -1;
    int result = file->lens->get(save, save->doc, at, &text, &err);
    REQUIRE(result == err.code && (result == 0 || err.text[0] != '\0'), "%s: %d", file->path,
            result);
    REQUIRE(result < 0 || size < 0 || (uint64_t)size == text.size, "%s: not its size", file->path);
    if (result == 0 && tfs_node_writable(save, save->doc, node)) {
        REQUIRE(tfs_edit_open(save->doc, &edit, &err) == 0, "no memory");
        result = file->lens->put(save, &edit, at, tfs_buf_span(&text), &put, &err);
        REQUIRE(result == 0, "%s: refuses what it gave: %s", file->path, err.text);
        REQUIRE(!edit.changed, "%s: what it gave is a change", file->path);
        tfs_edit_release(&edit);
    }
    tfs_buf_release(&text);
}

static void check_files(struct tfs_save *save, const struct tfs_node *dir)
{
    struct tfs_node node;
    size_t next;

    for (size_t i = 0; tfs_tree_entry(save, save->doc, dir, i, &next, &node) > 0; i = next) {
        if (tfs_node_is_directory(&node))
            check_files(save, &node);
        else
            check_file(save, &node);
    }
}

struct buf_sink {
    struct tfs_sink sink;
    struct tfs_buf bytes;
};

static int sink_write(struct tfs_sink *sink, const void *data, size_t size, struct tfs_error *err)
{
    struct buf_sink *s = (struct buf_sink *)sink;

    tfs_buf_add(&s->bytes, data, size);
    return tfs_buf_check(&s->bytes, err);
}

static int differs(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    (void)arg;
    (void)before;
    (void)after;
    return 1;
}

/* The file as it would be written: its very bytes; a region is laid out anew, without its holes and
 * with the very chunks. */
static void check_encoding(struct tfs_save *save)
{
    struct buf_sink out = {.sink = {sink_write}};
    struct tfs_error err = {0};
    struct tfs_blob *bytes = NULL;
    struct tfs_doc *again = NULL;

    if (save->container->file == NULL || tfs_facts_find(save->doc->facts, TFS_NOTE_DAMAGED))
        return;
    int result = save->container->file->encode(save, save->doc, &out.sink, &err);
    REQUIRE(result == 0, "cannot be written as it is: %s", err.text);
    if (strcmp(save->container->name, "region file") != 0 && strcmp(t.part, t.save) == 0)
        REQUIRE(tfs_span_equal(tfs_buf_span(&out.bytes), tfs_buf_span(&t.damaged)),
                "is not written as it was read");
    REQUIRE(tfs_blob_take(&out.bytes, &bytes, &err) == 0, "no memory");
    REQUIRE(save->container->file->decode(save, bytes, &again, &err) == 0,
            "is not read as it was written: %s", err.text);
    REQUIRE(tfs_doc_diff(save->doc, again, differs, NULL) == 0, "is not written as it was read");
    tfs_doc_unref(again);
    tfs_blob_unref(bytes);
}

/* ---- an edit --------------------------------------------------------------------------------- */

/* What the file shows, or what is wrong with it. */
static struct tfs_buf shown(struct tfs_save *save, const char *path)
{
    struct tfs_error err = {0};
    struct tfs_buf text = {0};
    struct tfs_node node;

    if (small_save_find(save, save->doc, path, &node) < 0)
        tfs_buf_add_text(&text, "gone");
    else if (tfs_node_file(save, &node)
                 ->lens->get(save, save->doc, tfs_node_at(save, &node), &text, &err) < 0)
        tfs_buf_add_text(&text, err.text);
    return text;
}

/* The save after a commit: it opens, and shows what was shown. */
static void check_again(const char *path, const struct tfs_buf *before)
{
    struct tfs_error err = {0};
    struct tfs_save *save = NULL;

    REQUIRE(open_save(&save, &err) == 0, "%s: edited, it does not open: %s", path, err.text);
    struct tfs_buf after = shown(save, path);
    REQUIRE(tfs_span_equal(tfs_buf_span(before), tfs_buf_span(&after)), "%s: reads otherwise",
            path);
    tfs_buf_release(&after);
    tfs_save_close(save);
}

/* Puts the text and commits: is the save another one now? */
static bool commit_edit(struct tfs_save *save, const struct small_edit *change)
{
    struct tfs_error err = {0};
    struct tfs_edit edit;

    REQUIRE(tfs_edit_open(save->doc, &edit, &err) == 0, "no memory");
    int result = small_edit_apply(save, &edit, change, tfs_span_of(change->with), &err);
    bool changed = result == 0 && edit.changed;
    if (changed) {
        struct tfs_doc *doc = tfs_edit_finish(&edit);
        result = save->container->commit(save, doc, &err);
        tfs_doc_unref(doc);
    }
    REQUIRE(result == err.code, "%s: %d and %d", change->path, result, err.code);
    /* ESTALE: an index that lies is a row that another program took away. */
    REQUIRE(result == 0 || ((may_refuse(result) || result == -ESTALE) && err.text[0] != '\0'),
            "%s: %d %s", change->path, result, err.text);
    tfs_edit_release(&edit);
    return result == 0 && changed;
}

/* Closes the save, edited in one file; another one each time. */
static void edit_and_close(struct tfs_save *save)
{
    struct tfs_buf text = {0};
    struct tfs_node node;
    const char *edited = NULL;

    for (unsigned i = 0; i < SMALL_EDITS && edited == NULL; i++) {
        const struct small_edit *change = &t.kind->edits[(t.opened + i) % SMALL_EDITS];
        if (change->path == NULL || change->change != SMALL_TEXT ||
            small_save_find(save, save->doc, change->path, &node) < 0 ||
            !tfs_node_writable(save, save->doc, &node))
            continue;
        if (commit_edit(save, change))
            edited = change->path;
    }
    if (edited != NULL)
        text = shown(save, edited);
    tfs_save_close(save);
    if (edited == NULL)
        return;
    check_again(edited, &text);
    tfs_buf_release(&text);
    t.edited++;
    make_again();
}

/* ---- one damaged save ------------------------------------------------------------------------ */

/* `whole`: all checks; else it is only opened. */
static void look(bool whole)
{
    const struct tfs_node root = TFS_NODE_ROOT;
    struct tfs_error err = {0};
    struct tfs_save *save = NULL;

    write_part(tfs_buf_span(&t.damaged));
    if (open_save(&save, &err) < 0) {
        t.refused++;
        return;
    }
    t.opened++;
    if (!whole) {
        tfs_save_close(save);
        return;
    }
    check_files(save, &root);
    check_encoding(save);
    edit_and_close(save);
}

/* From one damaged byte to the next; odd, so that all bytes of a number have their turn. */
static size_t stride(void)
{
    if (t.original.size <= LARGE || in_full())
        return 1;
    return t.original.size / 1000 > 5 ? (t.original.size / 1000) | 1 : 5;
}

static void truncate_everywhere(void)
{
    for (size_t size = 0; size < t.original.size; size += stride()) {
        snprintf(t.what, sizeof(t.what), "cut to %zu bytes", size);
        tfs_buf_clear(&t.damaged);
        tfs_buf_add(&t.damaged, t.original.data, size);
        look(true);
    }
}

static void flip(size_t at, uint8_t value, bool whole)
{
    if (value == t.original.data[at])
        return;
    snprintf(t.what, sizeof(t.what), "byte %zu %02x instead of %02x", at, value,
             t.original.data[at]);
    tfs_buf_clear(&t.damaged);
    tfs_buf_add_span(&t.damaged, tfs_buf_span(&t.original));
    t.damaged.data[at] = value;
    look(whole);
}

/* One bit of each byte is flipped and all is checked; the others are only opened, and those of a
 * large file not at all. */
static void flip_byte(size_t at)
{
    uint8_t was = t.original.data[at];
    bool full = in_full();

    flip(at, (uint8_t)(was ^ 1U << at % 8), true);
    if (t.original.size > LARGE && !full)
        return;
    flip(at, 0, full);
    flip(at, 0xff, full);
    for (unsigned bit = 0; bit < 8; bit++)
        flip(at, (uint8_t)(was ^ 1U << bit), full);
    for (unsigned value = 1; full && t.original.size <= LARGE && value < 255; value++)
        flip(at, (uint8_t)value, true);
}

static void flip_everywhere(void)
{
    for (size_t at = 0; at < t.original.size; at += stride())
        flip_byte(at);
}

static void damage(const char *part, void (*how)(void))
{
    snprintf(t.part, sizeof(t.part), "%s", scratch_path(part));
    read_part(&t.original);
    t.opened = t.refused = t.edited = 0;
    how();
    printf("# %s %s: %zu bytes, %u refused, %u opened, %u edited\n", t.kind->name, part,
           t.original.size, t.refused, t.opened, t.edited);
    fflush(stdout);
    write_part(tfs_buf_span(&t.original));
    tfs_buf_release(&t.original);
    tfs_buf_release(&t.damaged);
}

static void damage_all(int kind, void (*how)(void))
{
    t.kind = &small_saves[kind];
    snprintf(t.save, sizeof(t.save), "%s", scratch_path(t.kind->file));
    t.kind->make(t.save);
    if (t.kind->parts[0] == NULL)
        damage(t.kind->file, how);
    for (unsigned i = 0; t.kind->parts[i] != NULL; i++)
        damage(t.kind->parts[i], how);
}

static void nothing(void)
{
    snprintf(t.what, sizeof(t.what), "as it is");
    tfs_buf_add_span(&t.damaged, tfs_buf_span(&t.original));
    look(true);
    REQUIRE(t.edited == 1, "was not edited");
}

START_TEST(undamaged_save_does_what_is_asked_of_it)
{
    damage_all(_i, nothing);
}
END_TEST

START_TEST(every_truncation_is_refused_or_shown_as_it_is)
{
    damage_all(_i, truncate_everywhere);
}
END_TEST

START_TEST(every_flipped_byte_is_refused_or_shown_as_it_is)
{
    damage_all(_i, flip_everywhere);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("flips");
    TCase *c = unit_case(s, "damage");

    tcase_add_checked_fixture(c, scratch_setup_in_memory, scratch_teardown);
    tcase_set_timeout(c, in_full() ? 3600 : 400);
    tcase_add_loop_test(c, undamaged_save_does_what_is_asked_of_it, 0, small_save_count);
    tcase_add_loop_test(c, every_truncation_is_refused_or_shown_as_it_is, 0, small_save_count);
    tcase_add_loop_test(c, every_flipped_byte_is_refused_or_shown_as_it_is, 0, small_save_count);
    return s;
}

UNIT_MAIN(suite)

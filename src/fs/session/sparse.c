/*
 * Pages of a large file that is being written: see sparse.h.
 */
#include "fs/session/sparse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/refs.h"
#include "base/temporary.h"

#define PAGE       TFS_SPARSE_PAGE
#define BLOCK_BITS 32768u /* of pages: 128 MiB of the file */
#define WORDS      (BLOCK_BITS / 64)

/* ---- bits ------------------------------------------------------------------------------------ */

static const uint64_t *find_block(const struct tfs_pages *pages, uint64_t page)
{
    return tfs_map_find(&pages->blocks, page / BLOCK_BITS + 1);
}

static bool has_page(const struct tfs_pages *pages, uint64_t page)
{
    const uint64_t *block = find_block(pages, page);

    return block != NULL && (block[page % BLOCK_BITS / 64] >> page % 64 & 1) != 0;
}

/* Makes room for a bit; it is not set. */
static int reserve_page(struct tfs_pages *pages, uint64_t page)
{
    if (find_block(pages, page) != NULL)
        return 0;
    uint64_t *block = calloc(WORDS, sizeof(*block));
    if (block == NULL || tfs_map_set(&pages->blocks, page / BLOCK_BITS + 1, block) < 0) {
        free(block);
        return -ENOMEM;
    }
    return 0;
}

static void set_page(struct tfs_pages *pages, uint64_t page)
{
    uint64_t *block = tfs_map_find(&pages->blocks, page / BLOCK_BITS + 1);

    block[page % BLOCK_BITS / 64] |= UINT64_C(1) << page % 64;
}

/* The first page from `page` on that is set, or `end`. */
static uint64_t next_page(const struct tfs_pages *pages, uint64_t page, uint64_t end)
{
    while (page < end) {
        const uint64_t *block = find_block(pages, page);
        const uint64_t word = block != NULL ? block[page % BLOCK_BITS / 64] >> page % 64 : 0;
        if (word != 0)
            page += (uint64_t)__builtin_ctzll(word);
        else
            page += block != NULL ? 64 - page % 64 : BLOCK_BITS - page % BLOCK_BITS;
        if (word != 0)
            break;
    }
    return page < end ? page : end;
}

static void clear_pages(struct tfs_pages *pages)
{
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&pages->blocks, &at, &cell);)
        free(cell.value);
    tfs_map_release(&pages->blocks);
}

/* ---- life ------------------------------------------------------------------------------------ */

int tfs_sparse_create(struct tfs_doc *base, uint64_t size, struct tfs_sparse **sparse)
{
    struct tfs_sparse *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return -ENOMEM;
    atomic_init(&made->refs, 1);
    made->base = tfs_doc_ref(base);
    made->size = made->base_size = base != NULL ? size : 0;
    made->based = base != NULL;
    made->fd = made->old_fd = -1;
    *sparse = made;
    return 0;
}

struct tfs_sparse *tfs_sparse_ref(struct tfs_sparse *sparse)
{
    tfs_refs_add(&sparse->refs);
    return sparse;
}

void tfs_sparse_unref(struct tfs_sparse *sparse)
{
    if (sparse == NULL || !tfs_refs_drop(&sparse->refs))
        return;
    clear_pages(&sparse->held);
    clear_pages(&sparse->dirty);
    clear_pages(&sparse->old);
    tfs_doc_unref(sparse->base);
    if (sparse->fd >= 0)
        close(sparse->fd);
    if (sparse->old_fd >= 0)
        close(sparse->old_fd);
    free(sparse);
}

int tfs_sparse_empty(struct tfs_sparse **sparse)
{
    struct tfs_sparse *empty;
    int result = tfs_sparse_create((*sparse)->base, 0, &empty);

    if (result < 0)
        return result;
    empty->based = false;
    tfs_sparse_unref(*sparse);
    *sparse = empty;
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The first write makes the file. */
static int write_file(int *file, uint64_t offset, struct tfs_span bytes)
{
    if (*file < 0) {
        int fd = tfs_temporary_open();
        if (fd < 0)
            return fd;
        *file = fd;
    }
    return tfs_temporary_write(*file, offset, bytes);
}

/* Does `base` show something of the page that is not in the file? */
static bool shows_base(const struct tfs_sparse *s, uint64_t page)
{
    return page * PAGE < s->base_size && !has_page(&s->held, page);
}

bool tfs_sparse_lacks(const struct tfs_sparse *s, uint64_t offset, uint64_t size, uint64_t *page)
{
    const uint64_t end = offset + size;

    *page = offset / PAGE * PAGE;
    if (size > 0 && offset % PAGE != 0 && shows_base(s, offset / PAGE))
        return true;
    *page = end / PAGE * PAGE;
    return size > 0 && end % PAGE != 0 && end < s->size && shows_base(s, end / PAGE);
}

int tfs_sparse_fill(struct tfs_sparse *s, uint64_t page, struct tfs_span bytes)
{
    const uint64_t shown = s->base_size - page;
    int result = reserve_page(&s->held, page / PAGE);

    if (bytes.size > shown)
        bytes.size = (size_t)shown;
    if (result == 0)
        result = write_file(&s->fd, page, bytes);
    if (result == 0)
        set_page(&s->held, page / PAGE);
    return result;
}

/* What was accepted of the page, before it is written to again. */
static int keep_old(struct tfs_sparse *s, uint64_t page)
{
    uint8_t bytes[PAGE];

    if (!s->accepted || !has_page(&s->held, page) || has_page(&s->dirty, page) ||
        has_page(&s->old, page))
        return 0;
    int result = reserve_page(&s->old, page);
    if (result == 0)
        result = tfs_temporary_read(s->fd, page * PAGE, PAGE, bytes);
    if (result == 0)
        result = write_file(&s->old_fd, page * PAGE, (struct tfs_span){bytes, PAGE});
    if (result == 0)
        set_page(&s->old, page);
    return result;
}

int tfs_sparse_write(struct tfs_sparse *s, uint64_t offset, struct tfs_span bytes)
{
    const uint64_t first = offset / PAGE, end = (offset + bytes.size + PAGE - 1) / PAGE;
    int result = 0;

    for (uint64_t page = first; bytes.size > 0 && page < end && result == 0; page++) {
        result = keep_old(s, page);
        if (result == 0)
            result = reserve_page(&s->held, page);
        if (result == 0)
            result = reserve_page(&s->dirty, page);
    }
    if (result == 0)
        result = write_file(&s->fd, offset, bytes);
    for (uint64_t page = first; bytes.size > 0 && page < end && result == 0; page++) {
        set_page(&s->held, page);
        set_page(&s->dirty, page);
    }
    if (result == 0 && offset + bytes.size > s->size)
        s->size = offset + bytes.size;
    return result;
}

/* What was accepted of what is about to be cut off. */
static int keep_behind(struct tfs_sparse *s, uint64_t size)
{
    const uint64_t end = (s->size + PAGE - 1) / PAGE;
    int result = 0;

    for (uint64_t page = size / PAGE; s->accepted && page < end && result == 0; page++) {
        page = next_page(&s->held, page, end);
        if (page < end)
            result = keep_old(s, page);
    }
    return result;
}

int tfs_sparse_resize(struct tfs_sparse *s, uint64_t size)
{
    if (size < s->size) {
        int result = keep_behind(s, size);
        if (result < 0)
            return result;
        s->cut = true;
        s->base_size = size < s->base_size ? size : s->base_size;
        if (s->fd >= 0 && ftruncate(s->fd, (off_t)size) < 0)
            return -errno;
    }
    s->size = size;
    return 0;
}

void tfs_sparse_accept(struct tfs_sparse *s)
{
    clear_pages(&s->dirty);
    clear_pages(&s->old);
    s->accepted = s->based = true;
    s->cut = false;
}

/* ---- reading --------------------------------------------------------------------------------- */

bool tfs_sparse_holds(const struct tfs_sparse *s, uint64_t offset, uint64_t size)
{
    for (uint64_t page = offset / PAGE; page * PAGE < offset + size; page++)
        if (shows_base(s, page))
            return false;
    return true;
}

/* Puts the bytes of the pages over `out`. */
static int read_pages(const struct tfs_pages *pages, int fd, uint64_t offset, size_t size,
                      uint8_t *out)
{
    const uint64_t behind = offset + size, end = (behind + PAGE - 1) / PAGE;
    int result = 0;

    for (uint64_t page = next_page(pages, offset / PAGE, end); page < end && result == 0;) {
        uint64_t last = page + 1;
        while (last < end && has_page(pages, last))
            last++;
        const uint64_t from = page * PAGE > offset ? page * PAGE : offset;
        const uint64_t to = last * PAGE < behind ? last * PAGE : behind;
        result = tfs_temporary_read(fd, from, (size_t)(to - from), out + (from - offset));
        page = next_page(pages, last, end);
    }
    return result;
}

int tfs_sparse_read(const struct tfs_sparse *s, uint64_t offset, size_t size, uint8_t *out)
{
    /* What `base` shows behind a cut is gone. */
    const uint64_t shown = s->base_size > offset ? s->base_size - offset : 0;

    if (shown < size)
        memset(out + shown, 0, size - (size_t)shown);
    return read_pages(&s->held, s->fd, offset, size, out);
}

int tfs_sparse_text(const struct tfs_sparse *s, struct tfs_save *save, const struct tfs_node *node,
                    struct tfs_blob **text, struct tfs_error *err)
{
    const struct tfs_lens *lens = tfs_node_file(save, node)->lens;
    struct tfs_blob *base = NULL;
    struct tfs_buf out = {0};

    if (s->base_size > 0 &&
        lens->get_range(save, s->base, tfs_node_at(save, node), 0, s->base_size, &base, err) == 0)
        tfs_buf_add_span(&out, tfs_blob_span(base));
    tfs_blob_unref(base);
    tfs_buf_resize(&out, (size_t)s->size);
    if (err->code == 0 && tfs_buf_check(&out, err) == 0) {
        int result = tfs_sparse_read(s, 0, out.size, out.data);
        if (result < 0)
            tfs_fail(err, result, "what was written cannot be read again");
        else
            tfs_blob_take(&out, text, err);
    }
    tfs_buf_release(&out);
    return err->code;
}

/* ---- for lenses ------------------------------------------------------------------------------ */

static bool written_differs(const void *arg, uint64_t offset, uint64_t size)
{
    const struct tfs_sparse *s = arg;
    const uint64_t end = (offset + size + PAGE - 1) / PAGE;

    return !s->based || s->cut || next_page(&s->dirty, offset / PAGE, end) < end;
}

static bool written_holds(const void *arg, uint64_t offset, uint64_t size)
{
    return tfs_sparse_holds(arg, offset, size);
}

static int written_read(const void *arg, bool before, uint64_t offset, size_t size, uint8_t *out,
                        struct tfs_error *err)
{
    const struct tfs_sparse *s = arg;
    int result = !before          ? tfs_sparse_read(s, offset, size, out)
                 : s->old_fd >= 0 ? read_pages(&s->old, s->old_fd, offset, size, out)
                                  : 0;

    return result == 0 ? 0 : tfs_fail(err, result, "what was written cannot be read again");
}

struct tfs_written tfs_sparse_written(struct tfs_sparse *s)
{
    return (struct tfs_written){.size = s->size,
                                .base = s->base_size > 0 ? s->base : NULL,
                                .based = s->based,
                                .begun = s->based && !s->cut && s->old_fd < 0,
                                .differs = written_differs,
                                .holds = written_holds,
                                .read = written_read,
                                .arg = s};
}

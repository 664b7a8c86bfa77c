/*
 * Bytes -> a shared, immutable, reference-counted blob.
 *
 * Must not know what the bytes are. The only thing that ever changes in a blob is its count.
 */
#include "base/blob.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/refs.h"

/* Copied bytes lie right behind the struct: one allocation for each of a million small chunks. */
static const uint8_t *bytes_behind(const struct tfs_blob *blob)
{
    return (const uint8_t *)(blob + 1);
}

static struct tfs_blob *blob_alloc(size_t extra, struct tfs_error *err)
{
    static atomic_uint_fast64_t made;
    struct tfs_blob *blob = NULL;

    if (extra <= SIZE_MAX / 2)
        blob = malloc(sizeof(*blob) + extra);
    if (blob == NULL) {
        tfs_fail_memory(err);
        return NULL;
    }
    atomic_init(&blob->refs, 1);
    blob->number = 1 + atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
    blob->data = bytes_behind(blob);
    blob->size = extra;
    blob->parent = NULL;
    return blob;
}

int tfs_blob_copy(struct tfs_span bytes, struct tfs_blob **blob, struct tfs_error *err)
{
    struct tfs_blob *copy = blob_alloc(bytes.size, err);

    if (copy == NULL)
        return err->code;
    if (bytes.size > 0)
        memcpy(copy + 1, bytes.data, bytes.size);
    *blob = copy;
    return 0;
}

int tfs_blob_take(struct tfs_buf *buf, struct tfs_blob **blob, struct tfs_error *err)
{
    if (tfs_buf_check(buf, err) < 0)
        return err->code;

    struct tfs_blob *taken = blob_alloc(0, err);
    if (taken == NULL)
        return err->code;
    if (buf->size > 0) {
        /* Shrinking can fail only in theory; the larger memory is then as good. */
        uint8_t *fitted = realloc(buf->data, buf->size);
        taken->data = fitted == NULL ? buf->data : fitted;
        taken->size = buf->size;
        *buf = (struct tfs_buf){0};
    } else {
        tfs_buf_release(buf);
    }
    *blob = taken;
    return 0;
}

int tfs_blob_slice(struct tfs_blob *parent, struct tfs_span bytes, struct tfs_blob **blob,
                   struct tfs_error *err)
{
    assert(bytes.size == 0 || (bytes.data >= parent->data && bytes.size <= parent->size &&
                               (size_t)(bytes.data - parent->data) <= parent->size - bytes.size));

    struct tfs_blob *slice = blob_alloc(0, err);
    if (slice == NULL)
        return err->code;
    if (bytes.size > 0) {
        /* A slice of a slice holds the owner of the memory: no chains of parents. */
        slice->parent = tfs_blob_ref(parent->parent == NULL ? parent : parent->parent);
        slice->data = bytes.data;
        slice->size = bytes.size;
    }
    *blob = slice;
    return 0;
}

struct tfs_blob *tfs_blob_ref(struct tfs_blob *blob)
{
    if (blob != NULL)
        tfs_refs_add(&blob->refs);
    return blob;
}

static void blob_free(struct tfs_blob *blob)
{
    if (blob->parent != NULL)
        tfs_blob_unref(blob->parent);
    else if (blob->data != bytes_behind(blob))
        free((void *)(uintptr_t)blob->data); /* const for the readers; it came from a tfs_buf */
    free(blob);
}

void tfs_blob_reclaim(struct tfs_blob *blob, struct tfs_buf *buf)
{
    if (!tfs_refs_drop(&blob->refs))
        return;
    if (blob->parent == NULL && blob->data != bytes_behind(blob)) {
        *buf = (struct tfs_buf){.data = (uint8_t *)(uintptr_t)blob->data, .capacity = blob->size};
        free(blob);
    } else {
        blob_free(blob);
    }
}

void tfs_blob_unref(struct tfs_blob *blob)
{
    if (blob != NULL && tfs_refs_drop(&blob->refs))
        blob_free(blob);
}

struct tfs_span tfs_blob_span(const struct tfs_blob *blob)
{
    return blob == NULL ? (struct tfs_span){NULL, 0} : (struct tfs_span){blob->data, blob->size};
}

bool tfs_blob_equal(const struct tfs_blob *a, const struct tfs_blob *b)
{
    if (a == b || a == NULL || b == NULL)
        return a == b;
    return tfs_span_equal(tfs_blob_span(a), tfs_blob_span(b));
}

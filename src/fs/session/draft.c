/*
 * The states of a draft: see draft.h.
 *
 *              WRITE     CHECK     ACCEPT    REJECT    DEFER     OUTDATE   POISON    EMPTY
 *   CLEAN      WRITTEN   -         -         -         -         -         -         WRITTEN
 *   WRITTEN    WRITTEN   CHECKING  -         -         -         OUTDATED  POISONED  WRITTEN
 *   CHECKING   WRITTEN   -         ACCEPTED  REJECTED  WRITTEN   OUTDATED  POISONED  WRITTEN
 *   ACCEPTED   WRITTEN   -         -         -         -         -         -         WRITTEN
 *   REJECTED   WRITTEN   CHECKING  -         -         -         OUTDATED  POISONED  WRITTEN
 *   OUTDATED   OUTDATED  -         -         -         -         -         -         WRITTEN
 *   POISONED   -         -         -         -         -         -         -         WRITTEN
 *
 * An answer that comes in another state than CHECKING is about older bytes, and says nothing of
 * these. A CLEAN draft has nothing that could be lost. An ACCEPTED one whose file reads otherwise
 * in another program's save ends, and the handles that wrote it are outdated (op_store.c).
 */
#include "fs/session/draft.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS (TFS_DRAFT_EMPTY + 1)
#define STATES (TFS_DRAFT_POISONED + 1)

/* What an event makes of a state; none of these means nothing. */
#define NONE     (-1)
#define WRITTEN  TFS_DRAFT_WRITTEN
#define OUTDATED TFS_DRAFT_OUTDATED
#define POISONED TFS_DRAFT_POISONED

static const signed char transitions[STATES][EVENTS] = {
    [TFS_DRAFT_CLEAN] = {WRITTEN, NONE, NONE, NONE, NONE, NONE, NONE, WRITTEN},
    [WRITTEN] = {WRITTEN, TFS_DRAFT_CHECKING, NONE, NONE, NONE, OUTDATED, POISONED, WRITTEN},
    [TFS_DRAFT_CHECKING] = {WRITTEN, NONE, TFS_DRAFT_ACCEPTED, TFS_DRAFT_REJECTED, WRITTEN,
                            OUTDATED, POISONED, WRITTEN},
    [TFS_DRAFT_ACCEPTED] = {WRITTEN, NONE, NONE, NONE, NONE, NONE, NONE, WRITTEN},
    [TFS_DRAFT_REJECTED] = {WRITTEN, TFS_DRAFT_CHECKING, NONE, NONE, NONE, OUTDATED, POISONED,
                            WRITTEN},
    [OUTDATED] = {OUTDATED, NONE, NONE, NONE, NONE, NONE, NONE, WRITTEN},
    [POISONED] = {NONE, NONE, NONE, NONE, NONE, NONE, NONE, WRITTEN},
};

bool tfs_draft_take(struct tfs_draft *draft, enum tfs_draft_event event)
{
    int next = transitions[draft->state][event];

    if (next == NONE)
        return false;
    draft->state = (enum tfs_draft_state)next;
    draft->told = draft->told && event != TFS_DRAFT_WRITE && event != TFS_DRAFT_EMPTY;
    draft->overtaken = draft->overtaken && event != TFS_DRAFT_EMPTY;
    draft->closing = false;
    return true;
}

bool tfs_draft_is_unchecked(const struct tfs_draft *draft)
{
    return draft->state == TFS_DRAFT_WRITTEN || draft->state == TFS_DRAFT_REJECTED ||
           draft->state == TFS_DRAFT_OUTDATED || draft->state == TFS_DRAFT_POISONED;
}

struct tfs_draft *tfs_draft_create(struct tfs_span bytes)
{
    struct tfs_draft *draft = calloc(1, sizeof(*draft));

    if (draft == NULL)
        return NULL;
    tfs_buf_add_span(&draft->bytes, bytes);
    if (draft->bytes.failed) {
        tfs_draft_free(draft);
        return NULL;
    }
    return draft;
}

void tfs_prepared_free(struct tfs_prepared *prepared)
{
    if (prepared == NULL)
        return;
    tfs_blob_unref(prepared->text);
    tfs_edit_release(&prepared->edit);
    free(prepared);
}

struct tfs_prepared *tfs_draft_take_prepared(struct tfs_draft *draft)
{
    struct tfs_prepared *prepared = draft->prepared;

    draft->prepared = NULL;
    if (prepared != NULL &&
        tfs_span_equal(tfs_blob_span(prepared->text), tfs_buf_span(&draft->bytes)))
        return prepared;
    tfs_prepared_free(prepared);
    return NULL;
}

void tfs_draft_free(struct tfs_draft *draft)
{
    if (draft == NULL)
        return;
    tfs_buf_release(&draft->bytes);
    tfs_prepared_free(draft->prepared);
    tfs_sparse_unref(draft->sparse);
    free(draft);
}

void tfs_draft_spill(struct tfs_draft *draft)
{
    struct tfs_sparse *sparse = NULL;

    if (draft->stays)
        return;
    if (tfs_sparse_create(NULL, 0, &sparse) < 0 ||
        tfs_sparse_write(sparse, 0, tfs_buf_span(&draft->bytes)) < 0) {
        tfs_sparse_unref(sparse);
        draft->stays = true;
        return;
    }
    tfs_buf_release(&draft->bytes);
    draft->sparse = sparse;
}

int tfs_draft_unspill(struct tfs_draft *draft)
{
    struct tfs_buf bytes = {0};

    if (draft == NULL || draft->sparse == NULL)
        return 0;
    tfs_buf_resize(&bytes, (size_t)draft->sparse->size);
    int result = bytes.failed ? -ENOMEM : tfs_sparse_read(draft->sparse, 0, bytes.size, bytes.data);
    if (result < 0) {
        tfs_buf_release(&bytes);
        return result;
    }
    tfs_sparse_unref(draft->sparse);
    draft->sparse = NULL;
    draft->stays = true;
    draft->bytes = bytes;
    return 0;
}

bool tfs_draft_may_be_accepted(const struct tfs_draft *draft)
{
    return draft->state == TFS_DRAFT_WRITTEN || draft->state == TFS_DRAFT_REJECTED;
}

uint64_t tfs_draft_size(const struct tfs_draft *draft)
{
    return draft->sparse != NULL ? draft->sparse->size : draft->bytes.size;
}

bool tfs_draft_is_held(const struct tfs_draft *draft)
{
    return draft != NULL && draft->sparse != NULL && draft->state == TFS_DRAFT_CHECKING;
}

/* Without memory for the smaller copy the larger stays. */
static void shrink(struct tfs_buf *bytes, size_t size)
{
    struct tfs_buf smaller = {0};

    tfs_buf_add(&smaller, bytes->data, size < bytes->size ? size : bytes->size);
    if (smaller.failed)
        return;
    tfs_buf_release(bytes);
    *bytes = smaller;
}

int tfs_bytes_resize(struct tfs_buf *bytes, size_t size)
{
    if (size < bytes->capacity / 4)
        shrink(bytes, size);
    tfs_buf_resize(bytes, size);
    if (!bytes->failed)
        return 0;
    bytes->failed = false;
    return -ENOMEM;
}

int tfs_draft_resize(struct tfs_draft *draft, uint64_t size)
{
    return draft->sparse != NULL ? tfs_sparse_resize(draft->sparse, size)
                                 : tfs_bytes_resize(&draft->bytes, (size_t)size);
}

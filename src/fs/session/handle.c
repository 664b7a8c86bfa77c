/*
 * Drafts: bytes, owners, states. See handle.h.
 */
#include "fs/session/handle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ------------------------------------------------------------------------------------ */

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

void tfs_draft_free(struct tfs_draft *draft)
{
    if (draft == NULL)
        return;
    tfs_buf_release(&draft->bytes);
    tfs_sparse_unref(draft->sparse);
    tfs_doc_unref(draft->doc);
    free(draft);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

uint64_t tfs_draft_size(const struct tfs_draft *draft)
{
    return draft->sparse != NULL ? draft->sparse->size : draft->bytes.size;
}

int tfs_draft_resize(struct tfs_draft *draft, uint64_t size)
{
    if (draft->sparse != NULL)
        return size == 0 ? tfs_sparse_empty(&draft->sparse)
                         : tfs_sparse_resize(draft->sparse, size);
    return tfs_buf_fit(&draft->bytes, (size_t)size);
}

int tfs_draft_write(struct tfs_draft *draft, uint64_t offset, struct tfs_span bytes)
{
    if (draft->sparse != NULL)
        return tfs_sparse_write(draft->sparse, offset, bytes);
    const uint64_t end = offset + bytes.size;
    const int result = end > draft->bytes.size ? tfs_draft_resize(draft, end) : 0;
    if (result == 0 && bytes.size > 0)
        memcpy(draft->bytes.data + offset, bytes.data, bytes.size);
    return result;
}

int tfs_draft_spill(struct tfs_draft *draft)
{
    struct tfs_sparse *sparse;

    if (draft->sparse != NULL)
        return 0;
    int result = tfs_sparse_create(NULL, 0, &sparse);
    if (result < 0)
        return result;
    result = tfs_sparse_write(sparse, 0, tfs_buf_span(&draft->bytes));
    if (result < 0) {
        tfs_sparse_unref(sparse);
        return result;
    }
    tfs_buf_release(&draft->bytes);
    draft->sparse = sparse;
    return 0;
}

uint64_t tfs_count_lines(struct tfs_span text)
{
    const uint8_t *at = text.data, *end = text.data + text.size;
    uint64_t lines = 0;

    for (; at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
        lines++;
    return lines;
}

void tfs_draft_skip_lines(struct tfs_draft *draft)
{
    const struct tfs_buf *bytes = &draft->bytes;
    const uint8_t *end = bytes->size > 0 ? memrchr(bytes->data, '\n', bytes->size) : NULL;

    draft->scanned = end != NULL ? (uint64_t)(end + 1 - bytes->data) : 0;
    draft->lines = tfs_count_lines((struct tfs_span){bytes->data, (size_t)draft->scanned});
}

/* ---- what was written, and by whom ----------------------------------------------------------- */

static struct tfs_owner *owner_of(struct tfs_draft *draft, uint64_t id)
{
    unsigned i = 0;

    while (i < draft->owner_count && draft->owners[i].id != id)
        i++;
    if (i == draft->owner_count && i < TFS_OWNERS)
        draft->owners[draft->owner_count++] = (struct tfs_owner){id, 0};
    return i < TFS_OWNERS ? &draft->owners[i] : NULL;
}

static void change(struct tfs_draft *draft, struct timespec time)
{
    draft->state = TFS_DRAFT_DIRTY;
    draft->writes++;
    draft->time = time;
}

void tfs_draft_cut(struct tfs_draft *draft, struct timespec time)
{
    change(draft, time);
    draft->cut = true;
    draft->accepted = draft->scanned = draft->lines = 0;
}

void tfs_draft_wrote(struct tfs_draft *draft, uint64_t owner, struct timespec time)
{
    change(draft, time);
    if (draft->owner_count > TFS_OWNERS)
        return;
    struct tfs_owner *known = owner_of(draft, owner);
    if (known != NULL)
        known->write = draft->writes;
    else
        draft->owner_count = TFS_OWNERS + 1;
}

bool tfs_draft_is_of(const struct tfs_draft *draft, uint64_t owner)
{
    if (draft->owner_count > TFS_OWNERS)
        return true;
    for (unsigned i = 0; i < draft->owner_count; i++)
        if (draft->owners[i].id == owner || draft->owners[i].id == TFS_OWNER_ANY)
            return true;
    return false;
}

void tfs_draft_saved(struct tfs_draft *draft, uint64_t writes)
{
    unsigned left = 0;

    if (draft->owner_count > TFS_OWNERS) {
        draft->owner_count = draft->writes == writes ? 0 : draft->owner_count;
        return;
    }
    for (unsigned i = 0; i < draft->owner_count; i++)
        if (draft->owners[i].write > writes)
            draft->owners[left++] = draft->owners[i];
    draft->owner_count = left;
}

void tfs_draft_stands_on(struct tfs_draft *draft, struct tfs_doc *doc, const struct tfs_node *node,
                         uint64_t stamp)
{
    tfs_doc_ref(doc);
    tfs_doc_unref(draft->doc);
    draft->doc = doc;
    draft->node = *node;
    draft->stamp = stamp;
}

void tfs_draft_lacks_text(struct tfs_draft *draft)
{
    tfs_doc_unref(draft->doc);
    draft->doc = NULL;
}

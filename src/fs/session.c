/*
 * The life of a session, and the little that is left beside names, files and the worker.
 */
#include "fs/session.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "fs/state.h"
#include "text/name.h"

#define BLOCK 4096

int64_t tfs_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void tfs_message(struct tfs_session *s, const char *format, ...)
{
    char text[TFS_ERROR_TEXT + 8192], line[2 * sizeof(text)];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (s->events.message != NULL)
        s->events.message(s->events.message_arg, tfs_sentence_print(text, line, sizeof(line)));
}

static int init_locks(struct tfs_session *s)
{
    pthread_condattr_t monotonic;
    int result = pthread_condattr_init(&monotonic);
    if (result != 0)
        return -result;
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->save_lock, NULL);
    pthread_cond_init(&s->work, &monotonic);
    pthread_cond_init(&s->answer, &monotonic);
    pthread_cond_init(&s->closed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return 0;
}

void tfs_keys_set_locked(struct tfs_session *s)
{
    for (uint32_t i = 0; i < s->key_count; i++)
        s->keys[i].group = UINT32_MAX;
    for (size_t i = 0; i < s->doc->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(s->doc, i);
        s->keys[chunk->slot] = chunk->key;
    }
}

static int init_keys(struct tfs_session *s)
{
    s->key_count = s->doc->next_slot;
    s->keys = calloc(s->key_count ? s->key_count : 1, sizeof(*s->keys));
    if (s->keys == NULL)
        return -ENOMEM;
    tfs_keys_set_locked(s);
    return 0;
}

int tfs_session_open(struct tfs_save *save, const struct tfs_session_options *options,
                     const struct tfs_events *events, struct tfs_session **session,
                     struct tfs_error *err)
{
    struct tfs_session *s = calloc(1, sizeof(*s));
    if (s == NULL || init_locks(s) < 0) {
        free(s);
        return tfs_fail_memory(err);
    }
    s->save = save;
    s->st = save->st;
    s->options = *options;
    s->options.read_only = options->read_only || save->read_only != NULL;
    if (s->options.linger_ms == 0)
        s->options.linger_ms = TFS_LINGER_MS;
    if (s->options.part_ms == 0)
        s->options.part_ms = TFS_PART_MS;
    if (s->options.changes_limit == 0)
        s->options.changes_limit = TFS_CHANGES_MAX;
    if (s->options.rejected_limit == 0)
        s->options.rejected_limit = TFS_REJECTED_MAX;
    s->events = events != NULL ? *events : (struct tfs_events){0};
    s->doc = tfs_doc_ref(save->doc);
    s->disk = tfs_doc_ref(save->doc);
    s->base_time = save->st.st_mtim;
    s->next_id = TFS_ID_TABLE;
    s->queue_end = &s->queue;
    tfs_cache_init(&s->cache, (size_t)options->cache_limit);
    int result = init_keys(s);
    if (result == 0)
        result = tfs_control_create_locked(s);
    if (result == 0)
        result = tfs_worker_start(s);
    if (result < 0) {
        s->save = NULL; /* stays the caller's */
        tfs_session_close(s);
        return tfs_fail(err, result, "cannot start a session: out of memory or threads");
    }
    *session = s;
    return 0;
}

/* Names of scratch files that go with the mount, in one line. */
static void tell_scratch(struct tfs_session *s)
{
    struct tfs_map_cell cell;
    struct tfs_buf names = {0};
    size_t count = 0;
    for (size_t at = 0; tfs_map_next(&s->inodes, &at, &cell);) {
        const struct tfs_inode *inode = cell.value;
        if (inode->kind == TFS_INODE_VIRTUAL || inode->link == NULL || inode->control ||
            inode->uncapped)
            continue;
        if (++count > 20)
            continue;
        tfs_buf_add_text(&names, count > 1 ? ", " : "");
        tfs_path_locked(s, inode->id, &names);
    }
    if (count > 20)
        tfs_buf_printf(&names, " and %zu more", count - 20);
    tfs_buf_u8(&names, 0);
    if (count > 0 && !names.failed)
        tfs_message(s, "scratch files not saved: %s", (const char *)names.data);
    tfs_buf_release(&names);
}

int tfs_session_finish(struct tfs_session *s)
{
    pthread_mutex_lock(&s->lock);
    tfs_submit_dirty_locked(s, true);
    pthread_mutex_unlock(&s->lock);
    tfs_worker_stop(s);
    tell_scratch(s);
    return tfs_keep_unsaved(s) == 0 ? 0 : 3;
}

const char *tfs_session_unsaved(const struct tfs_session *s)
{
    return s->unsaved;
}

static void free_values(struct tfs_map *map)
{
    struct tfs_map_cell cell;
    for (size_t at = 0; tfs_map_next(map, &at, &cell);)
        free(cell.value);
    tfs_map_release(map);
}

void tfs_session_close(struct tfs_session *s)
{
    struct tfs_map_cell cell;
    size_t at = 0;
    tfs_worker_stop(s);
    while (tfs_map_next(&s->fresh, &at, &cell)) {
        tfs_fresh_remove_locked(s, (uint32_t)(cell.key - 1));
        at = 0;
    }
    tfs_map_release(&s->fresh);
    tfs_map_release(&s->groups);
    free_values(&s->tombstones);
    free_values(&s->changes);
    tfs_handles_release(s);
    tfs_inodes_release(s);
    tfs_cache_release(&s->cache);
    free(s->stale_ids.ids);
    free(s->keys);
    free(s->unsaved);
    tfs_doc_unref(s->doc);
    tfs_doc_unref(s->disk);
    if (s->save != NULL)
        tfs_save_close(s->save);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->answer);
    pthread_cond_destroy(&s->closed);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->save_lock);
    free(s);
}

int tfs_session_statfs(struct tfs_session *s, struct statvfs *st)
{
    /* What there is room for is scratch; an edit of the save takes room where the save lies. */
    pthread_mutex_lock(&s->lock);
    uint64_t used =
        s->scratch_used < s->options.scratch_limit ? s->scratch_used : s->options.scratch_limit;
    *st = (struct statvfs){
        .f_bsize = BLOCK,
        .f_frsize = BLOCK,
        .f_blocks = s->options.scratch_limit / BLOCK,
        .f_bfree = (s->options.scratch_limit - used) / BLOCK,
        .f_bavail = (s->options.scratch_limit - used) / BLOCK,
        .f_namemax = NAME_MAX,
    };
    pthread_mutex_unlock(&s->lock);
    return 0;
}

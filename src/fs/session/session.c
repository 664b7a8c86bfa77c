/*
 * The life of a session: putting its modules together; what its stores ask and tell, which their
 * threads call: publishing, what is due, the answers to jobs; and the end, when nothing may be
 * lost.
 */
#include "fs/session/session.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/print.h"
#include "formats/apart.h"
#include "fs/session/ops.h"

#define NAMED_MAX 20 /* files that are named when they go with the mount */

/* ---- what the kernel has of directories ------------------------------------------------------ */

/* Without the lock: the kernel waits for nothing of ours, but takes its time. */
static void tell_stale(struct tfs_branch *branch)
{
    struct tfs_session *s = branch->session;
    struct tfs_map_cell cell;

    pthread_mutex_lock(&s->lock);
    tfs_ops_end_quiet(s);
    struct tfs_map stale = branch->stale;
    branch->stale = (struct tfs_map){0};
    pthread_mutex_unlock(&s->lock);
    for (size_t at = 0; tfs_map_next(&stale, &at, &cell);)
        s->events.invalidate(s->events.caches, cell.key);
    tfs_map_release(&stale);
}

/* ---- another document is shown --------------------------------------------------------------- */

struct publishing {
    struct tfs_branch *branch;
    uint64_t self; /* its times are those of its draft */
    bool all;      /* everything counts as changed already */
};

static void file_changed(const struct publishing *p, const struct tfs_node *node,
                         const struct tfs_file *file)
{
    struct tfs_session *s = p->branch->session;
    const uint64_t id = tfs_node_id(node);

    if (id == p->self)
        tfs_views_restamp(&s->views, id);
    else if (!p->all)
        tfs_views_bump(&s->views, id);
    if (tfs_comes_and_goes(file)) {
        struct tfs_node dir = tfs_ops_parent(s, node);
        tfs_ops_stale(s, &dir);
    }
}

static void node_changed(void *arg, const struct tfs_node *changed, const struct tfs_file *file,
                         enum tfs_changed how)
{
    const struct publishing *p = arg;
    struct tfs_node node = *changed;

    node.store = p->branch->number;
    if (how == TFS_CHANGED_FILE) {
        file_changed(p, &node, file);
        return;
    }
    /* The directory that lists chunks of this group reads differently. */
    struct tfs_node dir = tfs_ops_parent(p->branch->session, &node);
    tfs_ops_stale(p->branch->session, &node);
    tfs_ops_list_again(p->branch->session, &node);
    /* With its first and its last chunk a group comes and goes. */
    for (; tfs_node_is_group(&dir); dir = tfs_ops_parent(p->branch->session, &dir))
        tfs_ops_stale(p->branch->session, &dir);
}

static int count_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    size_t *count = arg;

    (void)before;
    (void)after;
    ++*count;
    return 0;
}

static bool bump_all(struct tfs_branch *branch, const struct tfs_publication *change)
{
    size_t chunks = 0;

    (void)tfs_doc_diff(change->before, change->after, count_chunk, &chunks);
    return tfs_views_bump_all(&branch->session->views, chunks * branch->save->tree->chunk.count);
}

/* Caches and names hear of it. */
static void announce(struct tfs_branch *branch, const struct tfs_publication *change)
{
    struct publishing p = {.branch = branch, .self = change->self, .all = bump_all(branch, change)};
    struct tfs_node root = TFS_NODE_ROOT;

    tfs_changes_each(branch->save, change->before, change->after, node_changed, &p);
    if (branch->save->tree->group_dir == NULL || change->before->version == change->after->version)
        return;
    root.store = branch->number;
    tfs_ops_stale(branch->session, &root);
}

static void on_publish(void *arg, struct tfs_store *store, const struct tfs_publication *change)
{
    struct tfs_branch *branch = arg;
    struct tfs_session *s = branch->session;
    bool kept = true;

    pthread_mutex_lock(&s->lock);
    while (kept && tfs_ops_past_loses(branch, change)) {
        pthread_mutex_unlock(&s->lock);
        kept = tfs_ops_keep_past(branch, change);
        pthread_mutex_lock(&s->lock);
    }
    tfs_store_show(store, change);
    if (!change->completed)
        announce(branch, change);
    tfs_ops_end_quiet(s);
    pthread_mutex_unlock(&s->lock);
}

/* A name that the kernel keeps would be found where it cannot be read. */
static void on_turned(void *arg)
{
    const struct tfs_branch *branch = arg;
    struct tfs_session *s = branch->session;
    struct tfs_node root = TFS_NODE_ROOT;

    root.store = branch->number;
    pthread_mutex_lock(&s->lock);
    tfs_views_restamp(&s->views, tfs_node_id(&root));
    tfs_ops_end_quiet(s);
    pthread_mutex_unlock(&s->lock);
}

/* ---- what is due ----------------------------------------------------------------------------- */

static int64_t on_tick(void *arg, bool last)
{
    struct tfs_branch *branch = arg;
    struct tfs_session *s = branch->session;

    pthread_mutex_lock(&s->lock);
    const int64_t now = tfs_now_ms();
    const int64_t next = tfs_sooner(tfs_rest_tick(branch, now, last), tfs_ops_begin_quiet(s, now));
    pthread_mutex_unlock(&s->lock);
    tell_stale(branch);
    return next;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void reply(struct tfs_work *work)
{
    const int result = work->job.result;

    if (work->reply.done != NULL)
        work->reply.done(work->reply.arg, result,
                         result == 0 && work->has_attr ? &work->attr : NULL);
    tfs_work_free(work);
}

/* Whoever hears of an edit finds it in every directory. */
static void on_answer(void *arg, struct tfs_job *jobs)
{
    struct tfs_branch *branch = arg;

    for (struct tfs_job *job = jobs; job != NULL; job = job->next)
        if (job->undone)
            tfs_ops_undone((struct tfs_work *)job);
    tell_stale(branch);
    while (jobs != NULL) {
        struct tfs_job *next = jobs->next;
        reply((struct tfs_work *)jobs);
        jobs = next;
    }
}

/* ---- people ---------------------------------------------------------------------------------- */

static void on_log(void *arg, const struct tfs_error *err)
{
    const struct tfs_branch *branch = arg;

    tfs_ops_log_branch(branch, err);
}

static void on_message(void *arg, const char *text)
{
    const struct tfs_branch *branch = arg;

    tfs_ops_message_of(branch, text);
}

static const struct tfs_store_client client_of_stores = {
    .publish = on_publish,
    .turned = on_turned,
    .tick = on_tick,
    .answer = on_answer,
    .log = on_log,
    .message = on_message,
};

/* ---- opening --------------------------------------------------------------------------------- */

static void set_options(struct tfs_session *s, const struct tfs_session_options *options)
{
    s->options = *options;
    if (s->options.linger_ms == 0)
        s->options.linger_ms = TFS_REST_MS;
    if (s->options.rejected_limit == 0)
        s->options.rejected_limit = TFS_REJECTED_MAX;
}

/* The directory `name` (of `length` characters) in the directory `parent`, made if there is none:
 * its number; negative without memory. */
static int64_t make_above(struct tfs_session *s, uint32_t parent, const char *name, size_t length)
{
    for (uint32_t i = 1; i < s->above_count; i++)
        if (s->above[i].parent == parent && strlen(s->above[i].name) == length &&
            memcmp(s->above[i].name, name, length) == 0)
            return i;
    struct tfs_above *more = tfs_array_grow(s->above, s->above_count, sizeof(*more));
    if (more == NULL)
        return -ENOMEM;
    s->above = more;
    more[s->above_count] = (struct tfs_above){strndup(name, length), parent};
    if (more[s->above_count].name == NULL)
        return -ENOMEM;
    return s->above_count++;
}

/* Sets where the root of a branch lies. */
static int place_branch(struct tfs_session *s, struct tfs_branch *branch, const char *path)
{
    int64_t at = s->above_count == 0 ? make_above(s, 0, "", 0) : 0;
    const char *slash;

    for (; at >= 0 && (slash = strchr(path, '/')) != NULL; path = slash + 1)
        at = make_above(s, (uint32_t)at, path, (size_t)(slash - path));
    if (at < 0)
        return -ENOMEM;
    branch->above = (uint32_t)at;
    branch->name = strdup(path);
    return branch->name != NULL ? 0 : -ENOMEM;
}

static int open_branch(struct tfs_session *s, const struct tfs_session_part *part, bool several,
                       struct tfs_error *err)
{
    struct tfs_branch *branch = &s->branches[s->branch_count];
    const struct tfs_store_options options = {.read_only = s->options.read_only,
                                              .commit_auto = s->options.commit_auto};
    struct tfs_store_client client = client_of_stores;

    client.arg = branch;
    /* Number 0 is the one whose root is the root of all. */
    *branch = (struct tfs_branch){.session = s,
                                  .save = part->save,
                                  .number = (uint16_t)(s->branch_count + (several ? 1 : 0))};
    s->branch_count++;
    if (s->options.keep_times)
        tfs_kept_times_open(&branch->kept, part->save);
    if ((several && place_branch(s, branch, part->path) < 0) ||
        tfs_views_set_base(&s->views, branch->number, part->save->st.st_mtim) < 0)
        return tfs_fail_memory(err);
    return tfs_store_open(part->save, &options, &client, &branch->store, err);
}

static int open_branches(struct tfs_session *s, const struct tfs_session_part *parts, size_t count,
                         struct tfs_error *err)
{
    bool several = count > 1 || parts[0].path[0] != '\0';

    if (count >= TFS_STORES)
        return tfs_fail(err, -EFBIG, "too many saves for one mount");
    s->branches = calloc(count, sizeof(*s->branches));
    if (s->branches == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        if (open_branch(s, &parts[i], several, err) < 0)
            return err->code;
    return 0;
}

static int start(struct tfs_session *s)
{
    const struct stat *st = &s->branches[0].save->st;

    s->rejected = (struct tfs_rejected){
        .inodes = &s->inodes, .views = &s->views, .st = *st, .limit = s->options.rejected_limit};
    int result = tfs_rejected_init(&s->rejected);
    for (size_t i = 0; i < s->branch_count && result == 0; i++)
        result = tfs_store_start(s->branches[i].store);
    return result;
}

static void stop_stores(struct tfs_session *s)
{
    for (size_t i = 0; i < s->branch_count; i++)
        if (s->branches[i].store != NULL)
            tfs_store_stop(s->branches[i].store);
}

/* The saves stay the caller's. */
static void give_back(struct tfs_session *s)
{
    stop_stores(s);
    for (size_t i = 0; i < s->branch_count; i++)
        if (s->branches[i].store != NULL)
            tfs_store_give_back(s->branches[i].store);
}

int tfs_session_open_many(const struct tfs_session_part *parts, size_t count,
                          const struct tfs_session_options *options,
                          const struct tfs_events *events, struct tfs_session **session,
                          struct tfs_error *err)
{
    struct tfs_session *s = calloc(1, sizeof(*s));

    if (s == NULL || tfs_cond_init(&s->answered) < 0) {
        free(s);
        return tfs_fail_memory(err);
    }
    pthread_mutex_init(&s->lock, NULL);
    set_options(s, options);
    s->events = events != NULL ? *events : (struct tfs_events){0};
    tfs_views_init(&s->views, (size_t)options->cache_limit, options->changes_limit);
    tfs_names_init(&s->names, s->options.linger_ms);
    tfs_scratch_tree_init(&s->scratch_tree, options->scratch_limit);
    tfs_inodes_init(&s->inodes, &s->scratch_tree);
    int result = open_branches(s, parts, count, err);
    if (result == 0 && start(s) < 0)
        result = tfs_fail(err, -ENOMEM, "cannot start a session: out of memory or threads");
    if (result < 0) {
        give_back(s);
        tfs_session_close(s);
        return result;
    }
    *session = s;
    return 0;
}

int tfs_session_add_file(struct tfs_session *s, const char *name, struct tfs_span bytes)
{
    return tfs_rejected_add_file(&s->rejected, name, bytes);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* What nobody closed is taken as if it was closed now. */
static void release_all(struct tfs_session *s)
{
    struct tfs_map_cell cell;

    pthread_mutex_lock(&s->lock);
    for (size_t at = 0; tfs_map_next(&s->inodes.open, &at, &cell);) {
        struct tfs_inode *inode = cell.value;
        for (struct tfs_handle *h = inode->handles, *next; h != NULL; h = next) {
            next = h->next;
            tfs_ops_release_handle(s, h);
        }
        if (inode->array != NULL)
            tfs_ops_release_array(s, inode);
    }
    pthread_mutex_unlock(&s->lock);
}

/* For `umount`, behind what there is to be said already. `new`: nobody has heard of it. */
static void say_left(struct tfs_session *s, const char *sentence, bool new)
{
    char *said = NULL;

    if (new)
        tfs_ops_message(s, "%s", sentence);
    if (tfs_print(&said, "%s%s%s", s->left != NULL ? s->left : "", s->left != NULL ? "; " : "",
                  sentence) < 0)
        return;
    free(s->left);
    s->left = said;
}

/* Names in a sentence, so many as a person reads. */
struct naming {
    struct tfs_buf names;
    size_t named, more;
};

/* Is there room for one more? It is to be added then. */
static bool names_next(struct naming *n)
{
    if (n->named == NAMED_MAX || n->names.size > PATH_MAX) {
        n->more++;
        return false;
    }
    tfs_buf_add_text(&n->names, n->named++ > 0 ? ", " : "");
    return true;
}

/* Says what is with them, if there are any, and why. */
static void say_names(struct tfs_session *s, struct naming *n, const char *is, const char *are,
                      int why)
{
    if (n->more > 0)
        tfs_buf_printf(&n->names, " and %zu more", n->more);
    tfs_buf_add_text(&n->names, n->named + n->more == 1 ? is : are);
    if (why < 0)
        tfs_buf_printf(&n->names, ": %s", strerror(-why));
    tfs_buf_u8(&n->names, 0);
    if (n->named > 0 && !n->names.failed)
        say_left(s, (const char *)n->names.data, true);
    tfs_buf_release(&n->names);
}

/* Programs leave hidden files and backups, and nobody misses them. */
static bool is_missed(const struct tfs_buf *path)
{
    const char *text = (const char *)path->data;

    return !path->failed && text[0] != '.' && strstr(text, "/.") == NULL &&
           text[strlen(text) - 1] != '~';
}

static void tell_lost(struct tfs_session *s, const struct tfs_scratch *scratch, struct naming *n)
{
    struct tfs_buf path = {0};

    tfs_ops_path(s, scratch->id, &path);
    tfs_buf_u8(&path, 0);
    if (is_missed(&path) && names_next(n))
        tfs_buf_add_text(&n->names, (const char *)path.data);
    tfs_buf_release(&path);
}

/* Scratch files that go with the mount, in one line, also for `terrainfs umount`. */
static void tell_scratch(struct tfs_session *s)
{
    struct tfs_map_cell cell;
    struct naming n = {.named = 0};

    for (size_t at = 0; tfs_map_next(&s->inodes.inodes, &at, &cell);) {
        const struct tfs_scratch *scratch = ((const struct tfs_inode *)cell.value)->scratch;
        if (scratch != NULL && scratch->link != NULL && scratch->kind != TFS_SCRATCH_DIRECTORY &&
            (scratch->flags & TFS_SCRATCH_OURS) == 0)
            tell_lost(s, scratch, &n);
    }
    say_names(s, &n, " is not kept", " are not kept", 0);
}

static bool differs(const struct tfs_branch *branch)
{
    return !tfs_doc_same(tfs_store_saved(branch->store), tfs_store_shown(branch->store));
}

/* Refused texts on their way out. */
struct keeping {
    const struct tfs_rejected *rejected;
    struct tfs_apart *apart; /* NULL: they go nowhere */
    size_t kept;
    bool texts; /* there is something to be kept */
    struct naming lost;
};

static int keep_one(void *arg, const char *path, struct tfs_span bytes)
{
    struct keeping *k = arg;
    const bool goes = bytes.size > 0 && k->apart != NULL;
    const int result = goes ? tfs_apart_add(k->apart, path, bytes) : 0;

    k->texts = k->texts || bytes.size > 0;
    if (goes && result == 0)
        k->kept++;
    else if (names_next(&k->lost))
        tfs_buf_add_text(&k->lost.names, path);
    return result;
}

static int keep_each(struct keeping *k, struct tfs_apart *apart)
{
    tfs_buf_release(&k->lost.names);
    *k = (struct keeping){.rejected = k->rejected, .apart = apart};
    return tfs_rejected_each(k->rejected, keep_one, k);
}

static int fill(void *arg, struct tfs_apart *apart)
{
    return keep_each(arg, apart);
}

static void say_kept(struct tfs_session *s, size_t kept, const char *directory)
{
    char *said = NULL;

    if (tfs_print(&said, "%zu refused text%s kept in %s", kept, kept == 1 ? " is" : "s are",
                  directory) >= 0)
        say_left(s, said, true);
    free(said);
}

/* Texts that were refused go to NAME.rejected-DATE/. Were there any? */
static bool keep_rejected(struct tfs_session *s)
{
    struct keeping k = {.rejected = &s->rejected};
    char *directory = NULL;
    int result = 0;

    if (tfs_rejected_is_empty(&s->rejected))
        return false;
    (void)keep_each(&k, NULL);
    if (k.texts)
        result = tfs_apart_store(s->branches[0].save, "rejected", true, fill, &k, &directory);
    if (directory == NULL)
        (void)keep_each(&k, NULL);
    else
        say_kept(s, k.kept, directory);
    const bool any = k.kept > 0 || k.lost.named > 0;
    say_names(s, &k.lost, " was refused and is not kept", " were refused and are not kept", result);
    free(directory);
    return any;
}

/* What became of edits that are not in the save. */
static bool tell_unsaved(struct tfs_session *s)
{
    bool unsaved = false;

    for (size_t i = 0; i < s->branch_count; i++) {
        const char *left = tfs_store_left(s->branches[i].store);
        if (left != NULL)
            say_left(s, left, false);
        unsaved = unsaved || left != NULL;
    }
    return unsaved;
}

/* Did the last sync of every save succeed? What is written may else be lost in a power cut. */
static bool is_durable(const struct tfs_session *s)
{
    bool durable = true;

    for (size_t i = 0; i < s->branch_count; i++)
        durable = durable && !tfs_store_unsaved(s->branches[i].store);
    return durable;
}

/* For the next mount: when the chunks that somebody looked at changed last. */
static void keep_times(struct tfs_session *s, struct tfs_branch *branch)
{
    const struct tfs_doc *doc = tfs_store_saved(branch->store);
    struct tfs_times times;

    for (size_t i = 0; i < doc->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, i);
        struct tfs_node node = tfs_node_of_chunk(chunk);
        node.store = branch->number;
        if (tfs_views_latest(&s->views, &node, tfs_node_schema(branch->save, &node).count, &times))
            tfs_kept_times_note(&branch->kept, branch->save, doc, chunk, times.mtime, times.ctime);
    }
    tfs_kept_times_write(&branch->kept);
}

int tfs_session_finish(struct tfs_session *s)
{
    release_all(s);
    stop_stores(s);
    tell_scratch(s);
    for (size_t i = 0; i < s->branch_count && s->options.keep_times; i++)
        if (!differs(&s->branches[i]))
            keep_times(s, &s->branches[i]);
    const bool unsaved = tell_unsaved(s);
    const bool rejected = keep_rejected(s);
    if (!rejected && !unsaved && is_durable(s))
        return 0;
    if (!rejected && !unsaved)
        say_left(s,
                 "everything is written, but the disk did not confirm it: a power cut may take the "
                 "last edits back",
                 true);
    return 3;
}

const char *tfs_session_left(const struct tfs_session *s)
{
    return s->left;
}

void tfs_session_close(struct tfs_session *s)
{
    stop_stores(s);
    tfs_inodes_release(&s->inodes);
    tfs_scratch_tree_release(&s->scratch_tree);
    tfs_names_release(&s->names);
    tfs_views_release(&s->views);
    for (size_t i = 0; i < s->branch_count; i++) {
        tfs_store_close(s->branches[i].store);
        tfs_kept_times_release(&s->branches[i].kept);
        tfs_map_release(&s->branches[i].stale);
        free(s->branches[i].name);
    }
    for (uint32_t i = 0; i < s->above_count; i++)
        free(s->above[i].name);
    free(s->above);
    free(s->branches);
    free(s->left);
    pthread_cond_destroy(&s->answered);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/*
 * The table of names: see names.h.
 */
#include "fs/session/names.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "formats/cells/written.h"

void tfs_names_init(struct tfs_names *names, unsigned rest_ms)
{
    *names = (struct tfs_names){.rest_ms = rest_ms, .due = TFS_NAMES_NEVER};
}

static void free_directory(struct tfs_name_directory *dir)
{
    if (dir == NULL)
        return;
    tfs_written_values_free(dir->values);
    free(dir->hidden);
    free(dir);
}

void tfs_names_release(struct tfs_names *names)
{
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&names->directories, &at, &cell);)
        free_directory(cell.value);
    tfs_map_release(&names->directories);
}

/* ---- records --------------------------------------------------------------------------------- */

static uint64_t id_of(const struct tfs_node *node)
{
    const struct tfs_node top = tfs_node_sibling_directory(node, TFS_DIR_TOP);

    return tfs_node_id(&top);
}

struct tfs_name_directory *tfs_names_of(const struct tfs_names *names, const struct tfs_node *node)
{
    return names->directories.count > 0 ? tfs_map_find(&names->directories, id_of(node)) : NULL;
}

/* The record, made if there is none; NULL without memory. */
static struct tfs_name_directory *make_record(struct tfs_names *names, const struct tfs_node *node)
{
    struct tfs_name_directory *dir = tfs_names_of(names, node);

    if (dir != NULL)
        return dir;
    dir = calloc(1, sizeof(*dir));
    if (dir == NULL)
        return NULL;
    dir->top = tfs_node_sibling_directory(node, TFS_DIR_TOP);
    dir->changed = TFS_NAMES_NEVER;
    if (tfs_map_set(&names->directories, tfs_node_id(&dir->top), dir) == 0)
        return dir;
    free(dir);
    return NULL;
}

static void begin_time(struct tfs_names *names, struct tfs_name_directory *dir)
{
    if (dir == NULL)
        return;
    dir->changed = tfs_now_ms();
    if (dir->changed + names->rest_ms < names->due)
        names->due = dir->changed + names->rest_ms;
}

void tfs_names_touch(struct tfs_names *names, const struct tfs_node *node)
{
    struct tfs_node group = *node;

    begin_time(names, tfs_names_of(names, node));
    if (node->scope != TFS_SCOPE_CHUNK || node->key.group == 0)
        return;
    group = tfs_node_of_group(node->key.group);
    group.store = node->store;
    begin_time(names, tfs_names_of(names, &group));
}

void tfs_names_forget(struct tfs_names *names, const struct tfs_node *node)
{
    free_directory(tfs_map_remove(&names->directories, id_of(node)));
}

/* ---- hidden names ---------------------------------------------------------------------------- */

/* NULL: it is not hidden. They are few. */
static struct tfs_hidden_name *find_hidden(const struct tfs_names *names,
                                           const struct tfs_node *node)
{
    const struct tfs_name_directory *dir = tfs_names_of(names, node);
    const uint64_t id = tfs_node_id(node);
    size_t at = 0;

    while (dir != NULL && at < dir->hidden_count && tfs_node_id(&dir->hidden[at].node) != id)
        at++;
    return dir != NULL && at < dir->hidden_count ? &dir->hidden[at] : NULL;
}

bool tfs_names_hides(const struct tfs_names *names, const struct tfs_node *node,
                     enum tfs_hiding *hiding)
{
    const struct tfs_hidden_name *hidden = find_hidden(names, node);

    if (hidden != NULL && hiding != NULL)
        *hiding = hidden->hiding;
    return hidden != NULL;
}

static int add_hidden(struct tfs_name_directory *dir, struct tfs_node node, enum tfs_hiding hiding)
{
    struct tfs_hidden_name *more = tfs_array_grow(dir->hidden, dir->hidden_count, sizeof(*more));

    if (more == NULL)
        return -ENOMEM;
    dir->hidden = more;
    more[dir->hidden_count++] = (struct tfs_hidden_name){node, hiding};
    return 0;
}

int tfs_names_hide(struct tfs_names *names, const struct tfs_node *node, enum tfs_hiding hiding)
{
    struct tfs_name_directory *dir = make_record(names, node);

    tfs_names_show(names, node);
    return dir == NULL ? -ENOMEM : add_hidden(dir, *node, hiding);
}

static void drop_hidden(struct tfs_name_directory *dir, struct tfs_hidden_name *hidden)
{
    *hidden = dir->hidden[--dir->hidden_count];
}

void tfs_names_show(struct tfs_names *names, const struct tfs_node *node)
{
    struct tfs_hidden_name *hidden = find_hidden(names, node);

    if (hidden != NULL)
        drop_hidden(tfs_names_of(names, node), hidden);
    tfs_names_touch(names, node);
}

void tfs_names_stored(struct tfs_names *names, const struct tfs_node *node)
{
    struct tfs_hidden_name *hidden = find_hidden(names, node);

    if (hidden != NULL && hidden->hiding == TFS_HIDING_UNLINKED)
        drop_hidden(tfs_names_of(names, node), hidden);
}

void tfs_names_keep_hidden(struct tfs_names *names, const struct tfs_node *node)
{
    struct tfs_name_directory *dir = tfs_names_of(names, node);

    for (size_t i = 0; dir != NULL && i < dir->hidden_count; i++)
        dir->hidden[i].hiding = TFS_HIDING_PASSES;
}

size_t tfs_names_count(const struct tfs_names *names)
{
    struct tfs_map_cell cell;
    size_t count = 0;

    for (size_t at = 0; tfs_map_next(&names->directories, &at, &cell);) {
        const struct tfs_name_directory *dir = cell.value;
        count += dir->hidden_count + (dir->top.scope == TFS_SCOPE_CHUNK && dir->made != 0);
    }
    return count;
}

/* ---- directories that were made -------------------------------------------------------------- */

static bool is_made(const struct tfs_name_directory *dir, unsigned directory)
{
    return dir != NULL && (dir->made >> directory & 1) != 0;
}

bool tfs_names_made(const struct tfs_names *names, const struct tfs_node *directory)
{
    return is_made(tfs_names_of(names, directory), directory->directory);
}

bool tfs_names_is_new(const struct tfs_names *names, const struct tfs_node *node)
{
    return node->scope == TFS_SCOPE_CHUNK && is_made(tfs_names_of(names, node), TFS_DIR_TOP);
}

int tfs_names_add(struct tfs_names *names, const struct tfs_node *directory)
{
    struct tfs_name_directory *dir = make_record(names, directory);

    if (dir == NULL)
        return -ENOMEM;
    dir->made |= UINT64_C(1) << directory->directory;
    tfs_names_show(names, directory);
    return 0;
}

/* With the directory of a group what it was to show goes, too. */
void tfs_names_drop(struct tfs_names *names, const struct tfs_node *directory)
{
    struct tfs_name_directory *dir = tfs_names_of(names, directory);

    if (dir == NULL)
        return;
    dir->made &= ~(UINT64_C(1) << directory->directory);
    begin_time(names, dir);
    if (directory->directory == TFS_DIR_TOP)
        tfs_names_forget(names, directory);
}

static int hide_all(struct tfs_name_directory *dir, struct tfs_schema schema)
{
    const unsigned end = tfs_schema_end(schema);
    int result = 0;

    for (unsigned i = 0; i < schema.count && result == 0; i++) {
        const struct tfs_node node = tfs_node_sibling_file(&dir->top, i, 0);
        const bool may_lack = (schema.files[i].flags & TFS_FILE_OPTIONAL) != 0;
        result = add_hidden(dir, node, may_lack ? TFS_HIDING_UNCREATED : TFS_HIDING_PASSES);
    }
    for (unsigned i = TFS_DIR_SUB; i < end && result == 0; i++)
        result = add_hidden(dir, tfs_node_sibling_directory(&dir->top, i), TFS_HIDING_PASSES);
    return result;
}

int tfs_names_make(struct tfs_names *names, const struct tfs_node *top, struct tfs_schema schema)
{
    struct tfs_name_directory *dir = make_record(names, top);

    if (dir == NULL)
        return -ENOMEM;
    dir->hidden_count = 0; /* of a group whose last chunks another program took */
    dir->made |= UINT64_C(1) << TFS_DIR_TOP;
    if (dir->values == NULL && top->scope == TFS_SCOPE_CHUNK)
        dir->values = tfs_written_values_create();
    if ((dir->values != NULL || top->scope != TFS_SCOPE_CHUNK) && hide_all(dir, schema) == 0)
        return 0;
    tfs_names_forget(names, top);
    return -ENOMEM;
}

/* ---- rest ------------------------------------------------------------------------------------ */

/* Directories of groups that were made stay. */
void tfs_names_end(struct tfs_names *names, struct tfs_name_directory *dir)
{
    dir->hidden_count = 0;
    if (dir->top.scope == TFS_SCOPE_CHUNK || dir->made == 0)
        tfs_names_forget(names, &dir->top);
}

int64_t tfs_names_rest(struct tfs_names *names, uint16_t store, int64_t now, bool all,
                       tfs_names_end_fn end, void *arg)
{
    struct tfs_map_cell cell;
    int64_t next = TFS_NAMES_NEVER;

    if (!all && now < names->due)
        return names->due == TFS_NAMES_NEVER ? 0 : names->due;
    names->due = TFS_NAMES_NEVER;
    for (size_t at = 0; tfs_map_next(&names->directories, &at, &cell);) {
        struct tfs_name_directory *dir = cell.value;
        const bool ours = dir->top.store == store, waits = dir->changed == TFS_NAMES_NEVER;
        const int64_t due = waits ? TFS_NAMES_NEVER : dir->changed + names->rest_ms;
        if (due < names->due && (!ours || due > now))
            names->due = due;
        if (ours && due > now && due < next)
            next = due;
        if (ours && (all || due <= now))
            end(arg, dir);
    }
    /* All that come together are looked at in one walk. */
    const int64_t soon = now + names->rest_ms / 8;
    names->due = names->due < soon ? soon : names->due;
    return next == TFS_NAMES_NEVER ? 0 : next < soon ? soon : next;
}

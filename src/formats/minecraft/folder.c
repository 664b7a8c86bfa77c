/*
 * A folder of region files: which names are its files, and where chunks are in them. All else is
 * formats/containers/folder.h.
 *
 * Must not know columns.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/print.h"
#include "formats/containers/folder.h"
#include "formats/containers/several_saves.h"
#include "formats/minecraft/minecraft.h"
#include "formats/minecraft/region.h"

#define FOLDER "region"
#define LOCK   "session.lock" /* of a world */

/* ---- names ----------------------------------------------------------------------------------- */

/* The files lie in the folder itself. */
static bool directory(const struct tfs_facts *facts, unsigned i, char path[TFS_FOLDER_PATH])
{
    (void)facts;
    *path = '\0';
    return i == 0;
}

static struct tfs_key file_of(const struct tfs_facts *facts, struct tfs_key chunk, uint32_t *index)
{
    (void)facts;
    return tfs_mc_file_of(chunk, index);
}

static struct tfs_key chunk_of(const struct tfs_facts *facts, struct tfs_key region, uint32_t index)
{
    (void)facts;
    return tfs_mc_chunk_of(region, index);
}

/* ---- regions --------------------------------------------------------------------------------- */

static int folder_facts(const struct tfs_save *save, struct tfs_blob *common,
                        struct tfs_facts **facts, struct tfs_error *err)
{
    (void)save;
    (void)common;
    return tfs_facts_create(sizeof(struct tfs_mc_region), facts, err);
}

/* What is in a region is known when its columns are inflated. */
static int look(const struct tfs_facts *facts, const struct tfs_file_handle *handle,
                struct tfs_folder_file *file, struct tfs_error *why)
{
    const off_t size = handle->st.st_size;

    (void)facts;
    file->unread = size > 0;
    return size == 0 || size >= TFS_MC_REGION_LEAST
               ? 0
               : tfs_fail(why, -EBADMSG, "is cut off within its table");
}

static void learn(const struct tfs_doc *doc, struct tfs_folder_file *file)
{
    struct tfs_mc_region *own = file->own;

    *own = *tfs_mc_region_of(doc->facts);
    own->file = NULL;
}

/* A file that was removed comes back empty: no edit makes a column in it. */
static int blank(struct tfs_save *save, struct tfs_key file, struct tfs_doc **doc,
                 struct tfs_error *err)
{
    struct tfs_facts *facts = NULL;

    (void)save;
    if (tfs_facts_create(sizeof(struct tfs_mc_region), &facts, err) == 0) {
        *tfs_mc_region_of(facts) = (struct tfs_mc_region){.key = file, .placed = true};
        tfs_doc_create(facts, doc, err);
    }
    tfs_facts_unref(facts);
    return err->code;
}

static const struct tfs_folder_kind kind = {.file = &tfs_mc_region_container,
                                            .keeps_empty = true,
                                            .own_size = sizeof(struct tfs_mc_region),
                                            .facts = folder_facts,
                                            .directory = directory,
                                            .key = tfs_mc_region_of_name,
                                            .path = tfs_mc_region_name,
                                            .file_of = file_of,
                                            .chunk_of = chunk_of,
                                            .look = look,
                                            .learn = learn,
                                            .payload = tfs_mc_region_payload,
                                            .blank = blank};

/* ---- a game that runs ------------------------------------------------------------------------ */

/* 1: another process holds the lock of the world that is in this folder; -1: there is no world. */
static int world_is_open(const char *folder, struct tfs_error *err)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int result = -1;
    char *path;

    if (tfs_print(&path, "%s/" LOCK, folder) < 0)
        return tfs_fail_memory(err), -1;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    free(path);
    if (fd >= 0) {
        result = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
        close(fd);
    }
    return result;
}

/* The world is the nearest folder above that has a lock: WORLD/region, WORLD/DIM-1/region,
 * WORLD/dimensions/NS/NAME/region. */
static bool game_has_it(const char *path, struct tfs_error *err)
{
    char *folder = strdup(path), *slash = folder;
    int is_open = -1;

    if (folder == NULL)
        tfs_fail_memory(err);
    while (err->code == 0 && is_open < 0 && (slash = strrchr(folder, '/')) != NULL) {
        *slash = '\0';
        is_open = world_is_open(folder, err);
    }
    free(folder);
    return is_open > 0;
}

static int folder_open(struct tfs_save *save, struct tfs_error *err)
{
    const bool open = game_has_it(save->path, err);
    struct tfs_error why = {0};

    if (err->code < 0 || tfs_folder_open(save, err) < 0 || !open || save->read_only != NULL)
        return err->code;
    tfs_fail(&why, -EROFS, "the game has this world open");
    tfs_save_set_read_only(save, &why);
    return 0;
}

/* ---- the container --------------------------------------------------------------------------- */

static int folder_probe(const struct tfs_probe *probe)
{
    DIR *folder = S_ISDIR(probe->st.st_mode) ? opendir(probe->path) : NULL;
    struct dirent *entry;
    struct tfs_key region;
    bool found = false;

    if (folder == NULL)
        return errno == ENOMEM && S_ISDIR(probe->st.st_mode) ? -ENOMEM : TFS_BID_NONE;
    while (!found && (entry = readdir(folder)) != NULL)
        found = tfs_mc_region_of_name(entry->d_name, &region);
    closedir(folder);
    return found ? TFS_BID_CERTAIN : TFS_BID_NONE;
}

/* A region of a folder that the game has means that folder. */
static int find_folder(const char *path, struct tfs_parts *parts, struct tfs_error *err)
{
    const char *slash = strrchr(path, '/');
    const size_t ending = sizeof("/" FOLDER) - 1, size = slash == NULL ? 0 : (size_t)(slash - path);
    struct tfs_key region;

    if (size < ending || !tfs_mc_region_of_name(slash + 1, &region) ||
        strncmp(slash - ending, "/" FOLDER, ending) != 0)
        return 0;
    return tfs_parts_add(parts, strdup(""), strndup(path, size), err);
}

static const struct tfs_journal_files journal = {.name = FOLDER, TFS_FOLDER_JOURNAL};

const struct tfs_container tfs_mc_folder_container = {
    .format = "minecraft",
    .name = "region folder",
    .tree = &tfs_mc_tree,
    .probe = folder_probe,
    .saves = find_folder,
    TFS_FOLDER_FUNCTIONS(folder_open, tfs_folder_close),
    .journal = &journal,
    .files = &kind,
};

/*
 * One region file alone.
 *
 * Must not know where columns lie in it.
 */
#include <errno.h>

#include "formats/containers/file.h"
#include "formats/minecraft/minecraft.h"
#include "formats/minecraft/region.h"

#define COMPOUND 0x0a

/* Does the first column begin as NBT does? The format has no mark. */
static int holds_column(const struct tfs_probe *p)
{
    struct tfs_mc_entry entry = {0};
    struct tfs_mc_stored stored;
    struct tfs_buf file = {0}, nbt = {0};
    struct tfs_error why = {0};
    bool over;

    for (uint32_t i = 0; i < TFS_MC_COLUMNS && entry.count == 0; i++)
        entry = tfs_mc_entry_at(p->head, i);
    const size_t size = (size_t)entry.count * TFS_MC_SECTOR;
    uint8_t *to = entry.count == 0 ? NULL : tfs_buf_reserve(&file, size);
    const ssize_t got =
        to == NULL ? 0 : tfs_file_read_at(p->fd, (uint64_t)entry.first * TFS_MC_SECTOR, to, size);
    file.size = got > 0 ? (size_t)got : 0;
    const struct tfs_mc_entry here = {.first = 0, .count = entry.count};
    const bool good = tfs_mc_stored_find(tfs_buf_span(&file), here, &stored, &why) == 0 &&
                      tfs_mc_stored_unpack(&stored, TFS_MC_COLUMN_LIMIT, &nbt, &over, &why) == 0 &&
                      nbt.size > 0 && nbt.data[0] == COMPOUND;
    const bool failed = file.failed || nbt.failed;
    tfs_buf_release(&file);
    tfs_buf_release(&nbt);
    return failed ? -ENOMEM : good;
}

static int region_probe(const struct tfs_probe *p)
{
    struct tfs_key region;

    if (!S_ISREG(p->st.st_mode))
        return TFS_BID_NONE;
    if (tfs_mc_region_of_name(p->name, &region))
        return p->st.st_size == 0 || p->st.st_size >= TFS_MC_REGION_LEAST ? TFS_BID_FULL
                                                                          : TFS_BID_LOW;
    const int holds = p->st.st_size < TFS_MC_REGION_LEAST ? 0 : holds_column(p);
    return holds < 0 ? holds : holds > 0 ? TFS_BID_FULL : TFS_BID_NONE;
}

static const struct tfs_file_codec codec = {
    .decode = tfs_mc_region_decode, .encode = tfs_mc_region_encode, .rereads = true};

const struct tfs_container tfs_mc_region_container = {
    .format = "minecraft",
    .name = "region file",
    .tree = &tfs_mc_tree,
    .probe = region_probe,
    TFS_WHOLE_FILE(&codec),
};

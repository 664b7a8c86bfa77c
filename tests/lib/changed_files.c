/*
 * Bits of files -> their names: see changed_files.h.
 */
#include "changed_files.h"

#include <stdio.h>
#include <string.h>

#include "formats/compare/changed_files.h"

const char *changed_chunk_files(struct tfs_save *save, const struct tfs_doc *before,
                                const struct tfs_doc *after, struct tfs_key key)
{
    const struct tfs_doc *const docs[2] = {before, after};
    const uint32_t bits =
        tfs_changed_files(save, docs, tfs_doc_find(before, key), tfs_doc_find(after, key));
    static char names[1024];
    size_t used = 0;

    names[0] = '\0';
    for (unsigned i = 0; i < save->tree->chunk.count; i++)
        if ((bits >> i & 1) != 0 && used < sizeof(names))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                     used == 0 ? "" : " ", save->tree->chunk.files[i].path);
    return names;
}

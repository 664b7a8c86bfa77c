/*
 * Bits of files -> their names: see changed_files.h.
 */
#include "changed_files.h"

#include <stdio.h>
#include <string.h>

static const char *join(const struct tfs_file *files, unsigned count, uint32_t bits)
{
    static char names[1024];
    size_t used = 0;

    names[0] = '\0';
    for (unsigned i = 0; i < count; i++)
        if ((bits >> i & 1) != 0 && used < sizeof(names))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                     used == 0 ? "" : " ", files[i].path);
    return names;
}

const char *changed_chunk_files(const struct tfs_tree *tree, uint32_t bits)
{
    return join(tree->chunk.files, tree->chunk.count, bits);
}

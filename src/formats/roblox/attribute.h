/*
 * An attribute of a cell: material, occupancy or water, as a file of its own shows it. What a
 * written value does to the other two, and which are refused, is here (FORMAT.md, section 6).
 */
#ifndef TFS_FORMATS_ROBLOX_ATTRIBUTE_H
#define TFS_FORMATS_ROBLOX_ATTRIBUTE_H

#include <stdbool.h>
#include <stdint.h>

struct tfs_rbx_attribute {
    const char *name;
    const char *out_of_range;
    unsigned shift; /* of its byte in a cell */
    uint32_t width, high;
    bool legend; /* names of the values stand in comments */
    /* Gives the cell a value that it does not have; false: it cannot have it. */
    bool (*apply)(uint32_t *cell, uint32_t value);
};

extern const struct tfs_rbx_attribute tfs_rbx_material;
extern const struct tfs_rbx_attribute tfs_rbx_occupancy;
extern const struct tfs_rbx_attribute tfs_rbx_water;

static inline uint32_t tfs_rbx_attribute_of(const struct tfs_rbx_attribute *a, uint32_t cell)
{
    return cell >> a->shift & 0xff;
}

/* What such a cell is that cannot have a value: "for ...". */
const char *tfs_rbx_attribute_refusal(uint32_t cell);

#endif

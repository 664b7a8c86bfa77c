/*
 * A number of keys -> the order in which a hash table gives them that got 0, 1, 2, ... one after
 * another, and which tables give the order that is stored.
 *
 * Keys are their own hashes and fewer than the buckets, so each has a bucket of its own and goes to
 * the front of the list; growing puts each to the front again, which turns the list round.
 */
#include "formats/luanti/order.h"

#include <string.h>

static const uint32_t buckets_a[] = {13, 29, 59, 127, 257, 541, 1109, 2357, 5087};
static const uint32_t buckets_b[] = {3, 7, 17, 37, 79, 163, 331, 673, 1361, 2729, 5471};

static void turn(uint16_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        const uint16_t other = list[count - 1 - i];
        list[count - 1 - i] = list[i];
        list[i] = other;
    }
}

/* The list is made back to front. `limits`: how many keys are there before it grows. */
static void list_hash(const uint32_t *buckets, uint32_t spare, uint32_t count, uint16_t *list)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i + spare == *buckets) {
            turn(list, i);
            buckets++;
        }
        list[i] = (uint16_t)i;
    }
    turn(list, count);
}

void tfs_luanti_order_list(enum tfs_luanti_order order, uint32_t count, uint16_t *list)
{
    if (order == TFS_LUANTI_HASH_A)
        list_hash(buckets_a, 0, count, list);
    else if (order == TFS_LUANTI_HASH_B)
        list_hash(buckets_b, 1, count, list);
    else
        for (uint32_t i = 0; i < count; i++)
            list[i] = (uint16_t)i;
}

unsigned tfs_luanti_orders_of(const struct tfs_luanti_block *block)
{
    uint16_t stored[TFS_LUANTI_VOXELS], list[TFS_LUANTI_VOXELS];
    unsigned orders = 0;

    if (block->stored > TFS_LUANTI_VOXELS)
        return 0;
    for (uint32_t i = 0; i < block->stored; i++)
        stored[i] = block->order[i].id;
    for (enum tfs_luanti_order order = 0; order < TFS_LUANTI_ORDERS; order++) {
        tfs_luanti_order_list(order, block->stored, list);
        if (memcmp(stored, list, block->stored * sizeof(*list)) == 0)
            orders |= 1u << order;
    }
    return orders;
}

enum tfs_luanti_order tfs_luanti_order_choose(unsigned orders, uint8_t version)
{
    static const enum tfs_luanti_order old[] = {TFS_LUANTI_ASCENDING, TFS_LUANTI_HASH_B,
                                                TFS_LUANTI_HASH_A};
    static const enum tfs_luanti_order new[] = {TFS_LUANTI_HASH_A, TFS_LUANTI_HASH_B,
                                                TFS_LUANTI_ASCENDING};
    const enum tfs_luanti_order *likely = version < TFS_LUANTI_VERSION_PRIVATE ? old : new;

    for (unsigned i = 0; i < TFS_LUANTI_ORDERS; i++)
        if ((orders & 1u << likely[i]) != 0)
            return likely[i];
    return TFS_LUANTI_AS_STORED;
}

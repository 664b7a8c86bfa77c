/*
 * The order of a block's name table, which is that of the map type of the C++ library that wrote it
 * (FORMAT.md, section 6).
 */
#ifndef TFS_FORMATS_LUANTI_ORDER_H
#define TFS_FORMATS_LUANTI_ORDER_H

#include "formats/luanti/block.h"

enum tfs_luanti_order {
    TFS_LUANTI_ASCENDING,
    TFS_LUANTI_HASH_A, /* libstdc++ since 4.9 or so: 13, 29, 59 buckets */
    TFS_LUANTI_HASH_B, /* 3, 7, 17 buckets */
    TFS_LUANTI_ORDERS,
    TFS_LUANTI_AS_STORED = TFS_LUANTI_ORDERS, /* none of them */
};

/* Which orders the block's names have: bit i is order i. All of them for one name. */
unsigned tfs_luanti_orders_of(const struct tfs_luanti_block *block);

/* The order that a database has whose blocks of that version agree on these orders. */
enum tfs_luanti_order tfs_luanti_order_choose(unsigned orders, uint8_t version);

/* Lists the numbers 0 to count - 1, at most 4096, in that order, which is one of the three. */
void tfs_luanti_order_list(enum tfs_luanti_order order, uint32_t count, uint16_t *list);

#endif

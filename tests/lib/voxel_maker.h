/*
 * Saves of Godot Voxel Tools made for tests and the bench: blocks, regions, folders, streams.
 *
 * Contents are hills of type 1 to 4 over a smooth signed distance, the same for the same seed. All
 * functions assert that they succeed.
 */
#ifndef TFS_TESTS_VOXEL_MAKER_H
#define TFS_TESTS_VOXEL_MAKER_H

#include "formats/save/document.h"
#include "formats/godot_voxel/wrap.h"

/* Appends a stored block of side 1 << po2 with dense type and sdf. `roughness` 0: the LZ4 data
 * stays small; more: it grows, up to about three bytes a voxel at 255. */
void voxel_block(struct tfs_buf *out, unsigned version, unsigned po2, struct tfs_key key,
                 unsigned roughness, enum tfs_godot_kind kind);

/* A region of that many blocks a side, all there, 2^po2 voxels each, version 3. */
void voxel_region(const char *path, unsigned side, unsigned po2);

/* A folder with meta.vxrm and one region of 4 x 4 x 4 blocks of 16^3 for each of `regions` along x;
 * each has the blocks of its lower half. */
void voxel_folder(const char *path, unsigned regions);
/* The same with everything in it of version 2. */
void voxel_folder_2(const char *path, unsigned regions);

/* The same with regions of 2^region_po2 blocks a side of 2^po2 voxels a side. */
void voxel_folder_of(const char *path, unsigned regions, unsigned region_po2, unsigned po2);

/* A stream of that key format (0 to 3, schema 1; 4: schema 0) with `count` blocks of 16^3. */
void voxel_stream(const char *path, unsigned coordinates, unsigned count);
/* The same with blocks of 2^po2 voxels a side, in pages of 512 bytes. */
void voxel_stream_of(const char *path, unsigned coordinates, unsigned count, unsigned po2);

#endif

/*
 * A terrain in memory and its files: opened from hex digits or a made world, its pictures as
 * samples, and what tests say of them. An independent codec made the vectors.
 */
#ifndef TFS_TESTS_BEAMNG_CASE_H
#define TFS_TESTS_BEAMNG_CASE_H

#include "../lib/place_maker.h"
#include "../lib/ter_maker.h"
#include "../lib/tree_files.h"
#include "image/png.h"

/* Version 9, version 8, and the layout of the community. */
#define TER_A "09 02000000 0040 0140 0280 ffff 0001ff01 02000000 05 4772617373 04 526f636b"
#define TER_B                                                                                      \
    "08 02000000 0040 0140 0280 ffff 0001ff01 0001ff01 01ff0101 ff010101 01010101 02000000"        \
    "05 4772617373 04 526f636b"
#define TER_C                                                                                      \
    "09 02000000 0040 0140 0280 ffff 0001ff01 11121314 c0c1c2c3 c4c5c6c7 c8c9cacb cccdcecf"        \
    "02000000 05 4772617373 00 04 526f636b 00"

struct tfs_span ter_span(const struct maker_bytes *b);
void ter_open_bytes(struct tree_files *t, const struct maker_bytes *b);
void ter_open_hex(struct tree_files *t, const char *hex);
void ter_open_world(struct tree_files *t, struct ter_world world);
/* The document is this file now. */
void ter_check_hex(struct tree_files *t, const char *hex);
void ter_check_refused(struct tree_files *t, const char *path, struct tfs_span text,
                       const char *sentence);
void ter_check_text(struct tree_files *t, const char *path, const char *wanted);
void ter_put_text(struct tree_files *t, const char *path, const char *text);
uint32_t ter_side_of(const struct tree_files *t);
struct tfs_png_shape ter_shape_of(const struct tree_files *t, const char *path);
void ter_get_samples(struct tree_files *t, const char *path, struct tfs_buf *samples);
void ter_make_png(struct tfs_png_shape shape, const uint8_t *samples, struct tfs_buf *png);
int ter_put_samples(struct tree_files *t, const char *path, const uint8_t *samples);
/* `hex`: the picture's samples, north row first. */
void ter_check_samples(struct tree_files *t, const char *path, const char *hex);
void ter_put_hex(struct tree_files *t, const char *path, const char *hex);
void ter_refuse_hex(struct tree_files *t, const char *path, const char *hex, const char *sentence);

#endif

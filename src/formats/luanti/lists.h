/*
 * The sections that are lists: metadata, objects, timers, names <-> where they end, and the lines
 * that show them (FORMAT.md, section 5). Places in a text are local to the block.
 */
#ifndef TFS_FORMATS_LUANTI_LISTS_H
#define TFS_FORMATS_LUANTI_LISTS_H

#include "formats/luanti/block.h"
#include "formats/save/document.h"
#include "text/lines.h"

/* Takes a section off the cursor: counts, places and lengths are looked at. EBADMSG names the
 * cursor's offset. */
int tfs_luanti_list_skip(struct tfs_cursor *c, enum tfs_luanti_section section, uint8_t version,
                         struct tfs_error *err);

/* How many items it has. */
uint32_t tfs_luanti_list_count(const struct tfs_luanti_block *block,
                               enum tfs_luanti_section section);

/* Appends the section without items; nothing where the version has no such section. */
void tfs_luanti_list_empty(struct tfs_buf *out, enum tfs_luanti_section section, uint8_t version);

/* Appends the lines of a section that was taken before, of the block at `key`; and the section that
 * lines say, in the order that the engine gives it. */
void tfs_luanti_metadata_print(const struct tfs_luanti_block *block, struct tfs_buf *out);
int tfs_luanti_metadata_parse(uint8_t version, struct tfs_span text, struct tfs_buf *out,
                              struct tfs_error *err);
void tfs_luanti_timers_print(const struct tfs_luanti_block *block, struct tfs_buf *out);
int tfs_luanti_timers_parse(uint8_t version, struct tfs_span text, struct tfs_buf *out,
                            struct tfs_error *err);
void tfs_luanti_objects_print(const struct tfs_luanti_block *block, struct tfs_key key,
                              struct tfs_buf *out);
int tfs_luanti_objects_parse(struct tfs_key key, struct tfs_span text, struct tfs_buf *out,
                             struct tfs_error *err);

/* Appends the section of objects for a block that moves. */
void tfs_luanti_objects_move(struct tfs_span objects, struct tfs_key from, struct tfs_key to,
                             struct tfs_buf *out);
/* The block that all objects lie in; false: there is no such block. */
bool tfs_luanti_objects_block(struct tfs_span objects, struct tfs_key *key);

/* What is tolerated and kept, but means nothing in the game: metadata and timers of air. */
void tfs_luanti_list_warn(const struct tfs_luanti_block *block, struct tfs_error *warning);

/* ---- for the files of lists ------------------------------------------------------------------ */

/* A place as it is stored, and its three numbers in a text, each with a blank behind it. */
void tfs_luanti_place_print(struct tfs_buf *out, uint32_t place);
int tfs_luanti_place_take(struct tfs_line *line, uint16_t *place, struct tfs_error *err);
int tfs_luanti_metadata_skip(struct tfs_cursor *c, uint8_t version, struct tfs_error *err);
/* The first place with metadata where the node is air; false: there is none. */
bool tfs_luanti_metadata_of_air(const struct tfs_luanti_block *block, uint16_t *place);
bool tfs_luanti_place_is_air(const struct tfs_luanti_block *block, uint16_t place);
void tfs_luanti_hex_print(struct tfs_buf *out, struct tfs_span bytes);
void tfs_luanti_u16(struct tfs_buf *out, uint32_t v);

#endif

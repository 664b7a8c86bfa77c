/*
 * Table text: one header line and one line a voxel, RFC 4180 quoting (docs/semantics.md,
 * T5).
 *
 * Written with LF; read with LF or CRLF. Blank lines and `#` comment lines are ignored on read. A
 * field with a comma, a quote, CR or LF, a blank at an end or, in front, a `#` or a byte order mark
 * is quoted, quotes are doubled. A quoted field may not span lines (names have their newlines
 * escaped, text/name.h).
 */
#ifndef TFS_TEXT_TABLE_H
#define TFS_TEXT_TABLE_H

#include "base/buf.h"
#include "text/lines.h"

#define TFS_TABLE_COLUMNS 16

struct tfs_table {
    struct tfs_lines lines;
    unsigned columns; /* of the header line, 0 before it was read */
};

/* One record. A field that needed unquoting lies in the reader's scratch buffer until the next
 * call. */
struct tfs_record {
    unsigned count;
    struct tfs_line fields[TFS_TABLE_COLUMNS];
};

/* Appends one field with the quoting it needs. */
void tfs_table_print_field(struct tfs_buf *out, struct tfs_span field);

/* Appends v in decimal. */
void tfs_table_print_number(struct tfs_buf *out, int64_t v);

/* Prepares reading. The header line is given by the first tfs_table_next; a text without one
 * (empty, or comments only) is for the caller to reject. */
int tfs_table_init(struct tfs_table *table, struct tfs_span text, struct tfs_error *err);

/* 1: *record is the next one; 0: the end; negative: rejected (an unbalanced quote, more than
 * TFS_TABLE_COLUMNS fields, another number of fields than the header line). Fields are stripped of
 * blanks when they are not quoted. */
int tfs_table_next(struct tfs_table *table, struct tfs_record *record, struct tfs_buf *scratch,
                   struct tfs_error *err);

#endif

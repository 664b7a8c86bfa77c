/*
 * Names of blocks and materials in text files: bytes <-> printable text (docs/semantics.md,
 * T6).
 *
 * Printed as they are: 20..7e except `\`, and well-formed UTF-8 from U+00A0 up. `\` is `\\`,
 * newline is `\n`, every other byte `\xNN` (two lower-case digits; either case is read). A blank at
 * the start or the end of a name is `\x20`, because parsing strips blanks; a `#` or a byte order
 * mark at the start is escaped, because it would begin a comment or be skipped. An unknown escape
 * is rejected.
 */
#ifndef TFS_TEXT_NAME_H
#define TFS_TEXT_NAME_H

#include "base/buf.h"

void tfs_name_print(struct tfs_buf *out, struct tfs_span name);
size_t tfs_name_size(struct tfs_span name); /* bytes that tfs_name_print adds */
/* The same as a name of a file: without slashes, cut between characters where it becomes longer
 * than `room`. */
void tfs_name_print_file(struct tfs_buf *out, struct tfs_span name, size_t room);

/* The name, printed so, for use in a sentence: what does not fit is cut and ends in "...". Returns
 * `out`. */
#define TFS_QUOTED 48
const char *tfs_name_quote(struct tfs_span name, char out[TFS_QUOTED]);

/* A sentence as one line for a terminal or a log, whatever foreign names stand in it: escapes, as
 * above, for control characters (C1 too), line and paragraph separators, characters that turn the
 * direction of text, and bytes that are not UTF-8. A backslash stays, so that printing twice is
 * printing once. Cuts what does not fit `size`, never inside an escape; always terminated. Returns
 * `out`. */
#define TFS_SENTENCE_GROWS 4 /* times, at most */
char *tfs_sentence_print(const char *text, char *out, size_t size);

/* Appends the bytes that `text` (already stripped) stands for. On failure err has the sentence and,
 * as column, the 1-based place in `text`; `out` is as it was. */
int tfs_name_parse(struct tfs_buf *out, struct tfs_span text, struct tfs_error *err);

/* How many bytes from the start are well-formed UTF-8 (no surrogates, no overlong forms)? */
size_t tfs_utf8_prefix(struct tfs_span text);

/* Length of the byte order mark that some editors put in front of a text; 0: it has none. */
size_t tfs_utf8_mark(struct tfs_span text);

#endif

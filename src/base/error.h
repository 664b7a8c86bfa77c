/*
 * One failure: a negative errno for programs and one sentence for people.
 *
 * Functions that can fail take a `struct tfs_error *` as their very last argument (never NULL) and
 * return 0 or a negative errno, which equals err->code. The first failure wins: a later one does
 * not replace the sentence that says what went wrong first.
 *
 * Codes: EBADMSG damaged or rejected content, ENOTSUP a version we do not know,
 * EFBIG over a cap, EINVAL misuse by the user, EIO the disk, ENOMEM.
 *
 * A sentence is in the user's terms, without full stop, without the file's name: a caller that
 * knows the path prints it in front (tfs_error_format). Text parsers set line and column (from 1; 0
 * = none).
 */
#ifndef TFS_BASE_ERROR_H
#define TFS_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TFS_ERROR_TEXT 400

struct tfs_error {
    int code;
    uint32_t line;
    uint32_t column;
    char text[TFS_ERROR_TEXT];
};

/* Records the failure unless one is recorded; returns the recorded code. `code` is negative. */
int tfs_fail(struct tfs_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a place in a text. */
int tfs_fail_at(struct tfs_error *err, int code, uint32_t line, uint32_t column, const char *format,
                ...) __attribute__((format(printf, 5, 6)));

/* The same for callers that have their own `...`. */
int tfs_fail_args(struct tfs_error *err, int code, uint32_t line, uint32_t column,
                  const char *format, va_list args) __attribute__((format(printf, 5, 0)));

/* tfs_fail(-ENOMEM) with its fixed sentence. */
int tfs_fail_memory(struct tfs_error *err);

/* The code of a write(2) that failed with `error`: a limit on the size of files is the system's, as
 * a quota is; EFBIG is over a cap of ours. */
int tfs_write_code(int error);

/* tfs_fail(-errno): "`what`: strerror". */
int tfs_fail_errno(struct tfs_error *err, const char *what);

/* Is what was read, and not the system, to blame? */
bool tfs_is_damage(int code);

/* Forgets a failure, so that the struct can be used again. */
void tfs_error_reset(struct tfs_error *err);

/* "path:17:9: sentence", "path: sentence" without a place, "sentence" with path NULL. Cuts what
 * does not fit `size`; always terminated. */
void tfs_error_format(const struct tfs_error *err, const char *path, char *out, size_t size);

/* Of several things that are all tried, what the first that failed says; 0: none did. */
static inline int tfs_first_failure(int before, int now)
{
    return before < 0 ? before : now;
}

#endif

/*
 * Texts of any length, in memory of their own.
 *
 * Instead of asprintf: that of glibc writes one byte behind its memory where a text of just 100
 * bytes cannot be made larger.
 */
#ifndef TFS_BASE_PRINT_H
#define TFS_BASE_PRINT_H

#include <stdarg.h>

/* *text is the caller's, to be freed: its length; or -1 and NULL without memory. */
int tfs_print(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
int tfs_print_args(char **text, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* "a/b", to be freed; NULL: no memory. */
char *tfs_path_join(const char *a, const char *b);

#endif

/*
 * Texts of any length: see print.h.
 */
#include "base/print.h"

#include <stdio.h>
#include <stdlib.h>

int tfs_print_args(char **text, const char *format, va_list args)
{
    va_list again;

    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    *text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (*text == NULL)
        return -1;
    vsnprintf(*text, (size_t)length + 1, format, args);
    return length;
}

int tfs_print(char **text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int length = tfs_print_args(text, format, args);
    va_end(args);
    return length;
}

char *tfs_path_join(const char *a, const char *b)
{
    char *path = NULL;

    return tfs_print(&path, "%s/%s", a, b) < 0 ? NULL : path;
}

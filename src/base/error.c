/*
 * One failure -> a negative errno and one sentence.
 *
 * Must not know what a file, a chunk or a text format is: it only keeps and joins what it was told.
 */
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A sentence that was cut may end inside a UTF-8 character; terminals and logs show that as
 * rubbish. */
static void drop_cut_character(char *text)
{
    size_t end = strlen(text);

    while (end > 0 && ((unsigned char)text[end - 1] & 0xc0) == 0x80)
        end--;
    if (end > 0 && ((unsigned char)text[end - 1] & 0xc0) == 0xc0)
        end--;
    text[end] = '\0';
}

int tfs_fail_args(struct tfs_error *err, int code, uint32_t line, uint32_t column,
                  const char *format, va_list args)
{
    assert(code < 0);
    if (err->code != 0)
        return err->code;
    int length = vsnprintf(err->text, sizeof(err->text), format, args);
    if (length >= (int)sizeof(err->text))
        drop_cut_character(err->text);
    err->code = code;
    err->line = line;
    err->column = column;
    return code;
}

int tfs_fail(struct tfs_error *err, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int result = tfs_fail_args(err, code, 0, 0, format, args);
    va_end(args);
    return result;
}

int tfs_fail_at(struct tfs_error *err, int code, uint32_t line, uint32_t column, const char *format,
                ...)
{
    va_list args;

    va_start(args, format);
    int result = tfs_fail_args(err, code, line, column, format, args);
    va_end(args);
    return result;
}

int tfs_fail_memory(struct tfs_error *err)
{
    return tfs_fail(err, -ENOMEM, "out of memory");
}

int tfs_write_code(int error)
{
    return error == EFBIG ? -EDQUOT : -error;
}

int tfs_fail_errno(struct tfs_error *err, const char *what)
{
    int code = errno > 0 ? errno : EIO;

    return tfs_fail(err, -code, "%s: %s", what, strerror(code));
}

bool tfs_is_damage(int code)
{
    return code == -EBADMSG || code == -EFBIG || code == -ENOTSUP;
}

void tfs_error_reset(struct tfs_error *err)
{
    err->code = 0;
    err->line = 0;
    err->column = 0;
    err->text[0] = '\0';
}

void tfs_error_format(const struct tfs_error *err, const char *path, char *out, size_t size)
{
    int length;

    if (size == 0)
        return;
    if (path == NULL)
        length = snprintf(out, size, "%s", err->text);
    else if (err->line == 0)
        length = snprintf(out, size, "%s: %s", path, err->text);
    else if (err->column == 0)
        length = snprintf(out, size, "%s:%u: %s", path, err->line, err->text);
    else
        length = snprintf(out, size, "%s:%u:%u: %s", path, err->line, err->column, err->text);
    if (length >= 0 && (size_t)length >= size)
        drop_cut_character(out);
}

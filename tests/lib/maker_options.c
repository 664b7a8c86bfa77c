/* Words of a command line -> numbers of a generator's request; bytes -> its file. */
#include "maker_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct maker_option *find(const char *word, const struct maker_option *options,
                                       size_t count)
{
    if (strncmp(word, "--", 2) != 0)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (strcmp(word + 2, options[i].name) == 0)
            return &options[i];
    return NULL;
}

static bool set_word(const struct maker_option *option, const char *text)
{
    for (long i = 0; option->words[i] != NULL; i++) {
        if (strcmp(text, option->words[i]) == 0) {
            *option->value = i;
            return true;
        }
    }
    return false;
}

static bool set_number(const struct maker_option *option, const char *text)
{
    char *end;

    errno = 0;
    *option->value = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *option->value >= option->low &&
           *option->value <= option->high;
}

const char *maker_options_parse(int argc, char **argv, const struct maker_option *options,
                                size_t count)
{
    int at = 1;

    for (; at < argc - 1; at++) {
        const struct maker_option *option = find(argv[at], options, count);
        if (option == NULL)
            return NULL;
        if (option->words == NULL && option->low == option->high)
            *option->value = 1;
        else if (++at == argc - 1 || !(option->words != NULL ? set_word(option, argv[at])
                                                             : set_number(option, argv[at])))
            return NULL;
    }
    return at == argc - 1 && argv[at][0] != '-' ? argv[at] : NULL;
}

int maker_write_file(const char *path, struct maker_bytes *bytes)
{
    FILE *file = fopen(path, "wb");
    bool written = file != NULL && fwrite(bytes->data, 1, bytes->size, file) == bytes->size;

    if (file == NULL || fclose(file) != 0 || !written) {
        perror(path);
        written = false;
    }
    maker_release(bytes);
    return written ? 0 : 3;
}

/*
 * Runs a fuzz target over all files of the directories given as arguments, without libFuzzer: so
 * the corpora are tests wherever the project compiles. Fails when there is no file at all.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

static FILE *open_regular(const char *path)
{
    struct stat st;
    FILE *file = fopen(path, "rb");

    if (file != NULL && (fstat(fileno(file), &st) < 0 || !S_ISREG(st.st_mode))) {
        fclose(file);
        file = NULL;
    }
    return file;
}

/* Reads to the end, into memory of exactly that size: a sanitizer then sees every byte past it. */
static uint8_t *read_all(FILE *file, size_t *size)
{
    struct stat st;

    if (fstat(fileno(file), &st) < 0)
        return NULL;
    *size = (size_t)st.st_size;
    uint8_t *data = malloc(*size == 0 ? 1 : *size);
    if (data != NULL && fread(data, 1, *size, file) != *size) {
        free(data);
        data = NULL;
    }
    return data;
}

static int replay_file(const char *path)
{
    FILE *file = open_regular(path);
    size_t size = 0;

    if (file == NULL)
        return 0;
    uint8_t *data = read_all(file, &size);
    fclose(file);
    if (data == NULL) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return -1;
    }
    fprintf(stderr, "%s: %zu bytes\n", path, size); /* in the log, the last one is what crashed */
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

/* Returns how many files there were, or -1. */
static int replay_directory(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;

    if (dir == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    for (struct dirent *entry = readdir(dir); entry != NULL && count >= 0; entry = readdir(dir)) {
        char name[4096];
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        int done = replay_file(name);
        count = done < 0 ? -1 : count + done;
    }
    closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    int total = 0;

    for (int i = 1; i < argc; i++) {
        int count = replay_directory(argv[i]);
        if (count < 0)
            return EXIT_FAILURE;
        total += count;
    }
    printf("%d inputs replayed\n", total);
    return total > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

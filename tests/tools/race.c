/*
 * Programs that read a file of a mount beside programs that write it: does each read see one whole
 * text, and does who closed see what he wrote?
 *
 *   race FILE ROUNDS WRITERS TEXT...
 *
 * TEXT are files with texts that FILE may have, in canonical form; it has the first one. Each
 * writer puts them ROUNDS times, each time in another way. One alone looks at what it wrote behind
 * each close. Prints what was wrong: status 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXTS   16
#define READERS 6

struct text {
    char *data;
    size_t size;
};

struct counts {
    atomic_bool over;
    atomic_uint reads, bad, errors, old, closes, refused;
};

static const char *path;
static char temp[4096];
static struct text texts[TEXTS];
static size_t text_count;
static unsigned writers, rounds;
static struct counts *counts;

static void stop(const char *what)
{
    fprintf(stderr, "race: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* All of a file, in pieces of that size. */
static struct text read_pieces(int fd, size_t piece)
{
    struct text text = {malloc(piece), 0};
    ssize_t got;

    while ((got = read(fd, text.data + text.size, piece)) > 0) {
        text.size += (size_t)got;
        text.data = realloc(text.data, text.size + piece);
        sched_yield();
    }
    if (got < 0)
        atomic_fetch_add(&counts->errors, 1);
    return text;
}

static void load(const char *name)
{
    const int fd = open(name, O_RDONLY);

    if (fd < 0)
        stop(name);
    texts[text_count++] = read_pieces(fd, 1 << 20);
    close(fd);
}

static bool is_text(const char *data, size_t size)
{
    bool found = false;

    for (size_t i = 0; i < text_count && !found; i++)
        found = size == texts[i].size && memcmp(data, texts[i].data, size) == 0;
    return found;
}

static void judge(bool whole, const char *how, size_t size)
{
    atomic_fetch_add(&counts->reads, 1);
    if (!whole && atomic_fetch_add(&counts->bad, 1) < 3)
        printf("%s: %zu bytes are none of the texts\n", how, size);
}

/* ---- readers --------------------------------------------------------------------------------- */

static void read_by_pieces(int fd, size_t piece)
{
    struct text text = read_pieces(fd, piece);
    struct stat st;

    if (fstat(fd, &st) == 0)
        judge(is_text(text.data, text.size) && (size_t)st.st_size == text.size, "read", text.size);
    free(text.data);
}

static void read_mapped(int fd, int flags)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return;
    const size_t size = (size_t)st.st_size;
    char *data = mmap(NULL, size, PROT_READ, flags, fd, 0);
    if (data == MAP_FAILED) {
        atomic_fetch_add(&counts->errors, 1);
        return;
    }
    sched_yield();
    judge(is_text(data, size), "mapped", size);
    munmap(data, size);
}

static void read_once(int fd, unsigned how)
{
    static const size_t pieces[] = {4096, 65536, 1500, 1 << 20};

    if (how < 4)
        read_by_pieces(fd, pieces[how]);
    else
        read_mapped(fd, how == 4 ? MAP_PRIVATE : MAP_SHARED);
}

static int run_reader(unsigned how)
{
    while (!atomic_load(&counts->over)) {
        const int fd = open(path, O_RDONLY);
        if (fd < 0) {
            printf("open to read: %s\n", strerror(errno));
            atomic_fetch_add(&counts->errors, 1);
            continue;
        }
        read_once(fd, how);
        close(fd);
    }
    return 0;
}

/* ---- writers --------------------------------------------------------------------------------- */

static bool write_pieces(int fd, const struct text *text, size_t piece)
{
    bool written = true;

    for (size_t at = 0; at < text->size && written; at += piece) {
        const size_t left = text->size - at;
        const size_t size = left < piece ? left : piece;
        written = write(fd, text->data + at, size) == (ssize_t)size;
    }
    return written;
}

/* Somebody else may have been faster, or renamed another file onto it: ESTALE. */
static bool close_file(int fd)
{
    atomic_fetch_add(&counts->closes, 1);
    if (close(fd) == 0)
        return true;
    if (errno == ESTALE && writers > 1)
        atomic_fetch_add(&counts->refused, 1);
    else
        stop("close");
    return false;
}

static bool put(const char *name, int flags, const struct text *text, size_t piece)
{
    const int fd = open(name, flags, 0644);

    if (fd < 0 || !write_pieces(fd, text, piece) ||
        ((flags & O_TRUNC) == 0 && ftruncate(fd, (off_t)text->size) < 0))
        stop(name);
    return close_file(fd);
}

static bool put_renamed(const struct text *text)
{
    (void)put(temp, O_WRONLY | O_CREAT | O_TRUNC, text, 1 << 20);
    if (rename(temp, path) < 0)
        stop("rename");
    return true;
}

static bool put_somehow(const struct text *text, unsigned how)
{
    switch (how % 5) {
    case 0:
        return put(path, O_WRONLY | O_TRUNC, text, 1 << 20);
    case 1:
        return put(path, O_WRONLY | O_TRUNC | O_CREAT, text, 1000);
    case 2:
        return put(path, O_RDWR, text, 4096);
    case 3:
        return put(path, O_WRONLY | O_TRUNC | O_APPEND, text, 1 << 16);
    default:
        return put_renamed(text);
    }
}

/* Is it what the name shows now? */
static void look(const struct text *text)
{
    struct stat st;
    const bool sized = stat(path, &st) == 0 && (size_t)st.st_size == text->size;
    const int fd = open(path, O_RDONLY);

    if (fd < 0)
        stop("open behind a close");
    struct text shown = read_pieces(fd, 1 << 20);
    const bool same = shown.size == text->size && memcmp(shown.data, text->data, shown.size) == 0;
    close(fd);
    free(shown.data);
    if ((!sized || !same) && atomic_fetch_add(&counts->old, 1) < 3)
        printf("behind a close: %s\n", sized ? "another text is read" : "another size is told");
}

static int run_writer(unsigned number)
{
    snprintf(temp, sizeof(temp), "%s.tmp%u", path, number);
    for (unsigned i = 0; i < rounds; i++) {
        const struct text *text = &texts[(i * 7 + number) % text_count];
        if (put_somehow(text, i + number) && writers == 1)
            look(text);
    }
    return 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static pid_t begin(int (*run)(unsigned), unsigned number)
{
    const pid_t pid = fork();

    if (pid < 0)
        stop("fork");
    if (pid == 0) {
        const int status = run(number);
        fflush(stdout);
        _exit(status);
    }
    return pid;
}

static bool end(pid_t pid)
{
    int status;

    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool run_all(void)
{
    pid_t reading[READERS], writing[64];
    bool ended = true;

    for (unsigned i = 0; i < READERS; i++)
        reading[i] = begin(run_reader, i);
    for (unsigned i = 0; i < writers; i++)
        writing[i] = begin(run_writer, i);
    for (unsigned i = 0; i < writers; i++)
        ended = end(writing[i]) && ended;
    atomic_store(&counts->over, true);
    for (unsigned i = 0; i < READERS; i++)
        ended = end(reading[i]) && ended;
    return ended;
}

int main(int argc, char **argv)
{
    if (argc < 5 || argc > 4 + TEXTS)
        return 2;
    counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counts == MAP_FAILED)
        stop("mmap");
    path = argv[1];
    rounds = (unsigned)atoi(argv[2]);
    writers = (unsigned)atoi(argv[3]);
    for (int i = 4; i < argc; i++)
        load(argv[i]);
    const bool ended = writers <= 64 && run_all();
    printf("%u reads, %u closes: %u bad, %u errors, %u old, %u ESTALE%s\n", counts->reads,
           counts->closes, counts->bad, counts->errors, counts->old, counts->refused,
           ended ? "" : ", and one died");
    return ended && counts->bad == 0 && counts->errors == 0 && counts->old == 0 ? 0 : 1;
}

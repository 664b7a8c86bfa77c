/*
 * `-o` operands -> one struct, by a table of the options that are ours.
 *
 * Must not know libfuse: what is not ours is handed on as it was written.
 */
#include "commands/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/print.h"
#include "commands/cli.h"
#include "formats/views/view_sets.h"

#define THREADS_MAX 256
#define READ_MIN    4096 /* the kernel takes no less */
#define READ_MAX    (UINT64_C(1) << 30)

/* The value of an option and where to put it. */
typedef int (*set_fn)(struct tfs_mount_options *options, const char *value, struct tfs_error *err);

void tfs_options_init(struct tfs_mount_options *options)
{
    *options = (struct tfs_mount_options){.commit_auto = true,
                                          .scratch_size = TFS_SCRATCH_SIZE,
                                          .cache_size = TFS_CACHE_SIZE,
                                          .inflate_limit = TFS_INFLATE_LIMIT,
                                          .undo = {.when = TFS_UNDO_MOUNT}};
}

void tfs_options_release(struct tfs_mount_options *options)
{
    free(options->fuse_options);
    free(options->backup);
    options->fuse_options = options->backup = NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Decimal digits up to `*end`; false without digits or beyond 64 bits. */
static bool parse_digits(const char *text, uint64_t *value, const char **end)
{
    uint64_t v = 0;

    *end = text;
    for (; **end >= '0' && **end <= '9'; ++*end) {
        unsigned digit = (unsigned)(**end - '0');

        if (v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *value = v;
    return *end != text;
}

static int parse_number(const char *name, const char *text, uint64_t low, uint64_t high,
                        uint64_t *value, struct tfs_error *err)
{
    const char *end;
    uint64_t v;

    if (!parse_digits(text, &v, &end) || *end != '\0' || v < low || v > high)
        return tfs_fail(err, -EINVAL, "%s=%s: not a number from %ju to %ju", name, text,
                        (uintmax_t)low, (uintmax_t)high);
    *value = v;
    return 0;
}

static int parse_size(const char *name, const char *text, uint64_t *value, struct tfs_error *err)
{
    static const char suffixes[] = "KMG";
    const char *end, *suffix;
    unsigned shift = 0;
    uint64_t v;

    if (!parse_digits(text, &v, &end))
        goto wrong;
    if (*end != '\0') {
        suffix = strchr(suffixes, *end >= 'a' ? *end - 'a' + 'A' : *end);
        if (!suffix || end[1] != '\0')
            goto wrong;
        shift = 10 * (unsigned)(suffix - suffixes + 1);
    }
    if (v > UINT64_MAX >> shift)
        goto wrong;
    *value = v << shift;
    return 0;

wrong:
    return tfs_fail(err, -EINVAL, "%s=%s: not a size like 500000, 64M or 2G", name, text);
}

static int set_ro(struct tfs_mount_options *o, const char *value, struct tfs_error *err)
{
    (void)value, (void)err;
    o->read_only = true;
    return 0;
}

static int set_rw(struct tfs_mount_options *o, const char *value, struct tfs_error *err)
{
    (void)value, (void)err;
    o->read_only = false;
    return 0;
}

static int set_upgrade(struct tfs_mount_options *o, const char *value, struct tfs_error *err)
{
    (void)value, (void)err;
    o->upgrade = true;
    return 0;
}

static int set_commit(struct tfs_mount_options *o, const char *value, struct tfs_error *err)
{
    const bool is_auto = strcmp(value, "auto") == 0, is_close = strcmp(value, "close") == 0;
    const bool digits = value[0] != '\0' && value[strspn(value, "0123456789")] == '\0';

    if (digits)
        return tfs_fail(err, -EINVAL,
                        "commit=%s: seconds are chosen no more: auto, the default, lets a journal "
                        "take bursts of edits, and the save follows",
                        value);
    if (!is_auto && !is_close)
        return tfs_fail(err, -EINVAL, "commit=%s: neither \"auto\" nor \"close\"", value);
    o->commit_auto = is_auto;
    return 0;
}

/* Appends what -o format= may be: each format once, containers of one stand together. */
static void format_names(char *text, size_t size)
{
    const char *last = "";
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; tfs_containers[i]; i++) {
        const char *name = tfs_containers[i]->format;

        if (strcmp(name, last) == 0 || used + strlen(name) + 3 > size)
            continue;
        used = (size_t)(stpcpy(stpcpy(text + used, used ? ", " : ""), name) - text);
        last = name;
    }
}

static int set_format(struct tfs_mount_options *o, const char *value, struct tfs_error *err)
{
    char names[200];

    for (size_t i = 0; tfs_containers[i]; i++)
        if (strcmp(tfs_containers[i]->format, value) == 0) {
            o->format = tfs_containers[i]->format;
            return 0;
        }
    format_names(names, sizeof(names));
    return tfs_fail(err, -EINVAL, "format=%s: no format has this name; there is %s", value, names);
}

static int set_scratch(struct tfs_mount_options *o, const char *value, struct tfs_error *err)
{
    return parse_size("scratch", value, &o->scratch_size, err);
}

static int set_cache(struct tfs_mount_options *o, const char *value, struct tfs_error *err)
{
    return parse_size("cache", value, &o->cache_size, err);
}

static int set_inflate(struct tfs_mount_options *o, const char *value, struct tfs_error *err)
{
    return parse_size("inflate", value, &o->inflate_limit, err);
}

static int set_views(struct tfs_mount_options *o, const char *value, struct tfs_error *err)
{
    return tfs_chosen_parse(tfs_span_of(value), &o->views, err);
}

static int set_threads(struct tfs_mount_options *o, const char *value, struct tfs_error *err)
{
    uint64_t threads = 0;
    int result = parse_number("threads", value, 0, THREADS_MAX, &threads, err);

    if (!result)
        o->threads = (unsigned)threads;
    return result;
}

static int set_max_read(struct tfs_mount_options *o, const char *value, struct tfs_error *err)
{
    uint64_t size = 0;
    int result = parse_number("max_read", value, READ_MIN, READ_MAX, &size, err);

    if (!result)
        o->max_read = (unsigned)size;
    return result;
}

/* The absolute path: a mount changes its working directory. NULL: no memory. */
static char *absolute(const char *value)
{
    char *here = value[0] == '/' ? NULL : getcwd(NULL, 0), *path = NULL;

    if (value[0] == '/')
        return strdup(value);
    if (here != NULL && tfs_print(&path, "%s/%s", here, value) < 0)
        path = NULL;
    free(here);
    return path;
}

static int check_directory(const char *name, const char *value, const char *path,
                           struct tfs_error *err)
{
    struct stat st;

    return value[0] != '\0' && stat(path, &st) == 0 && S_ISDIR(st.st_mode)
               ? 0
               : tfs_fail(err, -EINVAL, "%s=%s: there is no such directory", name, value);
}

/* "no" keeps nothing. Otherwise databases are kept, too; a value names the directory. */
static int set_backup(struct tfs_mount_options *o, const char *value, struct tfs_error *err)
{
    const bool no = strcmp(value, "no") == 0, named = !no && value[0] != '\0';
    char *path = named ? absolute(value) : NULL;

    if (named && path == NULL)
        return tfs_fail_memory(err);
    free(o->backup);
    o->backup = path;
    o->undo = (struct tfs_undo_options){
        .when = no ? TFS_UNDO_NEVER : TFS_UNDO_MOUNT, .directory = path, .databases = !no};
    return named ? check_directory("backup", value, path, err) : 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

enum takes { NO_VALUE, VALUE, MAYBE_VALUE };

static const struct own_option {
    const char *name;
    enum takes takes;
    bool mount_only;
    set_fn set;
    const char *spelling; /* for people */
    const char *summary;
    unsigned flag; /* as in struct tfs_option_help */
} own_options[] = {
    {"format", VALUE, false, set_format, "format=NAME",
     "take the save for format NAME instead of guessing", 0},
    {"inflate", VALUE, false, set_inflate, "inflate=SIZE",
     "largest payload that is decompressed (1G)", 0},
    {"upgrade", NO_VALUE, false, set_upgrade, "upgrade",
     "write edited parts in the newest version of the format of the save", 0},
    {"views", VALUE, false, set_views, "views=A+B",
     "which files there are: all (default); voxels, grids or raw, each\n"
     "without overlaps; arrays, for NumPy",
     TFS_CLI_VIEWS},
    {"backup", MAYBE_VALUE, false, set_backup, "backup[=DIR|no]",
     "keep databases for undo too; keep all in DIR; keep nothing (no)", 0},
    {"ro", NO_VALUE, true, set_ro, "ro", "mount read-only", 0},
    {"rw", NO_VALUE, true, set_rw, "rw", "mount for reading and writing (default)", 0},
    {"commit", VALUE, true, set_commit, "commit=WHEN",
     "auto (default): close() returns when the save or, in a burst of\n"
     "edits, its journal has the edit; close: when the save has it",
     0},
    {"scratch", VALUE, true, set_scratch, "scratch=SIZE",
     "room for files that are not part of the save (64M)", 0},
    {"cache", VALUE, true, set_cache, "cache=SIZE",
     "memory for rendered files, and as much again for other caches (8M)", 0},
    {"threads", VALUE, true, set_threads, "threads=N",
     "requests served at once (0: one for each CPU, default)", 0},
    {"max_read", VALUE, true, set_max_read, "max_read=N",
     "largest number of bytes in one read request, from 4096", 0},
};

bool tfs_option_help(size_t number, struct tfs_option_help *help)
{
    if (number >= sizeof(own_options) / sizeof(own_options[0]))
        return false;
    const struct own_option *option = &own_options[number];
    *help = (struct tfs_option_help){option->name,           option->spelling,   option->summary,
                                     option->takes == VALUE, option->mount_only, option->flag};
    return true;
}

static const struct own_option *find_option(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(own_options) / sizeof(own_options[0]); i++)
        if (strlen(own_options[i].name) == length && memcmp(own_options[i].name, name, length) == 0)
            return &own_options[i];
    return NULL;
}

/* Words in fstab that are for mount(8) and systemd. */
static bool is_for_others(const char *word)
{
    static const char *const names[] = {"defaults", "auto",    "noauto",  "user",
                                        "nouser",   "users",   "owner",   "group",
                                        "nofail",   "_netdev", "comment", "relatime"};
    const size_t length = strcspn(word, "=");

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == length && memcmp(names[i], word, length) == 0)
            return true;
    return strncmp(word, "x-", 2) == 0;
}

#define OWNER      "owner and mode are those of the save, so that nobody sees more than in the file"
#define KEPT       "what the kernel keeps of a file is right for good, that is not to be chosen"
#define THREADS    "threads=N says how many requests are served at once"
#define READ_TIMES "when a file was read is not noted"
#define USER       "mount as that user (in fstab: user)"

/* Options of mount(8), mount.fuse3(8) or libfuse that cannot work here. */
static const struct no_option {
    const char *name;
    const char *why;
} impossible[] = {
    {"blkdev", "a save is no block device"},
    {"blksize", "a save is no block device"},
    {"subtype", "mounts of terrainfs are told by it"},
    {"uid", OWNER},
    {"gid", OWNER},
    {"umask", OWNER},
    {"kernel_cache", KEPT},
    {"auto_cache", KEPT},
    {"noauto_cache", KEPT},
    {"direct_io", KEPT},
    {"attr_timeout", KEPT},
    {"ac_attr_timeout", KEPT},
    {"entry_timeout", KEPT},
    {"negative_timeout", KEPT},
    {"clone_fd", THREADS},
    {"max_threads", THREADS},
    {"max_idle_threads", THREADS},
    {"norelatime", READ_TIMES},
    {"strictatime", READ_TIMES},
    {"lazytime", READ_TIMES},
    {"drop_privileges", USER},
    {"setuid", USER},
    {"nonempty", "what is in the directory is hidden, and a line says so"},
};

/* What version 0.1 had. */
static const struct no_option gone[] = {
    {"notify", "tail -f MOUNTPOINT/.terrainfs/errors.log shows what is refused"},
    {"conflict", "edits that wait for a save which another program changed get ESTALE, and are in "
                 "NAME.unsaved-DATE/ after the mount, which import takes"},
    {"unsaved", "what could not be saved is in NAME.unsaved-DATE/ beside the save, or below "
                "~/.local/state/terrainfs"},
    {"strict-names", "new names are stored and told: look at .terrainfs/errors.log or what put and "
                     "import print"},
    {"remount", "`mount -i -o remount,ro MOUNTPOINT` makes a mount read-only"},
};

static int check_no_option(const struct no_option *table, size_t count, const char *how,
                           const char *word, struct tfs_error *err)
{
    size_t length = strcspn(word, "=");

    for (size_t i = 0; i < count; i++)
        if (strlen(table[i].name) == length && memcmp(table[i].name, word, length) == 0)
            return tfs_fail(err, -EINVAL, "%s: this option %s: %s", word, how, table[i].why);
    return 0;
}

/* Joins `word` to those for libfuse. */
static int keep_foreign(struct tfs_mount_options *options, const char *word, struct tfs_error *err)
{
    if (check_no_option(impossible, sizeof(impossible) / sizeof(impossible[0]), "cannot be used",
                        word, err) < 0)
        return err->code;
    size_t used = options->fuse_options ? strlen(options->fuse_options) : 0;
    char *joined = realloc(options->fuse_options, used + strlen(word) + 2);

    if (!joined)
        return tfs_fail_memory(err);
    options->fuse_options = joined;
    stpcpy(stpcpy(joined + used, used ? "," : ""), word);
    return 0;
}

static int parse_word(struct tfs_mount_options *options, const char *word, bool mounting,
                      struct tfs_error *err)
{
    size_t length = strcspn(word, "=");
    const struct own_option *option = find_option(word, length);
    bool has_value = word[length] == '=';

    if (word[0] == '\0')
        return 0;
    if (!option &&
        check_no_option(gone, sizeof(gone) / sizeof(gone[0]), "is no longer there", word, err) < 0)
        return err->code;
    if (!option && mounting && is_for_others(word))
        return 0;
    if (!option && (strcmp(word, "readonly") == 0 || strcmp(word, "read-only") == 0))
        return tfs_fail(err, -EINVAL, "%s: there is no such option; did you mean ro?", word);
    if (!option && mounting)
        return keep_foreign(options, word, err);
    if (!option)
        return tfs_fail(err, -EINVAL, "%s: there is no such option", word);
    if (option->mount_only && !mounting)
        return tfs_fail(err, -EINVAL, "%s: this option is for a mount", word);
    if (has_value && option->takes == NO_VALUE)
        return tfs_fail(err, -EINVAL, "%s: this option takes no value", word);
    if (!has_value && option->takes == VALUE)
        return tfs_fail(err, -EINVAL, "%s: this option needs a value", word);
    return option->set(options, has_value ? word + length + 1 : "", err);
}

/* The end of the word that begins here: a comma (as in mount, `\,` is none) or the end. */
static char *word_end(char *word)
{
    for (; *word && *word != ','; word++)
        if (word[0] == '\\' && word[1])
            word++;
    return word;
}

int tfs_options_parse(struct tfs_mount_options *options, const char *text, bool mounting,
                      struct tfs_error *err)
{
    char *copy = strdup(text), *word = copy;
    int result = 0;

    if (!copy)
        return tfs_fail_memory(err);
    while (*word && !result) {
        char *end = word_end(word), *next = *end ? end + 1 : end;

        *end = '\0';
        result = parse_word(options, word, mounting, err);
        word = next;
    }
    free(copy);
    return result;
}

struct tfs_open_options tfs_options_open(const struct tfs_mount_options *options,
                                         enum tfs_lock lock)
{
    struct tfs_undo_options undo = options->undo;

    if (undo.when != TFS_UNDO_NEVER)
        undo.when = TFS_UNDO_COMMAND;
    return (struct tfs_open_options){
        .lock = lock,
        .upgrade = options->upgrade,
        .views = options->views,
        .later = options->later,
        .undo = undo,
        .inflate_limit = options->inflate_limit,
        .name = options->name,
        .memory = options->cache_size > 0 ? options->cache_size : 1,
    };
}

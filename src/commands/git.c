/*
 * git: tells git how to show and merge saves. The configuration that makes `git diff`, `git log
 * -p`, `git blame` and `git merge` call `terrainfs diff --git`, `text` and `merge`, and the
 * attributes that say for which files; both are written by git's own rules, so that they can be
 * undone with git alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/cli.h"
#include "commands/git_run.h"
#include "commands/output.h"
#include "formats/views/view_sets.h"

#define FILE_MAX ((size_t)1 << 20) /* bytes of a .gitattributes that is read */
/* -text: git changes no line end of a save that is a text (core.autocrlf). */
#define ATTRIBUTES " -text diff=terrain merge=terrain"

/* The configuration. `%s` is the program. */
static const struct {
    const char *key, *value;
} settings[] = {
    {"diff.terrain.command", "%s diff --git --"},
    {"diff.terrain.textconv", "%s text --"},
    {"diff.terrain.cachetextconv", "true"},
    {"diff.terrain.xfuncname", "^chunk ([^ ]+)"},
    {"merge.terrain.name", "voxels of terrain"},
    {"merge.terrain.driver", "%s merge --path=%P -- %O %A %B"},
    /* Of branches that were merged into each other git merges the common ancestors first. A voxel
     * in conflict there must be as it was before, or one side would win without a word. */
    {"merge.terrain.recursive", "terrain-base"},
    {"merge.terrain-base.name", "voxels of terrain, between merges"},
    {"merge.terrain-base.driver", "%s merge --virtual --path=%P -- %O %A %B"},
};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

struct gitter {
    struct tfs_cli *cli;
    const char *scope; /* --local, --global */
    struct tfs_buf out;
    enum tfs_status status;
};

static bool wants(const struct gitter *g, unsigned flag)
{
    return (g->cli->flags & flag) != 0;
}

/* Runs git; its exit status, or negative after it was said why not. */
static int run(struct gitter *g, bool quiet, const char *const words[])
{
    struct tfs_error err = {0};

    tfs_buf_clear(&g->out);
    int status = tfs_git_run(words, quiet, &g->out, &err);
    if (status >= 0 && tfs_buf_check(&g->out, &err) < 0)
        status = err.code;
    if (status < 0)
        g->status = tfs_cli_say(g->cli, TFS_STATUS_SYSTEM, "%s", err.text);
    return status;
}

/* The first line that git printed. */
static char *first_line(struct gitter *g)
{
    tfs_buf_u8(&g->out, 0);
    if (g->out.failed)
        return NULL;
    char *text = (char *)g->out.data;
    text[strcspn(text, "\n")] = '\0';
    return text;
}

/* ---- the program, as a shell finds it -------------------------------------------------------- */

static bool is_this_program(const char *directory, size_t length, const char *self)
{
    char path[PATH_MAX], resolved[PATH_MAX];

    return snprintf(path, sizeof(path), "%.*s/terrainfs", (int)length, directory) <
               (int)sizeof(path) &&
           realpath(path, resolved) != NULL && strcmp(resolved, self) == 0;
}

/* Is `terrainfs` what runs now? The first of that name decides. */
static bool is_on_path(const char *self)
{
    const char *path = getenv("PATH");

    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        char name[PATH_MAX];
        if (length > 0 &&
            snprintf(name, sizeof(name), "%.*s/terrainfs", (int)length, path) < (int)sizeof(name) &&
            access(name, X_OK) == 0)
            return is_this_program(path, length, self);
        path += length + (path[length] == ':');
    }
    return false;
}

/* Appends a word as shells read it. */
static void quote(const char *word, struct tfs_buf *out)
{
    tfs_buf_u8(out, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            tfs_buf_add_text(out, "'\\'");
        tfs_buf_u8(out, (uint8_t)*word);
    }
    tfs_buf_u8(out, '\'');
}

/* The program by its name where a shell finds it by that, else by its path. With a NUL. */
static void find_program(struct tfs_buf *out)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    self[n > 0 ? n : 0] = '\0';
    if (n <= 0 || is_on_path(self))
        tfs_buf_add_text(out, "terrainfs");
    else
        quote(self, out);
    tfs_buf_u8(out, 0);
}

/* ---- the configuration ----------------------------------------------------------------------- */

/* Appends a setting's value, with a NUL. */
static void print_value(const char *value, const char *program, struct tfs_buf *out)
{
    const char *place = strstr(value, "%s");

    if (place != NULL) {
        tfs_buf_add(out, value, (size_t)(place - value));
        tfs_buf_add_text(out, program);
        value = place + 2;
    }
    tfs_buf_add_text(out, value);
    tfs_buf_u8(out, 0);
}

/* Calls git for every setting: to write it, or to compare. True: all went well. */
static bool each_setting(struct gitter *g,
                         bool (*apply)(struct gitter *, const char *key, const char *value))
{
    struct tfs_buf program = {0}, value = {0};
    bool good = true;

    find_program(&program);
    for (size_t i = 0; i < SETTINGS && good && !program.failed; i++) {
        tfs_buf_clear(&value);
        print_value(settings[i].value, (const char *)program.data, &value);
        good = !value.failed && apply(g, settings[i].key, (const char *)value.data);
    }
    if (program.failed || value.failed)
        g->status = tfs_cli_say(g->cli, TFS_STATUS_SYSTEM, "out of memory");
    tfs_buf_release(&program);
    tfs_buf_release(&value);
    return good && !g->status;
}

static bool write_setting(struct gitter *g, const char *key, const char *value)
{
    const char *const words[] = {"config", g->scope, "--replace-all", key, value, NULL};
    int status = run(g, false, words);

    if (status > 0)
        g->status = tfs_cli_say(g->cli, TFS_STATUS_SYSTEM, "git did not take %s", key);
    return status == 0;
}

/* git prints the values of a key, whatever scope they come from, or of g->scope. 0, or 1: it has
 * none; else it was said why not. */
static int get_values(struct gitter *g, const char *scope, const char *key)
{
    const char *const here[] = {"config", scope, "--get-all", key, NULL};
    const char *const anywhere[] = {"config", "--get", key, NULL};
    int status = run(g, false, scope != NULL ? here : anywhere);

    if (status > 1)
        g->status = tfs_cli_say(g->cli, TFS_STATUS_SYSTEM, "git cannot tell %s", key);
    return status;
}

static bool is_set(struct gitter *g, const char *key, const char *value)
{
    if (get_values(g, NULL, key) != 0)
        return false;
    const char *text = first_line(g);
    return text != NULL && strcmp(text, value) == 0;
}

/* Did --enable write the value, perhaps as a program that lay elsewhere? */
static bool is_ours(const char *value, const char *setting)
{
    const char *place = strstr(setting, "%s"), *program = strstr(value, "terrainfs");

    if (place == NULL)
        return strcmp(value, setting) == 0;
    const size_t size = strlen(value), behind = strlen(place + 2);
    return program != NULL && size >= behind && strcmp(value + size - behind, place + 2) == 0;
}

/* Are the lines that git printed all ours? */
static bool all_ours(struct gitter *g, const char *setting)
{
    bool ours = true;

    tfs_buf_u8(&g->out, 0);
    for (char *line = (char *)g->out.data; !g->out.failed && ours && *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        const bool more = line[length] == '\n';
        line[length] = '\0';
        ours = is_ours(line, setting);
        line += length + more;
    }
    return ours;
}

/* Is this a repository that git reads? One that somebody else owns is none. */
static bool has_repository(struct gitter *g)
{
    static const char *const words[] = {"rev-parse", "--git-dir", NULL};

    if (wants(g, TFS_CLI_GLOBAL) || run(g, true, words) == 0)
        return true;
    if (!g->status)
        g->status = tfs_cli_say(g->cli, TFS_STATUS_SYSTEM,
                                "git reads no repository here, and git status says why; --global "
                                "is for all repositories that are yours");
    return false;
}

/* Takes away what --enable wrote. What somebody wrote since stays. */
static void disable(struct gitter *g)
{
    size_t removed = 0, kept = 0;

    if (!has_repository(g))
        return;

    for (size_t i = 0; i < SETTINGS && !g->status; i++) {
        const char *key = settings[i].key;
        const char *const words[] = {"config", g->scope, "--unset-all", key, NULL};
        if (get_values(g, g->scope, key) != 0)
            continue;
        if (!all_ours(g, settings[i].value)) {
            tfs_cli_say(g->cli, TFS_STATUS_DONE, "%s stays: it is not what --enable wrote", key);
            kept++;
        } else if (run(g, false, words) == 0) {
            removed++;
        } else if (!g->status) {
            g->status = tfs_cli_say(g->cli, TFS_STATUS_SYSTEM, "git did not take %s away", key);
        }
    }
    if (!g->status && removed + kept == 0)
        g->status =
            tfs_cli_say(g->cli, TFS_STATUS_BAD, "nothing of terrainfs is in this configuration");
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Is it a line of the text? */
static bool has_line(struct tfs_span text, const char *line)
{
    size_t length = strlen(line);

    for (size_t from = 0; from < text.size;) {
        const uint8_t *end = memchr(text.data + from, '\n', text.size - from);
        size_t size = end != NULL ? (size_t)(end - text.data) - from : text.size - from;
        if (size == length && memcmp(text.data + from, line, length) == 0)
            return true;
        from += size + 1;
    }
    return false;
}

/* Appends the lines that `there` does not have. */
static void print_attributes(struct tfs_span there, struct tfs_buf *out)
{
    char line[NAME_MAX + sizeof(ATTRIBUTES) + 1];

    for (const struct tfs_ending *ending = tfs_endings; ending->format != NULL; ending++) {
        snprintf(line, sizeof(line), "*%s" ATTRIBUTES, ending->text);
        if (has_line(there, line))
            continue;
        tfs_buf_add_text(out, line);
        tfs_buf_u8(out, '\n');
    }
}

/* In a repository without a work tree git reads no .gitattributes. */
static bool is_bare(struct gitter *g)
{
    static const char *const words[] = {"rev-parse", "--is-bare-repository", NULL};

    if (wants(g, TFS_CLI_GLOBAL) || run(g, true, words) != 0)
        return false;
    const char *line = first_line(g);
    return line != NULL && strcmp(line, "true") == 0;
}

/* The file of attributes: of the work tree, of a repository without one, or of the user. With a
 * NUL; false: said why not. */
static bool find_attributes(struct gitter *g, struct tfs_buf *path)
{
    static const char *const top[] = {"rev-parse", "--show-toplevel", NULL};
    static const char *const inside[] = {"rev-parse", "--git-path", "info/attributes", NULL};
    static const char *const user[] = {"config", "--global", "--type=path", "core.attributesFile",
                                       NULL};
    const bool global = wants(g, TFS_CLI_GLOBAL), bare = is_bare(g);
    int status = run(g, global, global ? user : bare ? inside : top);
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    const char *line = status == 0 ? first_line(g) : NULL;

    if (line != NULL)
        tfs_buf_printf(path, "%s%s", line, global || bare ? "" : "/.gitattributes");
    else if (global && status > 0 && config != NULL && *config != '\0')
        tfs_buf_printf(path, "%s/git/attributes", config);
    else if (global && status > 0 && home != NULL)
        tfs_buf_printf(path, "%s/.config/git/attributes", home);
    else if (!g->status)
        g->status = tfs_cli_say(g->cli, TFS_STATUS_SYSTEM, "there is no file of attributes here");
    tfs_buf_u8(path, 0);
    if (!g->status && path->failed)
        g->status = tfs_cli_say(g->cli, TFS_STATUS_SYSTEM, "out of memory");
    return !g->status;
}

/* Reads what is in the open file. */
static int read_lines(int fd, struct tfs_buf *text)
{
    ssize_t n = 1;

    while (n > 0 && text->size < FILE_MAX) {
        uint8_t *room = tfs_buf_reserve(text, 4096);
        if (room == NULL)
            return -ENOMEM;
        n = read(fd, room, 4096);
        text->size += n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? -errno : n == 0 ? 0 : -EFBIG;
}

static int append_lines(int fd, struct tfs_span there, struct tfs_buf *lines)
{
    if (there.size > 0 && there.data[there.size - 1] != '\n')
        tfs_buf_u8(lines, '\n');
    print_attributes(there, lines);
    if (lines->failed)
        return -ENOMEM;
    if (lines->size > 0 && write(fd, lines->data, lines->size) != (ssize_t)lines->size)
        return errno != 0 ? -errno : -EIO;
    return 0;
}

static void add_attributes(struct gitter *g)
{
    struct tfs_buf path = {0}, there = {0}, lines = {0};
    struct stat st;
    int fd = -1, result = 0;

    if (!find_attributes(g, &path))
        goto out;
    tfs_output_parents((char *)path.data);
    fd = open((const char *)path.data,
              O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK |
                  (wants(g, TFS_CLI_GLOBAL) ? 0 : O_NOFOLLOW),
              0666);
    if (fd < 0 || fstat(fd, &st) < 0)
        result = -errno;
    else if (!S_ISREG(st.st_mode))
        result = -EINVAL;
    if (result == 0)
        result = read_lines(fd, &there);
    if (result == 0)
        result = append_lines(fd, tfs_buf_span(&there), &lines);
    if (fd >= 0 && close(fd) < 0 && result == 0)
        result = -errno;
    if (result < 0)
        g->status = tfs_cli_say(g->cli, TFS_STATUS_SYSTEM, "%s: %s", (const char *)path.data,
                                result == -ELOOP    ? "a symbolic link, which git does not follow"
                                : result == -EINVAL ? "it is no file"
                                                    : strerror(-result));
out:
    tfs_buf_release(&path);
    tfs_buf_release(&there);
    tfs_buf_release(&lines);
}

/* ---- verbs ----------------------------------------------------------------------------------- */

static void enable(struct gitter *g)
{
    struct tfs_buf lines = {0};

    if (!has_repository(g) || !each_setting(g, write_setting) || wants(g, TFS_CLI_ATTRIBUTES))
        return;
    print_attributes((struct tfs_span){0}, &lines);
    tfs_cli_say(g->cli, TFS_STATUS_DONE,
                "these lines belong into %s (--attributes adds them); a save of another name needs "
                "its own",
                is_bare(g) ? "info/attributes" : ".gitattributes");
    g->status = tfs_cli_print(g->cli, tfs_buf_span(&lines));
    tfs_buf_release(&lines);
}

/* The value of an attribute in what git said of one file: "terrain", "unset", "unspecified". */
static void attribute_of(const char *said, const char *attribute, char value[NAME_MAX])
{
    char key[NAME_MAX];

    snprintf(key, sizeof(key), ": %s: ", attribute);
    const char *at = strstr(said, key);
    at = at == NULL ? "unspecified" : at + strlen(key);
    snprintf(value, NAME_MAX, "%.*s", (int)strcspn(at, "\n"), at);
}

/* A later line may take one of the two away again. */
static enum tfs_status print_ending(struct gitter *g, const char *ending, const char *said)
{
    static const char terrain[] = "terrain", none[] = "unspecified";
    char diff[NAME_MAX], merge[NAME_MAX];

    attribute_of(said, "diff", diff);
    attribute_of(said, "merge", merge);
    const bool shown = strcmp(diff, terrain) == 0, merged = strcmp(merge, terrain) == 0;
    enum tfs_status status;
    if (shown == merged && (shown || (strcmp(diff, none) == 0 && strcmp(merge, none) == 0)))
        return tfs_cli_print_line(g->cli, "*%s: %s", ending,
                                  shown ? "shown and merged as terrain" : "no attribute");
    if (shown)
        status =
            tfs_cli_print_line(g->cli, "*%s: shown as terrain, but merge is %s", ending, merge);
    else if (merged)
        status = tfs_cli_print_line(g->cli, "*%s: merged as terrain, but diff is %s", ending, diff);
    else
        return tfs_cli_print_line(g->cli, "*%s: no terrain: diff is %s, merge is %s", ending, diff,
                                  merge);
    return tfs_status_worst(status, TFS_STATUS_BAD);
}

/* Which endings have the attributes here: asked of git, which knows all places of them. */
static void print_endings(struct gitter *g)
{
    char name[NAME_MAX + 1];

    for (const struct tfs_ending *ending = tfs_endings;
         g->status != TFS_STATUS_SYSTEM && ending->format != NULL; ending++) {
        snprintf(name, sizeof(name), "x%s", ending->text);
        const char *const words[] = {"check-attr", "diff", "merge", "--", name, NULL};
        if (run(g, true, words) != 0)
            return;
        tfs_buf_u8(&g->out, 0);
        g->status = tfs_status_worst(
            g->status, g->out.failed ? tfs_cli_say(g->cli, TFS_STATUS_SYSTEM, "out of memory")
                                     : print_ending(g, ending->text, (const char *)g->out.data));
    }
}

/* Attributes have no effect where it is not enabled. */
static void print_status(struct gitter *g)
{
    if (each_setting(g, is_set)) {
        g->status = tfs_cli_print_line(g->cli, "enabled");
        print_endings(g);
    } else if (!g->status && has_repository(g)) {
        g->status = tfs_status_worst(tfs_cli_print_line(g->cli, "not enabled"), TFS_STATUS_BAD);
    }
}

/* ---- what not to add of a tree --------------------------------------------------------------- */

/* A tree in which all that is shown does not overlap: voxels, unless files come and go with it. */
static unsigned steady_set(const struct tfs_tree *tree)
{
    for (unsigned i = 0; i < tree->chunk.count; i++)
        if ((tree->chunk.files[i].flags & TFS_FILE_FILLED) != 0)
            return TFS_VIEWS_GRIDS;
    return TFS_VIEWS_VOXELS;
}

static enum tfs_status print_exclude(struct tfs_cli *cli, const char *path)
{
    struct tfs_save *save;
    struct tfs_buf out = {0};
    enum tfs_status status = tfs_cli_open(cli, path, TFS_LOCK_NONE, &save);

    if (status)
        return status;
    const struct tfs_tree *tree = save->tree;
    const unsigned views = steady_set(tree);
    tfs_buf_add_text(&out, "# what the other files of a mounted or exported tree say, too\n");
    for (unsigned i = 0; i < tree->root.count; i++)
        if (!tfs_file_is_chosen(&tree->root.files[i], views))
            tfs_buf_printf(&out, "/%s\n", tree->root.files[i].path);
    for (unsigned i = 0; i < tree->chunk.count; i++)
        if (!tfs_file_is_chosen(&tree->chunk.files[i], views))
            tfs_buf_printf(&out, "**/chunks/*/%s\n", tree->chunk.files[i].path);
    status = out.failed ? tfs_cli_say(cli, TFS_STATUS_SYSTEM, "out of memory")
                        : tfs_cli_print(cli, tfs_buf_span(&out));
    tfs_buf_release(&out);
    tfs_save_close(save);
    return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

#define VERBS                                                                                      \
    (TFS_CLI_ENABLE | TFS_CLI_DISABLE | TFS_CLI_STATUS | TFS_CLI_ATTRIBUTES | TFS_CLI_EXCLUDE)

/* Do the options ask for one thing, with the operands that it takes? */
static bool makes_sense(const struct tfs_cli *cli)
{
    const unsigned verbs = cli->flags & VERBS;
    const bool one = verbs != 0 && (verbs & (verbs - 1)) == 0;

    if (verbs == TFS_CLI_EXCLUDE)
        return cli->operand_count == 1 && (cli->flags & TFS_CLI_GLOBAL) == 0;
    return cli->operand_count == 0 && (one || verbs == (TFS_CLI_ENABLE | TFS_CLI_ATTRIBUTES));
}

enum tfs_status tfs_cli_git(struct tfs_cli *cli)
{
    struct gitter g = {.cli = cli};

    g.scope = wants(&g, TFS_CLI_GLOBAL) ? "--global" : "--local";
    if (!makes_sense(cli))
        return tfs_cli_say(cli, TFS_STATUS_USAGE,
                           "one of --enable, --disable, --status, --attributes, or --exclude SAVE");
    if (wants(&g, TFS_CLI_EXCLUDE))
        return print_exclude(cli, cli->operands[0]);
    if (wants(&g, TFS_CLI_ENABLE))
        enable(&g);
    if (wants(&g, TFS_CLI_DISABLE))
        disable(&g);
    if (wants(&g, TFS_CLI_STATUS))
        print_status(&g);
    if (wants(&g, TFS_CLI_ATTRIBUTES) && !g.status)
        add_attributes(&g);
    tfs_buf_release(&g.out);
    return g.status;
}

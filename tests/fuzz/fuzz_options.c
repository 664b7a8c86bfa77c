/*
 * Any text as operands of -o, one a line, for a mount and for a command: refused with a sentence,
 * or values within their bounds; the same operands again change nothing.
 */
#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "commands/options.h"

#define TEXT_MAX 4096

static void check_values(const struct tfs_mount_options *o, bool mounting)
{
    REQUIRE(o->threads <= 256);
    REQUIRE(mounting || (o->fuse_options == NULL && !o->read_only && o->commit_auto));
}

/* The number of operands that were taken. */
static unsigned parse_all(struct tfs_mount_options *options, char *text, bool mounting)
{
    struct tfs_error err = {0};
    unsigned taken = 0;
    char *rest = text;

    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n"), taken++) {
        if (tfs_options_parse(options, line, mounting, &err) < 0) {
            REQUIRE(err.code == -EINVAL && err.text[0] != '\0');
            return taken;
        }
        check_values(options, mounting);
    }
    return taken;
}

static void check(const uint8_t *data, size_t size, bool mounting)
{
    char first[TEXT_MAX + 1] = {0}, second[TEXT_MAX + 1] = {0};
    struct tfs_mount_options a, b;

    memcpy(first, data, size);
    memcpy(second, data, size);
    tfs_options_init(&a);
    tfs_options_init(&b);
    REQUIRE(parse_all(&a, first, mounting) == parse_all(&b, second, mounting));
    REQUIRE((a.format == NULL) == (b.format == NULL));
    REQUIRE(a.format == NULL || strcmp(a.format, b.format) == 0);
    REQUIRE((a.fuse_options == NULL) == (b.fuse_options == NULL));
    REQUIRE(a.fuse_options == NULL || strcmp(a.fuse_options, b.fuse_options) == 0);
    REQUIRE(a.scratch_size == b.scratch_size && a.cache_size == b.cache_size &&
            a.commit_auto == b.commit_auto && a.threads == b.threads);
    tfs_options_release(&a);
    tfs_options_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > TEXT_MAX)
        return 0;
    check(data, size, true);
    check(data, size, false);
    return 0;
}

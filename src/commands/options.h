/*
 * `-o a,b=c` as mount programs take it -> struct tfs_mount_options, by a table.
 */
#ifndef TFS_COMMANDS_OPTIONS_H
#define TFS_COMMANDS_OPTIONS_H

#include "base/error.h"
#include "formats/format.h"
#include "fs/mount/mount.h"

/* What people are told about a value of -o. */
struct tfs_option_help {
    const char *name, *spelling, *summary;
    bool needs_value, mount_only;
    unsigned flag; /* of the commands that take it, enum tfs_cli_flag; 0: of any */
};

/* Of the option with that number, from 0; false: there are no more. */
bool tfs_option_help(size_t number, struct tfs_option_help *help);

/* The defaults. */
void tfs_options_init(struct tfs_mount_options *options);
void tfs_options_release(struct tfs_mount_options *options);

/* Reads one operand of -o; later values win. `mounting`: what is not ours is kept in fuse_options
 * for libfuse and mount; otherwise it is refused, as is what only a mount can use. EINVAL with a
 * sentence. */
int tfs_options_parse(struct tfs_mount_options *options, const char *text, bool mounting,
                      struct tfs_error *err);

/* What a save is opened with. */
struct tfs_open_options tfs_options_open(const struct tfs_mount_options *options,
                                         enum tfs_lock lock);

#endif

/*
 * Exit statuses of every command, and of the mount (terrainfs.1, EXIT STATUS).
 */
#ifndef TFS_COMMANDS_STATUS_H
#define TFS_COMMANDS_STATUS_H

enum tfs_status {
    TFS_STATUS_DONE = 0,
    TFS_STATUS_BAD = 1,    /* the save or an edit is bad */
    TFS_STATUS_USAGE = 2,  /* the command line is wrong */
    TFS_STATUS_SYSTEM = 3, /* the system refused: I/O, permission, lock, memory */
};

/* The status for the code of a struct tfs_error (negative errno). */
enum tfs_status tfs_status_of(int code);

/* The graver one of two statuses of one command. */
enum tfs_status tfs_status_worst(enum tfs_status a, enum tfs_status b);

#endif

/*
 * When the save follows what was accepted: numbers alone, without a clock, a lock or a disk.
 *
 * commit=auto: an edit that comes when nothing waits, and not right behind another, goes straight
 * into the save. The edits of a burst wait in the journal, and the save follows when they pause, or
 * when they go on for long; the longer a rewrite takes, the rarer it is. commit=close: no edit
 * waits.
 *
 * All times are milliseconds of one clock and above 0.
 */
#ifndef TFS_FS_STORE_PACE_H
#define TFS_FS_STORE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define TFS_BURST_MS  250  /* edits that are closer together are a burst */
#define TFS_FOLLOW_MS 5000 /* the save follows a burst without end so often, or ... */
#define TFS_FOLLOW_BY 10   /* ... so many times as long as a rewrite takes, if that is more */

struct tfs_pace {
    bool automatic;     /* commit=auto */
    int64_t edited;     /* when the last edit was accepted; 0: none was */
    int64_t waiting;    /* since when edits wait for the save; 0: none do */
    int64_t failed;     /* when the save could not be written; 0: the last time it could */
    int64_t rewrite_ms; /* what the last rewrite took */
    bool hurries;       /* there is no room for more to wait */
};

/* Does an edit that comes now belong to a burst? */
bool tfs_pace_is_burst(const struct tfs_pace *pace, int64_t now);

/* Edits were accepted; `wait`: the save lacks them. */
void tfs_pace_edit(struct tfs_pace *pace, int64_t now, bool wait);
/* The save is being written: what is accepted from now on waits from the beginning. */
void tfs_pace_begin(struct tfs_pace *pace);
/* It was, and that took so long. */
void tfs_pace_end(struct tfs_pace *pace, int64_t took_ms);
/* The save lacks nothing. */
void tfs_pace_saved(struct tfs_pace *pace);
/* It could not be written. */
void tfs_pace_failed(struct tfs_pace *pace, int64_t now);
/* The save should follow at once, unless it just could not be written. */
void tfs_pace_hurry(struct tfs_pace *pace);

/* When the save follows; 0: no time is set. */
int64_t tfs_pace_deadline(const struct tfs_pace *pace);

#endif

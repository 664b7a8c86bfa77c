/* Times -> the time when the save follows: see pace.h. */
#include "fs/store/pace.h"

#include "base/clock.h"

bool tfs_pace_is_burst(const struct tfs_pace *pace, int64_t now)
{
    return pace->edited != 0 && now - pace->edited < TFS_BURST_MS;
}

void tfs_pace_edit(struct tfs_pace *pace, int64_t now, bool wait)
{
    pace->edited = now;
    if (wait && pace->waiting == 0)
        pace->waiting = now;
}

void tfs_pace_begin(struct tfs_pace *pace)
{
    pace->waiting = 0;
    pace->hurries = false;
}

void tfs_pace_end(struct tfs_pace *pace, int64_t took_ms)
{
    pace->rewrite_ms = took_ms;
    pace->failed = 0;
}

void tfs_pace_saved(struct tfs_pace *pace)
{
    pace->waiting = pace->failed = 0;
    pace->hurries = false;
}

void tfs_pace_failed(struct tfs_pace *pace, int64_t now)
{
    pace->failed = now;
    pace->hurries = false;
}

void tfs_pace_hurry(struct tfs_pace *pace)
{
    pace->hurries = pace->failed == 0;
}

/* How long edits wait at most. */
static int64_t patience(const struct tfs_pace *pace)
{
    const int64_t long_rewrite = TFS_FOLLOW_BY * pace->rewrite_ms;

    return long_rewrite > TFS_FOLLOW_MS ? long_rewrite : TFS_FOLLOW_MS;
}

int64_t tfs_pace_deadline(const struct tfs_pace *pace)
{
    if (!pace->automatic)
        return 0;
    if (pace->failed != 0)
        return pace->failed + patience(pace);
    if (pace->waiting == 0)
        return 0;
    if (pace->hurries)
        return pace->waiting;
    const int64_t latest = pace->waiting + patience(pace);
    return tfs_sooner(latest, pace->edited + TFS_BURST_MS);
}

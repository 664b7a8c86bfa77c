/*
 * Error codes -> exit statuses. Knows what a code means for the user, not what happened.
 */
#include "commands/status.h"

#include <errno.h>

enum tfs_status tfs_status_of(int code)
{
    switch (-code) {
    case 0:
        return TFS_STATUS_DONE;
    case EBADMSG: /* damaged or refused content */
    case ENOTSUP: /* a version we do not know */
    case EFBIG:   /* over a cap */
    case EINVAL:  /* what the save cannot hold */
        return TFS_STATUS_BAD;
    default: /* ESTALE too: nothing is wrong with save or edit, and a second try helps */
        return TFS_STATUS_SYSTEM;
    }
}

enum tfs_status tfs_status_worst(enum tfs_status a, enum tfs_status b)
{
    return a > b ? a : b;
}

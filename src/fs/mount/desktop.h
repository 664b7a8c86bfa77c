/*
 * Refusals on the desktop of who mounted: by notify-send(1).
 */
#ifndef TFS_FS_MOUNT_DESKTOP_H
#define TFS_FS_MOUNT_DESKTOP_H

#include <stdbool.h>

/* Is the program there? */
bool tfs_desktop_is_there(void);

/* Shows a line, at most one a second: of others errors.log tells. Thread-safe. */
void tfs_desktop_tell(const char *line);

#endif

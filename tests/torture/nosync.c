/*
 * Preloaded into the program under test as a control: syncs that do nothing. A test of power cuts
 * that does not find this out tests nothing.
 */
#include <unistd.h>

int fsync(int fd)
{
    (void)fd;
    return 0;
}

int fdatasync(int fd)
{
    (void)fd;
    return 0;
}

/*
 * The program's entry: everything is in the library, so that tests can link it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "commands/cli.h"

/* A save that was opened in the place of a closed standard stream would get our messages. What is
 * printed to a standard output that is closed fails, as it would without this. */
static bool open_streams(void)
{
    static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};

    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", modes[fd]) != fd)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    if (!open_streams())
        return TFS_STATUS_SYSTEM;
    /* Past a file size limit a write shall fail, as on a full disk, not kill us amid a commit. */
    signal(SIGXFSZ, SIG_IGN);
    return tfs_cli_main(argc, argv);
}

/*
 * The program's entry: everything is in the library, so that tests can link it.
 */
#include <signal.h>

#include "cli.h"

int main(int argc, char **argv)
{
    /* Past a file size limit a write shall fail, as on a full disk, not kill us amid a commit. */
    signal(SIGXFSZ, SIG_IGN);
    return tfs_cli_main(argc, argv);
}

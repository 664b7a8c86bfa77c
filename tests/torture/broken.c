/*
 * Preloaded into the program under test: the kernel's last answer is not that the mount is gone,
 * but the error BROKEN_ERRNO.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

struct fuse_session;
struct fuse_buf;

typedef int (*receive_fn)(struct fuse_session *, struct fuse_buf *);

int fuse_session_receive_buf(struct fuse_session *se, struct fuse_buf *buf);

int fuse_session_receive_buf(struct fuse_session *se, struct fuse_buf *buf)
{
    static receive_fn original;

    if (original == NULL)
        *(void **)&original = dlsym(RTLD_NEXT, "fuse_session_receive_buf");
    const int received = original(se, buf);
    const char *broken = getenv("BROKEN_ERRNO");
    return received == 0 && broken != NULL ? -atoi(broken) : received;
}

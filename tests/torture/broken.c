/*
 * Preloaded into the program under test: the kernel's last answer is not that the mount is gone,
 * but an error.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

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
    return received == 0 ? -EIO : received;
}

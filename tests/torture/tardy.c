/*
 * Preloaded into the program under test: a thread that is given a RELEASE runs for a while before
 * it looks at it, as on a machine that has other things to do.
 */
#include <dlfcn.h>
#include <linux/fuse.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define WHILE 150 /* ms */

struct fuse_session;
struct fuse_buf { /* as libfuse has it, to `mem` */
    size_t size;
    int flags;
    void *mem;
};

typedef int (*receive_fn)(struct fuse_session *, struct fuse_buf *);

int fuse_session_receive_buf(struct fuse_session *se, struct fuse_buf *buf);

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int fuse_session_receive_buf(struct fuse_session *se, struct fuse_buf *buf)
{
    static receive_fn original;

    if (original == NULL)
        *(void **)&original = dlsym(RTLD_NEXT, "fuse_session_receive_buf");
    const int received = original(se, buf);
    if (received <= 0 || buf->flags != 0 ||
        ((const struct fuse_in_header *)buf->mem)->opcode != FUSE_RELEASE)
        return received;
    for (const int64_t end = now_ms() + WHILE; now_ms() < end;)
        ;
    return received;
}

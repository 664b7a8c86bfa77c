/*
 * reference SAVE DIR: what writing a save back costs at least, in ms, as `total deflate write`.
 *
 * Takes the payload of a Cosmic Reach region (inflated if it is gzip), deflates it as the game does
 * (level 6, memLevel 8; not for a stored payload), writes the result to a new file in DIR and waits
 * until it is on the disk. No parsing, no checking: the reference for "one block changed".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#define HEADER  12          /* magic, version, compression */
#define LARGEST (256 << 20) /* of a payload */

struct bytes {
    uint8_t *data;
    size_t size;
};

static void die(const char *what)
{
    fprintf(stderr, "reference: %s: %s\n", what, strerror(errno));
    exit(3);
}

static struct bytes room_for(size_t size)
{
    struct bytes b = {malloc(size + 1), size};
    if (!b.data)
        die("memory");
    return b;
}

static struct bytes read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct bytes b = room_for(LARGEST);
    if (!f)
        die(path);
    b.size = fread(b.data, 1, b.size, f);
    fclose(f);
    if (b.size < HEADER)
        die(path);
    return b;
}

static struct bytes inflated(struct bytes file)
{
    struct bytes out = room_for(LARGEST);
    z_stream z = {.next_in = file.data + HEADER, .avail_in = (uInt)(file.size - HEADER)};
    z.next_out = out.data;
    z.avail_out = (uInt)out.size;
    if (inflateInit2(&z, 31) != Z_OK || inflate(&z, Z_FINISH) != Z_STREAM_END)
        die("the payload does not inflate");
    out.size = z.total_out;
    inflateEnd(&z);
    return out;
}

static struct bytes deflated(struct bytes payload)
{
    z_stream z = {.next_in = payload.data, .avail_in = (uInt)payload.size};
    if (deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        die("deflate");
    struct bytes out = room_for(deflateBound(&z, (uLong)payload.size));
    z.next_out = out.data;
    z.avail_out = (uInt)out.size;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        die("deflate");
    out.size = z.total_out;
    deflateEnd(&z);
    return out;
}

static void write_durably(const char *path, struct bytes b)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        die(path);
    for (size_t done = 0; done < b.size;) {
        ssize_t n = write(fd, b.data + done, b.size - done);
        if (n < 0)
            die(path);
        done += (size_t)n;
    }
    if (fdatasync(fd) < 0 || close(fd) < 0)
        die(path);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc != 3 || snprintf(path, sizeof path, "%s/reference.tmp", argv[2]) >= (int)sizeof path) {
        fputs("usage: reference SAVE DIR\n", stderr);
        return 2;
    }
    struct bytes file = read_file(argv[1]);
    int compressed = file.data[11] == 2;
    struct bytes payload = compressed ? inflated(file) : file;
    double start = now_ms();
    struct bytes encoded = compressed ? deflated(payload) : payload;
    double middle = now_ms();
    write_durably(path, encoded);
    double end = now_ms();
    unlink(path);
    printf("%.3f %.3f %.3f\n", end - start, middle - start, end - middle);
    return 0;
}

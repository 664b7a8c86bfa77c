/*
 * Any bytes as a gzip member: refused with a sentence, or within the limit; what it holds is
 * deflated and comes back out. And as what is to be deflated, in any header.
 */
#include <errno.h>
#include <string.h>

#include "formats/cosmic_reach/gzip.h"
#include "fuzz.h"

#define LIMIT (UINT64_C(1) << 18)

struct collector {
    struct tfs_sink sink; /* first */
    struct tfs_buf bytes;
};

static int collect(struct tfs_sink *sink, const void *data, size_t size, struct tfs_error *err)
{
    struct tfs_buf *bytes = &((struct collector *)sink)->bytes;

    tfs_buf_add(bytes, data, size);
    return tfs_buf_check(bytes, err);
}

/* Deflates in two pieces and inflates. */
static void check_back(struct tfs_span bytes)
{
    const size_t half = bytes.size / 2;
    struct collector packed = {.sink.write = collect};
    struct tfs_cosmic_gzip gzip;
    struct tfs_buf back = {0};
    struct tfs_error err = {0};
    size_t used;

    REQUIRE(tfs_cosmic_gzip_open(&gzip, &packed.sink, tfs_cosmic_gzip_header, &err) == 0);
    REQUIRE(gzip.sink.write(&gzip.sink, bytes.data, half, &err) == 0);
    REQUIRE(gzip.sink.write(&gzip.sink, bytes.data + half, bytes.size - half, &err) == 0);
    REQUIRE(tfs_cosmic_gzip_finish(&gzip, &err) == 0);
    tfs_cosmic_gzip_close(&gzip);
    REQUIRE(tfs_cosmic_inflate(tfs_buf_span(&packed.bytes), LIMIT, 0, NULL, &back, &used, &err) ==
            0);
    REQUIRE(used == packed.bytes.size && tfs_span_equal(tfs_buf_span(&back), bytes));
    tfs_buf_release(&back);
    tfs_buf_release(&packed.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct tfs_span packed = {data, size};
    struct tfs_buf out = {0};
    struct tfs_error err = {0};
    size_t used = 0;

    if (tfs_cosmic_inflate(packed, LIMIT, 12, NULL, &out, &used, &err) == 0) {
        REQUIRE(used <= size && out.size <= LIMIT);
        check_back(tfs_buf_span(&out));
    } else {
        REQUIRE((err.code == -EBADMSG || err.code == -EFBIG) && err.text[0] != '\0');
    }
    if (size <= LIMIT)
        check_back(packed);
    tfs_buf_release(&out);
    return 0;
}

/*
 * A save in memory around the codec, the lenses and the tree of the region container.
 */
#include "cosmic_case.h"

#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void digit_pair(struct maker_bytes *bytes, const char **at)
{
    char pair[3] = {(*at)[0], (*at)[1], 0};
    char *end;

    unsigned byte = (unsigned)strtoul(pair, &end, 16);
    ck_assert_msg(*end == 0, "an odd hex digit at %s", *at);
    maker_u8(bytes, byte);
    *at += 2;
    if (**at != '*')
        return;
    for (long n = strtol(*at + 1, &end, 10); n > 1; n--)
        maker_u8(bytes, byte);
    *at = end;
}

struct maker_bytes cosmic_hex(const char *text)
{
    struct maker_bytes bytes = {0};

    while (*text) {
        if (isxdigit((unsigned char)*text))
            digit_pair(&bytes, &text);
        else
            text++;
    }
    return bytes;
}

struct tfs_span cosmic_span(const struct maker_bytes *bytes)
{
    return (struct tfs_span){bytes->data, bytes->size};
}

/* ---- opening --------------------------------------------------------------------------------- */

int cosmic_open(struct tree_files *c, const char *name, struct tfs_span bytes)
{
    return tree_files_open(c, &tfs_cosmic_reach_region, name, bytes);
}

void cosmic_open_maker(struct tree_files *c, const struct maker_region *region)
{
    struct maker_bytes bytes = {0};

    maker_region_write(region, &bytes);
    ck_assert_msg(cosmic_open(c, "any.cosmicreach", cosmic_span(&bytes)) == 0, "%s", c->err.text);
    maker_release(&bytes);
}

void cosmic_open_body(struct tree_files *c, int32_t version, int32_t chunk_version,
                      struct tfs_span body)
{
    struct maker_region region = maker_region_init(version);
    struct maker_chunk *chunk = maker_region_add(&region, 0, 0, 0);

    chunk->version = chunk_version;
    maker_add(&chunk->body, body.data, body.size);
    cosmic_open_maker(c, &region);
    maker_region_release(&region);
}

/* Bytes as those of makers, with a NUL behind them for those who print them. */
static struct maker_bytes taken(struct tfs_buf *buf)
{
    struct maker_bytes bytes = {0};

    if (buf->data != NULL) {
        maker_add(&bytes, buf->data, buf->size);
        maker_u8(&bytes, 0);
        bytes.size--;
    }
    tfs_buf_release(buf);
    return bytes;
}

struct maker_bytes cosmic_encode(struct tree_files *c)
{
    struct tfs_buf bytes = {0};

    tree_files_encode(c, &bytes);
    return taken(&bytes);
}

struct tfs_span cosmic_body(struct tree_files *c, struct tfs_key key)
{
    const struct tfs_chunk *chunk = tfs_doc_find(c->doc, key);

    ck_assert_ptr_nonnull(chunk);
    return tfs_blob_span(chunk->blob);
}

/* ---- files ----------------------------------------------------------------------------------- */

struct maker_bytes cosmic_get(struct tree_files *c, struct tfs_key key, const char *name)
{
    struct tfs_buf bytes = files_get(c, key, name);

    return taken(&bytes);
}

struct maker_bytes cosmic_get_root(struct tree_files *c, const char *name)
{
    return cosmic_get(c, FILES_ROOT, name);
}

int cosmic_put_fresh(struct tree_files *c, struct tfs_key key, const char *name,
                     struct tfs_span text)
{
    c->how.fresh = true;
    int result = files_put(c, key, name, text);
    c->how.fresh = false;
    return result;
}

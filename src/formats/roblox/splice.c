/*
 * A block of LZ4 and a payload that is nearly the one it holds -> the block of that payload.
 *
 * Must not know what a payload is. What LZ4_compress_default does at a place depends on the bytes
 * there and on the positions that it remembers, of which only those within 64 KiB count. So where
 * the packer (packer.c) made the same sequences as the old block for more than 64 KiB, it remembers
 * the same, and goes on as the old block does until the bytes differ; and when it was through with
 * a difference and makes the old block's sequences again for 64 KiB, the old block goes on as it
 * would. A block by another packer is not met like that, and is not spliced.
 */
#include "formats/roblox/splice.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/roblox/packer.h"

/* After so many bytes of equal sequences both packers remember the same. */
#define SURE    (TFS_RBX_REACH + 1024)
#define WARM_UP (4u << 16) /* the packer begins so many bytes before a difference */
#define WORTH   (8u << 16) /* stretches that are shorter are packed again */
#define APART   (1u << 16) /* places of an index */
#define SMALL   (1u << 20) /* payloads that are packed as a whole */

void tfs_rbx_block_index_release(struct tfs_rbx_block_index *index)
{
    free(index->places);
    *index = (struct tfs_rbx_block_index){0};
}

void tfs_rbx_splice_release(struct tfs_rbx_splice *splice)
{
    free(splice->pieces);
    tfs_buf_release(&splice->fresh);
    *splice = (struct tfs_rbx_splice){0};
}

/* ---- sequences of a block -------------------------------------------------------------------- */

struct walk {
    struct tfs_cursor in;
    uint64_t plain; /* where the next sequence begins */
};

static uint64_t take_length(struct tfs_cursor *in, uint64_t length)
{
    if (length == 15)
        for (uint8_t more = 255; more == 255 && !in->failed; length += more)
            more = tfs_take_u8(in);
    return length;
}

/* The literals of the next sequence; false at the end, or at what is none. */
static bool walk_next(struct walk *w, struct tfs_rbx_sequence *s, struct tfs_span *literals)
{
    if (tfs_cursor_left(&w->in) == 0)
        return false;

    const uint8_t token = tfs_take_u8(&w->in);
    s->literals = take_length(&w->in, token >> 4);
    s->offset = 0;
    s->length = 0;
    *literals = tfs_take(&w->in, s->literals);
    if (tfs_cursor_left(&w->in) > 0) {
        s->offset = tfs_take_u16le(&w->in);
        s->length = take_length(&w->in, token & 15) + TFS_RBX_MATCH_MIN;
    }
    w->plain += s->literals + s->length;
    return !w->in.failed;
}

static int index_make(const struct tfs_rbx_block *old, struct tfs_rbx_block_index *index,
                      struct tfs_error *err)
{
    struct walk w = {tfs_cursor_init(old->packed), 0};
    struct tfs_span literals;
    struct tfs_rbx_sequence s;
    uint64_t next = 0;

    do {
        if (w.plain < next)
            continue;
        struct tfs_rbx_place *places = tfs_array_grow(index->places, index->count, sizeof(*places));
        if (places == NULL)
            return tfs_fail_memory(err);
        index->places = places;
        places[index->count++] =
            (struct tfs_rbx_place){(uint32_t)tfs_cursor_offset(&w.in), (uint32_t)w.plain};
        next = w.plain + APART;
    } while (walk_next(&w, &s, &literals));
    return 0;
}

/* A walk that begins at the last place known that is not behind `plain`. */
static struct walk walk_from(const struct tfs_rbx_block *old,
                             const struct tfs_rbx_block_index *index, uint64_t plain)
{
    size_t low = 0, high = index->count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (index->places[middle].plain <= plain)
            low = middle;
        else
            high = middle;
    }
    struct walk w = {tfs_cursor_init(old->packed), index->places[low].plain};
    tfs_cursor_seek(&w.in, index->places[low].packed);
    return w;
}

/* ---- splicing -------------------------------------------------------------------------------- */

/* A piece of the payload that is where it was in the old one, or elsewhere there. */
struct stretch {
    uint64_t plain, size;
    uint64_t old;
};

struct splicer {
    const struct tfs_rbx_block *old;
    const struct tfs_rbx_block_index *index;
    struct tfs_rbx_splice *splice;
    struct tfs_rbx_packer *packer;
    struct stretch *stretches; /* those that are worth something */
    size_t count;
    struct walk walk; /* over the old block, beside the packer */
    uint64_t agreed;  /* since where packer and walk made the same sequences; UINT64_MAX: not */
};

static int find_stretches(struct splicer *s, const struct tfs_rbx_pieces *payload,
                          struct tfs_error *err)
{
    const struct tfs_span plain = s->old->plain;
    uint64_t at = 0;

    for (size_t i = 0; i < payload->count; at += payload->items[i++].size) {
        const struct tfs_span piece = payload->items[i];
        if (piece.size < WORTH || piece.data < plain.data ||
            piece.data + piece.size > plain.data + plain.size)
            continue;
        struct stretch *grown = tfs_array_grow(s->stretches, s->count, sizeof(*grown));
        if (grown == NULL)
            return tfs_fail_memory(err);
        s->stretches = grown;
        grown[s->count++] = (struct stretch){at, piece.size, (uint64_t)(piece.data - plain.data)};
    }
    return 0;
}

static int add_piece(struct tfs_rbx_splice *splice, struct tfs_rbx_splice_piece piece,
                     struct tfs_error *err)
{
    struct tfs_rbx_splice_piece *pieces;

    if (piece.size == 0)
        return 0;
    pieces = tfs_array_grow(splice->pieces, splice->count, sizeof(*pieces));
    if (pieces == NULL)
        return tfs_fail_memory(err);
    splice->pieces = pieces;
    pieces[splice->count++] = piece;
    return 0;
}

/* The packer is at the end of a sequence that began at payload position `from`. Does the walk,
 * which may stand before it, have the same one? Keeps `agreed`. */
static void follow(struct splicer *s, const struct stretch *in, uint64_t from,
                   const struct tfs_rbx_sequence *made)
{
    const uint64_t old = from - in->plain + in->old;
    struct tfs_span literals;
    struct tfs_rbx_sequence was;

    while (s->walk.plain < old && walk_next(&s->walk, &was, &literals))
        ;
    if (s->walk.plain != old || !walk_next(&s->walk, &was, &literals) ||
        was.literals != made->literals || was.offset != made->offset || was.length != made->length)
        s->agreed = UINT64_MAX;
    else if (s->agreed == UINT64_MAX)
        s->agreed = from;
}

/* Begins a packer before the end of a stretch, and lets it run until it does what the old block
 * does. 1: it does, *piece is what of the old block goes before it; 0: it never does. */
static int warm_up(struct splicer *s, const struct stretch *in, struct tfs_rbx_splice_piece *piece,
                   struct tfs_error *err)
{
    struct tfs_rbx_packer *p = s->packer;
    const uint64_t end = in->plain + in->size;
    struct tfs_rbx_sequence made;
    int result = 1;

    s->walk = walk_from(s->old, s->index, in->old + in->size - WARM_UP);
    if (s->walk.plain < piece->old_plain)
        return 0; /* one sequence is as long as that */
    s->agreed = UINT64_MAX;
    if (tfs_rbx_packer_start(p, s->walk.plain - in->old + in->plain, err) < 0)
        return err->code;
    while (result == 1 && (s->agreed == UINT64_MAX || tfs_rbx_packed_to(p) - s->agreed < SURE)) {
        const uint64_t from = tfs_rbx_packed_to(p);
        if (from + SURE / 4 > end)
            return 0;
        result = tfs_rbx_packer_next(p, &made, err);
        if (result == 1)
            follow(s, in, from, &made);
    }
    piece->size = tfs_cursor_offset(&s->walk.in) - piece->from;
    piece->plain_size = tfs_rbx_packed_to(p) - piece->plain;
    return result;
}

static bool goes_to_the_end(const struct splicer *s, const struct stretch *in)
{
    return in->plain + in->size == s->packer->payload->size &&
           in->old + in->size == s->old->plain.size;
}

/* Packs from where the packer stands until the old block can go on in a stretch from `next` on, or
 * to the end. *in: that stretch, s->count at the end; 1, or 0. */
static int pack_on(struct splicer *s, size_t next, size_t *in, struct tfs_error *err)
{
    struct tfs_rbx_packer *p = s->packer;
    struct tfs_rbx_splice_piece piece = {.from = s->splice->fresh.size,
                                         .plain = tfs_rbx_packed_to(p)};
    const uint64_t end = p->payload->size;
    size_t walked = s->count;
    struct tfs_rbx_sequence made;
    bool meets = false;

    while (!meets && tfs_rbx_packed_to(p) < end) {
        const uint64_t from = tfs_rbx_packed_to(p), anchor = p->anchor;
        const int result = tfs_rbx_packer_next(p, &made, err);
        if (result < 1)
            return result;
        tfs_rbx_packer_put(p, anchor, &made, &s->splice->fresh);
        if (tfs_rbx_packed_to(p) - piece.plain > end / 2)
            return 0;
        while (next < s->count && s->stretches[next].plain + s->stretches[next].size <= from)
            next++;
        if (next == s->count || from < s->stretches[next].plain)
            continue;
        const struct stretch *stretch = &s->stretches[next];
        if (walked != next) {
            s->walk = walk_from(s->old, s->index, stretch->old);
            s->agreed = UINT64_MAX;
            walked = next;
        }
        follow(s, stretch, from, &made);
        const uint64_t room = goes_to_the_end(s, stretch) ? 1 : WORTH;
        meets = s->agreed != UINT64_MAX && tfs_rbx_packed_to(p) - s->agreed >= SURE &&
                tfs_rbx_packed_to(p) + room <= stretch->plain + stretch->size;
    }
    piece.size = s->splice->fresh.size - piece.from;
    piece.plain_size = tfs_rbx_packed_to(p) - piece.plain;
    *in = meets ? next : s->count;
    return tfs_buf_check(&s->splice->fresh, err) < 0 || add_piece(s->splice, piece, err) < 0
               ? err->code
               : 1;
}

/* Copies from the old block, from where the packer met it in a stretch: to the end (1), or until
 * the packer must take over (2). 0: nothing can be copied. */
static int copy_on(struct splicer *s, const struct stretch *in, struct tfs_error *err)
{
    struct tfs_rbx_splice_piece piece = {.old = true};
    int result = 1;

    if (s->splice->count > 0) {
        piece.plain = tfs_rbx_packed_to(s->packer);
        piece.from = tfs_cursor_offset(&s->walk.in);
    }
    piece.old_plain = (size_t)(piece.plain - in->plain + in->old);
    if (goes_to_the_end(s, in)) {
        piece.size = s->old->packed.size - piece.from;
        piece.plain_size = s->packer->payload->size - piece.plain;
    } else {
        result = warm_up(s, in, &piece, err) == 1 ? 2 : err->code;
    }
    if (result > 0 && add_piece(s->splice, piece, err) < 0)
        result = err->code;
    return result;
}

static int splice_all(struct splicer *s, struct tfs_error *err)
{
    size_t in = 0;
    int result = 2;

    /* Where the payload does not begin as the old one, the packer does. */
    if (s->stretches[0].plain != 0 || s->stretches[0].old != 0) {
        result = tfs_rbx_packer_start(s->packer, 0, err);
        if (result == 0)
            result = pack_on(s, 0, &in, err);
    }
    while (result > 0 && in < s->count) {
        result = copy_on(s, &s->stretches[in], err);
        if (result < 2)
            return result;
        result = pack_on(s, in + 1, &in, err);
    }
    return result;
}

int tfs_rbx_splice_make(const struct tfs_rbx_block *old, struct tfs_rbx_block_index *index,
                        const struct tfs_rbx_pieces *payload, struct tfs_rbx_splice *splice,
                        struct tfs_error *err)
{
    struct splicer s = {.old = old, .index = index, .splice = splice};
    int result = 0;

    /* Other machines have another packer. */
    if (BYTE_ORDER != LITTLE_ENDIAN || sizeof(size_t) < 8 || payload->size < SMALL ||
        old->plain.size < SMALL)
        return 0;
    s.packer = calloc(1, sizeof(*s.packer));
    if (s.packer == NULL)
        return tfs_fail_memory(err);
    s.packer->payload = payload;
    if (find_stretches(&s, payload, err) < 0 ||
        (index->count == 0 && index_make(old, index, err) < 0))
        result = err->code;
    else if (s.count > 0)
        result = splice_all(&s, err);
    if (result < 1)
        tfs_rbx_splice_release(splice);
    tfs_buf_release(&s.packer->text);
    free(s.packer);
    free(s.stretches);
    return result < 0 ? result : result > 0;
}

uint64_t tfs_rbx_splice_size(const struct tfs_rbx_splice *splice)
{
    uint64_t size = 0;

    for (size_t i = 0; i < splice->count; i++)
        size += splice->pieces[i].size;
    return size;
}

static struct tfs_span piece_bytes(const struct tfs_rbx_block *old,
                                   const struct tfs_rbx_splice *splice,
                                   const struct tfs_rbx_splice_piece *piece)
{
    return (struct tfs_span){(piece->old ? old->packed.data : splice->fresh.data) + piece->from,
                             piece->size};
}

int tfs_rbx_splice_write(const struct tfs_rbx_block *old, const struct tfs_rbx_splice *splice,
                         struct tfs_sink *sink, struct tfs_error *err)
{
    for (size_t i = 0; i < splice->count; i++)
        if (tfs_sink_span(sink, piece_bytes(old, splice, &splice->pieces[i]), err) < 0)
            return err->code;
    return 0;
}

/* ---- reading back ---------------------------------------------------------------------------- */

/* The old block's bytes; they mean here what they meant there if what they are about, and what can
 * be copied from, is the same. */
static bool old_piece_fits(const struct tfs_rbx_block *old, const struct tfs_rbx_pieces *payload,
                           const struct tfs_rbx_splice_piece *piece)
{
    const uint64_t back = piece->old_plain < TFS_RBX_REACH ? piece->old_plain : TFS_RBX_REACH;
    const bool last = piece->plain + piece->plain_size == payload->size;

    if (back > piece->plain || piece->old_plain + piece->plain_size > old->plain.size ||
        piece->from + piece->size > old->packed.size ||
        last != (piece->from + piece->size == old->packed.size))
        return false;
    struct tfs_rbx_comparison c = tfs_rbx_compare_from(payload, piece->plain - back);
    return tfs_rbx_compare_next(
        &c, (struct tfs_span){old->plain.data + piece->old_plain - back, back + piece->plain_size});
}

/* Do these sequences make `text` from `at` on? What is before `at` can be copied from. */
static bool unpacks_to(struct tfs_span packed, struct tfs_span text, uint64_t at, bool last)
{
    struct walk w = {tfs_cursor_init(packed), at};
    struct tfs_span literals;
    struct tfs_rbx_sequence s = {0};

    while (tfs_cursor_left(&w.in) > 0) {
        at = w.plain;
        if (!walk_next(&w, &s, &literals) || w.plain > text.size ||
            (s.length == 0) != (last && tfs_cursor_left(&w.in) == 0))
            return false;
        const uint8_t *copy = text.data + at + s.literals;
        if (memcmp(text.data + at, literals.data, literals.size) != 0 ||
            (s.length > 0 && (s.offset == 0 || s.offset > at + s.literals ||
                              memcmp(copy, copy - s.offset, s.length) != 0)))
            return false;
    }
    return !w.in.failed && w.plain == text.size;
}

static int check_fresh(const struct tfs_rbx_splice_piece *piece,
                       const struct tfs_rbx_pieces *payload, struct tfs_readback *written,
                       struct tfs_error *err)
{
    const uint64_t back = piece->plain < TFS_RBX_REACH ? piece->plain : TFS_RBX_REACH;
    const uint64_t end = piece->plain + piece->plain_size;
    struct tfs_buf packed = {0}, text = {0};
    uint8_t *room = tfs_buf_reserve(&packed, piece->size);

    tfs_rbx_pieces_copy(payload, piece->plain - back, end, &text);
    if (room == NULL || tfs_buf_check(&text, err) < 0)
        tfs_fail_memory(err);
    else if (tfs_readback_copy(written, room, piece->size, err) == 0 &&
             !unpacks_to((struct tfs_span){room, piece->size}, tfs_buf_span(&text), back,
                         end == payload->size))
        tfs_readback_fail(written, err);
    tfs_buf_release(&packed);
    tfs_buf_release(&text);
    return err->code;
}

int tfs_rbx_splice_check(const struct tfs_rbx_block *old, const struct tfs_rbx_splice *splice,
                         const struct tfs_rbx_pieces *payload, struct tfs_readback *written,
                         struct tfs_error *err)
{
    uint64_t plain = 0;

    for (size_t i = 0; i < splice->count; i++) {
        const struct tfs_rbx_splice_piece *piece = &splice->pieces[i];
        if (piece->plain != plain || (piece->old && !old_piece_fits(old, payload, piece)))
            return tfs_readback_fail(written, err);
        if (piece->old ? tfs_readback_expect(written, piece_bytes(old, splice, piece), err) < 0
                       : check_fresh(piece, payload, written, err) < 0)
            return err->code;
        plain += piece->plain_size;
    }
    return plain == payload->size ? 0 : tfs_readback_fail(written, err);
}

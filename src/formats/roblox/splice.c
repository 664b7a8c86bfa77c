/*
 * A block of LZ4 and a payload that is nearly the one it holds -> the block of that payload.
 *
 * Must not know what a payload is. What LZ4_compress_default does at a place depends on the bytes
 * there and on the positions that it remembers, of which only those within 64 KiB count. So where
 * the packer below made the same sequences as the old block for more than 64 KiB, it remembers the
 * same, and goes on as the old block does until the bytes differ; and when it was through with a
 * difference and makes the old block's sequences again for 64 KiB, the old block goes on as it
 * would. A block by another packer is not met like that, and is not spliced.
 */
#include "formats/roblox/splice.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define REACH     65535          /* of a match, backwards */
#define SURE      (REACH + 1024) /* so long the same sequences: the same is remembered */
#define WARM_UP   (4u << 16)     /* so long before a difference the packer begins */
#define WORTH     (8u << 16)     /* stretches that are shorter are packed again */
#define AHEAD     (1u << 20)     /* what the packer can look at */
#define APART     (1u << 16)     /* places of an index */
#define SMALL     (1u << 20)     /* payloads that are packed as a whole */
#define MATCH_MIN 4
#define LAST      5  /* literals at the end of a block */
#define MATCH_END 12 /* no match begins behind this, from the end */

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

/* Literals, then a copy of what lies `offset` before them; the last one of a block has no copy. */
struct sequence {
    uint64_t literals, length; /* how many of each; length 0: the last one */
    uint32_t offset;
};

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
static bool walk_next(struct walk *w, struct sequence *s, struct tfs_span *literals)
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
        s->length = take_length(&w->in, token & 15) + MATCH_MIN;
    }
    w->plain += s->literals + s->length;
    return !w->in.failed;
}

static int index_make(const struct tfs_rbx_block *old, struct tfs_rbx_block_index *index,
                      struct tfs_error *err)
{
    struct walk w = {tfs_cursor_init(old->packed), 0};
    struct tfs_span literals;
    struct sequence s;
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

/* ---- the packer ------------------------------------------------------------------------------ */

#define TABLE_LOG 12
#define SKIP_LOG  6

/* What LZ4_compress_default does on a machine of 64 bits with payloads above 64 KiB, from `first`
 * on. Positions count from there. */
struct packer {
    const struct tfs_rbx_pieces *payload;
    uint64_t first;
    struct tfs_buf text; /* of the payload, from `first` on, as far as it is needed yet */
    uint32_t table[1 << TABLE_LOG];
    uint32_t hash; /* of what is at `at` */
    uint64_t at, anchor, match;
    bool matched; /* the next sequence is a match at `at` */
    bool ended;   /* what is left are the last literals */
};

static uint32_t hash_at(const struct packer *p, uint64_t at)
{
    uint64_t bytes;

    memcpy(&bytes, p->text.data + at, sizeof(bytes));
    return (uint32_t)(((bytes << 24) * UINT64_C(889523592379)) >> (64 - TABLE_LOG));
}

static bool same_four(const struct packer *p, uint64_t a, uint64_t b)
{
    return memcmp(p->text.data + a, p->text.data + b, MATCH_MIN) == 0;
}

static uint64_t text_end(const struct packer *p)
{
    return p->payload->size - p->first;
}

/* Has AHEAD behind `at`, or all there is. */
static int look_ahead(struct packer *p, struct tfs_error *err)
{
    const uint64_t end = text_end(p);

    if (p->text.size - p->at >= AHEAD || p->text.size == end)
        return 0;
    const uint64_t to = p->at + 2 * AHEAD < end ? p->at + 2 * AHEAD : end;
    tfs_rbx_pieces_copy(p->payload, p->first + p->text.size, p->first + to, &p->text);
    return tfs_buf_check(&p->text, err);
}

static void packer_begin(struct packer *p)
{
    p->table[hash_at(p, 0)] = 0;
    p->at = 1;
    p->hash = hash_at(p, 1);
}

/* Finds the next match: 1; 0: there is none up to the end; -1: nor as far as one can look. */
static int packer_search(struct packer *p)
{
    const uint64_t limit = p->text.size - MATCH_END + 1;
    uint64_t forward = p->at;
    unsigned step = 1, tries = 1u << SKIP_LOG;

    for (;;) {
        const uint32_t hash = p->hash;
        p->at = forward;
        forward += step;
        step = tries++ >> SKIP_LOG;
        if (forward > limit)
            return p->text.size == text_end(p) ? 0 : -1;
        p->match = p->table[hash];
        p->hash = hash_at(p, forward);
        p->table[hash] = (uint32_t)p->at;
        if (p->match + REACH >= p->at && same_four(p, p->match, p->at))
            break;
    }
    while (p->at > p->anchor && p->match > 0 &&
           p->text.data[p->at - 1] == p->text.data[p->match - 1]) {
        p->at--;
        p->match--;
    }
    return 1;
}

static uint64_t match_length(const struct packer *p, uint64_t limit)
{
    uint64_t length = MATCH_MIN;

    while (p->at + length + 8 <= limit &&
           memcmp(p->text.data + p->at + length, p->text.data + p->match + length, 8) == 0)
        length += 8;
    while (p->at + length < limit &&
           p->text.data[p->at + length] == p->text.data[p->match + length])
        length++;
    return length;
}

/* Behind a match. */
static void packer_go_on(struct packer *p)
{
    p->anchor = p->at;
    p->matched = false;
    if (p->at >= p->text.size - MATCH_END + 1) {
        p->ended = true;
        return;
    }
    p->table[hash_at(p, p->at - 2)] = (uint32_t)(p->at - 2);
    const uint32_t hash = hash_at(p, p->at);
    p->match = p->table[hash];
    p->table[hash] = (uint32_t)p->at;
    if (p->match + REACH >= p->at && same_four(p, p->match, p->at))
        p->matched = true;
    else
        p->hash = hash_at(p, ++p->at);
}

/* The next sequence: 1; 0: a match goes further than one can look; ENOMEM. */
static int packer_next(struct packer *p, struct sequence *s, struct tfs_error *err)
{
    if (look_ahead(p, err) < 0)
        return err->code;

    const uint64_t end = text_end(p);
    int found = p->ended ? 0 : p->matched ? 1 : packer_search(p);
    if (found < 0)
        return 0;
    *s = (struct sequence){.literals = end - p->anchor};
    if (found == 0) {
        p->ended = true;
        p->anchor = end;
        return 1;
    }
    s->literals = p->at - p->anchor;
    s->offset = (uint32_t)(p->at - p->match);
    s->length = match_length(p, p->text.size - LAST);
    p->at += s->length;
    if (p->text.size < end && p->at >= p->text.size - 2 * MATCH_END)
        return 0;
    packer_go_on(p);
    return 1;
}

static void put_length(struct tfs_buf *out, uint64_t length)
{
    if (length < 15)
        return;
    for (length -= 15; length >= 255; length -= 255)
        tfs_buf_u8(out, 255);
    tfs_buf_u8(out, (uint8_t)length);
}

/* `from`: where its literals are. */
static void put_sequence(const struct packer *p, uint64_t from, const struct sequence *s,
                         struct tfs_buf *out)
{
    const uint64_t length = s->length == 0 ? 0 : s->length - MATCH_MIN;
    const uint64_t high = s->literals < 15 ? s->literals : 15, low = length < 15 ? length : 15;

    tfs_buf_u8(out, (uint8_t)(high << 4 | low));
    put_length(out, s->literals);
    tfs_buf_add(out, p->text.data + from, (size_t)s->literals);
    if (s->length == 0)
        return;
    tfs_buf_u16le(out, (uint16_t)s->offset);
    put_length(out, length);
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
    struct packer *packer;
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
                   const struct sequence *made)
{
    const uint64_t old = from - in->plain + in->old;
    struct tfs_span literals;
    struct sequence was;

    while (s->walk.plain < old && walk_next(&s->walk, &was, &literals))
        ;
    if (s->walk.plain != old || !walk_next(&s->walk, &was, &literals) ||
        was.literals != made->literals || was.offset != made->offset || was.length != made->length)
        s->agreed = UINT64_MAX;
    else if (s->agreed == UINT64_MAX)
        s->agreed = from;
}

/* Where the packer stands in the payload. */
static uint64_t packed_to(const struct packer *p)
{
    return p->first + p->anchor;
}

/* Begins a packer before the end of a stretch, and lets it run until it does what the old block
 * does. 1: it does, *piece is what of the old block goes before it; 0: it never does. */
static int warm_up(struct splicer *s, const struct stretch *in, struct tfs_rbx_splice_piece *piece,
                   struct tfs_error *err)
{
    struct packer *p = s->packer;
    const uint64_t end = in->plain + in->size;
    struct sequence made;
    int result = 1;

    s->walk = walk_from(s->old, s->index, in->old + in->size - WARM_UP);
    if (s->walk.plain < piece->old_plain)
        return 0; /* one sequence is as long as that */
    tfs_buf_clear(&p->text);
    memset(p->table, 0, sizeof(p->table));
    p->first = s->walk.plain - in->old + in->plain;
    p->at = p->anchor = 0;
    p->matched = p->ended = false;
    s->agreed = UINT64_MAX;
    if (look_ahead(p, err) < 0)
        return err->code;
    packer_begin(p);
    while (result == 1 && (s->agreed == UINT64_MAX || packed_to(p) - s->agreed < SURE)) {
        const uint64_t from = packed_to(p);
        if (from + SURE / 4 > end)
            return 0;
        result = packer_next(p, &made, err);
        if (result == 1)
            follow(s, in, from, &made);
    }
    piece->size = tfs_cursor_offset(&s->walk.in) - piece->from;
    piece->plain_size = packed_to(p) - piece->plain;
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
    struct packer *p = s->packer;
    struct tfs_rbx_splice_piece piece = {.from = s->splice->fresh.size, .plain = packed_to(p)};
    const uint64_t end = p->payload->size;
    size_t walked = s->count;
    struct sequence made;
    bool meets = false;

    while (!meets && packed_to(p) < end) {
        const uint64_t from = packed_to(p), anchor = p->anchor;
        const int result = packer_next(p, &made, err);
        if (result < 1)
            return result;
        put_sequence(p, anchor, &made, &s->splice->fresh);
        if (packed_to(p) - piece.plain > end / 2)
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
        meets = s->agreed != UINT64_MAX && packed_to(p) - s->agreed >= SURE &&
                packed_to(p) + room <= stretch->plain + stretch->size;
    }
    piece.size = s->splice->fresh.size - piece.from;
    piece.plain_size = packed_to(p) - piece.plain;
    *in = meets ? next : s->count;
    return tfs_buf_check(&s->splice->fresh, err) < 0 || add_piece(s->splice, piece, err) < 0
               ? err->code
               : 1;
}

/* A packer from the beginning of the payload. */
static int begin_at_start(struct splicer *s, struct tfs_error *err)
{
    if (look_ahead(s->packer, err) < 0)
        return err->code;
    packer_begin(s->packer);
    return 1;
}

/* What of the old block goes on, from where the packer met it in a stretch: to the end (1), or
 * until a packer takes over (2). 0: none can. */
static int copy_on(struct splicer *s, const struct stretch *in, struct tfs_error *err)
{
    struct tfs_rbx_splice_piece piece = {.old = true};
    int result = 1;

    if (s->splice->count > 0) {
        piece.plain = packed_to(s->packer);
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
        result = begin_at_start(s, err);
        if (result == 1)
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
    const uint64_t back = piece->old_plain < REACH ? piece->old_plain : REACH;
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
    struct sequence s = {0};

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
    const uint64_t back = piece->plain < REACH ? piece->plain : REACH;
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

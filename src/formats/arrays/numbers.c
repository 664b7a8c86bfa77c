/*
 * Names <-> numbers that stay: see numbers.h.
 */
#include "formats/arrays/numbers.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "formats/renaming.h"
#include "text/name.h"

#define KNOWN 8 /* documents whose names are known to be numbered */

struct tfs_numbers {
    const struct tfs_numbering *numbering;
    pthread_mutex_t lock;
    struct tfs_span *names; /* each allocated by itself */
    uint32_t count;
    uint32_t
        *cells; /* by checksum: number + 1; 0: free. A power of two, at least twice the count */
    size_t capacity;
    uint64_t known[KNOWN];
    unsigned next;
};

void tfs_numbers_free(struct tfs_numbers *numbers)
{
    if (numbers == NULL)
        return;
    for (uint32_t i = 0; i < numbers->count; i++)
        free((void *)(uintptr_t)numbers->names[i].data);
    free(numbers->names);
    free(numbers->cells);
    pthread_mutex_destroy(&numbers->lock);
    free(numbers);
}

/* Where the name is, or would be. */
static uint32_t *cell_of(const struct tfs_numbers *numbers, struct tfs_span name)
{
    size_t at = tfs_checksum(name, 0) & (numbers->capacity - 1);

    while (numbers->cells[at] != 0 && !tfs_span_equal(numbers->names[numbers->cells[at] - 1], name))
        at = (at + 1) & (numbers->capacity - 1);
    return &numbers->cells[at];
}

static int grow(struct tfs_numbers *numbers)
{
    size_t capacity = numbers->capacity == 0 ? 64 : 2 * numbers->capacity;

    if (2 * (size_t)(numbers->count + 1) <= numbers->capacity)
        return 0;
    uint32_t *cells = calloc(capacity, sizeof(*cells));
    if (cells == NULL)
        return -ENOMEM;
    free(numbers->cells);
    numbers->cells = cells;
    numbers->capacity = capacity;
    for (uint32_t i = 0; i < numbers->count; i++)
        *cell_of(numbers, numbers->names[i]) = i + 1;
    return 0;
}

static int append(struct tfs_numbers *numbers, struct tfs_span name)
{
    struct tfs_span *names = tfs_array_grow(numbers->names, numbers->count, sizeof(*names));
    uint8_t *copy = malloc(name.size + 1);

    if (names != NULL)
        numbers->names = names;
    if (names == NULL || copy == NULL || grow(numbers) < 0) {
        free(copy);
        return -ENOMEM;
    }
    if (name.size > 0)
        memcpy(copy, name.data, name.size);
    numbers->names[numbers->count] = (struct tfs_span){copy, name.size};
    *cell_of(numbers, name) = numbers->count + 1;
    numbers->count++;
    return 0;
}

bool tfs_numbers_find(struct tfs_numbers *numbers, struct tfs_span name, uint32_t *number)
{
    uint32_t found = 1;

    if (!numbers->numbering->is_empty(name)) {
        pthread_mutex_lock(&numbers->lock);
        found = numbers->capacity > 0 ? *cell_of(numbers, name) : 0;
        pthread_mutex_unlock(&numbers->lock);
    }
    if (found != 0)
        *number = found - 1;
    return found != 0;
}

int tfs_numbers_add(struct tfs_numbers *numbers, struct tfs_span name, uint32_t *number,
                    struct tfs_error *err)
{
    *number = 0;
    if (numbers->numbering->is_empty(name))
        return 0;
    pthread_mutex_lock(&numbers->lock);
    int result = 0;
    uint32_t found = numbers->capacity > 0 ? *cell_of(numbers, name) : 0;
    if (found == 0 && numbers->count == TFS_NUMBERS_MAX)
        result = tfs_fail(err, -EFBIG, "the save has more names than 16 bits can number");
    else if (found == 0 && append(numbers, name) < 0)
        result = tfs_fail_memory(err);
    if (result == 0)
        *number = found != 0 ? found - 1 : numbers->count - 1;
    pthread_mutex_unlock(&numbers->lock);
    return result;
}

bool tfs_numbers_name(struct tfs_numbers *numbers, uint64_t number, struct tfs_span *name)
{
    pthread_mutex_lock(&numbers->lock);
    bool has = number < numbers->count;
    if (has)
        *name = numbers->names[number];
    pthread_mutex_unlock(&numbers->lock);
    return has;
}

uint32_t tfs_numbers_count(struct tfs_numbers *numbers)
{
    pthread_mutex_lock(&numbers->lock);
    uint32_t count = numbers->count;
    pthread_mutex_unlock(&numbers->lock);
    return count;
}

/* ---- those of a save ------------------------------------------------------------------------- */

/* Have all names of the document of that version a number? */
static bool are_known(struct tfs_numbers *numbers, uint64_t version)
{
    bool known = false;

    pthread_mutex_lock(&numbers->lock);
    for (unsigned i = 0; i < KNOWN; i++)
        known = known || numbers->known[i] == version;
    pthread_mutex_unlock(&numbers->lock);
    return known;
}

static void know(struct tfs_numbers *numbers, uint64_t version)
{
    pthread_mutex_lock(&numbers->lock);
    numbers->known[numbers->next++ % KNOWN] = version;
    pthread_mutex_unlock(&numbers->lock);
}

/* Makes them when they are first asked for. */
static int numbers_of(struct tfs_save *save, const struct tfs_numbering *numbering,
                      struct tfs_numbers **numbers, struct tfs_error *err)
{
    struct tfs_numbers *there = atomic_load(&save->numbers), *made;

    if (there == NULL) {
        made = calloc(1, sizeof(*made));
        if (made == NULL)
            return tfs_fail_memory(err);
        made->numbering = numbering;
        pthread_mutex_init(&made->lock, NULL);
        if (append(made, tfs_span_of(numbering->empty)) < 0)
            tfs_fail_memory(err);
        if (err->code < 0 || !atomic_compare_exchange_strong(&save->numbers, &there, made))
            tfs_numbers_free(made);
        else
            there = made;
    }
    if (err->code == 0)
        *numbers = there;
    return err->code;
}

int tfs_numbers_open(struct tfs_save *save, const struct tfs_doc *doc,
                     const struct tfs_numbering *numbering, struct tfs_numbers **numbers,
                     struct tfs_error *err)
{
    struct tfs_name_list list = {0};
    uint32_t ignored;

    if (numbers_of(save, numbering, numbers, err) < 0 || are_known(*numbers, doc->version))
        return err->code;
    if (numbering->names(save, doc, tfs_name_list_add, &list, err) == 0 &&
        tfs_name_list_sort(&list, err) == 0)
        for (uint32_t i = 0; i < list.words.count && err->code == 0; i++)
            tfs_numbers_add(*numbers, tfs_name_list_at(&list, i), &ignored, err);
    tfs_name_list_release(&list);
    if (err->code == 0)
        know(*numbers, doc->version);
    return err->code;
}

int tfs_numbers_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_numbers *numbers;
    struct tfs_span name;

    if (tfs_numbers_open(save, doc, at.param, &numbers, err) < 0)
        return err->code;
    for (uint32_t i = 0; tfs_numbers_name(numbers, i, &name); i++) {
        tfs_buf_printf(out, "%" PRIu32 " ", i);
        tfs_name_print(out, name);
        tfs_buf_u8(out, '\n');
    }
    return tfs_buf_check(out, err);
}

/* ---- numbers of elsewhere -------------------------------------------------------------------- */

static bool has_name(const void *arg, struct tfs_span name)
{
    uint32_t ignored;

    return tfs_numbers_find((struct tfs_numbers *)(uintptr_t)arg, name, &ignored);
}

int tfs_renumbering_open(struct tfs_renumbering *r, struct tfs_numbers *numbers,
                         struct tfs_span text, struct tfs_error *err)
{
    *r = (struct tfs_renumbering){
        .numbers = numbers,
        .palette = {.rules = numbers->numbering->rules, .max = TFS_NUMBERS_MAX}};
    if (tfs_palette_read(&r->palette, text, has_name, numbers, err) < 0)
        return err->code;
    r->map = malloc(r->palette.count * sizeof(*r->map));
    if (r->map == NULL)
        return tfs_fail_memory(err);
    memset(r->map, 0xff, r->palette.count * sizeof(*r->map));
    return 0;
}

void tfs_renumbering_release(struct tfs_renumbering *r)
{
    tfs_palette_release(&r->palette);
    free(r->map);
}

int tfs_renumber(struct tfs_renumbering *r, uint64_t there, uint32_t *here, struct tfs_error *err)
{
    uint32_t *known = &r->map[there];

    if (*known == UINT32_MAX &&
        tfs_numbers_add(r->numbers, r->palette.names[there], known, err) < 0)
        return err->code;
    *here = *known;
    return 0;
}

/*
 * Names <-> numbers that stay: see numbers.h.
 */
#include "formats/views/arrays/numbers.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "formats/views/arrays/array.h"
#include "formats/cells/name_list.h"
#include "formats/views/views.h"
#include "text/name.h"

#define NUMBERS_MAX 65536
#define KNOWN       8 /* documents whose names are known to be numbered */

struct tfs_numbers {
    const struct tfs_cells_kind *cells;
    pthread_mutex_t lock;   /* of what follows */
    struct tfs_words words; /* the first is what is empty */
    uint64_t known[KNOWN];
    unsigned next;
};

void tfs_numbers_free(struct tfs_numbers *numbers)
{
    if (numbers == NULL)
        return;
    tfs_words_release(&numbers->words);
    pthread_mutex_destroy(&numbers->lock);
    free(numbers);
}

int tfs_numbers_add(struct tfs_numbers *numbers, struct tfs_span name, uint32_t *number,
                    struct tfs_error *err)
{
    struct tfs_words *words = &numbers->words;

    *number = 0;
    if (tfs_name_is_air(numbers->cells, name))
        return 0;
    pthread_mutex_lock(&numbers->lock);
    if (words->count < NUMBERS_MAX)
        tfs_words_add(words, name, number, err);
    else if (!tfs_words_find(words, name, number))
        tfs_fail(err, -EFBIG, "the save has more names than 16 bits can number");
    pthread_mutex_unlock(&numbers->lock);
    return err->code;
}

bool tfs_numbers_name(struct tfs_numbers *numbers, uint64_t number, struct tfs_buf *name)
{
    pthread_mutex_lock(&numbers->lock);
    const bool has = number < numbers->words.count;
    if (has)
        tfs_buf_add_span(name, tfs_words_at(&numbers->words, (uint32_t)number));
    pthread_mutex_unlock(&numbers->lock);
    return has;
}

uint32_t tfs_numbers_count(struct tfs_numbers *numbers)
{
    pthread_mutex_lock(&numbers->lock);
    const uint32_t count = numbers->words.count;
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

struct tfs_numbers *tfs_numbers_create(const struct tfs_cells_kind *cells)
{
    struct tfs_numbers *made = calloc(1, sizeof(*made));
    struct tfs_error err = {0};
    uint32_t first;

    if (made == NULL)
        return NULL;
    made->cells = cells;
    pthread_mutex_init(&made->lock, NULL);
    if (tfs_words_add(&made->words, tfs_name_of_air(cells), &first, &err) == 0)
        return made;
    tfs_numbers_free(made);
    return NULL;
}

int tfs_numbers_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_numbers **numbers,
                     struct tfs_error *err)
{
    struct tfs_name_list list = {0};
    uint32_t ignored;

    *numbers = save->numbers;
    if (are_known(*numbers, doc->version))
        return 0;
    if (tfs_cells_all_names(save, doc, tfs_name_list_add, &list, err) == 0 &&
        tfs_name_list_sort(&list, err) == 0)
        for (uint32_t i = 0; i < list.words.count && err->code == 0; i++)
            tfs_numbers_add(*numbers, tfs_name_list_at(&list, i), &ignored, err);
    tfs_name_list_release(&list);
    if (err->code == 0)
        know(*numbers, doc->version);
    return err->code;
}

static int palette_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                       struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_numbers *numbers;
    struct tfs_buf name = {0};

    (void)at;
    if (tfs_numbers_open(save, doc, &numbers, err) < 0)
        return err->code;
    for (uint32_t i = 0; tfs_numbers_name(numbers, i, &name); i++) {
        tfs_palette_print(out, "", i, tfs_buf_span(&name));
        tfs_buf_clear(&name);
    }
    tfs_buf_check(&name, err);
    tfs_buf_release(&name);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

const struct tfs_lens tfs_numbers_lens = {.get = palette_get};

/* ---- numbers of elsewhere -------------------------------------------------------------------- */

static bool has_name(const void *arg, struct tfs_span name)
{
    struct tfs_numbers *numbers = (struct tfs_numbers *)(uintptr_t)arg;
    uint32_t ignored;

    pthread_mutex_lock(&numbers->lock);
    const bool has = tfs_words_find(&numbers->words, name, &ignored);
    pthread_mutex_unlock(&numbers->lock);
    return has || tfs_name_is_air(numbers->cells, name);
}

int tfs_numbers_translate(struct tfs_numbers *numbers, struct tfs_span text, uint32_t **map,
                          uint32_t *count, struct tfs_error *err)
{
    struct tfs_palette palette = {.rules = numbers->cells->names};

    palette.rules.entries = NUMBERS_MAX;
    *map = NULL;
    if (tfs_palette_read(&palette, text, has_name, numbers, err) == 0) {
        *count = palette.count;
        *map = calloc(palette.count + (size_t)1, sizeof(**map));
        if (*map == NULL)
            tfs_fail_memory(err);
    }
    for (uint32_t i = 0; i < palette.count && err->code == 0; i++)
        tfs_numbers_add(numbers, palette.names[i], &(*map)[i], err);
    tfs_palette_release(&palette);
    return err->code;
}

/*
 * What a container has to tell about a save -> a shared list of sentences beside its own struct.
 *
 * Must not know any format: the own struct is bytes to it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/print.h"
#include "base/refs.h"
#include "formats/save/document.h"

int tfs_facts_create(size_t own_size, struct tfs_facts **facts, struct tfs_error *err)
{
    struct tfs_facts *created = calloc(1, sizeof(*created));

    if (created == NULL)
        return tfs_fail_memory(err);
    if (own_size > 0) {
        created->own = calloc(1, own_size);
        if (created->own == NULL) {
            free(created);
            return tfs_fail_memory(err);
        }
    }
    atomic_init(&created->refs, 1);
    *facts = created;
    return 0;
}

struct tfs_facts *tfs_facts_ref(struct tfs_facts *facts)
{
    if (facts != NULL)
        tfs_refs_add(&facts->refs);
    return facts;
}

void tfs_facts_unref(struct tfs_facts *facts)
{
    if (facts == NULL || !tfs_refs_drop(&facts->refs))
        return;
    for (size_t i = 0; i < facts->note_count; i++)
        free(facts->notes[i].text);
    free(facts->notes);
    if (facts->release != NULL)
        facts->release(facts);
    free(facts->own);
    free(facts);
}

/* ---- notes ----------------------------------------------------------------------------------- */

int tfs_facts_note(struct tfs_facts *facts, struct tfs_error *err, enum tfs_note_kind kind,
                   const char *format, ...)
{
    va_list args;
    char *text = NULL;

    va_start(args, format);
    int length = tfs_print_args(&text, format, args);
    va_end(args);
    if (length < 0)
        return tfs_fail_memory(err);
    struct tfs_note *notes = tfs_array_grow(facts->notes, facts->note_count, sizeof(*notes));
    if (notes == NULL) {
        free(text);
        return tfs_fail_memory(err);
    }
    facts->notes = notes;
    facts->notes[facts->note_count++] = (struct tfs_note){.kind = kind, .text = text};
    return 0;
}

void tfs_facts_set_hiding(struct tfs_facts *facts)
{
    if (facts->note_count > 0)
        facts->notes[facts->note_count - 1].hiding = true;
}

const char *tfs_facts_hiding(const struct tfs_facts *facts)
{
    for (size_t i = 0; facts != NULL && i < facts->note_count; i++)
        if (facts->notes[i].hiding)
            return facts->notes[i].text;
    return NULL;
}

const char *tfs_facts_find(const struct tfs_facts *facts, enum tfs_note_kind kind)
{
    for (size_t i = 0; facts != NULL && i < facts->note_count; i++)
        if (facts->notes[i].kind == kind)
            return facts->notes[i].text;
    return NULL;
}

/*
 * A save and a document -> the lines of info.txt that every format has.
 *
 * Must not know any format.
 */
#include "formats/views/info.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "text/name.h"

void tfs_info_line(struct tfs_buf *out, const char *key, const char *format, ...)
{
    va_list args;
    char *value = NULL;

    va_start(args, format);
    int length = tfs_print_args(&value, format, args);
    va_end(args);
    if (length < 0) {
        out->failed = true;
        return;
    }
    tfs_buf_add_text(out, key);
    tfs_buf_add_text(out, ": ");
    /* A value stays on its line, whatever name from a save got into it. */
    const size_t room = (size_t)length * TFS_SENTENCE_GROWS + 1;
    char *line = (char *)tfs_buf_reserve(out, room);
    if (line != NULL)
        out->size += strlen(tfs_sentence_print(value, line, room));
    tfs_buf_u8(out, '\n');
    free(value);
}

static void add_head(struct tfs_buf *out, const struct tfs_save *save, const struct tfs_doc *doc)
{
    struct tfs_key low, high;

    tfs_info_line(out, "format", "%s", save->container->format);
    tfs_info_line(out, "container", "%s", save->container->name);
    tfs_info_line(out, "chunks", "%zu", tfs_doc_group_count(doc, 0));
    if (tfs_doc_bounds(doc, 0, &low, &high))
        tfs_info_line(out, "bounds", "%d %d %d .. %d %d %d", low.x, low.y, low.z, high.x, high.y,
                      high.z);
    else
        tfs_info_line(out, "bounds", "none");
}

static void add_notes(struct tfs_buf *out, const struct tfs_facts *facts, enum tfs_note_kind kind,
                      const char *key)
{
    for (size_t i = 0; facts != NULL && i < facts->note_count; i++)
        if (facts->notes[i].kind == kind)
            tfs_info_line(out, key, "%s", facts->notes[i].text);
}

static void add_state(struct tfs_buf *out, const struct tfs_save *save, const struct tfs_doc *doc)
{
    const char *why = save->read_only;

    tfs_info_line(out, "read-only", "%s", why == NULL ? "no" : why);
    add_notes(out, doc->facts, TFS_NOTE_DAMAGED, "damaged");
    add_notes(out, doc->facts, TFS_NOTE_WARNING, "warning");
}

int tfs_info_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                 struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_info_lines *lines = at.param;

    add_head(out, save, doc);
    if (lines->add != NULL)
        lines->add(out, save, doc, err);
    add_state(out, save, doc);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

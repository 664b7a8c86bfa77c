/*
 * Texts -> values of JSON.
 */
#include "commands/json.h"

#include "text/name.h"

void tfs_json_string(struct tfs_buf *out, struct tfs_span text)
{
    struct tfs_buf plain = {0}, escaped = {0};
    const size_t room = TFS_SENTENCE_GROWS * text.size + 1;

    tfs_buf_add_span(&plain, text);
    tfs_buf_u8(&plain, '\0');
    char *at = (char *)tfs_buf_reserve(&escaped, room);
    if (plain.failed || at == NULL) {
        out->failed = true;
    } else {
        tfs_buf_u8(out, '"');
        for (const char *c = tfs_sentence_print((const char *)plain.data, at, room); *c; c++) {
            if (*c == '"' || *c == '\\')
                tfs_buf_u8(out, '\\');
            tfs_buf_u8(out, (uint8_t)*c);
        }
        tfs_buf_u8(out, '"');
    }
    tfs_buf_release(&plain);
    tfs_buf_release(&escaped);
}

static void add_key(struct tfs_buf *out, const char *key)
{
    tfs_buf_printf(out, "%c\"%s\":", out->size == 0 ? '{' : ',', key);
}

void tfs_json_text(struct tfs_buf *out, const char *key, const char *text)
{
    add_key(out, key);
    tfs_json_string(out, tfs_span_of(text));
}

void tfs_json_number(struct tfs_buf *out, const char *key, size_t number)
{
    add_key(out, key);
    tfs_buf_printf(out, "%zu", number);
}

void tfs_json_bool(struct tfs_buf *out, const char *key, bool value)
{
    add_key(out, key);
    tfs_buf_add_text(out, value ? "true" : "false");
}

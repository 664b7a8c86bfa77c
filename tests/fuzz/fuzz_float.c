/*
 * Any bits as a number: what is printed reads back to the same bits, and is what the C library
 * reads too. Any text as a number: what is read prints and reads back, and is what the C library
 * says.
 */
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "text/float.h"

#define TEXT_MAX 2000

static void check_bits64(uint64_t bits)
{
    char text[TFS_FLOAT64_WIDTH + 1] = {0};
    size_t size = tfs_float64_print((uint8_t *)text, bits);
    const uint8_t *end = (const uint8_t *)text + size;
    uint64_t back;
    double value, library;

    REQUIRE(size >= 1 && size <= TFS_FLOAT64_WIDTH);
    REQUIRE(tfs_float64_parse((const uint8_t *)text, end, &back) == end && back == bits);
    memcpy(&value, &bits, sizeof(value));
    library = strtod(text, NULL);
    REQUIRE(isnan(value) || memcmp(&library, &value, sizeof(value)) == 0);
}

static void check_bits32(uint32_t bits)
{
    char text[TFS_FLOAT32_WIDTH + 1] = {0};
    size_t size = tfs_float32_print((uint8_t *)text, bits);
    const uint8_t *end = (const uint8_t *)text + size;
    uint32_t back;
    float value, library;

    REQUIRE(size >= 1 && size <= TFS_FLOAT32_WIDTH);
    REQUIRE(tfs_float32_parse((const uint8_t *)text, end, &back) == end && back == bits);
    memcpy(&value, &bits, sizeof(value));
    library = strtof(text, NULL);
    REQUIRE(isnan(value) || memcmp(&library, &value, sizeof(value)) == 0);
}

static bool is_decimal(const char *text, size_t size)
{
    return strspn(text, "+-.0123456789eE") >= size;
}

static void check_text(const uint8_t *data, size_t size)
{
    char text[TEXT_MAX + 1] = {0};
    uint64_t bits64;
    uint32_t bits32;

    memcpy(text, data, size);
    const uint8_t *at = (const uint8_t *)text;
    const uint8_t *end = tfs_float64_parse(at, at + size, &bits64);
    if (end != NULL) {
        REQUIRE(end > at && end <= at + size && (end == at + size || *end == ' ' || *end == '\t'));
        check_bits64(bits64);
        double library = strtod(text, NULL);
        if (is_decimal(text, (size_t)(end - at)))
            REQUIRE(memcmp(&library, &bits64, sizeof(library)) == 0);
    }
    end = tfs_float32_parse(at, at + size, &bits32);
    if (end != NULL) {
        REQUIRE(end > at && end <= at + size);
        check_bits32(bits32);
        float library = strtof(text, NULL);
        if (is_decimal(text, (size_t)(end - at)))
            REQUIRE(memcmp(&library, &bits32, sizeof(library)) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t bits64 = 0;
    uint32_t bits32 = 0;

    memcpy(&bits64, data, size < 8 ? size : 8);
    memcpy(&bits32, data, size < 4 ? size : 4);
    check_bits64(bits64);
    check_bits32(bits32);
    if (size <= TEXT_MAX)
        check_text(data, size);
    return 0;
}

/*
 * npy_sum FILE...: shape, width and sum of the values of each array, read as a C program reads them
 * that knows the format from NumPy's page alone: a head of 128 bytes, and little-endian numbers
 * without a sign behind it. For tests.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        unsigned char head[128], value[8];
        unsigned width = 0;
        unsigned long long y = 0, z = 0, x = 0, count = 0;
        uint64_t sum = 0;
        FILE *f = fopen(argv[i], "rb");

        if (f == NULL || fread(head, 1, sizeof(head), f) != sizeof(head) ||
            memcmp(head, "\x93NUMPY\x01\x00\x76\x00", 10) != 0 || head[127] != '\n')
            return 1;
        head[127] = '\0';
        if (sscanf((const char *)head + 10,
                   "{'descr': '%*1[<|]u%u', 'fortran_order': False, 'shape': (%llu, %llu, %llu), }",
                   &width, &y, &z, &x) != 4 ||
            width < 1 || width > 8)
            return 1;
        for (; fread(value, width, 1, f) == 1; count++)
            for (unsigned b = 0; b < width; b++)
                sum += (uint64_t)value[b] << 8 * b;
        fclose(f);
        if (count != y * z * x)
            return 1;
        printf("%llu %llu %llu %u %" PRIu64 "\n", y, z, x, width, sum);
    }
    return 0;
}

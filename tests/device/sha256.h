// SHA-256 (FIPS 180-4): what host and device compare. A piece at a time, without the C library but
// for memcpy.
#ifndef DEVICE_SHA256_H
#define DEVICE_SHA256_H
#include <stdint.h>
#include <string.h>

typedef struct sha256 {
    uint32_t state[8];
    uint8_t block[64];
    uint64_t bytes;
} sha256;

static uint32_t rotate_right(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static void sha256_block(uint32_t *state, const uint8_t *block)
{
    static const uint32_t constant[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2,
    };
    uint32_t w[64], a[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16
            | (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t x = w[i - 15], y = w[i - 2];
        uint32_t s0 = rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> 3;
        uint32_t s1 = rotate_right(y, 17) ^ rotate_right(y, 19) ^ y >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    memcpy(a, state, sizeof a);
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = rotate_right(a[4], 6) ^ rotate_right(a[4], 11) ^ rotate_right(a[4], 25);
        uint32_t s0 = rotate_right(a[0], 2) ^ rotate_right(a[0], 13) ^ rotate_right(a[0], 22);
        uint32_t t1 = a[7] + s1 + ((a[4] & a[5]) ^ (~a[4] & a[6])) + constant[i] + w[i];
        uint32_t t2 = s0 + ((a[0] & a[1]) ^ (a[0] & a[2]) ^ (a[1] & a[2]));
        for (int k = 7; k > 0; k--)
            a[k] = a[k - 1];
        a[4] += t1;
        a[0] = t1 + t2;
    }
    for (int k = 0; k < 8; k++)
        state[k] += a[k];
}

static void sha256_begin(sha256 *h)
{
    static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(h->state, first, sizeof first);
    h->bytes = 0;
}

static void sha256_add(sha256 *h, const void *bytes, size_t n)
{
    const uint8_t *byte = (const uint8_t *)bytes;
    for (size_t i = 0; i < n; i++) {
        h->block[h->bytes++ % 64] = byte[i];
        if (h->bytes % 64 == 0) sha256_block(h->state, h->block);
    }
}

// The hash as 64 hexadecimal digits and a zero.
static void sha256_end(sha256 *h, char *digits)
{
    static const uint8_t mark = 0x80, zero = 0;
    uint64_t bits = 8 * h->bytes;
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(h, &mark, 1);
    while (h->bytes % 64 != 56)
        sha256_add(h, &zero, 1);
    sha256_add(h, length, 8);
    for (int i = 0; i < 64; i++)
        digits[i] = "0123456789abcdef"[h->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    digits[64] = 0;
}

#endif

/* ==== [random] ================================================================================ */
/* Counter-based: block number -> four random words, keyed. Philox4x32-10: Salmon, Moraes, Dror,
   Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Order and threads do not matter. */
SAMBA__INLINE void samba__philox_words(uint64_t key, uint64_t block, uint32_t stream,
                                       uint32_t out[4])
{
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32), c2 = stream, c3 = 0;
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);

    SAMBA__UNROLLED
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }

    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

SAMBA__NOINLINE void samba__philox(uint64_t key, uint64_t block, uint32_t stream, uint32_t out[4])
{
    samba__philox_words(key, block, stream, out);
}

/* 24 bits of a word to [0,1). samba__open_unit takes 23 to (0,1), for logarithms. Both exact. */
SAMBA__INLINE float samba__unit(uint32_t word)
{
    return (float)(word >> 8) * 5.9604644775390625e-08f;
}

SAMBA__INLINE float samba__open_unit(uint32_t word)
{
    return samba__fma((float)(word >> 9), 1.1920928955078125e-07f, 5.9604644775390625e-08f);
}

/* The key of a named stream: by seed and name, so that adding a tensor moves no other. */
SAMBA__FN uint64_t samba__stream_key(uint64_t seed, const char *name)
{
    return samba__hash(name, strlen(name), seed);
}


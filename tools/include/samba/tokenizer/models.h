/* models.h - of tokenizer.h: one word to ids, by any kind of model, and the cache of words. */

/* The slot of the cache for a key, which may hold another word. */
static samba_tokenizer__cached *samba_tokenizer__cache_slot(const samba_tokenizer *t,
                                                            const uint8_t *key)
{
    uint64_t part[4], h = 0;
    memcpy(part, key, sizeof part);
    for (int i = 0; i < 4; i++) {
        h = (h ^ part[i]) * UINT64_C(0xD6E8FEB86659FD93);
        h ^= h >> 32;
    }
    return &t->cache[h & (SAMBA_TOKENIZER__CACHE_SLOTS - 1)];
}

/* A word of up to SHORT bytes in few ids. False: out of memory. */
static bool samba_tokenizer__encode_short(const samba_tokenizer *t, const uint8_t *word, size_t n,
                                          samba_tokenizer__sink *sink)
{
    int32_t ids[SAMBA_TOKENIZER__SHORT];
    if (t->model == SAMBA_TOKENIZER__PIECES)
        return samba_tokenizer__encode_pieces(t, word, n, sink);
    if (t->model == SAMBA_TOKENIZER__UNIGRAM) return samba_tokenizer__unigram(t, word, n, sink);
    if (t->model == SAMBA_TOKENIZER__WORDPIECE) {
        samba_tokenizer__wordpiece(t, word, n, sink);
        return true;
    }

    size_t count = samba_tokenizer__parts(t, word, n, ids);
    count = samba_tokenizer__merge_short(t, ids, count);
    samba_tokenizer__emit(sink, ids, count);
    return true;
}

static bool samba_tokenizer__encode_uncached(const samba_tokenizer *t, const uint8_t *word,
                                             size_t n, samba_tokenizer__sink *sink)
{
    bool merges = t->model == SAMBA_TOKENIZER__BYTES || t->model == SAMBA_TOKENIZER__CHARS;
    int32_t whole = t->ignore_merges ? samba_tokenizer__find_model(t, word, n) : -1;
    if (whole >= 0) {
        samba_tokenizer__emit(sink, &whole, 1);
        return true;
    }
    if (merges && n > SAMBA_TOKENIZER__SHORT) return samba_tokenizer__merge_word(t, word, n, sink);
    return samba_tokenizer__encode_short(t, word, n, sink);
}

/* False: out of memory. */
static bool samba_tokenizer__encode_word(const samba_tokenizer *t, const uint8_t *word, size_t n,
                                         samba_tokenizer__sink *sink)
{
    uint8_t key[SAMBA_TOKENIZER__CACHE_BYTES + 1] = { 0 };
    int32_t room[SAMBA_TOKENIZER__SHORT]; /* a byte becomes one id at most */
    if (n > SAMBA_TOKENIZER__CACHE_BYTES) return samba_tokenizer__encode_uncached(t, word, n, sink);

    memcpy(key, word, n);
    key[SAMBA_TOKENIZER__CACHE_BYTES] = (uint8_t)n;
    samba_tokenizer__cached *cached = samba_tokenizer__cache_slot(t, key);
    if (memcmp(cached->key, key, sizeof key) == 0) {
        samba_tokenizer__emit(sink, cached->ids, (size_t)cached->n);
        return true;
    }

    samba_tokenizer__sink own = { room, SAMBA_TOKENIZER__SHORT, 0 };
    if (!samba_tokenizer__encode_uncached(t, word, n, &own)) return false;
    samba_tokenizer__emit(sink, room, (size_t)own.n);
    if (own.n > SAMBA_TOKENIZER__CACHE_IDS) return true;
    memcpy(cached->key, key, sizeof key);
    memcpy(cached->ids, room, (size_t)own.n * sizeof *room);
    cached->n = (int32_t)own.n;
    return true;
}

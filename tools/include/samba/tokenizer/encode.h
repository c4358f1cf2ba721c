/* encode.h - of tokenizer.h: text to ids. */

/* ---- Encoding text --------------------------------------------------------------------------- */

typedef struct samba_tokenizer__match {
    const uint8_t *start, *stop;
    int32_t id;
} samba_tokenizer__match;

/* The first special token of a pass from p, the longest of those that start there. */
static bool samba_tokenizer__next_special(const samba_tokenizer *t, const uint8_t *p,
                                          const uint8_t *end, int pass,
                                          samba_tokenizer__match *match)
{
    const samba_tokenizer__trie *trie = &t->trie[pass];
    for (; p < end; p++) {
        if (!trie->starts[*p]) continue;
        int32_t id = samba_tokenizer__trie_longest(trie, p, end);
        if (id < 0) continue;
        match->start = p;
        match->stop = p + t->token[id].size;
        match->id = id;
        return true;
    }
    return false;
}

/* The start of the whitespace that ends at p, not before start. */
static const uint8_t *samba_tokenizer__trim_left(const uint8_t *p, const uint8_t *start)
{
    while (p > start) {
        const uint8_t *q = p - 1;
        size_t size;
        while (q > start && (*q & 0xC0) == 0x80)
            q--;
        if (samba_tokenizer__kind(q, &size) != SAMBA_TOKENIZER__SPACE) break;
        p = q;
    }
    return p;
}

static const uint8_t *samba_tokenizer__trim_right(const uint8_t *p, const uint8_t *end)
{
    size_t size;
    while (p < end && samba_tokenizer__kind(p, &size) == SAMBA_TOKENIZER__SPACE)
        p += size;
    return p;
}

/* Text between special tokens. False: out of memory. */
static bool samba_tokenizer__encode_words(const samba_tokenizer *t, const uint8_t *p,
                                          const uint8_t *end, samba_tokenizer__sink *sink)
{
    while (p < end) {
        const uint8_t *stop = samba_tokenizer__word(p, end);
        if (!samba_tokenizer__encode_word(t, p, (size_t)(stop - p), sink)) return false;
        p = stop;
    }
    return true;
}

/* Text in which special tokens of this pass, 0 or 1, and later ones have not been sought. */
static bool samba_tokenizer__encode_pass(const samba_tokenizer *t, const uint8_t *p,
                                         const uint8_t *end, int pass, samba_tokenizer__sink *sink)
{
    while (pass < 2 && t->trie[pass].n_tokens == 0)
        pass++;
    if (pass == 2) return samba_tokenizer__encode_words(t, p, end, sink);
    samba_tokenizer__match m;
    for (const uint8_t *from = p; samba_tokenizer__next_special(t, from, end, pass, &m);) {
        uint32_t flags = t->token[m.id].flags;
        from = m.stop;
        if (flags & SAMBA_TOKENIZER__LSTRIP)
            m.start = p < m.start ? samba_tokenizer__trim_left(m.start, p) : p;
        if (flags & SAMBA_TOKENIZER__RSTRIP) m.stop = samba_tokenizer__trim_right(m.stop, end);
        if (p < m.start && !samba_tokenizer__encode_pass(t, p, m.start, pass + 1, sink))
            return false;
        samba_tokenizer__emit(sink, &m.id, 1);
        p = m.stop;
    }
    return p >= end || samba_tokenizer__encode_pass(t, p, end, pass + 1, sink);
}

SAMBA_TOKENIZER_API int64_t samba_tokenizer_encode(samba_tokenizer *t, const char *text,
                                                   size_t size, int32_t *ids, int64_t cap)
{
    const uint8_t *p = (const uint8_t *)text;
    samba_tokenizer__sink sink = { ids, ids ? cap : 0, 0 };
    uint8_t *fixed = NULL;
    if (!t || !text || size == 0) return t && size == 0 ? 0 : -1;
    if (samba_tokenizer__first_bad(p, p + size) != p + size) {
        p = fixed = samba_tokenizer__repaired(p, size, &size);
        if (!fixed) return -1;
    }
    bool ok = samba_tokenizer__encode_pass(t, p, p + size, 0, &sink);
    SAMBA_TOKENIZER_FREE(fixed);
    return ok ? sink.n : -1;
}

SAMBA_TOKENIZER_API int64_t samba_tokenizer_decode(const samba_tokenizer *t, const int32_t *ids,
                                                   int64_t n, char *text, int64_t cap)
{
    int64_t size = 0;
    if (!t || !ids) return 0;
    if (!text || cap < 0) cap = 0;
    for (int64_t i = 0; i < n; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= t->n_tokens) continue;
        const samba_tokenizer__token *k = &t->token[ids[i]];
        int64_t fits = size >= cap ? 0 : cap - size < (int64_t)k->size ? cap - size : k->size;
        if (fits) memcpy(text + size, t->bytes + k->at, (size_t)fits);
        size += k->size;
    }
    return size;
}

/* encode.h - of tokenizer.h: text to ids. */

/* ---- Encoding text --------------------------------------------------------------------------- */

typedef struct samba_tokenizer__match {
    const uint8_t *start, *stop;
    int32_t id;
} samba_tokenizer__match;

/* Whether the characters beside a token are none of a word. */
static bool samba_tokenizer__stands_alone(const uint8_t *start, const samba_tokenizer__match *m,
                                          const uint8_t *end)
{
    size_t size;
    const uint8_t *q = m->start;
    if (m->stop < end && samba_tokenizer__is_word(samba_tokenizer__char(m->stop, &size)))
        return false;
    if (q == start) return true;
    do
        q--;
    while (q > start && (*q & 0xC0) == 0x80);
    return !samba_tokenizer__is_word(samba_tokenizer__char(q, &size));
}

/* The first special token of a pass from p on, the longest of those that start there. */
static bool samba_tokenizer__next_special(const samba_tokenizer *t, const uint8_t *start,
                                          const uint8_t *p, const uint8_t *end, int pass,
                                          samba_tokenizer__match *match)
{
    const samba_tokenizer__trie *trie = &t->trie[pass];
    while (p < end) {
        size_t size;
        int32_t id = -1;
        if (trie->starts[*p]) id = samba_tokenizer__trie_longest(trie, 0, p, end, &size);
        if (id < 0) {
            p++;
            continue;
        }

        match->start = p;
        match->stop = p + size;
        match->id = id;
        if (!(t->token[id].flags & SAMBA_TOKENIZER__SINGLE)
            || samba_tokenizer__stands_alone(start, match, end))
            return true;
        p = match->stop; /* what it covers is looked at no more */
    }
    return false;
}

/* SentencePiece's own normalizer: what the table or the user's pieces say, and what its options
   make of spaces. */
static void samba_tokenizer__normalize_spaces(const samba_tokenizer *t, const uint8_t *p,
                                              const uint8_t *end, samba_tokenizer__buffer *out)
{
    const samba_tokenizer__charsmap *map = t->normalizer.n ? t->normalizer.step[0].map : NULL;
    const char *mark = t->escapes_spaces ? SAMBA_TOKENIZER__MARK : " ";
    size_t mark_size = strlen(mark), size, found;
    bool begun = false, after_space = t->strips_spaces;

    while (p < end) {
        const char *text = (const char *)p;
        size = samba_tokenizer__char_size(*p);
        size_t text_size = size;
        if (samba_tokenizer__trie_longest(&t->user, 0, p, end, &found) >= 0) {
            size = text_size = found;
        } else if (map) {
            const char *other = samba_tokenizer__look_up(map, p, end, false, &found);
            if (other) {
                text = other;
                text_size = strlen(other);
                size = found;
            }
        }
        p += size;

        bool leading = t->strips_spaces && !begun && text_size == 1 && text[0] == ' ';
        if (leading) continue;
        if (!begun && t->dummy_prefix) samba_tokenizer__append(out, mark, mark_size);
        begun = true;
        while (after_space && text_size > 0 && text[0] == ' ') {
            text++;
            text_size--;
        }
        for (size_t i = 0; i < text_size; i++)
            if (text[i] == ' ')
                samba_tokenizer__append(out, mark, mark_size);
            else
                samba_tokenizer__append(out, text + i, 1);
        if (text_size > 0) after_space = t->strips_spaces && text[text_size - 1] == ' ';
    }

    while (t->strips_spaces && out->size >= mark_size && !out->failed
           && memcmp(out->at + out->size - mark_size, mark, mark_size) == 0)
        out->size -= mark_size;
}

/* Whether the normalized text still begins with what the text begins with. Only Metaspace that puts
   a mark before the first word asks. */
static bool samba_tokenizer__keeps_first(const samba_tokenizer *t, const uint8_t *p,
                                         const uint8_t *end)
{
    samba_tokenizer__buffer with = { NULL, 0, 0, false }, without = with, text = with;
    const uint8_t *stop = samba_tokenizer__grapheme(p, end);
    samba_tokenizer__append(&text, p, (size_t)(stop - p));
    samba_tokenizer__append(&text, "x",
                            1); /* what is stripped at the end is not at the beginning */
    samba_tokenizer__normalize(&t->normalizer, text.at, text.size, &with);
    samba_tokenizer__normalize(&t->normalizer, (const uint8_t *)"x", 1, &without);
    bool keeps
        = with.size != without.size || (with.size && memcmp(with.at, without.at, with.size) != 0);
    SAMBA_TOKENIZER_FREE(text.at);
    SAMBA_TOKENIZER_FREE(with.at);
    SAMBA_TOKENIZER_FREE(without.at);
    return keeps;
}

static bool samba_tokenizer__encode_pass(const samba_tokenizer *t, const uint8_t *p,
                                         const uint8_t *end, int pass, bool is_first,
                                         samba_tokenizer__sink *sink);

/* Text between the tokens that are sought in it as it is. False: out of memory. */
static bool samba_tokenizer__encode_between(const samba_tokenizer *t, const uint8_t *p,
                                            const uint8_t *end, bool is_first,
                                            samba_tokenizer__sink *sink)
{
    samba_tokenizer__buffer b = { NULL, 0, 0, false };
    if (!t->by_sentencepiece && !t->normalizer.n)
        return samba_tokenizer__encode_pass(t, p, end, 1, is_first, sink);
    if (t->by_sentencepiece)
        samba_tokenizer__normalize_spaces(t, p, end, &b);
    else
        samba_tokenizer__normalize(&t->normalizer, p, (size_t)(end - p), &b);
    bool done = !b.failed;
    if (is_first && t->marks_first) is_first = samba_tokenizer__keeps_first(t, p, end);
    if (done && b.size)
        done = samba_tokenizer__encode_pass(t, b.at, b.at + b.size, 1, is_first, sink);
    SAMBA_TOKENIZER_FREE(b.at);
    return done;
}

/* Text between special tokens of a pass, 0 or 1. */
static bool samba_tokenizer__encode_rest(const samba_tokenizer *t, const uint8_t *p,
                                         const uint8_t *end, int pass, bool is_first,
                                         samba_tokenizer__sink *sink)
{
    samba_tokenizer__piece piece = { p, end, is_first };
    if (p >= end) return true;
    if (pass == 0) return samba_tokenizer__encode_between(t, p, end, is_first, sink);
    return samba_tokenizer__run_words(t, 0, piece, sink);
}

/* Text in which special tokens of this pass, 0 or 1, and later ones have not been sought. */
static bool samba_tokenizer__encode_pass(const samba_tokenizer *t, const uint8_t *p,
                                         const uint8_t *end, int pass, bool is_first,
                                         samba_tokenizer__sink *sink)
{
    const uint8_t *start = p;
    samba_tokenizer__match m;
    if (t->trie[pass].n_tokens == 0)
        return samba_tokenizer__encode_rest(t, p, end, pass, is_first, sink);

    for (const uint8_t *from = p; samba_tokenizer__next_special(t, start, from, end, pass, &m);) {
        uint32_t flags = t->token[m.id].flags;
        from = m.stop;
        if (flags & SAMBA_TOKENIZER__LSTRIP)
            m.start = p < m.start ? samba_tokenizer__trim_left(m.start, p) : p;
        if (flags & SAMBA_TOKENIZER__RSTRIP) m.stop = samba_tokenizer__trim_right(m.stop, end);
        if (!samba_tokenizer__encode_rest(t, p, m.start, pass, is_first && p == start, sink))
            return false;
        samba_tokenizer__emit(sink, &m.id, 1);
        p = m.stop;
    }
    return samba_tokenizer__encode_rest(t, p, end, pass, is_first && p == start, sink);
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
    bool ok = samba_tokenizer__encode_pass(t, p, p + size, 0, true, &sink);
    SAMBA_TOKENIZER_FREE(fixed);
    return ok ? sink.n : -1;
}

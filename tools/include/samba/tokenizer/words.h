/* words.h - of tokenizer.h: GPT-2's pattern, by hand. */

/* ---- Words: GPT-2's pattern ------------------------------------------------------------------ */

enum {
    SAMBA_TOKENIZER__OTHER,
    SAMBA_TOKENIZER__LETTER,
    SAMBA_TOKENIZER__NUMBER,
    SAMBA_TOKENIZER__SPACE
};

/* The kind of a category; the categories of White_Space that is Cc are CONTROL_SPACE. */
static int samba_tokenizer__kind_of_char(int32_t c)
{
    int category = samba_tokenizer__category(c);
    uint32_t bit = UINT32_C(1) << category;

    if (bit & SAMBA_TOKENIZER__LETTERS) return SAMBA_TOKENIZER__LETTER;
    if (bit & SAMBA_TOKENIZER__NUMBERS) return SAMBA_TOKENIZER__NUMBER;
    return bit & SAMBA_TOKENIZER__SPACES ? SAMBA_TOKENIZER__SPACE : SAMBA_TOKENIZER__OTHER;
}

/* The kind of the character at p, and its size. */
static int samba_tokenizer__kind(const uint8_t *p, size_t *size)
{
    uint8_t c = p[0];
    if (c >= 0x80) return samba_tokenizer__kind_of_char(samba_tokenizer__char(p, size));
    *size = 1;
    if ((uint8_t)((c | 32) - 'a') < 26) return SAMBA_TOKENIZER__LETTER;
    if ((uint8_t)(c - '0') < 10) return SAMBA_TOKENIZER__NUMBER;
    return c == ' ' || (uint8_t)(c - 9) < 5 ? SAMBA_TOKENIZER__SPACE : SAMBA_TOKENIZER__OTHER;
}

/* Bytes of 's 't 'm 'd 're 've 'll at p, where an apostrophe is; 0: none. */
static size_t samba_tokenizer__contraction(const uint8_t *p, const uint8_t *end)
{
    if (end - p < 2) return 0;
    if (p[1] == 's' || p[1] == 't' || p[1] == 'm' || p[1] == 'd') return 2;
    if (end - p < 3) return 0;
    if ((p[1] == 'r' || p[1] == 'v') && p[2] == 'e') return 3;
    return p[1] == 'l' && p[2] == 'l' ? 3 : 0;
}

/* The end of the whitespace at p, as words see it: the last of several characters is left to the
   word that follows. */
static const uint8_t *samba_tokenizer__spaces(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *start = p, *last = p;
    size_t size;
    while (p < end && samba_tokenizer__kind(p, &size) == SAMBA_TOKENIZER__SPACE) {
        last = p;
        p += size;
    }
    return p == end || last == start ? p : last;
}

/* The end of the word at p < end. */
static const uint8_t *samba_tokenizer__word(const uint8_t *p, const uint8_t *end)
{
    size_t size = *p == '\'' ? samba_tokenizer__contraction(p, end) : 0;
    if (size) return p + size;
    const uint8_t *q = p;
    if (*q == ' ' && q + 1 < end) q++;
    int kind = samba_tokenizer__kind(q, &size);
    if (kind == SAMBA_TOKENIZER__SPACE) return samba_tokenizer__spaces(p, end);
    do
        q += size;
    while (q < end && samba_tokenizer__kind(q, &size) == kind);
    return q;
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

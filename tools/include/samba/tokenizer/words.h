/* words.h - of tokenizer.h: GPT-2's pattern, by hand. */

/* ---- Words: GPT-2's pattern ------------------------------------------------------------------ */

enum {
    SAMBA_TOKENIZER__OTHER,
    SAMBA_TOKENIZER__LETTER,
    SAMBA_TOKENIZER__NUMBER,
    SAMBA_TOKENIZER__SPACE
};

/* Letters and numbers that Unicode 15.1 and 16.0 added to 15.0. */
static const struct {
    int32_t first, last, kind;
} samba_tokenizer__newer[] = {
    { 0x1C89, 0x1C8A, SAMBA_TOKENIZER__LETTER },   { 0xA7CB, 0xA7CD, SAMBA_TOKENIZER__LETTER },
    { 0xA7DA, 0xA7DC, SAMBA_TOKENIZER__LETTER },   { 0x105C0, 0x105F3, SAMBA_TOKENIZER__LETTER },
    { 0x10D40, 0x10D49, SAMBA_TOKENIZER__NUMBER }, { 0x10D4A, 0x10D65, SAMBA_TOKENIZER__LETTER },
    { 0x10D6F, 0x10D85, SAMBA_TOKENIZER__LETTER }, { 0x10EC2, 0x10EC4, SAMBA_TOKENIZER__LETTER },
    { 0x11380, 0x11389, SAMBA_TOKENIZER__LETTER }, { 0x1138B, 0x1138B, SAMBA_TOKENIZER__LETTER },
    { 0x1138E, 0x1138E, SAMBA_TOKENIZER__LETTER }, { 0x11390, 0x113B5, SAMBA_TOKENIZER__LETTER },
    { 0x113B7, 0x113B7, SAMBA_TOKENIZER__LETTER }, { 0x113D1, 0x113D1, SAMBA_TOKENIZER__LETTER },
    { 0x113D3, 0x113D3, SAMBA_TOKENIZER__LETTER }, { 0x116D0, 0x116E3, SAMBA_TOKENIZER__NUMBER },
    { 0x11BC0, 0x11BE0, SAMBA_TOKENIZER__LETTER }, { 0x11BF0, 0x11BF9, SAMBA_TOKENIZER__NUMBER },
    { 0x13460, 0x143FA, SAMBA_TOKENIZER__LETTER }, { 0x16100, 0x1611D, SAMBA_TOKENIZER__LETTER },
    { 0x16130, 0x16139, SAMBA_TOKENIZER__NUMBER }, { 0x16D40, 0x16D6C, SAMBA_TOKENIZER__LETTER },
    { 0x16D70, 0x16D79, SAMBA_TOKENIZER__NUMBER }, { 0x18CFF, 0x18CFF, SAMBA_TOKENIZER__LETTER },
    { 0x1CCF0, 0x1CCF9, SAMBA_TOKENIZER__NUMBER }, { 0x1E5D0, 0x1E5ED, SAMBA_TOKENIZER__LETTER },
    { 0x1E5F0, 0x1E5F0, SAMBA_TOKENIZER__LETTER }, { 0x1E5F1, 0x1E5FA, SAMBA_TOKENIZER__NUMBER },
    { 0x2EBF0, 0x2EE5D, SAMBA_TOKENIZER__LETTER },
};

static int samba_tokenizer__kind_of_newer(int32_t c)
{
    size_t low = 0, high = sizeof samba_tokenizer__newer / sizeof samba_tokenizer__newer[0];
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (samba_tokenizer__newer[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == sizeof samba_tokenizer__newer / sizeof samba_tokenizer__newer[0])
        return SAMBA_TOKENIZER__OTHER;
    return samba_tokenizer__newer[low].first <= c ? (int)samba_tokenizer__newer[low].kind
                                                  : SAMBA_TOKENIZER__OTHER;
}

static int samba_tokenizer__kind_of_char(int32_t c)
{
    if (c == 0x85) return SAMBA_TOKENIZER__SPACE; /* NEL is a control, and White_Space */
    utf8proc_category_t category = utf8proc_category(c);
    if (category == UTF8PROC_CATEGORY_CN) return samba_tokenizer__kind_of_newer(c);
    if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO)
        return SAMBA_TOKENIZER__LETTER;
    if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO)
        return SAMBA_TOKENIZER__NUMBER;
    if (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP)
        return SAMBA_TOKENIZER__SPACE;
    return SAMBA_TOKENIZER__OTHER;
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

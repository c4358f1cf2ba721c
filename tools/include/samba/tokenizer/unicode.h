/* unicode.h - of tokenizer.h: categories, spaces, words and cases of characters.

   Letters and numbers are those of Unicode 16.0, as in the present releases of both references,
   Hugging Face's tokenizers (0.22 and later) and tiktoken: utf8proc says what a character is, and
   tables.h has what came after its oldest release here, 2.8. */

/* Categories are bits: those of utf8proc, 0 to 29, and one for the controls that are White_Space.
 */
#define SAMBA_TOKENIZER__BIT(category) (UINT32_C(1) << UTF8PROC_CATEGORY_##category)

enum { SAMBA_TOKENIZER__CONTROL_SPACE = 30 };

#define SAMBA_TOKENIZER__LETTERS \
    (SAMBA_TOKENIZER__BIT(LU) | SAMBA_TOKENIZER__BIT(LL) | SAMBA_TOKENIZER__BIT(LT) \
     | SAMBA_TOKENIZER__BIT(LM) | SAMBA_TOKENIZER__BIT(LO))
#define SAMBA_TOKENIZER__MARKS \
    (SAMBA_TOKENIZER__BIT(MN) | SAMBA_TOKENIZER__BIT(MC) | SAMBA_TOKENIZER__BIT(ME))
#define SAMBA_TOKENIZER__NUMBERS \
    (SAMBA_TOKENIZER__BIT(ND) | SAMBA_TOKENIZER__BIT(NL) | SAMBA_TOKENIZER__BIT(NO))
#define SAMBA_TOKENIZER__SPACES \
    (SAMBA_TOKENIZER__BIT(ZS) | SAMBA_TOKENIZER__BIT(ZL) | SAMBA_TOKENIZER__BIT(ZP) \
     | UINT32_C(1) << SAMBA_TOKENIZER__CONTROL_SPACE)
#define SAMBA_TOKENIZER__ALL_CATEGORIES UINT32_C(0x7FFFFFFF)

/* Whether a sorted table of ranges has a character. */
static bool samba_tokenizer__in_ranges(const samba_tokenizer__range *range, size_t n, int32_t c)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (range[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && range[low].first <= c;
}

#define SAMBA_TOKENIZER__HAS(table, c) \
    samba_tokenizer__in_ranges( \
        samba_tokenizer__##table, \
        sizeof samba_tokenizer__##table / sizeof samba_tokenizer__##table[0], c)

/* The category of a character that the oldest utf8proc does not know. */
static int samba_tokenizer__newer_category(int32_t c)
{
    size_t n = sizeof samba_tokenizer__newer / sizeof samba_tokenizer__newer[0], low = 0, high = n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (samba_tokenizer__newer[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }

    if (low == n || samba_tokenizer__newer[low].first > c) return UTF8PROC_CATEGORY_CN;
    return samba_tokenizer__newer[low].category;
}

static int samba_tokenizer__category(int32_t c)
{
    if ((c >= 9 && c <= 13) || c == 0x85) return SAMBA_TOKENIZER__CONTROL_SPACE;
    if (c == 0x1171E) return UTF8PROC_CATEGORY_MC; /* since Unicode 16.0; before, a MN */
    int category = (int)utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_CN ? samba_tokenizer__newer_category(c) : category;
}

/* Letters of Unicode's Alphabetic that are symbols by their category. */
static const samba_tokenizer__range samba_tokenizer__circled[] = {
    { 0x24B6, 0x24E9 },
    { 0x1F130, 0x1F149 },
    { 0x1F150, 0x1F169 },
    { 0x1F170, 0x1F189 },
};

/* \w: Alphabetic, marks, digits, connectors. joiners: and U+200C, U+200D, as in Rust, not in Ruby.
 */
static bool samba_tokenizer__is_word(int32_t c)
{
    const uint32_t word = SAMBA_TOKENIZER__LETTERS | SAMBA_TOKENIZER__MARKS
        | SAMBA_TOKENIZER__BIT(ND) | SAMBA_TOKENIZER__BIT(NL) | SAMBA_TOKENIZER__BIT(PC);
    if (word >> samba_tokenizer__category(c) & 1) return true;
    return c == 0x200C || c == 0x200D || SAMBA_TOKENIZER__HAS(circled, c);
}

/* The lower case of one character: one, or two for U+0130. Returns how many. */
static int samba_tokenizer__lower(int32_t c, int32_t out[2])
{
    size_t n = sizeof samba_tokenizer__lower_case / sizeof samba_tokenizer__lower_case[0];
    out[0] = c;
    out[1] = 0x307;
    if (c == 0x130) {
        out[0] = 'i';
        return 2;
    }

    for (size_t i = 0; i < n && samba_tokenizer__lower_case[i].first <= c; i++)
        if (c <= samba_tokenizer__lower_case[i].last)
            out[0] = c + samba_tokenizer__lower_case[i].add;
    if (out[0] == c) out[0] = utf8proc_tolower(c);
    return 1;
}

/* normalize.h - of tokenizer.h: the steps of normalizer.

   Each makes a new text of the one before. */

enum {
    SAMBA_TOKENIZER__NFC,
    SAMBA_TOKENIZER__NFD,
    SAMBA_TOKENIZER__NFKC,
    SAMBA_TOKENIZER__NFKD,
    SAMBA_TOKENIZER__LOWERCASE,
    SAMBA_TOKENIZER__STRIP, /* flag: left, right */
    SAMBA_TOKENIZER__STRIP_ACCENTS,
    SAMBA_TOKENIZER__REPLACE,     /* text 0 or pattern becomes text 1 */
    SAMBA_TOKENIZER__PREPEND,     /* text 1 */
    SAMBA_TOKENIZER__PRECOMPILED, /* map */
    SAMBA_TOKENIZER__NMT,
    SAMBA_TOKENIZER__BERT_CLEAN,   /* clean_text */
    SAMBA_TOKENIZER__BERT_CHINESE, /* handle_chinese_chars */
    SAMBA_TOKENIZER__BERT_ACCENTS  /* strip_accents */
};

static bool samba_tokenizer__is_ascii(const uint8_t *p, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (p[i] >= 0x80) return false;
    return true;
}

/* A normal form of text without characters that must stay. */
static void samba_tokenizer__to_form(const uint8_t *p, size_t size, int options,
                                     samba_tokenizer__buffer *out)
{
    utf8proc_uint8_t *made = NULL;
    if (size == 0) return;
    utf8proc_ssize_t n = utf8proc_map(p, (utf8proc_ssize_t)size, &made, (utf8proc_option_t)options);
    if (n < 0 || !made)
        out->failed = true;
    else
        samba_tokenizer__append(out, made, (size_t)n);
    free(made); /* utf8proc has allocated it */
}

/* A normal form, in which the characters after Unicode 11.0 stay as they are. */
static void samba_tokenizer__normal_form(int kind, const uint8_t *p, size_t size,
                                         samba_tokenizer__buffer *out)
{
    static const int how[]
        = { UTF8PROC_COMPOSE, UTF8PROC_DECOMPOSE, UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
            UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT };
    int options = UTF8PROC_STABLE | how[kind - SAMBA_TOKENIZER__NFC];
    const uint8_t *end = p + size, *from = p;
    if (samba_tokenizer__is_ascii(p, size)) {
        samba_tokenizer__append(out, p, size);
        return;
    }

    while (p < end) {
        size_t n;
        int32_t c = samba_tokenizer__char(p, &n);
        if (c >= 0x7FD && SAMBA_TOKENIZER__HAS(unnormal, c)) {
            samba_tokenizer__to_form(from, (size_t)(p - from), options, out);
            samba_tokenizer__append(out, p, n);
            from = p + n;
        }
        p += n;
    }
    samba_tokenizer__to_form(from, (size_t)(end - from), options, out);
}

/* Text 0 becomes text 1, wherever it is. */
static void samba_tokenizer__replace_text(const samba_tokenizer__step *step, const uint8_t *p,
                                          size_t size, samba_tokenizer__buffer *out)
{
    const uint8_t *end = p + size, *from = p, *sought = step->text[0];
    size_t n = step->size[0];
    while (p < end && (p = (const uint8_t *)memchr(p, sought[0], (size_t)(end - p))) != NULL) {
        if ((size_t)(end - p) < n || memcmp(p, sought, n) != 0) {
            p++;
            continue;
        }
        samba_tokenizer__append(out, from, (size_t)(p - from));
        samba_tokenizer__append(out, step->text[1], step->size[1]);
        p += n;
        from = p;
    }
    samba_tokenizer__append(out, from, (size_t)(end - from));
}

/* Every match of the pattern becomes text 1. A match of nothing replaces nothing. */
static void samba_tokenizer__replace_matches(const samba_tokenizer__step *step, const uint8_t *p,
                                             size_t size, samba_tokenizer__buffer *out)
{
    const uint8_t *start = p, *end = p + size, *from = p, *match, *stop;
    while (samba_tokenizer__find_match(step->pattern, start, p, end, &match, &stop)) {
        p = stop > match ? stop : match + samba_tokenizer__char_size(*match);
        if (stop == match) continue;
        samba_tokenizer__append(out, from, (size_t)(match - from));
        samba_tokenizer__append(out, step->text[1], step->size[1]);
        from = stop;
    }
    samba_tokenizer__append(out, from, (size_t)(end - from));
}

/* The end of the grapheme at p. */
static const uint8_t *samba_tokenizer__grapheme(const uint8_t *p, const uint8_t *end)
{
    utf8proc_int32_t state = 0;
    size_t size;
    int32_t c = samba_tokenizer__char(p, &size);
    for (p += size; p < end; p += size) {
        int32_t next = samba_tokenizer__char(p, &size);
        if (utf8proc_grapheme_break_stateful(c, next, &state)) break;
        c = next;
    }
    return p;
}

/* As Hugging Face's tokenizers does it: a grapheme below 6 bytes becomes what the shortest of its
   beginnings that is in the table stands for, all of it; else character by character. */
static void samba_tokenizer__precompiled(const samba_tokenizer__step *step, const uint8_t *p,
                                         size_t size, samba_tokenizer__buffer *out)
{
    const uint8_t *end = p + size;
    size_t found;
    while (p < end) {
        const uint8_t *stop = samba_tokenizer__grapheme(p, end);
        const char *text = NULL;
        if (stop - p < 6) text = samba_tokenizer__look_up(step->map, p, stop, true, &found);
        if (text) {
            samba_tokenizer__append(out, text, strlen(text));
            p = stop;
            continue;
        }

        while (p < stop) {
            size_t n = samba_tokenizer__char_size(*p);
            text = samba_tokenizer__look_up(step->map, p, p + n, true, &found);
            if (text)
                samba_tokenizer__append(out, text, strlen(text));
            else
                samba_tokenizer__append(out, p, n);
            p += n;
        }
    }
}

/* What the step NMT makes of a character; -1: nothing. */
static int32_t samba_tokenizer__nmt(int32_t c)
{
    bool gone = (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F
        || c == 0x9F;
    bool space = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680
        || (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF
        || c == 0xFFFD;
    if (gone) return -1;
    return space ? ' ' : c;
}

/* BERT's clean_text: controls go, what is space becomes one. -1: nothing. */
static int32_t samba_tokenizer__bert_clean(int32_t c)
{
    if (SAMBA_TOKENIZER__HAS(control, c)) return -1;
    return SAMBA_TOKENIZER__SPACES >> samba_tokenizer__category(c) & 1 ? ' ' : c;
}

static bool samba_tokenizer__is_chinese(int32_t c)
{
    static const samba_tokenizer__range samba_tokenizer__ideographs[] = {
        { 0x3400, 0x4DBF },   { 0x4E00, 0x9FFF },   { 0xF900, 0xFAFF },   { 0x20000, 0x2A6DF },
        { 0x2A700, 0x2B73F }, { 0x2B740, 0x2B81F }, { 0x2B920, 0x2CEAF }, { 0x2F800, 0x2FA1F },
    };
    return c >= 0x3400 && SAMBA_TOKENIZER__HAS(ideographs, c);
}

/* One character by a step that sees no others. */
static void samba_tokenizer__normalize_char(int kind, int32_t c, samba_tokenizer__buffer *out)
{
    int32_t made[2] = { c, 0 };
    int n = 1;
    bool apart = false;
    switch (kind) {
    case SAMBA_TOKENIZER__LOWERCASE:
        n = samba_tokenizer__lower(c, made);
        break;
    case SAMBA_TOKENIZER__STRIP_ACCENTS:
        n = !SAMBA_TOKENIZER__HAS(combining, c);
        break;
    case SAMBA_TOKENIZER__BERT_ACCENTS:
        n = !SAMBA_TOKENIZER__HAS(accents, c);
        break;
    case SAMBA_TOKENIZER__NMT:
        made[0] = samba_tokenizer__nmt(c);
        break;
    case SAMBA_TOKENIZER__BERT_CLEAN:
        made[0] = samba_tokenizer__bert_clean(c);
        break;
    default: /* BERT_CHINESE */
        apart = samba_tokenizer__is_chinese(c);
    }

    if (apart) samba_tokenizer__append_char(out, ' ');
    for (int i = 0; i < n; i++)
        if (made[i] >= 0) samba_tokenizer__append_char(out, made[i]);
    if (apart) samba_tokenizer__append_char(out, ' ');
}

static void samba_tokenizer__normalize_chars(int kind, const uint8_t *p, size_t size,
                                             samba_tokenizer__buffer *out)
{
    const uint8_t *end = p + size;
    while (p < end) {
        size_t n;
        samba_tokenizer__normalize_char(kind, samba_tokenizer__char(p, &n), out);
        p += n;
    }
}

static void samba_tokenizer__normalize_step(const samba_tokenizer__step *step, const uint8_t *p,
                                            size_t size, samba_tokenizer__buffer *out)
{
    const uint8_t *end = p + size;
    switch (step->kind) {
    case SAMBA_TOKENIZER__NFC:
    case SAMBA_TOKENIZER__NFD:
    case SAMBA_TOKENIZER__NFKC:
    case SAMBA_TOKENIZER__NFKD:
        samba_tokenizer__normal_form(step->kind, p, size, out);
        break;
    case SAMBA_TOKENIZER__STRIP:
        if (step->flag[0]) p = samba_tokenizer__trim_right(p, end);
        if (step->flag[1]) end = samba_tokenizer__trim_left(end, p);
        samba_tokenizer__append(out, p, (size_t)(end - p));
        break;
    case SAMBA_TOKENIZER__REPLACE:
        if (step->pattern)
            samba_tokenizer__replace_matches(step, p, size, out);
        else
            samba_tokenizer__replace_text(step, p, size, out);
        break;
    case SAMBA_TOKENIZER__PREPEND:
        if (size) samba_tokenizer__append(out, step->text[1], step->size[1]);
        samba_tokenizer__append(out, p, size);
        break;
    case SAMBA_TOKENIZER__PRECOMPILED:
        samba_tokenizer__precompiled(step, p, size, out);
        break;
    default:
        samba_tokenizer__normalize_chars(step->kind, p, size, out);
    }
}

/* The text after all steps is appended to out, which may fail. */
static void samba_tokenizer__normalize(const samba_tokenizer__steps *steps, const uint8_t *p,
                                       size_t size, samba_tokenizer__buffer *out)
{
    samba_tokenizer__buffer half[2] = { { NULL, 0, 0, false }, { NULL, 0, 0, false } };
    if (!p) p = (const uint8_t *)""; /* of an empty buffer; steps count from it */
    for (int i = 0; i < steps->n; i++) {
        samba_tokenizer__buffer *to = i + 1 == steps->n ? out : &half[i % 2];
        if (to != out) to->size = 0;
        samba_tokenizer__normalize_step(&steps->step[i], p, size, to);
        if (to->failed) out->failed = true;
        if (to == out) break;
        p = to->size ? to->at : (const uint8_t *)"";
        size = to->size;
    }

    if (steps->n == 0) samba_tokenizer__append(out, p, size);
    SAMBA_TOKENIZER_FREE(half[0].at);
    SAMBA_TOKENIZER_FREE(half[1].at);
}

static void samba_tokenizer__free_steps(samba_tokenizer__steps *steps)
{
    for (int i = 0; i < steps->n; i++) {
        samba_tokenizer__free_pattern(steps->step[i].pattern);
        samba_tokenizer__free_charsmap(steps->step[i].map);
        SAMBA_TOKENIZER_FREE(steps->step[i].text[0]);
        SAMBA_TOKENIZER_FREE(steps->step[i].text[1]);
    }
    steps->n = 0;
}

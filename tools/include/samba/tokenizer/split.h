/* split.h - of tokenizer.h: the steps of pre_tokenizer, from a text to its words.

   Every piece of a step goes through the steps that follow, to the last one, which hands it to what
   makes tokens of words. Nothing is stored between. */

enum {
    SAMBA_TOKENIZER__SPLIT,      /* pattern; number 0: behavior; flag 0: what does not match does */
    SAMBA_TOKENIZER__GPT2,       /* ByteLevel's own pattern */
    SAMBA_TOKENIZER__PREFIX,     /* ByteLevel's add_prefix_space */
    SAMBA_TOKENIZER__METASPACE,  /* text 0: replaces spaces; number 0: scheme; flag 0: split */
    SAMBA_TOKENIZER__DIGITS,     /* flag 0: each by itself */
    SAMBA_TOKENIZER__PUNCTUATION /* number 0: behavior */
};

/* What becomes of a match. */
enum {
    SAMBA_TOKENIZER__REMOVED,
    SAMBA_TOKENIZER__ISOLATED,
    SAMBA_TOKENIZER__WITH_PREVIOUS,
    SAMBA_TOKENIZER__WITH_NEXT,
    SAMBA_TOKENIZER__CONTIGUOUS
};

enum { SAMBA_TOKENIZER__ALWAYS, SAMBA_TOKENIZER__FIRST, SAMBA_TOKENIZER__NEVER };

/* A text on its way through the steps. */
typedef struct samba_tokenizer__piece {
    const uint8_t *at, *end;
    bool is_first; /* it begins where the whole text begins */
} samba_tokenizer__piece;

static bool samba_tokenizer__run_words(const samba_tokenizer *t, int step,
                                       samba_tokenizer__piece piece, samba_tokenizer__sink *sink);

/* Pieces of a step: matches and what is between them, some of which belong together. */
typedef struct samba_tokenizer__cutter {
    const samba_tokenizer *t;
    int step; /* the one that follows */
    samba_tokenizer__sink *sink;
    const uint8_t *start; /* of the text that is cut */
    bool is_first;
    int behavior;
    samba_tokenizer__piece waiting; /* what the next part may join; at NULL: none */
    bool waiting_is_match;
} samba_tokenizer__cutter;

static bool samba_tokenizer__hand_on(samba_tokenizer__cutter *c)
{
    samba_tokenizer__piece piece = c->waiting;
    bool gone = c->behavior == SAMBA_TOKENIZER__REMOVED && c->waiting_is_match;
    c->waiting.at = NULL;
    if (!piece.at || piece.at == piece.end || gone) return true;
    piece.is_first = c->is_first && piece.at == c->start;
    return samba_tokenizer__run_words(c->t, c->step, piece, c->sink);
}

/* A part that is a match, or is none. */
static bool samba_tokenizer__part_of_text(samba_tokenizer__cutter *c, const uint8_t *at,
                                          const uint8_t *end, bool is_match)
{
    bool was_match = c->waiting_is_match, joins = false;
    if (c->behavior == SAMBA_TOKENIZER__CONTIGUOUS) joins = is_match == was_match;
    if (c->behavior == SAMBA_TOKENIZER__WITH_PREVIOUS) joins = is_match && !was_match;
    if (c->behavior == SAMBA_TOKENIZER__WITH_NEXT) joins = !is_match && was_match;
    if (c->waiting.at && joins) {
        c->waiting.end = end;
        c->waiting_is_match = is_match;
        return true;
    }

    if (!samba_tokenizer__hand_on(c)) return false;
    c->waiting.at = at;
    c->waiting.end = end;
    c->waiting_is_match = is_match;
    return true;
}

static samba_tokenizer__cutter samba_tokenizer__new_cutter(const samba_tokenizer *t, int step,
                                                           samba_tokenizer__piece piece,
                                                           int behavior,
                                                           samba_tokenizer__sink *sink)
{
    samba_tokenizer__cutter c;
    memset(&c, 0, sizeof c);
    c.t = t;
    c.step = step + 1;
    c.sink = sink;
    c.start = piece.at;
    c.is_first = piece.is_first;
    c.behavior = behavior;
    return c;
}

static bool samba_tokenizer__cut_by_pattern(const samba_tokenizer *t, int at,
                                            samba_tokenizer__piece piece,
                                            samba_tokenizer__sink *sink)
{
    const samba_tokenizer__step *step = &t->words.step[at];
    const uint8_t *from = piece.at, *p = piece.at, *match, *stop;
    bool inverted = step->flag[0];
    samba_tokenizer__cutter c = samba_tokenizer__new_cutter(t, at, piece, step->number[0], sink);

    while (p < piece.end
           && samba_tokenizer__find_match(step->pattern, piece.at, p, piece.end, &match, &stop)) {
        if (from < match && !samba_tokenizer__part_of_text(&c, from, match, inverted)) return false;
        if (!samba_tokenizer__part_of_text(&c, match, stop, !inverted)) return false;
        from = stop;
        p = stop > match ? stop : match + samba_tokenizer__char_size(*match);
    }
    if (from < piece.end && !samba_tokenizer__part_of_text(&c, from, piece.end, inverted))
        return false;
    return samba_tokenizer__hand_on(&c);
}

/* Digits and Punctuation: each character of the kind is a match. */
static bool samba_tokenizer__cut_by_char(const samba_tokenizer *t, int at,
                                         samba_tokenizer__piece piece, samba_tokenizer__sink *sink)
{
    const samba_tokenizer__step *step = &t->words.step[at];
    int behavior = step->flag[0] ? SAMBA_TOKENIZER__ISOLATED : step->number[0];
    bool digits = step->kind == SAMBA_TOKENIZER__DIGITS;
    samba_tokenizer__cutter c = samba_tokenizer__new_cutter(t, at, piece, behavior, sink);
    const uint8_t *from = piece.at; /* of what is no match */

    for (const uint8_t *p = piece.at; p < piece.end;) {
        size_t n;
        int32_t code = samba_tokenizer__char(p, &n);
        bool is = digits ? SAMBA_TOKENIZER__HAS(numeric, code)
                         : SAMBA_TOKENIZER__HAS(punctuation, code);
        if (is) {
            if (from < p && !samba_tokenizer__part_of_text(&c, from, p, false)) return false;
            if (!samba_tokenizer__part_of_text(&c, p, p + n, true)) return false;
            from = p + n;
        }
        p += n;
    }
    if (from < piece.end && !samba_tokenizer__part_of_text(&c, from, piece.end, false))
        return false;
    return samba_tokenizer__hand_on(&c);
}

/* The last step of most tokenizers: each word is encoded at once. */
static bool samba_tokenizer__encode_gpt2_words(const samba_tokenizer *t, const uint8_t *p,
                                               const uint8_t *end, samba_tokenizer__sink *sink)
{
    while (p < end) {
        const uint8_t *stop = samba_tokenizer__word(p, end);
        if (!samba_tokenizer__encode_word(t, p, (size_t)(stop - p), sink)) return false;
        p = stop;
    }
    return true;
}

static bool samba_tokenizer__cut_by_gpt2(const samba_tokenizer *t, int at,
                                         samba_tokenizer__piece piece, samba_tokenizer__sink *sink)
{
    const uint8_t *end = piece.end;
    if (at + 1 == t->words.n) return samba_tokenizer__encode_gpt2_words(t, piece.at, end, sink);
    while (piece.at < end) {
        piece.end = samba_tokenizer__word(piece.at, end);
        if (!samba_tokenizer__run_words(t, at + 1, piece, sink)) return false;
        piece.at = piece.end;
        piece.is_first = false;
    }
    return true;
}

/* A piece with a space before it, unless it has one. */
static bool samba_tokenizer__prefix(const samba_tokenizer *t, int at, samba_tokenizer__piece piece,
                                    samba_tokenizer__sink *sink)
{
    samba_tokenizer__buffer b = { NULL, 0, 0, false };
    if (*piece.at == ' ') return samba_tokenizer__run_words(t, at + 1, piece, sink);
    samba_tokenizer__append(&b, " ", 1);
    samba_tokenizer__append(&b, piece.at, (size_t)(piece.end - piece.at));
    piece.at = b.at;
    piece.end = b.at + b.size;
    bool done = !b.failed && samba_tokenizer__run_words(t, at + 1, piece, sink);
    SAMBA_TOKENIZER_FREE(b.at);
    return done;
}

static bool samba_tokenizer__begins_with(const uint8_t *p, const uint8_t *end, const uint8_t *text,
                                         size_t size)
{
    return (size_t)(end - p) >= size && memcmp(p, text, size) == 0;
}

/* Spaces are replaced, one is put before, and each begins a word. */
static bool samba_tokenizer__metaspace(const samba_tokenizer *t, int at,
                                       samba_tokenizer__piece piece, samba_tokenizer__sink *sink)
{
    const samba_tokenizer__step *step = &t->words.step[at];
    const uint8_t *mark = step->text[0];
    size_t n = step->size[0];
    samba_tokenizer__buffer b = { NULL, 0, 0, false };
    bool wanted = step->number[0] == SAMBA_TOKENIZER__ALWAYS
        || (step->number[0] == SAMBA_TOKENIZER__FIRST && piece.is_first);
    bool has = *piece.at == ' ' || samba_tokenizer__begins_with(piece.at, piece.end, mark, n);
    if (wanted && !has) samba_tokenizer__append(&b, mark, n);

    for (const uint8_t *p = piece.at; p < piece.end;) {
        const uint8_t *space = (const uint8_t *)memchr(p, ' ', (size_t)(piece.end - p));
        const uint8_t *stop = space ? space : piece.end;
        samba_tokenizer__append(&b, p, (size_t)(stop - p));
        if (space) samba_tokenizer__append(&b, mark, n);
        p = stop + (space != NULL);
    }

    bool done = !b.failed;
    const uint8_t *end = b.size ? b.at + b.size : b.at; /* an empty piece has none */
    piece.at = b.at;
    while (done && piece.at < end) {
        const uint8_t *p = piece.at + 1;
        while (step->flag[0] && p < end && !samba_tokenizer__begins_with(p, end, mark, n))
            p++;
        piece.end = step->flag[0] ? p : end;
        done = samba_tokenizer__run_words(t, at + 1, piece, sink);
        piece.at = piece.end;
        piece.is_first = false;
    }
    SAMBA_TOKENIZER_FREE(b.at);
    return done;
}

/* A piece that is not empty through the steps from one on. False: out of memory. */
static bool samba_tokenizer__run_words(const samba_tokenizer *t, int step,
                                       samba_tokenizer__piece piece, samba_tokenizer__sink *sink)
{
    if (step == t->words.n)
        return samba_tokenizer__encode_word(t, piece.at, (size_t)(piece.end - piece.at), sink);
    switch (t->words.step[step].kind) {
    case SAMBA_TOKENIZER__SPLIT:
        return samba_tokenizer__cut_by_pattern(t, step, piece, sink);
    case SAMBA_TOKENIZER__GPT2:
        return samba_tokenizer__cut_by_gpt2(t, step, piece, sink);
    case SAMBA_TOKENIZER__PREFIX:
        return samba_tokenizer__prefix(t, step, piece, sink);
    case SAMBA_TOKENIZER__DIGITS:
    case SAMBA_TOKENIZER__PUNCTUATION:
        return samba_tokenizer__cut_by_char(t, step, piece, sink);
    default:
        return samba_tokenizer__metaspace(t, step, piece, sink);
    }
}

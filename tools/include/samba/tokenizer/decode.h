/* decode.h - of tokenizer.h: ids to text.

   Tokens of bytes are their bytes. Else the texts of the tokens go through the steps of decoder,
   each of which makes a new list of texts; what is left is joined. */

enum {
    SAMBA_TOKENIZER__DECODE_REPLACE,   /* text 0 or pattern becomes text 1 */
    SAMBA_TOKENIZER__DECODE_BYTES,     /* ByteFallback: <0x41> becomes A */
    SAMBA_TOKENIZER__DECODE_FUSE,      /* all become one text */
    SAMBA_TOKENIZER__DECODE_STRIP,     /* text 0, at the beginning (number 0) and the end (1) */
    SAMBA_TOKENIZER__DECODE_METASPACE, /* text 0 becomes a space; flag 0: not in the first */
    SAMBA_TOKENIZER__DECODE_WORDPIECE  /* text 0 joins to what is before; flag 0: cleanup */
};

/* Texts, one behind the other. */
typedef struct samba_tokenizer__texts {
    samba_tokenizer__buffer bytes, ends; /* ends: size_t each */
} samba_tokenizer__texts;

static size_t samba_tokenizer__n_texts(const samba_tokenizer__texts *x)
{
    return x->ends.size / sizeof(size_t);
}

static void samba_tokenizer__end_text(samba_tokenizer__texts *x)
{
    samba_tokenizer__append(&x->ends, &x->bytes.size, sizeof x->bytes.size);
}

/* The text at i; its size. */
static const uint8_t *samba_tokenizer__text_at(const samba_tokenizer__texts *x, size_t i,
                                               size_t *size)
{
    size_t begin = 0, end;
    if (i > 0) memcpy(&begin, x->ends.at + (i - 1) * sizeof begin, sizeof begin);
    memcpy(&end, x->ends.at + i * sizeof end, sizeof end);
    *size = end - begin;
    return *size ? x->bytes.at + begin : (const uint8_t *)"";
}

static void samba_tokenizer__free_texts(samba_tokenizer__texts *x)
{
    SAMBA_TOKENIZER_FREE(x->bytes.at);
    SAMBA_TOKENIZER_FREE(x->ends.at);
}

/* The byte of a text such as <0x41>; -1: none. */
static int samba_tokenizer__byte_of(const uint8_t *p, size_t size)
{
    static const char digits[] = "0123456789ABCDEF0123456789abcdef";
    int value = 0;
    if (size != 6 || memcmp(p, "<0x", 3) != 0 || p[5] != '>') return -1;
    for (int i = 3; i < 5; i++) {
        const char *digit = p[i] ? strchr(digits, p[i]) : NULL;
        if (!digit) return -1;
        value = value * 16 + (int)((digit - digits) % 16);
    }
    return value;
}

/* Bytes in a row: a text if they are UTF-8, else U+FFFD for each. */
static void samba_tokenizer__put_bytes(samba_tokenizer__buffer *bytes, samba_tokenizer__texts *out)
{
    if (bytes->size == 0) return;
    const uint8_t *end = bytes->at + bytes->size;
    bool good = samba_tokenizer__first_bad(bytes->at, end) == end;
    if (good) samba_tokenizer__append(&out->bytes, bytes->at, bytes->size);
    for (size_t i = 0; i < bytes->size && !good; i++) {
        samba_tokenizer__append(&out->bytes, "\xEF\xBF\xBD", 3);
        samba_tokenizer__end_text(out);
    }
    if (good) samba_tokenizer__end_text(out);
    bytes->size = 0;
}

static void samba_tokenizer__decode_bytes(const samba_tokenizer__texts *in,
                                          samba_tokenizer__texts *out)
{
    samba_tokenizer__buffer bytes = { NULL, 0, 0, false };
    for (size_t i = 0; i < samba_tokenizer__n_texts(in); i++) {
        size_t size;
        const uint8_t *text = samba_tokenizer__text_at(in, i, &size);
        int byte = samba_tokenizer__byte_of(text, size);
        if (byte >= 0) {
            uint8_t one = (uint8_t)byte;
            samba_tokenizer__append(&bytes, &one, 1);
            continue;
        }
        samba_tokenizer__put_bytes(&bytes, out);
        samba_tokenizer__append(&out->bytes, text, size);
        samba_tokenizer__end_text(out);
    }
    samba_tokenizer__put_bytes(&bytes, out);
    out->bytes.failed = out->bytes.failed || bytes.failed;
    SAMBA_TOKENIZER_FREE(bytes.at);
}

static void samba_tokenizer__decode_strip(const samba_tokenizer__step *step, const uint8_t *p,
                                          size_t size, samba_tokenizer__buffer *out)
{
    const uint8_t *end = p + size, *sought = step->text[0];
    size_t n = step->size[0];
    for (int32_t i = 0; i < step->number[0] && samba_tokenizer__begins_with(p, end, sought, n); i++)
        p += n;
    for (int32_t i = 0; i < step->number[1] && (size_t)(end - p) >= n; i++) {
        if (memcmp(end - n, sought, n) != 0) break;
        end -= n;
    }
    samba_tokenizer__append(out, p, (size_t)(end - p));
}

static void samba_tokenizer__decode_metaspace(const samba_tokenizer__step *step, size_t i,
                                              const uint8_t *p, size_t size,
                                              samba_tokenizer__buffer *out)
{
    const uint8_t *end = p + size;
    bool first = i == 0 && step->flag[0];
    while (p < end) {
        if (samba_tokenizer__begins_with(p, end, step->text[0], step->size[0])) {
            if (!first) samba_tokenizer__append(out, " ", 1);
            p += step->size[0];
            continue;
        }
        samba_tokenizer__append(out, p, 1);
        p++;
    }
}

/* What the decoder WordPiece calls cleanup, one replacement after the other. */
static void samba_tokenizer__clean_up(samba_tokenizer__buffer *text)
{
    static const char *const pair[][2] = {
        { " .", "." },   { " ?", "?" },     { " !", "!" },     { " ,", "," },
        { " ' ", "'" },  { " n't", "n't" }, { " 'm", "'m" },   { " do not", " don't" },
        { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" },
    };
    for (size_t k = 0; k < sizeof pair / sizeof pair[0]; k++) {
        size_t n = strlen(pair[k][0]), m = strlen(pair[k][1]), to = 0;
        for (size_t at = 0; at < text->size;) {
            if (text->size - at >= n && memcmp(text->at + at, pair[k][0], n) == 0) {
                memmove(text->at + to, pair[k][1], m);
                to += m;
                at += n;
            } else {
                text->at[to++] = text->at[at++];
            }
        }
        text->size = to;
    }
}

static void samba_tokenizer__decode_wordpiece(const samba_tokenizer__step *step, size_t i,
                                              const uint8_t *p, size_t size,
                                              samba_tokenizer__buffer *out)
{
    samba_tokenizer__buffer text = { NULL, 0, 0, false };
    bool joins = step->size[0] == 0
        || samba_tokenizer__begins_with(p, p + size, step->text[0], step->size[0]);
    if (i > 0 && !joins) samba_tokenizer__append(&text, " ", 1);
    size_t skip = i > 0 && joins ? step->size[0] : 0;
    samba_tokenizer__append(&text, p + skip, size - skip);
    if (step->flag[0] && !text.failed) samba_tokenizer__clean_up(&text);
    samba_tokenizer__append(out, text.at, text.size);
    out->failed = out->failed || text.failed;
    SAMBA_TOKENIZER_FREE(text.at);
}

static void samba_tokenizer__decode_step(const samba_tokenizer__step *step,
                                         const samba_tokenizer__texts *in,
                                         samba_tokenizer__texts *out)
{
    if (step->kind == SAMBA_TOKENIZER__DECODE_BYTES) {
        samba_tokenizer__decode_bytes(in, out);
        return;
    }

    for (size_t i = 0; i < samba_tokenizer__n_texts(in); i++) {
        size_t size;
        const uint8_t *p = samba_tokenizer__text_at(in, i, &size);
        switch (step->kind) {
        case SAMBA_TOKENIZER__DECODE_REPLACE:
            if (step->pattern)
                samba_tokenizer__replace_matches(step, p, size, &out->bytes);
            else
                samba_tokenizer__replace_text(step, p, size, &out->bytes);
            break;
        case SAMBA_TOKENIZER__DECODE_STRIP:
            samba_tokenizer__decode_strip(step, p, size, &out->bytes);
            break;
        case SAMBA_TOKENIZER__DECODE_METASPACE:
            samba_tokenizer__decode_metaspace(step, i, p, size, &out->bytes);
            break;
        case SAMBA_TOKENIZER__DECODE_WORDPIECE:
            samba_tokenizer__decode_wordpiece(step, i, p, size, &out->bytes);
            break;
        default: /* FUSE */
            samba_tokenizer__append(&out->bytes, p, size);
        }
        if (step->kind != SAMBA_TOKENIZER__DECODE_FUSE) samba_tokenizer__end_text(out);
    }
    if (step->kind == SAMBA_TOKENIZER__DECODE_FUSE) samba_tokenizer__end_text(out);
}

/* The text of one token, as tokenizers has it since 0.23: of one that is sought in the normalized
   text, what is sought. */
static void samba_tokenizer__put_token(const samba_tokenizer *t, int32_t id,
                                       samba_tokenizer__buffer *out)
{
    const samba_tokenizer__token *k = &t->token[id];
    if (k->flags & SAMBA_TOKENIZER__LATE)
        samba_tokenizer__normalize(&t->normalizer, t->bytes + k->at, k->size, out);
    else
        samba_tokenizer__append(out, t->bytes + k->at, k->size);
}

/* The text of ids through all steps, appended to out, which may fail. */
static void samba_tokenizer__decode_steps(const samba_tokenizer *t, const int32_t *ids, int64_t n,
                                          samba_tokenizer__buffer *out)
{
    samba_tokenizer__texts x;
    memset(&x, 0, sizeof x);
    for (int64_t i = 0; i < n; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= t->n_tokens) continue;
        const samba_tokenizer__token *k = &t->token[ids[i]];
        if (!(k->flags & SAMBA_TOKENIZER__KNOWN)) continue;
        samba_tokenizer__put_token(t, ids[i], &x.bytes);
        samba_tokenizer__end_text(&x);
    }

    for (int i = 0; i < t->decoder.n; i++) {
        samba_tokenizer__texts made;
        memset(&made, 0, sizeof made);
        if (!x.bytes.failed && !x.ends.failed)
            samba_tokenizer__decode_step(&t->decoder.step[i], &x, &made);
        made.bytes.failed = made.bytes.failed || x.bytes.failed || x.ends.failed;
        samba_tokenizer__free_texts(&x);
        x = made;
    }

    bool spaced = !t->has_decoder; /* without a decoder tokenizers puts spaces between tokens */
    for (size_t i = 0; spaced && !x.ends.failed && i < samba_tokenizer__n_texts(&x); i++) {
        size_t size;
        const uint8_t *p = samba_tokenizer__text_at(&x, i, &size);
        if (i) samba_tokenizer__append(out, " ", 1);
        samba_tokenizer__append(out, p, size);
    }
    if (!spaced) samba_tokenizer__append(out, x.bytes.at, x.bytes.size);
    out->failed = out->failed || x.bytes.failed || x.ends.failed;
    samba_tokenizer__free_texts(&x);
}

/* Bytes in a row of a tokenizer.model: characters, and U+FFFD for each byte that is of none. */
static void samba_tokenizer__put_characters(samba_tokenizer__buffer *bytes,
                                            samba_tokenizer__buffer *out)
{
    for (size_t i = 0; i < bytes->size;) {
        bool bad;
        size_t n = samba_base_step(bytes->at + i, bytes->size - i, &bad);
        if (bad) n = 1;
        if (bad)
            samba_tokenizer__append(out, "\xEF\xBF\xBD", 3);
        else
            samba_tokenizer__append(out, bytes->at + i, n);
        i += n;
    }
    bytes->size = 0;
}

/* A piece of a tokenizer.model. *begun: something has been written, so spaces stay. */
static void samba_tokenizer__put_piece(const samba_tokenizer *t, const uint8_t *p, size_t size,
                                       bool *begun, samba_tokenizer__buffer *out)
{
    const uint8_t *end = p + size;
    const uint8_t *mark = (const uint8_t *)SAMBA_TOKENIZER__MARK;
    bool stripped = false;
    if (!*begun && (t->dummy_prefix || t->strips_spaces)
        && samba_tokenizer__begins_with(p, end, mark, 3)) {
        p += 3;
        stripped = !t->strips_spaces;
    }

    while (p < end) {
        bool is_mark = samba_tokenizer__begins_with(p, end, mark, 3);
        samba_tokenizer__append(out, is_mark ? (const uint8_t *)" " : p, 1);
        p += is_mark ? 3 : 1;
    }
    *begun = *begun || stripped || out->size > 0;
}

/* The text of ids as SentencePiece writes it. */
static void samba_tokenizer__decode_pieces(const samba_tokenizer *t, const int32_t *ids, int64_t n,
                                           samba_tokenizer__buffer *out)
{
    samba_tokenizer__buffer bytes = { NULL, 0, 0, false };
    bool begun = false;
    for (int64_t i = 0; i < n; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= t->n_tokens) continue;
        const samba_tokenizer__token *k = &t->token[ids[i]];
        if (k->flags & SAMBA_TOKENIZER__BYTE) {
            uint8_t byte = (uint8_t)samba_tokenizer__byte_of(t->bytes + k->at, k->size);
            samba_tokenizer__append(&bytes, &byte, 1);
            continue;
        }

        samba_tokenizer__put_characters(&bytes, out);
        begun = begun || out->size > 0;
        bool special = k->flags & SAMBA_TOKENIZER__SPECIAL;
        if (k->flags & SAMBA_TOKENIZER__CONTROL && !special) continue;
        if (k->flags & SAMBA_TOKENIZER__UNKNOWN && !special)
            samba_tokenizer__append(out, t->unk_text, t->unk_text_size);
        else if (special)
            samba_tokenizer__append(out, t->bytes + k->at, k->size);
        else
            samba_tokenizer__put_piece(t, t->bytes + k->at, k->size, &begun, out);
        begun = begun || out->size > 0;
    }
    samba_tokenizer__put_characters(&bytes, out);
    out->failed = out->failed || bytes.failed;
    SAMBA_TOKENIZER_FREE(bytes.at);
}

/* Tokens of bytes of which some are sought in the normalized text. */
static void samba_tokenizer__decode_texts(const samba_tokenizer *t, const int32_t *ids, int64_t n,
                                          samba_tokenizer__buffer *out)
{
    for (int64_t i = 0; i < n; i++)
        if (ids[i] >= 0 && (size_t)ids[i] < t->n_tokens) samba_tokenizer__put_token(t, ids[i], out);
}

/* Tokens of bytes: each by itself, so nothing is allocated. */
static int64_t samba_tokenizer__decode_plain(const samba_tokenizer *t, const int32_t *ids,
                                             int64_t n, char *text, int64_t cap)
{
    int64_t size = 0;
    for (int64_t i = 0; i < n; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= t->n_tokens) continue;
        const samba_tokenizer__token *k = &t->token[ids[i]];
        int64_t fits = size >= cap ? 0 : cap - size < (int64_t)k->size ? cap - size : k->size;
        if (fits) memcpy(text + size, t->bytes + k->at, (size_t)fits);
        size += k->size;
    }
    return size;
}

SAMBA_TOKENIZER_API int64_t samba_tokenizer_decode(const samba_tokenizer *t, const int32_t *ids,
                                                   int64_t n, char *text, int64_t cap)
{
    samba_tokenizer__buffer b = { NULL, 0, 0, false };
    if (!t || !ids) return 0;
    if (!text || cap < 0) cap = 0;
    bool bytes = t->model == SAMBA_TOKENIZER__BYTES;
    bool has_late = t->normalizer.n && t->trie[1].n_tokens;
    if (bytes && !has_late) return samba_tokenizer__decode_plain(t, ids, n, text, cap);

    if (t->by_sentencepiece)
        samba_tokenizer__decode_pieces(t, ids, n, &b);
    else if (bytes)
        samba_tokenizer__decode_texts(t, ids, n, &b);
    else
        samba_tokenizer__decode_steps(t, ids, n, &b);
    int64_t size = b.failed ? -1 : (int64_t)b.size;
    int64_t fits = size < cap ? size : cap;
    if (fits > 0) memcpy(text, b.at, (size_t)fits);
    SAMBA_TOKENIZER_FREE(b.at);
    return size;
}

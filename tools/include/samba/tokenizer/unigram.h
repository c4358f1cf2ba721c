/* unigram.h - of tokenizer.h: the tokens of a word by their scores, and the longest ones.

   Unigram (Kudo, 2018): of all ways to cut a word into pieces, the one with the largest sum of
   scores. The best cut of each beginning of the word is kept, so the work is the length of the word
   times the length of the longest piece. WordPiece (Schuster and Nakajima, 2012): from the left,
   the longest piece each time. */

/* The best cut of a word's beginning that ends here. */
typedef struct samba_tokenizer__cut {
    double score;
    size_t start; /* of its last piece; SIZE_MAX: no cut ends here */
    int32_t id;   /* of it */
} samba_tokenizer__cut;

static void samba_tokenizer__offer_cut(const samba_tokenizer *t, samba_tokenizer__cut *cut,
                                       size_t start, int32_t id, double score)
{
    /* sentencepiece has sums in single precision, tokenizers in double: it decides between equals
     */
    if (t->by_sentencepiece) score = (double)(float)score;
    if (cut->start != SIZE_MAX && !(score > cut->score)) return;
    cut->score = score;
    cut->start = start;
    cut->id = id;
}

/* What a piece adds. A user's piece is to win always, so it gets what its bytes could at best. */
static double samba_tokenizer__score_of(const samba_tokenizer *t, int32_t id, size_t size)
{
    if (!(t->token[id].flags & SAMBA_TOKENIZER__USER)) return t->score[id];
    return (double)((float)size * (float)t->max_score) - 0.1;
}

/* Offers all pieces that begin at start. */
static void samba_tokenizer__offer_pieces(const samba_tokenizer *t, const uint8_t *word, size_t n,
                                          size_t start, samba_tokenizer__cut *cut)
{
    size_t character = samba_tokenizer__char_size(word[start]);
    bool has_character = false;
    uint32_t node = 0;

    for (size_t at = start; at < n; at++) {
        node = samba_tokenizer__trie_step(&t->pieces, node, word[at]);
        if (!node) break;
        int32_t id = t->pieces.id[node];
        if (id < 0) continue;
        size_t size = at + 1 - start;
        double score = samba_tokenizer__score_of(t, id, size) + cut[start].score;
        samba_tokenizer__offer_cut(t, &cut[at + 1], start, id, score);
        has_character = has_character || size == character;
    }

    if (has_character) return;
    double score = t->unk_score + cut[start].score;
    if (t->by_sentencepiece) score = (double)((float)t->unk_score + (float)cut[start].score);
    samba_tokenizer__offer_cut(t, &cut[start + character], start, t->unk, score);
}

/* Unknown characters in a row: their bytes, or the unknown token once. */
static void samba_tokenizer__emit_unknown(const samba_tokenizer *t, const uint8_t *p, size_t n,
                                          samba_tokenizer__sink *sink)
{
    int32_t id = samba_tokenizer__find_model(t, p, n);
    if (!t->by_sentencepiece && id >= 0) {
        samba_tokenizer__emit(sink, &id, 1);
        return;
    }

    bool all = t->byte_fallback;
    for (size_t i = 0; i < n && all; i++)
        all = t->fallback[p[i]] >= 0;
    for (size_t i = 0; i < n && all; i++)
        samba_tokenizer__emit(sink, &t->fallback[p[i]], 1);
    if (!all) samba_tokenizer__emit(sink, &t->unk, 1);
}

/* Turns the chain of cuts around: cut[p] then says where the piece that begins at p ends. */
static void samba_tokenizer__turn_cuts(samba_tokenizer__cut *cut, size_t n)
{
    size_t at = n, to = SIZE_MAX;
    int32_t id = -1;
    for (;;) {
        samba_tokenizer__cut was = cut[at];
        cut[at].start = to;
        cut[at].id = id;
        if (at == 0) return;
        to = at;
        id = was.id;
        at = was.start;
    }
}

static void samba_tokenizer__emit_cuts(const samba_tokenizer *t, const uint8_t *word, size_t n,
                                       const samba_tokenizer__cut *cut, samba_tokenizer__sink *sink)
{
    size_t p = 0;
    while (p < n) {
        size_t end = cut[p].start;
        if (cut[p].id != t->unk) {
            samba_tokenizer__emit(sink, &cut[p].id, 1);
            p = end;
            continue;
        }
        while (end < n && cut[end].id == t->unk)
            end = cut[end].start;
        samba_tokenizer__emit_unknown(t, word + p, end - p, sink);
        p = end;
    }
}

/* False: out of memory. */
static bool samba_tokenizer__unigram(const samba_tokenizer *t, const uint8_t *word, size_t n,
                                     samba_tokenizer__sink *sink)
{
    samba_tokenizer__cut few[SAMBA_TOKENIZER__SHORT + 1], *cut = few;
    if (n > SAMBA_TOKENIZER__SHORT)
        cut = n > SIZE_MAX / 2 / sizeof *cut
            ? NULL
            : (samba_tokenizer__cut *)SAMBA_TOKENIZER_MALLOC((n + 1) * sizeof *cut);
    if (!cut) return false;

    for (size_t i = 0; i <= n; i++)
        cut[i].start = SIZE_MAX;
    cut[0].score = 0;
    cut[0].id = -1;
    for (size_t i = 0; i < n; i += samba_tokenizer__char_size(word[i]))
        samba_tokenizer__offer_pieces(t, word, n, i, cut);
    samba_tokenizer__turn_cuts(cut, n);
    samba_tokenizer__emit_cuts(t, word, n, cut, sink);
    if (cut != few) SAMBA_TOKENIZER_FREE(cut);
    return true;
}

/* The pieces of a word, each the longest that is possible; the unknown token, if one is missing. */
static void samba_tokenizer__wordpiece(const samba_tokenizer *t, const uint8_t *word, size_t n,
                                       samba_tokenizer__sink *sink)
{
    int64_t before = sink->n;
    size_t characters = 0, size = 0, p = 0;
    for (size_t i = 0; i < n; i += samba_tokenizer__char_size(word[i]))
        characters++;

    bool known = characters <= (size_t)t->longest_word;
    while (known && p < n) {
        uint32_t node = p ? t->inner : 0;
        int32_t id = p && !t->has_inner
            ? -1
            : samba_tokenizer__trie_longest(&t->pieces, node, word + p, word + n, &size);
        known = id >= 0;
        if (known) samba_tokenizer__emit(sink, &id, 1);
        p += size;
    }
    if (known) return;
    sink->n = before;
    samba_tokenizer__emit(sink, &t->unk, 1);
}

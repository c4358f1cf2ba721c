/* sentencepiece.h - of tokenizer.h: tokenizer.model, SentencePiece's own file.

   A message of protocol buffers, of which a few fields are read, by hand: the wire format is a list
   of keys (number << 3 | type) and values, and a library would be one more to install.

       ModelProto      1 pieces, 2 trainer_spec, 3 normalizer_spec, 5 denormalizer_spec
       SentencePiece   1 piece, 2 score (a float), 3 type
       TrainerSpec     3 model_type, 24 treat_whitespace_as_suffix, 35 byte_fallback, 44 unk_surface
       NormalizerSpec  2 precompiled_charsmap, 3 add_dummy_prefix, 4 remove_extra_whitespaces,
                       5 escape_whitespaces

   Fields that are not named here are for training. */

/* One field of a message: a number, or bytes. */
typedef struct samba_tokenizer__field {
    uint32_t number, type;
    uint64_t value; /* of types 0, 1 and 5 */
    const uint8_t *at;
    size_t size; /* of type 2 */
} samba_tokenizer__field;

enum { SAMBA_TOKENIZER__VARINT = 0, SAMBA_TOKENIZER__STRING = 2, SAMBA_TOKENIZER__FIXED32 = 5 };

static bool samba_tokenizer__read_varint(const uint8_t **p, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && *p < end; shift += 7) {
        uint8_t byte = *(*p)++;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

/* The field at *p, which moves behind it. False: the bytes are no field. */
static bool samba_tokenizer__read_field(const uint8_t **p, const uint8_t *end,
                                        samba_tokenizer__field *f)
{
    uint64_t key;
    memset(f, 0, sizeof *f);
    if (!samba_tokenizer__read_varint(p, end, &key) || key >> 3 == 0 || key >> 32) return false;
    f->number = (uint32_t)(key >> 3);
    f->type = (uint32_t)key & 7;
    if (f->type == SAMBA_TOKENIZER__VARINT) return samba_tokenizer__read_varint(p, end, &f->value);

    size_t left = (size_t)(end - *p), size = f->type == 1 ? 8 : 4;
    if (f->type == SAMBA_TOKENIZER__STRING) {
        if (!samba_tokenizer__read_varint(p, end, &f->value)) return false;
        left = (size_t)(end - *p);
        if (f->value > left) return false;
        f->at = *p;
        f->size = (size_t)f->value;
        *p += f->size;
        return true;
    }
    if ((f->type != 1 && f->type != SAMBA_TOKENIZER__FIXED32) || left < size) return false;
    for (size_t i = 0; i < size; i++)
        f->value |= (uint64_t)(*p)[i] << (8 * i);
    *p += size;
    return true;
}

/* What the specs say that changes ids; the rest is of the pieces. */
typedef struct samba_tokenizer__specs {
    uint64_t model_type;
    bool suffix, byte_fallback;
    const uint8_t *charsmap;
    size_t charsmap_size;
    bool denormalizes;
} samba_tokenizer__specs;

static bool samba_tokenizer__damaged(const samba_tokenizer__report *r, const char *what)
{
    return samba_tokenizer__fail(
        r, "%s cannot be read; is this a file of SentencePiece, and whole?", what);
}

static bool samba_tokenizer__read_trainer_spec(samba_tokenizer *t,
                                               const samba_tokenizer__field *spec,
                                               samba_tokenizer__specs *specs,
                                               const samba_tokenizer__report *r)
{
    const uint8_t *p = spec->at, *end = p + spec->size;
    samba_tokenizer__field f;
    while (p < end) {
        if (!samba_tokenizer__read_field(&p, end, &f))
            return samba_tokenizer__damaged(r, "trainer_spec");
        if (f.number == 3 && f.type == SAMBA_TOKENIZER__VARINT) specs->model_type = f.value;
        if (f.number == 24 && f.type == SAMBA_TOKENIZER__VARINT) specs->suffix = f.value != 0;
        if (f.number == 35 && f.type == SAMBA_TOKENIZER__VARINT)
            specs->byte_fallback = f.value != 0;
        if (f.number != 44 || f.type != SAMBA_TOKENIZER__STRING) continue;

        SAMBA_TOKENIZER_FREE(t->unk_text);
        t->unk_text = (uint8_t *)SAMBA_TOKENIZER_MALLOC(f.size + 1);
        t->unk_text_size = 0;
        if (!t->unk_text) return samba_tokenizer__no_memory(r);
        if (f.size) memcpy(t->unk_text, f.at, f.size);
        t->unk_text_size = f.size;
    }
    return true;
}

static bool samba_tokenizer__read_normalizer_spec(samba_tokenizer *t,
                                                  const samba_tokenizer__field *spec,
                                                  samba_tokenizer__specs *specs,
                                                  const samba_tokenizer__report *r)
{
    const uint8_t *p = spec->at, *end = p + spec->size;
    samba_tokenizer__field f;
    while (p < end) {
        if (!samba_tokenizer__read_field(&p, end, &f))
            return samba_tokenizer__damaged(r, "normalizer_spec");
        if (f.number == 2 && f.type == SAMBA_TOKENIZER__STRING) {
            specs->charsmap = f.at;
            specs->charsmap_size = f.size;
        }
        if (f.type != SAMBA_TOKENIZER__VARINT) continue;
        if (f.number == 3) t->dummy_prefix = f.value != 0;
        if (f.number == 4) t->strips_spaces = f.value != 0;
        if (f.number == 5) t->escapes_spaces = f.value != 0;
    }
    return true;
}

/* The flags of a type of piece; UNUSED and what is not known are refused. */
static bool samba_tokenizer__flags_of_type(uint64_t type, size_t id, uint32_t *flags,
                                           const samba_tokenizer__report *r)
{
    static const uint32_t of[] = { 0,
                                   0,
                                   SAMBA_TOKENIZER__UNKNOWN,
                                   SAMBA_TOKENIZER__CONTROL,
                                   SAMBA_TOKENIZER__USER,
                                   0,
                                   SAMBA_TOKENIZER__BYTE };
    if (type < 1 || type == 5 || type > 6)
        return samba_tokenizer__fail(r,
                                     "piece %lu has the type %lu; known here are NORMAL, UNKNOWN, "
                                     "CONTROL, USER_DEFINED and BYTE",
                                     (unsigned long)id, (unsigned long)type);
    *flags = of[type];
    return true;
}

/* One piece, whose id is the number of tokens before it. */
static bool samba_tokenizer__read_piece(samba_tokenizer *t, const samba_tokenizer__field *piece,
                                        const samba_tokenizer__report *r)
{
    const uint8_t *p = piece->at, *end = p + piece->size;
    samba_tokenizer__field f, text;
    uint64_t type = 1;
    uint32_t bits = 0, flags = 0;
    size_t id = t->n_tokens;
    float score;
    memset(&text, 0, sizeof text);
    while (p < end) {
        if (!samba_tokenizer__read_field(&p, end, &f))
            return samba_tokenizer__damaged(r, "a piece");
        if (f.number == 1 && f.type == SAMBA_TOKENIZER__STRING) text = f;
        if (f.number == 2 && f.type == SAMBA_TOKENIZER__FIXED32) bits = (uint32_t)f.value;
        if (f.number == 3 && f.type == SAMBA_TOKENIZER__VARINT) type = f.value;
    }

    if (!samba_tokenizer__flags_of_type(type, id, &flags, r)) return false;
    memcpy(&score, &bits, sizeof score);
    if (!(score > -1e30f && score < 1e30f))
        return samba_tokenizer__fail(r, "the score of piece %lu is no number", (unsigned long)id);
    if (text.size
        && samba_tokenizer__first_bad(text.at, text.at + text.size) != text.at + text.size)
        return samba_tokenizer__fail(r, "piece %lu is not UTF-8", (unsigned long)id);
    if (!samba_tokenizer__put_piece_of(t, id, (const char *)text.at, text.size, flags, r))
        return false;

    t->score[id] = (double)score;
    if (flags & SAMBA_TOKENIZER__UNKNOWN) {
        if (t->unk >= 0) return samba_tokenizer__fail(r, "has two unknown pieces");
        t->unk = (int32_t)id;
    }
    if (!(flags & SAMBA_TOKENIZER__BYTE)) return true;
    int byte = samba_tokenizer__byte_of(text.at, text.size);
    if (byte < 0)
        return samba_tokenizer__fail(r, "piece %lu is a byte, but not <0x00> to <0xFF>",
                                     (unsigned long)id);
    t->fallback[byte] = (int32_t)id;
    return true;
}

/* Counts the pieces, and reads the specs. */
static bool samba_tokenizer__read_specs(samba_tokenizer *t, const uint8_t *p, const uint8_t *end,
                                        size_t *n, samba_tokenizer__specs *specs,
                                        const samba_tokenizer__report *r)
{
    samba_tokenizer__field f;
    *n = 0;
    while (p < end) {
        bool done = samba_tokenizer__read_field(&p, end, &f) || samba_tokenizer__damaged(r, "it");
        if (done && f.type == SAMBA_TOKENIZER__STRING) {
            *n += f.number == 1;
            if (f.number == 2) done = samba_tokenizer__read_trainer_spec(t, &f, specs, r);
            if (f.number == 3) done = samba_tokenizer__read_normalizer_spec(t, &f, specs, r);
            if (f.number == 5) specs->denormalizes = f.size > 0;
        }
        if (!done) return false;
    }
    return true;
}

/* Orders the scores: rank 0 is the highest, equal ones are equal. */
typedef struct samba_tokenizer__scored {
    double score;
    int32_t id;
} samba_tokenizer__scored;

static int samba_tokenizer__compare_scores(const void *a, const void *b)
{
    double x = ((const samba_tokenizer__scored *)a)->score;
    double y = ((const samba_tokenizer__scored *)b)->score;
    return (x < y) - (x > y);
}

static bool samba_tokenizer__rank_scores(samba_tokenizer *t)
{
    size_t n = t->n_scores;
    t->rank = (int32_t *)SAMBA_TOKENIZER_MALLOC((n + 1) * sizeof *t->rank);
    samba_tokenizer__scored *scored
        = (samba_tokenizer__scored *)SAMBA_TOKENIZER_MALLOC((n + 1) * sizeof *scored);
    if (!t->rank || !scored) {
        SAMBA_TOKENIZER_FREE(scored);
        return false;
    }

    for (size_t i = 0; i < n; i++) {
        scored[i].score = t->score[i];
        scored[i].id = (int32_t)i;
        if (t->token[i].size > t->longest_piece) t->longest_piece = t->token[i].size;
    }
    qsort(scored, n, sizeof *scored, samba_tokenizer__compare_scores);
    int32_t rank = 0;
    for (size_t i = 0; i < n; i++) {
        rank += i > 0 && scored[i].score < scored[i - 1].score;
        t->rank[scored[i].id] = rank;
    }
    SAMBA_TOKENIZER_FREE(scored);
    return true;
}

/* What the pieces are for: the tables that the model searches in. */
static bool samba_tokenizer__prepare_pieces(samba_tokenizer *t, const samba_tokenizer__report *r)
{
    /* sentencepiece begins with FLT_MIN, the smallest number above 0, not below all */
    double least = 0, most = 1.17549435e-38;
    bool any = false;
    for (size_t i = 0; i < t->n_scores; i++) {
        const samba_tokenizer__token *k = &t->token[i];
        bool user = k->flags & SAMBA_TOKENIZER__USER;
        if (user && !samba_tokenizer__trie_add(&t->user, t->bytes + k->at, k->size, (int32_t)i))
            return samba_tokenizer__no_memory(r);
        if (user || k->flags & SAMBA_TOKENIZER__RESERVED) continue;
        if (!any || t->score[i] < least) least = t->score[i];
        if (t->score[i] > most) most = t->score[i];
        any = true;
    }

    t->max_score = most;
    t->unk_score = (double)((float)least - 10.0f);
    if (t->model == SAMBA_TOKENIZER__UNIGRAM) return samba_tokenizer__add_pieces(t, r);
    return samba_tokenizer__rank_scores(t) || samba_tokenizer__no_memory(r);
}

/* Whether the specs are of a kind that is known here. */
static bool samba_tokenizer__check_specs(samba_tokenizer *t, const samba_tokenizer__specs *specs,
                                         const samba_tokenizer__report *r)
{
    t->model = specs->model_type == 2 ? SAMBA_TOKENIZER__PIECES : SAMBA_TOKENIZER__UNIGRAM;
    t->byte_fallback = specs->byte_fallback;
    if (specs->model_type != 1 && specs->model_type != 2)
        return samba_tokenizer__fail(r,
                                     "trainer_spec.model_type is %lu; known here are UNIGRAM (1) "
                                     "and BPE (2)",
                                     (unsigned long)specs->model_type);
    if (specs->suffix)
        return samba_tokenizer__fail(r,
                                     "trainer_spec.treat_whitespace_as_suffix is true, which is "
                                     "not known here");
    if (specs->denormalizes)
        return samba_tokenizer__fail(r, "has a denormalizer_spec, which is not known here");
    if (!specs->charsmap_size) return true;

    samba_tokenizer__step *step = &t->normalizer.step[t->normalizer.n++];
    memset(step, 0, sizeof *step);
    step->kind = SAMBA_TOKENIZER__PRECOMPILED;
    step->map = samba_tokenizer__open_charsmap(specs->charsmap, specs->charsmap_size, r);
    return step->map != NULL;
}

static bool samba_tokenizer__read_pieces(samba_tokenizer *t, const uint8_t *p, const uint8_t *end,
                                         size_t n, const samba_tokenizer__report *r)
{
    samba_tokenizer__field f;
    if (n == 0) return samba_tokenizer__damaged(r, "it, which has no piece,");
    if (n > SAMBA_TOKENIZER__MAX_IDS)
        return samba_tokenizer__fail(r, "has %lu tokens; at most %d are possible", (unsigned long)n,
                                     (int)SAMBA_TOKENIZER__MAX_IDS);
    if (!samba_tokenizer__new_scores(t, n)) return samba_tokenizer__no_memory(r);
    while (p < end && samba_tokenizer__read_field(&p, end, &f))
        if (f.number == 1 && f.type == SAMBA_TOKENIZER__STRING
            && !samba_tokenizer__read_piece(t, &f, r))
            return false;

    if (t->unk < 0) return samba_tokenizer__fail(r, "has no unknown piece");
    for (int b = 0; b < 256 && t->byte_fallback; b++)
        if (t->fallback[b] < 0)
            return samba_tokenizer__fail(r, "has no piece for the byte 0x%02X", (unsigned)b);
    return true;
}

/* The tokenizer of r->file. */
static bool samba_tokenizer__load_sentencepiece(samba_tokenizer *t,
                                                const samba_tokenizer__report *r)
{
    size_t size, n;
    samba_tokenizer__specs specs;
    memset(&specs, 0, sizeof specs);
    specs.model_type = 1;
    FILE *f = fopen(r->file, "rb");
    if (!f) return samba_tokenizer__fail(r, "cannot be opened: %s", strerror(errno));
    uint8_t *bytes = (uint8_t *)samba_tokenizer__read_all(f, &size, r);
    fclose(f);
    if (!bytes) return false;

    t->by_sentencepiece = t->dummy_prefix = t->strips_spaces = t->escapes_spaces = true;
    samba_tokenizer__free_steps(&t->words);
    bool done = samba_tokenizer__read_specs(t, bytes, bytes + size, &n, &specs, r)
        && samba_tokenizer__check_specs(t, &specs, r)
        && samba_tokenizer__read_pieces(t, bytes, bytes + size, n, r)
        && samba_tokenizer__prepare_pieces(t, r);
    SAMBA_TOKENIZER_FREE(bytes);
    if (!done || t->unk_text) return done;

    static const char surface[] = " \xE2\x81\x87 "; /* sentencepiece's kDefaultUnknownSymbol */
    t->unk_text_size = strlen(surface);
    t->unk_text = (uint8_t *)SAMBA_TOKENIZER_MALLOC(sizeof surface);
    if (!t->unk_text) return samba_tokenizer__no_memory(r);
    memcpy(t->unk_text, surface, sizeof surface);
    return true;
}

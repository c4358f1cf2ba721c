/* read_json.h - of tokenizer.h: tokenizer.json. */

/* ---- Opening --------------------------------------------------------------------------------- */

/* What a tokenizer.json says must be one of these, or nothing where that is allowed. */
typedef struct samba_tokenizer__rule {
    const char *key;
    const char *allowed; /* of: null, false, zero, empty, or a text; | between */
    bool needed;
} samba_tokenizer__rule;

static const samba_tokenizer__rule samba_tokenizer__bpe_rules[] = {
    { "dropout", "null|zero", false },
    { "continuing_subword_prefix", "null|empty", false },
    { "end_of_word_suffix", "null|empty", false },
    { "byte_fallback", "null|false|true", false },
    { "fuse_unk", "null|false|true", false },
    { "ignore_merges", "null|false|true", false },
};

static const samba_tokenizer__rule samba_tokenizer__unigram_rules[] = {
    { "byte_fallback", "null|false|true", false },
};

/* The models of a tokenizer.json, and the keys that each has. */
static const char samba_tokenizer__bpe_keys[]
    = "type|dropout|unk_token|continuing_subword_prefix|end_of_word_suffix|fuse_unk|byte_fallback|"
      "ignore_merges|vocab|merges";

static const char *const samba_tokenizer__model_keys[] = {
    samba_tokenizer__bpe_keys,
    "type|unk_id|vocab|byte_fallback",
    "type|unk_token|continuing_subword_prefix|max_input_chars_per_word|vocab",
};

/* What kind of value this is, in the words of the rules. */
static const char *samba_tokenizer__value(const cJSON *item)
{
    if (cJSON_IsNull(item)) return "null";
    if (cJSON_IsBool(item)) return cJSON_IsTrue(item) ? "true" : "false";
    if (cJSON_IsNumber(item)) return item->valuedouble == 0 ? "zero" : "a number other than 0";
    if (cJSON_IsString(item)) return item->valuestring[0] ? item->valuestring : "empty";
    if (cJSON_IsArray(item)) return item->child ? "an array" : "an empty array";
    return "an object";
}

static bool samba_tokenizer__is_allowed(const char *value, const char *allowed)
{
    size_t n = strlen(value);
    for (const char *p = allowed; p; p = strchr(p, '|'), p = p ? p + 1 : NULL)
        if (strncmp(p, value, n) == 0 && (p[n] == 0 || p[n] == '|')) return true;
    return false;
}

/* where: the path of the object and a dot, for the message. */
static bool samba_tokenizer__obeys(const cJSON *object, const char *where,
                                   const samba_tokenizer__rule *rule, size_t n,
                                   const samba_tokenizer__report *r)
{
    for (size_t i = 0; i < n; i++) {
        const cJSON *item;
        samba_tokenizer__shown shown;
        if (!samba_tokenizer__member(object, rule[i].key, &item, r)) return false;
        if (!item && !rule[i].needed) continue;
        const char *value = item ? samba_tokenizer__value(item) : "missing";
        if (!item || !samba_tokenizer__is_allowed(value, rule[i].allowed))
            return samba_tokenizer__fail(r, "%s%s is %s; known here: %s", where, rule[i].key,
                                         samba_tokenizer__show(&shown, value, strlen(value)),
                                         rule[i].allowed);
    }
    return true;
}

#define SAMBA_TOKENIZER__OBEYS(object, where, rules, r) \
    samba_tokenizer__obeys(object, where, rules, sizeof rules / sizeof rules[0], r)

/* A member that is true or false, or missing: false. */
static bool samba_tokenizer__read_flag(const cJSON *object, const char *key, bool *flag,
                                       const samba_tokenizer__report *r)
{
    const cJSON *item;
    if (!samba_tokenizer__member(object, key, &item, r)) return false;
    *flag = item && cJSON_IsTrue(item);
    return !item || cJSON_IsBool(item)
        ? true
        : samba_tokenizer__fail(r,
                                "added_tokens: %s is neither true nor "
                                "false",
                                key);
}

/* The id of the token that files write as this key; -1: none. False: out of memory. */
static bool samba_tokenizer__find_key(const samba_tokenizer *t, const char *key, int32_t *id)
{
    size_t size = strlen(key), n;
    uint8_t *bytes = (uint8_t *)SAMBA_TOKENIZER_MALLOC(size + 1);
    if (!bytes) return false;
    bool in_letters = t->model == SAMBA_TOKENIZER__BYTES;
    *id = in_letters && samba_tokenizer__unspell(key, size, bytes, &n)
        ? samba_tokenizer__find(t, bytes, n, 0)
        : samba_tokenizer__find(t, (const uint8_t *)key, size, SAMBA_TOKENIZER__RAW);
    SAMBA_TOKENIZER_FREE(bytes);
    return true;
}

/* Makes the token that files write as this key, and that is its text, special. */
static bool samba_tokenizer__add(samba_tokenizer *t, const char *key, int32_t id, uint32_t flags,
                                 const samba_tokenizer__report *r)
{
    size_t size = strlen(key);
    samba_tokenizer__shown shown;
    int32_t found;
    if (!samba_tokenizer__find_key(t, key, &found)) return samba_tokenizer__no_memory(r);
    samba_tokenizer__show(&shown, key, size);
    if (found >= 0 && found != id)
        return samba_tokenizer__fail(
            r, "the added token \"%s\" has the id %d, but %d in the vocabulary", shown.text,
            (int)id, (int)found);
    if (samba_tokenizer__find_special(t, key, size) >= 0)
        return samba_tokenizer__fail(r, "has the added token \"%s\" twice", shown.text);
    if (found >= 0 && !samba_tokenizer__is(t, found, key, size))
        return samba_tokenizer__fail(
            r,
            "the added token \"%s\" is, in the vocabulary, the spelling of "
            "other bytes; give it another text",
            shown.text);
    if (!samba_tokenizer__can_be_special(key, size, r)) return false;
    if (found < 0 && !samba_tokenizer__id_is_free(t, id, key, r)) return false;
    if (found < 0
        && !samba_tokenizer__put(t, id, (const uint8_t *)key, size,
                                 samba_tokenizer__raw_of(t, (const uint8_t *)key, size)))
        return samba_tokenizer__no_memory(r);
    return samba_tokenizer__make_special(t, id, flags, r);
}

/* An added token as files describe it: its text, and the flags LSTRIP, RSTRIP and LATE. */
static bool samba_tokenizer__describe(const cJSON *object, const char **text, uint32_t *flags,
                                      const samba_tokenizer__report *r)
{
    const cJSON *content;
    bool single_word, lstrip, rstrip, normalized;
    if (!samba_tokenizer__member(object, "content", &content, r)
        || !samba_tokenizer__read_flag(object, "single_word", &single_word, r)
        || !samba_tokenizer__read_flag(object, "lstrip", &lstrip, r)
        || !samba_tokenizer__read_flag(object, "rstrip", &rstrip, r)
        || !samba_tokenizer__read_flag(object, "normalized", &normalized, r))
        return false;
    if (!cJSON_IsString(content) || !content->valuestring[0])
        return samba_tokenizer__fail(r, "added_tokens: content is missing, empty or not a string");
    *text = content->valuestring;
    *flags = (uint32_t)lstrip * SAMBA_TOKENIZER__LSTRIP | (uint32_t)rstrip * SAMBA_TOKENIZER__RSTRIP
        | (uint32_t)normalized * SAMBA_TOKENIZER__LATE
        | (uint32_t)single_word * SAMBA_TOKENIZER__SINGLE;
    return true;
}

/* One of added_tokens; ids are below n. */
static bool samba_tokenizer__read_added(samba_tokenizer *t, const cJSON *object, size_t n,
                                        const samba_tokenizer__report *r)
{
    const cJSON *number;
    const char *text;
    uint32_t flags;
    int32_t id;
    if (!cJSON_IsObject(object)) return samba_tokenizer__fail(r, "added_tokens holds no objects");
    if (!samba_tokenizer__member(object, "id", &number, r)
        || !samba_tokenizer__describe(object, &text, &flags, r))
        return false;
    return samba_tokenizer__read_id(number, n, text, &id, r)
        && samba_tokenizer__add(t, text, id, flags, r);
}

/* The tokens of bytes, <0x00> to <0xFF>, as far as there are any. */
static void samba_tokenizer__find_fallback(samba_tokenizer *t)
{
    for (int b = 0; b < 256; b++) {
        char key[8];
        snprintf(key, sizeof key, "<0x%02X>", (unsigned)b);
        t->fallback[b] = samba_tokenizer__find_model(t, (const uint8_t *)key, 6);
    }
}

/* The token that unk_token names; -1 for null. */
static bool samba_tokenizer__read_unk(samba_tokenizer *t, const cJSON *model,
                                      const samba_tokenizer__report *r)
{
    const cJSON *item;
    samba_tokenizer__shown shown;
    if (!samba_tokenizer__member(model, "unk_token", &item, r)) return false;
    t->unk = -1;
    if (!item || cJSON_IsNull(item)) return true;
    if (!cJSON_IsString(item)) return samba_tokenizer__fail(r, "model.unk_token is no text");
    const char *text = item->valuestring;
    t->unk = samba_tokenizer__find_model(t, (const uint8_t *)text, strlen(text));
    return t->unk >= 0
        || samba_tokenizer__fail(r, "model.unk_token is \"%s\", which is not in the vocabulary",
                                 samba_tokenizer__show(&shown, text, strlen(text)));
}

static bool samba_tokenizer__load_bpe(samba_tokenizer *t, const cJSON *model, size_t more,
                                      const samba_tokenizer__report *r)
{
    const cJSON *vocab, *merges;
    bool bytes = t->model == SAMBA_TOKENIZER__BYTES;
    if (!SAMBA_TOKENIZER__OBEYS(model, "model.", samba_tokenizer__bpe_rules, r)
        || !samba_tokenizer__member(model, "vocab", &vocab, r)
        || !samba_tokenizer__member(model, "merges", &merges, r))
        return false;
    if (!vocab || !cJSON_IsObject(vocab))
        return samba_tokenizer__fail(r, "model.vocab is not an object");
    if (!merges || !cJSON_IsArray(merges))
        return samba_tokenizer__fail(r, "model.merges is not an array");

    t->ignore_merges = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(model, "ignore_merges"));
    t->fuse_unk = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(model, "fuse_unk"));
    t->byte_fallback = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(model, "byte_fallback"));
    if (!samba_tokenizer__read_vocabulary(t, vocab, more, r)
        || !samba_tokenizer__has_bytes(t, ' ', '~', r)
        || !samba_tokenizer__read_merge_array(t, merges, r))
        return false;
    if (bytes && samba_tokenizer__missing_byte(t, 0, 255) < 0) return true; /* none is unknown */
    if (!bytes) samba_tokenizer__find_fallback(t);
    return samba_tokenizer__read_unk(t, model, r);
}

/* Room for the scores of n ids, all 0. */
static bool samba_tokenizer__new_scores(samba_tokenizer *t, size_t n)
{
    t->score = (double *)SAMBA_TOKENIZER_MALLOC((n + 1) * sizeof *t->score);
    if (!t->score) return false;
    t->n_scores = n;
    for (size_t i = 0; i < n; i++)
        t->score[i] = 0;
    return true;
}

/* A token of the model, new, which is its own text. */
static bool samba_tokenizer__put_piece_of(samba_tokenizer *t, size_t id, const char *text, size_t n,
                                          uint32_t flags, const samba_tokenizer__report *r)
{
    samba_tokenizer__shown shown;
    if (n == 0) return samba_tokenizer__fail(r, "has a token without text (\"\")");
    if (samba_tokenizer__find(t, (const uint8_t *)text, n, SAMBA_TOKENIZER__RAW) >= 0)
        return samba_tokenizer__fail(r, "has the token \"%s\" twice",
                                     samba_tokenizer__show(&shown, text, n));
    flags |= SAMBA_TOKENIZER__RAW | SAMBA_TOKENIZER__OF_MODEL;
    return samba_tokenizer__put(t, (int32_t)id, (const uint8_t *)text, n, flags)
        || samba_tokenizer__no_memory(r);
}

/* The tokens of the model become the pieces that words are made of. */
static bool samba_tokenizer__add_pieces(samba_tokenizer *t, const samba_tokenizer__report *r)
{
    for (size_t i = 0; i < t->n_tokens; i++) {
        const samba_tokenizer__token *k = &t->token[i];
        if (!(k->flags & SAMBA_TOKENIZER__KNOWN) || k->flags & SAMBA_TOKENIZER__RESERVED) continue;
        if (!samba_tokenizer__trie_add(&t->pieces, t->bytes + k->at, k->size, (int32_t)i))
            return samba_tokenizer__no_memory(r);
    }
    return t->pieces.n_tokens > 0 || samba_tokenizer__fail(r, "has no pieces to make words of");
}

/* A number as tokenizers has it: its parser (serde_json) rounds the digits, and then once more when
   it divides by a power of ten, and a last bit decides between cuts of a word with equal scores. x
   is what the digits say; they are the fewest that do. */
static double samba_tokenizer__parsed_by_serde(double x)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, x);
        if (samba_base_number(text, NULL) == x) break;
    }

    uint64_t significand = 0;
    int after_point = -1;
    const char *p = text + (text[0] == '-');
    for (; *p && *p != 'e'; p++) {
        bool is_digit = *p >= '0' && *p <= '9';
        if (is_digit) significand = significand * 10 + (uint64_t)(*p - '0');
        after_point += is_digit;
    }
    int exponent = (int)strtol(p + 1, NULL, 10) - after_point;
    while (significand && significand % 10 == 0) {
        significand /= 10;
        exponent++;
    }
    if (exponent > 0) return x; /* whole numbers are not divided */

    double value = (double)significand, power = 1;
    for (int i = 0; i < -exponent && i < 22; i++)
        power *= 10; /* exact up to 10^22 */
    if (exponent < -22) return x;
    value /= power;
    return text[0] == '-' ? -value : value;
}

/* One [text, score] of a Unigram's vocabulary. */
static bool samba_tokenizer__read_scored(samba_tokenizer *t, const cJSON *entry, size_t id,
                                         const samba_tokenizer__report *r)
{
    const cJSON *text = cJSON_IsArray(entry) ? entry->child : NULL;
    const cJSON *score = text ? text->next : NULL;
    if (!score || score->next || !cJSON_IsString(text) || !cJSON_IsNumber(score)
        || !(score->valuedouble > -1e30 && score->valuedouble < 1e30))
        return samba_tokenizer__fail(r, "entry %lu of model.vocab is not [\"text\", score]",
                                     (unsigned long)id);
    t->score[id] = samba_tokenizer__parsed_by_serde(score->valuedouble);
    return samba_tokenizer__put_piece_of(t, id, text->valuestring, strlen(text->valuestring), 0, r);
}

static bool samba_tokenizer__load_unigram(samba_tokenizer *t, const cJSON *model, size_t more,
                                          const samba_tokenizer__report *r)
{
    const cJSON *vocab, *unk;
    size_t n = 0, id = 0;
    if (!SAMBA_TOKENIZER__OBEYS(model, "model.", samba_tokenizer__unigram_rules, r)
        || !samba_tokenizer__member(model, "vocab", &vocab, r)
        || !samba_tokenizer__member(model, "unk_id", &unk, r))
        return false;
    if (!vocab || !cJSON_IsArray(vocab) || !vocab->child)
        return samba_tokenizer__fail(r, "model.vocab is not an array of [\"text\", score]");
    for (const cJSON *i = vocab->child; i; i = i->next)
        n++;
    if (n + more > SAMBA_TOKENIZER__MAX_IDS)
        return samba_tokenizer__fail(r, "has %lu tokens; at most %d are possible",
                                     (unsigned long)(n + more), (int)SAMBA_TOKENIZER__MAX_IDS);

    if (!samba_tokenizer__new_scores(t, n)) return samba_tokenizer__no_memory(r);
    for (const cJSON *i = vocab->child; i; i = i->next)
        if (!samba_tokenizer__read_scored(t, i, id++, r)) return false;
    if (!samba_tokenizer__read_id(unk, n, "unk_id", &t->unk, r)
        || !samba_tokenizer__add_pieces(t, r))
        return false;

    t->byte_fallback = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(model, "byte_fallback"));
    samba_tokenizer__find_fallback(t);
    t->unk_score = t->score[0];
    for (size_t i = 1; i < n; i++)
        if (t->score[i] < t->unk_score) t->unk_score = t->score[i];
    t->unk_score -= 10; /* tokenizers' and sentencepiece's kUnkPenalty */
    return true;
}

/* WORDPIECE: the node from which the pieces within words are found. */
static void samba_tokenizer__find_inner(samba_tokenizer *t, const char *prefix)
{
    t->inner = 0;
    t->has_inner = true;
    for (const char *p = prefix; *p && t->has_inner; p++) {
        t->inner = samba_tokenizer__trie_step(&t->pieces, t->inner, (uint8_t)*p);
        t->has_inner = t->inner != 0;
    }
}

static bool samba_tokenizer__load_wordpiece(samba_tokenizer *t, const cJSON *model, size_t more,
                                            const samba_tokenizer__report *r)
{
    const cJSON *vocab, *prefix, *most;
    if (!samba_tokenizer__member(model, "vocab", &vocab, r)
        || !samba_tokenizer__member(model, "continuing_subword_prefix", &prefix, r)
        || !samba_tokenizer__member(model, "max_input_chars_per_word", &most, r))
        return false;
    if (!vocab || !cJSON_IsObject(vocab) || !vocab->child)
        return samba_tokenizer__fail(r, "model.vocab is not an object with tokens");
    if (prefix && !cJSON_IsString(prefix))
        return samba_tokenizer__fail(r, "model.continuing_subword_prefix is no text");
    double limit = most ? most->valuedouble : 100;
    if ((most && !cJSON_IsNumber(most)) || !(limit >= 0 && limit <= 1 << 20))
        return samba_tokenizer__fail(r, "model.max_input_chars_per_word is no number from 0 to %d",
                                     1 << 20);

    t->longest_word = (int32_t)limit;
    if (!samba_tokenizer__read_vocabulary(t, vocab, more, r)
        || !samba_tokenizer__read_unk(t, model, r) || !samba_tokenizer__add_pieces(t, r))
        return false;
    samba_tokenizer__find_inner(t, prefix ? prefix->valuestring : "##");
    return t->unk >= 0 || samba_tokenizer__fail(r, "model.unk_token is missing");
}

/* What the model is: its type, and whether its words are bytes. */
static bool samba_tokenizer__read_type(samba_tokenizer *t, const cJSON *model,
                                       const samba_tokenizer__report *r)
{
    const cJSON *item;
    samba_tokenizer__shown shown;
    if (!samba_tokenizer__member(model, "type", &item, r)) return false;
    const char *type = !item ? "BPE" : cJSON_IsString(item) ? item->valuestring : "no text";
    int which = strcmp(type, "BPE") == 0 ? 0
        : strcmp(type, "Unigram") == 0   ? 1
        : strcmp(type, "WordPiece") == 0 ? 2
                                         : -1;
    if (which < 0)
        return samba_tokenizer__fail(r,
                                     "model.type is %s; known here are BPE, Unigram and WordPiece",
                                     samba_tokenizer__show(&shown, type, strlen(type)));
    if (which > 0 && t->model == SAMBA_TOKENIZER__BYTES)
        return samba_tokenizer__fail(r,
                                     "model.type is %s, but pre_tokenizer is ByteLevel, which goes "
                                     "with BPE here",
                                     type);

    for (const cJSON *i = model->child; i; i = i->next)
        if (!samba_tokenizer__lists(samba_tokenizer__model_keys[which], i->string))
            return samba_tokenizer__fail(
                r, "model has the key \"%s\", which %s has not here",
                samba_tokenizer__show(&shown, i->string, strlen(i->string)), type);
    if (which == 1) t->model = SAMBA_TOKENIZER__UNIGRAM;
    if (which == 2) t->model = SAMBA_TOKENIZER__WORDPIECE;
    return true;
}

/* The special token that a post_processor puts before a text; NULL: none. */
static const char *samba_tokenizer__first_of(const cJSON *post)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(post, "type");
    const char *name = cJSON_IsString(type) ? type->valuestring : "";

    if (strcmp(name, "Sequence") == 0) {
        const cJSON *steps = cJSON_GetObjectItemCaseSensitive(post, "processors");
        const char *first = NULL;
        for (const cJSON *i = cJSON_IsArray(steps) ? steps->child : NULL; i && !first; i = i->next)
            first = samba_tokenizer__first_of(i);
        return first;
    }

    const cJSON *token = NULL;
    if (strcmp(name, "TemplateProcessing") == 0) {
        const cJSON *single = cJSON_GetObjectItemCaseSensitive(post, "single");
        const cJSON *begin = cJSON_IsArray(single) ? single->child : NULL;
        token = cJSON_GetObjectItemCaseSensitive(begin, "SpecialToken");
        token = cJSON_GetObjectItemCaseSensitive(token, "id");
    } else if (strcmp(name, "BertProcessing") == 0 || strcmp(name, "RobertaProcessing") == 0) {
        const cJSON *cls = cJSON_GetObjectItemCaseSensitive(post, "cls");
        token = cJSON_IsArray(cls) ? cls->child : NULL;
    }
    return cJSON_IsString(token) ? token->valuestring : NULL;
}

static bool samba_tokenizer__load_model(samba_tokenizer *t, const cJSON *json,
                                        const samba_tokenizer__report *r)
{
    const cJSON *model, *vocab, *added, *post;
    if (!samba_tokenizer__member(json, "model", &model, r)
        || !samba_tokenizer__member(json, "post_processor", &post, r))
        return false;
    if (!model || !cJSON_IsObject(model))
        return samba_tokenizer__fail(r, "has no object \"model\"");
    t->model = SAMBA_TOKENIZER__CHARS;
    samba_tokenizer__free_steps(&t->words);
    if (!samba_tokenizer__read_section(t, json, "normalizer", r)
        || !samba_tokenizer__read_section(t, json, "pre_tokenizer", r)
        || !samba_tokenizer__read_section(t, json, "decoder", r)
        || !samba_tokenizer__read_type(t, model, r)
        || !samba_tokenizer__member(model, "vocab", &vocab, r)
        || !samba_tokenizer__member(json, "added_tokens", &added, r))
        return false;
    if (added && !cJSON_IsNull(added) && !cJSON_IsArray(added))
        return samba_tokenizer__fail(r, "added_tokens is not an array");

    size_t n_added = samba_tokenizer__count(added), n = samba_tokenizer__count(vocab);
    bool done = t->model == SAMBA_TOKENIZER__UNIGRAM
        ? samba_tokenizer__load_unigram(t, model, n_added, r)
        : t->model == SAMBA_TOKENIZER__WORDPIECE
        ? samba_tokenizer__load_wordpiece(t, model, n_added, r)
        : samba_tokenizer__load_bpe(t, model, n_added, r);
    if (done && t->model == SAMBA_TOKENIZER__BYTES && t->decoder.n)
        done = samba_tokenizer__fail(r,
                                     "decoder is not ByteLevel, as pre_tokenizer is; that is not "
                                     "known here");
    for (const cJSON *i = added ? added->child : NULL; i && done; i = i->next)
        done = samba_tokenizer__read_added(t, i, n + n_added, r);

    const char *first = samba_tokenizer__first_of(post);
    t->first = done && first ? samba_tokenizer_id(t, first) : -1;
    return done;
}

/* Makes special what no word can become and what its key writes out. */
static bool samba_tokenizer__find_specials(samba_tokenizer *t, const samba_tokenizer__report *r)
{
    for (size_t i = 0; i < t->n_tokens; i++) {
        const samba_tokenizer__token *k = &t->token[i];
        if (!(k->flags & SAMBA_TOKENIZER__KNOWN) || k->flags & SAMBA_TOKENIZER__MADE) continue;
        if (!(k->flags & SAMBA_TOKENIZER__RAW) && samba_tokenizer__raw(t->bytes + k->at, k->size))
            continue;
        if (!samba_tokenizer__make_special(t, (int32_t)i, 0, r)) return false;
    }
    return true;
}

/* The vocabulary of r->file; more: how many ids other files may add; merges_txt: its path. */
static bool samba_tokenizer__load_pair(samba_tokenizer *t, const samba_tokenizer__report *r,
                                       const char *merges_txt, size_t more)
{
    samba_tokenizer__report of_merges = { r->why, r->size, merges_txt };
    cJSON *vocab = samba_tokenizer__read_json(r);
    bool done = vocab && samba_tokenizer__read_vocabulary(t, vocab, more, r)
        && samba_tokenizer__has_bytes(t, 0, 255, r) && samba_tokenizer__read_merges(t, &of_merges);
    cJSON_Delete(vocab);
    return done;
}

/* read_json.h - of tokenizer.h: tokenizer.json. */

/* ---- Opening --------------------------------------------------------------------------------- */

/* What a tokenizer.json says must be one of these, or nothing where that is allowed. */
typedef struct samba_tokenizer__rule {
    const char *key;
    const char *allowed; /* of: null, false, zero, empty, or a text; | between */
    bool needed;
} samba_tokenizer__rule;

static const samba_tokenizer__rule samba_tokenizer__model_rules[] = {
    { "type", "BPE", false },
    { "dropout", "null|zero", false },
    { "continuing_subword_prefix", "null|empty", false },
    { "end_of_word_suffix", "null|empty", false },
    { "byte_fallback", "null|false", false },
    { "ignore_merges", "null|false", false },
};

static const samba_tokenizer__rule samba_tokenizer__words_rules[] = {
    { "type", "ByteLevel", true },
    { "add_prefix_space", "false", true },
    { "use_regex", "null|true", false },
};

static const samba_tokenizer__rule samba_tokenizer__decoder_rules[]
    = { { "type", "ByteLevel", true } };

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
            return samba_tokenizer__fail(
                r, "%s%s is %s; GPT-2's tokenizer, the only one here, wants %s", where, rule[i].key,
                samba_tokenizer__show(&shown, value, strlen(value)), rule[i].allowed);
    }
    return true;
}

#define SAMBA_TOKENIZER__OBEYS(object, where, rules, r) \
    samba_tokenizer__obeys(object, where, rules, sizeof rules / sizeof rules[0], r)

/* The parts of a tokenizer.json that change ids, beside the model. */
static bool samba_tokenizer__check_parts(const cJSON *json, const samba_tokenizer__report *r)
{
    const cJSON *normalizer, *words, *decoder;
    if (!samba_tokenizer__member(json, "normalizer", &normalizer, r)
        || !samba_tokenizer__member(json, "pre_tokenizer", &words, r)
        || !samba_tokenizer__member(json, "decoder", &decoder, r))
        return false;
    if (normalizer && !cJSON_IsNull(normalizer))
        return samba_tokenizer__fail(r,
                                     "has a normalizer; GPT-2's tokenizer, the only one here, has "
                                     "none");
    if (!words || !cJSON_IsObject(words))
        return samba_tokenizer__fail(r, "has no pre_tokenizer; expected one of type ByteLevel");
    if (!SAMBA_TOKENIZER__OBEYS(words, "pre_tokenizer.", samba_tokenizer__words_rules, r))
        return false;
    if (!decoder || cJSON_IsNull(decoder)) return true;
    if (!cJSON_IsObject(decoder)) return samba_tokenizer__fail(r, "decoder is not an object");
    return SAMBA_TOKENIZER__OBEYS(decoder, "decoder.", samba_tokenizer__decoder_rules, r);
}

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
    *id = samba_tokenizer__unspell(key, size, bytes, &n)
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
                                 samba_tokenizer__raw((const uint8_t *)key, size)))
        return samba_tokenizer__no_memory(r);
    return samba_tokenizer__make_special(t, id, flags, r);
}

/* An added token as files describe it: its text, and the flags LSTRIP, RSTRIP and LATE. */
static bool samba_tokenizer__describe(const cJSON *object, const char **text, uint32_t *flags,
                                      const samba_tokenizer__report *r)
{
    const cJSON *content;
    bool single_word, lstrip, rstrip, normalized;
    samba_tokenizer__shown shown;
    if (!samba_tokenizer__member(object, "content", &content, r)
        || !samba_tokenizer__read_flag(object, "single_word", &single_word, r)
        || !samba_tokenizer__read_flag(object, "lstrip", &lstrip, r)
        || !samba_tokenizer__read_flag(object, "rstrip", &rstrip, r)
        || !samba_tokenizer__read_flag(object, "normalized", &normalized, r))
        return false;
    if (!cJSON_IsString(content) || !content->valuestring[0])
        return samba_tokenizer__fail(r, "added_tokens: content is missing, empty or not a string");
    *text = content->valuestring;
    if (single_word)
        return samba_tokenizer__fail(
            r, "the added token \"%s\" has single_word, which is not known here",
            samba_tokenizer__show(&shown, *text, strlen(*text)));
    *flags = (uint32_t)lstrip * SAMBA_TOKENIZER__LSTRIP | (uint32_t)rstrip * SAMBA_TOKENIZER__RSTRIP
        | (uint32_t)normalized * SAMBA_TOKENIZER__LATE;
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

static bool samba_tokenizer__load_model(samba_tokenizer *t, const cJSON *json,
                                        const samba_tokenizer__report *r)
{
    const cJSON *model, *vocab, *merges, *added;
    if (!samba_tokenizer__member(json, "model", &model, r)) return false;
    if (!model || !cJSON_IsObject(model))
        return samba_tokenizer__fail(r, "has no object \"model\"");
    if (!SAMBA_TOKENIZER__OBEYS(model, "model.", samba_tokenizer__model_rules, r)
        || !samba_tokenizer__check_parts(json, r)
        || !samba_tokenizer__member(model, "vocab", &vocab, r)
        || !samba_tokenizer__member(model, "merges", &merges, r)
        || !samba_tokenizer__member(json, "added_tokens", &added, r))
        return false;
    if (!vocab || !cJSON_IsObject(vocab))
        return samba_tokenizer__fail(r, "model.vocab is not an object");
    if (!merges || !cJSON_IsArray(merges))
        return samba_tokenizer__fail(r, "model.merges is not an array");
    if (added && !cJSON_IsNull(added) && !cJSON_IsArray(added))
        return samba_tokenizer__fail(r, "added_tokens is not an array");
    size_t n_added = 0, n = 0;
    for (const cJSON *i = added ? added->child : NULL; i; i = i->next)
        n_added++;
    for (const cJSON *i = vocab->child; i; i = i->next)
        n++;
    if (!samba_tokenizer__read_vocabulary(t, vocab, n_added, r)
        || !samba_tokenizer__read_merge_array(t, merges, r))
        return false;
    for (const cJSON *i = added ? added->child : NULL; i; i = i->next)
        if (!samba_tokenizer__read_added(t, i, n + n_added, r)) return false;
    return true;
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
        && samba_tokenizer__read_merges(t, &of_merges);
    cJSON_Delete(vocab);
    return done;
}

/* settings.h - of tokenizer.h: tokenizer_config.json and the like. */

/* ---- What a model's other files say of its tokenizer --------------------------------------------

   tokenizer_config.json, special_tokens_map.json, added_tokens.json and config.json, as Hugging
   Face's transformers reads them: what is taken here gives the ids of its releases 5 and, unless
   special tokens are parts of each other, 4.57. What this tokenizer cannot do, and what these two
   do not agree on, is refused by its key. */

enum {
    SAMBA_TOKENIZER__CONFIG,
    SAMBA_TOKENIZER__MAP,
    SAMBA_TOKENIZER__ADDED,
    SAMBA_TOKENIZER__MODEL,
    SAMBA_TOKENIZER__FILES
};

static const char *const samba_tokenizer__file[SAMBA_TOKENIZER__FILES] = {
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "config.json",
};

typedef struct samba_tokenizer__settings {
    cJSON *json[SAMBA_TOKENIZER__FILES]; /* NULL: there is no such file */
    char *path[SAMBA_TOKENIZER__FILES];
    int kind; /* of the vocabulary: PAIR, JSON, MODEL or TXT */
    bool has_tokenizer_json;
    bool has_class;      /* a file names the class, or the model */
    bool gives_defaults; /* it names <|endoftext|> where nothing else does */
} samba_tokenizer__settings;

/* The vocabulary that a folder has. */
enum {
    SAMBA_TOKENIZER__JSON,       /* tokenizer.json */
    SAMBA_TOKENIZER__PAIR,       /* vocab.json and merges.txt */
    SAMBA_TOKENIZER__MODEL_FILE, /* tokenizer.model */
    SAMBA_TOKENIZER__TXT         /* vocab.txt */
};

/* Any of these is GPT-2's tokenizer; the last two only as the name of a tokenizer.json. */
static const char *const samba_tokenizer__classes[] = {
    "GPT2Tokenizer",        "GPT2TokenizerFast",       "CodeGenTokenizer",
    "CodeGenTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend",
};

enum { SAMBA_TOKENIZER__GPT2_CLASSES = 4, SAMBA_TOKENIZER__CLASSES = 6 };

/* Classes, without Fast, that take a tokenizer.json as it is, but for what config_rules say. */
static const char *const samba_tokenizer__json_classes[] = {
    "LlamaTokenizer",   "Qwen2Tokenizer",      "GemmaTokenizer",  "BertTokenizer",
    "T5Tokenizer",      "XLMRobertaTokenizer", "AlbertTokenizer", "DistilBertTokenizer",
    "GPTNeoXTokenizer", "CohereTokenizer",     "BloomTokenizer",
};

/* Classes of the other files: tokenizer.model, vocab.txt. */
static const char *const samba_tokenizer__model_classes[] = { "LlamaTokenizer", "GemmaTokenizer" };

static const char *const samba_tokenizer__txt_classes[]
    = { "BertTokenizer", "DistilBertTokenizer" };

/* Models that have these classes when no file names one. */
static const char *const samba_tokenizer__json_models[] = {
    "llama",     "mistral",     "mixtral",     "qwen2", "qwen2_moe",  "qwen3",
    "qwen3_moe", "gemma",       "gemma2",      "bert",  "distilbert", "t5",
    "mt5",       "xlm-roberta", "albert",      "bloom", "cohere",     "gpt_neox",
    "phi3",      "deepseek_v2", "deepseek_v3", "olmo",  "olmo2",      "smollm3",
};

static const char *const samba_tokenizer__model_models[]
    = { "llama", "mistral", "mixtral", "gemma" };

static const char *const samba_tokenizer__txt_models[] = { "bert", "distilbert" };

/* The models for which transformers takes GPT-2's tokenizer when no class is named. */
static const char *const samba_tokenizer__models[] = {
    "gpt2",         "gpt_neo",           "gptj", "opt",  "codegen", "phi", "starcoder2", "blip-2",
    "instructblip", "instructblipvideo", "dbrx", "emu3",
};

static const samba_tokenizer__rule samba_tokenizer__byte_rules[] = {
    { "add_prefix_space", "null|false", false },
    { "do_lower_case", "null|false", false },
};

static const samba_tokenizer__rule samba_tokenizer__config_rules[] = {
    { "split_special_tokens", "null|false", false },
    { "init_inputs", "null|an empty array", false },
    { "auto_map", "null", false },
};

/* The keys of special tokens; those that are not in the vocabulary get ids in this order. */
static const char *const samba_tokenizer__keys[] = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token",
};

enum { SAMBA_TOKENIZER__KEYS = 7, SAMBA_TOKENIZER__KEYS_WITH_DEFAULT = 3 };

static const char samba_tokenizer__default[] = "<|endoftext|>";

static bool samba_tokenizer__is_one_of(const char *text, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(text, list[i]) == 0) return true;
    return false;
}

static samba_tokenizer__report samba_tokenizer__of_file(const samba_tokenizer__settings *s,
                                                        int which, const samba_tokenizer__report *r)
{
    samba_tokenizer__report of = { r->why, r->size, s->path[which] };
    return of;
}

/* The text of a special token, which may be an object; NULL for null, or none. */
static const char *samba_tokenizer__text_of(const cJSON *item)
{
    if (cJSON_IsObject(item)) item = cJSON_GetObjectItemCaseSensitive(item, "content");
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

#define SAMBA_TOKENIZER__ONE_OF(text, list) \
    samba_tokenizer__is_one_of(text, samba_tokenizer__##list, \
                               sizeof samba_tokenizer__##list / sizeof samba_tokenizer__##list[0])

/* Whether a vocabulary of this kind goes with a class. */
static bool samba_tokenizer__goes_with(const samba_tokenizer__settings *s, const char *name)
{
    char plain[64];
    size_t n = strlen(name);
    snprintf(plain, sizeof plain, "%s", name);
    if (n > 4 && n < sizeof plain && strcmp(name + n - 4, "Fast") == 0) plain[n - 4] = 0;
    if (s->kind == SAMBA_TOKENIZER__MODEL_FILE)
        return SAMBA_TOKENIZER__ONE_OF(plain, model_classes);
    if (s->kind == SAMBA_TOKENIZER__TXT) return SAMBA_TOKENIZER__ONE_OF(plain, txt_classes);
    return samba_tokenizer__is_one_of(name, samba_tokenizer__classes,
                                      s->has_tokenizer_json ? SAMBA_TOKENIZER__CLASSES
                                                            : SAMBA_TOKENIZER__GPT2_CLASSES)
        || (s->has_tokenizer_json && SAMBA_TOKENIZER__ONE_OF(plain, json_classes));
}

/* The class to name where this kind of vocabulary says all. */
static const char *samba_tokenizer__class_to_name(const samba_tokenizer__settings *s)
{
    static const char *const name[]
        = { "PreTrainedTokenizerFast", "GPT2Tokenizer", "LlamaTokenizer", "BertTokenizer" };
    return name[s->kind];
}

/* Whether a class that a file names is one of those. *said: it names one. */
static bool samba_tokenizer__check_named_class(samba_tokenizer__settings *s, int which, bool *said,
                                               const samba_tokenizer__report *r)
{
    samba_tokenizer__report of = samba_tokenizer__of_file(s, which, r);
    const cJSON *item = NULL;
    samba_tokenizer__shown shown;
    if (s->json[which] && !samba_tokenizer__member(s->json[which], "tokenizer_class", &item, &of))
        return false;
    *said = item && !cJSON_IsNull(item);
    if (!*said) return true;

    const char *name = cJSON_IsString(item) ? item->valuestring : "no text";
    s->has_class = true;
    s->gives_defaults
        = samba_tokenizer__is_one_of(name, samba_tokenizer__classes, SAMBA_TOKENIZER__GPT2_CLASSES);
    if (samba_tokenizer__goes_with(s, name)) return true;
    return samba_tokenizer__fail(
        &of,
        "tokenizer_class is %s, which is not known here with this vocabulary; if the files say all, "
        "name %s",
        samba_tokenizer__show(&shown, name, strlen(name)), samba_tokenizer__class_to_name(s));
}

/* Whether a vocabulary of this kind goes with a model. *is_gpt2: its class is GPT-2's. */
static bool samba_tokenizer__is_of_model(const samba_tokenizer__settings *s, const char *model,
                                         bool *is_gpt2)
{
    *is_gpt2 = false;
    if (s->kind == SAMBA_TOKENIZER__MODEL_FILE) return SAMBA_TOKENIZER__ONE_OF(model, model_models);
    if (s->kind == SAMBA_TOKENIZER__TXT) return SAMBA_TOKENIZER__ONE_OF(model, txt_models);
    *is_gpt2 = SAMBA_TOKENIZER__ONE_OF(model, models);
    return *is_gpt2 || (s->has_tokenizer_json && SAMBA_TOKENIZER__ONE_OF(model, json_models));
}

/* The class that transformers would take; where no file names one, by the model. */
static bool samba_tokenizer__check_class(samba_tokenizer__settings *s,
                                         const samba_tokenizer__report *r)
{
    samba_tokenizer__report of = samba_tokenizer__of_file(s, SAMBA_TOKENIZER__MODEL, r);
    const cJSON *model = NULL;
    samba_tokenizer__shown shown;
    bool said;
    s->gives_defaults = s->kind == SAMBA_TOKENIZER__PAIR;
    if (!samba_tokenizer__check_named_class(s, SAMBA_TOKENIZER__CONFIG, &said, r)) return false;
    if (said) return true;
    if (!samba_tokenizer__check_named_class(s, SAMBA_TOKENIZER__MODEL, &said, r)) return false;
    if (said || !s->json[SAMBA_TOKENIZER__MODEL]) return true;
    if (!samba_tokenizer__member(s->json[SAMBA_TOKENIZER__MODEL], "model_type", &model, &of))
        return false;
    if (!model || !cJSON_IsString(model)) return true;

    s->has_class = true;
    if (samba_tokenizer__is_of_model(s, model->valuestring, &s->gives_defaults)) return true;
    return samba_tokenizer__fail(
        &of,
        "model_type is %s, whose tokenizer is not known here with this vocabulary; if the files say "
        "all, say \"tokenizer_class\": \"%s\" in tokenizer_config.json",
        samba_tokenizer__show(&shown, model->valuestring, strlen(model->valuestring)),
        samba_tokenizer__class_to_name(s));
}

/* Whether BERT's options, which transformers puts above what tokenizer.json says, say the same. */
static bool samba_tokenizer__check_lower_case(const samba_tokenizer *t, const cJSON *config,
                                              const samba_tokenizer__report *r)
{
    const cJSON *item;
    bool lower = false;
    if (!samba_tokenizer__member(config, "do_lower_case", &item, r)) return false;
    for (int i = 0; i < t->normalizer.n; i++)
        lower = lower || t->normalizer.step[i].kind == SAMBA_TOKENIZER__LOWERCASE;
    if (!cJSON_IsBool(item) || cJSON_IsTrue(item) == lower) return true;
    return samba_tokenizer__fail(r,
                                 "do_lower_case is not what the normalizer of tokenizer.json says; "
                                 "make them the same");
}

/* The keys of tokenizer_config.json that change ids, and which files do not say otherwise. */
static bool samba_tokenizer__check_config(const samba_tokenizer *t,
                                          const samba_tokenizer__settings *s,
                                          const samba_tokenizer__report *r)
{
    const cJSON *config = s->json[SAMBA_TOKENIZER__CONFIG];
    samba_tokenizer__report of = samba_tokenizer__of_file(s, SAMBA_TOKENIZER__CONFIG, r);
    if (!config) return true;
    if (!SAMBA_TOKENIZER__OBEYS(config, "", samba_tokenizer__config_rules, &of)) return false;
    if (t->model == SAMBA_TOKENIZER__BYTES)
        return SAMBA_TOKENIZER__OBEYS(config, "", samba_tokenizer__byte_rules, &of);
    if (t->model == SAMBA_TOKENIZER__WORDPIECE && s->has_tokenizer_json)
        return samba_tokenizer__check_lower_case(t, config, &of);
    return true;
}

/* Makes a text special that a key names. One that is not in the vocabulary gets the next id. */
static bool samba_tokenizer__add_text(samba_tokenizer *t, const char *key, const char *text,
                                      uint32_t flags, const samba_tokenizer__report *r)
{
    samba_tokenizer__shown shown;
    int32_t id = samba_tokenizer__find_special(t, text, strlen(text));
    uint32_t known = id >= 0 ? t->token[id].flags : 0;
    if (id >= 0 && (!(known & SAMBA_TOKENIZER__NAMED) || (known & SAMBA_TOKENIZER__HOW) == flags))
        return true;
    if (id >= 0)
        return samba_tokenizer__fail(
            r,
            "%s: lstrip, rstrip or normalized of \"%s\" is not what another "
            "key says; make them the same",
            key, samba_tokenizer__show(&shown, text, strlen(text)));
    if (!samba_tokenizer__find_key(t, text, &id)) return samba_tokenizer__no_memory(r);
    if (id < 0 && t->n_tokens >= SAMBA_TOKENIZER__MAX_IDS)
        return samba_tokenizer__fail(r, "%s would be one token too many", key);
    if (id < 0) id = (int32_t)t->n_tokens;
    if (!samba_tokenizer__add(t, text, id, flags, r)) return false;
    t->token[id].flags |= SAMBA_TOKENIZER__NAMED;
    return true;
}

/* The same of a key's value: a text, an object, or null. */
static bool samba_tokenizer__add_named(samba_tokenizer *t, const char *key, const cJSON *item,
                                       const samba_tokenizer__report *r)
{
    const char *text = samba_tokenizer__text_of(item);
    uint32_t flags = 0;
    if (cJSON_IsNull(item)) return true;
    if (!text || !*text)
        return samba_tokenizer__fail(r, "%s is neither a text nor an object with content", key);
    if (cJSON_IsObject(item) && !samba_tokenizer__describe(item, &text, &flags, r)) return false;
    return samba_tokenizer__add_text(t, key, text, flags, r);
}

/* What the two files say of a key in *item; NULL: nothing. False: they contradict each other, or
   one says nothing though it has added_tokens_decoder: then transformers ignores the other. */
static bool samba_tokenizer__find_named(const samba_tokenizer__settings *s, const char *key,
                                        const cJSON **item, const samba_tokenizer__report *r)
{
    bool has_decoder
        = cJSON_HasObjectItem(s->json[SAMBA_TOKENIZER__CONFIG], "added_tokens_decoder");
    samba_tokenizer__report of[2];
    const cJSON *said[2] = { NULL, NULL };
    for (int i = SAMBA_TOKENIZER__CONFIG; i <= SAMBA_TOKENIZER__MAP; i++) {
        of[i] = samba_tokenizer__of_file(s, i, r);
        if (s->json[i] && !samba_tokenizer__member(s->json[i], key, &said[i], &of[i])) return false;
    }
    *item = said[1] && !has_decoder ? said[1] : said[0];
    if (!said[1] || (!said[0] && !has_decoder)) return true;
    samba_tokenizer__shown shown[2];
    const char *text[2];
    for (int i = 0; i < 2; i++) {
        text[i] = samba_tokenizer__text_of(said[i]);
        if (!text[i]) text[i] = said[i] ? "null" : "nothing";
        samba_tokenizer__show(&shown[i], text[i], strlen(text[i]));
    }
    if (strcmp(text[0], text[1]) == 0) return true;
    return samba_tokenizer__fail(&of[1],
                                 "%s is %s, but %s in tokenizer_config.json; make them the same",
                                 key, shown[1].text, shown[0].text);
}

/* What the class takes for a key that no file has. */
static bool samba_tokenizer__add_default(samba_tokenizer *t, const samba_tokenizer__settings *s,
                                         const char *key, const samba_tokenizer__report *r)
{
    int32_t id = samba_tokenizer__find_special(t, samba_tokenizer__default,
                                               strlen(samba_tokenizer__default));
    if (id >= 0 && !s->has_tokenizer_json
        && t->token[id].flags & (SAMBA_TOKENIZER__LSTRIP | SAMBA_TOKENIZER__RSTRIP))
        return samba_tokenizer__fail(r,
                                     "%s has lstrip or rstrip, but no key says that it is %s; "
                                     "releases of transformers differ in what they make of that",
                                     samba_tokenizer__default, key);
    return samba_tokenizer__add_text(t, key, samba_tokenizer__default, 0, r);
}

/* bos_token and the like, of both files. */
static bool samba_tokenizer__add_keys(samba_tokenizer *t, const samba_tokenizer__settings *s,
                                      const samba_tokenizer__report *r)
{
    samba_tokenizer__report of = samba_tokenizer__of_file(
        s, s->json[SAMBA_TOKENIZER__CONFIG] ? SAMBA_TOKENIZER__CONFIG : SAMBA_TOKENIZER__MAP, r);
    for (int k = 0; k < SAMBA_TOKENIZER__KEYS; k++) {
        const char *key = samba_tokenizer__keys[k];
        const cJSON *item;
        if (!samba_tokenizer__find_named(s, key, &item, r)) return false;
        if (item) {
            if (!samba_tokenizer__add_named(t, key, item, &of)) return false;
        } else if (s->gives_defaults && k < SAMBA_TOKENIZER__KEYS_WITH_DEFAULT) {
            if (!samba_tokenizer__add_default(t, s, key, &of)) return false;
        }
    }
    return true;
}

/* Lists of special tokens, and keys of the model's own that end in _token. */
static bool samba_tokenizer__add_extra(samba_tokenizer *t, const samba_tokenizer__settings *s,
                                       int which, const samba_tokenizer__report *r)
{
    static const char *const list[2] = { "additional_special_tokens", "extra_special_tokens" };
    samba_tokenizer__report of = samba_tokenizer__of_file(s, which, r);
    samba_tokenizer__shown shown;
    const cJSON *config = s->json[SAMBA_TOKENIZER__CONFIG];
    bool ignored = which == SAMBA_TOKENIZER__MAP
        && (cJSON_HasObjectItem(config, "added_tokens_decoder")
            || cJSON_HasObjectItem(config, list[0]) || cJSON_HasObjectItem(config, list[1]));
    for (int k = 0; k < 2; k++) {
        const cJSON *item;
        if (!samba_tokenizer__member(s->json[which], list[k], &item, &of)) return false;
        if (!item || cJSON_IsNull(item)) continue;
        if (!cJSON_IsArray(item) && !(k && cJSON_IsObject(item)))
            return samba_tokenizer__fail(&of, "%s is no list of tokens", list[k]);
        for (const cJSON *i = item->child; i; i = i->next) {
            const char *text = samba_tokenizer__text_of(i);
            if (ignored && text && samba_tokenizer__find_special(t, text, strlen(text)) < 0)
                return samba_tokenizer__fail(&of,
                                             "%s: tokenizer_config.json lists special tokens, too, "
                                             "and lacks \"%s\"; make them the same",
                                             list[k],
                                             samba_tokenizer__show(&shown, text, strlen(text)));
            if (!samba_tokenizer__add_named(t, list[k], i, &of)) return false;
        }
    }
    for (const cJSON *i = s->json[which]->child; i; i = i->next) {
        size_t n = strlen(i->string);
        const char *text = samba_tokenizer__text_of(i);
        if (n < 6 || strcmp(i->string + n - 6, "_token") != 0 || !text) continue;
        if (samba_tokenizer__is_one_of(i->string, samba_tokenizer__keys, SAMBA_TOKENIZER__KEYS))
            continue;
        if (samba_tokenizer__find_special(t, text, strlen(text)) >= 0) continue;
        return samba_tokenizer__fail(&of,
                                     "%s: no other key makes \"%s\" a special token; name it in "
                                     "extra_special_tokens or take it out",
                                     i->string, samba_tokenizer__show(&shown, text, strlen(text)));
    }
    return true;
}

/* One of added_tokens_decoder, "id": { "content": ... }; ids are below n. */
static bool samba_tokenizer__read_decoder_entry(samba_tokenizer *t, const cJSON *entry, size_t n,
                                                const samba_tokenizer__report *r)
{
    const char *text;
    char *end;
    uint32_t flags;
    samba_tokenizer__shown shown;
    unsigned long id = strtoul(entry->string, &end, 10);
    samba_tokenizer__show(&shown, entry->string, strlen(entry->string));
    if (entry->string[0] < '0' || entry->string[0] > '9' || *end || id >= n)
        return samba_tokenizer__fail(r, "added_tokens_decoder: \"%s\" is no id from 0 to %lu",
                                     shown.text, (unsigned long)(n - 1));
    if (!cJSON_IsObject(entry))
        return samba_tokenizer__fail(r, "added_tokens_decoder: \"%s\" is no object", shown.text);
    if (!samba_tokenizer__describe(entry, &text, &flags, r)) return false;
    int32_t found = samba_tokenizer__find_special(t, text, strlen(text));
    if (found < 0) return samba_tokenizer__add(t, text, (int32_t)id, flags, r);
    samba_tokenizer__show(&shown, text, strlen(text));
    if (found != (int32_t)id)
        return samba_tokenizer__fail(r,
                                     "added_tokens_decoder: \"%s\" has the id %lu, but %d in the "
                                     "vocabulary",
                                     shown.text, id, (int)found);
    if ((t->token[found].flags & SAMBA_TOKENIZER__HOW) != flags)
        return samba_tokenizer__fail(
            r,
            "added_tokens_decoder: lstrip, rstrip or normalized of \"%s\" is "
            "not what tokenizer.json says",
            shown.text);
    return true;
}

/* Whether tokenizer_config.json or special_tokens_map.json names this text as special, in the eyes
   of transformers: an object in the former does not count. */
static bool samba_tokenizer__is_named(const samba_tokenizer__settings *s, const char *text)
{
    for (int which = SAMBA_TOKENIZER__CONFIG; which <= SAMBA_TOKENIZER__MAP; which++) {
        for (const cJSON *i = s->json[which] ? s->json[which]->child : NULL; i; i = i->next) {
            const char *one = samba_tokenizer__text_of(i);
            if (which == SAMBA_TOKENIZER__CONFIG && cJSON_IsObject(i)) continue;
            if (samba_tokenizer__is_one_of(i->string, samba_tokenizer__keys, SAMBA_TOKENIZER__KEYS)
                && one && strcmp(one, text) == 0)
                return true;
            if (!strstr(i->string, "_special_tokens")) continue;
            for (const cJSON *k = i->child; k; k = k->next)
                if ((one = samba_tokenizer__text_of(k)) != NULL && strcmp(one, text) == 0)
                    return true;
        }
    }
    return false;
}

/* added_tokens.json, "token": id; ids are below n. Tokens that nothing names are sought late. */
static bool samba_tokenizer__read_added_file(samba_tokenizer *t, const samba_tokenizer__settings *s,
                                             bool known, size_t n, const samba_tokenizer__report *r)
{
    samba_tokenizer__report of = samba_tokenizer__of_file(s, SAMBA_TOKENIZER__ADDED, r);
    const cJSON *json = s->json[SAMBA_TOKENIZER__ADDED];
    samba_tokenizer__shown shown;
    for (const cJSON *i = json ? json->child : NULL; i; i = i->next) {
        int32_t id, found;
        if (!i->string[0]) return samba_tokenizer__fail(&of, "has a token without text (\"\")");
        if (!samba_tokenizer__read_id(i, n, i->string, &id, &of)) return false;
        found = samba_tokenizer__find_special(t, i->string, strlen(i->string));
        if (found == id) continue;
        if (known && found < 0)
            return samba_tokenizer__fail(
                &of,
                "\"%s\" is not in added_tokens_decoder of "
                "tokenizer_config.json; make them the same",
                samba_tokenizer__show(&shown, i->string, strlen(i->string)));
        if (!samba_tokenizer__add(
                t, i->string, id,
                samba_tokenizer__is_named(s, i->string) ? 0 : SAMBA_TOKENIZER__LATE, &of))
            return false;
    }
    return true;
}

/* How many ids the settings may add to the vocabulary. */
static size_t samba_tokenizer__count_added(const samba_tokenizer__settings *s)
{
    return samba_tokenizer__count(s->json[SAMBA_TOKENIZER__ADDED])
        + samba_tokenizer__count(cJSON_GetObjectItemCaseSensitive(s->json[SAMBA_TOKENIZER__CONFIG],
                                                                  "added_tokens_decoder"));
}

/* What texts begin with, beyond what tokenizer.json says: the class of a tokenizer.model puts
   bos_token there, and so does add_bos_token, which may also forbid it. */
static bool samba_tokenizer__choose_first(samba_tokenizer *t, const samba_tokenizer__settings *s,
                                          const samba_tokenizer__report *r)
{
    samba_tokenizer__report of = samba_tokenizer__of_file(s, SAMBA_TOKENIZER__CONFIG, r);
    const cJSON *adds = NULL, *bos = NULL;
    if (s->json[SAMBA_TOKENIZER__CONFIG]
        && !samba_tokenizer__member(s->json[SAMBA_TOKENIZER__CONFIG], "add_bos_token", &adds, &of))
        return false;
    if (!samba_tokenizer__find_named(s, "bos_token", &bos, r)) return false;

    const char *text = samba_tokenizer__text_of(bos);
    bool of_model = s->kind == SAMBA_TOKENIZER__MODEL_FILE;
    if (!text && of_model) text = "<s>";
    int32_t id = text ? samba_tokenizer_id(t, text) : -1;

    if (cJSON_IsTrue(adds) || (of_model && !cJSON_IsFalse(adds))) t->first = id;
    if (cJSON_IsFalse(adds) && t->first == id) t->first = -1;
    if (s->kind == SAMBA_TOKENIZER__TXT) t->first = samba_tokenizer_id(t, "[CLS]");
    return true;
}

/* Adds what the files name to the tokens of the vocabulary, which is read. */
static bool samba_tokenizer__apply(samba_tokenizer *t, const samba_tokenizer__settings *s,
                                   const samba_tokenizer__report *r)
{
    samba_tokenizer__report of = samba_tokenizer__of_file(s, SAMBA_TOKENIZER__CONFIG, r);
    size_t n = t->n_tokens + samba_tokenizer__count_added(s);
    const cJSON *decoder = NULL;
    bool named = s->json[SAMBA_TOKENIZER__CONFIG] || s->json[SAMBA_TOKENIZER__MAP] || s->has_class;
    if (n > SAMBA_TOKENIZER__MAX_IDS) return samba_tokenizer__fail(r, "has too many added tokens");
    if (!samba_tokenizer__check_config(t, s, r)) return false;
    bool is_pair = s->kind == SAMBA_TOKENIZER__PAIR;
    if (!named && is_pair && !samba_tokenizer__find_specials(t, r)) return false;
    if (s->json[SAMBA_TOKENIZER__CONFIG]
        && !samba_tokenizer__member(s->json[SAMBA_TOKENIZER__CONFIG], "added_tokens_decoder",
                                    &decoder, &of))
        return false;
    if (decoder && !cJSON_IsObject(decoder))
        return samba_tokenizer__fail(&of, "added_tokens_decoder is no object");
    for (const cJSON *i = decoder ? decoder->child : NULL; i; i = i->next)
        if (!samba_tokenizer__read_decoder_entry(t, i, n, &of)) return false;
    if (decoder && t->trie[0].n_tokens + t->trie[1].n_tokens > samba_tokenizer__count(decoder))
        return samba_tokenizer__fail(&of,
                                     "added_tokens_decoder lacks some of added_tokens in "
                                     "tokenizer.json; make them the same");
    if (!samba_tokenizer__read_added_file(t, s, decoder != NULL, n, r)
        || !samba_tokenizer__has_no_hole(t, r))
        return false;
    if (named && !samba_tokenizer__add_keys(t, s, r)) return false;
    for (int which = SAMBA_TOKENIZER__CONFIG; which <= SAMBA_TOKENIZER__MAP; which++)
        if (s->json[which] && !samba_tokenizer__add_extra(t, s, which, r)) return false;
    return samba_tokenizer__choose_first(t, s, r);
}

/* read_steps.h - of tokenizer.h: normalizer, pre_tokenizer and decoder of a tokenizer.json.

   Each is an object with a type, or a Sequence of such. A type that is not known, and a key that
   its type does not have, are refused. */

/* Where a step is read from, for messages, and where it goes. */
typedef struct samba_tokenizer__place_of_step {
    samba_tokenizer *t;
    samba_tokenizer__steps *steps;
    const char *section; /* "normalizer", "pre_tokenizer" or "decoder" */
    const samba_tokenizer__report *r;
} samba_tokenizer__place_of_step;

/* One kind of step: its type, its keys with | between, and what reads it. */
typedef struct samba_tokenizer__step_type {
    const char *type, *keys;
    bool (*read)(const samba_tokenizer__place_of_step *to, const cJSON *object, int kind);
    int kind;
} samba_tokenizer__step_type;

/* A step that is all zeros, behind the others; NULL with the reason: there are too many. */
static samba_tokenizer__step *samba_tokenizer__new_step(const samba_tokenizer__place_of_step *to,
                                                        int kind)
{
    if (to->steps->n == SAMBA_TOKENIZER__MAX_STEPS_OF_A_KIND) {
        samba_tokenizer__fail(to->r, "%s has more than %d steps", to->section,
                              (int)SAMBA_TOKENIZER__MAX_STEPS_OF_A_KIND);
        return NULL;
    }
    samba_tokenizer__step *step = &to->steps->step[to->steps->n++];
    memset(step, 0, sizeof *step);
    step->kind = kind;
    return step;
}

/* A member that is true or false; missing or null: by_default. */
static bool samba_tokenizer__read_switch(const samba_tokenizer__place_of_step *to,
                                         const cJSON *object, const char *key, bool by_default,
                                         bool *value)
{
    const cJSON *item;
    if (!samba_tokenizer__member(object, key, &item, to->r)) return false;
    *value = item && !cJSON_IsNull(item) ? cJSON_IsTrue(item) : by_default;
    if (!item || cJSON_IsNull(item) || cJSON_IsBool(item)) return true;
    return samba_tokenizer__fail(to->r, "%s.%s is neither true nor false", to->section, key);
}

/* A member that is a text; missing: by_default, or refused if that is NULL. */
static bool samba_tokenizer__read_text(const samba_tokenizer__place_of_step *to,
                                       const cJSON *object, const char *key, const char *by_default,
                                       const char **text)
{
    const cJSON *item;
    if (!samba_tokenizer__member(object, key, &item, to->r)) return false;
    *text = cJSON_IsString(item) ? item->valuestring : item ? NULL : by_default;
    return *text || samba_tokenizer__fail(to->r, "%s.%s is missing or no text", to->section, key);
}

static bool samba_tokenizer__read_count(const samba_tokenizer__place_of_step *to,
                                        const cJSON *object, const char *key, int32_t *value)
{
    const cJSON *item;
    if (!samba_tokenizer__member(object, key, &item, to->r)) return false;
    double v = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(v >= 0 && v <= 1 << 20) || v != (double)(int32_t)v)
        return samba_tokenizer__fail(to->r, "%s.%s is no whole number from 0 to %d", to->section,
                                     key, 1 << 20);
    *value = (int32_t)v;
    return true;
}

/* Keeps a text in a step. */
static bool samba_tokenizer__keep_text(samba_tokenizer__step *step, int which, const char *text,
                                       const samba_tokenizer__report *r)
{
    size_t size = strlen(text);
    step->text[which] = (uint8_t *)SAMBA_TOKENIZER_MALLOC(size + 1);
    if (!step->text[which]) return samba_tokenizer__no_memory(r);
    memcpy(step->text[which], text, size + 1);
    step->size[which] = size;
    return true;
}

/* pattern: { "String": text } or { "Regex": text }. A text becomes text 0, if may_be_text. */
static bool samba_tokenizer__read_pattern(const samba_tokenizer__place_of_step *to,
                                          const cJSON *object, samba_tokenizer__step *step)
{
    const cJSON *pattern, *text = NULL, *regex = NULL;
    if (!samba_tokenizer__member(object, "pattern", &pattern, to->r)) return false;
    if (cJSON_IsObject(pattern)
        && !(samba_tokenizer__member(pattern, "String", &text, to->r)
             && samba_tokenizer__member(pattern, "Regex", &regex, to->r)))
        return false;

    if (cJSON_IsString(regex)) {
        step->pattern = samba_tokenizer__compile(regex->valuestring, to->r);
        return step->pattern != NULL;
    }
    if (!cJSON_IsString(text) || !text->valuestring[0])
        return samba_tokenizer__fail(to->r,
                                     "%s.pattern is neither { \"String\": text } nor "
                                     "{ \"Regex\": text }",
                                     to->section);
    return samba_tokenizer__keep_text(step, 0, text->valuestring, to->r);
}

/* The pattern that matches a text and nothing else. */
static bool samba_tokenizer__compile_text(samba_tokenizer__step *step, const char *text,
                                          const samba_tokenizer__report *r)
{
    size_t n = strlen(text), size = 0;
    char *quoted = (char *)SAMBA_TOKENIZER_MALLOC(2 * n + 1);
    if (!quoted) return samba_tokenizer__no_memory(r);
    for (size_t i = 0; i < n; i++) {
        if (strchr("\\^$.|?*+()[]{}", text[i])) quoted[size++] = '\\';
        quoted[size++] = text[i];
    }
    quoted[size] = 0;
    step->pattern = samba_tokenizer__compile(quoted, r);
    SAMBA_TOKENIZER_FREE(quoted);
    return step->pattern != NULL;
}

/* ---- normalizer ------------------------------------------------------------------------------ */

/* A step without options. */
static bool samba_tokenizer__read_plain(const samba_tokenizer__place_of_step *to,
                                        const cJSON *object, int kind)
{
    (void)object;
    return samba_tokenizer__new_step(to, kind) != NULL;
}

static bool samba_tokenizer__read_strip(const samba_tokenizer__place_of_step *to,
                                        const cJSON *object, int kind)
{
    samba_tokenizer__step *step = samba_tokenizer__new_step(to, kind);
    return step && samba_tokenizer__read_switch(to, object, "strip_left", true, &step->flag[0])
        && samba_tokenizer__read_switch(to, object, "strip_right", true, &step->flag[1]);
}

static bool samba_tokenizer__read_replace(const samba_tokenizer__place_of_step *to,
                                          const cJSON *object, int kind)
{
    samba_tokenizer__step *step = samba_tokenizer__new_step(to, kind);
    const char *content;
    return step && samba_tokenizer__read_pattern(to, object, step)
        && samba_tokenizer__read_text(to, object, "content", NULL, &content)
        && samba_tokenizer__keep_text(step, 1, content, to->r);
}

static bool samba_tokenizer__read_prepend(const samba_tokenizer__place_of_step *to,
                                          const cJSON *object, int kind)
{
    samba_tokenizer__step *step = samba_tokenizer__new_step(to, kind);
    const char *text;
    return step && samba_tokenizer__read_text(to, object, "prepend", NULL, &text)
        && samba_tokenizer__keep_text(step, 1, text, to->r);
}

/* The value of a digit of base 64; -1: none. */
static int samba_tokenizer__base64(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool samba_tokenizer__read_precompiled(const samba_tokenizer__place_of_step *to,
                                              const cJSON *object, int kind)
{
    samba_tokenizer__step *step = samba_tokenizer__new_step(to, kind);
    const char *text;
    if (!step || !samba_tokenizer__read_text(to, object, "precompiled_charsmap", NULL, &text))
        return false;
    size_t n = strlen(text), size = 0;
    uint8_t *bytes = (uint8_t *)SAMBA_TOKENIZER_MALLOC(n + 4);
    if (!bytes) return samba_tokenizer__no_memory(to->r);

    uint32_t bits = 0;
    size_t used = 0;
    for (; samba_tokenizer__base64(text[used]) >= 0; used++) {
        bits = bits << 6 | (uint32_t)samba_tokenizer__base64(text[used]);
        if (used % 4 > 0) bytes[size++] = (uint8_t)(bits >> (6 - 2 * (used % 4)));
    }
    bool good = strspn(text + used, "=") == n - used && n % 4 == 0;
    if (good)
        step->map = samba_tokenizer__open_charsmap(bytes, size, to->r);
    else
        samba_tokenizer__fail(to->r, "%s.precompiled_charsmap is not in base 64", to->section);
    SAMBA_TOKENIZER_FREE(bytes);
    return step->map != NULL;
}

/* BERT's normalizer is up to five steps. */
static bool samba_tokenizer__read_bert(const samba_tokenizer__place_of_step *to,
                                       const cJSON *object, int kind)
{
    bool clean, chinese, lower, accents;
    (void)kind;
    if (!samba_tokenizer__read_switch(to, object, "clean_text", true, &clean)
        || !samba_tokenizer__read_switch(to, object, "handle_chinese_chars", true, &chinese)
        || !samba_tokenizer__read_switch(to, object, "lowercase", true, &lower)
        || !samba_tokenizer__read_switch(to, object, "strip_accents", lower, &accents))
        return false;
    return (!clean || samba_tokenizer__new_step(to, SAMBA_TOKENIZER__BERT_CLEAN))
        && (!chinese || samba_tokenizer__new_step(to, SAMBA_TOKENIZER__BERT_CHINESE))
        && (!accents || samba_tokenizer__new_step(to, SAMBA_TOKENIZER__NFD))
        && (!accents || samba_tokenizer__new_step(to, SAMBA_TOKENIZER__BERT_ACCENTS))
        && (!lower || samba_tokenizer__new_step(to, SAMBA_TOKENIZER__LOWERCASE));
}

static const samba_tokenizer__step_type samba_tokenizer__normalizers[] = {
    { "NFC", "type", samba_tokenizer__read_plain, SAMBA_TOKENIZER__NFC },
    { "NFD", "type", samba_tokenizer__read_plain, SAMBA_TOKENIZER__NFD },
    { "NFKC", "type", samba_tokenizer__read_plain, SAMBA_TOKENIZER__NFKC },
    { "NFKD", "type", samba_tokenizer__read_plain, SAMBA_TOKENIZER__NFKD },
    { "Lowercase", "type", samba_tokenizer__read_plain, SAMBA_TOKENIZER__LOWERCASE },
    { "StripAccents", "type", samba_tokenizer__read_plain, SAMBA_TOKENIZER__STRIP_ACCENTS },
    { "Nmt", "type", samba_tokenizer__read_plain, SAMBA_TOKENIZER__NMT },
    { "Strip", "type|strip_left|strip_right", samba_tokenizer__read_strip, SAMBA_TOKENIZER__STRIP },
    { "Replace", "type|pattern|content", samba_tokenizer__read_replace, SAMBA_TOKENIZER__REPLACE },
    { "Prepend", "type|prepend", samba_tokenizer__read_prepend, SAMBA_TOKENIZER__PREPEND },
    { "Precompiled", "type|precompiled_charsmap", samba_tokenizer__read_precompiled,
      SAMBA_TOKENIZER__PRECOMPILED },
    { "BertNormalizer", "type|clean_text|handle_chinese_chars|strip_accents|lowercase",
      samba_tokenizer__read_bert, 0 },
    { NULL, NULL, NULL, 0 },
};

/* ---- pre_tokenizer --------------------------------------------------------------------------- */

static bool samba_tokenizer__read_behavior(const samba_tokenizer__place_of_step *to,
                                           const cJSON *object, const char *by_default,
                                           int32_t *behavior)
{
    static const char *const name[]
        = { "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous" };
    const char *text;
    samba_tokenizer__shown shown;
    if (!samba_tokenizer__read_text(to, object, "behavior", by_default, &text)) return false;
    for (int i = 0; i < 5; i++)
        if (strcmp(text, name[i]) == 0) {
            *behavior = i;
            return true;
        }
    return samba_tokenizer__fail(to->r,
                                 "%s.behavior is %s; known here are Removed, Isolated, "
                                 "MergedWithPrevious, MergedWithNext and Contiguous",
                                 to->section, samba_tokenizer__show(&shown, text, strlen(text)));
}

static bool samba_tokenizer__read_split(const samba_tokenizer__place_of_step *to,
                                        const cJSON *object, int kind)
{
    samba_tokenizer__step *step = samba_tokenizer__new_step(to, kind);
    if (!step || !samba_tokenizer__read_pattern(to, object, step)
        || !samba_tokenizer__read_behavior(to, object, NULL, &step->number[0])
        || !samba_tokenizer__read_switch(to, object, "invert", false, &step->flag[0]))
        return false;
    if (step->pattern) return true;
    return samba_tokenizer__compile_text(step, (const char *)step->text[0], to->r);
}

/* A step that is a Split by a pattern of our own. */
static bool samba_tokenizer__add_split(const samba_tokenizer__place_of_step *to,
                                       const char *pattern, int behavior, bool invert)
{
    samba_tokenizer__step *step = samba_tokenizer__new_step(to, SAMBA_TOKENIZER__SPLIT);
    if (!step) return false;
    step->number[0] = behavior;
    step->flag[0] = invert;
    step->pattern = samba_tokenizer__compile(pattern, to->r);
    return step->pattern != NULL;
}

static bool samba_tokenizer__read_whitespace(const samba_tokenizer__place_of_step *to,
                                             const cJSON *object, int kind)
{
    /* words of Rust have two joiners more than those of Ruby, which patterns are written in */
    (void)object;
    return kind ? samba_tokenizer__add_split(to, "\\s", SAMBA_TOKENIZER__REMOVED, false)
                : samba_tokenizer__add_split(to, "[\\w\\u200C\\u200D]+|[^\\w\\u200C\\u200D\\s]+",
                                             SAMBA_TOKENIZER__REMOVED, true);
}

static bool samba_tokenizer__read_punctuation(const samba_tokenizer__place_of_step *to,
                                              const cJSON *object, int kind)
{
    samba_tokenizer__step *step = samba_tokenizer__new_step(to, kind);
    return step && samba_tokenizer__read_behavior(to, object, "Isolated", &step->number[0]);
}

static bool samba_tokenizer__read_bert_words(const samba_tokenizer__place_of_step *to,
                                             const cJSON *object, int kind)
{
    (void)object;
    (void)kind;
    if (!samba_tokenizer__add_split(to, "\\s", SAMBA_TOKENIZER__REMOVED, false)) return false;
    samba_tokenizer__step *step = samba_tokenizer__new_step(to, SAMBA_TOKENIZER__PUNCTUATION);
    if (step) step->number[0] = SAMBA_TOKENIZER__ISOLATED;
    return step != NULL;
}

static bool samba_tokenizer__read_digits(const samba_tokenizer__place_of_step *to,
                                         const cJSON *object, int kind)
{
    samba_tokenizer__step *step = samba_tokenizer__new_step(to, kind);
    if (!step) return false;
    step->number[0] = SAMBA_TOKENIZER__CONTIGUOUS;
    return samba_tokenizer__read_switch(to, object, "individual_digits", false, &step->flag[0]);
}

static bool samba_tokenizer__read_byte_level(const samba_tokenizer__place_of_step *to,
                                             const cJSON *object, int kind)
{
    bool prefix, regex;
    (void)kind;
    if (!cJSON_HasObjectItem(object, "add_prefix_space"))
        return samba_tokenizer__fail(to->r, "%s.add_prefix_space is missing", to->section);
    to->t->model = SAMBA_TOKENIZER__BYTES;
    if (!samba_tokenizer__read_switch(to, object, "add_prefix_space", true, &prefix)
        || !samba_tokenizer__read_switch(to, object, "use_regex", true, &regex))
        return false;
    return (!prefix || samba_tokenizer__new_step(to, SAMBA_TOKENIZER__PREFIX))
        && (!regex || samba_tokenizer__new_step(to, SAMBA_TOKENIZER__GPT2));
}

/* The three ways to put a mark before; add_prefix_space is how older files said it. */
static bool samba_tokenizer__read_scheme(const samba_tokenizer__place_of_step *to,
                                         const cJSON *object, int32_t *scheme)
{
    static const char *const name[] = { "always", "first", "never" };
    const char *text;
    bool prefix;
    samba_tokenizer__shown shown;
    if (!samba_tokenizer__read_switch(to, object, "add_prefix_space", true, &prefix)
        || !samba_tokenizer__read_text(to, object, "prepend_scheme", prefix ? "always" : "never",
                                       &text))
        return false;

    for (int i = 0; i < 3; i++) {
        if (strcmp(text, name[i]) != 0) continue;
        *scheme = i;
        if (prefix || i == SAMBA_TOKENIZER__NEVER) return true;
        return samba_tokenizer__fail(
            to->r, "%s.add_prefix_space is false, but prepend_scheme is %s", to->section, text);
    }
    return samba_tokenizer__fail(to->r,
                                 "%s.prepend_scheme is %s; known here are always, first and "
                                 "never",
                                 to->section, samba_tokenizer__show(&shown, text, strlen(text)));
}

static bool samba_tokenizer__read_metaspace(const samba_tokenizer__place_of_step *to,
                                            const cJSON *object, int kind)
{
    samba_tokenizer__step *step = samba_tokenizer__new_step(to, kind);
    const char *mark;
    if (!step || !samba_tokenizer__read_text(to, object, "replacement", NULL, &mark)
        || !samba_tokenizer__read_scheme(to, object, &step->number[0])
        || !samba_tokenizer__read_switch(to, object, "split", true, &step->flag[0]))
        return false;
    if (!mark[0] || strlen(mark) != samba_tokenizer__char_size((uint8_t)mark[0]))
        return samba_tokenizer__fail(to->r, "%s.replacement is no single character", to->section);
    if (kind == SAMBA_TOKENIZER__DECODE_METASPACE && to->steps == &to->t->decoder)
        step->flag[0] = step->number[0] != SAMBA_TOKENIZER__NEVER;
    if (step->number[0] == SAMBA_TOKENIZER__FIRST) to->t->marks_first = true;
    return samba_tokenizer__keep_text(step, 0, mark, to->r);
}

static bool samba_tokenizer__read_delimiter(const samba_tokenizer__place_of_step *to,
                                            const cJSON *object, int kind)
{
    const char *text;
    samba_tokenizer__step *step = samba_tokenizer__new_step(to, kind);
    if (!step || !samba_tokenizer__read_text(to, object, "delimiter", NULL, &text)) return false;
    step->number[0] = SAMBA_TOKENIZER__REMOVED;
    if (!*text) return samba_tokenizer__fail(to->r, "%s.delimiter is empty", to->section);
    return samba_tokenizer__compile_text(step, text, to->r);
}

#define SAMBA_TOKENIZER__METASPACE_KEYS \
    "type|replacement|add_prefix_space|prepend_scheme|split|str_rep"

static const samba_tokenizer__step_type samba_tokenizer__pre_tokenizers[] = {
    { "Split", "type|pattern|behavior|invert", samba_tokenizer__read_split,
      SAMBA_TOKENIZER__SPLIT },
    { "ByteLevel", "type|add_prefix_space|trim_offsets|use_regex", samba_tokenizer__read_byte_level,
      0 },
    { "Metaspace", SAMBA_TOKENIZER__METASPACE_KEYS, samba_tokenizer__read_metaspace,
      SAMBA_TOKENIZER__METASPACE },
    { "Digits", "type|individual_digits", samba_tokenizer__read_digits, SAMBA_TOKENIZER__DIGITS },
    { "Punctuation", "type|behavior", samba_tokenizer__read_punctuation,
      SAMBA_TOKENIZER__PUNCTUATION },
    { "Whitespace", "type", samba_tokenizer__read_whitespace, 0 },
    { "WhitespaceSplit", "type", samba_tokenizer__read_whitespace, 1 },
    { "BertPreTokenizer", "type", samba_tokenizer__read_bert_words, 0 },
    { "CharDelimiterSplit", "type|delimiter", samba_tokenizer__read_delimiter,
      SAMBA_TOKENIZER__SPLIT },
    { NULL, NULL, NULL, 0 },
};

/* ---- decoder --------------------------------------------------------------------------------- */

static bool samba_tokenizer__read_byte_level_decoder(const samba_tokenizer__place_of_step *to,
                                                     const cJSON *object, int kind)
{
    (void)object;
    (void)kind;
    if (to->t->model == SAMBA_TOKENIZER__BYTES && to->steps->n == 0) return true;
    return samba_tokenizer__fail(to->r,
                                 "decoder is ByteLevel, but not alone, or pre_tokenizer has no "
                                 "ByteLevel; that is not known here");
}

static bool samba_tokenizer__read_strip_decoder(const samba_tokenizer__place_of_step *to,
                                                const cJSON *object, int kind)
{
    samba_tokenizer__step *step = samba_tokenizer__new_step(to, kind);
    const char *text;
    if (!step || !samba_tokenizer__read_text(to, object, "content", NULL, &text)
        || !samba_tokenizer__read_count(to, object, "start", &step->number[0])
        || !samba_tokenizer__read_count(to, object, "stop", &step->number[1]))
        return false;
    if (!text[0] || strlen(text) != samba_tokenizer__char_size((uint8_t)text[0]))
        return samba_tokenizer__fail(to->r, "decoder.content is no single character");
    return samba_tokenizer__keep_text(step, 0, text, to->r);
}

static bool samba_tokenizer__read_wordpiece_decoder(const samba_tokenizer__place_of_step *to,
                                                    const cJSON *object, int kind)
{
    samba_tokenizer__step *step = samba_tokenizer__new_step(to, kind);
    const char *text;
    return step && samba_tokenizer__read_text(to, object, "prefix", "##", &text)
        && samba_tokenizer__read_switch(to, object, "cleanup", true, &step->flag[0])
        && samba_tokenizer__keep_text(step, 0, text, to->r);
}

static const samba_tokenizer__step_type samba_tokenizer__decoders[] = {
    { "ByteLevel", "type|add_prefix_space|trim_offsets|use_regex",
      samba_tokenizer__read_byte_level_decoder, 0 },
    { "Replace", "type|pattern|content", samba_tokenizer__read_replace,
      SAMBA_TOKENIZER__DECODE_REPLACE },
    { "ByteFallback", "type", samba_tokenizer__read_plain, SAMBA_TOKENIZER__DECODE_BYTES },
    { "Fuse", "type", samba_tokenizer__read_plain, SAMBA_TOKENIZER__DECODE_FUSE },
    { "Strip", "type|content|start|stop", samba_tokenizer__read_strip_decoder,
      SAMBA_TOKENIZER__DECODE_STRIP },
    { "Metaspace", SAMBA_TOKENIZER__METASPACE_KEYS, samba_tokenizer__read_metaspace,
      SAMBA_TOKENIZER__DECODE_METASPACE },
    { "WordPiece", "type|prefix|cleanup", samba_tokenizer__read_wordpiece_decoder,
      SAMBA_TOKENIZER__DECODE_WORDPIECE },
    { NULL, NULL, NULL, 0 },
};

/* ---- All of a section ------------------------------------------------------------------------ */

/* Whether a list with | between has a word. */
static bool samba_tokenizer__lists(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; p; p = strchr(p, '|')) {
        p += *p == '|';
        if (strncmp(p, word, n) == 0 && (p[n] == 0 || p[n] == '|')) return true;
    }
    return false;
}

/* Always false: a type that is not in the list. */
static bool samba_tokenizer__unknown_type(const samba_tokenizer__place_of_step *to,
                                          const samba_tokenizer__step_type *types, const char *type)
{
    char known[256] = "";
    samba_tokenizer__shown shown;
    for (; types->type; types++) {
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", types->type);
    }
    return samba_tokenizer__fail(to->r, "%s.type is %s; known here are Sequence, %s", to->section,
                                 samba_tokenizer__show(&shown, type, strlen(type)), known);
}

static bool samba_tokenizer__read_step(const samba_tokenizer__place_of_step *to,
                                       const samba_tokenizer__step_type *types,
                                       const char *list_key, const cJSON *object, int depth)
{
    const cJSON *item, *list;
    samba_tokenizer__shown shown;
    if (!cJSON_IsObject(object) || depth > 8)
        return samba_tokenizer__fail(to->r, "%s is no object, or a Sequence too deep", to->section);
    if (!samba_tokenizer__member(object, "type", &item, to->r)
        || !samba_tokenizer__member(object, list_key, &list, to->r))
        return false;

    const char *type = cJSON_IsString(item) ? item->valuestring : "missing";
    if (strcmp(type, "Sequence") == 0) {
        if (!cJSON_IsArray(list))
            return samba_tokenizer__fail(to->r, "%s.%s is no array", to->section, list_key);
        for (const cJSON *i = list->child; i; i = i->next)
            if (!samba_tokenizer__read_step(to, types, list_key, i, depth + 1)) return false;
        return true;
    }

    const samba_tokenizer__step_type *known = types;
    while (known->type && strcmp(known->type, type) != 0)
        known++;
    if (!known->type) return samba_tokenizer__unknown_type(to, types, type);
    for (const cJSON *i = object->child; i; i = i->next)
        if (!samba_tokenizer__lists(known->keys, i->string))
            return samba_tokenizer__fail(
                to->r, "%s has the key \"%s\", which %s has not here", to->section,
                samba_tokenizer__show(&shown, i->string, strlen(i->string)), type);
    if (to->steps == &to->t->words && to->t->model == SAMBA_TOKENIZER__BYTES)
        return samba_tokenizer__fail(to->r,
                                     "pre_tokenizer has %s behind ByteLevel, which is the last "
                                     "step here",
                                     type);
    return known->read(to, object, known->kind);
}

/* A section of the file, which may be null or missing. */
static bool samba_tokenizer__read_section(samba_tokenizer *t, const cJSON *json,
                                          const char *section, const samba_tokenizer__report *r)
{
    bool is_normalizer = strcmp(section, "normalizer") == 0;
    bool is_decoder = strcmp(section, "decoder") == 0;
    const samba_tokenizer__step_type *types = is_normalizer ? samba_tokenizer__normalizers
        : is_decoder                                        ? samba_tokenizer__decoders
                                                            : samba_tokenizer__pre_tokenizers;
    const char *list = is_normalizer ? "normalizers" : is_decoder ? "decoders" : "pretokenizers";
    samba_tokenizer__place_of_step to = { t,
                                          is_normalizer    ? &t->normalizer
                                              : is_decoder ? &t->decoder
                                                           : &t->words,
                                          section, r };
    const cJSON *item;
    if (!samba_tokenizer__member(json, section, &item, r)) return false;
    if (is_decoder) t->has_decoder = item && !cJSON_IsNull(item);
    if (!item || cJSON_IsNull(item)) return true;
    return samba_tokenizer__read_step(&to, types, list, item, 0);
}

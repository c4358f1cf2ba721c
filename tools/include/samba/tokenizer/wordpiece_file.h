/* wordpiece_file.h - of tokenizer.h: vocab.txt, a token a line, as BERT has it.

   The rest is what BertTokenizer takes where tokenizer_config.json does not say otherwise. */

/* One of its options, true or false, from tokenizer_config.json, which may be NULL. */
static bool samba_tokenizer__bert_option(const cJSON *config, const char *key, bool by_default)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, key);
    return cJSON_IsBool(item) ? cJSON_IsTrue(item) : by_default;
}

static bool samba_tokenizer__set_bert_steps(samba_tokenizer *t, const cJSON *config,
                                            const samba_tokenizer__report *r)
{
    samba_tokenizer__place_of_step normalizer = { t, &t->normalizer, "normalizer", r };
    samba_tokenizer__place_of_step words = { t, &t->words, "pre_tokenizer", r };
    samba_tokenizer__place_of_step decoder = { t, &t->decoder, "decoder", r };
    bool lower = samba_tokenizer__bert_option(config, "do_lower_case", true);
    cJSON *options = cJSON_CreateObject();
    bool done = options && cJSON_AddBoolToObject(options, "lowercase", lower)
        && cJSON_AddBoolToObject(options, "strip_accents",
                                 samba_tokenizer__bert_option(config, "strip_accents", lower))
        && cJSON_AddBoolToObject(
                    options, "handle_chinese_chars",
                    samba_tokenizer__bert_option(config, "tokenize_chinese_chars", true));
    if (!done) samba_tokenizer__no_memory(r);

    samba_tokenizer__free_steps(&t->words);
    done = done && samba_tokenizer__read_bert(&normalizer, options, 0)
        && samba_tokenizer__read_bert_words(&words, options, 0)
        && samba_tokenizer__read_wordpiece_decoder(&decoder, options,
                                                   SAMBA_TOKENIZER__DECODE_WORDPIECE);
    cJSON_Delete(options);
    return done;
}

/* Lines to tokens; the number of a line, from 0, is the id. */
static bool samba_tokenizer__read_lines(samba_tokenizer *t, const char *text, size_t size,
                                        const samba_tokenizer__report *r)
{
    const char *end = text + size;
    size_t id = 0;
    for (const char *p = text, *stop; p < end; p = stop + 1) {
        stop = (const char *)memchr(p, '\n', (size_t)(end - p));
        if (!stop) stop = end;
        size_t n = (size_t)(stop - p);
        if (n > 0 && p[n - 1] == '\r') n--;
        if (n == 0)
            return samba_tokenizer__fail(r, "line %lu is empty; each line is a token",
                                         (unsigned long)id + 1);
        if (id >= SAMBA_TOKENIZER__MAX_IDS) return samba_tokenizer__fail(r, "has too many lines");
        if (!samba_tokenizer__put_piece_of(t, id, p, n, 0, r)) return false;
        id++;
    }
    return id > 0 || samba_tokenizer__fail(r, "has no token");
}

/* The tokens of the vocabulary r->file; config: tokenizer_config.json, or NULL. */
static bool samba_tokenizer__load_txt(samba_tokenizer *t, const cJSON *config,
                                      const samba_tokenizer__report *r)
{
    size_t size;
    const char *unk
        = samba_tokenizer__text_of(cJSON_GetObjectItemCaseSensitive(config, "unk_token"));
    char *text = samba_tokenizer__read(&size, r);
    if (!text) return false;
    t->model = SAMBA_TOKENIZER__WORDPIECE;
    t->longest_word = 100;
    bool done = samba_tokenizer__read_lines(t, text, size, r)
        && samba_tokenizer__set_bert_steps(t, config, r) && samba_tokenizer__add_pieces(t, r);
    SAMBA_TOKENIZER_FREE(text);
    if (!done) return false;

    samba_tokenizer__find_inner(t, "##");
    if (!unk) unk = "[UNK]";
    t->unk = samba_tokenizer__find_model(t, (const uint8_t *)unk, strlen(unk));
    samba_tokenizer__shown shown;
    return t->unk >= 0
        || samba_tokenizer__fail(r,
                                 "has no token \"%s\" for what is unknown, which WordPiece needs",
                                 samba_tokenizer__show(&shown, unk, strlen(unk)));
}

/* The special tokens that BertTokenizer has unless files name others; those in the vocabulary. */
static bool samba_tokenizer__add_bert_tokens(samba_tokenizer *t, const samba_tokenizer__report *r)
{
    static const char *const name[] = { "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]" };
    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
        size_t n = strlen(name[i]);
        int32_t id = samba_tokenizer__find(t, (const uint8_t *)name[i], n, SAMBA_TOKENIZER__RAW);
        if (id < 0 || t->token[id].flags & SAMBA_TOKENIZER__SPECIAL) continue;
        if (!samba_tokenizer__make_special(t, id, 0, r)) return false;
    }
    return true;
}

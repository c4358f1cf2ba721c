/* open.h - of tokenizer.h: which files a path has. */

/* folder/name, to be freed; NULL: out of memory. */
static char *samba_tokenizer__join(const char *folder, const char *name)
{
    size_t n = strlen(folder), size = n + strlen(name) + 2;
    char *path = (char *)SAMBA_TOKENIZER_MALLOC(size);
    if (path) snprintf(path, size, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", name);
    return path;
}

/* Whether there is something of this name, readable or not. */
static bool samba_tokenizer__exists(const char *path)
{
    errno = 0;
    FILE *f = fopen(path, "rb");
    if (!f) return errno != ENOENT && errno != ENOTDIR;
    fclose(f);
    return true;
}

/* The vocabulary that a folder may have; a path that is no folder has none of them. */
typedef struct samba_tokenizer__paths {
    char *json, *vocab, *merges, *model, *txt;
} samba_tokenizer__paths;

/* The JSON files that there are beside the vocabulary. */
static bool samba_tokenizer__read_settings(samba_tokenizer__settings *s, const char *folder,
                                           const samba_tokenizer__report *r)
{
    for (int i = 0; i < SAMBA_TOKENIZER__FILES; i++) {
        s->path[i] = samba_tokenizer__join(folder, samba_tokenizer__file[i]);
        if (!s->path[i]) return samba_tokenizer__no_memory(r);
        samba_tokenizer__report of = samba_tokenizer__of_file(s, i, r);
        if (samba_tokenizer__exists(s->path[i]) && !(s->json[i] = samba_tokenizer__read_json(&of)))
            return false;
    }
    return samba_tokenizer__check_class(s, r);
}

static bool samba_tokenizer__load_json(samba_tokenizer *t, const samba_tokenizer__report *r)
{
    cJSON *json = samba_tokenizer__read_json(r);
    bool done = json && samba_tokenizer__load_model(t, json, r);
    cJSON_Delete(json);
    return done;
}

/* Whether a path ends so. */
static bool samba_tokenizer__ends(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending);
    return n >= m && strcmp(path + n - m, ending) == 0;
}

/* Looks for what a folder has of SentencePiece whose ids are not those of the model; *name is NULL
   if there is nothing. False: out of memory. */
static bool samba_tokenizer__find_other_model(const char *path, const char **name)
{
    static const char *const others[] = { "spiece.model", "sentencepiece.bpe.model" };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char *inner = samba_tokenizer__join(path, others[i]);
        if (!inner) return false;
        bool there = samba_tokenizer__exists(inner);
        SAMBA_TOKENIZER_FREE(inner);
        if (there) *name = others[i];
    }
    return true;
}

/* A path without any vocabulary in it: a file itself. Its name says what it is; tokenizer.json may
   have any name. */
static bool samba_tokenizer__load_file(samba_tokenizer *t, const char *path,
                                       const samba_tokenizer__paths *p, samba_tokenizer__report *r)
{
    r->file = path;
    if (samba_tokenizer__exists(p->merges))
        return samba_tokenizer__fail(r,
                                     "has merges.txt, but neither vocab.json nor tokenizer.json");
    const char *other = NULL;
    if (!samba_tokenizer__find_other_model(path, &other)) return samba_tokenizer__no_memory(r);
    if (other)
        return samba_tokenizer__fail(
            r,
            "has %s, whose ids are not those of the model, and no tokenizer.json; write one with "
            "transformers (save_pretrained), or name the file itself, for its own ids",
            other);

    FILE *f = fopen(path, "rb");
    int first = f ? fgetc(f) : 0;
    if (f) fclose(f);
    if (f && first == EOF)
        return samba_tokenizer__fail(
            r,
            "is a folder without tokenizer.json, and without other files of a tokenizer: "
            "vocab.json and merges.txt, or tokenizer.model, or vocab.txt (or it is an empty file)");
    if (samba_tokenizer__ends(path, ".model")) return samba_tokenizer__load_sentencepiece(t, r);
    if (samba_tokenizer__ends(path, "vocab.txt"))
        return samba_tokenizer__load_txt(t, NULL, r) && samba_tokenizer__add_bert_tokens(t, r);
    return samba_tokenizer__load_json(t, r) && samba_tokenizer__has_no_hole(t, r);
}

/* The vocabulary of a folder, of which s says the kind. */
static bool samba_tokenizer__load_kind(samba_tokenizer *t, const samba_tokenizer__settings *s,
                                       const samba_tokenizer__paths *p,
                                       const samba_tokenizer__report *r)
{
    switch (s->kind) {
    case SAMBA_TOKENIZER__JSON:
        return samba_tokenizer__load_json(t, r);
    case SAMBA_TOKENIZER__PAIR:
        return samba_tokenizer__load_pair(t, r, p->merges, samba_tokenizer__count_added(s));
    case SAMBA_TOKENIZER__MODEL_FILE:
        return samba_tokenizer__load_sentencepiece(t, r);
    default:
        return samba_tokenizer__load_txt(t, s->json[SAMBA_TOKENIZER__CONFIG], r);
    }
}

static bool samba_tokenizer__load(samba_tokenizer *t, const char *path,
                                  const samba_tokenizer__paths *p, samba_tokenizer__report *r)
{
    samba_tokenizer__settings s;
    const char *const file[4] = { p->json, p->vocab, p->model, p->txt };
    memset(&s, 0, sizeof s);
    while (s.kind < 4 && !samba_tokenizer__exists(file[s.kind]))
        s.kind++;
    if (s.kind == 4) return samba_tokenizer__load_file(t, path, p, r);

    s.has_tokenizer_json = s.kind == SAMBA_TOKENIZER__JSON;
    r->file = file[s.kind];
    bool done = samba_tokenizer__read_settings(&s, path, r)
        && samba_tokenizer__load_kind(t, &s, p, r) && samba_tokenizer__apply(t, &s, r);
    if (done && s.kind == SAMBA_TOKENIZER__TXT) done = samba_tokenizer__add_bert_tokens(t, r);
    for (int i = 0; i < SAMBA_TOKENIZER__FILES; i++) {
        cJSON_Delete(s.json[i]);
        SAMBA_TOKENIZER_FREE(s.path[i]);
    }
    return done;
}

SAMBA_TOKENIZER_API samba_tokenizer *samba_tokenizer_open(const char *path, char *why,
                                                          size_t why_size)
{
    samba_tokenizer__report r = { why, why_size, NULL };
    samba_tokenizer__paths p;
    bool done = false;
    if (why && why_size) why[0] = 0;
    if (!path || !*path) {
        samba_tokenizer__fail(&r, "no path to a tokenizer");
        return (samba_tokenizer *)0;
    }
    samba_tokenizer *t = samba_tokenizer__new();
    p.json = samba_tokenizer__join(path, "tokenizer.json");
    p.vocab = samba_tokenizer__join(path, "vocab.json");
    p.merges = samba_tokenizer__join(path, "merges.txt");
    p.model = samba_tokenizer__join(path, "tokenizer.model");
    p.txt = samba_tokenizer__join(path, "vocab.txt");
    if (t && p.json && p.vocab && p.merges && p.model && p.txt)
        done = samba_tokenizer__load(t, path, &p, &r);
    else
        samba_tokenizer__no_memory(&r);
    SAMBA_TOKENIZER_FREE(p.json);
    SAMBA_TOKENIZER_FREE(p.vocab);
    SAMBA_TOKENIZER_FREE(p.merges);
    SAMBA_TOKENIZER_FREE(p.model);
    SAMBA_TOKENIZER_FREE(p.txt);
    if (done) return t;
    samba_tokenizer_close(t);
    return NULL;
}

SAMBA_TOKENIZER_API samba_tokenizer *samba_tokenizer_open_files(const char *vocab_json,
                                                                const char *merges_txt, char *why,
                                                                size_t why_size)
{
    samba_tokenizer__report r = { why, why_size, vocab_json };
    if (why && why_size) why[0] = 0;
    if (!vocab_json || !*vocab_json || !merges_txt || !*merges_txt) {
        r.file = NULL;
        const char *missing = vocab_json && *vocab_json ? "merges.txt" : "vocab.json";
        samba_tokenizer__fail(&r, "no path to %s", missing);
        return NULL;
    }
    samba_tokenizer *t = samba_tokenizer__new();
    if (!t) samba_tokenizer__no_memory(&r);
    if (t && samba_tokenizer__load_pair(t, &r, merges_txt, 0)
        && samba_tokenizer__find_specials(t, &r) && samba_tokenizer__has_no_hole(t, &r))
        return t;
    samba_tokenizer_close(t);
    return NULL;
}

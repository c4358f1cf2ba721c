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
    char *json, *vocab, *merges;
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
    samba_tokenizer__report of = samba_tokenizer__of_file(s, SAMBA_TOKENIZER__CONFIG, r);
    return samba_tokenizer__check_class(s, r)
        && (!s->json[SAMBA_TOKENIZER__CONFIG]
            || SAMBA_TOKENIZER__OBEYS(s->json[SAMBA_TOKENIZER__CONFIG], "",
                                      samba_tokenizer__config_rules, &of));
}

static bool samba_tokenizer__load_json(samba_tokenizer *t, const samba_tokenizer__report *r)
{
    cJSON *json = samba_tokenizer__read_json(r);
    bool done = json && samba_tokenizer__load_model(t, json, r);
    cJSON_Delete(json);
    return done;
}

/* Looks for what a folder, or a file by its name, has of tokenizers that are not read here; *kind
   is NULL if there is nothing. False: out of memory. */
static bool samba_tokenizer__find_other_kind(const char *path, const char **kind)
{
    static const struct {
        const char *name, *kind;
    } others[] = {
        { "tokenizer.model", "tokenizer.model is SentencePiece's, as of Llama 2 and T5" },
        { "spiece.model", "spiece.model is SentencePiece's, as of T5" },
        { "sentencepiece.bpe.model", "sentencepiece.bpe.model is SentencePiece's" },
        { "vocab.txt", "vocab.txt is WordPiece's, as of BERT" },
    };

    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char *inner = samba_tokenizer__join(path, others[i].name);
        if (!inner) return false;
        bool there = samba_tokenizer__exists(inner);
        SAMBA_TOKENIZER_FREE(inner);
        if (there || strcmp(base, others[i].name) == 0) {
            *kind = others[i].kind;
            return true;
        }
    }
    return true;
}

/* A path without any vocabulary in it: a tokenizer.json itself, whatever its name, and alone. */
static bool samba_tokenizer__load_file(samba_tokenizer *t, const char *path,
                                       const samba_tokenizer__paths *p, samba_tokenizer__report *r)
{
    r->file = path;
    if (samba_tokenizer__exists(p->merges))
        return samba_tokenizer__fail(r,
                                     "has merges.txt, but neither vocab.json nor tokenizer.json");
    const char *other = NULL;
    if (!samba_tokenizer__find_other_kind(path, &other)) return samba_tokenizer__no_memory(r);
    if (other)
        return samba_tokenizer__fail(
            r,
            "is of another kind: %s. Read are byte-level BPE tokenizers, as "
            "those of GPT-2 and Llama 3: tokenizer.json, or vocab.json and "
            "merges.txt; train one of your own with tools/samba "
            "train-tokenizer",
            other);
    FILE *f = fopen(path, "rb");
    int first = f ? fgetc(f) : 0;
    if (f) fclose(f);
    if (f && first == EOF)
        return samba_tokenizer__fail(r,
                                     "is a folder without tokenizer.json, and without vocab.json "
                                     "and merges.txt; or an empty file");
    return samba_tokenizer__load_json(t, r) && samba_tokenizer__has_no_hole(t, r);
}

static bool samba_tokenizer__load(samba_tokenizer *t, const char *path,
                                  const samba_tokenizer__paths *p, samba_tokenizer__report *r)
{
    samba_tokenizer__settings s;
    memset(&s, 0, sizeof s);
    s.has_tokenizer_json = samba_tokenizer__exists(p->json);
    if (!s.has_tokenizer_json && !samba_tokenizer__exists(p->vocab))
        return samba_tokenizer__load_file(t, path, p, r);
    r->file = s.has_tokenizer_json ? p->json : p->vocab;
    bool done = samba_tokenizer__read_settings(&s, path, r);
    if (done)
        done = s.has_tokenizer_json
            ? samba_tokenizer__load_json(t, r)
            : samba_tokenizer__load_pair(t, r, p->merges, samba_tokenizer__count_added(&s));
    done = done && samba_tokenizer__apply(t, &s, r);
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
    if (t && p.json && p.vocab && p.merges)
        done = samba_tokenizer__load(t, path, &p, &r);
    else
        samba_tokenizer__no_memory(&r);
    SAMBA_TOKENIZER_FREE(p.json);
    SAMBA_TOKENIZER_FREE(p.vocab);
    SAMBA_TOKENIZER_FREE(p.merges);
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

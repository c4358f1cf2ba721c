/* save.h - of tokenizer.h: vocab.json and merges.txt. */

/* ---- Saving ---------------------------------------------------------------------------------- */

/* Whether a vocab.json says of the token that it is special, or that it is not, as it is here. */
static bool samba_tokenizer__can_be_written(const samba_tokenizer *t, size_t id,
                                            const samba_tokenizer__report *r)
{
    const samba_tokenizer__token *k = &t->token[id];
    const char *text = (const char *)t->bytes + k->at, *why = NULL;
    bool special = k->flags & SAMBA_TOKENIZER__SPECIAL, raw = k->flags & SAMBA_TOKENIZER__RAW;
    uint8_t small[512];
    size_t n;
    samba_tokenizer__shown shown;
    if (special && k->flags & SAMBA_TOKENIZER__MADE)
        why = "is special, but words become it, too";
    else if (k->flags & (SAMBA_TOKENIZER__LSTRIP | SAMBA_TOKENIZER__RSTRIP))
        why = "has lstrip or rstrip";
    else if (special && t->trie[0].n_tokens && t->trie[1].n_tokens)
        why = "may be sought before others";
    else if (raw && k->size > sizeof small)
        why = "is above 512 bytes";
    else if (raw && samba_tokenizer__unspell(text, k->size, small, &n))
        why = "reads as other bytes";
    else if (!special && !(k->flags & SAMBA_TOKENIZER__MADE)
             && (raw || !samba_tokenizer__raw((const uint8_t *)text, k->size)))
        why = "would become special";
    if (!why) return true;
    return samba_tokenizer__fail(r, "vocab.json cannot express the token \"%s\", id %lu: it %s",
                                 samba_tokenizer__show(&shown, text, k->size), (unsigned long)id,
                                 why);
}

/* Writes the key of a token, in JSON escaped. */
static void samba_tokenizer__write_key(FILE *f, const samba_tokenizer *t, int32_t id, bool json)
{
    const samba_tokenizer__token *k = &t->token[id];
    for (size_t i = 0; i < k->size; i++) {
        uint8_t out[2] = { t->bytes[k->at + i], 0 };
        size_t n = 1;
        if (!(k->flags & SAMBA_TOKENIZER__RAW))
            n = samba_tokenizer__put_char(out, samba_tokenizer__letter(out[0]));
        if (n == 1 && json && (out[0] == '"' || out[0] == '\\')) fputc('\\', f);
        if (n == 1 && json && out[0] < 32)
            fprintf(f, "\\u%04x", (unsigned)out[0]);
        else
            fwrite(out, 1, n, f);
    }
}

static void samba_tokenizer__write_vocabulary(FILE *f, const samba_tokenizer *t)
{
    for (size_t i = 0; i < t->n_tokens; i++) {
        fputs(i ? ",\n\"" : "{\n\"", f);
        samba_tokenizer__write_key(f, t, (int32_t)i, true);
        fprintf(f, "\": %lu", (unsigned long)i);
    }
    fputs("\n}\n", f);
}

static void samba_tokenizer__write_merges(FILE *f, const samba_tokenizer *t)
{
    fputs("#version: 0.2\n", f);
    for (size_t i = 0; i < t->n_merges; i++) {
        samba_tokenizer__write_key(f, t, t->merge[i].left, false);
        fputc(' ', f);
        samba_tokenizer__write_key(f, t, t->merge[i].right, false);
        fputc('\n', f);
    }
}

/* Both files, each of which replaces the one of its name when both are written. path: vocab.json
   and merges.txt. */
static bool samba_tokenizer__save_as(const samba_tokenizer *t, char *const path[2],
                                     const samba_tokenizer__report *r)
{
    samba_base_output out[2];
    char why[600] = "";
    int begun = 0;
    while (begun < 2 && samba_base_begin(&out[begun], path[begun], NULL, why, sizeof why))
        begun++;
    bool done = begun == 2;
    if (done) {
        samba_tokenizer__write_vocabulary(out[0].file, t);
        samba_tokenizer__write_merges(out[1].file, t);
        for (int i = 0; i < 2; i++) {
            bool fine = fflush(out[i].file) == 0 && !ferror(out[i].file);
            if (!fine)
                snprintf(why, sizeof why, "%s: cannot be written: %s", path[i], strerror(errno));
            done = done && fine;
        }
    }
    for (int i = 0; i < begun; i++)
        done = samba_base_end(&out[i], done, why, sizeof why) && done;
    samba_tokenizer__report of = *r;
    of.file = NULL; /* why names it */
    return done || samba_tokenizer__fail(&of, "%s", why);
}

SAMBA_TOKENIZER_API bool samba_tokenizer_save(const samba_tokenizer *t, const char *folder,
                                              char *why, size_t why_size)
{
    static const char *const name[4]
        = { "vocab.json", "merges.txt", "tokenizer.json", "added_tokens.json" };
    samba_tokenizer__report r = { why, why_size, NULL };
    char *path[4];
    bool done = true;
    if (!t || !folder || !*folder)
        return samba_tokenizer__fail(&r, "no %s", t ? "folder to save to" : "tokenizer (NULL)");
    for (size_t i = 0; i < t->n_tokens; i++)
        if (!samba_tokenizer__can_be_written(t, i, &r)) return false;
    for (int i = 0; i < 4; i++) {
        path[i] = samba_tokenizer__join(folder, name[i]);
        if (!path[i]) done = false;
    }
    if (!done) samba_tokenizer__no_memory(&r);
    for (int i = 2; i < 4 && done; i++) {
        if (!samba_tokenizer__exists(path[i])) continue;
        r.file = path[i];
        done = samba_tokenizer__fail(&r,
                                     "is in the way: it would be read with or before what is saved "
                                     "here; remove it or save to another folder");
    }
    done = done && samba_tokenizer__save_as(t, path, &r);
    for (int i = 0; i < 4; i++)
        SAMBA_TOKENIZER_FREE(path[i]);
    return done;
}

// The files of a tokenizer, and a text: vocab.json and merges.txt, tokenizer.json, tokenizer.model,
// vocab.txt, and what may stand beside them. What is accepted encodes the text to ids that there
// are; these decode.
#include <stddef.h>

static void *get_memory(size_t size);
static void *change_memory(void *p, size_t size);
static void free_memory(void *p);
#define SAMBA_TOKENIZER_MALLOC(size) get_memory(size)
#define SAMBA_TOKENIZER_REALLOC(p, size) change_memory(p, size)
#define SAMBA_TOKENIZER_FREE(p) free_memory(p)
#define SAMBA_TOKENIZER_IMPLEMENTATION
#include "tools/include/samba/tokenizer.h"
#include "fuzz.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The cache of words takes 2 MiB, of which most inputs use little: the system would clear its pages
// for each of them.
enum { LARGE = 1 << 20 };

static void *kept;
static size_t kept_size;
static bool kept_used;

static void *get_memory(size_t size)
{
    if (size < LARGE || kept_used) return malloc(size);
    if (size != kept_size) {
        free(kept);
        kept = malloc(size);
        kept_size = size;
    }
    kept_used = kept != NULL;
    return kept;
}

static void free_memory(void *p)
{
    if (p && p == kept)
        kept_used = false;
    else
        free(p);
}

static void *change_memory(void *p, size_t size)
{
    if (!p || p != kept) return realloc(p, size);
    void *bigger = malloc(size);
    if (!bigger) return NULL;
    memcpy(bigger, p, size < kept_size ? size : kept_size);
    free_memory(p);
    return bigger;
}

static const char *const files[] = { "vocab.json",
                                     "merges.txt",
                                     "tokenizer.json",
                                     "tokenizer_config.json",
                                     "special_tokens_map.json",
                                     "added_tokens.json",
                                     "config.json",
                                     "tokenizer.model",
                                     "vocab.txt" };

enum { N_FILES = sizeof files / sizeof *files };

static const char *const words[] = { "\"model\"",
                                     "\"vocab\"",
                                     "\"merges\"",
                                     "\"type\":\"BPE\"",
                                     "\"added_tokens\"",
                                     "\"id\"",
                                     "\"content\"",
                                     "\"special\"",
                                     "\"normalized\"",
                                     "\"single_word\"",
                                     "\"lstrip\"",
                                     "\"rstrip\"",
                                     "\"pre_tokenizer\"",
                                     "\"ByteLevel\"",
                                     "\"add_prefix_space\"",
                                     "\"use_regex\"",
                                     "\"decoder\"",
                                     "\"tokenizer_class\"",
                                     "\"GPT2Tokenizer\"",
                                     "\"added_tokens_decoder\"",
                                     "\"bos_token\"",
                                     "\"unk_token\"",
                                     "\"<|endoftext|>\"",
                                     "<|endoftext|>",
                                     "\"Ġ\"",
                                     "\"Ġa\"",
                                     "Ġ a\n",
                                     "#version: 0.2\n",
                                     "\"additional_special_tokens\"",
                                     "\"byte_fallback\"",
                                     "\"ignore_merges\"",
                                     "\"dropout\"",
                                     "\"continuing_subword_prefix\"",
                                     "\"model_type\"",
                                     "\"Unigram\"",
                                     "\"WordPiece\"",
                                     "\"Metaspace\"",
                                     "\"Replace\"",
                                     "\"Regex\"",
                                     "\"Sequence\"",
                                     "\"NFKC\"",
                                     "(?i:a|b)?",
                                     "[^\\\\s\\\\p{L}]{1,3}",
                                     "\\\\s+(?!\\\\S)",
                                     "'s",
                                     " 're",
                                     "\xE2\x80\x83",
                                     "\xF0\x9F\x98\x80",
                                     NULL };

static void use(samba_tokenizer *t, const uint8_t *text, size_t size)
{
    int64_t n = samba_tokenizer_encode(t, (const char *)text, size, NULL, 0);
    int32_t *ids = malloc((size_t)(n > 0 ? n : 1) * sizeof *ids);
    if (!ids || n < 0) fuzz_fail("%zu bytes are %lld ids", size, (long long)n);
    if (samba_tokenizer_encode(t, (const char *)text, size, ids, n) != n)
        fuzz_fail("the same text has another number of ids");
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= samba_tokenizer_size(t)) fuzz_fail("id %d", (int)ids[i]);

    int64_t bytes = samba_tokenizer_decode(t, ids, n, NULL, 0);
    char *back = malloc((size_t)(bytes > 0 ? bytes : 1));
    if (!back || samba_tokenizer_decode(t, ids, n, back, bytes) != bytes)
        fuzz_fail("the same ids have another number of bytes");
    free(back);
    free(ids);

    const int32_t odd[3] = { -1, samba_tokenizer_size(t), 0x7FFFFFFF };
    if (samba_tokenizer_decode(t, odd, 3, NULL, 0) != 0) fuzz_fail("unknown ids decode");
    samba_tokenizer_id(t, "<|endoftext|>");
}

static void one(const uint8_t *data, size_t size)
{
    fuzz_part part[N_FILES + 1];
    char why[400] = "", folder[300];
    const fuzz_part *text = NULL;
    int n = fuzz_parts(data, size, part, N_FILES + 1);
    for (int i = 0; i < n; i++) {
        if (strcmp(part[i].name, "text") == 0) text = &part[i];
        for (int k = 0; k < N_FILES; k++)
            if (strcmp(part[i].name, files[k]) == 0) fuzz_write(files[k], part[i].at, part[i].size);
    }
    strcpy(folder, fuzz_path(""));
    folder[strlen(folder) - 1] = 0; // the slash

    samba_tokenizer *t = samba_tokenizer_open(folder, why, sizeof why);
    if (!t) {
        fuzz_check_text(why, sizeof why, "samba_tokenizer_open");
        return;
    }
    use(t, text ? text->at : data, text ? text->size : size);
    if (!samba_tokenizer_add_special(t, "<new>", why, sizeof why))
        fuzz_check_text(why, sizeof why, "samba_tokenizer_add_special");
    use(t, text ? text->at : data, text ? text->size : size);
    samba_tokenizer_close(t);
}

static size_t mutate_file(const char *name, uint8_t *data, size_t size, size_t most, unsigned seed)
{
    (void)name;
    return fuzz_mutate_text(data, size, most, seed);
}

static size_t mutate(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate_parts(data, size, most, seed, mutate_file);
}

// ---- Seeds, large inputs ------------------------------------------------------------------------

static const char *const sample
    = "the cat's hat, that 12 cats' hats; we'll see \xC3\xA9\xF0\x9F\x98\x80  .\n";

// Learns a vocabulary and adds its two files.
static void put_vocabulary(fuzz_bytes *b, const char *text, size_t size, int32_t n)
{
    char why[400], folder[300];
    fuzz_allow("vocab.json");
    fuzz_allow("merges.txt");
    strcpy(folder, fuzz_path(""));
    folder[strlen(folder) - 1] = 0;
    samba_tokenizer *t = samba_tokenizer_train(text, size, n, why, sizeof why);
    if (!t || !samba_tokenizer_save(t, folder, why, sizeof why)) fuzz_fail("no seeds: %s", why);
    samba_tokenizer_close(t);
    for (int i = 0; i < 2; i++) {
        size_t bytes;
        uint8_t *file = fuzz_file(fuzz_path(files[i]), &bytes);
        fuzz_put_part(b, files[i], file, bytes);
        free(file);
        remove(fuzz_path(files[i]));
    }
}

// The same as one tokenizer.json.
static void put_tokenizer_json(fuzz_bytes *b, const fuzz_bytes *pair)
{
    fuzz_part part[2];
    fuzz_bytes json = { NULL, 0, 0 };
    fuzz_parts(pair->at, pair->size, part, 2);
    fuzz_put_text(&json,
                  "{\"version\":\"1.0\",\"added_tokens\":[{\"id\":256,\"content\":"
                  "\"<|endoftext|>\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"
                  "\"normalized\":false,\"special\":true}],\"normalizer\":null,\"pre_tokenizer\":"
                  "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true},"
                  "\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\",\"merges\":[],"
                  "\"vocab\":");
    fuzz_put(&json, part[0].at, part[0].size);
    fuzz_put_text(&json, "}}");
    fuzz_put_part(b, "tokenizer.json", json.at, json.size);
    fuzz_put_part(b, "text", sample, strlen(sample));
    fuzz_free(&json);
}

// Small tokenizers of other families, as tests/golden/make_tokenizer_families.py writes them.
static void put_families(void)
{
    static const char *const lines = "[UNK]\n[CLS]\nthe\n##s\ncat\nhat\n'\n";
    static const char *const names[]
        = { "llama3.json", "deepseek3.json", "words.json",        "llama2.json",   "mistral.json",
            "gemma.json",  "marian.json",    "bert_uncased.json", "sp_llama.model" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[200];
        size_t size;
        fuzz_bytes b = { NULL, 0, 0 };
        snprintf(path, sizeof path, "tests/golden/tokenizers/%s", names[i]);
        uint8_t *file = fuzz_file(path, &size);
        if (!file) fuzz_fail("no seeds: %s", path);
        bool is_model = strstr(names[i], ".model") != NULL;
        fuzz_put_part(&b, is_model ? "tokenizer.model" : "tokenizer.json", file, size);
        fuzz_put_part(&b, "text", sample, strlen(sample));
        fuzz_seed(names[i], b.at, b.size);
        fuzz_free(&b);
        free(file);
    }
    fuzz_bytes b = { NULL, 0, 0 };
    fuzz_put_part(&b, "vocab.txt", lines, strlen(lines));
    fuzz_put_part(&b, "text", sample, strlen(sample));
    fuzz_seed("txt", b.at, b.size);
    fuzz_free(&b);
}

static void seeds(void)
{
    static const char *const config
        = "{\"tokenizer_class\":\"GPT2Tokenizer\",\"add_prefix_space\":false,\"bos_token\":"
          "\"<|endoftext|>\",\"added_tokens_decoder\":{\"5\":{\"content\":\"<s>\",\"special\":true}}}";
    fuzz_bytes b = { NULL, 0, 0 }, plain = { NULL, 0, 0 }, json = { NULL, 0, 0 };
    put_vocabulary(&b, sample, strlen(sample), 270);
    fuzz_put_part(&b, "tokenizer_config.json", config, strlen(config));
    fuzz_put_part(&b, "added_tokens.json", "{\"<s>\":270}", 11);
    fuzz_put_part(&b, "text", sample, strlen(sample));
    fuzz_seed("pair", b.at, b.size);
    put_vocabulary(&plain, "", 0, 257);
    put_tokenizer_json(&json, &plain);
    fuzz_seed("json", json.at, json.size);
    put_families();
    fuzz_free(&b);
    fuzz_free(&plain);
    fuzz_free(&json);
}

// A text of this size for a small vocabulary, or a vocabulary of this size.
static bool large(size_t size, int kind)
{
    static const char *const kinds[][2]
        = { { "a long word", "a" },
            { "many words", "the cat's hat " },
            { "many spaces", " " },
            { "letters and digits", "a1" },
            { "broken UTF-8", "\xE0\xF0\x9F" },
            { "many specials", "<|endof" },
            { "other alphabets", "\xD0\xB6\xE6\xBC\xA2 \xF0\x9F\x98\x80" },
            { "much vocabulary", "" },
            { "many merges", "" } };
    fuzz_bytes b = { NULL, 0, 0 }, text = { NULL, 0, 0 };
    if (kind >= (int)(sizeof kinds / sizeof *kinds)) return false;
    put_vocabulary(&b, sample, strlen(sample), 270);
    while (*kinds[kind][1] && text.size < size)
        fuzz_put_text(&text, kinds[kind][1]);
    fuzz_put_part(&b, "text", text.at, text.size);
    if (kind >= 7) { // many tokens of the bytes a and b
        fuzz_bytes many = { NULL, 0, 0 };
        const char *find = kind == 7 ? "\"<|endoftext|>\"" : "=== text";
        size_t at = 0;
        while (memcmp(b.at + at, find, strlen(find)) != 0)
            at++;
        for (unsigned i = 0; many.size < size; i++)
            fuzz_print(&many, kind == 7 ? "\"<extra%u>\":%u," : "a a%u\n", i, i + 271);
        fuzz_replace(&b, at, 0, many.at, many.size);
        fuzz_free(&many);
    }
    fuzz_large(kinds[kind][0], b.at, b.size);
    fuzz_free(&b);
    fuzz_free(&text);
    return true;
}

const fuzz_target fuzz_target_here = {
    .name = "tokenizer",
    .limits = { .seconds = 0.3, .seconds_per_mb = 20, .heap = 8 << 20, .heap_per_byte = 400 },
    .words = words,
    .one = one,
    .mutate = mutate,
    .seeds = seeds,
    .large = large,
    .most = 32768,
};

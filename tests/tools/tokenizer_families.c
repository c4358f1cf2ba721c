// samba/tokenizer.h against what tokenizers and sentencepiece make of texts, with a small tokenizer
// of each family (golden/tokenizers); without memory; and with files and texts of any bytes.
// run: -lcjson -lutf8proc needs:cjson/cJSON.h needs:utf8proc.h
#include "tests/lib/counting.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include <stdint.h>

#define SAMBA_TOKENIZER_MALLOC(size) counting_malloc(size)
#define SAMBA_TOKENIZER_REALLOC(p, size) counting_realloc(p, size)
#define SAMBA_TOKENIZER_FREE(p) counting_free(p)
#define SAMBA_TOKENIZER_IMPLEMENTATION
#include "tools/include/samba/tokenizer.h"

#define FOLDER "tests/golden/tokenizers/"
#define DIR "build/test/tokenizer_families.d"

enum { ROOM = 1 << 16 };

static const char *const families[]
    = { "llama3",   "qwen2",        "o200k",    "deepseek3", "deepseek2", "smollm",
        "words",    "llama2",       "mistral",  "gemma",     "unfused",   "marian",
        "bert_odd", "bert_uncased", "sp_llama", "sp_gemma",  "holes",     "holes_fused" };

enum { N_FAMILIES = sizeof families / sizeof families[0] };

static char why[600];
static int32_t ids_of[ROOM], want[ROOM];
static char text_of[ROOM], back_of[ROOM], made[ROOM];

static const char *path_of(const char *family)
{
    static char path[200];
    bool is_model = strncmp(family, "sp_", 3) == 0;
    snprintf(path, sizeof path, FOLDER "%s.%s", family, is_model ? "model" : "json");
    return path;
}

// ---- Goldens ------------------------------------------------------------------------------------

static size_t from_hex(const char *hex, char *out)
{
    size_t n = 0;
    unsigned byte;
    for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
        out[n++] = (char)byte;
    return n;
}

static int64_t from_list(const char *list)
{
    int64_t n = 0;
    for (char *stop; *list && *list != '-'; list = *stop ? stop + 1 : stop)
        want[n++] = (int32_t)strtol(list, &stop, 10);
    return n;
}

// A line of cases.txt: name, text, ids, text again.
static bool is_as_judged(samba_tokenizer *t, const char *hex, const char *list, const char *again)
{
    size_t size = from_hex(hex, text_of), back = from_hex(again, back_of);
    int64_t n = from_list(list), got = samba_tokenizer_encode(t, text_of, size, ids_of, ROOM);
    bool same = got == n && memcmp(ids_of, want, (size_t)n * sizeof *want) == 0;
    int64_t bytes = samba_tokenizer_decode(t, want, n, made, ROOM);
    return same && bytes == (int64_t)back && memcmp(made, back_of, back) == 0;
}

static void test_golden(void)
{
    static char line[ROOM], name[40], hex[ROOM], list[ROOM], again[ROOM], open[40];
    samba_tokenizer *t = NULL;
    int cases = 0;
    FILE *f = fopen(FOLDER "cases.txt", "r");
    CHECK(f != NULL);
    while (f && fgets(line, sizeof line, f)) {
        CHECK(sscanf(line, "%39s %65535s %65535s %65535s", name, hex, list, again) == 4);
        if (strcmp(name, open) != 0) {
            samba_tokenizer_close(t);
            t = samba_tokenizer_open(path_of(name), why, sizeof why);
            if (!t) printf("    %s\n", why);
            snprintf(open, sizeof open, "%s", name);
        }
        bool good = t && is_as_judged(t, hex, list, again);
        if (!good) printf("    %s: %s\n", name, hex);
        CHECK(good);
        cases++;
    }
    samba_tokenizer_close(t);
    if (f) fclose(f);
    CHECK(cases > 600);
    CHECK(n_live == 0);
}

// ---- Without memory -----------------------------------------------------------------------------

// Each allocation of opening and encoding fails once: a reason is given, and nothing is left.
static void test_out_of_memory(void)
{
    static const char text[] = "Caf\xC3\xA9 <|begin|>  alone 123 \xE4\xB8\xAD";
    for (int i = 0; i < N_FAMILIES; i++) {
        bool opened = false;
        for (long at = 0; at < 400 && !opened; at++) {
            fail_at = n_calls + at * (at + 1) / 2;
            why[0] = 0;
            samba_tokenizer *t = samba_tokenizer_open(path_of(families[i]), why, sizeof why);
            opened = t != NULL;
            CHECK(t || why[0]);
            for (int k = 0; k < 40 && t; k++) {
                fail_at = n_calls + k;
                int64_t n = samba_tokenizer_encode(t, text, strlen(text), ids_of, ROOM);
                CHECK(n == -1 || n > 0);
                if (n > 0) n = samba_tokenizer_decode(t, ids_of, n, made, ROOM);
                CHECK(n != 0);
            }
            fail_at = -1;
            samba_tokenizer_close(t);
            CHECK(n_live == 0);
        }
        CHECK(opened);
    }
}

// sentencepiece: "no pieces are loaded".
static void test_no_pieces(void)
{
    static const char only_unknown[] = "\x0A\x0E\x0A\x05<unk>\x15\0\0\0\0\x18\x02";
    mkdir(DIR, 0777);
    CHECK(write_whole(DIR "/only_unknown.model", only_unknown, sizeof only_unknown - 1));
    CHECK(!samba_tokenizer_open(DIR "/only_unknown.model", why, sizeof why));
    CHECK(strstr(why, "has no pieces") != NULL);
    CHECK(n_live == 0);
}

int main(void)
{
    RUN(test_golden);
    RUN(test_no_pieces);
    RUN(test_out_of_memory);
    return test_summary();
}

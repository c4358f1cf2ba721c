// samba/tokenizer.h against what GPT-2's own tokenizer says (golden/tokenizer.txt), against plain
// code here, with broken files, and without memory.
// run: -lcjson -lutf8proc needs:cjson/cJSON.h needs:utf8proc.h
#include "tests/lib/counting.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#define SAMBA_TOKENIZER_MALLOC(size) counting_malloc(size)
#define SAMBA_TOKENIZER_REALLOC(p, size) counting_realloc(p, size)
#define SAMBA_TOKENIZER_FREE(p) counting_free(p)
#define SAMBA_TOKENIZER_IMPLEMENTATION
#include "tools/include/samba/tokenizer.h"

#define DIR "build/test/tokenizer.d" // the program itself may be build/test/tokenizer
#define END_TEXT "<|endoftext|>"

enum { BIG = 1 << 22 };

static const char lesson[]
    = "the cat sat on the mat, the dog's bone; the dog's house, the cats' mats. ";
static char why[400];
static char text_of[BIG];
static int32_t ids_of[BIG];
static uint64_t random_state;

static uint32_t draw(uint32_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((random_state >> 33) % n);
}

// ---- Files --------------------------------------------------------------------------------------
// A tokenizer of 270 ids, the same each time.
static samba_tokenizer *small(void)
{
    return samba_tokenizer_train(lesson, strlen(lesson), 270, why, sizeof why);
}

// The same as tokenizer.json, written from vocab.json and merges.txt in DIR. pairs: ["a", "b"]
static bool write_tokenizer_json(const char *path, bool pairs, const char *added)
{
    size_t n, m;
    char *vocab = read_whole(DIR "/vocab.json", &n), *merges = read_whole(DIR "/merges.txt", &m);
    char *out = (char *)malloc(BIG), *p = out;
    p += sprintf(p,
                 "{\"version\": \"1.0\", \"truncation\": null, \"added_tokens\": %s,\n"
                 "\"normalizer\": null, \"pre_tokenizer\": {\"type\": \"ByteLevel\", "
                 "\"add_prefix_space\": false, \"use_regex\": true},\n"
                 "\"decoder\": {\"type\": \"ByteLevel\"},\n"
                 "\"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null,\n"
                 "\"continuing_subword_prefix\": \"\", \"end_of_word_suffix\": null,\n"
                 "\"vocab\": %s, \"merges\": [",
                 added, vocab);
    const char *comma = "";
    strtok(merges, "\n"); // the version
    for (char *line; (line = strtok(NULL, "\n")) != NULL; comma = ", ") {
        char *space = strchr(line, ' ');
        *space = 0;
        p += sprintf(p, pairs ? "%s[\"%s\", \"%s\"]" : "%s\"%s %s\"", comma, line, space + 1);
    }
    p += sprintf(p, "]}}\n");
    bool good = write_whole(path, out, (size_t)(p - out));
    free(vocab);
    free(merges);
    free(out);
    return good;
}

// ---- The vocabulary of GPT-2, if it is here -----------------------------------------------------
static const char *shared(const char *name)
{
    static char path[1024];
    const char *root = getenv("SAMBA_SHARED");
    snprintf(path, sizeof path, "%s/data/%s", root ? root : "../shared", name);
    return path;
}

static samba_tokenizer *gpt2(const char *test)
{
    samba_tokenizer *t = samba_tokenizer_open(shared("gpt2"), why, sizeof why);
    FILE *f = fopen(shared("gpt2/vocab.json"), "rb");
    if (!f)
        printf("skipped: %s; it takes %s\n", test, shared("gpt2/vocab.json"));
    else
        fclose(f);
    if (f) CHECK(t != NULL);
    if (f && !t) printf("%s\n", why);
    return t;
}

// ---- Plain code to compare with -----------------------------------------------------------------

// Bytes of a character at p by Unicode's table 3-7, or 0 and in *part what one U+FFFD is for.
static size_t well_formed(const uint8_t *p, size_t n, size_t *part)
{
    static const uint8_t row[][10] = { // first, last; the ranges of what follows; 0
                                       { 0x00, 0x7F },
                                       { 0xC2, 0xDF, 0x80, 0xBF },
                                       { 0xE0, 0xE0, 0xA0, 0xBF, 0x80, 0xBF },
                                       { 0xE1, 0xEC, 0x80, 0xBF, 0x80, 0xBF },
                                       { 0xED, 0xED, 0x80, 0x9F, 0x80, 0xBF },
                                       { 0xEE, 0xEF, 0x80, 0xBF, 0x80, 0xBF },
                                       { 0xF0, 0xF0, 0x90, 0xBF, 0x80, 0xBF, 0x80, 0xBF },
                                       { 0xF1, 0xF3, 0x80, 0xBF, 0x80, 0xBF, 0x80, 0xBF },
                                       { 0xF4, 0xF4, 0x80, 0x8F, 0x80, 0xBF, 0x80, 0xBF }
    };
    *part = 1;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        if (p[0] < row[i][0] || p[0] > row[i][1]) continue;
        const uint8_t *range = row[i] + 2;
        size_t k = 1;
        for (; range[1] && k < n && p[k] >= range[0] && p[k] <= range[1]; k++)
            range += 2;
        *part = k;
        return range[1] ? 0 : k;
    }
    return 0;
}

static size_t replaced(const uint8_t *p, size_t n, uint8_t *out)
{
    size_t size = 0, part;
    for (size_t i = 0; i < n; i += part) {
        bool good = well_formed(p + i, n - i, &part) > 0;
        memcpy(out + size, good ? p + i : (const uint8_t *)"\xEF\xBF\xBD", good ? part : 3);
        size += good ? part : 3;
    }
    return size;
}

// One word, a merge at a time: the first in the list, the leftmost of its places.
static size_t plain_word(const samba_tokenizer *t, const uint8_t *word, size_t n, int32_t *ids)
{
    for (size_t i = 0; i < n; i++)
        ids[i] = t->byte_id[word[i]];
    for (;;) {
        size_t best = n;
        int32_t rank = INT32_MAX, made = -1;
        for (size_t i = 0; i + 1 < n; i++)
            for (int32_t r = 0; r < (int32_t)t->n_merges && r < rank; r++)
                if (t->merge[r].left == ids[i] && t->merge[r].right == ids[i + 1]) {
                    rank = r;
                    best = i;
                    made = t->merge[r].made;
                }
        if (best == n) return n;
        ids[best] = made;
        memmove(ids + best + 1, ids + best + 2, (n - best - 2) * sizeof *ids);
        n--;
    }
}

static bool encodes_to(samba_tokenizer *t, const char *text, const int32_t *want, int64_t n)
{
    int64_t got = samba_tokenizer_encode(t, text, strlen(text), ids_of, BIG);
    bool same = got == n && memcmp(ids_of, want, (size_t)n * sizeof *want) == 0;
    if (!same) {
        printf("    \"%s\" is", text);
        for (int64_t i = 0; i < got && i < 40; i++)
            printf(" %d", (int)ids_of[i]);
        printf("\n");
    }
    return same;
}

// ---- Goldens ------------------------------------------------------------------------------------

// Reads "hex: id id id". False at the end.
static bool next_golden(FILE *f, size_t *size, int64_t *n, int32_t *ids)
{
    static char line[1 << 16];
    if (!fgets(line, sizeof line, f)) return false;
    char *p = line;
    unsigned byte;
    for (*size = 0; *p != ':' && sscanf(p, "%2x", &byte) == 1; p += 2)
        text_of[(*size)++] = (char)byte;
    for (*n = 0, p++;; (*n)++) {
        char *stop;
        ids[*n] = (int32_t)strtol(p, &stop, 10);
        if (stop == p) return true;
        p = stop;
    }
}

static bool as_in_golden(samba_tokenizer *t, int *lines)
{
    static int32_t want[1 << 14];
    static uint8_t fixed[1 << 14];
    static char back[1 << 14];
    size_t size;
    int64_t n;
    bool all = true;
    FILE *f = fopen("tests/golden/tokenizer.txt", "r");
    for (*lines = 0; f && next_golden(f, &size, &n, want); ++*lines) {
        int64_t got = samba_tokenizer_encode(t, text_of, size, ids_of, BIG);
        bool good = got == n && memcmp(ids_of, want, (size_t)n * sizeof *want) == 0;
        size = replaced((const uint8_t *)text_of, size, fixed);
        good = good && samba_tokenizer_decode(t, want, n, back, sizeof back) == (int64_t)size
            && memcmp(back, fixed, size) == 0;
        if (!good) printf("    line %d of tests/golden/tokenizer.txt differs\n", *lines + 1);
        all = all && good;
    }
    if (f) fclose(f);
    return all;
}

static void test_golden(void)
{
    int lines;
    samba_tokenizer *t = gpt2("goldens");
    if (!t) return;
    CHECK(as_in_golden(t, &lines));
    CHECK(lines > 100);
    CHECK(samba_tokenizer_size(t) == 50257);
    CHECK(samba_tokenizer_id(t, END_TEXT) == 50256);
    CHECK(samba_tokenizer_id(t, " the") == 262);
    CHECK(samba_tokenizer_id(t, "the") == 1169);
    CHECK(samba_tokenizer_id(t, "\xC3\xA9") == 2634);
    CHECK(samba_tokenizer_id(t, "no such token") == -1);
    CHECK(t->trie[0].n_tokens == 1);
    samba_tokenizer_close(t);
    CHECK(n_live == 0);
}

// The four ways to write GPT-2 down are one.
static void test_gpt2_files(void)
{
    static const char folder[] = "generative_data_prep/dialogue/pipelined_dialogue/tokenizer";
    int lines;
    char path[200], vocab[1024], merges[1024];
    samba_tokenizer *t = gpt2("the other files of GPT-2");
    if (!t) return;
    CHECK(samba_tokenizer_save(t, DIR, why, sizeof why));
    samba_tokenizer_close(t);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s%s", folder, i == 1 ? "/tokenizer.json" : "");
        snprintf(vocab, sizeof vocab, "%s", shared("gpt2/vocab.json"));
        snprintf(merges, sizeof merges, "%s", shared("gpt2/merges.txt"));
        t = i == 3   ? samba_tokenizer_open(DIR, why, sizeof why)
            : i == 2 ? samba_tokenizer_open_files(vocab, merges, why, sizeof why)
                     : samba_tokenizer_open(shared(path), why, sizeof why);
        CHECK(t && samba_tokenizer_size(t) == 50257 && as_in_golden(t, &lines));
        if (!t) printf("    %s\n", why);
        samba_tokenizer_close(t);
    }
}

// ---- Words --------------------------------------------------------------------------------------

// Bars show where the pattern cuts.
static void test_words(void)
{
    static const char *const cut[]
        = { "Hello|,| world|!",
            "I|'m| he|'s| we|'ll| you|'ve| they|'re| I|'d| can|'t",
            "'|S|'|M|'|LL",
            " '|s",
            "''|s",
            "'s|'s|s",
            "'re|e",
            "'|l",
            "'",
            " '",
            "!'|s",
            "don|'|x",
            " ",
            "  ",
            "a| ",
            "a|  ",
            "a| | b",
            "a|  | b",
            "a|\n|b",
            "a|\n|\n|b",
            "a| |\n|b",
            "a|\t| b",
            "a|\r\n\r\n",
            "a|1| 22|b| 3",
            "_|a|_|1",
            " !|x",
            "\x1C|a",
            "a|\x1F",
            "a|\xC2\x85|b",
            "a|\xC2\xA0|b",
            "a|\xE1\x9A\x80|b",
            "a|\xE2\x80\x80|b",
            "a|\xE2\x80\xA8|b",
            "a|\xE2\x80\xA9|b",
            "a|\xE2\x80\xAF|b",
            "a|\xE2\x81\x9F|b",
            "a|\xE3\x80\x80|b", // spaces
            "a|\xE3\x80\x80|\xE3\x80\x80|b",
            "a|\xC2\x85| b",
            "!\xE2\x80\x8B!",
            "!\xEF\xBB\xBF!",
            "a\xC3\xA9\xCE\xB1\xD0\xB0\xD7\x90\xE4\xB8\xAD\xC7\x85\xCA\xB0", // letters
            "1\xD9\xA1\xC2\xB2\xC2\xBD\xE2\x85\xAB\xE3\x80\x87",
            "a|\xC2\xB9|a",                                                        // numbers
            "e|\xCC\x81!\xF0\x9F\x98\x80\xE2\x82\xAC\xEE\x80\x80\xF4\x8F\xBF\xBF", // others
            "!|\xE1\xB2\x89|!",
            "!|\xF0\xAE\xAF\xB0|!", // of 15.1, 16.0
            "1\xF0\x90\xB5\x80|\xF0\x90\xB5\x8Az",
            "!\xE1\xB2\x8B!",
            "!|\xF0\xAE\xB9\x9D|\xF0\xAE\xB9\x9E!" };
    for (size_t i = 0; i < sizeof cut / sizeof cut[0]; i++) {
        uint8_t text[100], marked[200];
        size_t n = 0, m = 0;
        for (const char *p = cut[i]; *p; p++)
            if (*p != '|') text[n++] = (uint8_t)*p;
        for (const uint8_t *p = text, *end = text + n; p < end;) {
            const uint8_t *stop = samba_tokenizer__word(p, end);
            if (m) marked[m++] = '|';
            while (p < stop)
                marked[m++] = *p++;
        }
        marked[m] = 0;
        if (strcmp((char *)marked, cut[i]) == 0) continue;
        printf("    %s is cut as %s\n", cut[i], (char *)marked);
        CHECK(!"cut there");
    }
}

// ---- Encoding and decoding ----------------------------------------------------------------------
static void test_roundtrip(void)
{
    static const char *const piece[] = { "\xC3\xA9", "\xE4\xB8\xAD", "\xF0\x9F\x98\x80",
                                         " ",        "'s",           "\n",
                                         END_TEXT,   "\xC2\xA0",     "the",
                                         "1",        "\xCC\x81",     "" };
    uint8_t data[300], fixed[900];
    char back[900];
    samba_tokenizer *t = small();
    if (!t) test_fail(why, __FILE__, __LINE__);
    random_state = 1;
    for (int round = 0; round < 20000 && t && !test_bad; round++) {
        size_t n = 0;
        while (n < draw(280)) {
            if (round % 2) data[n++] = (uint8_t)draw(256);
            const char *p = piece[draw(12)];
            memcpy(data + n, p, strlen(p));
            n += strlen(p);
        }
        size_t size = replaced(data, n, fixed);
        int64_t m = samba_tokenizer_encode(t, (const char *)data, n, ids_of, BIG);
        CHECK(samba_tokenizer_decode(t, ids_of, m, back, sizeof back) == (int64_t)size);
        CHECK(memcmp(back, fixed, size) == 0);
    }
    samba_tokenizer_close(t);
}

static void test_limits_of_output(void)
{
    samba_tokenizer *t = small();
    int32_t some[8] = { -7, -7, -7, -7, -7, -7, -7, -7 }, odd[] = { 1, -1, 270, INT32_MAX, 2 };
    char text[8] = "-------";
    int64_t n = samba_tokenizer_encode(t, lesson, strlen(lesson), ids_of, BIG);
    CHECK(n > 10);
    CHECK(samba_tokenizer_encode(t, lesson, strlen(lesson), some, 5) == n);
    CHECK(memcmp(some, ids_of, 5 * sizeof *some) == 0 && some[5] == -7);
    CHECK(samba_tokenizer_encode(t, lesson, strlen(lesson), NULL, 5) == n);
    CHECK(samba_tokenizer_encode(t, lesson, strlen(lesson), some, -1) == n);
    CHECK(samba_tokenizer_encode(t, "", 0, some, 8) == 0);
    CHECK(samba_tokenizer_encode(t, NULL, 0, some, 8) == 0);
    CHECK(samba_tokenizer_encode(t, NULL, 3, some, 8) == -1);
    CHECK(samba_tokenizer_encode(NULL, "a", 1, some, 8) == -1);
    CHECK(samba_tokenizer_decode(t, ids_of, n, text, 5) == (int64_t)strlen(lesson));
    CHECK(memcmp(text, "the c--", 7) == 0);
    CHECK(samba_tokenizer_decode(t, ids_of, n, NULL, 5) == (int64_t)strlen(lesson));
    CHECK(samba_tokenizer_decode(t, ids_of, n, text, -1) == (int64_t)strlen(lesson));
    CHECK(samba_tokenizer_decode(t, ids_of, -3, text, 5) == 0);
    CHECK(samba_tokenizer_decode(t, odd, 5, text, 8) == 2 && text[0] == '"' && text[1] == '#');
    CHECK(samba_tokenizer_decode(NULL, odd, 5, text, 8) == 0);
    CHECK(samba_tokenizer_size(NULL) == 0 && samba_tokenizer_id(NULL, "a") == -1);
    CHECK(samba_tokenizer_id(t, "") == -1 && samba_tokenizer_id(t, NULL) == -1);
    samba_tokenizer_close(t);
    samba_tokenizer_close(NULL);
}

// Words of all lengths, by all three ways through the encoder, and a second time from its cache.
static void test_words_by_plain_code(void)
{
    static char babble[20000];
    int32_t want[300];
    random_state = 2;
    for (size_t i = 0; i < sizeof babble; i++)
        babble[i] = "aaabbc "[draw(7)];
    samba_tokenizer *t = samba_tokenizer_train(babble, sizeof babble, 400, why, sizeof why);
    CHECK(t && t->n_merges > 100);
    for (int round = 0; round < 3000 && t && !test_bad; round++) {
        char word[300];
        uint32_t n = 1 + draw(round % 3 ? 80 : 290), letters = 1 + draw(3);
        for (uint32_t i = 0; i < n; i++)
            word[i] = "abc"[draw(letters)];
        int64_t m = (int64_t)plain_word(t, (const uint8_t *)word, n, want);
        for (int again = 0; again < 2; again++) {
            CHECK(samba_tokenizer_encode(t, word, n, ids_of, BIG) == m);
            CHECK(memcmp(ids_of, want, (size_t)m * sizeof *want) == 0);
        }
    }
    samba_tokenizer_close(t);
}

// A word of 3 MB takes a moment; a quadratic search would take days.
static void test_long_word(void)
{
    enum { N = 3000000 };

    samba_tokenizer *t = samba_tokenizer_train("aaaaaaaaaaaaaaaa", 16, 300, why, sizeof why);
    memset(text_of, 'a', N);
    int64_t n = samba_tokenizer_encode(t, text_of, N, ids_of, BIG);
    CHECK(n == N / 16);
    for (int64_t i = 0; i < n; i++)
        if (ids_of[i] != samba_tokenizer_id(t, "aaaaaaaaaaaaaaaa")) CHECK(!"all the same");
    memset(text_of, ' ', N);
    CHECK(samba_tokenizer_encode(t, text_of, N, ids_of, BIG) == N);
    samba_tokenizer_close(t);
}

// ---- Special tokens -----------------------------------------------------------------------------
static void test_special(void)
{
    samba_tokenizer *t = small();
    const int32_t one[] = { 269 }, three[] = { 269, 269, 259, 269 }, longer[] = { 270, 269, 271 };
    CHECK(encodes_to(t, END_TEXT, one, 1));
    CHECK(encodes_to(t, END_TEXT END_TEXT " the" END_TEXT, three, 4));
    CHECK(samba_tokenizer_encode(t, "<|endoftext|", 12, ids_of, BIG) > 4);
    CHECK(samba_tokenizer_add_special(t, END_TEXT "!", why, sizeof why));
    CHECK(samba_tokenizer_add_special(t, "\xE2\x82\xAC uro\n", why, sizeof why));
    CHECK(samba_tokenizer_size(t) == 272);
    CHECK(encodes_to(t, END_TEXT "!" END_TEXT "\xE2\x82\xAC uro\n", longer, 3));
    CHECK(samba_tokenizer_decode(t, longer, 3, text_of, BIG) == 35);
    CHECK(memcmp(text_of, END_TEXT "!" END_TEXT "\xE2\x82\xAC uro\n", 35) == 0);
    CHECK(samba_tokenizer_id(t, END_TEXT "!") == 270);
    CHECK(samba_tokenizer_add_special(t, END_TEXT, why, sizeof why)); // already
    CHECK(samba_tokenizer_add_special(t, "the", why, sizeof why));    // a token, until now
    CHECK(samba_tokenizer_size(t) == 272 && t->trie[0].n_tokens == 4);
    const int32_t within[] = { 258, 258, t->byte_id['m'] };
    CHECK(encodes_to(t, "thethem", within, 3));
    CHECK(!samba_tokenizer_add_special(t, "", why, sizeof why) && strstr(why, "empty"));
    CHECK(!samba_tokenizer_add_special(t, NULL, why, sizeof why) && strstr(why, "empty"));
    CHECK(!samba_tokenizer_add_special(t, "ab\xFF", why, sizeof why) && strstr(why, "byte 2"));
    CHECK(!samba_tokenizer_add_special(NULL, "ab", NULL, 0));
    samba_tokenizer_close(t);
}

// Twenty thousand special tokens that begin alike: the search must not try them one by one, nor
// entering them compare each with all. Before, this took 20 s.
static void test_many_special(void)
{
    enum { MANY = 20000, SIZE = 200000 };

    samba_tokenizer *t = small();
    char token[2000];
    for (int i = 0; i < MANY; i++) {
        sprintf(token, "<a%05d>", i);
        if (!samba_tokenizer_add_special(t, token, why, sizeof why)) CHECK(!"added");
    }
    clock_t start = clock();
    memset(text_of, '<', SIZE);
    CHECK(samba_tokenizer_encode(t, text_of, SIZE, ids_of, BIG) == SIZE);
    for (int i = 0; i < SIZE; i++)
        text_of[i] = "<a0000"[i % 6];
    CHECK(samba_tokenizer_encode(t, text_of, SIZE, ids_of, BIG) == SIZE);
    CHECK((double)(clock() - start) / CLOCKS_PER_SEC < 2);
    const int32_t found[] = { 270 + 19999, t->byte_id['<'], 270 };
    CHECK(encodes_to(t, "<a19999><<a00000>", found, 3));
    memset(token, 'x', sizeof token);
    token[1025] = 0;
    CHECK(!samba_tokenizer_add_special(t, token, why, sizeof why));
    CHECK(strstr(why, "has 1025 bytes; at most 1024") != NULL);
    token[1024] = 0;
    samba_tokenizer_close(t);
    t = small();
    CHECK(samba_tokenizer_add_special(t, token, why, sizeof why));
    CHECK(samba_tokenizer_encode(t, token, 1024, ids_of, BIG) == 1);
    samba_tokenizer_close(t);
    CHECK(n_live == 0);
}

// What added_tokens of a tokenizer.json can say; the ids are those of Hugging Face's tokenizers.
static void test_added_tokens(void)
{
    static const char added[] = "[{\"id\": 269, \"content\": \"<|endoftext|>\", \"special\": true},"
                                "{\"id\": 270, \"content\": \"<L>\", \"lstrip\": true},"
                                "{\"id\": 271, \"content\": \"<R>\", \"rstrip\": true},"
                                "{\"id\": 272, \"content\": \"ab\", \"normalized\": true},"
                                "{\"id\": 273, \"content\": \"bc\", \"normalized\": false}]";
    CHECK(write_tokenizer_json(DIR "/added.json", true, added));
    samba_tokenizer *t = samba_tokenizer_open(DIR "/added.json", why, sizeof why);
    if (!t) test_fail(why, __FILE__, __LINE__);
    if (!t) return;
    const int32_t a = t->byte_id['a'], x = t->byte_id['x'];
    const int32_t left[] = { x, 270, 220, x }, right[] = { x, 220, 271, x };
    const int32_t order[] = { a, 273, 272, 272 }, all[] = { 271, 270 };
    CHECK(t->byte_id[' '] == 220);
    CHECK(encodes_to(t, "x \xC2\xA0\n<L> x", left, 4));
    CHECK(encodes_to(t, "x <R> \xE2\x80\x83\tx", right, 4));
    CHECK(encodes_to(t, "abcabab", order, 4)); // bc is sought before ab
    CHECK(encodes_to(t, "<R>  <L>", all, 2));
    CHECK(!samba_tokenizer_save(t, DIR, why, sizeof why) && strstr(why, "cannot express"));
    samba_tokenizer_close(t);
}

// ---- Training, saving ---------------------------------------------------------------------------
static bool same_tokenizer(samba_tokenizer *a, samba_tokenizer *b)
{
    bool same = a && b && a->n_tokens == b->n_tokens && a->n_merges == b->n_merges;
    for (int32_t i = 0; same && i < (int32_t)a->n_tokens; i++) {
        const samba_tokenizer__token *k = &a->token[i], *m = &b->token[i];
        same = k->size == m->size && memcmp(a->bytes + k->at, b->bytes + m->at, k->size) == 0
            && ((k->flags ^ m->flags) & SAMBA_TOKENIZER__SPECIAL) == 0;
    }
    return same && memcmp(a->merge, b->merge, a->n_merges * sizeof *a->merge) == 0;
}

static void test_training(void)
{
    static const char *const learned[] = { "at",  "he", "the",  " the", "'s",   "cat",  "do",
                                           "mat", "on", " cat", " do",  " mat", " dog", END_TEXT };
    samba_tokenizer *t = small(), *again = small();
    CHECK(samba_tokenizer_size(t) == 270 && same_tokenizer(t, again));
    for (int i = 0; i < 14; i++)
        CHECK(samba_tokenizer_id(t, learned[i]) == 256 + i);
    CHECK(samba_tokenizer_id(t, "!") == 0 && samba_tokenizer_id(t, "~") == 93);
    samba_tokenizer_close(again);
    samba_tokenizer_close(t);

    t = samba_tokenizer_train("xx" END_TEXT "xx" END_TEXT "xx", 32, 1000, why, sizeof why);
    CHECK(samba_tokenizer_size(t) == 258); // nothing is learned from the separator
    CHECK(samba_tokenizer_id(t, "xx") == 256 && samba_tokenizer_id(t, END_TEXT) == 257);
    samba_tokenizer_close(t);
    t = samba_tokenizer_train("ab ab cd cd cd", 14, 258, why, sizeof why);
    CHECK(samba_tokenizer_id(t, "cd") == 256); // 3 times
    samba_tokenizer_close(t);
    t = samba_tokenizer_train("zz yy", 5, 258, why, sizeof why);
    CHECK(samba_tokenizer_id(t, "yy") == 256); // once each: smaller ids first
    samba_tokenizer_close(t);
    t = samba_tokenizer_train("\xFF\xFF", 2, 1000, why, sizeof why);
    CHECK(samba_tokenizer_id(t, "\xEF\xBF\xBD") == 257); // learned as U+FFFD
    samba_tokenizer_close(t);
    t = samba_tokenizer_train(NULL, 0, 257, why, sizeof why);
    CHECK(samba_tokenizer_size(t) == 257);
    samba_tokenizer_close(t);
    CHECK(!samba_tokenizer_train("a", 1, 256, why, sizeof why) && strstr(why, "257"));
    CHECK(!samba_tokenizer_train("a", 1, INT32_MAX, why, sizeof why) && strstr(why, "16777216"));
    CHECK(!samba_tokenizer_train(NULL, 1, 300, why, sizeof why) && strstr(why, "no text"));
    CHECK(n_live == 0);
}

static void test_save(void)
{
    size_t n, m;
    samba_tokenizer *t = small(), *back;
    CHECK(samba_tokenizer_add_special(t, "\xE2\x82\xAC \"q\" \\ \x01\n", why, sizeof why));
    CHECK(write_whole(DIR "/vocab.json.tmp", "mine", 4));
    CHECK(samba_tokenizer_save(t, DIR, why, sizeof why));
    back = samba_tokenizer_open(DIR "/", why, sizeof why);
    if (!back) test_fail(why, __FILE__, __LINE__);
    CHECK(same_tokenizer(t, back));
    char *first = read_whole(DIR "/vocab.json", &n);
    CHECK(back && samba_tokenizer_save(back, DIR, why, sizeof why));
    char *second = read_whole(DIR "/vocab.json", &m);
    CHECK(n == m && n > 1000 && memcmp(first, second, n) == 0);
    free(first);
    free(second);
    first = read_whole(DIR "/vocab.json.tmp", &n); // somebody else's
    CHECK(first && n == 4 && memcmp(first, "mine", 4) == 0);
    free(first);
    samba_tokenizer_close(back);
    CHECK(!samba_tokenizer_save(t, DIR "/nowhere", why, sizeof why));
    CHECK(strstr(why, "nowhere/vocab") != NULL);
    CHECK(!samba_tokenizer_save(t, "", why, sizeof why) && strstr(why, "no folder"));
    CHECK(!samba_tokenizer_save(NULL, DIR, why, sizeof why) && strstr(why, "NULL"));

    mkdir(DIR "/taken", 0777);
    mkdir(DIR "/taken/merges.txt", 0777);
    CHECK(!samba_tokenizer_save(t, DIR "/taken", why, sizeof why) && strstr(why, "merges.txt"));
    CHECK(!fopen(DIR "/taken/vocab.json", "rb")); // both or none
    mkdir(DIR "/json", 0777);
    CHECK(write_whole(DIR "/json/tokenizer.json", "{}", 2));
    CHECK(!samba_tokenizer_save(t, DIR "/json", why, sizeof why) && strstr(why, "in the way"));
    CHECK(samba_tokenizer_add_special(t, "\xC3\xA9t\xC3\xA9", why, sizeof why));
    CHECK(!samba_tokenizer_save(t, DIR, why, sizeof why) && strstr(why, "other bytes"));
    samba_tokenizer_close(t);
    t = small();
    CHECK(samba_tokenizer_add_special(t, "the", why, sizeof why));
    CHECK(!samba_tokenizer_save(t, DIR, why, sizeof why) && strstr(why, "words become it"));
    CHECK(!samba_tokenizer_save(t, "/dev/full/x", NULL, 0));
    samba_tokenizer_close(t);
    CHECK(n_live == 0);
}

// Any token may have the id 0, also one that two others are merged to.
static void test_ids_in_any_order(void)
{
    size_t size;
    samba_tokenizer *t = small(), *other;
    CHECK(samba_tokenizer_save(t, DIR, why, sizeof why));
    int32_t n = samba_tokenizer_encode(t, lesson, strlen(lesson), ids_of, BIG);
    samba_tokenizer_close(t);
    char *vocab = read_whole(DIR "/vocab.json", &size);
    char *first = strstr(vocab, "\"!\": 0,"), *last = strstr(vocab, "\"at\": 256");
    CHECK(first && last);
    if (!first || !last) return;
    char *swapped = (char *)malloc(size + 10), *p = swapped;
    p += sprintf(p, "%.*s\"!\": 256,", (int)(first - vocab), vocab);
    first += strlen("\"!\": 0,");
    p += sprintf(p, "%.*s\"at\": 0", (int)(last - first), first);
    p += sprintf(p, "%s", last + strlen("\"at\": 256"));
    CHECK(write_whole(DIR "/swapped.json", swapped, (size_t)(p - swapped)));
    free(vocab);
    free(swapped);
    other = samba_tokenizer_open_files(DIR "/swapped.json", DIR "/merges.txt", why, sizeof why);
    if (!other) test_fail(why, __FILE__, __LINE__);
    int n_zeros = 0;
    for (int32_t i = 0; i < n; i++) {
        ids_of[i] = ids_of[i] == 256 ? 0 : ids_of[i] == 0 ? 256 : ids_of[i];
        n_zeros += ids_of[i] == 0;
    }
    int32_t *want = (int32_t *)malloc((size_t)n * sizeof *want);
    memcpy(want, ids_of, (size_t)n * sizeof *want);
    CHECK(n_zeros > 0 && other && encodes_to(other, lesson, want, n));
    free(want);
    samba_tokenizer_close(other);
    CHECK(n_live == 0);
}

// merges.txt from another system, and an added_tokens.json, are as good.
static void test_other_forms(void)
{
    size_t n;
    samba_tokenizer *t = small(), *other;
    CHECK(samba_tokenizer_save(t, DIR, why, sizeof why));
    char *merges = read_whole(DIR "/merges.txt", &n), *crlf = (char *)malloc(2 * n + 10), *p = crlf;
    for (char *q = strchr(merges, '\n') + 1; *q; q++) { // without the version, too
        if (*q == '\n') *p++ = '\r';
        *p++ = *q;
    }
    p += sprintf(p, "\r\n\n");
    CHECK(write_whole(DIR "/crlf.txt", crlf, (size_t)(p - crlf)));
    free(merges);
    free(crlf);
    other = samba_tokenizer_open_files(DIR "/vocab.json", DIR "/crlf.txt", why, sizeof why);
    CHECK(same_tokenizer(t, other));
    samba_tokenizer_close(other);
    for (int pairs = 0; pairs < 2; pairs++) {
        const char *added = "[{\"id\": 269, \"content\": \"<|endoftext|>\"}]";
        CHECK(write_tokenizer_json(DIR "/whole.json", pairs, added));
        other = samba_tokenizer_open(DIR "/whole.json", why, sizeof why);
        CHECK(same_tokenizer(t, other));
        samba_tokenizer_close(other);
    }
    CHECK(samba_tokenizer_add_special(t, "<x>", why, sizeof why));
    const char *two = "{\"<x>\": 270, \"<|endoftext|>\": 269}", *bad = "{\"<x>\": 271}";
    CHECK(write_whole(DIR "/added_tokens.json", two, strlen(two)));
    other = samba_tokenizer_open(DIR, why, sizeof why);
    CHECK(same_tokenizer(t, other));
    samba_tokenizer_close(other);
    CHECK(write_whole(DIR "/added_tokens.json", bad, strlen(bad)));
    CHECK(!samba_tokenizer_open(DIR, why, sizeof why) && strstr(why, "\"<x>\" is 271"));
    CHECK(strstr(why, "added_tokens.json") != NULL);
    remove(DIR "/added_tokens.json");
    samba_tokenizer_close(t);
    CHECK(n_live == 0);
}

// ---- What the other files of a folder say -------------------------------------------------------

// The ids are those of Hugging Face's transformers 5.23; tests/tools/tokenizer.sh asks it again.
typedef struct folder_case {
    const char *file[3], *json[3]; // files beside the vocabulary, and their text
    const char *text;
    int n; // ids that follow
    int32_t ids[8];
    const char *says; // of a refusal; NULL: none
} folder_case;

#define CONFIG "tokenizer_config.json"
#define MAP "special_tokens_map.json"
#define ADDED "added_tokens.json"
#define GPT2_CLASS "\"tokenizer_class\": \"GPT2Tokenizer\""
// of the 270 tokens of small(), 258 is "the", 259 " the" and 269 <|endoftext|>
static const folder_case folder_cases[] = {
    { { CONFIG }, { "{" GPT2_CLASS "}" }, "the the<|endoftext|>", 3, { 258, 259, 269 }, NULL },
    { { CONFIG },
      { "{" GPT2_CLASS ", \"pad_token\": \"[PAD]\"}" },
      "the[PAD]",
      2,
      { 258, 270 },
      NULL },
    { { CONFIG },
      { "{" GPT2_CLASS ", \"mask_token\": \"<m>\", \"pad_token\": \"<p>\"}" },
      "<m><p><|endoftext|>",
      3,
      { 271, 270, 269 },
      NULL }, // not in the order of the file
    { { CONFIG }, { "{" GPT2_CLASS ", \"mask_token\": \"the\"}" }, " the", 2, { 220, 258 }, NULL },
    { { CONFIG },
      { "{\"added_tokens_decoder\": {\"271\": {\"content\": \"<b>\"}, \"270\": "
        "{\"content\": \"<a>\", \"lstrip\": true}}}" },
      "the <a> <b>",
      4,
      { 258, 270, 220, 271 },
      NULL },
    { { MAP, ADDED },
      { "{\"pad_token\": \"<p>\"}", "{\"<p>\": 271, \"<q>\": 270}" },
      "<p><q>",
      2,
      { 271, 270 },
      NULL },
    { { CONFIG, MAP },
      { "{\"pad_token\": \"<p>\"}",
        "{\"pad_token\": {\"content\": \"<p>\", "
        "\"rstrip\": true}}" },
      "<p>  the",
      2,
      { 270, 258 },
      NULL },
    { { MAP, "config.json" },
      { "{\"eos_token\": \"</s>\"}", "{\"model_type\": \"opt\"}" },
      "</s><|endoftext|>",
      2,
      { 270, 269 },
      NULL },
    { { CONFIG },
      { "{" GPT2_CLASS ", \"extra_special_tokens\": {\"image_token\": \"<i>\"}, "
        "\"additional_special_tokens\": [\"<j>\"]}" },
      "<i><j>",
      2,
      { 271, 270 },
      NULL },
    { { CONFIG },
      { "{\"tokenizer_class\": \"Qwen2Tokenizer\"}" },
      "",
      0,
      { 0 },
      CONFIG ": tokenizer_class is Qwen2Tokenizer" },
    { { CONFIG },
      { "{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}" },
      "",
      0,
      { 0 },
      "tokenizer_class is PreTrainedTokenizerFast" }, // what does it split by?
    { { CONFIG }, { "{\"tokenizer_class\": 3}" }, "", 0, { 0 }, "tokenizer_class is no text" },
    { { "config.json" },
      { "{\"model_type\": \"roberta\"}" },
      "",
      0,
      { 0 },
      "config.json: model_type is roberta" },
    { { "config.json" },
      { "{\"tokenizer_class\": \"BartTokenizer\"}" },
      "",
      0,
      { 0 },
      "config.json: tokenizer_class is BartTokenizer" },
    { { CONFIG }, { "{\"add_prefix_space\": true}" }, "", 0, { 0 }, "add_prefix_space is true" },
    { { CONFIG }, { "{\"do_lower_case\": true}" }, "", 0, { 0 }, "do_lower_case is true" },
    { { CONFIG }, { "{\"split_special_tokens\": true}" }, "", 0, { 0 }, "split_special_tokens is" },
    { { CONFIG },
      { "{\"auto_map\": {\"AutoTokenizer\": \"x.T\"}}" },
      "",
      0,
      { 0 },
      "auto_map is an object" },
    { { CONFIG }, { "{\"pad_token\": 3}" }, "", 0, { 0 }, "pad_token is neither a text" },
    { { CONFIG }, { "{\"image_token\": \"<i>\"}" }, "", 0, { 0 }, "no other key makes \"<i>\"" },
    { { CONFIG },
      { "{\"additional_special_tokens\": \"<i>\"}" },
      "",
      0,
      { 0 },
      "no list of tokens" },
    { { CONFIG, MAP },
      { "{\"pad_token\": \"<p>\"}", "{\"pad_token\": \"<q>\"}" },
      "",
      0,
      { 0 },
      "pad_token is <q>, but <p> in " CONFIG },
    { { CONFIG, MAP },
      { "{\"added_tokens_decoder\": {}}", "{\"pad_token\": \"<q>\"}" },
      "",
      0,
      { 0 },
      "pad_token is <q>, but nothing in " CONFIG },
    { { CONFIG, MAP },
      { "{\"additional_special_tokens\": [\"<p>\"]}",
        "{\"additional_special_tokens\": [\"<q>\"]}" },
      "",
      0,
      { 0 },
      "lists special tokens, too, and lacks \"<q>\"" },
    { { CONFIG },
      { "{\"eos_token\": \"<p>\", \"pad_token\": {\"content\": \"<p>\", "
        "\"lstrip\": true}}" },
      "",
      0,
      { 0 },
      "is not what another key says" },
    { { CONFIG },
      { "{\"added_tokens_decoder\": {\"272\": {\"content\": \"<p>\"}}}" },
      "",
      0,
      { 0 },
      "\"272\" is no id from 0 to 270" },
    { { CONFIG },
      { "{\"added_tokens_decoder\": {\"x\": {\"content\": \"<p>\"}}}" },
      "",
      0,
      { 0 },
      "\"x\" is no id" },
    { { CONFIG },
      { "{\"added_tokens_decoder\": {\"270\": {\"content\": \"the\"}}}" },
      "",
      0,
      { 0 },
      "\"the\" has the id 270, but 258" },
    { { CONFIG },
      { "{\"added_tokens_decoder\": {\"270\": {\"content\": \"<a>\", "
        "\"single_word\": 1}}}" },
      "",
      0,
      { 0 },
      "single_word" },
    { { CONFIG }, { "{\"added_tokens_decoder\": [1]}" }, "", 0, { 0 }, "is no object" },
    { { CONFIG, ADDED },
      { "{\"added_tokens_decoder\": {}}", "{\"<p>\": 270}" },
      "",
      0,
      { 0 },
      "\"<p>\" is not in added_tokens_decoder" },
    { { CONFIG }, { "[]" }, "", 0, { 0 }, CONFIG ": holds no JSON object" },
    { { MAP },
      { "{\"pad_token\": \"<p>\", \"pad_token\": \"<q>\"}" },
      "",
      0,
      { 0 },
      "the key \"pad_token\" twice" },
};

#define SAID DIR "/said"

static void write_said(const folder_case *c, bool write)
{
    char path[200];
    for (int i = 0; i < 3 && c->file[i]; i++) {
        snprintf(path, sizeof path, SAID "/%s", c->file[i]);
        if (write)
            CHECK(write_whole(path, c->json[i], strlen(c->json[i])));
        else
            remove(path);
    }
}

static void forget_said(void)
{
    const folder_case all = { { CONFIG, MAP, ADDED }, { "", "", "" }, "", 0, { 0 }, NULL };
    write_said(&all, false);
    remove(SAID "/config.json");
    remove(SAID "/tokenizer.json");
}

static void test_folders(void)
{
    mkdir(SAID, 0777);
    forget_said();
    samba_tokenizer *t = small();
    CHECK(samba_tokenizer_save(t, SAID, why, sizeof why));
    samba_tokenizer_close(t);
    for (size_t i = 0; i < sizeof folder_cases / sizeof *folder_cases; i++) {
        const folder_case *c = &folder_cases[i];
        write_said(c, true);
        t = samba_tokenizer_open(SAID, why, sizeof why);
        bool good = c->says ? !t && strstr(why, c->says) : encodes_to(t, c->text, c->ids, c->n);
        if (!good) printf("%s: %s\n", c->json[0], t ? "accepted" : why);
        CHECK(good);
        samba_tokenizer_close(t);
        write_said(c, false);
    }
    CHECK(n_live == 0);
}

// The same beside a tokenizer.json, whose added_tokens come first.
static void test_folder_with_json(void)
{
    static const folder_case pad
        = { { CONFIG },
            { "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"pad_token\": "
              "\"<p>\"}" },
            "",
            0,
            { 0 },
            NULL };
    static const folder_case refused[] = {
        { { CONFIG },
          { "{\"add_prefix_space\": true}" },
          "",
          0,
          { 0 },
          "add_prefix_space is true" },
        { { CONFIG },
          { "{\"added_tokens_decoder\": {\"269\": {\"content\": "
            "\"<|endoftext|>\", \"rstrip\": true}}}" },
          "",
          0,
          { 0 },
          "is not what tokenizer.json says" },
        { { CONFIG },
          { "{\"added_tokens_decoder\": {}}" },
          "",
          0,
          { 0 },
          "lacks some of added_tokens" },
        { { "config.json" },
          { "{\"model_type\": \"whisper\"}" },
          "",
          0,
          { 0 },
          "model_type is whisper" },
    };
    const int32_t ids[] = { 258, 270, 269 };
    CHECK(write_tokenizer_json(SAID "/tokenizer.json", true,
                               "[{\"id\": 269, \"content\": \"<|endoftext|>\"}]"));
    write_said(&pad, true);
    samba_tokenizer *t = samba_tokenizer_open(SAID, why, sizeof why);
    CHECK(encodes_to(t, "the<p><|endoftext|>", ids, 3));
    samba_tokenizer_close(t);
    t = samba_tokenizer_open(SAID "/tokenizer.json", why, sizeof why); // the file alone
    CHECK(samba_tokenizer_size(t) == 270);
    samba_tokenizer_close(t);
    write_said(&pad, false);
    for (int i = 0; i < 4; i++) {
        write_said(&refused[i], true);
        CHECK(!samba_tokenizer_open(SAID, why, sizeof why) && strstr(why, refused[i].says));
        write_said(&refused[i], false);
    }
    remove(SAID "/tokenizer.json");
    CHECK(n_live == 0);
}

// What texts begin with: a post_processor, as Hugging Face's tokenizers writes it, and what
// tokenizer_config.json says beyond.
static void test_first(void)
{
#define TOKEN "[{\"id\": 269, \"content\": \"<|endoftext|>\"}]"
#define TEMPLATE(begin) \
    "{\"type\": \"TemplateProcessing\", \"single\": [" begin \
    "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}]}"
#define BEGIN "{\"SpecialToken\": {\"id\": \"<|endoftext|>\", \"type_id\": 0}}, "
#define BOS "\"bos_token\": \"<|endoftext|>\""

    static const struct {
        const char *post, *config;
        int32_t first;
    } cases[] = {
        { "null", "{}", -1 },
        { "{\"type\": \"ByteLevel\"}", "{" BOS "}", -1 },
        { TEMPLATE(BEGIN), "{}", 269 },
        { TEMPLATE(""), "{" BOS "}", -1 },
        { "{\"type\": \"Sequence\", \"processors\": [{\"type\": \"ByteLevel\"}, " TEMPLATE(
              BEGIN) "]}",
          "{}", 269 },
        { "{\"type\": \"RobertaProcessing\", \"cls\": [\"<|endoftext|>\", 269]}", "{}", 269 },
        { "null", "{" BOS ", \"add_bos_token\": true}", 269 },
        { TEMPLATE(BEGIN), "{" BOS ", \"add_bos_token\": false}", -1 },
        { "{\"type\": 3}", "{}", -1 },
        { "[1, {\"single\": 2}]", "{}", -1 },
        { "{\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": \"<no>\"}}]}",
          "{}", -1 },
    };

    mkdir(SAID, 0777);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char added[600];
        snprintf(added, sizeof added, "%s, \"post_processor\": %s", TOKEN, cases[i].post);
        CHECK(write_tokenizer_json(SAID "/tokenizer.json", true, added));
        CHECK(write_whole(SAID "/tokenizer_config.json", cases[i].config, strlen(cases[i].config)));
        samba_tokenizer *t = samba_tokenizer_open(SAID, why, sizeof why);
        if (samba_tokenizer_first(t) != cases[i].first)
            printf("%s with %s: %d, %s\n", cases[i].post, cases[i].config,
                   (int)samba_tokenizer_first(t), t ? "" : why);
        CHECK(t && samba_tokenizer_first(t) == cases[i].first);
        samba_tokenizer_close(t);
    }
    forget_said();
    CHECK(n_live == 0);
#undef TOKEN
#undef TEMPLATE
#undef BEGIN
#undef BOS
}

// ---- Broken files -------------------------------------------------------------------------------

// One change to a good file, and what the reason must say. size: of a new text with NUL in it
typedef struct broken {
    char file;              // v: vocab.json, m: merges.txt, t: tokenizer.json
    const char *find, *put; // find NULL: put is the whole file
    const char *says;
    size_t size;
} broken;

static const broken breakages[] = {
    { 'v', NULL, "", "not JSON", 0 },
    { 'v', NULL, "[1, 2]", "no JSON object", 0 },
    { 'v', NULL, "{\"a\": 0", "not JSON", 0 },
    { 'v', NULL, "{\"a\": 0} x", "not JSON", 0 },
    { 'v', NULL, "{}", "no token for the byte 0x00", 0 },
    { 'v', NULL, "{\"a\": 0}", "no token for the byte 0x00", 0 },
    { 'v', NULL, "{\"a\0\": 0}", "byte 3 of the file is NUL", 9 },
    { 'v', NULL, "{\n\"a\xE4\xB8\": 0}", "line 2: byte 4 of the file is not UTF-8", 0 },
    { 'v', "\"at\": 256", "\"at\\u0000x\": 256", "U+0000", 0 },
    { 'v', "\"at\": 256", "\"at\": \"256\"", "\"at\" is not a number", 0 },
    { 'v', "\"at\": 256", "\"at\": null", "\"at\" is not a number", 0 },
    { 'v', "\"at\": 256", "\"at\": [256]", "\"at\" is not a number", 0 },
    { 'v', "\"at\": 256", "\"at\": 256.5", "256.5, not a whole number", 0 },
    { 'v', "\"at\": 256", "\"at\": -1", "\"at\" is -1; ids begin at 0", 0 },
    { 'v', "\"at\": 256", "\"at\": 1e300", "\"at\" is 1e+300", 0 },
    { 'v', "\"at\": 256", "\"at\": 4294967552", "\"at\" is 4294967552", 0 },
    { 'v', "\"at\": 256", "\"at\": 270", "0 to 269, without a hole", 0 },
    { 'v', "\"at\": 256", "\"at\": 257", "\"at\" and \"he\" have the same id, 257", 0 },
    { 'v', "\"at\": 256", "\"he\": 256", "the token \"he\" twice", 0 },
    { 'v', "\"at\": 256", "\"\": 256", "without text", 0 },
    { 'v', "\"at\": 256", "\"\\ud800\": 256", "not JSON", 0 },
    { 'v', "\"at\": 256", "\"ta\": 256", "merges \"a\" and \"t\", but", 0 },
    { 'v', "\"!\": 0", "\"!!\": 0", "no token for the byte 0x21", 0 },
    { 'm', "h e", "h  e", "line 3 is \"h  e\"; expected two tokens", 0 },
    { 'm', "h e", "he", "line 3 is \"he\"", 0 },
    { 'm', "h e", "h e x", "line 3 is \"h e x\"", 0 },
    { 'm', "h e", " h e", "line 3 is \" h e\"", 0 },
    { 'm', "h e", "h e ", "line 3 is \"h e \"", 0 },
    { 'm', "h e", "", "line 3 is \"\"", 0 },
    { 'm', "h e", "h\te", "line 3 is \"h?e\"", 0 },
    { 'm', "h e", "h zz", "line 3: \"zz\" is not in the vocabulary", 0 },
    { 'm', "h e", "h \xE2\x82\xAC", "\xE2\x82\xAC\" is not in the vocabulary", 0 },
    { 'm', "h e", "e h", "line 3 merges \"e\" and \"h\", but", 0 },
    { 'm', "h e", "a t", "\"a\" and \"t\" for the second time", 0 },
    { 'm', "h e", "h \xFF", "line 3: byte 20 of the file is not UTF-8", 0 },
    { 'm', NULL, "\0", "NUL", 1 },
    { 'm', NULL, "x yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\n", "yyy...", 0 },
    { 't', NULL, "{}", "no object \"model\"", 0 },
    { 't', NULL, "nonsense", "not JSON", 0 },
    { 't', "\"type\": \"BPE\"", "\"type\": \"WordPiece\"", "model.type is WordPiece", 0 },
    { 't', "\"type\": \"BPE\"", "\"type\": 3", "model.type is no text", 0 },
    { 't', "\"dropout\": null", "\"dropout\": 0.1", "model.dropout", 0 },
    { 't', "\"dropout\": null", "\"byte_fallback\": 3", "model.byte_fallback is a number", 0 },
    { 't', "\"dropout\": null", "\"ignore_merges\": \"x\"", "model.ignore_merges is x", 0 },
    { 't', "_prefix\": \"\"", "_prefix\": \"##\"", "continuing_subword_prefix is ##", 0 },
    { 't', "_suffix\": null", "_suffix\": \"</w>\"", "end_of_word_suffix is </w>", 0 },
    { 't', "\"unk_token\"", "\"dropout\"", "the key \"dropout\" twice", 0 },
    { 't', "\"normalizer\": null", "\"normalizer\": {\"type\": \"ByteLevel\"}",
      "normalizer.type is ByteLevel; known here are", 0 },
    { 't', "\"normalizer\": null", "\"normalizer\": {\"type\": \"Replace\", \"content\": \"\"}",
      "normalizer.pattern is neither", 0 },
    { 't', "\"normalizer\": null",
      "\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"AAAA\"}",
      "precompiled_charsmap is damaged", 0 },
    { 't', "\"normalizer\": null",
      "\"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"Regex\": \"(a|b)*\"}, "
      "\"content\": \"\"}",
      "a group that repeats", 0 },
    { 't', "\"pre_tokenizer\": {\"type\": \"ByteLevel\"", "\"pre_tokenizer\": {\"type\": \"Split\"",
      "pre_tokenizer has the key \"add_prefix_space\", which Split has not", 0 },
    { 't', "\"pre_tokenizer\"", "\"pre\"", "decoder is ByteLevel, but not alone", 0 },
    { 't', "_space\": false", "_space\": 1", "add_prefix_space is neither", 0 },
    { 't', "\"add_prefix_space\": false, ", "", "add_prefix_space is missing", 0 },
    { 't', "use_regex\": true", "use_regex\": 0", "use_regex is neither", 0 },
    { 't', "\"decoder\": {\"type\": \"ByteLevel\"}", "\"decoder\": {\"type\": \"WordPiece\"}",
      "decoder is not ByteLevel", 0 },
    { 't', "\"decoder\": {\"type\": \"ByteLevel\"}", "\"decoder\": 3", "decoder is no object", 0 },
    { 't', "\"model\"", "\"module\"", "no object \"model\"", 0 },
    { 't', "\"vocab\"", "\"vocabulary\"", "the key \"vocabulary\"", 0 },
    { 't', "\"merges\"", "\"merged\"", "the key \"merged\"", 0 },
    { 't', "[\"h\", \"e\"]", "[\"h\"]", "merge 2 of model.merges is neither", 0 },
    { 't', "[\"h\", \"e\"]", "[\"h\", \"e\", \"x\"]", "merge 2 of", 0 },
    { 't', "[\"h\", \"e\"]", "[\"h\", 5]", "merge 2 of", 0 },
    { 't', "[\"h\", \"e\"]", "{}", "merge 2 of", 0 },
    { 't', "[\"h\", \"e\"]", "\"he\"", "merge 2 is \"he\"", 0 },
    { 't', "[\"h\", \"e\"]", "[\"h\", \"\"]", "merge 2: \"\" is not", 0 },
    { 't', "[\"h\", \"e\"]", "[\"h\", \"qq\"]", "merge 2: \"qq\" is not", 0 },
    { 't', "[{\"id\": 269", "[7, {\"id\": 269", "added_tokens holds no objects", 0 },
    { 't', "\"added_tokens\": [", "\"added_tokens\": {}, \"x\": [", "added_tokens is not", 0 },
    { 't', "[{\"id\": 269", "[{\"id\": 268", "has the id 268, but 269", 0 },
    { 't', "[{\"id\": 269", "[{\"id\": 300", "\"<|endoftext|>\" is 300", 0 },
    { 't', "[{\"id\": 269", "[{\"id\": \"269\"", "is not a number", 0 },
    { 't', "\"content\": \"<|endoftext|>\"", "\"content\": \"\"", "content is missing, empty", 0 },
    { 't', "\"content\": \"<|endoftext|>\"", "\"content\": 7", "content is missing, empty", 0 },
    { 't', "\"content\": \"<|endoftext|>\"", "\"content\": \"<new>\"", "the same id, 269", 0 },
    { 't', "\"content\": \"<|endoftext|>\"",
      "\"content\": \"<|endoftext|>\"}, {\"id\": 269, \"content\": \"<|endoftext|>\"", "twice", 0 },
    { 't', "\"special\": true", "\"single_word\": 1", "single_word is neither true", 0 },
    { 't', "\"special\": true", "\"lstrip\": 1", "lstrip is neither true nor false", 0 },
    { 't', "\"id\": 269, \"content\": \"<|endoftext|>\"",
      "\"id\": 259, \"content\": \"\xC4\xA0the\"", "the spelling of other bytes", 0 },
};

// The file with the first find replaced by put, to be freed.
static char *changed(const char *text, size_t *size, const broken *b)
{
    const char *at = b->find ? strstr(text, b->find) : text;
    size_t n_put = b->size ? b->size : strlen(b->put), before = at ? (size_t)(at - text) : 0;
    size_t n_find = b->find ? strlen(b->find) : *size, after = *size - before - n_find;
    char *out = at ? (char *)malloc(*size + n_put + 1) : NULL;
    if (!out) return NULL;
    memcpy(out, text, before);
    memcpy(out + before, b->put, n_put);
    memcpy(out + before + n_put, text + before + n_find, after);
    *size = before + n_put + after;
    return out;
}

static void test_broken(void)
{
    samba_tokenizer *t = small();
    CHECK(samba_tokenizer_save(t, DIR, why, sizeof why));
    samba_tokenizer_close(t);
    const char *added = "[{\"id\": 269, \"content\": \"<|endoftext|>\", \"special\": true}]";
    CHECK(write_tokenizer_json(DIR "/good.json", true, added));
    for (size_t i = 0; i < sizeof breakages / sizeof breakages[0]; i++) {
        const broken *b = &breakages[i];
        const char *good = b->file == 'v' ? DIR "/vocab.json"
            : b->file == 'm'              ? DIR "/merges.txt"
                                          : DIR "/good.json";
        size_t size;
        char *text = read_whole(good, &size), *bad = changed(text, &size, b);
        bool ready = bad && write_whole(DIR "/bad", bad, size);
        free(text);
        free(bad);
        memset(why, 0, sizeof why);
        t = b->file == 't'
            ? samba_tokenizer_open(DIR "/bad", why, sizeof why)
            : samba_tokenizer_open_files(b->file == 'v' ? DIR "/bad" : DIR "/vocab.json",
                                         b->file == 'm' ? DIR "/bad" : DIR "/merges.txt", why,
                                         sizeof why);
        if (!ready || t || !strstr(why, b->says) || !strstr(why, DIR "/")) {
            printf("    breakage %d (%s): %s: %s\n", (int)i, b->put, t ? "taken" : "says", why);
            CHECK(!"refused for the right reason");
        }
        samba_tokenizer_close(t);
    }
    CHECK(n_live == 0);
}

// Every truncation of each file is refused, or, of merges.txt, is a shorter list.
static void test_truncated(void)
{
    const char *files[] = { DIR "/vocab.json", DIR "/merges.txt", DIR "/good.json" };
    for (int f = 0; f < 3; f++) {
        size_t size;
        char *text = read_whole(files[f], &size);
        while (size && text[size - 1] == '\n')
            size--;
        for (size_t n = 0; n < size; n += f == 1 ? 1 : 13) {
            CHECK(write_whole(DIR "/bad", text, n));
            memset(why, 0, sizeof why);
            samba_tokenizer *t = f == 2
                ? samba_tokenizer_open(DIR "/bad", why, sizeof why)
                : samba_tokenizer_open_files(f == 0 ? DIR "/bad" : DIR "/vocab.json",
                                             f == 1 ? DIR "/bad" : DIR "/merges.txt", why,
                                             sizeof why);
            CHECK(f == 1 || !t);
            CHECK(t || why[0]);
            samba_tokenizer_close(t);
        }
        free(text);
    }
    CHECK(n_live == 0);
}

// A file with bytes changed, lost and doubled is refused with a reason, or makes a whole tokenizer.
static void test_mutated(void)
{
    static const char bytes[] = "\"\\:,{}[]0129-eu \n\xC4\x80\xFF";
    size_t size;
    int taken = 0, refused = 0;
    char *good = read_whole(DIR "/good.json", &size), *text = (char *)malloc(size + 100);
    random_state = 3;
    for (int round = 0; round < 3000; round++) {
        size_t n = size;
        memcpy(text, good, n);
        for (uint32_t k = 1 + draw(3); k > 0; k--) {
            uint32_t at = draw((uint32_t)n - 20), length = 1 + draw(6), how = draw(3);
            if (how == 0) text[at] = bytes[draw(sizeof bytes - 1)];
            if (how == 1) {
                memmove(text + at, text + at + length, n - at - length);
                n -= length;
            }
            if (how == 2) {
                memmove(text + at + length, text + at, n - at);
                n += length;
            }
        }
        CHECK(write_whole(DIR "/bad", text, n));
        why[0] = 0;
        samba_tokenizer *t = samba_tokenizer_open(DIR "/bad", why, sizeof why);
        if (t) taken++;
        if (!t) {
            refused++;
            CHECK(why[0]);
        }
        int64_t m = t ? samba_tokenizer_encode(t, lesson, strlen(lesson), ids_of, BIG) : 0;
        CHECK(!t || samba_tokenizer_decode(t, ids_of, m, text_of, BIG) == (int64_t)strlen(lesson));
        samba_tokenizer_close(t);
    }
    CHECK(taken > 20 && refused > 1000);
    free(good);
    free(text);
    CHECK(n_live == 0);
}

static void test_missing_files(void)
{
    CHECK(!samba_tokenizer_open(NULL, why, sizeof why) && strstr(why, "no path"));
    CHECK(!samba_tokenizer_open("", why, sizeof why) && strstr(why, "no path"));
    CHECK(!samba_tokenizer_open(DIR "/nowhere", why, sizeof why));
    CHECK(strstr(why, "nowhere: cannot be opened") != NULL);
    mkdir(DIR "/empty", 0777);
    CHECK(!samba_tokenizer_open(DIR "/empty", why, sizeof why));
    CHECK(strstr(why, "is a folder without tokenizer.json, and without other files") != NULL);
    mkdir(DIR "/half", 0777);
    remove(DIR "/half/vocab.json");
    CHECK(write_whole(DIR "/half/merges.txt", "a b", 3));
    CHECK(!samba_tokenizer_open(DIR "/half", why, sizeof why) && strstr(why, "neither vocab.json"));
    size_t size;
    char *vocab = read_whole(DIR "/vocab.json", &size);
    remove(DIR "/half/merges.txt");
    CHECK(write_whole(DIR "/half/vocab.json", vocab, size));
    free(vocab);
    CHECK(!samba_tokenizer_open(DIR "/half", why, sizeof why));
    CHECK(strstr(why, "half/merges.txt: cannot be opened") != NULL);
    CHECK(!samba_tokenizer_open_files(NULL, "x", why, sizeof why) && strstr(why, "vocab.json"));
    CHECK(!samba_tokenizer_open_files("x", "", why, sizeof why) && strstr(why, "merges.txt"));
    CHECK(!samba_tokenizer_open_files(DIR, "x", why, sizeof why) && strstr(why, "cannot be read"));
    CHECK(!samba_tokenizer_open(DIR "/nowhere", NULL, 0));
    char little[10];
    CHECK(!samba_tokenizer_open(DIR "/nowhere", little, sizeof little) && strlen(little) == 9);
    CHECK(n_live == 0);
}

// ---- Every allocation fails once ----------------------------------------------------------------
static bool all_of_it(int what) // false: something failed, cleanly
{
    static const char text[] = "the cat \xFF <|endoftext|> and the mat";
    samba_tokenizer *t = NULL;
    bool good = true;
    int64_t n;
    why[0] = 0;
    switch (what) {
    case 0:
        t = samba_tokenizer_open_files(DIR "/vocab.json", DIR "/merges.txt", why, sizeof why);
        break;
    case 1:
        t = samba_tokenizer_open(DIR "/good.json", why, sizeof why);
        break;
    case 2:
        t = small();
        break;
    case 3:
        t = samba_tokenizer_open(DIR, why, sizeof why);
        break;
    case 4:
        t = samba_tokenizer_open(SAID, why, sizeof why);
        break;
    }
    if (!t && !strstr(why, "out of memory")) test_fail(why, __FILE__, __LINE__);
    if (!t) return false;
    if (!samba_tokenizer_add_special(t, "<|a new one|>", why, sizeof why)) good = false;
    if ((n = samba_tokenizer_encode(t, text, sizeof text, ids_of, BIG)) < 0)
        good = false;
    else
        CHECK(n > 8);
    if (samba_tokenizer_encode(t, text_of, 500, ids_of, BIG) < 0) good = false;
    if (what == 2 && !samba_tokenizer_save(t, DIR "/half", why, sizeof why)) good = false;
    samba_tokenizer_close(t);
    return good;
}

static void test_out_of_memory(void)
{
    cJSON_Hooks hooks = { counting_malloc, counting_free };
    cJSON_InitHooks(&hooks);
    memset(text_of, 'a', 500);
    for (size_t i = 0; i < sizeof folder_cases / sizeof *folder_cases; i++)
        if (folder_cases[i].file[1] && !folder_cases[i].says) write_said(&folder_cases[i], true);
    for (int what = 0; what < 5; what++) {
        fail_at = -1;
        n_calls = 0;
        CHECK(all_of_it(what));
        long total = n_calls;
        CHECK(total > 10);
        for (long i = 0; i < total && !test_bad; i++) {
            fail_at = i;
            n_calls = 0;
            CHECK(!all_of_it(what));
            CHECK(n_live == 0);
        }
    }
    fail_at = -1;
    cJSON_InitHooks(NULL);
}

int main(void)
{
    mkdir("build", 0777);
    mkdir("build/test", 0777);
    mkdir(DIR, 0777);
    remove(DIR "/added_tokens.json");
    RUN(test_golden);
    RUN(test_gpt2_files);
    RUN(test_words);
    RUN(test_roundtrip);
    RUN(test_limits_of_output);
    RUN(test_words_by_plain_code);
    RUN(test_long_word);
    RUN(test_special);
    RUN(test_many_special);
    RUN(test_training);
    RUN(test_save);
    RUN(test_ids_in_any_order);
    RUN(test_other_forms);
    RUN(test_added_tokens);
    RUN(test_folders);
    RUN(test_folder_with_json);
    RUN(test_first);
    RUN(test_broken);
    RUN(test_truncated);
    RUN(test_mutated);
    RUN(test_missing_files);
    RUN(test_out_of_memory);
    return test_summary();
}

// The logic behind tools/samba prepare-data: packing, splitting, balancing, JSON lines, reading and
// dealing lines, rows in HDF5. Expected values come from SambaNova's generative_data_prep.
// run: -lhdf5_serial needs:hdf5/serial/hdf5.h
#include "tests/lib/counting.h"
#undef strdup
#define malloc counting_malloc
#define calloc counting_calloc
#define realloc counting_realloc
#define free counting_free
#define strdup counting_strdup

#define SAMBA_PACKING_IMPLEMENTATION
#include "tools/cli/data/packing.h"
#define SAMBA_JSON_LINE_IMPLEMENTATION
#include "tools/cli/data/json_line.h"
#define SAMBA_HDF5_ROWS_IMPLEMENTATION
#include "tools/include/samba/hdf5_rows.h"
#include "tools/cli/util/files.c"
#include "tools/cli/util/text.c"
#include "tools/cli/data/lines.c"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { P = PREP_PROMPT, C = PREP_COMPLETION, PAD = PREP_PADDING, S = PREP_SEP, L = 6 };

static char why[1024];
static fault sentence;

// ---- A tokenizer of six words, as in the original's tests ---------------------------------------

static int64_t mock_encode(void *tokenizer, const char *text, size_t size, int32_t *ids,
                           int64_t cap)
{
    static const char *const word[] = { "hi", "bye", "test", "<human>", "<bot>" };
    int64_t n = 0;
    (void)tokenizer;
    for (size_t at = 0; at < size;) {
        size_t end = at;
        while (end < size && text[end] != ' ')
            end++;
        for (int i = 0; i < 5; i++)
            if (strlen(word[i]) == end - at && memcmp(text + at, word[i], end - at) == 0) {
                if (n < cap) ids[n] = i + 1;
                n++;
            }
        at = end + 1;
    }
    return n;
}

// Rows as they come: up to 8 of up to 8 tokens.
static struct {
    int n;
    int32_t id[8][8], type[8][8], category[8][8];
} rows;

static bool keep_row(void *taker, const prep_token *row, int32_t length)
{
    (void)taker;
    for (int i = 0; i < length; i++) {
        rows.id[rows.n][i] = row[i].id;
        rows.type[rows.n][i] = row[i].type;
        rows.category[rows.n][i] = row[i].category;
    }
    rows.n++;
    return true;
}

static prep *open_mock(prep_style style, int length)
{
    prep_rules r;
    memset(&r, 0, sizeof r);
    r.packing.style = style;
    r.length = length;
    r.bos = -1;
    r.encode = mock_encode;
    r.take_row = keep_row;
    rows.n = 0;
    return prep_open(&r, why, sizeof why);
}

static prep_text text(const char *t)
{
    return (prep_text){ t, strlen(t) };
}

static prep_pair pair(const char *prompt, const char *completion)
{
    return (prep_pair){ text(prompt), text(completion), 7 };
}

// Are these n tokens the ids and types (written as digits)?
static bool tokens_are(const prep_token *t, int64_t n, const char *ids, const char *types)
{
    bool same = (int64_t)strlen(ids) == n;
    for (int64_t i = 0; same && i < n; i++)
        same = t[i].id == ids[i] - '0' && t[i].type == types[i] - '0';
    return same;
}

static bool row_is(int row, const char *ids, const char *types)
{
    bool same = row < rows.n;
    for (int i = 0; same && ids[i]; i++)
        same = rows.id[row][i] == ids[i] - '0' && rows.type[row][i] == types[i] - '0';
    return same;
}

static bool pair_is(prep *p, prep_pair pair, const char *ids, const char *types)
{
    p->n_article = 0;
    return prep_pair_tokens(p, pair, true) && tokens_are(p->article, p->n_article, ids, types);
}

static void test_pairs(void)
{
    prep *p = open_mock(PREP_FULL, L);
    CHECK(pair_is(p, pair("", ""), "", ""));
    CHECK(pair_is(p, pair("", "bye"), "20", "11"));
    CHECK(pair_is(p, pair("hi", ""), "10", "01"));
    CHECK(pair_is(p, pair("hi", "bye"), "120", "011"));
    CHECK(pair_is(p, pair("hi test", "bye test"), "13230", "00111"));
    CHECK(p->metrics.input_tokens == 12);
    p->rules.prefix = text("<human> ");
    p->rules.postfix = text(" <bot>");
    CHECK(pair_is(p, pair("hi", "bye test"), "415230", "000111"));
    CHECK(pair_is(p, pair("  ", "bye"), "20", "11")); // no prompt, no prefix
    prep_close(p);
}

// What was encoded last, with _ for its spaces.
static char encoded[2][64];

static int64_t note_encode(void *tokenizer, const char *t, size_t size, int32_t *ids, int64_t cap)
{
    int *n = tokenizer;
    snprintf(encoded[(*n)++ % 2], sizeof encoded[0], "%.*s", (int)size, t);
    if (cap > 0) ids[0] = 1;
    return 1;
}

static void test_spaces(void)
{
    static const char *const cases[][4] = {
        { "hi", "bye", "hi", " bye" },
        { " hi", "bye", " hi", " bye" },
        { "hi ", "bye", "hi", " bye" },
        { "hi", " bye", "hi", " bye" },
        { "hi", "bye ", "hi", " bye " },
        { "hi ", " bye", "hi", " bye" },
        { " h i ", " b y e ", " h i", " b y e " },
        { "a\n", "\nb", "a\n", " \nb" },
    };
    int n = 0;
    prep *p = open_mock(PREP_FULL, L);
    p->rules.encode = note_encode;
    p->rules.tokenizer = &n;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        n = 0;
        prep_pair_tokens(p, pair(cases[i][0], cases[i][1]), true);
        // each text is encoded once, or twice while memory grows
        CHECK(strcmp(encoded[0], cases[i][2]) == 0 || strcmp(encoded[1], cases[i][2]) == 0);
        CHECK(strcmp(encoded[(n - 1) % 2], cases[i][3]) == 0);
    }
    n = 0;
    prep_pair_tokens(p, pair("hi ", "bye"), false);
    CHECK(strcmp(encoded[0], "hi ") == 0 && strcmp(encoded[1], "bye") == 0);
    prep_close(p);
}

// A completion of spaces is one space, and counts as a completion.
static void test_blank_completion(void)
{
    int n = 0;
    prep *p = open_mock(PREP_SINGLE, L);
    p->rules.encode = note_encode;
    p->rules.tokenizer = &n;
    prep_pair blank = pair("", "   ");
    CHECK(prep_article(p, &blank, 1) && rows.n == 1 && strcmp(encoded[(n - 1) % 2], " ") == 0);
    prep_close(p);
}

// The original removes one BOS (behind a prompt) and one EOS from what the tokenizer says.
static void test_bos_eos(void)
{
    prep *p = open_mock(PREP_FULL, L);
    p->rules.bos = 1;
    p->rules.eos = 2;
    CHECK(pair_is(p, pair("", "hi test"), "132", "111"));
    CHECK(pair_is(p, pair("test", "hi test"), "332", "011"));
    CHECK(pair_is(p, pair("hi bye", "hi bye bye"), "122", "011"));
    CHECK(pair_is(p, pair("bye", "hi"), "", "")); // nothing is left, and nothing crashes
    p->rules.adds_bos = p->rules.adds_eos = true; // hi and bye around each text
    CHECK(pair_is(p, pair("", "test"), "132", "111"));
    CHECK(pair_is(p, pair("test", "test"), "1332", "0011"));
    CHECK(pair_is(p, pair("bye", "hi"), "1212", "0011"));
    prep_close(p);
}

// ---- Articles -----------------------------------------------------------------------------------

// The articles, in rows of 8: ids and types of the first and, unless NULL, of the second.
typedef struct articles {
    const char *ids[2], *types[2];
} articles;

static bool articles_are(bool pair_packing, bool pair_attention, const prep_pair *pairs, int64_t n,
                         articles want)
{
    prep *p = open_mock(PREP_SINGLE, 8);
    p->rules.keep_prompt_only = true;
    p->rules.pair_packing = pair_packing;
    p->rules.pair_attention = pair_attention;
    bool good = prep_article(p, pairs, n) && rows.n == !!want.ids[0] + !!want.ids[1];
    for (int i = 0; i < 2 && good && want.ids[i]; i++)
        good = row_is(i, want.ids[i], want.types[i]) && rows.type[i][strlen(want.ids[i])] == PAD;
    prep_close(p);
    return good;
}

static void test_articles(void)
{
    prep_pair none = pair("", ""), prompt = pair("hi", ""), completion = pair("", "bye");
    prep_pair two[] = { pair("hi", "bye"), pair("test", "test") };
    for (int by = 0; by < 2; by++) {
        CHECK(articles_are(by, false, &none, 1, (articles){ { 0 }, { 0 } }));
        CHECK(articles_are(by, false, &prompt, 1, (articles){ { "10" }, { "03" } }));
        CHECK(articles_are(by, false, &completion, 1, (articles){ { "20" }, { "13" } }));
        CHECK(articles_are(by, false, two, 1, (articles){ { "120" }, { "013" } }));
    }
    CHECK(articles_are(false, false, two, 2, (articles){ { "120330" }, { "011013" } }));
    CHECK(articles_are(false, true, two, 2, (articles){ { "120330" }, { "013013" } }));
    CHECK(articles_are(true, false, two, 2, (articles){ { "120", "330" }, { "011", "013" } }));
    CHECK(articles_are(true, true, two, 2, (articles){ { "120", "330" }, { "013", "013" } }));
}

static void test_unfinished_rows(void)
{
    prep *p = open_mock(PREP_FULL, L);
    prep_pair three[] = { pair("hi", "bye"), pair("test", "test"), pair("test", "test") };
    CHECK(prep_article(p, three, 3) && rows.n == 1 && row_is(0, "120330", "011011"));
    CHECK(tokens_are(p->row, p->used, "330", "013"));
    prep_close(p);
    p = open_mock(PREP_FULL, L);
    CHECK(prep_line(p, text("hi bye")) && rows.n == 0);
    CHECK(prep_line(p, text("hi bye")) && rows.n == 0 && p->used == L); // full, and waits
    CHECK(prep_line(p, text("hi hi")) && rows.n == 1 && row_is(0, "120120", "113113"));
    CHECK(tokens_are(p->row, p->used, "110", "113"));
    CHECK(prep_end(p) && rows.n == 2 && row_is(1, "110000", "113222"));
    CHECK(rows.category[0][0] == -1 && rows.category[1][5] == -1);
    CHECK(prep_end(p) && rows.n == 2);
    CHECK(p->metrics.sequences == 2 && p->metrics.padding_tokens == 3
          && p->metrics.completion_tokens == 9 && p->metrics.output_tokens == 12);
    prep_close(p);
}

static int run_prompt_only(bool keep, const prep_pair *pairs, int64_t n)
{
    prep *p = open_mock(PREP_FULL, L);
    p->rules.keep_prompt_only = keep;
    CHECK(prep_article(p, pairs, n) && prep_end(p));
    int64_t dropped = p->metrics.tokens_dropped_from_all_prompt;
    prep_close(p);
    return (int)dropped;
}

static void test_prompt_only(void)
{
    prep_pair only = pair("hi bye test hi bye", "");
    prep_pair longer = pair("hi hi hi hi hi hi hi hi", "bye");
    prep_pair three[] = { pair("hi", ""), pair("hi bye", ""), pair("hi bye test", "") };
    prep_pair mixed[] = { pair("hi bye test hi bye test", ""), pair("hi bye test hi", "test hi") };
    CHECK(run_prompt_only(false, &only, 1) == 0 && rows.n == 0);
    CHECK(run_prompt_only(true, &only, 1) == 0 && rows.n == 1 && row_is(0, "123120", "000003"));
    CHECK(run_prompt_only(true, three, 3) == 0 && row_is(0, "101201", "010010"));
    CHECK(row_is(1, "230000", "003222"));
    CHECK(run_prompt_only(false, &longer, 1) == 6 && rows.n == 1 && row_is(0, "112000", "001322"));
    CHECK(run_prompt_only(true, &longer, 1) == 0 && rows.n == 2 && row_is(0, "111111", "000000"));
    CHECK(run_prompt_only(false, mixed, 2) == 6); // the EOS in the second row is no reason
    CHECK(rows.n == 1 && row_is(0, "123131", "000011"));
    CHECK(run_prompt_only(true, mixed, 2) == 0 && row_is(1, "012313", "100001"));
    CHECK(rows.category[0][0] == 7);
}

// ---- Packing ------------------------------------------------------------------------------------

static int64_t n_dropped; // tokens, by the last packed()

// Packs articles of these lengths; says the rows as "filled,padding" in one text.
static const char *packed(const char *packing, const int *lengths, int n)
{
    static char said[256];
    prep_token article[16];
    prep_packing parsed_packing;
    if (!prep_packing_parse(packing, &parsed_packing, why, sizeof why)) return why;
    CHECK(strcmp(prep_packing_name(parsed_packing), packing) == 0);
    prep *p = open_mock(PREP_FULL, 5);
    p->rules.packing = parsed_packing;
    p->rules.keep_prompt_only = true; // so that a row of padding would be seen
    memset(article, 0, sizeof article);
    for (int i = 0; i < 16; i++)
        article[i].type = C;
    *said = 0;
    for (int i = 0; i < n; i++)
        CHECK(prep_pack(p, article, lengths[i]));
    CHECK(prep_end(p));
    n_dropped = p->metrics.tokens_dropped_from_packing;
    for (int i = 0; i < rows.n; i++) {
        int filled = 0;
        for (int k = 0; k < 5; k++)
            filled += rows.type[i][k] != PAD;
        snprintf(said + strlen(said), 16, "(%d,%d)", filled, 5 - filled);
    }
    prep_close(p);
    return said;
}

static void test_packings(void)
{
    static const int a[] = { 3, 2, 10, 2, 2, 5 }, sixes[] = { 6, 6, 6, 6 };
    CHECK(strcmp(packed("single::drop", a, 6), "(3,2)(2,3)(2,3)(2,3)(5,0)") == 0);
    CHECK(strcmp(packed("single::truncate_left", a, 6), "(3,2)(2,3)(5,0)(2,3)(2,3)(5,0)") == 0);
    CHECK(strcmp(packed("single::truncate_right", a, 6), "(3,2)(2,3)(5,0)(2,3)(2,3)(5,0)") == 0);
    CHECK(strcmp(packed("greedy::drop", a, 6), "(5,0)(4,1)(5,0)") == 0);
    CHECK(strcmp(packed("greedy::truncate_left", a, 6), "(5,0)(5,0)(4,1)(5,0)") == 0);
    CHECK(strcmp(packed("greedy::truncate_right", a, 6), "(5,0)(5,0)(4,1)(5,0)") == 0);
    CHECK(strcmp(packed("full", a, 6), "(5,0)(5,0)(5,0)(5,0)(4,1)") == 0);
    CHECK(strcmp(packed("greedy::drop", sixes, 4), "") == 0 && n_dropped == 24);
    CHECK(strcmp(packed("single::truncate_left", sixes, 1), "(5,0)") == 0 && n_dropped == 1);
    CHECK(strstr(packed("full::drop", a, 6), "is no packing"));
    CHECK(strstr(packed("single", a, 6), "greedy::drop"));
}

static void test_overflow(void)
{
    int64_t first, count;
    prep_fit(PREP_DROP, 6, 2, &first, &count);
    CHECK(count == 0);
    prep_fit(PREP_TRUNCATE_LEFT, 6, 2, &first, &count);
    CHECK(first == 4 && count == 2);
    prep_fit(PREP_TRUNCATE_RIGHT, 6, 2, &first, &count);
    CHECK(first == 0 && count == 2);
    prep_fit(PREP_DROP, 2, 2, &first, &count);
    CHECK(first == 0 && count == 2);
}

// ---- Splits and balance -------------------------------------------------------------------------

static prep_splits splits(int64_t train, int64_t dev, int64_t test, double dev_r, double test_r)
{
    prep_splits s = { train, dev, test, 0, dev_r, test_r };
    *why = 0;
    if (!prep_count_splits(&s, 1000, why, sizeof why)) s.n = -1;
    return s;
}

static void test_splits(void)
{
    prep_splits s = splits(-1, -1, -1, .2, .1);
    CHECK(s.n == 45 && s.n_train == 32 && s.n_test == 4 && s.n_dev == 9);
    s = splits(32, -1, -1, .1, -1);
    CHECK(s.n == 35 && s.n_test == 0 && s.n_dev == 3);
    s = splits(5, 2, 3, -1, -1);
    CHECK(s.n == 10 && s.n_train == 5 && s.n_dev == 2 && s.n_test == 3);
    CHECK(splits(5, 2, 3, .1, -1).n == -1 && strstr(why, "--dev_ratio"));
    CHECK(splits(5, 2, -1, -1, -1).n == -1 && strstr(why, "belong together"));
    CHECK(splits(0, -1, -1, -1, -1).n == -1 && strstr(why, "at least 1"));
    CHECK(splits(-1, -1, -1, .6, .4).n == -1 && strstr(why, "below 1"));
    s = (prep_splits){ -1, -1, -1, 0, -1, -1 };
    CHECK(prep_count_splits(&s, (int64_t)10 << 30, why, sizeof why) && s.n_train == 128);
    s = (prep_splits){ -1, -1, -1, 0, -1, -1 };
    CHECK(prep_count_splits(&s, (int64_t)100 << 30, why, sizeof why) && s.n_train == 256);
}

static void test_balance(void)
{
    static const int64_t gold[] = { 11, 21, 10, 12 }, after[] = { 14, 14, 13, 13 };
    int64_t give[4], zero[3] = { 0, 5, 0 };
    CHECK(prep_plan_balance(gold, give, 4) == 13);
    for (int i = 0; i < 4; i++)
        CHECK(gold[i] - give[i] == after[i]);
    CHECK(prep_plan_balance(zero, give, 3) == 1 && give[0] == -2 && give[1] == 3 && give[2] == -1);
    zero[1] = 0;
    CHECK(prep_plan_balance(zero, give, 3) == 0 && give[1] == 0);
    CHECK(prep_plan_balance(NULL, NULL, 0) == 0);
}

// ---- JSON lines ---------------------------------------------------------------------------------

static char *names_of_categories[] = { "news", "caf\xC3\xA9" };
static const prep_categories categories = { names_of_categories, 2 };
static prep_pairs parsed;
static bool fatal;

static bool parse(const char *line, size_t size, bool keep)
{
    prep_json_rules r = { "prompt", "completion", &categories, keep };
    *why = 0;
    return prep_parse_line(&r, line, size, &parsed, &fatal, why, sizeof why);
}

static bool text_is(prep_text t, const char *want, size_t size)
{
    return t.size == size && memcmp(t.at, want, size) == 0;
}

static bool completion_is(const char *line, const char *want, size_t size)
{
    return parse(line, strlen(line), false) && parsed.n == 1
        && text_is(parsed.at[0].completion, want, size);
}

static void test_json_texts(void)
{
    CHECK(completion_is("{\"completion\":\"a\"}", "a", 1));
    CHECK(completion_is(" \t{ \"completion\" : \"a\" , \"x\" : [1,{\"y\":[]}] } \r\n", "a", 1));
    CHECK(completion_is("[{\"completion\":\"\\u0000x\"}]", "\0x", 2));
    CHECK(completion_is("{\"completion\":\"\\ud83d\\ude00\\n\\/\"}", "\xF0\x9F\x98\x80\n/", 6));
    CHECK(completion_is("{\"completion\":1,\"completion\":\"last\"}", "last", 4));
    CHECK(completion_is("{\"completion\":\"a\",\"n\":[NaN,-Infinity,1e5,-0.5E-3,true,null]}", "a",
                        1));
    CHECK(completion_is("{\"completion\":null,\"prompt\":5}", "", 0));
    CHECK(completion_is("{\"completion\":0.0,\"prompt\":5}", "", 0));
    CHECK(completion_is("{\"completion\":\"a\",\"prompt\":false}", "a", 1));
    CHECK(parse("[]", 2, false) && parsed.n == 0);
    const char *two = "[{\"completion\":\"a\"},{\"completion\":\"b\",\"prompt\":\"c\"}]";
    CHECK(parse(two, strlen(two), false) && parsed.n == 2);
    CHECK(text_is(parsed.at[1].prompt, "c", 1) && text_is(parsed.at[0].prompt, "", 0));
    prep_pairs_free(&parsed);
}

static bool refuses(const char *line, const char *reason)
{
    bool good = !parse(line, strlen(line), false) && strstr(why, reason);
    if (!good) printf("%s: %s\n", line, why);
    return good;
}

static void test_json_errors(void)
{
    CHECK(refuses("", "empty") && refuses("  \n", "empty"));
    CHECK(refuses("{\"completion\":\"a\"", "expected , or } (column 18)"));
    CHECK(refuses("{\"completion\":\"a\"} x", "something follows"));
    CHECK(refuses("{\"completion\":\"a\",}", "expected a key"));
    CHECK(refuses("[{\"completion\":\"a\"},]", "expected"));
    CHECK(refuses("{completion:1}", "double quotes (column 2)"));
    CHECK(refuses("{\"completion\" 1}", "expected :"));
    CHECK(refuses("{\"completion\":01}", "expected , or }"));
    CHECK(refuses("{\"completion\":.5}", "expected a value"));
    CHECK(refuses("{\"completion\":-}", "expected a value"));
    CHECK(refuses("{\"completion\":", "found the end"));
    CHECK(refuses("{\"completion\":\"a\tb\"}", "control character"));
    CHECK(refuses("{\"completion\":\"a", "never ends"));
    CHECK(refuses("{\"completion\":\"\\x\"}", "escape"));
    CHECK(refuses("{\"completion\":\"\\u12g4\"}", "four hexadecimal"));
    CHECK(refuses("{\"completion\":\"\\u12", "four hexadecimal"));
    CHECK(refuses("{\"completion\":\"\\ud800\"}", "lone surrogate"));
    CHECK(refuses("{\"prompt\":\"a\"}", "\"completion\" is missing"));
    CHECK(refuses("{\"completion\":5}", "a number, not a text"));
    CHECK(refuses("{\"completion\":\"a\",\"prompt\":[\"b\"]}", "a list, not a text"));
    CHECK(refuses("{\"completion\":\"a\",\"prompt\":true}", "true, not a text"));
    CHECK(refuses("\"completion\"", "expected an object"));
    CHECK(refuses("[[]]", "expected an object"));
    CHECK(refuses("\xEF\xBB\xBF{\"completion\":\"a\"}", "byte order mark"));
    CHECK(!fatal);
    char deep[4000] = "{\"x\":";
    memset(deep + 5, '[', 3000);
    CHECK(refuses(deep, "too many brackets"));
    prep_pairs_free(&parsed);
}

static void test_json_categories(void)
{
    const char *line = "{\"completion\":\"a\",\"category\":\"caf\\u00e9\"}";
    CHECK(parse(line, strlen(line), false) && parsed.at[0].category == 1);
    CHECK(completion_is("{\"completion\":\"a\"}", "a", 1) && parsed.at[0].category == -1);
    CHECK(refuses("{\"completion\":\"a\",\"category\":\"none\"}", "not in the list") && fatal);
    CHECK(refuses("{\"completion\":\"a\",\"category\":3}", "a number") && fatal);
    CHECK(refuses("{\"completion\":\"a\",\"category\":null}", "null") && fatal);
    CHECK(completion_is("{\"completion\":\"\",\"category\":\"none\"}", "", 0)); // is skipped
    prep_pairs_free(&parsed);
}

static void test_json_prompt_only(void)
{
    const char *line = "{\"prompt\":\"a\",\"completion\":\"\"}";
    CHECK(parse(line, strlen(line), true) && text_is(parsed.at[0].prompt, "a", 1));
    line = "{\"prompt\":5,\"completion\":\"\"}";
    CHECK(!parse(line, strlen(line), true) && strstr(why, "a number"));
    prep_pairs_free(&parsed);
}

// Expected: bytes.decode("utf-8", "replace") of Python.
static void test_utf8(void)
{
    static const char *const cases[][2] = {
        { "a\xFFz", "a\xEF\xBF\xBDz" },
        { "\xC3", "\xEF\xBF\xBD" },
        { "\xE2\x82", "\xEF\xBF\xBD" },
        { "\xF0\x9F\x98x", "\xEF\xBF\xBDx" },
        { "\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD" },
        { "\xE0\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },
        { "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },
        { "\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },
    };
    prep_bytes out = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = strlen(cases[i][0]);
        CHECK(!prep_utf8_valid(cases[i][0], n) && prep_utf8_repair(cases[i][0], n, &out));
        CHECK(strcmp(out.at, cases[i][1]) == 0);
    }
    CHECK(prep_utf8_valid("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\0", 10));
    prep_bytes_free(&out);
}

// ---- Lines --------------------------------------------------------------------------------------

static void write_file(const char *path, const char *data, size_t size)
{
    CHECK(write_whole(path, data, size));
}

static bool next_is(lines *l, const char *want, int64_t number)
{
    prep_text line;
    return lines_next(l, &line, &sentence) == 1 && line.size == strlen(want)
        && memcmp(line.at, want, line.size) == 0 && l->number == number;
}

static void test_lines(void)
{
    const char *a = "build/test_lines_a", *b = "build/test_lines_b";
    names files = { 0 };
    prep_text line;
    lines l;
    write_file(a, "one\r\ntwo\rthree\n\n\xFFlast", 21);
    write_file(b, "", 0);
    CHECK(add_name(&files, a, &sentence) && add_name(&files, b, &sentence)
          && add_name(&files, a, &sentence) && lines_open(&l, &files, &sentence));
    for (int i = 0; i < 2; i++) {
        CHECK(next_is(&l, "one\n", 1) && next_is(&l, "two\n", 2) && next_is(&l, "three\n", 3));
        CHECK(next_is(&l, "\n", 4));
        CHECK(next_is(&l, i ? "\xEF\xBF\xBDlast" : "\xEF\xBF\xBDlast\n", 5));
        CHECK(strcmp(lines_file(&l), a) == 0);
    }
    CHECK(lines_next(&l, &line, &sentence) == 0 && lines_next(&l, &line, &sentence) == 0);
    lines_close(&l);
    free_names(&files);
    CHECK(lines_open_one(&l, "build/no such file", &sentence));
    CHECK(lines_next(&l, &line, &sentence) == -1 && strstr(sentence.text, "No such file"));
    lines_close(&l);
    unlink(a);
    unlink(b);
}

// A \r\n across two blocks is one end, and a line may be longer than a block.
static void test_long_lines(void)
{
    const char *path = "build/test_lines_long";
    static char data[2 * BLOCK + 10];
    prep_text line;
    lines l;
    memset(data, 'a', sizeof data);
    memcpy(data + BLOCK - 1, "\r\n", 2);
    write_file(path, data, sizeof data);
    CHECK(lines_open_one(&l, path, &sentence));
    CHECK(lines_next(&l, &line, &sentence) == 1 && line.size == BLOCK && line.at[BLOCK] == 0);
    CHECK(lines_next(&l, &line, &sentence) == 1 && line.size == BLOCK + 9);
    CHECK(lines_next(&l, &line, &sentence) == 0);
    lines_close(&l);
    unlink(path);
}

// Deals the numbers 0 ... n-1 to files; order[] gets them as they lie there, size[] how many.
static bool deal_numbers(int64_t memory, uint64_t seed, int n, int n_files, int *order, int *size)
{
    dealing d = { .n_lines = n, .memory = memory, .folder = "build", .dice = { seed } };
    names from = { 0 };
    char path[64];
    FILE *f = fopen("build/test_numbers", "wb");
    for (int i = 0; i < n; i++)
        fprintf(f, "%d%s", i, i < n - 1 ? "\n" : "");
    fclose(f);
    for (int i = 0; i < n_files; i++) {
        snprintf(path, sizeof path, "build/test_numbers_%d", i);
        add_name(&d.to, path, &sentence);
    }
    add_name(&from, "build/test_numbers", &sentence);
    bool ok = memory < 0 ? deal_in_turn(&d, &from, &sentence) : deal_shuffled(&d, &from, &sentence);
    for (int i = 0, at = 0; i < n_files; i++) {
        f = fopen(d.to.at[i], "rb");
        for (size[i] = 0; f && at < n && fscanf(f, "%d", &order[at]) == 1; at++)
            size[i]++;
        if (f) fclose(f);
        unlink(d.to.at[i]);
    }
    unlink("build/test_numbers");
    free_names(&from);
    free_names(&d.to);
    return ok;
}

static void test_dealing(void)
{
    enum { N = 1000 };

    int order[N], again[N], size[7], seen[N];
    CHECK(deal_numbers(-1, 0, N, 7, order, size) && size[0] == 143 && size[6] == 142);
    for (int i = 0; i < size[0]; i++)
        CHECK(order[i] == 7 * i);
    for (int little = 0; little < 2; little++) { // in memory, and in buckets of buckets
        int64_t memory = little ? 30 : INT64_MAX;
        double sum = 0;
        memset(seen, 0, sizeof seen);
        CHECK(deal_numbers(memory, 5, N, 7, order, size) && size[0] == 143 && size[6] == 142);
        for (int i = 0; i < N; i++) {
            seen[order[i]]++;
            sum += (i - 499.5) * (order[i] - 499.5);
        }
        for (int i = 0; i < N; i++)
            CHECK(seen[i] == 1);
        CHECK(sum / (1000.0 * 83333) < .15 && sum / (1000.0 * 83333) > -.15); // correlation
        CHECK(deal_numbers(memory, 5, N, 7, again, size) && !memcmp(order, again, sizeof order));
        CHECK(deal_numbers(memory, 6, N, 7, again, size) && memcmp(order, again, sizeof order));
    }
}

// Is every order of 4 lines as likely, in memory and in buckets? 24 orders, each expected 20 times.
static void test_every_order(void)
{
    for (int little = 0; little < 2; little++) {
        int count[256] = { 0 }, n_orders = 0;
        double chi = 0;
        for (uint64_t seed = 0; seed < 480; seed++) {
            int order[4], size[1];
            CHECK(deal_numbers(little ? 3 : 100, seed * 7919, 4, 1, order, size));
            count[64 * order[0] + 16 * order[1] + 4 * order[2] + order[3]]++;
        }
        for (int i = 0; i < 256; i++)
            if (count[i]) {
                n_orders++;
                chi += (count[i] - 20.0) * (count[i] - 20.0) / 20;
            }
        CHECK(n_orders == 24 && chi < 50); // 23 degrees of freedom: 50 is 0.1 %
    }
}

// ---- Rows in HDF5 -------------------------------------------------------------------------------

static const char *const hdf5 = "build/test_rows.hdf5";

// Writes n rows, `step` at a time, row i holding 10 i, 10 i + 1 ...
static bool write_rows(int n, int step, bool with_categories)
{
    int32_t ids[12], types[12];
    samba_rows *r = samba_rows_open(hdf5, SAMBA_ROWS_CREATE, 4, with_categories, why, sizeof why);
    bool ok = r;
    for (int i = 0; ok && i < n; i += step) {
        int part = n - i < step ? n - i : step;
        for (int k = 0; k < 4 * part; k++) {
            ids[k] = 10 * (i + k / 4) + k % 4;
            types[k] = k % 4;
        }
        ok = samba_rows_append(r, part, ids, types, NULL, why, sizeof why);
    }
    return r && samba_rows_close(r, why, sizeof why) && ok;
}

static void test_rows(void)
{
    int32_t ids[8], types[8], cats[8];
    for (int step = 1; step <= 3; step++) {
        CHECK(write_rows(7, step, step == 3));
        samba_rows *r = samba_rows_open(hdf5, SAMBA_ROWS_READ, 0, false, why, sizeof why);
        CHECK(r && samba_rows_count(r) == 7 && samba_rows_length(r) == 4);
        CHECK(r && samba_rows_has_categories(r) == (step == 3));
        CHECK(r && samba_rows_read(r, 5, 2, ids, types, NULL, why, sizeof why));
        CHECK(ids[0] == 50 && ids[7] == 63 && types[6] == 2);
        CHECK(!samba_rows_read(r, 5, 3, ids, NULL, NULL, why, sizeof why) && strstr(why, "are 7"));
        if (step == 3)
            CHECK(samba_rows_read(r, 0, 2, NULL, NULL, cats, why, sizeof why) && cats[7] == -1);
        else
            CHECK(!samba_rows_read(r, 0, 1, NULL, NULL, cats, why, sizeof why));
        samba_rows_abandon(r);
    }
    unlink(hdf5);
}

static void test_rows_change(void)
{
    int32_t ids[4] = { 1, 2, 3, 4 };
    CHECK(write_rows(0, 1, false)); // no rows, no datasets
    samba_rows *r = samba_rows_open(hdf5, SAMBA_ROWS_CHANGE, 4, false, why, sizeof why);
    CHECK(r && samba_rows_count(r) == 0);
    CHECK(samba_rows_append(r, 1, ids, ids, NULL, why, sizeof why));
    CHECK(samba_rows_close(r, why, sizeof why));
    CHECK(write_rows(9, 3, false));
    r = samba_rows_open(hdf5, SAMBA_ROWS_CHANGE, 4, false, why, sizeof why);
    CHECK(r && samba_rows_cut(r, 4, why, sizeof why));
    CHECK(samba_rows_append(r, 1, ids, ids, NULL, why, sizeof why) && samba_rows_count(r) == 5);
    CHECK(!samba_rows_cut(r, 6, why, sizeof why) && strstr(why, "cannot keep 6"));
    CHECK(samba_rows_close(r, why, sizeof why));
    r = samba_rows_open(hdf5, SAMBA_ROWS_READ, 4, false, why, sizeof why);
    CHECK(r && samba_rows_read(r, 4, 1, ids, NULL, NULL, why, sizeof why) && ids[3] == 4);
    samba_rows_abandon(r);
    CHECK(!samba_rows_open(hdf5, SAMBA_ROWS_READ, 5, false, why, sizeof why));
    CHECK(strstr(why, "4 tokens, not 5"));
    unlink(hdf5);
}

// Rows so long that two are a block: what is written in five is one table.
static void test_rows_blocks(void)
{
    enum { LONG = 131072 };

    int32_t *row = calloc(LONG, sizeof *row);
    samba_rows *r = samba_rows_open(hdf5, SAMBA_ROWS_CREATE, LONG, false, why, sizeof why);
    CHECK(row && r && samba_rows_block(LONG) == 2);
    for (int32_t i = 0; r && i < 5; i++) {
        row[0] = row[LONG - 1] = i;
        CHECK(samba_rows_append(r, 1, row, row, NULL, why, sizeof why));
        CHECK(samba_rows_count(r) == i + 1);
    }
    CHECK(samba_rows_close(r, why, sizeof why));
    r = samba_rows_open(hdf5, SAMBA_ROWS_READ, LONG, false, why, sizeof why);
    CHECK(r && samba_rows_count(r) == 5);
    for (int32_t i = 0; r && i < 5; i++) {
        CHECK(samba_rows_read(r, i, 1, row, NULL, NULL, why, sizeof why) && row[LONG - 1] == i);
        CHECK(samba_rows_read(r, i, 1, NULL, row, NULL, why, sizeof why) && row[0] == i);
    }
    samba_rows_abandon(r);
    free(row);
    unlink(hdf5);
}

// Does a process that may write so many bytes end as it should: with a reason, with the next file
// written, and without a crash at exit? It is a process of its own for the sake of that crash.
static bool full_disk(rlim_t bytes, int n_rows)
{
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit;
        int32_t ids[512];
        signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &limit);
        limit.rlim_cur = bytes;
        setrlimit(RLIMIT_FSIZE, &limit);
        *why = 0;
        samba_rows *r = samba_rows_open(hdf5, SAMBA_ROWS_CREATE, 512, false, why, sizeof why);
        bool ok = r != NULL;
        for (int i = 0; ok && i < n_rows; i++) {
            for (int k = 0; k < 512; k++)
                ids[k] = rand();
            ok = samba_rows_append(r, 1, ids, ids, NULL, why, sizeof why);
        }
        if (ok)
            ok = samba_rows_close(r, why, sizeof why);
        else if (r)
            samba_rows_abandon(r);
        if (ok || !strstr(why, "full?")) exit(2);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_FSIZE, &limit);
        unlink(hdf5); // libhdf5 still has this one open
        exit(write_rows(7, 1, false) ? 0 : 3);
    }
    int status = -1;
    waitpid(child, &status, 0);
    unlink(hdf5);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_rows_full_disk(void)
{
    fflush(NULL);
    CHECK(full_disk(1000, 10)); // at the header, at chunks, within the first block
    CHECK(full_disk(20000, 10));
    CHECK(full_disk(1500000, 1200));
    for (rlim_t bytes = 500; bytes < 9000; bytes += 1717)
        CHECK(full_disk(bytes, 8));
}

static bool no_rows(const char *path, samba_rows_mode mode, const char *reason)
{
    bool good = !samba_rows_open(path, mode, 4, false, why, sizeof why) && strstr(why, reason);
    if (!good) printf("%s: %s\n", path, why);
    return good;
}

// Writes a table (rows,4) of one type into a file that is open.
static void write_table(hid_t f, const char *name, hid_t type, hsize_t n_rows, int rank)
{
    hsize_t shape[2] = { n_rows, 4 };
    hid_t space = H5Screate_simple(rank, shape, NULL);
    hid_t data = H5Dcreate2(f, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(data >= 0);
    H5Dclose(data);
    H5Sclose(space);
}

// HDF5 files that others could have made.
static void test_rows_misfit(void)
{
    static const struct {
        hsize_t rows;
        int rank;
        int kind;
        const char *reason;
    } cases[] = {
        { 3, 2, 0, "token_type_ids has shape (3,4), input_ids has (2,4)" },
        { 2, 1, 0, "token_type_ids is no table" },
        { 2, 2, 1, "token_type_ids is no table" }, // floats
        { 2, 2, 2, "token_type_ids is no table" }, // 64 bits
        { 0, 0, 3, "there is no dataset token_type_ids" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hid_t type[] = { H5T_STD_I32BE, H5T_IEEE_F32LE, H5T_STD_I64LE };
        hid_t f = H5Fcreate(hdf5, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        write_table(f, "input_ids", H5T_STD_I16LE, 2, 2); // any integers up to 32 bits
        if (cases[i].kind < 3)
            write_table(f, "token_type_ids", type[cases[i].kind], cases[i].rows, cases[i].rank);
        H5Fclose(f);
        CHECK(no_rows(hdf5, SAMBA_ROWS_READ, cases[i].reason));
    }
    unlink(hdf5);
}

// A file cut anywhere is refused, or its rows cannot be read; nothing crashes.
static void test_rows_damaged(void)
{
    size_t size = 0;
    int32_t ids[400];
    CHECK(no_rows("build/no such file", SAMBA_ROWS_READ, "No such file"));
    CHECK(no_rows("build", SAMBA_ROWS_READ, ""));
    CHECK(no_rows("Makefile", SAMBA_ROWS_READ, "no HDF5 file"));
    CHECK(no_rows("build/no such folder/a.hdf5", SAMBA_ROWS_CREATE, "cannot be written"));
    CHECK(write_rows(100, 3, false));
    char *data = read_file(hdf5, &size, &sentence);
    CHECK(data);
    for (size_t cut = 0; data && cut < size; cut += size / 37 + 1) {
        write_file(hdf5, data, cut);
        samba_rows *r = samba_rows_open(hdf5, SAMBA_ROWS_READ, 4, false, why, sizeof why);
        CHECK(!r || !samba_rows_read(r, 0, samba_rows_count(r), ids, ids, NULL, why, sizeof why));
        samba_rows_abandon(r);
    }
    free(data);
    unlink(hdf5);
}

// The shapes that h5py 3.7 says.
static void test_chunks(void)
{
    static const int64_t cases[][4] = {
        { 70, 1024, 9, 256 }, { 52, 1024, 13, 256 }, { 42, 1024, 11, 256 },  { 2, 1024, 2, 1024 },
        { 3, 1024, 2, 1024 }, { 1, 1024, 1, 1024 },  { 256, 1024, 32, 128 }, { 1, 1, 1, 1 },
        { 256, 7, 256, 7 },   { 10, 2048, 3, 512 },  { 128, 2048, 16, 256 },
    };
    int64_t chunk[2];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        samba_rows_chunk(cases[i][0], (int32_t)cases[i][1], chunk);
        CHECK(chunk[0] == cases[i][2] && chunk[1] == cases[i][3]);
    }
    CHECK(samba_rows_block(1024) == 256 && samba_rows_block(1 << 24) == 1);
}

// ---- Want of memory -----------------------------------------------------------------------------

// All of the above in one go; true if it worked.
static bool whole_way(void)
{
    const char *line = "[{\"completion\":\"hi\",\"prompt\":\"bye\"},{\"completion\":\"test\"}]";
    prep_json_rules rules = { "prompt", "completion", NULL, false };
    prep_pairs pairs = { 0 };
    lines l = { 0 };
    prep_text got;
    int32_t ids[4] = { 0 };
    prep *p = open_mock(PREP_FULL, 4);
    bool ok = p && prep_parse_line(&rules, line, strlen(line), &pairs, &fatal, why, sizeof why)
        && prep_article(p, pairs.at, pairs.n) && prep_end(p) && rows.n == 1;
    ok = ok && lines_open_one(&l, "tests/lib/test.h", &sentence);
    ok = ok && lines_next(&l, &got, &sentence) == 1;
    lines_close(&l);
    prep_pairs_free(&pairs);
    prep_close(p);
    samba_rows *r = ok ? samba_rows_open(hdf5, SAMBA_ROWS_CREATE, 4, false, why, sizeof why) : NULL;
    ok = r && samba_rows_append(r, 1, ids, ids, NULL, why, sizeof why);
    if (r && !ok) samba_rows_abandon(r);
    return ok && samba_rows_close(r, why, sizeof why);
}

static void test_memory(void)
{
    long live = n_live;
    fail_forever = true;
    bool worked = false;
    int n_failed = 0;
    for (long at = 0; !worked && at < 1000; at++) {
        n_calls = 0;
        fail_at = at;
        *why = *sentence.text = 0;
        worked = whole_way();
        fail_at = -1;
        CHECK(n_live == live);
        if (!worked) n_failed++;
    }
    CHECK(worked && n_failed >= 10);
    unlink(hdf5);
}

int main(void)
{
    RUN(test_pairs);
    RUN(test_spaces);
    RUN(test_blank_completion);
    RUN(test_bos_eos);
    RUN(test_articles);
    RUN(test_unfinished_rows);
    RUN(test_prompt_only);
    RUN(test_packings);
    RUN(test_overflow);
    RUN(test_splits);
    RUN(test_balance);
    RUN(test_json_texts);
    RUN(test_json_errors);
    RUN(test_json_categories);
    RUN(test_json_prompt_only);
    RUN(test_utf8);
    RUN(test_lines);
    RUN(test_long_lines);
    RUN(test_dealing);
    RUN(test_every_order);
    RUN(test_rows);
    RUN(test_rows_change);
    RUN(test_rows_blocks);
    RUN(test_rows_full_disk);
    RUN(test_rows_misfit);
    RUN(test_rows_damaged);
    RUN(test_chunks);
    RUN(test_memory);
    return test_summary();
}

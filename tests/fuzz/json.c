// Lines of a .jsonl file as prepare-data reads them. What is accepted has pairs whose texts lie in
// the line's own text; what is repaired is UTF-8.
#define SAMBA_JSON_LINE_IMPLEMENTATION
#include "fuzz.h"
#include "tools/cli/data/packing.h"
#include "tools/cli/data/json_line.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = { "\"prompt\"",
                                     "\"completion\"",
                                     "\"category\"",
                                     "{\"prompt\":\"",
                                     "\",\"completion\":\"",
                                     "\"}",
                                     "[{",
                                     "}]",
                                     "},{",
                                     "\\u00e9",
                                     "\\ud83d\\ude00",
                                     "\\ude00",
                                     "\\n",
                                     "\\\\",
                                     "\"tv\"",
                                     "-0",
                                     "1e",
                                     NULL };

// A text of a pair is within the bytes of the pairs; all of it is read.
static size_t walk_text(const prep_pairs *pairs, const char *at, size_t size)
{
    size_t sum = 0;
    if (size == 0) return 0;
    if (at < pairs->text.at || at + size > pairs->text.at + pairs->text.size)
        fuzz_fail("a text of a pair lies elsewhere");
    for (size_t i = 0; i < size; i++)
        sum += (unsigned char)at[i];
    return sum;
}

static void parse(const char *line, size_t size, bool keep, bool with_categories, prep_pairs *pairs)
{
    char tv[] = "tv", empty[] = "", why[300];
    char *names[] = { tv, empty };
    prep_categories categories = { names, 2 };
    prep_json_rules rules = { "prompt", "completion", with_categories ? &categories : NULL, keep };
    bool fatal;

    if (!prep_parse_line(&rules, line, size, pairs, &fatal, why, sizeof why)) {
        fuzz_check_text(why, sizeof why, "prep_parse_line");
        return;
    }
    for (int64_t i = 0; i < pairs->n; i++) {
        const prep_pair *p = &pairs->at[i];
        walk_text(pairs, p->prompt.at, p->prompt.size);
        walk_text(pairs, p->completion.at, p->completion.size);
        if (p->category >= categories.n) fuzz_fail("a category of %d", (int)p->category);
    }
}

static void one(const uint8_t *data, size_t size)
{
    prep_pairs pairs = { 0 };
    prep_bytes repaired = { 0 };
    char *line = malloc(size + 1); // line[size] must be readable, and no more
    if (!line) return;
    memcpy(line, data, size);
    line[size] = 0;

    for (int way = 0; way < 4; way++)
        parse(line, size, way & 1, way & 2, &pairs);
    if (prep_utf8_valid(line, size) != prep_utf8_repair(line, size, &repaired) && !repaired.at)
        fuzz_fail("no memory to repair %zu bytes", size);
    if (repaired.at && !prep_utf8_valid(repaired.at, repaired.size))
        fuzz_fail("what was repaired is no UTF-8");

    prep_bytes_free(&repaired);
    prep_pairs_free(&pairs);
    free(line);
}

static void seeds(void)
{
    static const char *const lines[] = {
        "{\"prompt\": \"What?\", \"completion\": \"That \\u00e9.\"}\n",
        "[{\"prompt\":\"a\",\"completion\":\"b\",\"category\":\"tv\"},{\"completion\":\"\"}]",
        "{\"prompt\": [1, -2.5e3, {\"x\": null}], \"completion\": \"\\ud83d\\ude00\", \"y\": true}",
        "{\"completion\":\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\",\"prompt\":\"\"}",
        "[]",
        "{}",
        "[NaN, Infinity, -Infinity]",
        "\"text\""
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char name[20];
        snprintf(name, sizeof name, "line%d", (int)i);
        fuzz_seed(name, lines[i], strlen(lines[i]));
    }
}

// Each kind is a text that is repeated between a beginning and an end.
static bool large(size_t size, int kind)
{
    static const char *const kinds[][4] = {
        { "a long text", "{\"completion\":\"", "x", "\"}" },
        { "escapes", "{\"completion\":\"", "\\u00e9\\n", "\"}" },
        { "many pairs", "[{\"completion\":\"\"}", ",{\"prompt\":\"a\",\"completion\":\"b\"}", "]" },
        { "equal keys", "{\"completion\":\"\"", ",\"prompt\":\"a\"", "}" },
        { "open brackets", "{\"completion\":", "[", "" },
        { "a long number", "{\"completion\":", "1", "}" },
        { "many numbers", "{\"prompt\":\"\",\"completion\":[1", ",12e3", "]}" },
        { "broken UTF-8", "{\"completion\":\"", "\xE0\xF0\x9F", "\"}" },
        { "spaces", "{\"completion\":\"\"", " ", "}" },
    };
    if (kind >= (int)(sizeof kinds / sizeof *kinds)) return false;
    fuzz_bytes b = { NULL, 0, 0 };
    fuzz_put_text(&b, kinds[kind][1]);
    while (b.size < size)
        fuzz_put_text(&b, kinds[kind][2]);
    fuzz_put_text(&b, kinds[kind][3]);
    fuzz_large(kinds[kind][0], b.at, b.size);
    fuzz_free(&b);
    return true;
}

const fuzz_target fuzz_target_here = {
    .name = "json",
    .limits = { .seconds = 0.1, .seconds_per_mb = 3, .heap = 4096, .heap_per_byte = 60 },
    .words = words,
    .one = one,
    .mutate = fuzz_mutate_text,
    .seeds = seeds,
    .large = large,
};

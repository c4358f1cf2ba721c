/* json_line.h: one line of a .jsonl file as pairs of prompt and completion. Accepts exactly what
 * Python's json.loads accepts (NaN and Infinity, the last of equal keys, \u0000 and so on).
 *
 *     #define SAMBA_JSON_LINE_IMPLEMENTATION    in one file, after packing.h
 *     #include "json_line.h"
 *
 * Also here: UTF-8 with its errors replaced, as Python's open(..., errors="replace") does. */
#ifndef SAMBA_JSON_LINE_H
#define SAMBA_JSON_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that grow. A zero follows them. */
typedef struct prep_bytes {
    char *at;
    size_t size, cap;
} prep_bytes;

bool prep_bytes_add(prep_bytes *b, const void *data, size_t size);
void prep_bytes_free(prep_bytes *b);

/* True: text is valid UTF-8. Otherwise out is text with U+FFFD for each error, or out of memory:
 * out->at is NULL. */
bool prep_utf8_valid(const char *text, size_t size);
bool prep_utf8_repair(const char *text, size_t size, prep_bytes *out);

typedef struct prep_categories {
    char **name;
    int32_t n;
} prep_categories;

typedef struct prep_json_rules {
    const char *prompt, *completion;   /* the keywords */
    const prep_categories *categories; /* NULL: "category" is a key like any other */
    bool keep_prompt_only;             /* a pair without completion is not skipped */
} prep_json_rules;

/* The pairs of the line that was parsed last; their texts live in text. */
typedef struct prep_offsets {
    size_t prompt, completion;
} prep_offsets;

typedef struct prep_pairs {
    prep_pair *at;
    prep_offsets *offset; /* of the texts, in text */
    int64_t n, cap;
    prep_bytes text;
} prep_pairs;

/* False: the line is not what a .jsonl file may hold, and why says what and where. *fatal: it is
 * not the format, but a category that is not listed, or memory. line[size] must be readable. */
bool prep_parse_line(const prep_json_rules *rules, const char *line, size_t size, prep_pairs *pairs,
                     bool *fatal, char *why, size_t why_size);
void prep_pairs_free(prep_pairs *pairs);

#ifdef __cplusplus
}
#endif
#endif /* SAMBA_JSON_LINE_H */

#ifdef SAMBA_JSON_LINE_IMPLEMENTATION
#undef SAMBA_JSON_LINE_IMPLEMENTATION

#include "../../include/samba/base.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Bytes and UTF-8 ---- */

bool prep_bytes_add(prep_bytes *b, const void *data, size_t size)
{
    if (b->size + size + 1 > b->cap) {
        size_t cap = b->cap ? b->cap : 256;
        char *bigger;
        while (cap < b->size + size + 1)
            cap *= 2;
        bigger = (char *)realloc(b->at, cap);
        if (!bigger) return false;
        b->at = bigger;
        b->cap = cap;
    }
    if (size) memcpy(b->at + b->size, data, size);
    b->size += size;
    b->at[b->size] = 0;
    return true;
}

void prep_bytes_free(prep_bytes *b)
{
    free(b->at);
    memset(b, 0, sizeof *b);
}

bool prep_utf8_valid(const char *text, size_t size)
{
    const unsigned char *p = (const unsigned char *)text;
    bool bad = false;
    size_t i = 0;
    while (i < size && !bad)
        i += p[i] < 0x80 ? 1 : samba_base_step(p + i, size - i, &bad);
    return !bad;
}

bool prep_utf8_repair(const char *text, size_t size, prep_bytes *out)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t i = 0;
    out->size = 0;
    if (!prep_bytes_add(out, "", 0)) return false;
    while (i < size) {
        bool bad;
        size_t n = samba_base_step(p + i, size - i, &bad);
        if (!prep_bytes_add(out, bad ? "\xEF\xBF\xBD" : text + i, bad ? 3 : n)) return false;
        i += n;
    }
    return true;
}

/* ---- JSON: values ---- */

/* What matters of a value: its text, whether Python takes it for false, what to call it. */
typedef enum prep__kind { PREP__ABSENT, PREP__EMPTY, PREP__TEXT, PREP__OTHER } prep__kind;

typedef struct prep__value {
    prep__kind kind;
    size_t at, size; /* in the text of the pairs */
    bool lone;       /* half of a surrogate pair, which no tokenizer takes */
    const char *name;
} prep__value;

typedef struct prep__json {
    const char *start, *p, *end;
    prep_bytes *text;
    const char *problem;
    const char *problem_at;
    int depth;
    bool no_memory;
} prep__json;

enum { PREP__DEPTH = 990 }; /* about where Python gives up, too */

static bool prep__parse(prep__json *j, prep__value *v);

static bool prep__problem(prep__json *j, const char *at, const char *problem)
{
    if (!j->problem) {
        j->problem = problem;
        j->problem_at = at;
    }
    return false;
}

static void prep__space(prep__json *j)
{
    while (j->p < j->end && (*j->p == ' ' || *j->p == '\t' || *j->p == '\n' || *j->p == '\r'))
        j->p++;
}

static bool prep__at(const prep__json *j, char c)
{
    return j->p < j->end && *j->p == c;
}

static bool prep__word(prep__json *j, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(j->end - j->p) < n || memcmp(j->p, word, n) != 0) return false;
    j->p += n;
    return true;
}

static bool prep__keep(prep__json *j, const void *data, size_t size)
{
    if (prep_bytes_add(j->text, data, size)) return true;
    j->no_memory = true;
    return prep__problem(j, j->p, "no memory for the text");
}

static bool prep__put_code(prep__json *j, uint32_t c)
{
    unsigned char b[4];
    size_t n;
    if (c < 0x80) {
        b[0] = (unsigned char)c;
        n = 1;
    } else if (c < 0x800) {
        b[0] = (unsigned char)(0xC0 | c >> 6);
        n = 2;
    } else if (c < 0x10000) {
        b[0] = (unsigned char)(0xE0 | c >> 12);
        n = 3;
    } else {
        b[0] = (unsigned char)(0xF0 | c >> 18);
        n = 4;
    }
    for (size_t i = 1; i < n; i++)
        b[i] = (unsigned char)(0x80 | (c >> (6 * (n - 1 - i)) & 0x3F));
    return prep__keep(j, b, n);
}

/* Four hexadecimal digits at p. */
static bool prep__hex4(const prep__json *j, const char *p, uint32_t *code)
{
    *code = 0;
    if (j->end - p < 4) return false;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0')
            : c >= 'a' && c <= 'f'            ? (uint32_t)(c - 'a') + 10
            : c >= 'A' && c <= 'F'            ? (uint32_t)(c - 'A') + 10
                                              : 16;
        if (digit > 15) return false;
        *code = *code << 4 | digit;
    }
    return true;
}

/* Behind \u. Two halves of a surrogate pair are one character. */
static bool prep__unicode_escape(prep__json *j, prep__value *v)
{
    uint32_t code, low;
    if (!prep__hex4(j, j->p, &code))
        return prep__problem(j, j->p, "\\u needs four hexadecimal digits");
    j->p += 4;
    if (code >= 0xD800 && code < 0xDC00 && j->end - j->p >= 6 && j->p[0] == '\\' && j->p[1] == 'u'
        && prep__hex4(j, j->p + 2, &low) && low >= 0xDC00 && low < 0xE000) {
        j->p += 6;
        code = 0x10000 + ((code - 0xD800) << 10 | (low - 0xDC00));
    }
    if (code >= 0xD800 && code < 0xE000) v->lone = true;
    return prep__put_code(j, code);
}

static bool prep__escape(prep__json *j, prep__value *v)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = ++j->p < j->end ? *j->p : 0;
    const char *found = c ? strchr(from, c) : NULL;
    if (c != 'u' && !found) return prep__problem(j, j->p - 1, "there is no such \\ escape");
    j->p++;
    return found ? prep__keep(j, to + (found - from), 1) : prep__unicode_escape(j, v);
}

static bool prep__string(prep__json *j, prep__value *v)
{
    const char *open = j->p++;
    v->at = j->text->size;
    v->lone = false;
    for (;;) {
        const char *from = j->p;
        while (j->p < j->end && *j->p != '"' && *j->p != '\\' && (unsigned char)*j->p >= 0x20)
            j->p++;
        if (!prep__keep(j, from, (size_t)(j->p - from))) return false;
        if (j->p >= j->end) return prep__problem(j, open, "the text that begins here never ends");
        if (*j->p == '"') break;
        if (*j->p != '\\')
            return prep__problem(j, j->p,
                                 "a control character within a text must be written as "
                                 "an escape such as \\n or \\t");
        if (!prep__escape(j, v)) return false;
    }
    j->p++;
    v->size = j->text->size - v->at;
    v->kind = v->size ? PREP__TEXT : PREP__EMPTY;
    v->name = "a text";
    return true;
}

static bool prep__digits(prep__json *j)
{
    const char *from = j->p;
    while (j->p < j->end && *j->p >= '0' && *j->p <= '9')
        j->p++;
    return j->p > from;
}

static bool prep__number(prep__json *j, prep__value *v)
{
    const char *from = j->p, *back;
    if (prep__at(j, '-')) j->p++;
    if (prep__at(j, '0'))
        j->p++;
    else if (!prep__digits(j)) {
        j->p = from;
        return prep__problem(j, from, "expected a value");
    }
    back = j->p;
    if (prep__at(j, '.') && (j->p++, !prep__digits(j))) j->p = back;
    back = j->p;
    if (prep__at(j, 'e') || prep__at(j, 'E')) {
        j->p++;
        if (prep__at(j, '+') || prep__at(j, '-')) j->p++;
        if (!prep__digits(j)) j->p = back;
    }
    v->kind = PREP__OTHER;
    if (!(strtod(from, NULL) > 0) && !(strtod(from, NULL) < 0)) v->kind = PREP__EMPTY;
    v->name = "a number";
    return true;
}

/* The elements up to the closing bracket; each goes to element(), which may be NULL. */
static bool prep__list(prep__json *j, int64_t *n, bool (*element)(prep__json *, void *), void *to)
{
    prep__value ignored;
    *n = 0;
    j->p++;
    prep__space(j);
    if (prep__at(j, ']')) {
        j->p++;
        return true;
    }
    for (;;) {
        prep__space(j);
        if (!(element ? element(j, to) : prep__parse(j, &ignored))) return false;
        ++*n;
        prep__space(j);
        if (prep__at(j, ']')) {
            j->p++;
            return true;
        }
        if (!prep__at(j, ',')) return prep__problem(j, j->p, "expected , or ]");
        j->p++;
    }
}

/* The members up to the closing brace; each value goes to member() with its key, or is ignored. */
static bool prep__object(prep__json *j, int64_t *n,
                         void (*member)(void *, const prep__json *, prep__value, prep__value),
                         void *to)
{
    prep__value key, value;
    *n = 0;
    j->p++;
    prep__space(j);
    if (prep__at(j, '}')) {
        j->p++;
        return true;
    }
    for (;;) {
        prep__space(j);
        if (!prep__at(j, '"')) return prep__problem(j, j->p, "expected a key in double quotes");
        if (!prep__string(j, &key)) return false;
        prep__space(j);
        if (!prep__at(j, ':')) return prep__problem(j, j->p, "expected : behind a key");
        j->p++;
        prep__space(j);
        if (!prep__parse(j, &value)) return false;
        if (member) member(to, j, key, value);
        ++*n;
        prep__space(j);
        if (prep__at(j, '}')) {
            j->p++;
            return true;
        }
        if (!prep__at(j, ',')) return prep__problem(j, j->p, "expected , or }");
        j->p++;
    }
}

static bool prep__container(prep__json *j, prep__value *v)
{
    bool is_list = *j->p == '[', ok;
    int64_t n;
    if (++j->depth > PREP__DEPTH) return prep__problem(j, j->p, "too many brackets in brackets");
    ok = is_list ? prep__list(j, &n, NULL, NULL) : prep__object(j, &n, NULL, NULL);
    j->depth--;
    v->kind = ok && n ? PREP__OTHER : PREP__EMPTY;
    v->name = is_list ? "a list" : "an object";
    return ok;
}

static bool prep__parse(prep__json *j, prep__value *v)
{
    v->at = v->size = 0;
    v->lone = false;
    v->kind = PREP__OTHER;
    v->name = "a number";
    if (j->p >= j->end) return prep__problem(j, j->p, "expected a value, found the end");
    if (*j->p == '"') return prep__string(j, v);
    if (*j->p == '[' || *j->p == '{') return prep__container(j, v);
    if (prep__word(j, "NaN") || prep__word(j, "Infinity") || prep__word(j, "-Infinity"))
        return true;
    v->name = "true";
    if (prep__word(j, "true")) return true;
    v->kind = PREP__EMPTY;
    v->name = "null or false";
    if (prep__word(j, "false") || prep__word(j, "null")) return true;
    return prep__number(j, v);
}

/* ---- JSON: a line ---- */

typedef struct prep__line {
    const prep_json_rules *rules;
    prep_pairs *pairs;
    prep__value prompt, completion, category; /* of the pair at hand */
    bool fatal;
    char *why;
    size_t why_size;
} prep__line;

static bool prep__is(const prep__json *j, prep__value key, const char *word)
{
    return key.size == strlen(word) && memcmp(j->text->at + key.at, word, key.size) == 0;
}

static void prep__member(void *to, const prep__json *j, prep__value key, prep__value value)
{
    prep__line *l = (prep__line *)to;
    if (prep__is(j, key, l->rules->prompt)) l->prompt = value;
    if (prep__is(j, key, l->rules->completion)) l->completion = value;
    if (prep__is(j, key, "category")) l->category = value;
}

static bool prep__says(prep__line *l, const char *format, const char *a, const char *b)
{
    snprintf(l->why, l->why_size, format, a, b);
    return false;
}

/* A value that Python takes for false is no text; one that is neither cannot be tokenized. */
static bool prep__is_text(prep__line *l, const char *key, prep__value v)
{
    if (v.kind == PREP__OTHER)
        return prep__says(l, "the value of \"%s\" is %s, not a text", key, v.name);
    if (v.lone)
        return prep__says(l,
                          "the text of \"%s\" has a lone surrogate (\\ud800 to \\udfff%s), "
                          "which stands for no character",
                          key, "");
    return true;
}

static bool prep__category_id(prep__line *l, const prep__json *j, int32_t *id)
{
    const prep_categories *c = l->rules->categories;
    const char *name = j->text->at + l->category.at;
    *id = PREP_NO_CATEGORY;
    if (!c || l->category.kind == PREP__ABSENT) return true;
    l->fatal = true;
    if (l->category.kind == PREP__OTHER
        || (l->category.kind == PREP__EMPTY && strcmp(l->category.name, "a text") != 0))
        return prep__says(l, "the value of \"category\" is %s%s, not a text", l->category.name, "");
    for (int32_t i = c->n - 1; i >= 0 && *id < 0; i--)
        if (prep__is(j, l->category, c->name[i])) *id = i;
    l->fatal = *id < 0;
    char shown[104];
    return *id >= 0
        || prep__says(l,
                      "the category \"%s\" is not in the list of "
                      "--categories_path%s",
                      samba_base_shown(name, shown, sizeof shown), "");
}

static bool prep__grow_pairs(prep_pairs *pairs)
{
    int64_t cap = pairs->cap ? 2 * pairs->cap : 16;
    prep_pair *at = (prep_pair *)realloc(pairs->at, (size_t)cap * sizeof *at);
    prep_offsets *offset;
    if (at) pairs->at = at;
    offset = (prep_offsets *)realloc(pairs->offset, (size_t)cap * sizeof *offset);
    if (offset) pairs->offset = offset;
    if (!at || !offset) return false;
    pairs->cap = cap;
    return true;
}

static bool prep__add_pair(prep__line *l, prep__json *j)
{
    prep_pairs *pairs = l->pairs;
    prep_pair *pair;
    if (l->completion.kind == PREP__ABSENT)
        return prep__says(l, "the key \"%s\" is missing%s (--completion_keyword names another)",
                          l->rules->completion, "");
    if (pairs->n == pairs->cap && !prep__grow_pairs(pairs)) {
        j->no_memory = true;
        return prep__problem(j, j->p, "no memory for the pairs");
    }
    pairs->offset[pairs->n].prompt = l->prompt.at;
    pairs->offset[pairs->n].completion = l->completion.at;
    pair = &pairs->at[pairs->n++];
    memset(pair, 0, sizeof *pair);
    pair->category = PREP_NO_CATEGORY;
    if (l->completion.kind == PREP__EMPTY && !l->rules->keep_prompt_only) return true;
    pair->prompt.size = l->prompt.size;
    pair->completion.size = l->completion.size;
    return prep__is_text(l, l->rules->completion, l->completion)
        && prep__is_text(l, l->rules->prompt, l->prompt)
        && prep__category_id(l, j, &pair->category);
}

/* Parses the object of one pair. */
static bool prep__pair(prep__json *j, void *to)
{
    prep__line *l = (prep__line *)to;
    prep__value none, v;
    int64_t n;
    memset(&none, 0, sizeof none);
    none.kind = PREP__ABSENT;
    l->prompt = l->completion = l->category = none;
    if (!prep__at(j, '{')) {
        if (!prep__parse(j, &v)) return false;
        return prep__says(l,
                          "expected an object {\"%s\": ...} or a list of them, found something "
                          "else%s",
                          l->rules->completion, "");
    }
    return prep__object(j, &n, prep__member, l) && prep__add_pair(l, j);
}

/* Tells where: the column counts bytes from 1. */
static void prep__tell(prep__line *l, const prep__json *j)
{
    snprintf(l->why, l->why_size, "%s (column %ld)", j->problem,
             (long)(j->problem_at - j->start) + 1);
    l->fatal = j->no_memory;
}

static bool prep__whole_line(prep__json *j, prep__line *l)
{
    int64_t n;
    bool ok;
    if (prep__word(j, "\xEF\xBB\xBF"))
        return prep__problem(j, j->start,
                             "the file begins with a byte order mark; save it as "
                             "UTF-8 without one");
    prep__space(j);
    if (j->p >= j->end) return prep__problem(j, j->start, "the line is empty");
    ok = prep__at(j, '[') ? prep__list(j, &n, prep__pair, l) : prep__pair(j, l);
    if (!ok) return false;
    prep__space(j);
    return j->p == j->end
        || prep__problem(j, j->p,
                         "something follows the value; a line holds "
                         "one object or one list");
}

bool prep_parse_line(const prep_json_rules *rules, const char *line, size_t size, prep_pairs *pairs,
                     bool *fatal, char *why, size_t why_size)
{
    prep__json j;
    prep__line l;
    int64_t i;
    bool ok;
    memset(&j, 0, sizeof j);
    memset(&l, 0, sizeof l);
    pairs->n = 0;
    pairs->text.size = 0;
    j.start = j.p = line;
    j.end = line + size - (size && line[size - 1] == '\n');
    j.text = &pairs->text;
    l.rules = rules;
    l.pairs = pairs;
    l.why = why;
    l.why_size = why_size;
    ok = prep__keep(&j, "", 0) && prep__whole_line(&j, &l);
    if (!ok && j.problem) prep__tell(&l, &j);
    *fatal = l.fatal;
    for (i = 0; ok && i < pairs->n; i++) { /* now that the text no longer moves */
        pairs->at[i].prompt.at = pairs->text.at + pairs->offset[i].prompt;
        pairs->at[i].completion.at = pairs->text.at + pairs->offset[i].completion;
    }
    return ok;
}

void prep_pairs_free(prep_pairs *pairs)
{
    free(pairs->at);
    free(pairs->offset);
    prep_bytes_free(&pairs->text);
    memset(pairs, 0, sizeof *pairs);
}

#endif /* SAMBA_JSON_LINE_IMPLEMENTATION */

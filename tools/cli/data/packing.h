/* packing.h: how prompts and completions become rows of tokens, all of one length. Pure logic: it
 * reads and writes no file; the tokenizer and the place for the rows are functions of the caller.
 *
 *     #define SAMBA_PACKING_IMPLEMENTATION      in one file
 *     #include "packing.h"
 *
 *     prep *p = prep_open(&rules, why, sizeof why);
 *     prep_article(p, pairs, n)                 once for each line of the input
 *     prep_end(p)                               the row that is not full
 *     prep_close(p)
 *
 * An article is what must stay together: a line of the input, or one pair of it. A row holds
 * `length` tokens, each with a type and a category. These are the rules of SambaNova's
 * generative_data_prep. */
#ifndef SAMBA_PACKING_H
#define SAMBA_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The type of a token: what the loss does with it. PREP_SEP ends an article; attention may stop
 * there. */
enum { PREP_PROMPT = 0, PREP_COMPLETION = 1, PREP_PADDING = 2, PREP_SEP = 3 };

enum { PREP_NO_CATEGORY = -1 };

typedef struct prep_token {
    int32_t id, type, category;
} prep_token;

/* Style: FULL fills every row and splits articles; SINGLE gives each article a row; GREEDY puts as
 * many whole articles into a row as fit. Overflow: what becomes of an article longer than a row. */
typedef enum prep_style { PREP_FULL, PREP_SINGLE, PREP_GREEDY } prep_style;

typedef enum prep_overflow { PREP_DROP, PREP_TRUNCATE_LEFT, PREP_TRUNCATE_RIGHT } prep_overflow;

typedef struct prep_packing {
    prep_style style;
    prep_overflow overflow;
} prep_packing;

/* "full", or {single,greedy}::{drop,truncate_left,truncate_right}. */
bool prep_packing_parse(const char *text, prep_packing *packing, char *why, size_t why_size);
const char *prep_packing_name(prep_packing packing);

/* Text with its length: it may hold zero bytes. */
typedef struct prep_text {
    const char *at;
    size_t size;
} prep_text;

typedef struct prep_pair {
    prep_text prompt, completion;
    int32_t category;
} prep_pair;

/* The count of tokens of text; writes at most cap of them into ids. Negative: it cannot. */
typedef int64_t prep_encode(void *tokenizer, const char *text, size_t size, int32_t *ids,
                            int64_t cap);
/* Takes a finished row. False: it could not. */
typedef bool prep_take_row(void *taker, const prep_token *row, int32_t length);

typedef struct prep_rules {
    prep_packing packing;
    int32_t length;            /* tokens of a row */
    int32_t eos, pad, bos;     /* ids; bos -1: there is none */
    bool adds_bos, adds_eos;   /* the tokenizer begins and ends every text with them */
    bool no_space;             /* leave the spaces between prompt and completion alone */
    bool keep_prompt_only;     /* keep rows, and pairs, without a completion */
    bool as_is;                /* the texts have their special tokens: none is added or dropped */
    bool pair_packing;         /* every pair is an article of its own */
    bool pair_attention;       /* every pair ends with PREP_SEP */
    prep_text prefix, postfix; /* glued around a prompt */
    prep_encode *encode;
    void *tokenizer;
    prep_take_row *take_row;
    void *taker;
} prep_rules;

/* prompt, completion and padding tokens are those of the rows; a PREP_SEP is a completion here. */
typedef struct prep_metrics {
    int64_t articles, completion_tokens, input_tokens, output_tokens, padding_tokens;
    int64_t prompt_tokens, sequences, tokens_dropped_from_all_prompt, tokens_dropped_from_packing;
} prep_metrics;

typedef struct prep {
    prep_rules rules;
    prep_metrics metrics;
    prep_token *row; /* the row that is not full, and what it holds so far */
    int32_t used;
    prep_token *article;
    int64_t n_article, article_cap;
    int32_t *ids; /* of the text that was encoded last */
    int64_t ids_cap;
    char *text; /* a prompt with prefix and postfix, and the like */
    size_t text_cap;
    char why[256]; /* why a function said false */
} prep;

prep *prep_open(const prep_rules *rules, char *why, size_t why_size);
void prep_close(prep *p);
bool prep_article(prep *p, const prep_pair *pairs, int64_t n);
bool prep_line(prep *p, prep_text line); /* plain text: all of it is completion, as it is */
bool prep_end(prep *p);
void prep_add_metrics(prep_metrics *sum, const prep_metrics *more);

/* The parts of the above, for tests. prep_pair_tokens appends to p->article. */
bool prep_pair_tokens(prep *p, prep_pair pair, bool spaced);
bool prep_pack(prep *p, const prep_token *article, int64_t n);
/* What an overflow rule leaves of n tokens where there is room for that many: first and count. */
void prep_fit(prep_overflow overflow, int64_t n, int64_t room, int64_t *first, int64_t *count);

/* How many files of each kind; -1 and a negative ratio: not given. */
typedef struct prep_splits {
    int64_t n_train, n_dev, n_test, n;
    double dev_ratio, test_ratio;
} prep_splits;

bool prep_count_splits(prep_splits *s, int64_t input_size, char *why, size_t why_size);

/* Balancing: give[i] > 0 rows leave the end of file i, give[i] < 0 rows are appended to it, so
 * that the counts differ by one at most; the sum of give is 0. Returns the smallest new count. */
int64_t prep_plan_balance(const int64_t *count, int64_t *give, int64_t n);

#ifdef __cplusplus
}
#endif
#endif /* SAMBA_PACKING_H */

#ifdef SAMBA_PACKING_IMPLEMENTATION
#undef SAMBA_PACKING_IMPLEMENTATION

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names of the packing modes ---- */

static const struct {
    const char *name;
    prep_packing packing;
} prep__packings[] = {
    { "full", { PREP_FULL, PREP_DROP } },
    { "single::drop", { PREP_SINGLE, PREP_DROP } },
    { "single::truncate_left", { PREP_SINGLE, PREP_TRUNCATE_LEFT } },
    { "single::truncate_right", { PREP_SINGLE, PREP_TRUNCATE_RIGHT } },
    { "greedy::drop", { PREP_GREEDY, PREP_DROP } },
    { "greedy::truncate_left", { PREP_GREEDY, PREP_TRUNCATE_LEFT } },
    { "greedy::truncate_right", { PREP_GREEDY, PREP_TRUNCATE_RIGHT } },
};

enum { PREP__N_PACKINGS = sizeof prep__packings / sizeof *prep__packings };

bool prep_packing_parse(const char *text, prep_packing *packing, char *why, size_t why_size)
{
    for (int i = 0; i < PREP__N_PACKINGS; i++) {
        if (strcmp(text, prep__packings[i].name) != 0) continue;
        *packing = prep__packings[i].packing;
        return true;
    }
    snprintf(why, why_size,
             "\"%s\" is no packing; say full, or single or greedy with what to do "
             "with an article that is too long: ::drop, ::truncate_left or ::truncate_right "
             "(greedy::drop, say)",
             text);
    return false;
}

const char *prep_packing_name(prep_packing packing)
{
    for (int i = 0; i < PREP__N_PACKINGS; i++) {
        prep_packing p = prep__packings[i].packing;
        if (p.style == packing.style && (p.style == PREP_FULL || p.overflow == packing.overflow))
            return prep__packings[i].name;
    }
    return "?";
}

/* ---- Opening and closing ---- */

prep *prep_open(const prep_rules *rules, char *why, size_t why_size)
{
    prep *p;
    if (rules->length < 1) {
        snprintf(why, why_size,
                 "rows of %d tokens are not possible; max_seq_length must be at "
                 "least 1",
                 (int)rules->length);
        return NULL;
    }
    p = (prep *)calloc(1, sizeof *p);
    if (p) p->row = (prep_token *)malloc((size_t)rules->length * sizeof *p->row);
    if (!p || !p->row) {
        snprintf(why, why_size, "no memory for a row of %d tokens", (int)rules->length);
        free(p);
        return NULL;
    }
    p->rules = *rules;
    return p;
}

void prep_close(prep *p)
{
    if (!p) return;
    free(p->row);
    free(p->article);
    free(p->ids);
    free(p->text);
    free(p);
}

static bool prep__fail(prep *p, const char *why)
{
    snprintf(p->why, sizeof p->why, "%s", why);
    return false;
}

/* ---- From text to tokens ---- */

static bool prep__reserve_tokens(prep *p, int64_t more)
{
    int64_t cap = p->article_cap ? p->article_cap : 1024;
    prep_token *article;
    if (p->n_article + more <= p->article_cap) return true;
    while (cap < p->n_article + more)
        cap *= 2;
    article = (prep_token *)realloc(p->article, (size_t)cap * sizeof *article);
    if (!article) return prep__fail(p, "no memory for the tokens of a line");
    p->article = article;
    p->article_cap = cap;
    return true;
}

static bool prep__add_token(prep *p, int32_t id, int32_t type, int32_t category)
{
    prep_token t;
    if (!prep__reserve_tokens(p, 1)) return false;
    t.id = id;
    t.type = type;
    t.category = category;
    p->article[p->n_article++] = t;
    return true;
}

/* Encodes into p->ids. Returns the count, or -1. */
static int64_t prep__encode(prep *p, prep_text text)
{
    for (;;) {
        int64_t n = p->rules.encode(p->rules.tokenizer, text.at, text.size, p->ids, p->ids_cap);
        int32_t *ids;
        if (n <= p->ids_cap) {
            if (n < 0) prep__fail(p, "the tokenizer cannot encode the text");
            return n;
        }
        ids = (int32_t *)realloc(p->ids, (size_t)n * sizeof *ids);
        if (!ids) {
            prep__fail(p, "no memory for the tokens of a text");
            return -1;
        }
        p->ids = ids;
        p->ids_cap = n;
    }
}

/* Appends the tokens of text. One BOS goes from its beginning if asked, one EOS from its end. */
static bool prep__add_text(prep *p, prep_text text, int32_t type, int32_t category, bool drop_bos)
{
    const prep_rules *r = &p->rules;
    int64_t n = prep__encode(p, text), first = 0, i;
    if (n < 0) return false;
    if (!r->as_is && r->adds_bos && !drop_bos && !prep__add_token(p, r->bos, type, category))
        return false;
    if (!r->as_is && !r->adds_bos && drop_bos && n > 0 && r->bos >= 0 && p->ids[0] == r->bos)
        first = 1;
    if (!r->as_is && !r->adds_eos && n > first && p->ids[n - 1] == r->eos) n--;
    if (!prep__reserve_tokens(p, n - first)) return false;
    for (i = first; i < n; i++)
        if (!prep__add_token(p, p->ids[i], type, category)) return false;
    return true;
}

/* before + text + after, in p->text. */
static bool prep__glue(prep *p, prep_text before, prep_text text, prep_text after, prep_text *out)
{
    size_t size = before.size + text.size + after.size;
    if (size > p->text_cap) {
        char *bigger = (char *)realloc(p->text, size);
        if (!bigger) return prep__fail(p, "no memory for a text");
        p->text = bigger;
        p->text_cap = size;
    }
    if (before.size) memcpy(p->text, before.at, before.size);
    if (text.size) memcpy(p->text + before.size, text.at, text.size);
    if (after.size) memcpy(p->text + before.size + text.size, after.at, after.size);
    out->at = p->text;
    out->size = size;
    return true;
}

/* spaced: prompts lose spaces at their end, completions begin with exactly one. */
bool prep_pair_tokens(prep *p, prep_pair pair, bool spaced)
{
    prep_text none = { "", 0 }, space = { " ", 1 }, prompt = pair.prompt, text;
    prep_text completion = pair.completion;
    int64_t before = p->n_article;
    bool has_prompt, has_completion = completion.size > 0;
    if (spaced) {
        while (prompt.size && prompt.at[prompt.size - 1] == ' ')
            prompt.size--;
        while (completion.size && *completion.at == ' ') {
            completion.at++;
            completion.size--;
        }
    }
    has_prompt = prompt.size > 0;
    if (has_prompt
        && !(prep__glue(p, p->rules.prefix, prompt, p->rules.postfix, &text)
             && prep__add_text(p, text, PREP_PROMPT, pair.category, false)))
        return false;
    if (has_completion
        && !(prep__glue(p, spaced ? space : none, completion, none, &text)
             && prep__add_text(p, text, PREP_COMPLETION, pair.category, has_prompt)))
        return false;
    if (!p->rules.as_is && p->n_article > before
        && !prep__add_token(p, p->rules.eos, PREP_COMPLETION, pair.category))
        return false;
    p->metrics.input_tokens += p->n_article - before;
    return true;
}

static void prep__mark_end(prep *p)
{
    if (p->n_article) p->article[p->n_article - 1].type = PREP_SEP;
}

static bool prep__pack_article(prep *p)
{
    bool ok = prep_pack(p, p->article, p->n_article);
    p->n_article = 0;
    return ok;
}

bool prep_article(prep *p, const prep_pair *pairs, int64_t n)
{
    const prep_rules *r = &p->rules;
    int64_t i;
    p->n_article = 0;
    for (i = 0; i < n; i++) {
        if (!pairs[i].completion.size && !r->keep_prompt_only) continue;
        if (!prep_pair_tokens(p, pairs[i], !r->no_space)) return false;
        if (r->pair_attention) prep__mark_end(p);
        if (r->pair_packing && i < n - 1 && !prep__pack_article(p)) return false;
    }
    prep__mark_end(p);
    return prep__pack_article(p);
}

bool prep_line(prep *p, prep_text line)
{
    prep_pair pair = { { "", 0 }, line, PREP_NO_CATEGORY };
    p->n_article = 0;
    if (!prep_pair_tokens(p, pair, false)) return false;
    prep__mark_end(p);
    return prep__pack_article(p);
}

/* ---- From tokens to rows ---- */

/* Counts the row and hands it on, unless it has nothing to learn from. */
static bool prep__finish_row(prep *p)
{
    prep_metrics *m = &p->metrics;
    int32_t length = p->rules.length, i, n[4] = { 0, 0, 0, 0 };
    for (i = p->used; i < length; i++) {
        p->row[i].id = p->rules.pad;
        p->row[i].type = PREP_PADDING;
        p->row[i].category = PREP_NO_CATEGORY;
    }
    p->used = 0;
    for (i = 0; i < length; i++)
        n[p->row[i].type]++;
    if (!n[PREP_COMPLETION] && !p->rules.keep_prompt_only) {
        m->tokens_dropped_from_all_prompt += length;
        return true;
    }
    m->sequences++;
    m->output_tokens += length;
    m->prompt_tokens += n[PREP_PROMPT];
    m->completion_tokens += n[PREP_COMPLETION] + n[PREP_SEP];
    m->padding_tokens += n[PREP_PADDING];
    return p->rules.take_row(p->rules.taker, p->row, length)
        || prep__fail(p, "a row could not be written");
}

void prep_fit(prep_overflow overflow, int64_t n, int64_t room, int64_t *first, int64_t *count)
{
    *first = 0;
    *count = n;
    if (n <= room) return;
    *count = overflow == PREP_DROP ? 0 : room;
    if (overflow == PREP_TRUNCATE_LEFT) *first = n - room;
}

static void prep__append(prep *p, const prep_token *tokens, int64_t n)
{
    if (n) memcpy(p->row + p->used, tokens, (size_t)n * sizeof *tokens);
    p->used += (int32_t)n;
}

/* Into the empty row, by the overflow rule. */
static void prep__append_fitting(prep *p, const prep_token *article, int64_t n)
{
    int64_t first, count;
    prep_fit(p->rules.packing.overflow, n, p->rules.length, &first, &count);
    p->metrics.tokens_dropped_from_packing += n - count;
    prep__append(p, article + first, count);
}

static bool prep__pack_full(prep *p, const prep_token *article, int64_t n)
{
    while (n > 0) { /* a full row waits for the token that no longer fits */
        int64_t room = p->rules.length - p->used, part = n < room ? n : room;
        if (room == 0 && !prep__finish_row(p)) return false;
        prep__append(p, article, part);
        article += part;
        n -= part;
    }
    return true;
}

bool prep_pack(prep *p, const prep_token *article, int64_t n)
{
    if (!n) return true;
    switch (p->rules.packing.style) {
    case PREP_FULL:
        return prep__pack_full(p, article, n);
    case PREP_SINGLE:
        prep__append_fitting(p, article, n);
        return !p->used || prep__finish_row(p);
    case PREP_GREEDY:
        if (n <= p->rules.length - p->used) {
            prep__append(p, article, n);
            return true;
        }
        if (p->used && !prep__finish_row(p)) return false;
        prep__append_fitting(p, article, n);
        return true;
    }
    return prep__fail(p, "no such packing");
}

bool prep_end(prep *p)
{
    return !p->used || prep__finish_row(p);
}

void prep_add_metrics(prep_metrics *sum, const prep_metrics *more)
{
    sum->articles += more->articles;
    sum->completion_tokens += more->completion_tokens;
    sum->input_tokens += more->input_tokens;
    sum->output_tokens += more->output_tokens;
    sum->padding_tokens += more->padding_tokens;
    sum->prompt_tokens += more->prompt_tokens;
    sum->sequences += more->sequences;
    sum->tokens_dropped_from_all_prompt += more->tokens_dropped_from_all_prompt;
    sum->tokens_dropped_from_packing += more->tokens_dropped_from_packing;
}

/* ---- How many files ---- */

static int64_t prep__default_splits(int64_t input_size)
{
    const int64_t gib = (int64_t)1 << 30;
    return input_size < 10 * gib ? 32 : input_size < 100 * gib ? 128 : 256;
}

static bool prep__splits_by_count(prep_splits *s, char *why, size_t why_size)
{
    const char *ratio = s->test_ratio >= 0 ? "test_ratio" : s->dev_ratio >= 0 ? "dev_ratio" : NULL;
    if (ratio) {
        snprintf(why, why_size,
                 "--num_training_splits, --num_dev_splits and --num_test_splits "
                 "say how many files there are; leave --%s out",
                 ratio);
        return false;
    }
    s->n = s->n_train + s->n_dev + s->n_test;
    return true;
}

bool prep_count_splits(prep_splits *s, int64_t input_size, char *why, size_t why_size)
{
    const int64_t limit = 1000000;
    double rest, dev, test;
    if (s->n_train == 0 || s->n_train > limit || s->n_dev > limit || s->n_test > limit) {
        snprintf(why, why_size,
                 "the number of files of one kind must be at most %ld, and "
                 "--num_training_splits at least 1",
                 (long)limit);
        return false;
    }
    if (s->n_train > 0 && s->n_dev >= 0 && s->n_test >= 0)
        return prep__splits_by_count(s, why, why_size);
    if (s->n_dev >= 0 || s->n_test >= 0) {
        snprintf(why, why_size,
                 "--num_training_splits, --num_dev_splits and --num_test_splits "
                 "belong together: give all three, or --dev_ratio and --test_ratio");
        return false;
    }
    dev = s->dev_ratio >= 0 ? s->dev_ratio : 0;
    test = s->test_ratio >= 0 ? s->test_ratio : 0;
    if (s->n_train < 0) s->n_train = prep__default_splits(input_size);
    rest = 1 - dev - test;
    if (!(rest > 0) || (double)s->n_train / rest > (double)limit) {
        snprintf(why, why_size,
                 "--dev_ratio %g and --test_ratio %g leave nothing, or next to "
                 "nothing, to train on; their sum must be below 1",
                 dev, test);
        return false;
    }
    s->n = (int64_t)((double)s->n_train / rest);
    s->n_test = (int64_t)((double)s->n * test);
    s->n_dev = s->n - s->n_test - s->n_train;
    return true;
}

/* ---- Balancing ---- */

int64_t prep_plan_balance(const int64_t *count, int64_t *give, int64_t n)
{
    int64_t total = 0, mean, spare, least = INT64_MAX, i;
    for (i = 0; i < n; i++)
        total += count[i];
    mean = n ? total / n : 0;
    spare = n ? total % n : 0; /* that many files, the first that can, hold one more */
    for (i = 0; i < n; i++) {
        give[i] = count[i] - mean;
        if (spare > 0) {
            give[i]--;
            spare--;
        }
        if (count[i] - give[i] < least) least = count[i] - give[i];
    }
    return n ? least : 0;
}

#endif /* SAMBA_PACKING_IMPLEMENTATION */

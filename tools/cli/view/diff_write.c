// What is said of two models that were compared: text, and the data of a page.
#include "diff.h"
#include "data.h"
#include "tools/cli/util/text.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// Sentences that are kept; if there are more, they are counted.
static int32_t n_sentences(const comparison *c)
{
    return c->n_structure < MOST_SENTENCES ? c->n_structure : MOST_SENTENCES;
}

void free_comparison(comparison *c)
{
    for (int32_t i = 0; c->structure && i < n_sentences(c); i++)
        free(c->structure[i]);
    for (int32_t i = 0; i < c->n_tensors; i++)
        free(c->tensors[i].name);
    free(c->structure);
    free(c->places);
    free(c->pair);
    free(c->tensors);
    memset(c, 0, sizeof *c);
}

// ---- What is said -------------------------------------------------------------------------------

bool are_equal(const comparison *c)
{
    return c->n_structure == 0 && c->first < 0;
}

// The indices of an element, by dimension.
static int32_t place_of(const difference *d, int64_t place[SAMBA_MAX_DIMS])
{
    int64_t rest = d->index;
    for (int32_t k = d->shape.ndim; k-- > 0;) {
        place[k] = rest % d->shape.dim[k];
        rest /= d->shape.dim[k];
    }
    return d->shape.ndim;
}

static void print_first(const comparison *c)
{
    const difference *d = &c->tensors[c->first];
    int64_t place[SAMBA_MAX_DIMS];
    int32_t n = place_of(d, place);
    printf("first difference, in step %d: %s", d->step, shown(d->name));
    for (int32_t k = 0; k < n; k++)
        printf(k ? ",%" PRId64 : "[%" PRId64, place[k]);
    printf("%s is %.9g and %.9g; %" PRId64 " of %" PRId64 " elements differ, by %.3g at most, "
           "relative %.3g\n",
           n ? "]" : "", d->a, d->b, d->different, d->count, d->max_abs, d->max_rel);
}

void print_comparison(const comparison *c)
{
    if (c->n_structure == 0) printf("the graphs are alike\n");
    for (int32_t i = 0; i < n_sentences(c); i++) {
        printf("%s\n", shown(c->structure[i]));
    }
    if (c->n_structure > n_sentences(c))
        printf("and %d more differences of the graphs\n", c->n_structure - n_sentences(c));
    if (c->first >= 0) print_first(c);
    if (c->n_different)
        printf("%d of %d values differ\n", c->n_different, c->n_tensors);
    else
        printf("all %d values that both have are equal\n", c->n_tensors);
}

// ---- What b held --------------------------------------------------------------------------------

static bool is_of(const snapshot *s, const difference *d)
{
    return s->tensor == d->other_tensor && s->node == d->other_node && s->step == d->step
        && s->microbatch == d->microbatch;
}

void find_held(comparison *c, capture *b)
{
    bool *wanted = calloc((size_t)b->n_blocks + 1, sizeof *wanted);
    int32_t at = 0; // both lists are in the order in which tensors are made
    for (int32_t i = 0; i < c->n_tensors; i++) {
        difference *d = &c->tensors[i];
        int32_t left = d->different ? b->n_snapshots : 0;
        while (left > 0 && !is_of(&b->snapshots[at], d)) {
            at = (at + 1) % b->n_snapshots;
            left--;
        }
        if (left == 0) continue;
        d->held = at;
        if (wanted && b->snapshots[at].block >= 0) wanted[b->snapshots[at].block] = true;
    }
    for (int32_t i = 0; wanted && i < b->n_blocks; i++)
        if (!wanted[i]) b->blocks[i].n = 0;
    free(wanted);
}

// ---- The data of a page -------------------------------------------------------------------------

static void write_difference(FILE *to, const difference *d)
{
    int64_t place[SAMBA_MAX_DIMS];
    fputs("{\"name\":", to);
    write_json_text(to, d->name);
    fprintf(to,
            ",\"tensor\":%d,\"node\":%d,\"step\":%d,\"equal\":%s,\"count\":%" PRId64
            ",\"different\":%" PRId64 ",\"microbatch\":%d",
            d->tensor, d->node, d->step, d->different ? "false" : "true", d->count, d->different,
            d->microbatch);
    if (d->different) {
        int32_t n = place_of(d, place);
        fputs(",\"max_abs\":", to);
        write_json_number(to, d->max_abs);
        fputs(",\"max_rel\":", to);
        write_json_number(to, d->max_rel);
        fputs(",\"index\":[", to);
        for (int32_t k = 0; k < n; k++)
            fprintf(to, k ? ",%" PRId64 : "%" PRId64, place[k]);
        fputs("],\"a\":", to);
        write_json_number(to, d->a);
        fputs(",\"b\":", to);
        write_json_number(to, d->b);
    }
}

static void write_list(FILE *to, const char *name, const int32_t *list, int32_t n)
{
    fprintf(to, "\"%s\":[", name);
    for (int32_t i = 0; i < n; i++)
        fprintf(to, i ? ",%d" : "%d", list[i]);
    fputs("],\n", to);
}

void write_comparison(FILE *to, const comparison *c, const capture *b, int32_t first_block)
{
    fputs("\"diff\":{\"a\":", to);
    write_json_text(to, c->a);
    fputs(",\"b\":", to);
    write_json_text(to, c->b);
    fputs(",\"structure\":[", to);
    for (int32_t i = 0; i < n_sentences(c); i++) {
        if (i) fputc(',', to);
        write_json_text(to, c->structure[i]);
    }
    fputs("],\n", to);
    write_list(to, "nodes", c->places, n_sentences(c));
    write_list(to, "pair", c->pair, c->n_pair);
    fprintf(to, "\"more\":%d,", c->n_structure - n_sentences(c));
    if (c->first >= 0) fprintf(to, "\"first\":%d,", c->first);
    fputs("\"tensors\":[", to);
    for (int32_t i = 0; i < c->n_tensors; i++) {
        if (i) fputs(",\n", to);
        write_difference(to, &c->tensors[i]);
        if (b && c->tensors[i].held >= 0) {
            fputs(",\"other\":", to);
            write_snapshot(to, &b->snapshots[c->tensors[i].held], b, first_block);
        }
        fputc('}', to);
    }
    fputs("]},\n", to);
}

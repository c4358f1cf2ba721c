// What each tensor held when it was made.
#include "capture.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_SNAPSHOTS = 1 << 20 }; // a page of 300 MB, without values

// A list with room for one more element of `size` bytes; NULL: no memory, and the old one stays.
static void *with_room(void *list, int32_t n, size_t size)
{
    bool full = n == 0 || (n >= 16 && (n & (n - 1)) == 0);
    if (n > 0 && n < 16) return list;
    return full ? realloc(list, (n < 16 ? 16 : 2 * (size_t)n) * size) : list;
}

// ---- How much is kept ---------------------------------------------------------------------------

static int64_t elements_of(const symbol *s)
{
    return samba_count(&s->spec.shape);
}

// Elements that are kept in a step, if no tensor has more than `most`.
static int64_t kept_with(const model *m, const int32_t *times, int64_t most)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < m->pef.n_symbols; i++) {
        int64_t n = elements_of(&m->symbols[i]);
        sum += (n < most ? n : most) * times[i];
    }
    return sum;
}

// How often each symbol is noted in a step: when it is first read, and whenever it is made.
static void count_times(const model *m, int32_t *times)
{
    for (int32_t i = 0; i < m->pef.n_nodes; i++) {
        const node *n = &m->nodes[i];
        for (int32_t k = 0; k < n->n_in; k++)
            if (n->in[k] >= 0 && times[n->in[k]] == 0) times[n->in[k]] = 1;
        for (int32_t o = 0; o < n->n_out; o++)
            if (n->out[o] >= 0 && !is_view(m, i)) times[n->out[o]]++;
    }
}

// All of the small tensors, and as many first elements of the large ones as there is room for.
static int64_t most_within(const model *m, const int32_t *times, int64_t room)
{
    int64_t low = 0, high = 1;
    for (int32_t i = 0; i < m->pef.n_symbols; i++)
        if (elements_of(&m->symbols[i]) > high) high = elements_of(&m->symbols[i]);
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (kept_with(m, times, middle) <= room)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static int32_t n_attentions(const model *m)
{
    int32_t n = 0;
    for (int32_t i = 0; i < m->pef.n_nodes; i++)
        n += m->nodes[i].op && strcmp(m->nodes[i].op, "scaled_dot_product_attention") == 0;
    return n;
}

bool begin_capture(capture *c, model *m, int32_t n_steps, int64_t budget, fault *why)
{
    memset(c, 0, sizeof *c);
    size_t n = (size_t)m->pef.n_symbols + 1;
    int32_t *times = calloc(n, sizeof *times), heads = n_attentions(m);
    c->m = m;
    c->wide = -1;
    c->n_steps = n_steps;
    c->now = malloc(n * sizeof *c->now);
    c->before = malloc(n * sizeof *c->before);
    if (!times || !c->now || !c->before) {
        free(times);
        return fail(why, "no memory for the %d tensors of the program", m->pef.n_symbols);
    }
    for (size_t i = 0; i < n; i++)
        c->before[i] = -1;
    count_times(m, times);
    int64_t elements = budget / 4, parts = m->pef.microbatches > 1 ? 2 : 1;
    int64_t most = MOST_SNAPSHOTS / (kept_with(m, times, 1) * parts + 1);
    if (n_steps > 1 && n_steps > most) {
        free(times);
        return fail(why, "--steps %d: a page has room for %lld steps of this model", n_steps,
                    (long long)(most > 1 ? most : 1));
    }
    if (heads > 0) c->attention_budget = elements / 4 / heads;
    if (heads > 0) elements -= elements / 4;
    c->most = most_within(m, times, elements / (n_steps * parts));
    free(times);
    return true;
}

void end_capture(capture *c)
{
    for (int32_t i = 0; i < c->n_blocks; i++)
        free(c->blocks[i].words);
    free(c->blocks);
    free(c->snapshots);
    free(c->attentions);
    free(c->now);
    free(c->before);
    memset(c, 0, sizeof *c);
}

// ---- Values -------------------------------------------------------------------------------------

static int32_t add_block(capture *c, uint32_t *words, int64_t n)
{
    block *more = words ? with_room(c->blocks, c->n_blocks, sizeof *more) : NULL;
    if (!more) {
        c->failed = true;
        free(words);
        return -1;
    }
    c->blocks = more;
    c->blocks[c->n_blocks].n = n;
    c->blocks[c->n_blocks].words = words;
    return c->n_blocks++;
}

int32_t keep_values(capture *c, const float *from, int64_t n)
{
    uint32_t *words = malloc((size_t)n * sizeof *words + 1);
    if (words) memcpy(words, from, (size_t)n * sizeof *words);
    return add_block(c, words, n);
}

// False: one of them has more than 32 bits.
static bool load_integers(uint32_t *to, const void *data, samba_dtype type, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double x;
        load_doubles(&x, data, type, i, 1);
        if (x < INT32_MIN || x > INT32_MAX) return false;
        to[i] = (uint32_t)(int32_t)x;
    }
    return true;
}

// The values of a snapshot; the block that its symbol had before, if that has the same ones.
static int32_t block_of(capture *c, const snapshot *s, const void *data, samba_dtype type)
{
    int64_t n = s->n < c->most ? s->n : c->most;
    if (n == 0) return -1;
    uint32_t *words = malloc((size_t)n * sizeof *words);
    bool floats = is_float_type(type);
    if (words && floats) load_numbers((float *)words, data, type, 0, n);
    if (words && !floats && !load_integers(words, data, type, n)) {
        free(words);
        c->wide = s->tensor;
        return -1;
    }
    int32_t old = c->before[s->tensor] < 0 ? -1 : c->snapshots[c->before[s->tensor]].block;
    bool same = words && old >= 0 && memcmp(c->blocks[old].words, words, (size_t)n * 4) == 0;
    if (!same) return add_block(c, words, n);
    free(words);
    return old;
}

static void take(capture *c, int32_t tensor, int32_t node, int32_t microbatch, const void *data)
{
    snapshot *more = with_room(c->snapshots, c->n_snapshots, sizeof *more), s;
    const symbol *of = &c->m->symbols[tensor];
    if (!more) {
        c->failed = true;
        return;
    }
    c->snapshots = more;
    memset(&s, 0, sizeof s);
    s.tensor = tensor;
    s.step = c->step;
    s.node = node;
    s.microbatch = microbatch;
    take_statistics(&s, data, of->spec.dtype, elements_of(of));
    s.block = block_of(c, &s, data, of->spec.dtype);
    c->now[tensor] = c->before[tensor] = c->n_snapshots;
    c->snapshots[c->n_snapshots++] = s;
}

// A view has the values of what it is a view of.
static void take_view(capture *c, int32_t tensor, int32_t node, int32_t of)
{
    snapshot *more = with_room(c->snapshots, c->n_snapshots, sizeof *more);
    if (!more) {
        c->failed = true;
        return;
    }
    c->snapshots = more;
    snapshot s = c->snapshots[c->now[of]];
    s.tensor = tensor;
    s.node = node;
    c->now[tensor] = c->before[tensor] = c->n_snapshots;
    c->snapshots[c->n_snapshots++] = s;
}

// ---- While nodes run ----------------------------------------------------------------------------

// Of many microbatches the first and the last are looked at: sums are complete in the last.
static bool is_watched(const capture *c, int32_t microbatch)
{
    return microbatch == 0 || microbatch == c->m->pef.microbatches - 1;
}

static void watch(int32_t i, const char *name, const samba_op *op, const samba_args *args,
                  bool begins, void *user)
{
    capture *c = user;
    const node *n = &c->m->nodes[i];
    (void)name;
    (void)op;
    if (!is_watched(c, args->microbatch) || c->failed) return;
    for (int32_t k = 0; begins && k < n->n_in; k++) {
        bool unseen = n->in[k] >= 0 && args->in[k] && c->now[n->in[k]] < 0;
        if (unseen) take(c, n->in[k], -1, args->microbatch, args->in[k]);
    }
    for (int32_t o = 0; !begins && o < n->n_out; o++) {
        if (n->out[o] < 0 || !args->out[o]) continue;
        if (o == 0 && is_view(c->m, i))
            take_view(c, n->out[0], i, n->in[0]);
        else
            take(c, n->out[o], i, args->microbatch, args->out[o]);
    }
    bool attends = begins && n->op && strcmp(n->op, "scaled_dot_product_attention") == 0;
    if (attends && args->microbatch == 0) capture_attention(c, i, args);
}

void begin_watch(capture *c)
{
    for (int32_t i = 0; i < c->m->pef.n_symbols; i++)
        c->now[i] = -1;
    samba_on_node(c->m->session, watch, c);
}

void end_watch(capture *c)
{
    samba_on_node(c->m->session, NULL, NULL);
    c->step++;
}

bool capture_step(capture *c, fault *why)
{
    begin_watch(c);
    bool fine = run_model(c->m, why);
    end_watch(c);
    return !c->failed ? fine : fail(why, "no memory for what the nodes make");
}

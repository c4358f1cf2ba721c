// view_grads MODEL...: every gradient that the glass box names is proved by central differences.
// What a tensor holds is changed right after it was made, along the gradient and along a half of
// it; the loss must change as the gradient says. Linked with samba.h's functions and
// tools/cli/view.
#include "samba.h"
#include "tools/cli/view/capture.h"
#include "tools/cli/view/grads.h"
#include "tools/cli/view/inputs.h"
#include "tools/cli/view/map.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LOSS = 4096 };

// A run: what is kept of it, or what is changed in it.
typedef struct run {
    model m;
    float **held;         // of each tensor, what it held last; NULL: nothing is kept
    int32_t tensor, node; // what is changed, and what makes it; -1: nothing does
    const float *along;
    double step;
    double moved; // how far, along `along`
    bool done;
    bool *shapes; // NULL, or what is changed is a view, in whose memory others lie:
                  // of each tensor, is it that one in another shape?
    float *was;   // what such a node reads otherwise
    bool mixed;   // a node reads both it and what it is a view of
    double loss;  // the sum of all
} run;

static void change(run *r, float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float was = x[i];
        x[i] = (float)(was + r->step * r->along[i]);
        r->moved += ((double)x[i] - was) * r->along[i];
    }
    r->done = true;
}

static void keep(run *r, int32_t tensor, const void *data)
{
    const samba_spec *spec = &r->m.symbols[tensor].spec;
    int64_t n = samba_count(&spec->shape);
    if (!is_float_type(spec->dtype)) return;
    if (!r->held[tensor]) r->held[tensor] = malloc((size_t)n * sizeof(float) + 1);
    if (r->held[tensor]) load_numbers(r->held[tensor], data, spec->dtype, 0, n);
}

// A view is changed for those that read it, one after another.
static void change_view(run *r, const node *n, const samba_args *args, bool begins)
{
    for (int32_t k = 0; k < n->n_in; k++) {
        if (n->in[k] < 0 || !r->shapes[n->in[k]]) continue;
        float *x = (float *)(uintptr_t)args->in[k];
        size_t size = (size_t)samba_count(&args->in_spec[k].shape) * sizeof *x;
        bool taken = false; // by a result that lies there now
        for (int32_t o = 0; o < n->n_out; o++)
            taken = taken || args->out[o] == x;
        for (int32_t j = 0; j < n->n_in; j++)
            r->mixed = r->mixed || (args->in[j] == x && !r->shapes[n->in[j]]);
        if (begins) {
            double moved = r->moved;
            memcpy(r->was, x, size);
            change(r, x, samba_count(&args->in_spec[k].shape));
            if (moved != 0.0) r->moved = moved; // once is enough
        } else if (!taken)
            memcpy(x, r->was, size);
        return;
    }
}

// Of microbatches the first is changed; what parameters' gradients hold is complete in the last.
static void watch(int32_t i, const char *name, const samba_op *op, const samba_args *args,
                  bool begins, void *user)
{
    run *r = user;
    const node *n = &r->m.nodes[i];
    bool first = args->microbatch == 0, leaf = r->node < 0;
    (void)name;
    (void)op;
    if (r->shapes && first && !is_view(&r->m, i) && strcmp(kind_of(&r->m, i), "forward") == 0)
        change_view(r, n, args, begins);
    for (int32_t k = 0; begins && leaf && first && !r->done && k < n->n_in; k++)
        if (n->in[k] == r->tensor && args->in[k])
            change(r, (float *)(uintptr_t)args->in[k], samba_count(&args->in_spec[k].shape));
    for (int32_t o = 0; !begins && o < n->n_out; o++) {
        int32_t t = n->out[o];
        if (t < 0 || !args->out[o]) continue;
        if (i == r->node && t == r->tensor && first && !r->done && !r->shapes)
            change(r, args->out[o], samba_count(&args->out_spec[o].shape));
        bool complete = first || r->m.symbols[t].role == SAMBA_ROLE_GRADIENT;
        if (r->held && complete) keep(r, t, args->out[o]);
    }
}

static void sum_losses(run *r)
{
    samba_tensor *loss[SAMBA_MAX_OUTPUTS];
    int32_t n = samba_losses(r->m.session, loss, SAMBA_MAX_OUTPUTS);
    r->loss = 0.0;
    for (int32_t i = 0; i < n; i++) {
        float value[MOST_LOSS] = { 0 };
        int64_t all = (int64_t)(samba_bytes(loss[i]) / samba_dtype_size(loss[i]->dtype));
        if (all <= MOST_LOSS) samba_copy_out_f32(loss[i], value, all);
        for (int64_t k = 0; k < all && k < MOST_LOSS; k++)
            r->loss += value[k];
    }
}

// Of a view, what has its values in another shape. False: no memory.
static bool find_shapes(run *r)
{
    const model *m = &r->m;
    const symbol *s = &m->symbols[r->tensor];
    if (s->view_of < 0) return true;
    r->shapes = calloc((size_t)m->pef.n_symbols + 1, sizeof *r->shapes);
    r->was = malloc((size_t)samba_count(&s->spec.shape) * sizeof *r->was);
    if (!r->shapes || !r->was) return false;
    r->shapes[r->tensor] = true;
    for (int32_t i = 0; i < m->pef.n_nodes; i++)
        if (is_view(m, i) && r->shapes[m->nodes[i].in[0]]) r->shapes[m->nodes[i].out[0]] = true;
    return true;
}

// Opened anew each time, so that all begin alike. keeps: all that is made is held.
static bool do_run(run *r, const char *path, bool keeps)
{
    fault why = { "" };
    const model_options how = { 1, 7, NULL, NULL };
    r->done = false;
    r->moved = 0.0;
    bool fine = open_model(&r->m, path, &how, &why) && give_values(&r->m, NULL, 0, &why)
        && find_map(&r->m, NULL, &why);
    r->held = fine && keeps ? calloc((size_t)r->m.pef.n_symbols + 1, sizeof *r->held) : NULL;
    if (fine && r->tensor >= 0) fine = find_shapes(r);
    if (fine) samba_on_node(r->m.session, watch, r);
    fine = fine && run_model(&r->m, &why);
    if (fine) sum_losses(r);
    if (!fine) printf("%s: %s\n", path, why.text);
    return fine;
}

static void end_run(run *r)
{
    for (int32_t i = 0; r->held && i < r->m.pef.n_symbols; i++)
        free(r->held[i]);
    free(r->held);
    free(r->shapes);
    free(r->was);
    close_model(&r->m);
}

typedef enum verdict { PROVED, UNSEEN, WRONG } verdict;

/* Steps of several lengths, as there are kinks, curves and roundings: one of them must fit. NAN: a
   change of the tensor alone cannot be made. */
static double error_along(const char *path, int32_t tensor, int32_t node, const float *along,
                          double length2, double loss)
{
    double best = INFINITY;
    for (double part = 3e-2; part > 1e-6 && best > 0.02; part /= 10) {
        double moved = 0.0, changed = 0.0;
        for (int sign = 1; sign >= -1; sign -= 2) {
            run r = { .tensor = tensor, .node = node, .along = along };
            r.step = sign * part * fmax(0.1, fabs(loss)) / length2;
            bool fine = do_run(&r, path, false);
            if (r.mixed) best = NAN;
            if (fine) {
                moved += sign * r.moved;
                changed += sign * r.loss;
            }
            end_run(&r);
        }
        double error = fabs(changed / moved - 1.0);
        if (error < best) best = error;
        if (isnan(best)) break;
    }
    return best;
}

// gradient (n), with every second element or so left out if `half`.
static verdict judge(const char *path, int32_t tensor, int32_t node, const float *gradient,
                     int64_t n, bool half, double loss)
{
    float *along = malloc((size_t)n * sizeof *along + 1);
    double length2 = 0.0, most = 0.0;
    for (int64_t i = 0; along && i < n; i++) {
        along[i] = half && (uint32_t)i * 2654435761u >> 31 ? 0.0f : gradient[i];
        length2 += (double)along[i] * along[i];
        most = fmax(most, fabs(along[i]));
    }
    bool small = !along || most < 1e-7 * fmax(0.1, fabs(loss));
    double error = small ? 0.0 : error_along(path, tensor, node, along, length2, loss);
    free(along);
    if (small || isnan(error)) return UNSEEN;
    return error < 0.06 ? PROVED : WRONG;
}

static int32_t maker_of(const model *m, int32_t tensor)
{
    samba_role role = m->symbols[tensor].role;
    if (role == SAMBA_ROLE_WEIGHT || role == SAMBA_ROLE_INPUT) return -1;
    for (int32_t i = 0; i < m->pef.n_nodes; i++)
        for (int32_t o = 0; o < m->nodes[i].n_out; o++)
            if (m->nodes[i].out[o] == tensor) return i;
    return -1;
}

// The gradient of a tensor; NULL: it is not known, or no memory.
static float *sum_of_parts(const run *r, const gradient *g, int32_t tensor)
{
    int64_t n = samba_count(&r->m.symbols[tensor].spec.shape);
    bool held = g->n > 0;
    for (int32_t k = 0; k < g->n; k++)
        held = held && r->held[g->parts[k].tensor];
    float *sum = held ? calloc((size_t)n + 1, sizeof *sum) : NULL;
    for (int32_t k = 0; sum && k < g->n; k++)
        for (int64_t e = 0; e < n; e++)
            sum[e] += r->held[g->parts[k].tensor][element_of_part(&r->m, &g->parts[k], tensor, e)];
    return sum;
}

// Prints how many are proved, and the names of those that are wrong. False: some are.
static bool judge_model(const char *path)
{
    run r = { .tensor = -1, .node = -1 };
    int32_t count[3] = { 0, 0, 0 };
    bool fine = do_run(&r, path, true);
    gradient *grad = fine ? find_gradients(&r.m) : NULL;
    for (int32_t i = 0; grad && i < r.m.pef.n_symbols; i++) {
        const symbol *s = &r.m.symbols[i];
        if (s->spec.dtype != SAMBA_F32) continue; // roundings of halves are larger
        float *g = sum_of_parts(&r, &grad[i], i);
        if (!g) continue;
        int64_t n = samba_count(&s->spec.shape);
        int32_t node = maker_of(&r.m, i);
        verdict v = judge(path, i, node, g, n, false, r.loss);
        if (v == PROVED) v = judge(path, i, node, g, n, true, r.loss);
        count[v]++;
        bool made = single_part(&r.m, &grad[i], i) < 0;
        const part *first = &grad[i].parts[0];
        if (v == WRONG)
            printf("%s: %s is not the gradient of %s\n", path, r.m.symbols[first->tensor].name,
                   s->name);
        else if (v == PROVED && made)
            printf("%s: the gradient of %s (%d) is made of %d\n", path, s->name, i, grad[i].n);
        if (v == PROVED) {
            printf("%s: gradient of %d:", path, i);
            for (int32_t k = 0; k < grad[i].n; k++)
                printf(" %d", grad[i].parts[k].tensor);
            printf("\n");
        }
        free(g);
    }
    printf("%s: %d gradients are proved, %d cannot be seen, %d are wrong\n", path, count[PROVED],
           count[UNSEEN], count[WRONG]);
    free(grad);
    end_run(&r);
    return fine && count[WRONG] == 0;
}

int main(int argc, char **argv)
{
    bool fine = argc > 1;
    for (int i = 1; i < argc; i++)
        fine = judge_model(argv[i]) && fine;
    return fine ? 0 : 1;
}

// Attention, 64 keys at a time as in samba.h: the size of a block is part of the arithmetic.
#include "emit.h"
#include <string.h>

static const piece pieces[] = {
    { "attention_scores", "multiply_add infinity ",
      "/* One head: q (T,D), k (S,D), v (S,E). A mask has t_step and s_step between rows and keys; `terms`\n"
      "   are added to scores, and `may` says where a row may look. */\n"
      "typedef struct attention {\n"
      "    const float *q, *k, *v, *terms;\n"
      "    const uint8_t *may;\n"
      "    int T, S, D, E, t_step, s_step, causal;\n"
      "    float scale;\n"
      "} attention;\n"
      "\n"
      "/* Of x and y. */\n"
      "FAST static float chain(const float *x, const float *y, int n)\n"
      "{\n"
      "    float sum = 0.0f;\n"
      "    for (int i = 0; i < n; i++) sum = multiply_add(x[i], y[i], sum);\n"
      "    return sum;\n"
      "}\n"
      "\n"
      "/* How much row t looks at key s. */\n"
      "static float score(const attention *a, int t, int s)\n"
      "{\n"
      "    int at = t * a->t_step + s * a->s_step;\n"
      "    float x = chain(a->q + t * a->D, a->k + s * a->D, a->D);\n"
      "    x = a->terms ? multiply_add(x, a->scale, a->terms[at]) : x * a->scale;\n"
      "    return (a->may && !a->may[at]) || (a->causal && s > t) ? -INFINITE : x;\n"
      "}\n",
      0 },
    { "attend", "attention_scores row_max row_sum exp_of exp_below log_of not_a_number ",
      "/* Does the mask let row t see a key? */\n"
      "static int row_sees(const attention *a, int t)\n"
      "{\n"
      "    for (int s = 0; s < a->S && !(a->causal && s > t); s++) {\n"
      "        int at = t * a->t_step + s * a->s_step;\n"
      "        if (!(a->may && !a->may[at]) && !(a->terms && a->terms[at] == -INFINITE)) return 1;\n"
      "    }\n"
      "    return 0;\n"
      "}\n"
      "\n"
      "/* y (T,E) = softmax(q k^T scale + mask) v, and unless it is NULL lse (T), the logarithms of the sums\n"
      "   that softmax divides by. What a row has so far shrinks where a block brings a larger score. */\n"
      "static void attend(const attention *a, float *y, float *lse)\n"
      "{\n"
      "    for (int t = 0; t < a->T; t++, y += a->E) {\n"
      "        float top = -INFINITE, sum = 0.0f, x[64];\n"
      "        for (int e = 0; e < a->E; e++) y[e] = 0.0f;\n"
      "        for (int s = 0; s < a->S && !(a->causal && s > t); s += 64) {\n"
      "            int n = a->S - s < 64 ? a->S - s : 64;\n"
      "            for (int j = 0; j < n; j++) x[j] = score(a, t, s + j);\n"
      "            float old = top, most = row_max(x, n);\n"
      "            top = old >= most ? old : most;\n"
      "            if (top == -INFINITE) continue;\n"
      "            float shrink = top < INFINITE ? exp_of(old - top) : NOT_A_NUMBER;\n"
      "            for (int j = 0; j < n; j++) x[j] = exp_below(x[j] - top);\n"
      "            sum = multiply_add(sum, shrink, row_sum(x, n));\n"
      "            for (int e = 0; e < a->E; e++) {\n"
      "                y[e] *= shrink;\n"
      "                for (int j = 0; j < n; j++)\n"
      "                    y[e] = multiply_add(x[j], a->v[(s + j) * a->E + e], y[e]);\n"
      "            }\n"
      "        }\n"
      "        float share = sum > 0.0f || sum != sum ? sum : 1.0f;\n"
      "        if (top == -INFINITE && row_sees(a, t)) share = NOT_A_NUMBER; /* all scores overflowed */\n"
      "        for (int e = 0; e < a->E; e++) y[e] /= share;\n"
      "        if (lse) lse[t] = share == share ? top + log_of(sum) : share;\n"
      "    }\n"
      "}\n",
      512 },
    { "attend_backward", "attention_scores exp_below row_dot ",
      "/* dq, dk and dv, of dy, y and lse; dlse may be NULL. Weights are computed again. */\n"
      "static void attend_backward(const attention *a, const float *dy, const float *y, const float *lse,\n"
      "                            const float *dlse, float *dq, float *dk, float *dv)\n"
      "{\n"
      "    for (int i = 0; i < a->S * a->D; i++) dk[i] = 0.0f;\n"
      "    for (int i = 0; i < a->S * a->E; i++) dv[i] = 0.0f;\n"
      "    for (int t = 0; t < a->T; t++, dy += a->E, y += a->E, dq += a->D) {\n"
      "        float top = lse[t] == -INFINITE ? 0.0f : lse[t], zero = top - top;\n"
      "        float delta = row_dot(dy, y, a->E);\n"
      "        if (dlse) delta -= dlse[t];\n"
      "        for (int d = 0; d < a->D; d++) dq[d] = 0.0f;\n"
      "        for (int s = 0; s < a->S && !(a->causal && s > t); s++) {\n"
      "            float p = exp_below(score(a, t, s) - top) + zero;\n"
      "            float ds = p * (chain(dy, a->v + s * a->E, a->E) - delta) * a->scale;\n"
      "            for (int e = 0; e < a->E; e++)\n"
      "                dv[s * a->E + e] = multiply_add(p, dy[e], dv[s * a->E + e]);\n"
      "            for (int d = 0; d < a->D; d++) {\n"
      "                dk[s * a->D + d] = multiply_add(ds, a->q[t * a->D + d], dk[s * a->D + d]);\n"
      "                dq[d] = multiply_add(ds, a->k[s * a->D + d], dq[d]);\n"
      "            }\n"
      "        }\n"
      "    }\n"
      "}\n",
      128 },
    { NULL, NULL, NULL, 0 },
};

// Pointers of an element of the leading dimensions, and what is called for each.
typedef struct heads {
    operand all[MAX_OPERANDS + 4];
    int n; // q, k, v, the mask if there is one; then those of the call
    bool masked;
    loops l;
} heads;

// Adds a tensor of the call; false if it is absent.
static bool add_head(heads *h, int32_t symbol)
{
    if (symbol < 0) return false;
    h->all[h->n++].symbol = symbol;
    return true;
}

static bool begin_heads(emitter *e, const node *n, heads *h, int32_t first, int32_t mask)
{
    // Dropout has inputs behind the mask, and of the gradient behind that of lse; inference has
    // none.
    int32_t n_in = n->n_in;
    if (e->p->pef.inference && n_in > mask + 1) n_in = mask + 1;
    for (int32_t i = 0; i < n_in; i++) {
        if (n->in[i] < 0) continue;
        samba_dtype type = in_of(e, n, i)->spec.dtype;
        bool may = i == mask && type == SAMBA_BOOL;
        if (type != SAMBA_F32 && !may)
            return cannot(e, n, type == SAMBA_I32 ? "dropout" : "types other than f32");
    }
    for (int32_t i = 0; i < 3; i++)
        add_head(h, n->in[first + i]);
    h->masked = mask < n->n_in && add_head(h, n->in[mask]);
    return true;
}

static void write_heads(emitter *e, const node *n, heads *h, int32_t first)
{
    writer *w = &e->body;
    const samba_shape *q = &in_of(e, n, first)->spec.shape;
    const samba_shape *v = &in_of(e, n, first + 2)->spec.shape;
    const symbol *m = h->masked ? &e->p->symbols[h->all[3].symbol] : NULL;
    char scale[32];
    float_text(scale, attr_float(n, "scale"));
    // lse has a dimension less behind the leading ones, so its steps are those of (*,T).
    for (int32_t d = 0; d < q->ndim - 2; d++) {
        int64_t step[MAX_OPERANDS + 4];
        for (int k = 0; k < h->n; k++) {
            const samba_shape *x = &e->p->symbols[h->all[k].symbol].spec.shape;
            bool mask = m && k == 3;
            step[k] = mask ? step_along(x, q->ndim, d) : inner_of(x, d);
        }
        add_loop(&h->l, h->all, h->n, q->dim[d], step);
    }
    int indent = h->l.n ? 4 * h->l.n + 4 : 8;
    write_loops(w, &h->l, 0, h->l.n, true);
    write_plain(w, "%*sconst attention at = {\n", indent, "");
    for (int k = 0; k < 3; k++) {
        write_plain(w, "%*s", indent + 4, "");
        write_pointer(e, &h->all[k], &h->l);
        write_plain(w, ",\n");
    }
    write_plain(w, "%*s", indent + 4, "");
    if (!m || m->spec.dtype == SAMBA_BOOL) write_plain(w, "NULL, ");
    if (m) write_pointer(e, &h->all[3], &h->l);
    if (m && m->spec.dtype == SAMBA_F32) write_plain(w, ", ");
    if (!m || m->spec.dtype == SAMBA_F32) write_plain(w, "NULL");
    write_plain(w, ",\n%*s%d, %d, %d, %d, %lld, %lld, %d, %s\n%*s};\n", indent + 4, "",
                q->dim[q->ndim - 2], v->dim[v->ndim - 2], q->dim[q->ndim - 1], v->dim[v->ndim - 1],
                m ? (long long)step_along(&m->spec.shape, q->ndim, q->ndim - 2) : 0,
                m ? (long long)step_along(&m->spec.shape, q->ndim, q->ndim - 1) : 0,
                attr_of(n, "causal") != 0, scale, indent, "");
    write_plain(w, "%*s", indent, "");
}

// The next tensor of the call, or NULL.
static void write_argument(emitter *e, const heads *h, int *at, bool is, int indent)
{
    write_plain(&e->body, indent ? ",\n%*s" : ", ", indent, "");
    if (is)
        write_pointer(e, &h->all[(*at)++], &h->l);
    else
        write_plain(&e->body, "NULL");
}

static void end_heads(emitter *e, const heads *h)
{
    write_plain(&e->body, ");\n%*s}\n", h->l.n ? 4 * h->l.n : 4, "");
}

static bool emit_attention(emitter *e, const node *n)
{
    heads h = { .n = 0 };
    if (!begin_heads(e, n, &h, 0, 3)) return false;
    int at = h.n;
    add_head(&h, n->out[0]);
    const symbol *sums = out_of(e, n, 1);
    bool lse = sums && (sums->role != SAMBA_ROLE_TEMPORARY || e->reads[base_of(e, n->out[1])]);
    if (lse) add_head(&h, n->out[1]);
    need(e, "attend");
    write_heads(e, n, &h, 0);
    write_plain(&e->body, "attend(&at");
    write_argument(e, &h, &at, true, 0);
    write_argument(e, &h, &at, lse, 0);
    end_heads(e, &h);
    return true;
}

// Inputs of the gradient: dy, q, k, v, y, lse, the mask and dlse.
enum { DY, Q, Y = 4, LSE, MASK, DLSE };

static bool emit_attention_backward(emitter *e, const node *n)
{
    heads h = { .n = 0 };
    if (!begin_heads(e, n, &h, Q, MASK)) return false;
    for (int32_t i = 0; i < 3; i++)
        if (i >= n->n_out || n->out[i] < 0) return cannot(e, n, "absent gradients");
    int at = h.n;
    bool dlse = DLSE < n->n_in && n->in[DLSE] >= 0;
    add_head(&h, n->in[DY]);
    add_head(&h, n->in[Y]);
    add_head(&h, n->in[LSE]);
    if (dlse) add_head(&h, n->in[DLSE]);
    for (int32_t i = 0; i < 3; i++)
        add_head(&h, n->out[i]);
    need(e, "attend_backward");
    write_heads(e, n, &h, Q);
    write_plain(&e->body, "attend_backward(&at");
    for (int i = 0; i < 7; i++) {
        int indent = i == 2 || i == 4 ? 4 * (h.l.n ? h.l.n : 1) + 20 : 0;
        write_argument(e, &h, &at, i != 3 || dlse, indent);
    }
    end_heads(e, &h);
    return true;
}

static const op_emitter ops[] = {
    { "scaled_dot_product_attention", emit_attention },
    { "scaled_dot_product_attention_backward", emit_attention_backward },
    { NULL, NULL },
};

const family attention_family = { ops, pieces };

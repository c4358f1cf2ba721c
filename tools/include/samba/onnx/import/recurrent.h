/* recurrent.h - of onnx_import.h: RNN, GRU, LSTM, unrolled. */

typedef struct ox_recurrent {
    ox_node *k;
    int32_t T, B, I, H, directions, gates;
    samba_tensor *x;      /* (T,B,I) */
    samba_tensor *w, *r;  /* (directions,gates H,I) and (directions,gates H,H) */
    samba_tensor *length; /* (B,1) i32 or NULL */
    float clip;
    const char *activation[6];
    float alpha[6], beta[6];
} ox_recurrent;

static samba_tensor *ox_activate(const ox_recurrent *r, int32_t which, samba_tensor *x)
{
    const char *name = r->activation[which];
    if (r->clip > 0) x = ox_clamp(x, -r->clip, r->clip);
    if (!strcmp(name, "Sigmoid")) return samba_sigmoid(x);
    if (!strcmp(name, "Tanh")) return samba_tanh(x);
    if (!strcmp(name, "Relu")) return samba_relu(x);
    if (!strcmp(name, "Affine"))
        return samba_shift(samba_scale(x, r->alpha[which]), r->beta[which]);
    if (!strcmp(name, "LeakyRelu")) return samba_leaky_relu(x, r->alpha[which]);
    if (!strcmp(name, "HardSigmoid")) return ox_hard_sigmoid(x, r->alpha[which], r->beta[which]);
    if (!strcmp(name, "Elu")) return ox_elu(x, r->alpha[which], 1.0f, 1.0f);
    if (!strcmp(name, "Softsign")) return ox_map(x, OX_SOFTSIGN);
    if (!strcmp(name, "Softplus")) return samba_softplus(x);
    ox_refuse(r->k, "with the activation %s is not offered", name);
    return NULL;
}

static bool ox_read_activations(ox_recurrent *r, const char *const *usual, int32_t each)
{
    static const char *const names[] = { "Sigmoid",     "Tanh", "Relu",     "Affine",  "LeakyRelu",
                                         "HardSigmoid", "Elu",  "Softsign", "Softplus" };
    const Onnx__AttributeProto *a = ox_attribute(r->k, "activations");
    const Onnx__AttributeProto *alpha = ox_attribute(r->k, "activation_alpha");
    const Onnx__AttributeProto *beta = ox_attribute(r->k, "activation_beta");
    int32_t n = each * r->directions;
    if (a && a->n_strings && a->n_strings != (size_t)n)
        return ox_refuse(r->k, "needs %d activations", n);
    for (int32_t i = 0; i < n; i++) {
        r->activation[i] = usual[i % each];
        for (size_t j = 0; a && a->n_strings && j < sizeof names / sizeof *names; j++) {
            if (j == 0) r->activation[i] = "(unknown)";
            if (a->strings[i].len == strlen(names[j])
                && !memcmp(a->strings[i].data, names[j], a->strings[i].len))
                r->activation[i] = names[j];
            if (!strcmp(r->activation[i], names[j])) break;
        }
        bool hard = !strcmp(r->activation[i], "HardSigmoid");
        r->alpha[i] = hard ? 0.2f : !strcmp(r->activation[i], "LeakyRelu") ? 0.01f : 1.0f;
        r->beta[i] = hard ? 0.5f : 0.0f;
        if (alpha && (size_t)i < alpha->n_floats) r->alpha[i] = alpha->floats[i];
        if (beta && (size_t)i < beta->n_floats) r->beta[i] = beta->floats[i];
    }
    return true;
}

/* Entry d of the first dimension, without it. */
static samba_tensor *ox_entry(samba_tensor *x, int32_t d)
{
    return x ? samba_squeeze(samba_slice(x, 0, d, d + 1, 1), 0) : NULL;
}

/* Columns of gate g of (B, gates H). */
static samba_tensor *ox_gate(const ox_recurrent *r, samba_tensor *x, int32_t g)
{
    return samba_slice(x, 1, g * r->H, (g + 1) * r->H, 1);
}

static samba_tensor *ox_rows_of(samba_tensor *x, int32_t g, int32_t h)
{
    return x ? samba_slice(x, 0, g * h, (g + 1) * h, 1) : NULL;
}

/* One step of each kind: x W^T and the state give the new state. p: peepholes (3H) or NULL. */
typedef struct ox_step {
    samba_tensor *xw;     /* (B, gates H): x W^T + Wb, all gates */
    samba_tensor *r, *rb; /* (gates H, H), (gates H) or NULL */
    samba_tensor *h, *c, *p;
    int32_t first; /* of the direction's activations */
} ox_step;

static samba_tensor *ox_rnn_step(const ox_recurrent *r, ox_step *s)
{
    samba_tensor *sum = samba_add(s->xw, samba_affine(s->h, s->r, s->rb));
    return ox_activate(r, s->first, sum);
}

static samba_tensor *ox_gru_step(const ox_recurrent *r, ox_step *s)
{
    int32_t H = r->H;
    samba_tensor *rzr = ox_rows_of(s->r, 0, 2 * H), *rh = ox_rows_of(s->r, 2, H), *bh = NULL;
    samba_tensor *bzr = s->rb ? samba_slice(s->rb, 0, 0, 2 * H, 1) : NULL;
    if (s->rb) bh = samba_slice(s->rb, 0, 2 * H, 3 * H, 1);
    samba_tensor *zr = samba_slice(s->xw, 1, 0, 2 * H, 1);
    zr = ox_activate(r, s->first, samba_add(zr, samba_affine(s->h, rzr, bzr)));
    samba_tensor *z = ox_gate(r, zr, 0), *reset = ox_gate(r, zr, 1), *hidden;
    if (ox_int(r->k, "linear_before_reset", 0))
        hidden = samba_mul(reset, samba_affine(s->h, rh, bh));
    else
        hidden = samba_affine(samba_mul(reset, s->h), rh, bh);
    hidden = ox_activate(r, s->first + 1, samba_add(ox_gate(r, s->xw, 2), hidden));
    samba_tensor *fresh = samba_mul(samba_shift(samba_neg(z), 1.0f), hidden);
    return samba_add(fresh, samba_mul(z, s->h));
}

/* Gates are i, o, f, c; peepholes i, o, f. */
static samba_tensor *ox_lstm_step(const ox_recurrent *r, ox_step *s)
{
    samba_tensor *sum = samba_add(s->xw, samba_affine(s->h, s->r, s->rb));
    samba_tensor *gate[4], *peephole[3] = { NULL, NULL, NULL };
    for (int32_t g = 0; g < 4; g++)
        gate[g] = ox_gate(r, sum, g);
    for (int32_t g = 0; g < 3 && s->p; g++)
        peephole[g] = samba_slice(s->p, 0, g * r->H, (g + 1) * r->H, 1);
    if (s->p) gate[0] = samba_add(gate[0], samba_mul(peephole[0], s->c));
    samba_tensor *i = ox_activate(r, s->first, gate[0]), *f;
    if (ox_int(r->k, "input_forget", 0)) {
        f = samba_shift(samba_neg(i), 1.0f);
    } else {
        if (s->p) gate[2] = samba_add(gate[2], samba_mul(peephole[2], s->c));
        f = ox_activate(r, s->first, gate[2]);
    }
    samba_tensor *fresh = ox_activate(r, s->first + 1, gate[3]);
    samba_tensor *kept = samba_mul(f, s->c), *c = samba_add(kept, samba_mul(i, fresh));
    if (s->p) gate[1] = samba_add(gate[1], samba_mul(peephole[1], c));
    samba_tensor *o = ox_activate(r, s->first, gate[1]);
    s->c = c;
    ox_recurrent unclipped = *r;
    unclipped.clip = 0;
    return samba_mul(o, ox_activate(&unclipped, s->first + 2, c));
}

/* A text that ended keeps its state, and gives zeros. */
static samba_tensor *ox_while_running(const ox_recurrent *r, int32_t t, samba_tensor *fresh,
                                      samba_tensor *old)
{
    if (!r->length || !fresh) return fresh;
    samba_tensor *at = ox_i32_scalar(r->k->c, t);
    samba_tensor *running = ox_integers(at, r->length, OX_LT, OX_INT32);
    return running ? samba_where(samba_cast(running, SAMBA_BOOL), fresh, old) : NULL;
}

/* One direction; y gets T outputs (B,H), and the last state is in s. */
static bool ox_run_direction(const ox_recurrent *r, int32_t d, bool backward, ox_step *s,
                             samba_tensor **y)
{
    ox_node *k = r->k;
    int32_t n = r->gates * r->H;
    samba_tensor *w = ox_entry(r->w, d), *b = ox_has(k, 3) ? ox_entry(ox_in(k, 3), d) : NULL;
    samba_tensor *wb = b ? samba_slice(b, 0, 0, n, 1) : NULL;
    s->r = ox_entry(r->r, d);
    s->rb = b ? samba_slice(b, 0, n, 2 * n, 1) : NULL;
    samba_tensor *zero = ox_full(k->c, SAMBA_SHAPE(r->B, r->H), 0.0f);
    samba_tensor *all = samba_affine(r->x, w, wb);
    for (int32_t i = 0; i < r->T && samba_ok(k->c->s); i++) {
        int32_t t = backward ? r->T - 1 - i : i;
        samba_tensor *old = s->h, *old_c = s->c, *h;
        s->xw = ox_entry(all, t);
        h = r->gates == 1   ? ox_rnn_step(r, s)
            : r->gates == 3 ? ox_gru_step(r, s)
                            : ox_lstm_step(r, s);
        s->h = ox_while_running(r, t, h, old);
        if (s->c) s->c = ox_while_running(r, t, s->c, old_c);
        y[t] = ox_while_running(r, t, h, zero);
    }
    return samba_ok(k->c->s);
}

static bool ox_read_recurrent(ox_recurrent *r, bool batch_first)
{
    ox_node *k = r->k;
    samba_tensor *w = r->w, *x = ox_in(k, 0), *rw = r->r;
    if (!x || !w || !rw) return false;
    if (x->shape.ndim != 3 || w->shape.ndim != 3 || rw->shape.ndim != 3)
        return ox_refuse(k, "needs x, W and R of 3 dimensions");
    r->x = batch_first ? samba_permute(x, SAMBA_AXES(1, 0, 2)) : x;
    if (!r->x) return false;
    r->T = r->x->shape.dim[0];
    r->B = r->x->shape.dim[1];
    r->I = r->x->shape.dim[2];
    r->H = rw->shape.dim[2];
    r->directions = w->shape.dim[0];
    r->clip = ox_float(k, "clip", 0.0f);
    bool fits = w->shape.dim[1] == r->gates * r->H && w->shape.dim[2] == r->I
        && rw->shape.dim[1] == r->gates * r->H && rw->shape.dim[0] == r->directions
        && (r->directions == 2) == ox_text_is(k, "direction", "forward", "bidirectional")
        && r->directions <= 2 && r->T <= 4096;
    if (!fits) return ox_refuse(k, "the shapes of W and R do not fit");
    if (ox_has(k, 4)) r->length = ox_to_i32(ox_in(k, 4));
    if (r->length) r->length = samba_reshape(r->length, SAMBA_SHAPE(r->B, 1));
    return samba_ok(k->c->s);
}

/* The state a direction begins with: (D,B,H), or (B,D,H) by layout. */
static samba_tensor *ox_first_state(const ox_recurrent *r, int32_t input, int32_t d, bool first)
{
    if (!ox_has(r->k, input)) return ox_full(r->k->c, SAMBA_SHAPE(r->B, r->H), 0.0f);
    samba_tensor *x = ox_in(r->k, input);
    if (x && x->shape.ndim != 3) ox_refuse(r->k, "its first state must have 3 dimensions");
    return ox_entry(first && x ? samba_permute(x, SAMBA_AXES(1, 0, 2)) : x, d);
}

static bool ox_give_states(const ox_recurrent *r, samba_tensor **h, int32_t o, bool first)
{
    samba_tensor *all = samba_stack(h, r->directions, 0);
    if (first && all) all = samba_permute(all, SAMBA_AXES(1, 0, 2));
    return !ox_asks(r->k, o) || ox_give(r->k, o, ox_type(r->k, 0), all);
}

/* The whole of a node whose weights are w and r. */
static bool ox_unroll(ox_node *k, samba_tensor *w, samba_tensor *rw)
{
    static const char *const usual[5][3] = { { "", "", "" },
                                             { "Tanh", "", "" },
                                             { "", "", "" },
                                             { "Sigmoid", "Tanh", "" },
                                             { "Sigmoid", "Tanh", "Tanh" } };
    ox_recurrent r;
    memset(&r, 0, sizeof r);
    r.k = k;
    r.gates = k->arg;
    r.w = w;
    r.r = rw;
    bool first = ox_int(k, "layout", 0) != 0;
    int32_t each = k->arg == 1 ? 1 : k->arg - 1;
    if (!ox_read_recurrent(&r, first) || !ox_read_activations(&r, usual[k->arg], each))
        return false;
    samba_tensor *h[2] = { NULL, NULL }, *c[2] = { NULL, NULL }, *sides[2], **y;
    y = (samba_tensor **)ox_new(k->c, r.T, sizeof *y);
    for (int32_t d = 0; y && d < r.directions; d++) {
        ox_step s;
        memset(&s, 0, sizeof s);
        s.h = ox_first_state(&r, 5, d, first);
        if (k->arg == 4) s.c = ox_first_state(&r, 6, d, first);
        if (k->arg == 4 && ox_has(k, 7)) s.p = ox_entry(ox_in(k, 7), d);
        s.first = d * each;
        bool backward = d == 1 || ox_text_is(k, "direction", "forward", "reverse");
        if (!ox_run_direction(&r, d, backward, &s, y)) return false;
        h[d] = s.h;
        c[d] = s.c;
        sides[d] = samba_stack(y, r.T, 0); /* (T,B,H) */
    }
    if (!y || !samba_ok(k->c->s)) return false;
    if (ox_asks(k, 0)) {
        samba_tensor *all = samba_stack(sides, r.directions, 1); /* (T,D,B,H) */
        if (first) all = samba_permute(all, SAMBA_AXES(2, 0, 1, 3));
        if (!ox_give(k, 0, ox_type(k, 0), all)) return false;
    }
    return ox_give_states(&r, h, 1, first) && (k->arg != 4 || ox_give_states(&r, c, 2, first));
}

/* arg: the number of gates. */
static bool ox_op_recurrent(ox_node *k)
{
    samba_tensor *w = ox_in(k, 1), *r = ox_in(k, 2);
    return ox_floats_only(k, 4) && ox_unroll(k, w, r);
}

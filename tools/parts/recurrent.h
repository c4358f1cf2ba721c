/* ==== [recurrent] ============================================================================= */
/* LSTM, GRU and RNN, unrolled. As PyTorch defines them, of gates in its order:
     RNN    h' = tanh(W x + a + U h + b)
     LSTM   i, f, g, o = W x + a + U h + b; c' = s(f) c + s(i) tanh(g); h' = s(o) tanh(c')
     GRU    r, z = s(W x + a + U h + b); n = tanh(Wn x + an + r (Un h + bn)); h' = n + z (h - n)
   Elman, "Finding structure in time", 1990; Hochreiter, Schmidhuber, "Long short-term memory",
   1997; Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014. */
/* What one layer and direction needs. */
typedef struct samba__recurrence {
    const char *name; /* of the whole layer */
    int32_t gates;    /* 1 RNN, 3 GRU, 4 LSTM */
    int32_t hidden, n, t;
    bool relu;
    samba_tensor *u, *b;  /* of the state */
    samba_tensor *h, *c;  /* the state now */
    samba_tensor *counts; /* (T,N,1) bool: a step within the length; NULL: all are */
    samba_tensor **y;     /* T outputs (N,hidden) */
} samba__recurrence;

/* Part `at` of x along axis, in `size` pieces. */
SAMBA__FN samba_tensor *samba__piece(samba_tensor *x, int32_t axis, int32_t at, int32_t size)
{
    return samba_slice(x, axis, at * size, (at + 1) * size, 1);
}

/* Entry `at` of the first axis, without it. */
SAMBA__FN samba_tensor *samba__nth(samba_tensor *x, int32_t at)
{
    return samba_squeeze(samba__piece(x, 0, at, 1), 0);
}

SAMBA__FN samba_tensor *samba__rnn_step(const samba__recurrence *r, samba_tensor *wx)
{
    samba_tensor *sum = samba_add(wx, samba_affine(r->h, r->u, r->b));
    return r->relu ? samba_relu(sum) : samba_tanh(sum);
}

SAMBA__FN samba_tensor *samba__gru_step(const samba__recurrence *r, samba_tensor *wx)
{
    int32_t size = r->hidden;
    samba_tensor *uh = samba_affine(r->h, r->u, r->b);
    samba_tensor *gates = samba_slice(wx, 1, 0, 2 * size, 1);
    gates = samba_sigmoid(samba_add(gates, samba_slice(uh, 1, 0, 2 * size, 1)));

    samba_tensor *reset = samba__piece(gates, 1, 0, size);
    reset = samba_mul(reset, samba__piece(uh, 1, 2, size));
    samba_tensor *fresh = samba_tanh(samba_add(samba__piece(wx, 1, 2, size), reset));

    samba_tensor *keeps = samba__piece(gates, 1, 1, size);
    samba_tensor *kept = samba_mul(keeps, samba_sub(r->h, fresh));
    return samba_add(fresh, kept);
}

/* *c becomes the next cell. */
SAMBA__FN samba_tensor *samba__lstm_step(const samba__recurrence *r, samba_tensor *wx,
                                         samba_tensor **c)
{
    int32_t size = r->hidden;
    samba_tensor *sum = samba_add(wx, samba_affine(r->h, r->u, r->b));
    samba_tensor *in = samba_sigmoid(samba__piece(sum, 1, 0, size));
    samba_tensor *forget = samba_sigmoid(samba__piece(sum, 1, 1, size));
    samba_tensor *fresh = samba_tanh(samba__piece(sum, 1, 2, size));
    samba_tensor *out = samba_sigmoid(samba__piece(sum, 1, 3, size));

    samba_tensor *kept = samba_mul(forget, *c);
    *c = samba_add(kept, samba_mul(in, fresh));
    return samba_mul(out, samba_tanh(*c));
}

/* All steps of wx (T,N,gates hidden), the last one first if backward. */
SAMBA__FN void samba__unroll(samba__recurrence *r, samba_tensor *wx, bool backward)
{
    for (int32_t i = 0; i < r->t && r->h; i++) {
        int32_t t = backward ? r->t - 1 - i : i;
        samba_tensor *now = samba__nth(wx, t), *h = NULL, *c = r->c;
        if (r->gates == 1) h = samba__rnn_step(r, now);
        if (r->gates == 3) h = samba__gru_step(r, now);
        if (r->gates == 4) h = samba__lstm_step(r, now, &c);

        samba_tensor *counts = r->counts ? samba__nth(r->counts, t) : NULL;
        if (counts) h = samba_where(counts, h, r->h);
        if (counts && c) c = samba_where(counts, c, r->c);
        r->y[t] = r->h = h;
        r->c = c;
    }
}

/* Joins xs, which are lost, along a new first axis: as many at a time as cat takes, so that each is
   moved a few times only. */
SAMBA__FN samba_tensor *samba__stack_many(samba_tensor **xs, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        xs[i] = samba_unsqueeze(xs[i], 0);
    while (n > 1) {
        int32_t m = 0;
        for (int32_t i = 0; i < n; i += SAMBA_MAX_IN)
            xs[m++] = samba_cat(xs + i, n - i < SAMBA_MAX_IN ? n - i : SAMBA_MAX_IN, 0);
        n = m;
    }
    return xs[0];
}

/* Parameter name__part_l0, or name__part_l0_reverse. */
SAMBA__FN samba_tensor *samba__recurrent_param(const samba__recurrence *r, samba_session *s,
                                               const char *part, int32_t layer, bool backward,
                                               samba_shape shape)
{
    char full[64];
    samba__print(full, sizeof full, "%s_l%d%s", part, layer, backward ? "_reverse" : "");
    samba_init init = samba__init_of_layer((double)r->hidden);
    return samba__layer_param(s, r->name, full, &shape, SAMBA__WEIGHT, init);
}

/* What of a state belongs to layer and direction number i: (N,hidden). */
SAMBA__FN samba_tensor *samba__first_state(const samba__recurrence *r, samba_session *s,
                                           samba_tensor *state, int32_t i)
{
    if (!state) return samba_full(s, samba__shape2(r->n, r->hidden), 0.0f);
    return samba__nth(state, i);
}

/* One layer in one direction, of x (T,N,k): (T,N,hidden), and r->h and r->c are its last states. */
SAMBA__FN samba_tensor *samba__recurrent_pass(samba__recurrence *r, samba_tensor *x, int32_t layer,
                                              bool backward, const samba_recurrent_opts *o)
{
    samba_session *s = x->session;
    int32_t size = r->gates * r->hidden, number = layer * (o->bidirectional ? 2 : 1) + backward;
    samba_shape row = samba__shape_of(&size, 1);
    int32_t k = x->shape.dim[2];
    samba_tensor *w
        = samba__recurrent_param(r, s, "weight_ih", layer, backward, samba__shape2(size, k));
    r->u = samba__recurrent_param(r, s, "weight_hh", layer, backward,
                                  samba__shape2(size, r->hidden));
    samba_tensor *a
        = o->no_bias ? NULL : samba__recurrent_param(r, s, "bias_ih", layer, backward, row);
    r->b = o->no_bias ? NULL : samba__recurrent_param(r, s, "bias_hh", layer, backward, row);

    r->h = samba__first_state(r, s, o->first.h, number);
    r->c = r->gates == 4 ? samba__first_state(r, s, o->first.c, number) : NULL;
    samba_tensor *wx = samba_affine(x, w, a);
    if (number == 0) samba__layer_called(wx, r->name, SAMBA__OP_affine, w);
    samba__unroll(r, wx, backward);

    samba_tensor *y = r->h ? samba__stack_many(r->y, r->t) : NULL;
    return r->counts ? samba_where(r->counts, y, samba__number_for(y, 0.0f)) : y;
}

/* Refuses what the steps could only complain of in words of their own. */
SAMBA__FN bool samba__check_recurrent(const samba__recurrence *r, const samba_tensor *x,
                                      const samba_recurrent_opts *o)
{
    samba_session *s = x->session;
    int32_t layers = o->layers * (o->bidirectional ? 2 : 1);
    if (x->shape.ndim != 3 || r->hidden < 1 || o->layers < 1)
        return samba_fail(
            s, SAMBA_ESHAPE,
            "in layer %s: %s %S must be (N,T,k), and hidden %d and layers %d at least 1", r->name,
            x->name, &x->shape, r->hidden, o->layers);

    const samba_tensor *lengths = o->lengths;
    if (lengths && (lengths->shape.ndim != 1 || lengths->shape.dim[0] != r->n))
        return samba_fail(s, SAMBA_ESHAPE, "in layer %s: lengths %s %S must be (%d), as %s is %S",
                          r->name, lengths->name, &lengths->shape, r->n, x->name, &x->shape);

    const samba_tensor *states[2] = { o->first.h, o->first.c };
    for (int i = 0; i < 2; i++) {
        const samba_tensor *state = states[i];
        bool fits = !state
            || (state->shape.ndim == 3 && state->shape.dim[0] == layers
                && state->shape.dim[1] == r->n && state->shape.dim[2] == r->hidden);
        if (!fits)
            return samba_fail(s, SAMBA_ESHAPE,
                              "in layer %s: the first state %s %S must be (%d,%d,%d)", r->name,
                              state->name, &state->shape, layers, r->n, r->hidden);
    }
    return true;
}

/* (T,N,1): whether step t is one of those that count. */
SAMBA__FN samba_tensor *samba__steps_that_count(samba_tensor *lengths, int32_t t)
{
    samba_tensor *step = samba_arange(lengths->session, t, 0.0f, 1.0f);
    step = samba_unsqueeze(samba_unsqueeze(step, 1), 1);
    return samba_lt(step, samba_unsqueeze(samba__ids_as_i32(lengths), 1));
}

/* Layer after layer: x (T,N,k) -> (T,N,directions hidden). h and c get the last states of each. */
SAMBA__FN samba_tensor *samba__recurrent_layers(samba__recurrence *r, samba_tensor *x,
                                                const samba_recurrent_opts *o, samba_tensor **h,
                                                samba_tensor **c)
{
    char full[256];
    int32_t directions = o->bidirectional ? 2 : 1;
    for (int32_t layer = 0; layer < o->layers && x; layer++) {
        samba_tensor *side[2] = { NULL, NULL };
        for (int32_t d = 0; d < directions; d++) {
            side[d] = samba__recurrent_pass(r, x, layer, d == 1, o);
            h[layer * directions + d] = r->h;
            c[layer * directions + d] = r->c;
        }

        x = directions == 2 ? samba_cat(side, 2, 2) : side[0];
        if (o->dropout == 0.0f || layer == o->layers - 1 || !x) continue;
        const char *drop
            = samba__print_name(x->session, full, sizeof full, "%s__dropout_l%d", r->name, layer);
        x = drop ? samba_dropout(x, drop, o->dropout) : NULL;
    }
    return x;
}

SAMBA__FN samba_tensor *samba__recurrent(samba_tensor *x, const char *name, int32_t gates,
                                         int32_t hidden, const samba_recurrent_opts *opts,
                                         samba_recurrent_state *last)
{
    samba_recurrent_opts o = SAMBA__ZEROED;
    samba__recurrence r = SAMBA__ZEROED;
    if (last) last->h = last->c = NULL;
    if (!x || !samba_ok(x->session)) return NULL;
    if (opts) o = *opts;
    if (!o.layers) o.layers = 1;

    samba_session *s = x->session;
    r.name = name ? name : "";
    r.gates = gates;
    r.hidden = hidden;
    r.relu = o.relu;
    r.n = x->shape.dim[0];
    r.t = x->shape.dim[1];
    if (!samba__check_recurrent(&r, x, &o)) return NULL;

    int32_t layers = o.layers * (o.bidirectional ? 2 : 1);
    size_t size = ((size_t)r.t + 2 * (size_t)layers) * sizeof *r.y;
    samba_tensor **list = (samba_tensor **)samba__alloc(s, size);
    if (!list) return NULL;
    samba_tensor **h = list, **c = h + layers;
    r.y = c + layers;

    x = samba_transpose(x, 0, 1);
    if (o.lengths && x) r.counts = samba__steps_that_count(o.lengths, r.t);
    x = samba__recurrent_layers(&r, x, &o, h, c);
    if (x && last) last->h = samba__stack_many(h, layers);
    if (x && last && gates == 4) last->c = samba__stack_many(c, layers);
    samba__free(s, list, size);

    if (!x) return NULL;
    s->trace.next_name = name;
    x = samba_transpose(x, 0, 1);
    s->trace.next_name = NULL;
    return x;
}

SAMBA_API samba_tensor *samba_lstm(samba_tensor *x, const char *name, int32_t hidden,
                                   const samba_recurrent_opts *opts, samba_recurrent_state *last)
{
    return samba__recurrent(x, name, 4, hidden, opts, last);
}

SAMBA_API samba_tensor *samba_gru(samba_tensor *x, const char *name, int32_t hidden,
                                  const samba_recurrent_opts *opts, samba_recurrent_state *last)
{
    return samba__recurrent(x, name, 3, hidden, opts, last);
}

SAMBA_API samba_tensor *samba_rnn(samba_tensor *x, const char *name, int32_t hidden,
                                  const samba_recurrent_opts *opts, samba_recurrent_state *last)
{
    return samba__recurrent(x, name, 1, hidden, opts, last);
}


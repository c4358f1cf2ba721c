/* ==== [pack] ================================================================================== */
/* Weights of programs that infer, packed as products read them: samba_program.weights. */
/* The bf16 scale of a group of weights x[0], x[step] ...: the largest becomes 127, or -8. */
SAMBA__FN uint16_t samba__group_scale(const float *x, bool four)
{
    float most = 0.0f;
    for (int32_t i = 0; i < SAMBA__GROUP; i++)
        most = samba__abs(x[i]) > samba__abs(most) ? x[i] : most;
    return samba__to_bf16(four ? most / -8.0f : samba__abs(most) / 127.0f);
}

SAMBA__FN int32_t samba__quantized(float x, uint16_t scale, int32_t least, int32_t most)
{
    float d = samba__from_bf16(scale), q = d != 0.0f ? x / d : 0.0f;
    float shifted = q < 0.0f ? q - 0.5f : q + 0.5f; /* so that the cast rounds to the nearest */
    if (shifted > (float)most) return most;
    return shifted > (float)least ? (int32_t)shifted : least;
}

/* Writes row j of a matrix of k columns, x, into its packed form; bf16 is cut or rounded. */
SAMBA__FN void samba__pack_weight_row(uint8_t *packed, uint16_t *scales, samba_dtype type,
                                      const float *x, int64_t k, int64_t j, bool cut)
{
    uint8_t *q = packed + (samba__packed_at(packed, type, k, j) - packed);
    uint16_t *scale = scales ? scales + (samba__scale_at(scales, k, j) - scales) : NULL;
    bool four = type == SAMBA_U8;
    int64_t row = samba__panel_row(type);

    for (int64_t p = 0; p < k; p++) {
        uint8_t *to = q + (four ? p / 2 : p) * row;
        uint16_t *d = scale ? scale + p / SAMBA__GROUP * SAMBA__PANEL : NULL, h;
        if (d && p % SAMBA__GROUP == 0) *d = samba__group_scale(x + p, four);

        if (type == SAMBA_F32)
            memcpy(to, x + p, 4);
        else if (type == SAMBA_BF16) {
            h = cut ? samba__cut_bf16(x[p]) : samba__to_bf16(x[p]);
            memcpy(to, &h, 2);
        } else if (!four)
            *to = (uint8_t)samba__quantized(x[p], *d, -127, 127);
        else
            *to |= (uint8_t)((samba__quantized(x[p], *d, -8, 7) + 8) << p % 2 * 4);
    }
}

/* A part of the packed form of w (n,k), (n / 32, rows, 32), to be filled; NULL after a failure. */
SAMBA__FN samba_tensor *samba__packed_leaf(samba_tensor *w, const char *kind, samba_dtype type,
                                           int32_t rows)
{
    char buffer[256];
    int32_t dim[3] = { (w->shape.dim[0] - 1) / SAMBA__PANEL + 1, rows, SAMBA__PANEL };
    samba_shape shape = samba__shape_of(dim, 3);
    const char *name
        = samba__print_name(w->session, buffer, sizeof buffer, "%s__%s", w->name, kind);
    samba_tensor *t = name
        ? samba__shared_leaf(w->session, name, type, &shape, SAMBA__WEIGHT, samba__all(0.0f))
        : NULL;
    if (!t || !samba__own_data(t)) return NULL;

    t->frozen = true;
    t->symbol = -1; /* what a program has of it is out of date */
    return t;
}

/* Integers have no NaN or infinity: a weight that is one would become a number. */
SAMBA__FN bool samba__expect_finite_weights(const samba_tensor *w, const float *x, const char *kind)
{
    int64_t k = w->shape.dim[1];
    for (int64_t i = 0; i < samba_count(&w->shape); i++) {
        if (x[i] - x[i] == 0.0f) continue;
        return samba_fail(
            w->session, SAMBA_ERANGE,
            "%s cannot be packed as %s: it holds %g at [%l,%l], which no integer stands for; the weights are damaged, or training has diverged",
            w->name, kind, (double)x[i], i / k, i % k);
    }
    return true;
}

/* Makes, or fills anew, the packed form of w. */
SAMBA__FN bool samba__pack_weight(samba_tensor *w, samba_weights as)
{
    int32_t n = w->shape.dim[0], k = w->shape.dim[1];
    const char *kind = samba__packing[as].scale;
    samba_tensor *scale = NULL,
                 *packed = samba__packed_leaf(w, samba__packing[as].name, samba__packing[as].type,
                                              as == SAMBA_WEIGHTS_INT4 ? k / 2 : k);
    if (packed && kind) scale = samba__packed_leaf(w, kind, SAMBA_BF16, k / SAMBA__GROUP);

    const float *values = packed ? (const float *)samba__value_of(w) : NULL;
    if (!values || (kind && !scale)) return false;
    if (kind && !samba__expect_finite_weights(w, values, samba__packing[as].name)) return false;

    memset(packed->data, 0, samba__host_bytes(packed));
    for (int32_t j = 0; j < n; j++)
        samba__pack_weight_row((uint8_t *)packed->data, scale ? (uint16_t *)scale->data : NULL,
                               packed->dtype, values + (int64_t)j * k, k, j,
                               w->session->modes.cuts_bf16);
    return true;
}

/* Packs what the ops of the program can read packed. */
SAMBA__FN bool samba__pack_weights(samba__compilation *c)
{
    samba_session *s = c->session;
    if (!c->program->weights) return true;

    bool *done = (bool *)samba__temp(s, samba__n_tensors(s), sizeof *done);
    if (!done) return false;

    for (int32_t i = 0; i < samba__n_nodes(s); i++) {
        const samba__node *n = s->trace.nodes[i];
        bool reads = samba__is(n->op, SAMBA__OP_affine) || samba__is(n->op, SAMBA__OP_lookup);
        samba_tensor *w = reads ? n->in[1] : NULL;
        samba_weights as = w ? samba__packs_as(w, c->program->weights) : SAMBA_WEIGHTS_PLAIN;
        if (!as || done[w->id] || !samba__quantizes(c, n)) continue;

        done[w->id] = true;
        if (!samba__pack_weight(w, as)) return false;
    }
    return true;
}


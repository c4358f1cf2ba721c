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

/* Integers have no NaN or infinity: a weight that is one would become a number. x: rows from first
   on. */
SAMBA__FN bool samba__expect_finite_weights(const samba_tensor *w, const float *x, int32_t first,
                                            int32_t rows, const char *kind)
{
    int64_t k = w->shape.dim[1];
    for (int64_t i = 0; i < rows * k; i++) {
        if (x[i] - x[i] == 0.0f) continue;
        return samba_fail(
            w->session, SAMBA_ERANGE,
            "%s cannot be packed as %s: it holds %g at [%l,%l], which no integer stands for; the weights are damaged, or training has diverged",
            w->name, kind, (double)x[i], first + i / k, i % k);
    }
    return true;
}

/* What a parameter (n,k) becomes. */
typedef struct samba__packed_form {
    samba_tensor *weights, *scale; /* scale: of integers */
    const char *kind;
} samba__packed_form;

/* Packs rows of w from first on, which are all finite if they become integers. */
SAMBA__FN bool samba__pack_rows(const samba_tensor *w, const samba__packed_form *to, const float *x,
                                int32_t first, int32_t rows)
{
    int64_t k = w->shape.dim[1];
    uint16_t *scale = to->scale ? (uint16_t *)to->scale->data : NULL;
    if (scale && !samba__expect_finite_weights(w, x, first, rows, to->kind)) return false;

    for (int32_t j = 0; j < rows; j++)
        samba__pack_weight_row((uint8_t *)to->weights->data, scale, to->weights->dtype, x + j * k,
                               k, first + j, w->session->modes.cuts_bf16);
    return true;
}

/* Numbers that a caller's weight_rows is asked for at once, but a row at least: 256 KiB. */
enum { SAMBA__WEIGHTS_AT_ONCE = 1 << 16 };

SAMBA__FN int32_t samba__rows_at_once(int32_t k)
{
    return k < SAMBA__WEIGHTS_AT_ONCE ? SAMBA__WEIGHTS_AT_ONCE / k : 1;
}

/* Packs what the caller gives, some rows at a time in x, so that w is never whole in memory. */
SAMBA__FN bool samba__pack_given_rows(const samba_program *p, const samba_tensor *w,
                                      const samba__packed_form *to, float *x)
{
    samba_session *s = w->session;
    int32_t n = w->shape.dim[0], most = samba__rows_at_once(w->shape.dim[1]);

    for (int32_t first = 0; first < n; first += most) {
        int32_t rows = n - first < most ? n - first : most;
        if (!p->weight_rows(w, first, rows, x, p->weight_rows_user)) {
            if (!samba_ok(s)) return false;
            return samba_fail(s, SAMBA_EIO, "weight_rows gave no rows %d ... %d of %s", first,
                              first + rows - 1, w->name);
        }
        if (!samba__pack_rows(w, to, x, first, rows)) return false;
    }
    return true;
}

/* Room for the rows that a caller gives, of the widest parameter. */
SAMBA__FN float *samba__room_for_rows(const samba__compilation *c)
{
    samba_session *s = c->session;
    int32_t most = SAMBA__WEIGHTS_AT_ONCE;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        const samba_tensor *w = s->trace.tensors[i];
        if (samba__packs_as(w, c->program->weights) && w->shape.dim[1] > most)
            most = w->shape.dim[1];
    }
    return (float *)samba__temp(s, most, sizeof(float));
}

/* Makes, or fills anew, the packed form of w: of rows that the caller gives, with room x, or of its
   values if x is NULL. */
SAMBA__FN bool samba__pack_weight(const samba_program *p, samba_tensor *w, samba_weights as,
                                  float *x)
{
    int32_t n = w->shape.dim[0], k = w->shape.dim[1];
    const char *kind = samba__packing[as].scale;
    samba__packed_form to = { NULL, NULL, samba__packing[as].name };
    to.weights = samba__packed_leaf(w, to.kind, samba__packing[as].type,
                                    as == SAMBA_WEIGHTS_INT4 ? k / 2 : k);
    if (to.weights && kind) to.scale = samba__packed_leaf(w, kind, SAMBA_BF16, k / SAMBA__GROUP);
    if (!to.weights || (kind && !to.scale)) return false;

    memset(to.weights->data, 0, samba__host_bytes(to.weights));
    if (x) return samba__pack_given_rows(p, w, &to, x);
    const float *values = (const float *)samba__value_of(w);
    return values && samba__pack_rows(w, &to, values, 0, n);
}

/* Packs what the ops of the program can read packed. */
SAMBA__FN bool samba__pack_weights(samba__compilation *c)
{
    samba_session *s = c->session;
    if (!c->program->weights) return true;

    bool *done = (bool *)samba__temp(s, samba__n_tensors(s), sizeof *done);
    float *rows = c->program->weight_rows ? samba__room_for_rows(c) : NULL;
    if (!done || (c->program->weight_rows && !rows)) return false;

    for (int32_t i = 0; i < samba__n_nodes(s); i++) {
        const samba__node *n = s->trace.nodes[i];
        bool reads = samba__is(n->op, SAMBA__OP_affine) || samba__is(n->op, SAMBA__OP_lookup);
        samba_tensor *w = reads ? n->in[1] : NULL;
        samba_weights as = w ? samba__packs_as(w, c->program->weights) : SAMBA_WEIGHTS_PLAIN;
        if (!as || done[w->id] || !samba__quantizes(c, n)) continue;

        done[w->id] = true;
        if (!samba__pack_weight(c->program, w, as, rows)) return false;
    }
    return true;
}


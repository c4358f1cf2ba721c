/* ==== [matmul] ================================================================================ */
/* ---- matmul: c = op(a) op(b), batched over leading dimensions; attributes: transpose a, transpose
   b. da = dy op(b)^T and db = op(a)^T dy, written with the transposes that avoid a copy.
   By definition, for c (M,N), a (M,K), b (K,N), and to the same bits, as each element is one chain
   in the order of k:
       for (m = 0; m < M; m++)
           for (n = 0; n < N; n++)
               for (c[m][n] = 0, k = 0; k < K; k++)
                   c[m][n] = fmaf(a[m][k], b[k][n], c[m][n]);
   tests/lib/reference.h has the definitions of all ops, in this style. ---- */

SAMBA__OP_API samba_tensor *samba_matmul_transposed(samba_tensor *a, bool transpose_a,
                                                    samba_tensor *b, bool transpose_b)
{
    int32_t attr[2] = { transpose_a, transpose_b };
    return samba__emit2(SAMBA__OP_matmul, a, b, attr, 2);
}

/* As torch: a vector on the left is a row, on the right a column, which the result lacks again. */
SAMBA__OP_API samba_tensor *samba_matmul(samba_tensor *a, samba_tensor *b)
{
    if (!a || !b) return NULL;
    bool row = a->shape.ndim == 1, column = b->shape.ndim == 1;
    if (row) a = samba_unsqueeze(a, 0);
    if (column) b = samba_unsqueeze(b, 1);
    samba_tensor *c = samba_matmul_transposed(a, false, b, false);
    if (column && c) c = samba_squeeze(c, -1);
    if (!row || !c) return c;
    return samba_squeeze(c, column ? -1 : -2);
}

/* The sizes of a product: batch shapes and m, n, k of each matrix. */
typedef struct samba__product {
    samba_shape batch, a_batch, b_batch;
    int64_t m, n, k;
    bool ta, tb;
} samba__product;

SAMBA__FN samba__product samba__product_of(const samba_spec *in, const int32_t *attr)
{
    samba__product p;
    const samba_shape *a = &in[0].shape, *b = &in[1].shape;
    int32_t bad = 0;

    p.ta = attr[SAMBA__MATMUL_TRANSPOSE_A] != 0;
    p.tb = attr[SAMBA__MATMUL_TRANSPOSE_B] != 0;
    p.m = a->dim[a->ndim - (p.ta ? 1 : 2)];
    p.k = a->dim[a->ndim - (p.ta ? 2 : 1)];
    p.n = b->dim[b->ndim - (p.tb ? 2 : 1)];

    p.a_batch = *a;
    p.b_batch = *b;
    p.a_batch.ndim -= 2;
    p.b_batch.ndim -= 2;
    if (!samba__broadcast(&p.a_batch, &p.b_batch, &p.batch, &bad)) p.batch = samba_scalar_shape();

    if (p.b_batch.ndim == 0 && !p.ta) { /* one b for all: the batch is only more rows */
        p.m *= samba_count(&p.a_batch);
        p.batch = p.a_batch = samba_scalar_shape();
    }
    return p;
}

/* The first operand of a product: bf16 makes it one in bf16. */
SAMBA__FN bool samba__expect_first_operand(samba_call *c, int32_t i)
{
    return c->in[i].dtype == SAMBA_BF16 || samba__expect_f32(c, i);
}

SAMBA__FN bool samba__matmul_shape(samba_call *c)
{
    if (!samba__expect(c, 2, 2, 2) || !samba__expect_first_operand(c, 0)
        || !samba__expect_float(c, 1))
        return false;

    samba_shape a = c->in[0].shape, b = c->in[1].shape, *y = &c->out[0].shape;
    c->out[0].dtype = SAMBA_F32;
    int32_t ta = c->attr[SAMBA__MATMUL_TRANSPOSE_A], tb = c->attr[SAMBA__MATMUL_TRANSPOSE_B],
            bad = 0;
    if (a.ndim < 2 || b.ndim < 2)
        return samba_refuse(c, SAMBA_ESHAPE, "both inputs need at least 2 dimensions");
    if (ta < 0 || ta > 1 || tb < 0 || tb > 1) return samba_refuse(c, SAMBA_EARG, "malformed call");

    a.ndim -= 2;
    b.ndim -= 2;
    const int32_t *last_a = a.dim + a.ndim, *last_b = b.dim + b.ndim; /* rows and columns */
    if (last_a[!ta] != last_b[tb])
        return samba_refuse(
            c, SAMBA_ESHAPE,
            "the inner dimensions differ: %d of input 0 against %d of input 1; one of them may need samba_transpose",
            last_a[!ta], last_b[tb]);
    if (!samba__broadcast(&a, &b, y, &bad))
        return samba_refuse(c, SAMBA_ESHAPE, "the batch dimensions %S and %S do not broadcast", &a,
                            &b);
    if (y->ndim + 2 > SAMBA_MAX_DIMS)
        return samba_refuse(c, SAMBA_ESHAPE, "more than %d dimensions", SAMBA_MAX_DIMS);

    samba__push_dim(y, last_a[ta]);
    samba__push_dim(y, last_b[!tb]);
    return true;
}

/* The rule of an op that adds to its last input what another op makes of those before. */
SAMBA__FN bool samba__sum_into(samba_call *c, bool (*rule)(samba_call *))
{
    int32_t n = c->n_in;
    if (n != 3 || !samba__has(c, 2)) return samba_refuse(c, SAMBA_EARG, "input 2 is missing");

    c->n_in = n - 1;
    bool fits = rule(c);
    c->n_in = n;
    if (!fits) return false;

    if (c->in[2].dtype != SAMBA_F32 || !samba__same_shape(&c->in[2].shape, &c->out[0].shape))
        return samba_refuse(c, SAMBA_ESHAPE, "input 2 must be f32 %S, as what is added to it",
                            &c->out[0].shape);
    return true;
}

SAMBA__FN bool samba__matmul_accumulate_shape(samba_call *c)
{
    return samba__sum_into(c, samba__matmul_shape);
}

SAMBA__FN void samba__matmul_work(samba_work *w, const samba_call *c)
{
    samba__product p = samba__product_of(c->in, c->attr);
    w->units[0] = samba_count(&p.batch) * samba__gemm_tiles(p.m, p.n, p.k);
    w->local = (int32_t)SAMBA__NEED_GEMM;
    w->flops = 2 * samba_count(&p.batch) * p.m * p.n * p.k;
    w->part = -1;
}

/* One of its matrices; where they are is left open. */
SAMBA__FN samba__gemm samba__matmul_gemm(const samba__product *p, const samba_spec *in)
{
    samba__gemm g = SAMBA__ZEROED;
    g.m = p->m;
    g.n = g.c_row = p->n;
    g.k = p->k;
    g.a_row = p->ta ? 1 : p->k;
    g.a_col = p->ta ? p->m : 1;
    g.b_row = p->tb ? 1 : p->n;
    g.b_col = p->tb ? p->k : 1;
    g.a_type = in[0].dtype;
    g.in_bf16 = g.a_type == SAMBA_BF16;
    g.b_type = in[1].dtype;
    return g;
}

SAMBA__KERNEL void samba__matmul_kernel(const samba_args *a)
{
    samba__product p = samba__product_of(a->in_spec, a->attr);
    int64_t tiles = samba__gemm_tiles(p.m, p.n, p.k);
    samba__gemm g = samba__matmul_gemm(&p, a->in_spec);
    g.args = a;
    g.accumulate = a->n_in > 2;

    for (int64_t u = a->begin, end; u < a->end; u = end) {
        int64_t i = u / tiles;
        end = samba__min64(a->end, (i + 1) * tiles);

        int64_t a_at = samba__stretched_at(&p.a_batch, &p.batch, p.batch.ndim, i) * p.m * p.k;
        g.a = (const float *)(const void *)samba__in_bytes(a, 0, a_at);
        int64_t b = samba__stretched_at(&p.b_batch, &p.batch, p.batch.ndim, i) * p.n * p.k;
        g.b = (const float *)(const void *)samba__in_bytes(a, 1, b);
        g.c = a->out[0] + i * p.m * p.n;
        samba__gemm_run(&g, u - i * tiles, end - i * tiles, a->local, a->isa);
    }
}

/* c <- c + op(a) op(b): gradients are summed where they are stored. */
SAMBA__KERNEL void samba__matmul_accumulate_kernel(const samba_args *a)
{
    samba__matmul_kernel(a);
}

/* x (*,k) as one matrix (rows,k). */
SAMBA__FN samba_tensor *samba__as_matrix(samba_tensor *x)
{
    int32_t dim[2] = { -1, 0 };
    if (!x || x->shape.ndim == 2) return x;
    dim[1] = x->shape.dim[x->shape.ndim - 1];
    return samba_reshape(x, samba__shape_of(dim, 2));
}

SAMBA__FN void samba__matmul_vjp(samba_vjp *g)
{
    samba_tensor *a = g->in[0], *b = g->in[1];
    samba_tensor *dy
        = samba_cast(g->dout[0], a->dtype); /* gradients of bf16 products are ones, too */
    bool ta = g->attr[SAMBA__MATMUL_TRANSPOSE_A] != 0, tb = g->attr[SAMBA__MATMUL_TRANSPOSE_B] != 0;

    samba_tensor *da = ta ? samba_matmul_transposed(samba_cast(b, a->dtype), tb, dy, true)
                          : samba_matmul_transposed(dy, false, b, !tb);
    g->din[0] = samba__to_input(g, 0, da);

    /* one product instead of a batch and its sum */
    if (b->shape.ndim == 2 && a->shape.ndim > 2 && !ta) {
        a = samba__as_matrix(a);
        dy = samba__as_matrix(dy);
    }
    samba_tensor *db = tb ? samba_matmul_transposed(dy, true, a, ta)
                          : samba_matmul_transposed(a, !ta, dy, false);
    g->din[1] = samba__to_input(g, 1, db);
}

/* ---- affine: y = x w^T + b; dx = dy w, dw = dy^T x, db = sum of dy's rows. For x (T,C), w (N,C):
       for (t = 0; t < T; t++)
           for (n = 0; n < N; n++) {
               for (y[t][n] = 0, c = 0; c < C; c++)
                   y[t][n] = fmaf(x[t][c], w[n][c], y[t][n]);
               y[t][n] += b[n];
           }
   ---- */
SAMBA__OP_API samba_tensor *samba_affine(samba_tensor *x, samba_tensor *w, samba_tensor *b)
{
    return samba__emit3(SAMBA__OP_affine, x, w, b, NULL, 0);
}

SAMBA__FN bool samba__affine_shape(samba_call *c)
{
    samba_spec in[SAMBA_MAX_IN];
    const samba_spec *given = c->in;
    if (c->n_in < 1 || given[0].dtype != SAMBA_BF16)
        return samba__expect_match(c, "*k,w:nk,n?->*n", 0);

    memcpy(in, given, (size_t)c->n_in * sizeof *in); /* otherwise as with f32 */
    in[0].dtype = SAMBA_F32;
    c->in = in;
    bool fits = samba__expect_match(c, "*k,w:nk,n?->*n", 0);
    c->in = given;
    return fits;
}

/* The product for x (*,k) and y (*,n). */
SAMBA__FN samba__gemm samba__affine_gemm(const samba_spec *x, const samba_spec *y)
{
    samba__gemm g = SAMBA__ZEROED;
    g.n = g.c_row = samba__last_dim(y);
    g.k = g.a_row = g.b_col = samba__last_dim(x);
    g.m = samba_count(&x->shape) / g.k;
    g.a_col = g.b_row = 1;
    g.a_type = x->dtype;
    g.in_bf16 = g.a_type == SAMBA_BF16;
    return g;
}

SAMBA__FN void samba__affine_work(samba_work *w, const samba_call *c)
{
    samba__gemm g = samba__affine_gemm(c->in, c->out);
    w->units[0] = samba__gemm_tiles(g.m, g.n, g.k);
    w->local = (int32_t)SAMBA__NEED_GEMM;
    w->flops = 2 * g.m * g.n * g.k;
    w->part = -1;
}

/* w (n,k), or packed, with attribute n: then its scales stand before the bias. */
SAMBA__KERNEL void samba__affine_kernel(const samba_args *a)
{
    samba__gemm g = samba__affine_gemm(a->in_spec, a->out_spec);
    bool packed = a->n_attr > 0;
    int32_t bias = packed ? 3 : 2;

    g.a = a->in[0];
    g.c = a->out[0];
    g.bias = a->n_in > bias ? a->in[bias] : NULL;

    if (packed) {
        g.packed = a->in[1];
        g.scale = (const uint16_t *)(const void *)a->in[2];
    } else
        g.b = a->in[1];
    g.b_type = a->in_spec[1].dtype;

    g.args = a;
    samba__gemm_run(&g, a->begin, a->end, a->local, a->isa);
}

SAMBA__FN void samba__affine_vjp(samba_vjp *g)
{
    samba_tensor *dy = samba__as_matrix(g->dout[0]), *x = samba__as_matrix(g->in[0]);
    samba_tensor *factor = samba_cast(dy, x ? x->dtype : SAMBA_F32);
    samba_shape first = samba_scalar_shape();
    first.ndim = 1;

    samba_tensor *dx = samba_matmul_transposed(factor, false, g->in[1], false);
    g->din[0] = samba_reshape(dx, g->in[0]->shape);
    g->din[1] = samba_matmul_transposed(factor, true, x, false);
    if (g->n_in > 2 && g->in[2]) g->din[2] = samba_sum(dy, first, false);
}

/* ---- affine_packed: affine with w (n,k) as packed weights and, for integers, their scales: inputs
   x, packed, scale or NULL, b or NULL; attribute n. Only programs that infer have it. ---- */
/* Inputs 1 and 2 hold packed weights (n,k). */
SAMBA__FN bool samba__expect_packed(samba_call *c, int32_t n, int32_t k)
{
    const samba_spec *q = &c->in[1], *d = &c->in[2];
    bool integer = q->dtype == SAMBA_I8 || q->dtype == SAMBA_U8;

    int32_t panels = n > 0 ? (n - 1) / SAMBA__PANEL + 1 : 0;
    int32_t dim[3] = { panels, q->dtype == SAMBA_U8 ? k / 2 : k, SAMBA__PANEL };
    samba_shape want = samba__shape_of(dim, 3);
    dim[1] = k / SAMBA__GROUP;
    samba_shape scales = samba__shape_of(dim, 3);

    bool known = integer || q->dtype == SAMBA_F32 || q->dtype == SAMBA_BF16;
    bool fits = known && k > 0 && panels > 0 && samba__same_shape(&q->shape, &want)
        && integer == samba__has(c, 2) && (!integer || k % SAMBA__GROUP == 0);
    if (fits && integer) fits = d->dtype == SAMBA_BF16 && samba__same_shape(&d->shape, &scales);

    if (!fits)
        return samba_refuse(
            c, SAMBA_ESHAPE,
            "input 1, %T %S, is no matrix %d x %d of packed weights with its scales", (int)q->dtype,
            &q->shape, n, k);
    return true;
}

SAMBA__FN bool samba__affine_packed_shape(samba_call *c)
{
    if (!samba__expect(c, 2, 4, 1) || !samba__expect_first_operand(c, 0)) return false;
    const samba_spec *x = &c->in[0], *b = &c->in[3];
    int32_t n = c->attr[SAMBA__PACKED_ROWS];

    if (x->shape.ndim < 1) return samba_refuse(c, SAMBA_ESHAPE, "input 0 needs a dimension");
    if (!samba__expect_packed(c, n, (int32_t)samba__last_dim(x))) return false;
    if (samba__has(c, 3) && (b->dtype != SAMBA_F32 || b->shape.ndim != 1 || b->shape.dim[0] != n))
        return samba_refuse(c, SAMBA_ESHAPE, "the bias must have %d values in f32", n);

    c->out[0] = *x;
    c->out[0].dtype = SAMBA_F32;
    c->out[0].shape.dim[x->shape.ndim - 1] = n;
    return true;
}

SAMBA__KERNEL void samba__affine_packed_kernel(const samba_args *a)
{
    samba__affine_kernel(a);
}


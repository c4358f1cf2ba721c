/* ==== [shape-ops] ============================================================================= */
/* ---- reshape: the same elements in order, in place. Attributes: the shape ---- */
SAMBA__OP_API samba_tensor *samba_reshape(samba_tensor *x, samba_shape shape)
{
    int64_t known = 1;
    int32_t unknown = -1;
    if (!x) return NULL;

    for (int32_t i = 0; i < shape.ndim && i < SAMBA_MAX_DIMS; i++) {
        int32_t d = shape.dim[i];
        if (d == -1 && unknown < 0)
            unknown = i;
        else
            known = d > 0 && known <= SAMBA__MAX_COUNT / d ? known * d : 0; /* 0: refused */
    }

    if (unknown >= 0 && known > 0) shape.dim[unknown] = (int32_t)(samba_count(&x->shape) / known);
    return samba__same_shape(&x->shape, &shape)
        ? x
        : samba__emit1(SAMBA__OP_reshape, x, shape.dim, shape.ndim);
}

SAMBA__FN bool samba__reshape_shape(samba_call *c)
{
    if (!samba__expect_dims(c)) return false;
    samba_shape *y = &c->out[0].shape;
    int64_t count = samba_count(&c->in[0].shape);
    c->out[0].dtype = c->in[0].dtype;
    *y = samba__shape_of(c->attr, c->n_attr);

    if (!samba__sound_shape(y) || samba_count(y) != count)
        return samba_refuse(
            c, SAMBA_ESHAPE,
            "%l elements do not fill the new shape %S; the products must be equal (one dimension may be -1)",
            count, y);
    return true;
}

SAMBA__KERNEL void samba__reshape_kernel(const samba_args *a)
{
    const uint8_t *x = samba__in_bytes(a, 0, a->begin);
    uint8_t *y = samba__out_bytes(a, a->begin);
    if (x != y) memcpy(y, x, (size_t)(samba__out_bytes(a, a->end) - y));
}
SAMBA__GRAD1(reshape, samba_reshape(dy, x->shape))

SAMBA__OP_API samba_tensor *samba_flatten(samba_tensor *x, int32_t from_axis)
{
    if (!samba__find_axis(x, "flatten", &from_axis, 0)) return NULL;
    samba_shape shape = x->shape;
    shape.ndim = from_axis + 1;
    shape.dim[from_axis] = -1;
    return samba_reshape(x, shape);
}

/* Removing an axis that is not 1 is refused by reshape's own rule. */
SAMBA__OP_API samba_tensor *samba_squeeze(samba_tensor *x, int32_t axis)
{
    samba_shape shape = samba_scalar_shape();
    if (!samba__find_axis(x, "squeeze", &axis, 0)) return NULL;
    for (int32_t i = 0; i < x->shape.ndim; i++)
        if (i != axis) samba__push_dim(&shape, x->shape.dim[i]);
    return samba_reshape(x, shape);
}

SAMBA__OP_API samba_tensor *samba_unsqueeze(samba_tensor *x, int32_t axis)
{
    samba_shape shape = samba_scalar_shape();
    if (!samba__find_axis(x, "unsqueeze", &axis, 1)) return NULL;
    for (int32_t i = 0; i <= x->shape.ndim; i++) {
        if (i == axis) samba__push_dim(&shape, 1);
        if (i < x->shape.ndim) samba__push_dim(&shape, x->shape.dim[i]);
    }
    return samba_reshape(x, shape);
}

/* ---- Copies with steps: permute, slice and expand read with them, pad writes with them ---- */
SAMBA__INLINE void samba__copy_run(uint8_t *y, int64_t y_step, const uint8_t *x, int64_t x_step,
                                   int64_t n, size_t size)
{
    int64_t y_bytes = y_step * (int64_t)size, x_bytes = x_step * (int64_t)size;
    if (x_step == 1 && y_step == 1)
        memcpy(y, x, (size_t)n * size);
    else if (x_step == 0 && y_step == 1 && size == 4)
        for (int64_t i = 0; i < n; i++) /* as vectors, as it reads one number */
            memcpy(y + i * 4, x, 4);
    else if (size == 4)
        for (int64_t i = 0; i < n; i++)
            memcpy(y + i * y_bytes, x + i * x_bytes, 4);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(y + i * y_bytes, x + i * x_bytes, size);
}

/* out[i0,i1,...] = x[start + sum of i_d step_d]: one unit is one row along the last dimension. Rows
   that follow each other in x as they do in the output, as those of a slice of leading dimensions,
   are copied in one run. */
SAMBA__FN void samba__copy_steps(const samba_args *a, ptrdiff_t start, const ptrdiff_t *step)
{
    const samba_shape *out = &a->out_spec[0].shape;
    ptrdiff_t at, run, row = out->ndim ? out->dim[out->ndim - 1] : 1;
    ptrdiff_t end = (ptrdiff_t)a->end * row;
    size_t size = samba_dtype_size(a->out_spec[0].dtype);

    samba__walk w = SAMBA__ZEROED;
    w.n_in = 1;
    for (int32_t i = 0; i < out->ndim; i++)
        samba__walk_push(&w, out->dim[i], &step[i]);
    if (w.ndim == 0) w.dim[w.ndim++] = 1;

    ptrdiff_t inner = w.step[0][w.ndim - 1];
    for (ptrdiff_t e = (ptrdiff_t)a->begin * row; e < end; e += run) {
        run = samba__min_index(samba__walk_to(&w, e, &at), end - e);
        samba__copy_run(samba__out_bytes(a, e), 1, samba__in_bytes(a, 0, start + at), inner, run,
                        size);
    }
}

SAMBA__FN void samba__rows_work(samba_work *w, const samba_call *c)
{
    const samba_shape *y = &c->out[0].shape;
    w->units[0] = y->ndim ? samba_count(y) / y->dim[y->ndim - 1] : 1;
}

/* permute: out axis i is input axis attr[i]; dx = inverse permutation of dy */
SAMBA__OP_API samba_tensor *samba_permute(samba_tensor *x, samba_shape axes)
{
    bool same = x && axes.ndim == x->shape.ndim;
    for (int32_t i = 0; i < axes.ndim && i < SAMBA_MAX_DIMS; i++) {
        axes.dim[i] = samba__wrap_axis(x, axes.dim[i]);
        same = same && axes.dim[i] == i;
    }
    return same ? x : samba__emit1(SAMBA__OP_permute, x, axes.dim, axes.ndim);
}

SAMBA__OP_API samba_tensor *samba_transpose(samba_tensor *x, int32_t axis0, int32_t axis1)
{
    if (!samba__find_axis(x, "transpose", &axis0, 0)) return NULL;
    if (!samba__find_axis(x, "transpose", &axis1, 0)) return NULL;
    samba_shape axes = x->shape;
    for (int32_t k = 0; k < axes.ndim; k++)
        axes.dim[k] = k;
    axes.dim[axis0] = axis1;
    axes.dim[axis1] = axis0;
    return samba_permute(x, axes);
}

SAMBA__FN bool samba__permute_shape(samba_call *c)
{
    if (!samba__expect_dims(c)) return false;
    const samba_shape *x = &c->in[0].shape;

    int32_t seen = 0;
    c->out[0] = c->in[0];
    int32_t named = c->n_attr == x->ndim ? x->ndim : 0;
    for (int32_t i = 0; i < named; i++) {
        if (c->attr[i] < 0 || c->attr[i] >= named) break;
        seen |= 1 << c->attr[i];
        c->out[0].shape.dim[i] = x->dim[c->attr[i]];
    }

    if (c->n_attr != x->ndim || seen != (1 << x->ndim) - 1)
        return samba_refuse(c, SAMBA_EARG, "the axes must name all %d axes of %S once", x->ndim, x);
    return true;
}

SAMBA__KERNEL void samba__permute_kernel(const samba_args *a)
{
    ptrdiff_t step[SAMBA_MAX_DIMS];
    for (int32_t i = 0; i < a->n_attr; i++)
        step[i] = (ptrdiff_t)samba__inner(&a->in_spec[0].shape, a->attr[i]);
    samba__copy_steps(a, 0, step);
}

SAMBA__FN void samba__permute_vjp(samba_vjp *g)
{
    samba_shape inverse = g->in[0]->shape;
    for (int32_t i = 0; i < g->n_attr; i++)
        inverse.dim[g->attr[i]] = i;
    g->din[0] = samba_permute(g->dout[0], inverse);
}

/* slice: attributes begin, end, step for each axis; dx = dy padded back, step - 1 zeros between */
SAMBA__OP_API samba_tensor *samba_slice(samba_tensor *x, int32_t axis, int32_t begin, int32_t end,
                                        int32_t step)
{
    int32_t attr[SAMBA__SLICE_WORDS * SAMBA_MAX_DIMS];
    if (!samba__find_axis(x, "slice", &axis, 0)) return NULL;

    int32_t length = x->shape.dim[axis];
    if (step == 1 && (begin == 0 || begin == -length) && end >= length) return x;

    for (int32_t i = 0; i < x->shape.ndim; i++) {
        int32_t d = x->shape.dim[i], last = end < 0 ? end + d : end;
        attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_BEGIN] = 0;
        attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_STOP] = d;
        attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_STEP] = 1;

        if (i != axis) continue;
        attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_BEGIN] = begin < 0 ? begin + d : begin;
        attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_STOP] = last > d ? d : last;
        attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_STEP] = step;
    }
    return samba__emit1(SAMBA__OP_slice, x, attr, SAMBA__SLICE_WORDS * x->shape.ndim);
}

SAMBA__FN bool samba__slice_shape(samba_call *c)
{
    if (!samba__expect(c, 1, 1, c->n_in == 1 ? SAMBA__SLICE_WORDS * c->in[0].shape.ndim : 0))
        return false;

    c->out[0] = c->in[0];
    for (int32_t i = 0; i < c->in[0].shape.ndim; i++) {
        int32_t begin = c->attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_BEGIN],
                end = c->attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_STOP],
                step = c->attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_STEP];
        int32_t d = c->in[0].shape.dim[i];
        if (begin < 0 || begin >= end || end > d || step < 1)
            return samba_refuse(
                c, SAMBA_ERANGE,
                "%d:%d:%d takes nothing of axis %d, which has %d elements; begin must be below end and step at least 1",
                begin, end, step, i, d);

        c->out[0].shape.dim[i] = (end - begin - 1) / step + 1;
    }
    return true;
}

SAMBA__KERNEL void samba__slice_kernel(const samba_args *a)
{
    ptrdiff_t step[SAMBA_MAX_DIMS];
    int64_t start = 0;
    for (int32_t i = 0; i < a->in_spec[0].shape.ndim; i++) {
        int64_t inner = samba__inner(&a->in_spec[0].shape, i);
        start += a->attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_BEGIN] * inner;
        step[i] = (ptrdiff_t)(a->attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_STEP] * inner);
    }
    samba__copy_steps(a, (ptrdiff_t)start, step);
}

SAMBA__FN void samba__slice_vjp(samba_vjp *g)
{
    int32_t attr[SAMBA__PAD_WORDS * SAMBA_MAX_DIMS + 1], n = 0;
    for (int32_t i = 0; i < g->in[0]->shape.ndim; i++) {
        int32_t begin = g->attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_BEGIN],
                step = g->attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_STEP],
                count = g->out[0]->shape.dim[i];

        attr[n++] = begin;
        attr[n++] = g->in[0]->shape.dim[i] - begin - ((count - 1) * step + 1);
        attr[n++] = step - 1;
    }

    attr[n++] = 0;
    g->din[0] = samba__emit1(SAMBA__OP_pad, g->dout[0], attr, n);
}

SAMBA__OP_API int32_t samba_split(samba_tensor *x, int32_t size, int32_t axis, samba_tensor **parts,
                                  int32_t max_parts)
{
    int32_t n = 0;
    if (x && !parts) {
        SAMBA__FAIL((x->session, SAMBA_EARG, "in samba_split(%s): parts is NULL", x->name));
        return 0;
    }

    if (parts)
        for (int32_t i = 0; i < max_parts; i++)
            parts[i] = NULL;

    if (!samba__find_axis(x, "split", &axis, 0)) return 0;
    if (size < 1) {
        samba_slice(x, axis, 0, size, 1); /* reports what is wrong */
        return 0;
    }

    for (int32_t begin = 0; begin < x->shape.dim[axis] && n < max_parts; n++) {
        int32_t left = x->shape.dim[axis] - begin, end = begin + (left < size ? left : size);
        parts[n] = samba_slice(x, axis, begin, end, 1);
        begin = end;
    }
    return n;
}

/* expand: dimensions of 1 are repeated; dx = dy summed over them. Attributes: the shape */
SAMBA__OP_API samba_tensor *samba_expand(samba_tensor *x, samba_shape shape)
{
    if (!x) return NULL;
    for (int32_t i = 0; i < shape.ndim && i < SAMBA_MAX_DIMS; i++) {
        int32_t from = i - (shape.ndim - x->shape.ndim);
        if (shape.dim[i] == -1 && from >= 0) shape.dim[i] = x->shape.dim[from];
    }
    return samba__same_shape(&x->shape, &shape)
        ? x
        : samba__emit1(SAMBA__OP_expand, x, shape.dim, shape.ndim);
}

SAMBA__FN bool samba__expand_shape(samba_call *c)
{
    if (!samba__expect_dims(c)) return false;
    samba_shape to = samba__shape_of(c->attr, c->n_attr), both;
    int32_t bad = 0;
    c->out[0].dtype = c->in[0].dtype;
    c->out[0].shape = to;
    if (!samba__sound_shape(&to) || !samba__broadcast(&c->in[0].shape, &to, &both, &bad)
        || !samba__same_shape(&both, &to))
        return samba_refuse(c, SAMBA_ESHAPE,
                            "%S cannot be expanded to %S; only dimensions of 1 stretch",
                            &c->in[0].shape, &to);
    return true;
}

SAMBA__KERNEL void samba__expand_kernel(const samba_args *a)
{
    ptrdiff_t step[SAMBA_MAX_DIMS];
    for (int32_t i = 0; i < a->n_attr; i++)
        step[i] = samba__stretched_step(&a->in_spec[0].shape, a->n_attr, i);
    samba__copy_steps(a, 0, step);
}

SAMBA__FN void samba__expand_vjp(samba_vjp *g)
{
    g->din[0] = samba__to_input(g, 0, g->dout[0]);
}

/* pad: attributes before, after, between (elements) for each axis, the value; dx = slice of dy */
SAMBA__OP_API samba_tensor *samba_pad(samba_tensor *x, samba_shape before, samba_shape after,
                                      float value)
{
    int32_t attr[SAMBA__PAD_WORDS * SAMBA_MAX_DIMS + 1], n = 0;
    for (int32_t i = 0; i < before.ndim && i < SAMBA_MAX_DIMS; i++) {
        attr[n++] = before.dim[i];
        attr[n++] = i < after.ndim ? after.dim[i] : -1;
        attr[n++] = 0;
    }
    attr[n++] = samba_float_attr(value);
    return samba__emit1(SAMBA__OP_pad, x, attr, n);
}

SAMBA__FN bool samba__pad_shape(samba_call *c)
{
    if (!samba__expect(c, 1, 1, c->n_attr)) return false;
    if (c->n_attr != SAMBA__PAD_WORDS * c->in[0].shape.ndim + 1)
        return samba_refuse(c, SAMBA_EARG,
                            "before and after must each have one count per axis of input 0");

    c->out[0] = c->in[0];
    for (int32_t i = 0; i < c->in[0].shape.ndim; i++) {
        int64_t before = c->attr[SAMBA__PAD_WORDS * i + SAMBA__PAD_BEFORE],
                after = c->attr[SAMBA__PAD_WORDS * i + SAMBA__PAD_AFTER],
                between = c->attr[SAMBA__PAD_WORDS * i + SAMBA__PAD_BETWEEN];
        int64_t d = before + after + (c->in[0].shape.dim[i] - 1) * (between + 1) + 1;
        if (before < 0 || after < 0 || between < 0 || d > 0x7FFFFFFF)
            return samba_refuse(c, SAMBA_ERANGE, "padding of axis %d is negative or too large", i);
        c->out[0].shape.dim[i] = (int32_t)d;
    }
    return true;
}

/* Where output coordinate i of a padded axis comes from; -1: from the padding. */
SAMBA__FN int64_t samba__pad_source(const int32_t *attr, int64_t i, int32_t dim)
{
    int64_t at = i - attr[SAMBA__PAD_BEFORE], step = (int64_t)attr[SAMBA__PAD_BETWEEN] + 1;
    return at < 0 || at % step || at / step >= dim ? -1 : at / step;
}

SAMBA__KERNEL void samba__pad_kernel(const samba_args *a)
{
    static const int32_t none[SAMBA__PAD_WORDS] = { 0, 0, 0 };
    const samba_shape *x = &a->in_spec[0].shape, *y = &a->out_spec[0].shape;
    size_t size = samba_dtype_size(a->out_spec[0].dtype);
    float value = samba_attr_float(a->attr[a->n_attr - 1]);

    int32_t last = y->ndim - 1;
    const int32_t *run
        = last < 0 ? none : a->attr + SAMBA__PAD_WORDS * last; /* before, after, between */
    int64_t n = last < 0 ? 1 : y->dim[last], n_x = last < 0 ? 1 : x->dim[last];

    for (int64_t u = a->begin; u < a->end; u++) {
        uint8_t *row = samba__out_bytes(a, u * n);
        int64_t rest = u, at = 0;
        for (int32_t i = last - 1; i >= 0; i--) {
            int64_t from
                = samba__pad_source(a->attr + SAMBA__PAD_WORDS * i, rest % y->dim[i], x->dim[i]);
            at = at < 0 || from < 0 ? -1 : at + from * samba__inner(x, i);
            rest /= y->dim[i];
        }

        for (int64_t j = 0; j < n; j++)
            samba__store(row + (size_t)j * size, &value, a->out_spec[0].dtype, 1);

        if (at < 0) continue;
        samba__copy_run(row + (size_t)run[0] * size, run[2] + 1, samba__in_bytes(a, 0, at), 1, n_x,
                        size);
    }
}

SAMBA__FN void samba__pad_vjp(samba_vjp *g)
{
    int32_t attr[SAMBA__SLICE_WORDS * SAMBA_MAX_DIMS], n = 0;
    for (int32_t i = 0; i < g->in[0]->shape.ndim; i++) {
        int32_t before = g->attr[SAMBA__PAD_WORDS * i + SAMBA__PAD_BEFORE],
                step = g->attr[SAMBA__PAD_WORDS * i + SAMBA__PAD_BETWEEN] + 1;

        attr[n++] = before;
        attr[n++] = before + (g->in[0]->shape.dim[i] - 1) * step + 1;
        attr[n++] = step;
    }
    g->din[0] = samba__emit1(SAMBA__OP_slice, g->dout[0], attr, n);
}

/* cat: attribute axis; each dx is its slice of dy. Too many are joined with the result in front. */
SAMBA__FN samba_tensor *samba__join(samba_tensor *const *xs, int32_t n, int32_t axis, bool stack)
{
    samba_tensor *in[SAMBA_MAX_IN];
    int32_t m = 0;
    for (int32_t i = 0; i < n; m = 1) {
        for (; i < n && m < SAMBA_MAX_IN; i++)
            in[m++] = stack ? samba_unsqueeze(xs[i], axis) : xs[i];
        if (!in[0]) return NULL;
        if (m > 1) in[0] = samba__emit(in[0]->session, SAMBA__OP_cat, in, m, &axis, 1, NULL);
    }
    return in[0];
}

SAMBA__OP_API samba_tensor *samba_cat(samba_tensor *const *xs, int32_t n, int32_t axis)
{
    if (n < 1 || !xs || !xs[0]) return NULL;
    return samba__join(xs, n, samba__wrap_axis(xs[0], axis), false);
}

SAMBA__OP_API samba_tensor *samba_stack(samba_tensor *const *xs, int32_t n, int32_t axis)
{
    if (n < 1 || !xs || !xs[0]) return NULL;
    return samba__join(xs, n, axis < 0 ? axis + xs[0]->shape.ndim + 1 : axis, true);
}

SAMBA__FN bool samba__cat_shape(samba_call *c)
{
    if (!samba__expect(c, 1, SAMBA_MAX_IN, 1)
        || !samba__expect_axis(c, c->attr[SAMBA__AXIS_NUMBER]))
        return false;

    int64_t total = 0;
    for (int32_t i = 0; i < c->n_in; i++) {
        if (!samba__has(c, i)) return samba_refuse(c, SAMBA_EARG, "input %d is missing", i);
        samba_shape want = c->in[0].shape, got = c->in[i].shape;
        want.dim[c->attr[SAMBA__AXIS_NUMBER]]
            = got.ndim == want.ndim ? got.dim[c->attr[SAMBA__AXIS_NUMBER]] : 0;
        if (!samba__same_shape(&want, &got) || c->in[i].dtype != c->in[0].dtype)
            return samba_refuse(
                c, SAMBA_ESHAPE,
                "input %d is %T %S, which cannot join input 0: only axis %d may differ", i,
                (int)c->in[i].dtype, &got, c->attr[SAMBA__AXIS_NUMBER]);
        total += got.dim[c->attr[SAMBA__AXIS_NUMBER]];
    }

    c->out[0] = c->in[0];
    c->out[0].shape.dim[c->attr[SAMBA__AXIS_NUMBER]] = (int32_t)samba__min64(total, INT32_MAX);
    if (total > INT32_MAX) return samba_refuse(c, SAMBA_ERANGE, "the result has too many elements");
    return true;
}

SAMBA__FN void samba__cat_work(samba_work *w, const samba_call *c)
{
    w->units[0] = samba__outer(&c->out[0].shape, c->attr[SAMBA__AXIS_NUMBER]);
}

SAMBA__KERNEL void samba__cat_kernel(const samba_args *a)
{
    const samba_shape *out = &a->out_spec[0].shape;
    int64_t row = samba_count(out) / samba__outer(out, a->attr[SAMBA__AXIS_NUMBER]);

    for (int64_t u = a->begin; u < a->end; u++) {
        int64_t at = u * row;
        for (int32_t i = 0; i < a->n_in; i++) {
            const samba_shape *x = &a->in_spec[i].shape;
            int64_t n = x->dim[a->attr[SAMBA__AXIS_NUMBER]]
                * samba__inner(x, a->attr[SAMBA__AXIS_NUMBER]);
            memcpy(samba__out_bytes(a, at), samba__in_bytes(a, i, u * n),
                   (size_t)n * samba_dtype_size(a->out_spec[0].dtype));
            at += n;
        }
    }
}

SAMBA__FN void samba__cat_vjp(samba_vjp *g)
{
    int32_t at = 0;
    for (int32_t i = 0; i < g->n_in; i++) {
        int32_t n = g->in[i]->shape.dim[g->attr[SAMBA__AXIS_NUMBER]];
        if (samba__is_float(g->in[i]->dtype))
            g->din[i] = samba_slice(g->dout[0], g->attr[SAMBA__AXIS_NUMBER], at, at + n, 1);
        at += n;
    }
}

/* SambaFlow's labels and ids are int16, PyTorch's and ONNX's int64, those of token files uint16 or
   uint32: an op in front makes them i32, which ends the run if one does not fit. */
SAMBA__FN samba_tensor *samba__ids_as_i32(samba_tensor *ids)
{
    bool other = ids && (ids->dtype == SAMBA_I16 || samba__is_stored_only(ids->dtype));
    return other ? samba_cast(ids, SAMBA_I32) : ids;
}

/* ---- gather: out[i][j][k] = x[i][index[i][j][k]][k] for axis 1;
   dx[i][index[i][j][k]][k] += dy[i][j][k], j in order ---- */
SAMBA__OP_API samba_tensor *samba_gather(samba_tensor *x, int32_t axis, samba_tensor *index)
{
    int32_t attr = samba__wrap_axis(x, axis);
    return samba__emit2(SAMBA__OP_gather, x, samba__ids_as_i32(index), &attr, 1);
}

/* Is the index no longer than x, but along the gathered axis? */
SAMBA__FN bool samba__gather_fits(const samba_call *c, const samba_shape *x)
{
    const samba_shape *index = &c->in[1].shape;
    if (x->ndim != index->ndim || c->in[1].dtype != SAMBA_I32) return false;
    for (int32_t i = 0; i < x->ndim; i++)
        if (i != c->attr[SAMBA__GATHER_AXIS] && index->dim[i] > x->dim[i]) return false;
    return true;
}

SAMBA__FN bool samba__gather_shape(samba_call *c)
{
    if (!samba__expect(c, 2, 2, 1) || !samba__expect_axis(c, c->attr[SAMBA__GATHER_AXIS]))
        return false;
    c->out[0].dtype = c->in[0].dtype;
    c->out[0].shape = c->in[1].shape;
    if (c->in[1].dtype != SAMBA_I32)
        return samba_refuse(c, SAMBA_EDTYPE, "the index must be i32; use samba_cast");
    if (!samba__gather_fits(c, &c->in[0].shape))
        return samba_refuse(
            c, SAMBA_ESHAPE,
            "the index must have input 0's rank and, except along axis %d, at most its dimensions",
            c->attr[SAMBA__GATHER_AXIS]);
    return true;
}

/* Offset in x of element e of the index, whose value is the gathered axis; -1 if out of range. */
SAMBA__FN int64_t samba__gather_at(const samba_args *a, const samba_shape *x, const int32_t *index,
                                   int64_t e)
{
    const samba_shape *shape = &a->in_spec[1].shape;
    int64_t at = 0, rest = e;
    for (int32_t i = shape->ndim - 1; i >= 0; i--) {
        int64_t k
            = i == a->attr[SAMBA__GATHER_AXIS] ? samba__index(index + e) : rest % shape->dim[i];
        if (k < 0 || k >= x->dim[i]) {
            samba_fault_at(a, 1, (int32_t)k, e, 0, x->dim[i] - 1);
            return -1;
        }

        at += k * samba__inner(x, i);
        rest /= shape->dim[i];
    }
    return at;
}

SAMBA__KERNEL void samba__gather_kernel(const samba_args *a)
{
    size_t size = samba_dtype_size(a->out_spec[0].dtype);
    for (int64_t e = a->begin; e < a->end; e++) {
        int64_t at = samba__gather_at(a, &a->in_spec[0].shape, samba__in_i32(a, 1), e);
        if (at < 0)
            memset(samba__out_bytes(a, e), 0, size);
        else
            memcpy(samba__out_bytes(a, e), samba__in_bytes(a, 0, at), size);
    }
}

SAMBA__FN void samba__gather_vjp(samba_vjp *g)
{
    int32_t attr[1 + SAMBA_MAX_DIMS];
    attr[SAMBA__GATHER_AXIS] = g->attr[SAMBA__GATHER_AXIS];
    for (int32_t i = 0; i < g->in[0]->shape.ndim; i++)
        attr[SAMBA__GATHER_SHAPE + i] = g->in[0]->shape.dim[i];

    samba_tensor *dy = samba_cast(g->dout[0], SAMBA_F32); /* rows that meet are summed as f32 */
    samba_tensor *dx
        = samba__emit2(SAMBA__OP_gather_backward, dy, g->in[1], attr, 1 + g->in[0]->shape.ndim);
    g->din[0] = samba__to_input(g, 0, dx);
}

/* gather_backward: attributes axis, then the shape of x. One unit is everything below one index of
   the first axis, or all if that is the gathered one: elements that may meet stay in order. */
SAMBA__FN bool samba__gather_backward_shape(samba_call *c)
{
    if (!samba__expect(c, 2, 2, c->n_attr)) return false;
    if (c->n_attr != 1 + c->in[0].shape.ndim || c->n_attr < 2)
        return samba_refuse(c, SAMBA_EARG, "malformed call");
    if (!samba__expect_f32(c, 0) || !samba__expect_axis(c, c->attr[SAMBA__GATHER_AXIS]))
        return false;

    samba_shape *x = &c->out[0].shape;
    c->out[0].dtype = SAMBA_F32;
    *x = samba__shape_of(c->attr + SAMBA__GATHER_SHAPE, c->n_attr - SAMBA__GATHER_SHAPE);
    if (!samba__same_shape(&c->in[0].shape, &c->in[1].shape) || !samba__gather_fits(c, x)
        || !samba__sound_shape(x))
        return samba_refuse(c, SAMBA_ESHAPE, "gradient and index do not fit %S", x);
    return true;
}

SAMBA__FN void samba__gather_backward_work(samba_work *w, const samba_call *c)
{
    w->units[0] = c->attr[SAMBA__GATHER_AXIS] == 0 ? 1 : c->out[0].shape.dim[0];
    w->flops = samba_count(&c->in[0].shape);
}

SAMBA__KERNEL void samba__gather_backward_kernel(const samba_args *a)
{
    const samba_shape *x = &a->out_spec[0].shape;
    int64_t units = a->attr[SAMBA__GATHER_AXIS] == 0 ? 1 : x->dim[0], size = samba_count(x) / units;
    int64_t from = a->attr[SAMBA__GATHER_AXIS] == 0 ? 1 : a->in_spec[0].shape.dim[0];
    int64_t n = samba_count(&a->in_spec[0].shape) / from;

    for (int64_t u = a->begin; u < a->end; u++) {
        memset(a->out[0] + u * size, 0, (size_t)size * 4);
        if (u >= from) continue; /* no index names this part of x */

        for (int64_t e = u * n; e < (u + 1) * n; e++) {
            int64_t at = samba__gather_at(a, x, samba__in_i32(a, 1), e);
            if (at >= 0) a->out[0][at] += a->in[0][e];
        }
    }
}
SAMBA__GRAD1(gather_backward, samba_gather(dy, g->attr[SAMBA__GATHER_AXIS], g->in[1]))

/* ---- write_rows: cache[..][row[b][t]] <- x[..][t], t in order ---- */
SAMBA__OP_API samba_tensor *samba_write_rows(samba_tensor *cache, samba_tensor *x,
                                             samba_tensor *row)
{
    return samba__emit3(SAMBA__OP_write_rows, cache, x, row, NULL, 0);
}

SAMBA__FN bool samba__write_rows_shape(samba_call *c)
{
    if (!samba__expect(c, 3, 3, 0)) return false;
    if (c->in[1].dtype != c->in[0].dtype)
        return samba_refuse(c, SAMBA_EDTYPE,
                            "rows of %T do not go into a buffer of %T: samba_cast them",
                            (int)c->in[1].dtype, (int)c->in[0].dtype);

    const samba_shape *y = &c->in[0].shape, *row = &c->in[SAMBA__WRITE_ROWS_ROW].shape;
    samba_shape x = c->in[1].shape;
    int32_t T = y->ndim >= 2 && x.ndim == y->ndim ? x.dim[x.ndim - 2] : 0;
    if (T) x.dim[x.ndim - 2] = y->dim[y->ndim - 2];
    if (!T || !samba__same_shape(&x, y))
        return samba_refuse(
            c, SAMBA_ESHAPE,
            "rows %S do not go into a buffer %S: only the last dimension but one may differ",
            &c->in[1].shape, y);

    bool fits = row->ndim >= 1 && row->ndim <= 2 && row->dim[row->ndim - 1] == T
        && (row->ndim == 1 || (y->ndim > 2 && row->dim[0] == y->dim[0]));
    if (c->in[SAMBA__WRITE_ROWS_ROW].dtype != SAMBA_I32 || !fits)
        return samba_refuse(
            c, SAMBA_ESHAPE,
            "input 2 says which row each of the %d goes to: i32 (%d), or with the first dimension before it",
            T, T);

    c->out[0] = c->in[0];
    c->n_out = 1;
    return true;
}

SAMBA__FN void samba__write_rows_work(samba_work *w, const samba_call *c)
{
    w->units[0] = samba__outer(&c->in[0].shape, c->in[0].shape.ndim - 2);
    w->flops = samba_count(&c->in[1].shape);
}

SAMBA__KERNEL void samba__write_rows_kernel(const samba_args *a)
{
    const samba_shape *y = &a->out_spec[0].shape, *row = &a->in_spec[SAMBA__WRITE_ROWS_ROW].shape;
    int64_t S = y->dim[y->ndim - 2], D = y->dim[y->ndim - 1], T = row->dim[row->ndim - 1];
    int64_t per_list = row->ndim == 1 ? INT64_MAX : samba__outer(y, y->ndim - 2) / y->dim[0];
    size_t bytes = (size_t)D * samba_dtype_size(a->out_spec[0].dtype); /* of a row */

    for (int64_t u = a->begin; u < a->end; u++) {
        const int32_t *at = samba__in_i32(a, 2) + u / per_list * T;
        for (int64_t t = 0; t < T; t++) {
            int32_t to = samba__index(at + t);
            if (to < -1 || to >= S)
                samba_fault_at(a, 2, to, u / per_list * T + t, -1, (int32_t)S - 1);
            else if (to >= 0)
                memcpy(samba__out_bytes(a, (u * S + to) * D),
                       samba__in_bytes(a, 1, (u * T + t) * D), bytes);
        }
    }
}

/* ---- lookup: y[t] = w[id[t]], rows of C numbers; dw[v] = sum of dy[t] over all t with id[t] = v:
       for (t = 0; t < T; t++)
           for (c = 0; c < C; c++)
               dw[id[t]][c] += dy[t][c];
   ---- */
SAMBA__OP_API samba_tensor *samba_lookup(samba_tensor *ids, samba_tensor *w)
{
    return samba__emit2(SAMBA__OP_lookup, samba__ids_as_i32(ids), w, NULL, 0);
}
SAMBA__MATCHES(lookup, "i:*,w:vc->*c", 0)

/* w (n,k), or packed: inputs ids, packed, scale or NULL; attributes n, k. */
SAMBA__KERNEL void samba__lookup_kernel(const samba_args *a)
{
    const int32_t *id = samba__in_i32(a, 0);
    const uint16_t *scale = (const uint16_t *)(const void *)a->in[SAMBA__LOOKUP_PACKED_SCALE];
    bool packed = a->n_attr > 0;
    samba_dtype type = a->in_spec[1].dtype;
    int64_t n = packed ? a->attr[SAMBA__PACKED_ROWS] : a->in_spec[1].shape.dim[0],
            k = samba__last_dim(a->out_spec);

    for (int64_t t = a->begin; t < a->end; t++) {
        int32_t row = samba__index(id + t);
        bool good = row >= 0 && row < n;
        int64_t j = good ? row : 0;
        float *y = a->out[0] + t * k;

        if (!packed)
            samba__load(y, samba__in_bytes(a, 1, j * k), type, k);
        else
            samba__unpack_any(y, samba__packed_at(a->in[1], type, k, j), samba__panel_row(type),
                              samba__scale_at(scale, k, j), type, 0, k, 1);

        if (!good) samba_fault_at(a, 0, row, t, 0, (int32_t)n - 1);
    }
}

SAMBA__FN void samba__lookup_vjp(samba_vjp *g)
{
    const int32_t *rows = g->in[1]->shape.dim;
    g->din[1] = samba__emit2(SAMBA__OP_lookup_backward, g->dout[0], g->in[0], rows, 1);
}

SAMBA__FN bool samba__lookup_packed_shape(samba_call *c)
{
    if (!samba__expect(c, 2, 3, 2)) return false;
    int32_t n = c->attr[SAMBA__PACKED_ROWS], k = c->attr[SAMBA__PACKED_COLUMNS];
    if (!samba__expect_packed(c, n, k)) return false;
    if (c->in[0].dtype != SAMBA_I32) return samba_refuse(c, SAMBA_EDTYPE, "ids must be i32");
    c->out[0].dtype = SAMBA_F32;
    c->out[0].shape = c->in[0].shape;
    return samba__append_dim(c, k);
}

SAMBA__KERNEL void samba__lookup_packed_kernel(const samba_args *a)
{
    samba__lookup_kernel(a);
}

/* lookup_backward: attribute rows. */
SAMBA__FN bool samba__lookup_backward_shape(samba_call *c)
{
    samba__binding b;
    if (!samba__expect(c, 2, 2, 1) || !samba__match("*c,i:*->*c", c, &b)) return false;
    c->out[0].shape = samba_scalar_shape();
    return samba__append_dim(c, c->attr[SAMBA__TABLE_ROWS])
        && samba__append_dim(c, b.letter['c' - 'a']);
}

/* Zeros. Many of them are written past the cache, so that memory is not read first. */
SAMBA__FN void samba__clear(float *y, int64_t n)
{
#if SAMBA__X86
    if (n >= 1 << 20 && (uintptr_t)y % 16 == 0) {
        /* A line of the cache at a time: one store a turn takes up to twice as long. */
        for (; n >= 16; n -= 16, y += 16) {
            _mm_stream_ps(y, _mm_setzero_ps());
            _mm_stream_ps(y + 4, _mm_setzero_ps());
            _mm_stream_ps(y + 8, _mm_setzero_ps());
            _mm_stream_ps(y + 12, _mm_setzero_ps());
        }
        _mm_sfence();
    }
#endif

    memset(y, 0, (size_t)n * sizeof *y);
}

/* Phase 0 links, in scratch, the tokens of each row in order; phase 1 sums them, rows apart: a unit
   has so many rows, of which so many columns are summed at a time. */
enum { SAMBA__LOOKUP_ROWS = 64, SAMBA__LOOKUP_COLUMNS = SAMBA__IS_SMALL ? 16 : 64 };

SAMBA__FN void samba__lookup_backward_work(samba_work *w, const samba_call *c)
{
    w->n_phases = 2;
    w->units[0] = 1;
    w->units[1] = samba__ceil_div(c->out[0].shape.dim[0], SAMBA__LOOKUP_ROWS);
    w->scratch = 4 * (samba_count(&c->in[1].shape) + c->out[0].shape.dim[0]);
    w->flops = samba_count(&c->in[0].shape) + samba_count(&c->out[0].shape);
}

SAMBA__FN void samba__link_tokens(const samba_args *a, int32_t *first, int64_t rows, int32_t *next)
{
    const int32_t *id = samba__in_i32(a, 1);
    for (int64_t v = 0; v < rows; v++)
        first[v] = -1;

    for (int64_t t = samba_count(&a->in_spec[1].shape) - 1; t >= 0; t--) {
        int32_t row = samba__index(id + t);
        if (row < 0 || row >= rows) {
            samba_fault_at(a, 1, row, t, 0, (int32_t)rows - 1);
            continue;
        }
        next[t] = first[row];
        first[row] = (int32_t)t;
    }
}

SAMBA__GRAD1(lookup_backward, samba_lookup(g->in[1], dy))

/* The same, added to what is there: most rows stay untouched. */
SAMBA__FN bool samba__lookup_accumulate_shape(samba_call *c)
{
    return samba__sum_into(c, samba__lookup_backward_shape);
}

#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
#define samba__lookup_backward_kernel SAMBA__OF_NARROW(samba__lookup_backward_kernel)
#define samba__lookup_accumulate_kernel SAMBA__OF_NARROW(samba__lookup_accumulate_kernel)
#if SAMBA__VEC_LANES < 16

SAMBA__FN void samba__lookup_backward_kernel(const samba_args *a)
{
    int64_t rows = a->out_spec[0].shape.dim[0], n = a->out_spec[0].shape.dim[1];
    int32_t *first = (int32_t *)a->scratch, *next = first + rows;
    bool adds = a->n_in > 2; /* to what is there */

    if (a->phase == 0) {
        samba__link_tokens(a, first, rows, next);
        return;
    }

    int64_t begin = a->begin * SAMBA__LOOKUP_ROWS, end = a->end * SAMBA__LOOKUP_ROWS;
    end = samba__min64(end, rows);
    if (!adds) samba__clear(a->out[0] + begin * n, (end - begin) * n);

    for (int64_t v = begin; v < end; v++) {
        float *SAMBA__RESTRICT dw = a->out[0] + v * n;
        if (first[v] < 0) continue;

        for (int64_t at = 0; at < n; at += SAMBA__LOOKUP_COLUMNS) {
            int64_t width = samba__min64(SAMBA__LOOKUP_COLUMNS, n - at);
            float sum[SAMBA__LOOKUP_COLUMNS] = { 0.0f };
            for (int32_t t = first[v]; t >= 0; t = next[t]) {
                const float *dy = a->in[0] + t * n + at;
                for (int64_t j = 0; j < width; j++)
                    sum[j] += dy[j];
            }

            for (int64_t j = 0; j < width; j++)
                dw[at + j] += sum[j];
        }
    }
}

SAMBA__FN void samba__lookup_accumulate_kernel(const samba_args *a)
{
    samba__lookup_backward_kernel(a);
}
#endif
#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0


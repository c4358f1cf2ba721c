/* loss.h - the loss of a large vocabulary for samba.h, in pieces; labels of 16 bits.

   Needs samba.h before it. `#define SAMBA_LOSS_IMPLEMENTATION` in one file enables the code;
   SAMBA_LOSS_STATIC makes all functions private to the file. C99 or C++11. */
#ifndef SAMBA_LOSS_H
#define SAMBA_LOSS_H

#ifndef SAMBA_H
#error "loss.h: include samba.h before"
#endif

#ifndef SAMBA_LOSS_API
#if defined(SAMBA_LOSS_STATIC)
#define SAMBA_LOSS_API static inline
#elif defined(__cplusplus)
#define SAMBA_LOSS_API extern "C"
#else
#define SAMBA_LOSS_API extern
#endif
#endif

/* cross_entropy of affine(x, w, NULL), x (*,k), w (n,k), target ids (*), in pieces of at most
   `rows` rows (0: 256), mean or sum: with samba_program.memory the logits of one piece are there
   at a time. The compiler sums the pieces' gradients where they are stored. */
SAMBA_LOSS_API samba_tensor *samba_linear_cross_entropy(samba_tensor *x, samba_tensor *w,
                                                        samba_tensor *target, int32_t rows,
                                                        const samba_loss_opts *opts);

/* Labels that are stored as i16, i32 for a loss: 0 ... 65535, of which -100 alone (65436) stays
   what it is, a target that counts nothing. So 50256, the end of a text of GPT-2's, is a label. */
SAMBA_LOSS_API samba_tensor *samba_labels_from_i16(samba_tensor *labels);

#endif /* SAMBA_LOSS_H */

#if defined(SAMBA_LOSS_IMPLEMENTATION) && !defined(SAMBA_LOSS__IMPLEMENTED)
#define SAMBA_LOSS__IMPLEMENTED

SAMBA_LOSS_API samba_tensor *samba_linear_cross_entropy(samba_tensor *x, samba_tensor *w,
                                                        samba_tensor *target, int32_t rows,
                                                        const samba_loss_opts *opts)
{
    samba_loss_opts sum = { SAMBA_REDUCE_MEAN, false, 0, 0.0f };
    if (!x || !w || !target) return NULL;
    if (opts) sum = *opts;
    if (sum.reduction == SAMBA_REDUCE_NONE) {
        samba_fail(x->session, SAMBA_EARG,
                   "in linear_cross_entropy: the reduction must be mean or "
                   "sum; for none, use samba_cross_entropy_with");
        return NULL;
    }
    bool is_other = target->dtype == SAMBA_I16 || target->dtype == SAMBA_I64
        || target->dtype == SAMBA_U16 || target->dtype == SAMBA_U32;
    if (is_other) target = samba_cast(target, SAMBA_I32);
    bool mean = sum.reduction == SAMBA_REDUCE_MEAN;
    int32_t ignored = sum.use_ignore_index ? sum.ignore_index : -100;
    sum.reduction = SAMBA_REDUCE_SUM;
    x = samba_reshape(x, SAMBA_SHAPE(-1, x->shape.dim[x->shape.ndim - 1]));
    target = samba_reshape(target, SAMBA_SHAPE(-1));
    if (!x || !target) return NULL;
    samba_tensor *loss = NULL;
    int32_t n = x->shape.dim[0], step = rows > 0 ? rows : 256;
    for (int32_t at = 0, end; at < n; at = end) {
        end = n - at < step ? n : at + step;
        samba_tensor *part = samba_affine(samba_slice(x, 0, at, end, 1), w, NULL);
        part = samba_cross_entropy_with(part, samba_slice(target, 0, at, end, 1), &sum);
        loss = at ? samba_add(loss, part) : part;
    }
    if (!mean) return loss;
    samba_tensor *counts = samba_ne(target, samba_number(target->session, (float)ignored));
    return samba_div(loss, samba_sum(samba_cast(counts, SAMBA_F32), SAMBA_ALL_AXES, false));
}

SAMBA_LOSS_API samba_tensor *samba_labels_from_i16(samba_tensor *labels)
{
    if (!labels) return NULL;
    samba_tensor *id = samba_cast(labels, SAMBA_F32); /* exact */
    samba_tensor *is_high = samba_lt(id, samba_number(labels->session, 0.0f));
    samba_tensor *is_ignored = samba_eq(id, samba_number(labels->session, -100.0f));
    id = samba_where(is_high, samba_where(is_ignored, id, samba_shift(id, 65536.0f)), id);
    return samba_cast(id, SAMBA_I32);
}
#endif

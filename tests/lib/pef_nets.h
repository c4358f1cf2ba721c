// A net that tests/core/pef.c and the fuzzers of PEFs compile. Include after samba.h.
#ifndef PEF_NETS_H
#define PEF_NETS_H

// Ops with many attributes and with values that are indices.
static inline void trace_many_attributes(samba_session *s, samba_program *p)
{
    samba_tensor *image = samba_randn(s, "image", SAMBA_SHAPE(1, 2, 5, 5));
    samba_tensor *label = samba_randint(s, "label", 3, SAMBA_SHAPE(4));
    samba_conv_opts conv = { { 2, 1 }, { 1, 1 }, { 1, 2 }, 2 };
    samba_pool_opts pool = { { 2, 2 }, { 1, 1 }, { 1, 1 }, true, true };

    samba_tensor *h = samba_batchnorm(samba_conv2d(image, "conv", 4, 2, &conv), "norm");
    h = samba_dropout(samba_avg_pool2d(samba_max_pool2d(h, &pool), &pool), "drop", 0.5f);
    h = samba_adaptive_avg_pool2d(h, 3, 2);
    h = samba_permute(samba_reshape(h, SAMBA_SHAPE(4, 3, 2)), SAMBA_AXES(0, 2, 1));
    h = samba_pad(h, SAMBA_SHAPE(0, 1, 0), SAMBA_SHAPE(0, 0, 2), 0.5f);
    h = samba_slice(h, 1, 0, 3, 2);

    samba_tensor *index = samba_cast(samba_argmax(h, 2, true), SAMBA_I32);
    h = samba_add(samba_gather(h, 2, index), h);
    h = samba_scaled_dot_product_attention(h, h, h, NULL, NULL);
    samba_tensor *twice[2] = { h, h };
    h = samba_layernorm(samba_cat(twice, 2, 1), "ln");
    h = samba_rmsnorm(samba_linear(samba_flatten(h, 1), "head", 3), "rms");
    samba_tensor *table = samba_mean(samba_embedding(label, "table", 3, 3), SAMBA_ALL_AXES, false);
    h = samba_where(samba_gt(h, table), h, samba_max(h, SAMBA_AXES(1), true));

    p->loss = samba_cross_entropy(samba_log_softmax(h, 1), label);
    p->optim.kind = SAMBA_ADAMW;
    p->optim.max_grad_norm = 1.0f;
}

#endif

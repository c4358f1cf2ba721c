// Nets of images, for nets.c and numerics.c; torch_nets.py has the same.
#ifndef BENCH_NETS_H
#define BENCH_NETS_H

static samba_tensor *lenet(samba_tensor *x)
{
    const samba_pool_opts by_2 = { .kernel = { 2, 2 } };
    x = samba_max_pool2d(
        samba_relu(samba_conv2d(x, "conv1", 6, 5, &(samba_conv_opts){ .padding = { 2, 2 } })),
        &by_2);
    x = samba_flatten(samba_max_pool2d(samba_relu(samba_conv2d(x, "conv2", 16, 5, NULL)), &by_2),
                      1);
    x = samba_relu(samba_linear(samba_relu(samba_linear(x, "fc1", 120)), "fc2", 84));
    return samba_linear(x, "fc3", 10);
}

// He et al., "Deep residual learning", 2016, with one block for each of 16, 32 and 64 channels.
static samba_tensor *resnet8(samba_tensor *x)
{
    char name[32];
    x = samba_relu(samba_batchnorm(
        samba_conv2d(x, "conv", 16, 3, &(samba_conv_opts){ .padding = { 1, 1 } }), "norm"));
    for (int i = 0; i < 3; i++) {
        int channels = 16 << i, stride = i ? 2 : 1;
        samba_conv_opts down = { .stride = { stride, stride }, .padding = { 1, 1 } },
                        same = { .padding = { 1, 1 } }, skip = { .stride = { stride, stride } };
#define NAME(part) (snprintf(name, sizeof name, part "%d", i + 1), name)
        samba_tensor *h = samba_conv2d(x, NAME("conv_a"), channels, 3, &down);
        h = samba_relu(samba_batchnorm(h, NAME("norm_a")));
        h = samba_conv2d(h, NAME("conv_b"), channels, 3, &same);
        h = samba_batchnorm(h, NAME("norm_b"));
        if (i) x = samba_conv2d(x, NAME("skip"), channels, 1, &skip);
#undef NAME
        x = samba_relu(samba_add(h, x));
    }
    return samba_linear(samba_flatten(samba_adaptive_avg_pool2d(x, 1, 1), 1), "fc", 10);
}

#endif

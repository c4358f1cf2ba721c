// What tests of convolution share: shapes, and where taps read. Include after samba.h and test.h.
#ifndef TEST_CONVOLUTION_H
#define TEST_CONVOLUTION_H

// Sides are (rows, columns); cg and og are the channels of a group.
typedef struct geometry {
    int images, groups, cg, og, in[2], out[2], kernel[2], stride[2], padding[2], dilation[2], taps;
    bool one; // 1-D
} geometry;

// The x that a tap meets at an output, or 0; c is a channel of x.
TEST_UNCHECKED static inline float met(const geometry *g, const float *x, int image, int c, int tap,
                                       int output)
{
    int k[2] = { tap / g->kernel[1], tap % g->kernel[1] }, at[2];
    int o[2] = { output / g->out[1], output % g->out[1] };
    for (int i = 0; i < 2; i++) {
        at[i] = o[i] * g->stride[i] - g->padding[i] + k[i] * g->dilation[i];
        if (at[i] < 0 || at[i] >= g->in[i]) return 0.0f;
    }
    return x[((image * g->groups * g->cg + c) * g->in[0] + at[0]) * g->in[1] + at[1]];
}

static inline samba_shape shape_of(const geometry *g, int n, int c, const int *sides)
{
    return g->one ? SAMBA_SHAPE(n, c, sides[1]) : SAMBA_SHAPE(n, c, sides[0], sides[1]);
}

#endif

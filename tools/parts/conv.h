/* ==== [conv] ================================================================================== */
/* ---- Convolution, as an implicit GEMM:
       y(n,o,oy,ox) = b(o) + sum over (c,ky,kx) of w(o,c,ky,kx) x(n,c,iy,ix),
       iy = oy stride - padding + ky dilation, ix likewise; outside x there are zeros.
   By definition, for the output (o,oy,ox) of one image and one group:
       for (sum = 0, c = 0; c < C; c++)
           for (ky = 0; ky < KH; ky++)
               for (kx = 0; kx < KW; kx++)
                   if (inside(iy, ix)) sum = fmaf(w[o][c][ky][kx], x[c][iy][ix], sum);
   (ky,kx) is a tap of the kernel. The gradients dx and dw are ops of their own, computed here; that
   of b is a sum of dy. For each image and group of channels all three ops are products C += A B,
   where im2col(x) is the matrix whose element ((c,ky,kx), (oy,ox)) is the x that a tap meets at an
   output:
       op   rows of C        columns of C   A                        B
       y    output channels  (oy,ox)        w                        im2col(x)
       dx   input channels   (iy,ix)        w as (c, (o,ky,kx))      im2col(dy), taps backwards
       dw   output channels  (c,ky,kx)      dy of an image           im2col(x), transposed
   Chetlur et al., "cuDNN: efficient primitives for deep learning", 2014.
   A target is an element (row, column) of what is made, y or dx; for dw, targets are those of y,
   and they are summed over. B is never stored, as it is `taps` times as large as the image. A tile
   of the image, with its halo and the zeros around, is packed; then each row of B consists of
   pieces of rows of the tile, and so it does for dw if the tile has channels last. Panels of B are
   gathered from there, or read where they are. With a stride, a tap meets a dy only at every
   stride-th element of dx: the elements of dx whose coordinates have one residue modulo the stride
   share their taps, and are a product of their own. Sums are chains over (c,ky,kx) for y, (o,ky,kx)
   for dx, the outputs of a share of images for dw.
   With a first operand of bf16 all three are products in bf16, as [micro-kernel] defines them.
   Their k runs in the same order, so that 32 steps are neighbors in (c,ky,kx) for y; in (o,ky,kx)
   for dx, where only taps of the residue count; in (oy,ox) for dw, where each image begins with a
   step 0, and shares are added in f32. The zeros around x and dy take part. Attributes: stride,
   padding, dilation as (rows, columns), groups; those that make dx or dw append its rows and
   columns. A 1-D convolution has one row. Entry points, which rows of [op-table] name by the stem
   conv: samba__conv_rule checks shapes, samba__conv_work cuts the work into units, samba__conv_run
   computes them; samba__convolution_vjp makes the graph of the gradients. ---- */
enum { SAMBA__CONV_WORDS = SAMBA__CONV_SIZE, SAMBA__CONV_BACKWARD_WORDS = SAMBA__CONV_END };

typedef enum samba__made { SAMBA__MAKES_Y, SAMBA__MAKES_DX, SAMBA__MAKES_DW } samba__made;

/* What shapes and attributes say, for all three ops. Sides are (rows, columns). */
typedef struct samba__conv_geometry {
    ptrdiff_t images, groups;
    ptrdiff_t in_channels, out_channels; /* of a group */
    ptrdiff_t input[2], kernel[2], output[2];
    ptrdiff_t stride[2], padding[2], dilation[2];
} samba__conv_geometry;

/* One axis, rows or columns, of the product that makes one of y, dx, dw. Along it, target t sees a
   window of the source that begins at position t stride + start and has span + 1 positions; tap k
   reads position first + k step of it. start may be negative, where the zeros are.

   An example: kernel 3, stride 2, padding 1, 5 inputs and so 3 outputs. For y, start is -1, span 2,
   first 0, step 1: y(t) reads x(2 t - 1), x(2 t), x(2 t + 1). For dx the arrows turn around:

       dx(u)   0       1       2       3       4        taps stand on the lines
               |     /   \     |     /   \     |
               1   2       0   1   2       0   1
               | /           \ | /           \ |
       dy(t)   0               1               2

   Of dx, elements whose u have one residue modulo 2 are targets of one product: u = 2 t reads dy(t)
   by tap 1 alone, u = 2 t + 1 reads dy(t + 1) by tap 0 and dy(t) by tap 2. start is 0, span 1 and
   step -1 for both; first is 0 for the even ones and 1 for the odd ones. */
typedef struct samba__axis {
    ptrdiff_t source, all_targets; /* how many there are: of x and y; for dx, of dy and dx */
    ptrdiff_t stride, start, span, step;
    ptrdiff_t residues, every; /* every so many taps meet the same residue */
    ptrdiff_t targets, taps;   /* that a residue has, at most */
} samba__axis;

/* The targets that share their taps: of y and dw all, of dx those of a residue of rows and one of
   columns. */
typedef struct samba__residue {
    ptrdiff_t number[2];
    ptrdiff_t targets[2];
    ptrdiff_t first[2]; /* where the first of its taps reads in a window */
    ptrdiff_t taps[2], n_taps;
    ptrdiff_t before; /* so many taps of others have their weights before those of its own */
} samba__residue;

/* The product, for all residues. Nothing changes once samba__conv_of has opened it. */
typedef struct samba__conv {
    samba__made made;
    samba__conv_geometry g;
    samba__axis axis[2]; /* rows, columns */
    /* C is rows x targets, and channels x taps terms are summed; of a group. */
    ptrdiff_t rows;     /* output channels; for dx input channels */
    ptrdiff_t channels; /* of the source: input channels; for dx output channels */
    ptrdiff_t n_taps;   /* that a residue has, at most */
    /* A row of a packed tile has all positions of a phase, 0, phases, 2 phases ..., before those of
       the next. So what lies beside each other in B does so in the tile, whatever the stride. */
    ptrdiff_t phases;
    bool strided_dx; /* there is more than one residue, unless x is small */
    bool in_bf16;
    samba_dtype w_type; /* of input 1: w, or for dw dy */
    /* Tiles: some rows of targets, and of the source some channels. A unit of work is an image and
       group with a tile of rows; for dw a share of images and group with a tile of channels. */
    ptrdiff_t tile_rows, row_tiles, tile_channels, channel_tiles;
    ptrdiff_t whole_rows, whole_channels; /* a tile has a multiple of these, or all */
    ptrdiff_t shares, tiles, units;
    ptrdiff_t scratch;      /* floats: transposed weights for dx, the sums of shares for dw */
    ptrdiff_t residue_sums; /* floats: the products of one residue of columns */
    bool tile_in_scratch;   /* it is too large for a thread's own memory */
    const struct samba__tile_limits *limits;
} samba__conv;

/* What v makes; on a device without the op, a compiler drops what is made for it. */
SAMBA__INLINE bool samba__makes_dx(const samba__conv *v)
{
    return SAMBA__HAS(convolution_backward_input) && v->made == SAMBA__MAKES_DX;
}

SAMBA__INLINE bool samba__makes_dw(const samba__conv *v)
{
    return SAMBA__HAS(convolution_backward_weight) && v->made == SAMBA__MAKES_DW;
}

SAMBA__INLINE bool samba__convolves_in_bf16(const samba__conv *v)
{
    return SAMBA__HAS_TYPE(BF16) && v->in_bf16;
}

/* The tile of the source that some rows of targets meet in some channels: cells from position
   first on. One tile serves all residues, so it has room for the one with most targets. */
typedef struct samba__tile {
    ptrdiff_t channel, channels;
    ptrdiff_t row; /* of targets, the first one */
    ptrdiff_t first[2], cells[2];
    ptrdiff_t width; /* cells of a phase in a row */
} samba__tile;

SAMBA__NOINLINE void samba__open_tile(samba__tile *b, const samba__conv *v, ptrdiff_t row_tile,
                                      ptrdiff_t channel_tile)
{
    b->channel = channel_tile * v->tile_channels;
    b->channels = samba__min_index(v->tile_channels, v->channels - b->channel);
    b->row = row_tile * v->tile_rows;

    const samba__axis *down = &v->axis[0], *across = &v->axis[1];
    ptrdiff_t rows = samba__min_index(v->tile_rows, down->targets - b->row);
    b->first[0] = down->start + b->row * down->stride;
    b->first[1] = across->start;
    b->cells[0] = (rows - 1) * down->stride + down->span + 1;
    b->cells[1] = (across->targets - 1) * across->stride + across->span + 1;
    SAMBA_ASSERT(b->channels > 0 && b->cells[0] > 0 && b->cells[1] > 0);
    b->width = samba__ceil_index(b->cells[1], v->phases);
}

/* Floats of a tile that stay in the cache, floats that vectors read or write past its end, and the
   terms that are summed at a time: with them a row of A and its offsets fit as well. */
enum {
    SAMBA__SMALL_TILE = 1024, /* the three with SAMBA__DIRECT */
    SAMBA__SMALL_OVERRUN = 4,
    SAMBA__SMALL_TERMS = 32,
    SAMBA__TILE_CACHED = SAMBA__DIRECT ? (int)SAMBA__SMALL_TILE : 65536,
    SAMBA__TILE_OVERRUN = SAMBA__DIRECT ? (int)SAMBA__SMALL_OVERRUN : 40,
    SAMBA__CONV_KC = SAMBA__DIRECT ? (int)SAMBA__SMALL_TERMS : SAMBA_GEMM_KC - 8
};

/* Floats that a thread's own memory has besides the buffers of a product. On a device it is as
   large as the PEF needs. */
#define SAMBA__TILE_ROOM \
    (SAMBA__DEVICE_HALF ? PTRDIFF_MAX \
                        : ((ptrdiff_t)SAMBA_LOCAL_BYTES - (ptrdiff_t)SAMBA__GEMM_LOCAL) / 4)

/* How large tiles are here, and, for a host, on the devices for which it tells how much memory a
   PEF takes there. */
typedef struct samba__tile_limits {
    ptrdiff_t cached, overrun, terms, room;
} samba__tile_limits;

static const samba__tile_limits samba__own_tiles
    = { SAMBA__TILE_CACHED, SAMBA__TILE_OVERRUN, SAMBA__CONV_KC, SAMBA__TILE_ROOM };
#if !SAMBA__DEVICE_HALF
static const samba__tile_limits samba__device_tiles
    = { SAMBA__SMALL_TILE, SAMBA__SMALL_OVERRUN, SAMBA__SMALL_TERMS, PTRDIFF_MAX };
#endif

/* The floats that a tile needs. A double, since attributes of an unchecked file could overflow an
   int64. */
SAMBA__FN double samba__tile_floats(const samba__conv *v)
{
    samba__tile b;
    samba__open_tile(&b, v, 0, 0);
    double cells = (double)b.width * (double)v->phases * (double)b.channels * (double)b.cells[0];
    double sums = (double)v->rows * (double)v->tile_rows * (double)v->axis[1].targets
        * (double)v->axis[1].residues;
    return cells + (double)v->limits->overrun + (v->strided_dx ? sums : 0.0);
}

SAMBA__FN ptrdiff_t samba__gcd(ptrdiff_t a, ptrdiff_t b)
{
    for (ptrdiff_t rest; b; a = b, b = rest)
        rest = a % b;
    return a;
}

/* Rows (0) or columns (1) of an image or a kernel; if it has only one side, that is the columns. */
SAMBA__FN int32_t samba__side(const samba_shape *s, int32_t sides, int32_t i)
{
    return i + sides < 2 ? 1 : s->dim[s->ndim - 2 + i];
}

SAMBA__FN void samba__swap_sides(samba__conv_geometry *g)
{
    ptrdiff_t *const sides[6]
        = { g->input, g->kernel, g->output, g->stride, g->padding, g->dilation };
    for (int i = 0; i < 6; i++) {
        ptrdiff_t rows = sides[i][0];
        sides[i][0] = sides[i][1];
        sides[i][1] = rows;
    }
}

SAMBA__FN void samba__open_geometry(samba__conv_geometry *g, samba__made made, const samba_spec *in,
                                    const samba_spec *out, const int32_t *attr)
{
    const samba_shape *x = made == SAMBA__MAKES_DX ? &out->shape : &in[0].shape;
    const samba_shape *w = made == SAMBA__MAKES_DW ? &out->shape : &in[1].shape;
    const samba_shape *y = made == SAMBA__MAKES_Y ? &out->shape : &in[made - 1].shape;

    g->images = x->dim[0];
    g->groups = attr[SAMBA__CONV_GROUPS];
    g->in_channels = w->dim[1];
    g->out_channels = w->dim[0] / g->groups;

    for (int32_t i = 0; i < 2; i++) {
        g->input[i] = samba__side(x, x->ndim - 2, i);
        g->kernel[i] = samba__side(w, x->ndim - 2, i);
        g->output[i] = samba__side(y, x->ndim - 2, i);
        g->stride[i] = attr[SAMBA__CONV_STRIDE + i];
        g->padding[i] = attr[SAMBA__CONV_PADDING + i];
        g->dilation[i] = attr[SAMBA__CONV_DILATION + i];
    }

    /* A single column is taken as a row, which lies in memory alike: then what is copied, and what
       products read, is as long as that, and not one element each. Sums have the same order. */
    bool column = g->input[1] == 1 && g->kernel[1] == 1 && g->output[1] == 1 && g->padding[1] == 0;
    if (column) samba__swap_sides(g);
}

/* Output t meets inputs t stride - padding + k dilation. */
SAMBA__FN void samba__open_axis(samba__axis *x, const samba__conv_geometry *g, int i)
{
    x->source = g->input[i];
    x->all_targets = x->targets = g->output[i];
    x->taps = g->kernel[i];
    x->stride = g->stride[i];
    x->start = -g->padding[i];
    x->span = (g->kernel[i] - 1) * g->dilation[i];
    x->step = g->dilation[i];
    x->residues = x->every = 1;
}

/* Input u meets output (u + padding - k dilation) / stride, if stride divides that. With u = t
   stride + residue this is t plus a number; taps whose number differs by stride / gcd(stride,
   dilation) meet the same residue. */
SAMBA__FN void samba__open_dx_axis(samba__axis *x, const samba__conv_geometry *g, int i)
{
    ptrdiff_t stride = g->stride[i], reach = (g->kernel[i] - 1) * g->dilation[i];
    ptrdiff_t shared = samba__gcd(stride, g->dilation[i]);

    x->source = g->output[i];
    x->all_targets = g->input[i];
    x->residues = samba__min_index(stride, g->input[i]);
    x->targets = samba__ceil_index(g->input[i], stride);
    x->every = stride / shared;
    x->taps = samba__ceil_index(g->kernel[i], x->every);

    x->stride = 1;
    x->start = (g->padding[i] - reach) / stride;
    x->span = (stride - 1 + g->padding[i]) / stride - x->start;
    x->step = -(g->dilation[i] / shared);
}

/* What follows from the shapes for each op: the axes, what is summed for what, what lies beside
   each other in B, and how images are dealt out. */
SAMBA__FN void samba__geometry_y(samba__conv *v)
{
    const samba__conv_geometry *g = &v->g;
    for (int i = 0; i < 2; i++)
        samba__open_axis(&v->axis[i], g, i);
    v->rows = g->out_channels;
    v->channels = g->in_channels;
    v->phases = g->stride[1]; /* outputs */
    v->shares = g->images;
}

SAMBA__FN void samba__geometry_dx(samba__conv *v, ptrdiff_t weights)
{
    const samba__conv_geometry *g = &v->g;
    for (int i = 0; i < 2; i++)
        samba__open_dx_axis(&v->axis[i], g, i);
    v->rows = g->in_channels;
    v->channels = g->out_channels;
    v->phases = 1; /* inputs of a residue */
    v->strided_dx = g->stride[0] > 1 || g->stride[1] > 1;
    v->shares = g->images;
    v->scratch = weights;
}

/* The images are dealt out to at most 8 shares, so that threads can work side by side; each sums a
   dw of its own, and these are added at the end. Fewer if w is large, as each share needs memory
   for a dw and a pass to add it. */
SAMBA__FN void samba__geometry_dw(samba__conv *v, ptrdiff_t weights)
{
    const samba__conv_geometry *g = &v->g;
    ptrdiff_t few = samba__min_index(samba__min_index(g->images, 8), (1 << 18) / weights);
    samba__geometry_y(v);
    v->phases = g->dilation[1]; /* taps */
    v->shares = samba__max_index(few, 1);
    v->scratch = weights * v->shares;
}

/* In bf16, tiles cut k, which is channels or for dw rows, where blocks of steps end. */
SAMBA__FN void samba__conv_wholes(samba__conv *v)
{
    const ptrdiff_t steps = SAMBA__BF16_STEPS;
    v->whole_rows = v->whole_channels = 1;

    if (samba__convolves_in_bf16(v) && samba__makes_dw(v))
        v->whole_rows = steps / samba__gcd(steps, v->axis[1].targets);
    else if (samba__convolves_in_bf16(v) && v->strided_dx) /* residues differ in taps */
        v->whole_channels = steps;
    else if (samba__convolves_in_bf16(v))
        v->whole_channels = steps / samba__gcd(steps, v->n_taps);
}

/* Half of n, in wholes. */
SAMBA__FN ptrdiff_t samba__halved(ptrdiff_t n, ptrdiff_t whole)
{
    return samba__ceil_index(samba__ceil_index(n, 2), whole) * whole;
}

/* Cuts the work of v into tiles that fit into the cache, and into 8 units at least. */
SAMBA__FN void samba__conv_cut(samba__conv *v)
{
    const ptrdiff_t targets = v->axis[0].targets;
    ptrdiff_t least = samba__ceil_index(8, v->shares * v->g.groups), one = 1; /* tiles of a share */
    ptrdiff_t *cut = &v->tile_rows;
    bool makes_dw = samba__makes_dw(v);
    v->tile_rows = targets;
    v->tile_channels = v->channels;

    if (makes_dw)
        cut = &v->tile_channels;
    else if (targets * v->axis[1].targets < 64 * least) /* too few targets to be shared */
        cut = &one;
    *cut = samba__ceil_index(*cut, samba__min_index(least, *cut));

    double most = (double)samba__min_index(v->limits->room, v->limits->cached);
    while (samba__tile_floats(v) > most) {
        ptrdiff_t rows = samba__halved(v->tile_rows, v->whole_rows);
        ptrdiff_t channels = samba__halved(v->tile_channels, v->whole_channels);
        bool fewer_rows = rows < v->tile_rows, fewer_channels = channels < v->tile_channels;
        if (!fewer_rows && !fewer_channels) break;

        bool deep = v->tile_channels * v->n_taps > 2 * v->limits->terms || !fewer_rows;
        if (!fewer_rows || (fewer_channels && deep))
            v->tile_channels = channels;
        else
            v->tile_rows = rows;
    }

    v->tile_in_scratch = samba__tile_floats(v) > (double)v->limits->room;
    if (v->tile_in_scratch) v->tile_rows = targets;

    v->row_tiles = samba__ceil_index(targets, v->tile_rows);
    v->channel_tiles = samba__ceil_index(v->channels, v->tile_channels);
    v->tiles = makes_dw ? v->channel_tiles : v->row_tiles;
    v->units = v->shares * v->g.groups * v->tiles;
    SAMBA_ASSERT(v->tile_rows > 0 && v->tile_channels > 0 && v->units > 0);
}

SAMBA__NOINLINE void samba__conv_of(samba__conv *v, const samba__tile_limits *limits,
                                    samba__made made, const samba_spec *in, const samba_spec *out,
                                    const int32_t *attr)
{
    memset(v, 0, sizeof *v);
    v->made = made;
    v->limits = limits;
    v->in_bf16 = in[0].dtype == SAMBA_BF16;
    v->w_type = in[1].dtype;
    samba__open_geometry(&v->g, made, in, out, attr);

    const samba__conv_geometry *g = &v->g;
    ptrdiff_t weights = g->groups * g->out_channels * g->in_channels * g->kernel[0] * g->kernel[1];
    if (samba__makes_dx(v))
        samba__geometry_dx(v, weights);
    else if (samba__makes_dw(v))
        samba__geometry_dw(v, weights);
    else
        samba__geometry_y(v);
    v->n_taps = v->axis[0].taps * v->axis[1].taps;
    SAMBA_ASSERT(v->axis[0].span >= 0 && v->axis[1].span >= 0);

    samba__conv_wholes(v);
    samba__conv_cut(v);
    if (samba__makes_dx(v) && v->strided_dx)
        v->residue_sums = v->rows * v->tile_rows * v->axis[1].targets;
}

/* The taps of the residue whose first tap is `first`, and those before it. */
SAMBA__FN void samba__residue_taps(const samba__conv *v, const ptrdiff_t *first, samba__residue *r)
{
    ptrdiff_t before[2];
    for (int i = 0; i < 2; i++) {
        ptrdiff_t n = v->g.kernel[i], every = v->axis[i].every, k = first[i];
        r->taps[i] = k < n ? samba__ceil_index(n - k, every) : 0;
        before[i] = k * (n / every) + samba__min_index(k, n % every);
        SAMBA_ASSERT(r->taps[i] <= v->axis[i].taps);
    }
    r->n_taps = r->taps[0] * r->taps[1];
    r->before = before[0] * v->g.kernel[1] + r->taps[0] * before[1];
}

/* All targets of y and dw, with all taps. */
SAMBA__FN void samba__open_all_targets(const samba__conv *v, samba__residue *r)
{
    memset(r, 0, sizeof *r);
    for (int i = 0; i < 2; i++) {
        r->targets[i] = v->axis[i].targets;
        r->taps[i] = v->axis[i].taps;
    }
    r->n_taps = v->n_taps;
}

/* A residue of dx: its targets, its first tap, and where that meets dy. */
SAMBA__FN void samba__open_residue(const samba__conv *v, ptrdiff_t number, samba__residue *r)
{
    ptrdiff_t tap[2];
    r->number[0] = number / v->axis[1].residues;
    r->number[1] = number % v->axis[1].residues;

    for (int i = 0; i < 2; i++) {
        const samba__axis *x = &v->axis[i];
        ptrdiff_t stride = v->g.stride[i], dilation = v->g.dilation[i], n = v->g.kernel[i], k = 0;
        ptrdiff_t at = r->number[i] + v->g.padding[i];
        while (k < n && (at - k * dilation) % stride)
            k++;
        r->targets[i] = samba__ceil_index(x->all_targets - r->number[i], stride);
        r->first[i] = (at - k * dilation) / stride - x->start;
        tap[i] = k;
        SAMBA_ASSERT(r->targets[i] > 0 && r->targets[i] <= x->targets);
    }

    samba__residue_taps(v, tap, r);
    for (int i = 0; i < 2; i++) /* from first to last, taps stay in the window */
        SAMBA_ASSERT(r->taps[i] == 0
                     || (r->first[i] <= v->axis[i].span
                         && r->first[i] + (r->taps[i] - 1) * v->axis[i].step >= 0));
}

/* The one rule behind the three ops: y is the shape that x and w make. */
SAMBA__FN bool samba__conv_shape(samba_call *c, const samba_shape *x, const samba_shape *w,
                                 samba_shape *y)
{
    const int32_t *attr = c->attr;
    int32_t n = x->ndim, groups = attr[SAMBA__CONV_GROUPS];
    bool one_row = attr[SAMBA__CONV_STRIDE] == 1 && attr[SAMBA__CONV_PADDING] == 0
        && attr[SAMBA__CONV_DILATION] == 1
        && (c->n_attr < SAMBA__CONV_BACKWARD_WORDS || attr[SAMBA__CONV_SIZE] == 1);
    if ((n != 3 && n != 4) || w->ndim != n || !samba__sound_shape(x) || !samba__sound_shape(w)
        || (n == 3 && !one_row))
        return samba_refuse(
            c, SAMBA_ESHAPE,
            "x must be (N,C,H,W) with w (O,C/groups,KH,KW), or (N,C,L) with w (O,C/groups,K) and no stride, padding or dilation of rows; x is %S, w %S",
            x, w);

    if (groups < 1 || x->dim[1] % groups || w->dim[0] % groups || x->dim[1] / groups != w->dim[1])
        return samba_refuse(
            c, SAMBA_ESHAPE,
            "with groups %d, x %S needs a w of (O,C/groups,...) with O a multiple of groups; w is %S",
            groups, x, w);

    *y = *x;
    y->dim[1] = w->dim[0];
    for (int32_t d = 2; d < n; d++) {
        int32_t i = 2 - n + d; /* row or column */
        int64_t stride = attr[SAMBA__CONV_STRIDE + i], padding = attr[SAMBA__CONV_PADDING + i];
        int64_t dilation = attr[SAMBA__CONV_DILATION + i];
        int64_t reach = dilation * (w->dim[d] - 1) + 1, room = x->dim[d] + 2 * padding;
        bool small = room + stride <= INT32_MAX && room + dilation <= INT32_MAX; /* see conv_of */
        if (stride < 1 || padding < 0 || dilation < 1 || reach > room || !small)
            return samba_refuse(
                c, SAMBA_ESHAPE,
                "stride %d, padding %d, dilation %d: the kernel spans %l of the %l that x and padding have along dimension %d; it must fit, stride and dilation be 1 or more, padding 0 or more, and all below 2^31",
                (int32_t)stride, (int32_t)padding, (int32_t)dilation, reach, room, d);

        y->dim[d] = (int32_t)samba__min64((room - reach) / stride + 1, INT32_MAX);
    }

    if (!samba__sound_shape(y))
        return samba_refuse(c, SAMBA_ESHAPE, "the output %S would be too large; use less padding",
                            y);
    return true;
}

/* Do tiles that are too large for the memory of threads fit into scratch? A device has memory for
   each tile, or refuses its PEF for want of that. */
SAMBA__FN bool samba__tiles_fit(const samba_call *c, samba__made made)
{
#if SAMBA__DEVICE_HALF
    (void)c;
    (void)made;
    return true;
#else
    samba__conv v;
    samba__conv_of(&v, &samba__own_tiles, made, c->in, c->out, c->attr);
    return !v.tile_in_scratch || samba__tile_floats(&v) * (double)v.units <= (double)INT32_MAX;
#endif
}

/* Operands are f32; or the first one is bf16, and then the second may be. */
SAMBA__FN bool samba__expect_factors(samba_call *c, int32_t least, int32_t most, int32_t words)
{
    if (!samba__expect(c, least, most, words) || !samba__expect_first_operand(c, 0)) return false;
    bool halves = c->in[0].dtype == SAMBA_BF16 && c->in[1].dtype == SAMBA_BF16;
    c->out[0].dtype = SAMBA_F32;
    return (halves || samba__expect_f32(c, 1)) && (most < 3 || samba__expect_f32(c, 2));
}

/* Backward: dx and dw have the rank of dy and, last, the attributes' rows and columns. */
SAMBA__FN bool samba__conv_rule(samba_call *c, samba__made made)
{
    bool forward = made == SAMBA__MAKES_Y, makes_dx = made == SAMBA__MAKES_DX;
    int32_t words = forward ? SAMBA__CONV_WORDS : SAMBA__CONV_BACKWARD_WORDS;
    if (!samba__expect_factors(c, 2, forward ? 3 : 2, words)) return false;

    samba_shape x = c->in[0].shape, w = c->in[1].shape, y, *s = makes_dx ? &x : &w;
    const samba_shape *dy = &c->in[makes_dx ? 0 : 1].shape, *b = &c->in[2].shape;
    int32_t groups = c->attr[SAMBA__CONV_GROUPS];
    int64_t channels = (int64_t)w.dim[1] * groups;
    int32_t n = s->ndim;

    if (makes_dx) x.dim[1] = channels < 1 || channels > INT32_MAX ? 0 : (int32_t)channels;
    if (made == SAMBA__MAKES_DW) w.dim[0] = dy->dim[1];
    if (made == SAMBA__MAKES_DW) w.dim[1] = groups < 1 ? 0 : x.dim[1] / groups;
    if (!forward && n <= 4)
        for (int32_t d = 2; d < n; d++)
            s->dim[d] = c->attr[words - n + d];

    if (!samba__conv_shape(c, &x, &w, &y)) return false;
    c->out[0].shape = forward ? y : *s;
    if (!forward && !samba__same_shape(&y, dy))
        return samba_refuse(c, SAMBA_ESHAPE, "dy is %S, but x %S and w %S make %S", dy, &x, &w, &y);
    if (!samba__tiles_fit(c, made))
        return samba_refuse(c, SAMBA_ESHAPE, "the kernel of w %S spans too much of x %S", &w, &x);

    if (samba__has(c, 2) && (b->ndim != 1 || b->dim[0] != w.dim[0]))
        return samba_refuse(c, SAMBA_ESHAPE,
                            "the bias %S must have one value for each of the %d output channels", b,
                            w.dim[0]);
    return true;
}

SAMBA__FN void samba__conv_words(const samba_conv_opts *opts, int32_t ndim, int32_t *attr)
{
    static const samba_conv_opts none = { { 0, 0 }, { 0, 0 }, { 0, 0 }, 0 };
    const samba_conv_opts *o = opts ? opts : &none;

    for (int32_t i = 0; i < 2; i++) {
        bool row = i == 0 && ndim == 3; /* 1-D: entry 0 of the options is for the columns */
        int32_t k = ndim == 3 ? 0 : i;
        attr[SAMBA__CONV_STRIDE + i] = row || o->stride[k] == 0 ? 1 : o->stride[k];
        attr[SAMBA__CONV_PADDING + i] = row ? 0 : o->padding[k];
        attr[SAMBA__CONV_DILATION + i] = row || o->dilation[k] == 0 ? 1 : o->dilation[k];
    }
    attr[SAMBA__CONV_GROUPS] = o->groups ? o->groups : 1;
}

/* Emits one of the backward ops, for an x or w of this shape. */
SAMBA__FN samba_tensor *samba__conv_backward(samba__made made, samba_tensor *a, samba_tensor *b,
                                             const int32_t *attr, const samba_shape *s)
{
    int32_t words[SAMBA__CONV_BACKWARD_WORDS], op = SAMBA__OP_convolution_backward_input;
    if (made == SAMBA__MAKES_DW) op = SAMBA__OP_convolution_backward_weight;
    if (!a || !b || s->ndim < 3 || s->ndim > SAMBA_MAX_DIMS) return NULL;
    memcpy(words, attr, SAMBA__CONV_WORDS * sizeof *words);
    for (int32_t i = 0; i < 2; i++)
        words[SAMBA__CONV_WORDS + i] = samba__side(s, s->ndim - 2, i);
    return samba__emit2(op, a, b, words, SAMBA__CONV_BACKWARD_WORDS);
}

/* 2 a b, or the largest number there is. */
SAMBA__FN int64_t samba__flops(int64_t a, int64_t b)
{
    return a > INT64_MAX / 2 / b ? INT64_MAX : 2 * a * b;
}

/* dx first transposes w, dw at last adds the sums of its shares. */
SAMBA__FN void samba__conv_work(samba_work *w, const samba_call *c, samba__made made)
{
    samba__conv v;
    samba__conv_of(&v, &samba__own_tiles, made, c->in, c->out, c->attr);
    const samba__axis *down = &v.axis[0], *across = &v.axis[1];
    int64_t rows = v.g.groups * v.rows, residues = down->residues * across->residues;
    w->flops = samba__flops(v.g.images * rows * down->targets * across->targets * residues,
                            v.channels * v.n_taps);

    w->n_phases = made == SAMBA__MAKES_Y ? 1 : 2;
    w->units[0] = made == SAMBA__MAKES_DX ? rows : v.units;
    w->units[1] = made == SAMBA__MAKES_DX ? v.units : rows;
    w->scratch = v.scratch * 4;
    if (v.tile_in_scratch) w->scratch += v.units * (int64_t)samba__tile_floats(&v) * 4;

#if !SAMBA__DEVICE_HALF
    samba__conv_of(&v, &samba__device_tiles, made, c->in, c->out, c->attr);
#endif
    double bytes = (double)SAMBA__NEED_GEMM + samba__tile_floats(&v) * 4;
    w->local = bytes < INT32_MAX ? (int32_t)bytes : INT32_MAX; /* more than there can be */
}

/* n cells of a phase of one row, `deep` channels of it: from[0], from[phases] ... to to[0],
   to[deep] ...; channels are a plane apart in the source. */
SAMBA__VECTORIZED SAMBA__FN void samba__pack_cells(const samba__conv *v, const samba__gemm_set *set,
                                                   const float *from, ptrdiff_t n, ptrdiff_t deep,
                                                   float *to)
{
    ptrdiff_t plane = v->axis[0].source * v->axis[1].source, phases = v->phases;

#if !SAMBA__DIRECT
    if (samba__makes_dw(v) && phases == 1) {
        samba__transpose(set, from, plane, n, deep, to, deep, v->axis[1].source);
        return;
    }
#endif

    (void)set;
    if (deep == 1 && phases == 1)
        memcpy(to, from, (size_t)n * sizeof *to);
    else if (deep == 1 && phases == 2)
        for (ptrdiff_t q = 0; q < n; q++)
            to[q] = from[2 * q];
    else
        for (ptrdiff_t c = 0; c < deep; c++, to++, from += plane)
            for (ptrdiff_t q = 0; q < n; q++)
                to[q * deep] = from[q * phases];
}

#if !SAMBA__DIRECT
/* n values of `deep` channels, a plane apart, become operands in bf16 with channels last. */
SAMBA__FN void samba__transpose_halves(const samba__gemm_set *set, const uint16_t *from,
                                       ptrdiff_t plane, ptrdiff_t n, ptrdiff_t deep, float *to)
{
    enum { WIDE = 64, HIGH = 16 }; /* whole vectors of channels */

    float piece[HIGH * WIDE];
    for (ptrdiff_t q = 0; q < n; q += WIDE) {
        ptrdiff_t wide = samba__min_index(n - q, WIDE);
        for (ptrdiff_t c = 0; c < deep; c += HIGH) {
            ptrdiff_t high = samba__min_index(deep - c, HIGH);
            for (ptrdiff_t k = 0; k < high; k++)
                set->load_operands(piece + k * WIDE, from + (c + k) * plane + q, SAMBA_BF16, wide);
            samba__transpose(set, piece, WIDE, wide, high, to + q * deep + c, deep, 0);
        }
    }
}
#endif

/* The same as samba__pack_cells, of bf16, which becomes operands. */
SAMBA__VECTORIZED SAMBA__FN void samba__pack_halves_of(const samba__conv *v,
                                                       const samba__gemm_set *set,
                                                       const uint16_t *from, ptrdiff_t n,
                                                       ptrdiff_t deep, float *to)
{
    ptrdiff_t plane = v->axis[0].source * v->axis[1].source, phases = v->phases;

#if !SAMBA__DIRECT
    if (phases == 1 && samba__makes_dw(v)) {
        samba__transpose_halves(set, from, plane, n, deep, to);
        return;
    }
    if (phases == 1) {
        set->load_operands(to, from, SAMBA_BF16, n);
        return;
    }
#endif

    (void)set;
    for (ptrdiff_t c = 0; c < deep; c++, to++, from += plane)
        for (ptrdiff_t q = 0; q < n; q++)
            to[q * deep] = samba__operand_of_bf16(from[q * phases]);
}

/* Packs a tile whose channels begin at value `at` of the source as (channel, row, phase, column),
   or for dw, transposed, as (row, phase, column, channel). */
SAMBA__FN void samba__pack_tile(const samba_args *a, const samba__conv *v, const samba__tile *b,
                                ptrdiff_t at, float *tile)
{
    const samba__gemm_set *set = samba__set_of(a->isa)->gemm;
    ptrdiff_t deep = samba__makes_dw(v) ? b->channels : 1;
    ptrdiff_t width = b->width * deep, phases = v->phases;
    const samba__axis *down = &v->axis[0], *across = &v->axis[1];

    for (ptrdiff_t i = 0; i < b->channels / deep * phases; i++) {
        /* Elements begin, begin + phases ... of a row go to cells left, left + 1 ... */
        ptrdiff_t channel = i / phases, phase = i % phases, first = b->first[1] + phase;
        ptrdiff_t left = samba__ceil_index(samba__max_index(-first, 0), phases);
        ptrdiff_t begin = first + left * phases;
        ptrdiff_t n = samba__ceil_index(across->source - begin, phases);
        n = samba__min_index(n, b->width - left);
        SAMBA_ASSERT(n <= 0 || (begin >= 0 && begin + (n - 1) * phases < across->source));

        /* A kernel of one column or row leaves out what a stride skips. */
        if (across->span == 0 && phases == across->stride && phase) continue;

        for (ptrdiff_t r = 0; r < b->cells[0]; r++) {
            ptrdiff_t row = b->first[0] + r;
            float *to = tile + ((channel * b->cells[0] + r) * phases + phase) * width;
            if (down->span == 0 && r % down->stride) continue;
            memset(to, 0, (size_t)width * sizeof *to); /* what lies outside the image */
            if (n <= 0 || row < 0 || row >= down->source) continue;

            ptrdiff_t from = at + (channel * down->source + row) * across->source + begin;
            to += left * deep;
            if (samba__convolves_in_bf16(v))
                samba__pack_halves_of(v, set, (const uint16_t *)(const void *)a->in[0] + from, n,
                                      deep, to);
            else
                samba__pack_cells(v, set, a->in[0] + from, n, deep, to);
        }
    }
}

/* A way through the cells of a tile, row by row. Rows of B are one of them and columns the other:
   over the taps and over the targets, or, for dw, the reverse. */
typedef struct samba__tile_walk {
    ptrdiff_t n[2], step[2];
} samba__tile_walk;

SAMBA__INLINE samba__tile_walk samba__over_taps(const samba__conv *v, const samba__residue *r)
{
    samba__tile_walk w = { { r->taps[0], r->taps[1] }, { v->axis[0].step, v->axis[1].step } };
    return w;
}

SAMBA__INLINE samba__tile_walk samba__over_targets(const samba__conv *v, const samba__residue *r,
                                                   const samba__tile *b)
{
    ptrdiff_t rows = samba__min_index(v->tile_rows, r->targets[0] - b->row);
    samba__tile_walk w = { { rows, r->targets[1] }, { v->axis[0].stride, v->axis[1].stride } };
    return w;
}

/* Where rows p ... p + n - 1 of B begin in the tile, of which a cell has `deep` channels. Those of
   one channel are the walk w from position `first` on; those of the next follow. */
SAMBA__FN void samba__im2col_rows(const samba__conv *v, const samba__tile *b,
                                  const samba__tile_walk *w, const ptrdiff_t *first, ptrdiff_t deep,
                                  ptrdiff_t p, ptrdiff_t n, int32_t *at)
{
    const ptrdiff_t width = w->n[1], phases = v->phases;
    ptrdiff_t c = p / width / w->n[0], row = p / width % w->n[0], x = p % width;

    for (ptrdiff_t u = 0; u < n; x = 0) {
        ptrdiff_t line = (c * b->cells[0] + first[0] + row * w->step[0]) * phases * b->width;
        for (; x < width && u < n; x++, u++) {
            ptrdiff_t cell = first[1] + x * w->step[1];
            SAMBA_ASSERT(cell >= 0 && cell < b->cells[1]);
            if (phases > 1) cell = cell % phases * b->width + cell / phases;
            at[u] = (int32_t)((line + cell) * deep);
        }

        if (++row == w->n[0]) {
            row = 0;
            c++;
        }
    }
}

/* The sums of residues in one row of dx, of all channels of a group, go to their places: of two
   residues as pairs, which vectors can write. */
SAMBA__VECTORIZED SAMBA__FN void samba__place_residues(const samba_args *a, const samba__conv *v,
                                                       const samba__residue *last, ptrdiff_t image,
                                                       ptrdiff_t first, const float *sums)
{
    const samba__axis *down = &v->axis[0], *across = &v->axis[1];
    ptrdiff_t rows = samba__min_index(v->tile_rows, last->targets[0] - first);
    ptrdiff_t wide = across->all_targets, by = v->g.stride[1];
    ptrdiff_t size = v->residue_sums, pairs = by == 2 ? wide / 2 : 0;

    for (ptrdiff_t i = 0; i < v->rows * rows; i++) {
        ptrdiff_t at = i / rows * v->tile_rows + i % rows;
        ptrdiff_t row = (first + i % rows) * v->g.stride[0] + last->number[0];
        float *dx = a->out[0] + ((image * v->rows + i / rows) * down->all_targets + row) * wide;
        const float *even = sums + at * (wide - pairs), *odd = sums + size + at * pairs;

        for (ptrdiff_t j = 0; j < pairs; j++) {
            dx[2 * j] = even[j];
            dx[2 * j + 1] = odd[j];
        }

        for (ptrdiff_t r = 0; r < across->residues; r++) {
            ptrdiff_t n = samba__ceil_index(wide - r, by);
            for (ptrdiff_t j = pairs; j < n; j++)
                dx[j * by + r] = sums[r * size + at * n + j];
        }
    }
}

/* C (+)= A B with B from one packed tile: what a unit of work gives samba__conv_tile. */
typedef struct samba__conv_term {
    float *c;
    ptrdiff_t c_row;
    const void *a; /* its terms are beside each other */
    samba_dtype a_type;
    bool rounded; /* they are operands in bf16 already */
    ptrdiff_t a_row;
    bool first;        /* C begins with this term */
    const float *bias; /* of rows, added after the last term; or NULL */
} samba__conv_term;

/* How many of these terms are summed at a time: in bf16, whole blocks of steps. */
SAMBA__FN ptrdiff_t samba__terms_at_once(const samba__conv *v, ptrdiff_t terms)
{
    const ptrdiff_t steps = samba__convolves_in_bf16(v) ? (ptrdiff_t)SAMBA__BF16_STEPS : 1;
    const ptrdiff_t most = samba__convolves_in_bf16(v) ? (ptrdiff_t)SAMBA__GATHERED_STEPS
                                                       : (ptrdiff_t)SAMBA__CONV_KC;
    ptrdiff_t parts = samba__ceil_index(terms, most);
    return samba__ceil_index(samba__ceil_index(terms, parts), steps) * steps;
}

SAMBA__FN void samba__conv_tile(const samba_args *a, const samba__conv *v, const samba__residue *r,
                                const samba__tile *b, const float *tile, const samba__conv_term *t)
{
    static const ptrdiff_t corner[2] = { 0, 0 };
    const bool makes_dw = samba__makes_dw(v);
    const samba__tile_walk taps = samba__over_taps(v, r), targets = samba__over_targets(v, r, b);
    const samba__tile_walk *down = makes_dw ? &targets : &taps,
                           *across = makes_dw ? &taps : &targets;
    const ptrdiff_t *first = makes_dw ? corner : r->first;
    SAMBA_ASSERT(across->step[1] == v->phases); /* its cells lie beside each other */

    ptrdiff_t deep = makes_dw ? b->channels : 1;
    ptrdiff_t terms = down->n[0] * down->n[1] * (makes_dw ? 1 : b->channels);
    ptrdiff_t most = samba__terms_at_once(v, terms);

    int32_t at[SAMBA__GATHERED_STEPS];
    samba__gathered g;
    g.m = v->rows;
    g.run = across->n[1] * deep;
    g.n = across->n[0] * g.run;
    g.step = across->step[0] * v->phases * b->width * deep;
    g.a_type = t->a_type;
    g.a_row = t->a_row;
    g.in_bf16 = samba__convolves_in_bf16(v);
    g.rounded = t->rounded;
    g.b = tile;
    g.at = at;
    g.c = t->c;
    g.c_row = t->c_row;

    for (ptrdiff_t p = 0; p < terms; p += g.k) {
        g.k = samba__min_index(most, terms - p);
        SAMBA_ASSERT(g.k > 0 && g.k <= SAMBA__GATHERED_STEPS); /* at[] has room */
        g.a = (const uint8_t *)t->a + (size_t)p * samba_dtype_size(t->a_type);
        g.accumulate = !t->first || p > 0;
        g.row_bias = p + g.k == terms ? t->bias : NULL;

        samba__im2col_rows(v, b, down, first, deep, p, g.k, at);
        samba__multiply_gathered(&g, a->local, a->isa);
    }
}

/* Memory of a thread for its units: sums of residues, then the tile. */
typedef struct samba__conv_memory {
    float *sums, *tile;
    bool packed;       /* the tile serves all residues */
    ptrdiff_t rounded; /* 1 + the group whose weights are operands in a->local, or 0 */
} samba__conv_memory;

/* The value of the source with which the channels of a tile begin. */
SAMBA__FN ptrdiff_t samba__conv_channels(const samba__conv *v, const samba__tile *b,
                                         ptrdiff_t image)
{
    ptrdiff_t plane = v->axis[0].source * v->axis[1].source;
    return (image * v->channels + b->channel) * plane;
}

/* Points t at term p of a group's weights. In bf16 a thread rounds them once for all its units, if
   its memory has room for them and they are not packed for tiles. */
SAMBA__FN void samba__open_conv_weights(const samba_args *a, const samba__conv *v, ptrdiff_t group,
                                        ptrdiff_t p, samba__conv_memory *m, samba__conv_term *t)
{
    const ptrdiff_t n = v->rows * t->a_row;
    const size_t size = samba_dtype_size(v->w_type);
    const uint8_t *w = (const uint8_t *)(const void *)a->in[1] + (size_t)(group * n) * size;
    const samba__set *set = samba__set_of(a->isa);

    t->a = w + (size_t)p * size;
    t->a_type = v->w_type;
    t->rounded = samba__convolves_in_bf16(v) && n <= SAMBA__GATHERED_ROOM
        && !samba__takes_tiles(set, (int64_t)v->rows);
    if (!t->rounded) return;

    float *operands = a->local + SAMBA__GATHERED_A;
    if (m->rounded != group + 1) set->gemm->load_operands(operands, w, v->w_type, n);
    m->rounded = group + 1;
    t->a = operands + p;
    t->a_type = SAMBA_F32;
}

/* A unit of y or dx: rows of targets of an image and group, from all tiles of channels in order.
   dx reads transposed weights, in scratch, after those of the residues before. */
SAMBA__FN void samba__conv_targets(const samba_args *a, const samba__conv *v,
                                   const samba__residue *r, ptrdiff_t unit, samba__conv_memory *m)
{
    const bool makes_dx = samba__makes_dx(v);
    ptrdiff_t image = unit / v->tiles, row_tile = unit % v->tiles, k = v->channels * r->n_taps;
    ptrdiff_t group = image % v->g.groups, row = group * v->rows;
    ptrdiff_t first_row = row_tile * v->tile_rows;
    const float *bias = !makes_dx && a->n_in > 2 ? a->in[2] : NULL;

    samba__conv_term t;
    t.c = a->out[0] + (image * v->rows * r->targets[0] + first_row) * r->targets[1];
    t.c_row = r->targets[0] * r->targets[1];
    t.a_row = k;
    if (makes_dx && v->strided_dx) {
        if (first_row >= r->targets[0]) return;
        t.c = m->sums + r->number[1] * v->residue_sums;
        t.c_row = v->tile_rows * r->targets[1];
    }

    ptrdiff_t terms = v->channel_tiles;
    if (r->n_taps == 0) { /* no tap meets this residue */
        memset(t.c, 0, (size_t)(v->rows * t.c_row) * sizeof *t.c);
        terms = 0;
    }

    for (ptrdiff_t i = 0; i < terms; i++) {
        samba__tile b;
        samba__open_tile(&b, v, row_tile, i);
        if (v->channel_tiles > 1 || !m->packed)
            samba__pack_tile(a, v, &b, samba__conv_channels(v, &b, image), m->tile);
        m->packed = true;

        ptrdiff_t p = b.channel * r->n_taps;
        if (makes_dx) {
            ptrdiff_t before = r->before * v->channels * v->rows * v->g.groups;
            t.a = (const float *)a->scratch + before + row * k + p;
            t.a_type = SAMBA_F32;
            t.rounded = samba__convolves_in_bf16(v);
        } else {
            samba__open_conv_weights(a, v, group, p, m, &t);
        }
        t.first = i == 0;
        t.bias = bias && i == v->channel_tiles - 1 ? bias + row : NULL;
        samba__conv_tile(a, v, r, &b, m->tile, &t);
    }

    if (makes_dx && v->strided_dx && r->number[1] == v->axis[1].residues - 1)
        samba__place_residues(a, v, r, image, first_row, m->sums);
}

/* A unit of dw: some channels of a group's inputs, from all tiles of rows of the images of a share,
   which are every shares-th one. Columns are in the order (tile of channels, row, column,
   channel). */
SAMBA__FN void samba__conv_weights(const samba_args *a, const samba__conv *v,
                                   const samba__residue *r, ptrdiff_t unit,
                                   const samba__conv_memory *m)
{
    ptrdiff_t share = unit / v->tiles, channel_tile = unit % v->tiles, groups = v->g.groups;
    ptrdiff_t images = samba__ceil_index(v->g.images - share / groups, v->shares);
    ptrdiff_t plane = r->targets[0] * r->targets[1];

    for (ptrdiff_t i = 0; i < images * v->row_tiles; i++) {
        ptrdiff_t image = share + i / v->row_tiles * v->shares * groups;
        samba__tile b;
        samba__open_tile(&b, v, i % v->row_tiles, channel_tile);

        samba__conv_term t;
        t.c_row = v->channels * v->n_taps;
        t.c = (float *)a->scratch + share * v->rows * t.c_row + b.channel * v->n_taps;
        size_t at = (size_t)(image * v->rows * plane + b.row * r->targets[1]);
        t.a = (const uint8_t *)(const void *)a->in[1] + at * samba_dtype_size(v->w_type);
        t.a_type = v->w_type;
        t.rounded = false;
        t.a_row = plane;
        t.first = i == 0;
        t.bias = NULL;

        samba__pack_tile(a, v, &b, samba__conv_channels(v, &b, image), m->tile);
        samba__conv_tile(a, v, r, &b, m->tile, &t);
    }
}

/* A row of dw: the sum of its shares, back in the order (channel, row, column). */
SAMBA__FN void samba__add_shares(const samba_args *a, const samba__conv *v, ptrdiff_t o)
{
    ptrdiff_t k = v->channels * v->n_taps;
    for (ptrdiff_t share = 0; share < v->shares; share++) {
        const float *from = (float *)a->scratch + (share * v->g.groups * v->rows + o) * k;
        for (ptrdiff_t channel = 0, next; channel < v->channels; channel = next) {
            next = samba__min_index(channel + v->tile_channels, v->channels);
            for (ptrdiff_t tap = 0; tap < v->n_taps; tap++) {
                float *sum = a->out[0] + o * k + tap;
                for (ptrdiff_t c = channel; c < next; c++, from++)
                    sum[c * v->n_taps] = share == 0 ? *from : sum[c * v->n_taps] + *from;
            }
        }
    }
}

/* A value of w, as an operand. */
SAMBA__INLINE float samba__weight_at(const samba_args *a, const samba__conv *v, ptrdiff_t at)
{
    if (!samba__convolves_in_bf16(v)) return a->in[1][at];
    if (v->w_type == SAMBA_BF16)
        return samba__operand_of_bf16(((const uint16_t *)(const void *)a->in[1])[at]);
    return samba__bf16_operand(samba__float_bits(a->in[1][at]));
}

/* Row c of the transposed weights of a group, for each residue that has taps. */
SAMBA__FN void samba__transpose_weights(const samba_args *a, const samba__conv *v, ptrdiff_t row)
{
    ptrdiff_t group = row / v->rows, c = row % v->rows, rows = v->rows * v->g.groups;
    ptrdiff_t down = v->axis[0].every, by = v->axis[1].every;
    ptrdiff_t n = v->g.kernel[0], m = v->g.kernel[1];
    const ptrdiff_t first = (group * v->channels * v->rows + c) * n * m;
    ptrdiff_t residues[2]
        = { samba__min_index(n, down), samba__min_index(m, by) }; /* that have taps */

    for (ptrdiff_t i = 0; i < residues[0] * residues[1]; i++) {
        ptrdiff_t k[2] = { i / residues[1], i % residues[1] };
        samba__residue r;
        samba__residue_taps(v, k, &r);
        float *to = (float *)a->scratch + (r.before * rows + row * r.n_taps) * v->channels;
        for (ptrdiff_t o = 0; o < v->channels; o++)
            for (ptrdiff_t y = k[0]; y < n; y += down)
                for (ptrdiff_t x = k[1]; x < m; x += by)
                    *to++ = samba__weight_at(a, v, first + (o * v->rows * n + y) * m + x);
    }
}

/* A unit of y or dx: all residues, one after another, from a tile that is packed once. */
SAMBA__FN void samba__conv_residues(const samba_args *a, const samba__conv *v, ptrdiff_t unit,
                                    samba__conv_memory *m)
{
    ptrdiff_t residues = v->axis[0].residues * v->axis[1].residues;
    for (ptrdiff_t i = 0; i < residues; i++) {
        samba__residue r;
        if (samba__makes_dx(v))
            samba__open_residue(v, i, &r);
        else
            samba__open_all_targets(v, &r);
        samba__conv_targets(a, v, &r, unit, m);
    }
}

SAMBA__FN void samba__conv_run(const samba_args *a, samba__made made)
{
    samba__conv v;
    samba__conv_of(&v, &samba__own_tiles, made, a->in_spec, a->out_spec, a->attr);
    SAMBA_ASSERT(v.tile_in_scratch || samba__tile_floats(&v) <= (double)SAMBA__TILE_ROOM);

    const ptrdiff_t end = (ptrdiff_t)a->end;
    samba__conv_memory m;
    m.rounded = 0;
    for (ptrdiff_t u = (ptrdiff_t)a->begin; u < end; u++) {
        m.sums = a->local + SAMBA__GEMM_LOCAL / sizeof(float);
        if (v.tile_in_scratch)
            m.sums = (float *)a->scratch + v.scratch + u * (ptrdiff_t)samba__tile_floats(&v);
        m.tile = m.sums + v.residue_sums * v.axis[1].residues;
        m.packed = false;

        if (samba__makes_dx(&v) && a->phase == 0) {
            samba__transpose_weights(a, &v, u);
        } else if (samba__makes_dw(&v) && a->phase == 0) {
            samba__residue all;
            samba__open_all_targets(&v, &all);
            samba__conv_weights(a, &v, &all, u, &m);
        } else if (samba__makes_dw(&v)) {
            samba__add_shares(a, &v, u);
        } else {
            samba__conv_residues(a, &v, u, &m);
        }
    }
}

SAMBA__RULES(convolution, samba__conv_rule, samba__conv_work, SAMBA__MAKES_Y)
SAMBA__RULES(convolution_backward_input, samba__conv_rule, samba__conv_work, SAMBA__MAKES_DX)
SAMBA__RULES(convolution_backward_weight, samba__conv_rule, samba__conv_work, SAMBA__MAKES_DW)

SAMBA__FN void samba__convolution_kernel(const samba_args *a)
{
    samba__conv_run(a, SAMBA__MAKES_Y);
}

SAMBA__FN void samba__convolution_backward_input_kernel(const samba_args *a)
{
    samba__conv_run(a, SAMBA__MAKES_DX);
}

SAMBA__FN void samba__convolution_backward_weight_kernel(const samba_args *a)
{
    samba__conv_run(a, SAMBA__MAKES_DW);
}

SAMBA__OP_API samba_tensor *samba_convolution(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                              const samba_conv_opts *opts)
{
    int32_t attr[SAMBA__CONV_WORDS];
    samba_tensor *in[3] = { x, w, b };
    if (!x || !w) return NULL;
    samba__conv_words(opts, x->shape.ndim, attr);
    return samba__emit(x->session, SAMBA__OP_convolution, in, b ? 3 : 2, attr, SAMBA__CONV_WORDS,
                       NULL);
}

/* Gradients of products in bf16 are such products, too. */
SAMBA__FN void samba__convolution_vjp(samba_vjp *g)
{
    samba_tensor *x = g->in[0], *w = g->in[1], *dy = samba_cast(g->dout[0], x->dtype);
    samba_shape axes = samba_scalar_shape();
    for (int32_t d = 0; d < x->shape.ndim; d++)
        if (d != 1) axes.dim[axes.ndim++] = d;

    g->din[0] = samba__conv_backward(SAMBA__MAKES_DX, dy, w, g->attr, &x->shape);
    g->din[1] = samba__conv_backward(SAMBA__MAKES_DW, x, dy, g->attr, &w->shape);
    if (g->n_in > 2 && g->in[2]) g->din[2] = samba_sum(g->dout[0], axes, false);
}

/* Inputs dy, w: a and b in the gradient. */
SAMBA__OP_API samba_tensor *samba_convolution_backward_input(samba_tensor *dy, samba_tensor *w,
                                                             samba_shape x_shape,
                                                             const samba_conv_opts *opts)
{
    int32_t attr[SAMBA__CONV_WORDS];
    samba__conv_words(opts, x_shape.ndim, attr);
    return samba__conv_backward(SAMBA__MAKES_DX, dy, w, attr, &x_shape);
}
SAMBA__GRAD2(convolution_backward_input, /* dy is that of dx */
             samba__emit2(SAMBA__OP_convolution, samba_cast(dy, a->dtype), b, g->attr,
                          SAMBA__CONV_WORDS),
             samba__conv_backward(SAMBA__MAKES_DW, samba_cast(dy, a->dtype), a, g->attr, &b->shape))

/* Inputs x, dy: a and b in the gradient. */
SAMBA__OP_API samba_tensor *samba_convolution_backward_weight(samba_tensor *x, samba_tensor *dy,
                                                              samba_shape w_shape,
                                                              const samba_conv_opts *opts)
{
    int32_t attr[SAMBA__CONV_WORDS];
    samba__conv_words(opts, w_shape.ndim, attr);
    return samba__conv_backward(SAMBA__MAKES_DW, x, dy, attr, &w_shape);
}
SAMBA__GRAD2(convolution_backward_weight, /* dy is that of dw */
             samba__conv_backward(SAMBA__MAKES_DX, samba_cast(b, a->dtype), dy, g->attr, &a->shape),
             samba__emit2(SAMBA__OP_convolution, a, dy, g->attr, SAMBA__CONV_WORDS))


/* nbits.h - of onnx_import.h: weights of 2, 4 or 8 bits in blocks, as onnxruntime packs them:
   MatMulNBits and GatherBlockQuantized of com.microsoft. They stay packed in the PEF, for their
   blocks have zero points and scales of f32, which samba.h's own weights of int4 do not have. */

/* ---- onnx_matmul_nbits: x (*,K) times the transpose of w (N,K), which is (code - zero) scale.
   codes are u8 (N,blocks,bytes), the lowest bits first; scales f32 (N,blocks); zeros f32
   (N,blocks), or absent: half of the range. ---- */

enum { OX_NBITS_BITS, OX_NBITS_BLOCK, OX_NBITS_N, OX_NBITS_K, OX_NBITS_ATTRS };

/* Do codes, scales and zeros, inputs from `first` on, fit the attributes? */
static bool ox_nbits_fit(samba_call *c, int32_t first)
{
    int32_t bits = c->attr[OX_NBITS_BITS], block = c->attr[OX_NBITS_BLOCK];
    int32_t n = c->attr[OX_NBITS_N], k = c->attr[OX_NBITS_K];
    bool sound = (bits == 2 || bits == 4 || bits == 8) && block >= 16 && block <= 1 << 20
        && (block & (block - 1)) == 0 && n >= 1 && k >= 1;
    if (!sound) return samba_refuse(c, SAMBA_EARG, "bits, block, N or K is out of range");
    int64_t blocks = ((int64_t)k - 1) / block + 1, bytes = (int64_t)block * bits / 8;
    for (int32_t i = 0; i < 3; i++) {
        const samba_shape *s = &c->in[first + i].shape;
        if (i == 2 && s->ndim < 0) continue; /* no zeros */
        bool fits = samba_count(s) == n * blocks * (i ? 1 : bytes);
        if (!fits) return samba_refuse(c, SAMBA_ESHAPE, "input %d %S does not fit", first + i, s);
        if (!ox_expect_type(c, first + i, i ? SAMBA_F32 : SAMBA_U8)) return false;
    }
    return true;
}

/* How many inputs there are, the last of which may be absent. */
static bool ox_nbits_expect(samba_call *c, int32_t n_in)
{
    if (c->n_in != n_in || c->n_attr != OX_NBITS_ATTRS)
        return samba_refuse(c, SAMBA_EARG, "%d inputs and %d attributes are needed", n_in,
                            OX_NBITS_ATTRS);
    for (int32_t i = 0; i < n_in - 1; i++)
        if (c->in[i].shape.ndim < 0) return samba_refuse(c, SAMBA_EARG, "input %d is missing", i);
    c->n_out = 1;
    return true;
}

static bool ox_matmul_nbits_shape(samba_call *c)
{
    if (!ox_nbits_expect(c, 4) || !ox_nbits_fit(c, 1)) return false;
    c->out[0] = c->in[0];
    samba_shape *y = &c->out[0].shape;
    if (y->ndim < 1 || y->dim[y->ndim - 1] != c->attr[OX_NBITS_K])
        return samba_refuse(c, SAMBA_ESHAPE, "x %S is not (*,K)", &c->in[0].shape);
    y->dim[y->ndim - 1] = c->attr[OX_NBITS_N];
    return ox_expect_type(c, 0, SAMBA_F32);
}

static void ox_nbits_work(samba_work *w, const samba_call *c)
{
    w->units[0] = c->attr[OX_NBITS_N];
    w->flops = 2 * samba_count(&c->out[0].shape) * c->attr[OX_NBITS_K];
}

/* A row of weights. */
typedef struct ox_nbits_row {
    const uint8_t *codes;
    const float *scale, *zero; /* zero NULL: half of the range */
    int32_t bits, block;
    int64_t k, blocks;
} ox_nbits_row;

static ox_nbits_row ox_row_of_codes(const samba_args *a, int32_t first, int64_t row)
{
    ox_nbits_row w;
    w.bits = a->attr[OX_NBITS_BITS];
    w.block = a->attr[OX_NBITS_BLOCK];
    w.k = a->attr[OX_NBITS_K];
    w.blocks = (w.k - 1) / w.block + 1;
    w.codes = (const uint8_t *)(const void *)a->in[first] + row * w.blocks * w.block * w.bits / 8;
    w.scale = a->in[first + 1] + row * w.blocks;
    w.zero = a->in[first + 2] ? a->in[first + 2] + row * w.blocks : NULL;
    return w;
}

enum { OX_NBITS_STEP = 16 }; /* codes that are unpacked at once: no block has fewer */

/* The codes from element `at` on, each less the zero of their block. */
static void ox_unpack_codes(const ox_nbits_row *w, int64_t at, float *to)
{
    int32_t each = 8 / w->bits, mask = (1 << w->bits) - 1;
    float zero = w->zero ? w->zero[at / w->block] : (float)(1 << (w->bits - 1));
    for (int64_t i = 0; i < OX_NBITS_STEP; i++) {
        int32_t byte = w->codes[(at + i) / each];
        int32_t code = byte >> ((at + i) % each * w->bits) & mask;
        to[i] = (float)code - zero;
    }
}

enum { OX_NBITS_LANES = 4 };

/* Products of two floats are exact as doubles: whether they are added by one instruction or two
   makes no difference, and the order is fixed. */
static void ox_add_lanes(double *lane, const float *x, const float *w, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        lane[i % OX_NBITS_LANES] += (double)x[i] * (double)w[i];
}

/* The product of a row of w with up to OX_NBITS_LANES rows of x, `pitch` apart. */
static void ox_multiply_codes(const ox_nbits_row *w, const float *x, int64_t pitch, int32_t rows,
                              float *y, int64_t y_pitch)
{
    double sum[OX_NBITS_LANES] = { 0 };
    float code[OX_NBITS_STEP];
    for (int64_t b = 0; b < w->blocks; b++) {
        double lane[OX_NBITS_LANES][OX_NBITS_LANES] = { { 0 } };
        int64_t end = (b + 1) * w->block < w->k ? (b + 1) * w->block : w->k;
        for (int64_t at = b * w->block; at < end; at += OX_NBITS_STEP) {
            int64_t n = end - at < OX_NBITS_STEP ? end - at : OX_NBITS_STEP;
            ox_unpack_codes(w, at, code);
            for (int32_t r = 0; r < rows; r++)
                ox_add_lanes(lane[r], x + r * pitch + at, code, n);
        }
        for (int32_t r = 0; r < rows; r++) {
            double left = lane[r][0] + lane[r][1], right = lane[r][2] + lane[r][3];
            sum[r] = fma(left + right, (double)w->scale[b], sum[r]);
        }
    }
    for (int32_t r = 0; r < rows; r++)
        y[r * y_pitch] = (float)sum[r];
}

static void ox_matmul_nbits_kernel(const samba_args *a)
{
    int64_t k = a->attr[OX_NBITS_K], n = a->attr[OX_NBITS_N];
    int64_t rows = samba_count(&a->in_spec[0].shape) / k;
    for (int64_t j = a->begin; j < a->end; j++) {
        ox_nbits_row w = ox_row_of_codes(a, 1, j);
        for (int64_t r = 0; r < rows; r += OX_NBITS_LANES) {
            int32_t some = rows - r < OX_NBITS_LANES ? (int32_t)(rows - r) : OX_NBITS_LANES;
            ox_multiply_codes(&w, a->in[0] + r * k, k, some, a->out[0] + r * n + j, n);
        }
    }
}

static void ox_matmul_nbits_vjp(samba_vjp *g)
{
    samba_tensor *in[3] = { g->in[1], g->in[2], g->in[3] };
    samba_tensor *w = samba_apply(g->session, "onnx_nbits", in, 3, g->attr, OX_NBITS_ATTRS);
    g->din[0] = samba_matmul(g->dout[0], w);
}

/* ---- onnx_nbits: the weights w (N,K) themselves ---- */

static bool ox_nbits_shape(samba_call *c)
{
    if (!ox_nbits_expect(c, 3) || !ox_nbits_fit(c, 0)) return false;
    c->out[0] = c->in[1];
    c->out[0].shape = SAMBA_SHAPE(c->attr[OX_NBITS_N], c->attr[OX_NBITS_K]);
    return true;
}

static void ox_nbits_kernel(const samba_args *a)
{
    int64_t k = a->attr[OX_NBITS_K];
    float code[OX_NBITS_STEP];
    for (int64_t j = a->begin; j < a->end; j++) {
        ox_nbits_row w = ox_row_of_codes(a, 0, j);
        for (int64_t at = 0; at < k; at += OX_NBITS_STEP) {
            ox_unpack_codes(&w, at, code);
            for (int64_t i = 0; i < OX_NBITS_STEP && at + i < k; i++)
                a->out[0][j * k + at + i] = code[i] * w.scale[at / w.block];
        }
    }
}

static const samba_op ox_nbits_kernels[] = {
    { .name = "onnx_matmul_nbits",
      .wire = 0x9020,
      .shape = ox_matmul_nbits_shape,
      .work = ox_nbits_work,
      .kernel = ox_matmul_nbits_kernel,
      .vjp = ox_matmul_nbits_vjp },
    { .name = "onnx_nbits",
      .wire = 0x9021,
      .shape = ox_nbits_shape,
      .work = ox_nbits_work,
      .kernel = ox_nbits_kernel },
};

/* ---- The nodes ---- */

/* Zero points of input i as floats (rows,blocks): packed as codes are, each row in whole bytes, or
   floats already. *zeros NULL: there are none. False after a refusal. */
static bool ox_read_zeros(ox_node *k, int32_t i, int32_t bits, int64_t rows, int64_t blocks,
                          samba_tensor **zeros)
{
    *zeros = NULL;
    if (!ox_has(k, i)) return true;
    if (ox_is_float(ox_type(k, i))) {
        *zeros = ox_in(k, i);
        return *zeros != NULL;
    }
    const onnx_array *packed = ox_need(k, i, "zero points");
    int64_t each = 8 / bits, pitch = (blocks - 1) / each + 1;
    int64_t dim[2] = { rows, blocks };
    if (!packed) return false;
    if (packed->type != OX_UINT8 || packed->count != rows * pitch)
        return ox_refuse(k, "its zero points must be uint8, packed as the weights are");
    onnx_array *a = ox_host_array(k->c, OX_FLOAT, 2, dim);
    for (int64_t n = 0; a && n < a->count; n++) {
        int64_t row = n / blocks, at = n % blocks, byte = packed->i[row * pitch + at / each];
        a->f[n] = (float)(byte >> (at % each * bits) & ((1 << bits) - 1));
    }
    *zeros = a ? ox_constant(k->c, SAMBA_F32, ox_shape(2, dim), a->f) : NULL;
    return *zeros != NULL;
}

static bool ox_op_mat_mul_nbits(ox_node *k)
{
    int64_t n = ox_int(k, "N", 0), inner = ox_int(k, "K", 0), bits = ox_int(k, "bits", 4);
    int64_t block = ox_int(k, "block_size", 0);
    if (n < 1 || n > INT32_MAX || inner < 1 || inner > INT32_MAX)
        return ox_refuse(k, "its N or K is out of range");
    if (bits != 2 && bits != 4 && bits != 8)
        return ox_refuse(k, "of %lld bits is not offered, only of 2, 4 or 8", (long long)bits);
    if (block < 16 || block > 1 << 20 || (block & (block - 1)))
        return ox_refuse(k, "its block_size must be a power of 2, at least 16");
    if (ox_has(k, 4) || ox_int(k, "weight_prepacked", 0))
        return ox_refuse(k, "with g_idx or prepacked weights is not offered");
    if (ox_type(k, 1) != OX_UINT8) return ox_refuse(k, "its weights must be uint8");

    samba_tensor *in[4] = { ox_in(k, 0), ox_in_bytes(k, 1), ox_in(k, 2), NULL };
    int32_t attr[OX_NBITS_ATTRS] = { (int32_t)bits, (int32_t)block, (int32_t)n, (int32_t)inner };
    if (!in[0] || !in[1] || !in[2]) return false;
    if (!ox_read_zeros(k, 3, attr[0], n, (inner - 1) / block + 1, &in[3])) return false;
    samba_tensor *y = samba_apply(k->c->s, "onnx_matmul_nbits", in, 4, attr, OX_NBITS_ATTRS);
    if (y && ox_has(k, 5)) y = samba_add(y, ox_in(k, 5));
    return ox_give(k, 0, ox_type(k, 0), y);
}

/* Rows of weights that indices choose; the rows are unpacked after they were chosen. */
static bool ox_op_gather_nbits(ox_node *k)
{
    int64_t bits = ox_int(k, "bits", 4), block = ox_int(k, "block_size", 128);
    samba_tensor *index = ox_in(k, 1), *scales = ox_in(k, 2);
    if (ox_type(k, 0) != OX_UINT8 || (bits != 2 && bits != 4 && bits != 8))
        return ox_refuse(k, "is offered for uint8 data of 2, 4 or 8 bits");
    samba_tensor *codes = ox_in_bytes(k, 0);
    if (!index || !scales || !codes) return false;
    int64_t axis = ox_int(k, "quantize_axis", 1);
    bool plain = codes->shape.ndim == 2 && scales->shape.ndim == 2 && (axis == 1 || axis == -1)
        && ox_int(k, "gather_axis", 0) == 0 && block >= 16 && block <= 1 << 20
        && (block & (block - 1)) == 0 && index->shape.ndim < SAMBA_MAX_DIMS;
    if (!plain) return ox_refuse(k, "is offered for rows of matrices, quantized along their rows");

    int64_t rows = codes->shape.dim[0], columns = (int64_t)codes->shape.dim[1] * (8 / bits);
    int64_t blocks = scales->shape.dim[1], n = samba_count(&index->shape);
    bool fits = scales->shape.dim[0] == rows && columns <= INT32_MAX
        && (columns - 1) / block + 1 == blocks;
    bool whole = fits && columns % block == 0 && n <= INT32_MAX;
    if (!whole) return ox_refuse(k, "its scales do not fit, or a block is not whole");
    samba_tensor *zeros;
    if (!ox_read_zeros(k, 3, (int32_t)bits, rows, blocks, &zeros)) return false;

    index = ox_wrap_index(k->c, ox_to_i32(index), (int32_t)rows);
    samba_tensor *pick[2] = { codes, index }, *in[3] = { NULL, NULL, NULL };
    in[0] = index ? samba_apply(k->c->s, "onnx_rows", pick, 2, NULL, 0) : NULL;
    in[1] = ox_gather_axis(scales, index, 0);
    if (zeros) in[2] = ox_gather_axis(zeros, index, 0);
    int32_t attr[OX_NBITS_ATTRS] = { (int32_t)bits, (int32_t)block, (int32_t)n, (int32_t)columns };
    if (!in[0] || !in[1] || (zeros && !in[2])) return false;
    samba_tensor *y = samba_apply(k->c->s, "onnx_nbits", in, 3, attr, OX_NBITS_ATTRS);
    samba_shape shape = index->shape;
    shape.dim[shape.ndim++] = (int32_t)columns;
    return ox_give(k, 0, ox_type(k, 2), y ? samba_reshape(y, shape) : NULL);
}

/* ==== [int-products] ========================================================================== */
/* ---- Products of bytes with known weights, whose sums become floats or bytes at once:
       affine_integer        y (*,n) of x (*,k) and w, packed
       convolution_integer   y of x (N,C,H,W) and w (O,C/groups,KH,KW), or of (N,C,L) and (O,C,K)
   With s = sum of (x - zero_x) (w - zero_w), modulo 2^32 as that of matmul_integer,
       y = s                                                        without scale: i32
       y = fma(s as f32, scale, offset)                             with scale: f32
       y = limit(zero_y + nearest(fma(s as f32, scale, offset)))    with zero_y: of its type
   scale and offset have one number, or one for each channel of y; zero_y has one. Padding is
   zero_x. ONNX's QLinearConv and its like are this: scale is scale_x scale_w / scale_y, offset the
   bias by scale_y. So no i32 or f32 of the size of y lies in memory, and bits are the same
   everywhere, as each number has its own rounding. ---- */
enum {
    SAMBA__BYTES_X,
    SAMBA__BYTES_W,
    SAMBA__BYTES_ZERO_X,
    SAMBA__BYTES_ZERO_W,
    SAMBA__BYTES_SCALE,
    SAMBA__BYTES_OFFSET,
    SAMBA__BYTES_ZERO_Y,
    SAMBA__BYTES_INPUTS
};

/* Input i of `type` has one number or, if `count` is above 1, so many; or it is not there. */
SAMBA__FN bool samba__expect_each(samba_call *c, int32_t i, samba_dtype type, int64_t count)
{
    if (!samba__has(c, i)) return true;
    int64_t given = samba_count(&c->in[i].shape);
    if (!samba__expect_type(c, i, type)) return false;
    if (given != 1 && given != count)
        return samba_refuse(c, SAMBA_ESHAPE, "input %d is %S; one number is needed, or %l", i,
                            &c->in[i].shape, count);
    return true;
}

/* x and w of bytes, and what follows them, for so many channels of y. */
SAMBA__FN bool samba__expect_bytes(samba_call *c, int32_t channels)
{
    for (int32_t i = SAMBA__BYTES_X; i <= SAMBA__BYTES_W; i++)
        if (!samba__is_byte(c->in[i].dtype))
            return samba_refuse(c, SAMBA_EDTYPE, "input %d is %T, but must be i8 or u8", i,
                                (int)c->in[i].dtype);

    if (!samba__expect_each(c, SAMBA__BYTES_ZERO_X, c->in[SAMBA__BYTES_X].dtype, 1)
        || !samba__expect_each(c, SAMBA__BYTES_ZERO_W, c->in[SAMBA__BYTES_W].dtype, channels)
        || !samba__expect_each(c, SAMBA__BYTES_SCALE, SAMBA_F32, channels)
        || !samba__expect_each(c, SAMBA__BYTES_OFFSET, SAMBA_F32, channels))
        return false;

    bool scaled = samba__has(c, SAMBA__BYTES_SCALE), to_bytes = samba__has(c, SAMBA__BYTES_ZERO_Y);
    if (!scaled && (to_bytes || samba__has(c, SAMBA__BYTES_OFFSET)))
        return samba_refuse(c, SAMBA_EARG, "an offset or a zero of y needs a scale, input %d",
                            (int32_t)SAMBA__BYTES_SCALE);

    samba_dtype type = to_bytes ? c->in[SAMBA__BYTES_ZERO_Y].dtype : SAMBA_F32;
    if (to_bytes && !samba__is_byte(type))
        return samba_refuse(c, SAMBA_EDTYPE, "the zero of y is %T, but must be i8 or u8",
                            (int)type);
    c->out[0].dtype = scaled ? type : SAMBA_I32;
    return samba__expect_each(c, SAMBA__BYTES_ZERO_Y, type, 1);
}

/* ---- What becomes of sums ---- */
/* A run of sums, one panel of them, as unsigned numbers, since they wrap. What they are too much by
   is taken off: zero_row of_column, and zero_column of_row. */
typedef struct samba__byte_run {
    const uint32_t *sum, *of_column, *zero_column;
    const float *scale, *offset;
    uint32_t zero_row, of_row;
    bool same; /* one zero of columns, scale and offset for all; else one of each */
} samba__byte_run;

/* What is the same for all sums of an op. */
typedef struct samba__byte_end {
    samba_dtype type; /* of y */
    int32_t zero, least, most;
} samba__byte_end;

/* Codes of its type lie from least to most beside its zero. */
SAMBA__FN void samba__limit_codes(samba__byte_end *e)
{
    bool with_sign = e->type == SAMBA_I8;
    e->least = (with_sign ? -128 : 0) - e->zero;
    e->most = (with_sign ? 127 : 255) - e->zero;
}

SAMBA__FN samba__byte_end samba__byte_end_of(const samba_args *a)
{
    samba__byte_end e = { a->out_spec[0].dtype, 0, 0, 0 };
    if (!samba__is_byte(e.type)) return e;
    e.zero = samba__zero_at(a, SAMBA__BYTES_ZERO_Y, 0);
    samba__limit_codes(&e);
    return e;
}

SAMBA__INLINE uint32_t samba__byte_sum(const samba__byte_run *r, int j)
{
    uint32_t zero = r->zero_column[r->same ? 0 : j];
    return r->sum[j] - r->zero_row * r->of_column[j] - zero * r->of_row;
}

/* A run of y from its sums. */
SAMBA__FN void samba__end_bytes(const samba__byte_end *e, const samba__byte_run *r, void *y)
{
    for (int j = 0; j < SAMBA__INTEGER_PANEL; j++) {
        int32_t sum = (int32_t)samba__byte_sum(r, j);
        int at = r->same ? 0 : j;
        float scaled = samba__fma((float)sum, r->scale[at], r->offset[at]);
        if (e->type == SAMBA_I32)
            ((int32_t *)y)[j] = sum;
        else if (e->type == SAMBA_F32)
            ((float *)y)[j] = scaled;
        else
            ((uint8_t *)y)[j] = (uint8_t)(e->zero + samba__nearest(scaled, e->least, e->most));
    }
}

#if SAMBA__X86 && !SAMBA__IS_SMALL
/* Eight sums. */
SAMBA__AVX2_FN SAMBA__INLINE __m256i samba__eight_sums(const samba__byte_run *r, int j, bool same)
{
    __m256i sum = _mm256_loadu_si256((const __m256i *)(const void *)(r->sum + j));
    __m256i column = _mm256_loadu_si256((const __m256i *)(const void *)(r->of_column + j));
    __m256i row = _mm256_set1_epi32((int32_t)(r->zero_column[0] * r->of_row));
    if (!same) {
        row = _mm256_loadu_si256((const __m256i *)(const void *)(r->zero_column + j));
        row = _mm256_mullo_epi32(row, _mm256_set1_epi32((int32_t)r->of_row));
    }
    column = _mm256_mullo_epi32(column, _mm256_set1_epi32((int32_t)r->zero_row));
    return _mm256_sub_epi32(_mm256_sub_epi32(sum, column), row);
}

SAMBA__AVX2_FN SAMBA__INLINE __m256 samba__eight_scaled(const samba__byte_run *r, int j, bool same)
{
    __m256 sum = _mm256_cvtepi32_ps(samba__eight_sums(r, j, same));
    __m256 scale = same ? _mm256_set1_ps(r->scale[0]) : _mm256_loadu_ps(r->scale + j);
    __m256 offset = same ? _mm256_set1_ps(r->offset[0]) : _mm256_loadu_ps(r->offset + j);
    return _mm256_fmadd_ps(sum, scale, offset);
}

/* The same as samba__nearest, plus the zero of y. */
SAMBA__AVX2_FN SAMBA__INLINE __m256i samba__eight_nearest(const samba__byte_end *e, __m256 x)
{
    const __m256 whole = _mm256_set1_ps(12582912.0f);
    x = _mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q));
    x = _mm256_max_ps(x, _mm256_set1_ps((float)e->least));
    x = _mm256_min_ps(x, _mm256_set1_ps((float)e->most));
    x = _mm256_sub_ps(_mm256_add_ps(x, whole), whole);
    return _mm256_add_epi32(_mm256_cvttps_epi32(x), _mm256_set1_epi32(e->zero));
}

/* 32 numbers, which fit into a byte each. */
SAMBA__AVX2_FN SAMBA__INLINE void samba__store_bytes(uint8_t *y, const __m256i v[4],
                                                     samba_dtype type)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); /* packs work in halves */
    __m256i low = _mm256_packs_epi32(v[0], v[1]), high = _mm256_packs_epi32(v[2], v[3]);
    __m256i all = type == SAMBA_I8 ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
    _mm256_storeu_si256((__m256i *)(void *)y, _mm256_permutevar8x32_epi32(all, order));
}

SAMBA__AVX2_FN SAMBA__INLINE void samba__end_eights(const samba__byte_end *e,
                                                    const samba__byte_run *r, void *y, bool same)
{
    if (e->type == SAMBA_I32) {
        for (int j = 0; j < SAMBA__INTEGER_PANEL; j += 8)
            _mm256_storeu_si256((__m256i *)(void *)((int32_t *)y + j),
                                samba__eight_sums(r, j, same));
        return;
    }

    if (e->type == SAMBA_F32) {
        for (int j = 0; j < SAMBA__INTEGER_PANEL; j += 8)
            _mm256_storeu_ps((float *)y + j, samba__eight_scaled(r, j, same));
        return;
    }

    for (int j = 0; j < SAMBA__INTEGER_PANEL; j += 32) {
        __m256i v[4];
        SAMBA__UNROLLED
        for (int i = 0; i < 4; i++)
            v[i] = samba__eight_nearest(e, samba__eight_scaled(r, j + 8 * i, same));
        samba__store_bytes((uint8_t *)y + j, v, e->type);
    }
}

SAMBA__AVX2_FN SAMBA__FN void samba__end_bytes_avx2(const samba__byte_end *e,
                                                    const samba__byte_run *r, void *y)
{
    if (r->same)
        samba__end_eights(e, r, y, true);
    else
        samba__end_eights(e, r, y, false);
}

#if SAMBA__VNNI
/* 16 sums to 16 bytes, as samba__eight_nearest does it. */
SAMBA__VNNI_FN SAMBA__INLINE void samba__end_sixteen(const samba__byte_end *e,
                                                     const samba__byte_run *r, int j, uint8_t *y,
                                                     bool same)
{
    __m512i sum = _mm512_loadu_si512(r->sum + j), column = _mm512_loadu_si512(r->of_column + j);
    __m512i row = _mm512_set1_epi32((int32_t)(r->zero_column[0] * r->of_row));
    __m512 scale = _mm512_set1_ps(r->scale[0]), offset = _mm512_set1_ps(r->offset[0]);
    if (!same) {
        row = _mm512_mullo_epi32(_mm512_loadu_si512(r->zero_column + j),
                                 _mm512_set1_epi32((int32_t)r->of_row));
        scale = _mm512_loadu_ps(r->scale + j);
        offset = _mm512_loadu_ps(r->offset + j);
    }

    column = _mm512_mullo_epi32(column, _mm512_set1_epi32((int32_t)r->zero_row));
    sum = _mm512_sub_epi32(_mm512_sub_epi32(sum, column), row);
    __m512 x = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale, offset);
    __mmask16 number = _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q);
    x = _mm512_maskz_max_ps(number, x, _mm512_set1_ps((float)e->least));
    x = _mm512_min_ps(x, _mm512_set1_ps((float)e->most));

    const __m512 whole = _mm512_set1_ps(12582912.0f);
    x = _mm512_sub_ps(_mm512_add_ps(x, whole), whole);
    sum = _mm512_add_epi32(_mm512_cvttps_epi32(x), _mm512_set1_epi32(e->zero));
    _mm_storeu_si128((__m128i *)(void *)(y + j), _mm512_cvtepi32_epi8(sum));
}

/* Stores of bytes might change what pointers reach, for all a compiler knows: so e and r are copied
   first, and their numbers stay in registers. */
SAMBA__VNNI_FN SAMBA__FN void samba__end_bytes_vnni(const samba__byte_end *e,
                                                    const samba__byte_run *r, void *y)
{
    const samba__byte_end end = *e;
    const samba__byte_run run = *r;
    uint8_t bytes[SAMBA__INTEGER_PANEL];
    if (run.same) {
        for (int j = 0; j < SAMBA__INTEGER_PANEL; j += 16)
            samba__end_sixteen(&end, &run, j, bytes, true);
    } else {
        for (int j = 0; j < SAMBA__INTEGER_PANEL; j += 16)
            samba__end_sixteen(&end, &run, j, bytes, false);
    }
    memcpy(y, bytes, sizeof bytes);
}
#endif
#endif

/* ---- What instruction sets share ---- */
/* The plain way to multiply a panel. */
SAMBA__VECTORIZED SAMBA__FN void samba__multiply_panel_of_bytes(const samba__integer_panel *p)
{
    for (ptrdiff_t i = 0; i < p->rows; i++) {
        const uint8_t *x = p->x + i * p->x_row;
        uint32_t *sum = p->sum[i];
        for (ptrdiff_t q = 0; q < p->fours; q++, x += 4)
            for (int j = 0; j < SAMBA__INTEGER_PANEL; j++) {
                const int8_t *w = p->w[q].of[j];
                sum[j] += (uint32_t)(x[0] * w[0] + x[1] * w[1] + x[2] * w[2] + x[3] * w[3]);
            }
    }
}

/* How the instruction set of a call works on bytes. */
typedef struct samba__byte_way {
    samba__integer_fn multiply;
    bool vectors, wide; /* of 32 bytes, and of 64 */
} samba__byte_way;

SAMBA__FN samba__byte_way samba__byte_way_of(const samba_args *a)
{
    samba__byte_way way = { samba__set_of(a->isa)->multiply_integers, false, false };
    way.vectors = SAMBA__X86 && way.multiply;
#if SAMBA__VNNI
    way.wide = way.multiply == samba__integer_panel_vnni;
#endif
#if SAMBA__AMX
    way.wide = way.wide || way.multiply == samba__integer_panel_amx;
#endif
    if (!way.multiply) way.multiply = samba__multiply_panel_of_bytes;
    return way;
}

SAMBA__FN void samba__end_run(const samba__byte_way *way, const samba__byte_end *e,
                              const samba__byte_run *r, void *y)
{
#if SAMBA__VNNI
    if (way->wide && samba__is_byte(e->type)) {
        samba__end_bytes_vnni(e, r, y);
        return;
    }
#endif
#if SAMBA__X86 && !SAMBA__IS_SMALL
    if (way->vectors) {
        samba__end_bytes_avx2(e, r, y);
        return;
    }
#endif
    (void)way;
    samba__end_bytes(e, r, y);
}

/* n bytes with their sign flipped, and then zeros up to a multiple of four; returns their sum. */
SAMBA__FN uint32_t samba__copy_flipped(const samba__byte_way *way, uint8_t *to, const uint8_t *x,
                                       ptrdiff_t n, uint8_t flip)
{
#if SAMBA__X86 && !SAMBA__IS_SMALL
    if (way->vectors) return samba__pack_integers(to, x, n, flip);
#endif
    (void)way;
    uint32_t sum = 0;
    ptrdiff_t k = 0;
    for (; k < n; k++) {
        to[k] = x[k] ^ flip;
        sum += to[k];
    }
    for (; k % 4; k++)
        to[k] = 0;
    return sum;
}

/* Four rows of bytes side by side. */
SAMBA__FN void samba__interleave_rows(const samba__byte_way *way, int8_t (*to)[4],
                                      const uint8_t *const row[4], uint8_t flip)
{
#if SAMBA__X86 && !SAMBA__IS_SMALL
    if (way->vectors) {
        samba__pack_byte_rows(to, row, flip);
        return;
    }
#endif
    (void)way;
    for (int j = 0; j < SAMBA__INTEGER_PANEL; j++)
        for (int i = 0; i < 4; i++)
            to[j][i] = (int8_t)(row[i][j] ^ flip);
}

enum { SAMBA__BYTE_TAPS = 64 }; /* of a kernel: those of others are computed each time */

/* A thread's own memory. */
typedef struct samba__byte_room {
    uint8_t x[SAMBA__INTEGER_ROWS][SAMBA__INTEGER_STEPS];
    uint8_t ones[SAMBA__INTEGER_STEPS];
    samba__byte_four w[SAMBA__INTEGER_STEPS / 4];
    uint32_t sum[SAMBA__INTEGER_ROWS][SAMBA__INTEGER_PANEL];
    uint32_t of_column[1][SAMBA__INTEGER_PANEL];
    uint32_t zero[SAMBA__INTEGER_PANEL];
    float scale[SAMBA__INTEGER_PANEL], offset[SAMBA__INTEGER_PANEL];
    uint32_t of_row[SAMBA__INTEGER_ROWS];
    uint32_t y[SAMBA__INTEGER_PANEL];
    ptrdiff_t tap[SAMBA__BYTE_TAPS]; /* where the first taps of a kernel read */
} samba__byte_room;

typedef char samba__byte_room_fits[sizeof(samba__byte_room) <= SAMBA_LOCAL_BYTES ? 1 : -1];

/* Scales and offsets of channels: one for all (a step of 0), or one for each. */
typedef struct samba__byte_channels {
    const float *scale, *offset;
    const uint8_t *zero; /* of w: its bits */
    bool with_sign;
    ptrdiff_t scale_step, offset_step, zero_step;
} samba__byte_channels;

/* The step of input i; numbers that are not there are 0. */
SAMBA__FN ptrdiff_t samba__channel_step(const samba_args *a, int32_t i, const float **numbers)
{
    static const float none = 0.0f;
    bool there = i < a->n_in && a->in[i];
    *numbers = there ? a->in[i] : &none;
    return there && samba_count(&a->in_spec[i].shape) > 1;
}

/* No byte stands for NaN: a scale or offset that is not finite ends the run. */
SAMBA__FN void samba__check_scales(const samba_args *a)
{
    if (!samba__is_byte(a->out_spec[0].dtype)) return;
    for (int32_t i = SAMBA__BYTES_SCALE; i <= SAMBA__BYTES_OFFSET; i++) {
        const float *numbers;
        (void)samba__channel_step(a, i, &numbers);
        int64_t n = i < a->n_in && a->in[i] ? samba_count(&a->in_spec[i].shape) : 0;
        for (int64_t k = 0; k < n; k++)
            if (!(numbers[k] - numbers[k] == 0.0f)) samba__fault_of_nan(a, i, k);
    }
}

SAMBA__FN samba__byte_channels samba__byte_channels_of(const samba_args *a)
{
    samba__byte_channels n;
    const float *zero;
    n.with_sign = a->in_spec[SAMBA__BYTES_W].dtype == SAMBA_I8;
    n.scale_step = samba__channel_step(a, SAMBA__BYTES_SCALE, &n.scale);
    n.offset_step = samba__channel_step(a, SAMBA__BYTES_OFFSET, &n.offset);
    n.zero_step = samba__channel_step(a, SAMBA__BYTES_ZERO_W, &zero);
    n.zero = (const uint8_t *)(const void *)zero;
    return n;
}

/* The zero of the weights of channel i. */
SAMBA__INLINE int32_t samba__zero_of_channel(const samba__byte_channels *n, ptrdiff_t i)
{
    uint8_t bits = n->zero[n->zero_step * i];
    return n->with_sign ? (int8_t)bits : bits;
}

/* The zero of x as that of bytes of another sign. */
SAMBA__FN uint32_t samba__flipped_zero(const samba_args *a, samba_dtype wanted)
{
    int32_t zero = samba__zero_at(a, SAMBA__BYTES_ZERO_X, 0);
    if (a->in_spec[SAMBA__BYTES_X].dtype == wanted) return (uint32_t)zero;
    return (uint32_t)(wanted == SAMBA_U8 ? zero + 128 : zero - 128);
}

/* Multiplies rows by a panel, and adds up the columns of the panel. */
SAMBA__FN void samba__add_products(const samba__byte_way *way, samba__byte_room *room,
                                   samba__integer_panel *p)
{
    samba__integer_panel ones = *p;
    way->multiply(p);
    ones.x = room->ones;
    ones.rows = 1;
    ones.sum = room->of_column;
    way->multiply(&ones);
}

SAMBA__FN samba__byte_room *samba__open_room(const samba_args *a)
{
    samba__byte_room *room = (samba__byte_room *)(void *)a->local;
    memset(room->ones, 1, sizeof room->ones);
    return room;
}

SAMBA__FN void samba__begin_sums(samba__byte_room *room, ptrdiff_t rows)
{
    memset(room->sum, 0, (size_t)rows * sizeof *room->sum);
    memset(room->of_column, 0, sizeof room->of_column);
    memset(room->of_row, 0, (size_t)rows * sizeof *room->of_row);
}

/* ---- affine_integer: attribute columns, which is n. w (panels,fours,64,4) is i8: w[p][q][j][i] is
   that of step 4 q + i and column 64 p + j, and 0 beyond k and n. Units are rectangles of y. ----
 */
SAMBA__FN bool samba__affine_integer_shape(samba_call *c)
{
    if (!samba__expect(c, 2, SAMBA__BYTES_INPUTS, SAMBA__COLUMNS_END)) return false;

    const samba_shape *x = &c->in[0].shape, *w = &c->in[SAMBA__BYTES_W].shape;
    int32_t n = c->attr[SAMBA__COLUMNS_NUMBER];
    if (!samba__expect_type(c, SAMBA__BYTES_W, SAMBA_I8)
        || !samba__expect_word(c, 0, "columns", 1, INT32_MAX))
        return false;
    bool fits = x->ndim >= 1 && w->ndim == 4 && w->dim[2] == SAMBA__INTEGER_PANEL && w->dim[3] == 4
        && w->dim[0] == (n - 1) / SAMBA__INTEGER_PANEL + 1
        && w->dim[1] == (x->dim[x->ndim - 1] - 1) / 4 + 1;
    if (!fits)
        return samba_refuse(
            c, SAMBA_ESHAPE,
            "x %S (*,k) and %d columns do not fit the packed weights %S (columns / 64,k / 4,64,4)",
            x, n, w);

    if (!samba__expect_bytes(c, n)) return false;
    c->out[0].shape = *x;
    c->out[0].shape.dim[x->ndim - 1] = n;
    return true;
}

SAMBA__FN void samba__affine_integer_work(samba_work *w, const samba_call *c)
{
    int64_t n = samba__last_dim(&c->out[0]), k = samba__last_dim(&c->in[0]);
    int64_t rows = samba_count(&c->in[0].shape) / k;
    w->units[0]
        = samba__ceil_div(rows, SAMBA__INTEGER_ROWS) * samba__ceil_div(n, SAMBA__INTEGER_PANEL);
    w->flops = samba__flops(rows * n, k);
    w->local = (int32_t)sizeof(samba__byte_room);
}

/* A rectangle of y: some rows, and the columns of a panel. */
typedef struct samba__byte_rectangle {
    const samba_args *args;
    const uint8_t *x; /* of the first row */
    const samba__byte_four *w;
    ptrdiff_t row, rows, column, columns, k, n;
    bool in_place; /* rows of x are multiplied where they are */
} samba__byte_rectangle;

SAMBA__FN samba__byte_rectangle samba__byte_rectangle_of(const samba_args *a, ptrdiff_t u)
{
    samba__byte_rectangle r;
    r.args = a;
    r.k = (ptrdiff_t)samba__last_dim(&a->in_spec[0]);
    r.n = (ptrdiff_t)samba__last_dim(&a->out_spec[0]);

    ptrdiff_t all_rows = (ptrdiff_t)(samba_count(&a->in_spec[0].shape) / r.k);
    ptrdiff_t panels = (r.n - 1) / SAMBA__INTEGER_PANEL + 1, panel = u % panels;
    r.row = u / panels * SAMBA__INTEGER_ROWS;
    r.rows = samba__min_index(all_rows - r.row, SAMBA__INTEGER_ROWS);
    r.column = panel * SAMBA__INTEGER_PANEL;
    r.columns = samba__min_index(r.n - r.column, SAMBA__INTEGER_PANEL);

    r.x = (const uint8_t *)(const void *)a->in[0] + r.row * r.k;
    r.w = (const samba__byte_four *)(const void *)a->in[SAMBA__BYTES_W];
    r.w += panel * ((r.k + 3) / 4);
    r.in_place = a->in_spec[0].dtype == SAMBA_U8 && r.k % 4 == 0;
    return r;
}

/* The numbers of the columns; true if one of their zeros is not 0. */
SAMBA__FN bool samba__open_columns(const samba__byte_rectangle *r, samba__byte_room *room)
{
    const samba_args *a = r->args;
    samba__byte_channels n = samba__byte_channels_of(a);
    uint32_t any = 0;
    memset(room->zero, 0, sizeof room->zero);
    memset(room->scale, 0, sizeof room->scale);
    memset(room->offset, 0, sizeof room->offset);

    for (ptrdiff_t j = 0; j < r->columns; j++) {
        ptrdiff_t at = r->column + j;
        room->zero[j] = (uint32_t)samba__zero_of_channel(&n, at);
        room->scale[j] = n.scale[n.scale_step * at];
        room->offset[j] = n.offset[n.offset_step * at];
        any |= room->zero[j];
    }
    return any != 0;
}

/* Steps k ... k + steps - 1 of the rows, packed unless they stay where they are. */
SAMBA__FN void samba__open_rows(const samba__byte_way *way, const samba__byte_rectangle *r,
                                ptrdiff_t k, ptrdiff_t steps, bool sums, samba__byte_room *room,
                                samba__integer_panel *p)
{
    uint8_t flip = samba__byte_flip(r->args, SAMBA__BYTES_X, SAMBA_U8);
    p->x = r->in_place ? r->x + k : room->x[0];
    p->x_row = r->in_place ? r->k : (ptrdiff_t)SAMBA__INTEGER_STEPS;
    for (ptrdiff_t i = 0; i < r->rows && (sums || !r->in_place); i++) {
        const uint8_t *x = r->x + i * r->k + k;
        room->of_row[i] += samba__copy_flipped(way, room->x[i], x, steps, flip);
    }
}

SAMBA__FN void samba__multiply_rectangle(const samba__byte_way *way, const samba__byte_rectangle *r,
                                         samba__byte_room *room)
{
    samba__integer_panel p = { NULL, 0, r->rows, r->w, 0, room->sum };
    samba__byte_end end = samba__byte_end_of(r->args);
    bool sums = samba__open_columns(r, room);
    size_t size = samba_dtype_size(end.type);

    samba__begin_sums(room, r->rows);
    for (ptrdiff_t k = 0; k < r->k; k += SAMBA__INTEGER_STEPS) {
        ptrdiff_t steps = samba__min_index(r->k - k, SAMBA__INTEGER_STEPS);
        samba__open_rows(way, r, k, steps, sums, room, &p);
        p.w = r->w + k / 4;
        p.fours = (steps + 3) / 4;
        samba__add_products(way, room, &p);
    }

    samba__byte_run run
        = { NULL, room->of_column[0], room->zero, room->scale, room->offset, 0, 0, false };
    run.zero_row = samba__flipped_zero(r->args, SAMBA_U8);
    for (ptrdiff_t j = 0; j < r->columns; j++) /* K times both zeros was taken off twice */
        room->of_column[0][j] -= (uint32_t)r->k * room->zero[j];

    for (ptrdiff_t i = 0; i < r->rows; i++) {
        uint8_t *y = samba__out_bytes(r->args, (r->row + i) * r->n + r->column);
        bool whole = r->columns == SAMBA__INTEGER_PANEL;
        run.sum = room->sum[i];
        run.of_row = room->of_row[i];
        samba__end_run(way, &end, &run, whole ? (void *)y : (void *)room->y);
        if (!whole) memcpy(y, room->y, (size_t)r->columns * size);
    }
}

SAMBA__FN void samba__affine_integer_kernel(const samba_args *a)
{
    samba__byte_way way = samba__byte_way_of(a);
    samba__byte_room *room = samba__open_room(a);
    if (a->begin == 0) samba__check_scales(a);
    for (ptrdiff_t u = (ptrdiff_t)a->begin; u < (ptrdiff_t)a->end; u++) {
        samba__byte_rectangle r = samba__byte_rectangle_of(a, u);
        samba__multiply_rectangle(&way, &r, room);
    }
}

/* ---- convolution_integer: attributes as those of convolution. The weights are rows of the
   product, and the columns of a panel are 64 pixels of y that follow each other in memory. Phase 0
   makes planes of each channel of x: with what is beside it, and so that what a tap reads for
   pixels side by side lies side by side, too. With a stride of s those are s s planes, of which
   plane (r0, r1) has rows r0, r0 + s, r0 + 2 s ..., and such columns. They are as wide as a tap
   needs that begins at their right end; so "pixels" behind the last one of a row are computed, too,
   and dropped:

       x with padding, kernel 3           pixel p of y reads planes at p + (0, 1, 2, 6, 7, 8, ...)
           0 0 0 0 0 0
           0 1 2 3 4 0                        y  y  y  y  -  -
           0 5 6 7 8 0                        y  y  y  y  -  -
           0 0 0 0 0 0

   Phase 0 also adds up the weights of each channel, and flips their sign if they are signed. ----
 */
typedef struct samba__byte_conv {
    samba__conv_geometry g;
    ptrdiff_t residues[2]; /* of rows and columns: those that taps read */
    ptrdiff_t side[2];     /* of a plane */
    ptrdiff_t channel;     /* bytes of the planes of a channel */
    ptrdiff_t pixels, blocks;
    ptrdiff_t taps, k, k_row; /* of a channel; terms of a sum; bytes of a row of weights */
    bool in_place;            /* x is read where it is: it has no padding, and one tap */
    bool weights_in_place;
    int64_t planes, sums, scratch; /* bytes of planes; where the sums of weights are; all of it */
} samba__byte_conv;

/* scratch in double, for sizes that are too large. */
SAMBA__FN double samba__byte_conv_of(samba__byte_conv *v, const samba_spec *in,
                                     const samba_spec *out, const int32_t *attr)
{
    double channel = 1.0, weights;
    samba__open_geometry(&v->g, SAMBA__MAKES_Y, in, out, attr);
    const samba__conv_geometry *g = &v->g;

    v->in_place = true;
    for (int i = 0; i < 2; i++) {
        ptrdiff_t reach = (g->kernel[i] - 1) * g->dilation[i];
        v->residues[i] = samba__min_index(g->stride[i], reach + 1);
        v->side[i] = g->output[i] + reach / g->stride[i];
        v->in_place = v->in_place && reach == 0 && g->stride[i] == 1 && g->padding[i] == 0;
        channel *= (double)v->residues[i] * (double)v->side[i];
    }

    v->taps = g->kernel[0] * g->kernel[1];
    v->k = g->in_channels * v->taps;
    v->k_row = (v->k + 3) / 4 * 4;
    v->weights_in_place = in[SAMBA__BYTES_W].dtype == SAMBA_U8 && v->k % 4 == 0;
    weights = (double)g->groups * (double)g->out_channels * (double)(v->k_row + 4);
    double all = (double)g->images * (double)g->groups * (double)g->in_channels * channel;
    if (all + weights > 1e15) return all + weights;

    ptrdiff_t out_channels = g->groups * g->out_channels;
    v->channel = v->residues[0] * v->residues[1] * v->side[0] * v->side[1];
    v->pixels = (g->output[0] - 1) * v->side[1] + g->output[1];
    v->blocks = (v->pixels - 1) / SAMBA__INTEGER_PANEL + 1;
    v->planes = v->in_place ? 0 : (int64_t)g->images * g->groups * g->in_channels * v->channel;
    v->sums
        = (v->planes + 2 * SAMBA__INTEGER_PANEL - 1) / SAMBA__INTEGER_PANEL * SAMBA__INTEGER_PANEL;
    v->scratch = v->sums + (int64_t)out_channels * 4;
    if (!v->weights_in_place) v->scratch += (int64_t)out_channels * v->k_row;
    return (double)v->scratch;
}

SAMBA__FN bool samba__convolution_integer_shape(samba_call *c)
{
    samba__byte_conv v;
    samba_spec out;
    if (!samba__expect(c, 2, SAMBA__BYTES_INPUTS, SAMBA__CONV_WORDS)
        || !samba__conv_shape(c, &c->in[0].shape, &c->in[SAMBA__BYTES_W].shape, &out.shape)
        || !samba__expect_bytes(c, c->in[SAMBA__BYTES_W].shape.dim[0]))
        return false;

    c->out[0].shape = out.shape;
    if (samba__byte_conv_of(&v, c->in, c->out, c->attr) > (double)(PTRDIFF_MAX / 4))
        return samba_refuse(c, SAMBA_ESHAPE, "x %S with its padding is too large for this kernel",
                            &c->in[0].shape);
    return true;
}

SAMBA__FN void samba__convolution_integer_work(samba_work *w, const samba_call *c)
{
    samba__byte_conv v;
    (void)samba__byte_conv_of(&v, c->in, c->out, c->attr);
    int64_t planes = v.in_place ? 0 : (int64_t)v.g.images * v.g.groups * v.g.in_channels;
    w->n_phases = 2;
    w->units[0] = planes + (int64_t)v.g.groups * v.g.out_channels;
    w->units[1] = (int64_t)v.g.images * v.g.groups * v.blocks;
    w->scratch = v.scratch;
    w->local = (int32_t)sizeof(samba__byte_room);
    w->flops = samba__flops(samba_count(&c->out[0].shape), v.k);
}

/* Row `row` of a plane of residue r1, from the row of x at from. */
SAMBA__VECTORIZED SAMBA__FN void samba__fill_plane_row(const samba__byte_conv *v,
                                                       const uint8_t *from, ptrdiff_t r1,
                                                       uint8_t zero, uint8_t *to)
{
    ptrdiff_t stride = v->g.stride[1], width = v->side[1], at = r1 - v->g.padding[1];
    ptrdiff_t begin = at < 0 ? samba__min_index(width, (-at + stride - 1) / stride) : 0;
    ptrdiff_t end = begin, first = at + begin * stride;
    if (first < v->g.input[1])
        end = samba__min_index(width, begin + (v->g.input[1] - 1 - first) / stride + 1);

    for (ptrdiff_t j = 0; j < begin; j++)
        to[j] = zero;
    from += first;
    if (stride == 1 && end > begin)
        memcpy(to + begin, from, (size_t)(end - begin));
    else if (stride == 2)
        for (ptrdiff_t j = begin; j < end; j++)
            to[j] = from[2 * (j - begin)];
    else
        for (ptrdiff_t j = begin; j < end; j++)
            to[j] = from[stride * (j - begin)];
    for (ptrdiff_t j = end; j < width; j++)
        to[j] = zero;
}

/* The planes of channel u of all images. */
SAMBA__FN void samba__fill_planes(const samba__byte_conv *v, const samba_args *a, ptrdiff_t u)
{
    const uint8_t *x = (const uint8_t *)(const void *)a->in[0] + u * v->g.input[0] * v->g.input[1];
    uint8_t *to = (uint8_t *)a->scratch + u * v->channel;
    uint8_t zero = (uint8_t)samba__zero_at(a, SAMBA__BYTES_ZERO_X, 0);

    for (ptrdiff_t r0 = 0; r0 < v->residues[0]; r0++)
        for (ptrdiff_t r1 = 0; r1 < v->residues[1]; r1++)
            for (ptrdiff_t i = 0; i < v->side[0]; i++, to += v->side[1]) {
                ptrdiff_t row = i * v->g.stride[0] + r0 - v->g.padding[0];
                if (row >= 0 && row < v->g.input[0])
                    samba__fill_plane_row(v, x + row * v->g.input[1], r1, zero, to);
                else
                    memset(to, zero, (size_t)v->side[1]);
            }
}

/* The sum of the weights of channel o, unsigned. */
SAMBA__FN void samba__sum_weights(const samba__byte_conv *v, const samba__byte_way *way,
                                  const samba_args *a, ptrdiff_t o)
{
    const uint8_t *w = (const uint8_t *)(const void *)a->in[SAMBA__BYTES_W] + o * v->k;
    uint32_t *sums = (uint32_t *)(void *)((uint8_t *)a->scratch + v->sums), sum = 0;
    uint8_t flip = samba__byte_flip(a, SAMBA__BYTES_W, SAMBA_U8);
    uint8_t part[SAMBA__INTEGER_STEPS];
    uint8_t *to = (uint8_t *)(void *)(sums + v->g.groups * v->g.out_channels) + o * v->k_row;

    for (ptrdiff_t k = 0; k < v->k; k += SAMBA__INTEGER_STEPS) {
        ptrdiff_t steps = samba__min_index(v->k - k, SAMBA__INTEGER_STEPS);
        sum += samba__copy_flipped(way, v->weights_in_place ? part : to + k, w + k, steps, flip);
    }
    sums[o] = sum;
}

/* A block of pixels of a group of an image. */
typedef struct samba__byte_block {
    const samba__byte_conv *v;
    const samba_args *args;
    const samba__byte_way *way;
    samba__byte_room *room;
    const uint8_t *planes;    /* of the first channel, from the first pixel on */
    ptrdiff_t first, pixels;  /* of the block */
    ptrdiff_t row;            /* of pixels: that of the first one */
    ptrdiff_t image, channel; /* and the first channel of y */
    uint32_t zero;            /* of x, signed */
    samba__byte_end end;
    samba__byte_channels channels;
} samba__byte_block;

/* Where tap t reads, from a pixel on. */
SAMBA__INLINE ptrdiff_t samba__tap_at(const samba__byte_conv *v, ptrdiff_t t)
{
    ptrdiff_t y = t / v->g.kernel[1] * v->g.dilation[0], x = t % v->g.kernel[1] * v->g.dilation[1];
    ptrdiff_t plane = y % v->g.stride[0] * v->residues[1] + x % v->g.stride[1];
    return (plane * v->side[0] + y / v->g.stride[0]) * v->side[1] + x / v->g.stride[1];
}

SAMBA__INLINE ptrdiff_t samba__tap_of(const samba__byte_block *b, ptrdiff_t t)
{
    return t < SAMBA__BYTE_TAPS ? b->room->tap[t] : samba__tap_at(b->v, t);
}

/* Packs steps k ... k + steps - 1 of the pixels. */
SAMBA__FN void samba__pack_pixels(const samba__byte_block *b, ptrdiff_t k, ptrdiff_t steps)
{
    const samba__byte_conv *v = b->v;
    const uint8_t flip = samba__byte_flip(b->args, SAMBA__BYTES_X, SAMBA_I8);
    ptrdiff_t tap = k % v->taps;
    const uint8_t *channel = b->planes + k / v->taps * v->channel;
    bool whole = !v->in_place || b->pixels == SAMBA__INTEGER_PANEL;
    uint8_t edge[4][SAMBA__INTEGER_PANEL];
    const uint8_t *row[4];
    memset(edge, flip, sizeof edge);

    for (ptrdiff_t q = 0; q < steps; q += 4) {
        for (int i = 0; i < 4; i++) {
            row[i] = channel + samba__tap_of(b, tap);
            if (q + i >= steps) {
                memset(edge[i], flip, sizeof edge[i]);
                row[i] = edge[i];
                continue;
            }

            if (!whole) {
                memcpy(edge[i], row[i], (size_t)b->pixels);
                row[i] = edge[i];
            }
            if (++tap == v->taps) {
                tap = 0;
                channel += v->channel;
            }
        }
        samba__interleave_rows(b->way, b->room->w[q / 4].of, row, flip);
    }
}

/* Where a block begins in channel o of y, if it has whole rows of pixels: then it is written there;
   NULL: it has pixels that are dropped. */
SAMBA__FN void *samba__pixels_in_place(const samba__byte_block *b, ptrdiff_t o)
{
    const samba__byte_conv *v = b->v;
    ptrdiff_t plane = v->g.output[0] * v->g.output[1];
    if (v->side[1] != v->g.output[1] || b->pixels != SAMBA__INTEGER_PANEL) return NULL;
    ptrdiff_t to = (b->image * v->g.groups * v->g.out_channels + o) * plane;
    return samba__out_bytes(b->args, to + b->first);
}

/* Writes a run of channel o: the pixels of the block that are not beyond the end of a row. */
SAMBA__FN void samba__store_pixels(const samba__byte_block *b, ptrdiff_t o, size_t size)
{
    const samba__byte_conv *v = b->v;
    ptrdiff_t plane = v->g.output[0] * v->g.output[1];
    ptrdiff_t to = (b->image * v->g.groups * v->g.out_channels + o) * plane;
    const uint8_t *from = (const uint8_t *)(const void *)b->room->y;
    uint8_t *y = (uint8_t *)(void *)b->args->out[0] + (size_t)to * size;
    ptrdiff_t row = b->row, column = b->first - row * v->side[1];

    for (ptrdiff_t p = 0; p < b->pixels; row++, column = 0) {
        ptrdiff_t some = samba__min_index(v->side[1] - column, b->pixels - p);
        ptrdiff_t kept = samba__min_index(v->g.output[1] - column, some);
        if (kept > 0)
            memcpy(y + (size_t)(row * v->g.output[1] + column) * size, from + (size_t)p * size,
                   (size_t)kept * size);
        p += some;
    }
}

/* The run of channel o of y: what its sums are too much by, and its scale. */
SAMBA__FN samba__byte_run samba__run_of_channel(const samba__byte_block *b, ptrdiff_t o)
{
    const samba_args *a = b->args;
    const samba__byte_channels *n = &b->channels;
    samba__byte_run run = { NULL, b->room->of_column[0], &b->zero, NULL, NULL, 0, 0, true };
    run.scale = n->scale + o * n->scale_step;
    run.offset = n->offset + o * n->offset_step;
    run.zero_row = (uint32_t)(samba__zero_of_channel(n, o) + (n->with_sign ? 128 : 0));
    run.of_row = ((const uint32_t *)(const void *)((uint8_t *)a->scratch + b->v->sums))[o];
    return run;
}

/* Sums of channels o ... o + rows - 1 become y. */
SAMBA__FN void samba__end_pixels(const samba__byte_block *b, ptrdiff_t o, ptrdiff_t rows)
{
    samba__byte_room *room = b->room;
    for (int j = 0; j < SAMBA__INTEGER_PANEL; j++) /* else both zeros count twice */
        room->of_column[0][j] -= (uint32_t)b->v->k * b->zero;

    for (ptrdiff_t i = 0; i < rows; i++) {
        samba__byte_run run = samba__run_of_channel(b, o + i);
        void *y = samba__pixels_in_place(b, o + i);
        run.sum = room->sum[i];
        samba__end_run(b->way, &b->end, &run, y ? y : room->y);
        if (!y) samba__store_pixels(b, o + i, samba_dtype_size(b->end.type));
    }
}

SAMBA__FN void samba__convolve_block(const samba__byte_block *b)
{
    const samba__byte_conv *v = b->v;
    const uint8_t *w = (const uint8_t *)(const void *)b->args->in[SAMBA__BYTES_W];
    if (!v->weights_in_place)
        w = (uint8_t *)b->args->scratch + v->sums + v->g.groups * v->g.out_channels * 4;

    for (ptrdiff_t o = 0; o < v->g.out_channels; o += SAMBA__INTEGER_ROWS) {
        ptrdiff_t rows = samba__min_index(v->g.out_channels - o, SAMBA__INTEGER_ROWS);
        samba__integer_panel p = { NULL, v->k_row, rows, NULL, 0, b->room->sum };
        p.w = b->room->w;
        samba__begin_sums(b->room, rows);

        for (ptrdiff_t k = 0; k < v->k; k += SAMBA__INTEGER_STEPS) {
            ptrdiff_t steps = samba__min_index(v->k - k, SAMBA__INTEGER_STEPS);
            if (o == 0 || v->k > SAMBA__INTEGER_STEPS) /* else it is still there */
                samba__pack_pixels(b, k, steps);
            p.x = w + (b->channel + o) * v->k_row + k;
            p.fours = (steps + 3) / 4;
            samba__add_products(b->way, b->room, &p);
        }
        samba__end_pixels(b, b->channel + o, rows);
    }
}

/* ---- A group with one channel of y and few taps, as depthwise convolutions have: its pixels need
   not be packed. Weights are less their zeros, so that sums are right but for the zero of x. ----
 */
enum { SAMBA__BYTE_FEW = 32 }; /* taps and input channels */

/* The weights of a channel as pairs of 16 bits, and where in planes the two are met. */
typedef struct samba__byte_pairs {
    int32_t pair[SAMBA__BYTE_FEW / 2];
    ptrdiff_t at[SAMBA__BYTE_FEW];
    ptrdiff_t n;  /* pairs */
    uint32_t sum; /* of the weights */
} samba__byte_pairs;

SAMBA__FN void samba__open_pairs(const samba__byte_block *b, samba__byte_pairs *p)
{
    const samba__byte_conv *v = b->v;
    int32_t zero = samba__zero_of_channel(&b->channels, b->channel);
    int32_t w[SAMBA__BYTE_FEW] = { 0 };
    p->sum = 0;
    p->n = (v->k + 1) / 2;

    for (ptrdiff_t k = 0; k < v->k; k++) {
        w[k] = samba__byte_at(b->args, SAMBA__BYTES_W, b->channel * v->k + k) - zero;
        p->at[k] = k / v->taps * v->channel + samba__tap_of(b, k % v->taps);
        p->sum += (uint32_t)w[k];
    }
    p->at[2 * p->n - 1] = p->at[v->k - 1];
    for (ptrdiff_t i = 0; i < p->n; i++)
        p->pair[i] = (int32_t)(((uint32_t)w[2 * i + 1] << 16) | ((uint32_t)w[2 * i] & 0xffffu));
}

/* The sums of 64 pixels from x on. */
SAMBA__VECTORIZED SAMBA__FN void samba__sum_pairs(const samba__byte_pairs *p, const uint8_t *x,
                                                  bool with_sign, uint32_t *sum)
{
    memset(sum, 0, SAMBA__INTEGER_PANEL * sizeof *sum);
    for (ptrdiff_t i = 0; i < p->n; i++) {
        const uint8_t *x0 = x + p->at[2 * i], *x1 = x + p->at[2 * i + 1];
        int32_t w0 = (int16_t)(p->pair[i] & 0xffff), w1 = p->pair[i] >> 16;
        for (int j = 0; j < SAMBA__INTEGER_PANEL; j++) {
            int32_t a = with_sign ? (int8_t)x0[j] : x0[j], b = with_sign ? (int8_t)x1[j] : x1[j];
            sum[j] += (uint32_t)(a * w0 + b * w1);
        }
    }
}

#if SAMBA__X86 && !SAMBA__IS_SMALL
SAMBA__AVX2_FN SAMBA__INLINE __m256i samba__widen_pairs(__m128i bytes, bool with_sign)
{
    return with_sign ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}

/* Bytes of two taps lie side by side as 16 bits: an instruction multiplies and adds both. */
SAMBA__AVX2_FN SAMBA__INLINE void samba__sum_pairs_any(const samba__byte_pairs *p, const uint8_t *x,
                                                       bool with_sign, uint32_t *sum)
{
    __m256i all[8];
    SAMBA__UNROLLED
    for (int j = 0; j < 8; j++)
        all[j] = _mm256_setzero_si256();

    for (ptrdiff_t i = 0; i < p->n; i++) {
        const uint8_t *x0 = x + p->at[2 * i], *x1 = x + p->at[2 * i + 1];
        __m256i w = _mm256_set1_epi32(p->pair[i]);
        SAMBA__UNROLLED
        for (int j = 0; j < 4; j++) {
            __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(x0 + 16 * j));
            __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(x1 + 16 * j));
            __m256i low = samba__widen_pairs(_mm_unpacklo_epi8(a, b), with_sign);
            __m256i high = samba__widen_pairs(_mm_unpackhi_epi8(a, b), with_sign);
            all[2 * j] = _mm256_add_epi32(all[2 * j], _mm256_madd_epi16(low, w));
            all[2 * j + 1] = _mm256_add_epi32(all[2 * j + 1], _mm256_madd_epi16(high, w));
        }
    }

    SAMBA__UNROLLED
    for (int j = 0; j < 8; j++)
        _mm256_storeu_si256((__m256i *)(void *)(sum + 8 * j), all[j]);
}

SAMBA__AVX2_FN SAMBA__FN void samba__sum_pairs_avx2(const samba__byte_pairs *p, const uint8_t *x,
                                                    bool with_sign, uint32_t *sum)
{
    if (with_sign)
        samba__sum_pairs_any(p, x, true, sum);
    else
        samba__sum_pairs_any(p, x, false, sum);
}
#endif

SAMBA__FN bool samba__is_depthwise(const samba__byte_conv *v)
{
    return v->g.out_channels == 1 && v->k <= SAMBA__BYTE_FEW && !v->in_place;
}

SAMBA__FN void samba__convolve_depthwise(const samba__byte_block *b, const samba__byte_pairs *p)
{
    bool with_sign = b->args->in_spec[0].dtype == SAMBA_I8;
    uint32_t zero = b->zero + (with_sign ? 0u : 128u);

    samba__byte_run run = samba__run_of_channel(b, b->channel);
    run.sum = b->room->sum[0];
    run.zero_row = 0;
    run.of_row = p->sum;
    run.zero_column = &zero;

#if SAMBA__X86 && !SAMBA__IS_SMALL
    if (b->way->vectors)
        samba__sum_pairs_avx2(p, b->planes, with_sign, b->room->sum[0]);
    else
#endif
        samba__sum_pairs(p, b->planes, with_sign, b->room->sum[0]);
    samba__end_run(b->way, &b->end, &run, b->room->y);
    samba__store_pixels(b, b->channel, samba_dtype_size(b->end.type));
}

/* What is the same for all blocks. */
SAMBA__FN samba__byte_block samba__byte_block_of(const samba__byte_conv *v, const samba_args *a,
                                                 const samba__byte_way *way)
{
    samba__byte_block b;
    memset(&b, 0, sizeof b);
    b.v = v;
    b.args = a;
    b.way = way;
    b.room = samba__open_room(a);
    b.zero = samba__flipped_zero(a, SAMBA_I8);
    b.end = samba__byte_end_of(a);
    b.channels = samba__byte_channels_of(a);
    for (ptrdiff_t t = 0; t < v->taps && t < SAMBA__BYTE_TAPS; t++)
        b.room->tap[t] = samba__tap_at(v, t);
    return b;
}

SAMBA__FN void samba__convolution_integer_kernel(const samba_args *a)
{
    samba__byte_conv v;
    (void)samba__byte_conv_of(&v, a->in_spec, a->out_spec, a->attr);
    samba__byte_way way = samba__byte_way_of(a);
    ptrdiff_t planes = v.in_place ? 0 : v.g.images * v.g.groups * v.g.in_channels;
    if (a->phase == 0 && a->begin == 0) samba__check_scales(a);

    for (ptrdiff_t u = (ptrdiff_t)a->begin; a->phase == 0 && u < (ptrdiff_t)a->end; u++) {
        if (u < planes)
            samba__fill_planes(&v, a, u);
        else
            samba__sum_weights(&v, &way, a, u - planes);
    }

    if (a->phase == 0) return;
    samba__byte_block b = samba__byte_block_of(&v, a, &way);
    samba__byte_pairs pairs;
    pairs.n = 0;
    pairs.sum = 0;
    bool depthwise = samba__is_depthwise(&v);
    ptrdiff_t opened = -1;                           /* the group whose weights are pairs */
    ptrdiff_t part = (ptrdiff_t)a->begin / v.blocks; /* an image and a group */
    ptrdiff_t block = (ptrdiff_t)a->begin % v.blocks;

    for (ptrdiff_t u = (ptrdiff_t)a->begin; u < (ptrdiff_t)a->end; u++) {
        b.first = block * SAMBA__INTEGER_PANEL;
        b.row = b.first / v.side[1];
        b.pixels = samba__min_index(v.pixels - b.first, SAMBA__INTEGER_PANEL);
        b.image = part / v.g.groups;
        b.channel = part % v.g.groups * v.g.out_channels;
        b.planes = v.in_place ? (const uint8_t *)(const void *)a->in[0] : (uint8_t *)a->scratch;
        b.planes += part * v.g.in_channels * v.channel + b.first;

        if (depthwise && opened != part) samba__open_pairs(&b, &pairs);
        opened = part;
        if (depthwise)
            samba__convolve_depthwise(&b, &pairs);
        else
            samba__convolve_block(&b);
        if (++block < v.blocks) continue;
        block = 0;
        part++;
    }
}


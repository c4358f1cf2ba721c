/* ==== [int-matmul] ============================================================================ */
/* ---- matmul_integer: y i32 (*,n) from x (*,k) and w (k,n), each of i8 or u8:
       for (sum = 0, k = 0; k < K; k++)
           sum += (x[row][k] - zero_x[row]) * (w[k][n] - zero_w[n]);
   Inputs x, w, zero_x or none, zero_w or none: one zero for all, or one for each row of x and
   column of w, of the type of x and w. Any k is taken: sums are modulo 2^32, so that they are exact
   where an i32 holds them, and the same bits everywhere. 33,000 products always fit.
   It is for models that are quantized while they run, as ONNX has them: what is known before,
   samba_program.quantize makes ops of that need no i32. Units are rectangles of y. ---- */
enum {
    SAMBA__INTEGER_X,
    SAMBA__INTEGER_W,
    SAMBA__INTEGER_ZERO_X,
    SAMBA__INTEGER_ZERO_W,
    SAMBA__INTEGER_INPUTS
};

enum {
    SAMBA__INTEGER_ROWS = SAMBA__IS_SMALL ? 4 : 192, /* of a rectangle */
    SAMBA__INTEGER_COLUMNS = SAMBA__IS_SMALL ? 16 : 64,
    SAMBA__INTEGER_PANEL = 64,                         /* columns of a panel */
    SAMBA__INTEGER_STEPS = SAMBA__IS_SMALL ? 64 : 384, /* a panel stays in the nearest cache */
    SAMBA__INTEGER_SIDE = 4                            /* rows that plain loops take at a time */
};

SAMBA__FN bool samba__is_byte(samba_dtype type)
{
    return type == SAMBA_I8 || type == SAMBA_U8;
}

/* Input i, if it is there: a zero for all, or `count` of them, of the type of input `of`. */
SAMBA__FN bool samba__expect_zeros(samba_call *c, int32_t i, int32_t of, int64_t count)
{
    if (!samba__has(c, i)) return true;
    if (!samba__expect_type(c, i, c->in[of].dtype)) return false;
    int64_t given = samba_count(&c->in[i].shape);
    if (given != 1 && given != count)
        return samba_refuse(c, SAMBA_ESHAPE, "input %d is %S; one zero is needed, or %l", i,
                            &c->in[i].shape, count);
    return true;
}

SAMBA__FN bool samba__matmul_integer_shape(samba_call *c)
{
    if (!samba__expect(c, 2, SAMBA__INTEGER_INPUTS, 0)) return false;
    for (int32_t i = 0; i < 2; i++)
        if (!samba__is_byte(c->in[i].dtype))
            return samba_refuse(c, SAMBA_EDTYPE, "input %d is %T, but must be i8 or u8", i,
                                (int)c->in[i].dtype);

    const samba_shape *x = &c->in[0].shape, *w = &c->in[SAMBA__INTEGER_W].shape;
    if (x->ndim < 1 || w->ndim != 2 || x->dim[x->ndim - 1] != w->dim[0])
        return samba_refuse(c, SAMBA_ESHAPE, "x %S (*,k) does not fit the weights %S (k,n)", x, w);

    c->out[0].dtype = SAMBA_I32;
    c->out[0].shape = *x;
    c->out[0].shape.dim[x->ndim - 1] = w->dim[1];
    return samba__expect_zeros(c, SAMBA__INTEGER_ZERO_X, 0, samba_count(x) / w->dim[0])
        && samba__expect_zeros(c, SAMBA__INTEGER_ZERO_W, SAMBA__INTEGER_W, w->dim[1]);
}

SAMBA__FN void samba__matmul_integer_work(samba_work *w, const samba_call *c)
{
    int64_t n = samba__last_dim(&c->out[0]), k = samba__last_dim(&c->in[0]);
    int64_t rows = samba_count(&c->in[0].shape) / k;
    w->units[0]
        = samba__ceil_div(rows, SAMBA__INTEGER_ROWS) * samba__ceil_div(n, SAMBA__INTEGER_COLUMNS);
    w->flops = samba__flops(rows * n, k);
}

/* A rectangle of y, and where its operands begin. */
typedef struct samba__integer_product {
    const samba_args *args;
    const uint8_t *x, *w; /* their bits */
    uint32_t *y;          /* so that sums wrap */
    ptrdiff_t row, column, rows, columns, k, n;
} samba__integer_product;

/* Byte i of an input, as its type has it. */
SAMBA__INLINE int32_t samba__byte_at(const samba_args *a, int32_t input, ptrdiff_t i)
{
    const uint8_t *bytes = (const uint8_t *)(const void *)a->in[input];
    return a->in_spec[input].dtype == SAMBA_I8 ? (int8_t)bytes[i] : bytes[i];
}

/* The zero of a row of x or a column of w. */
SAMBA__FN int32_t samba__zero_at(const samba_args *a, int32_t input, ptrdiff_t i)
{
    if (input >= a->n_in || !a->in[input]) return 0;
    return samba__byte_at(a, input, samba_count(&a->in_spec[input].shape) == 1 ? 0 : i);
}

SAMBA__FN samba__integer_product samba__integer_product_of(const samba_args *a, ptrdiff_t u)
{
    samba__integer_product p;
    p.args = a;
    p.k = (ptrdiff_t)samba__last_dim(&a->in_spec[0]);
    p.n = (ptrdiff_t)samba__last_dim(&a->out_spec[0]);

    ptrdiff_t rows = (ptrdiff_t)(samba_count(&a->in_spec[0].shape) / p.k);
    ptrdiff_t across = (p.n - 1) / SAMBA__INTEGER_COLUMNS + 1;
    p.row = u / across * SAMBA__INTEGER_ROWS;
    p.column = u % across * SAMBA__INTEGER_COLUMNS;
    p.rows = rows - p.row < SAMBA__INTEGER_ROWS ? rows - p.row : (ptrdiff_t)SAMBA__INTEGER_ROWS;
    p.columns = p.n - p.column;
    if (p.columns > SAMBA__INTEGER_COLUMNS) p.columns = SAMBA__INTEGER_COLUMNS;

    p.x = (const uint8_t *)(const void *)a->in[0] + p.row * p.k;
    p.w = (const uint8_t *)(const void *)a->in[SAMBA__INTEGER_W] + p.column;
    p.y = (uint32_t *)(void *)a->out[0] + p.row * p.n + p.column;
    return p;
}

/* Four steps of each column of a panel, side by side. */
typedef struct samba__byte_four {
    int8_t of[SAMBA__INTEGER_PANEL][4];
} samba__byte_four;

/* What an instruction set multiplies: rows of x and a panel of w, packed or where they are. */
typedef struct samba__integer_panel {
    const uint8_t *x; /* rows of unsigned bytes, x_row apart */
    ptrdiff_t x_row, rows;
    const samba__byte_four *w; /* signed bytes */
    ptrdiff_t fours;
    uint32_t (*sum)[SAMBA__INTEGER_PANEL]; /* is added to */
} samba__integer_panel;

/* What the sign bits of an input are flipped by, to be unsigned or signed. */
SAMBA__FN uint8_t samba__byte_flip(const samba_args *a, int32_t input, samba_dtype wanted)
{
    return a->in_spec[input].dtype == wanted ? 0 : 0x80;
}

/* The plain way: a row of w less its zeros, in 16 bits, meets a few rows of x at a time. */
SAMBA__VECTORIZED SAMBA__FN void samba__integer_rows(const samba__integer_product *p,
                                                     ptrdiff_t first, ptrdiff_t rows)
{
    enum { COLUMNS = SAMBA__INTEGER_COLUMNS };

    const samba_args *a = p->args;
    uint32_t sum[SAMBA__INTEGER_SIDE][COLUMNS] = { { 0 } };
    int16_t zero[COLUMNS] = { 0 }, w[COLUMNS] = { 0 };
    int32_t zero_x[SAMBA__INTEGER_SIDE];
    bool with_sign = a->in_spec[SAMBA__INTEGER_W].dtype == SAMBA_I8;

    for (ptrdiff_t j = 0; j < p->columns; j++)
        zero[j] = (int16_t)samba__zero_at(a, SAMBA__INTEGER_ZERO_W, p->column + j);
    for (ptrdiff_t i = 0; i < rows; i++)
        zero_x[i] = samba__zero_at(a, SAMBA__INTEGER_ZERO_X, p->row + first + i);

    for (ptrdiff_t k = 0; k < p->k; k++) {
        const uint8_t *from = p->w + k * p->n;
        if (with_sign)
            for (ptrdiff_t j = 0; j < p->columns; j++)
                w[j] = (int16_t)((int8_t)from[j] - zero[j]);
        else
            for (ptrdiff_t j = 0; j < p->columns; j++)
                w[j] = (int16_t)(from[j] - zero[j]);

        for (ptrdiff_t i = 0; i < rows; i++) {
            ptrdiff_t at = (p->row + first + i) * p->k + k;
            int16_t x = (int16_t)(samba__byte_at(a, 0, at) - zero_x[i]);
            for (int j = 0; j < COLUMNS; j++)
                sum[i][j] += (uint32_t)(x * w[j]);
        }
    }

    for (ptrdiff_t i = 0; i < rows; i++)
        memcpy(p->y + (first + i) * p->n, sum[i], (size_t)p->columns * sizeof **sum);
}

SAMBA__FN void samba__multiply_integers(const samba__integer_product *p)
{
    for (ptrdiff_t i = 0; i < p->rows; i += SAMBA__INTEGER_SIDE) {
        ptrdiff_t rows = p->rows - i;
        if (rows > SAMBA__INTEGER_SIDE) rows = SAMBA__INTEGER_SIDE;
        samba__integer_rows(p, i, rows);
    }
}

#if SAMBA__X86 && !SAMBA__IS_SMALL
/* With AVX2, VNNI and AMX operands are packed, some steps of k at a time: x as unsigned bytes, w as
   signed ones, of 4 steps side by side, so that one instruction multiplies and adds 4. What is of
   the other sign is moved by 128, as its zero is, and zeros come off at the end:
       sum (x - zx)(w - zw) = sum x w - zx (sum w - K zw) - zw sum x
   The sums of w are those of one more row of x, of ones. */
enum { SAMBA__INTEGER_TILE = 6 }; /* rows of a micro-tile */

typedef struct samba__integer_block {
    uint8_t x[SAMBA__INTEGER_ROWS + 1][SAMBA__INTEGER_STEPS];
    samba__byte_four w[SAMBA__INTEGER_STEPS / 4];
    uint32_t sum[SAMBA__INTEGER_ROWS + 1][SAMBA__INTEGER_COLUMNS];
    uint32_t of_x[SAMBA__INTEGER_ROWS]; /* sums of rows of x */
} samba__integer_block;

typedef char samba__integer_block_fits[sizeof(samba__integer_block) <= SAMBA__GEMM_LOCAL ? 1 : -1];

/* A row of x, of `steps` steps and then zeros, and the sum of it. */
SAMBA__AVX2_FN SAMBA__FN uint32_t samba__pack_integers(uint8_t *to, const uint8_t *x,
                                                       ptrdiff_t steps, uint8_t flip)
{
    const __m256i flips = _mm256_set1_epi8((char)flip), none = _mm256_setzero_si256();
    __m256i sums = none;
    uint64_t lane[4];
    uint32_t sum = 0;
    ptrdiff_t k = 0;

    for (; k + 32 <= steps; k += 32) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(x + k));
        v = _mm256_xor_si256(v, flips);
        _mm256_storeu_si256((__m256i *)(void *)(to + k), v);
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(v, none));
    }

    for (; k < steps; k++) {
        to[k] = x[k] ^ flip;
        sum += to[k];
    }
    for (; k % 4; k++)
        to[k] = 0;

    _mm256_storeu_si256((__m256i *)(void *)lane, sums);
    return sum + (uint32_t)(lane[0] + lane[1] + lane[2] + lane[3]);
}

/* Four rows, side by side. */
SAMBA__AVX2_FN SAMBA__FN void samba__pack_byte_rows(int8_t (*to)[4], const uint8_t *const row[4],
                                                    uint8_t flip)
{
    const __m256i flips = _mm256_set1_epi8((char)flip);
    for (int j = 0; j < SAMBA__INTEGER_PANEL; j += 32) {
        __m256i v[4];
        for (int i = 0; i < 4; i++) {
            const void *from = row[i] + j;
            v[i] = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)from), flips);
        }

        __m256i low = _mm256_unpacklo_epi8(v[0], v[1]), high = _mm256_unpackhi_epi8(v[0], v[1]);
        __m256i low2 = _mm256_unpacklo_epi8(v[2], v[3]), high2 = _mm256_unpackhi_epi8(v[2], v[3]);
        v[0] = _mm256_unpacklo_epi16(low, low2);
        v[1] = _mm256_unpackhi_epi16(low, low2);
        v[2] = _mm256_unpacklo_epi16(high, high2);
        v[3] = _mm256_unpackhi_epi16(high, high2);

        for (int i = 0; i < 4; i++) { /* lanes are 16 columns apart */
            __m128i *at = (__m128i *)(void *)to[j + 4 * i];
            _mm_storeu_si128(at, _mm256_castsi256_si128(v[i]));
            _mm_storeu_si128(at + 4, _mm256_extracti128_si256(v[i], 1));
        }
    }
}

/* Four rows of w, which are w_row apart. */
SAMBA__FN void samba__pack_four(int8_t (*to)[4], const uint8_t *w, ptrdiff_t w_row, uint8_t flip)
{
    const uint8_t *row[4] = { w, w + w_row, w + 2 * w_row, w + 3 * w_row };
    samba__pack_byte_rows(to, row, flip);
}

/* Steps k ... k + steps - 1 of w. What is beyond them, or beyond its columns, becomes 0. */
SAMBA__FN void samba__pack_integer_panel(const samba__integer_product *p, ptrdiff_t k,
                                         ptrdiff_t steps, samba__integer_block *b)
{
    uint8_t flip = samba__byte_flip(p->args, SAMBA__INTEGER_W, SAMBA_I8);
    const uint8_t *w = p->w + k * p->n;

    for (ptrdiff_t q = 0; q < steps; q += 4, w += 4 * p->n) {
        uint8_t edge[4][SAMBA__INTEGER_COLUMNS];
        ptrdiff_t some = steps - q < 4 ? steps - q : 4;
        if (some == 4 && p->columns == SAMBA__INTEGER_COLUMNS) {
            samba__pack_four(b->w[q / 4].of, w, p->n, flip);
            continue;
        }

        memset(edge, flip, sizeof edge);
        for (ptrdiff_t i = 0; i < some; i++)
            memcpy(edge[i], w + i * p->n, (size_t)p->columns);
        samba__pack_four(b->w[q / 4].of, edge[0], SAMBA__INTEGER_COLUMNS, flip);
    }
}

/* Bytes become pairs of 16 bits: vpmaddubsw, which takes bytes, would limit sums to 16 bits. A lane
   has half of a sum, the next one the other. */
SAMBA__AVX2_FN SAMBA__INLINE void samba__integer_tile_avx2(const samba__integer_panel *p,
                                                           ptrdiff_t row, int rows, int column)
{
    __m256i sum[3][4];
    SAMBA__UNROLLED
    for (int i = 0; i < rows; i++) {
        SAMBA__UNROLLED
        for (int j = 0; j < 4; j++)
            sum[i][j] = _mm256_setzero_si256();
    }

    const uint8_t *from_x = p->x + row * p->x_row;
    for (ptrdiff_t q = 0; q < p->fours; q++, from_x += 4) {
        __m256i x[3];
        SAMBA__UNROLLED
        for (int i = 0; i < rows; i++) {
            int32_t four;
            memcpy(&four, from_x + i * p->x_row, sizeof four);
            x[i] = _mm256_cvtepu8_epi16(_mm_set1_epi32(four));
        }

        SAMBA__UNROLLED
        for (int j = 0; j < 4; j++) {
            const void *from = p->w[q].of[column + 4 * j];
            __m256i w = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)from));
            SAMBA__UNROLLED
            for (int i = 0; i < rows; i++)
                sum[i][j] = _mm256_add_epi32(sum[i][j], _mm256_madd_epi16(x[i], w));
        }
    }

    SAMBA__UNROLLED
    for (int i = 0; i < rows; i++) {
        SAMBA__UNROLLED
        for (int j = 0; j < 4; j += 2) {
            __m256i *to = (__m256i *)(void *)&p->sum[row + i][column + 4 * j];
            __m256i both = _mm256_hadd_epi32(sum[i][j], sum[i][j + 1]);
            both = _mm256_permute4x64_epi64(both, 0xD8);
            _mm256_storeu_si256(to, _mm256_add_epi32(_mm256_loadu_si256(to), both));
        }
    }
}

SAMBA__AVX2_FN SAMBA__FN void samba__integer_panel_avx2(const samba__integer_panel *p)
{
    for (int column = 0; column < SAMBA__INTEGER_COLUMNS; column += 16) {
        ptrdiff_t i = 0;
        for (; i + 3 <= p->rows; i += 3)
            samba__integer_tile_avx2(p, i, 3, column);
        for (; i < p->rows; i++)
            samba__integer_tile_avx2(p, i, 1, column);
    }
}

#if SAMBA__VNNI
/* sum += x w, of 4 bytes in each lane. gcc 12 copies every sum before the intrinsic, which takes as
   long as the product. */
#define SAMBA__ADD_PRODUCTS(sum, x, w) \
    __asm__("{vpdpbusd %2, %1, %0|vpdpbusd %0, %1, %2}" : "+v"(sum) : "v"(x), "v"(w))

SAMBA__VNNI_FN SAMBA__INLINE void samba__integer_tile_vnni(const samba__integer_panel *p,
                                                           ptrdiff_t row, int rows)
{
    __m512i sum[SAMBA__INTEGER_TILE][4];
    SAMBA__UNROLLED
    for (int i = 0; i < rows; i++) {
        SAMBA__UNROLLED
        for (int j = 0; j < 4; j++)
            sum[i][j] = _mm512_loadu_si512(&p->sum[row + i][16 * j]);
    }

    const uint8_t *from_x = p->x + row * p->x_row;
    for (ptrdiff_t q = 0; q < p->fours; q++, from_x += 4) {
        __m512i w[4];
        SAMBA__UNROLLED
        for (int j = 0; j < 4; j++)
            w[j] = _mm512_loadu_si512(p->w[q].of[16 * j]);

        SAMBA__UNROLLED
        for (int i = 0; i < rows; i++) {
            int32_t four;
            memcpy(&four, from_x + i * p->x_row, sizeof four);
            __m512i x = _mm512_set1_epi32(four);
            SAMBA__UNROLLED
            for (int j = 0; j < 4; j++)
                SAMBA__ADD_PRODUCTS(sum[i][j], x, w[j]);
        }
    }

    SAMBA__UNROLLED
    for (int i = 0; i < rows; i++) {
        SAMBA__UNROLLED
        for (int j = 0; j < 4; j++)
            _mm512_storeu_si512(&p->sum[row + i][16 * j], sum[i][j]);
    }
}

SAMBA__VNNI_FN SAMBA__FN void samba__integer_panel_vnni(const samba__integer_panel *p)
{
    ptrdiff_t i = 0;
    for (; i + SAMBA__INTEGER_TILE <= p->rows; i += SAMBA__INTEGER_TILE)
        samba__integer_tile_vnni(p, i, SAMBA__INTEGER_TILE);

    for (; i + 3 <= p->rows; i += 3)
        samba__integer_tile_vnni(p, i, 3);
    if (i + 2 == p->rows) samba__integer_tile_vnni(p, i, 2);
    if (i + 1 == p->rows) samba__integer_tile_vnni(p, i, 1);
}

#if SAMBA__AMX
#define samba__dot4_amx samba__dot4_vnni
#define SAMBA__BYTE_TILE_FN __attribute__((noinline, target("amx-tile,amx-int8")))

enum {
    SAMBA__BYTE_TILE_ROWS = 32,  /* and columns of a micro-tile, in tiles 0 to 3 */
    SAMBA__BYTE_TILE_FOURS = 16, /* of four steps: a tile of x or w */
};

/* A micro-tile, for so many blocks of 64 steps, by TDPBUSD: 16 x 16 sums += 16 rows of x, of
   unsigned bytes, times 16 columns of w, of signed ones, whose four steps lie side by side. */
static SAMBA__BYTE_TILE_FN void samba__integer_tile_amx(const samba__integer_panel *p,
                                                        ptrdiff_t row, int column, ptrdiff_t blocks)
{
    const ptrdiff_t x_row = p->x_row, w_row = (ptrdiff_t)sizeof *p->w;
    const ptrdiff_t sum_row = (ptrdiff_t)sizeof *p->sum;
    const uint8_t *x = p->x + row * x_row, *below = x + 16 * x_row;
    const int8_t *w = p->w->of[column];
    uint32_t *sum = p->sum[row] + column, *sum_below = p->sum[row + 16] + column;

    SAMBA__TILE_FILE
    _tile_loadd(0, sum, sum_row);
    _tile_loadd(1, sum + 16, sum_row);
    _tile_loadd(2, sum_below, sum_row);
    _tile_loadd(3, sum_below + 16, sum_row);

    for (; blocks > 0; blocks--) {
        _tile_loadd(6, w, w_row);
        _tile_loadd(4, x, x_row);
        _tile_loadd(7, w + 64, w_row);
        _tile_loadd(5, below, x_row);
        _tile_dpbusd(0, 4, 6);
        _tile_dpbusd(1, 4, 7);
        _tile_dpbusd(2, 5, 6);
        _tile_dpbusd(3, 5, 7);
        x += 64;
        below += 64;
        w += SAMBA__BYTE_TILE_FOURS * w_row;
    }

    _tile_stored(0, sum, sum_row);
    _tile_stored(1, sum + 16, sum_row);
    _tile_stored(2, sum_below, sum_row);
    _tile_stored(3, sum_below + 16, sum_row);
}

/* As sums are exact, they may be split: what does not fill tiles is left to VNNI. */
SAMBA__FN void samba__integer_panel_amx(const samba__integer_panel *p)
{
    const ptrdiff_t side = SAMBA__BYTE_TILE_ROWS, blocks = p->fours / SAMBA__BYTE_TILE_FOURS;
    const ptrdiff_t rows = blocks ? p->rows / side * side : 0;
    const ptrdiff_t fours = blocks * SAMBA__BYTE_TILE_FOURS;
    samba__integer_panel steps = *p, below = *p;

    if (rows) samba__tiles_begin();
    for (ptrdiff_t i = 0; i < rows; i += side)
        for (int j = 0; j < SAMBA__INTEGER_PANEL; j += SAMBA__BYTE_TILE_ROWS)
            samba__integer_tile_amx(p, i, j, blocks);
    if (rows) samba__tiles_end();

    steps.rows = rows;
    steps.x += 4 * fours;
    steps.w += fours;
    steps.fours -= fours;
    if (steps.fours) samba__integer_panel_vnni(&steps);

    below.rows -= rows;
    below.x += rows * below.x_row;
    below.sum += rows;
    samba__integer_panel_vnni(&below);
}
#endif
#endif

/* The sums of products become those of y. */
SAMBA__AVX2_FN SAMBA__FN void samba__integer_zeros(const samba__integer_product *p,
                                                   samba__integer_block *b)
{
    uint32_t zero[SAMBA__INTEGER_COLUMNS], *of_w = b->sum[p->rows];
    uint32_t up_x = samba__byte_flip(p->args, SAMBA__INTEGER_X, SAMBA_U8);
    uint32_t down_w = samba__byte_flip(p->args, SAMBA__INTEGER_W, SAMBA_I8);

    for (ptrdiff_t j = 0; j < p->columns; j++) {
        int32_t zero_w = samba__zero_at(p->args, SAMBA__INTEGER_ZERO_W, p->column + j);
        zero[j] = (uint32_t)zero_w - down_w;
        of_w[j] -= (uint32_t)p->k * zero[j];
    }

    for (ptrdiff_t i = 0; i < p->rows; i++) {
        int32_t at_row = samba__zero_at(p->args, SAMBA__INTEGER_ZERO_X, p->row + i);
        uint32_t zero_x = (uint32_t)at_row + up_x, of_x = b->of_x[i];
        for (ptrdiff_t j = 0; j < p->columns; j++)
            p->y[i * p->n + j] = b->sum[i][j] - zero_x * of_w[j] - zero[j] * of_x;
    }
}

SAMBA__FN void samba__multiply_packed(const samba__integer_product *p, samba__integer_fn multiply,
                                      samba__integer_block *b)
{
    uint8_t flip = samba__byte_flip(p->args, SAMBA__INTEGER_X, SAMBA_U8);
    samba__integer_panel panel = { b->x[0], SAMBA__INTEGER_STEPS, p->rows + 1, NULL, 0, b->sum };
    panel.w = b->w;
    memset(b->sum, 0, (size_t)(p->rows + 1) * sizeof *b->sum);
    memset(b->of_x, 0, sizeof b->of_x);
    memset(b->x[p->rows], 1, sizeof *b->x);

    for (ptrdiff_t k = 0; k < p->k; k += SAMBA__INTEGER_STEPS) {
        ptrdiff_t steps = p->k - k;
        if (steps > SAMBA__INTEGER_STEPS) steps = SAMBA__INTEGER_STEPS;
        samba__pack_integer_panel(p, k, steps, b);
        for (ptrdiff_t i = 0; i < p->rows; i++)
            b->of_x[i] += samba__pack_integers(b->x[i], p->x + i * p->k + k, steps, flip);
        panel.fours = (steps + 3) / 4;
        multiply(&panel);
    }

    samba__integer_zeros(p, b);
}

#else
#define samba__integer_panel_avx2 ((samba__integer_fn)0)
#endif
#define samba__integer_panel_portable ((samba__integer_fn)0)
#define samba__integer_panel_sdot ((samba__integer_fn)0)

SAMBA__FN void samba__matmul_integer_kernel(const samba_args *a)
{
    for (ptrdiff_t u = (ptrdiff_t)a->begin; u < (ptrdiff_t)a->end; u++) {
        samba__integer_product p = samba__integer_product_of(a, u);
#if SAMBA__X86 && !SAMBA__IS_SMALL
        samba__integer_fn multiply = samba__set_of(a->isa)->multiply_integers;
        if (multiply) {
            samba__multiply_packed(&p, multiply, (samba__integer_block *)(void *)a->local);
            continue;
        }
#endif
        samba__multiply_integers(&p);
    }
}


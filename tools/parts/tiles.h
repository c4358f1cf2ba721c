/* ==== [tiles] ================================================================================= */
/* Products in bf16 by a matrix unit: Intel's AMX. It has eight tiles, registers of 16 rows of 64
   bytes, and one instruction that matters, TDPBF16PS: sums of 16 x 16 += 16 rows of A, 32 steps
   each, times 16 columns of B. That is the definition in [micro-kernel], 32 steps at once.

       a tile of A   row i has 32 steps of row i, one after the other
       a tile of B   row q has steps 2 q and 2 q + 1 of 16 columns: b(2q,0) b(2q+1,0) b(2q,1) ...
       panels        two tiles beside each other, 32 rows of A or 32 columns of B, for each 32 steps
       micro-tile    32 x 32 sums in tiles 0 to 3; tiles 4 and 5 are of A, 6 and 7 of B

   What is missing of a panel is -0 in A, and +0 in B: x + (-0) is x, also if x is -0.

   Products of bytes by the same unit are in [int-matmul].

   Linux asks for a permission before a process uses tiles, as they enlarge what it saves of a
   thread; samba__tiles_permitted asks when a program with such products is opened. Where it is
   refused, the set before computes the same bits.

   SAMBA_TILE_TWIN makes tiles arrays and their instructions functions, the twin: then all but those
   runs, and can be tested, on any machine. */
#if SAMBA__TILES
enum {
    SAMBA__TILE_SIDE = 16,   /* rows of a tile, and columns of sums */
    SAMBA__TILE_PANEL = 32,  /* rows or columns of a panel */
    SAMBA__TILE_BLOCK = 384, /* steps of a block: panels of A and B stay in the first-level cache */
    SAMBA__TILE_COLUMNS = 1024 /* of B, whose panels are kept while rows go by */
};

typedef char samba__tile_is_a_block[SAMBA__BF16_STEPS == 2 * SAMBA__TILE_SIDE ? 1 : -1];

/* Rows of A, or columns of B. Value (r,p), p a step, is x[r * row + p * step]; one of these is 1.
 */
typedef struct samba__tile_operand {
    const void *x;
    samba_dtype type; /* f32 or bf16 */
    int64_t row, step;
} samba__tile_operand;

/* C[rows x cols] (+)= A B of a panel each, in blocks of 32 steps. */
typedef struct samba__tile_product {
    const uint16_t *a, *b;
    int64_t blocks, rows, cols;
    float *c;
    int64_t c_row;
    bool begins; /* the sums start from zero, not from C */
} samba__tile_product;

/* A matrix unit. begin and end are called by each thread around a row of products. */
typedef struct samba__tile_set {
    void (*begin)(void);
    void (*end)(void);
    /* A panel of rows r ... and steps p ... */
    void (*pack)(uint16_t *panel, const samba__tile_operand *from, int64_t rows, int64_t steps,
                 bool of_b);
    void (*multiply)(const samba__tile_product *s);
} samba__tile_set;

/* ---- What the processor has ---- */
#if SAMBA__PACKS_TILES
typedef struct samba__cpuid {
    uint32_t a, b, c, d;
} samba__cpuid;

/* Zeros, if it does not know the leaf. */
static samba__cpuid samba__ask_processor(uint32_t leaf, uint32_t part)
{
    samba__cpuid is = SAMBA__ZEROED;
    __asm__ volatile("cpuid" : "=a"(is.a), "=b"(is.b), "=c"(is.c), "=d"(is.d) : "a"(0), "c"(0));
    if (is.a < leaf) {
        is.a = is.b = is.c = is.d = 0;
        return is;
    }
    __asm__ volatile("cpuid"
                     : "=a"(is.a), "=b"(is.b), "=c"(is.c), "=d"(is.d)
                     : "a"(leaf), "c"(part));
    return is;
}

/* AVX512-BF16, bit 5 of EAX of leaf 7.1, beside AVX-512. */
static bool samba__packs_tiles(void)
{
    const samba__cpuid of_7 = samba__ask_processor(7, 0);
    return of_7.a >= 1 && (samba__ask_processor(7, 1).a >> 5 & 1) && SAMBA__HAS_VNNI
        && SAMBA__CPU_HAS("avx512vl");
}
#endif

/* ---- The instructions ---- */
#if defined(SAMBA_TILE_TWIN)
#define SAMBA__TILE_FN

typedef struct samba__twin_tile {
    uint32_t word[SAMBA__TILE_SIDE][SAMBA__TILE_SIDE];
} samba__twin_tile;

#define SAMBA__TILE_FILE samba__twin_tile file[8];
#define samba__tile_zero(t) memset(&file[t], 0, sizeof file[t])
#define samba__tile_load(t, from, row) samba__twin_load(&file[t], from, row)
#define samba__tile_store(t, to, row) samba__twin_store(&file[t], to, row)
#define samba__tile_multiply(sums, a, b) samba__twin_multiply(&file[sums], &file[a], &file[b])

SAMBA__FN void samba__twin_load(samba__twin_tile *t, const void *from, int64_t row)
{
    for (int64_t i = 0; i < SAMBA__TILE_SIDE; i++)
        memcpy(t->word[i], (const uint8_t *)from + i * row, sizeof t->word[i]);
}

SAMBA__FN void samba__twin_store(const samba__twin_tile *t, void *to, int64_t row)
{
    for (int64_t i = 0; i < SAMBA__TILE_SIDE; i++)
        memcpy((uint8_t *)to + i * row, t->word[i], sizeof t->word[i]);
}

/* One of the two halves of a word, as a float. */
SAMBA__FN float samba__twin_half(uint32_t word, bool second)
{
    return samba__flush(samba__bits_float(second ? word & 0xFFFF0000u : word << 16));
}

/* TDPBF16PS */
SAMBA__FN void samba__twin_multiply(samba__twin_tile *sums, const samba__twin_tile *a,
                                    const samba__twin_tile *b)
{
    for (int i = 0; i < SAMBA__TILE_SIDE; i++)
        for (int j = 0; j < SAMBA__TILE_SIDE; j++) {
            float chain[2] = { 0.0f, 0.0f };
            for (int p = 0; p < SAMBA__TILE_SIDE; p++)
                for (int h = 0; h < 2; h++)
                    chain[h]
                        = samba__fma_flushed(samba__twin_half(a->word[i][p], h == 1),
                                             samba__twin_half(b->word[p][j], h == 1), chain[h]);

            float from = samba__flush(samba__bits_float(sums->word[i][j]));
            float sum = samba__flush(from + samba__flush(chain[0] + chain[1]));
            sums->word[i][j] = samba__float_bits(sum);
        }
}

SAMBA__FN void samba__tiles_begin(void)
{
}

SAMBA__FN void samba__tiles_end(void)
{
}
#else
#define SAMBA__TILE_FN __attribute__((noinline, target("amx-tile,amx-bf16")))
#define SAMBA__TILE_FILE \
    __asm__ volatile("" ::: "memory"); /* compilers do not know that tiles read memory */
#define samba__tile_zero(t) _tile_zero(t)
#define samba__tile_load(t, from, row) _tile_loadd(t, from, row)
#define samba__tile_store(t, to, row) _tile_stored(t, to, row)
#define samba__tile_multiply(sums, a, b) _tile_dpbf16ps(sums, a, b)

/* What LDTILECFG reads. */
typedef struct samba__tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} samba__tile_config;

/* Eight whole tiles. A constant: gcc 12 takes _tile_loadconfig to read 8 bytes, and would drop what
   is stored to the rest of a variable. */
static const samba__tile_config samba__whole_tiles
    = { 1, 0, { 0 }, { 64, 64, 64, 64, 64, 64, 64, 64 }, { 16, 16, 16, 16, 16, 16, 16, 16 } };

static SAMBA__TILE_FN void samba__tiles_begin(void)
{
    _tile_loadconfig(&samba__whole_tiles);
}

/* Or 8 KiB of tiles would be saved whenever the thread is interrupted. */
static SAMBA__TILE_FN void samba__tiles_end(void)
{
    _tile_release();
}

/* cpuid 7.0: EDX has bits 22 (AMX-BF16), 24 (AMX-TILE) and 25 (AMX-INT8). XCR0 has bits 17 and 18
   if the system keeps tiles. */
static bool samba__processor_has_tiles(void)
{
    const uint32_t of_tiles = 1u << 22 | 1u << 24 | 1u << 25;
    const samba__cpuid of_1 = samba__ask_processor(1, 0), of_7 = samba__ask_processor(7, 0);
    bool has_xgetbv = of_1.c >> 27 & 1, has_tiles = (of_7.d & of_tiles) == of_tiles;
    if (!has_xgetbv || !has_tiles || !samba__packs_tiles()) return false;

    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low >> 17 & 3) == 3;
}

/* May this process use tiles? The system is asked: arch_prctl(ARCH_REQ_XCOMP_PERM,
   XFEATURE_XTILEDATA), which C libraries do not declare. What it permits once holds for all
   threads, and is permitted again. */
static bool samba__tiles_permitted(void)
{
    enum { ARCH_PRCTL = 158, REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };

    long result;
    if (!samba__processor_has_tiles()) return false;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"((long)ARCH_PRCTL), "D"((long)REQUEST_PERMISSION), "S"((long)TILE_DATA)
                     : "rcx", "r11", "memory");
    return result == 0;
}
#endif

/* Fetches lines of 32 values into the first-level cache. */
SAMBA__INLINE void samba__fetch_lines(const uint16_t *x)
{
    SAMBA__UNROLLED
    for (int i = 0; i < 8; i++)
        SAMBA__PREFETCH_NEAR(x + i * (int)SAMBA__BF16_STEPS);
}

/* Fetches the lines of a micro-tile of C. */
SAMBA__INLINE void samba__fetch_sums(const float *c, int64_t c_row)
{
    for (int64_t i = 0; i < SAMBA__TILE_PANEL; i++) {
        SAMBA__PREFETCH_NEAR(c + i * c_row);
        SAMBA__PREFETCH_NEAR(c + i * c_row + SAMBA__TILE_SIDE);
    }
}

/* C (+)= A B. Sums beyond the edges of C are computed beside it. */
static SAMBA__TILE_FN void samba__multiply_tiles(const samba__tile_product *s)
{
    float beside[SAMBA__TILE_PANEL * SAMBA__TILE_PANEL];
    const bool whole = s->rows == SAMBA__TILE_PANEL && s->cols == SAMBA__TILE_PANEL;
    const uint16_t *a = s->a, *b = s->b;
    const int64_t tile = SAMBA__TILE_SIDE * SAMBA__BF16_STEPS, line = 2 * SAMBA__BF16_STEPS;
    float *c = whole ? s->c : beside;
    const int64_t c_row = whole ? s->c_row : (int64_t)SAMBA__TILE_PANEL, row = 4 * c_row;

    for (int64_t i = 0; !whole && !s->begins && i < s->rows; i++)
        memcpy(c + i * c_row, s->c + i * s->c_row, (size_t)s->cols * sizeof *c);

    samba__fetch_sums(c, c_row);
    SAMBA__TILE_FILE
    if (s->begins) {
        samba__tile_zero(0);
        samba__tile_zero(1);
        samba__tile_zero(2);
        samba__tile_zero(3);
    } else {
        samba__tile_load(0, c, row);
        samba__tile_load(1, c + 16, row);
        samba__tile_load(2, c + 16 * c_row, row);
        samba__tile_load(3, c + 16 * c_row + 16, row);
    }

    /* A panel of A stays in the first-level cache, one of B waits in the second: the next block of
       it is fetched while this one is multiplied. That made products up to 18 % faster, and all
       loads before the first product 9 %, where another thread of the core uses its unit. */
    for (int64_t left = s->blocks; left > 0; left--) {
        const uint16_t *next = b + 2 * tile;
        samba__tile_load(6, b, line);
        samba__tile_load(4, a, line);
        samba__tile_load(7, b + tile, line);
        samba__tile_load(5, a + tile, line);

        samba__tile_multiply(0, 4, 6);
        samba__fetch_lines(next);
        samba__tile_multiply(1, 4, 7);
        samba__fetch_lines(next + tile / 2);
        samba__tile_multiply(2, 5, 6);
        samba__fetch_lines(next + tile);
        samba__tile_multiply(3, 5, 7);
        samba__fetch_lines(next + tile + tile / 2);

        a += 2 * tile;
        b = next;
    }

    samba__tile_store(0, c, row);
    samba__tile_store(1, c + 16, row);
    samba__tile_store(2, c + 16 * c_row, row);
    samba__tile_store(3, c + 16 * c_row + 16, row);

    for (int64_t i = 0; !whole && i < s->rows; i++)
        memcpy(s->c + i * s->c_row, c + i * c_row, (size_t)s->cols * sizeof *c);
}

/* ---- Packing ---- */
SAMBA__FN uint16_t samba__tile_value(const samba__tile_operand *from, int64_t r, int64_t p)
{
    int64_t at = r * from->row + p * from->step;
    float x;
    if (from->type == SAMBA_BF16)
        samba__load_operands(&x, (const uint16_t *)from->x + at, SAMBA_BF16, 1);
    else
        samba__load_operands(&x, (const float *)from->x + at, SAMBA_F32, 1);
    return (uint16_t)(samba__float_bits(x) >> 16);
}

/* Value by value. */
SAMBA__FN void samba__pack_tiles_plain(uint16_t *panel, const samba__tile_operand *from,
                                       int64_t rows, int64_t steps, bool of_b)
{
    for (int64_t p = 0; p < steps; p += SAMBA__BF16_STEPS)
        for (int64_t r = 0; r < SAMBA__TILE_PANEL; r++)
            for (int64_t q = 0; q < SAMBA__BF16_STEPS; q++) {
                bool there = r < rows && p + q < steps;
                uint16_t missing = of_b ? 0 : 0x8000;
                uint16_t value = there ? samba__tile_value(from, r, p + q) : missing;

                int64_t in_tile = r % SAMBA__TILE_SIDE;
                int64_t at = of_b ? q / 2 * SAMBA__BF16_STEPS + 2 * in_tile + q % 2
                                  : in_tile * SAMBA__BF16_STEPS + q;
                int64_t tile = p / SAMBA__BF16_STEPS * 2 + r / SAMBA__TILE_SIDE;
                panel[tile * SAMBA__TILE_SIDE * SAMBA__BF16_STEPS + at] = value;
            }
}

#if SAMBA__PACKS_TILES
#define SAMBA__PACK_FN __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16,avx2,fma")))
#define SAMBA__PACK_INLINE static inline __attribute__((always_inline)) SAMBA__PACK_FN

/* 32 steps of one row, `there` of them. */
SAMBA__PACK_INLINE __m512i samba__pack_steps(const samba__tile_operand *from, int64_t at,
                                             __mmask32 there, __m512i missing)
{
    if (from->type == SAMBA_BF16)
        return _mm512_mask_loadu_epi16(missing, there, (const uint16_t *)from->x + at);

    const float *x = (const float *)from->x + at;
    __m512 low = _mm512_maskz_loadu_ps((__mmask16)there, x);
    __m512 high = _mm512_maskz_loadu_ps((__mmask16)(there >> 16), x + 16);
    return _mm512_mask_mov_epi16(missing, there, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

/* Two steps of 16 rows that are side by side: even and odd in turn. */
SAMBA__PACK_INLINE __m512i samba__pack_pair(const samba__tile_operand *from, int64_t at,
                                            __mmask16 even, __mmask16 odd, __m512i missing)
{
    const __m512i in_turn
        = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22,
                           6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __mmask32 there = (__mmask32)even | (__mmask32)odd << 16;
    __m512i both;

    if (from->type == SAMBA_BF16) {
        const uint16_t *x = (const uint16_t *)from->x + at;
        __m256i low = _mm256_maskz_loadu_epi16(even, x);
        __m256i high = _mm256_maskz_loadu_epi16(odd, x + from->step);
        both = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    } else {
        const float *x = (const float *)from->x + at;
        __m512 low = _mm512_maskz_loadu_ps(even, x);
        __m512 high = _mm512_maskz_loadu_ps(odd, x + from->step);
        both = (__m512i)_mm512_cvtne2ps_pbh(high, low);
    }
    return _mm512_permutexvar_epi16(in_turn, _mm512_mask_mov_epi16(missing, there, both));
}

/* Words of 32 bits of 16 vectors: word j of vector i becomes word i of vector j. */
SAMBA__PACK_INLINE void samba__transpose_words(__m512i v[16])
{
    __m512i t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    }

    for (int i = 0; i < 16; i += 4)
        for (int u = 0; u < 2; u++) {
            v[i + 2 * u] = _mm512_unpacklo_epi64(t[i + u], t[i + 2 + u]);
            v[i + 2 * u + 1] = _mm512_unpackhi_epi64(t[i + u], t[i + 2 + u]);
        }

    /* v[4 g + i] now has words i, i + 4, i + 8, i + 12 of rows 4 g ... 4 g + 3. */
    for (int i = 0; i < 4; i++) {
        __m512i a = _mm512_shuffle_i32x4(v[i], v[4 + i], 0x88);
        __m512i b = _mm512_shuffle_i32x4(v[8 + i], v[12 + i], 0x88);
        __m512i c = _mm512_shuffle_i32x4(v[i], v[4 + i], 0xDD);
        __m512i d = _mm512_shuffle_i32x4(v[8 + i], v[12 + i], 0xDD);
        t[i] = _mm512_shuffle_i32x4(a, b, 0x88);
        t[4 + i] = _mm512_shuffle_i32x4(c, d, 0x88);
        t[8 + i] = _mm512_shuffle_i32x4(a, b, 0xDD);
        t[12 + i] = _mm512_shuffle_i32x4(c, d, 0xDD);
    }
    for (int i = 0; i < 16; i++)
        v[i] = t[i];
}

/* A tile of rows r ... and steps p ..., as they lie: where steps are side by side a tile of A,
   where rows are, one of B. What is read next is prefetched: of so many rows the processor does not
   foresee it. */
SAMBA__PACK_INLINE void samba__load_tile(__m512i v[16], const samba__tile_operand *from, int64_t r,
                                         int64_t rows, int64_t p, int64_t steps, __m512i missing)
{
    const int64_t at = r * from->row + p * from->step;
    const uint8_t *next = (const uint8_t *)from->x + at * (from->type == SAMBA_BF16 ? 2 : 4);

    if (from->step == 1) {
        const __mmask32 there = steps < 32 ? ((__mmask32)1 << steps) - 1 : 0xFFFFFFFFu;
        const int64_t line = from->row * (from->type == SAMBA_BF16 ? 2 : 4);
        for (int i = 0; i < 16; i++) {
            v[i] = missing;
            if (i >= rows) continue;
            _mm_prefetch((const char *)(next + i * line + 128), _MM_HINT_T0);
            _mm_prefetch((const char *)(next + i * line + 192), _MM_HINT_T0);
            v[i] = samba__pack_steps(from, at + i * from->row, there, missing);
        }
        return;
    }

    const __mmask16 there = (__mmask16)((1u << samba__max64(rows, 0)) - 1);
    const int64_t line = from->step * (from->type == SAMBA_BF16 ? 2 : 4);
    for (int q = 0; q < 16; q++) {
        v[q] = missing;
        if (2 * q >= steps) continue;
        _mm_prefetch((const char *)(next + 2 * q * line + 128), _MM_HINT_T0);
        _mm_prefetch((const char *)(next + (2 * q + 1) * line + 128), _MM_HINT_T0);
        v[q] = samba__pack_pair(from, at + 2 * q * from->step, there,
                                2 * q + 1 < steps ? there : (__mmask16)0, missing);
    }
}

SAMBA__PACK_INLINE void samba__pack_panel(uint16_t *panel, const samba__tile_operand *from,
                                          int64_t rows, int64_t steps, bool of_b, bool transposes)
{
    const __m512i missing = _mm512_set1_epi16(of_b ? 0 : (short)-32768);

    for (int64_t p = 0; p < steps; p += SAMBA__BF16_STEPS)
        for (int64_t r = 0; r < SAMBA__TILE_PANEL; r += SAMBA__TILE_SIDE) {
            __m512i v[16];
            int64_t height = samba__min64(rows - r, SAMBA__TILE_SIDE);
            samba__load_tile(v, from, r, height, p, samba__min64(steps - p, SAMBA__BF16_STEPS),
                             missing);
            if (transposes) samba__transpose_words(v);

            for (int i = 0; i < 16; i++)
                _mm512_storeu_si512(panel + 32 * i, v[i]);
            panel += SAMBA__TILE_SIDE * SAMBA__BF16_STEPS;
        }
}

static SAMBA__PACK_FN __attribute__((noinline)) void samba__pack_tiles_avx512(
    uint16_t *panel, const samba__tile_operand *from, int64_t rows, int64_t steps, bool of_b)
{
    bool transposes = (from->step == 1) == of_b;
    if (transposes)
        samba__pack_panel(panel, from, rows, steps, of_b, true);
    else
        samba__pack_panel(panel, from, rows, steps, of_b, false);
}
#endif

/* ---- Matrix units ---- */
#if defined(SAMBA_TILE_TWIN)
static const samba__tile_set samba__tiles_twin
    = { samba__tiles_begin, samba__tiles_end, samba__pack_tiles_plain, samba__multiply_tiles };
#if SAMBA__PACKS_TILES
static const samba__tile_set samba__tiles_twin_avx512
    = { samba__tiles_begin, samba__tiles_end, samba__pack_tiles_avx512, samba__multiply_tiles };
#endif
#else
static const samba__tile_set samba__tiles_amx
    = { samba__tiles_begin, samba__tiles_end, samba__pack_tiles_avx512, samba__multiply_tiles };
#endif
#endif /* SAMBA__TILES */

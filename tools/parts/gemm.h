/* ==== [gemm] ================================================================================ */
/* Every dense layer, every attention score and every convolution ends here, so this chapter is
   fast; and every run must be repeatable, so it is exact about its arithmetic:

       acc = accumulate ? C(i,j) : 0;
       for (p = 0; p < k; p++) acc = fma(A(i,p), B(p,j), acc);
       C(i,j) = acc, plus bias(j) if given, plus row_bias(i) if given

   The order of k is never changed and no element's sum is ever split. All the speed comes from
   doing many elements side by side, which cannot change a bit: the naive loop, the portable
   path and those of NEON, AVX2 and AVX-512 agree exactly, whatever the tiling and the threads.

   How the work is cut, from the outside in; [micro-kernel] above is the inside:

       tile         a rectangle of C, the unit that threads share; tiles know nothing of each other
       block        KC steps of k, of MC rows of A and NC columns of B; between blocks, sums rest in
                    a buffer or in C
       micro-panel, micro-tile   what the micro-kernel takes of a block */
/* With at most so many rows of A the time goes into fetching B. Then blocks are one panel wide and
   so many steps long, and the next one is on its way while this one is computed: that made products
   of up to 24 rows twice as fast with AVX-512. */
enum { SAMBA__FEW_ROWS = 24, SAMBA__FEW_ROWS_KC = 64 };

/* With more, panels of B are kept in the second-level cache, beside so many rows of A: products of
   64 rows became 12 % faster with AVX2, large ones 4 %. */
enum { SAMBA__KEEP_ROWS = 96 };

/* Scratch that each thread lends to samba__gemm_run: one panel of B, one block of A, and the sums
   of a tile between blocks, which are neighbours there: rows of a wide C evict each other. */
#define SAMBA__GEMM_PANEL ((size_t)SAMBA_GEMM_KC * SAMBA__GEMM_COLS)
#define SAMBA__GEMM_SUMS (SAMBA__IS_SMALL ? 0 : (size_t)SAMBA_GEMM_MC * SAMBA_GEMM_NC)
#define SAMBA__GEMM_BLOCK ((size_t)SAMBA_GEMM_MC * SAMBA_GEMM_KC)
#define SAMBA__GEMM_LOCAL \
    (SAMBA__DIRECT ? 0 : (SAMBA__GEMM_PANEL + SAMBA__GEMM_SUMS + SAMBA__GEMM_BLOCK) * sizeof(float))

/* samba_work.local of a product: a host says what a small device needs. */
#define SAMBA__NEED_GEMM (SAMBA__DEVICE_HALF ? (int64_t)SAMBA__GEMM_LOCAL : 0)

/* One product. Strides say where elements are, so a transposed operand costs nothing to name. */
typedef struct samba__gemm {
    int64_t m, n, k;
    const float *a; /* A(i,p) = a[i * a_row + p * a_col] */
    int64_t a_row, a_col;
    samba_dtype a_type; /* f32, or bf16 if the product is in bf16 */
    bool in_bf16;       /* as [micro-kernel] defines it */
    const float *b;     /* B(p,j) = b[p * b_row + j * b_col], of b_type: f32, bf16 or f16 */
    int64_t b_row, b_col;
    float *c; /* C(i,j) = c[i * c_row + j]; overlaps no operand */
    int64_t c_row;
    const float *bias;     /* NULL, or n values: one per column */
    const float *row_bias; /* NULL, or m values: one per row */
    bool accumulate;       /* add to C instead of overwriting it */
    bool transposed;       /* C(i,j) = c[j * c_row + i] instead */
    samba_dtype b_type;
    const struct samba__gathered *gathered; /* B of a convolution, for [tiles]; NULL: b */
    const void *packed;     /* B as packed weights, which may be of more types; NULL: b */
    const uint16_t *scale;  /* of int8 and int4 */
    const samba_args *args; /* whose epilogue, unless NULL, is told of each part that is ready */
} samba__gemm;

/* C (+)= A B for a convolution: B consists of pieces of the rows of an image, the runs, n / run of
   them. Of each, so many floats more can be read as vectors have. In bf16, the image has operands
   of [micro-kernel], and k is a multiple of SAMBA__BF16_STEPS unless it ends the sums. */
typedef struct samba__gathered {
    ptrdiff_t m, n, k;  /* k is at most SAMBA__GATHERED_STEPS */
    const void *a;      /* A(i,p) = a[i * a_row + p] */
    samba_dtype a_type; /* f32, or, if in_bf16, of bf16 as well */
    ptrdiff_t a_row;
    const float *b; /* B(p,j) = b[at[p] + j / run * step + j % run] */
    const int32_t *at;
    ptrdiff_t run, step;
    float *c; /* C(i,j) = c[i * c_row + j] */
    ptrdiff_t c_row;
    const float *row_bias; /* NULL, or m values */
    bool accumulate;
    bool in_bf16;
    bool rounded; /* A has operands already */
} samba__gathered;

enum { SAMBA__GATHERED_STEPS = SAMBA__DIRECT ? (int)SAMBA__BF16_STEPS : SAMBA_GEMM_KC };

/* Where, in a thread's scratch, operands of A may be: behind a panel, and what gathering writes
   past its end; and for how many there is room. */
#define SAMBA__GATHERED_A (SAMBA__GEMM_PANEL + 16)
#define SAMBA__GATHERED_ROOM \
    (SAMBA__DIRECT \
         ? (ptrdiff_t)0 \
         : (ptrdiff_t)(SAMBA__GEMM_LOCAL / sizeof(float)) - (ptrdiff_t)SAMBA__GATHERED_A)

/* Run the fused consumer of this part of C now, while it is in the cache. */
SAMBA__FN void samba__gemm_epilogue(const samba__gemm *g, int64_t i0, int64_t i1, int64_t j0,
                                    int64_t j1)
{
    if (!g->args || !g->args->epilogue) return;
    const float *c = g->c + (g->transposed ? j0 * g->c_row + i0 : i0 * g->c_row + j0);
    int64_t m = i1 - i0, n = j1 - j0;
    g->args->epilogue(g->args, c, g->transposed ? n : m, g->transposed ? m : n, g->c_row);
}

/* How many tiles a thread takes at least: runs of them pack less; but each thread gets some. */
SAMBA__FN int64_t samba__tiles_at_once(int64_t tiles, const samba__pool *pool)
{
    return pool ? samba__min64(4, samba__ceil_div(tiles, pool->n_threads)) : tiles;
}

#if !SAMBA__DIRECT
/* ---- packing ------------------------------------------------------------------------------- */
/* dst[p][j] = src[j][p] for p < pc and j < jc. What lies `ahead` of src is wanted next. */
SAMBA__FN void samba__transpose(const samba__gemm_set *set, const float *src, int64_t src_row,
                                int64_t pc, int64_t jc, float *dst, int64_t dst_row, int64_t ahead)
{
    int64_t p_done = 0, j_done = 0; /* this corner was filled by vectors */
    if (set->transpose_panel) {
        set->transpose_panel(src, src_row, pc, jc, dst, dst_row, ahead);
        p_done = pc - pc % 4;
        j_done = jc - jc % (set->nr / 2);
    }
    for (int64_t u = j_done < jc ? 0 : p_done; u < pc; u++)
        for (int64_t v = u < p_done ? j_done : 0; v < jc; v++)
            dst[u * dst_row + v] = src[v * src_row + u];
}

/* Pack rows [i, i + ic) and steps [p, p + pc) of an A whose columns are contiguous into
   micro-panels. Eight of them advance together, to use what a step brings into the cache. */
SAMBA__FN void samba__pack_a(const samba__gemm *g, int mr, int64_t i, int64_t ic, int64_t p,
                             int64_t pc, float *dst)
{
    for (int64_t first = 0, end = 0; first < ic; first = end) {
        for (int q = 0; q < 8; q++)
            end += samba__micro_rows(mr, ic - end);
        SAMBA_ASSERT(end > first && end <= ic); /* micro-panels cover the rows, one after another */

        for (int64_t u = 0; u < pc; u++) {
            const float *src = g->a + i + (p + u) * g->a_col;
            for (int64_t r = first; r < end; r += 16)
                SAMBA__PREFETCH(src + 8 * g->a_col + r);

            for (int64_t r = first, h; r < end; r += h) {
                h = samba__micro_rows(mr, ic - r);
                float *to = dst + r * pc + u * h;
                if (h == 12)
                    memcpy(to, src + r, 12 * sizeof(float));
                else if (h == 6)
                    memcpy(to, src + r, 6 * sizeof(float));
                else
                    memcpy(to, src + r, (size_t)h * sizeof(float));
            }
        }
    }
}

/* Points s at B(p.., j..) of packed weights: f32 as they lie, if panels of this set are as wide or
   rows are few; others unpacked in panel, unless they are there. */
SAMBA__FN void samba__open_packed(const samba__gemm_set *set, const samba__gemm *g, int64_t p,
                                  int64_t j, float *panel, bool there, samba__panel_product *s)
{
    const uint8_t *q = samba__packed_at(g->packed, g->b_type, g->k, j);
    const uint16_t *scale = samba__scale_at(g->scale, g->k, j);
    int64_t row = samba__panel_row(g->b_type);
    bool plain = g->b_type == SAMBA_F32 && (set->nr == SAMBA__PANEL || s->rows <= SAMBA__FEW_ROWS);

    s->b = plain ? (const float *)(const void *)q + p * SAMBA__PANEL : panel;
    s->b_row = plain ? SAMBA__PANEL : set->nr;
    if (plain || there) return;

    if (set->unpack)
        set->unpack(panel, q, row, scale, g->b_type, p, s->kc);
    else
        samba__unpack_any(panel, q, row, scale, g->b_type, p, s->kc, set->nr);
}

/* Rows of n <= NR values of a half type, `row` values apart, become rows of NR floats. */
SAMBA__FN void samba__widen(const samba__gemm_set *set, const uint16_t *src, int64_t row,
                            int64_t rows, int64_t n, samba_dtype type, float *dst, int64_t ahead)
{
    const uint8_t *q = (const uint8_t *)src;
    bool vectors = set->unpack && n == set->nr;
    int64_t some;

    for (int64_t r = 0; r < rows; r += some) {
        some = samba__min64(rows - r, 8);
        for (int64_t k = r; k < r + some; k++)
            SAMBA__PREFETCH(src + k * row + ahead);

        if (vectors) {
            set->unpack(dst, q + 2 * r * row, 2 * row, NULL, type, 0, some);
        } else {
            for (int64_t k = 0; k < some; k++)
                samba__load(dst + k * set->nr, src + (r + k) * row, type, n);
        }
        dst += some * set->nr;
    }
}

/* Pack columns of a B of a half type, whose element (0, 0) is src[0]. */
SAMBA__FN void samba__pack_halves(const samba__gemm_set *set, const samba__gemm *g,
                                  const uint16_t *src, int64_t pc, int64_t jc, float *dst,
                                  int64_t ahead)
{
    const int64_t nr = set->nr;
    float piece[SAMBA__GEMM_COLS * SAMBA__GEMM_COLS];
    int64_t n;

    if (g->b_row != 1) {
        samba__widen(set, src, g->b_row, pc, jc, g->b_type, dst, ahead);
        return;
    }

    for (int64_t u = 0; u < pc; u += n) {
        n = samba__min64(nr, pc - u);
        samba__widen(set, src + u, g->b_col, jc, n, g->b_type, piece, u + n < pc ? n : ahead - u);
        samba__transpose(set, piece, nr, n, jc, dst + u * nr, nr, 0);
    }
}

/* Pack B(p.., j..) into a micro-panel of pc steps, columns beyond jc zero. What lies `ahead` in B
   is prefetched. */
SAMBA__FN void samba__pack_b(const samba__gemm_set *set, const samba__gemm *g, int64_t p,
                             int64_t pc, int64_t j, int64_t jc, float *dst, int64_t ahead)
{
    const int64_t at = p * g->b_row + j * g->b_col, nr = set->nr;
    SAMBA_ASSERT(jc > 0 && jc <= nr && p + pc <= g->k);
    if (jc < nr) memset(dst, 0, (size_t)(pc * nr) * sizeof(float));

    if (g->b_type != SAMBA_F32) {
        samba__pack_halves(set, g, (const uint16_t *)(const void *)g->b + at, pc, jc, dst, ahead);
        return;
    }

    const float *src = g->b + at;
    if (g->b_row == 1) { /* as weights are stored, [out, in] */
        samba__transpose(set, src, g->b_col, pc, jc, dst, nr, ahead);
    } else if (g->b_col == 1 && jc == nr) {
        for (int64_t u = 0; u < pc; u++) {
            SAMBA__PREFETCH(src + ahead);
            SAMBA__PREFETCH(src + ahead + nr / 2);

            if (nr == 16)
                memcpy(dst, src, 16 * sizeof(float));
            else if (nr == 32)
                memcpy(dst, src, 32 * sizeof(float));
            else
                memcpy(dst, src, (size_t)nr * sizeof(float));

            src += g->b_row;
            dst += nr;
        }
    } else {
        for (int64_t u = 0; u < pc; u++)
            for (int64_t v = 0; v < jc; v++)
                dst[u * nr + v] = src[u * g->b_row + v * g->b_col];
    }
}

/* ---- tiles --------------------------------------------------------------------------------- */
/* How C is cut: into `down` x `across` tiles, each a whole number of the largest micro-tiles. */
typedef struct samba__grid {
    int64_t tall, wide; /* C in largest micro-tiles */
    int64_t down, across;
} samba__grid;

/* Few tiles mean little repeated packing, many mean that threads finish together. Eight tiles of
   equal size, or a multiple of eight, suit 2, 4 and 8 threads; but a tile of fewer than 2^17
   multiply-adds is hardly worth handing to a thread. Only the shape decides, never the threads. */
SAMBA__FN samba__grid samba__gemm_grid(int64_t m, int64_t n, int64_t k)
{
    int64_t worth = m * n / ((1 << 17) / (k + 1) + 1), wanted = 1;
    samba__grid t;
    while (wanted < 8 && wanted * 2 <= worth)
        wanted *= 2;

    t.tall = samba__ceil_div(m, SAMBA__GEMM_ROWS);
    t.wide = samba__ceil_div(n, SAMBA__GEMM_COLS);
    t.down = samba__ceil_div(m, SAMBA_GEMM_MC);
    t.across = samba__ceil_div(n, SAMBA_GEMM_NC);

    while (t.down * t.across < wanted && m > 0 && n > 0) {
        bool wide = n * t.down >= m * t.across; /* the longer side of a tile is halved */
        if (wide && t.across * 2 <= t.wide)
            t.across *= 2;
        else if (t.down * 2 <= t.tall)
            t.down *= 2;
        else
            break;
    }

    while (t.down * t.across % wanted != 0 && t.across < t.wide)
        t.across++;
    SAMBA_ASSERT(t.down <= t.tall && t.across <= t.wide); /* no tile is empty */
    return t;
}

/* The number of tiles: units of work that any threads may run in any order. */
SAMBA__FN int64_t samba__gemm_tiles(int64_t m, int64_t n, int64_t k)
{
    samba__grid t = samba__gemm_grid(m, n, k);
    return t.down * t.across;
}

/* How much further on in B the next panel lies; 0 if that is not known. Panels follow each other,
   or, where a block is one panel wide, its steps do. */
SAMBA__INLINE int64_t samba__next_panel(const samba__gemm *g, int64_t p, int64_t kc, int64_t j,
                                        int64_t j1, int64_t width)
{
    bool single = j1 - j <= width;
    if (j + 2 * width <= j1) return width * g->b_col;
    if (single && p + 2 * kc <= g->k) return kc * g->b_row;
    return single && j + 2 * width <= g->n ? width * g->b_col - p * g->b_row : 0;
}

/* Whether B is transposed on the fly: up to 4 rows use its values once, so a panel is not worth
   writing. 10 to 50 % faster with AVX-512, 3 to 15 % with AVX2. */
SAMBA__INLINE bool samba__transposes_on_the_fly(const samba__gemm_set *set, const samba__gemm *g,
                                                int64_t cols, int64_t kc)
{
    return set->multiply_skinny && g->m <= 4 && g->a_col == 1 && g->b_row == 1 && !g->packed
        && g->b_type == SAMBA_F32 && kc % 4 == 0 && cols == SAMBA__GEMM_COLS;
}

/* ---- the plan ------------------------------------------------------------------------------ */
/* How a rectangle of C, any number of tiles, is computed. The plan follows from set, shapes and
   strides alone, so it is the same for any number of threads, and no plan changes a bit. */
typedef struct samba__gemm_plan {
    int64_t mc, nc, kc; /* most rows, columns and steps of a block */
    int64_t band;       /* rows after which panels of B are packed again */
    bool keeps;         /* panels of B are kept for all blocks of rows of a band; else a panel is
                           packed for each block anew, and sums rest in the buffer */
    bool few_rows;      /* blocks are one panel wide, of few steps */
} samba__gemm_plan;

/* Steps of k in a block. */
SAMBA__FN int64_t samba__plan_kc(const samba__gemm_set *set, const samba__gemm *g,
                                 const samba__gemm_plan *plan)
{
    int64_t k = samba__max64(g->k, 1); /* an empty sum still writes its start and biases */
    if (plan->few_rows && g->packed && g->b_type == SAMBA_F32) return k; /* read as it lies */

    /* Long blocks are for rows of A that are read where they are and do not share lines of a cache:
       half as many steps if A is transposed, or if its rows are a multiple of 4 KiB apart. */
    int64_t most = SAMBA_GEMM_KC;
    if (plan->keeps) {
        bool near = g->a_row > 1 && g->a_row % 1024;
        most = near ? set->kc : samba__max64(set->kc / 2, SAMBA_GEMM_KC);
    }
    most = samba__min64(most, plan->few_rows ? (int64_t)SAMBA__FEW_ROWS_KC : k);

    /* Blocks of equal length, a multiple of 8: the micro-kernel is unrolled. */
    return samba__ceil_div(samba__ceil_div(k, samba__ceil_div(k, most)), 8) * 8;
}

/* The plan of rows x cols of C. */
SAMBA__FN samba__gemm_plan samba__plan_gemm(const samba__gemm_set *set, const samba__gemm *g,
                                            int64_t rows, int64_t cols)
{
    const int64_t room = (int64_t)(SAMBA__GEMM_LOCAL / sizeof(float));
    samba__gemm_plan plan;
    plan.few_rows = g->a_col == 1 && g->m <= SAMBA__FEW_ROWS;

    /* Kept panels need room, at least for one, and pay if a second block of rows uses them. Where
       C is transposed, sums need the buffer that they would take. */
    bool fits = room / set->kc >= SAMBA__KEEP_ROWS + set->nr;
    bool again = rows > (g->k > SAMBA_GEMM_KC ? (int64_t)SAMBA__KEEP_ROWS : set->mc);
    plan.keeps = fits && again && !plan.few_rows && !g->transposed;

    plan.kc = samba__plan_kc(set, g, &plan);
    plan.mc = plan.keeps ? (int64_t)SAMBA__KEEP_ROWS : set->mc;
    plan.band = plan.keeps ? rows : set->mc;
    plan.nc = plan.few_rows ? SAMBA__GEMM_COLS : SAMBA_GEMM_NC;

    if (plan.keeps) { /* as many as there is room for, in parts of equal width */
        int64_t panels = samba__ceil_div(cols, set->nr);
        int64_t most = (room / plan.kc - SAMBA__KEEP_ROWS) / set->nr;
        plan.nc = samba__ceil_div(panels, samba__ceil_div(panels, most)) * set->nr;
    }
    return plan;
}

/* A block: rows [i0,i1), columns [j0,j1) and steps [p, p + kc). */
typedef struct samba__gemm_part {
    int64_t i0, i1, j0, j1, p, kc;
    bool kept; /* an earlier block has packed the panels of B */
} samba__gemm_part;

/* How a block gets at A and B. */
typedef enum samba__gemm_operand {
    SAMBA__OPERAND_DIRECT,     /* read where it is */
    SAMBA__OPERAND_PACKED,     /* packed into micro-panels */
    SAMBA__OPERAND_COPIED,     /* A: copied row by row, so that its rows are beside each other */
    SAMBA__OPERAND_WEIGHTS,    /* B: packed weights, unpacked unless floats of the right width */
    SAMBA__OPERAND_ON_THE_FLY, /* B: lines of its columns are transposed while it is used */
} samba__gemm_operand;

/* How a block is computed. */
typedef struct samba__block_plan {
    samba__gemm_operand a, b;
    bool last;       /* of the steps: biases are added now */
    bool from_sums;  /* earlier blocks of steps left their sums in the buffer */
    bool to_sums;    /* this one does */
    bool prefetch_a; /* the next micro-panel of A is prefetched */
} samba__block_plan;

/* A is read where it is, unless many columns repay a copy and caches cannot keep up. (What is done
   for each block is inline: blocks of few rows take half a microsecond, of which calls were 4 %.)
 */
SAMBA__INLINE samba__gemm_operand samba__plan_a(const samba__gemm_set *set, const samba__gemm *g,
                                                const samba__gemm_plan *plan,
                                                const samba__gemm_part *q)
{
    enum { PAGE = 1024 }; /* floats: rows so far apart share few lines of a cache */

    int64_t rows = q->i1 - q->i0, cols = q->j1 - q->j0;
    bool small = set->mr == 6;

    if (g->a_row == 1 && g->a_col != 1) {
        /* Transposed: each of its steps is on another line of a cache, or on another page. Packed,
           products with AVX-512 were up to twice as fast. With few columns, as in attention,
           packing was a sixth of the time. */
        bool few = cols * g->a_col <= 1 << 16;
        return few ? SAMBA__OPERAND_DIRECT : SAMBA__OPERAND_PACKED;
    }

    /* Row by row: rows that evict each other, and short parts of long rows, of which AVX2 reads
       but 6 at once, are copied if four panels and two micro-panels use them. */
    if (g->a_col != 1 || cols < 4 * set->nr || rows <= set->mr) return SAMBA__OPERAND_DIRECT;
    bool far = g->a_row % PAGE == 0 || (small && plan->keeps && g->a_row > 2 * q->kc);
    return far ? SAMBA__OPERAND_COPIED : SAMBA__OPERAND_DIRECT;
}

SAMBA__INLINE samba__gemm_operand samba__plan_b(const samba__gemm_set *set, const samba__gemm *g,
                                                const samba__gemm_plan *plan,
                                                const samba__gemm_part *q)
{
    int64_t cols = q->j1 - q->j0;
    if (g->packed) return SAMBA__OPERAND_WEIGHTS;
    if (samba__transposes_on_the_fly(set, g, cols, q->kc)) return SAMBA__OPERAND_ON_THE_FLY;
    bool adjacent = g->b_col == 1 && g->b_type == SAMBA_F32;
    bool few = q->i1 - q->i0 <= 2 * SAMBA__GEMM_ROWS; /* micro-tiles, too few to repay packing */
    return adjacent && few && !plan->keeps ? SAMBA__OPERAND_DIRECT : SAMBA__OPERAND_PACKED;
}

SAMBA__INLINE samba__block_plan samba__plan_block(const samba__gemm_set *set, const samba__gemm *g,
                                                  const samba__gemm_plan *plan,
                                                  const samba__gemm_part *q)
{
    bool buffer = SAMBA__GEMM_SUMS > 0 && !plan->keeps;
    samba__block_plan block;
    block.a = samba__plan_a(set, g, plan, q);
    block.b = samba__plan_b(set, g, plan, q);

    block.last = q->p + q->kc >= g->k;
    block.from_sums = buffer && q->p > 0;
    block.to_sums = buffer && (!block.last || g->transposed);
    /* Rows of A are those of weights, then, and come from memory. */
    block.prefetch_a = g->transposed && g->n <= SAMBA__FEW_ROWS && g->a_row % 1024 != 0;
    return block;
}

/* ---- running it ---------------------------------------------------------------------------- */
/* Points s at the rows of A, or at a copy of them in `packed`. */
SAMBA__INLINE void samba__open_a(const samba__gemm_set *set, const samba__gemm *g,
                                 const samba__gemm_part *q, samba__gemm_operand how, float *packed,
                                 samba__panel_product *s)
{
    const int64_t rows = q->i1 - q->i0, kc = q->kc;
    const float *a = g->a + q->i0 * g->a_row + q->p * g->a_col;

    s->a = a;
    s->a_next = g->a_row;
    s->a_row = g->a_row;
    s->a_col = g->a_col;
    if (how == SAMBA__OPERAND_DIRECT) return;

    s->a = packed;
    s->a_next = kc;
    if (how == SAMBA__OPERAND_PACKED) {
        s->a_col = 0; /* as the micro-panel is high */
        samba__pack_a(g, set->mr, q->i0, rows, q->p, kc, packed);
        return;
    }

    s->a_row = kc;
    for (int64_t i = 0; i < rows; i++) {
        if (i + 2 < rows) samba__prefetch_rows(a + (i + 2) * g->a_row, 16, kc / 16);
        memcpy(packed + i * kc, a + i * g->a_row, (size_t)kc * sizeof(float));
    }
}

/* Points s at columns j ... of B, or at their panel, which is packed unless it was kept. */
SAMBA__INLINE void samba__open_b(const samba__gemm_set *set, const samba__gemm *g,
                                 const samba__gemm_part *q, samba__gemm_operand how, int64_t j,
                                 float *panel, samba__panel_product *s)
{
    s->b_next = samba__next_panel(g, q->p, q->kc, j, q->j1, set->nr);
    s->b = panel;
    s->b_row = set->nr;

    if (how == SAMBA__OPERAND_WEIGHTS) {
        samba__open_packed(set, g, q->p, j, panel, q->kept, s);
    } else if (how == SAMBA__OPERAND_ON_THE_FLY) {
        s->b = g->b + j * g->b_col + q->p;
        s->b_row = g->b_col;
    } else if (how == SAMBA__OPERAND_DIRECT && s->cols == set->nr) { /* vectors read whole panels */
        s->b = g->b + q->p * g->b_row + j;
        s->b_row = g->b_row;
    } else if (!q->kept) {
        samba__pack_b(set, g, q->p, q->kc, j, s->cols, panel, s->b_next);
    }
}

/* Where the sums of a panel begin and end. */
SAMBA__INLINE void samba__open_c(const samba__gemm_set *set, const samba__gemm *g,
                                 const samba__gemm_part *q, const samba__block_plan *plan, float *c,
                                 float *sums, samba__panel_product *s)
{
    s->c = plan->to_sums ? sums : c;
    s->c_row = plan->to_sums ? set->nr : g->c_row;
    s->from = c;
    s->from_row = g->c_row;

    if (plan->from_sums) {
        s->from = sums;
        s->from_row = set->nr;
    } else if (q->p == 0 && !g->accumulate) {
        s->from = NULL;
    }
}

/* Panel by panel. In local: packed A; the panel, or all kept ones; sums. */
SAMBA__FN void samba__run_block(const samba__gemm_set *set, const samba__gemm *g,
                                const samba__gemm_plan *plan, const samba__gemm_part *q,
                                float *local)
{
    const samba__block_plan block = samba__plan_block(set, g, plan, q);
    const int64_t rows = q->i1 - q->i0;
    SAMBA_ASSERT(rows > 0 && rows <= plan->mc && q->p + q->kc <= g->k);

    float *panel = local + (plan->keeps ? (size_t)(plan->mc * q->kc) : SAMBA__GEMM_BLOCK);
    float *sums = panel + SAMBA__GEMM_PANEL; /* unless panels are kept */

    samba__panel_product s;
    s.rows = rows;
    s.kc = q->kc;
    s.b_at = NULL;
    s.b_hi = set->nr / 2;
    s.c_hi = set->nr / 2;
    s.prefetch_a = block.prefetch_a;
    s.row_bias = block.last && g->row_bias ? g->row_bias + q->i0 : NULL;
    samba__open_a(set, g, q, block.a, local, &s);

    for (int64_t j = q->j0; j < q->j1; j += set->nr) {
        float *c = g->c + (g->transposed ? j * g->c_row + q->i0 : q->i0 * g->c_row + j);
        s.cols = samba__min64(q->j1 - j, set->nr);
        SAMBA_ASSERT(s.cols > 0);
        s.cols_hi = samba__max64(s.cols - set->nr / 2, 0);
        s.bias = block.last && g->bias ? g->bias + j : NULL;

        SAMBA_ASSERT(block.b != SAMBA__OPERAND_PACKED
                     || (size_t)(panel - local + q->kc * set->nr)
                         <= SAMBA__GEMM_LOCAL / sizeof(float));
        samba__open_b(set, g, q, block.b, j, panel, &s);
        SAMBA_ASSERT(!(block.from_sums || block.to_sums)
                     || (size_t)(sums - local + set->nr * rows)
                         <= SAMBA__GEMM_LOCAL / sizeof(float));
        samba__open_c(set, g, q, &block, c, sums, &s);

        if (block.b == SAMBA__OPERAND_ON_THE_FLY)
            set->multiply_skinny(&s);
        else
            set->multiply_panel(&s);
        if (block.last && g->transposed)
            samba__transpose(set, sums, set->nr, s.cols, rows, c, g->c_row, 0);

        if (plan->keeps)
            panel += q->kc * set->nr;
        else
            sums += set->nr * rows;
    }
}

/* Should C^T = B^T A^T be computed? x w^T with few x: then x is packed, and w read as it lies,
   which made linear layers of 28 to 128 rows 10 % faster. Not if a panel would be more than an
   eighth empty; not if w, beyond FEW_ROWS, is larger than caches: there its rows want to be
   packed. */
SAMBA__FN bool samba__better_transposed(const samba__gemm_set *set, const samba__gemm *g,
                                        int64_t rows, int64_t cols)
{
    int64_t filled = samba__ceil_div(rows, set->nr) * set->nr / 8 * 7;
    bool plain
        = !g->packed && g->b_type == SAMBA_F32 && !g->accumulate && !g->transposed && g->k > 0;
    bool linear = g->a_col == 1 && g->b_row == 1 && !(g->bias && g->row_bias);
    bool few = rows >= filled && rows <= 128 && 2 * rows <= cols;
    return SAMBA__GEMM_SUMS && plain && linear && few
        && (g->m <= SAMBA__FEW_ROWS || g->n * g->k <= 1 << 22);
}

/* C^T = B^T A^T */
SAMBA__FN samba__gemm samba__gemm_transposed(const samba__gemm *g)
{
    samba__gemm t = *g;
    t.m = g->n;
    t.a = g->b;
    t.a_row = g->b_col;
    t.row_bias = g->bias;
    t.transposed = true;
    t.n = g->m;
    t.b = g->a;
    t.b_col = g->a_row;
    t.bias = g->row_bias;
    return t;
}

/* Rows [i,i_end) and columns [j,j_end), which have the panels of B in common. */
SAMBA__FN void samba__run_band(const samba__gemm_set *set, const samba__gemm *g,
                               const samba__gemm_plan *plan, int64_t i, int64_t i_end, int64_t j,
                               int64_t j_end, float *local)
{
    const int64_t k = samba__max64(g->k, 1), fours = k - k % 4;
    int64_t step = plan->kc;
    /* Where B is transposed on the way, all steps are one block but the last ones, if 4 do not
       divide k. */
    if (fours > 0 && samba__transposes_on_the_fly(set, g, j_end - j, fours)) step = fours;
    SAMBA_ASSERT(step > 0);

    for (int64_t p = 0; p < k; p += step) {
        int64_t u_end;
        for (int64_t u = i; u < i_end; u = u_end) {
            u_end = samba__min64(u + plan->mc, i_end);
            samba__gemm_part q = { u, u_end, j, j_end, p, samba__min64(step, g->k - p), false };
            q.kept = plan->keeps && u > i;
            samba__run_block(set, g, plan, &q, local);
            if (p + step >= k) samba__gemm_epilogue(g, u, u_end, j, j_end);
        }
    }
}

/* ---- in bf16 -------------------------------------------------------------------------------- */
/* Rows of a block, its steps, a multiple of SAMBA__BF16_STEPS, and the columns whose panels of B
   are kept while the rows go by. Sums rest in C between blocks. */
typedef struct samba__bf16_plan {
    int64_t mc, kc, nc;
} samba__bf16_plan;

typedef char samba__bf16_blocks_are_whole[SAMBA_GEMM_KC % 32 == 0 ? 1 : -1];

SAMBA__FN samba__bf16_plan samba__plan_bf16(const samba__gemm *g)
{
    samba__bf16_plan plan;
    int64_t blocks = samba__ceil_div(g->k, SAMBA_GEMM_KC);
    plan.kc = samba__ceil_div(samba__ceil_div(g->k, blocks), SAMBA__BF16_STEPS) * SAMBA__BF16_STEPS;
    plan.mc = SAMBA__IS_SMALL ? SAMBA_GEMM_MC : (int64_t)SAMBA__KEEP_ROWS;
    plan.nc = SAMBA__IS_SMALL ? SAMBA__GEMM_COLS : SAMBA_GEMM_NC;
    SAMBA_ASSERT((size_t)((plan.mc + plan.nc) * plan.kc) <= SAMBA__GEMM_LOCAL / sizeof(float));
    return plan;
}

/* Rows [i, i + rows) and steps [p, p + kc) of A, line by line as they lie, in dst. */
SAMBA__FN void samba__open_a_bf16(const samba__gemm_set *set, const samba__gemm *g, int64_t i,
                                  int64_t p, float *dst, samba__panel_product *s)
{
    const bool by_rows = g->a_col == 1;
    SAMBA_ASSERT(by_rows || g->a_row == 1);
    const int64_t size = (int64_t)samba_dtype_size(g->a_type), at = i * g->a_row + p * g->a_col;
    const int64_t lines = by_rows ? s->rows : s->kc, n = by_rows ? s->kc : s->rows;
    const int64_t line = by_rows ? g->a_row : g->a_col;
    const uint8_t *src = (const uint8_t *)(const void *)g->a + at * size;

    for (int64_t u = 0; u < lines; u++)
        set->load_operands(dst + u * n, src + u * line * size, g->a_type, n);

    s->a = dst;
    s->a_row = s->a_next = by_rows ? n : 1;
    s->a_col = by_rows ? 1 : n;
}

/* Columns [j, j + cols) and steps [p, p + kc) of B, as a panel. */
SAMBA__FN void samba__pack_b_bf16(const samba__gemm_set *set, const samba__gemm *g, int64_t p,
                                  int64_t kc, int64_t j, int64_t cols, float *panel)
{
    if (g->packed) {
        samba__panel_product unpacked;
        unpacked.rows = SAMBA__FEW_ROWS + 1; /* a copy, which is rounded */
        unpacked.kc = kc;
        samba__open_packed(set, g, p, j, panel, false, &unpacked);
        if (unpacked.b != panel) {
            for (int64_t u = 0; u < kc; u++)
                memcpy(panel + u * set->nr, unpacked.b + u * unpacked.b_row,
                       (size_t)set->nr * sizeof(float));
        }
    } else {
        bool more = j + 2 * set->nr <= g->n;
        samba__pack_b(set, g, p, kc, j, cols, panel, more ? set->nr * g->b_col : 0);
    }

    set->load_operands(panel, panel, SAMBA_F32, kc * set->nr);
}

SAMBA__VECTORIZED SAMBA__FN void samba__add_bias_row(float *SAMBA__RESTRICT c,
                                                     const float *SAMBA__RESTRICT x, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        c[j] += x[j];
}

SAMBA__VECTORIZED SAMBA__FN void samba__add_bias_value(float *c, float x, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        c[j] += x;
}

SAMBA__FN void samba__add_biases(const samba__gemm *g, int64_t i0, int64_t i1, int64_t j0,
                                 int64_t j1)
{
    for (int64_t i = i0; i < i1 && (g->bias || g->row_bias); i++) {
        float *c = g->c + i * g->c_row + j0;
        if (g->bias) samba__add_bias_row(c, g->bias + j0, j1 - j0);
        if (g->row_bias) samba__add_bias_value(c, g->row_bias[i], j1 - j0);
    }
}

/* Columns [j0,j1) of a block of steps, for all rows [i0,i1). In local: rows of A; panels of B. */
SAMBA__FN void samba__run_bf16(const samba__gemm_set *set, const samba__gemm *g,
                               const samba__bf16_plan *plan, int64_t i0, int64_t i1, int64_t j0,
                               int64_t j1, int64_t p, float *local)
{
    const int64_t nr = set->nr;
    samba__panel_product s = SAMBA__ZEROED;
    s.kc = samba__min64(plan->kc, g->k - p);
    s.b_row = nr;
    s.b_hi = s.c_hi = nr / 2;
    s.c_row = s.from_row = g->c_row;

    for (int64_t i = i0; i < i1; i += s.rows) {
        s.rows = samba__min64(plan->mc, i1 - i);
        samba__open_a_bf16(set, g, i, p, local, &s);

        float *panel = local + plan->mc * plan->kc;
        for (int64_t j = j0; j < j1; j += nr, panel += s.kc * nr) {
            s.cols = samba__min64(nr, j1 - j);
            s.cols_hi = samba__max64(s.cols - nr / 2, 0);
            if (i == i0) samba__pack_b_bf16(set, g, p, s.kc, j, s.cols, panel);
            s.b = panel;
            s.c = g->c + i * g->c_row + j;
            s.from = p == 0 && !g->accumulate ? NULL : s.c;
            samba__multiply_bf16(set, &s);
        }

        if (p + s.kc < g->k) continue;
        samba__add_biases(g, i, i + s.rows, j0, j1);
        samba__gemm_epilogue(g, i, i + s.rows, j0, j1);
    }
}

SAMBA__FN void samba__bf16_rectangle(const samba__gemm_set *set, const samba__gemm *g, int64_t i0,
                                     int64_t i1, int64_t j0, int64_t j1, float *local)
{
    SAMBA_ASSERT(g->k > 0 && !g->transposed);
    const samba__bf16_plan plan = samba__plan_bf16(g);

    for (int64_t j = j0; j < j1; j += plan.nc)
        for (int64_t p = 0; p < g->k; p += plan.kc)
            samba__run_bf16(set, g, &plan, i0, i1, j, samba__min64(j + plan.nc, j1), p, local);
}

/* Packs columns j ... of B as a panel: pieces of 8, of which what is too much is overwritten by the
   next. */
SAMBA__INLINE void samba__gather_panel(const samba__gathered *g, const samba__panel_product *s,
                                       ptrdiff_t j, float *to)
{
    int32_t from[SAMBA__GEMM_COLS], k[SAMBA__GEMM_COLS], n = 0;
    ptrdiff_t x = j % g->run, base = j / g->run * g->step;
    for (ptrdiff_t next = 0; next < s->cols; n++) {
        SAMBA_ASSERT(n < SAMBA__GEMM_COLS);
        ptrdiff_t left = g->run - x;
        from[n] = (int32_t)(base + x);
        k[n] = (int32_t)next;
        next += samba__min_index(left, 8);
        x += 8;
        if (left <= 8) {
            x = 0;
            base += g->step;
        }
    }

    for (ptrdiff_t p = 0; p < s->kc; p++, to += s->b_row) {
        const float *row = g->b + g->at[p];
        for (int32_t i = 0; i < n; i++)
            memcpy(to + k[i], row + from[i], 8 * sizeof *to);
    }
}

#if SAMBA__TILES
/* With fewer rows, packing for a matrix unit takes longer than it saves. */
enum { SAMBA__TILE_LEAST_ROWS = 8 };

/* What [tiles] uses of a thread's scratch. */
typedef struct samba__tile_scratch {
    uint16_t a[SAMBA__TILE_PANEL * SAMBA__TILE_BLOCK];
    uint16_t b[SAMBA__TILE_COLUMNS * SAMBA__TILE_BLOCK];
    float unpacked[SAMBA__TILE_PANEL * SAMBA__TILE_BLOCK];
    float narrow[SAMBA__TILE_PANEL * SAMBA__TILE_BLOCK]; /* a panel of sets with shorter vectors */
} samba__tile_scratch;

typedef char samba__tile_scratch_fits[sizeof(samba__tile_scratch) <= SAMBA__GEMM_LOCAL ? 1 : -1];

/* Points `from` at B(p,j). False: a unit cannot pack B, or packed weights, as they lie. */
SAMBA__FN bool samba__operand_of_b(const samba__gemm *g, int64_t p, int64_t j,
                                   samba__tile_operand *from)
{
    if (g->gathered || (g->b_type != SAMBA_F32 && g->b_type != SAMBA_BF16)) return false;
    from->type = g->b_type;

    if (g->packed) { /* from panels of as many columns */
        from->row = 1;
        from->step = SAMBA__PANEL;
        from->x = samba__packed_at(g->packed, g->b_type, g->k, j) + p * samba__panel_row(g->b_type);
        return true;
    }

    int64_t at = j * g->b_col + p * g->b_row, size = (int64_t)samba_dtype_size(g->b_type);
    from->row = g->b_col;
    from->step = g->b_row;
    from->x = (const uint8_t *)(const void *)g->b + at * size;
    return from->row == 1 || from->step == 1;
}

typedef char samba__panels_are_alike[(int)SAMBA__PANEL == (int)SAMBA__TILE_PANEL ? 1 : -1];

/* Columns [j, j + cols) of a block of steps of B, as a panel. Integers and f16 are unpacked first.
 */
SAMBA__FN void samba__pack_b_tiles(const samba__set *set, const samba__gemm *g, int64_t p,
                                   int64_t steps, int64_t j, int64_t cols,
                                   samba__tile_scratch *scratch, uint16_t *panel)
{
    float *unpacked = scratch->unpacked, *narrow = scratch->narrow;
    samba__tile_operand from;
    if (samba__operand_of_b(g, p, j, &from)) {
        set->tiles->pack(panel, &from, cols, steps, true);
        return;
    }

    from.x = unpacked;
    from.type = SAMBA_F32;
    from.row = 1;
    from.step = SAMBA__TILE_PANEL;
    if (g->gathered) {
        samba__panel_product s = SAMBA__ZEROED;
        SAMBA_ASSERT(p == 0 && steps == g->gathered->k);
        s.kc = steps;
        s.cols = cols;
        s.b_row = SAMBA__TILE_PANEL;
        samba__gather_panel(g->gathered, &s, (ptrdiff_t)j, unpacked);
        set->tiles->pack(panel, &from, cols, steps, true);
        return;
    }

    /* Panels of floats may be narrower: then half a panel is copied after the other. */
    const int64_t nr = set->gemm->nr;
    for (int64_t v = 0; v < cols; v += nr) {
        float *to = nr < SAMBA__TILE_PANEL ? narrow : unpacked;
        samba__pack_b_bf16(set->gemm, g, p, steps, j + v, samba__min64(nr, cols - v), to);
        for (int64_t u = 0; u < steps && to != unpacked; u++)
            memcpy(unpacked + u * SAMBA__TILE_PANEL + v, to + u * nr, (size_t)nr * sizeof(float));
    }
    set->tiles->pack(panel, &from, cols, steps, true);
}

/* Rows [i0,i1) and columns [j0,j1) of C, for steps p ... */
SAMBA__FN void samba__run_tiles(const samba__set *set, const samba__gemm *g, int64_t i0, int64_t i1,
                                int64_t j0, int64_t j1, int64_t p, int64_t steps,
                                samba__tile_scratch *scratch)
{
    const int64_t side = SAMBA__TILE_PANEL, size = (int64_t)samba_dtype_size(g->a_type);
    const bool last = p + steps >= g->k;
    samba__tile_product s;
    s.blocks = samba__ceil_div(steps, SAMBA__BF16_STEPS);
    s.a = scratch->a;
    s.c_row = g->c_row;
    s.begins = p == 0 && !g->accumulate;

    samba__tile_operand from;
    from.type = g->a_type;
    from.row = g->a_row;
    from.step = g->a_col;

    for (int64_t i = i0; i < i1; i += side) {
        s.rows = samba__min64(side, i1 - i);
        from.x = (const uint8_t *)(const void *)g->a + (i * g->a_row + p * g->a_col) * size;
        set->tiles->pack(scratch->a, &from, s.rows, steps, false);

        uint16_t *panel = scratch->b;
        for (int64_t j = j0; j < j1; j += side) {
            s.cols = samba__min64(side, j1 - j);
            if (i == i0) samba__pack_b_tiles(set, g, p, steps, j, s.cols, scratch, panel);
            s.b = panel;
            s.c = g->c + i * g->c_row + j;
            set->tiles->multiply(&s);
            panel += side * s.blocks * SAMBA__BF16_STEPS;
        }

        if (!last) continue;
        samba__add_biases(g, i, i + s.rows, j0, j1);
        samba__gemm_epilogue(g, i, i + s.rows, j0, j1);
    }
}

/* By the matrix unit of the set. */
SAMBA__FN void samba__tiles_rectangle(const samba__set *set, const samba__gemm *g, int64_t i0,
                                      int64_t i1, int64_t j0, int64_t j1, float *local)
{
    samba__tile_scratch *scratch = (samba__tile_scratch *)(void *)local;
    int64_t parts = samba__ceil_div(g->k, SAMBA__TILE_BLOCK);
    int64_t most
        = samba__ceil_div(samba__ceil_div(g->k, parts), SAMBA__BF16_STEPS) * SAMBA__BF16_STEPS;
    SAMBA_ASSERT(most > 0 && most <= SAMBA__TILE_BLOCK);

    set->tiles->begin();
    for (int64_t j = j0; j < j1; j += SAMBA__TILE_COLUMNS)
        for (int64_t p = 0; p < g->k; p += most)
            samba__run_tiles(set, g, i0, i1, j, samba__min64(j + SAMBA__TILE_COLUMNS, j1), p,
                             samba__min64(most, g->k - p), scratch);
    set->tiles->end();
}
#endif

/* Rows [i0,i1) and columns [j0,j1) of C, any number of tiles. */
SAMBA__FN void samba__gemm_rectangle(const samba__gemm_set *set, const samba__gemm *g, int64_t i0,
                                     int64_t i1, int64_t j0, int64_t j1, float *local)
{
    SAMBA_ASSERT(i0 >= 0 && i1 <= g->m && j0 >= 0 && j1 <= g->n);

    if (g->in_bf16) {
        samba__bf16_rectangle(set, g, i0, i1, j0, j1, local);
        return;
    }

    if (set->packed_row && g->m == 1 && g->packed && !g->accumulate && !g->row_bias) {
        samba__packed_product row;
        row.x = g->a;
        row.w = g->packed;
        row.scale = g->scale;
        row.type = g->b_type;
        row.k = g->k;
        row.bias = g->bias;
        row.y = g->c;

        set->packed_row(&row, j0, j1);
        samba__gemm_epilogue(g, 0, 1, j0, j1);
        return;
    }

    if (samba__better_transposed(set, g, i1 - i0, j1 - j0)) {
        SAMBA_ASSERT(!g->transposed);
        samba__gemm t = samba__gemm_transposed(g);
        samba__gemm_rectangle(set, &t, j0, j1, i0, i1, local); /* once: t is transposed */
        return;
    }

    const samba__gemm_plan plan = samba__plan_gemm(set, g, i1 - i0, j1 - j0);
    for (int64_t i = i0; i < i1; i += plan.band) {
        int64_t i_end = samba__min64(i + plan.band, i1);
        for (int64_t j = j0; j < j1; j += plan.nc)
            samba__run_band(set, g, &plan, i, i_end, j, samba__min64(j + plan.nc, j1), local);
    }
}

/* A product in bf16, or another. */
SAMBA__FN void samba__any_rectangle(const samba__set *set, const samba__gemm *g, int64_t i0,
                                    int64_t i1, int64_t j0, int64_t j1, float *local)
{
#if SAMBA__TILES
    if (g->in_bf16 && set->tiles && g->m >= SAMBA__TILE_LEAST_ROWS) {
        samba__tiles_rectangle(set, g, i0, i1, j0, j1, local);
        return;
    }
#endif
    samba__gemm_rectangle(set->gemm, g, i0, i1, j0, j1, local);
}

/* Compute tiles [begin,end). Tiles of a column follow each other where C is wide, those of a band
   where it is high, and a run of them is computed as few rectangles: threads with long runs pack
   less, and rather the smaller operand twice. local: SAMBA__GEMM_LOCAL bytes of each thread. */
SAMBA__FN void samba__gemm_run(const samba__gemm *g, int64_t begin, int64_t end, float *local,
                               int isa)
{
    const samba__set *set = samba__set_of(isa);
    samba__grid t = samba__gemm_grid(g->m, g->n, g->k);
    bool wide = g->m < g->n;
    int64_t each = wide ? t.down : t.across; /* tiles of a column, or of a band */

    for (int64_t next; begin < end; begin = next) {
        int64_t line = begin / each, first = begin % each, lines = 1, last;
        if (first == 0 && end - begin >= each) lines = (end - begin) / each;
        last = lines > 1 ? each : samba__min64(each, first + end - begin);
        next = begin + (lines > 1 ? lines * each : last - first);
        SAMBA_ASSERT(next > begin && next <= end);
        SAMBA_ASSERT(lines == 1 || first == 0); /* several lines of tiles are whole ones */

        int64_t down0 = wide ? first : line, down1 = wide ? last : line + lines;
        int64_t across0 = wide ? line : first, across1 = wide ? line + lines : last;
        int64_t i0 = t.tall * down0 / t.down * SAMBA__GEMM_ROWS;
        int64_t i1 = samba__min64(t.tall * down1 / t.down * SAMBA__GEMM_ROWS, g->m);
        int64_t j0 = t.wide * across0 / t.across * SAMBA__GEMM_COLS;
        int64_t j1 = samba__min64(t.wide * across1 / t.across * SAMBA__GEMM_COLS, g->n);
        SAMBA_ASSERT(i0 < i1 && j0 < j1);
        samba__any_rectangle(set, g, i0, i1, j0, j1, local);
    }
}

/* ---- products of convolutions -------------------------------------------------------------- */
/* Points the halves of a panel at pieces of B: the one that begins at column j, and the next. */
SAMBA__INLINE void samba__open_runs(const samba__gathered *g, ptrdiff_t j, ptrdiff_t half,
                                    samba__panel_product *s)
{
    ptrdiff_t low = samba__min_index(half, g->run - j % g->run), next = j + low;
    s->b = g->b + j / g->run * g->step + j % g->run;
    s->c_hi = low;
    s->cols_hi = 0;
    s->b_hi = 0;

    if (next < g->n) {
        s->cols_hi = samba__min_index(half, g->run - next % g->run);
        s->b_hi = g->b + next / g->run * g->step + next % g->run - s->b;
    }
    s->cols = low + s->cols_hi;
}

/* All panels, by `multiply`, or, if that is NULL, in bf16 with a look at what may underflow. Runs
   that fill halves of panels well are read where they are; others are packed, in `panel`, which
   costs as much as some rows of C. */
SAMBA__FN void samba__gathered_panels(const samba__gathered *g, const samba__gemm_set *set,
                                      void (*multiply)(const samba__panel_product *s), float *panel)
{
    const int64_t width = set->nr, half = width / 2;
    int64_t direct_cost = (samba__ceil_div(g->run, half) * (g->n / g->run) + 1) / 2 * g->m;
    int64_t packed_cost = samba__ceil_div(g->n, width) * (g->m + 12);
    bool vectors = multiply && set->multiply_bf16; /* the portable set reads packed panels only */
    bool direct = vectors && direct_cost > 0 && direct_cost <= packed_cost;
    SAMBA_ASSERT(g->n % g->run == 0 && (size_t)(g->k * width + 8) <= SAMBA__GATHERED_A);

    samba__panel_product s;
    s.rows = g->m;
    s.kc = g->k;
    s.a = (const float *)g->a;
    s.a_row = s.a_next = g->a_row;
    s.a_col = 1;
    s.b = panel;
    s.b_row = width;
    s.b_next = 0;
    s.b_at = direct ? g->at : NULL;
    s.b_hi = s.c_hi = half;
    s.c_row = s.from_row = g->c_row;
    s.bias = NULL;
    s.row_bias = g->row_bias;
    s.prefetch_a = false;

    for (ptrdiff_t j = 0; j < g->n; j += (ptrdiff_t)s.cols) {
        if (direct) {
            samba__open_runs(g, j, (ptrdiff_t)half, &s);
        } else {
            s.cols = samba__min64(width, g->n - j);
            s.cols_hi = samba__max64(s.cols - half, 0);
            samba__gather_panel(g, &s, j, panel);
        }

        s.c = g->c + j;
        s.from = g->accumulate ? s.c : NULL;
        if (multiply)
            multiply(&s);
        else
            samba__multiply_bf16(set, &s);
    }
}

SAMBA__FN void samba__add_row_biases(const samba__gathered *g)
{
    for (ptrdiff_t i = 0; i < g->m && g->row_bias; i++) {
        float *c = g->c + i * g->c_row;
        for (ptrdiff_t j = 0; j < g->n; j++)
            c[j] += g->row_bias[i];
    }
}

/* In bf16: so many rows of A at a time as there is room for in `local`, unless they are operands
   already. The mode that flushes is entered once for all panels, and left for the biases. */
SAMBA__FN void samba__gathered_bf16(const samba__gathered *g, const samba__gemm_set *set,
                                    float *local)
{
    float *operands = local + SAMBA__GATHERED_A;
    const size_t size = samba_dtype_size(g->a_type);
    const ptrdiff_t most = g->rounded ? g->m : SAMBA__GATHERED_ROOM / g->k;
    samba__gathered some = *g;
    SAMBA_ASSERT(most > 0 && (!g->rounded || g->a_type == SAMBA_F32));
    some.row_bias = NULL;

    for (ptrdiff_t i = 0; i < g->m; i += some.m) {
        some.m = samba__min_index(most, g->m - i);
        some.c = g->c + i * g->c_row;
        if (!g->rounded) {
            const uint8_t *a = (const uint8_t *)g->a + (size_t)(i * g->a_row) * size;
            for (ptrdiff_t u = 0; u < some.m; u++)
                set->load_operands(operands + u * g->k, a + (size_t)(u * g->a_row) * size,
                                   g->a_type, g->k);
            some.a = operands;
            some.a_row = g->k;
        }

        bool flushes = set->multiply_bf16 && samba__enter_flush_mode();
        samba__gathered_panels(&some, set, flushes ? set->multiply_bf16 : NULL, local);
        if (flushes) samba__enter_float_mode();
    }
    samba__add_row_biases(g);
}

/* Is a product in bf16 of so many rows for the matrix unit of a set? */
SAMBA__FN bool samba__takes_tiles(const samba__set *set, int64_t rows)
{
#if SAMBA__TILES
    return set->tiles && rows >= SAMBA__TILE_LEAST_ROWS;
#else
    (void)set;
    (void)rows;
    return false;
#endif
}

#if SAMBA__TILES
/* By the matrix unit: a product whose panels of B are gathered. */
SAMBA__FN void samba__gathered_tiles(const samba__gathered *g, const samba__set *set, float *local)
{
    samba__gemm t = SAMBA__ZEROED;
    t.m = g->m;
    t.n = g->n;
    t.k = g->k;
    t.a = (const float *)g->a;
    t.a_type = g->a_type;
    t.a_row = g->a_row;
    t.a_col = 1;
    t.in_bf16 = true;
    t.gathered = g;
    t.c = g->c;
    t.c_row = g->c_row;
    t.row_bias = g->row_bias;
    t.accumulate = g->accumulate;
    samba__tiles_rectangle(set, &t, 0, t.m, 0, t.n, local);
}
#endif

/* local: SAMBA__GEMM_LOCAL bytes; of operands that are there already nothing is overwritten. */
SAMBA__FN void samba__multiply_gathered(const samba__gathered *g, float *local, int isa)
{
    const samba__set *set = samba__set_of(isa);
#if SAMBA__TILES
    if (g->in_bf16 && samba__takes_tiles(set, g->m)) {
        samba__gathered_tiles(g, set, local);
        return;
    }
#endif

    if (g->in_bf16)
        samba__gathered_bf16(g, set->gemm, local);
    else
        samba__gathered_panels(g, set->gemm, set->gemm->multiply_panel, local);
}

#endif /* !SAMBA__DIRECT */

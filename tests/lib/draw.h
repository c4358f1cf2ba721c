// Random choices for tests of private functions, the same in each run. DRAW_KEY, defined before, is
// the test's own; so a new choice in one changes nothing in another.
#ifndef SAMBA_TESTS_DRAW_H
#define SAMBA_TESTS_DRAW_H

static uint64_t n_drawn;

static inline uint32_t draw_bits(void)
{
    uint32_t bits[4];
    samba__philox(DRAW_KEY, n_drawn++, 0, bits);
    return bits[0];
}

static inline int draw(int n) // 0 ... n - 1
{
    return (int)(draw_bits() % (uint32_t)n);
}

// Tiles of a product in pieces, the last ones first: they know nothing of each other. Sometimes all
// that are left at once: they are computed as large rectangles.
static inline void run_backwards(const samba__gemm *g, float *local, int isa)
{
    for (int64_t end = samba__gemm_tiles(g->m, g->n, g->k); end > 0;) {
        int64_t begin = draw(4) ? end - 1 - draw(3) : 0;
        if (begin < 0) begin = 0;
        samba__gemm_run(g, begin, end, local, isa);
        end = begin;
    }
}

#endif

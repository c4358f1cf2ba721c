// Expressions in which operands are easy to mistake: tests/tools/mutants.sh flips each operator.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct pair { int32_t a[4]; struct pair *next; uint8_t narrow; } pair;

static const int table[] = { 1 + 2, 3 * 4 };
enum { SIX = 2 * 3, SIDE = SIX - 2 };

static int32_t twice(int32_t x)
{
    return x + x;
}

/* Casts behind casts, signs, calls, members, and what binds more tightly. */
static int64_t expressions(pair *p, int32_t x, int32_t y)
{
    uint8_t *bytes = (uint8_t *)(void *)p->a + (size_t)x * sizeof *p->a;
    int64_t sum = *(int32_t *)(void *)bytes - -x * (int64_t)y - 1;
    sum += x - y - 3 + p->next->a[x + 1] % (y + 1) * 2;
    sum -= twice(x * 2) << 1 | (y & ~x) ^ (x << 2 >> 1);
    sum = x < y ? sum + 1 : y < x ? sum - (int64_t)-x : -sum;
    if (!p || (x > 0 && p->next && !p->next->narrow) || y == 7) sum *= 3;
    if (x >= y) *bytes = (uint8_t)(*bytes ^ 3);
    else sum += (float)x / (float)(y - x) < 0.5f;
    return sum + (p->narrow == 255 && !(y % 2)) - table[x & 1];
}

static int loops(const int32_t *at, int n)
{
    int32_t local[SIDE + 1] = { 0 }, k = 0;
    static const int limit = 3 + 1;
    bool found = false;
    for (int i = 0, j = n - 1; i < j; i++, j--)
        if (at[i] > at[j] && k < limit) local[k++] = at[i] - at[j];
    while (k-- > 0 && !found) found = local[k] == 5;
    switch (n % 3) {
    case 1 + 1: return -local[0];
    case 0: local[1]--;
    }
    do local[2] += local[0] * 2; while (++k < 2);
    return found ? local[1] : local[2] - k;
}

int main(void)
{
    int32_t numbers[7] = { 9, -4, 6, 3, 1, 5, 2 };
    pair last = { { 5, 6, 7, 8 }, NULL, 0 }, first = { { 1, 2, 3, 4 }, &last, 255 };
    for (int32_t x = 0; x < 3; x++)
        for (int32_t y = 1; y < 9; y += 2) printf("%lld\n", (long long)expressions(&first, x, y));
    for (int n = 3; n < 8; n++) printf("%d\n", loops(numbers, n));
    return 0;
}

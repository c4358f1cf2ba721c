#include "../judge.h"

static void graph(const char *what, const node *given, int n)
{
    float *got = judge_room(n, 3);
    node *nodes = judge_copy(given, (size_t)n * sizeof *nodes);
    judge_case(what);
    backward(nodes, n, got);
    judge_got_array("grad", got, 1, n);
    judge_compare(1e-6);
}

static void judge_cases(void)
{
    node sum[] = { { LEAF, 0, 0, 2 }, { LEAF, 0, 0, 5 }, { ADD, 0, 1, 7 } };
    node product[] = { { LEAF, 0, 0, 2 }, { LEAF, 0, 0, 5 }, { MUL, 0, 1, 10 } };
    node square[] = { { LEAF, 0, 0, 4 }, { MUL, 0, 0, 16 } };
    node shared[] = { { LEAF, 0, 0, 2 }, { LEAF, 0, 0, -3 }, { MUL, 0, 1, -6 },
                      { ADD, 2, 0, -4 }, { MUL, 3, 2, 24 },  { ADD, 4, 3, 20 } };
    node chain[] = { { LEAF, 0, 0, 2 }, { LEAF, 0, 0, 7 }, { ADD, 1, 0, 9 }, { MUL, 2, 0, 18 },
                     { LEAF, 0, 0, 5 }, { MUL, 4, 3, 90 } };
    node zero[] = { { LEAF, 0, 0, 0 }, { LEAF, 0, 0, 5 }, { MUL, 0, 1, 0 }, { ADD, 2, 0, 0 } };
    node twice[] = { { LEAF, 0, 0, 3 }, { ADD, 0, 0, 6 } };
    node alone[] = { { LEAF, 0, 0, 9 } };
    graph("p = a b, s = p + a, s p + s for a = 2, b = -3", shared, 6);
    graph("c (a (b + a)) for a = 2, b = 7, c = 5", chain, 6);
    graph("2 + 5", sum, 3);
    graph("2 * 5", product, 3);
    graph("x * x for x = 4", square, 2);
    graph("x + x for x = 3", twice, 2);
    graph("a b + a for a = 0, b = 5", zero, 4);
    graph("a value alone", alone, 1);
}

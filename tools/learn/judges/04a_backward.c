#include "../judge.h"
#include EXERCISE

enum { MOST = 16 };

enum { RIGHT, ASSIGNED, OWN_VALUE, FORWARD, ADD_VALUE, NO_SEED, FIRST_SIDE, SECOND_SIDE, LIKE_ADD,
       NODE_VALUE, ONCE, NO_GRADIENT, BY_GRADIENT, SEED_WIPED, ALL_ONE, LEAF_PASSES, HALVED, MINUS,
       SKIPS_LAST, DIRTY, DIRTY_SEED, INNER_LOST, VALUES, BOTH_VALUES, QUOTIENT };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { VALUES, "values", "these are the values of the nodes, and not their gradients." },
    { SEED_WIPED, "seed_wiped",
      "every gradient is 0. The last node begins with 1, after all are set to 0: without that, "
      "nothing comes back." },
    { NO_SEED, "no_seed",
      "the last node begins with its value. Its gradient is 1: how the result changes with "
      "itself." },
    { SKIPS_LAST, "skips_last",
      "the last node keeps its gradient for itself: begin at n - 1, which is the first to pass "
      "on." },
    { ALL_ONE, "all_begin_with_1",
      "every node begins with gradient 1. Only the last does; the others begin with 0." },
    { FORWARD, "forward_order",
      "the nodes are visited from the first to the last, so their gradients are passed on before "
      "they have arrived. Go backward." },
    { OWN_VALUE, "own_value",
      "a side of a product gets the gradient times the value of the other side, not of its own." },
    { ADD_VALUE, "add_like_mul",
      "a sum passes its gradient on as it is; only products multiply." },
    { LIKE_ADD, "mul_like_add",
      "a product passes its gradient on as it is. It is multiplied by the value of the other "
      "side." },
    { NODE_VALUE, "value_of_product",
      "the gradient is multiplied by the value of the product; it is that of the other side." },
    { NO_GRADIENT, "gradient_not_passed",
      "a side of a product gets the value of the other side alone. It is multiplied by the "
      "gradient of the product: the chain rule." },
    { BY_GRADIENT, "other_gradient",
      "the gradient is multiplied by the gradient of the other side; it is multiplied by its "
      "value." },
    { BOTH_VALUES, "sum_of_values",
      "the gradient is multiplied by the sum of both values; each side gets that of the other." },
    { ONCE, "square_once",
      "a node that is both sides of a product gets its gradient once. Both sides pass on: x * x "
      "makes 2 x." },
    { ASSIGNED, "assigned",
      "a node that is used twice keeps only one of its two gradients: each use adds, with +=." },
    { FIRST_SIDE, "one_side", "only the first side of each node gets a gradient." },
    { SECOND_SIDE, "second_side", "only the second side of each node gets a gradient." },
    { LEAF_PASSES, "leaf_passes_on",
      "leaves pass on gradients, too, to node 0. A LEAF was made from no other node: it has no a "
      "and no b." },
    { HALVED, "sum_halves",
      "a sum gives each side half of its gradient. Each side changes the sum by as much as it "
      "changes: both get all of it." },
    { MINUS, "second_side_minus",
      "the second side gets its gradient with the opposite sign; this is a sum, and no "
      "difference." },
    { INNER_LOST, "inner_lost",
      "the gradients of nodes between leaves and result are 0 or lost. They are asked for, too." },
    { DIRTY, "not_zeroed",
      "the gradients are added to what grad held before. Set all to zero first: backward may be "
      "called again." },
    { DIRTY_SEED, "not_zeroed",
      "the gradients are added to what grad held before. Set all to zero first: backward may be "
      "called again." },
};

static void pass_on(const node *nodes, int i, int e, float *grad)
{
    const node *x = &nodes[i];
    int a = x->a, b = x->b;
    float to_a = grad[i], to_b = grad[i], g = e == NO_GRADIENT ? 1 : grad[i];
    if ((x->op == MUL && e != LIKE_ADD) || (e == ADD_VALUE && x->op == ADD)) {
        to_a = g * nodes[e == OWN_VALUE ? a : b].value;
        to_b = g * nodes[e == OWN_VALUE ? b : a].value;
        if (e == NODE_VALUE) to_a = to_b = g * x->value;
        if (e == BOTH_VALUES) to_a = to_b = g * (nodes[a].value + nodes[b].value);
        if (e == BY_GRADIENT) to_a = g * grad[b];
        if (e == BY_GRADIENT) to_b = g * grad[a];
        if (e == QUOTIENT) to_a = g * x->value / nodes[a].value;
        if (e == QUOTIENT) to_b = g * x->value / nodes[b].value;
    }
    if (x->op == ADD && e == HALVED) to_a = to_b = grad[i] / 2;
    if (x->op == ADD && e == MINUS) to_b = -to_b;
    if (e != SECOND_SIDE) grad[a] = (e == ASSIGNED ? 0 : grad[a]) + to_a;
    if (e == FIRST_SIDE || (e == ONCE && a == b)) return;
    grad[b] = (e == ASSIGNED ? 0 : grad[b]) + to_b;
}

static void compute(const node *nodes, int n, int e, float *grad)
{
    for (int i = 0; i < n; i++)
        grad[i] = (float)(e == DIRTY || e == DIRTY_SEED ? 3 : e == ALL_ONE);
    grad[n - 1] = e == NO_SEED ? nodes[n - 1].value : (float)(e != SEED_WIPED);
    if (e == DIRTY_SEED) grad[n - 1] = 4;
    for (int k = e == SKIPS_LAST; k < n; k++) {
        int i = e == FORWARD ? k : n - 1 - k;
        if (nodes[i].op != LEAF || (e == LEAF_PASSES && i > 0)) pass_on(nodes, i, e, grad);
    }
    for (int i = 0; i < n; i++) {
        if (e == INNER_LOST && nodes[i].op != LEAF) grad[i] = 0;
        if (e == VALUES) grad[i] = nodes[i].value;
    }
}

static void graph(const char *what, const node *given, int n)
{
    float want[MOST], wrong[MOST], *got = judge_room(n, 3);
    node *nodes = judge_copy(given, (size_t)n * sizeof *nodes);
    judge_case(what);
    backward(nodes, n, got);
    judge_got(got, n);
    judge_part("grad", 1, n);
    compute(nodes, n, RIGHT, want);
    for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        compute(nodes, n, mistakes[k].e, wrong);
        judge_mistake(mistakes[k].name, mistakes[k].sentence, wrong, n);
    }
    compute(nodes, n, QUOTIENT, wrong);
    for (int i = 0; i < n; i++)
        judge_clue(wrong[i] != wrong[i] && got[i] != got[i], "quotient",
                   "the value of the other side is found as value / own value, which is 0 / 0 for "
                   "0. Read the value of the other node.");
    judge_want(want, n, 1e-6);
    free(got);
    free(nodes);
}

int main(void)
{
    judge_begin();
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
    return judge_end();
}

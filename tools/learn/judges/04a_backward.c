#include "../judge.h"
#include EXERCISE

enum { MOST = 16 };

enum { RIGHT, ASSIGNED, OWN_VALUE, FORWARD, ADD_VALUE, NO_SEED, ONE_SIDE };

static void compute(const node *nodes, int n, int e, float *grad)
{
    for (int i = 0; i < n; i++)
        grad[i] = 0;
    grad[n - 1] = e == NO_SEED ? nodes[n - 1].value : 1;
    for (int k = 0; k < n; k++) {
        int i = e == FORWARD ? k : n - 1 - k, a = nodes[i].a, b = nodes[i].b;
        if (nodes[i].op == LEAF) continue;
        float to_a = grad[i], to_b = grad[i];
        if (nodes[i].op == MUL || e == ADD_VALUE) {
            to_a *= nodes[e == OWN_VALUE ? a : b].value;
            to_b *= nodes[e == OWN_VALUE ? b : a].value;
        }
        grad[a] = (e == ASSIGNED ? 0 : grad[a]) + to_a;
        if (e != ONE_SIDE) grad[b] = (e == ASSIGNED ? 0 : grad[b]) + to_b;
    }
}

static void graph(const char *what, node *nodes, int n)
{
    float want[MOST], wrong[MOST], *got = judge_room(n, 3);

    static const struct {
        int e;
        const char *name, *sentence;
    } mistakes[] = {
        { ASSIGNED, "assigned",
          "a node that is used twice keeps only one of its two gradients: each "
          "use adds, with +=." },
        { OWN_VALUE, "own_value",
          "a side of a product gets the gradient times the value of the other "
          "side, not of its own." },
        { FORWARD, "forward_order",
          "the nodes are visited from the first to the last, so their "
          "gradients are passed on before they have arrived. Go backward." },
        { ADD_VALUE, "add_like_mul",
          "a sum passes its gradient on as it is; only products multiply." },
        { NO_SEED, "no_seed",
          "the last node begins with its value. Its gradient is 1: how the result "
          "changes with itself." },
        { ONE_SIDE, "one_side", "only the first side of each node gets a gradient." },
    };

    judge_case(what);
    backward(nodes, n, got);
    judge_got(got, n);
    compute(nodes, n, RIGHT, want);
    for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        compute(nodes, n, mistakes[k].e, wrong);
        judge_mistake(mistakes[k].name, mistakes[k].sentence, wrong, n);
    }
    for (int i = 0; i < n; i++)
        wrong[i] = want[i] + (i == n - 1 ? 0 : 3);
    int dirty = 1;
    for (int i = 0; i < n; i++)
        if (nodes[i].op == LEAF && !judge_close((double)got[i], (double)want[i] + 3, 1e-6))
            dirty = 0;
    if (n == 3 && dirty)
        judge_refuse("not_zeroed",
                     "the gradients are added to what grad held before. Set all to zero "
                     "first: backward may be called again.");
    judge_want(want, n, 1e-6);
    free(got);
}

int main(void)
{
    judge_begin();
    node sum[] = { { LEAF, 0, 0, 2 }, { LEAF, 0, 0, 5 }, { ADD, 0, 1, 7 } };
    node product[] = { { LEAF, 0, 0, 2 }, { LEAF, 0, 0, 5 }, { MUL, 0, 1, 10 } };
    node square[] = { { LEAF, 0, 0, 4 }, { MUL, 0, 0, 16 } };
    node shared[] = { { LEAF, 0, 0, 2 }, { LEAF, 0, 0, -3 }, { MUL, 0, 1, -6 },
                      { ADD, 2, 0, -4 }, { MUL, 3, 2, 24 },  { ADD, 4, 3, 20 } };
    node alone[] = { { LEAF, 0, 0, 9 } };
    graph("2 + 5", sum, 3);
    graph("2 * 5", product, 3);
    graph("x * x for x = 4", square, 2);
    graph("p = a b, s = p + a, s p + s for a = 2, b = -3", shared, 6);
    graph("a value alone", alone, 1);
    return judge_end();
}

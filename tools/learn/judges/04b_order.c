#include "../judge.h"

enum { MOST = 64 };

static int where[MOST]; // of each node in the order; -1: nowhere

static void find_places(const int *order, int n)
{
    for (int i = 0; i < n; i++) where[i] = -1;
    for (int k = 0; k < n; k++) {
        if (order[k] == -7) continue;
        judge_holds(order[k] >= 0 && order[k] < n, "no_node");
        judge_holds(where[order[k]] < 0, "stands_twice");
        where[order[k]] = k;
    }
}

// What can be said of a wrong order, from how many edges point the right way.
static void judge_edges(const edge *edges, int count, const int *order, int n)
{
    int wrong = 0, as_numbered = 1, backward_numbered = 1, one_is_enough = 1, by_count = 1;
    int needs[MOST] = { 0 };
    char line[120] = "";
    for (int e = 0; e < count; e++)
        if (where[edges[e].from] > where[edges[e].to]) {
            wrong++;
            snprintf(line, sizeof line, "node %d needs node %d, and stands before it.", edges[e].to,
                     edges[e].from);
        }
    for (int i = 0; i < n; i++) {
        int has = 0;
        if (order[i] != i) as_numbered = 0;
        if (order[i] != n - 1 - i) backward_numbered = 0;
        for (int e = 0; e < count; e++)
            if (edges[e].to == i) {
                needs[i]++;
                has += where[edges[e].from] < where[i];
            }
        if (needs[i] && !has) one_is_enough = 0;
    }
    for (int k = 0; k + 1 < n; k++)
        if (needs[order[k]] > needs[order[k + 1]]) by_count = 0;
    if (!wrong) return;
    judge_holds(wrong < count || as_numbered, "reversed");
    judge_holds(!as_numbered, "as_numbered");
    judge_holds(!backward_numbered, "numbered_backward");
    judge_holds(!by_count, "by_count");
    judge_holds(!one_is_enough, "one_input_is_enough");
    judge_refuse("before_its_input", line);
}

static void graph(const char *what, const edge *edges, int count, int n)
{
    int *order = (int *)malloc((size_t)(n + count) * sizeof *order), there = 0;
    judge_case(what);
    for (int i = 0; i < n + count; i++) order[i] = -7;
    int found = find_order(edges, count, n, order);
    judge_holds(count == 0 || order[n] == -7, "twice");
    judge_holds(found != -1, "no_circle");
    find_places(order, n);
    for (int i = 0; i < n; i++) there += where[i] >= 0;
    int linked = 0;
    for (int e = 0; e < count; e++) linked += where[edges[e].from] < 0 || where[edges[e].to] < 0;
    judge_holds(there == 0 || linked == 0, "some_missing");
    judge_holds(there == 0 || there >= n, "missing");
    judge_holds(there == n, "empty");
    judge_edges(edges, count, order, n);
    judge_holds(found == n || found != count, "number_of_edges");
    judge_holds(found == n, "not_the_count");
    int *own = judge_copy(order, sizeof *order * (size_t)n);     // without room for more
    find_order(edges, count, n, own);
    free(own);
    free(order);
}

static void circle(const char *what, const edge *edges, int count, int n)
{
    int order[MOST];
    for (int i = 0; i < MOST; i++) order[i] = -7;
    judge_case(what);
    int found = find_order(edges, count, n, order);
    judge_holds(found != n, "circle_not_seen");
    judge_holds(found == -1, "circle_count");
}

#define GRAPH(what, n, ...) \
    graph(what, (const edge[]){ __VA_ARGS__ }, \
          (int)(sizeof((const edge[]){ __VA_ARGS__ }) / sizeof(edge)), n)

static void judge_cases(void)
{
    GRAPH("a chain 2 -> 0 -> 1", 3, { 2, 0 }, { 0, 1 });
    GRAPH("0 -> 1 -> 2 -> 3, and 0 -> 3", 4, { 0, 3 }, { 0, 1 }, { 1, 2 }, { 2, 3 });
    GRAPH("two ways from 4 to 0, one of them long", 6, { 4, 0 }, { 4, 3 }, { 3, 5 }, { 5, 2 },
          { 2, 0 }, { 1, 2 });
    GRAPH("node 2 is alone", 4, { 3, 1 }, { 1, 0 });
    GRAPH("1 needs 0 twice: x times x", 2, { 0, 1 }, { 0, 1 });
    graph("one node", NULL, 0, 1);
    edge ladder[126];
    for (int i = 0; i < 63; i++) ladder[i] = (edge){ 63 - i, 62 - i };
    for (int i = 0; i < 62; i++)
        ladder[63 + i] = (edge){ 63 - i, 61 - i };
    graph("64 nodes, each needs the two behind it", ladder, 125, 64);
    circle("0 -> 1 -> 2 -> 0", (const edge[]){ { 0, 1 }, { 1, 2 }, { 2, 0 } }, 3, 3);
    circle("a circle behind a node that is ready",
           (const edge[]){ { 0, 1 }, { 1, 2 }, { 2, 1 }, { 2, 3 } }, 4, 4);
    circle("a node that needs itself", (const edge[]){ { 0, 1 }, { 1, 1 } }, 2, 2);
}

/* trees.h - of onnx_import.h: ensembles of decision trees, of ai.onnx.ml. All trees of a model are
   one op, whose tables are checked when they are made, and again as they are read: a program that
   was loaded may have any. */

/* ---- onnx_trees: x (N,F) goes down each tree; the leaf where it ends adds weights to targets.
   Inputs: x; nodes i32 (n,OX_TREE_COLUMNS); thresholds f32 (n); targets i32 (m) and weights f32 (m)
   of leaves; roots i32; members f32 of sets, or absent. y (N,targets) ---- */

enum { /* columns of a node */
       OX_TREE_MODE,
       OX_TREE_FEATURE,
       OX_TREE_YES, /* the node where a comparison that holds leads; of a leaf: its first weight */
       OX_TREE_NO,  /* or else; of a leaf: behind its last weight */
       OX_TREE_SET, /* of a set: its first member */
       OX_TREE_SET_END,
       OX_TREE_COLUMNS
};

enum { /* modes, as TreeEnsemble of version 5 counts them */
       OX_TREE_LEQ,
       OX_TREE_LT,
       OX_TREE_GTE,
       OX_TREE_GT,
       OX_TREE_EQ,
       OX_TREE_NEQ,
       OX_TREE_MEMBER,
       OX_TREE_LEAF,
       OX_TREE_NAN_HOLDS = 16 /* and a NaN does what holds does */
};

enum { OX_TREE_AVERAGE, OX_TREE_SUM, OX_TREE_MIN, OX_TREE_MAX };

enum { OX_TREES_TARGETS, OX_TREES_AGGREGATE, OX_TREES_ATTRS };

enum { /* inputs */
       OX_TREES_X,
       OX_TREES_NODES,
       OX_TREES_THRESHOLDS,
       OX_TREES_LEAF_TARGETS,
       OX_TREES_LEAF_WEIGHTS,
       OX_TREES_ROOTS,
       OX_TREES_MEMBERS,
       OX_TREES_INPUTS
};

static bool ox_trees_shape(samba_call *c)
{
    if (c->n_in != OX_TREES_INPUTS || c->n_attr != OX_TREES_ATTRS)
        return samba_refuse(c, SAMBA_EARG, "%d inputs and %d attributes are needed",
                            OX_TREES_INPUTS, OX_TREES_ATTRS);
    for (int32_t i = 0; i < OX_TREES_INPUTS; i++) {
        bool integers = i == OX_TREES_NODES || i == OX_TREES_LEAF_TARGETS || i == OX_TREES_ROOTS;
        if (i == OX_TREES_MEMBERS && c->in[i].shape.ndim < 0) continue; /* no sets */
        if (c->in[i].shape.ndim < 0) return samba_refuse(c, SAMBA_EARG, "input %d is missing", i);
        if (!ox_expect_type(c, i, integers ? SAMBA_I32 : SAMBA_F32)) return false;
    }

    const samba_shape *nodes = &c->in[OX_TREES_NODES].shape;
    int64_t weights = samba_count(&c->in[OX_TREES_LEAF_WEIGHTS].shape);
    bool fits = c->in[OX_TREES_X].shape.ndim == 2 && nodes->ndim == 2
        && nodes->dim[1] == OX_TREE_COLUMNS
        && samba_count(&c->in[OX_TREES_THRESHOLDS].shape) == nodes->dim[0]
        && samba_count(&c->in[OX_TREES_LEAF_TARGETS].shape) == weights;
    if (!fits) return samba_refuse(c, SAMBA_ESHAPE, "x must be (N,F), and the tables fit");
    bool sound = c->attr[OX_TREES_TARGETS] >= 1 && c->attr[OX_TREES_AGGREGATE] >= OX_TREE_AVERAGE
        && c->attr[OX_TREES_AGGREGATE] <= OX_TREE_MAX;
    if (!sound) return samba_refuse(c, SAMBA_EARG, "targets or aggregate is out of range");
    c->n_out = 1;
    c->out[0] = c->in[OX_TREES_X];
    c->out[0].shape.dim[1] = c->attr[OX_TREES_TARGETS];
    return true;
}

/* Does x meet the comparison of a node, or is it a member of its set? */
static bool ox_tree_holds(const samba_args *a, const int32_t *node, float threshold, float x)
{
    bool nan_holds = (node[OX_TREE_MODE] & OX_TREE_NAN_HOLDS) != 0, member = false;
    int64_t n_members
        = a->in[OX_TREES_MEMBERS] ? samba_count(&a->in_spec[OX_TREES_MEMBERS].shape) : 0;
    if (x != x && nan_holds) return true;
    switch (node[OX_TREE_MODE] & ~OX_TREE_NAN_HOLDS) {
    case OX_TREE_LEQ:
        return x <= threshold;
    case OX_TREE_LT:
        return x < threshold;
    case OX_TREE_GTE:
        return x >= threshold;
    case OX_TREE_GT:
        return x > threshold;
    case OX_TREE_EQ:
        return x == threshold;
    case OX_TREE_NEQ:
        return x != threshold;
    default:
        break;
    }
    for (int64_t i = node[OX_TREE_SET]; i >= 0 && i < node[OX_TREE_SET_END] && i < n_members; i++)
        member = member || a->in[OX_TREES_MEMBERS][i] == x;
    return member;
}

/* The leaf in which a row ends, from a root; NULL: it leads to no node, or in a circle. */
static const int32_t *ox_tree_leaf(const samba_args *a, const float *x, int32_t at)
{
    int32_t n = a->in_spec[OX_TREES_NODES].shape.dim[0];
    int32_t features = a->in_spec[OX_TREES_X].shape.dim[1];
    for (int32_t step = 0; step < n && at >= 0 && at < n; step++) {
        const int32_t *node = ox_i32(a, OX_TREES_NODES) + (int64_t)at * OX_TREE_COLUMNS;
        if (node[OX_TREE_MODE] == OX_TREE_LEAF) return node;
        int32_t feature = node[OX_TREE_FEATURE];
        if (feature < 0 || feature >= features) return NULL;
        bool holds = ox_tree_holds(a, node, a->in[OX_TREES_THRESHOLDS][at], x[feature]);
        at = node[holds ? OX_TREE_YES : OX_TREE_NO];
    }
    return NULL;
}

/* A weight joins what target has so far; NaN: nothing. */
static float ox_tree_join(int32_t aggregate, float so_far, float weight)
{
    if (so_far != so_far) return weight;
    if (aggregate == OX_TREE_MIN) return weight < so_far ? weight : so_far;
    if (aggregate == OX_TREE_MAX) return weight > so_far ? weight : so_far;
    return so_far + weight;
}

static void ox_trees_kernel(const samba_args *a)
{
    int64_t features = a->in_spec[OX_TREES_X].shape.dim[1], targets = a->attr[OX_TREES_TARGETS];
    int64_t n_roots = samba_count(&a->in_spec[OX_TREES_ROOTS].shape);
    int64_t n_weights = samba_count(&a->in_spec[OX_TREES_LEAF_WEIGHTS].shape);
    int32_t aggregate = a->attr[OX_TREES_AGGREGATE];
    for (int64_t r = a->begin; r < a->end; r++) {
        float *y = a->out[0] + r * targets;
        for (int64_t t = 0; t < targets; t++)
            y[t] = NAN;
        for (int64_t i = 0; i < n_roots; i++) {
            int32_t root = ox_i32(a, OX_TREES_ROOTS)[i];
            const int32_t *leaf = ox_tree_leaf(a, a->in[OX_TREES_X] + r * features, root);
            if (!leaf) samba_fault(a, OX_TREES_ROOTS, root);
            int64_t at = leaf ? leaf[OX_TREE_YES] : 0, end = leaf ? leaf[OX_TREE_NO] : 0;
            for (; at >= 0 && at < end && at < n_weights; at++) {
                int32_t target = ox_i32(a, OX_TREES_LEAF_TARGETS)[at];
                bool inside = target >= 0 && target < targets;
                if (!inside) samba_fault(a, OX_TREES_LEAF_TARGETS, target);
                float weight = a->in[OX_TREES_LEAF_WEIGHTS][at];
                if (inside) y[target] = ox_tree_join(aggregate, y[target], weight);
            }
        }
        for (int64_t t = 0; t < targets; t++) {
            if (y[t] != y[t]) y[t] = 0;
            if (aggregate == OX_TREE_AVERAGE) y[t] /= (float)n_roots;
        }
    }
}

/* ---- The tables, from the attributes ---- */

typedef struct ox_trees {
    int32_t n, n_weights, n_roots, n_members, targets, aggregate;
    int32_t *node, *target, *root;
    float *threshold, *weight, *member;
} ox_trees;

/* The numbers of an attribute: a list of integers or floats, or a tensor. n 0: it is not there. */
typedef struct ox_numbers {
    const int64_t *i;
    const float *f;
    int64_t n;
} ox_numbers;

static bool ox_read_numbers(ox_node *k, const char *name, const char *name_of_tensor, ox_numbers *v)
{
    const Onnx__AttributeProto *a = ox_attribute(k, name);
    const Onnx__AttributeProto *t = name_of_tensor ? ox_attribute(k, name_of_tensor) : NULL;
    memset(v, 0, sizeof *v);
    if (!a || (!a->n_ints && !a->n_floats && !a->t)) a = t;
    if (!a) return true;
    if (a->t) {
        ox_value *value = ox_attribute_value(k->c, a->t);
        if (!value) return false;
        v->i = value->host->i;
        v->f = value->host->f;
        v->n = value->host->count;
    } else if (a->n_ints) {
        v->i = a->ints;
        v->n = (int64_t)a->n_ints;
    } else if (a->n_floats) {
        v->f = a->floats;
        v->n = (int64_t)a->n_floats;
    }
    return v->n <= OX_MAX_COUNT || ox_refuse(k, "its %s is too long", name);
}

/* Needs a list of n integers (floats: of floats); n < 0: of any length. */
static bool ox_need_numbers(ox_node *k, const char *name, const char *tensor, bool floats,
                            int64_t n, ox_numbers *v)
{
    if (!ox_read_numbers(k, name, tensor, v)) return false;
    bool fits = (floats ? v->f != NULL : v->i != NULL) && (n < 0 || v->n == n);
    return fits || ox_refuse(k, "its %s is missing, or of another type or length", name);
}

static bool ox_open_trees(ox_node *k, ox_trees *t, int64_t n, int64_t n_weights, int64_t n_roots)
{
    if (n < 1 || n > OX_MAX_COUNT / OX_TREE_COLUMNS || n_weights < 1 || n_weights > OX_MAX_COUNT
        || n_roots < 1 || n_roots > n)
        return ox_refuse(k, "has no trees or leaves, or too many");
    t->n = (int32_t)n;
    t->n_weights = (int32_t)n_weights;
    t->n_roots = (int32_t)n_roots;
    t->node = (int32_t *)ox_new(k->c, n * OX_TREE_COLUMNS, sizeof *t->node);
    t->threshold = (float *)ox_new(k->c, n, sizeof *t->threshold);
    t->target = (int32_t *)ox_new(k->c, n_weights, sizeof *t->target);
    t->weight = (float *)ox_new(k->c, n_weights, sizeof *t->weight);
    t->root = (int32_t *)ox_new(k->c, n_roots, sizeof *t->root);
    return t->node && t->threshold && t->target && t->weight && t->root;
}

/* y (N,targets); NULL after a refusal. */
static samba_tensor *ox_apply_trees(ox_node *k, const ox_trees *t, samba_tensor *x)
{
    ox_import *c = k->c;
    if (!x) return NULL;
    if (x->shape.ndim == 1) x = samba_unsqueeze(x, 0);
    if (!x) return NULL;
    if (x->shape.ndim != 2) {
        ox_refuse(k, "needs x (N,F)");
        return NULL;
    }
    for (int32_t i = 0; i < t->n; i++) {
        const int32_t *node = t->node + (int64_t)i * OX_TREE_COLUMNS;
        if (node[OX_TREE_MODE] == OX_TREE_LEAF || node[OX_TREE_FEATURE] < x->shape.dim[1]) continue;
        ox_refuse(k, "asks for feature %d of x, which has %d", node[OX_TREE_FEATURE],
                  x->shape.dim[1]);
        return NULL;
    }
    int32_t attr[OX_TREES_ATTRS] = { t->targets, t->aggregate };
    samba_tensor *in[OX_TREES_INPUTS] = { x, NULL, NULL, NULL, NULL, NULL, NULL };
    in[OX_TREES_NODES] = ox_constant(c, SAMBA_I32, SAMBA_SHAPE(t->n, OX_TREE_COLUMNS), t->node);
    in[OX_TREES_THRESHOLDS] = ox_constant(c, SAMBA_F32, SAMBA_SHAPE(t->n), t->threshold);
    in[OX_TREES_LEAF_TARGETS] = ox_constant(c, SAMBA_I32, SAMBA_SHAPE(t->n_weights), t->target);
    in[OX_TREES_LEAF_WEIGHTS] = ox_constant(c, SAMBA_F32, SAMBA_SHAPE(t->n_weights), t->weight);
    in[OX_TREES_ROOTS] = ox_constant(c, SAMBA_I32, SAMBA_SHAPE(t->n_roots), t->root);
    if (t->n_members)
        in[OX_TREES_MEMBERS] = ox_constant(c, SAMBA_F32, SAMBA_SHAPE(t->n_members), t->member);
    if (!samba_ok(c->s)) return NULL;
    return samba_apply(c->s, "onnx_trees", in, OX_TREES_INPUTS, attr, OX_TREES_ATTRS);
}

/* ---- TreeEnsembleClassifier and -Regressor: nodes are named by the numbers of tree and node ----
 */

typedef struct ox_tree_name {
    int64_t tree, node;
    int32_t at; /* in the lists */
} ox_tree_name;

static int ox_compare_tree_names(const void *a, const void *b)
{
    const ox_tree_name *x = (const ox_tree_name *)a, *y = (const ox_tree_name *)b;
    if (x->tree != y->tree) return x->tree < y->tree ? -1 : 1;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return 0;
}

/* Where a node of a tree is in the lists; -1: nowhere. */
static int32_t ox_find_tree_node(const ox_tree_name *names, int64_t n, int64_t tree, int64_t node)
{
    ox_tree_name wanted = { tree, node, 0 };
    const ox_tree_name *found = (const ox_tree_name *)bsearch(&wanted, names, (size_t)n,
                                                              sizeof wanted, ox_compare_tree_names);
    return found ? found->at : -1;
}

/* The mode of a node by its name; -1: none has it. */
static int32_t ox_tree_mode(const ProtobufCBinaryData *s)
{
    static const char *const names[] = { "BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                         "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF" };
    for (int32_t i = 0; i < (int32_t)(sizeof names / sizeof *names); i++)
        if (s->len == strlen(names[i]) && !memcmp(s->data, names[i], s->len))
            return i == OX_TREE_MEMBER ? -1 : i;
    return -1;
}

/* Branches and thresholds; names gets all nodes, sorted. Roots are the nodes without a parent. */
static bool ox_read_tree_nodes(ox_node *k, ox_trees *t, const ox_tree_name *names,
                               const ox_numbers *tree)
{
    const Onnx__AttributeProto *modes = ox_attribute(k, "nodes_modes");
    ox_numbers feature, yes, no, threshold, nan_holds;
    if (!ox_need_numbers(k, "nodes_featureids", NULL, false, t->n, &feature)
        || !ox_need_numbers(k, "nodes_truenodeids", NULL, false, t->n, &yes)
        || !ox_need_numbers(k, "nodes_falsenodeids", NULL, false, t->n, &no)
        || !ox_need_numbers(k, "nodes_values", "nodes_values_as_tensor", true, t->n, &threshold)
        || !ox_read_numbers(k, "nodes_missing_value_tracks_true", NULL, &nan_holds))
        return false;
    if (!modes || modes->n_strings != (size_t)t->n)
        return ox_refuse(k, "its nodes_modes is missing, or of another length");
    bool tracks = nan_holds.i && nan_holds.n == t->n;
    for (int32_t i = 0; i < t->n; i++) {
        int32_t *node = t->node + (int64_t)i * OX_TREE_COLUMNS;
        int32_t mode = ox_tree_mode(&modes->strings[i]);
        if (mode < 0) return ox_refuse(k, "the mode of node %d is not offered", i);
        t->threshold[i] = threshold.f[i];
        node[OX_TREE_MODE] = mode;
        if (mode == OX_TREE_LEAF) continue;
        node[OX_TREE_MODE] |= tracks && nan_holds.i[i] ? OX_TREE_NAN_HOLDS : 0;
        bool sound = feature.i[i] >= 0 && feature.i[i] <= INT32_MAX;
        node[OX_TREE_FEATURE] = sound ? (int32_t)feature.i[i] : 0;
        node[OX_TREE_YES] = ox_find_tree_node(names, t->n, tree->i[i], yes.i[i]);
        node[OX_TREE_NO] = ox_find_tree_node(names, t->n, tree->i[i], no.i[i]);
        if (!sound || node[OX_TREE_YES] < 0 || node[OX_TREE_NO] < 0)
            return ox_refuse(k, "node %d leads to a node or a feature that does not exist", i);
    }
    return true;
}

/* The one node of each tree that no other one leads to. */
static bool ox_find_roots(ox_node *k, ox_trees *t, const ox_tree_name *names)
{
    uint8_t *is_child = (uint8_t *)ox_new(k->c, t->n, 1);
    int32_t found = 0;
    if (!is_child) return false;
    for (int32_t i = 0; i < t->n; i++) {
        const int32_t *node = t->node + (int64_t)i * OX_TREE_COLUMNS;
        if (node[OX_TREE_MODE] == OX_TREE_LEAF) continue;
        is_child[node[OX_TREE_YES]] = is_child[node[OX_TREE_NO]] = 1;
    }
    for (int32_t i = 0, n_here = 0; i < t->n; i++) {
        if (i == 0 || names[i].tree != names[i - 1].tree) n_here = 0;
        bool last = i == t->n - 1 || names[i + 1].tree != names[i].tree;
        if (!is_child[names[i].at]) {
            n_here++;
            if (n_here == 1 && found < t->n_roots) t->root[found++] = names[i].at;
        }
        if (last && n_here != 1)
            return ox_refuse(k, "tree %lld has %d roots", (long long)names[i].tree, n_here);
    }
    return true;
}

/* What is sorted by the leaf that it belongs to; in the order of the lists for each. */
static int ox_compare_weights(const void *a, const void *b)
{
    const int32_t *x = (const int32_t *)a, *y = (const int32_t *)b;
    if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
    return x[1] < y[1] ? -1 : x[1] > y[1];
}

/* Weights, by tree, node and target, in the words of the op: "class" or "target". */
static bool ox_read_leaf_weights(ox_node *k, ox_trees *t, const ox_tree_name *names, const char *of)
{
    char name[6][40];
    static const char *const ends[6]
        = { "treeids", "nodeids", "ids", "weights", "weights_as_tensor", "" };
    ox_numbers tree, node, target, weight;
    for (int i = 0; i < 6; i++)
        snprintf(name[i], sizeof name[i], "%s_%s", of, ends[i]);
    if (!ox_need_numbers(k, name[0], NULL, false, t->n_weights, &tree)
        || !ox_need_numbers(k, name[1], NULL, false, t->n_weights, &node)
        || !ox_need_numbers(k, name[2], NULL, false, t->n_weights, &target)
        || !ox_need_numbers(k, name[3], name[4], true, t->n_weights, &weight))
        return false;
    int32_t *order = (int32_t *)ox_new(k->c, 2 * (int64_t)t->n_weights, sizeof *order);
    if (!order) return false;
    for (int32_t i = 0; i < t->n_weights; i++) {
        order[2 * i] = ox_find_tree_node(names, t->n, tree.i[i], node.i[i]);
        order[2 * i + 1] = i;
        bool sound = order[2 * i] >= 0 && target.i[i] >= 0 && target.i[i] < t->targets
            && weight.f[i] - weight.f[i] == 0;
        if (!sound)
            return ox_refuse(
                k, "weight %d is not finite, or of a node or target that does not exist", i);
    }
    qsort(order, (size_t)t->n_weights, 2 * sizeof *order, ox_compare_weights);
    for (int32_t i = 0; i < t->n_weights; i++) {
        int32_t from = order[2 * i + 1];
        int32_t *leaf = t->node + (int64_t)order[2 * i] * OX_TREE_COLUMNS;
        t->target[i] = (int32_t)target.i[from];
        t->weight[i] = weight.f[from];
        if (leaf[OX_TREE_MODE] != OX_TREE_LEAF) continue; /* nothing ends there */
        if (i == 0 || order[2 * i] != order[2 * i - 2]) leaf[OX_TREE_YES] = i;
        leaf[OX_TREE_NO] = i + 1;
    }
    return true;
}

/* All of an ensemble whose weights are of so many classes or targets. */
static bool ox_read_trees(ox_node *k, ox_trees *t, const char *of, int64_t targets)
{
    char name[40];
    ox_numbers tree, node, weight;
    memset(t, 0, sizeof *t);
    snprintf(name, sizeof name, "%s_ids", of);
    if (!ox_need_numbers(k, "nodes_treeids", NULL, false, -1, &tree)
        || !ox_need_numbers(k, "nodes_nodeids", NULL, false, tree.n, &node)
        || !ox_need_numbers(k, name, NULL, false, -1, &weight))
        return false;
    if (targets < 1 || targets > 1 << 20) return ox_refuse(k, "has no targets, or too many");

    ox_tree_name *names = (ox_tree_name *)ox_new(k->c, tree.n, sizeof *names);
    if (!names) return false;
    for (int64_t i = 0; i < tree.n; i++) {
        names[i].tree = tree.i[i];
        names[i].node = node.i[i];
        names[i].at = (int32_t)i;
    }
    qsort(names, (size_t)tree.n, sizeof *names, ox_compare_tree_names);
    int64_t trees = tree.n > 0;
    for (int64_t i = 1; i < tree.n; i++) {
        if (!ox_compare_tree_names(&names[i - 1], &names[i]))
            return ox_refuse(k, "two nodes of a tree have one number");
        trees += names[i].tree != names[i - 1].tree;
    }
    if (!ox_open_trees(k, t, tree.n, weight.n, trees)) return false;
    t->targets = (int32_t)targets;
    t->aggregate = OX_TREE_SUM;
    return ox_read_tree_nodes(k, t, names, &tree) && ox_find_roots(k, t, names)
        && ox_read_leaf_weights(k, t, names, of);
}

/* ---- TreeEnsemble, since version 5: branches and leaves are two lists ---- */

/* Node i + n is leaf i. A branch leads to one or the other. */
static int32_t ox_branch_to(int64_t at, int64_t is_leaf, int64_t n, int64_t leaves)
{
    bool fits = at >= 0 && at < (is_leaf ? leaves : n);
    return !fits ? -1 : (int32_t)(is_leaf ? n + at : at);
}

/* The sets of nodes whose mode is MEMBER follow each other, a NaN behind each. */
static bool ox_read_sets(ox_node *k, ox_trees *t, int64_t n)
{
    ox_numbers members;
    if (!ox_read_numbers(k, "membership_values", NULL, &members)) return false;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t *node = t->node + i * OX_TREE_COLUMNS;
        if ((node[OX_TREE_MODE] & ~OX_TREE_NAN_HOLDS) != OX_TREE_MEMBER) continue;
        if (!members.f || at >= members.n) return ox_refuse(k, "has fewer sets than nodes need");
        node[OX_TREE_SET] = (int32_t)at;
        while (at < members.n && members.f[at] == members.f[at])
            at++;
        node[OX_TREE_SET_END] = (int32_t)at++;
    }
    if (!members.f) return true;
    t->member = (float *)ox_new(k->c, members.n, sizeof *t->member);
    if (t->member) memcpy(t->member, members.f, (size_t)members.n * sizeof *t->member);
    t->n_members = (int32_t)members.n;
    return t->member != NULL;
}

static bool ox_read_branches(ox_node *k, ox_trees *t, int64_t n, int64_t leaves)
{
    ox_numbers mode, feature, split, yes, no, yes_leaf, no_leaf, nan_holds;
    if (!ox_need_numbers(k, "nodes_modes", NULL, false, n, &mode)
        || !ox_need_numbers(k, "nodes_featureids", NULL, false, n, &feature)
        || !ox_need_numbers(k, "nodes_splits", NULL, true, n, &split)
        || !ox_need_numbers(k, "nodes_truenodeids", NULL, false, n, &yes)
        || !ox_need_numbers(k, "nodes_falsenodeids", NULL, false, n, &no)
        || !ox_need_numbers(k, "nodes_trueleafs", NULL, false, n, &yes_leaf)
        || !ox_need_numbers(k, "nodes_falseleafs", NULL, false, n, &no_leaf)
        || !ox_read_numbers(k, "nodes_missing_value_tracks_true", NULL, &nan_holds))
        return false;
    bool tracks = nan_holds.i && nan_holds.n == n;
    for (int64_t i = 0; i < n; i++) {
        int32_t *node = t->node + i * OX_TREE_COLUMNS;
        node[OX_TREE_YES] = ox_branch_to(yes.i[i], yes_leaf.i[i], n, leaves);
        node[OX_TREE_NO] = ox_branch_to(no.i[i], no_leaf.i[i], n, leaves);
        bool sound = mode.i[i] >= 0 && mode.i[i] <= OX_TREE_MEMBER && feature.i[i] >= 0
            && feature.i[i] <= INT32_MAX && node[OX_TREE_YES] >= 0 && node[OX_TREE_NO] >= 0;
        if (!sound)
            return ox_refuse(k, "node %lld has no such mode, feature or branch", (long long)i);
        node[OX_TREE_MODE] = (int32_t)mode.i[i];
        node[OX_TREE_MODE] |= tracks && nan_holds.i[i] ? OX_TREE_NAN_HOLDS : 0;
        node[OX_TREE_FEATURE] = (int32_t)feature.i[i];
        t->threshold[i] = split.f[i];
    }
    return ox_read_sets(k, t, n);
}

static bool ox_read_ensemble(ox_node *k, ox_trees *t)
{
    ox_numbers mode, target, weight, root;
    int64_t targets = ox_int(k, "n_targets", 0), aggregate = ox_int(k, "aggregate_function", 1);
    memset(t, 0, sizeof *t);
    if (!ox_need_numbers(k, "nodes_modes", NULL, false, -1, &mode)
        || !ox_need_numbers(k, "leaf_targetids", NULL, false, -1, &target)
        || !ox_need_numbers(k, "leaf_weights", NULL, true, target.n, &weight)
        || !ox_need_numbers(k, "tree_roots", NULL, false, -1, &root))
        return false;
    if (targets < 1 || targets > 1 << 20 || aggregate < OX_TREE_AVERAGE || aggregate > OX_TREE_MAX)
        return ox_refuse(k, "its n_targets or aggregate_function is out of range");
    if (!ox_open_trees(k, t, mode.n + target.n, target.n, root.n)) return false;
    t->targets = (int32_t)targets;
    t->aggregate = (int32_t)aggregate;
    for (int32_t i = 0; i < t->n_roots; i++) {
        if (root.i[i] < 0 || root.i[i] >= mode.n) return ox_refuse(k, "a root is out of range");
        t->root[i] = (int32_t)root.i[i];
    }
    for (int64_t i = 0; i < target.n; i++) {
        int32_t *leaf = t->node + (mode.n + i) * OX_TREE_COLUMNS;
        bool sound = target.i[i] >= 0 && target.i[i] < targets && weight.f[i] - weight.f[i] == 0;
        if (!sound) return ox_refuse(k, "a leaf's target or weight is out of range");
        t->target[i] = (int32_t)target.i[i];
        t->weight[i] = weight.f[i];
        leaf[OX_TREE_MODE] = OX_TREE_LEAF;
        leaf[OX_TREE_YES] = (int32_t)i;
        leaf[OX_TREE_NO] = (int32_t)i + 1;
    }
    return ox_read_branches(k, t, mode.n, target.n);
}

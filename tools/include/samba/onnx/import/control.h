/* control.h - of onnx_import.h: graphs inside of ops: If, Loop, Scan, SequenceMap. Loops are
   unrolled. */

static const char *ox_name_node(char *text, size_t size, const Onnx__NodeProto *p);

/* Runs a subgraph on n inputs; out gets the values of its outputs. */
static bool ox_run_body(ox_node *k, const Onnx__GraphProto *g, ox_value **in, int32_t n,
                        ox_value **out)
{
    ox_import *c = k->c;
    ox_scope scope;
    char text[240];
    const char *inside = c->inside;
    if (c->depth >= OX_MAX_DEPTH) return ox_refuse(k, "is nested too deep");
    if ((size_t)n > g->n_input) return ox_refuse(k, "its body has too few inputs");
    if (++c->n_nodes > c->max_nodes) /* a turn of an empty loop counts, too */
        return ox_refuse(k, "loops unroll to more than %d nodes and turns", OX_MAX_UNROLLED);
    memset(&scope, 0, sizeof scope);
    scope.outer = c->scope;
    c->scope = &scope;
    c->inside = ox_name_node(text, sizeof text, k->p);
    c->depth++;
    bool fine = ox_declare_initializers(c, g) && ox_fill_initializers(c, g);
    for (int32_t i = 0; fine && i < n; i++)
        fine = ox_bind(c, g->input[i]->name, in[i]);
    fine = fine && c->run(c, g->node, g->n_node);
    for (size_t o = 0; fine && o < g->n_output; o++) {
        out[o] = g->output[o]->name ? ox_lookup(c, g->output[o]->name) : NULL;
        if (!out[o]) fine = ox_refuse(k, "its body does not make the output it names");
    }
    c->depth--;
    c->inside = inside;
    c->scope = scope.outer;
    return fine;
}

static const Onnx__GraphProto *ox_body(ox_node *k, const char *name)
{
    const Onnx__AttributeProto *a = ox_attribute(k, name);
    if (a && a->g) return a->g;
    ox_refuse(k, "has no graph %s", name);
    return NULL;
}

static ox_value *ox_joined(ox_node *k, samba_tensor *cond, ox_value *a, ox_value *b)
{
    if (a->sequence != b->sequence || a->none || b->none || a->type != b->type || a->n != b->n) {
        ox_want(k, k->in[0], "condition, as its branches give different kinds of values,");
        return NULL;
    }
    ox_value *y = a->sequence ? ox_new_sequence(k->c, a->type, a->n) : ox_new_value(k->c, a->type);
    for (int32_t i = 0; y && i < a->n; i++)
        if (!(y->item[i] = ox_joined(k, cond, a->item[i], b->item[i]))) return NULL;
    if (!y || a->sequence) return y;
    samba_tensor *ta = ox_tensor(k->c, a), *tb = ox_tensor(k->c, b);
    bool same = ta && tb && ta->shape.ndim == tb->shape.ndim;
    for (int32_t d = 0; same && d < ta->shape.ndim; d++)
        same = ta->shape.dim[d] == tb->shape.dim[d];
    if (ta && tb && !same) ox_want(k, k->in[0], "condition, as its branches differ in shape,");
    y->t = same ? ox_select(cond, ta, tb) : NULL;
    y->from = k->in[0]->from;
    return y->t ? y : NULL;
}

/* A condition that is not known: both branches are computed, and one is chosen. */
static bool ox_op_if(ox_node *k)
{
    const Onnx__GraphProto *branch[2] = { ox_body(k, "else_branch"), ox_body(k, "then_branch") };
    ox_value **out[2] = { NULL, NULL };
    const onnx_array *known = ox_has(k, 0) ? ox_known_array(k->c, k->in[0]) : NULL;
    if (!branch[0] || !branch[1] || !ox_has(k, 0) || !samba_ok(k->c->s)) return false;
    for (int b = 0; b < 2; b++) {
        if (known && b != (known->count && ox_number(known, 0) != 0)) continue;
        if (branch[b]->n_output < (size_t)k->n_out)
            return ox_refuse(k, "a branch has too few outputs");
        out[b] = (ox_value **)ox_new(k->c, (int64_t)branch[b]->n_output, sizeof *out[b]);
        if (!out[b]) return false;
        if (ox_run_body(k, branch[b], NULL, 0, out[b])) continue;
        if (!known && !k->c->wants) { /* a condition that is known would avoid this branch */
            k->c->wants = k->in[0]->from;
            k->c->wants_value = b == 0 ? k->in[0]->compared : NULL;
        }
        return false;
    }
    for (int32_t o = 0; o < k->n_out; o++) {
        ox_value *v
            = known ? out[out[1] != NULL][o] : ox_joined(k, ox_in(k, 0), out[1][o], out[0][o]);
        if (!ox_give_value(k, o, v)) return false;
    }
    return true;
}

static ox_value *ox_number_value(ox_import *c, int32_t type, int64_t value)
{
    onnx_array *a = ox_host_array(c, type, 0, NULL);
    if (a) a->i[0] = value;
    return ox_host_value(c, a);
}

/* What a loop gave in its turns: turn after turn, n values each. */
typedef struct ox_turns {
    ox_value **value;
    int32_t n, turns, room; /* room: for so many turns */
} ox_turns;

static bool ox_add_turn(ox_import *c, ox_turns *t, ox_value **value)
{
    if (t->turns == t->room) {
        int32_t room = t->room ? 2 * t->room : 4;
        ox_value **more = (ox_value **)ox_new(c, (int64_t)room * t->n, sizeof *more);
        if (!more) return false;
        if (t->value) memcpy(more, t->value, (size_t)t->turns * (size_t)t->n * sizeof *more);
        t->value = more;
        t->room = room;
    }
    memcpy(t->value + (size_t)t->turns * (size_t)t->n, value, (size_t)t->n * sizeof *value);
    t->turns++;
    return true;
}

/* Value i of all turns, the last one first if backward; NULL: no memory. */
static ox_value **ox_of_turns(ox_import *c, const ox_turns *t, int32_t i, bool backward)
{
    ox_value **list = (ox_value **)ox_new(c, t->turns, sizeof *list);
    for (int32_t at = 0; list && at < t->turns; at++)
        list[at] = t->value[(size_t)(backward ? t->turns - 1 - at : at) * (size_t)t->n + (size_t)i];
    return list;
}

/* What a loop gave in its turns, along a new axis. */
static ox_value *ox_stacked(ox_node *k, ox_value **item, int32_t n, int64_t axis)
{
    if (!item) return NULL;
    samba_tensor **in = (samba_tensor **)ox_new(k->c, n, sizeof *in);
    ox_value *v = n > 0 ? ox_new_value(k->c, item[0]->type) : NULL;
    bool known = true;
    if (n == 0) ox_refuse(k, "gives a tensor without elements: it has no turns");
    for (int32_t i = 0; in && v && i < n; i++) {
        if (!(in[i] = ox_tensor(k->c, item[i]))) return NULL;
        known = known && item[i]->known;
        if (item[i]->from) v->from = item[i]->from;
    }
    if (!in || !v) return NULL;
    bool tracing = samba_tracing(k->c->s);
    if (known) samba_set_tracing(k->c->s, false);
    v->t = ox_cat(k, in, n, axis, true);
    samba_set_tracing(k->c->s, tracing);
    v->known = known;
    return v->t ? v : NULL;
}

/* A Loop: n carried values, then what is collected from each turn. */
static bool ox_op_loop(ox_node *k)
{
    const Onnx__GraphProto *g = ox_body(k, "body");
    const onnx_array *trips = NULL, *cond = NULL;
    int32_t n = k->n_in - 2, turns = 0, n_body = g ? (int32_t)g->n_output : 0;
    int32_t n_scan = n_body - 1 - n;
    if (!g) return false;
    if (n < 0 || n_scan < 0 || n + n_scan < k->n_out) return ox_refuse(k, "its body does not fit");
    ox_value **in = (ox_value **)ox_new(k->c, n + 2, sizeof *in);
    ox_value **out = (ox_value **)ox_new(k->c, n_body, sizeof *out);
    ox_turns scan = { NULL, n_scan, 0, 0 };
    if (!in || !out) return false;
    if (ox_has(k, 0) && !(trips = ox_need(k, 0, "trip count"))) return false;
    if (ox_has(k, 1) && !(cond = ox_need(k, 1, "condition"))) return false;
    int64_t limit = trips && trips->i && trips->count ? trips->i[0] : INT64_MAX;
    bool going = !cond || (cond->count && ox_number(cond, 0) != 0);
    in[1] = ox_has(k, 1) ? k->in[1] : ox_number_value(k->c, OX_BOOL, 1);
    for (int32_t i = 0; i < n; i++)
        in[2 + i] = k->in[2 + i];
    for (; going && turns < limit; turns++) {
        if (turns >= OX_MAX_TURNS) return ox_refuse(k, "has more than %d turns", OX_MAX_TURNS);
        in[0] = ox_number_value(k->c, OX_INT64, turns);
        for (int32_t i = 0; i < n + 2; i++)
            if (!in[i]) return ox_refuse(k, "a carried value is missing");
        if (!in[0] || !ox_run_body(k, g, in, n + 2, out)) return false;
        for (int32_t i = 0; i <= n; i++)
            in[1 + i] = out[i];
        if (!ox_add_turn(k->c, &scan, out + 1 + n)) return false;
        const onnx_array *more = ox_known_array(k->c, out[0]);
        if (!more && samba_ok(k->c->s)) ox_want(k, out[0], "condition");
        if (!more) return false;
        going = more->count && ox_number(more, 0) != 0;
    }
    for (int32_t o = 0; o < k->n_out; o++) {
        ox_value *v = o < n ? in[2 + o]
            : ox_asks(k, o) ? ox_stacked(k, ox_of_turns(k->c, &scan, o - n, false), turns, 0)
                            : NULL;
        if (ox_asks(k, o) && !ox_give_value(k, o, v)) return false;
    }
    return true;
}

/* ---- Scan ---- */

static int64_t ox_entry_of(const ox_node *k, const char *name, int32_t i, int64_t otherwise)
{
    int32_t n = 0;
    const int64_t *list = ox_ints(k, name, &n);
    return list && i < n ? list[i] : otherwise;
}

/* One sequence: state values and scanned inputs in `in`; out gets final states, stacked outputs. */
static bool ox_scan_once(ox_node *k, const Onnx__GraphProto *g, ox_value **in, int32_t n_state,
                         int32_t n_scan, ox_value **out, bool old)
{
    int32_t n = n_state + n_scan, n_body = (int32_t)g->n_output, turns = 0, axis = 0;
    ox_value **now = (ox_value **)ox_new(k->c, n, sizeof *now);
    ox_value **got = (ox_value **)ox_new(k->c, n_body, sizeof *got);
    ox_turns kept = { NULL, n_body, 0, 0 };
    if (!now || !got || n_body < n_state) return ox_refuse(k, "its body does not fit");
    for (int32_t i = 0; i < n_state; i++)
        now[i] = in[i];
    for (int32_t t = 0; t == 0 || t < turns; t++) {
        for (int32_t i = 0; i < n_scan; i++) {
            samba_tensor *x = ox_tensor(k->c, in[n_state + i]);
            axis = x ? ox_axis(k, old ? 0 : ox_entry_of(k, "scan_input_axes", i, 0), x->shape.ndim)
                     : -1;
            if (axis < 0) return false;
            turns = x->shape.dim[axis];
            bool backward = ox_entry_of(k, old ? "directions" : "scan_input_directions", i, 0) != 0;
            int32_t at = backward ? turns - 1 - t : t;
            ox_value *v = ox_new_value(k->c, in[n_state + i]->type);
            if (!v || at < 0 || turns > OX_MAX_TURNS) return ox_refuse(k, "has too many turns");
            v->t = samba_squeeze(samba_slice(x, axis, at, at + 1, 1), axis);
            v->from = in[n_state + i]->from;
            if (!v->t) return false;
            now[n_state + i] = v;
        }
        if (!ox_run_body(k, g, now, n, got)) return false;
        for (int32_t i = 0; i < n_state; i++)
            now[i] = got[i];
        if (!ox_add_turn(k->c, &kept, got)) return false;
    }
    for (int32_t i = 0; i < n_state; i++)
        out[i] = now[i];
    for (int32_t i = n_state; i < n_body; i++) {
        int64_t to = old ? 0 : ox_entry_of(k, "scan_output_axes", i - n_state, 0);
        bool backward = ox_entry_of(k, "scan_output_directions", i - n_state, 0) != 0;
        out[i] = ox_stacked(k, ox_of_turns(k->c, &kept, i, backward), turns, to);
        if (!out[i]) return false;
    }
    return true;
}

/* Version 8 has a batch in front of everything, and lengths as input 0. */
static bool ox_op_scan(ox_node *k)
{
    const Onnx__GraphProto *g = ox_body(k, "body");
    bool old = k->version < 9;
    int32_t skip = old ? 1 : 0, n_scan = (int32_t)ox_int(k, "num_scan_inputs", 0);
    int32_t n = k->n_in - skip, n_state = n - n_scan, batch = 1;
    if (!g) return false;
    if (old && ox_has(k, 0)) return ox_refuse(k, "with lengths of its own is not offered");
    if (n_scan < 1 || n_state < 0) return ox_refuse(k, "its inputs do not fit");
    if ((int32_t)g->n_output < k->n_out) return ox_refuse(k, "its body does not fit");
    for (int32_t i = 0; i < n; i++)
        if (!ox_in(k, skip + i)) return false;
    if (old) batch = k->in[1]->t->shape.ndim ? k->in[1]->t->shape.dim[0] : 0;
    ox_value **in = (ox_value **)ox_new(k->c, n, sizeof *in);
    ox_value **out = (ox_value **)ox_new(k->c, (int64_t)g->n_output * (batch + 1), sizeof *out);
    ox_value **each = (ox_value **)ox_new(k->c, batch, sizeof *each);
    for (int32_t b = 0; in && out && each && b < batch; b++) {
        for (int32_t i = 0; i < n; i++) {
            in[i] = old ? ox_new_value(k->c, k->in[skip + i]->type) : k->in[i];
            if (in[i] && old) in[i]->t = ox_entry(k->in[skip + i]->t, b);
            if (!in[i] || (old && !in[i]->t)) return false;
        }
        if (!ox_scan_once(k, g, in, n_state, n_scan, out + (size_t)b * g->n_output, old))
            return false;
    }
    for (int32_t o = 0; out && each && o < k->n_out; o++) {
        for (int32_t b = 0; b < batch; b++)
            each[b] = out[(size_t)b * g->n_output + (size_t)o];
        if (!ox_give_value(k, o, old ? ox_stacked(k, each, batch, 0) : each[0])) return false;
    }
    return in && out && each;
}

/* SequenceMap: the body on the elements of sequences; tensors are the same in each turn. */
static bool ox_op_sequence_map(ox_node *k)
{
    const Onnx__GraphProto *g = ox_body(k, "body");
    ox_value *first = ox_sequence(k, 0);
    if (!g || !first) return false;
    if (g->n_output < (size_t)k->n_out) return ox_refuse(k, "its body does not fit");
    ox_value **in = (ox_value **)ox_new(k->c, k->n_in, sizeof *in);
    ox_value **out = (ox_value **)ox_new(k->c, (int64_t)g->n_output, sizeof *out);
    for (int32_t o = 0; o < k->n_out; o++)
        if (!ox_give_value(k, o, ox_new_sequence(k->c, OX_FLOAT, first->n))) return false;
    for (int32_t t = 0; in && out && t < first->n; t++) {
        for (int32_t i = 0; i < k->n_in; i++) {
            ox_value *v = k->in[i];
            if (!v || (v->sequence && v->n != first->n))
                return ox_refuse(k, "its sequences differ");
            in[i] = v->sequence ? v->item[t] : v;
        }
        if (!ox_run_body(k, g, in, k->n_in, out)) return false;
        for (int32_t o = 0; o < k->n_out; o++) {
            k->out[o]->item[t] = out[o];
            k->out[o]->type = out[o]->type;
        }
    }
    return in && out;
}

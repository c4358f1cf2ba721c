/* run.h - of chat_template.h: the tree of a template, run with variables. */

static samba_chat__value samba_chat__eval(samba_chat__run *r, int at);

/* ---- Variables ------------------------------------------------------------------------------- */

static samba_chat__variable *samba_chat__variable_of(const samba_chat__run *r, const char *name,
                                                     size_t size, int from)
{
    for (int i = r->n_variables - 1; i >= from; i--)
        if (r->variable[i].size == size && memcmp(r->variable[i].name, name, size) == 0)
            return &r->variable[i];
    return NULL;
}

/* Sets a variable of the present scope. */
static void samba_chat__set_variable(samba_chat__run *r, const char *name, size_t size,
                                     samba_chat__value v)
{
    samba_chat__variable *known = samba_chat__variable_of(r, name, size, r->scope);
    if (!known && r->n_variables == SAMBA_CHAT__MAX_VARIABLES) {
        samba_chat__fail(r, "more than %d variables", (int)SAMBA_CHAT__MAX_VARIABLES);
        return;
    }
    if (!known) known = &r->variable[r->n_variables++];
    known->name = name;
    known->size = size;
    known->value = v;
}

/* A variable, a function, or what is undefined. */
static samba_chat__value samba_chat__look_up(const samba_chat__run *r, const char *name,
                                             size_t size)
{
    const samba_chat__variable *known = samba_chat__variable_of(r, name, size, 0);
    if (known) return known->value;
    bool is_function = samba_chat__lists(samba_chat__functions, name, size);
    samba_chat__value v = samba_chat__of_kind(is_function ? CHAT__IS_FUNCTION : CHAT__IS_UNDEFINED);
    v.text = name;
    v.size = size;
    return v;
}

/* ---- Expressions ----------------------------------------------------------------------------- */

/* Python's floor division and remainder. */
static samba_chat__value samba_chat__divide(samba_chat__run *r, char sign, int64_t a, int64_t b)
{
    if (b == 0 || b == -1) {
        if (b == 0) return samba_chat__fail(r, "a division by 0");
        return samba_chat__int(sign == '%' ? 0 : -a);
    }
    int64_t quotient = a / b, rest = a % b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        quotient--;
        rest += b;
    }
    return samba_chat__int(sign == '%' ? rest : quotient);
}

/* Numbers, of which both are whole or one is not. */
static samba_chat__value samba_chat__calculate(samba_chat__run *r, const samba_chat__node *n,
                                               samba_chat__value a, samba_chat__value b)
{
    const int64_t most = (int64_t)1 << 31;
    bool whole = a.kind != CHAT__IS_FLOAT && b.kind != CHAT__IS_FLOAT;
    char sign = n->size == 2 ? 'f' : n->text[0];
    if (sign == '/') {
        if (samba_chat__as_number(b) == 0) return samba_chat__fail(r, "a division by 0");
        return samba_chat__float(samba_chat__as_number(a) / samba_chat__as_number(b));
    }
    if (!whole && sign != '+' && sign != '-' && sign != '*')
        return samba_chat__fail(r, "// and %% of what is not whole");
    if (whole && (a.whole >= most || a.whole <= -most || b.whole >= most || b.whole <= -most))
        return samba_chat__fail(r, "whole numbers of 2^31 and above are not calculated with here");
    if (sign == 'f' || sign == '%') return samba_chat__divide(r, sign, a.whole, b.whole);
    if (whole)
        return samba_chat__int(sign == '+'       ? a.whole + b.whole
                                   : sign == '-' ? a.whole - b.whole
                                                 : a.whole * b.whole);
    double x = samba_chat__as_number(a), y = samba_chat__as_number(b);
    return samba_chat__float(sign == '+' ? x + y : sign == '-' ? x - y : x * y);
}

static samba_chat__value samba_chat__math_of(samba_chat__run *r, const samba_chat__node *n)
{
    samba_chat__value a = samba_chat__eval(r, n->a), b = samba_chat__eval(r, n->b);
    samba_chat__output out = { NULL, 0, 0 };
    if (r->failed) return a;
    bool texts = a.kind == CHAT__IS_TEXT && b.kind == CHAT__IS_TEXT;
    if (n->text[0] == '~' || (n->text[0] == '+' && texts)) {
        samba_chat__print(r, &out, a);
        samba_chat__print(r, &out, b);
        return samba_chat__written(r, &out);
    }
    if (samba_chat__is_number(a) && samba_chat__is_number(b))
        return samba_chat__calculate(r, n, a, b);
    if (n->text[0] == '+' && a.kind == CHAT__IS_LIST && b.kind == CHAT__IS_LIST) {
        samba_chat__value list = samba_chat__empty(r, CHAT__IS_LIST);
        for (size_t i = 0; i < a.items->n + b.items->n && !r->failed; i++)
            samba_chat__push(r, list,
                             i < a.items->n ? a.items->at[i] : b.items->at[i - a.items->n]);
        return list;
    }
    if (n->text[0] == '*' && a.kind == CHAT__IS_TEXT && b.kind == CHAT__IS_INT) {
        for (int64_t i = 0; i < b.whole && !r->failed && a.size; i++)
            samba_chat__write(r, &out, a.text, a.size);
        return samba_chat__written(r, &out);
    }
    return samba_chat__fail(r, "%s %.*s %s", samba_chat__name_of(a), (int)n->size, n->text,
                            samba_chat__name_of(b));
}

/* -1, 0 or 1; texts by their bytes, which is the order of their characters. */
static int samba_chat__order(samba_chat__run *r, samba_chat__value a, samba_chat__value b)
{
    if (samba_chat__is_number(a) && samba_chat__is_number(b)) {
        double x = samba_chat__as_number(a), y = samba_chat__as_number(b);
        return (x > y) - (x < y);
    }
    if (a.kind != CHAT__IS_TEXT || b.kind != CHAT__IS_TEXT) {
        samba_chat__fail(r, "a comparison of %s and %s", samba_chat__name_of(a),
                         samba_chat__name_of(b));
        return 0;
    }
    int order = memcmp(a.text, b.text, a.size < b.size ? a.size : b.size);
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static samba_chat__value samba_chat__comparison_of(samba_chat__run *r, const samba_chat__node *n)
{
    samba_chat__value a = samba_chat__eval(r, n->a), b = samba_chat__eval(r, n->b);
    if (r->failed) return a;
    if (samba_chat__is(n->text, n->size, "==")) return samba_chat__bool(samba_chat__equal(a, b));
    if (samba_chat__is(n->text, n->size, "!=")) return samba_chat__bool(!samba_chat__equal(a, b));
    if (samba_chat__is(n->text, n->size, "in"))
        return samba_chat__bool(samba_chat__contains(r, b, a));
    if (samba_chat__is(n->text, n->size, "not in"))
        return samba_chat__bool(!samba_chat__contains(r, b, a));
    int order = samba_chat__order(r, a, b);
    bool or_equal = n->size == 2 && order == 0;
    return samba_chat__bool(or_equal || (n->text[0] == '<' ? order < 0 : order > 0));
}

/* a[b:c:d] of a list or a text. */
static samba_chat__value samba_chat__slice_of(samba_chat__run *r, const samba_chat__node *n)
{
    samba_chat__value of = samba_chat__eval(r, n->a), part[3];
    int index[3] = { n->b, n->c, n->d };
    if (!r->failed && of.kind != CHAT__IS_LIST && of.kind != CHAT__IS_TEXT)
        samba_chat__fail(r, "[ : ] of %s", samba_chat__name_of(of));
    for (int i = 0; i < 3; i++) {
        part[i] = index[i] ? samba_chat__eval(r, index[i]) : samba_chat__of_kind(CHAT__IS_NONE);
        if (!r->failed && part[i].kind != CHAT__IS_NONE && part[i].kind != CHAT__IS_INT)
            samba_chat__fail(r, "[ : ] with %s", samba_chat__name_of(part[i]));
    }
    if (r->failed) return of;

    samba_chat__value all = samba_chat__elements(r, of), made = samba_chat__empty(r, CHAT__IS_LIST);
    if (r->failed) return of;
    int64_t size = (int64_t)all.items->n, step = part[2].kind == CHAT__IS_INT ? part[2].whole : 1;
    int64_t least = step < 0 ? -1 : 0, most = step < 0 ? size - 1 : size;
    int64_t bound[2] = { step < 0 ? most : least, step < 0 ? least : most };
    if (step == 0) return samba_chat__fail(r, "[ : : 0]");
    for (int i = 0; i < 2; i++) {
        if (part[i].kind != CHAT__IS_INT) continue;
        bound[i] = part[i].whole < 0 ? part[i].whole + size : part[i].whole;
        if (bound[i] < least) bound[i] = least;
        if (bound[i] > most) bound[i] = most;
    }
    if (step > size) step = size + 1;
    if (step < -size) step = -size - 1;
    for (int64_t i = bound[0]; step > 0 ? i < bound[1] : i > bound[1]; i += step)
        if (!samba_chat__push(r, made, all.items->at[i])) break;
    return of.kind == CHAT__IS_TEXT ? samba_chat__join(r, made, samba_chat__text("", 0)) : made;
}

/* .name: a key of a dict, or a method of what it is of. */
static samba_chat__value samba_chat__member_of(samba_chat__run *r, const samba_chat__node *n)
{
    samba_chat__value of = samba_chat__eval(r, n->a);
    if (r->failed) return of;
    bool of_dict = of.kind == CHAT__IS_DICT && !of.is_space
        && samba_chat__lists("get items keys values", n->text, n->size);
    bool of_text
        = of.kind == CHAT__IS_TEXT && samba_chat__lists(samba_chat__text_methods, n->text, n->size);
    if (of_dict || of_text) {
        samba_chat__value *self = (samba_chat__value *)samba_chat__allocate(r, sizeof *self);
        samba_chat__value v = samba_chat__of_kind(CHAT__IS_FUNCTION);
        if (!self) return v;
        *self = of;
        v.self = self;
        v.text = n->text;
        v.size = n->size;
        return v;
    }
    return samba_chat__member(r, of, samba_chat__text(n->text, n->size));
}

/* Evaluates arguments. */
static void samba_chat__take_arguments(samba_chat__run *r, int at, samba_chat__arguments *a)
{
    memset(a, 0, sizeof *a);
    for (; at && !r->failed; at = r->t->node[at].next) {
        const samba_chat__node *n = &r->t->node[at];
        if (a->n == SAMBA_CHAT__MAX_ARGUMENTS || a->n_named == SAMBA_CHAT__MAX_ARGUMENTS) {
            samba_chat__fail(r, "more than %d arguments", (int)SAMBA_CHAT__MAX_ARGUMENTS);
            return;
        }
        if (n->kind == CHAT__KEYWORD) {
            a->named[a->n_named].name = n->text;
            a->named[a->n_named].size = n->size;
            a->named[a->n_named++].value = samba_chat__eval(r, n->a);
        } else {
            a->at[a->n++] = samba_chat__eval(r, at);
        }
    }
}

static samba_chat__value samba_chat__call_of(samba_chat__run *r, const samba_chat__node *n)
{
    samba_chat__arguments a;
    samba_chat__value of = samba_chat__eval(r, n->a);
    if (r->failed) return of;
    samba_chat__take_arguments(r, n->b, &a);
    if (r->failed) return of;
    if (n->kind == CHAT__CALL) return samba_chat__call(r, of, &a);
    samba_chat__value name = samba_chat__text(n->text, n->size);
    if (n->kind == CHAT__FILTER) return samba_chat__filter(r, of, name, &a);
    return samba_chat__bool(samba_chat__test(r, of, name, &a) != (n->c != 0));
}

static samba_chat__value samba_chat__items_value(samba_chat__run *r, const samba_chat__node *n)
{
    samba_chat__value v
        = samba_chat__empty(r, n->kind == CHAT__DICT ? CHAT__IS_DICT : CHAT__IS_LIST);
    for (int i = n->a; i && !r->failed; i = r->t->node[i].next)
        samba_chat__push(r, v, samba_chat__eval(r, i));
    return v;
}

static samba_chat__value samba_chat__negated(samba_chat__run *r, samba_chat__value v)
{
    if (v.kind == CHAT__IS_FLOAT) return samba_chat__float(-v.number);
    if (v.kind == CHAT__IS_INT) return samba_chat__int(-v.whole);
    return samba_chat__fail(r, "- of %s", samba_chat__name_of(v));
}

static samba_chat__value samba_chat__eval(samba_chat__run *r, int at)
{
    const samba_chat__node *n = &r->t->node[at];
    samba_chat__value v = samba_chat__of_kind(CHAT__IS_UNDEFINED);
    if (r->failed) return v;
    r->line = n->line;
    if (r->steps-- <= 0)
        return samba_chat__fail(r, "more than %d steps", (int)SAMBA_CHAT__MAX_STEPS);

    switch (n->kind) {
    case CHAT__STRING:
        return samba_chat__text(n->text, n->size);
    case CHAT__NUMBER:
        return n->c ? samba_chat__int((int64_t)n->number) : samba_chat__float(n->number);
    case CHAT__LITERAL:
        return n->c ? samba_chat__bool(n->c == 2) : samba_chat__of_kind(CHAT__IS_NONE);
    case CHAT__NAME:
        return samba_chat__look_up(r, n->text, n->size);
    case CHAT__LIST:
    case CHAT__DICT:
        return samba_chat__items_value(r, n);
    case CHAT__CHOICE:
        if (samba_chat__is_true(samba_chat__eval(r, n->b))) return samba_chat__eval(r, n->a);
        return n->c ? samba_chat__eval(r, n->c) : v;
    case CHAT__OR:
        v = samba_chat__eval(r, n->a);
        return samba_chat__is_true(v) ? v : samba_chat__eval(r, n->b);
    case CHAT__AND:
        v = samba_chat__eval(r, n->a);
        return samba_chat__is_true(v) ? samba_chat__eval(r, n->b) : v;
    case CHAT__NOT:
        return samba_chat__bool(!samba_chat__is_true(samba_chat__eval(r, n->a)));
    case CHAT__COMPARE:
        return samba_chat__comparison_of(r, n);
    case CHAT__MATH:
        return samba_chat__math_of(r, n);
    case CHAT__NEGATE:
        return samba_chat__negated(r, samba_chat__eval(r, n->a));
    case CHAT__MEMBER:
        return samba_chat__member_of(r, n);
    case CHAT__INDEX:
        v = samba_chat__eval(r, n->a);
        return samba_chat__member(r, v, samba_chat__eval(r, n->b));
    case CHAT__SLICE:
        return samba_chat__slice_of(r, n);
    default:
        return samba_chat__call_of(r, n);
    }
}

/* ---- Statements ------------------------------------------------------------------------------ */

static void samba_chat__run_block(samba_chat__run *r, int at);

/* What loop is in turn i of n. */
static samba_chat__value samba_chat__loop_value(samba_chat__run *r, samba_chat__value list,
                                                size_t i)
{
    samba_chat__value loop = samba_chat__empty(r, CHAT__IS_DICT);
    int64_t at = (int64_t)i, n = (int64_t)list.items->n;

    const struct {
        const char *name;
        samba_chat__value value;
    } members[] = {
        { "index", samba_chat__int(at + 1) },
        { "index0", samba_chat__int(at) },
        { "first", samba_chat__bool(at == 0) },
        { "last", samba_chat__bool(at + 1 == n) },
        { "length", samba_chat__int(n) },
        { "revindex", samba_chat__int(n - at) },
        { "revindex0", samba_chat__int(n - at - 1) },
    };

    for (size_t k = 0; k < sizeof members / sizeof members[0] && !r->failed; k++) {
        samba_chat__push(r, loop, samba_chat__text(members[k].name, strlen(members[k].name)));
        samba_chat__push(r, loop, members[k].value);
    }
    for (int k = 0; k < 2 && !r->failed; k++) {
        if (k ? at + 1 == n : at == 0) continue;
        samba_chat__push(r, loop,
                         k ? samba_chat__text("nextitem", 8) : samba_chat__text("previtem", 8));
        samba_chat__push(r, loop, list.items->at[k ? at + 1 : at - 1]);
    }
    loop.is_space = true; /* it has no methods of a dict, and is not for tojson */
    return loop;
}

/* Sets the variables of a for: one, or as many as the element has. */
static void samba_chat__set_targets(samba_chat__run *r, const samba_chat__node *n,
                                    samba_chat__value v)
{
    const char *p = n->text, *end = p + n->size;
    bool several = memchr(p, ',', n->size) != NULL;
    size_t i = 0;
    while (p < end && !r->failed) {
        while (p < end && samba_chat__ends_word(*p))
            p++;
        const char *name = p;
        while (p < end && !samba_chat__ends_word(*p))
            p++;
        if (p == name) break;
        bool has = !several || (v.kind == CHAT__IS_LIST && i < v.items->n);
        if (!has) {
            samba_chat__fail(r, "for has more variables than the element has members");
            return;
        }
        samba_chat__set_variable(r, name, (size_t)(p - name), several ? v.items->at[i++] : v);
    }
    if (several && !r->failed && i != v.items->n)
        samba_chat__fail(r, "for has fewer variables than the element has members");
}

/* The elements for which the condition of a for holds. */
static samba_chat__value samba_chat__filtered(samba_chat__run *r, const samba_chat__node *n,
                                              samba_chat__value list)
{
    samba_chat__value made = samba_chat__empty(r, CHAT__IS_LIST);
    int n_variables = r->n_variables, scope = r->scope;
    r->scope = n_variables;
    for (size_t i = 0; i < list.items->n && !r->failed; i++) {
        samba_chat__set_targets(r, n, list.items->at[i]);
        if (samba_chat__is_true(samba_chat__eval(r, n->d)))
            samba_chat__push(r, made, list.items->at[i]);
    }
    r->n_variables = n_variables;
    r->scope = scope;
    return made;
}

static void samba_chat__run_for(samba_chat__run *r, const samba_chat__node *n)
{
    samba_chat__value list = samba_chat__elements(r, samba_chat__eval(r, n->a));
    int n_variables = r->n_variables, scope = r->scope;
    if (!r->failed && n->d) list = samba_chat__filtered(r, n, list);
    if (r->failed) return;
    if (list.items->n == 0) {
        samba_chat__run_block(r, n->c);
        return;
    }

    for (size_t i = 0; i < list.items->n && !r->failed && r->flow != CHAT__BREAKS; i++) {
        r->scope = n_variables; /* what the body sets ends with each turn */
        r->n_variables = n_variables;
        r->flow = CHAT__GOES_ON;
        samba_chat__set_targets(r, n, list.items->at[i]);
        samba_chat__set_variable(r, "loop", 4, samba_chat__loop_value(r, list, i));
        samba_chat__run_block(r, n->b);
    }
    r->flow = CHAT__GOES_ON;
    r->n_variables = n_variables;
    r->scope = scope;
}

/* set name = value, or name.member of a namespace. */
static void samba_chat__run_set(samba_chat__run *r, const samba_chat__node *n)
{
    samba_chat__value v;
    if (n->a) {
        v = samba_chat__eval(r, n->a);
    } else {
        samba_chat__output body = { NULL, 0, 0 }, *before = r->out;
        r->out = &body;
        samba_chat__run_block(r, n->b);
        r->out = before;
        v = samba_chat__written(r, &body);
    }

    const char *dot = (const char *)memchr(n->text, '.', n->size);
    if (!dot) {
        samba_chat__set_variable(r, n->text, n->size, v);
        return;
    }
    samba_chat__value space = samba_chat__look_up(r, n->text, (size_t)(dot - n->text));
    samba_chat__value key = samba_chat__text(dot + 1, n->size - (size_t)(dot + 1 - n->text));
    if (r->failed) return;
    if (space.kind != CHAT__IS_DICT || !space.is_space) {
        samba_chat__fail(r, "a member of what is no namespace is set");
        return;
    }
    samba_chat__value *known = samba_chat__find(space, key);
    if (known) {
        *known = v;
        return;
    }
    samba_chat__push(r, space, key);
    samba_chat__push(r, space, v);
}

static void samba_chat__run_block(samba_chat__run *r, int at)
{
    for (; at && !r->failed && r->flow == CHAT__GOES_ON; at = r->t->node[at].next) {
        const samba_chat__node *n = &r->t->node[at];
        r->line = n->line;
        if (r->steps-- <= 0) samba_chat__fail(r, "more than %d steps", (int)SAMBA_CHAT__MAX_STEPS);
        switch (n->kind) {
        case CHAT__TEXT:
            samba_chat__write(r, r->out, n->text, n->size);
            break;
        case CHAT__PRINT:
            samba_chat__print(r, r->out, samba_chat__eval(r, n->a));
            break;
        case CHAT__IF: {
            samba_chat__value condition = samba_chat__eval(r, n->a);
            samba_chat__run_block(r, samba_chat__is_true(condition) ? n->b : n->c);
            break;
        }
        case CHAT__FOR:
            samba_chat__run_for(r, n);
            break;
        case CHAT__SET:
            samba_chat__run_set(r, n);
            break;
        default:
            r->flow = n->kind == CHAT__BREAK ? CHAT__BREAKS : CHAT__CONTINUES;
        }
    }
}

SAMBA_CHAT_TEMPLATE_API char *samba_chat_apply(const samba_chat_template *t, const cJSON *variables,
                                               size_t *size, char *why, size_t why_size)
{
    samba_chat__run r;
    samba_chat__output out = { NULL, 0, 0 };
    memset(&r, 0, sizeof r);
    r.t = t;
    r.why = why;
    r.why_size = why_size;
    r.out = &out;
    r.steps = SAMBA_CHAT__MAX_STEPS;
    if (why && why_size) why[0] = 0;
    if (!t) samba_chat__fail(&r, "there is none (NULL)");

    r.variable = (samba_chat__variable *)samba_chat__allocate(
        &r, SAMBA_CHAT__MAX_VARIABLES * sizeof *r.variable);
    for (const cJSON *i = variables ? variables->child : NULL; i && !r.failed; i = i->next)
        samba_chat__set_variable(&r, i->string, strlen(i->string), samba_chat__of_json(&r, i));
    if (!r.failed) samba_chat__run_block(&r, t->first);
    if (!r.failed && !out.at) {
        out.at = (char *)calloc(1, 1);
        if (!out.at) samba_chat__fail(&r, "out of memory");
    }

    while (r.blocks) {
        samba_chat__block_of_memory *before = r.blocks->before;
        free(r.blocks);
        r.blocks = before;
    }
    if (r.failed) {
        free(out.at);
        return NULL;
    }
    if (size) *size = out.size;
    return out.at;
}

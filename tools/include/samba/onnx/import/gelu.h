/* gelu.h - of onnx_import.h: GELU as exporters write it, x (1 + erf(x / sqrt(2))) / 2, in the
   orders in which it comes. Its parts are recorded as they are; at the last one they are known to
   be samba.h's own GELU, and nobody reads them any more. */

/* Parts of the GELU of x that a value may be. */
enum {
    OX_GELU_NONE,
    OX_GELU_INNER, /* x / sqrt(2) */
    OX_GELU_ERF,   /* erf of that */
    OX_GELU_SUM,   /* 1 more */
    OX_GELU_TWICE, /* x times that */
    OX_GELU_HALF,  /* x / 2 */
    OX_GELU_SHARE, /* half of the sum */
    OX_GELU_ALL
};

/* Is v this constant, as float has it? */
static bool ox_is_constant(ox_import *c, ox_value *v, float number)
{
    bool one = v->known && !v->leaf && v->type == OX_FLOAT && ox_size(v) == 1;
    const onnx_array *a = one ? ox_known_array(c, v) : NULL;
    return a && a->f && fabsf(a->f[0] - number) <= 1e-6f * number;
}

/* Which part is a node of a value v and a constant? Of GELU_NONE, v is x. */
static int32_t ox_gelu_by_constant(ox_import *c, int32_t op, const ox_value *v, ox_value *number)
{
    bool halves = (op == OX_MUL && ox_is_constant(c, number, 0.5f))
        || (op == OX_DIV && ox_is_constant(c, number, 2.0f));
    bool inner = (op == OX_DIV && ox_is_constant(c, number, 1.41421356f))
        || (op == OX_MUL && ox_is_constant(c, number, 0.70710678f));
    if (halves && v->gelu_part == OX_GELU_TWICE) return OX_GELU_ALL;
    if (halves && v->gelu_part == OX_GELU_SUM) return OX_GELU_SHARE;
    if (op == OX_ADD && v->gelu_part == OX_GELU_ERF && ox_is_constant(c, number, 1.0f))
        return OX_GELU_SUM;
    if (inner) return OX_GELU_INNER;
    return halves ? OX_GELU_HALF : OX_GELU_NONE;
}

/* Which part is the product of two values? */
static int32_t ox_gelu_by_value(const ox_value *a, const ox_value *b)
{
    if (a->gelu_part == OX_GELU_SUM && a->gelu_of == b) return OX_GELU_TWICE;
    if (a->gelu_part == OX_GELU_SHARE && a->gelu_of == b) return OX_GELU_ALL;
    bool both = a->gelu_part == OX_GELU_SUM && b->gelu_part == OX_GELU_HALF;
    return both && a->gelu_of == b->gelu_of ? OX_GELU_ALL : OX_GELU_NONE;
}

/* The part that a node of two inputs is, and of what; first: the input that tells. */
static int32_t ox_gelu_part_of(ox_node *k, ox_value **x)
{
    for (int32_t i = 0; i < 2; i++) {
        ox_value *v = k->in[i], *other = k->in[1 - i];
        if (v->type != OX_FLOAT || other->type != OX_FLOAT || (k->arg == OX_DIV && i)) continue;
        int32_t part = ox_gelu_by_constant(k->c, k->arg, v, other);
        bool begins = part == OX_GELU_INNER || part == OX_GELU_HALF;
        if (!part && k->arg == OX_MUL) part = ox_gelu_by_value(v, other);
        *x = begins ? v : v->gelu_of;
        if (part && *x) return part;
    }
    return OX_GELU_NONE;
}

/* Notes that output 0 is a part, or gives all of it. */
static bool ox_give_gelu_part(ox_node *k, int32_t part, ox_value *x)
{
    if (part == OX_GELU_ALL) return ox_give(k, 0, OX_FLOAT, samba_gelu(ox_tensor(k->c, x)));
    if (part && k->out[0]) {
        k->out[0]->gelu_part = part;
        k->out[0]->gelu_of = x;
    }
    return true;
}

static bool ox_op_erf(ox_node *k)
{
    const ox_value *v = ox_has(k, 0) ? k->in[0] : NULL;
    bool inner = v && v->gelu_part == OX_GELU_INNER;
    return ox_op_unary(k)
        && ox_give_gelu_part(k, inner ? OX_GELU_ERF : OX_GELU_NONE, inner ? v->gelu_of : NULL);
}

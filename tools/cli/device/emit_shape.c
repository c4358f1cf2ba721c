// Ops that move values.
#include "emit.h"

static const piece pieces[] = { { NULL, NULL, NULL, 0 } };

// Views lie where their input does.
static bool emit_reshape(emitter *e, const node *n)
{
    if (base_of(e, n->in[0]) == base_of(e, n->out[0])) return true;
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "y", n->out[0]);
    set_word(&e->body, "n", "%lld", (long long)count_of(out_of(e, n, 0)));
    write_text(&e->body, "    for (int i = 0; i < ${n}; i++) ${y}[i] = ${x}[i];\n");
    return true;
}

static bool emit_full(emitter *e, const node *n)
{
    char value[32];
    float_text(value, attr_float(n, "value"));
    set_word(&e->body, "value", "%s", value);
    set_word(&e->body, "n", "%lld", (long long)count_of(out_of(e, n, 0)));
    set_tensor(e, "y", n->out[0]);
    write_text(&e->body, "    for (int i = 0; i < ${n}; i++) ${y}[i] = ${value};\n");
    return true;
}

static const op_emitter ops[] = {
    { "reshape", emit_reshape },
    { "full", emit_full },
    { NULL, NULL },
};

const family shape_family = { ops, pieces };

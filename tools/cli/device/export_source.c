// NAME.c and NAME.h: a program as C that needs nothing of samba.h.
#include "emit.h"
#include "export.h"
#include "tools/cli/util/text.h"
#include <stdlib.h>
#include <string.h>

static const family *const families[] = {
    &math_family,        &reduce_family,  &elementwise_family, &product_family,
    &convolution_family, &pooling_family, &norm_family,        &loss_family,
    &optimizer_family,   &shape_family,   &table_family,       &rows_norm_family,
    &attention_family,   &dropout_family, &int8_family,        &bytes_family,
};

enum { N_FAMILIES = sizeof families / sizeof *families };

static const piece *piece_at(int i)
{
    for (int f = 0; f < N_FAMILIES; f++)
        for (const piece *p = families[f]->pieces; p->name; p++)
            if (i-- == 0) return p;
    return NULL;
}

// Needs that are not known would leave a file that does not compile; so this one is not written.
void need(emitter *e, const char *name)
{
    size_t length = strcspn(name, " ");
    int i = 0;
    const piece *p = piece_at(0);
    while (p && (strncmp(p->name, name, length) != 0 || p->name[length]))
        p = piece_at(++i);
    if (!p || i >= MAX_PIECES) {
        e->body.failed = true;
        snprintf(e->body.missing, sizeof e->body.missing, "%.*s", (int)length, name);
        return;
    }
    if (e->piece_used[i]) return;
    e->piece_used[i] = true;
    for (const char *more = p->needs; *more; more = strchr(more, ' ') + 1)
        need(e, more);
}

// ---- Sections -----------------------------------------------------------------------------------

static void look_at_uses(emitter *e)
{
    for (int32_t i = 0; i < e->p->pef.n_nodes; i++) {
        const node *n = &e->p->nodes[i];
        for (int32_t k = 0; k < n->n_in; k++)
            if (n->in[k] >= 0) e->reads[base_of(e, n->in[k])]++;
        bool stays = e->p->pef.inference && n->op && strcmp(n->op, "batch_norm") == 0;
        for (int32_t k = 0; k < n->n_out && !stays; k++)
            if (n->out[k] >= 0) e->written[base_of(e, n->out[k])] = true;
    }
}

static emit_function emitter_of(const char *op)
{
    for (int f = 0; op && f < N_FAMILIES; f++)
        for (const op_emitter *o = families[f]->ops; o->op; o++)
            if (strcmp(o->op, op) == 0) return o->emit;
    return NULL;
}

static void write_shape(writer *w, const symbol *s)
{
    const samba_shape *shape = &s->spec.shape;
    for (int32_t d = 0; d < shape->ndim; d++)
        write_plain(w, d ? "x%d" : "%d", shape->dim[d]);
    if (!shape->ndim) write_plain(w, "scalar");
}

// Such as: fc1: affine of 1x64, makes 1x32, then relu_1
static void write_comment(emitter *e, writer *w, const node *n, int32_t taken)
{
    write_plain(w, "    /* %s: %s", in_c_comment(n->name), n->op);
    const symbol *x = in_of(e, n, 0), *y = out_of(e, n, 0);
    if (x) {
        write_plain(w, " of ");
        write_shape(w, x);
    }
    if (y && (!x || !same_shape(x, y))) {
        write_plain(w, " makes ");
        write_shape(w, y);
    }
    for (int32_t i = 1; i < taken; i++)
        write_plain(w, ", then %s", in_c_comment((n + i)->name));
    write_plain(w, " */\n");
}

static bool write_node(emitter *e, const node *n)
{
    emit_function emit = emitter_of(n->op);
    e->taken = 1;
    if (!n->op)
        return fail(e->why,
                    "%s is an op of the program's own, which export-c cannot write; "
                    "only %s_pef.h is written, for the executor",
                    n->name, e->name);
    if (!emit) return cannot(e, n, NULL);
    size_t before = e->body.size;
    if (!emit(e, n)) return false;
    if (e->body.size == before) return true;
    // The comment says what was fused, so it comes when that is known.
    char *text = malloc(e->body.size - before + 1);
    if (!text) return fail(e->why, "no memory");
    strcpy(text, e->body.text + before);
    e->body.size = before;
    e->body.text[before] = 0;
    write_comment(e, &e->body, n, e->taken);
    write_plain(&e->body, "%s", text);
    free(text);
    return true;
}

typedef struct part {
    unsigned type;
    const char *function, *comment;
} part;

// In the order of a step.
static const part parts[] = {
    { SAMBA_ZEROGRAD, "zero_gradients", "Gradients that are summed begin with zero." },
    { SAMBA_FWD, "forward", "Inputs to outputs." },
    { SAMBA_BCKWD, "backward", "Gradients of the loss." },
    { SAMBA_GRADNORM, "clip_gradients", "The norm of all gradients." },
    { SAMBA_OPT, "update", "A step of the optimizer." },
};

enum { N_PARTS = sizeof parts / sizeof *parts };

static bool write_part(emitter *e, const part *part, bool *is)
{
    for (int32_t i = 0; i < e->p->pef.n_sections; i++) {
        const section *q = &e->p->sections[i];
        if (q->type != part->type) continue;
        if (!*is)
            write_plain(&e->body, "/* %s */\nSMALL static bool %s(void)\n{\n", part->comment,
                        part->function);
        *is = true;
        e->end = q->first + q->n;
        for (e->at = q->first; e->at < q->first + q->n; e->at += e->taken)
            if (!write_node(e, &e->p->nodes[e->at])) return false;
    }
    if (*is) write_plain(&e->body, "    return true;\n}\n\n");
    return true;
}

static bool check_program(emitter *e)
{
    const char *inner = "export-c cannot write %s yet; only %s_pef.h is written, for the executor";
    if (e->p->pef.microbatches > 1) return fail(e->why, inner, "microbatches", e->name);
    for (int32_t i = 0; i < e->p->pef.n_sections; i++) {
        const section *q = &e->p->sections[i];
        bool known = false;
        for (int k = 0; k < N_PARTS; k++)
            known = known || q->type == parts[k].type;
        if (!known)
            return fail(e->why, inner,
                        "mapping spatial, nor sections of other types than "
                        "forward, backward and update",
                        e->name);
        if (q->graph) return fail(e->why, inner, "several graphs", e->name);
    }
    return true;
}

static bool write_sections(emitter *e)
{
    bool is[N_PARTS] = { false };
    for (int k = 0; k < N_PARTS; k++)
        if (!write_part(e, &parts[k], &is[k])) return false;
    write_text(&e->body, "bool ${name}_run(void)\n{\n    return ");
    bool first = true;
    for (int k = 0; k < N_PARTS; k++) {
        if (!is[k]) continue;
        write_plain(&e->body, "%s%s()", first ? "" : " && ", parts[k].function);
        first = false;
    }
    write_plain(&e->body, "%s;\n}\n", first ? "true" : "");
    if (!e->p->pef.inference)
        write_text(&e->body, "\nbool ${name}_forward(void)\n{\n    return forward();\n}\n");
    return true;
}

// ---- Data ---------------------------------------------------------------------------------------

static bool is_public(const emitter *e, int32_t i)
{
    const symbol *s = &e->p->symbols[i];
    return s->view_of < 0 && s->role != SAMBA_ROLE_TEMPORARY && s->role != SAMBA_ROLE_SCRATCH
        && !is_constant(e, i) && (e->used[i] || s->role == SAMBA_ROLE_INPUT);
}

uint64_t bytes_of(const symbol *s)
{
    return (uint64_t)count_of(s) * samba_dtype_size(s->spec.dtype);
}

// A pointer to int32_t may not point to where floats are.
bool is_temporary(const emitter *e, int32_t i)
{
    const symbol *s = &e->p->symbols[i];
    return e->used[i] && s->view_of < 0 && s->role == SAMBA_ROLE_TEMPORARY
        && s->spec.dtype != SAMBA_I32;
}

// So integers that pass between ops have memory of their own.
static bool is_own_temporary(const emitter *e, int32_t i)
{
    const symbol *s = &e->p->symbols[i];
    return e->used[i] && s->view_of < 0 && s->role == SAMBA_ROLE_TEMPORARY
        && s->spec.dtype == SAMBA_I32;
}

static bool all_zero(const symbol *s)
{
    const char *byte = (const char *)s->value;
    for (uint64_t i = 0; i < bytes_of(s); i++)
        if (byte[i]) return false;
    return true;
}

// Rounded to nearest, ties to even; false: too large, or not finite.
static bool half_of_float(float x, uint16_t *half)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    float size = x < 0 ? -x : x;
    if (size >= 6.103515625e-5f) {
        magnitude += 0xfffu + (magnitude >> 13 & 1u);
        magnitude = (magnitude >> 13) - (112u << 10);
    } else {
        volatile float whole = size + 0.5f; // its last bit is that of a subnormal half
        magnitude = (uint32_t)((whole - 0.5f) * 16777216.0f);
    }
    *half = (uint16_t)(sign | magnitude);
    return magnitude < 0x7c00u;
}

// Is a constant written as halves?
static bool is_half(const emitter *e, int32_t i)
{
    return e->float16 && e->weighs[i];
}

static void write_halves(writer *w, const symbol *s)
{
    int64_t n = count_of(s);
    for (int64_t i = 0; i < n; i++) {
        uint16_t half = 0;
        if (s->spec.dtype == SAMBA_F16)
            memcpy(&half, (const char *)s->value + 2 * i, sizeof half);
        else
            half_of_float(((const float *)s->value)[i], &half);
        write_plain(w, "%s0x%04x,%s", i % 12 ? " " : "    ", half,
                    (i + 1) % 12 && i + 1 < n ? "" : "\n");
    }
}

// Element i of integers.
static int32_t integer_at(const symbol *s, int64_t i)
{
    switch (s->spec.dtype) {
    case SAMBA_I32:
        return ((const int32_t *)s->value)[i];
    case SAMBA_I8:
        return ((const int8_t *)s->value)[i];
    default:
        return ((const uint8_t *)s->value)[i];
    }
}

static void write_values(writer *w, const symbol *s)
{
    int64_t n = count_of(s);
    if (s->spec.dtype == SAMBA_F32) {
        write_floats(w, (const float *)s->value, n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        write_plain(w, "%s%d,%s", i % 16 ? " " : "    ", integer_at(s, i),
                    (i + 1) % 16 && i + 1 < n ? "" : "\n");
}

// Weights that halves can stand for, which nothing but products reads.
static bool check_half(emitter *e, int32_t i)
{
    const symbol *s = &e->p->symbols[i];
    bool alone = e->reads[i] == e->weighs[i];
    if (!is_constant(e, i) || !alone || (s->spec.dtype == SAMBA_F32 && !e->rounds))
        return fail(e->why,
                    "%s is not a constant half that products alone read, as other weights "
                    "are: only %s_pef.h is written, for the executor",
                    s->name, e->name);
    for (int64_t k = 0; s->spec.dtype == SAMBA_F32 && k < count_of(s); k++) {
        uint16_t half;
        float x = ((const float *)s->value)[k];
        if (!half_of_float(x, &half))
            return fail(e->why, "%s has %g, which a half cannot hold; leave --float16-weights out",
                        s->name, (double)x);
    }
    return true;
}

// Are all tensors of types that C of this kind has, and their values finite?
static bool check_data(emitter *e)
{
    for (int32_t i = 0; i < e->p->pef.n_symbols; i++) {
        const symbol *s = &e->p->symbols[i];
        bool floats = s->spec.dtype == SAMBA_F32, ids = s->spec.dtype == SAMBA_I32;
        bool bytes = samba_dtype_size(s->spec.dtype) == 1;
        if (!is_public(e, i) && !(e->used[i] && s->view_of < 0)) continue;
        if (is_half(e, i)) {
            if (!check_half(e, i)) return false;
            continue;
        }
        if (!floats && !bytes && !ids)
            return fail(e->why,
                        "%s is neither f32, i32, i8, u8 nor bool: export-c cannot write it yet; "
                        "only %s_pef.h is written, for the executor",
                        s->name, e->name);
        const float *x = (const float *)s->value;
        for (int64_t k = 0; floats && x && k < count_of(s); k++)
            if (!(x[k] - x[k] == 0.0f))
                return fail(e->why, "%s has a value that is not finite", s->name);
    }
    return true;
}

// One tensor of its own; adds its bytes to *ram if it is not constant.
static void write_tensor(emitter *e, writer *w, int32_t i, uint64_t *ram)
{
    const symbol *s = &e->p->symbols[i];
    bool constant = is_constant(e, i), has_values = s->value && (constant || !all_zero(s));
    bool hidden = constant || is_own_temporary(e, i);
    write_plain(w, "%s%s%s %s_%s[%lld]%s /* ", hidden ? "static " : "", constant ? "const " : "",
                is_half(e, i) ? "uint16_t" : c_type_of(s), e->name, e->p->ident[i],
                (long long)count_of(s), has_values ? " = {" : ";");
    if (!constant) *ram += bytes_of(s);
    write_shape(w, s);
    write_plain(w, " */\n");
    if (!has_values) return;
    if (is_half(e, i))
        write_halves(w, s);
    else
        write_values(w, s);
    write_plain(w, "};\n");
}

// Temporaries: those that are never needed together share memory.
static void write_arena(emitter *e, writer *w, uint64_t *ram)
{
    uint64_t *at = malloc(((size_t)e->p->pef.n_symbols + 1) * sizeof *at);
    uint64_t end = at ? place_temporaries(e, at) : 0;
    if (!at) w->failed = true;
    if (end > 0) {
        *ram += end;
        write_plain(
            w,
            "\n/* What passes between ops; tensors that are never needed together overlap. */"
            "\nstatic float arena[%llu];\n",
            (unsigned long long)end / 4);
    }
    for (int32_t i = 0; end > 0 && i < e->p->pef.n_symbols; i++) {
        const symbol *s = &e->p->symbols[i];
        if (!is_temporary(e, i)) continue;
        bool bytes = s->spec.dtype != SAMBA_F32;
        write_plain(w, "static %s *const %s_%s = ", c_type_of(s), e->name, e->p->ident[i]);
        if (bytes) write_plain(w, "(%s *)", c_type_of(s));
        write_plain(w, "arena + %llu; /* ", (unsigned long long)at[i] / (bytes ? 1 : 4));
        write_shape(w, s);
        write_plain(w, " */\n");
    }
    free(at);
}

static void write_data(emitter *e, writer *w, uint64_t *ram)
{
    for (int constant = 1; constant >= 0; constant--)
        for (int32_t i = 0; i < e->p->pef.n_symbols; i++) {
            bool is = constant ? e->used[i] && is_constant(e, i) && e->p->symbols[i].view_of < 0
                               : is_public(e, i) || is_own_temporary(e, i);
            if (is) write_tensor(e, w, i, ram);
        }
    if (e->trains) {
        write_plain(w, "bool %s_training = true;\n", e->name);
        *ram += 1;
    }
    write_arena(e, w, ram);
}

// ---- The files ----------------------------------------------------------------------------------

static const char exact_promise[]
    = "Its results are those of samba.h, bit for bit, as long as compilers keep to IEEE: without\n"
      "   -ffast-math, and on 32-bit x86 with -msse2 -mfpmath=sse. Values that are not\n"
      "   finite, or an exact zero whose sign only tiny products decide, may differ next to the padding of\n"
      "   convolutions.";

static const char inexact_promise[]
    = "INEXACT: where the processor has no instruction for multiply-adds, products are rounded before\n"
      "   they are added, which is faster. So results differ in their last bits from those of samba.h and\n"
      "   of other processors.";

static const char inexact_multiply_add[]
    = "/* a * b + c, rounded twice where there is no instruction for it. */\n"
      "static inline float multiply_add(float a, float b, float c)\n"
      "{\n"
      "#if FMA == FMA_INSTRUCTION\n"
      "    return __builtin_fmaf(a, b, c);\n"
      "#else\n"
      "    return float_bits(a) << 1 ? a * b + c : c;\n"
      "#endif\n"
      "}\n";

static const char prologue[]
    = "/* ${base}.c: ${from} as C, by tools/samba export-c.\n"
      "   ${promise} */\n"
      "#include \"${base}.h\"\n"
      "#include <stddef.h>\n"
      "#include <string.h>\n"
      "\n"
      "#if defined(__FAST_MATH__)\n"
      "#error \"compile without -ffast-math: it changes results\"\n"
      "#endif\n"
      "/* No compiler may join a product and a sum on its own. */\n"
      "#if defined(__clang__)\n"
      "#pragma STDC FP_CONTRACT OFF\n"
      "#elif defined(__GNUC__)\n"
      "#pragma GCC optimize(\"fp-contract=off\", \"no-tree-scev-cprop\")\n"
      "#endif\n"
      "/* Where the time goes, and where size matters more. */\n"
      "#if defined(__GNUC__)\n"
      "#define FAST __attribute__((noinline, hot, unused))\n"
      "#define SMALL __attribute__((cold, unused))\n"
      "#else\n"
      "#define FAST\n"
      "#define SMALL\n"
      "#endif\n"
      "\n"
      "/* How a multiply-add is made: by an instruction; by one that clang has to be told of, as it thinks\n"
      "   that fmaf may set errno; or in integers. */\n"
      "#define FMA_INTEGER 0\n"
      "#define FMA_INSTRUCTION 1\n"
      "#define FMA_ASSEMBLER 2\n"
      "#if defined(__clang__) && !defined(__aarch64__) && !defined(__linux__) \\\n"
      "    && (defined(__ARM_FEATURE_FMA) || defined(__riscv_flen))\n"
      "#define FMA FMA_ASSEMBLER\n"
      "#elif defined(__GNUC__) \\\n"
      "    && (defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__riscv_flen))\n"
      "#define FMA FMA_INSTRUCTION\n"
      "#else\n"
      "#define FMA FMA_INTEGER\n"
      "#endif\n"
      "/* How many sums are made side by side. */\n"
      "#if FMA == FMA_INTEGER\n"
      "#define LANES 1\n"
      "#define LAST_LANE(n) 0\n"
      "#define EACH_LANE\n"
      "#else\n"
      "#define LANES 4\n"
      "#define LAST_LANE(n) ((n) < LANES ? (n) - 1 : LANES - 1) /* of those that n more rows need */\n"
      "#define EACH_LANE _Pragma(\"GCC unroll 4\")\n"
      "#endif\n"
      "\n";

static bool write_c(emitter *e, const char *path, uint64_t *ram)
{
    writer head = { .size = 0 };
    set_word(&head, "name", "%s", e->name);
    set_word(&head, "weight", e->float16 ? "uint16_t" : "float");
    set_word(&head, "load", e->float16 ? "float_of_half(" : "");
    set_word(&head, "done", e->float16 ? ")" : "");
    set_word(&head, "promise", "%s", e->inexact ? inexact_promise : exact_promise);
    set_word(&head, "from", "%s", get_word(&e->body, "from"));
    set_word(&head, "base", "%s", get_word(&e->body, "base"));
    write_text(&head, prologue);
    write_data(e, &head, ram);
    if (e->float16) need(e, "half");
    for (int i = 0; piece_at(i); i++) {
        if (!e->piece_used[i]) continue;
        bool rounds_twice = e->inexact && strcmp(piece_at(i)->name, "multiply_add") == 0;
        write_plain(&head, "\n");
        write_text(&head, rounds_twice ? inexact_multiply_add : piece_at(i)->text);
    }
    if (e->data.size) write_plain(&head, "\n%s", e->data.text);
    write_plain(&head, "\n%s", e->body.text);
    bool whole = !head.failed && !e->body.failed && !e->data.failed;
    bool fine = whole
        ? samba_base_replace(path, head.text, head.size, e->why->text, sizeof e->why->text)
        : fail(e->why, "%s: %s%s", path, *e->body.missing ? "no piece or word " : "no memory",
               e->body.missing);
    free_writer(&head);
    return fine;
}

// Bytes of arrays in functions, and what calls of some depth push.
static int stack_of(const emitter *e)
{
    int most = 0;
    for (int i = 0; piece_at(i); i++)
        if (e->piece_used[i] && piece_at(i)->stack > most) most = piece_at(i)->stack;
    return most + 640;
}

static void write_declarations(emitter *e, FILE *to)
{
    for (int32_t i = 0; i < e->p->pef.n_symbols; i++) {
        const symbol *s = &e->p->symbols[i];
        if (!is_public(e, i)) continue;
        fprintf(to, "extern %s %s_%s[%lld]; /* %s ", c_type_of(s), e->name, e->p->ident[i],
                (long long)count_of(s), role_word(s->role));
        print_shape(to, &s->spec.shape);
        fprintf(to, " */\n");
    }
}

static bool write_h(emitter *e, const char *path, uint64_t ram)
{
    samba_base_output out;
    if (!samba_base_begin(&out, path, NULL, e->why->text, sizeof e->why->text)) return false;
    FILE *to = out.file;
    fprintf(to, "/* %s.h: what %s.c has, by tools/samba export-c. */\n#ifndef ", e->name, e->name);
    write_upper(to, e->name);
    fprintf(to, "_H\n#define ");
    write_upper(to, e->name);
    fprintf(to, "_H\n#include <stdbool.h>\n#include <stdint.h>\n\n#define ");
    write_upper(to, e->name);
    fprintf(to, "_RAM %llu /* bytes of all that is not constant */\n#define ",
            (unsigned long long)ram);
    write_upper(to, e->name);
    fprintf(to,
            "_STACK %d /* bytes of stack that a run may need, on 32-bit processors */\n\n"
            "#if defined(__cplusplus)\nextern \"C\" {\n#endif\n",
            stack_of(e));
    write_declarations(e, to);
    if (e->trains) fprintf(to, "extern bool %s_training; /* false: as in evaluation */\n", e->name);
    fprintf(
        to,
        "\n/* %s.\n   False: a label or an index is out of range, or int8 should stand for a NaN. The rest of\n"
        "   the program was not run. */\nbool %s_run(void);\n",
        e->p->pef.inference ? "Makes outputs of inputs"
                            : "A step of training: forward, backward, update",
        e->name);
    if (!e->p->pef.inference)
        fprintf(to, "/* The first part of it alone. */\nbool %s_forward(void);\n", e->name);
    fprintf(to, "\n#if defined(__cplusplus)\n}\n#endif\n#endif\n");
    return samba_base_end(&out, true, e->why->text, sizeof e->why->text);
}

// May a file be overwritten? If it is one of these.
static bool is_ours(const char *path, fault *why)
{
    char line[256] = "";
    FILE *from = fopen(path, "r");
    if (!from) return true;
    if (!fgets(line, sizeof line, from)) *line = 0;
    fclose(from);
    return strstr(line, "by tools/samba export-c") != NULL
        || fail(why,
                "%s is none of export-c's files, so it stays, and only the header for the "
                "executor is written; -o NAME writes both",
                path);
}

bool write_source(const program *p, const char *path, const char *name, const export_options *how,
                  fault *why, bool *written)
{
    char c_file[PATH_SIZE], h_file[PATH_SIZE];
    emitter e = { .p = p,
                  .name = name,
                  .why = why,
                  .inexact = how->inexact,
                  .float16 = how->float16_weights,
                  .rounds = how->float16_weights };
    const char *from = how->from, *slash = strrchr(path, '/'), *from_slash = strrchr(from, '/');
    uint64_t ram = 0;
    e.used = calloc((size_t)p->pef.n_symbols + 1, sizeof *e.used);
    e.reads = calloc((size_t)p->pef.n_symbols + 1, sizeof *e.reads);
    e.written = calloc((size_t)p->pef.n_symbols + 1, sizeof *e.written);
    e.first = calloc((size_t)p->pef.n_symbols + 1, sizeof *e.first);
    e.last = calloc((size_t)p->pef.n_symbols + 1, sizeof *e.last);
    e.weighs = calloc((size_t)p->pef.n_symbols + 1, sizeof *e.weighs);
    set_word(&e.body, "name", "%s", name);
    set_word(&e.body, "base", "%s", slash ? slash + 1 : path);
    set_word(&e.body, "from", "%s", in_c_comment(from_slash ? from_slash + 1 : from));
    bool memory = e.used && e.reads && e.written && e.weighs && e.first && e.last;
    bool fine = (memory || fail(why, "no memory")) && make_path(c_file, why, "%s.c", path)
        && make_path(h_file, why, "%s.h", path);
    *written = false;
    if (fine && is_ours(c_file, why) && is_ours(h_file, why)) {
        look_at_uses(&e);
        *written = check_program(&e) && write_sections(&e) && check_data(&e);
        fine = !*written || (write_c(&e, c_file, &ram) && write_h(&e, h_file, ram));
        if (!*written) remove(c_file);
        if (!*written) remove(h_file);
    }
    free(e.used);
    free(e.reads);
    free(e.written);
    free(e.weighs);
    free(e.first);
    free(e.last);
    free_writer(&e.body);
    free_writer(&e.data);
    return fine;
}

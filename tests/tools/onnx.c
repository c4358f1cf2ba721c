// ONNX's own backend test set through the importer: every case of libonnx-testdata passes, as
// tests/golden/onnx_cases.txt says, or is refused with the op's name and the reason. ONNX_DATA is
// another folder of cases, ONNX_LIST the list of those that pass (see tests/tools/onnx_opsets.sh).
// run: needs:onnx/onnx.proto needs:protobuf-c/protobuf-c.h onnx -lprotobuf-c
//     onnx [list | cases | fuzz N SEED | CASE ...]: list says what is refused and why; cases prints
//     the cases that pass, as the golden file has them.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#define SAMBA_ONNX_IMPORT_IMPLEMENTATION
#include "tools/include/samba/onnx_import.h"
#define SAMBA_ONNX_EXPORT_IMPLEMENTATION
#include "tools/include/samba/onnx_export.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"
#include <dirent.h>
#include <sys/stat.h>

enum { MAX_FILES = 64, MAX_ITEMS = 64, MAX_CASES = 2000 };

static const char *const suites[] = {
    "node", "simple", "pytorch-operator", "pytorch-converted", "real", "onnxruntime", "sklearn"
};

// ---- Files --------------------------------------------------------------------------------------

// One input_N.pb or output_N.pb: a tensor, or what is in a sequence or optional.
typedef struct values {
    onnx_array *item[MAX_ITEMS];
    int32_t n, kind;
} values;

static int32_t kind_of(const Onnx__TypeProto *type)
{
    bool optional = type && type->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE;
    if (optional) type = type->optional_type->elem_type;
    bool sequence = type && type->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
    return optional ? (sequence ? ONNX_KIND_OPTIONAL_SEQUENCE : ONNX_KIND_OPTIONAL)
        : sequence  ? ONNX_KIND_SEQUENCE
                    : ONNX_KIND_TENSOR;
}

// NumPy has no bfloat16: the test set writes its bits as uint16.
static void fix_bfloat16(values *v, const Onnx__TypeProto *type)
{
    bool tensor = type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    for (int i = 0; tensor && type->tensor_type->elem_type == OX_BFLOAT16 && i < v->n; i++) {
        onnx_array *bits = v->item[i], *a = ox_new_array(OX_BFLOAT16, bits->ndim, bits->dim);
        for (int64_t n = 0; bits->type == OX_UINT16 && n < bits->count; n++)
            ox_set_bits(a, n, (uint64_t)bits->i[n]);
        if (bits->type != OX_UINT16) onnx_array_free(a);
        if (bits->type != OX_UINT16) continue;
        onnx_array_free(bits);
        v->item[i] = a;
    }
}

// The `like` of CastLike, of which only the type matters, has another shape in the files than in
// the model: it gets the model's.
static void fix_shape(values *v, const Onnx__TypeProto *type)
{
    int64_t dim[SAMBA_MAX_DIMS];
    int32_t ndim = 0;
    bool tensor = type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && v->n == 1;
    if (!tensor || !ox_declared_shape(type->tensor_type->shape, &ndim, dim)) return;
    bool fits = v->item[0]->ndim == ndim;
    for (int d = 0; fits && d < ndim; d++)
        fits = v->item[0]->dim[d] == dim[d];
    if (fits) return;
    onnx_array *zeros = ox_new_array(v->item[0]->type, ndim, dim);
    onnx_array_free(v->item[0]);
    v->item[0] = zeros;
}

static bool read_values(const char *path, const Onnx__TypeProto *type, values *v, char *why)
{
    size_t size;
    char *bytes = read_whole(path, &size);
    v->kind = kind_of(type);
    v->n = 0;
    if (!bytes) return false;
    v->n = onnx_read_arrays(bytes, size, v->kind, v->item, MAX_ITEMS, why, 200);
    free(bytes);
    bool fine = v->n >= 0;
    if (!fine) v->n = 0;
    fix_bfloat16(v, type);
    return fine;
}

static void free_values(values *v, int n)
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < v[k].n; i++)
            onnx_array_free(v[k].item[i]);
}

// ---- One data set of one case -------------------------------------------------------------------

typedef struct run {
    char why[900];   // why it was refused, or is wrong
    char fixed[400]; // " name name": inputs that had to be constants
    bool wrong;
} run;

// The attention of bfloat16 is computed with floats, and only its result rounded: its cases round
// in between, and may be two steps of 8 bits away.
static bool halves_are_loose;

// What onnxruntime computed: sums in another order, so that near 0 only the size of the whole says
// what is close, and codes that are one step away. What it rounds to 8 bits in each step of an
// LSTM, and the importer does not, is 1 in a hundred away.
static bool sums_are_loose, steps_are_loose;

static double largest_of(const onnx_array *a)
{
    double most = 0;
    for (int64_t i = 0; i < a->count; i++) {
        double size = fabs(ox_number(a, i));
        if (isfinite(size) && size > most) most = size;
    }
    return most;
}

static bool same_array(const onnx_array *got, const onnx_array *want, char *why)
{
    bool same = got && got->type == want->type && got->ndim == want->ndim;
    for (int d = 0; same && d < got->ndim; d++)
        same = got->dim[d] == want->dim[d];
    if (!same) {
        snprintf(why, 200, "an output has another type or shape");
        if (got)
            snprintf(why, 200,
                     "an output has type %d, %d dimensions, %ld elements, not %d, "
                     "%d, %ld",
                     got->type, got->ndim, (long)got->count, want->type, want->ndim,
                     (long)want->count);
        return false;
    }
    double part = steps_are_loose ? 0.01 : 2e-5;
    double slack = sums_are_loose ? part * largest_of(want) : 1e-7;
    if (sums_are_loose && (want->type == OX_UINT8 || want->type == OX_INT8)) slack = 1;
    for (int64_t i = 0; i < got->count; i++) {
        double g = ox_number(got, i), w = ox_number(want, i);
        double r = got->type == OX_BFLOAT16 && halves_are_loose ? 1.0 / 64 : 1e-3;
        bool close = g == w || (g != g && w != w)
            || ((got->f || slack == 1) && fabs(g - w) <= slack + r * fabs(w) && isfinite(w));
        if (close) continue;
        snprintf(why, 200, "element %ld of an output is %.9g, not %.9g", (long)i, g, w);
        return false;
    }
    return true;
}

// Compares all outputs of the graph with the files.
static bool same_outputs(const onnx_graph *g, const values *want, int n, run *r)
{
    int port = 0;
    for (int o = 0; o < n; o++) {
        for (int i = 0; i < want[o].n; i++, port++) {
            onnx_array *got = port < g->n_out ? onnx_fetch(&g->out[port]) : NULL;
            bool same = same_array(got, want[o].item[i], r->why);
            onnx_array_free(got);
            if (!same) return false;
        }
        bool none = want[o].n == 0 && want[o].kind != ONNX_KIND_SEQUENCE;
        if (none && port < g->n_out && !g->out[port].tensor) port++; // an optional without value
    }
    if (port == g->n_out) return true;
    snprintf(r->why, sizeof r->why, "there are %d outputs, not %d", g->n_out, port);
    return false;
}

static bool compute(samba_session *s, const onnx_graph *g, const values *in,
                    const onnx_known *known, int n)
{
    samba_program p = { .inference = true };
    int port = 0;
    if (!onnx_set_outputs(g, &p)) return false;
    if (!p.outputs[0]) return true;
    if (!samba_compile(s, &p)) return false;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < in[k].n && !known[k].fixed; i++, port++)
            if (!onnx_send(&g->in[port], in[k].item[i])) return false;
    return samba_run(s, SAMBA_FWD);
}

// Imports, compiles, runs and compares once. Returns 1 pass, 0 refused or wrong, -1: try again with
// the input that g->wants made a constant.
static int run_once(const char *model, const values *in, onnx_known *known, int n_in,
                    const values *want, int n_out, run *r)
{
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    onnx_options options = { .known = known, .n_known = n_in };
    onnx_graph g;
    int result = 0;
    if (onnx_register_ops(s) && onnx_trace(s, model, &options, &g)) {
        if (compute(s, &g, in, known, n_in)) {
            result = same_outputs(&g, want, n_out, r);
            r->wrong = !result && samba_ok(s);
        }
        onnx_release(&g);
    } else {
        for (int k = 0; k < n_in; k++) {
            if (known[k].fixed || strcmp(known[k].name, g.wants) || !known[k].array) continue;
            known[k].fixed = true;
            size_t used = strlen(r->fixed);
            snprintf(r->fixed + used, sizeof r->fixed - used, " %s", known[k].name);
            result = -1;
        }
    }
    if (!samba_ok(s)) snprintf(r->why, sizeof r->why, "%.890s", samba_error(s));
    samba_close(s);
    return result;
}

static bool run_data_set(const char *folder, const char *model, const Onnx__GraphProto *g, run *r)
{
    char path[700], why[200] = "";
    values *in = calloc(MAX_FILES, sizeof *in), *want = calloc(MAX_FILES, sizeof *want);
    onnx_known known[MAX_FILES] = { { 0 } };
    int n_in = 0, n_out = 0, again = -1;
    bool fine = g->n_input < MAX_FILES && g->n_output < MAX_FILES, readable = true;
    for (size_t i = 0; fine && i < g->n_input; i++) {
        snprintf(path, sizeof path, "%s/input_%d.pb", folder, n_in);
        struct stat there;
        if (stat(path, &there)) break;
        readable = read_values(path, g->input[i]->type, &in[n_in], why) && readable;
        if (strstr(folder, "test_castlike_")) fix_shape(&in[n_in], g->input[i]->type);
        known[n_in].name = g->input[i]->name;
        known[n_in].none = in[n_in].kind >= ONNX_KIND_OPTIONAL && in[n_in].n == 0;
        bool list
            = in[n_in].kind == ONNX_KIND_SEQUENCE || in[n_in].kind == ONNX_KIND_OPTIONAL_SEQUENCE;
        known[n_in].array = !list && in[n_in].n ? in[n_in].item[0] : NULL;
        known[n_in].items = (const onnx_array *const *)in[n_in].item;
        known[n_in].n_items = in[n_in].n;
        n_in++;
    }
    for (size_t i = 0; fine && i < g->n_output; i++, n_out++) {
        snprintf(path, sizeof path, "%s/output_%d.pb", folder, n_out);
        readable = read_values(path, g->output[i]->type, &want[n_out], why) && readable;
    }
    for (int turn = 0; fine && again < 0 && turn <= n_in; turn++)
        again = run_once(model, in, known, n_in, want, n_out, r);
    if (!readable && again == 1) snprintf(r->why, sizeof r->why, "the test's data has %s", why);
    if (!readable && again == 1) {
        r->wrong = true;
        again = 0;
    }
    free_values(in, n_in);
    free_values(want, n_out);
    free(in);
    free(want);
    return fine && again == 1;
}

// Every test_data_set_N of a case.
static bool run_case(const char *folder, run *r)
{
    char path[600], file[600];
    size_t size;
    struct stat there;
    memset(r, 0, sizeof *r);
    halves_are_loose = strstr(folder, "test_attention_") != NULL;
    sums_are_loose = strstr(folder, "/onnxruntime/") || strstr(folder, "/sklearn/");
    steps_are_loose = strstr(folder, "/dynamic_lstm") != NULL;
    snprintf(file, sizeof file, "%s/model.onnx", folder);
    void *bytes = read_whole(file, &size);
    ProtobufCMessage *m = bytes ? ox_unpack(&onnx__model_proto__descriptor, bytes, size) : NULL;
    const Onnx__ModelProto *model = (const Onnx__ModelProto *)(const void *)m;
    bool fine = model && model->graph;
    snprintf(r->why, sizeof r->why, "there is no model");
    for (int n = 0; fine; n++) {
        snprintf(path, sizeof path, "%s/test_data_set_%d", folder, n);
        if (stat(path, &there)) break;
        r->fixed[0] = r->why[0] = 0;
        fine = run_data_set(path, file, model->graph, r);
    }
    if (m) protobuf_c_message_free_unpacked(m, NULL);
    free(bytes);
    return fine;
}

// Cases whose files are wrong, and what is wrong.
static const char *const faulty[] = {
    "node/test_adam_multiple",
    "ONNX Adam: computed with an epsilon that the model does not have",
    "node/test_cast_FLOAT_to_BFLOAT16",
    "ONNX Cast: bits are cut off instead of rounded",
    "node/test_castlike_FLOAT_to_BFLOAT16",
    "ONNX CastLike: bits are cut off instead of rounded",
    "node/test_castlike_FLOAT_to_BFLOAT16_expanded",
    "ONNX Cast: bits are cut off",
    "node/test_dft_inverse",
    "ONNX DFT: a zero is 2e-7, as NumPy computed it with floats",
    "node/test_dft_inverse_opset19",
    "ONNX DFT: a zero is 2e-7, as NumPy computed it with floats",
};

// ---- All of them --------------------------------------------------------------------------------

static const char *data_folder(void)
{
    const char *folder = getenv("ONNX_DATA");
    return folder ? folder : "/usr/share/libonnx-testdata/data";
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Names "suite/case", sorted.
static int list_cases(char **names)
{
    int n = 0;
    char path[600];
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
        snprintf(path, sizeof path, "%s/%s", data_folder(), suites[i]);
        DIR *d = opendir(path);
        struct stat there;
        for (struct dirent *e; d && (e = readdir(d)) && n < MAX_CASES;) {
            char name[400], model[1100];
            snprintf(name, sizeof name, "%s/%s", suites[i], e->d_name);
            snprintf(model, sizeof model, "%s/%s/model.onnx", data_folder(), name);
            if (e->d_name[0] != '.' && !stat(model, &there)) names[n++] = strdup(name);
        }
        if (d) closedir(d);
    }
    qsort(names, (size_t)n, sizeof *names, by_name);
    return n;
}

// Is "name" or "name fixed: ..." a line of the list?
static bool is_listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = list; p && (p = strstr(p, name)); p += n)
        if ((p == list || p[-1] == '\n') && (p[n] == '\n' || p[n] == ' ' || !p[n])) return true;
    return false;
}

static int count_lines(const char *list)
{
    int n = 0;
    for (; list && *list; list++)
        n += *list == '\n';
    return n;
}

static void run_all(bool say_refused, bool print_cases)
{
    char **names = calloc(MAX_CASES, sizeof *names), path[600];
    size_t size;
    const char *list_file = getenv("ONNX_LIST");
    char *list = read_whole(list_file ? list_file : "tests/golden/onnx_cases.txt", &size);
    int n = list_cases(names), refused = 0, added = 0, passed = 0;
    for (int i = 0; i < n; i++) {
        run r;
        snprintf(path, sizeof path, "%s/%s", data_folder(), names[i]);
        bool fine = run_case(path, &r), listed = is_listed(list, names[i]);
        for (size_t f = 0; r.wrong && f < sizeof faulty / sizeof *faulty; f += 2) {
            if (strcmp(faulty[f], names[i])) continue;
            snprintf(r.why, sizeof r.why, "%s", faulty[f + 1]);
            r.wrong = false;
        }
        passed += fine;
        if (print_cases && fine) printf("%s%s%s\n", names[i], *r.fixed ? " fixed:" : "", r.fixed);
        if (say_refused && !fine)
            printf("%s %s: %s\n", r.wrong ? "WRONG" : "refused", names[i], r.why);
        if (!print_cases) {
            refused += !fine && !r.wrong && !listed;
            added += fine && !listed;
            if (fine && !listed)
                printf("new: %s%s%s\n", names[i], *r.fixed ? " fixed:" : "", r.fixed);
            test_bad = 0;
            if (listed && !fine)
                test_fail(r.why, names[i], 0);
            else if (r.wrong)
                test_fail(r.why, names[i], 0);
            else if (!fine && !strstr(r.why, "ONNX "))
                test_fail(r.why, names[i], 0);
            if (fine || test_bad) test_end(names[i]);
        }
        free(names[i]);
    }
    if (!print_cases && n > 0) {
        test_bad = passed < count_lines(list) ? (printf("fewer cases than the list has\n"), 1) : 0;
        test_end("the list only grows");
        printf("%d of %d cases pass, %d are refused by name, %d are new\n", passed, n, refused,
               added);
    }
    free(names);
    free(list);
}

// ---- Damaged models: refused, whatever is in them -----------------------------------------------

static size_t fuzz_held;

static void *fuzz_alloc(size_t size, void *user)
{
    (void)user;
    if (size > (64u << 20) || fuzz_held + size > (128u << 20)) return NULL;
    void *p = malloc(size);
    if (p) fuzz_held += size;
    return p;
}

static void fuzz_release(void *p, size_t size, void *user)
{
    (void)user;
    if (p) fuzz_held -= size;
    free(p);
}

static uint64_t fuzz_state;

static uint32_t fuzz_next(uint32_t n)
{
    fuzz_state = fuzz_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(fuzz_state >> 33) % n;
}

static void import_damaged(const uint8_t *bytes, size_t n)
{
    samba_session *s = samba_open(
        &(samba_desc){ .threads = 1, .quiet = true, .alloc = fuzz_alloc, .release = fuzz_release });
    onnx_graph g;
    if (s && onnx_register_ops(s)) {
        bool fine = onnx_trace_bytes(s, bytes, n, NULL, &g);
        samba_program p = { .inference = true, .compile_only = true };
        if (fine && onnx_set_outputs(&g, &p) && p.outputs[0]) samba_compile(s, &p);
        if (!fine) CHECK(!samba_ok(s) && strlen(samba_error(s)) > 10);
        if (strstr(samba_error(s), "without a reason")) printf("%s\n", samba_error(s));
        CHECK(!strstr(samba_error(s), "without a reason"));
        onnx_release(&g);
    }
    if (s) (void)samba_error(s);
    samba_close(s);
}

static void fuzz_model(const uint8_t *model, size_t size)
{
    uint8_t *bytes = malloc(size);
    memcpy(bytes, model, size);
    size_t n = fuzz_next(8) == 0 ? fuzz_next((uint32_t)size) : size;
    for (uint32_t k = fuzz_next(6); k > 0; k--)
        bytes[fuzz_next((uint32_t)size)]
            = fuzz_next(2) ? (uint8_t)fuzz_next(256) : bytes[fuzz_next((uint32_t)size)];
    import_damaged(bytes, n);
    free(bytes);
}

// ---- Models that are sound messages, but mean nonsense ----

static int64_t odd_number(void)
{
    static const int64_t odd[] = { 0,
                                   1,
                                   -1,
                                   2,
                                   3,
                                   -2,
                                   7,
                                   8,
                                   9,
                                   100,
                                   4097,
                                   65536,
                                   INT32_MAX,
                                   INT32_MIN,
                                   (int64_t)1 << 31,
                                   (int64_t)1 << 32,
                                   (int64_t)1 << 40,
                                   INT64_MAX,
                                   INT64_MIN,
                                   INT64_MAX - 1,
                                   INT64_MIN + 1 };
    return odd[fuzz_next(sizeof odd / sizeof *odd)];
}

static void swap_texts(char **a, char **b)
{
    char *kept = *a;
    *a = *b;
    *b = kept;
}

static void change_tensor(Onnx__TensorProto *p)
{
    if (p->n_dims && fuzz_next(2))
        p->dims[fuzz_next((uint32_t)p->n_dims)] = odd_number();
    else if (p->n_int64_data)
        p->int64_data[fuzz_next((uint32_t)p->n_int64_data)] = odd_number();
    else if (p->data_type == OX_INT64 && p->raw_data.len >= 8) {
        int64_t value = odd_number();
        memcpy(p->raw_data.data + 8 * fuzz_next((uint32_t)p->raw_data.len / 8), &value, 8);
    } else
        p->data_type = (int32_t)fuzz_next(20);
}

static void change_attribute(Onnx__AttributeProto *a)
{
    if (a->n_ints)
        a->ints[fuzz_next((uint32_t)a->n_ints)] = odd_number();
    else if (a->t)
        change_tensor(a->t);
    else if (a->has_f)
        a->f = fuzz_next(2) ? (float)odd_number() : (float)NAN;
    else if (a->has_i)
        a->i = odd_number();
    else if (a->has_s && a->s.len)
        a->s.data[fuzz_next((uint32_t)a->s.len)] ^= 1;
}

// Another op, an attribute, a name, an output of it that is an input of an earlier one.
static void change_node(Onnx__GraphProto *g, Onnx__NodeProto *p)
{
    Onnx__NodeProto *other = g->node[fuzz_next((uint32_t)g->n_node)];
    uint32_t what = fuzz_next(6);
    if (what == 0) {
        free(p->op_type);
        p->op_type = strdup(ox_rows[fuzz_next((uint32_t)ox_domains[0].n_rows)].op);
    } else if (what == 1 && p->n_input && other->n_output) {
        free(p->input[0]);
        p->input[0] = strdup(other->output[0]);
    } else if (what == 2 && p->n_input) {
        swap_texts(&p->input[fuzz_next((uint32_t)p->n_input)],
                   &p->input[fuzz_next((uint32_t)p->n_input)]);
    } else if (what == 3 && p->n_input && other->n_input) {
        swap_texts(&p->input[fuzz_next((uint32_t)p->n_input)],
                   &other->input[fuzz_next((uint32_t)other->n_input)]);
    } else if (p->n_attribute) {
        Onnx__AttributeProto *a = p->attribute[fuzz_next((uint32_t)p->n_attribute)];
        if (a->g && a->g->n_node && fuzz_next(4))
            change_node(a->g, a->g->node[fuzz_next((uint32_t)a->g->n_node)]);
        else
            change_attribute(a);
    }
}

static void change_input(Onnx__ValueInfoProto *v)
{
    Onnx__TypeProto__Tensor *type
        = v->type && v->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
        ? v->type->tensor_type
        : NULL;
    if (!type || !type->shape || !type->shape->n_dim) return;
    Onnx__TensorShapeProto__Dimension *d
        = type->shape->dim[fuzz_next((uint32_t)type->shape->n_dim)];
    if (fuzz_next(4) == 0)
        type->elem_type = (int32_t)fuzz_next(20);
    else if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
        d->dim_value = odd_number();
}

static void fuzz_meaning(const uint8_t *bytes, size_t size)
{
    ProtobufCMessage *m = ox_unpack(&onnx__model_proto__descriptor, bytes, size);
    Onnx__GraphProto *g = m ? ((Onnx__ModelProto *)(void *)m)->graph : NULL;
    for (uint32_t k = 1 + fuzz_next(4); g && g->n_node && k > 0; k--) {
        uint32_t what = fuzz_next(8);
        if (what == 0 && g->n_initializer)
            change_tensor(g->initializer[fuzz_next((uint32_t)g->n_initializer)]);
        else if (what < 3 && g->n_input)
            change_input(g->input[fuzz_next((uint32_t)g->n_input)]);
        else
            change_node(g, g->node[fuzz_next((uint32_t)g->n_node)]);
    }
    size_t packed = m ? protobuf_c_message_get_packed_size(m) : 0;
    uint8_t *changed = malloc(packed + 1);
    if (m) protobuf_c_message_pack(m, changed);
    if (m) protobuf_c_message_free_unpacked(m, NULL);
    import_damaged(changed, packed);
    free(changed);
}

// The same for files of values, read as each kind.
static void fuzz_values(uint8_t *bytes, size_t size)
{
    char why[200] = "";
    onnx_array *a[4];
    bytes[fuzz_next((uint32_t)size)] = (uint8_t)fuzz_next(256);
    bytes[fuzz_next((uint32_t)size)] = (uint8_t)fuzz_next(256);
    for (int32_t kind = ONNX_KIND_TENSOR; kind <= ONNX_KIND_OPTIONAL_SEQUENCE; kind++) {
        int32_t n = onnx_read_arrays(bytes, size, kind, a, 4, why, sizeof why);
        CHECK(n >= 0 || *why);
        for (int32_t i = 0; i < n; i++)
            onnx_array_free(a[i]);
    }
}

static void fuzz(int turns, uint64_t seed)
{
    char **names = calloc(MAX_CASES, sizeof *names), path[700];
    int n = list_cases(names);
    size_t size;
    fuzz_state = seed;
    for (int t = 0; t < turns && n > 0; t++) {
        snprintf(path, sizeof path, "%s/%s/model.onnx", data_folder(),
                 names[fuzz_next((uint32_t)n)]);
        uint8_t *bytes = read_whole(path, &size);
        if (bytes && size > 0 && size < 200000) {
            fuzz_model(bytes, size);
            fuzz_meaning(bytes, size);
        }
        free(bytes);
        strcpy(strrchr(path, '/'), "/test_data_set_0/input_0.pb");
        bytes = read_whole(path, &size);
        if (bytes && size > 0 && size < 200000) fuzz_values(bytes, size);
        free(bytes);
        CHECK(fuzz_held == 0);
    }
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

static void test_damaged_models(void)
{
    fuzz(3000, 1);
}

// Nested deeper than a stack holds; and not a protobuf at all.
static void test_nested_models(void)
{
    enum { DEEP = 20000 };

    uint8_t *bytes = malloc(16 * DEEP), *end = bytes + 16 * DEEP, *p = end;
    for (int i = 0; i < DEEP; i++) { // graph.node.attribute.g, from the inside out
        static const uint8_t keys[3] = { 0x32, 0x2A, 0x0A };
        uint64_t size = (uint64_t)(end - p), digits[5];
        int n = 0;
        for (; size >= 128; size >>= 7)
            digits[n++] = size & 127;
        digits[n++] = size;
        if (p - bytes < 8) break;
        for (int d = n - 1; d >= 0; d--)
            *--p = (uint8_t)(digits[d] | (d < n - 1 ? 128u : 0u));
        *--p = keys[i % 3];
    }
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    onnx_graph g;
    CHECK(!onnx_trace_bytes(s, p, (size_t)(end - p), NULL, &g));
    CHECK(strstr(samba_error(s), "nested"));
    samba_clear_error(s);
    CHECK(!onnx_trace_bytes(s, "\x08\x07 no model", 11, NULL, &g));
    samba_clear_error(s);
    CHECK(!onnx_trace_bytes(s, "", 0, NULL, &g));
    samba_clear_error(s);
    CHECK(!onnx_trace(s, "tests/no such model.onnx", NULL, &g));
    CHECK(strstr(samba_error(s), "no such model.onnx"));
    samba_close(s);
    free(bytes);
}

// ---- What else a model that was imported can do -------------------------------------------------

static bool trace_case(samba_session *s, const char *name, onnx_graph *g)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s/model.onnx", data_folder(), name);
    return onnx_register_ops(s) && onnx_trace(s, path, NULL, g);
}

// Its initializers are parameters: they learn.
static void test_trains(void)
{
    float x[40], first = 0, last = 0;
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    onnx_graph g;
    bool traced = trace_case(s, "pytorch-converted/test_Linear", &g);
    CHECK(traced && g.n_in == 1 && g.n_out == 1 && samba_count(&g.in[0].tensor->shape) == 40);
    if (!traced) {
        samba_close(s);
        return;
    }
    samba_tensor *y = g.out[0].tensor;
    samba_tensor *loss = samba_mse(y, samba_full(s, y->shape, 1.0f), SAMBA_REDUCE_MEAN);
    CHECK(samba_compile(s,
                        &(samba_program){ .loss = loss,
                                          .outputs = { y },
                                          .optim = { .kind = SAMBA_SGD, .lr = 0.5f } }));
    for (int i = 0; i < 40; i++)
        x[i] = (float)(i % 7) / 3.0f - 1.0f;
    samba_write(g.in[0].tensor, x);
    for (int step = 0; step < 200 && samba_ok(s); step++) {
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
        last = samba_read(loss)[0];
        if (step == 0) first = last;
    }
    CHECK(samba_ok(s) && first > 0.1f && last < first / 10);
    onnx_release(&g);
    samba_close(s);
}

// Its PEF runs in another session, which knows the importer's ops: the same bits.
static void test_pef_of_a_model(void)
{
    const char *pef = "build/onnx_test.pef", *model = "node/test_resize_downsample_scales_nearest";
    float x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, y[2] = { 0, 0 }, z[2] = { 1, 1 };
    onnx_array *scales = ox_new_array(OX_FLOAT, 1, (int64_t[]){ 4 });
    scales->f[0] = scales->f[1] = 1.0f;
    scales->f[2] = scales->f[3] = 0.6f;
    onnx_known known = { .name = "scales", .array = scales, .fixed = true };
    char path[600], in[80] = "", out[80] = "";
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    onnx_graph g = { .n_in = 0 };
    snprintf(path, sizeof path, "%s/%s/model.onnx", data_folder(), model);
    CHECK(onnx_register_ops(s)
          && onnx_trace(s, path, &(onnx_options){ .known = &known, .n_known = 1 }, &g));
    samba_program p = { .pef = pef, .inference = true };
    CHECK(onnx_set_outputs(&g, &p) && samba_compile(s, &p));
    if (samba_ok(s)) {
        snprintf(in, sizeof in, "%s", g.in[0].tensor->name);
        snprintf(out, sizeof out, "%s", g.out[0].tensor->name);
        CHECK(samba_write(g.in[0].tensor, x) && samba_run(s, SAMBA_FWD));
        CHECK(samba_copy_out(g.out[0].tensor, y, sizeof y));
    }
    onnx_release(&g);
    samba_close(s);
    s = samba_open(&(samba_desc){ .quiet = true });
    CHECK(!samba_load(s, pef, NULL)); // not without them
    samba_clear_error(s);
    CHECK(onnx_register_ops(s) && samba_load(s, pef, NULL));
    samba_tensor *there = samba_tensor_by_name(s, in);
    CHECK(samba_write(there, x) && samba_run(s, SAMBA_FWD));
    there = samba_tensor_by_name(s, out);
    CHECK(samba_copy_out(there, z, sizeof z));
    CHECK(!memcmp(y, z, sizeof y) && y[0] == 1 && y[1] == 3);
    samba_close(s);
    onnx_array_free(scales);
    remove(pef);
    remove("build/onnx_test.pef.log");
    remove("build/onnx_test.pef.map");
}

// The comparison notices a wrong value, a wrong type and a wrong shape.
static void test_comparison(void)
{
    char why[200];
    int64_t dim[2] = { 2, 3 };
    onnx_array *a = ox_new_array(OX_FLOAT, 2, dim), *b = ox_new_array(OX_FLOAT, 2, dim);
    onnx_array *c = ox_new_array(OX_INT64, 2, dim), *d = ox_new_array(OX_FLOAT, 1, dim);
    CHECK(same_array(a, b, why));
    CHECK(!same_array(a, c, why) && !same_array(a, d, why) && !same_array(NULL, a, why));
    b->f[5] = 1e-6f;
    CHECK(!same_array(a, b, why));
    a->f[5] = 1.0005e-6f;
    CHECK(same_array(a, b, why));
    b->f[0] = (float)NAN;
    CHECK(!same_array(a, b, why) && !same_array(b, a, why));
    onnx_array_free(a);
    onnx_array_free(b);
    onnx_array_free(c);
    onnx_array_free(d);
}

// ---- Out and back: a program as a model, the model as a program ---------------------------------

static const char *const checkpoint = "build/onnx_test.ckpt";
static const char *const model_file = "build/onnx_test.onnx";

// Writes the program of s as a model.
static void export_program(samba_session *s)
{
    char why[400] = "";
    CHECK(samba_save(s, checkpoint));
    CHECK(onnx_export_file(checkpoint, model_file, NULL, why, sizeof why));
    if (!samba_ok(s) || *why) printf("%s%s\n", samba_error(s), why);
}

// The same port of the program that was exported. NAME__new is NAME after the run.
static onnx_port port_of_program(samba_session *s, const onnx_port *port)
{
    char name[100];
    onnx_port own = *port;
    snprintf(name, sizeof name, "%s", port->name);
    char *end = strstr(name, "__new");
    if (end) *end = 0;
    own.tensor = samba_tensor_by_name(s, name);
    return own;
}

// Counts up from 0, in quarters if these are floats.
static onnx_array *counting(const onnx_port *port)
{
    int64_t dim[SAMBA_MAX_DIMS];
    const samba_shape *shape = &port->tensor->shape;
    for (int32_t d = 0; d < shape->ndim; d++)
        dim[d] = shape->dim[d];
    onnx_array *a = ox_new_array(port->type, shape->ndim, dim);
    for (int64_t i = 0; a && i < a->count; i++) {
        if (a->f)
            a->f[i] = (float)i / 4.0f;
        else
            a->i[i] = i;
    }
    return a;
}

// Imports the model of s again and runs both with the same inputs: no output differs in a bit.
static void check_model_of(samba_session *s, int32_t n_in, int32_t n_out)
{
    samba_session *again = samba_open(&(samba_desc){ .quiet = true });
    samba_program p = { .inference = true };
    onnx_graph g;
    CHECK(onnx_register_ops(again) && onnx_trace(again, model_file, NULL, &g));
    CHECK(g.n_in == n_in && g.n_out == n_out);
    CHECK(onnx_set_outputs(&g, &p) && samba_compile(again, &p));
    for (int32_t i = 0; i < g.n_in; i++) {
        onnx_port own = port_of_program(s, &g.in[i]);
        onnx_array *a = counting(&g.in[i]);
        CHECK(onnx_send(&g.in[i], a) && own.tensor && onnx_send(&own, a));
        onnx_array_free(a);
    }
    CHECK(samba_run(again, SAMBA_FWD) && samba_run(s, SAMBA_FWD));
    for (int32_t o = 0; o < g.n_out && samba_ok(again); o++) {
        onnx_port own = port_of_program(s, &g.out[o]);
        onnx_array *got = onnx_fetch(&g.out[o]), *want = own.tensor ? onnx_fetch(&own) : NULL;
        CHECK(got && want && got->count == want->count);
        CHECK(got && want && !memcmp(got->f, want->f, (size_t)got->count * sizeof *got->f));
        onnx_array_free(got);
        onnx_array_free(want);
    }
    if (!samba_ok(again)) printf("%s\n", samba_error(again));
    onnx_release(&g);
    samba_close(again);
}

// A program with n caches, of which each pass writes two rows, as that of GPT-2 does.
static samba_session *caching_program(int n)
{
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    samba_tensor *h = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3));
    samba_tensor *row = samba_input(s, "row", SAMBA_I32, SAMBA_SHAPE(2));
    for (int i = 0; i < n; i++) {
        char name[40];
        snprintf(name, sizeof name, "cache%d", i);
        samba_tensor *cache = samba_buffer(s, name, SAMBA_SHAPE(4, 3), 0);
        cache = samba_write_rows(cache, h, row);
        h = samba_tanh(samba_add(h, samba_mean(cache, SAMBA_AXES(0), false)));
    }
    CHECK(samba_compile(s, &(samba_program){ .outputs = { h }, .inference = true }));
    return s;
}

static void test_caches_go_out_and_back(void)
{
    samba_session *s = caching_program(24);
    export_program(s);
    check_model_of(s, 2 + 24, 1 + 24);
    samba_close(s);
}

// More outputs than a program has: the limit is named.
static void test_too_many_outputs(void)
{
    samba_session *s = caching_program(SAMBA_MAX_OUTPUTS),
                  *again = samba_open(&(samba_desc){ .quiet = true });
    samba_program p = { .inference = true };
    onnx_graph g;
    export_program(s);
    CHECK(onnx_register_ops(again) && onnx_trace(again, model_file, NULL, &g));
    CHECK(!onnx_set_outputs(&g, &p) && said(again, "raise SAMBA_MAX_OUTPUTS"));
    onnx_release(&g);
    samba_close(again);
    samba_close(s);
}

// Each value of a model is made once, and somebody reads it.
static bool is_lean(const Onnx__GraphProto *g)
{
    bool lean = g->n_node > 0;
    for (size_t i = 0; i < g->n_node; i++) {
        const char *name = g->node[i]->output[0];
        int made = 0, read = 0;
        for (size_t k = 0; k < g->n_node; k++) {
            made += !strcmp(g->node[k]->output[0], name);
            for (size_t n = 0; n < g->node[k]->n_input; n++)
                read += !strcmp(g->node[k]->input[n], name);
        }
        for (size_t o = 0; o < g->n_output; o++)
            read += !strcmp(g->output[o]->name, name);
        if (made != 1 || read < 1) printf("%s is made %d times, read %d times\n", name, made, read);
        lean = lean && made == 1 && read > 0;
    }
    return lean;
}

// Outputs that turn out to be parameters, inputs or each other.
static void test_simple_outputs(void)
{
    size_t size;
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(12));
    samba_tensor *y = samba_param(s, "y", SAMBA_SHAPE(12), (samba_init){ SAMBA_INIT_NORMAL, 0, 1 });
    samba_tensor *one = samba_full(s, SAMBA_SHAPE(12), 1.0f), *h = samba_tanh(samba_mul(x, y));
    samba_program p = { .outputs = { h, samba_tanh(samba_mul(x, y)), samba_mul(one, y),
                                     samba_scale(x, 1.0f), samba_scale(h, 1.0f) },
                        .inference = true };
    CHECK(samba_compile(s, &p));
    export_program(s);
    uint8_t *bytes = read_whole(model_file, &size);
    ProtobufCMessage *m = bytes ? ox_unpack(&onnx__model_proto__descriptor, bytes, size) : NULL;
    CHECK(m && is_lean(((const Onnx__ModelProto *)(const void *)m)->graph));
    if (m) protobuf_c_message_free_unpacked(m, NULL);
    free(bytes);
    check_model_of(s, 1, 5);
    samba_close(s);
}

// A norm without a weight, in a program of many sections, is the same in a model.
static void test_norms_without_weights(void)
{
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(3, 8));
    const samba_init normal = { SAMBA_INIT_NORMAL, 0, 1 };
    samba_tensor *bias = samba_param(s, "bias", SAMBA_SHAPE(8), normal);
    samba_tensor *h = samba_layer_normalize(samba_tanh(x), NULL, NULL, 1e-5f);
    samba_program p = { .outputs = { h, samba_layer_normalize(x, NULL, bias, 1e-5f) },
                        .level = SAMBA_O0,
                        .inference = true };
    CHECK(samba_compile(s, &p));
    export_program(s);
    check_model_of(s, 1, 2);
    samba_close(s);
}

// The model of s with the values of its first initializer in a file of their own, behind 16 bytes.
static void write_external(Onnx__ModelProto *m, const char *location, const char *length)
{
    Onnx__TensorProto *t = m->graph->initializer[0], kept = *t;
    Onnx__StringStringEntryProto entry[3], *list[3] = { &entry[0], &entry[1], &entry[2] };
    static const char *const key[3] = { "location", "offset", "length" };
    const char *value[3] = { location, "16", length };
    for (int i = 0; i < 3; i++) {
        onnx__string_string_entry_proto__init(&entry[i]);
        entry[i].key = (char *)(uintptr_t)key[i];
        entry[i].value = (char *)(uintptr_t)value[i];
    }
    FILE *data = fopen("build/onnx_test.data", "wb");
    CHECK(data && fwrite("sixteen bytes...", 1, 16, data) == 16
          && fwrite(t->raw_data.data, 1, t->raw_data.len, data) == t->raw_data.len);
    if (data) fclose(data);
    t->has_raw_data = false;
    t->has_data_location = true;
    t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    t->n_external_data = 3;
    t->external_data = list;
    size_t size = onnx__model_proto__get_packed_size(m);
    uint8_t *bytes = malloc(size);
    onnx__model_proto__pack(m, bytes);
    CHECK(write_whole(model_file, bytes, size));
    free(bytes);
    *t = kept;
}

static void refuse_external(Onnx__ModelProto *m, const char *location, const char *length,
                            const char *why)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    onnx_graph g;
    write_external(m, location, length);
    CHECK(onnx_register_ops(s) && !onnx_trace(s, model_file, NULL, &g) && said(s, why));
    samba_close(s);
}

// Weights in a file beside the model are read; no file elsewhere is, whatever the model says.
static void test_external_data(void)
{
    size_t size;
    onnx_graph g;
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true }),
                  *again = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 8));
    samba_program p = { .outputs = { samba_linear(x, "fc", 3) }, .inference = true };
    CHECK(samba_compile(s, &p));
    export_program(s);
    uint8_t *bytes = read_whole(model_file, &size);
    Onnx__ModelProto *m = bytes ? onnx__model_proto__unpack(NULL, size, bytes) : NULL;
    CHECK(m && m->graph->n_initializer > 0);
    if (m && m->graph->n_initializer) {
        write_external(m, "onnx_test.data", "96");
        check_model_of(s, 1, 1);
        free(bytes);
        bytes = read_whole(model_file, &size);
        CHECK(onnx_register_ops(again) && !onnx_trace_bytes(again, bytes, size, NULL, &g));
        CHECK(said(again, "the model itself must be a file"));
        refuse_external(m, "../build/onnx_test.data", "96", "in the model's folder or below");
        refuse_external(m, "onnx/../../build/onnx_test.data", "96", "the model's folder or below");
        refuse_external(m, "/etc/passwd", "96", "the model's folder or below");
        refuse_external(m, "..", "96", "the model's folder or below");
        refuse_external(m, "", "96", "the model's folder or below");
        refuse_external(m, "no such.data", "96", "put it beside the model: no such.data");
        refuse_external(m, "onnx_test.data", "95", "does not fill");
    }
    if (m) onnx__model_proto__free_unpacked(m, NULL);
    free(bytes);
    samba_close(again);
    samba_close(s);
}

int main(int argc, char **argv)
{
    struct stat there;
    const char *mode = argc > 1 ? argv[1] : "";
    if (stat(data_folder(), &there)) {
        printf("skipped: the test set of ONNX; it takes %s: apt-get install libonnx-testdata\n",
               data_folder());
        RUN(test_nested_models);
        return test_summary();
    }
    if (!strcmp(mode, "cases")) {
        run_all(false, true);
        return 0;
    }
    if (!strcmp(mode, "fuzz") && argc > 3) {
        fuzz(atoi(argv[2]), (uint64_t)atoi(argv[3]));
        test_end("damaged models");
        return test_summary();
    }
    if (*mode && strcmp(mode, "list")) {
        for (int i = 1; i < argc; i++) {
            run r;
            char path[600];
            snprintf(path, sizeof path, "%s/%s", data_folder(), argv[i]);
            bool fine = run_case(path, &r);
            printf("%s %s%s %s\n",
                   fine          ? "pass"
                       : r.wrong ? "WRONG"
                                 : "refused",
                   argv[i], r.fixed, fine ? "" : r.why);
        }
        return 0;
    }
    run_all(!strcmp(mode, "list"), false);
    if (getenv("ONNX_LIST")) return test_summary();
    RUN(test_trains);
    RUN(test_pef_of_a_model);
    RUN(test_comparison);
    RUN(test_caches_go_out_and_back);
    RUN(test_too_many_outputs);
    RUN(test_simple_outputs);
    RUN(test_norms_without_weights);
    RUN(test_external_data);
    RUN(test_damaged_models);
    RUN(test_nested_models);
    return test_summary();
}

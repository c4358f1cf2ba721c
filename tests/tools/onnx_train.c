// Imported models train as PyTorch trains them: models that PyTorch exported, each with its loss,
// and the losses of PyTorch's steps, from tests/golden/make_onnx_train.py.
// run: needs:onnx/onnx.proto needs:protobuf-c/protobuf-c.h onnx -lprotobuf-c
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#define SAMBA_ONNX_IMPORT_IMPLEMENTATION
#include "tools/include/samba/onnx_import.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"
#include "tests/lib/recipe.h"

enum { STEPS = 8, MOST = 512 };

// The same table as in the script. highest: of the whole numbers of each input; 0: it has floats.
typedef struct trained {
    const char *name;
    uint32_t highest[2];
    samba_optim optim;
    int parameters, buffers;
} trained;

static const trained cases[] = {
    { "perceptron", { 0, 3 }, { .kind = SAMBA_SGD, .lr = 0.5f, .momentum = 0.9f }, 5, 0 },
    { "statistics", { 0, 5 }, { .kind = SAMBA_SGD, .lr = 0.2f, .weight_decay = 0.05f }, 10, 4 },
    { "batches", { 0, 5 }, { .kind = SAMBA_SGD, .lr = 0.05f, .momentum = 0.9f }, 10, 4 },
    { "transformer",
      { 0, 0 },
      { .kind = SAMBA_ADAMW, .lr = 1e-2f, .beta1 = 0.9f, .beta2 = 0.999f, .weight_decay = 0.1f },
      12,
      1 },
    { "scales",
      { 0, 0 },
      { .kind = SAMBA_ADAM, .lr = 2e-2f, .beta1 = 0.9f, .beta2 = 0.999f },
      5,
      0 },
    { "tied", { 7, 7 }, { .kind = SAMBA_SGD, .lr = 0.5f }, 3, 0 },
    { "recurrent", { 0, 0 }, { .kind = SAMBA_SGD, .lr = 0.5f }, 6, 0 },
};

// The losses of a case in float64.
static bool read_losses(const char *name, double *loss)
{
    char line[200], case_name[40];
    int step, n = 0;
    double exact;
    FILE *f = fopen("tests/golden/onnx_train.txt", "r");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%39s %d %lf", case_name, &step, &exact) != 3) continue;
        if (strcmp(case_name, name) || step != n || n == STEPS) continue;
        loss[n++] = exact;
    }
    if (f) fclose(f);
    return n == STEPS;
}

// The batch of one step, as the script makes it.
static bool feed(const onnx_port *port, uint32_t number, uint32_t highest, uint32_t step)
{
    float x[MOST];
    int32_t ids[MOST];
    uint32_t n = (uint32_t)samba_count(&port->tensor->shape);
    if (n > MOST) return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t h = recipe_word(200 + number, step * n + i) >> 8;
        x[i] = (float)((int32_t)h - (1 << 23)) * (1.0f / 8388608.0f);
        if (highest) ids[i] = (int32_t)(h % highest);
    }
    return samba_write(port->tensor, highest ? (const void *)ids : (const void *)x);
}

static int count_buffers(samba_session *s)
{
    int n = 0;
    for (int32_t i = 0; i < samba__n_tensors(s); i++)
        n += s->trace.tensors[i]->role == SAMBA__STATE && !s->trace.tensors[i]->generated;
    return n;
}

static void train(const trained *t)
{
    double want[STEPS] = { 0 };
    char path[200];
    onnx_graph g;
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    snprintf(path, sizeof path, "tests/golden/onnx_train_%s.onnx", t->name);
    CHECK(read_losses(t->name, want));
    bool fine = onnx_register_ops(s) && onnx_trace(s, path, NULL, &g);
    CHECK(fine && g.n_in == 2 && samba_parameters(s, NULL, 0) == t->parameters);
    CHECK(count_buffers(s) == t->buffers);
    fine = fine && samba_compile(s, &(samba_program){ .loss = g.out[0].tensor, .optim = t->optim });
    for (uint32_t step = 0; fine && step < STEPS; step++) {
        for (uint32_t i = 0; i < 2; i++)
            fine = fine && feed(&g.in[i], i, t->highest[i], step);
        fine = fine && samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
        double loss = fine ? (double)samba_read(g.out[0].tensor)[0] : 0;
        bool close = fabs(loss - want[step]) <= 1e-5 * fabs(want[step]);
        if (fine && !close) printf("step %u: loss %.9g, not %.9g\n", step, loss, want[step]);
        CHECK(close);
    }
    if (!fine) printf("%s\n", samba_error(s));
    CHECK(fine);
    onnx_release(&g);
    samba_clear_error(s);
    samba_close(s);
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_bad = 0;
        train(&cases[i]);
        test_end(cases[i].name);
    }
    return test_summary();
}

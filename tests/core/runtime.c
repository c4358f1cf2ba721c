// What a program on a device asks of its runtime: why a run failed, symbols, modes, argins, and the
// trained state in two slots, with the power cut at every write, and ops of its own.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4, MOST = 1 << 16, SLOT = 1 << 13 };

static union {
    uint64_t align;
    uint8_t bytes[MOST];
} pef, other_pef;

static size_t pef_size, other_size;

// 3 inputs, dropout, 5 classes; AdamW with clipping; gradients may add up over runs.
static size_t make_pef(uint8_t *bytes, unsigned seed, bool accumulate)
{
    const char *path = "build/runtime_test.ckpt";
    samba_session *s = samba_open(&(samba_desc){ .seed = seed, .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS, 3));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(ROWS));
    samba_tensor *h = samba_dropout(samba_tanh(samba_linear(x, "hidden", 24)), "drop", 0.25f);
    samba_tensor *logits = samba_linear(h, "out", 5);
    samba_name(logits, "logits");
    samba_tensor *loss = samba_cross_entropy(logits, label);
    samba_program p = { .loss = loss, .outputs = { logits }, .max_grad_norm = 0.5f };
    p.accumulate = accumulate;
    p.optim.kind = SAMBA_ADAMW;
    p.optim.lr = 0.01f;
    CHECK(samba_compile(s, &p) && samba_save(s, path));
    samba_close(s);
    size_t n = read_into(path, bytes, MOST);
    remove(path);
    return n;
}

static void fill_inputs(samba_runtime *rt)
{
    float *x = (float *)samba_runtime_data(rt, "x");
    int32_t *label = (int32_t *)samba_runtime_data(rt, "label");
    for (int i = 0; i < ROWS * 3; i++)
        x[i] = (float)(i * 7 % 11) / 8 - 0.5f;
    for (int i = 0; i < ROWS; i++)
        label[i] = i;
}

static samba_runtime *open_runtime(void **memory)
{
    size_t size = samba_runtime_bytes(pef.bytes, pef_size, NULL, 0);
    *memory = malloc(size);
    samba_runtime *rt = samba_runtime_open(pef.bytes, pef_size, *memory, size, NULL, 0);
    CHECK(rt != NULL);
    if (rt) fill_inputs(rt);
    return rt;
}

static bool says(const samba_runtime *rt, samba_code code, const char *text)
{
    char why[400];
    if (samba_runtime_error(rt, why, sizeof why) == code && strstr(why, text)) return true;
    printf("  %s\n", why);
    return false;
}

// ---- Reasons ------------------------------------------------------------------------------------

static void test_reasons(void)
{
    void *memory;
    samba_runtime *rt = open_runtime(&memory);
    CHECK(says(rt, SAMBA_OK, "no error"));
    CHECK(samba_runtime_run(rt, 0) && says(rt, SAMBA_OK, "no error"));
    int32_t *label = (int32_t *)samba_runtime_data(rt, "label");
    label[2] = 77;
    CHECK(!samba_runtime_run(rt, 0) && says(rt, SAMBA_ERANGE, "label holds 77 at [2]"));
    CHECK(says(rt, SAMBA_ERANGE, "(cross_entropy)") && says(rt, SAMBA_ERANGE, "0 ... 4"));
    label[2] = 2;
    CHECK(samba_runtime_run(rt, 0) && says(rt, SAMBA_OK, ""));
    CHECK(!samba_runtime_run(rt, SAMBA_COUNT) && says(rt, SAMBA_EARG, "COUNT"));
    CHECK(samba_runtime_run(rt, SAMBA_FWD | SAMBA_BCKWD));
    CHECK(!samba_runtime_run(rt, SAMBA_OPT) && says(rt, SAMBA_ESTATE, "GRADNORM"));
    CHECK(samba_runtime_run(rt, SAMBA_GRADNORM) && samba_runtime_run(rt, SAMBA_OPT));
    CHECK(!samba_runtime_run_graph(rt, "nothing", 0) && says(rt, SAMBA_ENAME, "graph"));
    CHECK(samba_runtime_run(rt, 0));
    char tiny[4] = "abc";
    CHECK(!samba_runtime_set(rt, "nothing", 1)
          && samba_runtime_error(rt, tiny, sizeof tiny) == SAMBA_ENAME);
    CHECK(strlen(tiny) == 3 && samba_runtime_error(rt, NULL, 0) == SAMBA_ENAME);
    free(memory);
}

static void test_symbols(void)
{
    void *memory;
    samba_runtime *rt = open_runtime(&memory);
    samba_runtime_symbol q, same;
    int32_t n = samba_runtime_n_symbols(rt), named = 0;
    CHECK(n > 10 && !samba_runtime_symbol_at(rt, n, &q) && !samba_runtime_symbol_at(rt, -1, &q));
    for (int32_t i = 0; i < n; i++) {
        CHECK(samba_runtime_symbol_at(rt, i, &q) && q.data
              && q.bytes >= samba_dtype_size(q.spec.dtype));
        if (q.role >= SAMBA_ROLE_TEMPORARY) continue;
        named++;
        CHECK(samba_runtime_find(rt, q.name, &same) && same.data == q.data
              && same.bytes == q.bytes);
        CHECK(samba_runtime_data(rt, q.name) == q.data);
    }
    CHECK(named > 8 && samba_runtime_find(rt, "hidden__weight", &q));
    CHECK(q.role == SAMBA_ROLE_WEIGHT && q.spec.dtype == SAMBA_F32 && q.spec.shape.ndim == 2);
    CHECK(q.spec.shape.dim[0] == 24 && q.spec.shape.dim[1] == 3 && q.bytes == 24 * 3 * 4);
    CHECK(!samba_runtime_find(rt, "nothing", &q) && !q.name && !q.data);
    free(memory);
}

static void test_modes(void)
{
    void *memory;
    samba_runtime *rt = open_runtime(&memory);
    float *logits = (float *)samba_runtime_data(rt, "logits"), first[ROWS * 5];
    CHECK(samba_runtime_set_train(rt, false) && samba_runtime_run(rt, SAMBA_FWD));
    memcpy(first, logits, sizeof first);
    CHECK(samba_runtime_run(rt, SAMBA_FWD) && !memcmp(first, logits, sizeof first));
    CHECK(samba_runtime_set_train(rt, true) && samba_runtime_run(rt, SAMBA_FWD));
    CHECK(memcmp(first, logits, sizeof first));                                       // dropout
    CHECK(samba_runtime_get(rt, "lr") == 0.01f && samba_runtime_set(rt, "lr", 5e9f)); // no integer
    CHECK(samba_runtime_get(rt, "lr") == 5e9f && samba_runtime_set(rt, "lr", 0.5f));
    CHECK(samba_runtime_get(rt, "lr") == 0.5f);
    CHECK(!samba_runtime_set(rt, "lr", INFINITY) && says(rt, SAMBA_ERANGE, "finite"));
    CHECK(!samba_runtime_set(rt, "lr", NAN) && samba_runtime_get(rt, "lr") == 0.5f);
    CHECK(!samba_runtime_set(rt, "x", 1) && says(rt, SAMBA_ENAME, "argin"));
    free(memory);
}

// ---- The state, and a power that fails ----------------------------------------------------------

typedef struct flash {
    uint8_t bytes[2 * SLOT];
    int left;    // writes and erasures until the power fails; -1: it does not
    size_t torn; // bytes that the failing one still does
} flash;

static bool flash_change(flash *f, size_t offset, const void *bytes, size_t n)
{
    if (offset > sizeof f->bytes || n > sizeof f->bytes - offset) return false;
    bool fails = f->left == 0;
    if (fails) n = n < f->torn ? n : f->torn;
    if (bytes)
        memcpy(f->bytes + offset, bytes, n);
    else
        memset(f->bytes + offset, 0xFF, n);
    if (f->left > 0) f->left--;
    return !fails;
}

static bool flash_erase(size_t offset, size_t n, void *user)
{
    return flash_change((flash *)user, offset, NULL, n);
}

// As flash does: what was written once must have been erased before.
static bool flash_write(size_t offset, const void *bytes, size_t n, void *user)
{
    flash *f = (flash *)user;
    CHECK(n == SAMBA_PAGE && offset % SAMBA_PAGE == 0);
    for (size_t i = 0; i < n; i++)
        CHECK(f->bytes[offset + i] == 0xFF);
    return flash_change(f, offset, bytes, n);
}

static bool flash_read(size_t offset, void *bytes, size_t n, void *user)
{
    memcpy(bytes, ((flash *)user)->bytes + offset, n);
    return true;
}

static samba_storage storage_of(flash *f, bool mapped)
{
    samba_storage st = { .slot_size = SLOT, .erase = flash_erase, .write = flash_write, .user = f };
    if (mapped)
        st.memory = f->bytes;
    else
        st.read = flash_read;
    return st;
}

static bool same_state(samba_runtime *a, samba_runtime *b)
{
    samba_runtime_symbol p, q;
    int32_t kept = 0;
    for (int32_t i = 0; samba_runtime_symbol_at(a, i, &p); i++) {
        if (p.role != SAMBA_ROLE_WEIGHT && p.role != SAMBA_ROLE_STATE && p.role != SAMBA_ROLE_ARGIN)
            continue;
        if (!samba_runtime_symbol_at(b, i, &q) || memcmp(p.data, q.data, p.bytes)) return false;
        kept++;
    }
    return kept > 8;
}

static void train(samba_runtime *rt, int steps)
{
    for (int i = 0; i < steps; i++)
        CHECK(samba_runtime_run(rt, 0));
}

// The runtime after so many steps without interruption.
static samba_runtime *trained(int steps, void **memory)
{
    samba_runtime *rt = open_runtime(memory);
    samba_runtime_set(rt, "lr", 0.02f);
    train(rt, steps);
    return rt;
}

// Saves after 3 and 5 steps, and after 7 with a power that fails; goes on from what is there to 9.
static bool cut_at(int left, size_t torn, bool mapped, samba_runtime *at5, samba_runtime *at7,
                   samba_runtime *at9)
{
    static flash f;
    void *memory, *again;
    f.left = -1;
    memset(f.bytes, 0xFF, sizeof f.bytes);
    samba_storage st = storage_of(&f, mapped);
    samba_runtime *rt = trained(3, &memory);
    CHECK(samba_runtime_save(rt, &st));
    train(rt, 2);
    CHECK(samba_runtime_save(rt, &st));
    train(rt, 2);
    f.left = left;
    f.torn = torn;
    bool saved = samba_runtime_save(rt, &st);
    CHECK(saved || says(rt, SAMBA_EIO, "newest whole slot stays"));
    f.left = -1;
    samba_runtime *next = open_runtime(&again);
    CHECK(samba_runtime_restore(next, &st));
    bool newer = same_state(next, at7);
    CHECK(newer || (!saved && same_state(next, at5)));
    train(next, newer ? 2 : 4);
    CHECK(same_state(next, at9));
    CHECK(samba_runtime_save(next, &st));
    free(memory);
    free(again);
    return saved;
}

static void test_power_cuts(void)
{
    const size_t torn[] = { 0, 1, 8, 33, 40, 128, 255, SAMBA_PAGE };
    void *m5, *m7, *m9;
    samba_runtime *at5 = trained(5, &m5), *at7 = trained(7, &m7), *at9 = trained(9, &m9);
    size_t pages = samba_runtime_state_bytes(at5) / SAMBA_PAGE;
    CHECK(pages > 5 && samba_runtime_state_bytes(at5) <= SLOT);
    for (int left = 0; left <= (int)pages + 1; left++)
        for (size_t i = 0; i < sizeof torn / sizeof *torn; i++) {
            bool saved = cut_at(left, torn[i], i % 2, at5, at7, at9);
            CHECK(saved == (left == (int)pages + 1)); // an erasure and all pages
        }
    free(m5);
    free(m7);
    free(m9);
}

// A bit that has turned in the newest slot: the one before is taken. What cannot be taken changes
// nothing, and says why.
static void test_refused_states(void)
{
    static flash f;
    void *memory, *again, *m3;
    f.left = -1;
    memset(f.bytes, 0xFF, sizeof f.bytes);
    samba_storage st = storage_of(&f, true), none = { 0 };
    samba_runtime *rt = trained(3, &memory), *at3 = trained(3, &m3), *next = open_runtime(&again);
    CHECK(!samba_runtime_restore(next, &st) && says(next, SAMBA_ESTATE, "nothing was saved"));
    CHECK(samba_runtime_save(rt, &st));
    train(rt, 1);
    CHECK(samba_runtime_save(rt, &st) && !same_state(rt, at3));
    f.bytes[SLOT + SAMBA_PAGE + 100] ^= 4;
    CHECK(samba_runtime_restore(next, &st) && same_state(next, at3));
    f.bytes[SAMBA_PAGE + 7] ^= 1;
    CHECK(!samba_runtime_restore(next, &st) && says(next, SAMBA_EPEF, "whole")
          && same_state(next, at3));
    f.bytes[SAMBA_PAGE + 7] ^= 1;
    CHECK(!samba_runtime_save(rt, &none) && says(rt, SAMBA_EARG, "storage"));
    st.slot_size = samba_runtime_state_bytes(rt) - SAMBA_PAGE;
    CHECK(!samba_runtime_restore(rt, &st) && says(rt, SAMBA_EARG, "smaller"));
    st.slot_size = SLOT;
    size_t size = samba_runtime_bytes(other_pef.bytes, other_size, NULL, 0);
    void *m = malloc(size);
    samba_runtime *stranger = samba_runtime_open(other_pef.bytes, other_size, m, size, NULL, 0);
    CHECK(!samba_runtime_restore(stranger, &st) && says(stranger, SAMBA_EGRAPH, "another PEF"));
    free(m);
    free(memory);
    free(again);
    free(m3);
}

static int reads_left = -1; // until the storage fails; -1: it does not

static bool failing_read(size_t offset, void *bytes, size_t n, void *user)
{
    if (reads_left == 0) return false;
    if (reads_left > 0) reads_left--;
    return flash_read(offset, bytes, n, user);
}

// A storage that fails at any read: what the runtime has is as before, or it says that it is not.
static void test_failing_reads(void)
{
    static flash f;
    void *memory, *m3, *m5;
    bool whole = false;
    f.left = -1;
    memset(f.bytes, 0xFF, sizeof f.bytes);
    samba_storage st = storage_of(&f, false);
    st.read = failing_read;
    samba_runtime *rt = trained(3, &memory), *at3 = trained(3, &m3), *at5 = trained(5, &m5);
    CHECK(samba_runtime_save(rt, &st));
    for (int n = 0; !whole && n < 1000; n++) {
        train(rt, 2);
        reads_left = n;
        whole = samba_runtime_restore(rt, &st);
        reads_left = -1;
        if (!whole && !same_state(rt, at5)) CHECK(says(rt, SAMBA_EIO, "a part of the saved state"));
        CHECK(samba_runtime_restore(rt, &st) && same_state(rt, at3));
    }
    CHECK(whole);
    free(memory);
    free(m3);
    free(m5);
}

static int reads_until_lie = -1; // until the storage gives one wrong bit; -1: it does not

static bool lying_read(size_t offset, void *bytes, size_t n, void *user)
{
    if (!flash_read(offset, bytes, n, user)) return false;
    if (reads_until_lie == 0) ((uint8_t *)bytes)[n / 2] ^= 0x10;
    if (reads_until_lie >= 0) reads_until_lie--;
    return true;
}

// A storage that gives other bytes when it is read for the second time, after the checksum was
// right: nothing wrong is taken without a word.
static void test_lying_reads(void)
{
    static flash f;
    void *memory, *m3, *m5;
    bool whole = false;
    int told = 0;
    f.left = -1;
    memset(f.bytes, 0xFF, sizeof f.bytes);
    samba_storage st = storage_of(&f, false);
    st.read = lying_read;
    samba_runtime *rt = trained(3, &memory), *at3 = trained(3, &m3), *at5 = trained(5, &m5);
    CHECK(samba_runtime_save(rt, &st));
    for (int n = 0; !whole && n < 1000; n++) {
        train(rt, 2);
        reads_until_lie = n;
        bool taken = samba_runtime_restore(rt, &st);
        whole = reads_until_lie >= 0; // all reads were done before it would have lied
        reads_until_lie = -1;
        if (taken) CHECK(same_state(rt, at3));
        if (!taken && !same_state(rt, at5)) {
            CHECK(says(rt, SAMBA_EIO, "a part of the saved state"));
            told++;
        }
        CHECK(samba_runtime_restore(rt, &st) && same_state(rt, at3));
    }
    CHECK(whole && told > 0);
    free(memory);
    free(m3);
    free(m5);
}

// What was added up before the state was restored is of other parameters: it does not count.
static void test_restore_forgets_gradients(void)
{
    static union {
        uint64_t align;
        uint8_t bytes[MOST];
    } former;

    static flash f;
    const size_t former_size = pef_size;
    void *memory, *plainly;
    memcpy(former.bytes, pef.bytes, sizeof former.bytes);
    pef_size = make_pef(pef.bytes, 1, true);
    f.left = -1;
    memset(f.bytes, 0xFF, sizeof f.bytes);
    samba_storage st = storage_of(&f, true);

    samba_runtime *want = trained(1, &plainly), *rt = trained(1, &memory);
    CHECK(samba_runtime_run(want, SAMBA_FWD | SAMBA_BCKWD));
    CHECK(samba_runtime_run(want, SAMBA_GRADNORM | SAMBA_OPT));
    CHECK(samba_runtime_save(rt, &st));
    CHECK(samba_runtime_run(rt, SAMBA_FWD | SAMBA_BCKWD));
    CHECK(samba_runtime_restore(rt, &st));
    CHECK(samba_runtime_run(rt, SAMBA_FWD | SAMBA_BCKWD));
    CHECK(samba_runtime_run(rt, SAMBA_GRADNORM | SAMBA_OPT));
    CHECK(same_state(rt, want));

    memcpy(pef.bytes, former.bytes, sizeof former.bytes);
    pef_size = former_size;
    free(memory);
    free(plainly);
}

// The host takes the state: the same PEF, the slots as memory, values by name.
static void test_host_import(void)
{
    const char *path = "build/runtime_host.pef";
    static flash f;
    void *memory, *again;
    f.left = -1;
    memset(f.bytes, 0xFF, sizeof f.bytes);
    samba_storage st = storage_of(&f, true);
    samba_runtime *rt = trained(4, &memory), *copy = open_runtime(&again);
    CHECK(samba_runtime_save(rt, &st));
    samba_storage dump = { .slot_size = SLOT, .memory = f.bytes };
    CHECK(samba_runtime_restore(copy, &dump));
    CHECK(write_whole(path, pef.bytes, pef_size));
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    CHECK(samba_load(s, path, NULL));
    samba_runtime_symbol q;
    int32_t n = 0;
    for (int32_t i = 0; samba_runtime_symbol_at(copy, i, &q); i++) {
        if (q.role != SAMBA_ROLE_WEIGHT) continue;
        samba_tensor *t = samba_tensor_by_name(s, q.name);
        CHECK(t && samba_write(t, q.data));
        n++;
    }
    CHECK(n == 4);
    samba_tensor *w = samba_tensor_by_name(s, "hidden__weight");
    CHECK(!memcmp(samba_read(w), samba_runtime_data(rt, "hidden__weight"), samba_bytes(w)));
    CHECK(!samba_close(s));
    remove(path);
    free(memory);
    free(again);
}

// ---- Ops of the program's own -------------------------------------------------------------------

static void cube_kernel(const samba_args *a)
{
    const float *x = a->in[0];
    for (int64_t i = a->begin; i < a->end; i++)
        a->out[0][i] = x[i] * x[i] * x[i];
}

static const samba_op cube
    = { .name = "cube", .wire = 0x8001, .signature = "*->*", .cost = 2, .kernel = cube_kernel };

static void test_own_ops(void)
{
    const char *path = "build/runtime_own.ckpt";

    static union {
        uint64_t align;
        uint8_t bytes[MOST];
    } own;

    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    CHECK(samba_register_op(s, &cube));
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(7));
    samba_tensor *y = samba_apply(s, "cube", &x, 1, NULL, 0);
    samba_name(y, "y");
    samba_program p = { .outputs = { y }, .inference = true };
    CHECK(samba_compile(s, &p) && samba_save(s, path) && !samba_close(s));
    size_t n = read_into(path, own.bytes, MOST);
    remove(path);
    char why[300];
    CHECK(!samba_runtime_bytes(own.bytes, n, why, sizeof why) && strstr(why, "32769"));
    const samba_op *const list[] = { &cube, &cube };
    const samba_runtime_desc desc = { list, 1 }, twice = { list, 2 };
    size_t size = samba_runtime_bytes_with(own.bytes, n, &desc, why, sizeof why);
    void *memory = malloc(size + 1);
    CHECK(size > 0 && !samba_runtime_open(own.bytes, n, memory, size, why, sizeof why));
    CHECK(!samba_runtime_open_with(own.bytes, n, memory, size, &twice, why, sizeof why)
          && strstr(why, "taken"));
    samba_op wrong = cube;
    const samba_op *const wrong_list[] = { &wrong };
    const samba_runtime_desc bad = { wrong_list, 1 };
    wrong.wire = 7;
    CHECK(!samba_runtime_bytes_with(own.bytes, n, &bad, why, sizeof why) && strstr(why, "32768"));
    wrong.wire = cube.wire;
    wrong.kernel = NULL;
    CHECK(!samba_runtime_bytes_with(own.bytes, n, &bad, why, sizeof why) && strstr(why, "kernel"));
    samba_runtime *rt = samba_runtime_open_with(own.bytes, n, memory, size, &desc, why, sizeof why);
    CHECK(rt != NULL);
    float *in = (float *)samba_runtime_data(rt, "x"), *out = (float *)samba_runtime_data(rt, "y");
    for (int i = 0; in && i < 7; i++)
        in[i] = (float)(i - 3);
    CHECK(samba_runtime_run(rt, 0));
    for (int i = 0; out && i < 7; i++)
        CHECK(out[i] == (float)((i - 3) * (i - 3) * (i - 3)));
    free(memory);
}

int main(void)
{
    pef_size = make_pef(pef.bytes, 1, false);
    other_size = make_pef(other_pef.bytes, 2, false);
    RUN(test_reasons);
    RUN(test_symbols);
    RUN(test_modes);
    RUN(test_power_cuts);
    RUN(test_refused_states);
    RUN(test_failing_reads);
    RUN(test_lying_reads);
    RUN(test_restore_forgets_gradients);
    RUN(test_host_import);
    RUN(test_own_ops);
    return test_summary();
}

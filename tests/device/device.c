// The device's half of `make device`: runs nets from flash, and prints a line for each of them:
//     NAME outputs=SHA-256 weights=SHA-256 promised=BYTES painted=BYTES ...
// run.sh writes the list of nets (NETS_H) and what samba.h has to compile for them (CONFIG_H), and
// compares what is printed with what the host says.
#include CONFIG_H
#include "samba.h"
#include "api.h"
#include "board.h"
#include "data.h"
#include "sha256.h"
#include NETS_H

typedef struct net {
    const char *name;
    const unsigned char *pef;
    size_t size;
} net;

#define X(name) { #name, name##_pef, name##_pef_size },
static const net nets[] = { NETS(X) };

// ---- Printing without stdio ---------------------------------------------------------------------

static void print_number(const char *key, uint64_t n)
{
    char text[24], *at = text + sizeof text;
    *--at = 0;
    do
        *--at = (char)('0' + n % 10);
    while (n /= 10);
    board_print(" ");
    board_print(key);
    board_print("=");
    board_print(at);
}

static void print_hash(const char *key, sha256 *hash)
{
    char digits[65];
    sha256_end(hash, digits);
    board_print(" ");
    board_print(key);
    board_print("=");
    board_print(digits);
}

// ---- Painting: which bytes of the stack and of the RAM were used --------------------------------

enum { STACK_PAINT = 0x5A, MARGIN = 32 }; // MARGIN: what painting itself may use

static unsigned char *stack_pointer(void)
{
    return (unsigned char *)__builtin_frame_address(0);
}

__attribute__((noinline)) static void paint_stack(void)
{
    volatile unsigned char *to = stack_low;
    while (to < stack_pointer() - MARGIN)
        *to++ = STACK_PAINT;
}

// Bytes below the caller's frame that what it called since has used.
__attribute__((noinline)) static size_t stack_used(const volatile unsigned char *from)
{
    const volatile unsigned char *at = stack_low;
    while (at < from && *at == STACK_PAINT)
        at++;
    return (size_t)(from - at);
}

static void paint_ram(unsigned char paint)
{
    memset(ram_begin, paint, (size_t)(ram_end - ram_begin));
}

// Bytes of the RAM up to the last one that is not as it was painted. One that was given just this
// value is missed; hence it is painted twice, in different colours.
static size_t ram_used(unsigned char paint)
{
    const unsigned char *end = ram_end;
    while (end > ram_begin && end[-1] == paint)
        end--;
    return (size_t)(end - ram_begin);
}

// ---- A net --------------------------------------------------------------------------------------

typedef struct result {
    sha256 outputs, weights;
    size_t promised, painted, last; // last: up to the end of its last tensor
    size_t stack_open, stack_run;   // stack_open: of samba_runtime_bytes, too
    uint64_t bytes, open, steps;    // instructions
    int32_t n_steps;
} result;

static void hash_symbols(sha256 *hash, const samba_runtime *rt, samba_role role)
{
    samba_runtime_symbol q;
    for (int32_t i = 0; samba_runtime_symbol_at(rt, i, &q); i++)
        if (q.role == role) sha256_add(hash, q.data, q.bytes);
}

static size_t end_of_symbols(const samba_runtime *rt)
{
    samba_runtime_symbol q;
    size_t last = 0;
    for (int32_t i = 0; samba_runtime_symbol_at(rt, i, &q); i++) {
        const unsigned char *data = (const unsigned char *)q.data;
        if (data < ram_begin || data >= ram_end) continue; // used as it lies in flash
        size_t end = (size_t)(data - ram_begin) + q.bytes;
        if (end > last) last = end;
    }
    return last;
}

static bool run_steps(samba_runtime *rt, int32_t most, result *r)
{
    samba_runtime_symbol x;
    if (!samba_runtime_find(rt, "x", &x)) return false;
    int32_t rows = x.spec.shape.dim[0], width = (int32_t)(x.bytes / 4) / rows;
    int32_t *label = (int32_t *)samba_runtime_data(rt, "label");
    sha256_begin(&r->outputs);
    sha256_begin(&r->weights);
    r->steps = 0;
    r->stack_run = 0;
    r->n_steps = label ? TRAINING_STEPS : INFERENCES;
    if (r->n_steps > most) r->n_steps = most;
    for (int32_t step = 0; step < r->n_steps; step++) {
        fill_batch(step, (float *)x.data, label, rows, width);
        paint_stack();
        uint64_t before = board_instructions();
        if (!samba_runtime_run(rt, 0)) return false;
        r->steps += board_instructions() - before;
        size_t used = stack_used(stack_pointer());
        if (used > r->stack_run) r->stack_run = used;
        hash_symbols(&r->outputs, rt, SAMBA_ROLE_OUTPUT);
    }
    hash_symbols(&r->weights, rt, SAMBA_ROLE_WEIGHT);
    hash_symbols(&r->weights, rt, SAMBA_ROLE_STATE);
    return true;
}

static bool run_painted(const net *n, unsigned char paint, int32_t most_steps, result *r)
{
    char why[160];
    paint_ram(paint);
    paint_stack();
    uint64_t before = board_instructions();
    samba_runtime *rt
        = samba_runtime_open(n->pef, n->size, ram_begin, r->promised, why, sizeof why);
    r->open = board_instructions() - before;
    size_t used = stack_used(stack_pointer());
    if (used > r->stack_open) r->stack_open = used;
    if (!rt || !run_steps(rt, most_steps, r)) {
        if (rt) samba_runtime_error(rt, why, sizeof why);
        board_print(why);
        return false;
    }
    size_t painted = ram_used(paint);
    if (painted > r->painted) r->painted = painted;
    r->last = end_of_symbols(rt);
    return true;
}

static bool promise(const net *n, result *r)
{
    char why[160];
    paint_stack();
    uint64_t before = board_instructions();
    r->promised = samba_runtime_bytes(n->pef, n->size, why, sizeof why);
    r->bytes = board_instructions() - before;
    r->stack_open = stack_used(stack_pointer());
    if (!r->promised) board_print(why);
    if (r->promised <= (size_t)(ram_end - ram_begin)) return r->promised != 0;
    print_number("promised", r->promised);
    print_number("free", (uint64_t)(ram_end - ram_begin));
    return false;
}

static void run_net(const net *n)
{
    static result r;
    memset(&r, 0, sizeof r);
    board_print(n->name);
    if (promise(n, &r) && run_painted(n, 0xA5, 2, &r) && run_painted(n, 0x3C, TRAINING_STEPS, &r)) {
        print_hash("outputs", &r.outputs);
        print_hash("weights", &r.weights);
        print_number("promised", r.promised);
        print_number("painted", r.painted);
        print_number("last", r.last);
        print_number("stack_open", r.stack_open);
        print_number("stack_run", r.stack_run);
        print_number("bytes", r.bytes);
        print_number("open", r.open);
        print_number("step", r.steps / (uint64_t)r.n_steps);
    }
    board_print("\n");
}

int main(void)
{
    board_start();
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        run_net(&nets[i]);
    test_api(tiny_sgd_pef, tiny_sgd_pef_size);
    board_print("end\n");
    return 0;
}

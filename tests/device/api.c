// The runtime's functions as a firmware calls them, on the board: what is refused and why, blocks
// of memory, symbols, learning rates, and the trained state in two slots of a flash.
// tests/core/runtime.c asks more, on a host. The net is tiny_sgd of host.c: x (4,4), 3 classes,
// SGD.
#include CONFIG_H
#include "samba.h"
#include "api.h"
#include "board.h"
#include "data.h"
#include <string.h>

static int n_passed, n_failed;

static void check(bool holds, const char *what)
{
    n_passed += holds;
    n_failed += !holds;
    if (holds) return;
    board_print("FAILED api: ");
    board_print(what);
    board_print("\n");
}

static void train(samba_runtime *rt, int steps)
{
    for (int i = 0; i < steps; i++) {
        fill_batch(i, (float *)samba_runtime_data(rt, "x"),
                   (int32_t *)samba_runtime_data(rt, "label"), 4, 4);
        check(samba_runtime_run(rt, 0), "a step");
    }
}

// ---- Memory and refusals ------------------------------------------------------------------------

static void test_memory(const unsigned char *pef, size_t size)
{
    char why[200];
    size_t promised = samba_runtime_bytes(pef, size, why, sizeof why);
    check(promised > 0, "the RAM is promised");
    check(!samba_runtime_bytes(pef, size - 1, why, sizeof why) && why[0],
          "a PEF cut short is refused");
    check(!samba_runtime_bytes(stack_low, 1024, why, sizeof why) && why[0], "a stack is no PEF");
    check(!samba_runtime_open(pef, size, ram_begin, promised - 64, why, sizeof why) && why[0],
          "too little memory is refused");
    memset(ram_begin, 0, promised + 8);
    samba_runtime *rt = samba_runtime_open(pef, size, ram_begin + 1, promised, why, sizeof why);
    check(rt != NULL, "memory may begin anywhere");
    if (rt) train(rt, 1);
    check(!ram_begin[0] && !ram_begin[1 + promised], "nothing is written beside it");
}

static void test_reasons(samba_runtime *rt)
{
    char why[200];
    int32_t *label = (int32_t *)samba_runtime_data(rt, "label");
    label[2] = 77;
    check(!samba_runtime_run(rt, 0), "a label out of range stops the run");
    check(samba_runtime_error(rt, why, sizeof why) == SAMBA_ERANGE, "its reason has a code");
#if !defined(SAMBA_NO_TEXTS)
    check(strstr(why, "label holds 77 at [2]") && strstr(why, "0 ... 2"), "and a sentence");
#endif
    label[2] = 2;
    check(samba_runtime_run(rt, 0), "the next run is as if nothing had been");
    check(samba_runtime_error(rt, why, sizeof why) == SAMBA_OK, "and has no error");
    check(!samba_runtime_run(rt, SAMBA_COUNT), "sections that are not there are refused");
    check(!samba_runtime_run_graph(rt, "nothing", 0), "graphs that are not there are refused");
}

static void test_symbols(samba_runtime *rt)
{
    samba_runtime_symbol q;
    check(samba_runtime_find(rt, "fc1__weight", &q) && q.role == SAMBA_ROLE_WEIGHT,
          "a parameter is found");
    check(q.bytes == 8 * 4 * 4 && q.spec.shape.dim[0] == 8 && q.spec.shape.dim[1] == 4,
          "with its shape");
    check(!samba_runtime_find(rt, "nothing", &q) && !samba_runtime_data(rt, "nothing"), "or not");
    check(!samba_runtime_symbol_at(rt, samba_runtime_n_symbols(rt), &q), "symbols have an end");
    check(samba_runtime_set(rt, "lr", 0.25f) && samba_runtime_get(rt, "lr") == 0.25f,
          "lr can be set");
    check(!samba_runtime_set(rt, "lr", __builtin_inff()), "not to infinity");
    check(!samba_runtime_set(rt, "x", 1), "x is no number");
    samba_runtime_set(rt, "lr", 0.05f);
}

// ---- The trained state --------------------------------------------------------------------------

static bool erase(size_t offset, size_t n, void *user)
{
    memset((unsigned char *)user + offset, 0xFF, n);
    return true;
}

static bool write(size_t offset, const void *bytes, size_t n, void *user)
{
    memcpy((unsigned char *)user + offset, bytes, n);
    return true;
}

// Saves after 3 and 5 steps, with the rest of the RAM as flash; goes on from what is there.
static void test_saving(samba_runtime *rt, unsigned char *flash)
{
    float *weight = (float *)samba_runtime_data(rt, "fc2__weight"), at3[64], at5[64];
    size_t slot = samba_runtime_state_bytes(rt);
    samba_storage storage
        = { .slot_size = slot, .memory = flash, .erase = erase, .write = write, .user = flash };
    if (2 * slot > (size_t)(ram_end - flash)) return;
    memset(flash, 0xFF, 2 * slot);
    check(!samba_runtime_restore(rt, &storage), "there is nothing yet");
    check(samba_runtime_error(rt, NULL, 0) == SAMBA_ESTATE, "which is no damage");
    train(rt, 3);
    memcpy(at3, weight, sizeof at3);
    check(samba_runtime_save(rt, &storage), "it is saved");
    train(rt, 2);
    memcpy(at5, weight, sizeof at5);
    check(samba_runtime_save(rt, &storage) && memcmp(at3, at5, sizeof at3), "it is saved again");
    train(rt, 1);
    check(samba_runtime_restore(rt, &storage) && !memcmp(weight, at5, sizeof at5),
          "the newest is restored");
    flash[slot + SAMBA_PAGE + 3] ^= 1;
    check(samba_runtime_restore(rt, &storage) && !memcmp(weight, at3, sizeof at3),
          "if it is damaged, the one before");
    flash[SAMBA_PAGE + 3] ^= 1;
    check(!samba_runtime_restore(rt, &storage) && !memcmp(weight, at3, sizeof at3), "or none");
}

void test_api(const unsigned char *pef, size_t size)
{
    size_t promised = samba_runtime_bytes(pef, size, NULL, 0);
    if (promised + 64 > (size_t)(ram_end - ram_begin)) return;
    test_memory(pef, size);
    samba_runtime *rt = samba_runtime_open(pef, size, ram_begin, promised, NULL, 0);
    check(rt != NULL, "it opens");
    if (!rt) return;
    train(rt, 1);
    test_reasons(rt);
    test_symbols(rt);
    test_saving(rt, ram_begin + (promised + 63) / 64 * 64);
    char count[] = "api passed=00 failed=00\n";
    count[11] = (char)('0' + n_passed / 10 % 10);
    count[12] = (char)('0' + n_passed % 10);
    count[21] = (char)('0' + n_failed / 10 % 10);
    count[22] = (char)('0' + n_failed % 10);
    board_print(count);
}

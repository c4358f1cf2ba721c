// Trains a net of 2-8-2 units on the exclusive or, on the board, and prints what it has learned.
// xor_model.h holds the compiled net; tools/package/make_xor.c in the project of samba.h makes it.
#define SAMBA_RUNTIME_ONLY
#define SAMBA_IMPLEMENTATION
#include <samba.h>
#include <stdio.h>
#include "xor_model.h"

static uint8_t memory[24 * 1024] __attribute__((aligned(64)));
static const float questions[4][2] = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } };
static const int32_t answers[4] = { 0, 1, 1, 0 };

static bool train(samba_runtime *net)
{
    memcpy(samba_runtime_data(net, "x"), questions, sizeof questions);
    memcpy(samba_runtime_data(net, "y"), answers, sizeof answers);
    const float *loss = (const float *)samba_runtime_data(net, "loss");
    for (int step = 1; step <= 300; step++) {
        if (!samba_runtime_run(net, 0)) return false;
        int ten_thousandths = (int)(*loss * 10000); // small C libraries do not print floats
        if (step % 100 == 0)
            printf("loss %d.%04d\n", ten_thousandths / 10000, ten_thousandths % 10000);
    }
    return true;
}

static void print_answers(samba_runtime *net)
{
    const float(*logits)[2] = (const float(*)[2])samba_runtime_data(net, "logits");
    samba_runtime_run(net, SAMBA_FWD);
    for (int i = 0; i < 4; i++) {
        printf("%d xor %d = %d\n", (int)questions[i][0], (int)questions[i][1],
               logits[i][1] > logits[i][0] ? 1 : 0);
    }
}

static int run(void)
{
    char why[120];
    samba_runtime *net
        = samba_runtime_open(xor_model, sizeof xor_model, memory, sizeof memory, why, sizeof why);
    if (!net || !train(net)) {
        printf("%s\n", net ? "a step failed" : why);
        return 1;
    }
    print_answers(net);
    return 0;
}

#ifdef ESP_PLATFORM
void app_main(void)
{
    run();
}
#else
int main(void)
{
    return run();
}
#endif

// Trains a net of 2-8-2 units on the exclusive or, on the board, and prints what it has learned.
#define SAMBA_RUNTIME_ONLY
#define SAMBA_IMPLEMENTATION
#include <samba.h>
#include "xor_model.h"

static uint8_t memory[24 * 1024] __attribute__((aligned(64)));
static const float questions[4][2] = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } };
static const int32_t answers[4] = { 0, 1, 1, 0 };

static void train(samba_runtime *net)
{
    memcpy(samba_runtime_data(net, "x"), questions, sizeof questions);
    memcpy(samba_runtime_data(net, "y"), answers, sizeof answers);
    const float *loss = (const float *)samba_runtime_data(net, "loss");
    for (int step = 1; step <= 300; step++) {
        if (!samba_runtime_run(net, 0)) {
            Serial.println("the step failed");
            return;
        }
        if (step % 100) continue;
        Serial.print("loss ");
        Serial.println(*loss, 4);
    }
}

static void print_answers(samba_runtime *net)
{
    const float(*logits)[2] = (const float(*)[2])samba_runtime_data(net, "logits");
    samba_runtime_run(net, SAMBA_FWD);
    for (int i = 0; i < 4; i++) {
        Serial.print((int)questions[i][0]);
        Serial.print(" xor ");
        Serial.print((int)questions[i][1]);
        Serial.print(" = ");
        Serial.println(logits[i][1] > logits[i][0] ? 1 : 0);
    }
}

void setup()
{
    char why[120];
    Serial.begin(115200);
    samba_runtime *net
        = samba_runtime_open(xor_model, sizeof xor_model, memory, sizeof memory, why, sizeof why);
    if (!net) {
        Serial.println(why);
        return;
    }
    train(net);
    print_answers(net);
}

void loop()
{
}

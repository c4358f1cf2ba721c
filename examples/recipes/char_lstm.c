// A text, character by character: an LSTM learns to go on with it.
//     cc -O2 examples/recipes/char_lstm.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <stdio.h>
#include <string.h>

enum { LENGTH = 26, T = 8, CODES = 128 };

int main(void)
{
    const char text[LENGTH + 1] = "the cat sat on a warm mat ";
    samba_session *s = samba_open(NULL);
    samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(LENGTH, T));
    samba_tensor *next = samba_input(s, "next", SAMBA_I32, SAMBA_SHAPE(LENGTH, T));
    samba_tensor *h = samba_lstm(samba_embedding(ids, "codes", CODES, 8), "lstm", 32, NULL, NULL);
    samba_tensor *logits = samba_linear(h, "out", CODES);
    samba_tensor *loss = samba_cross_entropy(logits, next), *best = samba_argmax(logits, -1, false);
    samba_program program = { .loss = loss, .outputs = { best } };
    program.optim = (samba_optim){ .kind = SAMBA_ADAMW, .lr = 0.02f };
    samba_compile(s, &program);
    int32_t windows[LENGTH][T], targets[LENGTH][T]; // a window begins at each character
    for (int i = 0; i < LENGTH * T; i++) {
        windows[i / T][i % T] = text[(i / T + i % T) % LENGTH];
        targets[i / T][i % T] = text[(i / T + i % T + 1) % LENGTH];
    }
    samba_write(next, targets);
    samba_write(ids, windows);
    for (int step = 0; step < 150; step++)
        samba_run(s, 0);
    for (int i = 0; i < LENGTH - 1; i++) { // the first window moves on, by what the net says
        putchar((char)windows[0][0]);
        samba_eval(s);
        memmove(windows[0], windows[0] + 1, sizeof windows[0] - sizeof windows[0][0]);
        windows[0][T - 1] = samba_read_i32(best)[T - 1];
        samba_write(ids, windows);
    }
    putchar('\n');
    return samba_close(s);
}

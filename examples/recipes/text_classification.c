// Is a sentence kind? Words are hashed to ids, and a small encoder with attention reads them.
// reads them.
//     cc -O2 examples/recipes/text_classification.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <stdio.h>

static void encode(const char *text, int32_t ids[4]) // one for each word; 0 behind the last
{
    for (int i = 0; i < 4; i++, text += *text == ' ')
        for (ids[i] = 0; *text > ' '; text++)
            ids[i] = (31 * ids[i] + *text) % 1000;
}

int main(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(8, 4));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(8));
    samba_tensor *h = samba_embedding(ids, "words", 1000, 16), *v = samba_linear(h, "v", 16);
    samba_tensor *q = samba_linear(h, "q", 16), *k = samba_linear(h, "k", 16);
    h = samba_add(h, samba_scaled_dot_product_attention(q, k, v, NULL, NULL));
    h = samba_mean(samba_layernorm(h, "norm"), SAMBA_AXES(1), false); // of all words
    samba_tensor *y = samba_linear(h, "out", 2), *loss = samba_cross_entropy(y, label);
    samba_optim adam = { .kind = SAMBA_ADAMW, .lr = 0.01f };
    samba_compile(s, &(samba_program){ .loss = loss, .outputs = { y }, .optim = adam });
    const char *const texts[8] = { "a slow film", "a warm film",  "dull and slow", "nice and warm",
                                   "a dull plot", "a nice story", "slow acting",   "so very warm" };
    int32_t words[8][4];
    for (int i = 0; i < 8; i++)
        encode(texts[i], words[i]);
    samba_write(ids, words);
    samba_write(label, (int32_t[]){ 0, 1, 0, 1, -100, -100, -100, -100 }); // no label: tests
    for (int step = 0; step < 100; step++)
        samba_run(s, 0);
    samba_eval(s);
    for (int i = 0; i < 4; i++)
        printf("%s: %d\n", texts[4 + i], samba_read(y)[2 * i] < samba_read(y)[2 * i + 1]);
    return samba_close(s);
}

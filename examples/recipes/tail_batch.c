// The last batch of a pass has too few rows: it is filled up, and what fills it does not count.
//     cc -O2 examples/recipes/tail_batch.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#define SAMBA_LOADER_IMPLEMENTATION
#include "../../samba.h"
#include "../../tools/include/samba/loader.h"
#include <math.h>
#include <stdio.h>

static double test(const float *points, const int32_t *labels, int batch) // the mean loss
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(batch, 1));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(batch));
    samba_tensor *logits = samba_linear(x, "out", 2), *found = samba_argmax(logits, -1, false);
    samba_tensor *loss = samba_cross_entropy(logits, label);
    samba_compile(s, &(samba_program){ .inference = true, .outputs = { loss, found } });
    samba_dataset data = { .n = 10, .batch = batch, .arrays = { points, labels } };
    data.is_label[1] = true; // filled up with -100, which the loss leaves out
    const char *const names[] = { "x", "label" };
    samba_loader *l = samba_loader_open_dataset(s, &data, names, 2, NULL);
    double sum = 0, right = 0;
    while (samba_loader_next(l, NULL) == 1 && samba_run(s, 0)) {
        int rows = samba_loader_batch(l)->rows; // that count
        sum += (double)samba_read(loss)[0] * rows;
        for (int i = 0; i < rows; i++)
            right += samba_read_i32(found)[i] == samba_read_i32(label)[i];
    }
    samba_loader_close(l);
    printf("batches of %2d: loss %.6f, %.0f of %d right\n", batch, sum / 10, right, 10);
    return samba_close(s) == 0 ? sum / 10 : (double)NAN;
}

int main(void)
{
    const float points[10] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3 };
    const int32_t labels[10] = { 0, 0, 1, 0, 1, 1, 0, 1, 1, 0 };
    return !(fabs(test(points, labels, 4) - test(points, labels, 10)) < 1e-6);
}

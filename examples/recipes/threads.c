// Several threads that infer: a session for each, all from one file.
//     cc -O2 examples/recipes/threads.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <pthread.h>
#include <stdio.h>

static void *serve(void *sum) // a session belongs to one thread at a time
{
    samba_session *s = samba_open(&(samba_desc){ .threads = 1 });
    samba_load(s, "net.ckpt", NULL); // a large file is mapped: the threads share its weights
    samba_tensor *x = samba_tensor_by_name(s, "x"), *out = samba_tensor_by_name(s, "out");
    for (int i = 0; i < 1000; i++) {
        samba_write(x, (float[]){ (float)i / 1000, 1 });
        samba_run(s, 0);
        *(double *)sum += (double)samba_read(out)[0];
    }
    if (samba_close(s) != 0) *(double *)sum = -1;
    return NULL;
}

int main(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 2));
    samba_tensor *out
        = samba_sigmoid(samba_linear(samba_tanh(samba_linear(x, "hidden", 8)), "last", 1));
    samba_compile(s, &(samba_program){ .outputs = { samba_name(out, "out") }, .inference = true });
    samba_save(s, "net.ckpt");
    if (samba_close(s) != 0) return 1;

    pthread_t threads[4];
    double sums[4] = { 0 };
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, serve, &sums[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("sums: %.6f %.6f %.6f %.6f\n", sums[0], sums[1], sums[2], sums[3]);
    return sums[0] < 0 || sums[0] != sums[1] || sums[0] != sums[2] || sums[0] != sums[3];
}

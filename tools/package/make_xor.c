// make_xor FILE: compiles the net of the Arduino sketch, saves it in FILE, and prints it as C.
//     tools/package/package.sh runs it
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include <stdio.h>

// 2 inputs, 8 hidden units, 2 classes; the four rows of the table are one batch.
static void trace_and_save(samba_session *s, const char *path)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 2));
    samba_tensor *y = samba_input(s, "y", SAMBA_I32, SAMBA_SHAPE(4));
    samba_tensor *h = samba_tanh(samba_linear(x, "hidden", 8));
    samba_tensor *logits = samba_linear(h, "out", 2);
    samba_name(logits, "logits");
    samba_tensor *loss = samba_cross_entropy(logits, y);
    samba_name(loss, "loss");
    samba_program program = { .loss = loss, .outputs = { logits } };
    program.optim.kind = SAMBA_SGD;
    program.optim.lr = 0.5f;
    samba_compile(s, &program);
    samba_save(s, path);
}

static bool print_as_c(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    printf("// A PEF with the values of its parameters, made by tools/package/make_xor.c.\n");
    printf("static const uint8_t xor_model[] __attribute__((aligned(64))) = {");
    int byte;
    for (long n = 0; (byte = fgetc(file)) != EOF; n++)
        printf("%s%d,", n % 20 ? "" : "\n", byte);
    printf("\n};\n");
    return !ferror(file) & !fclose(file);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_xor FILE\n");
        return 2;
    }
    samba_session *s = samba_open(&(samba_desc){ .seed = 1 });
    trace_and_save(s, argv[1]);
    if (samba_close(s)) return 1;
    if (print_as_c(argv[1]) && fflush(stdout) == 0) return 0;
    perror(argv[1]);
    return 1;
}

// ONNX to C: import a model, export it as C that needs no library, compile that, and compare.
//     cc -O2 examples/recipes/onnx_to_c.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <stdio.h>
#include <stdlib.h>

static const char caller[] = "#include \"net.h\"\n"
                             "#include <stdio.h>\n"
                             "int main(void)\n"
                             "{\n"
                             "    for (int i = 0; i < 3; i++) net_x[i] = i;\n"
                             "    net_run();\n"
                             "    printf(\"%.9g %.9g\", net_y[0], net_y[1]);\n"
                             "}\n";

int main(int argc, char **argv) // the path of tools/samba
{
    char commands[1000], before[100], after[100] = "";
    const float row[3] = { 0, 1, 2 };
    samba_session *s = samba_open(NULL); // a small net, to have a file of ONNX: any other will do
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 3));
    samba_tensor *y = samba_linear(samba_tanh(samba_linear(x, "hidden", 8)), "y", 2);
    samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true });
    samba_write(x, row);
    samba_run(s, 0);
    snprintf(before, sizeof before, "%.9g %.9g", samba_read(y)[0], samba_read(y)[1]);
    if (!samba_save(s, "small.ckpt")) return samba_close(s);

    snprintf(commands, sizeof commands,
             "exec 3>&1 >&2; t='%s'; $t export-onnx small.ckpt small.onnx && $t import-onnx "
             "small.onnx net.pef && $t export-c net.pef.ckpt -o net && echo '%s' >caller.c && "
             "cc -O2 caller.c net.c -lm -o net && ./net >&3",
             argc > 1 ? argv[1] : "tools/samba", caller);
    FILE *f = popen(commands, "r"); // net.h says what net.c has: net_x, net_y, net_run
    if (f && fgets(after, sizeof after, f))
        printf("by samba.h: %s\nin C alone: %s\n", before, after);
    return samba_close(s) || !f || pclose(f) || strcmp(before, after) != 0;
}

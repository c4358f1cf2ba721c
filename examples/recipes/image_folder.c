// Images in a folder for each class, such as shapes/rows/1.pgm: learns to tell classes apart.
//     cc -O2 examples/recipes/image_folder.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <glob.h>
#include <stdio.h>

static bool read_pgm(const char *path, float pixels[64]) // of 8 x 8; stb_image.h reads PNG and JPEG
{
    unsigned char bytes[64];
    FILE *f = fopen(path, "rb");
    if (!f || fscanf(f, "P5 8 8 255%*c") != 0 || fread(bytes, 1, 64, f) != 64) return false;
    for (int i = 0; i < 64; i++)
        pixels[i] = (float)bytes[i] / 255;
    return fclose(f) == 0;
}

int main(void)
{
    glob_t files;
    float pixels[8][64] = { 0 };
    int32_t labels[8] = { 0 }, n = 0;
    if (glob("shapes/*/*.pgm", 0, NULL, &files) != 0 || files.gl_pathc < 8) return 1;
    for (; n < 8 && read_pgm(files.gl_pathv[n], pixels[n]); n++)
        labels[n] = files.gl_pathv[n][7] == 'r'; // shapes/rows or shapes/columns
    globfree(&files);
    samba_session *s = samba_open(NULL);
    samba_tensor *image = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(8, 1, 8, 8));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(8));
    samba_tensor *h = samba_relu(samba_conv2d(image, "conv", 8, 3, NULL));
    h = samba_linear(samba_mean(h, SAMBA_AXES(2, 3), false), "out", 2);
    samba_tensor *loss = samba_cross_entropy(h, label);
    samba_compile(s, &(samba_program){ .loss = loss, .optim = { SAMBA_ADAMW, .lr = 0.03f } });
    samba_write(image, pixels);
    samba_write(label, labels);
    for (int step = 0; step < 200; step++)
        samba_run(s, 0);
    printf("%d images, loss %.2f\n", n, (double)samba_read(loss)[0]);
    return samba_close(s) || n < 8;
}

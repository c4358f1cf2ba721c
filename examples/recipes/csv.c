// Read a CSV file, bring its columns to one scale, learn the last one, and predict a new row.
//     cc -O2 examples/recipes/csv.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <stdio.h>

int main(void)
{
    FILE *file = fopen("flats.csv", "w+");
    if (!file) return 1;
    fputs("area,floor,rent\n30,1,480\n45,3,700\n60,2,860\n80,5,1160\n", file);
    rewind(file);
    float areas_floors[4][2], rents[4];
    char line[80];
    int rows = 0;
    while (rows < 4 && fgets(line, sizeof line, file)) {
        float *row = areas_floors[rows]; // the first line has names, and is no row
        rows += sscanf(line, "%f,%f,%f", &row[0], &row[1], &rents[rows]) == 3;
    }
    if (fclose(file) != 0 || rows < 4) return 1;
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 2));
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(4, 1));
    samba_tensor *unit = samba_buffer(s, "unit", SAMBA_SHAPE(2), 1); // is saved with the weights
    samba_tensor *out = samba_scale(samba_linear(samba_div(x, unit), "out", 1), 1000);
    samba_program program = { .loss = samba_mse(out, y, SAMBA_REDUCE_MEAN), .outputs = { out } };
    program.optim = (samba_optim){ .kind = SAMBA_ADAM, .lr = 0.01f };
    samba_compile(s, &program);
    samba_write(unit, (float[]){ 100, 10 });
    samba_write(x, areas_floors);
    samba_write(y, rents);
    for (int step = 0; step < 3000; step++)
        samba_run(s, 0);
    samba_write(x, (float[8]){ 70, 4 }); // the rows behind it are not looked at
    samba_eval(s);
    float rent = samba_read(out)[0];
    printf("70 square meters, floor 4: %.0f\n", (double)rent);
    return samba_close(s) || !(rent > 1019 && rent < 1021);
}

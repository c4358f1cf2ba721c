// Declarations alone, as C and as C++; included first, twice, and again after everything else.
#include "../../samba.h"
#include "../../samba.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../samba.h"

static samba_shape matrix(int32_t rows, int32_t columns)
{
    return SAMBA_SHAPE(rows, columns);
}

int main(void)
{
    const samba_shape eight = SAMBA_SHAPE(1, 2, 3, 4, 5, 6, 7, 8);
    const samba_shape shape = matrix(64, 784);
    return shape.ndim == 2 && shape.dim[1] == 784 && eight.ndim == 8 && eight.dim[7] == 8 ? 0 : 1;
}

// Prints what samba.h finds out about this machine when a session is opened: which kernels it will
// run, and whether arithmetic is exact. tools/cli/doctor.sh compiles and runs it.
#define SAMBA_IMPLEMENTATION
#include "samba.h"

int main(void)
{
    const char *wrong = samba__find_wrong_arithmetic();
    int32_t best = samba__best_isa();
    size_t n = sizeof samba__sets / sizeof *samba__sets;

    printf("samba.h      %s\n", SAMBA_VERSION);
    printf("kernels      %s, of", samba__sets[best].name);
    for (size_t i = 0; i < n; i++)
        printf(" %s", samba__sets[i].name);
    printf(" that this compiler writes\n");
    printf("arithmetic   %s\n",
           wrong ? wrong : "rounds to nearest, keeps subnormals, fma is exact");
    return wrong != NULL;
}

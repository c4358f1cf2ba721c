// Prints what samba.h finds out about this machine when a session is opened: which kernels it will
// run, and whether arithmetic is exact. tools/cli/doctor.sh compiles and runs it.
#define SAMBA_IMPLEMENTATION
#include "samba.h"

typedef struct set {
    const char *name;
    bool (*works)(void);
} set;

// Not samba__sets, which has all kernels: without them samba.h compiles in two seconds.
#define SET(x, set, ...) { #set, samba__works_##set },
static const set sets[] = { SAMBA__EACH_SET(SET, NONE) };

int main(void)
{
    const char *wrong = samba__find_wrong_arithmetic();
    int n = (int)(sizeof sets / sizeof *sets), best = n - 1;
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
#endif
    while (!sets[best].works())
        best--;

    printf("samba.h      %s\n", SAMBA_VERSION);
    printf("kernels      %s, of", sets[best].name);
    for (int i = 0; i < n; i++)
        printf(" %s", sets[i].name);
    printf(" that this compiler writes\n");
    printf("arithmetic   %s\n",
           wrong ? wrong : "rounds to nearest, keeps subnormals, fma is exact");
    return wrong != NULL;
}

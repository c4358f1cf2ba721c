// Linked to every program of `make mutants`; see mutant.h.
#define _POSIX_C_SOURCE 200809L
#include "mutant.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char nowhere[MUTANTS_MOST][2];

int mutant_chosen;
unsigned char (*mutants_seen)[2] = nowhere;

// Before main. The file is shared memory: what a crash or a child has seen is there as well.
__attribute__((constructor)) static void mutant_begin(void)
{
    const char *chosen = getenv("SAMBA_MUTANT"), *path = getenv("SAMBA_MUTANTS_SEEN");
    if (chosen) mutant_chosen = atoi(chosen);
    if (!path) return;

    int file = open(path, O_RDWR | O_CREAT, 0666);
    if (file < 0 || ftruncate(file, sizeof nowhere)) exit(97);
    void *map = mmap(NULL, sizeof nowhere, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) exit(97);
    mutants_seen = map;
    close(file);
}

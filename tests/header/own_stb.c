// Another file of the same program, with an stb_ds of its own.
#define STB_DS_IMPLEMENTATION
#if defined(OWN_STB_LINKED)
#undef STB_DS_IMPLEMENTATION
#endif
#include <stb/stb_ds.h>

int other_file(void);

int other_file(void)
{
    struct {
        char *key;
        int value;
    } *map = NULL;

    int *list = NULL;
    for (int i = 0; i < 100; i++)
        arrput(list, i);
    shput(map, "seven", 7);
    int good = arrlen(list) == 100 && list[99] == 99 && shget(map, "seven") == 7;
    arrfree(list);
    shfree(map);
    return good ? 0 : 1;
}

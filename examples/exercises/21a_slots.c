// Exercise 21a: two slots of flash, and the power that fails.
//
// A microcontroller saves what it has learned in one of two slots of its flash: always in the one
// that is not the newest, so that one whole copy stays if the power fails meanwhile. A slot holds
//
//     number    counts the saves: 1, 2, 3 ...; after 4294967295 comes 0
//     size      bytes of data, room at most
//     sum       checksum(data, size), written last
//     data      what was saved
//
// A slot is whole if its size is possible and its sum is right. Erased flash is 0xff everywhere;
// a slot that was being written is anything.
//
// Fill in newest: it returns 0 or 1, the whole slot that was saved last, or -1 if none is whole.
// Two saves in a row have numbers that follow each other.
#include <stdint.h>

typedef struct slot {
    uint32_t number, size, sum;
    const uint8_t *data;
} slot;

uint32_t checksum(const uint8_t *data, uint32_t size);      // it is there already

int newest(const slot s[2], uint32_t room)
{
    (void)s;
    (void)room;
    return 7;                                               // your code
}

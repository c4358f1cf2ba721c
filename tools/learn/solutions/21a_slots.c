// Hint 1: First which slots are whole, then which one of two whole ones is the newer.
// Hint 2: The size of an erased slot is 4294967295: compare it with room before you compute a
//   checksum of so many bytes.
// Hint 3: After 4294967295 comes 0, which is newer, though it is smaller. Unsigned numbers go round
//   in C: s[1].number == s[0].number + 1u says that slot 1 follows slot 0, at the turn, too.
// Why: The sum is written last, so that a slot whose writing was cut off does not look whole. There
//   is no moment at which the power may fail and both slots are lost.
// Another way: (int32_t)(a - b) > 0 says "a is newer" for all distances up to half of the circle.
//   TCP compares its numbers so.
// A tempting wrong way: The larger number, without more. The slot that was being written when the
//   power failed has it: its number is written first.
#include <stdint.h>

typedef struct slot {
    uint32_t number, size, sum;
    const uint8_t *data;
} slot;

uint32_t checksum(const uint8_t *data, uint32_t size);

static int whole(const slot *s, uint32_t room)
{
    return s->size <= room && s->sum == checksum(s->data, s->size);
}

int newest(const slot s[2], uint32_t room)
{
    int first = whole(&s[0], room), second = whole(&s[1], room);
    if (first && second) return s[1].number == s[0].number + 1u;
    if (first) return 0;
    return second ? 1 : -1;
}

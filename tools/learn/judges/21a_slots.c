#include <stdint.h>
uint32_t checksum(const uint8_t *data, uint32_t size);
#include "../judge.h"

enum { ROOM = 8 };

// A checksum of more than a slot holds would read what is not there. It is noted, and refused.
static uint32_t asked;
static int full_asked; // how often for a whole room

uint32_t checksum(const uint8_t *data, uint32_t size)
{
    uint32_t sum = 2166136261u;
    if (size > asked) asked = size;
    full_asked += size == ROOM;
    if (size > ROOM) return 0xffffffffu;
    for (uint32_t i = 0; i < size; i++) sum = (sum ^ data[i]) * 16777619u;
    return sum;
}

static const uint8_t old[ROOM] = { 1, 2, 3, 4, 5, 6, 7, 8 }, new[ROOM] = { 8, 7, 6, 5, 4, 3, 2, 1 };
static const uint8_t erased[ROOM] = { 255, 255, 255, 255, 255, 255, 255, 255 };

// A slot that was saved, one that was cut off, one whose size is impossible, and one of nothing.
#define SAVED(number, size, data) { number, size, checksum(data, size), data }
#define CUT_OFF(number, data) { number, ROOM, 0xffffffffu, data }
#define TOO_LARGE(number, data) { number, ROOM + 1, 0xffffffffu, data }
#define EMPTY { 0xffffffffu, 0xffffffffu, 0xffffffffu, erased }

typedef struct flash {
    const char *what;
    slot s[2];
} flash;

// What can be said of one wrong answer.
static void clues(const flash *f, int got, int want)
{
    static char sentence[300];
    const char *state[2];
    if (got == want) return;
    for (int i = 0; i < 2; i++) {
        const slot *s = &f->s[i];
        state[i] = s->sum == checksum(s->data, s->size) ? "whole" : "not whole: its sum is wrong";
        if (s->size > ROOM) state[i] = "not whole: its size is impossible";
    }
    judge_clue(got < -1 || got > 1, "no_slot");
    snprintf(sentence, sizeof sentence,
             "slot 0 has the number %lu and is %s. Slot 1 has the number %lu and is %s. So it is "
             "%d, and not %d.", (unsigned long)f->s[0].number, state[0],
             (unsigned long)f->s[1].number, state[1], want, got);
    judge_clue_saying(got == -1, "whole_refused", sentence);
    judge_clue_saying(got == 0 || got == 1, "other_slot", sentence);
}

// A mistake is recognized by what it makes of all pairs: one answer fits too much.
static void all(const flash *f, int n)
{
    float got[32];
    int full = 0;
    judge_case("all pairs of slots");
    for (int i = 0; i < n; i++) {
        slot *own = judge_copy(f[i].s, sizeof f[i].s);
        judge.what = f[i].what;
        asked = 0;
        full_asked = 0;
        got[i] = (float)newest(own, ROOM);
        judge_holds(asked <= ROOM, "size_not_checked");
        full |= full_asked && own[0].size != ROOM && own[1].size != ROOM;
    }
    judge_got(got, n);
    judge_compare_later(0);
    judge_clue(full, "sum_of_room");
    for (int i = 0; i < n; i++) {
        judge.what = f[i].what;
        judge_got(got + i, 1);
        clues(&f[i], (int)got[i], (int)judge_wanted()[0]);
        judge_compare_few(0);
    }
}

static void judge_cases(void)
{
    const uint32_t last = 0xffffffffu, half = 0x80000000u;
    const flash f[] = {
        { "slot 0 is whole, slot 1 is erased", { SAVED(1, 5, old), EMPTY } },
        { "slot 0 is whole and full, slot 1 is erased", { SAVED(1, ROOM, old), EMPTY } },
        { "slot 0 is full, slot 1 was cut off while it was written",
          { SAVED(1, ROOM, old), CUT_OFF(2, new) } },
        { "slot 1 is whole, slot 0 is erased", { EMPTY, SAVED(1, 5, new) } },
        { "slot 1 is whole, slot 0 was cut off", { CUT_OFF(3, new), SAVED(2, 4, old) } },
        { "slot 0 is whole, the data of slot 1 were cut off",
          { SAVED(3, 6, old), { 4, 5, 12345, new } } },
        { "slot 1 is whole, the size of slot 0 is one too large",
          { TOO_LARGE(7, new), SAVED(6, 5, old) } },
        { "both are whole, slot 0 is newer", { SAVED(7, 5, new), SAVED(6, 5, old) } },
        { "both are whole, slot 1 is newer", { SAVED(4, 5, old), SAVED(5, 5, new) } },
        { "slot 0 has the number 4294967295, slot 1 has 0",
          { SAVED(last, 5, old), SAVED(0, 5, new) } },
        { "slot 0 has the number 0, slot 1 has 4294967295",
          { SAVED(0, 5, new), SAVED(last, 5, old) } },
        { "the save after the turn: slot 0 has the number 0, slot 1 has 1",
          { SAVED(0, 5, old), SAVED(1, 5, new) } },
        { "the save after the turn: slot 0 has the number 1, slot 1 has 0",
          { SAVED(1, 5, new), SAVED(0, 5, old) } },
        { "slot 0 has the number 2147483647, slot 1 has 2147483648",
          { SAVED(half - 1, 5, old), SAVED(half, 5, new) } },
        { "slot 0 has the number 2147483648, slot 1 has 2147483647",
          { SAVED(half, 5, new), SAVED(half - 1, 5, old) } },
        { "slot 0 is whole with the number 0, slot 1 is erased", { SAVED(0, 3, old), EMPTY } },
        { "slot 0 is whole with the number 4294967295, slot 1 was cut off",
          { SAVED(last, 4, old), CUT_OFF(0, new) } },
        { "both are erased", { EMPTY, EMPTY } },
        { "both were cut off", { CUT_OFF(2, old), CUT_OFF(3, new) } },
        { "both were cut off, slot 0 later", { CUT_OFF(3, old), CUT_OFF(2, new) } },
    };
    all(f, sizeof f / sizeof *f);
}

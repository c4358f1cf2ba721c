#include <stdint.h>
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
    for (uint32_t i = 0; i < size; i++)
        sum = (sum ^ data[i]) * 16777619u;
    return sum;
}

#include EXERCISE

static const uint8_t old[ROOM] = { 1, 2, 3, 4, 5, 6, 7, 8 }, new[ROOM] = { 8, 7, 6, 5, 4, 3, 2, 1 };
static const uint8_t erased[ROOM] = { 255, 255, 255, 255, 255, 255, 255, 255 };

static slot saved(uint32_t number, uint32_t size, const uint8_t *data)
{
    slot s = { number, size, checksum(data, size), data };
    return s;
}

static slot cut_off(uint32_t number, const uint8_t *data)
{
    slot s = { number, ROOM, 0xffffffffu, data };
    return s;
}

static slot too_large(uint32_t number, const uint8_t *data)
{
    slot s = { number, ROOM + 1, 0xffffffffu, data };
    return s;
}

static slot empty(void)
{
    slot s = { 0xffffffffu, 0xffffffffu, 0xffffffffu, erased };
    return s;
}

enum {
    RIGHT, NUMBER_ALONE, NUMBER_ALONE_0, SIZE_ALONE, SUM_IS_THERE, LARGER, SIGNED, FIRST_WHOLE,
    SECOND_WHOLE, OLDEST, NEWER_OR_NONE, NEWER_OR_OTHER, BOTH_NEEDED, NEVER_NONE_0, NEVER_NONE_1,
    ALWAYS_0, LAST_BYTE, LAST_NUMBER, NUMBER_0, SWAPPED, FIRST_ALONE, SECOND_ALONE, ONE_IS_ENOUGH
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NUMBER_ALONE, "number_alone",
      "the larger number wins, whatever else is in the slot. Erased flash has the largest, and was "
      "never saved." },
    { NUMBER_ALONE_0, "number_alone",
      "the larger number wins, whatever else is in the slot. It has to be whole, and -1 is "
      "returned if none is." },
    { SIZE_ALONE, "not_whole",
      "the sum is not compared with checksum(data, size): a slot that was cut off looks whole." },
    { SUM_IS_THERE, "any_sum",
      "a slot counts as whole if its sum is not that of erased flash. It has to be checksum(data, "
      "size)." },
    { LARGER, "larger_number",
      "after 4294967295 comes 0, which is newer, though it is smaller: s[1] is newer if its number "
      "is s[0].number + 1." },
    { ALWAYS_0, "always_0_is_newer",
      "0 is newer than 4294967295, which it follows, but not than 1, which follows it." },
    { SIGNED, "signed_number",
      "numbers are compared as signed ones: 2147483648 is not below 2147483647, it follows it." },
    { FIRST_WHOLE, "first_whole",
      "this is the first whole one. The other is whole, too, and was saved later." },
    { SECOND_WHOLE, "second_whole",
      "this is the last whole one of the two, and not the newer. (A difference of unsigned numbers "
      "is never below 0.)" },
    { OLDEST, "oldest", "of two whole ones this is the older." },
    { NEWER_OR_NONE, "newer_or_none",
      "the newer number was looked for first, and if that slot is not whole, none is returned. The "
      "other one may be whole: that is what there are two for." },
    { NEWER_OR_OTHER, "other_unseen",
      "if the slot with the newer number is not whole, the other is returned without a look at its "
      "sum." },
    { BOTH_NEEDED, "both_needed", "if one slot is not whole, the other is still good." },
    { ONE_IS_ENOUGH, "one_is_enough",
      "if one of the two is whole, the newer number is returned, and that may be the other one." },
    { NEVER_NONE_0, "never_none",
      "if none is whole it returns 0, and not -1: a new device has saved nothing yet." },
    { NEVER_NONE_1, "never_none",
      "if none is whole it returns 1, and not -1: a new device has saved nothing yet." },
    { LAST_BYTE, "last_byte_refused", "a slot whose data fill its room is whole: size <= room." },
    { LAST_NUMBER, "last_number_refused",
      "a whole slot with the number 4294967295 is taken for erased. Its sum is right: it is "
      "whole." },
    { NUMBER_0, "number_0_refused",
      "a whole slot with the number 0 is taken for one that was never saved. 0 comes after "
      "4294967295." },
    { SWAPPED, "swapped", "0 and 1 have changed places." },
    { FIRST_ALONE, "first_alone", "only slot 0 is looked at; slot 1 may be whole, and newer." },
    { SECOND_ALONE, "second_alone", "only slot 1 is looked at; slot 0 may be whole, and newer." },
};

static int whole_slot(const slot *s, int e)
{
    if (s->size > ROOM) return 0;
    if (e == SIZE_ALONE) return 1;
    if (e == SUM_IS_THERE) return s->sum != 0xffffffffu;
    if (e == LAST_BYTE && s->size == ROOM) return 0;
    if (e == LAST_NUMBER && s->number == 0xffffffffu) return 0;
    if (e == NUMBER_0 && s->number == 0) return 0;
    return s->sum == checksum(s->data, s->size);
}

static int compute(const slot s[2], int e)
{
    int first = whole_slot(&s[0], e), second = whole_slot(&s[1], e);
    int newer = s[1].number == s[0].number + 1u, larger = s[1].number > s[0].number;
    if (e == NUMBER_ALONE_0) return larger;
    if (e == NUMBER_ALONE && s[0].number != s[1].number) return larger;
    if (e == SECOND_ALONE) first = 0;
    if (e == FIRST_ALONE) second = 0;
    if (e == NEWER_OR_NONE) return (newer ? second : first) ? newer : -1;
    if (e == NEWER_OR_OTHER) return (newer ? second : first) ? newer : !newer;
    if (e == ONE_IS_ENOUGH) return first || second ? newer : -1;
    if (e == BOTH_NEEDED && first != second) return -1;
    if (e == SWAPPED && (first || second)) return !(first && second ? newer : second);
    if (first && second) {
        if (e == LARGER) return larger;
        if (e == ALWAYS_0 && s[0].number == 0) return 0;
        if (e == ALWAYS_0 && s[1].number == 0) return 1;
        if (e == ALWAYS_0) return larger;
        if (e == SIGNED) return (int32_t)s[1].number > (int32_t)s[0].number;
        if (e == FIRST_WHOLE || e == SECOND_WHOLE) return e == SECOND_WHOLE;
        return e == OLDEST ? !newer : newer;
    }
    if (first || second) return second;
    if (e == NEVER_NONE_0 || e == NEVER_NONE_1) return e == NEVER_NONE_1;
    return -1;
}

typedef struct flash {
    const char *what;
    slot s[2];
} flash;

// What can be said of one wrong answer.
static void clues(const flash *f, int got, int want)
{
    static char sentence[300];
    const char *state[2];
    for (int i = 0; i < 2; i++) {
        state[i] = whole_slot(&f->s[i], RIGHT) ? "whole" : "not whole: its sum is wrong";
        if (f->s[i].size > ROOM) state[i] = "not whole: its size is impossible";
    }
    judge_clue(got < -1 || got > 1, "no_slot", "newest returns 0, 1 or -1.");
    snprintf(sentence, sizeof sentence,
             "slot 0 has the number %lu and is %s. Slot 1 has the number %lu and is %s. So it is "
             "%d, and not %d.", (unsigned long)f->s[0].number, state[0],
             (unsigned long)f->s[1].number, state[1], want, got);
    judge_clue(got == -1, "whole_refused", sentence);
    judge_clue(got == 0 || got == 1, "other_slot", sentence);
}

// A mistake is recognized by what it makes of all pairs: one answer fits too much.
static void all(const flash *f, int n)
{
    float got[32], want[32], wrong[32];
    int full = 0;
    for (int i = 0; i < n; i++) {
        slot *own = judge_copy(f[i].s, sizeof f[i].s);
        judge_case(f[i].what);
        asked = 0;
        full_asked = 0;
        got[i] = (float)newest(own, ROOM);
        judge_holds(asked <= ROOM, "size_not_checked",
                    "the checksum was asked of more bytes than a slot has room for. The size of an "
                    "erased slot is 4294967295: compare it with room first.");
        full |= full_asked && own[0].size != ROOM && own[1].size != ROOM;
        want[i] = (float)compute(own, RIGHT);
        free(own);
    }
    judge_got(got, n);
    for (unsigned m = 0; m < sizeof mistakes / sizeof *mistakes; m++) {
        for (int i = 0; i < n; i++)
            wrong[i] = (float)compute(f[i].s, mistakes[m].e);
        judge_mistake(mistakes[m].name, mistakes[m].sentence, wrong, n);
    }
    judge_clue(full, "sum_of_room",
               "the checksum was asked of the whole room. It is that of the data, of `size` "
               "bytes.");
    for (int i = 0; i < n; i++) {
        if (got[i] == want[i]) continue;
        judge.what = f[i].what;
        if (judge.mistake) break;
        judge_got_number((double)got[i]);
        clues(&f[i], (int)got[i], (int)want[i]);
        judge_want_number((double)want[i], 0);
    }
    judge_want(want, n, 0);
}

int main(void)
{
    const uint32_t last = 0xffffffffu, half = 0x80000000u;
    const flash f[] = {
        { "slot 0 is whole, slot 1 is erased", { saved(1, 5, old), empty() } },
        { "slot 0 is whole and full, slot 1 is erased", { saved(1, ROOM, old), empty() } },
        { "slot 0 is full, slot 1 was cut off while it was written",
          { saved(1, ROOM, old), cut_off(2, new) } },
        { "slot 1 is whole, slot 0 is erased", { empty(), saved(1, 5, new) } },
        { "slot 1 is whole, slot 0 was cut off", { cut_off(3, new), saved(2, 4, old) } },
        { "slot 0 is whole, the data of slot 1 were cut off",
          { saved(3, 6, old), { 4, 5, 12345, new } } },
        { "slot 1 is whole, the size of slot 0 is one too large",
          { too_large(7, new), saved(6, 5, old) } },
        { "both are whole, slot 0 is newer", { saved(7, 5, new), saved(6, 5, old) } },
        { "both are whole, slot 1 is newer", { saved(4, 5, old), saved(5, 5, new) } },
        { "slot 0 has the number 4294967295, slot 1 has 0",
          { saved(last, 5, old), saved(0, 5, new) } },
        { "slot 0 has the number 0, slot 1 has 4294967295",
          { saved(0, 5, new), saved(last, 5, old) } },
        { "the save after the turn: slot 0 has the number 0, slot 1 has 1",
          { saved(0, 5, old), saved(1, 5, new) } },
        { "the save after the turn: slot 0 has the number 1, slot 1 has 0",
          { saved(1, 5, new), saved(0, 5, old) } },
        { "slot 0 has the number 2147483647, slot 1 has 2147483648",
          { saved(half - 1, 5, old), saved(half, 5, new) } },
        { "slot 0 has the number 2147483648, slot 1 has 2147483647",
          { saved(half, 5, new), saved(half - 1, 5, old) } },
        { "slot 0 is whole with the number 0, slot 1 is erased", { saved(0, 3, old), empty() } },
        { "slot 0 is whole with the number 4294967295, slot 1 was cut off",
          { saved(last, 4, old), cut_off(0, new) } },
        { "both are erased", { empty(), empty() } },
        { "both were cut off", { cut_off(2, old), cut_off(3, new) } },
        { "both were cut off, slot 0 later", { cut_off(3, old), cut_off(2, new) } },
    };
    judge_begin();
    all(f, sizeof f / sizeof *f);
    return judge_end();
}

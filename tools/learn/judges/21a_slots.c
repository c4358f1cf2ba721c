#include <stdint.h>
#include "../judge.h"

enum { ROOM = 8, FAR = 99 };

// A checksum of more than a slot holds would read what is not there. It is noted, and refused.
static uint32_t asked;

uint32_t checksum(const uint8_t *data, uint32_t size)
{
    uint32_t sum = 2166136261u;
    if (size > asked) asked = size;
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

static slot empty(void)
{
    slot s = { 0xffffffffu, 0xffffffffu, 0xffffffffu, erased };
    return s;
}

// mistake, sentence: what it means if the answer is `wrong`.
static void flash(const char *what, slot first, slot second, int want, int wrong,
                  const char *mistake, const char *sentence)
{
    slot s[2] = { first, second };
    asked = 0;
    judge_case(what);
    int got = newest(s, ROOM);
    judge_holds(asked <= ROOM, "size_not_checked",
                "the checksum was asked of more bytes than a slot has room for. The size of an "
                "erased slot is 4294967295: compare it with room first.");
    if (got == wrong && wrong != want) judge_refuse(mistake, sentence);
    judge_got_number(got);
    judge_want_number(want, 0);
}

int main(void)
{
    judge_begin();
    flash("slot 0 is whole, slot 1 is erased", saved(1, 5, old), empty(), 0, 1, "number_alone",
          "slot 1 is erased: its number is 0xffffffff, but it was never saved.");
    flash("slot 0 is whole and full, slot 1 is erased", saved(1, ROOM, old), empty(), 0, -1,
          "last_byte_refused", "a slot whose data fill its room is whole.");
    flash("slot 0 is full, slot 1 was cut off while it was written", saved(1, ROOM, old),
          cut_off(2, new), 0, 1, "not_whole",
          "the sum of slot 1 is wrong, for the power failed before it was written.");
    flash("slot 1 is whole, slot 0 is erased", empty(), saved(1, 5, new), 1, 0, "number_alone",
          "slot 0 is erased: its number is 0xffffffff, but it was never saved.");
    flash("both are whole, slot 0 is newer", saved(7, 5, new), saved(6, 5, old), 0, 1, "oldest",
          "this is the older one.");
    flash("both are whole, slot 1 is newer", saved(4, 5, old), saved(5, 5, new), 1, 0, "first_whole",
          "this is the first whole one. The other is whole, too, and was saved later.");
    flash("slot 0 has the number 4294967295, slot 1 has 0", saved(0xffffffffu, 5, old),
          saved(0, 5, new), 1, 0, "larger_number",
          "after 4294967295 comes 0: slot 1 is newer, though its number is smaller.");
    flash("slot 0 has the number 0, slot 1 has 4294967295", saved(0, 5, new),
          saved(0xffffffffu, 5, old), 0, 1, "larger_number",
          "after 4294967295 comes 0: slot 0 is newer, though its number is smaller.");
    flash("both are erased", empty(), empty(), -1, 1, "never_none",
          "none of them is whole: a new device has saved nothing yet.");
    flash("both were cut off", cut_off(2, old), cut_off(3, new), -1, 1, "never_none",
          "none of them is whole.");
    return judge_end();
}

// Gestures: a net that knows six movements of a hand, and goes on learning on the device.
//     cc -O2 -o gesture examples/devices/gesture.c -lm -pthread && ./gesture
// A host trains it on the movements of twelve people and writes gesture.ckpt. Then, as a firmware
// would from flash, it opens that file in one static block, meets somebody who wears the device on
// the other hand, learns those gestures one by one, saves what it learned in two slots of flash,
// loses its power while it saves once more, and goes on from the slot that is whole.
//
// The gestures are synthetic: curves such as an accelerometer of 12 bits would show, in integers.
// Compiled with GESTURE_DEVICE this is the firmware, and prints the same lines with the same bits:
// README.md in this folder has the commands. There gesture_pef.h is what tools/samba export-c makes
// of gesture.ckpt, board.h prints, and samba.h is compiled by a file of its own.
#if defined(GESTURE_DEVICE)
#define SAMBA_RUNTIME_ONLY
#include "samba.h"
#include "board.h"
#include "gesture_pef.h"
#else
#define SAMBA_SMALL // a device's block sizes, and so its memory
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <stdio.h>
#endif
#include <string.h>

enum { AXES = 3, SAMPLES = 32, INPUTS = AXES * SAMPLES, HIDDEN = 24, GESTURES = 6, G = 4096 };

// ---- Printing, of numbers that are not negative -------------------------------------------------

static void say(const char *text)
{
#if defined(GESTURE_DEVICE)
    board_print(text);
#else
    fputs(text, stdout);
#endif
}

static void say_number(uint32_t n)
{
    char digits[12], *at = digits + sizeof digits;
    *--at = 0;
    do
        *--at = (char)('0' + n % 10);
    while (n /= 10);
    say(at);
}

static void say_line(const char *what, uint32_t n, const char *unit)
{
    say(what);
    say(" ");
    say_number(n);
    say(unit);
    say("\n");
}

// ---- Gestures -----------------------------------------------------------------------------------

typedef struct hand {
    int32_t strength, speed, turn, tilt, noise;
} hand;

static const hand other_hand = { 200, 210, 70, -40, 300 };

static uint32_t dice = 1;

// 0 ... n - 1, by Marsaglia's xorshift of 32 bits.
static int32_t roll(int32_t n)
{
    dice ^= dice << 13;
    dice ^= dice >> 17;
    dice ^= dice << 5;
    return (int32_t)(dice % (uint32_t)n);
}

// A sine made of parabolas: a turn is 256, its height is G.
static int32_t wave(int32_t angle)
{
    int32_t p = (angle + 128) & 255;
    return p < 128 ? -p * (128 - p) : (p - 128) * (256 - p);
}

// circle, circle the other way round, shake, lift, an eight, knock twice
static void move(int32_t gesture, int32_t angle, int32_t t, int32_t g[AXES])
{
    g[0] = wave(angle);
    g[1] = g[2] = 0;
    switch (gesture) {
    case 0:
        g[1] = wave(angle + 64);
        break;
    case 1:
        g[1] = wave(angle - 64);
        break;
    case 2:
        g[0] = wave(3 * angle);
        break;
    case 3:
        g[2] = g[0];
        g[0] = 0;
        break;
    case 4:
        g[1] = wave(2 * angle);
        break;
    default:
        g[0] = 0;
        g[2] = t % 12 == 5 ? 2 * G : t % 12 == 6 ? -G : 0;
    }
}

// One gesture of this hand, as a hand makes it: earlier or later, stronger or weaker, shaking.
static void sense(const hand *h, int32_t gesture, float x[INPUTS])
{
    int32_t begin = roll(24), strength = h->strength + roll(64) - 32;
    for (int32_t t = 0; t < SAMPLES; t++) {
        int32_t g[AXES], c = wave(h->turn + 64), s = wave(h->turn);
        move(gesture, begin + t * h->speed * 8 / 256, t, g);
        g[2] += G / 2; // half of what weight there is
        int32_t turned[AXES] = { (c * g[0] - s * g[1]) / G, (s * g[0] + c * g[1]) / G, g[2] };
        c = wave(h->tilt + 64);
        s = wave(h->tilt);
        g[0] = (c * turned[0] - s * turned[2]) / G;
        g[1] = turned[1];
        g[2] = (s * turned[0] + c * turned[2]) / G;
        for (int32_t a = 0; a < AXES; a++)
            x[AXES * t + a] = (float)(g[a] * strength / 256 + roll(2 * h->noise) - h->noise) / G;
    }
}

// ---- The device: one block of memory, two slots of flash ----------------------------------------

enum { MEMORY = 64 * 1024, SLOT = 12 * 1024, LESSONS = 30, EXAM = 120 };

static union {
    uint64_t align;
    uint8_t bytes[MEMORY];
} memory;

// Flash as memory: a page that has been written must be erased before it is written again, and a
// power cut leaves what was written so far. On a board these are calls of its flash driver.
static uint8_t flash[2 * SLOT];
static int32_t pages_until_cut = -1; // -1: the power stays on

static bool flash_erase(size_t offset, size_t n, void *user)
{
    (void)user;
    memset(flash + offset, 0xFF, n);
    return true;
}

static bool flash_write(size_t offset, const void *bytes, size_t n, void *user)
{
    (void)user;
    if (pages_until_cut == 0) return false;
    if (pages_until_cut > 0) pages_until_cut--;
    memcpy(flash + offset, bytes, n);
    return true;
}

static const samba_storage storage = { SLOT, flash, NULL, flash_erase, flash_write, NULL };

// What happens when the power comes: opens the net, and takes what was saved last, if any.
static samba_runtime *power_on(const void *pef, size_t size)
{
    char why[200] = "";
    memset(memory.bytes, 0xA5, sizeof memory);
    samba_runtime *rt = samba_runtime_open(pef, size, memory.bytes, MEMORY, why, sizeof why);
    if (!rt) {
        say(why);
        say("\n");
        return NULL;
    }
    bool restored = samba_runtime_restore(rt, &storage);
    if (!restored && samba_runtime_error(rt, why, sizeof why) != SAMBA_ESTATE) {
        say(why);
        say("\n");
    }
    say(restored ? "power on, with what was saved\n" : "power on, as it came from the factory\n");
    return rt;
}

static int32_t recognize(samba_runtime *rt, const float x[INPUTS])
{
    const float *score = (const float *)samba_runtime_data(rt, "gesture");
    int32_t best = 0;
    memcpy(samba_runtime_data(rt, "motion"), x, INPUTS * sizeof *x);
    if (!samba_runtime_run(rt, SAMBA_FWD)) return -1;
    for (int32_t i = 1; i < GESTURES; i++)
        if (score[i] > score[best]) best = i;
    return best;
}

// One step for one gesture, of which the user has said what it was.
static bool learn(samba_runtime *rt, const float x[INPUTS], int32_t gesture)
{
    memcpy(samba_runtime_data(rt, "motion"), x, INPUTS * sizeof *x);
    memcpy(samba_runtime_data(rt, "label"), &gesture, sizeof gesture);
    return samba_runtime_run(rt, 0);
}

// How many of the same 120 gestures of the other hand it recognizes.
static uint32_t exam(samba_runtime *rt)
{
    float x[INPUTS];
    uint32_t right = 0;
    dice = 2027;
    for (int32_t i = 0; i < EXAM; i++) {
        sense(&other_hand, i % GESTURES, x);
        right += recognize(rt, x) == i % GESTURES;
    }
    say_line("recognizes", right, " of 120 gestures of the other hand");
    return right;
}

static bool lessons(samba_runtime *rt, uint32_t first)
{
    float x[INPUTS];
    bool fine = true;
    dice = 7 + first;
    for (int32_t i = 0; i < LESSONS && fine; i++) {
        int32_t gesture = roll(GESTURES);
        sense(&other_hand, gesture, x);
        fine = learn(rt, x, gesture);
    }
    say_line("learned", LESSONS, " gestures");
    return fine;
}

// FNV-1a of all parameters: the same number on every machine.
static uint32_t hash_of(samba_runtime *rt)
{
    uint32_t hash = 2166136261u;
    samba_runtime_symbol p;
    for (int32_t i = 0; samba_runtime_symbol_at(rt, i, &p); i++)
        for (size_t k = 0; p.role == SAMBA_ROLE_WEIGHT && k < p.bytes; k++)
            hash = (hash ^ ((const uint8_t *)p.data)[k]) * 16777619u;
    return hash;
}

// The life of a device. 0 if all went as it should.
static int live(const void *pef, size_t size)
{
    memset(flash, 0xFF, sizeof flash);
    samba_runtime *rt = power_on(pef, size);
    if (!rt) return 1;
    say_line("a slot needs", (uint32_t)samba_runtime_state_bytes(rt), " bytes");
    uint32_t before = exam(rt);
    bool fine = lessons(rt, 0) && samba_runtime_save(rt, &storage);
    uint32_t saved = exam(rt);
    fine = fine && lessons(rt, 1);
    pages_until_cut = 5;
    bool cut = !samba_runtime_save(rt, &storage);
    say(cut ? "the power failed while it saved\n" : "the power did not fail\n");
    pages_until_cut = -1;
    rt = power_on(pef, size);
    if (!rt) return 1;
    uint32_t again = exam(rt);
    fine = fine && cut && again == saved && lessons(rt, 1) && samba_runtime_save(rt, &storage);
    uint32_t after = exam(rt);
    say_line("hash of what it knows:", hash_of(rt), "");
    return fine && before < saved && after > before + 30 ? 0 : 1;
}

#if defined(GESTURE_DEVICE)

int main(void)
{
    board_start();
    say_line("needs", (uint32_t)samba_runtime_bytes(gesture_pef, gesture_pef_size, NULL, 0),
             " bytes of RAM");
    return live(gesture_pef, gesture_pef_size);
}

#else

// ---- The host: trains on gestures of twelve people, one by one, as the device will --------------

static void train(samba_session *s, samba_tensor *motion, samba_tensor *label, int steps)
{
    hand people[12];
    float x[INPUTS];
    for (int i = 0; i < 12; i++)
        people[i] = (hand){ 220 + roll(72), 220 + roll(72), roll(48) - 24, roll(24) - 12, 200 };
    for (int step = 0; step < steps && samba_ok(s); step++) {
        int32_t gesture = roll(GESTURES);
        sense(&people[roll(12)], gesture, x);
        samba_write_bytes(motion, x, sizeof x);
        samba_write_bytes(label, &gesture, sizeof gesture);
        samba_run(s, 0);
    }
}

static int make(const char *path)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *motion = samba_input(s, "motion", SAMBA_F32, SAMBA_SHAPE(1, INPUTS));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(1));
    samba_tensor *h = samba_relu(samba_linear(motion, "hidden", HIDDEN));
    samba_tensor *gesture = samba_name(samba_linear(h, "scores", GESTURES), "gesture");
    samba_tensor *loss = samba_name(samba_cross_entropy(gesture, label), "loss");
    samba_compile(s,
                  &(samba_program){ .loss = loss,
                                    .outputs = { gesture },
                                    .mapping = SAMBA_MAPPING_SPATIAL,
                                    .optim = { .kind = SAMBA_SGD, .lr = 0.02f } });
    train(s, motion, label, 6000);
    samba_save(s, path);
    return samba_close(s);
}

int main(void)
{
    static union {
        uint64_t align;
        uint8_t bytes[1 << 16];
    } pef;

    if (make("gesture.ckpt")) return 1;
    FILE *f = fopen("gesture.ckpt", "rb");
    size_t size = f ? fread(pef.bytes, 1, sizeof pef, f) : 0;
    if (f) fclose(f);
    return live(pef.bytes, size);
}

#endif

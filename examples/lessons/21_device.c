// Lesson 21: a net that learns on a microcontroller.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/21_device.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints, on your machine and on a microcontroller, as its
// only program (firmware). (`make lesson-device` emulates a Cortex-M3: it shows bits and RAM, not
// time and energy.)
// New: runtime, flash, slot. Next: a net of your own; begin with one of examples.
#include "device.h"

// Begin to read at the function live.
enum { IN = 8, KINDS = 4 };

// What a sensor shows of one of four movements; returns which one. The device may be mounted
// upright, 1, or upside down, -1. All is drawn as integers, so it is the same on every machine. In
// tests the noise is an odd number, in training an even one: no test is ever learned (lesson 9).
static int32_t sense(uint32_t *dice, int32_t mounted, bool test, float x[IN])
{
    static const char *const movement[KINDS] = { "01234567", "40404040", "00080000", "00006666" };
    *dice = *dice * 1664525u + 1013904223u;
    int32_t kind = (int32_t)(*dice >> 30);
    int32_t strength = mounted * (6 + (int32_t)(*dice >> 28 & 3));
    int32_t noise = (int32_t)(*dice >> 8 & 30) - 16 + test;
    for (int i = 0; i < IN; i++) {
        int32_t shown = movement[kind][i] - '0';
        x[i] = (float)(shown * strength + noise) / 64;
    }
    return kind;
}

// The kind with the best score.
static int32_t answer(const float score[KINDS])
{
    int32_t best = 0;
    for (int32_t k = 1; k < KINDS; k++) {
        best = score[k] > score[best] ? k : best;
    }
    return best;
}

// Shows 100 movements, drawn from dice, and returns how many were recognized. mounted: 1, -1, or 0,
// both in turn. With learn, it learns from each after its answer.
static uint32_t meet(samba_runtime *rt, uint32_t dice, int32_t mounted, bool learn)
{
    float *x = (float *)samba_runtime_data(rt, "x");
    const float *score = (const float *)samba_runtime_data(rt, "scores");
    int32_t *label = (int32_t *)samba_runtime_data(rt, "label");
    uint32_t right = 0;
    for (int i = 0; i < 100; i++) {
        int32_t in_turn = i % 2 * 2 - 1;
        *label = sense(&dice, mounted ? mounted : in_turn, !learn, x);
        samba_runtime_run(rt, learn ? 0 : SAMBA_FWD); // 0: forward, backward, step
        right += answer(score) == *label;
    }
    return right;
}

static int live(const void *pef, size_t size, size_t ram)
{
    // 1. The smallest machines have some kilobytes of RAM, flash, which keeps programs and
    //    constants without power, and no malloc. There a compiled program, a PEF (lesson 19), lies
    //    in flash as an array, and the runtime runs it in one block of RAM.
    //
    //    Of its bytes, 1152 hold what passes between ops, 1000 the tables of ops and tensors, 680
    //    the weights, copied as they change, 384 scratch, what one op needs while it runs, and 64
    //    input and output.
    //
    //    That is little, as a batch is one row, SGD has no momentum, and a gradient is used at once
    //    and not kept. ("At once" is asked for in main below: .mapping = SAMBA_MAPPING_SPATIAL.)
    // > bytes of flash for the net: 4672
    // > bytes of RAM: 3280
    say("bytes of flash for the net:", (uint32_t)size);
    say("bytes of RAM:", (uint32_t)ram);

    char why[200];
    samba_runtime *rt = samba_runtime_open(pef, size, memory.bytes, MEMORY, why, sizeof why);
    if (!rt) return refuse(why);

    // 2. Why learn on the device? Because it meets what no factory knows. The factory's net knows
    //    movements of a device worn upright. Here it hangs upside down: all signs are turned. By
    //    guessing 25 of 100 would be right; but what spoke for the right movement speaks against it
    //    now.
    //
    //    Printed: how many of 100 were right, # for each 4.
    // > upright:  100 #########################
    // > turned:    0
    say("upright:", meet(rt, 4, 1, false));
    say("turned:", meet(rt, 4, -1, false));

    // 3. The owner says what each movement was, and it learns; no data leaves the device. To learn,
    //    weights are floats (lesson 18). Without hardware for them, each of 6 operations for 144
    //    weights is a call of, say, 100 cycles: 2 ms a movement at 50 MHz.
    // > learns:   53 #############
    // > learns:   83 ####################
    // > learns:   95 #######################
    for (uint32_t i = 1; i < 4; i++) {
        say("learns:", meet(rt, i, -1, true));
    }

    // 4. But upright, of which it saw no more examples, it has nearly forgotten: 1 of 100. The same
    //    weights serve both ways, and nothing holds them where the old examples want them. So at
    //    last it learns from both in turn.
    // > upright:    1
    // > upright:  100 #########################
    say("upright:", meet(rt, 4, 1, false));
    for (uint32_t i = 5; i < 9; i++) {
        meet(rt, i, 0, true); // in turn
    }
    say("upright:", meet(rt, 4, 1, false));

    // 5. RAM forgets when the power goes, flash does not. But flash must be erased before it is
    //    written, and the power may fail in between. So it saves to the older of two slots, and one
    //    stays whole.
    //
    //    A slot is 4 pages of 256 bytes: 3 for weights, and a header, which is written last. In it
    //    are checksums, of itself and of the weights: if one is wrong, the slot is not read. And it
    //    counts the saves: of two whole slots, the one with the larger count is newer.
    //
    //    Flash bears some 10000 erasures: two slots, saved once an hour, last about two years
    //    (20000 hours, if each slot bears 10000). On a board of yours, fill in storage of device.h.
    // > bytes of a slot: 1024
    // > checksum: 8764
    say("bytes of a slot:", (uint32_t)samba_runtime_state_bytes(rt));
    if (!samba_runtime_save(rt, &storage)) return explain(rt);
    say("checksum:", checksum()); // equal bits here and there

    // 6. The power goes (RAM is zeroed), and comes. Restored, it still knows turned movements; what
    //    was learned after the last save would be lost. At the first start no slot is whole:
    //    restore says so, and the net keeps the weights of its PEF, the factory's.
    //
    //    (Power may also fail in the middle of a save. To prove that, stop it after each write, and
    //    restore: exercise 21a.)
    // > restored:  100 #########################
    memset(memory.bytes, 0, sizeof memory);
    rt = samba_runtime_open(pef, size, memory.bytes, MEMORY, why, sizeof why);
    if (!samba_runtime_restore(rt, &storage)) return explain(rt);
    say("restored:", meet(rt, 4, -1, false));

    // To think about:
    //   What would AdamW do to RAM and slot?
    //
    // Now you: exercise 21a has two slots, and power that fails. `make learn` begins with the first
    // that is open, `tools/learn/learn.sh watch 21a` with 21a.
    return 0;
}

#if defined(LESSON_DEVICE)
int main(void)
{
    board_start();
    const uint8_t *pef = lesson21_pef;
    return live(pef, lesson21_pef_size, samba_runtime_bytes(pef, lesson21_pef_size, NULL, 0));
}
#else
// The factory: trains, and writes the checkpoint that the device will have in flash.
int main(int argc, char **argv)
{
    const char *path = argc > 2 ? argv[2] : "lesson21.ckpt";
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, IN));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(1));
    samba_tensor *h = samba_relu(samba_linear(x, "first", 12));
    samba_tensor *y = samba_linear(h, "second", KINDS);
    samba_tensor *loss = samba_cross_entropy(samba_name(y, "scores"), label);

    samba_program program = { .loss = loss, .outputs = { y }, .mapping = SAMBA_MAPPING_SPATIAL };
    program.optim = (samba_optim){ SAMBA_SGD, .lr = 0.2f };
    samba_compile(s, &program);
    uint32_t dice = 0;
    for (int step = 0; step < 400; step++) {
        float movement[IN];
        int32_t kind = sense(&dice, 1, false, movement);
        samba_write(x, movement);
        samba_write(label, &kind);
        samba_run(s, 0);
    }
    samba_save(s, path);

    static union {
        uint64_t align;
        uint8_t bytes[1 << 14];
    } file;
    samba_device_memory need;
    size_t size = read_file(path, file.bytes, sizeof file);
    samba_measure_device(file.bytes, size, NULL, &need, NULL, 0);
    if (argc < 3) remove(path);
    return samba_close(s) || live(file.bytes, size, need.bytes);
}
#endif

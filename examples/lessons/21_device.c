// Lesson 21: a net that learns on a microcontroller.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/21_device.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints, here and as the firmware of an emulated Cortex-M3,
// a small processor (`make lesson-device`). New: runtime, flash. Begin with live.
#include "device.h"
enum { IN = 8, KINDS = 4 };
// What a sensor shows of one of four movements; returns which one. Integers, as every machine has
// the same ones.
static int32_t sense(uint32_t *dice, int32_t mounted, float x[IN])
{
    static const char *const movement[KINDS] = { "01234567", "40404040", "00080000", "00006666" };
    *dice = *dice * 1664525u + 1013904223u;
    int32_t kind = (int32_t)(*dice >> 30), strength = mounted * (6 + (int32_t)(*dice >> 28 & 3));
    int32_t noise = (int32_t)(*dice >> 8 & 31) - 16;
    for (int i = 0; i < IN; i++) x[i] = (float)((movement[kind][i] - '0') * strength + noise) / 64;
    return kind;
}
// How many of 100 movements are recognized. It may learn from each, when it has guessed.
static uint32_t meet(samba_runtime *rt, uint32_t dice, int32_t mounted, bool learn)
{
    float *x = (float *)samba_runtime_data(rt, "x");
    const float *score = (const float *)samba_runtime_data(rt, "scores");
    int32_t *label = (int32_t *)samba_runtime_data(rt, "label");
    uint32_t right = 0;
    for (int i = 0; i < 100; i++) {
        int32_t best = 0;
        *label = sense(&dice, mounted, x);
        samba_runtime_run(rt, learn ? 0 : SAMBA_FWD);   // 0: forward, backward, step
        for (int32_t k = 1; k < KINDS; k++)
            if (score[k] > score[best]) best = k;
        right += best == *label;
    }
    return right;
}
static int live(const void *pef, size_t size, size_t ram)
{
    // 1. A microcontroller has some kilobytes of RAM, flash, from which programs and constants are
    //    read where they lie, and no malloc. The runtime takes a compiled program (lesson 19) and a
    //    block of memory, whose size is known beforehand. It is small, as batches have one row, SGD
    //    without momentum has no state, and a gradient is used as soon as it is complete and not
    //    kept: that is .mapping below, spatial.
    // > bytes of RAM: 3280
    static union { uint64_t align; uint8_t bytes[MEMORY]; } memory;
    char why[200];
    say("bytes of RAM:", (uint32_t)ram);
    samba_runtime *rt = samba_runtime_open(pef, size, memory.bytes, MEMORY, why, sizeof why);
    if (!rt) board_print(why);
    if (!rt) return 1;
    // 2. The factory's net knows movements of a device worn the right way up, 1. Here it hangs
    //    upside down, -1: all signs are turned, and it is wrong each time. The owner says what each
    //    movement was, and it learns: right of 100 before, meanwhile, and after. No data left the
    //    device. But it has forgotten the other way, of which it saw no more examples.
    // > upright:  100 #########################
    // > turned:    0
    // > learns:   51 ############
    // > learns:   85 #####################
    // > learns:   96 ########################
    // > turned:  100 #########################
    // > upright:    0
    say("upright:", meet(rt, 4, 1, false));
    say("turned:", meet(rt, 4, -1, false));
    for (uint32_t i = 1; i < 4; i++) say("learns:", meet(rt, i, -1, true));
    say("turned:", meet(rt, 4, -1, false));
    say("upright:", meet(rt, 4, 1, false));
    // 3. RAM forgets when the power goes, flash does not. But a page of flash must be erased before
    //    it is written, and the power may fail in between. So there are two slots: it saves to the
    //    older one, its header last, and one whole slot is always left. (device.h plays the flash.)
    //    Without a whole header a slot is not read. It takes a page of 256 bytes; weights and
    //    biases, 12 x 8 + 12 and 4 x 12 + 4 floats, 640 bytes, take three more.
    // > bytes of a slot: 1024
    // > restored:  100 #########################
    static const samba_storage storage = { SLOT, flash, NULL, NULL, write_flash, NULL };
    say("bytes of a slot:", (uint32_t)samba_runtime_state_bytes(rt));
    bool fine = samba_runtime_save(rt, &storage);
    memset(memory.bytes, 0, sizeof memory);             // the power goes, and comes
    rt = samba_runtime_open(pef, size, memory.bytes, MEMORY, why, sizeof why);
    fine = fine && samba_runtime_restore(rt, &storage);
    say("restored:", meet(rt, 4, -1, false));
    // Exercise 21a: a budget of RAM, pages of flash. Then answer:
    //   The power fails while the header of a slot is written. Which slot is read then?
    //   AdamW keeps two numbers for each parameter. What would it do to RAM and slot?
    return fine ? 0 : 1;
}
#if defined(LESSON_DEVICE)
int main(void)
{
    board_start();
    size_t ram = samba_runtime_bytes(lesson21_pef, lesson21_pef_size, NULL, 0);
    return live(lesson21_pef, lesson21_pef_size, ram);
}
#else
// The factory: trains, and writes the checkpoint that the device will have in flash.
int main(int argc, char **argv)
{
    static union { uint64_t align; uint8_t bytes[1 << 14]; } file;
    const char *path = argc > 2 ? argv[2] : "lesson21.ckpt";
    uint32_t dice = 0;
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, IN));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(1));
    samba_tensor *y = samba_linear(samba_relu(samba_linear(x, "first", 12)), "second", KINDS);
    samba_tensor *loss = samba_cross_entropy(samba_name(y, "scores"), label);
    samba_program p = { .loss = loss, .outputs = { y }, .mapping = SAMBA_MAPPING_SPATIAL };
    p.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = 0.2f };
    samba_compile(s, &p);
    for (int step = 0; step < 400; step++) {
        float movement[IN];
        int32_t kind = sense(&dice, 1, movement);
        samba_write(x, movement);
        samba_write(label, &kind);
        samba_run(s, 0);
    }
    samba_save(s, path);
    samba_device_memory need;
    size_t size = read_file(path, file.bytes, sizeof file);
    samba_measure_device(file.bytes, size, NULL, &need, NULL, 0);
    if (argc < 3) remove(path);
    return samba_close(s) || live(file.bytes, size, need.bytes);
}
#endif

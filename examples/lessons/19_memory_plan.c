// Lesson 19: sections and the memory plan: what samba_compile knows beforehand.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/19_memory_plan.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson plan.svg draws. New: section, arena.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include <string.h>
enum { B = 16, C = 16, LAYERS = 5, ARENA = 1, KIB = 1024 };     // each (B,C) has 1024 bytes
static union { uint64_t align; uint8_t bytes[1 << 16]; } file;
static void draw_box(picture *p, const samba_pef_symbol *t)
{
    double size = (double)t->size / KIB, top = (double)t->offset / KIB + size;
    if (!p->file) return;
    fprintf(p->file, "<rect class=\"plus\" fill-opacity=\"0.6\" x=\"%.1f\" y=\"%.1f\" ",
            picture_x(p, t->first), picture_y(p, top) + 1);
    fprintf(p->file, "width=\"%.1f\" height=\"%.1f\"><title>%s</title></rect>\n",
            picture_x(p, t->last - t->first + 1) - 1, picture_y(p, 8 - size) - 1, t->name);
}
// Five layers, compiled to infer, or to train in so many bytes (0: any). A PEF is the compiled
// program as a file: its ops, its tensors, and where they lie.
static samba_pef compile(bool inference, int64_t memory)
{
    samba_pef pef = { 0 };
    samba_session *s = samba_open(NULL);
    samba_tensor *h = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(B, C));
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(B, C));
    for (int i = 0; i < LAYERS; i++)
        h = samba_tanh(samba_linear(h, (char[]){ 'l', (char)('0' + i), 0 }, C));
    samba_program p = { .pef = "lesson19.pef", .memory = memory, .inference = inference };
    if (inference) p.outputs[0] = h;
    else p.loss = samba_mse(h, y, SAMBA_REDUCE_MEAN);
    p.optim.kind = inference ? SAMBA_NO_OPTIM : SAMBA_SGD;
    samba_compile(s, &p);
    samba_close(s);
    FILE *f = fopen(p.pef, "rb");
    size_t size = f ? fread(file.bytes, 1, sizeof file, f) : 0;
    if (f) fclose(f);
    samba_pef_open(&pef, file.bytes, size, NULL, 0);            // reads it, runs nothing
    remove(p.pef);
    remove("lesson19.pef.log");
    return pef;
}
// A row for each KiB. Flops, operations on floats: forward 5 (2 x 16^3 + 20 x 16^2), a tanh as 20.
static void show(samba_pef pef, picture *p)
{
    char map[8][64];
    int made = 0, peak = 0, flops = 0, n = 0, arena = (int)pef.arena_bytes;
    for (int i = 0; i < pef.n_sections; i++) {
        samba_pef_section section = samba_pef_section_at(&pef, i);
        printf("%s %d, ", samba_section_type_name(section.type), (int)section.n);
        if (section.type != SAMBA_OPT) n += (int)section.n;     // whose ops make nothing
    }
    picture_axes(p, 0, (n + 3) / 4 * 4, 0, 8, "op", "KiB");
    memset(map, '.', sizeof map);
    for (int at = 0; at < n; at++) {
        int alive = 0;
        for (int i = 0; i < pef.n_symbols; i++) {
            samba_pef_symbol t = samba_pef_symbol_at(&pef, i);
            if (t.region != ARENA || at < t.first || at > t.last) continue;
            char *cell = &map[t.offset / KIB][at];
            if (*cell == '.') alive += (int)t.size;     // else it is where its input was
            *cell = (char)(t.first < 26 ? 'a' + t.first : 'A' + t.first - 26);
            made += at == t.first ? (int)t.size : 0;
            if (at == t.first) draw_box(p, &t);
        }
        peak = alive > peak ? alive : peak;
        flops += (int)samba_pef_node_at(&pef, at).flops;
    }
    int others = (int)(pef.state_bytes + pef.readonly_bytes + pef.io_bytes);
    printf("%d flops; made %d, alive %d, arena %d, others %d\n", flops, made, peak, arena, others);
    for (int row = (arena - 1) / KIB; row >= 0; row--) printf("  %.*s\n", n, map[row]);
}
int main(int argc, char **argv)
{
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 3, "Memory forward, in training, in less",
                             "Boxes are live ranges; dark: a result in the place of its input.");
    // 1. Ops stand in a fixed order. A tensor is alive from the op that makes it to the last that
    //    reads it: its live range. Parameters, inputs and outputs, the others, have places of their
    //    own. All else lies in one block, the arena, where tensors that are never alive together
    //    share bytes. (Two alive would overwrite each other: samba_pef_open proves that none do.)
    //    A column is an op, a letter what it made. A product and its bias are one op, fused: the
    //    product alone needs no place. A tanh, which reads each number once, may write over its
    //    input, if nobody reads that again, as b does over a; a product may not. So to infer, two
    //    places serve. In bytes: all that was made, and the most that is alive at one op.
    //    All places are known before the first run, which allocates nothing. So all shapes must be
    //    known, too: texts of other lengths are padded, or get a program of their own.
    // > FWD 10, 66560 flops; made 9216, alive 2048, arena 2048, others 7488
    // >   ..cdd.ghh.
    // >   abb.eff.ii
    show(compile(true, 0), &p);
    // 2. Ops are in sections that can run by themselves: forward, backward, and optimizer (not
    //    in map and flops). Backward reads activations in reverse: the first wait the
    //    longest, so memory grows with depth, and with the batch. The largest get places first, at
    //    multiples of 64; no plan can do with less than what is alive at one op.
    //    Others: x, y, 4 bytes for each weight, 4 for its gradient; AdamW would take 8 more.
    // > FWD 13, BCKWD 23, OPT 11, 146689 flops; made 23560, alive 7172, arena 7232, others 13312
    // >   .............noo....................
    // >   ...........ll..pqrrrrr..............
    // >   ..........kkkkkk....................
    // >   ........ijjjjjjjjjsttttttt..........
    // >   ......ghhhhhhhhhhhhhh.wxxxxxxx......
    // >   ....effffffffffffffffffff.ABBBBBBB..
    // >   ..cdddddddddddddddddddddddddd.EFFFFF
    // >   abbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb...
    show(compile(false, 0), &p);
    // 3. With a limit, 18000 bytes for all tensors (17000 are refused), it drops activations of
    //    the first layers and makes them again when needed: a smaller arena, equal results, 9
    //    more ops backward. (Other ways to less: small batches, lesson 16; numbers of 16 bits.)
    // > FWD 13, BCKWD 32, OPT 11, 200193 flops; made 32776, alive 4100, arena 4160, others 13312
    // >   .............nooo............................
    // >   ................qrsssss...ABBBBBBBBB.........
    // >   ..........kll..pp.......yzz.CDDD......MNNN...
    // >   ..cdd.ghhhhhhhhhhhhhhh.xxxxxxxEEEEEEELLLOOOOO
    // >   abb.eff.ijjjjjjjjjjtuuuuuuuuuuuuuHIIIIIIIII..
    show(compile(false, 18000), &p);
    picture_close(&p);
    // Exercises 19a, 19b: live ranges and peak; places in the first gap that fits. Then answer:
    //   How many activations wait in a net of 100 layers when it infers, and when it trains?
    return 0;
}

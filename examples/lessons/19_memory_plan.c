// Lesson 19: sections and the memory plan: what samba_compile knows beforehand.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/19_memory_plan.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson plan.svg draws.
// New: live range, arena, recomputation. Next: 20_data_parallel.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"
#include <string.h>

enum { B = 16, C = 16, LAYERS = 5, ARENA = 1, KIB = 1024 }; // each tensor (B,C) has 1024 bytes

static union {
    uint64_t align;
    uint8_t bytes[1 << 16];
} file;

// Five layers, compiled to infer, or to train in so many bytes (0: any). A PEF is the compiled
// program as a file: its ops, its tensors (called symbols there), and where they lie.
static samba_pef compile(bool inference, int64_t memory)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *h = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(B, C));
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(B, C));
    for (int i = 0; i < LAYERS; i++) {
        char name[] = "l0";
        name[1] = (char)('0' + i);
        h = samba_tanh(samba_linear(h, name, C));
    }

    samba_program program = { .pef = "lesson19.pef", .memory = memory, .inference = inference };
    if (inference) {
        program.outputs[0] = h;
    } else {
        program.loss = samba_mse(h, y, SAMBA_REDUCE_MEAN);
        program.optim.kind = SAMBA_SGD;
    }
    samba_compile(s, &program);
    samba_close(s);

    FILE *f = fopen(program.pef, "rb");
    size_t size = f ? fread(file.bytes, 1, sizeof file, f) : 0;
    if (f) fclose(f);
    remove(program.pef);
    remove("lesson19.pef.log");
    remove("lesson19.pef.map");

    samba_pef pef = { 0 };
    samba_pef_open(&pef, file.bytes, size, NULL, 0); // reads it, runs nothing
    return pef;
}

// A tensor as a box: from its first op to its last, and over its bytes.
static void draw_box(picture *p, const samba_pef_symbol *t)
{
    if (!p->file) return;
    double size = (double)t->size / KIB;
    double top = (double)t->offset / KIB + size;
    double width = picture_x(p, t->last - t->first + 1) - 1;
    double height = picture_y(p, 8 - size) - 1;
    fprintf(p->file, "<rect class=\"plus\" fill-opacity=\"0.6\" x=\"%.1f\" y=\"%.1f\" ",
            picture_x(p, t->first), picture_y(p, top) + 1);
    fprintf(p->file, "width=\"%.1f\" height=\"%.1f\"><title>%s</title></rect>\n", width, height,
            t->name);
}

// Prints the sections, and returns how many ops make something: those of the optimizer make
// nothing.
static int show_sections(samba_pef *pef)
{
    int ops = 0;
    for (int i = 0; i < pef->n_sections; i++) {
        samba_pef_section section = samba_pef_section_at(pef, i);
        printf("%s %d, ", samba_section_type_name(section.type), (int)section.n);
        if (section.type != SAMBA_OPT) ops += (int)section.n;
    }
    return ops;
}

// What an op makes, by its letter.
static char letter(int op)
{
    return (char)(op < 26 ? 'a' + op : 'A' + op - 26);
}

// The plan: a column for each op, a row for each KiB of the arena. Flops are operations on floats.
// (Forward, that is 5 times 2 x 16^3 for a product and 20 x 16^2 for a tanh, which counts as 20.)
static void show(samba_pef pef, picture *p)
{
    char map[8][64];
    int made = 0, peak = 0, flops = 0;
    int ops = show_sections(&pef);
    int arena = (int)pef.arena_bytes;
    picture_axes(p, 0, (ops + 3) / 4 * 4, 0, 8, "op", "KiB");
    memset(map, '.', sizeof map);

    for (int at = 0; at < ops; at++) {
        int alive = 0;
        for (int i = 0; i < pef.n_symbols; i++) {
            samba_pef_symbol t = samba_pef_symbol_at(&pef, i);
            if (t.region != ARENA || at < t.first || at > t.last) continue;

            char *cell = &map[t.offset / KIB][at];
            bool is_free = *cell == '.'; // else it lies where its input was
            if (is_free) alive += (int)t.size;
            *cell = letter(t.first);
            if (at == t.first) {
                made += (int)t.size;
                draw_box(p, &t);
            }
        }
        peak = alive > peak ? alive : peak;
        flops += (int)samba_pef_node_at(&pef, at).flops;
    }

    int others = (int)(pef.state_bytes + pef.readonly_bytes + pef.io_bytes);
    printf("%d flops; made %d, alive %d, ", flops, made, peak);
    printf("arena %d, others %d\n", arena, others);
    for (int row = (arena - 1) / KIB; row >= 0; row--) {
        printf("  %.*s\n", ops, map[row]);
    }
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted
    picture p = picture_open(path, 3, "Memory forward, in training, in less",
                             "Boxes are live ranges; dark: a result in the place of its input.");

    // 1. Memory is short on every machine, and most tensors are needed only for a moment. A tensor
    //    is alive from the op that makes it to the last that reads it: its live range. As ops stand
    //    in a fixed order, all live ranges are known before the first run.
    //
    //    So tensors that are never alive together may share bytes. They lie in one block, the
    //    arena. Parameters, inputs and outputs, the others, have places of their own. (Two alive in
    //    one place would overwrite each other: samba_pef_open proves that none do.)

    // 2. To read the map: a column is an op, a row a KiB of the arena, a letter what an op made. A
    //    product and its bias are one op, fused: the product alone needs no place. A tanh, which
    //    reads each number once, may write over its input, if nobody reads that again, as b does
    //    over a. A product may not. So to infer, two places serve.
    //
    //    In bytes: all that was made, and the most that is alive at one op.
    // > FWD 10, 66560 flops; made 9216, alive 2048, arena 2048, others 7488
    // >   ..cdd.ghh.
    // >   abb.eff.ii
    show(compile(true, 0), &p);

    // 3. Such a plan has a price: all shapes must be known. Shorter texts are padded, filled up
    //    with a token that does not count, or get a program of their own. In return, a run
    //    allocates nothing.

    // 4. Training takes more, and here is why. Its ops are in sections that can run by themselves:
    //    forward, backward, and optimizer (not in map and flops). So one can look at gradients, or
    //    change them, before the step (lesson 20). Backward reads activations in reverse, so the
    //    first ones wait the longest. Memory grows with depth, and with the batch.
    //
    //    The largest get places first, at multiples of 64: small ones fit into gaps between large
    //    ones, not the other way round. No plan can do with less than what is alive at one op.
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

    // 5. If that is too much, time can be traded for memory. With a limit, 18000 bytes for all
    //    tensors (17000 are refused), it drops activations of the first layers, and makes them
    //    again when they are needed: recomputation. A smaller arena, equal results, 9 more ops
    //    backward.
    //
    //    (Other ways to less: small batches, lesson 16; numbers of 16 bits.)
    // > FWD 13, BCKWD 32, OPT 11, 200193 flops; made 32776, alive 4100, arena 4160, others 13312
    // >   .............nooo............................
    // >   ................qrsssss...ABBBBBBBBB.........
    // >   ..........kll..pp.......yzz.CDDD......MNNN...
    // >   ..cdd.ghhhhhhhhhhhhhhh.xxxxxxxEEEEEEELLLOOOOO
    // >   abb.eff.ijjjjjjjjjjtuuuuuuuuuuuuuHIIIIIIIII..
    show(compile(false, 18000), &p);
    picture_close(&p);

    // To think about:
    //   How many activations wait in a net of 100 layers when it infers, and when it trains?
    //
    // Now you: exercise 19a is live ranges and the peak, 19b gives places: the first gap that fits.
    // `make learn` begins with the first that is open, `tools/learn/learn.sh watch 19a` with 19a.
    return 0;
}

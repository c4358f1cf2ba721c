// Models whose names are as bad as names can be, for tests/tools/worst_model.py.
//     worst_model FOLDER: named.ckpt (a training), step.ckpt (inference), nan.replay, many.ckpt,
//     own.ckpt
// In a name, ZE stands for ESC and ZN for a newline, which tracing refuses: the test puts them in.
#define SAMBA_REPLAY_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/replay.h"
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
    "*/ { extern int system(const char *); system(\"touch pwned\"); } /*",
    "voil\xE0",
    "\xC0\x80",
    "cut\xF0",
    "cut\xF0\x9F\x98",
    "\xED\xA0\x80",
    "\xC2\x9B"
    "31mred\x7F",
    "</script><script>document.title = 1</script>&amp;<!--",
    "\"quoted' text\"",
    "back\\slash\\",
    "tri?\?/",
    "%s%n%d%",
    "ZEZE[2J",
    "lineZN#define EVILZN",
    "\xE2\x80\xAE"
    "trojan",
    "a/b.c__d",
    "//",
};

enum { N = sizeof names / sizeof *names, MANY = 6000 };

static bool save(samba_session *s, const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return samba_save_with(s, path, &(samba_save_opts){ .allow_nonfinite = true });
}

// Layers with these names, one after another; what is between them stays away from zero.
static samba_tensor *chain(samba_session *s)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 3));
    for (int i = 0; i < N; i++)
        x = samba_relu(samba_linear(x, names[i], 3));
    return x;
}

static bool named(const char *folder)
{
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    samba_tensor *y = chain(s);
    bool fine = samba_compile(s,
                              &(samba_program){ .loss = samba_mean(y, SAMBA_ALL_AXES, false),
                                                .optim = { .kind = SAMBA_SGD, .lr = 0.1f } });
    fine = fine && save(s, folder, "named.ckpt");
    if (!fine) puts(samba_error(s));
    samba_close(s);
    return fine;
}

static bool step(const char *folder)
{
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    bool fine = samba_compile(s, &(samba_program){ .outputs = { chain(s) }, .inference = true });
    fine = fine && save(s, folder, "step.ckpt");
    if (!fine) puts(samba_error(s));
    samba_close(s);
    return fine;
}

static bool replayed(const char *folder)
{
    char path[1024];
    static const float x[12] = { -5, -5, -5, 1, 2, 3, 0, 0, 0, 9, 9, 9 };
    snprintf(path, sizeof path, "%s/nan.replay", folder);
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    samba_tensor *h = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 3)), *in = h;
    for (int i = 0; i < N; i++)
        h = samba_linear(h, names[i], 3);
    h = samba_log(h);
    samba_program p
        = { .loss = samba_mean(h, SAMBA_ALL_AXES, false), .optim = { .kind = SAMBA_ADAMW } };
    bool fine = samba_compile(s, &p) && samba_write_bytes(in, x, sizeof x);
    samba_replay *r = fine ? samba_replay_open(s, path) : NULL;
    fine = r && !samba_replay_run(r, 0) && strstr(samba_error(s), "To see it");
    if (!fine) puts(samba_error(s));
    samba_replay_close(r);
    samba_clear_error(s);
    samba_close(s);
    return fine;
}

// Names that differ, and are the same identifier of C.
static bool many(const char *folder)
{
    char name[20];
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1));
    for (int i = 0; i < MANY; i++) {
        for (int bit = 0; bit < 15; bit++)
            name[bit] = i >> bit & 1 ? '+' : '-';
        name[15] = 0;
        x = samba_tanh(x);
        samba_name(x, name);
    }
    bool fine = samba_compile(
        s, &(samba_program){ .outputs = { x }, .inference = true, .level = SAMBA_O0 });
    fine = fine && save(s, folder, "many.ckpt");
    if (!fine) puts(samba_error(s));
    samba_close(s);
    return fine;
}

// An op that no tool has.
static void own_kernel(const samba_args *a)
{
    (void)a;
}

static bool own(const char *folder)
{
    static const samba_op op = {
        .name = "own_log", .wire = 0x8001, .signature = "*->*", .cost = 9, .kernel = own_kernel
    };
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    bool fine = samba_register_op(s, &op);
    samba_tensor *x = samba_linear(samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 3)), "a", 3);
    samba_tensor *y = samba_relu(samba_apply(s, "own_log", &x, 1, NULL, 0));
    fine = fine && samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true });
    fine = fine && save(s, folder, "own.ckpt");
    if (!fine) puts(samba_error(s));
    samba_close(s);
    return fine;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : ".";
    return !(named(folder) && step(folder) && replayed(folder) && many(folder) && own(folder));
}

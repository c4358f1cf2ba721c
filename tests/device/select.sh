#!/bin/sh
# tests/device/select.sh: the options that make the device half smaller. A net runs to the same bits
# whatever is left out, and a PEF that needs what was left out is refused.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/device_select log=build/device_select/log
mkdir -p $out
. tests/lib/test.sh
CC=${CC:-cc}

# Writes two nets with their values, and is tools/samba device-config.
cat >$out/models.c <<'END'
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tools/cli/device/commands.h"

static void save(samba_session *s, samba_tensor *logits, const char *path, int32_t kind)
{
    samba_tensor *labels = samba_input(s, "labels", SAMBA_I32, SAMBA_SHAPE(6));
    static const int32_t classes[6] = { 0, 2, 1, 1, 0, 2 };
    samba_program p = { .pef = path, .optim = { .kind = kind, .lr = 0.05f, .momentum = 0.5f } };
    samba_write(labels, classes);
    p.loss = samba_cross_entropy(logits, labels);
    p.outputs[0] = samba_softmax(logits, 1);
    samba_compile(s, &p); /* a PEF without values */
    if (!strstr(path, ".pef")) samba_save(s, path);
}

static int make_dense(const char *path)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(6, 40));
    samba_tensor *h = samba_relu(samba_linear(x, "fc1", 37));
    save(s, samba_linear(h, "fc2", 3), path, SAMBA_SGD);
    return samba_close(s);
}

static int make_images(const char *path)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(6, 2, 9, 9));
    samba_conv_opts conv = { .padding = { 1, 1 } };
    samba_pool_opts pool = { .kernel = { 2, 2 }, .stride = { 2, 2 } };
    samba_tensor *h = samba_max_pool2d(samba_relu(samba_conv2d(x, "conv", 5, 3, &conv)), &pool);
    save(s, samba_linear(samba_flatten(h, 1), "fc", 3), path, SAMBA_ADAMW);
    return samba_close(s);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "dense")) return make_dense(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "images")) return make_images(argv[2]);
    return argc > 1 && !strcmp(argv[1], "config") ? device_config_main(argc - 2, argv + 2) : 2;
}
END

# Trains on a PEF for some steps and prints a hash of all outputs and of all that was learned. With
# a second word the program has an op of its own, which is none.
cat >$out/device.c <<'END'
#define SAMBA_RUNTIME_ONLY
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include <stdio.h>

static union { uint64_t align; uint8_t bytes[1 << 20]; } file, memory;

static uint64_t hash_of(const samba_runtime *rt)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < rt->pef.n_symbols; i++) {
        samba__symbol s = samba__symbol_at(&rt->pef, i);
        const uint8_t *byte = (const uint8_t *)rt->data[i];
        if (s.region == SAMBA__REGION_ARENA) continue;
        for (uint64_t k = 0; k < samba__symbol_bytes(&rt->pef, &s); k++)
            hash = (hash ^ byte[k]) * 0x100000001b3u;
    }
    return hash;
}

int main(int argc, char **argv)
{
    char why[400] = "";
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    size_t size = f ? fread(file.bytes, 1, sizeof file.bytes, f) : 0;
    if (f) fclose(f);
    static const samba_op none;
    const samba_op *ops[1] = { &none };
    samba_runtime_desc desc = { ops, argc > 2 };
    size_t needed = samba_runtime_bytes_with(file.bytes, size, &desc, why, sizeof why);
    samba_runtime *rt = samba_runtime_open_with(file.bytes, size, memory.bytes, needed, &desc, why,
                                                sizeof why);
    if (!rt) {
        printf("refused: %s\n", why);
        return 3;
    }
    for (int step = 0; step < 5; step++)
        if (!samba_runtime_run(rt, 0)) return 4;
    printf("%016llx\n", (unsigned long long)hash_of(rt));
    return 0;
}
END

# names_line_of SENTENCE FILE: the refusal of FILE names the line of samba.h with SENTENCE.
names_line_of() {
    $out/textless "$2" >$out/said
    line=$(sed -n 's/^refused: samba.h:\([0-9]*\).*/\1/p' $out/said)
    sed -n "$((${line:-1} - 4)),$((${line:-1} + 4))p" samba.h >$out/lines
    check "a refusal names the line of: $1" grep -F "$1" $out/lines
}

device() { program=$1; shift; $CC -std=gnu99 -O0 -I. "$@" -o $out/$program $out/device.c -lm; }
config() { to=$1; shift; $out/models config -o $out/$to.h "$@"; }
dense=$out/dense.ckpt images=$out/images.ckpt

check 'the nets and device-config compile' build_with_samba -o $out/models $out/models.c \
    tools/cli/device/*.c tools/cli/util/*.c
for net in dense images; do
    check "$net is saved" $out/models $net $out/$net.ckpt
    check "device-config says what $net needs" config $net $out/$net.ckpt
done
check 'a program is compiled, and not saved' $out/models dense $out/bare.pef
check 'the device half compiles' device whole
check 'it compiles with the ops of one net' device dense -include $out/dense.h
check 'it compiles with those of another' device images -include $out/images.h
for net in dense images; do
    check "$net runs" to_file $out/$net.hash $out/whole $out/$net.ckpt
    check "$net: the same bits with its ops alone" fails_with 0 "$(cat $out/$net.hash)" \
        $out/$net $out/$net.ckpt
done
check 'an op that was left out is refused by its macro' fails_with 3 \
    'conv uses op convolution, which was left out: define SAMBA_USE_convolution' \
    $out/dense $out/images.ckpt

# Without texts a refusal says at which line of samba.h it stands. Compilers count the lines of a
# call from its beginning or from its end.
check 'device-config --no-texts' config textless --no-texts $dense
check 'it compiles without texts' device textless -include $out/textless.h
check 'dense: the same bits without texts' fails_with 0 "$(cat $out/dense.hash)" \
    $out/textless $out/dense.ckpt
head -c 3000 $out/images.ckpt >$out/cut.ckpt
names_line_of 'the file has %l bytes' $out/cut.ckpt
names_line_of 'is not known here' $out/images.ckpt
check 'an op that was left out is told by its number' fails_with 3 ' op 1025' \
    $out/textless $out/images.ckpt
check 'it has no sentence' sh -c "! strings $out/textless | grep -q 'is not known here'"

# A trusted PEF is not proved, and no other one runs.
check 'device-config --trust, of two nets' config trusted --trust $dense $images
check 'it compiles without the proof' device trusted -O1 -include $out/trusted.h
for net in dense images; do
    check "$net: the same bits without the proof" fails_with 0 "$(cat $out/$net.hash)" \
        $out/trusted $out/$net.ckpt
done
check 'it has no proof' sh -c "! strings $out/trusted | grep -q 'is not alive in its graph'"
{ head -c 5000 $out/dense.ckpt; printf 'x'; tail -c +5002 $out/dense.ckpt; } >$out/other.ckpt
check 'the other file has one other byte' fails_with 1 differ cmp $out/dense.ckpt $out/other.ckpt
for file in other cut; do
    check "$file: what is not trusted is refused" fails_with 3 'this is no file whose fingerprint' \
        $out/trusted $out/$file.ckpt
done

# Ops of the program's own are an op of this name.
check 'own ops were left out' fails_with 3 'define SAMBA_USE_own_ops' \
    $out/dense $out/dense.ckpt own
grep -v SAMBA_USE_I32 $out/dense.h >$out/own.h
check 'it compiles with own ops, and without i32' device own -include $out/own.h \
    -DSAMBA_USE_own_ops
check 'own ops are looked at' fails_with 3 'op 0 of samba_runtime_desc lacks a name' \
    $out/own $out/dense.ckpt own

check 'a type that was left out is refused' fails_with 3 \
    'is of type i32, which was left out' $out/own $out/dense.ckpt

# device-config itself
check 'its help' fails_with 0 'usage: tools/samba device-config' $out/models config --help
check 'it wants a program' fails_with 2 'which program?' $out/models config
check 'it wants what is one' fails_with 1 'not a PEF' $out/models config $out/device.c
check 'it has no such flag' fails_with 2 'there is no flag --tiny' $out/models config $dense --tiny
check 'a program without values is not trusted' fails_with 1 'has no value' \
    $out/models config --trust $out/bare.pef
finish

#!/bin/sh
# tests/device/import.sh: what a device has learned and saved becomes a checkpoint of the host, the
# same file that the host writes after so many steps, whichever slot is the newest whole one.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/device_import log=build/device_import/log
mkdir -p $out
. tests/lib/test.sh
CC=${CC:-cc}

# host make MODEL NET: a checkpoint that has learned nothing, and MODEL.pef without values.
# host train MODEL STEPS TO: one that has.
cat >$out/host.c <<'END'
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/device_nets.h"

static int make(const char *path, const char *net)
{
    int i = 0;
    char pef[300];
    samba_program p = { .pef = pef };
    samba_session *s = samba_open(&(samba_desc){ .seed = 5 });
    snprintf(pef, sizeof pef, "%s.pef", path);
    while (i < DEVICE_NETS - 1 && strcmp(device_nets[i].name, net)) i++;
    device_net_compile(s, i, &p);
    samba_save(s, path);
    return samba_close(s);
}

static int train(const char *model, int steps, const char *to)
{
    samba_session *s = samba_open(NULL);
    samba_load(s, model, NULL);
    device_net_fill(s, &(samba_program){ .microbatches = 1 });
    for (int i = 0; i < steps; i++) {
        if (i == 3) samba_set(s, "lr", 0.01f);
        samba_run(s, 0);
    }
    samba_save(s, to);
    return samba_close(s);
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "make")) return make(argv[2], argv[3]);
    if (argc == 5 && !strcmp(argv[1], "train")) return train(argv[2], atoi(argv[3]), argv[4]);
    return 1;
}
END

# device MODEL STATE FIRST SECOND: saves after FIRST steps, and after SECOND, if that is more.
cat >$out/device.c <<'END'
#define SAMBA_RUNTIME_ONLY
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include <stdio.h>
#include <stdlib.h>

enum { SLOT = 1 << 17 };

static union { uint64_t align; uint8_t bytes[1 << 20]; } file, memory;
static uint8_t flash[2 * SLOT];

static bool erase(size_t offset, size_t n, void *user)
{
    (void)user;
    memset(flash + offset, 0xFF, n);
    return true;
}

static bool write(size_t offset, const void *bytes, size_t n, void *user)
{
    (void)user;
    memcpy(flash + offset, bytes, n);
    return true;
}

static void fill_inputs(samba_runtime *rt)
{
    samba_runtime_symbol q;
    for (int32_t i = 0; samba_runtime_symbol_at(rt, i, &q); i++)
        for (size_t k = 0; q.role == SAMBA_ROLE_INPUT && k < q.bytes / 4; k++) {
            if (q.spec.dtype == SAMBA_I32) ((int32_t *)q.data)[k] = (int32_t)(k % 3);
            else ((float *)q.data)[k] = (float)(k * 7 % 23) / 16 - 0.6f;
        }
}

int main(int argc, char **argv)
{
    char why[400] = "";
    if (argc != 5) return 1;
    FILE *f = fopen(argv[1], "rb");
    size_t size = f ? fread(file.bytes, 1, sizeof file.bytes, f) : 0;
    if (f) fclose(f);
    samba_runtime *rt = samba_runtime_open(file.bytes, size, memory.bytes, sizeof memory, why,
                                           sizeof why);
    samba_storage storage = { .slot_size = SLOT, .memory = flash, .erase = erase, .write = write };
    printf("%s\n", why);
    if (!rt) return 1;
    fill_inputs(rt);
    memset(flash, 0xFF, sizeof flash);
    for (int i = 1; i <= atoi(argv[3]) || i <= atoi(argv[4]); i++) {
        if (i == 4 && !samba_runtime_set(rt, "lr", 0.01f)) return 1;
        if (!samba_runtime_run(rt, 0)) return 1;
        bool saves = i == atoi(argv[3]) || i == atoi(argv[4]);
        if (saves && !samba_runtime_save(rt, &storage)) return 1;
    }
    f = fopen(argv[2], "wb");
    return !f || fwrite(flash, 1, sizeof flash, f) != sizeof flash || fclose(f);
}
END

narrow="-m32 -malign-double -msse2 -mfpmath=sse"    # 32 bits, if this machine has them
echo 'int main(void) { return sizeof(void *) != 4; }' >$out/narrow.c
# shellcheck disable=SC2086
$CC $narrow -o $out/narrow $out/narrow.c 2>/dev/null && $out/narrow || narrow=
check 'the host compiles' build_with_samba -o $out/host $out/host.c
# shellcheck disable=SC2086
check 'the device compiles' $CC -std=gnu99 -O1 $narrow -I. -o $out/device $out/device.c -lm
check 'the tool compiles' build_with_samba -o $out/tool tools/cli/device.c tools/cli/device/*.c \
    tools/cli/util/*.c
import() { $out/tool device-import "$@"; }

for net in mlp_sgd mlp_adamw dropped conv_train; do
    model=$out/$net.ckpt
    check "$net: a model" $out/host make $model $net
    for steps in 4 7; do
        check "$net: the host trains $steps steps" $out/host train $model $steps $out/$net.$steps
    done
    check "$net: the device trains 7 steps" $out/device $model $out/state 4 7
    check "$net: its state is imported" import $model $out/state -o $out/new.ckpt
    check "$net: it is the host's checkpoint, bit for bit" cmp $out/new.ckpt $out/$net.7
    check "$net: the model stays" fails_with 1 differ cmp $model $out/$net.7
    # the second save lies in slot 1; damaged, it leaves the first one
    { head -c 131072 $out/state; head -c 131072 /dev/zero; } >$out/torn
    check "$net: a torn slot leaves the one before" import $model $out/torn -o $out/new.ckpt
    check "$net: that is the host's after 4 steps" cmp $out/new.ckpt $out/$net.4
    { cat $out/state; head -c 5000 /dev/zero; } >$out/dump
    check "$net: a dump with more behind the slots" import $model $out/dump --slot 128k \
        -o $out/new.ckpt
    check "$net: it is the newest one, too" cmp $out/new.ckpt $out/$net.7
done

rm -f $out/none.ckpt
head -c 262144 /dev/zero | tr '\000' '\377' >$out/erased
check 'an erased flash has nothing' fails_with 1 'nothing was saved here yet' \
    import $model $out/erased -o $out/none.ckpt
check 'the state of another model is refused' fails_with 1 'saved by another PEF' \
    import $out/mlp_sgd.ckpt $out/state -o $out/none.ckpt
{ head -c 300 $out/state; head -c 130772 /dev/zero; } >$out/half
cat $out/half $out/half >$out/broken
check 'without a whole slot there is no state' fails_with 1 'no slot of the storage is whole' \
    import $model $out/broken -o $out/none.ckpt
head -c 600 $out/state >$out/short
check 'a file that is too short' fails_with 1 'two slots of at least' \
    import $model $out/short -o $out/none.ckpt
check 'a slot that is too large' fails_with 1 'say how large they are' \
    import $model $out/state --slot 256k -o $out/none.ckpt
check 'a slot of no size' fails_with 2 'such as 65536 or 64k' \
    import $model $out/state --slot x -o $out/none.ckpt
check 'a PEF without values' fails_with 1 'not a checkpoint' \
    import $model.pef $out/state -o $out/none.ckpt
check 'no such state' fails_with 1 'nothing.bin' import $model $out/nothing.bin -o $out/none.ckpt
check 'a folder that is not there' fails_with 1 'nowhere' \
    import $model $out/state -o $out/nowhere/new.ckpt
check 'no name for what is made' fails_with 2 'which files' import $model $out/state
check 'nothing was written for these' [ ! -e $out/none.ckpt ]
finish

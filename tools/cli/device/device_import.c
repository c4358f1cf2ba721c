// tools/samba device-import: what a device has learned, back into a checkpoint of the host.
#include "commands.h"
#include "program.h"
#include <stdlib.h>
#include <string.h>

typedef struct options {
    const char *model, *state, *to;
    uint64_t slot; // bytes; 0: half of the file
} options;

static int usage(FILE *to)
{
    fprintf(
        to,
        "usage: tools/samba device-import MODEL.ckpt STATE.bin -o NEW.ckpt [--slot BYTES]\n"
        "  MODEL.ckpt: the checkpoint that the device runs; STATE.bin: a copy of the two slots\n"
        "  that samba_runtime_save wrote there, each half of the file, or BYTES large (64k);\n"
        "  NEW.ckpt: the newest whole state, as if the host had trained so far\n");
    return to == stdout ? 0 : 2;
}

// The model as a device runs it.
typedef struct device {
    samba_runtime *rt;
    void *memory;
} device;

static bool open_device(device *d, const program *p, const char *path, fault *why)
{
    char reason[1024];
    size_t size = samba_runtime_bytes(p->bytes, p->size, reason, sizeof reason);
    d->memory = malloc(size);
    if (!d->memory) return fail(why, "no memory for the %zu bytes that %s takes", size, path);
    d->rt = samba_runtime_open(p->bytes, p->size, d->memory, size, reason, sizeof reason);
    return d->rt || fail(why, "%s: %s", path, reason);
}

// Takes the newest whole slot of the file.
static bool take_state(const device *d, const options *o, fault *why)
{
    size_t size = 0, needed = samba_runtime_state_bytes(d->rt);
    char reason[1024], *bytes = read_file(o->state, &size, why);
    if (!bytes) return false;
    uint64_t slot = o->slot ? o->slot : size / 2;
    samba_storage storage = { .slot_size = (size_t)slot, .memory = bytes };
    bool fine = slot >= needed && slot <= size / 2 && slot % SAMBA_PAGE == 0
        && (o->slot || size % 2 == 0);
    if (!fine)
        fail(why,
             "%s has %zu bytes: two slots of at least %zu bytes, a multiple of %d, are needed; "
             "if more lies behind them, say how large they are with --slot",
             o->state, size, needed, SAMBA_PAGE);
    else if (!samba_runtime_restore(d->rt, &storage)) {
        samba_runtime_error(d->rt, reason, sizeof reason);
        fine = fail(why, "%s: %s", o->state, reason);
    }
    free(bytes);
    return fine;
}

// Does a slot have it? What no run changes is in the model already.
static bool is_trained(const symbol *s)
{
    bool kept = s->role == SAMBA_ROLE_WEIGHT || s->role == SAMBA_ROLE_STATE
        || s->role == SAMBA_ROLE_ARGIN;
    return kept && s->view_of < 0 && s->region != REGION_READONLY;
}

static bool write_checkpoint(const device *d, const program *p, const options *o, fault *why)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    bool fine = samba_load(s, o->model, NULL);
    for (int32_t i = 0; fine && i < p->pef.n_symbols; i++) {
        samba_runtime_symbol learned;
        if (!is_trained(&p->symbols[i])) continue;
        fine = samba_runtime_symbol_at(d->rt, i, &learned)
            && samba_write_bytes(samba_tensor_by_name(s, learned.name), learned.data,
                                 learned.bytes);
    }
    fine = fine && samba_save(s, o->to);
    if (!fine) fail(why, "%s", samba_error(s));
    samba_close(s);
    return fine;
}

static bool read_slot(uint64_t *size, const char *text, fault *why)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    bool kilo = *end == 'k' || *end == 'K';
    bool digits = *text >= '0' && *text <= '9' && n > 0 && n < (1ull << 40);
    if (kilo) end++;
    if (!digits || *end)
        return fail(why, "--slot %s: give a number of bytes, such as 65536 or 64k", text);
    *size = kilo ? n * 1024 : n;
    return true;
}

static bool read_words(options *o, int argc, char **argv, fault *why)
{
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(word, "-o") == 0 || strcmp(word, "--slot") == 0) {
            if (!value) return fail(why, "%s: something has to follow; see --help", word);
            if (word[1] == 'o')
                o->to = value;
            else if (!read_slot(&o->slot, value, why))
                return false;
            i++;
        } else if (*word == '-')
            return fail(why, "there is no flag %s; --help lists those there are", word);
        else if (!o->model)
            o->model = word;
        else if (!o->state)
            o->state = word;
        else
            return fail(why, "%s: a model and a state are enough", word);
    }
    return (o->model && o->state && o->to)
        || fail(why, "which files? device-import MODEL.ckpt STATE.bin -o NEW.ckpt");
}

int device_import_main(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return usage(stdout);
    options o = { 0 };
    program p = { 0 };
    device d = { 0 };
    fault why = { "" };
    if (!read_words(&o, argc, argv, &why)) return report_fault("device-import", &why, 2);
    bool fine = open_program(&p, o.model, &why) && has_values(&p, &why)
        && open_device(&d, &p, o.model, &why) && take_state(&d, &o, &why)
        && write_checkpoint(&d, &p, &o, &why);
    free(d.memory);
    close_program(&p);
    return fine ? 0 : report_fault("device-import", &why, 1);
}

// tools/samba train-tokenizer: learns a byte-level BPE vocabulary from text files.
#include "tools/cli/commands.h"
#include "tools/cli/util/files.h"
#include "tools/include/samba/tokenizer.h"
#include "tools/cli/util/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(FILE *to)
{
    fprintf(to,
            "usage: tools/samba train-tokenizer --vocab_size N --output_path FOLDER FILE...\n"
            "  Writes FOLDER/vocab.json and FOLDER/merges.txt: 256 bytes, then N - 257 merges\n"
            "  by frequency, then <|endoftext|>. Of a .jsonl file all of the text counts.\n");
    return to == stdout ? 0 : 2;
}

// Appends the file to text; a zero follows.
static bool append_file(char **text, size_t *size, const char *path, fault *why)
{
    size_t n = 0;
    char *more = read_file(path, &n, why);
    char *all = more ? (char *)realloc(*text, *size + n + 1) : NULL;
    if (more && !all) fail(why, "no memory for %s", path);
    if (all) {
        memcpy(all + *size, more, n);
        all[*size + n] = 0;
        *text = all;
        *size += n;
    }
    free(more);
    return all != NULL;
}

static bool train(char *const *paths, int n, int32_t vocab_size, const char *folder, fault *why)
{
    char reason[500], *text = NULL;
    size_t size = 0;
    bool fine = make_folders(folder, why);
    for (int i = 0; fine && i < n; i++)
        fine = append_file(&text, &size, paths[i], why);
    if (fine) {
        samba_tokenizer *t = samba_tokenizer_train(text, size, vocab_size, reason, sizeof reason);
        fine = t && samba_tokenizer_save(t, folder, reason, sizeof reason);
        if (fine)
            printf("%s: %d tokens from %zu bytes\n", shown(folder), samba_tokenizer_size(t), size);
        else
            fail(why, "%s", reason);
        samba_tokenizer_close(t);
    }
    free(text);
    return fine;
}

int train_tokenizer_main(int argc, char **argv)
{
    const char *folder = NULL;
    long vocab_size = 0;
    int n = 0;
    fault why = { 0 };
    for (int i = 0; i < argc; i++) {
        char *end = NULL;
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return usage(stdout);
        if (!strcmp(argv[i], "--output_path") && i + 1 < argc)
            folder = argv[++i];
        else if (!strcmp(argv[i], "--vocab_size") && i + 1 < argc) {
            vocab_size = strtol(argv[++i], &end, 10);
            if (*end || vocab_size < 257 || vocab_size > 10000000) {
                fprintf(stderr, "samba: --vocab_size is %s; it may be 257 ... 10000000\n",
                        shown(argv[i]));
                return 2;
            }
        } else if (!strncmp(argv[i], "--", 2))
            return usage(stderr);
        else
            argv[n++] = argv[i];
    }
    if (!folder || !vocab_size || !n) return usage(stderr);
    if (train(argv, n, (int32_t)vocab_size, folder, &why)) return 0;
    return report_fault("train-tokenizer", &why, 1);
}

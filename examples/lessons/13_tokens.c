// Lesson 13: text becomes tokens, by byte pair encoding.
//     cc -O1 -o lesson examples/lessons/13_tokens.c -lm && ./lesson
// Lines after `>` are what this program prints; ./lesson tokens.svg draws.
// New: token, vocabulary, merge. Next: 14_attention.c
#include "picture.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// Steps 1 to 3 stand above their functions, the others in main.
enum { BYTES = 256, MERGES = 20 };

static const char text[] =
    "she sells sea shells by the sea shore. the shells she sells are sea shells, i am sure.";
static const char other[] = "he sells the shoes on seashells";

// 1. A net wants ids (lesson 12), and a text is bytes. (A letter with an accent is two of them,
//    which may be joined like any others.) An id for each word? Then shell and shells have nothing
//    in common, and a new word has no id. One for each of 256 bytes? Then no text is unknown, but
//    it is long, and so is the net's work.
//
//    Go between: begin with bytes, and give what often stands side by side an id of its own. These
//    pieces are tokens; together they are the vocabulary. Token 0 ... 255 is a byte. Every other
//    one, 256 + m, is a pair of tokens, left[m] and right[m], joined.
static int32_t left[MERGES], right[MERGES];

static void print_token(int32_t id)
{
    if (id < BYTES) {
        putchar(id);
        return;
    }
    print_token(left[id - BYTES]);
    print_token(right[id - BYTES]);
}

static void print_tokens(const int32_t *ids, int n)
{
    for (int i = 0; i < n; i++) {
        print_token(ids[i]);
        putchar(i + 1 < n ? '|' : ' ');
    }
    printf("(%d)\n", n);
}

// 2. The text itself says which pairs deserve an id. Find the pair that stands there most often
//    ('sss' has 'ss' twice), of equals the first in the text, and join it everywhere: this is a
//    merge. And again: that is byte pair encoding. Why the most frequent? A pair that is joined 7
//    times makes the text 7 tokens shorter. Then keep the table, as by another each id means
//    something else.
//
//    No token reaches over a space: else the vocabulary would fill with what is in two words by
//    chance, such as 's b'. (In GPT-2 the space begins the token of the next word, and dots stand
//    apart; here they do not.)
static int how_often(const int32_t *ids, int n, int32_t a, int32_t b)
{
    int found = 0;
    for (int i = 0; i + 1 < n; i++) {
        found += ids[i] == a && ids[i + 1] == b;
    }
    return found;
}

// Sets a and b to the pair, and returns how often it is there. (Exercise 13a counts faster: all
// pairs in one pass.)
static int most_frequent(const int32_t *ids, int n, int32_t *a, int32_t *b)
{
    int most = 0;
    for (int i = 0; i + 1 < n; i++) {
        if (ids[i] == ' ' || ids[i + 1] == ' ') continue;
        int found = how_often(ids, n, ids[i], ids[i + 1]);
        if (found <= most) continue;
        most = found;
        *a = ids[i];
        *b = ids[i + 1];
    }
    return most;
}

// Puts the token joined wherever a stands before b; returns how many tokens there are then.
static int merge(int32_t *ids, int n, int32_t a, int32_t b, int32_t joined)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        bool is_pair = i + 1 < n && ids[i] == a && ids[i + 1] == b;
        ids[kept++] = is_pair ? joined : ids[i];
        if (is_pair) i++; // b is used up
    }
    return kept;
}

// 3. A new text must become the same ids each time. To encode it, take its bytes, then do the
//    merges in the order in which they were learned. 'she' joins 's' and 'he', so 'he' must be made
//    first: in another order, other ids may come out.
static int encode(const char *from, int merges, int32_t *ids)
{
    int n = (int)strlen(from);
    for (int i = 0; i < n; i++) {
        ids[i] = (unsigned char)from[i];
    }
    for (int m = 0; m < merges; m++) {
        n = merge(ids, n, left[m], right[m], BYTES + m);
    }
    return n;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted

    // 4. Let it learn, and look at the first twelve merges, and how often each pair was found:
    //    'she' is 's' and 256. What is found only once, as 'by', helps elsewhere less. From there
    //    on, this text is rather learned by heart.
    // > 256 'he' x7, 257 'she' x5, 258 'se' x5, 259 'll' x5
    // > 260 'lls' x5, 261 'sea' x3, 262 'shells' x3, 263 're' x3
    // > 264 'sells' x2, 265 'the' x2, 266 're.' x2, 267 'by' x1
    int32_t ids[sizeof text];
    int n = encode(text, 0, ids);
    for (int m = 0; m < MERGES; m++) {
        int found = most_frequent(ids, n, &left[m], &right[m]);
        n = merge(ids, n, left[m], right[m], BYTES + m);
        if (m >= 12) continue;
        printf("%d '", BYTES + m);
        print_token(BYTES + m);
        printf("' x%d%s", found, m % 4 < 3 ? ", " : "\n");
    }

    // 5. The test is a text it has not learned from. seashells was no word there, but its parts
    //    were; shoes stays bytes. To decode ids, print their texts in a row: every byte comes back.
    //
    //    But a net sees the ids alone. How many s there are in 261 262, it can only know by heart.
    // > h|e| |s|e|l|l|s| |t|h|e| |s|h|o|e|s| |o|n| |s|e|a|s|h|e|l|l|s (31)
    // > he| |sells| |the| |s|h|o|e|s| |o|n| |sea|shells (17)
    // > 256 32 264 32 265 32 115 104 111 101 115 32 111 110 32 261 262
    n = encode(other, 0, ids);
    print_tokens(ids, n);
    n = encode(other, 12, ids);
    print_tokens(ids, n);
    for (int i = 0; i < n; i++) {
        printf("%d%c", (int)ids[i], i + 1 < n ? ' ' : '\n');
    }

    // 6. How many merges? More ids make shorter texts; but each costs a row of the embedding, and
    //    rows seldom used learn seldom. The last 8 merges make the first text shorter by a fifth,
    //    the new one by an eighth. Models take 30,000 to 250,000.
    //
    //    To compare the losses of two nets with different tokens, divide their sum by the text's
    //    bytes: to guess one long token is to guess several short ones at once, and costs more.
    // > 256 ids: 86 tokens, and 31
    // > 268 ids: 43 tokens, and 17
    // > 276 ids: 35 tokens, and 15
    float merges[MERGES + 1], learned[MERGES + 1], new[MERGES + 1];
    for (int m = 0; m <= MERGES; m++) {
        merges[m] = (float)m;
        learned[m] = (float)encode(text, m, ids);
        new[m] = (float)encode(other, m, ids);
        if (m == 0 || m == 12 || m == MERGES) {
            printf("%d ids: %g tokens, ", BYTES + m, (double)learned[m]);
            printf("and %g\n", (double)new[m]);
        }
    }

    picture p = picture_open(path, 1, "Tokens of two texts",
        "Merges make the text they were learned from shorter, a new one mostly at first.");
    picture_axes(&p, 0, MERGES, 0, 88, "merges", "tokens");
    picture_line(&p, merges, learned, MERGES + 1, "learned");
    picture_line(&p, merges, new, MERGES + 1, "new");
    picture_close(&p);

    // To think about:
    //   In a longer text, token 258, 'se', may never be left. May it be taken out of the table?
    //   Net A reads bytes and has a loss of 2 for each, net B reads tokens of 4 bytes and has one
    //   of 4 for each. Which one knows the text better?
    //
    // Now you: exercise 13a counts pairs, 13b merges one. `make learn` begins with the first that
    // is open, `tools/learn/learn.sh watch 13a` with 13a.
    return 0;
}

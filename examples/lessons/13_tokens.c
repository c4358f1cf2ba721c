// Lesson 13: text becomes tokens, by byte pair encoding.
//     cc -O1 -o lesson examples/lessons/13_tokens.c -lm && ./lesson
// Lines after `>` are what this program prints; ./lesson tokens.svg draws. New: token, vocabulary.
// Steps 1 to 3 stand above their functions, the others in main.
#include "picture.h"
#include <stdint.h>
#include <string.h>
enum { BYTES = 256, MERGES = 20 };
static const char text[] =
    "she sells sea shells by the sea shore. the shells she sells are sea shells, i am sure.";
static const char other[] = "he sells the shoes on seashells";
static int32_t left[MERGES], right[MERGES];         // token 256 + m is left[m] and right[m], joined
// 1. A net wants ids (lesson 12), a text is bytes. An id for each word? Then shell and shells have
//    nothing in common, and a new word has no id. One for each of 256 bytes? Then no text is
//    unknown, but it is long, and so is the net's work. In between: begin with bytes, and give what
//    often stands side by side an id of its own. These pieces are tokens, together they are the
//    vocabulary. Token 0 ... 255 is a byte, every other one a pair of tokens.
static void print_token(int32_t id)
{
    if (id >= BYTES) print_token(left[id - BYTES]);
    if (id >= BYTES) print_token(right[id - BYTES]);
    else putchar(id);
}
static void print_tokens(const int32_t *ids, int n)
{
    for (int i = 0; i < n; i++) {
        print_token(ids[i]);
        putchar(i + 1 < n ? '|' : ' ');
    }
    printf("(%d)\n", n);
}
// 2. To learn: find the pair that stands there most often ('sss' has 'ss' twice), of equals the
//    first in the text; join it everywhere; and again. Then keep the table: by another each id
//    means something else. No token reaches over a space: else the vocabulary would fill with what
//    is in two words by chance, such as 's b'. (In GPT-2 the space begins the token of the next
//    word; dots stand apart, here they do not.) Exercise 13a counts faster: all pairs in one pass.
static int most_frequent(const int32_t *ids, int n, int32_t *a, int32_t *b)
{
    int most = 0;
    for (int i = 0; i + 1 < n; i++) {
        int found = 0;
        for (int k = 0; k + 1 < n; k++) found += ids[k] == ids[i] && ids[k + 1] == ids[i + 1];
        if (found <= most || ids[i] == ' ' || ids[i + 1] == ' ') continue;
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
        int pair = i + 1 < n && ids[i] == a && ids[i + 1] == b;
        ids[kept++] = pair ? joined : ids[i];
        i += pair;                                  // b is used up
    }
    return kept;
}
// 3. To encode a text: its bytes, then the merges in the order they were learned in. 'she' joins
//    's' and 'he', so 'he' must be made first: in another order, other ids may come out.
static int encode(const char *from, int merges, int32_t *ids)
{
    int n = (int)strlen(from);
    for (int i = 0; i < n; i++) ids[i] = (unsigned char)from[i];
    for (int m = 0; m < merges; m++) n = merge(ids, n, left[m], right[m], BYTES + m);
    return n;
}
int main(int argc, char **argv)
{
    int32_t ids[sizeof text], n = encode(text, 0, ids);
    float merges[MERGES + 1], mine[MERGES + 1], theirs[MERGES + 1];
    // The first twelve, and how often each was found: 'she' is 's' and 256. What is found only
    // once, as 'by', helps elsewhere less: from here on, this text is rather learned by heart.
    // > 256 'he' x7, 257 'she' x5, 258 'se' x5, 259 'll' x5
    // > 260 'lls' x5, 261 'sea' x3, 262 'shells' x3, 263 're' x3
    // > 264 'sells' x2, 265 'the' x2, 266 're.' x2, 267 'by' x1
    for (int m = 0; m < MERGES; m++) {
        int found = most_frequent(ids, n, &left[m], &right[m]);
        n = merge(ids, n, left[m], right[m], BYTES + m);
        if (m < 12) printf("%d '", BYTES + m);
        else continue;
        print_token(BYTES + m);
        printf("' x%d%s", found, m % 4 < 3 ? ", " : "\n");
    }
    // 4. A text it has not learned from: seashells was no word there, its parts were; shoes stays
    //    bytes. To decode ids, print their texts in a row: every byte comes back. But a net sees
    //    the ids alone; how many s there are in 261 262, it can only know by heart.
    // > h|e| |s|e|l|l|s| |t|h|e| |s|h|o|e|s| |o|n| |s|e|a|s|h|e|l|l|s (31)
    // > he| |sells| |the| |s|h|o|e|s| |o|n| |sea|shells (17)
    // > 256 32 264 32 265 32 115 104 111 101 115 32 111 110 32 261 262
    print_tokens(ids, encode(other, 0, ids));
    print_tokens(ids, n = encode(other, 12, ids));
    for (int i = 0; i < n; i++) printf("%d%c", (int)ids[i], i + 1 < n ? ' ' : '\n');
    // 5. More ids, shorter texts; but each costs a row of the embedding, and rows seldom used learn
    //    seldom. The last 8 merges make the first text shorter by a fifth, the new by an eighth.
    //    Models take 30,000 to 250,000. To compare losses, divide their sum by the text's bytes.
    // > 256 ids: 86 tokens, and 31
    // > 268 ids: 43 tokens, and 17
    // > 276 ids: 35 tokens, and 15
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 1, "Tokens of two texts", "Merges make the "
                             "text they were learned from shorter, a new one mostly at first.");
    for (int m = 0; m <= MERGES; m++) {
        merges[m] = (float)m;
        mine[m] = (float)encode(text, m, ids);
        theirs[m] = (float)encode(other, m, ids);
        if (m == 0 || m == 12 || m == MERGES)
            printf("%d ids: %g tokens, and %g\n", BYTES + m, (double)mine[m], (double)theirs[m]);
    }
    picture_axes(&p, 0, MERGES, 0, 88, "merges", "tokens");
    picture_line(&p, merges, mine, MERGES + 1, "learned");
    picture_line(&p, merges, theirs, MERGES + 1, "new");
    picture_close(&p);
    // Exercises 13a, 13b: count pairs, merge a pair. Then answer:
    //   In a longer text, token 258, 'se', may never be left. May it be taken out of the table?
    //   Net A reads bytes and has a loss of 2 for each, net B reads tokens of 4 bytes and has one
    //   of 4 for each. Which one knows the text better?
    return 0;
}

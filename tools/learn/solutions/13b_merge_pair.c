// Hint 1: Use two places: one that reads, and one that writes and falls behind with each merge.
// Hint 2: If the tokens at i and i + 1 are a and b, write the new one and go on by two; otherwise
//   copy one and go on by one. Is there a token at i + 1?
// Hint 3: int m = 0; the loop runs while i < n without counting by itself; the test is i + 1 < n
//   && token[i] == a && token[i + 1] == b; it returns m.
// Why: m is never larger than i, so nothing is overwritten before it was read. That is what makes
//   it safe in place, in n steps and without a second array.
// Another way: A linked list of tokens, and for each pair a list of its places: a merge then costs
//   as much as the pair occurs, not as the text is long. Fast tokenizers do it so.
// A tempting wrong way: memmove of the rest at each merge. It is right, and takes n n steps: a
//   book of a million letters never ends.
int merge(int *token, int n, int a, int b, int new_token)
{
    int m = 0;
    for (int i = 0; i < n; m++) {
        int pair = i + 1 < n && token[i] == a && token[i + 1] == b;
        token[m] = pair ? new_token : token[i];
        i += pair ? 2 : 1;
    }
    return m;
}

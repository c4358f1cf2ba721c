// The program that knows an exercise: the judge with the functions of the solution, and of each
// listed mistake, in the learner's place. known.awk prints them, and includes this file at the end.
//     PROGRAM FILE            writes to FILE what each of them gives in all cases
//     PROGRAM check FILE      judges each mistake as if a learner had made it, and prints which of
//                             them do not get their own name; for tests
#ifndef KNOWN_H
#define KNOWN_H

int fork(void);                         // by hand, as alarm is: unistd.h would take common names
int waitpid(int process, int *status, int options);

enum { KNOWN = sizeof judge_listed / sizeof *judge_listed - 1 };

// A mistake may crash, loop for ever or keep something from call to call: each has a process of its
// own. Returns 0 if that ended by itself.
static int known_process(int variant)
{
    int status = -1;
    fflush(NULL);
    int process = fork();
    if (process == 0) {
        judge_known.variant = variant;
        judge_begin(JUDGE_SECONDS);
        judge_cases();
        judge_look_at_guards();
        if (judge_known.expected) printf("%s is right\n", judge_known.expected);
        fflush(NULL);
        _Exit(0);
    }
    if (process > 0) waitpid(process, &status, 0);
    return status;
}

static int known_record(const char *path)
{
    FILE *f = fopen(path, "wb");
    if (!f) return 1;
    fprintf(f, "%d\n", KNOWN);
    for (int v = 1; v <= KNOWN; v++)
        fprintf(f, "%s\n%s\n", judge_listed[v].name, judge_listed[v].sentence);
    judge_known.file = f;
    int failed = known_process(0);
    for (int v = 1; v <= KNOWN; v++)
        if (judge_listed[v].changed && judge_listed[v].sentence[0]) known_process(v);
    return fclose(f) || failed;
}

static int known_check(const char *path)
{
    judge_load(path);
    for (int v = 1; v <= KNOWN; v++) {
        judge_known.expected = judge_listed[v].name;
        if (!judge_listed[v].changed || known_process(v) == 0) continue;
        if (!strcmp(judge_known.expected, "crash")) continue;
        printf("%s does not end\n", judge_known.expected);
    }
    printf("%d mistakes\n", KNOWN);
    return 0;
}

int main(int count, char **words)
{
    if (count == 3) return known_check(words[2]);
    return count == 2 ? known_record(words[1]) : 2;
}

#endif

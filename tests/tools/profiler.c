// The profilers: which events a program makes, their figures, the runtime's log, traces.
// run: needs:cjson/cJSON.h -lcjson
#include "tests/lib/counting.h"
#define SAMBA_IMPLEMENTATION
#define SAMBA_SAMBAFLOW_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/sambaflow.h"
#define SAMBA_PROFILER_MALLOC(size) counting_malloc(size)
#define SAMBA_PROFILER_FREE(p) counting_free(p)
#define SAMBA_DRIVER_IMPLEMENTATION
#include "tools/include/samba/driver.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include "tests/lib/hook.h"
#include <cjson/cJSON.h>

int setenv(const char *name, const char *value, int overwrite); // strict C99 hides these
int unsetenv(const char *name);

enum { B = 6, F = 5, C = 3, MANY = 64 };

#define PEF "build/profiler.pef"
#define LOG "build/profiler.log"
#define TRACE "build/profiler.json"
#define STEP "SAMBA_SESSION_RUN_FWD_BCKWD_OPT"

typedef struct net {
    samba_session *s;
    samba_tensor *x, *label, *loss;
    samba_program program;
} net;

// Two layers over (B,F) -> (B,C), one op in each section.
static net traced(const samba_desc *desc, int microbatches)
{
    net n;
    memset(&n, 0, sizeof n);
    n.s = samba_open(desc);
    n.x = samba_input(n.s, "x", SAMBA_F32, SAMBA_SHAPE(B, F));
    n.label = samba_input(n.s, "label", SAMBA_I32, SAMBA_SHAPE(B));
    samba_tensor *h = samba_tanh(samba_linear(n.x, "fc1", 7));
    n.loss = samba_cross_entropy(samba_linear(h, "fc2", C), n.label);
    n.program.loss = n.loss;
    n.program.microbatches = microbatches;
    n.program.level = SAMBA_O0;
    n.program.optim.kind = SAMBA_SGD;
    n.program.optim.lr = 0.1f;
    return n;
}

static net compiled(const samba_desc *desc, int microbatches)
{
    net n = traced(desc, microbatches);
    CHECK(samba_compile(n.s, &n.program) && samba_zero_inputs(n.s));
    return n;
}

static int32_t n_sections(samba_session *s, const char *type)
{
    samba_section q;
    int32_t n = 0;
    for (int32_t i = 0; samba_describe_section(s, i, &q); i++)
        n += !type || !strcmp(q.type, type);
    return n;
}

static char text[1 << 18];

static const char *read_text(const char *path)
{
    text[read_into(path, text, sizeof text - 1)] = 0;
    return file_exists(path) ? text : NULL;
}

static void to_text(const char *more, void *user)
{
    (void)user;
    strncat(text, more, sizeof text - 1 - strlen(text));
}

static const char *printed(const samba_profiler *p)
{
    text[0] = 0;
    samba_print_profile(p, to_text, NULL);
    return text;
}

static int64_t count(const samba_profiler *p, const char *name)
{
    return samba_profile_stats(p, name).count;
}

// ---- Events ----

// In a table, is there a line that begins with this name?
static bool has_line(const char *table, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = table; p; p = strchr(p, '\n')) {
        if (*p == '\n') p++;
        if (!strncmp(p, name, n) && p[n] == ' ') return true;
    }
    return false;
}

static void test_names_of_events(void)
{
    float x[B * F] = { 0 };
    net n = compiled(NULL, 1);
    samba_profiler *p = samba_profiler_open(n.s, 0);
    CHECK(samba_run(n.s, 0)); // nobody has started it
    samba_start_profile(p);
    CHECK(samba_write(n.x, x));
    CHECK(samba_run(n.s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
    CHECK(samba_run(n.s, 0) && samba_run(n.s, 0));
    CHECK(samba_cpu(n.loss) && samba_copy_out(n.loss, x, sizeof *x) && samba_rdu(n.loss));
    CHECK(samba_end_profile(p, NULL));
    CHECK(samba_run(n.s, 0)); // after its end
    CHECK(count(p, STEP) == 1 && count(p, "SAMBA_SESSION_RUN") == 2 && count(p, "PyRT_RUN") == 3);
    CHECK(count(p, "PyRT_SET_TENSORS") == 2 && count(p, "PyRT_GET_TENSORS") == 2);
    CHECK(count(p, "SAMBA_SET_PEF") == 0 && count(p, "SAMBA_INIT_RUNTIME") == 0);
    CHECK(count(p, "FWD") == 3 * n_sections(n.s, "FWD") && count(p, "FWD") > 0);
    const char *table = printed(p);
    CHECK(has_line(table, STEP) && has_line(table, "SAMBA_SESSION_RUN"));
    CHECK(has_line(table, "PyRT_RUN") && has_line(table, "PyRT_SET_TENSORS"));
    CHECK(has_line(table, "PyRT_GET_TENSORS") && !has_line(table, "FWD"));
    CHECK(strstr(table,
                 "did not happen: SAMBA_SET_PEF SAMBA_INIT_RUNTIME PyRT_GET_TENSORS_GATHER "
                 "PyRT_SET_TENSORS_BROADCAST PyRT_SET_PINNED_INPUT_TENSORS\n")
          != NULL);
    CHECK(!strstr(table, "unbalanced"));
    remove(LOG);
    SAMBA_PROFILE(p, LOG) CHECK(samba_run(n.s, 0));
    CHECK(count(p, "PyRT_RUN") == 1 && !strcmp(printed(p), read_text(LOG)));
    CHECK(samba_run(n.s, 0) && count(p, "PyRT_RUN") == 1);
    samba_profiler_close(p);
    CHECK(samba_close(n.s) == 0);
}

// The name of a run is what it was called with, in that order.
static void test_names_of_runs(void)
{
    net n = compiled(NULL, 1);
    samba_profiler *p = samba_profiler_open(n.s, 0);
    const char *types[3] = { "Opt", "fwd", "BCKWD" };
    int32_t ids[3] = { 0, 1, 0 };
    samba_session_run_desc by_types = { .section_types = types, .n_section_types = 3 };
    samba_session_run_desc by_ids = { .section_ids = ids, .n_section_ids = 3 };
    samba_session_run_desc by_calls = { .from_call_id = 1, .until_call_id = 3 };
    samba_session_run_desc all = { .outputs = &n.loss, .n_outputs = 1 };
    samba_start_profile(p);
    CHECK(samba_run(n.s, SAMBA_BCKWD | SAMBA_FWD) && samba_session_run(n.s, &by_types));
    CHECK(count(p, "SAMBA_SESSION_RUN_FWD_BCKWD") == 1);
    CHECK(count(p, "SAMBA_SESSION_RUN_OPT_FWD_BCKWD") == 1);
    CHECK(count(p, "PyRT_RUN") == 3 && count(p, "SAMBA_SESSION_RUN") == 0); // OPT, then the others
    int64_t before = count(p, "FWD");
    CHECK(samba_session_run(n.s, &by_ids) && count(p, "FWD") == before + 3);
    CHECK(samba_session_run(n.s, &by_calls) && count(p, "FWD") == before + 5);
    CHECK(samba_session_run(n.s, &all) && samba_session_run(n.s, NULL));
    CHECK(count(p, "SAMBA_SESSION_RUN") == 4 && count(p, "PyRT_RUN") == 7);
    CHECK(count(p, "PyRT_GET_TENSORS") == 1);
    types[1] = "update"; // refused, and its event ends all the same
    CHECK(!samba_session_run(n.s, &by_types)
          && strstr(samba_error(n.s), "update is no section type"));
    samba_clear_error(n.s);
    CHECK(!samba_run(n.s, SAMBA_GRADNORM) && count(p, "SAMBA_SESSION_RUN_GRADNORM") == 1);
    samba_clear_error(n.s);
    CHECK(count(p, "PyRT_RUN") == 7 && samba_end_profile(p, NULL)
          && !strstr(printed(p), "unbalanced"));
    samba_profiler_close(p);
    CHECK(samba_close(n.s) == 0);
}

// What happens while a program is loaded is seen by who was there before.
static void test_loading(void)
{
    for (int late = 0; late < 2; late++) {
        net n = traced(NULL, 1);
        n.program.pef = PEF;
        n.program.compile_only = true;
        samba_profiler *p = samba_profiler_open(n.s, 0);
        samba_start_profile(p);
        CHECK(samba_compile(n.s, &n.program) && count(p, "SAMBA_SET_PEF") == 0);
        if (late) CHECK(samba_end_profile(p, NULL));
        CHECK(samba_load(n.s, PEF, &n.program));
        if (late) samba_start_profile(p);
        CHECK(samba_zero_inputs(n.s) && samba_run(n.s, 0) && count(p, "PyRT_RUN") == 1);
        CHECK(count(p, "SAMBA_SET_PEF") == !late && count(p, "SAMBA_INIT_RUNTIME") == !late);
        n.program.compile_only = false;
        CHECK(samba_compile(n.s, &n.program));
        CHECK(count(p, "SAMBA_SET_PEF") == 2 - late && count(p, "SAMBA_INIT_RUNTIME") == 2 - late);
        CHECK(!samba_load(n.s, "build/no such file", NULL)
              && count(p, "SAMBA_INIT_RUNTIME") == 2 - late);
        samba_clear_error(n.s);
        CHECK(samba_end_profile(p, LOG) && !strcmp(read_text(LOG), printed(p))
              && strstr(text, "SAMBA_SET_PEF"));
        samba_profiler_close(p);
        CHECK(samba_close(n.s) == 0);
    }
}

// ---- Figures ----

static bool close_to(double a, double b)
{
    return a - b < 1e-9 && b - a < 1e-9;
}

static void test_figures(void)
{
    double t[MANY], sum = 0, least = 1e9, most = 0;
    net n = compiled(NULL, 1);
    samba_profiler *p = samba_profiler_open(n.s, 0);
    samba_start_profile(p);
    for (int i = 0; i < 10; i++)
        CHECK(samba_run(n.s, SAMBA_FWD));
    CHECK(samba_end_profile(p, NULL));
    const char *name = "SAMBA_SESSION_RUN_FWD";
    CHECK(samba_profile_latencies(p, name, 0, t, MANY) == 10);
    for (int i = 0; i < 10; i++) {
        sum += t[i];
        least = t[i] < least ? t[i] : least;
        most = t[i] > most ? t[i] : most;
        CHECK(t[i] > 0);
    }
    samba_event_stats all = samba_profile_stats(p, name),
                      inner = samba_profile_stats(p, "PyRT_RUN");
    CHECK(all.count == 10 && close_to(all.total, sum) && close_to(all.mean, sum / 10));
    CHECK(close_to(all.min, least) && close_to(all.max, most));
    CHECK(inner.total < all.total && samba_profile_stats(p, "FWD").total < inner.total);
    double skipped[2] = { 0, 0 };
    CHECK(samba_profile_latencies(p, name, 7, skipped, 2) == 3); // 7 more are there than room
    CHECK(close_to(skipped[0], t[7]) && close_to(skipped[1], t[8]));
    CHECK(samba_profile_latencies(p, name, 11, t, MANY) == 0
          && samba_profile_latencies(p, "no", 0, t, 9) == 0);
    samba_performance q = samba_profile_performance(p, name, 0, B);
    CHECK(q.count == 10 && close_to(q.mean, all.mean) && close_to(q.best, least)
          && close_to(q.p99, most));
    CHECK(q.best <= q.p50 && q.p50 <= q.p99 && close_to(q.throughput * all.mean, B));
    CHECK(samba_profile_performance(p, "no", 0, B).count == 0);
    setenv("ENABLE_RUNTIME_PERF", "SUMMARY", 1); // what the other one sees later is not here
    CHECK(samba_start_runtime_profile(p, false) && samba_run(n.s, SAMBA_FWD));
    CHECK(count(p, name) == 10 && samba_profile_latencies(p, name, 0, NULL, 0) == 10);
    CHECK(samba_end_runtime_profile(p, LOG));
    unsetenv("ENABLE_RUNTIME_PERF");
    samba_start_profile(p); // begins anew
    CHECK(count(p, name) == 0 && samba_profile_latencies(p, name, 0, NULL, 0) == 0);
    samba_profiler_close(p);
    CHECK(samba_run(n.s, 0)); // nobody listens any more
    CHECK(samba_close(n.s) == 0);
}

// A small ring keeps the newest events, and counts them all.
static void test_ring(void)
{
    double t[MANY];
    net n = compiled(NULL, 1);
    samba_profiler *p = samba_profiler_open(n.s, 16);
    samba_start_profile(p);
    for (int i = 0; i < 40; i++) {
        samba_begin_event(p, "mine");
        samba_end_event(p, "mine");
    }
    CHECK(count(p, "mine") == 40 && samba_profile_latencies(p, "mine", 0, t, MANY) == 16);
    CHECK(samba_profile_latencies(p, "mine", 24, t, MANY) == 16); // these are lost already
    CHECK(samba_profile_latencies(p, "mine", 30, t, MANY) == 10);
    samba_profiler_close(p);
    CHECK(samba_close(n.s) == 0);
}

static void test_events_of_your_own(void)
{
    net n = compiled(NULL, 1);
    samba_profiler *p = samba_profiler_open(n.s, 0);
    samba_begin_event(p, "epoch"); // not started: nothing
    samba_start_profile(p);
    samba_begin_event(p, "epoch");
    for (int i = 0; i < 3; i++)
        CHECK(samba_run(n.s, 0));
    samba_end_event(p, "epoch");
    samba_event_stats epoch = samba_profile_stats(p, "epoch"),
                      run = samba_profile_stats(p, "SAMBA_SESSION_RUN");
    CHECK(epoch.count == 1 && run.count == 3 && epoch.total >= run.total);
    CHECK(!strstr(printed(p), "unbalanced"));
    samba_begin_event(p, "outer");
    samba_begin_event(p, "forgotten");
    samba_end_event(p, "outer");
    samba_end_event(p, "never begun");
    CHECK(count(p, "outer") == 1 && count(p, "forgotten") == 0
          && strstr(printed(p), "unbalanced: 2 "));
    for (int i = 0; i < 40; i++)
        samba_begin_event(p, "deep"); // 32 deep at most
    for (int i = 0; i < 40; i++)
        samba_end_event(p, "deep");
    CHECK(count(p, "deep") == 32);
    char name[100];
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name,
                 "%d: a name that is so long that nobody would want to read it "
                 "to its end, which is here",
                 i);
        samba_begin_event(p, name);
        samba_end_event(p, name);
    }
    CHECK(count(p, "(others)") > 40); // more names than there is room for
    CHECK(samba_run(n.s, 0) && count(p, "SAMBA_SESSION_RUN") == 4);
    samba_profiler_close(p);
    CHECK(samba_close(n.s) == 0);
}

// ---- Memory ----

// What happened elsewhere is counted like other events, and is no part of the session's thread.
static void test_events_from_elsewhere(void)
{
    const char *name = "PyRT_SET_TENSORS_BROADCAST";
    net n = compiled(NULL, 1);
    samba_profiler *p = samba_profiler_open(n.s, 0);
    double now = samba_seconds();
    samba_add_event(name, now, now + 1, p); // nobody has started it
    samba_start_profile(p);
    now = samba_seconds();
    samba_add_event(name, now - 10, now - 9, p); // before
    CHECK(count(p, name) == 0);
    CHECK(samba_run(n.s, 0));
    samba_add_event(name, now, now + 0.25, p); // beside the run, and longer
    samba_add_event(name, now, now + 0.75, p);
    samba_event_stats sum = samba_profile_stats(p, name);
    CHECK(sum.count == 2 && close_to(sum.total, 1) && close_to(sum.min, 0.25)
          && close_to(sum.max, 0.75));
    CHECK(samba_end_profile(p, NULL) && has_line(printed(p), name) && !strstr(text, "unbalanced"));
    CHECK(samba_profile_trace(p, TRACE) && strstr(read_text(TRACE), "\"tid\": 2}"));
    CHECK(!strstr(text, "advice"));
    samba_profiler_close(p);
    CHECK(samba_close(n.s) == 0);
}

static void test_run_allocates_nothing(void)
{
    hook h;
    samba_desc desc = hook_desc(&h);
    net n = compiled(&desc, 1);
    setenv("ENABLE_RUNTIME_PERF", "DETAILED", 1);
    samba_profiler *p = samba_profiler_open(n.s, 100);
    samba_start_profile(p);
    CHECK(samba_start_runtime_profile(p, false) && samba_cpu(n.loss)); // makes the host copy
    long session_calls = h.n_calls, profiler_calls = n_calls;
    samba_session_run_desc d = { .outputs = &n.loss, .n_outputs = 1 };
    for (int i = 0; i < 50; i++)
        CHECK(samba_run(n.s, SAMBA_FWD | SAMBA_BCKWD) && samba_session_run(n.s, &d));
    CHECK(h.n_calls == session_calls && n_calls == profiler_calls);
    CHECK(count(p, "PyRT_GET_TENSORS") == 51);
    samba_profiler_close(p);
    CHECK(n_live == 0 && samba_close(n.s) == 0 && h.n_live == 0 && h.n_wrong == 0);
    unsetenv("ENABLE_RUNTIME_PERF");
}

static void test_out_of_memory(void)
{
    for (long at = 0; at < 2; at++) {
        samba_session *s = samba_open(NULL);
        fail_at = n_calls + at;
        CHECK(!samba_profiler_open(s, 0) && samba_error_code(s) == SAMBA_ENOMEM && n_live == 0);
        fail_at = -1;
        samba_clear_error(s);
        samba_profiler *p = samba_profiler_open(s, 0);
        CHECK(!samba_end_profile(p, "build/no/such/folder") && samba_error_code(s) == SAMBA_EIO);
        samba_clear_error(s);
        CHECK(!samba_profile_trace(p, "build/no/such/folder") && samba_error_code(s) == SAMBA_EIO);
        samba_clear_error(s);
        samba_profiler_close(p);
        CHECK(samba_close(s) == 0);
    }
}

// The bits of a training are those of one without a profiler.
static void test_changes_nothing(void)
{
    float w[2][7 * F];
    for (int on = 0; on < 2; on++) {
        net n = compiled(NULL, 1);
        float x[B * F];
        for (int i = 0; i < B * F; i++)
            x[i] = (float)(i % 7);
        samba_profiler *p = on ? samba_profiler_open(n.s, 0) : NULL;
        samba_start_profile(p);
        CHECK(samba_write(n.x, x));
        for (int i = 0; i < 5; i++)
            CHECK(samba_run(n.s, 0));
        CHECK(samba_copy_out(samba_tensor_by_name(n.s, "fc1__weight"), w[on], sizeof w[on]));
        samba_profiler_close(p);
        CHECK(samba_close(n.s) == 0);
    }
    CHECK(memcmp(w[0], w[1], sizeof w[0]) == 0);
}

// ---- The runtime's profiler ----

static void test_runtime_needs_the_variable(void)
{
    net n = compiled(NULL, 1);
    samba_profiler *p = samba_profiler_open(n.s, 0);
    for (int i = 0; i < 3; i++) {
        if (i == 0)
            unsetenv("ENABLE_RUNTIME_PERF");
        else
            setenv("ENABLE_RUNTIME_PERF", i == 1 ? "1" : "summary", 1);
        remove(LOG);
        CHECK(!samba_start_runtime_profile(p, true) && samba_run(n.s, 0));
        CHECK(samba_end_runtime_profile(p, LOG) && !read_text(LOG));
        CHECK(samba_end_runtime_profile(p, NULL) && !read_text("cprofile_tmp.log"));
    }
    samba_profiler_close(p);
    CHECK(samba_close(n.s) == 0);
}

// The line of a table that begins with this name: its count and its total.
static bool line_of(const char *table, const char *name, double *number, double *total)
{
    size_t n = strlen(name);
    for (const char *p = table; p; p = strchr(p, '\n'), p += p != NULL)
        if (!strncmp(p, name, n) && p[n] == ' ')
            return sscanf(p + n, "%lf %lf", number, total) == 2;
    return false;
}

static void test_runtime_summary(void)
{
    const char *types[] = { "FWD", "BCKWD", "OPT", "ZEROGRAD" };
    double number, total, sum = 0, run = 0;
    net n = compiled(NULL, 2);
    samba_profiler *p = samba_profiler_open(n.s, 0);
    setenv("ENABLE_RUNTIME_PERF", "SUMMARY", 1);
    CHECK(samba_start_runtime_profile(p, false));
    for (int i = 0; i < 4; i++)
        CHECK(samba_run(n.s, 0));
    CHECK(samba_end_runtime_profile(p, LOG) && samba_run(n.s, 0));
    CHECK(read_text(LOG) && strstr(text, "SUMMARY"));
    for (int i = 0; i < 4; i++) {
        int32_t each = n_sections(n.s, types[i]) * (i < 2 ? 2 : 1); // two microbatches
        CHECK(line_of(text, types[i], &number, &total) && each > 0 && number == 4.0 * each);
        sum += total;
    }
    CHECK(line_of(text, "PyRT_RUN", &number, &run) && number == 4 && sum > 0 && sum <= run + 0.001);
    CHECK(line_of(text, "SAMBA_SESSION_RUN", &number, &total) && number == 4 && total >= run);
    CHECK(!strstr(text, "call id"));
    CHECK(count(p, "PyRT_RUN") == 0); // the other profiler was not on
    unsetenv("ENABLE_RUNTIME_PERF");
    samba_profiler_close(p);
    CHECK(samba_close(n.s) == 0);
}

// DETAILED lists each call: its id, its type, when it began and ended.
static int read_calls(samba_session *s, int *runs_of, double *total)
{
    int id, n = 0;
    char type[20];
    double begin, end, last = 0, ms;
    const char *p = strstr(text, "call id");
    for (p = p ? strchr(p, '\n') : NULL;
         p && sscanf(p, "%d %19s %lf %lf %lf", &id, type, &begin, &end, &ms) == 5;
         p = strchr(p + 1, '\n')) {
        samba_section q;
        CHECK(samba_describe_section(s, id, &q) && !strcmp(q.type, type));
        CHECK(begin >= last && end >= begin && end - begin - ms < 1e-3 && ms - end + begin < 1e-3);
        last = begin;
        n++;
        *total += ms;
        if (id >= 0 && id < MANY) runs_of[id]++;
    }
    return n;
}

static void test_runtime_detailed(void)
{
    setenv("ENABLE_RUNTIME_PERF", "DETAILED", 1);
    for (int capacity = 0; capacity <= 20; capacity += 20) {
        int runs_of[MANY] = { 0 };
        double total = 0, sum = 0, number, ms;
        net n = compiled(NULL, 1);
        int32_t sections = n_sections(n.s, NULL);
        samba_profiler *p = samba_profiler_open(n.s, capacity);
        CHECK(samba_start_runtime_profile(p, false));
        for (int i = 0; i < 3; i++)
            CHECK(samba_run(n.s, 0));
        CHECK(samba_end_runtime_profile(p, NULL) && read_text("cprofile_tmp.log")
              && strstr(text, "DETAILED"));
        remove("cprofile_tmp.log");
        int calls = read_calls(n.s, runs_of, &total);
        for (int i = 0; i < 3; i++) {
            const char *types[] = { "FWD", "BCKWD", "OPT" };
            CHECK(line_of(text, types[i], &number, &ms) && number == 3 * n_sections(n.s, types[i]));
            sum += ms;
        }
        if (capacity)
            CHECK(calls < 20 && calls > 10 && strstr(text, "are lost"));
        else {
            CHECK(calls == 3 * sections && sections > 9 && sections < MANY
                  && !strstr(text, "are lost"));
            for (int i = 0; i < sections; i++)
                CHECK(runs_of[i] == 3);
            CHECK(total - sum < 0.01 && sum - total < 0.01);
        }
        samba_profiler_close(p);
        CHECK(samba_close(n.s) == 0);
    }
    unsetenv("ENABLE_RUNTIME_PERF");
}

// ---- Traces: the Trace Event Format as its document has it, as far as these files use it ----

static double number_of(const cJSON *e, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(e, key);
    CHECK(cJSON_IsNumber(v));
    return cJSON_IsNumber(v) ? v->valuedouble : -1;
}

static const char *string_of(const cJSON *e, const char *key)
{
    const char *v = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(e, key));
    CHECK(v != NULL);
    return v ? v : "";
}

static bool whole(double x)
{
    return x == (double)(int)x;
}

// Every event has a name, a phase of one letter, process and thread; X has a time and a duration in
// microseconds, M names its process or thread.
static void check_event(const cJSON *e)
{
    const char *phase = string_of(e, "ph"), *name = string_of(e, "name");
    CHECK(cJSON_IsObject(e) && *name && strlen(phase) == 1 && strchr("XM", *phase));
    CHECK(whole(number_of(e, "pid")) && whole(number_of(e, "tid")));
    const cJSON *args = cJSON_GetObjectItemCaseSensitive(e, "args");
    CHECK(!args || cJSON_IsObject(args));
    if (*phase == 'X') {
        CHECK(number_of(e, "ts") >= 0 && number_of(e, "dur") >= 0 && *string_of(e, "cat"));
        bool section = !strcmp(string_of(e, "cat"), "section");
        CHECK(section == (args && whole(number_of(args, "call_id"))));
    } else {
        CHECK(!strcmp(name, "process_name") || !strcmp(name, "thread_name"));
        CHECK(*string_of(args, "name"));
    }
    for (const cJSON *field = e->child; field; field = field->next)
        CHECK(strstr(" name cat ph ts dur pid tid args ", field->string) != NULL);
}

// The events of one thread lie within each other or apart, and so does an event within its parent.
static void check_nesting(const cJSON *events)
{
    const cJSON *a, *b;
    cJSON_ArrayForEach(a, events)
    {
        if (*string_of(a, "ph") != 'X') continue;
        double begin = number_of(a, "ts"), end = begin + number_of(a, "dur");
        const char *name = string_of(a, "name"), *parent = NULL;
        if (!strcmp(string_of(a, "cat"), "section")) parent = "PyRT_RUN";
        if (!strcmp(name, "PyRT_RUN")) parent = "SAMBA_SESSION_RUN";
        int parents = 0;
        cJSON_ArrayForEach(b, events)
        {
            if (a == b || *string_of(b, "ph") != 'X') continue;
            double from = number_of(b, "ts"), to = from + number_of(b, "dur"), tiny = 1e-6;
            bool apart = to <= begin + tiny || from >= end - tiny;
            bool inside = from <= begin + tiny && end <= to + tiny;
            bool around = begin <= from + tiny && to <= end + tiny;
            CHECK(apart || inside || around);
            parents += inside && parent && !strncmp(string_of(b, "name"), parent, strlen(parent));
        }
        CHECK(parents == (parent != NULL));
    }
}

static int check_trace(const char *path, const char *wanted)
{
    int n = 0;
    cJSON *root = cJSON_ParseWithOpts(read_text(path), NULL, 1);
    CHECK(root != NULL);
    const cJSON *events = cJSON_GetObjectItemCaseSensitive(root, "traceEvents"), *e;
    const char *unit = string_of(root, "displayTimeUnit");
    CHECK(cJSON_IsArray(events) && (!strcmp(unit, "ms") || !strcmp(unit, "ns")));
    cJSON_ArrayForEach(e, events)
    {
        check_event(e);
        n += !strcmp(string_of(e, "name"), wanted);
    }
    check_nesting(events);
    cJSON_Delete(root);
    return n;
}

static void test_trace(void)
{
    net n = traced(NULL, 1);
    samba_profiler *p = samba_profiler_open(n.s, 0);
    CHECK(samba_profile_trace(p, TRACE) && check_trace(TRACE, STEP) == 0);
    samba_start_profile(p);
    samba_begin_event(p, "a \"name\" \\ \n\t\x01 \xc3\xa9 \xff \xed\xa0\x80 \xe2\x82");
    CHECK(samba_compile(n.s, &n.program) && samba_zero_inputs(n.s));
    for (int i = 0; i < 5; i++)
        CHECK(samba_run(n.s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT) && samba_cpu(n.loss));
    samba_end_event(p, "a \"name\" \\ \n\t\x01 \xc3\xa9 \xff \xed\xa0\x80 \xe2\x82");
    CHECK(samba_end_profile(p, NULL) && samba_profile_trace(p, TRACE));
    CHECK(check_trace(TRACE, STEP) == 5 && check_trace(TRACE, "PyRT_GET_TENSORS") == 5);
    CHECK(check_trace(TRACE, "FWD") == 5 * n_sections(n.s, "FWD")
          && check_trace(TRACE, "SAMBA_INIT_RUNTIME") == 1);
    // each byte that is no UTF-8 is spelled out
    CHECK(check_trace(TRACE, "a \"name\" \\ \n\t\x01 \xc3\xa9 \\xFF \\xED\\xA0\\x80 \\xE2\\x82")
          == 1);
    samba_profiler_close(p);
    CHECK(samba_close(n.s) == 0);
}

// ---- The driver's measurements ----

static void test_measure(void)
{
    char program[] = "app", command[] = "measure-performance",
         *argv[] = { program,        command,           (char *)"--pef", (char *)PEF,
                     (char *)"-n=3", (char *)"--trace", (char *)TRACE };
    net n = traced(NULL, 1);
    n.program.pef = PEF;
    CHECK(samba_compile(n.s, &n.program) && samba_close(n.s) == 0);
    for (int sections = 0; sections < 2; sections++) {
        samba_app_args args = { .batch_size = B };
        n = traced(NULL, 1);
        strcpy(command, sections ? "measure-sections" : "measure-performance");
        remove(TRACE);
        CHECK(samba_parse_app_args(7, argv, &args, NULL, 0) && args.trace
              && args.num_iterations == 3);
        CHECK(samba_app_driver(n.s, &args, &n.program));
        int runs = sections ? 4 * n_sections(n.s, NULL) : 4; // the first one is not measured
        int sent = sections ? 0 : 4 * 2, fetched = sections ? 0 : 4; // image and label; the loss
        CHECK(check_trace(TRACE, "PyRT_SET_TENSORS") == sent
              && check_trace(TRACE, "PyRT_GET_TENSORS") == fetched);
        CHECK(check_trace(TRACE, "SAMBA_SESSION_RUN") == runs
              && check_trace(TRACE, "PyRT_RUN") == runs);
        CHECK(check_trace(TRACE, "FWD") == 4 * n_sections(n.s, "FWD")
              && check_trace(TRACE, "SAMBA_SET_PEF") == 1);
        CHECK(samba_run(n.s, 0)); // the profiler has gone
        args.run_graph_only = true;
        CHECK(samba_app_driver(n.s, &args, &n.program) && check_trace(TRACE, "PyRT_RUN") == runs);
        CHECK(check_trace(TRACE, "PyRT_SET_TENSORS") == 0
              && check_trace(TRACE, "PyRT_GET_TENSORS") == 0);
        args.trace = "build/no/such/folder";
        if (!sections)
            CHECK(!samba_app_driver(n.s, &args, &n.program) && samba_error_code(n.s) == SAMBA_EIO);
        samba_clear_error(n.s);
        CHECK(samba_close(n.s) == 0);
    }
}

// The same figures by function, and summed by op.
static void test_measure_functions(void)
{
    enum { MANY = 64 };

    static samba_section_time t[MANY];
    net n = traced(NULL, 1);
    n.program.pef = PEF;
    n.program.level = SAMBA_O0;
    CHECK(samba_compile(n.s, &n.program) && samba_zero_inputs(n.s));
    samba_performance p = samba_measure_performance(n.s, B, 3);
    CHECK(p.count == 3 && p.mean > 0 && p.best <= p.mean && p.throughput > 0);
    CHECK(p.best > 0 && p.p50 >= p.best && p.p99 >= p.p50 && p.p99 <= 3 * p.mean);
    samba_measure_opts opts = { .batch_size = B, .n_iterations = 5, .inference = true, .pef = PEF };
    p = samba_measure_performance_with(n.s, &opts);
    CHECK(p.count == 5 && p.p50 >= p.best && p.p99 >= p.p50);
    CHECK(samba_measure_sections(n.s, B, -1, 3, t, MANY) == -1 && !samba_ok(n.s));
    samba_clear_error(n.s);
    CHECK(samba_measure_performance(n.s, B, -1).count == 0 && !samba_ok(n.s));
    samba_clear_error(n.s);
    CHECK(samba_measure_sections(n.s, B, 2, 3, t, MANY) == 2);
    CHECK(t[0].mean > 0 && t[0].best <= t[0].mean && t[1].throughput > 0 && t[1].section.type);
    int32_t all = samba_measure_sections(n.s, 0, 0, 1, t, MANY);
    CHECK(all == n_sections(n.s, NULL) && all <= MANY && t[0].throughput == 0);
    double before = 0, after = 0;
    int64_t flops = 0;
    for (int32_t i = 0; i < all; i++) {
        before += t[i].best;
        flops += t[i].section.flops;
    }
    int32_t kinds = samba_sum_by_op(t, all);
    CHECK(kinds > 1 && kinds < all);
    for (int32_t i = 0; i < kinds; i++) {
        after += t[i].best;
        flops -= t[i].section.flops;
        CHECK(t[i].section.op && (i == 0 || t[i].best <= t[i - 1].best));
        for (int32_t k = 0; k < i; k++)
            CHECK(strcmp(t[i].section.op, t[k].section.op) != 0);
    }
    CHECK(flops == 0 && fabs(after - before) < 1e-9);
    CHECK(samba_close(n.s) == 0);
}

// ---- What a program prints --------------------------------------------------------------------

// Each flag has a line: those of all programs, its own, those of run alone.
static void test_help(void)
{
    static const samba_flag own[2]
        = { { .name = "first", .help = "of its own" }, { .name = "second", .help = "too" } };
    static const samba_flag of_run[1] = { { .name = "third", .help = "of run" } };
    samba_app_args args;
    memset(&args, 0, sizeof args);
    args.run_flags = of_run;
    args.n_run_flags = 1;
    FILE *f = fopen(LOG, "w");
    CHECK(f != NULL);
    if (!f) return;
    samba_driver__usage(f, "program", &args, own, 2);
    CHECK(fclose(f) == 0 && read_text(LOG));
    CHECK(strncmp(text, "usage: program compile", 22) == 0);
    for (int32_t i = 0; i < SAMBA_DRIVER__N_FLAGS; i++) {
        char line[60];
        snprintf(line, sizeof line, "\n  --%s ", samba_driver__flags[i].flag.name);
        CHECK(strstr(text, line) != NULL);
    }
    CHECK(strstr(text, "\n  --first              of its own\n  --second             too\n"));
    CHECK(strstr(text, "\nrun and test only:\n  --third              of run\n"));
}

// A clock too coarse for any op: each has no share, and not one that is no number.
static void test_ops_without_time(void)
{
    samba_section_time times[2];
    memset(times, 0, sizeof times);
    times[0].section.op = "add";
    times[1].section.op = "mul";
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    CHECK(kept >= 0 && freopen(LOG, "w", stdout));
    samba_driver__print_ops(times, 2);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    CHECK(read_text(LOG));
    CHECK(strstr(text, "op add                      best 0.000 ms, 0.0 %\n"));
    CHECK(strstr(text, "op mul                      best 0.000 ms, 0.0 %\n"));
}

int main(void)
{
    RUN(test_names_of_events);
    RUN(test_names_of_runs);
    RUN(test_loading);
    RUN(test_figures);
    RUN(test_ring);
    RUN(test_events_of_your_own);
    RUN(test_events_from_elsewhere);
    RUN(test_run_allocates_nothing);
    RUN(test_out_of_memory);
    RUN(test_changes_nothing);
    RUN(test_runtime_needs_the_variable);
    RUN(test_runtime_summary);
    RUN(test_runtime_detailed);
    RUN(test_trace);
    RUN(test_measure);
    RUN(test_measure_functions);
    RUN(test_help);
    RUN(test_ops_without_time);
    return test_summary();
}

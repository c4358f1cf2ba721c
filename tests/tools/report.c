#define _GNU_SOURCE // posix_openpt
// report.h: its files say what was noted, its page is whole, and nobody's bits change by it.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#define SAMBA_REPORT_IMPLEMENTATION
#include "tools/include/samba/report.h"
#include "tests/lib/test.h"
#include <dirent.h>

enum { B = 4, F = 6, C = 3, STEPS = 7 };

#define FOLDER "build/report"

static char text[1 << 20];
static size_t text_size;

// Reads a file of the folder whose name begins so. False if there is none.
static bool read_file(const char *begin)
{
    char path[512];
    FILE *f = NULL;
    DIR *folder = opendir(FOLDER);
    for (struct dirent *e = folder ? readdir(folder) : NULL; e && !f; e = readdir(folder)) {
        if (strncmp(e->d_name, begin, strlen(begin))) continue;
        snprintf(path, sizeof path, "%s/%s", FOLDER, e->d_name);
        f = fopen(path, "rb");
    }
    if (folder) closedir(folder);
    text_size = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[text_size] = 0;
    if (f) fclose(f);
    return text_size > 0;
}

static void empty_folder(void)
{
    char path[512];
    DIR *folder = opendir(FOLDER);
    for (struct dirent *e = folder ? readdir(folder) : NULL; e; e = readdir(folder)) {
        snprintf(path, sizeof path, "%s/%s", FOLDER, e->d_name);
        unlink(path);
    }
    if (folder) closedir(folder);
    mkdir("build", 0777);
}

static int count(const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

typedef struct net {
    samba_session *s;
    samba_tensor *x, *label, *loss;
} net;

static net compiled(void)
{
    net n;
    samba_program p;
    memset(&p, 0, sizeof p);
    n.s = samba_open(NULL);
    n.x = samba_randn(n.s, "x", SAMBA_SHAPE(B, F));
    n.label = samba_randint(n.s, "label", C, SAMBA_SHAPE(B));
    samba_tensor *h = samba_tanh(samba_linear(n.x, "fc1", 5));
    n.loss = samba_cross_entropy(samba_linear(h, "fc2", C), n.label);
    p.loss = n.loss;
    p.optim.kind = SAMBA_SGD;
    p.optim.lr = 0.25f;
    CHECK(samba_compile(n.s, &p));
    return n;
}

static void train(const net *n, samba_report *r, int first)
{
    for (int i = first + 1; i <= first + STEPS; i++) {
        samba_run(n->s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
        samba_report_step(r, i, (double)samba_read(n->loss)[0]);
    }
}

static const char *const names[C] = { "cat", "dog & <bone>", "fish" };
static char program[] = "report", argument[] = "--flag=\"a<b\"";
static char *const arguments[] = { program, argument };

static samba_report_opts options(void)
{
    samba_report_opts o;
    memset(&o, 0, sizeof o);
    o.title = "A <small> net";
    o.folder = FOLDER;
    o.steps = STEPS;
    o.batch = B;
    o.gradients = 2;
    o.n_classes = C;
    o.classes = names;
    o.argc = 2;
    o.argv = arguments;
    return o;
}

static void test_bits_and_csv(void)
{
    net with = compiled(), without = compiled();
    samba_report_opts o = options();
    empty_folder();
    samba_report *r = samba_report_open(with.s, &o);
    CHECK(r != NULL);
    train(&with, r, 0);
    train(&without, NULL, 0);
    samba_report_value(r, "test, \"all\"", 0.5);
    samba_tensor *a = samba_tensor_by_name(with.s, "fc1__weight");
    samba_tensor *b = samba_tensor_by_name(without.s, "fc1__weight");
    CHECK(!memcmp(samba_read(a), samba_read(b), samba_bytes(a)));
    CHECK(samba_report_close(r));
    CHECK(read_file("log.csv"));
    CHECK(strncmp(text, "step,seconds,name,value\n1,", 26) == 0);
    CHECK(count(",loss,") == STEPS && count(",lr,0.25\n") == STEPS);
    CHECK(count(",gradient norm,") == STEPS / 2);
    CHECK(count(",gradient norm/fc1__weight,") == STEPS / 2);
    CHECK(strstr(text, ",\"test, \"\"all\"\"\",0.5\n") != NULL);
    // A training that goes on has one log.
    o.first = STEPS;
    o.steps = 2 * STEPS;
    r = samba_report_open(with.s, &o);
    train(&with, r, STEPS);
    CHECK(samba_report_close(r));
    CHECK(read_file("log.csv") && count(",loss,") == 2 * STEPS && count("step,seconds") == 1);
    samba_close(with.s);
    samba_close(without.s);
}

// The norm of what backward made, by hand.
static void test_gradient_norm(void)
{
    net n = compiled();
    samba_report_opts o = options();
    double sum = 0, noted = 0;
    empty_folder();
    samba_report *r = samba_report_open(n.s, &o);
    train(&n, r, 0);
    samba_report_close(r);
    samba_close(n.s);
    n = compiled();
    for (int i = 1; i <= STEPS - 1; i++)
        samba_run(n.s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    static const char *const params[] = { "fc1__weight", "fc1__bias", "fc2__weight", "fc2__bias" };
    for (int i = 0; i < 4; i++) {
        samba_tensor *g = samba_sn_grad(samba_tensor_by_name(n.s, params[i]));
        for (int64_t k = 0; k < samba_count(&g->shape); k++)
            sum += (double)samba_read(g)[k] * (double)samba_read(g)[k];
    }
    CHECK(read_file("log.csv"));
    for (const char *at = text; (at = strstr(at, ",gradient norm,")) != NULL; at++)
        sscanf(at, ",gradient norm,%lf", &noted);
    CHECK(noted > 0 && noted * noted > sum * 0.999999 && noted * noted < sum * 1.000001);
    samba_close(n.s);
}

static uint64_t little(const char *p, int n)
{
    uint64_t x = 0;
    for (int i = 0; i < n; i++)
        x |= (uint64_t)(uint8_t)p[i] << 8 * i;
    return x;
}

static bool crc_is(const char *bytes, size_t n)
{
    uint32_t crc = samba_report__crc((const uint8_t *)bytes, n);
    return ((crc >> 15 | crc << 17) + 0xa282ead8u) == (uint32_t)little(bytes + n, 4);
}

static void test_events(void)
{
    net n = compiled();
    samba_report_opts o = options();
    int records = 0, losses = 0;
    empty_folder();
    o.gradients = 0;
    samba_report *r = samba_report_open(n.s, &o);
    train(&n, r, 0);
    float last = samba_read(n.loss)[0], stored = 0;
    CHECK(samba_report_close(r));
    samba_close(n.s);
    CHECK(samba_report__crc((const uint8_t *)"123456789", 9) == 0xe3069283u);
    CHECK(read_file("events.out.tfevents."));
    for (size_t at = 0; at + 16 <= text_size; records++) {
        size_t size = (size_t)little(text + at, 8);
        CHECK(crc_is(text + at, 8) && at + 16 + size <= text_size);
        if (at + 16 + size > text_size) break;
        const char *event = text + at + 12;
        CHECK(crc_is(event, size) && event[0] == 9); // a wall time, then
        if (!records)
            CHECK(!memcmp(event + 9,
                          "\x1a\x0d"
                          "brain.Event:2",
                          15));
        // step, and a summary { value { tag "loss", simple_value } }
        if (records && event[16] == 4 && !memcmp(event + 17, "loss", 4)) {
            losses++;
            CHECK(event[9] == 16 && event[10] == losses && event[11] == 42);
            CHECK(event[13] == 10 && event[15] == 10 && event[21] == 21);
            memcpy(&stored, event + 22, 4);
        }
        at += 16 + size;
    }
    CHECK(records == 1 + 2 * STEPS && losses == STEPS && stored == last);
}

static void test_page(void)
{
    net n = compiled();
    samba_report_opts o = options();
    const float gray[6] = { -1, 0, 1, 1, 3, 0 };
    const samba_report_image image = { gray, 1, 2, 3, -1, 1 };
    empty_folder();
    samba_report *r = samba_report_open(n.s, &o);
    train(&n, r, 0);
    samba_report_prediction(r, 2, 2);
    samba_report_forget(r);
    samba_report_prediction(r, 0, 1);
    samba_report_prediction(r, 1, 1);
    samba_report_prediction(r, 1, C); // no class: does not count
    samba_report_prediction(r, -1, 0);
    samba_report_sample(r, &image, 0, 1, 0.625);
    CHECK(samba_report_close(r));
    CHECK(read_file("report.html"));
    CHECK(strstr(text, "<title>A &lt;small&gt; net</title>") && strstr(text, "</html>"));
    CHECK(strstr(text, "--flag=&quot;a&lt;b&quot;") && strstr(text, "1 of 2 right"));
    CHECK(count("<svg viewBox=\"0 0 560") == 3); // loss, lr, gradient norm
    CHECK(count("<figure class=\"small\">") == 4);
    CHECK(count("<td class=\"hit\"") == C && count("<td class=\"miss\"") == C * C - C);
    CHECK(strstr(text, "dog &amp; &lt;bone&gt;&nbsp;62&nbsp;%<br>is cat") != NULL);
    CHECK(!strstr(text, "http://") && !strstr(text, "https://") && !strstr(text, "<script"));
    // A bitmap of 3 x 2: 54 bytes, and rows of 12 with the lower one first, which is all white in
    // two pixels and gray in one.
    CHECK(strstr(text,
                 "base64,Qk1OAAAAAAAAADYAAAAoAAAAAwAAAAIAAAABABgAAAAAABgAAAAAAAAAAAAAAAAA"
                 "AAAAAAAA////////gICAAAAAAAAAgICA////AAAA\"")
          != NULL);
    samba_close(n.s);
}

// A confusion matrix names each class, and each row is a whole: its hits and misses, whose shade is
// the root of their share.
static void test_confusion_matrix(void)
{
    static const int n[C][C] = { { 3, 1, 0 }, { 4, 0, 0 }, { 0, 0, 0 } };
    static const int shade[C][C] = { { 87, 50, 0 }, { 100, 0, 0 }, { 0, 0, 0 } };
    net m = compiled();
    samba_report_opts o = options();
    empty_folder();
    samba_report *r = samba_report_open(m.s, &o);
    for (int l = 0; l < C; l++)
        for (int c = 0; c < C; c++)
            for (int i = 0; i < n[l][c]; i++)
                samba_report_prediction(r, l, c);
    CHECK(samba_report_close(r) && read_file("report.html"));
    CHECK(strstr(text, "<small>3 of 8 right</small>") != NULL);
    CHECK(strstr(text,
                 "predicted</th><th>cat</th><th>dog &amp; &lt;bone&gt;</th><th>fish</th></tr>"));
    const char *at = strstr(text, "<tbody>");
    for (int i = 0; at && i < C * C; i++) {
        char want[80];
        int l = i / C, c = i % C;
        snprintf(want, sizeof want, "<td class=\"%s\" style=\"--part:%d%%\">%d</td>",
                 l == c ? "hit" : "miss", shade[l][c], n[l][c]);
        at = strstr(at, "<td ");
        CHECK(at && !strncmp(at, want, strlen(want)));
        if (at) at += 4;
    }
    CHECK(at != NULL);
    samba_close(m.s);
}

// However long it is, a curve keeps its mean and its ends in bounded memory.
static void test_long_curve(void)
{
    net n = compiled();
    samba_report *r = samba_report_open(n.s, NULL);
    double sum = 0;
    for (int i = 0; i < 100000; i++)
        samba_report_value(r, "ramp", i);
    samba_report__curve *c = samba_report__curve_of(r, "ramp");
    CHECK(c->n < SAMBA_REPORT__POINTS && c->n >= SAMBA_REPORT__POINTS / 2 - 1);
    for (int i = 0; i < c->n; i++)
        sum += c->value[i];
    double covered = (double)c->n * (double)c->each; // values 0 ... covered - 1
    CHECK(sum / c->n == (covered - 1) / 2);
    CHECK(c->value[0] == (double)(c->each - 1) / 2);
    for (int i = 0; i < 100; i++) {
        char name[8];
        snprintf(name, sizeof name, "%d", i);
        samba_report_value(r, name, i); // more than there may be: the rest is left out
    }
    CHECK(r->n_curves == SAMBA_REPORT__CURVES);
    CHECK(samba_report_close(r));
    samba_close(n.s);
}

static void test_errors(void)
{
    net n = compiled();
    samba_report_opts o = options();
    samba_set_quiet(n.s, true);
    empty_folder();
    CHECK(samba_report_close(samba_report_open(n.s, &o)));
    o.folder = FOLDER "/log.csv/none";
    CHECK(!samba_report_open(n.s, &o) && samba_error_code(n.s) == SAMBA_EIO);
    CHECK(strstr(samba_error(n.s), FOLDER "/log.csv/none: Not a directory") != NULL);
    samba_clear_error(n.s);
    o.folder = FOLDER "/a/b//c/"; // it is made, with those above it
    samba_report *r = samba_report_open(n.s, &o);
    CHECK(r && !samba_report_open(n.s, &o)); // two would write one log
    CHECK(strstr(samba_error(n.s), "another training writes to " FOLDER "/a/b//c/") != NULL);
    samba_clear_error(n.s);
    CHECK(samba_report_close(r));
    CHECK(samba_report_close(samba_report_open(n.s, &o)));
    samba_report_step(NULL, 1, 1);
    samba_report_value(NULL, "x", 1);
    samba_report_prediction(NULL, 0, 0);
    samba_report_sample(NULL, NULL, 0, 0, 0);
    samba_report_forget(NULL);
    CHECK(samba_report_close(NULL));
    CHECK(samba_close(n.s) == 0);
}

// A service may have closed its standard input: then a file gets the number 0.
static void test_without_standard_input(void)
{
    net n = compiled();
    samba_report_opts o = options();
    empty_folder();
    int kept = dup(0);
    CHECK(kept > 0 && close(0) == 0);
    samba_report *r = samba_report_open(n.s, &o);
    CHECK(r != NULL);
    train(&n, r, 0);
    CHECK(samba_report_close(r));
    CHECK(dup2(kept, 0) == 0 && close(kept) == 0);
    CHECK(read_file("log.csv") && count(",loss,") == STEPS && read_file("report.html"));
    if (!samba_ok(n.s)) printf("%s\n", samba_error(n.s));
    samba_clear_error(n.s);
    samba_close(n.s);
}

// A log that a killed program left: what comes after the checkpoint, or is no whole row, goes.
static void test_resumed_log(void)
{
    net n = compiled();
    samba_report_opts o = options();
    const float pixel = 0;
    empty_folder();
    samba_report *r = samba_report_open(n.s, &o);
    train(&n, r, 0);
    samba_report_value(r, "a \"name\", quoted\nand \xff", 0.5);
    CHECK(samba_report_close(r));
    FILE *f = fopen(FOLDER "/log.csv", "a");
    CHECK(f && fprintf(f, "%d,0.5,loss,7\n8,0.6,lo", STEPS + 1) > 0 && fclose(f) == 0);
    o.first = STEPS;
    o.steps = STEPS + 2;
    r = samba_report_open(n.s, &o);
    samba_report_step(r, STEPS + 1, 0.125);
    samba_report_step(r, STEPS + 2, NAN);
    samba_report_sample(r, &(samba_report_image){ &pixel, 1, 1, 1, 0, 1 }, 0, 0, 1);
    CHECK(samba_report_close(r));
    CHECK(read_file("log.csv") && count(",loss,") == STEPS + 2 && count("step,seconds") == 1);
    CHECK(!strstr(text, ",loss,7\n") && strstr(text, ",loss,0.125\n")
          && strstr(text, ",loss,nan\n"));
    CHECK(count(",\"a \"\"name\"\", quoted?and ?\",0.5\n") == 1 && !strstr(text, ",lo\n"));
    CHECK(read_file("report.html") && strstr(text, "1 value is not finite, the first at step 9"));
    CHECK(count("<title>step ") >= STEPS + 1 && strstr(text, "<title>step 1: "));
    o.first = 3; // and from an earlier checkpoint
    r = samba_report_open(n.s, &o);
    CHECK(samba_report_close(r) && read_file("log.csv") && count(",loss,") == 3);
    samba_close(n.s);
}

// A curve may have a name of TensorBoard's kind; an error of the session stands on the page.
static void test_page_of_error(void)
{
    net n = compiled();
    samba_report_opts o = options();
    empty_folder();
    o.steps = 100;
    samba_set_quiet(n.s, true);
    samba_report *r = samba_report_open(n.s, &o);
    train(&n, r, 0);
    samba_report_value(r, "test/accuracy", 0.5);
    samba_fail(n.s, SAMBA_ERANGE, "a <bad> value");
    CHECK(samba_report_close(r) && read_file("report.html"));
    CHECK(strstr(text, "Ended by an error") && strstr(text, "SAMBA_ERANGE a &lt;bad&gt; value"));
    CHECK(strstr(text, "<dd>7 of 100</dd>")
          && strstr(text, "<figcaption>test/accuracy <b>0.5</b>"));
    CHECK(count("<figure class=\"small\">") == 4);
    samba_clear_error(n.s);
    samba_close(n.s);
}

// What a terminal of so many columns gets while it trains. TERM: its name.
static void run_on_terminal(int columns, const char *name)
{
    struct winsize size = { .ws_row = 24, .ws_col = (unsigned short)columns };
    int terminal = posix_openpt(O_RDWR | O_NOCTTY), saved = dup(STDERR_FILENO);
    bool fine = terminal >= 0 && !grantpt(terminal) && !unlockpt(terminal);
    int side = fine ? open(ptsname(terminal), O_RDWR | O_NOCTTY) : -1;
    CHECK(side >= 0 && ioctl(side, TIOCSWINSZ, &size) == 0 && dup2(side, STDERR_FILENO) >= 0);
    setenv("TERM", name, 1);
    net n = compiled();
    samba_report_opts o = options();
    o.folder = NULL;
    samba_report *r = samba_report_open(n.s, &o);
    train(&n, r, 0);
    samba_report_value(r, "accuracy", 0.5);
    samba_report_close(r);
    samba_close(n.s);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(side);
    ssize_t got = 0;
    for (text_size = 0; got >= 0 && text_size<10000; text_size += got> 0 ? (size_t)got : 0)
        got = read(terminal, text + text_size, 1000); // fails when all that was written is read
    text[text_size] = 0;
    close(saved);
    close(terminal);
}

static void test_terminal(void)
{
    const int columns[] = { 132, 80, 40, 10 };
    for (int i = 0; i < 4; i++) {
        run_on_terminal(columns[i], "xterm");
        size_t line = 0, longest = 0;
        for (size_t k = 0; k < text_size; k++) {
            line = text[k] == '\r' || text[k] == '\n' ? 0 : line + 1;
            if (line > longest) longest = line;
        }
        CHECK(longest > 5 && longest < (size_t)columns[i]);
        CHECK(count("\r") >= 3 && strchr(text, '\n') == NULL && text[text_size - 1] == '\r');
        CHECK((strstr(text, "[====") != NULL) == (i == 0) && strstr(text, "step 7"));
    }
    run_on_terminal(80, "dumb");
    CHECK(!strchr(text, '[') && strstr(text, "step 7/7  loss ") && strstr(text, "MiB\r\n"));
}

int main(void)
{
    RUN(test_bits_and_csv);
    RUN(test_gradient_norm);
    RUN(test_events);
    RUN(test_page);
    RUN(test_confusion_matrix);
    RUN(test_long_curve);
    RUN(test_without_standard_input);
    RUN(test_resumed_log);
    RUN(test_page_of_error);
    RUN(test_terminal);
    RUN(test_errors);
    return test_summary();
}

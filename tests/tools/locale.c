// Companions write and read numbers with a point, whatever the locale of the program is.
//     cc -O2 -I. tests/tools/locale.c -lm -pthread -o locale && ./locale
// Run in a folder of its own by tests/tools/locale.sh, with and without decimal commas: ./locale
// NAME
#define SAMBA_IMPLEMENTATION
#define SAMBA_REPORT_IMPLEMENTATION
#define SAMBA_LEDGER_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/base.h"
#include "tools/include/samba/report.h"
#include "tests/lib/test.h"
#include <locale.h>

static char folder[300]; // of the report

static void test_numbers(void)
{
    char text[200], usual[200];
    samba_base_format(
        text, sizeof text, "%.3f %g %-8.2e| %s %5s|%-5s|%.*s %d %lld %zu %c %% %08.3f", 1.5, -0.25,
        12345.678, "1,5", "ab", "cd", 2, "xyz", -7, 1ll << 40, sizeof(int), '!', 3.14159);
    CHECK(strcmp(text, "1.500 -0.25 1.23e+04| 1,5    ab|cd   |xy -7 1099511627776 4 ! % 0003.142")
          == 0);
    CHECK(samba_base_format(usual, 4, "%.3f", 2.5) == 5 && strcmp(usual, "2.5") == 0);
    char *end = NULL;
    const char *both = "-1.25e3,5";
    CHECK(samba_base_number(both, &end) == -1250.0 && strcmp(end, ",5") == 0);
    CHECK(samba_base_number("7,5", &end) == 7.0 && strcmp(end, ",5") == 0);
    CHECK(samba_base_number("0.5.5", &end) == 0.5 && strcmp(end, ".5") == 0);
    CHECK(samba_base_number("x", &end) == 0.0 && strcmp(end, "x") == 0);
}

// Two trainings, the second of which goes on from the log of the first.
static void test_report(void)
{
    for (int64_t first = 0; first <= 3; first += 3) {
        samba_session *s = samba_open(NULL);
        samba_report *r = samba_report_open(
            s, &(samba_report_opts){ .title = "t", .folder = folder, .steps = 6, .first = first });
        for (int64_t i = first + 1; i <= first + 3; i++)
            samba_report_step(r, i, 1.0 / (double)i);
        samba_report_value(r, "accuracy", 0.5);
        CHECK(samba_report_close(r));
        CHECK(samba_close(s) == 0);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && !setlocale(LC_ALL, argv[1])) {
        printf("no locale %s\n", argv[1]);
        return 2;
    }
    if (argc > 2) return strcmp(localeconv()->decimal_point, ",") != 0;
    snprintf(folder, sizeof folder, argc > 1 ? "." : "%.200s.report", argv[0]);
    RUN(test_numbers);
    RUN(test_report);
    return test_summary();
}

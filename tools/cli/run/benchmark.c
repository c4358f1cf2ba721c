// How fast a forward pass is.
#include "benchmark.h"
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The least of the times that a part of all, such as 0.99, does not exceed.
static double quantile(const double *sorted, int64_t n, double part)
{
    int64_t at = (int64_t)(part * (double)n);
    if ((double)at >= part * (double)n) at--;
    return sorted[at < 0 ? 0 : at];
}

static void print_times(const program *p, const double *sorted, int64_t n, bool json)
{
    double median = quantile(sorted, n, 0.5), p99 = quantile(sorted, n, 0.99);
    double speed = median > 0 ? 1 / median : 0, gflops = 1e-9 * (double)p->flops * speed;
    const char *format = json
        ? "{\"runs\": %lld, \"median_ms\": %.6g, \"p99_ms\": %.6g, \"runs_per_second\": %.6g,"
          " \"flops\": %lld, \"gflops_per_second\": %.6g}\n"
        : "runs    %lld\nmedian  %.6g ms\np99     %.6g ms\nruns/s  %.6g\nFLOP    %lld in a run\n"
          "GFLOP/s %.6g\n";
    samba_base_print(stdout, format, (long long)n, 1e3 * median, 1e3 * p99, speed,
                     (long long)p->flops, gflops);
}

bool run_benchmark(program *p, int64_t n, bool json, fault *why)
{
    enum { WARM_UP = 3 };

    double *times = malloc((size_t)n * sizeof *times);
    bool fine = times || fail(why, "no memory for %lld times", (long long)n);
    for (int64_t i = -WARM_UP; fine && i < n; i++) {
        double begin = samba_seconds();
        fine = forward(p, why) && !stopped(why);
        if (fine && i >= 0) times[i] = samba_seconds() - begin;
    }

    if (fine) {
        qsort(times, (size_t)n, sizeof *times, by_size);
        print_times(p, times, n, json);
    }
    free(times);
    return fine;
}

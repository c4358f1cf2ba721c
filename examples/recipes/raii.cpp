// C++: the session closes itself, and an error becomes an exception.
//     c++ -O2 examples/recipes/raii.cpp -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <cstdio>
#include <memory>
#include <stdexcept>

using session = std::unique_ptr<samba_session, int (*)(samba_session *)>;

static void check(const session &s)
{
    if (!samba_ok(s.get())) throw std::runtime_error(samba_error(s.get()));
}

static float sum_of_squares(int32_t rows) // of 3 and 4
{
    session s(samba_open(NULL), samba_close);
    samba_set_quiet(s.get(), true); // the exception has the text
    samba_tensor *x = samba_input(s.get(), "x", SAMBA_F32, SAMBA_SHAPE(rows));
    samba_program program = {};
    program.inference = true;
    program.outputs[0] = samba_sum(samba_mul(x, x), SAMBA_ALL_AXES, false);
    samba_compile(s.get(), &program);
    const float values[] = { 3, 4 };
    samba_write_bytes(x, values, sizeof values);
    samba_run(s.get(), 0);
    check(s); // an error of any call above; the calls after it did nothing
    return samba_read(program.outputs[0])[0];
}

int main()
{
    std::printf("9 + 16 = %g\n", (double)sum_of_squares(2));
    try {
        sum_of_squares(3);
    } catch (const std::exception &e) {
        std::printf("refused: %s\n", e.what());
    }
}

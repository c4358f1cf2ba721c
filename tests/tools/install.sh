#!/bin/sh
# tests/tools/install.sh: samba.h in somebody else's project: a program in an empty folder is built
# by pkg-config, CMake and Meson from what make install and make packages write, and learns.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=$PWD/build/test/install log=$PWD/build/test/install.log
rm -rf "$out" && mkdir -p "$out" || exit 1
. tests/lib/test.sh
CC=${CC:-cc}
version=$(sed -n 's/^#define SAMBA_VERSION "\(.*\)"$/\1/p' samba.h)
prefix="$out/a prefix"          # with a blank, as people's folders have

# ---- Two programs: one that needs samba.h alone, and one with companions and their libraries ----
cat >"$out/net.c" <<'END'
#define SAMBA_NO_SIMD
#define SAMBA_IMPLEMENTATION
#include "samba.h"

int main(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3));
    samba_tensor *y = samba_mean(samba_linear(x, "fc", 4), SAMBA_SHAPE(0, 1), false);
    const float batch[6] = { 1, 2, 3, 4, 5, 6 };
    samba_program p = { .loss = y, .optim = { .kind = SAMBA_SGD, .lr = 0.1f } };
    samba_write(x, batch);
    bool learned = samba_compile(s, &p) && samba_run(s, 0);
    printf("%s %s\n", SAMBA_VERSION, learned ? "learned" : samba_error(s));
    samba_close(s);
    return learned ? 0 : 1;
}
END
cat >"$out/words.c" <<'END'
#define SAMBA_TOKENIZER_IMPLEMENTATION
#include "samba/tokenizer.h"
#define SAMBA_HDF5_ROWS_IMPLEMENTATION
#include "samba/hdf5_rows.h"
#include <zlib.h>

int main(void)
{
    char no_words[300] = "", no_rows[300] = "";
    bool words = samba_tokenizer_open("nowhere", no_words, sizeof no_words);
    bool rows = samba_rows_open("nowhere.h5", SAMBA_ROWS_READ, 0, false, no_rows, sizeof no_rows);
    printf("zlib %s; %s; %s\n", zlibVersion(), no_words, no_rows);
    return words || rows ? 1 : 0;
}
END
learns() { fails_with 0 "$version learned" "$1"; }
refuses() { fails_with 0 'nowhere.h5' "$1"; }
project() {         # project NAME: an empty folder with both programs
    rm -rf "${out:?}/$1" && mkdir "$out/$1" && cp "$out/net.c" "$out/words.c" "$out/$1"
}

# ---- make install ----
check 'make install' make install PREFIX="$prefix" DESTDIR=
count() { find "$1" -name '*.h' | wc -l; }
same_headers() { [ "$(count "$prefix/include/samba")" = "$(count tools/include/samba)" ]; }
check 'all companions are there' same_headers
check 'samba.h is there' cmp samba.h "$prefix/include/samba.h"
check 'DESTDIR stands before the prefix' make install PREFIX=/opt/nets DESTDIR="$out/staged"
pc=share/pkgconfig/samba.pc
check 'but not in samba.pc' grep -qx 'prefix=/opt/nets' "$out/staged/opt/nets/$pc"

# The libraries of companions, for the second program.
libraries=yes
for header in cjson/cJSON.h utf8proc.h zlib.h hdf5.h; do
    # shellcheck disable=SC2046
    echo "#include <$header>" | $CC $(tools/dev/hdf5.sh | tr ' ' '\n' | grep '^-I') -E -x c - \
        >/dev/null 2>&1 || libraries=''
done
[ "$libraries" ] || skip 'a program with companions' \
    'cJSON, utf8proc, zlib and HDF5: tools/dev/install.sh tools'

# ---- pkg-config ----
if have pkg-config; then
    PKG_CONFIG_PATH=$prefix/share/pkgconfig
    export PKG_CONFIG_PATH
    project pkgconfig
    with_pkg_config() { # as a Makefile does it: words with blanks are quoted by pkg-config
        eval "$CC -O0 -o '$out/pkgconfig/net' '$out/pkgconfig/net.c' \
            $(pkg-config --cflags --libs samba)"
    }
    check 'pkg-config: builds' with_pkg_config
    check 'pkg-config: learns' learns "$out/pkgconfig/net"
    check 'pkg-config: says the version of samba.h' fails_with 0 "$version" \
        pkg-config --modversion samba
else
    skip 'pkg-config' 'pkg-config: tools/dev/install.sh test'
fi

# ---- CMake ----
if have cmake; then
    project cmake
    cat >"$out/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(somebodys C)
find_package(samba 0.1 REQUIRED COMPONENTS companions)
add_executable(net net.c)
target_link_libraries(net samba::samba)
if(NOT samba_companions_MISSING)
  add_executable(words words.c)
  target_link_libraries(words samba::companions)
endif()
END
    configure() { cmake -S "$out/cmake" -B "$out/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" "$@"; }
    check 'CMake: finds samba' configure
    check 'CMake: builds' cmake --build "$out/cmake/build"
    check 'CMake: learns' learns "$out/cmake/build/net"
    [ -z "$libraries" ] ||
        check 'CMake: companions have their libraries' refuses "$out/cmake/build/words"
    sed -i 's/samba 0.1/samba 0.9/' "$out/cmake/CMakeLists.txt"
    check 'CMake: another version is refused' fails_with 1 "version: $version" configure
    sed -i 's/samba 0.9/samba/; s/companions)$/guests)/' "$out/cmake/CMakeLists.txt"
    check 'CMake: an unknown component is refused by name' \
        fails_with 1 'samba has no component guests' configure
else
    skip 'CMake' 'cmake: tools/dev/install.sh test'
fi

# ---- Meson, with the subproject of make packages ----
if have meson && have ninja && have zip; then
    project meson
    check 'make packages' env URL=https://example.org/samba tools/package/package.sh "$out/packages"
    mkdir -p "$out/meson/subprojects"
    cp -R "$out/packages/meson/samba" "$out/meson/subprojects/"
    cat >"$out/meson/meson.build" <<END
project('somebodys', 'c')
samba = dependency('samba', fallback: ['samba', 'samba_dep'], version: '>=0.1')
executable('net', 'net.c', dependencies: samba)
if '$libraries' == 'yes'
  companions = dependency('samba_companions', fallback: ['samba', 'samba_companions_dep'])
  executable('words', 'words.c', dependencies: companions)
endif
END
    # What is installed would be found first.
    check 'Meson: sets up' env PKG_CONFIG_PATH= meson setup "$out/meson/build" "$out/meson"
    check 'Meson: builds' ninja -C "$out/meson/build"
    check 'Meson: learns' learns "$out/meson/build/net"
    [ -z "$libraries" ] ||
        check 'Meson: companions have their libraries' refuses "$out/meson/build/words"
else
    skip 'Meson' 'meson, ninja and zip: tools/dev/install.sh test'
fi
finish

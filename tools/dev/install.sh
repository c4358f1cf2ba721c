#!/bin/sh
# tools/dev/install.sh run|gpt|test|full|bench|tools|onnx|device|web|docs|view|fuzz: makes sure that
# what this purpose needs is installed. Says what is missing and why, installs it (as root, or
# through sudo if that asks nothing), and is silent when nothing is missing. Elsewhere than on
# Debian and its kin it prints the list. With "look" before the purpose nothing is installed: what
# is missing is printed as "must|may PACKAGE: why"; tools/samba doctor asks so. Nor is it under
# SAMBA_INSTALL=no, which the tests set: what was to be installed is, and the build says the rest.
set -u
look=''
if [ "${1:-}" = look ]; then
    look=yes
    shift
fi
purpose=${1:-}
debian_data=/usr/share/datasets/fashion-mnist
data=${DATA:-$debian_data}
case $purpose in
run | gpt | test | full | bench | tools | onnx | device | web | docs | view | fuzz) ;;
*)
    echo "usage: tools/dev/install.sh \
run|gpt|test|full|bench|tools|onnx|device|web|docs|view|fuzz" >&2
    exit 2
    ;;
esac
wanted=$purpose full=''             # what only `make full` uses: over a gigabyte of other platforms
[ "$purpose" != full ] || full=yes purpose=test

# ---- Ways to look, quickest first ----
has_command() { command -v "$1" >/dev/null 2>&1; }
has_header() {      # a name as in #include <name>
    [ -e "/usr/include/$1" ] || [ -e "/usr/local/include/$1" ] && return
    printf '#include <%s>\n' "$1" | ${CC:-cc} -E -x c - >/dev/null 2>&1
}
has_python_header() {
    include=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["include"])' 2>/dev/null) &&
        [ -e "$include/Python.h" ]
}
has_file() { [ -e "/usr/include/$1" ] || [ -e "/usr/local/include/$1" ]; }
has_onnx_data() { [ -e "${ONNX_DATA:-/usr/share/libonnx-testdata/data}" ]; }
cc=${CC:-cc}                        # may be two words, such as ccache gcc
has_compilers() { has_command "${cc%% *}" && { [ "$purpose" != test ] || has_command gcc; }; }
has_data() { [ "$data" != $debian_data ] || [ -e $data/train-images-idx3-ubyte.gz ]; }
has_clang_runtime() {       # ASan of clang, in the folder that clang says
    has_command clang || return
    for file in "$(clang -print-runtime-dir)"/libclang_rt.asan[-.]* \
                "$(clang -print-resource-dir)"/lib/*/libclang_rt.asan[-._]*; do
        [ -e "$file" ] && return
    done
    false
}
has_hdf5() { has_header hdf5.h || has_header hdf5/serial/hdf5.h; }
has_module() {      # of python: found, not imported, because importing torch takes seconds
    for python in python3 /usr/bin/python3; do
        $python -c "import importlib.util as u, sys; sys.exit(u.find_spec('$1') is None)" \
            >/dev/null 2>&1 && return
    done
    false
}
has_library() {     # a shared library that dlopen finds
    PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -q "^[[:space:]]*$1 "
}
has_m32() {         # 32-bit programs: the flag is for headers that Debian keeps per architecture
    printf '#include <errno.h>\n#include <pthread.h>\nint main(void) { return errno; }\n' |
        gcc -m32 -isystem /usr/include/x86_64-linux-gnu -x c - -o /dev/null >/dev/null 2>&1
}

has_board_header() {        # has_board_header COMPILER...: its C library
    echo '#include <string.h>' | "$@" -E -x c - >/dev/null 2>&1
}
has_cross_library() { [ -e "/usr/$1-linux-gnu/lib/libc.a" ]; }

# ---- What is needed: need must|may PACKAGE 'why' 'what it is on other systems' check... ----
must='' may='' packages='' others=''
need() {
    level=$1 package=$2 why=$3 other=$4
    shift 4
    "$@" && return
    case $level in must) must="$must $package" ;; may) may="$may $package" ;; esac
    packages="$packages $package"
    list="$list    $package: $why
"
    levels="$levels$level $package: $why
"
    others="$others    $other
"
}
clang_rt=libclang-rt-dev
clang_major=$(clang -dumpversion 2>/dev/null | cut -d. -f1)
[ -n "$clang_major" ] && clang_rt=libclang-rt-$clang_major-dev
gcc_major=$(gcc -dumpversion 2>/dev/null | cut -d. -f1)

check() {
    must='' may='' packages='' others='' list='' levels=''
    if [ "$purpose" = web ]; then
        need must make 'runs the Makefile' 'make' has_command make
        need must clang 'compiles C for WebAssembly' 'clang' has_command "${CLANG:-clang}"
        need must lld 'wasm-ld: links it' 'wasm-ld of LLVM' has_command "${WASM_LD:-wasm-ld}"
        need must libstb-dev 'stb_ds.h: the lists and maps of samba.h' \
            'stb_ds.h (github.com/nothings/stb) as <stb/stb_ds.h>' has_file stb/stb_ds.h
        need may dataset-fashion-mnist 'Fashion-MNIST: what the page learns' \
            'the four .gz files of github.com/zalandoresearch/fashion-mnist' has_data
        return
    fi
    need must gcc 'compiles C' 'a C compiler as cc (for the tests: gcc)' has_compilers
    need must libc6-dev 'headers of the C library' 'headers of the C library' has_header stdio.h
    need must make 'runs the Makefile' 'make' has_command make
    case $purpose in tools | gpt | test | fuzz)
        need must libhdf5-dev 'HDF5: the files of prepare-data' 'libhdf5 with its header' has_hdf5
        need must libcjson-dev 'cJSON: reads vocabularies' 'cJSON' has_header cjson/cJSON.h
        need must libutf8proc-dev 'utf8proc: what is a letter' 'utf8proc' has_header utf8proc.h
    esac
    [ "$purpose" = tools ] && return
    onnx=must
    [ "$purpose" = test ] && onnx=may
    case $purpose in onnx | test | fuzz | bench)
        need $onnx libonnx-dev 'onnx.proto: ONNX models' 'onnx.proto of ONNX' \
            has_file onnx/onnx.proto
        need $onnx protobuf-c-compiler 'the same' 'protoc-c of protobuf-c' has_command protoc-c
        need $onnx libprotobuf-c-dev 'the same' 'protobuf-c with its header' \
            has_header protobuf-c/protobuf-c.h
    esac
    [ "$purpose" = test ] &&
        need may tcc 'wrong answers to exercises are judged faster' 'tcc (optional)' has_command tcc
    [ "$purpose" = test ] &&
        need may python3 'writes the copies of make mutants' 'python3 (optional)' \
            has_command python3
    [ "$purpose" = test ] &&
        need may strace 'lets system calls fail: make faults' 'strace (optional)' has_command strace
    [ "$purpose" = test ] || [ "$purpose" = fuzz ] &&
        need may libonnx-testdata 'the test set of ONNX' 'the test set of ONNX (optional)' \
            has_onnx_data
    need must libstb-dev 'stb_ds.h: the lists and maps of samba.h' \
        'stb_ds.h (github.com/nothings/stb) in the include path, as <stb/stb_ds.h> or "stb_ds.h"' \
        has_header stb/stb_ds.h
    if [ "$purpose" = fuzz ]; then
        need must zlib1g-dev 'zlib: gzipped data is read' 'zlib with its header' has_header zlib.h
        need may clang 'libFuzzer: inputs are led to new code' 'clang (optional)' has_command clang
        need may "$clang_rt" 'the same, and sanitizers' 'the compiler-rt of clang (optional)' \
            has_clang_runtime
        return
    fi
    if [ "$purpose" = bench ]; then
        need must libcjson-dev 'cJSON: GPT-2 is measured' 'cJSON' has_header cjson/cJSON.h
        need may libopenblas0-openmp 'OpenBLAS: judges speed' 'OpenBLAS (optional)' \
            has_library libopenblas.so.0
        need may libblis4-openmp 'BLIS: the same' 'BLIS (optional)' has_library libblis.so.4
        need may libdnnl2 'oneDNN: the same' 'oneDNN (optional)' has_library libdnnl.so.2
        need may python3-torch 'PyTorch: the same' 'PyTorch (optional)' has_module torch
        need may python3-venv 'gets PyTorch and others of today from PyPI' \
            "python3's venv (optional)" has_module ensurepip
        need may g++ 'torch.compile uses it' 'a C++ compiler as g++ (optional)' has_command g++
        need may python3-dev 'the same' "python3's headers (optional)" has_python_header
        return
    fi
    if [ "$purpose" = docs ]; then
        need must python3 'makes the page of the reference' 'python3' has_command python3
        need must pandoc 'sets its formulas' 'pandoc' has_command pandoc
        return
    fi
    if [ "$purpose" = device ]; then
        need must gcc-arm-none-eabi 'compiles for Cortex-M' 'arm-none-eabi-gcc' \
            has_command arm-none-eabi-gcc
        need must libnewlib-arm-none-eabi 'its C library' 'newlib for it' \
            has_board_header arm-none-eabi-gcc
        need must gcc-riscv64-unknown-elf 'compiles for RISC-V' 'riscv64-unknown-elf-gcc' \
            has_command riscv64-unknown-elf-gcc
        need must picolibc-riscv64-unknown-elf 'its C library' 'picolibc for it' \
            has_board_header riscv64-unknown-elf-gcc --specs=picolibc.specs
        need must qemu-system-arm 'plays the boards' 'qemu-system-arm' has_command qemu-system-arm
        need must qemu-system-misc 'the same' 'qemu-system-riscv32' has_command qemu-system-riscv32
        need may clang 'the second compiler' 'clang (optional)' has_command clang
        return
    fi
    [ "$purpose" = gpt ] || [ "$purpose" = test ] &&
        need must bible-kjv 'the King James Bible: a text to learn from' \
            'a text of some MB, and 05_gpt_text --text FILE' has_command bible
    [ "$purpose" = gpt ] || [ "$purpose" = onnx ] && return
    need must zlib1g-dev 'zlib: the examples read gzipped data' 'zlib with its header' \
        has_header zlib.h
    need must dataset-fashion-mnist 'Fashion-MNIST: what the examples learn' \
        'the four .gz files of github.com/zalandoresearch/fashion-mnist, and make DATA=FOLDER' \
        has_data
    [ "$purpose" = run ] && return
    if [ "$purpose" = view ]; then
        need must libcjson-dev 'cJSON: GPT-2 is looked at' 'cJSON' has_header cjson/cJSON.h
        need must python3 'judges pages' 'python3' has_command python3
        need must python3-venv 'gets axe-core from PyPI' "python3's venv" has_module ensurepip
        need must chromium 'shows the pages' 'chromium' has_command chromium
        return
    fi
    need may libopenmpi-dev 'Open MPI: training over machines is tested' 'an MPI (optional)' \
        has_command mpicc
    need may openmpi-bin 'the same: it starts the ranks' 'mpirun (optional)' has_command mpirun
    need may python3-torch 'PyTorch: judges results' 'PyTorch (optional)' has_module torch
    need may python3-numpy 'NumPy: the same' 'NumPy (optional)' has_module numpy
    need may python3-h5py 'h5py: judges HDF5 files' 'h5py (optional)' has_module h5py
    need may pkg-config "samba.h in somebody else's project is tried" 'pkg-config (optional)' \
        has_command pkg-config
    need may cmake 'the same, with CMake' 'cmake (optional)' has_command cmake
    need may meson 'the same, with Meson' 'meson (optional)' has_command meson
    need may ninja-build 'the same: Meson runs it' 'ninja (optional)' has_command ninja
    need may zip 'packages for small devices are tested' 'zip (optional)' has_command zip
    need may libxml2-utils 'the same: xmllint judges their XML' 'xmllint (optional)' \
        has_command xmllint
    need must g++ 'samba.h is C++, too' 'a C++ compiler as g++' has_command g++
    need must clang 'the second compiler' 'clang and clang++' has_command clang++
    need must "$clang_rt" 'sanitizers of clang' 'the compiler-rt of clang' has_clang_runtime
    [ "$(uname -m)" != x86_64 ] || need may "gcc-${gcc_major:-12}-multilib" \
        'the same tests in 32 bits' 'a gcc that knows -m32 (optional)' has_m32
    [ -n "$full" ] || return 0
    need may qemu-user-static 'same bits on other processors' 'qemu-aarch64 ... (optional)' \
        has_command qemu-s390x-static
    for machine in aarch64 s390x riscv64; do
        case $machine in aarch64) architecture=arm64 ;; *) architecture=$machine ;; esac
        need may gcc-$machine-linux-gnu "the same: compiles for $machine" \
            "$machine-linux-gnu-gcc (optional)" has_command $machine-linux-gnu-gcc
        need may libc6-dev-$architecture-cross 'the same' "its C library (optional)" \
            has_cross_library $machine
    done
    need may gcc-mingw-w64-x86-64 'same bits on Windows' 'x86_64-w64-mingw32-gcc (optional)' \
        has_command x86_64-w64-mingw32-gcc
    need may wine 'the same: it runs the programs' 'wine (optional)' has_command wine
    need may lld 'wasm-ld: the web page is tried' 'wasm-ld of LLVM (optional)' has_command wasm-ld
    need may chromium 'the same: it opens the page' 'chromium (optional)' has_command chromium
    need may python3-venv 'judges from PyPI are tried' "python3's venv (optional)" \
        has_module ensurepip
}

# ---- Installing ----
apt() {             # waits up to ten minutes while another process holds a lock
    tries=0
    while :; do
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 "$@" \
            >"$log" 2>&1 </dev/null && return
        tries=$((tries + 1))
        grep -q 'get lock\|is held by' "$log" && [ $tries -lt 60 ] || return
        sleep 10
    done
}
install_packages() {
    apt update || { echo "apt-get update failed, going on without:"; tail -n 3 "$log"; }
    known=''
    for package in $packages; do
        if apt-cache show "$package" 2>/dev/null | grep -q ^Package; then known="$known $package"
        else echo "no package $package here"; fi
    done
    [ -z "$known" ] || apt install --no-install-recommends $known && return
    tail -n 5 "$log"
    for package in $known; do       # one that cannot be had must not keep away the others
        apt install --no-install-recommends "$package" || tail -n 2 "$log"
    done
}

check
if [ -n "$look" ]; then
    printf '%s' "$levels"
    exit 0
fi
[ -n "$packages" ] || exit 0
echo "missing, for make $wanted:"
printf '%s' "$list"
[ "${SAMBA_INSTALL:-}" != no ] || exit 0

sudo='' able=yes
if ! has_command apt-get; then able=no
elif [ "$(id -u)" != 0 ]; then
    sudo='sudo -n'
    $sudo true 2>/dev/null || able=no
fi
if [ $able = yes ]; then
    echo "installing with apt-get:$packages"
    log=$(mktemp) || exit 1             # not in the user's folder
    trap 'rm -f "$log"' EXIT
    install_packages
    check
    [ -n "$packages" ] || { echo "done"; exit 0; }
    echo "still missing:"
    printf '%s' "$list"
fi
if [ -z "$must" ]; then
    echo "these are optional: the tests that use them will be skipped"
    exit 0
fi
echo "On Debian or Ubuntu, as root:"
echo "    apt-get install$packages"
echo "Elsewhere:"
printf '%s' "$others"
exit 1

#!/bin/sh
# examples/devices/web/build.sh FILE.html: builds the page into one file, which needs nothing else:
# the net as WebAssembly, made by clang and wasm-ld without any other toolchain, the scripts, the
# style. FILE.wasm: the net alone. SOURCE is another program in place of web.c. `check` in place of
# a file builds nothing, and looks in seconds whether libc/ has all that samba.h calls.
set -eu
cd "$(dirname "$0")"
out=${1:-}
[ -n "$out" ] || { sed -n 's/^# //; 2,5p' "$0" >&2; exit 2; }
case $out in /* | check) ;; *) out=$OLDPWD/$out ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CLANG=${CLANG:-clang}

# stb_ds.h comes from the system's folders, everything else of a C library from libc/. One thread:
# thread-local variables would ask for shared memory.
flags="--target=wasm32 -O2 -std=gnu99 -ffreestanding -nostdlibinc -mbulk-memory -msimd128
    -Wall -Wextra -Werror=implicit-function-declaration -D__thread= -DSAMBA_NO_THREADS -Ilibc
    -idirafter /usr/include -idirafter /usr/local/include -I../../.."
if [ "$out" = check ]; then
    $CLANG $flags -fbuiltin -fsyntax-only "${SOURCE:-web.c}"
    exit
fi
$CLANG $flags -fno-builtin -c libc/libc.c -o "$work/libc.o"
$CLANG $flags -fbuiltin -c "${SOURCE:-web.c}" -o "$work/web.o"
${WASM_LD:-wasm-ld} --no-entry --gc-sections --strip-all -z stack-size=262144 \
    -o "$work/web.wasm" "$work/web.o" "$work/libc.o"

mkdir -p "$(dirname "$out")"
case $out in *.wasm) mv "$work/web.wasm" "$out"; exit ;; esac

# Takes the place of the two links: <style>, and <script> thrice.
while IFS= read -r line; do
    case $line in
    '<link rel="stylesheet"'*) echo '<style>'; cat style.css; echo '</style>' ;;
    '<script src="page.js"'*)
        echo '<script type="application/wasm" id="wasm">'
        base64 <"$work/web.wasm"
        echo '</script>'
        echo '<script type="text/plain" id="worker">'
        cat worker.js
        echo '</script>'
        echo '<script>'
        cat page.js
        echo '</script>' ;;
    *) printf '%s\n' "$line" ;;
    esac
done <index.html >"$work/index.html"
mv "$work/index.html" "$out"

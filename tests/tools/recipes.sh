#!/bin/sh
# tests/tools/recipes.sh [NAME]: each recipe has at most 40 lines, stands in the page with lines
# that it has, compiles without a warning, ends with 0, and prints what is promised here. With a
# NAME such as csv, that one alone.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
recipes=examples/recipes page=examples/recipes/README.md only=${1:-}
out=$PWD/build/recipes log=$PWD/build/recipes.log
rm -rf "$out" && mkdir -p "$out/run" || exit 1
. tests/lib/test.sh

compile() {         # compile NAME [LIBRARY]
    build_with_samba -Wall -Wextra -Werror -o "$out/$1" $recipes/"$1".c $2
}
compile_cpp() {     # a C++ compiler, and the same object
    samba=$(sh tests/lib/samba_object.sh ${CC:-cc} -O1 -DSAMBA_NO_SIMD) &&
        ${CXX:-c++} -std=c++11 -O0 -Wall -Wextra -Werror -DSAMBA_NO_SIMD -DSAMBA__IMPLEMENTED -I. \
            -o "$out/$1" $recipes/"$1".cpp "$samba" -lm -pthread
}
prints() {          # prints NAME ARGUMENT...: the lines of $out/NAME.promised, and ends with 0
    name=$1
    shift
    (cd "$out/run" && "$out/$name" "$@") >"$out/$name.said" 2>&1
    code=$?
    diff "$out/$name.promised" "$out/$name.said" && [ $code = 0 ]
}
tested=' '
recipe() {          # recipe NAME [ARGUMENT...]: stdin has what it prints; $library is linked
    tested="$tested$1 "
    cat >"$out/$1.promised"
    [ -z "$only" ] || [ "$only" = "$1" ] || return
    check "$1 compiles" ${build:-compile} "$1" ${library:-}
    check "$1 prints what it should" prints "$@"
}

# ---- The programs ----
recipe early_stopping <<'END'
stopped at 175: validation 0.3320, restored 0.3288
END
recipe reload <<'END'
0 xor 0 = 0
0 xor 1 = 1
1 xor 0 = 1
1 xor 1 = 0
END
recipe tail_batch <<'END'
batches of  4: loss 2.534097, 5 of 10 right
batches of 10: loss 2.534097, 5 of 10 right
END
recipe accumulation <<'END'
a weight after 100 steps: 0.1925, in parts 0.1925
END
recipe plateau <<'END'
after step 200: loss 0.006919, lr 0.0075
after step 77: loss 0.051710, lr 0.015
after step 200: loss 0.006919, lr 0.0075
END
recipe freeze <<'END'
body kept, head trained, loss 0.0789
END
recipe two_optimizers <<'END'
loss 0.0201
then weights move by 0.00000, biases by -0.00039
END
recipe nan <<'END'
log makes a NaN: element 1 of log_1
10 of 30 left out, loss 0.0137
END
recipe csv <<'END'
70 square meters, floor 4: 1020
END
recipe batch_norm <<'END'
test loss 0.0207
the first row: 0.1789, beside other rows 0.1789
END
recipe int8 <<'END'
the square of -2: f32 3.997, int8 3.965
END
recipe threads <<'END'
sums: 609.546721 609.546721 609.546721 609.546721
END
recipe char_lstm <<'END'
the cat sat on a warm mat
END
recipe vae <<'END'
a new point: x^2 1.25, y 1.18
END
recipe other_names <<'END'
before -0.476237, under other names -0.476237
END
recipe text_classification <<'END'
a dull plot: 0
a nice story: 1
slow acting: 0
so very warm: 1
END
recipe gan <<'END'
64 of 64 made numbers lie from 2 to 4, as the data do
END

# Eight pictures of 8 x 8, with a bright row or a bright column.
picture() {         # picture ROWS|COLUMNS NUMBER
    printf 'P5 8 8 255\n'
    for y in 0 1 2 3 4 5 6 7; do
        for x in 0 1 2 3 4 5 6 7; do
            at=$y
            [ "$1" = rows ] || at=$x
            if [ $at = "$2" ]; then printf '\377'; else printf '\000'; fi
        done
    done
}
for class in rows columns; do
    mkdir -p "$out/run/shapes/$class"
    for at in 0 2 4 6; do picture $class $at >"$out/run/shapes/$class/$at.pgm"; done
done
recipe image_folder <<'END'
8 images, loss 0.00
END

if have "${CXX:-c++}"; then
    build=compile_cpp
    recipe raii <<'END'
9 + 16 = 25
refused: SAMBA_ESHAPE in samba_write_bytes(x): it is f32 (3) and takes 12 bytes; 8 were given
END
    build=
else
    tested="${tested}raii "
    skip 'the recipe raii' 'a C++ compiler: tools/dev/install.sh test'
fi

if echo '#include <cjson/cJSON.h>' | ${CC:-cc} -E -x c - >/dev/null 2>&1; then
    mkdir "$out/run/adapter"
    library=-lcjson
    recipe llama "$PWD/tests/golden/llama_smollm" adapter <<'END'
step   0  loss 3.9016
step  50  loss 3.3548
step 100  loss 3.2736
END
    library=
    [ -n "$only" ] && [ "$only" != llama ] ||
        check 'llama writes an adapter' test -s "$out/run/adapter/adapter_model.safetensors"
else
    tested="${tested}llama "
    skip 'the recipe llama' '<cjson/cJSON.h>: tools/dev/install.sh test'
fi

# The tools that it runs, by one name: with the samba.h of all scripts.
onnx_tools() {
    make -s build/onnx/onnx.pb-c.c &&
        build_with_samba -Ibuild/onnx -o "$out/onnx" tools/cli/onnx.c tools/cli/util/text.c \
            build/onnx/onnx.pb-c.c -lprotobuf-c &&
        build_with_samba -o "$out/device" tools/cli/device.c tools/cli/device/*.c \
            tools/cli/util/*.c &&
        printf '#!/bin/sh\ncase $1 in *onnx) exec "%s" "$@" ;; *) exec "%s" "$@" ;; esac\n' \
            "$out/onnx" "$out/device" >"$out/samba" && chmod +x "$out/samba"
}
missing=$(lacks onnx)
if [ -z "$missing" ]; then
    [ -n "$only" ] && [ "$only" != onnx_to_c ] || check 'the tools of ONNX are built' onnx_tools
    recipe onnx_to_c "$out/samba" <<'END'
small.onnx: written
input x: float (1,3), x in the PEF
output y: float (1,2), y in the PEF
net.pef: the program; net.pef.ckpt: the same with the weights
by samba.h: 0.210362494 -0.222130448
in C alone: 0.210362494 -0.222130448
END
else
    tested="${tested}onnx_to_c "
    skip 'the recipe onnx_to_c' "$missing: tools/dev/install.sh onnx"
fi

# ---- The page ----
stands_in_page() {  # each line of code in a row of the page is one of the file
    grep -qF "($1)" $page
}
for file in $recipes/*.c $recipes/*.cpp; do
    name=${file##*/}
    [ -z "$only" ] || [ "$only" = "${name%.*}" ] || continue
    check "$name has at most 40 lines" [ "$(wc -l <"$file")" -le 40 ]
    check "$name says how to build it" \
        grep -qE "^//     c(c|\+\+) -O2 $file .*-lm -pthread$" "$file"
    check "$name stands in the page" stands_in_page "$name"
    case $tested in *" ${name%.*} "*) ran=yes ;; *) ran=no ;; esac
    check "$name is run here" [ $ran = yes ]
done
finish

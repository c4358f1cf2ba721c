#!/bin/sh
# run: quick
# The packages of tools/package: they are whole, their manifests can be read and say the version of
# samba.h, and the sketch of Arduino's package compiles as C++ and learns.
cd "$(dirname "$0")/../.." || exit 1
out=build/test/packages
mkdir -p $out
log=$out/log
. tests/lib/test.sh
URL='https://example.org/samba.h?a=1&b=2'
export URL
if ! have zip || ! have xmllint || ! have python3; then
    skip_all 'packages' 'zip, xmllint and python3: apt-get install zip libxml2-utils python3'
fi

version=$(sed -n 's/^#define SAMBA_VERSION "\(.*\)"$/\1/p' samba.h)
check 'makes the packages' to_file $out/list.txt tools/package/package.sh $out
check 'names each' [ "$(wc -l <$out/list.txt)" = 6 ]
check 'wants to know where the project is' fails_with 1 'URL=' \
    env URL=file:///nowhere tools/package/package.sh $out/none
for world in arduino platformio esp-idf zephyr cmsis meson; do
    find $out/$world -name samba.h -exec cmp {} samba.h \; -print >$out/found
    check "$world holds samba.h" [ "$(wc -l <$out/found)" = 1 ]
    check "$world holds the licence" cmp LICENSE $out/$world/samba/LICENSE
    check "$world says how it is used" grep -q SAMBA_RUNTIME_ONLY $out/$world/samba/README.md
    find $out/$world -name xor_model.h -execdir sh -c 'ls Xor.ino main.c 2>/dev/null' \; >$out/found
    check "$world has an example" grep -q . $out/found
done
mkdir -p $out/before
cp $(cat $out/list.txt) $out/before
check 'makes them again' to_file $out/again.txt tools/package/package.sh $out
for file in $(cat $out/list.txt); do
    name=$(basename "$file")
    check "$name is a whole zip" python3 -m zipfile -t "$file"
    check "$name has the same bytes when it is made again" cmp $out/before/"$name" "$file"
done
properties=$out/arduino/samba/library.properties
for key in name version author maintainer sentence paragraph category url architectures; do
    check "library.properties has one $key" [ "$(grep -c "^$key=." $properties)" = 1 ]
done
check 'library.properties has the version' grep -qx "version=$version" $properties
check 'library.json is JSON with name, version, licence' python3 -c "
import json
m = json.load(open('$out/platformio/samba/library.json'))
assert m['version'] == '$version' and m['name'] == 'samba' and m['license'] == 'MIT'
assert m['homepage'] == '$URL' and len(m['keywords']) > 1"
check 'idf_component.yml has the version' grep -qx "version: \"$version\"" \
    $out/esp-idf/samba/idf_component.yml
check 'module.yml names what Zephyr reads' sh -c "
grep -qx '  cmake: zephyr' $out/zephyr/samba/zephyr/module.yml &&
    [ -e $out/zephyr/samba/zephyr/CMakeLists.txt ] && [ -e $out/zephyr/samba/zephyr/Kconfig ]"
check 'the .pdsc is XML' xmllint --noout $out/cmsis/samba/samba-h.samba.pdsc
check 'the .pdsc has the version' [ "$(xmllint --xpath 'string(//release/@version)' \
    $out/cmsis/samba/samba-h.samba.pdsc)" = "$version" ]
check 'files of the .pdsc are there' [ -e "$out/cmsis/samba/$(xmllint --xpath \
    'string(//file/@name)' $out/cmsis/samba/samba-h.samba.pdsc)" ]

# Arduino compiles a sketch as C++ behind #include <Arduino.h>; here Serial prints on stdout.
cat >$out/sketch.cpp <<'END'
#include <stdio.h>
#include <string.h>
struct serial {
    void begin(long) { }
    void print(const char *text) { fputs(text, stdout); }
    void print(int number) { printf("%d", number); }
    void println(const char *text) { puts(text); }
    void println(int number) { printf("%d\n", number); }
    void println(double number, int digits) { printf("%.*f\n", digits, number); }
} Serial;
#include "arduino/samba/examples/Xor/Xor.ino"
int main()
{
    setup();
    loop();
}
END
check 'the sketch compiles' ${CXX:-c++} -std=gnu++11 -Os -fno-exceptions -fno-rtti -Wall -Wextra \
    -I$out/arduino/samba/src -DSAMBA_NO_SIMD -o $out/sketch $out/sketch.cpp -lm
check 'the sketch runs' to_file $out/sketch.txt $out/sketch
printf '0 xor 0 = 0\n0 xor 1 = 1\n1 xor 0 = 1\n1 xor 1 = 0\n' >$out/right.txt
tail -n 4 $out/sketch.txt >$out/last.txt
check 'the sketch learns' cmp $out/last.txt $out/right.txt
check 'the example in C compiles' ${CC:-cc} -std=gnu99 -Os -Wall -Wextra -DSAMBA_NO_SIMD \
    -I$out/zephyr/samba/include -o $out/xor $out/zephyr/samba/samples/xor/src/main.c -lm
check 'the example in C runs' to_file $out/xor.txt $out/xor
tail -n 4 $out/xor.txt >$out/last.txt
check 'the example in C learns' cmp $out/last.txt $out/right.txt
finish

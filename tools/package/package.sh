#!/bin/sh
# tools/package/package.sh [FOLDER]: samba.h as the package managers of small devices want it, each
# a folder and a zip below FOLDER (build/packages): Arduino, PlatformIO, ESP-IDF, Zephyr, CMSIS; and
# as a subproject of Meson, with its companions. All say what description.conf says. Each holds
# samba.h, the licence, a README and an example; nothing is compiled, because a program chooses its
# own options before it includes the header.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:-$root/build/packages}
. "$root/tools/package/description.conf"
VERSION=$(sed -n 's/^#define SAMBA_VERSION "\(.*\)"$/\1/p' "$root/samba.h")
URL=${URL:-$(git -C "$root" config --get remote.origin.url 2>/dev/null || true)}
case $URL in
http://*/* | https://*/*) ;;
*)
    echo "package.sh: this clone has no origin on the web; say where the project can be found:" >&2
    echo "    make packages URL=https://..." >&2
    exit 1
    ;;
esac

# The day of the last commit that touched samba.h; in a tree without history, today.
day=$(git -C "$root" log -1 --format=%cs -- samba.h 2>/dev/null || true)
day=${day:-$(date +%Y-%m-%d)}

# ---- Text for XML and JSON: the description is plain, a URL may hold & ----
xml() { printf '%s' "$1" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'; }
json() { printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g'; }
json_list() { json "$1" | sed 's/|/", "/g; s/^/["/; s/$/"]/'; }

# start WORLD HEADERS: an empty folder with what every package has; $to is its path.
start() {
    to=$out/$1/$NAME
    rm -rf "${out:?}/$1"
    mkdir -p "$to/$2"
    cp "$root/samba.h" "$to/$2/samba.h"
    cp "$root/LICENSE" "$to/LICENSE"
}

# readme 'how it is installed here, and what the example is': README.md.
readme() {
    cat >"$to/README.md" <<END
# $TITLE $VERSION

$SENTENCE

$PARAGRAPH

$1

A program defines SAMBA_RUNTIME_ONLY, which leaves out what a device does not need, and, in one of
its files, SAMBA_IMPLEMENTATION before it includes samba.h. A net is traced and compiled to a PEF on
a computer; \`tools/samba device-report\` of the project tells beforehand how much RAM and flash it
takes. The manual stands at the top of samba.h.${URL:+

$URL}
END
}

# example FOLDER: the exclusive or in plain C, and its net.
example() {
    mkdir -p "$to/$1"
    cp "$root/tools/package/xor.c" "$to/$1/main.c"
    cp "$xor" "$to/$1/xor_model.h"
}

# sketch FOLDER: the same for Arduino.
sketch() {
    mkdir -p "$to/$1"
    cp "$root/tools/package/Xor.ino" "$to/$1/Xor.ino"
    cp "$xor" "$to/$1/xor_model.h"
}

# finish WORLD FILE: the folder as a zip.
finish() {
    pack "$out/$1" "$2"
}

# pack FOLDER FILE: what is below the folder, in order, each with one date, as a zip.
pack() {
    find "$1" -exec touch -d "$day" {} +
    rm -f "$out/$2"
    (cd "$1" && find . -type f | LC_ALL=C sort | TZ=UTC zip -q -X "$out/$2" -@)
    echo "$out/$2"
}

arduino() {
    start arduino src
    cat >"$to/library.properties" <<END
name=$NAME
version=$VERSION
author=$AUTHOR
maintainer=$AUTHOR
sentence=$SENTENCE
paragraph=$PARAGRAPH
category=Data Processing
url=$URL
architectures=*
includes=samba.h
license=$LICENSE
END
    readme 'Install it from the zip (Sketch, Include Library, Add .ZIP Library). The example Xor
trains a net on the board and prints what it has learned.'
    sketch examples/Xor
    finish arduino "$NAME-arduino-$VERSION.zip"
}

platformio() {
    start platformio include
    cat >"$to/library.json" <<END
{
    "name": "$NAME",
    "version": "$VERSION",
    "description": "$(json "$SENTENCE $PARAGRAPH")",
    "keywords": $(json_list "$KEYWORDS"),
    "authors": [{ "name": "$(json "$AUTHOR")", "maintainer": true }],
    "homepage": "$(json "$URL")",
    "license": "$LICENSE",
    "frameworks": "*",
    "platforms": "*",
    "headers": "samba.h"
}
END
    readme 'Unpack it below lib/ of a project. examples/Xor, a sketch of Arduino, and
examples/xor, in plain C, train a net on the board and print what it has learned.'
    sketch examples/Xor
    example examples/xor
    finish platformio "$NAME-platformio-$VERSION.zip"
}

esp_idf() {
    start esp-idf include
    cat >"$to/idf_component.yml" <<END
version: "$VERSION"
description: "$(json "$SENTENCE")"
url: "$(json "$URL")"
license: "$LICENSE"
dependencies:
  idf: ">=4.4"
END
    cat >"$to/CMakeLists.txt" <<END
# $TITLE is one header: a component that uses it defines SAMBA_IMPLEMENTATION in one of its files.
idf_component_register(INCLUDE_DIRS "include")
END
    example examples/xor/main
    cat >"$to/examples/xor/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.16)
set(EXTRA_COMPONENT_DIRS "../..")
include(\$ENV{IDF_PATH}/tools/cmake/project.cmake)
project(xor)
END
    echo 'idf_component_register(SRCS "main.c" INCLUDE_DIRS "." REQUIRES samba)' \
        >"$to/examples/xor/main/CMakeLists.txt"
    readme 'Unpack it below components/ of a project. examples/xor is a project that trains a net
on the chip: idf.py set-target esp32, idf.py flash monitor.'
    finish esp-idf "$NAME-esp-idf-$VERSION.zip"
}

zephyr() {
    start zephyr include
    mkdir -p "$to/zephyr"
    cat >"$to/zephyr/module.yml" <<END
name: $NAME
build:
  cmake: zephyr
  kconfig: zephyr/Kconfig
END
    cat >"$to/zephyr/Kconfig" <<END
config SAMBA
	bool "$TITLE"
	help
	  $SENTENCE
END
    cat >"$to/zephyr/CMakeLists.txt" <<END
# $TITLE is one header: a program that uses it defines SAMBA_IMPLEMENTATION in one of its files.
if(CONFIG_SAMBA)
  zephyr_include_directories(\${CMAKE_CURRENT_SOURCE_DIR}/../include)
endif()
END
    example samples/xor/src
    cat >"$to/samples/xor/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.20.0)
list(APPEND ZEPHYR_EXTRA_MODULES \${CMAKE_CURRENT_SOURCE_DIR}/../..)
find_package(Zephyr REQUIRED HINTS \$ENV{ZEPHYR_BASE})
project(xor)
target_sources(app PRIVATE src/main.c)
END
    printf 'CONFIG_SAMBA=y\nCONFIG_FPU=y\nCONFIG_MAIN_STACK_SIZE=8192\n' \
        >"$to/samples/xor/prj.conf"
    readme 'Name its folder in ZEPHYR_EXTRA_MODULES, or in a manifest of west, and set
CONFIG_SAMBA=y. The sample xor trains a net on the board: west build -b BOARD
samples/xor.'
    finish zephyr "$NAME-zephyr-$VERSION.zip"
}

cmsis() {
    start cmsis include
    cat >"$to/$VENDOR.$NAME.pdsc" <<END
<?xml version="1.0" encoding="UTF-8"?>
<package schemaVersion="1.7.7" xmlns:xs="http://www.w3.org/2001/XMLSchema-instance"
         xs:noNamespaceSchemaLocation="PACK.xsd">
  <vendor>$VENDOR</vendor>
  <name>$NAME</name>
  <description>$(xml "$SENTENCE")</description>
  <url>$(xml "${URL%/}/")</url>
  <license>LICENSE</license>
  <releases>
    <release version="$VERSION" date="$day">Made by tools/package/package.sh.</release>
  </releases>
  <keywords>
$(printf '%s\n' "$KEYWORDS" | tr '|' '\n' | sed 's|.*|    <keyword>&</keyword>|')
  </keywords>
  <components>
    <component Cclass="Machine Learning" Cgroup="$NAME" Cversion="$VERSION">
      <description>$(xml "$PARAGRAPH")</description>
      <files>
        <file category="header" name="include/samba.h"/>
      </files>
    </component>
  </components>
</package>
END
    example Examples/xor
    readme 'Add the pack to your tools (cpackget add, or the pack installer), and the component
Machine Learning, samba to a project. Examples/xor trains a net on the board and
prints what it learned.'
    pack "$to" "$VENDOR.$NAME.$VERSION.pack"
}

meson() {
    start meson include
    cp -R "$root/tools/include/samba" "$to/include/samba"
    sed "s|@VERSION@|$VERSION|; s|@LICENSE@|$LICENSE|" \
        "$root/tools/package/install/meson.build.in" >"$to/meson.build"
    readme "Unpack it below subprojects/ of a project, whose meson.build says

    samba = dependency('samba', fallback: ['samba', 'samba_dep'])
    executable('net', 'net.c', dependencies: samba)

Who uses headers in samba/ says samba_companions and samba_companions_dep instead."
    example examples/xor
    finish meson "$NAME-meson-$VERSION.zip"
}

# The examples train a net, whose PEF a program on this computer makes.
make_xor() {
    xor=$out/xor_model.h
    ${CC:-cc} -O0 -DSAMBA_NO_SIMD -I"$root" -o "$out/make_xor" "$root/tools/package/make_xor.c" \
        -lm -pthread
    "$out/make_xor" "$out/xor.ckpt" >"$xor"
}

mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -f "$out"/*.zip "$out"/*.pack
make_xor
arduino
platformio
esp_idf
zephyr
cmsis
meson

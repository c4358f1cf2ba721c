#!/bin/sh
# tools/package/package.sh [FOLDER]: samba.h as the package managers of small devices want it, each
# a folder and a zip below FOLDER (build/packages): Arduino, PlatformIO, ESP-IDF, Zephyr, CMSIS.
# All say what description.conf says. Each holds samba.h, the licence and the device examples;
# nothing is compiled, because a program chooses its own options before it includes the header.
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
    sketch=$to/examples/Xor
    mkdir -p "$sketch"
    cp "$root/tools/package/Xor.ino" "$sketch/Xor.ino"
    cp "$xor" "$sketch/xor_model.h"
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
    printf '%s\n\n%s\n\n%s\n' "# $TITLE" "$SENTENCE" "$PARAGRAPH" >"$to/README.md"
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
    pack "$to" "$VENDOR.$NAME.$VERSION.pack"
}

# The sketch of Arduino's package trains a net, whose PEF a program on this computer makes.
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

#!/bin/sh
# tools/dev/chapters.sh [FOLDER]: cuts samba.h into its chapters, for readers and lessons:
# build/chapters/01-manual.h, 02-config.h ... Their text in this order is samba.h.
cd "$(dirname "$0")/../.." || exit 1
folder=${1:-build/chapters}
mkdir -p "$folder" || exit 1
rm -f "$folder"/[0-9][0-9]-*.h
awk -v folder="$folder" '
    # What stands above the first banner, the licence and the title, belongs to its chapter.
    function cut() {
        if (name != "") printf "%s", text > sprintf("%s/%02d-%s.h", folder, ++n, name)
        if (name != "") text = ""
    }
    /^\/\* ==== \[/ {
        cut()
        name = substr($3, 2, length($3) - 2)
    }
    { text = text $0 "\n" }
    END { cut() }' samba.h
echo "$(ls "$folder"/[0-9][0-9]-*.h | wc -l) chapters in $folder"

#!/bin/sh
# tools/dev/parts.sh join|cut|check: samba.h is its chapters, the files of tools/parts, one after
# the other as tools/parts/order has them. Edit a part and join, or samba.h and cut: make samba.h
# and make parts do so. Above 32,767 lines some debuggers and editors end; a part has about 1,000.
cd "$(dirname "$0")/../.." || exit 1
parts=tools/parts
stop() { echo "parts.sh: $1" >&2; exit 1; }

joined() {
    while read -r name; do
        cat "$parts/$name.h" || exit 1
    done <$parts/order
}
# What stands above the first banner, the licence and the title, belongs to its chapter.
cut_into() {        # cut_into FOLDER
    rm -f "$1"/*.h
    awk -v folder="$1" '
        function cut() {
            if (name == "") return
            printf "%s", text > (folder "/" name ".h")
            print name > (folder "/order")
            text = ""
        }
        /^\/\* ==== \[/ {
            cut()
            name = substr($3, 2, length($3) - 2)
        }
        { text = text $0 "\n" }
        END { cut() }' samba.h
}

case ${1:-} in
check)
    joined | cmp - samba.h || stop 'make samba.h, or make parts, whichever was not edited'
    ;;
cut)
    mkdir -p $parts || exit 1
    cut_into $parts
    echo "$(wc -l <$parts/order) parts in $parts"
    ;;
join)
    new=$(mktemp) || exit 1
    trap 'rm -f "$new"' EXIT
    joined >"$new" || stop 'a part is missing'
    cmp -s "$new" samba.h && exit 0
    # Nobody's edits are lost: as long as no part is newer, it was samba.h that was edited.
    [ -n "$(find $parts -newer samba.h -name '*.h')" ] ||
        stop 'samba.h was edited after its parts; make parts takes that into them'
    cat "$new" >samba.h
    ;;
*) stop 'join, cut or check' ;;
esac

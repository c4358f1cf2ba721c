#!/bin/sh
# embed.sh FILE...: the files of the viewer as a C array of names and texts, on stdout. Indentation
# and lines that are comments alone stay behind: the page is read by a browser.
printf '// Made by tools/cli/view/embed.sh from tools/cli/view/page.\n'
printf 'static const struct { const char *name, *text; } page_files[] = {\n'
for file in "$@"; do
    printf '{ "%s",\n' "$(basename "$file")"
    sed -e 's/^ *//' -e '/^\/\/ /d' -e '/^$/d' -e 's/\\/\\\\/g; s/"/\\"/g; s/??/?\\?/g' \
        -e 's/^/"/; s/$/\\n"/' "$file" || exit 1
    printf '"" },\n'
done
printf '{ 0, 0 } };\n'

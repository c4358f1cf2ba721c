#!/bin/sh
# embed.sh FILE...: the files of the viewer as a C array of names and texts, on stdout.
printf '// Made by tools/cli/view/embed.sh from tools/cli/view/page.\n'
printf 'static const struct { const char *name, *text; } page_files[] = {\n'
for file in "$@"; do
    printf '{ "%s",\n' "$(basename "$file")"
    sed 's/\\/\\\\/g; s/"/\\"/g; s/??/?\\?/g; s/^/"/; s/$/\\n"/' "$file" || exit 1
    printf '"" },\n'
done
printf '{ 0, 0 } };\n'

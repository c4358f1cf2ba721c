#!/bin/sh
# tests/lib/bare_path.sh FOLDER: makes FOLDER of links to the commands that a bare Debian with git,
# make and gcc has, and prints it. With it as PATH, every other compiler, browser and tool of this
# machine is hidden, and apt-get, too, so that nothing is installed meanwhile.
set -u
folder=$1
command -v dpkg-query >/dev/null && command -v apt-cache >/dev/null || exit 1
rm -rf "$folder" && mkdir -p "$folder" || exit 1

# Packages that every Debian has, and what git, make and gcc bring along.
dpkg-query -W -f '${Priority} ${Package}\n' | sed -n 's/^required //p' >"$folder.packages"
apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts --no-breaks \
    --no-replaces --no-enhances git make gcc 2>/dev/null | grep '^[a-z]' >>"$folder.packages"
sort -u "$folder.packages" | xargs dpkg -L 2>/dev/null |
    grep -E '^(/usr)?/s?bin/[^/]+$' | while read -r command; do
        ln -sf "$command" "$folder/"
    done
# The choices of update-alternatives belong to no package.
for command in awk cc c99 which; do
    [ -e "/usr/bin/$command" ] && ln -sf "/usr/bin/$command" "$folder/"
done
rm -f "$folder/apt-get" "$folder/apt" "$folder.packages"
echo "$folder"

# The first table of tests/bench/SPEED.md as rows of `make bench`, for tools/dev/chart_bench.sh: those
# that have one number for samba.h, and one ratio to PyTorch, tuned.
BEGIN { FS = " *[|] *" }
/^## / { exit }
$6 ~ /^[0-9.]+$/ && $3 ~ /^[0-9.,]+ [a-zA-Z]/ {
    value = $3
    sub(/ .*/, "", value)
    gsub(/,/, "", value)
    unit = $3
    sub(/^[^ ]* /, "", unit)
    sub(/,.*/, "", unit)
    if (value + 0 >= 10000) {
        value /= 1000
        unit = "k " unit
    }
    sub(/, (weights packed in f32|forward and backward|1024 rows.*)$/, "", $2)
    area = "GPT-2 and its ops"
    if ($2 ~ /MLP|LeNet|ResNet|ResFFN/) area = "small nets"
    if ($2 ~ /^process/) area = "start"
    printf "{\"area\": \"%s\", \"what\": \"%s\", \"unit\": \"%s\", ", area, $2, unit
    printf "\"samba\": %s, ", value
    printf "\"peer\": \"PyTorch\", \"ratio\": %s}\n", $6
}

# tests/lessons/room.awk LESSON: what is too dense to be read with pleasure; lessons.sh wants nothing.
# Paragraphs of text are parted by a blank line, a line // or the number of a step. What the lesson
# prints, after `// >`, is no text.
function finding(at, what) {
    print FILENAME ":" at ": " what
}
function end_of_text() {
    if (words > 75) finding(text_at, words " words: make paragraphs of about 60, 75 at most")
    words = 0
}
function end_of_code() {
    if (lines > 16) finding(code_at, lines " lines of code without a blank one or a comment")
    lines = 0
}
/^\/\/ New: / {
    head = $0
    sub(/\. Next:.*/, "", head)
    if (gsub(/,/, "", head) > 2) finding(FNR, "more than three new ideas")
    is_new = 1
}
/^\/\/ .*Next: / { has_next = 1 }
/make learn/ || /`make$/ { has_exercise = 1 }
/^ *\/\// {
    end_of_code()
    if (/^ *\/\/ > /) next
    if (/^ *\/\/$/ || /^ *\/\/ *[0-9]+\. /) end_of_text()
    if (!words) text_at = FNR
    words += NF - 1
    next
}
/^ *$/ {
    end_of_code()
    end_of_text()
    next
}
{
    end_of_text()
    if (!lines++) code_at = FNR
    code = $0
    gsub(/"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047/, "", code)
    sub(/\/\/.*/, "", code)
    if (code !~ /^ *for / && gsub(/;/, "", code) > 1) finding(FNR, "more than one statement")
}
END {
    end_of_text()
    end_of_code()
    if (!is_new) finding(1, "no line // New: with at most three ideas")
    if (!has_next) finding(1, "its first lines do not say which lesson comes next")
    if (!has_exercise) finding(1, "it does not say how its exercises begin: make learn")
}

"""Writes tools/include/samba/tokenizer/tables.h: what characters are to the package tokenizers.

    python3 tests/golden/make_tokenizer_tables.py            write the file; needs tokenizers
    python3 tests/golden/make_tokenizer_tables.py --check    compare with the file

tokenizers is made of libraries with Unicode of different years: 16.0 in patterns, 17.0 where
Rust's own characters are asked, 11.0 in NFC, 8.0 in BERT's normalizer. Each table is what the
library says, character by character, so that ids do not depend on the year of utf8proc.
"""
import os
import sys
import unicodedata

from tokenizers import Regex, normalizers, pre_tokenizers

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILE = os.path.join(ROOT, "tools", "include", "samba", "tokenizer", "tables.h")
ALL = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
TEXT = "".join(ALL)
CATEGORIES = ("CN LU LL LT LM LO MN MC ME ND NL NO PC PD PS PE PI PF PO SM SC SK SO ZS ZL ZP CC CF "
              "CS CO").split()
# What Python 3.11 knows, Unicode 14.0, utf8proc has known since its release 2.8.
KNOWN = {ord(c) for c in ALL if unicodedata.category(c) != "Cn"}


def matching(pattern):
    """The characters that a class of Oniguruma has."""
    return set(map(ord, normalizers.Replace(Regex(f"[^{pattern}]"), "").normalize_str(TEXT)))


def changed(normalizer):
    """What a normalizer makes of each character that it changes."""
    pairs = ((c, normalizer.normalize_str(c)) for c in ALL)
    return {ord(c): made for c, made in pairs if made != c}


def removed(normalizer):
    return {c for c, made in changed(normalizer).items() if made == ""}


def punctuation():
    split = pre_tokenizers.Punctuation("removed")
    return {ord(c) for c in ALL if not split.pre_tokenize_str(c)}


def numeric():
    split = pre_tokenizers.Digits()
    return {ord(c) for c in ALL if len(split.pre_tokenize_str("a" + c)) == 2}


def ranges(values):
    """[first, last, value] of neighbours with one value."""
    out = []
    for c, value in sorted(values.items()):
        if out and out[-1][1] == c - 1 and out[-1][2] == value:
            out[-1][1] = c
        else:
            out.append([c, c, value])
    return out


def table(name, comment, rows, kind):
    lines = [f"/* {comment} */", f"static const {kind} samba_tokenizer__{name}[] = {{"]
    line = "   "
    for row in rows:
        item = " { " + ", ".join(row) + " },"
        if len(line) + len(item) > 100:
            lines.append(line)
            line = "   "
        line += item
    return "\n".join(lines + [line, "};"]) + "\n"


def of_ranges(name, comment, chars):
    rows = [(f"0x{a:X}", f"0x{b:X}") for a, b, _ in ranges(dict.fromkeys(chars, 0))]
    return table(name, comment, rows, "samba_tokenizer__range")


def newer_categories():
    values = {}
    for category in CATEGORIES[1:]:
        if category != "CS":
            name = category[0] + category[1].lower()
            values.update(dict.fromkeys(matching(rf"\p{{{name}}}") - KNOWN, category))
    rows = [(f"0x{a:X}", f"0x{b:X}", f"UTF8PROC_CATEGORY_{v}") for a, b, v in ranges(values)]
    return table("newer", "Characters of Unicode 15.0 to 16.0.", rows,
                 "samba_tokenizer__category_range")


def lowercase():
    made = {c: ord(low) for c, low in changed(normalizers.Lowercase()).items()
            if chr(c).lower() != low}
    rows = [(f"0x{a:X}", f"0x{b:X}", str(d))
            for a, b, d in ranges({c: low - c for c, low in made.items()})]
    return table("lower_case", "What Unicode 15.0 to 17.0 have added for a lower case.", rows,
                 "samba_tokenizer__lower_range")


def is_ordered(c):
    """Whether NFD of tokenizers puts a mark where NFD of Python does."""
    texts = (f"a{c}\u0334", f"a\u0301{c}", f"a\u0316{c}", f"a{c}\u0316")
    return all(normalizers.NFD().normalize_str(t) == unicodedata.normalize("NFD", t) for t in texts)


def unknown_to_normal_forms():
    marks = {c for c in matching(r"\p{M}") if c not in KNOWN or not is_ordered(chr(c))}
    return of_ranges("unnormal", "Characters after Unicode 11.0 that utf8proc may order or change, "
                     "and tokenizers\n   does not.", marks | NEWER_DECOMPOSITIONS)


# NFKD of Unicode 16.0 changes these, that of 11.0 did not.
NEWER_DECOMPOSITIONS = {
    c for first, last in (
        (0x32FF, 0x32FF), (0xA7F1, 0xA7F4), (0xAB69, 0xAB69), (0x105C9, 0x105C9),
        (0x105E4, 0x105E4), (0x10781, 0x107BA), (0x11383, 0x113C8), (0x11930, 0x11930),
        (0x11938, 0x11938),
        (0x16121, 0x16128), (0x16D63, 0x16D6A), (0x1CCD6, 0x1CCF9), (0x1E030, 0x1E06D),
        (0x1F16C, 0x1F16C), (0x1FBF0, 0x1FBF9)) for c in range(first, last + 1)}


def bert(**on):
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**off, **on})


def everything():
    parts = [
        "/* tables.h - of tokenizer.h: which characters Hugging Face's tokenizers takes for what.\n"
        "   Written by tests/golden/make_tokenizer_tables.py. */\n",
        "typedef struct samba_tokenizer__range {\n    int32_t first, last;\n"
        "} samba_tokenizer__range;\n",
        "typedef struct samba_tokenizer__category_range {\n    int32_t first, last, category;\n"
        "} samba_tokenizer__category_range;\n",
        "typedef struct samba_tokenizer__lower_range {\n    int32_t first, last, add;\n"
        "} samba_tokenizer__lower_range;\n",
        "/* clang-format off */\n",
        newer_categories(),
        lowercase(),
        of_ranges("numeric", "Numbers, as the step Digits sees them.", numeric()),
        of_ranges("punctuation", "Punctuation, as the steps Punctuation and BertPreTokenizer see "
                  "it.", punctuation()),
        of_ranges("accents", "Marks that BertNormalizer removes with strip_accents.",
                  {c for c in removed(bert(strip_accents=True))} | composed_accents()),
        of_ranges("combining", "Marks that the step StripAccents removes.",
                  removed(normalizers.StripAccents())),
        of_ranges("control", "Characters that BertNormalizer removes with clean_text.",
                  removed(bert(clean_text=True))),
        unknown_to_normal_forms(),
        "/* clang-format on */\n",
    ]
    return "\n".join(parts)


def composed_accents():
    """Marks that NFD makes of other marks, such as U+0344; both parts are removed."""
    made = changed(normalizers.NFD())
    gone = removed(bert(strip_accents=True))
    return {ord(part) for c in gone if c in made for part in made[c]}


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    text = everything()
    if check:
        with open(FILE, encoding="ascii") as f:
            if f.read() != text:
                sys.exit(f"{FILE} is not what tokenizers says now")
        print("the tables are as in the file")
        return
    with open(FILE, "w", encoding="ascii") as f:
        f.write(text)


if __name__ == "__main__":
    main()

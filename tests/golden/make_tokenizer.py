"""Writes tests/golden/tokenizer.txt: what GPT-2's tokenizer makes of texts with corners.

    python3 tests/golden/make_tokenizer.py            write the file; needs the package tokenizers
    python3 tests/golden/make_tokenizer.py --check    compare with the file

A line is the text in hexadecimal bytes (some are not UTF-8; decoded with errors="replace"), a colon
and the ids. The vocabulary is looked for in $SAMBA_SHARED/data/gpt2, by default in
../shared/data/gpt2. Every line must also agree with the plain, slow tokenizer below, which shares
nothing with that package; --check does with it alone where the package is missing.
"""
import json
import os
import sys
import unicodedata

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILE = os.path.join(ROOT, "tests", "golden", "tokenizer.txt")
GPT2 = os.path.join(os.environ.get("SAMBA_SHARED", os.path.join(ROOT, "..", "shared")),
                    "data", "gpt2")
END = "<|endoftext|>"

TEXTS = [
    "", " ", "  ", "\n", "a", " a", "a ", "Hello, world!", "Hello world", " the",
    "The quick brown fox.", "I'm he's we'll you've they're I'd can't", "I'M HE'S WE'LL",
    "'s't're've'm'll'd", "''s 's 'll!'s", "'", "' ", "don' t", "\u2019s it\u2019s",
    "rock'n'roll 'tis 'twas", "x'y'z'r'v'l're", "a  b   c    d", "a \n b", "a\n\nb\n",
    "a\t\tb \t c", "end  ", "end \n", "\r\n\r\nx", "\u00a0x\u00a0\u00a0y",
    "a\u3000b\u3000\u3000c", "\u2028\u2029\u0085\u1680\u205fz", "x\u200by\ufeffz",
    "\x1c\x1d\x1e\x1f\x0b\x0c ", "123456789 1 12 123 3.14159 1e-5 2024-01-02", "x1y2z3",
    "\u0661\u0662\u0663 \u0967\u0968 \u00b2\u00b3\u00bd \u216b \u3007",
    "na\u00efve caf\u00e9 cafe\u0301 \u00c5ngstr\u00f6m",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002 \u3053\u3093\u306b\u3061\u306f",
    "\ud55c\uad6d\uc5b4 \u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22 "
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0645\u0631\u062d\u0628\u0627",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea",
    "\U0001d4d0\U0001d7d8 \U00020000 \U0010ffff", "\x00", "a\x00b", "\x00 \x00\n\x00", "\ufffd",
    "\ufffd\ufffd \ufffd", END, "a" + END + "b", " " + END + " ", END + END, "<|endoftext|",
    "<" + END + ">", "<|endoftext|><|endof" + END, "<|ENDOFTEXT|>", "a \n" + END + "\n b",
    "int main(void)\n{\n    return 0;\n}\n", "if (x == 0x1F && !y) { z->w += 3.0e-5f; } // done",
    "https://example.com/a_b?c=d&e=%20#f", "snake_case camelCase SCREAMING_CASE kebab-case",
    "!!!???...---___***", "$100 50% #1 @me", " .  ,   ;", "=====" * 8, "-" * 70, " " * 70,
    " " * 130 + "x", "a" * 30, "a" * 31, "a" * 32, "a" * 63, "a" * 64, "a" * 65, "a" * 200,
    "ab" * 100, "\n" * 100, "0" * 90,
    "antidisestablishmentarianism supercalifragilisticexpialidocious " * 2,
    "Pneumonoultramicroscopicsilicovolcanoconiosis" * 3, " SolidGoldMagikarp \u00e3\u0083\u00bc",
    "What we call a tokenizer\u2014that's \u201cjust\u201d a r\u00e9sum\u00e9 of bytes\u2026",
]
BYTES = [
    b"\x80", b"\xff", b"a\xffb", b"\xc0\x80", b"\xc3", b"\xc3(", b"\xe2\x82", b"\xe2\x82z",
    b"\xe2(\xa1", b"\xed\xa0\x80", b"\xed\xb0\x80", b"\xe0\x80\x80", b"\xe0\x9f\xbf",
    b"\xf0\x9f\x98", b"\xf0\x9f\x98 ", b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80",
    b"\xf5\x80\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xf0\x9f\xf0\x9f\x98\x80",
    b"\xfe\xfe\xff\xff", b"ok \xe4\xb8\xad\xe4\xb8 \xe4", b"<|endo\xfftext|>",
    b"x\xff<|endoftext|>\xff", b"\xc3\xa9\xc3", b" \xff \xff  \xff",
]


def plain_words(text):
    """The pattern of GPT-2, by hand."""
    def kind(c):
        if c in "\t\n\v\f\r\x85" or unicodedata.category(c)[0] == "Z":
            return "space"
        return {"L": "letter", "N": "number"}.get(unicodedata.category(c)[0], "other")
    at = 0
    while at < len(text):
        short = [s for s in "'s 't 're 've 'm 'll 'd".split() if text.startswith(s, at)]
        start = at + (text[at] == " " and at + 1 < len(text) and kind(text[at + 1]) != "space")
        stop = start + 1
        while stop < len(text) and kind(text[stop]) == kind(text[start]):
            stop += 1
        if short:
            stop = at + len(short[0])
        elif kind(text[start]) == "space" and stop < len(text) and stop - at > 1:
            stop -= 1
        yield text[at:stop]
        at = stop


class Plain:
    """Byte-level BPE, one merge at a time."""

    def __init__(self):
        with open(os.path.join(GPT2, "vocab.json"), encoding="utf-8") as f:
            self.ids = json.load(f)
        with open(os.path.join(GPT2, "merges.txt"), encoding="utf-8") as f:
            lines = f.read().split("\n")[1:]
        self.rank = {tuple(line.split(" ")): i for i, line in enumerate(lines) if line}
        shown = [b for b in range(256) if 33 <= b <= 126 or 161 <= b and b != 173]
        hidden = [b for b in range(256) if b not in shown]
        self.letter = {b: chr(b) for b in shown}
        self.letter.update({b: chr(256 + i) for i, b in enumerate(hidden)})

    def word(self, word):
        parts = [self.letter[b] for b in word.encode()]
        while len(parts) > 1:
            ranks = [self.rank.get(pair, len(self.rank)) for pair in zip(parts, parts[1:])]
            best = min(ranks)
            if best == len(self.rank):
                break
            at = ranks.index(best)
            parts[at:at + 2] = [parts[at] + parts[at + 1]]
        return [self.ids[p] for p in parts]

    def encode(self, text):
        out = []
        for i, piece in enumerate(text.split(END)):
            out += [self.ids[END]] if i else []
            for word in plain_words(piece):
                out += self.word(word)
        return out


def package():
    """tokenizers, as GPT-2 uses it; None if it is not installed."""
    try:
        from tokenizers import Tokenizer, models, pre_tokenizers
    except ImportError:
        return None
    t = Tokenizer(models.BPE.from_file(os.path.join(GPT2, "vocab.json"),
                                       os.path.join(GPT2, "merges.txt")))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.add_special_tokens([END])
    return lambda text: t.encode(text).ids


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    if not os.path.exists(os.path.join(GPT2, "vocab.json")):
        print("skipped: tests/golden/make_tokenizer.py; it takes the vocabulary of GPT-2 in",
              os.path.relpath(GPT2, ROOT))
        sys.exit(77 if check else 1)
    judge = package()
    if not judge and not check:
        sys.exit("the package tokenizers is not installed")
    plain, lines = Plain(), []
    for data in [text.encode() for text in TEXTS] + BYTES:
        text = data.decode(errors="replace")
        ids = plain.encode(text)
        if judge and judge(text) != ids:
            sys.exit(f"{text!r}: tokenizers says {judge(text)}, the plain tokenizer {ids}")
        lines.append(data.hex() + ":" + "".join(f" {i}" for i in ids) + "\n")
    if not check:
        with open(FILE, "w", encoding="ascii") as f:
            f.writelines(lines)
        return
    with open(FILE, encoding="ascii") as f:
        known = f.readlines()
    for number, (old, new) in enumerate(zip(known, lines), 1):
        if old != new:
            sys.exit(f"{FILE}:{number}: {old.strip()} is now {new.strip()}")
    if len(known) != len(lines):
        sys.exit(f"{FILE} has {len(known)} lines, not {len(lines)}")
    print(len(lines), "texts, as in the file", "(tokenizers agrees)" if judge else "")


if __name__ == "__main__":
    main()

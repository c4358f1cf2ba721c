"""Writes tests/golden/tokenizers: small tokenizers of each family, and what judges make of texts.

    python3 tests/golden/make_tokenizer_families.py

Needs the packages tokenizers and sentencepiece. Families, added tokens and texts are those of
tests/tools/tokenizer_families.py. NAME.json and NAME.model are the tokenizers; a line of cases.txt
is the name, the text in hexadecimal, the ids with commas, and the text that they decode to, either
of which may be empty ("-"). Precompiled tables are left to that script: they have 300 KB.
"""
import json
import os
import random
import shutil
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "tools"))
import tokenizer_families as judges  # noqa: E402

FOLDER = os.path.join(ROOT, "tests", "golden", "tokenizers")
NAMES = ("llama3 qwen2 o200k deepseek3 deepseek2 smollm words llama2 mistral gemma unfused marian "
         "bert_uncased bert_odd sp_llama sp_gemma holes holes_fused").split()
TEXTS = ["", " ", "  ", "\n", "a", "Hello, world!", " leading", "trailing ", "I'm we'LL 123 4567",
         "caf\u00e9 cafe\u0301 \ufb01n \u0130 \u212b", "\u4e2d\u6587 \u3053\u3093",
         "\u0939\u093f\u0928",
         "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\r\n\r\n x\n \n", "a\u0000b",
         "\u2581x \u2581",
         "<|begin|>x<|end|> <pad2>  <mask2>  <r>  y", "alone alones 1alone alone.", "Single sinGle",
         "Caf\u00e9 X caf\u00e9 x", "  <pad2>a", "x" * 70, "ab " * 40, "\u0301\u0301", "\x85\x01z"]


def main():
    judges.SIZE = 420
    plain = [line for line in judges.corpus() if line.isascii()][:4000] + ["caf\u00e9 \u4e2d"] * 9
    judges.corpus = (lambda: plain)
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    r = random.Random(11)
    texts = TEXTS + [judges.random_text(r) for _ in range(14)]
    lines = []
    with tempfile.TemporaryDirectory() as scratch:
        known = judges.families(scratch)
        for name in NAMES:
            here, encode, decode = judges.make(name, known[name], scratch)
            ids = encode(texts)
            for text, one, back in zip(texts, ids, decode(ids)):
                if "\ufffd" in back and "\ufffd" not in text:
                    continue  # bytes without tokens are lost, and what is left of a character
                listed = ",".join(map(str, one))
                lines.append(f"{name} {text.encode().hex() or '-'} {listed or '-'} "
                             f"{back.encode().hex() or '-'}\n")
            path = os.path.join(here, "tokenizer.model")
            if os.path.exists(path):
                shutil.copy(path, os.path.join(FOLDER, name + ".model"))
                continue
            with open(os.path.join(here, "tokenizer.json"), encoding="utf-8") as f:
                saved = json.load(f)
            with open(os.path.join(FOLDER, name + ".json"), "w", encoding="utf-8") as f:
                json.dump(saved, f, ensure_ascii=False, separators=(",", ":"))
                f.write("\n")
    with open(os.path.join(FOLDER, "cases.txt"), "w", encoding="ascii") as f:
        f.writelines(lines)
    print(len(lines), "cases")


if __name__ == "__main__":
    main()

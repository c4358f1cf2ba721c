"""tools/include/samba/tokenizer.h beside tokenizers and sentencepiece: every family of tokenizers.

    python3 tests/tools/tokenizer_families.py LIBRARY FOLDER [TEXTS [FAMILY ...]]

LIBRARY: the header as a shared library. FOLDER: for what is trained, which is kept there. Each
family is trained by those packages, gets added tokens with all their flags, and encodes TEXTS texts
(default 1000000), and every character of Unicode. The last line is "N passed, N failed".
"""
import base64
import ctypes
import glob
import json
import os
import random
import sys
import time
import unicodedata

os.environ.setdefault("RAYON_NUM_THREADS", "2")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
import sentencepiece  # noqa: E402
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers,  # noqa: E402
                        pre_tokenizers, trainers)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.path.join(os.environ.get("SAMBA_SHARED", os.path.join(ROOT, "..", "shared")), "data")
ROOM = 1 << 22
SIZE = 4000  # of a vocabulary
MARK = "\u2581"
GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
         r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
         r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|"
         r"\s+(?!\S)|\s+")
DEEPSEEK3 = [
    r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
    r" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"]
DEEPSEEK2 = [
    r"[\r\n]", r"\s?[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u0400-\u0481]+",
    r"\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+", r"\s+$",
    "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"]
BLOOM = r" ?[^(\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"


PRINTABLE = [chr(c) for c in range(0x21, 0x7F)] + ["\u0120"]


# ---- Training -----------------------------------------------------------------------------------
def corpus():
    paths = sorted(glob.glob(os.path.join(DATA, "tinyshakespeare", "*.txt")))[:1]
    paths += sorted(glob.glob(os.path.join(ROOT, "tools", "include", "samba", "*.h")))[:8]
    text = ""
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as f:
            text += f.read()[:600000]
    r = random.Random(1)
    blocks = [(0xC0, 0x250), (0x370, 0x500), (0x5D0, 0x5EB), (0x620, 0x64B), (0x904, 0x940),
              (0xE01, 0xE3B), (0x3041, 0x30FF), (0x4E00, 0x4F00), (0xAC00, 0xAC80),
              (0x1F600, 0x1F640)]
    words = ["".join(chr(r.randrange(*block)) for _ in range(r.randrange(1, 6)))
             for block in blocks for _ in range(150)]
    lines = text.splitlines()
    lines += [" ".join(r.choice(words) for _ in range(8)) for _ in range(4000)]
    return lines


def regexes(patterns):
    return [pre_tokenizers.Split(Regex(p), "isolated") for p in patterns]


def bytes_of(*steps, **options):
    options = {"add_prefix_space": False, "use_regex": False, **options}
    return pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(**options)])


def byte_bpe(lines, words, normalizer=None, alphabet=None, **options):
    """alphabet: bytes that have tokens whether they occur or not; all by default."""
    t = Tokenizer(models.BPE(**options))
    t.pre_tokenizer = words
    t.decoder = decoders.ByteLevel()
    if normalizer:
        t.normalizer = normalizer
    t.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=SIZE, show_progress=False,
        special_tokens=[token for name, token in options.items() if name == "unk_token"],
        initial_alphabet=alphabet or pre_tokenizers.ByteLevel.alphabet()))
    return t


def llama2_decoder(strips=True):
    steps = [decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence(steps + [decoders.Strip(" ", 1, 0)] * strips)


def char_bpe(lines, normalizer, words, decoder, fallback=True, fuse=True):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=fuse, byte_fallback=fallback))
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    specials = ["<unk>", "<s>", "</s>"]
    if fallback:
        specials += [f"<0x{b:02X}>" for b in range(256)]
    t.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=SIZE, show_progress=False, special_tokens=specials,
        limit_alphabet=SIZE // 12))
    # byte tokens belong to the model only
    saved = json.loads(t.to_str())
    saved["added_tokens"] = saved["added_tokens"][:3]
    t = Tokenizer.from_str(json.dumps(saved))
    if words is None:
        saved["pre_tokenizer"] = None
        t = Tokenizer.from_str(json.dumps(saved))
    else:
        t.pre_tokenizer = words
    if normalizer:
        t.normalizer = normalizer
    t.decoder = decoder
    return t


def unigram(lines, normalizer, words, decoder, **options):
    t = Tokenizer(models.Unigram())
    t.pre_tokenizer = words
    if normalizer:
        t.normalizer = normalizer
    t.train_from_iterator(lines, trainers.UnigramTrainer(
        vocab_size=SIZE, show_progress=False, unk_token="<unk>",
        special_tokens=["<pad>", "<unk>", "</s>"]))
    if options:
        saved = json.loads(t.to_str())
        saved["model"].update(options)
        pieces = [[f"<0x{b:02X}>", -20.0] for b in range(256)]
        saved["model"]["vocab"] += pieces
        t = Tokenizer.from_str(json.dumps(saved))
    t.decoder = decoder
    return t


def wordpiece(lines, normalizer, words=None):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    t.normalizer = normalizer
    t.pre_tokenizer = words or pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.train_from_iterator(lines, trainers.WordPieceTrainer(
        vocab_size=SIZE, show_progress=False, limit_alphabet=SIZE // 12,
        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    return t


def charsmap(folder, name="nmt_nfkc"):
    """The table of replacements that sentencepiece has by this name."""
    path = os.path.join(folder, f"charsmap_{name}")
    if not os.path.exists(path + ".model"):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["a b c d e f g"] * 20), model_prefix=path, vocab_size=12,
            normalization_rule_name=name, minloglevel=2, hard_vocab_limit=False)
    from sentencepiece import sentencepiece_model_pb2
    proto = sentencepiece_model_pb2.ModelProto()
    with open(path + ".model", "rb") as f:
        proto.ParseFromString(f.read())
    return proto.normalizer_spec.precompiled_charsmap


def families(folder):
    """name: how it is made of lines. Those of sentencepiece: its options."""
    meta = pre_tokenizers.Metaspace
    seq = normalizers.Sequence
    bert = normalizers.BertNormalizer
    precompiled = (lambda name="nmt_nfkc": normalizers.Precompiled(charsmap(folder, name)))
    return {
        "gpt2": lambda x: byte_bpe(x, bytes_of(use_regex=True)),
        "prefixed": lambda x: byte_bpe(x, bytes_of(use_regex=True, add_prefix_space=True)),
        "llama3": lambda x: byte_bpe(x, bytes_of(*regexes([LLAMA3])), ignore_merges=True),
        "qwen2": lambda x: byte_bpe(x, bytes_of(*regexes([QWEN2])), normalizers.NFC()),
        "o200k": lambda x: byte_bpe(x, bytes_of(*regexes([O200K]))),
        "deepseek3": lambda x: byte_bpe(x, bytes_of(*regexes(DEEPSEEK3))),
        "deepseek2": lambda x: byte_bpe(x, bytes_of(
            *regexes(DEEPSEEK2), pre_tokenizers.Digits(individual_digits=True))),
        "bloom": lambda x: byte_bpe(x, bytes_of(*regexes([BLOOM]))),
        "smollm": lambda x: byte_bpe(x, bytes_of(
            pre_tokenizers.Digits(individual_digits=True), use_regex=True)),
        # SmolLM2 has no tokens for bytes that its texts did not contain
        "holes": lambda x: byte_bpe(x, bytes_of(use_regex=True), alphabet=PRINTABLE),
        "holes_unk": lambda x: byte_bpe(x, bytes_of(use_regex=True), alphabet=PRINTABLE,
                                        unk_token="<unk>"),
        "holes_fused": lambda x: byte_bpe(x, bytes_of(use_regex=True), alphabet=PRINTABLE,
                                          unk_token="<unk>", fuse_unk=True),
        "falcon": lambda x: byte_bpe(x, bytes_of(
            pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Digits(),
            pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated"), use_regex=True)),
        "words": lambda x: byte_bpe(x, bytes_of(
            pre_tokenizers.Split("e", "merged_with_next"),
            pre_tokenizers.Split("th", "merged_with_previous"),
            pre_tokenizers.Split(Regex("o+"), "removed", invert=False),
            pre_tokenizers.Whitespace()), normalizers.Lowercase()),
        "llama2": lambda x: char_bpe(x, seq([normalizers.Prepend(MARK),
                                             normalizers.Replace(" ", MARK)]), None,
                                     llama2_decoder()),
        "mistral": lambda x: char_bpe(x, None, meta(prepend_scheme="first", split=False),
                                      llama2_decoder()),
        "gemma": lambda x: char_bpe(x, normalizers.Replace(" ", MARK),
                                    pre_tokenizers.Split(" ", "merged_with_previous"),
                                    llama2_decoder(False)),
        "unfused": lambda x: char_bpe(x, None, meta(), decoders.Metaspace(), False, False),
        "t5": lambda x: unigram(x, precompiled(), pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), meta()]), decoders.Metaspace()),
        "albert": lambda x: unigram(
            x, seq([normalizers.Replace("``", '"'), normalizers.Replace("''", '"'),
                    normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(),
                    precompiled("nfkc"), normalizers.Replace(Regex(" {2,}"), " ")]),
            meta(), decoders.Metaspace()),
        "marian": lambda x: unigram(
            x, seq([normalizers.Nmt(), normalizers.NFKC(),
                    normalizers.Strip(left=False, right=True)]),
            meta(prepend_scheme="first"), decoders.Metaspace(prepend_scheme="first"),
            byte_fallback=True),
        "bert_uncased": lambda x: wordpiece(x, bert()),
        "bert_cased": lambda x: wordpiece(x, bert(lowercase=False)),
        "bert_odd": lambda x: wordpiece(
            x, bert(clean_text=False, handle_chinese_chars=False, strip_accents=True,
                    lowercase=False),
            pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(),
                                     pre_tokenizers.Punctuation()])),
        "sp_llama": dict(model_type="bpe", byte_fallback=True, split_digits=True,
                         normalization_rule_name="identity", remove_extra_whitespaces=False,
                         allow_whitespace_only_pieces=True),
        "sp_bpe": dict(model_type="bpe", user_defined_symbols=["<user>", "abc", "a b", "th"]),
        "sp_gemma": dict(model_type="bpe", byte_fallback=True, add_dummy_prefix=False,
                         normalization_rule_name="identity", remove_extra_whitespaces=False,
                         user_defined_symbols=["<turn>", "  ", "\n\n"]),
        "sp_t5": dict(model_type="unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1),
        "sp_unigram": dict(model_type="unigram", normalization_rule_name="nmt_nfkc_cf",
                           byte_fallback=True, user_defined_symbols=["<user>", "abc", "th"]),
    }


ADDED = [
    AddedToken("<|begin|>", special=True), AddedToken("<|end|>", special=True, normalized=False),
    AddedToken("<pad2>", lstrip=True, normalized=False), AddedToken("<mask2>", lstrip=True,
                                                                   rstrip=True, normalized=False),
    AddedToken("<r>", rstrip=True), AddedToken("alone", single_word=True, normalized=False),
    AddedToken("Single", single_word=True), AddedToken("Caf\u00e9 X", normalized=True),
    AddedToken("<|begin|>x", normalized=False), AddedToken("  ", normalized=False)]


# ---- Texts --------------------------------------------------------------------------------------
EVERY = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000\u200b\u200c\u200d\ufeff"
MARKS = [chr(c) for c in EVERY if unicodedata.category(chr(c))[0] == "M"]
LETTERS = [chr(c) for c in EVERY if unicodedata.category(chr(c))[0] == "L"]
PIECES = [t.content for t in ADDED] + [
    "<s>", "</s>", "<unk>", "[MASK]", "[UNK]", "<user>", "abc", "a b", "<turn>", "<0x41>", MARK,
    "th", "Single", "alone", "caf\u00e9 x", "Cafe\u0301 X", "<|begin", "|>"]
WORDS = ("the of and to in Tokenizer don't I'LL we'\u017f NASA 3.14 12345 caf\u00e9 \u4e2d\u6587 "
         "\u0440\u0443 \U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 \u0939\u093f\u0928 "
         "\u0130stanbul \ufb01n \u1e9b\u0323 \uac00\u11a8 \u1100\u1161\u11a8").split()


def plane(r):
    p = r.choice((0, 0, 0, 0, 1, 1, 2, 3, 14))
    c = p << 16 | r.randrange(0x10000)
    return "\ufffd" if 0xD800 <= c < 0xE000 else chr(c)


KINDS = (
    plane,
    lambda r: r.choice(SPACES),
    lambda r: r.choice(PIECES) + r.choice(("", "", " ", "  ", "a", "\n")),
    lambda r: r.choice("aeo\u0915\u4e2d") + "".join(r.choice(MARKS) for _ in range(r.randrange(4))),
    lambda r: r.choice(LETTERS),
    lambda r: chr(r.randrange(128)),
    lambda r: r.choice((" ", "\n", "\r\n", "a", "1", "=", "\u3000", "\0", MARK))
    * r.randrange(1, 30),
    lambda r: r.choice(WORDS) + r.choice((" ", " ", "  ", "", "\n", ", ", "'s ")),
    lambda r: r.choice(WORDS) + r.choice((" ", " ", "  ", "", "\n", ", ", "'s ")),
    lambda r: r.choice("etaoin shrdlu,.'\n0123"),
)


def random_text(r):
    kind, n = r.choice(KINDS), r.randrange(1, 14)
    if r.random() < 0.4:
        return "".join(r.choice(KINDS)(r) for _ in range(n))
    return "".join(kind(r) for _ in range(n))


def batches(count):
    r = random.Random(7)
    alone = [chr(c) for c in EVERY if c < 0x3400 or unicodedata.category(chr(c))[0] in "MNPSZ"]
    step = 1 if count >= 10000 else 9  # a first look
    yield "a character", alone[::step]
    for start in range(0, len(EVERY), 16 * 20000):
        yield "characters", [
            "\n".join(f"a{chr(c)}b \u0301{chr(c)} {chr(c)}" for c in EVERY[i:i + 16])
            for i in range(start, min(start + 16 * 20000, len(EVERY)), 16 * step)]
    for start in range(0, count, 20000):
        yield "random texts", [random_text(r) for _ in range(min(20000, count - start))]


# ---- Comparing ----------------------------------------------------------------------------------
class Ours:
    def __init__(self, path):
        why = ctypes.create_string_buffer(600)
        self.t = LIB.samba_tokenizer_open(path.encode(), why, 600)
        if not self.t:
            sys.exit(f"{path}: {why.value.decode()}")
        self.ids, self.text = (ctypes.c_int32 * ROOM)(), ctypes.create_string_buffer(ROOM)

    def encode(self, data):
        n = LIB.samba_tokenizer_encode(self.t, data, len(data), self.ids, ROOM)
        return self.ids[:n]

    def decode(self, ids):
        n = len(ids)
        n = LIB.samba_tokenizer_decode(self.t, (ctypes.c_int32 * n)(*ids), n, self.text, ROOM)
        return self.text[:n].decode(errors="replace")


def load_library(path):
    lib = ctypes.CDLL(os.path.abspath(path))
    text, size, pointer = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p
    count = ctypes.c_int64
    for name, result, *arguments in (
            ("open", pointer, text, text, size), ("close", None, pointer),
            ("encode", count, pointer, text, size, pointer, count),
            ("decode", count, pointer, pointer, count, pointer, count)):
        function = getattr(lib, "samba_tokenizer_" + name)
        function.restype, function.argtypes = result, arguments
    return lib


def make(name, how, folder):
    """Trains, unless that is done; the path of ours, and the judge's functions for many texts."""
    here = os.path.join(folder, name)
    os.makedirs(here, exist_ok=True)
    if isinstance(how, dict):
        path = os.path.join(here, "tokenizer.model")
        if not os.path.exists(path):
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(corpus()), model_prefix=path[:-6], vocab_size=SIZE,
                minloglevel=2, hard_vocab_limit=False, character_coverage=0.995, **how)
        judge = sentencepiece.SentencePieceProcessor(model_file=path)
        return here, judge.encode, judge.decode
    path = os.path.join(here, "tokenizer.json")
    if not os.path.exists(path):
        t = how(corpus())
        t.add_tokens(ADDED)
        t.save(path)
    judge = Tokenizer.from_file(path)

    def encode(texts):
        return [e.ids for e in judge.encode_batch(texts, add_special_tokens=False)]
    return here, encode, lambda ids: judge.decode_batch(ids, skip_special_tokens=False)


def compare(name, how, folder, count):
    """How many texts differ."""
    path, encode, decode = make(name, how, folder)
    ours, bad, shown, texts_seen, start = Ours(path), 0, 0, 0, time.time()
    for what, texts in batches(count):
        judged = encode(texts)
        back = decode(judged)
        texts_seen += len(texts)
        for text, ids, again in zip(texts, judged, back):
            mine = ours.encode(text.encode())
            their = ours.decode(ids)
            if mine == ids and their == again:
                continue
            bad += 1
            shown += 1
            if shown <= int(os.environ.get("SHOW", "5")):
                print(f"    {what} {text[:60]!r}: {mine[:24]}, judge: {ids[:24]}"
                      if mine != ids else f"    decoded {text[:60]!r}: {their!r}, judge: {again!r}")
    print(f"{'FAILED ' * bool(bad)}{name}: {bad} differences in {texts_seen} texts, "
          f"{time.time() - start:.0f} s", flush=True)
    LIB.samba_tokenizer_close(ours.t)
    return bad


def main():
    global LIB
    LIB = load_library(sys.argv[1])
    folder, count = sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1000000
    os.makedirs(folder, exist_ok=True)
    known = families(folder)
    names = sys.argv[4:] or list(known)
    failed = sum(compare(name, known[name], folder, count) > 0 for name in names)
    print(f"{len(names) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

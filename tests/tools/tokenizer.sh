#!/bin/sh
# tests/tools/tokenizer.sh: tools/include/samba/tokenizer.h against Hugging Face's tokenizers and
# tiktoken, from PyPI, in a virtual environment in ${SAMBA_JUDGES:-$HOME/.cache/samba-judges}. A
# million texts, all characters of Unicode, bytes that are not UTF-8, every file of the shared
# data, added tokens, training; then how fast each is; and folders with all that transformers can
# write beside a vocabulary. STRINGS=n: how many texts. The last line is "N passed, N failed".
cd "$(dirname "$0")/../.." || exit 1
here=build/test/tokenizer-judges
judges=${SAMBA_JUDGES:-$HOME/.cache/samba-judges}/tokenizer
wanted='tokenizers==0.22.2 tiktoken==0.12.0 regex'     # Unicode 16.0, as the header
flags='-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wcast-qual
-Wdouble-promotion -Werror'
mkdir -p $here || exit 1
log=$here/log
. tests/lib/test.sh

# add_judged: the counts of a judge, whose closing line is the last of $here/out. None: it failed.
add_judged() {
    last=$(tail -n 1 $here/out | grep -xE '[0-9]+ passed, [0-9]+ failed')
    sed '$d' $here/out
    if [ -z "$last" ]; then
        tail -n 20 $here/err
        failed=$((failed + 1))
    else
        p=${last%% passed*} f=${last##*, } f=${f%% failed*}
        passed=$((passed + p)) failed=$((failed + f))
    fi
}

for header in cjson/cJSON.h utf8proc.h; do
    echo "#include <$header>" | ${CC:-cc} -E -x c - >/dev/null 2>&1 && continue
    skip_all 'the tokenizer' "<$header>: tools/dev/install.sh test"
done

# ---- The header by itself, in both languages ----
printf '%s\n' '#define SAMBA_TOKENIZER_IMPLEMENTATION' \
    '#include "tools/include/samba/tokenizer.h"' >$here/t.c
cp $here/t.c $here/t.cpp
for cc in gcc clang; do
    have $cc || { skip "what $cc says" "$cc: tools/dev/install.sh test"; continue; }
    check "C99, $cc, no warning" $cc -std=c99 $flags -Wstrict-prototypes -Wmissing-prototypes \
        -O2 -I. -c -o $here/t.o $here/t.c
    check "C++11, $cc, no warning" $cc -x c++ -std=c++11 $flags -O2 -I. -c -o $here/t.o $here/t.cpp
done
check 'builds a library' ${CC:-cc} -O2 -I. -shared -fPIC -o $here/tokenizer.so $here/t.c \
    -lcjson -lutf8proc

# ---- The judges ----
has_judges() { "$judges/bin/python" -c 'import tokenizers, tiktoken' >/dev/null 2>&1; }
if ! has_judges; then
    for python in python3 /usr/bin/python3; do
        rm -rf "$judges"
        $python -m venv "$judges" >$here/log 2>&1 &&
            "$judges/bin/python" -m pip install -q --disable-pip-version-check --no-deps $wanted \
                >>$here/log 2>&1 && has_judges && break
    done
fi
if ! has_judges; then
    skip_all "the tokenizer beside its judges, $(tail -n 1 $here/log)" \
        'tokenizers and tiktoken from PyPI'
fi

cat >$here/compare.py <<'END'
import base64, ctypes, glob, json, os, random, sys, time, unicodedata
os.environ["RAYON_NUM_THREADS"] = "2"
os.environ["TOKENIZERS_PARALLELISM"] = "true"
import tiktoken
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

HERE, STRINGS = sys.argv[1], int(sys.argv[2])
DATA = os.path.join(os.environ.get("SAMBA_SHARED", "../shared"), "data")
END = "<|endoftext|>"
ROOM = 1 << 23
lib = ctypes.CDLL(os.path.abspath(HERE + "/tokenizer.so"))
text, size = ctypes.c_char_p, ctypes.c_size_t
for name, result, *arguments in (
        ("open", ctypes.c_void_p, text, text, size),
        ("close", None, ctypes.c_void_p),
        ("size", ctypes.c_int32, ctypes.c_void_p),
        ("encode", ctypes.c_int64, ctypes.c_void_p, text, size, ctypes.c_void_p, ctypes.c_int64),
        ("decode", ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64,
         ctypes.c_void_p, ctypes.c_int64),
        ("train", ctypes.c_void_p, text, size, ctypes.c_int32, text, size),
        ("save", ctypes.c_bool, ctypes.c_void_p, text, text, size)):
    function = getattr(lib, "samba_tokenizer_" + name)
    function.restype, function.argtypes = result, arguments
why = ctypes.create_string_buffer(400)
ids, chars = (ctypes.c_int32 * ROOM)(), ctypes.create_string_buffer(ROOM)
passed = failed = 0


def report(what, differences, of):
    global passed, failed
    passed, failed = passed + (not differences), failed + bool(differences)
    print(f"{'FAILED ' * bool(differences)}{what}: {differences} differences in {of}", flush=True)


class Ours:
    def __init__(self, path):
        self.t = lib.samba_tokenizer_open(path.encode(), why, 400)
        if not self.t:
            sys.exit(why.value.decode())

    def encode(self, data):
        n = lib.samba_tokenizer_encode(self.t, data, len(data), ids, ROOM)
        return ids[:n]

    def decode(self, sequence):
        n = len(sequence)
        n = lib.samba_tokenizer_decode(self.t, (ctypes.c_int32 * n)(*sequence), n, chars, ROOM)
        return chars.raw[:n] if n > 1000 else chars[:n]


def train(data, n, folder):
    t = lib.samba_tokenizer_train(data, len(data), n, why, 400)
    os.makedirs(folder, exist_ok=True)
    if not t or not lib.samba_tokenizer_save(t, folder.encode(), why, 400):
        sys.exit(why.value.decode())
    lib.samba_tokenizer_close(t)


def hugging_face(folder, special=(END,)):
    t = Tokenizer(models.BPE.from_file(folder + "/vocab.json", folder + "/merges.txt"))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens(list(special))
    return t


def tik(folder):
    letters = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    byte = {chr(b): b for b in letters}
    byte.update({chr(256 + i): b for i, b in enumerate(b for b in range(256) if b not in letters)})
    with open(folder + "/vocab.json", encoding="utf-8") as f:
        vocab = json.load(f)
    end = vocab.pop(END)
    ranks = {bytes(byte[c] for c in token): i for token, i in vocab.items()}
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    return tiktoken.Encoding("gpt2", pat_str=pattern, mergeable_ranks=ranks,
                             special_tokens={END: end})


# ---- Texts ----
everything = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
spaces = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + \
    "".join(map(chr, range(0x2000, 0x200B)))
near_spaces = "\x1c\x1d\x1e\x1f\u180e\u200b\u200c\u200d\u2060\ufeff\0"
pools = {}
for c in everything:
    pools.setdefault(unicodedata.category(chr(c)), []).append(chr(c))
marks, digits = pools["Mn"] + pools["Mc"] + pools["Me"], pools["Nd"] + pools["Nl"] + pools["No"]
letters = pools["Lu"] + pools["Ll"] + pools["Lt"] + pools["Lm"] + pools["Lo"]
signs = [c for k in pools if k[0] in "PS" for c in pools[k]]
quotes = "'''''\u2019\u2018\u02bc`\u00b4\uff07"
contractions = [q + s for q in "''''\u2019" for s in
                "s t m d re ve ll S T M D RE VE LL Re vE lL r v l e ss ree \u017f \u212a".split()]
pieces = [END, END, "<|", "|>", "endoftext", END[:-1], END[1:], "<|ENDOFTEXT|>", " ", "  ", "\n"]
words = ("the of and to in Tokenizer don't I'll NASA 3.14 caf\u00e9 \u4e2d\u6587 \u0440\u0443 "
         "\U0001f600").split()


def plane(r):
    p = r.choice((0, 0, 0, 1, 1, 2, 3, 14, 15, 16))
    c = p << 16 | r.randrange(0x10000)
    return "\ufffd" if 0xD800 <= c < 0xE000 else chr(c)


kinds = (
    plane,
    lambda r: r.choice((spaces, spaces, near_spaces, "ab1!"))[r.randrange(4)],
    lambda r: r.choice(r.choice((spaces, letters, digits, marks, signs, quotes))),
    lambda r: r.choice(contractions) if r.random() < 0.6 else r.choice(" aS1\u00e9\n"),
    lambda r: chr(r.randrange(128)),
    lambda r: r.choice(pieces) if r.random() < 0.7 else plane(r),
    lambda r: r.choice((" ", "\n", "a", "1", "=", "\u3000", "\0", "\u0301")) * r.randrange(1, 40),
    lambda r: r.choice(words) + r.choice((" ", " ", "  ", "", "\n", ", ", "'s ")),
    lambda r: r.choice("aA") + r.choice(marks) + r.choice(digits) + r.choice(spaces),
    lambda r: r.choice("etaoin shrdlu,.'\n0123"),
)


def random_text(r):
    kind, n = r.choice(kinds), r.randrange(1, 16)
    if r.random() < 0.3:
        return "".join(r.choice(kinds)(r) for _ in range(n))
    return "".join(kind(r) for _ in range(n))


def batches(make, n, of=20000):
    for start in range(0, n, of):
        yield [make() for _ in range(min(of, n - start))]


shown = 0


def show(text, ours, judge, whose):
    global shown
    shown += 1
    if shown <= 10:
        print(f"    {text[:60]!r}: {ours[:20]}, {whose}: {judge[:20]}")


def compare(what, texts_in_batches, ours, hf, tk=None, data_of=str.encode):
    """Each text (or data that data_of and decode make one) through all judges."""
    n, bad = 0, {"tokenizers": 0, "tiktoken": 0}
    for batch in texts_in_batches:
        texts = [b.decode(errors="replace") if isinstance(b, bytes) else b for b in batch]
        got = [ours.encode(b if isinstance(b, bytes) else b.encode()) for b in batch]
        said = {"tokenizers": [e.ids for e in hf.encode_batch(texts)]}
        if tk:
            said["tiktoken"] = tk.encode_batch(texts, num_threads=2, allowed_special="all")
        n += len(batch)
        for whose, answers in said.items():
            for text, mine, other in zip(texts, got, answers):
                if mine != other:
                    bad[whose] += 1
                    show(text, mine, other, whose)
    report(what + ", tokenizers", bad["tokenizers"], n)
    if tk:
        report(what + ", tiktoken", bad["tiktoken"], n)


r = random.Random(256)
folder = DATA + "/gpt2"
if not os.path.exists(folder + "/vocab.json"):
    print("skipped: GPT-2's vocabulary (one of samba.h instead); it takes its files in", folder)
    folder = HERE + "/trained"
    with open("samba.h", "rb") as f:
        train(f.read(), 8000, folder)
ours, hf, tk = Ours(folder), hugging_face(folder), tik(folder)

compare("random texts", batches(lambda: random_text(r), STRINGS), ours, hf, tk)

every = [chr(c) for c in everything]
around = ["".join(f"a{c}1 {c}{c}.{c} " for c in every[i:i + 8]) for i in range(0, len(every), 8)]
compare("every character, beside letters, digits, spaces",
        (around[i:i + 20000] for i in range(0, len(around), 20000)), ours, hf, tk)

leads = [0xC0, 0xC1, 0xC2, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF]
conts = [0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0]


def damaged():
    k = r.randrange(4)
    if k == 0:
        return bytes(r.randrange(256) for _ in range(r.randrange(24)))
    if k == 1:
        some = (leads, conts, conts, [32, 97])
        return bytes(r.choice(r.choice(some)) for _ in range(r.randrange(24)))
    data = bytearray(random_text(r).encode())
    for _ in range(r.randrange(1, 4)):
        at = r.randrange(len(data) + 1)
        data[at:at + r.randrange(3)] = bytes([r.choice(leads + conts)] * r.randrange(2))
    return bytes(data)


compare("bytes that are not UTF-8", batches(damaged, STRINGS // 5), ours, hf, tk)

alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
long = ["a" * 200000, " " * 100000 + "a", "\n" * 100001, "ab" * 50000, "=" * 50001,
        "\u4e2d" * 30000, "e" + "\u0301" * 20000,
        "".join(r.choice(alphabet) for _ in range(200000)),
        base64.b64encode(bytes(r.randrange(256) for _ in range(100000))).decode()]
long += ["a" * n for n in range(1, 200)] + ["etaoin" * n for n in range(1, 40)]
compare("long words", [long], ours, hf)

files = sorted(f for f in glob.glob(DATA + "/**/*", recursive=True) if os.path.isfile(f))
if files:
    contents = []
    for name in files:
        with open(name, "rb") as f:
            contents.append(f.read())
    compare(f"the shared files, {sum(map(len, contents)) / 1e6:.1f} MB",
            ([c] for c in contents), ours, hf, tk)
else:
    print("skipped: the shared files; it takes a folder", DATA)

n, bad = STRINGS // 10, 0
for _ in range(n):
    some = [r.randrange(lib.samba_tokenizer_size(ours.t)) for _ in range(r.randrange(1, 12))]
    mine = ours.decode(some).decode(errors="replace")
    bad += mine != hf.decode(some, skip_special_tokens=False)
report("decoding random ids, tokenizers", bad, n)

# ---- Added tokens: a tokenizer.json that their package writes ----
added = hugging_face(folder)
added.add_special_tokens([AddedToken("<mask>", lstrip=True), AddedToken("<r>", rstrip=True),
                          AddedToken("<both>", lstrip=True, rstrip=True), "<mask>2", "a b"])
added.add_tokens([AddedToken("xyz", normalized=True), AddedToken("yzx", normalized=False),
                  "<|", AddedToken("zx", normalized=True), "\u20ac uro", "the"])
added.save(HERE + "/added.json")
parts = ["<mask>", "<r>", "<both>", "<mask>2", "a b", "xyz", "yzx", "zx", "<|", "\u20ac uro", "the",
         END, "x", "y", "z", " ", "  ", "\n", "\u3000", "\x1c", "a", "b", " the", "<", "\xa0"]
compare("added tokens", batches(lambda: "".join(r.choice(parts) for _ in range(r.randrange(1, 12))),
                                STRINGS // 5), Ours(HERE + "/added.json"), added)

# ---- Training ----
learn = {"samba.h": "samba.h"}
for name in ("tinyshakespeare/input.txt", "movie-reviews/rt-polarity.neg", "gpt2/vocab.json",
             "generative_data_prep/pretraining/example_pretraining_data.jsonl"):
    if os.path.exists(DATA + "/" + name):
        learn[name] = DATA + "/" + name
learn["random texts"] = None
for name, path in learn.items():
    if path:
        with open(path, "rb") as f:
            text = f.read().decode(errors="replace")
    else:
        text = "".join(random_text(r) for _ in range(20000))
    text = text.replace(END, " ")       # to the judge it is a text, here it separates texts
    for n in (300, 2000, 50000):
        start = time.time()
        train(text.encode(), n, HERE + "/trained")
        middle = time.time()
        judge = Tokenizer(models.BPE())
        judge.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        judge.train_from_iterator([text], trainers.BpeTrainer(
            vocab_size=n - 1, show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        end = time.time()
        judge.model.save(HERE + "/trained", "judge")
        with open(HERE + "/trained/merges.txt", encoding="utf-8") as f:
            mine = f.read().split("\n")[1:]
        with open(HERE + "/trained/judge-merges.txt", encoding="utf-8") as f:
            other = f.read().split("\n")[1:]
        bad = sum(a != b for a, b in zip(mine, other)) + abs(len(mine) - len(other))
        report(f"merges learned from {name} for {n} ids ({middle - start:.2f} s, tokenizers "
               f"{end - middle:.2f} s)", bad, len(mine))
compare("texts by a trained vocabulary", batches(lambda: random_text(r), STRINGS // 20),
        Ours(HERE + "/trained"), hugging_face(HERE + "/trained"))

# ---- Speed: megabytes of text in a second, one thread, best of three ----
def speed(encode, argument, n):
    best = 1e9
    for _ in range(3):
        start = time.perf_counter()
        encode(argument)
        best = min(best, time.perf_counter() - start)
    return n / best / 1e6


measured = [p for p in learn.values() if p]
for path in measured:
    with open(path, "rb") as f:
        data = f.read()
    text = data.decode(errors="replace")
    lines = text.splitlines(keepends=True)

    def all_of(data):
        if lib.samba_tokenizer_encode(ours.t, data, len(data), ids, ROOM) < 0:
            sys.exit("out of memory")

    fresh = Ours(folder)
    start = time.perf_counter()
    lib.samba_tokenizer_encode(fresh.t, data, len(data), ids, ROOM)
    first = len(data) / (time.perf_counter() - start) / 1e6
    each = (lambda lines: [hf.encode(line) for line in lines])
    print(f"{os.path.basename(path):32} {len(data) / 1e6:6.2f} MB   "
          f"here {first:6.1f} MB/s at first, {speed(all_of, data, len(data)):6.1f} again   "
          f"tokenizers {max(speed(hf.encode, text, len(data)), speed(each, lines, len(data))):5.1f}"
          f"   tiktoken {speed(tk.encode_ordinary, text, len(data)):5.1f}", flush=True)

print(f"{passed} passed, {failed} failed")
END
"$judges/bin/python" $here/compare.py $here "${STRINGS:-1000000}" >$here/out 2>$here/err
add_judged

# ---- Folders: tokenizer_config.json and its like, against transformers ----
folders=${SAMBA_JUDGES:-$HOME/.cache/samba-judges}/folders
has_transformers() { "$folders/bin/python" -c 'import transformers' >/dev/null 2>&1; }
if ! has_transformers; then
    rm -rf "$folders"
    python3 -m venv "$folders" >$here/log 2>&1 &&
        "$folders/bin/python" -m pip install -q --disable-pip-version-check 'transformers==5.*' \
            >>$here/log 2>&1
fi
if ! has_transformers; then
    skip_all "folders of transformers, $(tail -n 1 $here/log)" 'transformers 5 from PyPI'
fi
cat >$here/folders.py <<'END'
import ctypes, json, os, random, shutil, sys
os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoTokenizer

HERE, N = sys.argv[1], int(sys.argv[2])
FOLDER, END = HERE + "/folder", "<|endoftext|>"
KEYS = "bos_token eos_token unk_token sep_token pad_token cls_token mask_token".split()
NAMES = [END, "<s>", "</s>", "<pad>", "<unk>", "<mask>", "<new>", "[PAD]", "the", " x", "ab%", "!",
         "<", "bc"]
CLASSES = ["GPT2Tokenizer"] * 4 + ["GPT2TokenizerFast", "CodeGenTokenizer", "Qwen2Tokenizer",
                                   "PreTrainedTokenizerFast", "RobertaTokenizer"]
TYPES = "gpt2 gpt2 opt llama gpt_neo codegen phi starcoder2 gptj roberta".split()
# Not qwen2: for it, release 5 overrules the class that the file names.
lib = ctypes.CDLL(os.path.abspath(HERE + "/tokenizer.so"))
text, size = ctypes.c_char_p, ctypes.c_size_t
for name, result, *arguments in (
        ("open", ctypes.c_void_p, text, text, size), ("close", None, ctypes.c_void_p),
        ("size", ctypes.c_int32, ctypes.c_void_p),
        ("encode", ctypes.c_int64, ctypes.c_void_p, text, size, ctypes.c_void_p, ctypes.c_int64)):
    function = getattr(lib, "samba_tokenizer_" + name)
    function.restype, function.argtypes = result, arguments
why, ids = ctypes.create_string_buffer(400), (ctypes.c_int32 * 1000)()
r = random.Random(5)
letters = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
byte = {b: chr(b) for b in letters}
byte.update({b: chr(256 + i) for i, b in enumerate(b for b in range(256) if b not in letters)})
merges = ["t h", "th e", byte[32] + " the", "a t", "< p", "b c"]


def dump(name, value):
    with open(f"{FOLDER}/{name}", "w") as f:
        json.dump(value, f)


def described(content, **more):
    return {"content": content, "single_word": False, "lstrip": r.random() < .2,
            "rstrip": r.random() < .2, "normalized": r.random() < .4, **more}


def named():
    content = r.choice(NAMES)
    return content if r.random() < .6 else described(content)


def new_ids(vocab, n):
    free = len(vocab)
    for content in r.sample(NAMES, n):
        known = vocab.get(content)
        yield content, free if known is None else known
        free += known is None


def make_config(vocab):
    config = {}
    if r.random() < .8:
        config["tokenizer_class"] = r.choice(CLASSES)
    if r.random() < .15:
        config["add_prefix_space"] = r.random() < .4
    for key in KEYS:
        if r.random() < .3:
            config[key] = r.choice((None, named(), named(), named()))
            if isinstance(config[key], dict):
                config[key]["__type"] = "AddedToken"
    if r.random() < .2:
        config["additional_special_tokens"] = r.sample(NAMES, 2)
    if r.random() < .4:
        config["added_tokens_decoder"] = {
            str(i + (r.random() < .04)): described(c, special=r.random() < .6)
            for c, i in new_ids(vocab, r.randrange(1, 5))}
    return config


def make_folder():
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    keys = [byte[b] for b in range(256)] + [m.replace(" ", "") for m in merges]
    keys += r.sample(NAMES[:6], r.randrange(7))
    vocab = {key: i for i, key in enumerate(keys)}
    config = make_config(vocab) if r.random() < .8 else {}
    if r.random() < .3:
        t = Tokenizer(models.BPE(vocab, [tuple(m.split()) for m in merges]))
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        t.decoder = decoders.ByteLevel()
        for content in r.sample(NAMES, r.randrange(3)):
            t.add_tokens([AddedToken(content, normalized=r.random() < .5)])
        t.save(FOLDER + "/tokenizer.json")
    else:
        dump("vocab.json", vocab)
        with open(FOLDER + "/merges.txt", "w") as f:
            f.write("#version: 0.2\n" + "\n".join(merges) + "\n")
    if config:
        dump("tokenizer_config.json", config)
    if r.random() < .3:
        dump("special_tokens_map.json", {key: config.get(key) or named() for key in KEYS
                                         if r.random() < .3})
    if r.random() < .2:
        dump("added_tokens.json", dict(new_ids(vocab, r.randrange(1, 4))))
    if r.random() < .5 or "tokenizer_class" not in config:  # or else AutoTokenizer gives up
        dump("config.json", {"model_type": r.choice(TYPES)})


pieces = NAMES + [" ", " the", "at", "a", "  ", "x", "<s", "<|", END, "\n"]
texts = ["".join(r.choice(pieces) for _ in range(r.randrange(1, 10))) for _ in range(60)]
taken = bad = 0
for _ in range(N):
    make_folder()
    t = lib.samba_tokenizer_open(FOLDER.encode(), why, 400)
    if not t:
        continue
    judge = AutoTokenizer.from_pretrained(FOLDER)
    differs = lib.samba_tokenizer_size(t) != len(judge)
    for one in texts:
        data = one.encode()
        mine = ids[:lib.samba_tokenizer_encode(t, data, len(data), ids, 1000)]
        differs = differs or mine != judge(one, add_special_tokens=False)["input_ids"]
    lib.samba_tokenizer_close(t)
    taken += 1
    bad += differs
    if differs:
        shutil.copytree(FOLDER, f"{HERE}/bad{bad}", dirs_exist_ok=True)
print(f"{'FAILED ' * bool(bad)}folders that are taken, transformers: {bad} differences in {taken}")
print(f"{int(not bad) + int(taken > N / 5)} passed, {int(bool(bad)) + int(taken <= N / 5)} failed")
END
"$folders/bin/python" $here/folders.py $here "$((${STRINGS:-1000000} / 500))" >$here/out 2>$here/err
add_judged
finish

# samba.h: everything that can be run. `make help` lists it; CC, CFLAGS, DATA, JOBS can be set.
CFLAGS ?= -O2
PREFIX = /usr/local
DATA = /usr/share/datasets/fashion-mnist
export CC CFLAGS DATA JOBS

B = build
EXAMPLES = $(patsubst examples/%.c,$B/%,$(wildcard examples/*.c examples/devices/*.c))
COMPANIONS = $(wildcard tools/include/samba/*.h tools/include/samba/chat/*.h \
    tools/include/samba/tokenizer/*.h)
FFN = $B/02_res_ffn
FFN_FLAGS = --checkpoint $B/res_ffn.ckpt --data $(DATA)

all: $(EXAMPLES)                ## build the examples

run: $(FFN)                     ## compile, train, test, reload and test again: ResFFNLogReg
	$(FFN) compile --output-folder $B --pef-name train
	$(FFN) run -p $B/train/train.pef $(FFN_FLAGS) | tee -i $B/trained.txt
	$(FFN) compile --inference --output-folder $B --pef-name infer
	$(FFN) test --inference -p $B/infer/infer.pef $(FFN_FLAGS) | tee -i $B/reloaded.txt
	@tail -n 1 $B/trained.txt | grep accuracy | cmp -s - $B/reloaded.txt \
	    && echo "The reloaded model gives the same accuracy." \
	    || { echo "The reloaded model differs from the trained one."; exit 1; }

gpt: $B/05_gpt_text $B/bible.txt  ## a small GPT learns to write from the King James Bible
	$< compile --output-folder $B --pef-name gpt
	$< run -p $B/gpt/gpt.pef --text $B/bible.txt --folder $B/gpt

test: ready-test                ## all tests, 12 to 25 minutes
	@tests/run.sh

quick:                          ## the quick ones, about a minute: after each change of samba.h
	@tests/run.sh brief

test-one:                       ## the tests called NAME, such as plan, and what they print
	@tests/run.sh one '$(NAME)'

check:                          ## all tests, with what is installed
	@tests/run.sh

full: ready-full                ## all tests, the sanitizers, the whole matrix, complete trainings
	@tests/run.sh full

asan: ready-test                ## the C tests under AddressSanitizer and UBSan, and SAMBA_ASSERTs
	@tests/run.sh asan

tsan: ready-test                ## the tests with threads under ThreadSanitizer
	@tests/run.sh tsan

random: $B/random               ## N random programs (10000, from FIRST) run in every way
	@$B/random $(or $(N),10000) $(or $(FIRST),0)

random-asan: $B/random_asan     ## the same under AddressSanitizer and UBSan (1000)
	@$B/random_asan $(or $(N),1000) $(or $(FIRST),0)

fuzz: ready-fuzz                ## T=pef|load|onnx|all ... [SECONDS=60 | RUNS=N]: readers, mutated input
	@tests/fuzz/run.sh '$(T)' '$(SECONDS)' '$(RUNS)'

tokenizers:                     ## N texts (1000000) by every kind of tokenizer, beside its judges
	@tests/tools/tokenizer_families.sh all

faults: ready-test              ## system calls fail, kills at each, no memory, no room, power cuts
	@tests/faults/run.sh all

mutants: ready-test             ## N flips of operators and constants (200): do tests notice them?
	@tests/mutants/mutants.py

learn:                          ## exercises, judged whenever you save; your files lie in learn/
	@tools/learn/learn.sh

device: ready-device            ## nets on emulated microcontrollers: the host's bits, RAM, stack, code
	@tests/device/run.sh all
	@tests/device/export.sh all
	@tests/device/export_random.sh all

lesson-device:                  ## lesson 21 as the firmware of an emulated microcontroller
	@tests/lessons/device.sh

glass-box: ready-view           ## pages of real nets, judged in a browser; build/view_real/*.png
	@tests/tools/view_real.sh all

tiny-nets:                      ## a table: what training the nets of MLPerf Tiny takes on a device
	@tests/device/tiny_nets.sh all

hidden:                         ## what can be skipped, as if no optional tool were installed
	@tests/run.sh hidden

bare:                           ## make run and make test in a Debian that has git, make and gcc alone
	@tools/dev/bare.sh

# Only when it is asked for: what depends on samba.h takes it as it is.
ifneq ($(filter samba.h,$(MAKECMDGOALS)),)
.PHONY: samba.h
samba.h:                        ## put together from its chapters in tools/parts
	@tools/dev/parts.sh join
endif

parts:                          ## the chapters in tools/parts, cut from an edited samba.h
	@tools/dev/parts.sh cut

lint:                           ## the style of samba.h and of everything else
	@tools/dev/lint.sh

tools: $B/samba                 ## build what tools/samba runs: prepare-data and others

# What a program of bench is given, and where its peers from PyPI are.
BENCH = gemm gpt2 nets ops start onnx
ROUND_FLAGS = $(if $(ROUNDS),rounds $(ROUNDS))
PEERS = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/samba.h/peers
export PEERS

bench: peers $(BENCH:%=$B/bench_%) ## speed and memory beside peers, an hour; ROUNDS=3 is quicker
	@for area in $(BENCH); do \
	    $B/bench_$$area $(ROUND_FLAGS) json $B/bench_$$area.json || touch $B/bench.failed; done
	@cat $(BENCH:%=$B/bench_%.json) >$B/bench.json
	@tools/dev/chart_bench.sh $B/bench.json >$B/bench.svg
	@echo "rows in $B/bench.json, a picture of them in $B/bench.svg"
	@! rm $B/bench.failed 2>/dev/null || { echo "a program failed"; exit 1; }

bench-small: peers $(BENCH:%=$B/bench_%) ## a selection: some minutes, once compiled
	@for area in $(BENCH); do $B/bench_$$area small || exit 1; done

numerics: $B/bench_numerics $B/bible.txt ## how well nets learn in f32, mp1, mp4, PyTorch: an hour
	@tests/bench/numerics.sh $B/bench_numerics $(DATA) $B/bible.txt

speed: bench                    ## make bench, and its tables in SPEED.md, README and the picture
	@python3 tests/bench/tables.py $B/bench.json $B/speed.json
	@tools/dev/chart_bench.sh $B/speed.json >tools/docs/pictures/speed.svg

peers: | ready-bench            ## PyTorch, onnxruntime, llama.cpp of today from PyPI, in PEERS
	@tests/bench/peers.sh '$(PEERS)'

lenet: $B/03_lenet              ## train LeNet, with convolutions
	$B/03_lenet --data $(DATA)

web: $B/web/index.html          ## a page that trains ResFFN in the browser, with WebAssembly
	@echo "open $<, or serve it with its images: python3 -m http.server -d $B/web"

install:                        ## headers, samba.pc, CMake's package: to PREFIX (below DESTDIR)
	@tools/package/install/install.sh '$(PREFIX)' '$(DESTDIR)'

docs: ready-docs $B/docs_ops    ## the reference: build/docs/index.html
	@$B/docs_ops >$B/docs_ops.txt
	@python3 tools/docs/docs.py $B/docs_ops.txt $B/docs/index.html

pictures: | ready-web           ## draw the pictures of README anew (after make run)
	@tools/docs/pictures.sh

packages:                       ## for Arduino, PlatformIO, ESP-IDF, Zephyr, CMSIS; URL=https://...
	@URL='$(URL)' tools/package/package.sh $B/packages

clean:                          ## remove build/
	rm -rf $B

help:                           ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' Makefile | awk -F'|' '{ printf "%-20s%s\n", $$1, $$2 }'

ready-%:
	@tools/dev/install.sh $*

$B/%: examples/%.c samba.h $(COMPANIONS) $(wildcard examples/devices/*.h) | ready-run
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -o $@ $< $(LDFLAGS) -lm -pthread -lz

GPT = $B/05_gpt_text $B/06_gpt2_train $B/07_gpt2_generate $B/10_llama
$(GPT): $B/%: examples/%.c samba.h $(COMPANIONS) | ready-gpt
	@mkdir -p $B
	$(CC) $(CFLAGS) -o $@ $< $(LDFLAGS) $(if $(findstring 06,$@),$(HDF5)) -lcjson -lutf8proc -lm -pthread

RANDOM = tests/core/random.c tests/lib/random_run.h tests/lib/test.h \
    tools/include/samba/parallel.h samba.h
$B/random: $(RANDOM)
	@mkdir -p $B
	$(CC) $(CFLAGS) -I. -o $@ $< $(LDFLAGS) -lm -pthread

$B/random_asan: $(RANDOM)
	@mkdir -p $B
	$(CC) -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -DSAMBA_ASSERTS -I. -o $@ $< \
	    $(LDFLAGS) -lm -pthread

$B/docs_ops: tools/docs/ops.c samba.h | ready-docs
	@mkdir -p $B
	$(CC) -O1 -DSAMBA_NO_SIMD -I. -o $@ $< $(LDFLAGS) -lm -pthread

$B/bible.txt: | ready-gpt
	@mkdir -p $B
	bible -f Gen1:1-Rev22:21 | sed 's/^[^ ]* //' >$@

HDF5 = $(shell tools/dev/hdf5.sh)
CLI = tools/cli/samba.c $(wildcard tools/cli/data/*.c tools/cli/util/*.c)
$B/samba: $(CLI) $(wildcard tools/cli/*.h tools/cli/*/*.h) $(COMPANIONS) | ready-tools
	@mkdir -p $B
	$(CC) $(CFLAGS) -I. -o $@ $(CLI) $(LDFLAGS) $(HDF5) -lcjson -lutf8proc -lm

DEVICE_CLI = tools/cli/device.c $(wildcard tools/cli/device/*.c tools/cli/util/*.c)
$B/samba-device: $(DEVICE_CLI) $(wildcard tools/cli/*/*.h) samba.h tools/include/samba/base.h | ready-run
	@mkdir -p $B
	$(CC) $(CFLAGS) -I. -o $@ $(DEVICE_CLI) $(LDFLAGS) -lm -pthread

VIEW_CLI = tools/cli/view.c $(wildcard tools/cli/view/*.c tools/cli/util/*.c)
$B/samba-view: $(VIEW_CLI) $(wildcard tools/cli/*/*.h) build/view_page.h samba.h \
    tools/include/samba/replay.h tools/include/samba/base.h | ready-run
	@mkdir -p $B
	$(CC) $(CFLAGS) -I. -Itools/include -o $@ $(VIEW_CLI) $(LDFLAGS) -lm -pthread

# Where the importer of ONNX can be built, its ops are known to whoever runs models.
ONNX_PROTO = $(wildcard /usr/include/onnx/onnx.proto /usr/local/include/onnx/onnx.proto)
ONNX_HERE = $(and $(ONNX_PROTO),$(wildcard /usr/include/protobuf-c/protobuf-c.h),$\
    $(shell command -v protoc-c))
RUN_ONNX = $(if $(ONNX_HERE),-DSAMBA_RUN_ONNX -I$B/onnx $B/onnx/onnx.pb-c.c -lprotobuf-c)
ONNX_IMPORTER = $(wildcard tools/include/samba/onnx/*.h tools/include/samba/onnx/*/*.h)
RUN_NEEDS = $(wildcard tools/cli/*/*.h) samba.h $(COMPANIONS) $(ONNX_IMPORTER) \
    $(if $(ONNX_HERE),$B/onnx/onnx.pb-c.c)

RUN_CLI = tools/cli/run.c $(wildcard tools/cli/run/*.c tools/cli/util/*.c)
$B/samba-run: $(RUN_CLI) $(RUN_NEEDS) | ready-run
	@mkdir -p $B
	$(CC) $(CFLAGS) -I. -o $@ $(RUN_CLI) $(RUN_ONNX) $(LDFLAGS) -lm -pthread

TEXT_CLI = tools/cli/text.c $(wildcard tools/cli/text/*.c tools/cli/run/*.c tools/cli/util/*.c)
$B/samba-text: $(TEXT_CLI) $(RUN_NEEDS) | ready-gpt
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -I. -o $@ $(TEXT_CLI) $(RUN_ONNX) $(LDFLAGS) -lcjson -lutf8proc -lm -pthread

# Not in $B: the source includes it by this path. Whoever compiles it meanwhile reads a whole one.
build/view_page.h: tools/cli/view/embed.sh $(wildcard tools/cli/view/page/*)
	@mkdir -p $(@D)
	@new=$@.$$$$ && tools/cli/view/embed.sh $(wildcard tools/cli/view/page/*) >$$new && mv $$new $@

ONNX_CLI = tools/cli/onnx.c tools/cli/util/text.c
$B/samba-onnx: $(ONNX_CLI) $(COMPANIONS) $(ONNX_IMPORTER) tools/cli/util/text.h samba.h \
    $B/onnx/onnx.pb-c.c | ready-onnx
	$(CC) $(CFLAGS) -I. -I$B/onnx -o $@ $(ONNX_CLI) $B/onnx/onnx.pb-c.c $(LDFLAGS) \
	    -lprotobuf-c -lm -pthread

$B/onnx/onnx.pb-c.c: $(ONNX_PROTO) | ready-onnx
	@mkdir -p $B/onnx
	protoc-c -I$(dir $(firstword $^ /usr/include/onnx/)) --c_out=$B/onnx onnx.proto

WEB = examples/devices/web
$B/web/index.html: $(wildcard $(WEB)/*.* $(WEB)/libc/*.*) samba.h | ready-web
	$(WEB)/build.sh $@
	@for file in $(wildcard $(DATA)/*-ubyte $(DATA)/*-ubyte.gz); do ln -sf $$file $B/web/; done

$B/bench_numerics: tests/bench/numerics.c tests/bench/nets.h samba.h $(COMPANIONS) | ready-gpt
	@mkdir -p $B
	$(CC) $(CFLAGS) -o $@ $< $(LDFLAGS) -lcjson -lutf8proc -lm -pthread -lz

$B/bench_%: tests/bench/%.c tests/bench/bench.h tests/bench/nets.h samba.h $(COMPANIONS) | ready-bench
	@mkdir -p $B
	$(CC) $(CFLAGS) -o $@ $< $(LDFLAGS) -lcjson -lm -pthread -ldl

$B/bench_onnx: tests/bench/onnx.c tests/bench/bench.h samba.h $(COMPANIONS) \
    $(wildcard tools/include/samba/onnx/*.h tools/include/samba/onnx/*/*.h) $B/onnx/onnx.pb-c.c \
    | ready-bench
	$(CC) $(CFLAGS) -I. -I$B/onnx -o $@ $< $B/onnx/onnx.pb-c.c $(LDFLAGS) -lprotobuf-c -lm -pthread \
	    -ldl

.PHONY: all run gpt test quick test-one parts check full asan tsan random random-asan fuzz faults \
    mutants tokenizers learn device lesson-device glass-box tiny-nets hidden bare lint tools \
    bench bench-small numerics speed peers lenet web install docs pictures packages clean help

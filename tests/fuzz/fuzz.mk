# Builds the targets of tests/fuzz: called by tests/fuzz/run.sh, from the root of the repository, with
# OUT (folder), COMPILE (compiler and flags), PLAIN (the same without sanitizers, for what mutates),
# LINK (the same to link with), DRIVER (driver.o, or nothing: libFuzzer has a main).
PEF = samba.o pef_mutate.o pef_programs.o
HDF5 = $(shell tools/dev/hdf5.sh)
UTIL = $(patsubst tools/cli/%.c,tools/%.o,$(wildcard tools/cli/util/*.c))
CLI = $(UTIL) $(patsubst tools/cli/%.c,tools/%.o,$(wildcard tools/cli/data/*.c \
    tools/cli/device/*.c tools/cli/run/*.c tools/cli/view/*.c))
ONNX = build/onnx/onnx.pb-c.c

# Objects and libraries of each target, beside its own.
pef_NEEDS = $(PEF)
load_NEEDS = $(PEF)
replay_NEEDS = $(PEF)
config_NEEDS = samba.o -lcjson
idx_NEEDS = samba.o -lz
onnx_NEEDS = samba.o onnx.pb-c.o -lprotobuf-c
safetensors_NEEDS = -lcjson
tokenizer_NEEDS = -lcjson -lutf8proc
hdf5_NEEDS = $(HDF5)
npy_NEEDS = $(UTIL)
# view/fused.o would be samba.h once more: samba.o has its function.
cli_NEEDS = $(PEF) $(filter-out tools/view/fused.o,$(CLI)) tools/onnx.o onnx.pb-c.o $(HDF5) -lcjson \
    -lutf8proc -lprotobuf-c

objects = $(addprefix $(OUT)/,fuzz.o $(DRIVER) $1.o $(filter %.o,$($1_NEEDS)))

TARGETS = pef load safetensors tokenizer json onnx config idx hdf5 replay npy cli
define target
$(OUT)/$1: $(call objects,$1)
	$(LINK) -o $$@ $$^ $(filter-out %.o,$($1_NEEDS)) -lm -pthread
endef
$(foreach t,$(TARGETS),$(eval $(call target,$t)))

FLAGS = -MMD -MP -std=gnu99 -DSAMBA_NO_SIMD -DSAMBA_SMALL -I. -Itools/include -Ibuild/onnx

$(OUT)/%.o: tests/fuzz/%.c
	@mkdir -p $(@D)
	$(COMPILE) $(FLAGS) -c -o $@ $<

$(OUT)/fuzz.o $(OUT)/pef_mutate.o: $(OUT)/%.o: tests/fuzz/%.c
	@mkdir -p $(@D)
	$(PLAIN) $(FLAGS) -c -o $@ $<

$(OUT)/onnx.o $(OUT)/tools/onnx.o: $(ONNX)
$(OUT)/onnx.pb-c.o: $(ONNX)
	@mkdir -p $(@D)
	$(COMPILE) -w -c -o $@ $<

# samba.h is there already: the command's own copy of it is left out, and main is called onnx_main.
$(OUT)/tools/onnx.o: tools/cli/onnx.c
	@mkdir -p $(@D)
	$(COMPILE) $(FLAGS) -DSAMBA__IMPLEMENTED -Dmain=onnx_main \
	    -include tests/fuzz/samba_private.h -c -o $@ $<

# Functions of programs that are one here, and have the same names.
$(OUT)/tools/device/%.o: FLAGS += -Dbytes_of=device_bytes_of

# What measures the machine would take seconds for each input.
$(OUT)/tools/view/measure.o: FLAGS += -DVIEW_PRODUCT_SIDE=32

$(OUT)/tools/%.o: tools/cli/%.c
	@mkdir -p $(@D)
	$(COMPILE) $(FLAGS) -Ibuild -c -o $@ $<

-include $(wildcard $(OUT)/*.d $(OUT)/tools/*.d $(OUT)/tools/*/*.d)
.SECONDARY:

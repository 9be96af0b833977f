# SPDX-License-Identifier: GPL-2.0
#
# The fuzzer of wsmo's readers, and that of the module's parser; included by the top Makefile.
# The former is built from the command's sources, by the variables of wsmo.mk.
#
#   make fuzz FUZZ_SECS=300	run them for that long; findings are in out/fuzz/

WSMO_FUZZ_DIR := tests/fuzz-recordings
WSMO_FUZZ_OBJ := out/obj/fuzz
FUZZ_SECS ?= 300
WSMO_FUZZ_CC := clang
WSMO_FUZZ_SRCS := $(wildcard $(WSMO_FUZZ_DIR)/*.c) \
	$(foreach layer,$(wsmo-report_LAYERS),$(call layer_srcs,$(layer)))
WSMO_FUZZ_OBJS := $(WSMO_FUZZ_SRCS:%.c=$(WSMO_FUZZ_OBJ)/%.o)
WSMO_FUZZ_CFLAGS := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer

.PHONY: fuzz wsmo-fuzz parse-fuzz need-fuzz
fuzz: need-fuzz
	@tests/fuzz-recordings/run $(FUZZ_SECS)
wsmo-fuzz: out/bin/wsmo-fuzz
parse-fuzz: out/bin/parse-fuzz

need-fuzz: need-build
	@scripts/need clang libclang-rt-dev python3

out/bin/wsmo-fuzz: $(WSMO_FUZZ_OBJS)
	@mkdir -p $(@D)
	$(WSMO_FUZZ_CC) $(WSMO_FUZZ_CFLAGS) -fsanitize=fuzzer -o $@ $^ $(wsmo-top_LIBS)

out/bin/parse-fuzz: tests/unit/fuzz/parse.c module/wsmon_parse.c $(wildcard tests/unit/include/*/*.h \
		module/*.h include/*.h) $(WSMO_FUZZ_DIR)/fuzz.mk
	@mkdir -p $(@D)
	$(WSMO_FUZZ_CC) $(UNIT_CFLAGS) $(WSMO_FUZZ_CFLAGS) -fsanitize=fuzzer -o $@ $(filter %.c,$^)

# the fuzzer is guided by the coverage of wsmo's own files
$(WSMO_FUZZ_OBJ)/tools/%.o: WSMO_FUZZ_CFLAGS += -fsanitize=fuzzer-no-link

$(WSMO_FUZZ_OBJ)/%.o: %.c $(WSMO_FUZZ_DIR)/fuzz.mk $(WSMO_DIR)/wsmo.mk
	@mkdir -p $(@D)
	$(WSMO_FUZZ_CC) $(WSMO_CFLAGS) $(WSMO_FUZZ_CFLAGS) -MMD -MP -c -o $@ $<

# files included by assembler directives, which -MMD does not list
$(WSMO_FUZZ_OBJ)/$(WSMO_DIR)/views/html.o: $(wildcard $(WSMO_DIR)/views/html/* $(WSMO_UPLOT)/*)

-include $(WSMO_FUZZ_OBJS:.o=.d)

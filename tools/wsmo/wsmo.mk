# SPDX-License-Identifier: GPL-2.0
#
# How the command wsmo is built; included by the top Makefile. Paths are
# relative to the top of the tree.
#
#   out/bin/wsmo       what is installed
#   out/bin/wsmo-asan  the same under AddressSanitizer and UBSan, for tests
#   out/lib/wsmo/libwsmo-alloc.so  what record --alloc loads into programs
#   out/share/wsmo.bash  completion for bash; wsmo.zsh for zsh

WSMO_DIR := tools/wsmo
WSMO_OBJ := out/obj/plain
WSMO_OBJ_ASAN := out/obj/asan
comma := ,
WSMO_VERSION ?= $(shell sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)

# A folder is a layer, and each is made an archive. A layer may use those named
# before it, never those after: tests/layers checks what they include.
WSMO_LAYERS := libwsmon core live names stack views verbs
# layer_srcs LAYER: its folder's and those below
layer_srcs = $(if $(filter libwsmon,$(1)),$(wildcard tools/libwsmon/*.c),\
	$(filter-out %/main.c,$(wildcard $(WSMO_DIR)/$(1)/*.c)))

# The programs: their verbs, their layers (users before what they use), their
# libraries. wsmo itself is small, as it runs beside what it records; it executes the
# others.
WSMO_PROGRAMS := wsmo wsmo-act wsmo-report wsmo-top wsmo-stack
wsmo_VERBS := record mark
wsmo_LAYERS := live core libwsmon
wsmo_LIBS := -lzstd
wsmo-act_VERBS := act
wsmo-act_LAYERS := verbs live core libwsmon
wsmo-act_LIBS := -lsmartcols -ljson-c -lzstd -lm
wsmo-report_VERBS := report diff sizing export check mem
wsmo-report_LAYERS := verbs views names live core libwsmon
# all of this layer, whose views register themselves
wsmo-report_WHOLE := views
wsmo-report_LIBS := -lsmartcols -ljson-c -lzstd -lz -ldw -lelf -liberty -lm
wsmo-top_VERBS := top
wsmo-top_LAYERS := $(wsmo-report_LAYERS)
wsmo-top_LIBS := $(wsmo-report_LIBS) -lncursesw -ltinfo
wsmo-stack_LAYERS := stack live core
wsmo-stack_LIBS := -ldw

WSMO_CFLAGS := -std=c11 -D_GNU_SOURCE -DWSMO_VERSION='"$(WSMO_VERSION)"' \
	-Iinclude -Itools -I$(WSMO_DIR) -g -Wall -Wextra -Wno-unused-parameter -Werror -Wshadow \
	-Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wvla
WSMO_OPT := -O2 -fno-math-errno -D_FORTIFY_SOURCE=2 -fstack-protector-strong -ffunction-sections
WSMO_ASAN := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
# Programs get the functions they use, not whole files. Fewer segments need less memory; linkers
# for arm64 do not have the last option.
WSMO_RELR := $(if $(findstring x86_64,$(shell $(CC) -dumpmachine 2>/dev/null)),-Wl$(comma)-z$(comma)pack-relative-relocs)
WSMO_LDFLAGS := -Wl,--as-needed -Wl,--gc-sections -Wl,-z,noseparate-code $(WSMO_RELR)
WSMO_SCHEMES := reclaim thp
WSMO_ALLOC := out/lib/wsmo/libwsmo-alloc.so
WSMO_SCHEME_FILES := $(WSMO_SCHEMES:%=out/share/wsmon/schemes/%)

.PHONY: wsmo wsmo-asan
wsmo: $(WSMO_PROGRAMS:%=out/bin/%) $(WSMO_SCHEME_FILES) $(WSMO_ALLOC)
wsmo-asan: $(WSMO_PROGRAMS:wsmo%=out/bin/wsmo-asan%) $(WSMO_SCHEME_FILES) $(WSMO_ALLOC)

# beside bin/, as they are installed
out/share/wsmon/schemes/%: $(WSMO_DIR)/schemes/%
	@mkdir -p $(@D)
	cp $< $@

# The library as others get it, shared and static: what its public symbols need, and
# no other symbol
#
#   out/lib/libwsmon.so.0, out/lib/libwsmon.a
LIBWSMON_SONAME := libwsmon.so.0
LIBWSMON_MAP := tools/libwsmon/libwsmon.map
LIBWSMON_OBJS := $(addprefix out/obj/pic/tools/libwsmon/,curve.o mappings.o names.o \
	reader.o series.o sizing.o sorted.o)

.PHONY: libwsmon
libwsmon: out/lib/$(LIBWSMON_SONAME) out/lib/libwsmon.a

out/lib/$(LIBWSMON_SONAME): $(LIBWSMON_OBJS) $(LIBWSMON_MAP)
	@mkdir -p $(@D)
	$(CC) -shared -Wl,-soname=$(@F) -Wl,--version-script=$(LIBWSMON_MAP) -Wl,--no-undefined \
		-Wl,--gc-sections $(LDFLAGS) -o $@ $(LIBWSMON_OBJS) -lzstd -lm

out/lib/libwsmon.a: $(LIBWSMON_OBJS)
	@mkdir -p $(@D)
	$(LD) -r -o $(@:.a=.o) $^
	objcopy --wildcard --keep-global-symbol='wsmon_*' $(@:.a=.o)
	@rm -f $@
	$(AR) rcs $@ $(@:.a=.o)

# What "wsmo record --alloc" puts into programs: it must bring nothing with it that they
# do not have, and its variables for each thread are where the fastest access is.
WSMO_ALLOC_OBJS := $(patsubst %.c,out/obj/preload/%.o,$(wildcard tools/alloc/*.c))
$(WSMO_ALLOC): $(WSMO_ALLOC_OBJS)
	@mkdir -p $(@D)
	$(CC) -shared -static-libgcc -Wl,--exclude-libs,ALL -Wl,-z,now -Wl,--no-undefined \
		-Wl,--as-needed $(LDFLAGS) -o $@ $^

out/obj/preload/%.o: %.c $(WSMO_DIR)/wsmo.mk
	@mkdir -p $(@D)
	$(CC) $(WSMO_CFLAGS) -O2 -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-builtin \
		-fasynchronous-unwind-tables $(CFLAGS) -U_FORTIFY_SOURCE -MMD -MP -c -o $@ $<

# archive DIRECTORY LAYER
define archive
$(1)/$(2).a: $$(patsubst %.c,$(1)/%.o,$$(call layer_srcs,$(2)))
	@rm -f $$@
	$(AR) rcs $$@ $$^
endef
whole = -Wl,--whole-archive $(1) -Wl,--no-whole-archive
# program DIRECTORY FILE NAME FLAGS: what has verbs has main.c, which finds them
define program
out/bin/$(2): $$(if $$($(3)_VERBS),$(1)/$(WSMO_DIR)/core/main.o) $$($(3)_LAYERS:%=$(1)/%.a)
	@mkdir -p $$(@D)
	$$(CC) $(4) $$($(3)_VERBS:%=-Wl,-u,cmd_%) -o $$@ \
		$$(foreach file,$$^,$$(if $$(filter %/$$($(3)_WHOLE).a,$$(file)),$$(call whole,$$(file)),$$(file))) \
		$$($(3)_LIBS) -lm
endef
$(foreach dir,$(WSMO_OBJ) $(WSMO_OBJ_ASAN),$(foreach layer,$(WSMO_LAYERS),\
	$(eval $(call archive,$(dir),$(layer)))))
$(foreach name,$(WSMO_PROGRAMS),\
	$(eval $(call program,$(WSMO_OBJ),$(name),$(name),$$(WSMO_LDFLAGS) $$(LDFLAGS)))\
	$(eval $(call program,$(WSMO_OBJ_ASAN),$(name:wsmo%=wsmo-asan%),$(name),\
		$$(WSMO_ASAN) -Wl$$(comma)--as-needed)))

$(WSMO_OBJ)/%.o: %.c $(WSMO_DIR)/wsmo.mk
	@mkdir -p $(@D)
	$(CC) $(WSMO_CFLAGS) $(WSMO_OPT) $(CFLAGS) -MMD -MP -c -o $@ $<

out/obj/pic/%.o: %.c $(WSMO_DIR)/wsmo.mk
	@mkdir -p $(@D)
	$(CC) $(WSMO_CFLAGS) $(WSMO_OPT) -fPIC $(CFLAGS) -MMD -MP -c -o $@ $<

$(WSMO_OBJ_ASAN)/%.o: %.c $(WSMO_DIR)/wsmo.mk
	@mkdir -p $(@D)
	$(CC) $(WSMO_CFLAGS) $(WSMO_ASAN) -MMD -MP -c -o $@ $<

# uPlot, the charts of "report html": what is in $(WSMO_UPLOT) comes from here
WSMO_UPLOT := third_party/uplot
UPLOT_VERSION := 1.6.32
UPLOT_SHA512 := 2883159c6ebccefbb95d751b0b82d010f9e1c0ec41b8bc96d401eda66e882935c89a46cb824332fa369b8cb8122cc6ac36e186cd09bf7a9ded3a4c93c6989023

.PHONY: vendor
vendor:
	@scripts/need npm
	rm -rf out/vendor
	mkdir -p out/vendor $(WSMO_UPLOT)
	cd out/vendor && npm pack --silent uplot@$(UPLOT_VERSION)
	echo "$(UPLOT_SHA512)  out/vendor/uplot-$(UPLOT_VERSION).tgz" | sha512sum -c
	tar -xzf out/vendor/uplot-$(UPLOT_VERSION).tgz -C $(WSMO_UPLOT) \
		--strip-components=1 package/LICENSE
	tar -xzf out/vendor/uplot-$(UPLOT_VERSION).tgz -C $(WSMO_UPLOT) \
		--strip-components=2 package/dist/uPlot.iife.min.js \
		package/dist/uPlot.min.css

# Files included by assembler directives, which -MMD does not list
$(patsubst %,%/$(WSMO_DIR)/views/html.o,$(WSMO_OBJ) $(WSMO_OBJ_ASAN)): \
	$(wildcard $(WSMO_DIR)/views/html/* $(WSMO_UPLOT)/*)
$(foreach name,views/plot views/heatmap views/who verbs/mem,\
	$(patsubst %,%/$(WSMO_DIR)/$(name).o,$(WSMO_OBJ) $(WSMO_OBJ_ASAN))): \
	$(wildcard $(WSMO_DIR)/views/*.gp $(WSMO_DIR)/verbs/*.gp)

# completion of the shells, from the command's own tables of options
.PHONY: completion
completion: out/share/wsmo.bash out/share/wsmo.zsh

out/share/wsmo.zsh: $(WSMO_DIR)/completion-zsh.sh $(WSMO_PROGRAMS:%=out/bin/%)
	@mkdir -p $(@D)
	$(WSMO_DIR)/completion-zsh.sh out/bin/wsmo >$@.new
	mv $@.new $@

out/share/wsmo.bash: $(WSMO_DIR)/completion.sh $(WSMO_PROGRAMS:%=out/bin/%)
	@mkdir -p $(@D)
	$(WSMO_DIR)/completion.sh out/bin/wsmo >$@.new
	mv $@.new $@

WSMO_ALL_SRCS := $(WSMO_DIR)/core/main.c $(foreach layer,$(WSMO_LAYERS),$(call layer_srcs,$(layer)))
-include $(patsubst %.c,$(WSMO_OBJ)/%.d,$(WSMO_ALL_SRCS)) \
	$(patsubst %.c,$(WSMO_OBJ_ASAN)/%.d,$(WSMO_ALL_SRCS)) $(LIBWSMON_OBJS:.o=.d) \
	$(WSMO_ALLOC_OBJS:.o=.d)

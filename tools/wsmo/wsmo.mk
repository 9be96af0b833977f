# SPDX-License-Identifier: GPL-2.0
#
# How the command wsmo is built; included by the top Makefile. Paths are
# relative to the top of the tree.
#
#   out/bin/wsmo       what is installed
#   out/bin/wsmo-asan  the same under AddressSanitizer and UBSan, for tests
#   out/share/wsmo.bash  completion for bash

WSMO_DIR := tools/wsmo
WSMO_OBJ := out/obj/wsmo
WSMO_VERSION ?= 0.1

WSMO_SRCS := main.c program.c top_exec.c msg.c args.c text.c units.c names.c table.c reader.c \
	past.c pack.c unpack.c debugfs.c \
	report.c report_filter.c report_run.c report_wss.c wss.c wss_args.c wss_plot.c \
	report_regions.c report_summary.c report_raw.c \
	report_heatmap.c heatmap.c heatmap_maps.c heatmap_args.c heatmap_label.c heatmap_text.c \
	heatmap_plot.c report_html.c html_assets.c spans.c plot.c term.c areas.c sorted.c \
	record.c record_args.c record_run.c record_loop.c record_take.c \
	record_output.c record_child.c session.c procfs.c kconfig.c check.c \
	export.c export_table.c export_chrome.c export_damo.c export_openmetrics.c \
	openmetrics.c export_live.c live.c outfile.c \
	act.c act_scheme.c act_evidence.c act_match.c act_target.c act_taken.c \
	act_limits.c act_apply.c act_stream.c act_output.c act_table.c report_act.c

# "wsmo top" executes wsmo-top, which has all of these but main.c and itself, and
WSMO_TOP_SRCS := $(filter-out main.c top_exec.c,$(WSMO_SRCS)) \
	top_main.c top.c top_model.c top_events.c top_screen.c top_text.c

WSMO_CFLAGS := -std=c11 -D_GNU_SOURCE -DWSMO_VERSION='"$(WSMO_VERSION)"' \
	-Iinclude -I$(WSMO_DIR) -g -Wall -Wextra -Werror -Wshadow \
	-Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wvla
WSMO_OPT := -O2 -fno-math-errno -D_FORTIFY_SOURCE=2 -fstack-protector-strong
WSMO_ASAN := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
# few segments, little memory
WSMO_LDFLAGS := -Wl,--as-needed -Wl,-z,noseparate-code
WSMO_LIBS := -lsmartcols -ljson-c -lzstd -lm
WSMO_TOP_LIBS := $(WSMO_LIBS) -lncursesw -ltinfo

WSMO_SCHEMES := reclaim thp
WSMO_SCHEME_FILES := $(WSMO_SCHEMES:%=out/share/wsmon/schemes/%)

.PHONY: wsmo wsmo-asan
wsmo: out/bin/wsmo out/bin/wsmo-top $(WSMO_SCHEME_FILES)
wsmo-asan: out/bin/wsmo-asan out/bin/wsmo-asan-top $(WSMO_SCHEME_FILES)

# beside bin/, as they are installed
out/share/wsmon/schemes/%: $(WSMO_DIR)/schemes/%
	@mkdir -p $(@D)
	cp $< $@

out/bin/wsmo: $(WSMO_SRCS:%.c=$(WSMO_OBJ)/%.o)
	@mkdir -p $(@D)
	$(CC) $(WSMO_LDFLAGS) $(LDFLAGS) -o $@ $^ $(WSMO_LIBS)

out/bin/wsmo-top: $(WSMO_TOP_SRCS:%.c=$(WSMO_OBJ)/%.o)
	@mkdir -p $(@D)
	$(CC) $(WSMO_LDFLAGS) $(LDFLAGS) -o $@ $^ $(WSMO_TOP_LIBS)

out/bin/wsmo-asan-top: $(WSMO_TOP_SRCS:%.c=$(WSMO_OBJ)/asan/%.o)
	@mkdir -p $(@D)
	$(CC) $(WSMO_ASAN) -Wl,--as-needed -o $@ $^ $(WSMO_TOP_LIBS)

out/bin/wsmo-asan: $(WSMO_SRCS:%.c=$(WSMO_OBJ)/asan/%.o)
	@mkdir -p $(@D)
	$(CC) $(WSMO_ASAN) -Wl,--as-needed -o $@ $^ $(WSMO_LIBS)

$(WSMO_OBJ)/%.o: $(WSMO_DIR)/%.c $(WSMO_DIR)/wsmo.mk
	@mkdir -p $(@D)
	$(CC) $(WSMO_CFLAGS) $(WSMO_OPT) $(CFLAGS) -MMD -MP -c -o $@ $<

$(WSMO_OBJ)/asan/%.o: $(WSMO_DIR)/%.c $(WSMO_DIR)/wsmo.mk
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

# What they take in is not told by the compiler
$(WSMO_OBJ)/html_assets.o $(WSMO_OBJ)/asan/html_assets.o: \
	$(wildcard $(WSMO_DIR)/html/* $(WSMO_UPLOT)/*)

# bash's completion, from the command's own tables of options
.PHONY: completion
completion: out/share/wsmo.bash

out/share/wsmo.bash: $(WSMO_DIR)/completion.sh out/bin/wsmo
	@mkdir -p $(@D)
	$(WSMO_DIR)/completion.sh out/bin/wsmo >$@.new
	mv $@.new $@

-include $(patsubst %.c,$(WSMO_OBJ)/%.d,$(WSMO_SRCS) $(WSMO_TOP_SRCS))
-include $(patsubst %.c,$(WSMO_OBJ)/asan/%.d,$(WSMO_SRCS) $(WSMO_TOP_SRCS))

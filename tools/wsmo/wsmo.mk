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

# What records: "wsmo" itself, which is to be small
WSMO_RECORD_SRCS := program.c program_exec.c msg.c args.c text.c units.c names.c \
	reader.c past.c pack.c unpack.c debugfs.c sorted.c \
	record.c record_args.c record_run.c record_loop.c record_take.c \
	record_output.c record_child.c record_stacks.c record_marks.c marks.c \
	mapper.c buildid.c threads.c session.c procfs.c secondary.c
WSMO_SRCS := main.c mark.c $(WSMO_RECORD_SRCS)

# What reads, which "wsmo report", "act", "export" and "check" execute
WSMO_READ_SRCS := $(WSMO_RECORD_SRCS) table.c live.c outfile.c \
	report.c report_filter.c report_run.c report_raw.c raw_fields.c \
	report_regions.c fine.c fine_tree.c fine_points.c fine_origin.c \
	report_summary.c summary_recording.c summary_touched.c \
	report_wss.c wss.c wss_args.c wss_plot.c bar.c \
	curve.c curves.c curves_report.c report_curve.c report_sizing.c sizing.c \
	sizing_args.c curve_plot.c \
	report_hot.c hot.c hot_args.c places.c mappings.c symbols.c libdw.c \
	report_peaks.c report_peaks_after.c report_stacks.c calls.c demangle.c events.c \
	report_heatmap.c heatmap.c heatmap_maps.c heatmap_args.c heatmap_label.c \
	heatmap_text.c heatmap_events.c heatmap_plot.c \
	report_html.c html_events.c html_sizing.c html_assets.c \
	spans.c plot.c plot_events.c term.c areas.c \
	export.c export_table.c export_chrome.c export_damo.c export_openmetrics.c \
	openmetrics.c export_live.c \
	act.c act_scheme.c act_evidence.c act_match.c act_target.c act_taken.c \
	act_limits.c act_apply.c act_stream.c act_output.c act_table.c report_act.c \
	kconfig.c check.c
WSMO_REPORT_SRCS := report_main.c $(WSMO_READ_SRCS)

# "wsmo top" executes wsmo-top
WSMO_TOP_SRCS := $(WSMO_READ_SRCS) \
	top_main.c top.c top_model.c top_events.c top_screen.c top_text.c

# "wsmo record" executes wsmo-stack
WSMO_STACK_SRCS := stack_main.c stack_grab.c stack_unwind.c program.c msg.c

WSMO_CFLAGS := -std=c11 -D_GNU_SOURCE -DWSMO_VERSION='"$(WSMO_VERSION)"' \
	-Iinclude -I$(WSMO_DIR) -g -Wall -Wextra -Werror -Wshadow \
	-Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wvla
WSMO_OPT := -O2 -fno-math-errno -D_FORTIFY_SOURCE=2 -fstack-protector-strong
WSMO_ASAN := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
# few segments, little memory
WSMO_LDFLAGS := -Wl,--as-needed -Wl,-z,noseparate-code -Wl,-z,pack-relative-relocs
WSMO_LIBS := -lzstd
WSMO_REPORT_LIBS := -lsmartcols -ljson-c -lzstd -lz -liberty -lm
WSMO_TOP_LIBS := $(WSMO_REPORT_LIBS) -lncursesw -ltinfo
WSMO_STACK_LIBS := -ldw

WSMO_SCHEMES := reclaim thp
WSMO_SCHEME_FILES := $(WSMO_SCHEMES:%=out/share/wsmon/schemes/%)

# Programs beside wsmo
WSMO_PARTS := report top stack

.PHONY: wsmo wsmo-asan
wsmo: out/bin/wsmo $(WSMO_PARTS:%=out/bin/wsmo-%) $(WSMO_SCHEME_FILES)
wsmo-asan: out/bin/wsmo-asan $(WSMO_PARTS:%=out/bin/wsmo-asan-%) $(WSMO_SCHEME_FILES)

# beside bin/, as they are installed
out/share/wsmon/schemes/%: $(WSMO_DIR)/schemes/%
	@mkdir -p $(@D)
	cp $< $@

out/bin/wsmo: $(WSMO_SRCS:%.c=$(WSMO_OBJ)/%.o)
	@mkdir -p $(@D)
	$(CC) $(WSMO_LDFLAGS) $(LDFLAGS) -o $@ $^ $(WSMO_LIBS)

out/bin/wsmo-report: $(WSMO_REPORT_SRCS:%.c=$(WSMO_OBJ)/%.o)
	@mkdir -p $(@D)
	$(CC) $(WSMO_LDFLAGS) $(LDFLAGS) -o $@ $^ $(WSMO_REPORT_LIBS)

out/bin/wsmo-top: $(WSMO_TOP_SRCS:%.c=$(WSMO_OBJ)/%.o)
	@mkdir -p $(@D)
	$(CC) $(WSMO_LDFLAGS) $(LDFLAGS) -o $@ $^ $(WSMO_TOP_LIBS)

out/bin/wsmo-stack: $(WSMO_STACK_SRCS:%.c=$(WSMO_OBJ)/%.o)
	@mkdir -p $(@D)
	$(CC) $(WSMO_LDFLAGS) $(LDFLAGS) -o $@ $^ $(WSMO_STACK_LIBS)

out/bin/wsmo-asan-report: $(WSMO_REPORT_SRCS:%.c=$(WSMO_OBJ)/asan/%.o)
	@mkdir -p $(@D)
	$(CC) $(WSMO_ASAN) -Wl,--as-needed -o $@ $^ $(WSMO_REPORT_LIBS)

out/bin/wsmo-asan-stack: $(WSMO_STACK_SRCS:%.c=$(WSMO_OBJ)/asan/%.o)
	@mkdir -p $(@D)
	$(CC) $(WSMO_ASAN) -Wl,--as-needed -o $@ $^ $(WSMO_STACK_LIBS)

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

out/share/wsmo.bash: $(WSMO_DIR)/completion.sh out/bin/wsmo $(WSMO_PARTS:%=out/bin/wsmo-%)
	@mkdir -p $(@D)
	$(WSMO_DIR)/completion.sh out/bin/wsmo >$@.new
	mv $@.new $@

-include $(patsubst %.c,$(WSMO_OBJ)/%.d,main.c mark.c report_main.c $(WSMO_TOP_SRCS) $(WSMO_STACK_SRCS))
-include $(patsubst %.c,$(WSMO_OBJ)/asan/%.d,main.c mark.c report_main.c $(WSMO_TOP_SRCS) $(WSMO_STACK_SRCS))

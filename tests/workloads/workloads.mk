# SPDX-License-Identifier: GPL-2.0
#
# How the workloads of the tests are built; included by the top Makefile. They
# are linked statically: other processes keep the shared libc's pages referenced,
# which would blur what these themselves touch.

WORKLOADS := pageramp hotset patterns loops textwalk grow
WORKLOADS_DIR := tests/workloads
WORKLOADS_CFLAGS := -std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror

.PHONY: workloads
workloads: $(WORKLOADS:%=out/bin/%)

out/bin/patterns: $(addprefix $(WORKLOADS_DIR)/,moving.c placed.c tasks.c track.c track.h patterns.h)
out/bin/grow: $(addprefix $(WORKLOADS_DIR)/,track.c track.h)

$(WORKLOADS:%=out/bin/%): out/bin/%: $(WORKLOADS_DIR)/%.c $(WORKLOADS_DIR)/truth.c \
		$(addprefix $(WORKLOADS_DIR)/,opts.c opts.h truth.h workloads.mk)
	@mkdir -p $(@D)
	$(CC) $(WORKLOADS_CFLAGS) $(CFLAGS) -o $@ $(filter %.c,$^) $(LDFLAGS) -static -pthread -lm

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

# What selftests run, too: compilers take long in a guest. They are linked dynamically, as are the
# programs that they stand for.
PROGRAMS := bursting forks gone once sites stacked touch tree twins unused
ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine)),)
PROGRAMS += guest
endif
PROGRAMS_CFLAGS := -g -O2 -pthread

workloads: $(PROGRAMS:%=out/bin/programs/%)

# what a virtual machine executes must not be moved about
out/bin/programs/guest: PROGRAMS_CFLAGS += -O1
# calls to malloc() stay, and what C++ has for it is there
out/bin/programs/sites: PROGRAMS_CFLAGS += -fno-builtin -O1 -Wl,--no-as-needed -l:libstdc++.so.6
vpath %.c tests/selftests/programs tests/lib
$(PROGRAMS:%=out/bin/programs/%): out/bin/programs/%: %.c $(WORKLOADS_DIR)/workloads.mk
	@mkdir -p $(@D)
	$(CC) $(PROGRAMS_CFLAGS) $(CFLAGS) -o $@ $< $(LDFLAGS)

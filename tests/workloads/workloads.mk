# SPDX-License-Identifier: GPL-2.0
#
# How the workloads of the tests are built; included by the top Makefile. They
# are linked statically: other processes keep the pages of a shared libc
# referenced, which would blur the workloads' own accesses.

WORKLOADS := pageramp hotset patterns loops textwalk grow
WORKLOADS_DIR := tests/workloads
WORKLOADS_CFLAGS := -std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror

.PHONY: workloads
workloads: $(WORKLOADS:%=out/bin/%)

out/bin/patterns: $(addprefix $(WORKLOADS_DIR)/,patterns_moving.c patterns_placed.c patterns_tasks.c track.c track.h patterns.h)
out/bin/grow: $(addprefix $(WORKLOADS_DIR)/,track.c track.h)

$(WORKLOADS:%=out/bin/%): out/bin/%: $(WORKLOADS_DIR)/%.c $(WORKLOADS_DIR)/truth.c \
		$(addprefix $(WORKLOADS_DIR)/,opts.c opts.h truth.h workloads.mk)
	@mkdir -p $(@D)
	$(CC) $(WORKLOADS_CFLAGS) $(CFLAGS) -o $@ $(filter %.c,$^) $(LDFLAGS) -static -pthread -lm

# Programs of selftests, built here as compilers are slow in a guest. They are linked dynamically,
# like the programs that they stand for.
PROGRAMS := bursting forks gone once sites stacked touch tree twins unused
ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine)),)
PROGRAMS += guest
endif
PROGRAMS_CFLAGS := -g -O2 -pthread

workloads: $(PROGRAMS:%=out/bin/programs/%)

# the code that the virtual machine executes must stay in place
out/bin/programs/guest: PROGRAMS_CFLAGS += -O1
# keep calls to malloc(), and link the allocators of C++
out/bin/programs/sites: PROGRAMS_CFLAGS += -fno-builtin -O1 -Wl,--no-as-needed -l:libstdc++.so.6
vpath %.c tests/selftests/programs tests/lib
$(PROGRAMS:%=out/bin/programs/%): out/bin/programs/%: %.c $(WORKLOADS_DIR)/workloads.mk
	@mkdir -p $(@D)
	$(CC) $(PROGRAMS_CFLAGS) $(CFLAGS) -o $@ $< $(LDFLAGS)

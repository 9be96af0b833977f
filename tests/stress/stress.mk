# SPDX-License-Identifier: GPL-2.0
#
# The programs of the stress tests; included by the top Makefile.

STRESS_DIR := tests/stress
STRESS_SRCS := $(wildcard $(STRESS_DIR)/churn*.c)
FUZZ_SRCS := $(wildcard $(STRESS_DIR)/debugfs_fuzz*.c)
STRESS_CFLAGS := -std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror

.PHONY: stress
stress: out/bin/churn out/bin/debugfs-fuzz

out/bin/churn: $(STRESS_SRCS) $(STRESS_DIR)/churn.h $(STRESS_DIR)/stress.mk
	@mkdir -p $(@D)
	$(CC) $(STRESS_CFLAGS) $(CFLAGS) -o $@ $(STRESS_SRCS) $(LDFLAGS) -static -pthread

out/bin/debugfs-fuzz: $(FUZZ_SRCS) $(STRESS_DIR)/debugfs_fuzz.h include/wsmon.h $(STRESS_DIR)/stress.mk
	@mkdir -p $(@D)
	$(CC) $(STRESS_CFLAGS) $(CFLAGS) -o $@ $(FUZZ_SRCS) $(LDFLAGS) -static

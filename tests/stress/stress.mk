# SPDX-License-Identifier: GPL-2.0
#
# The target of the stress tests; included by the top Makefile.

STRESS_DIR := tests/stress
STRESS_SRCS := $(wildcard $(STRESS_DIR)/churn*.c)
STRESS_CFLAGS := -std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror

.PHONY: stress
stress: out/bin/churn

out/bin/churn: $(STRESS_SRCS) $(STRESS_DIR)/churn.h $(STRESS_DIR)/stress.mk
	@mkdir -p $(@D)
	$(CC) $(STRESS_CFLAGS) $(CFLAGS) -o $@ $(STRESS_SRCS) $(LDFLAGS) -static -pthread

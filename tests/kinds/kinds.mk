# SPDX-License-Identifier: GPL-2.0
#
# The programs of tests/kinds; included by the top Makefile. They are built here, as compilers are
# slow in a guest. A kind without a compiler is left out, and its test is skipped.

KINDS_DIR := tests/kinds
KINDS_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror
KINDS := $(addprefix out/bin/,kinds kinds-pie kinds-asan kinds-32 kinds-go Touch.class)

.PHONY: kinds
kinds: $(KINDS)
workloads: kinds

out/bin/kinds-pie: KINDS_OPTIONS := -static-pie -fPIE
out/bin/kinds-asan: KINDS_OPTIONS := -fsanitize=address -DSLACK_MIB=12
out/bin/kinds out/bin/kinds-pie out/bin/kinds-asan: $(KINDS_DIR)/kinds.c $(KINDS_DIR)/kinds.mk
	@mkdir -p $(@D)
	$(CC) $(KINDS_CFLAGS) $(KINDS_OPTIONS) -pthread -o $@ $<

# an empty file stands for a program that cannot be built
out/bin/kinds-32: $(KINDS_DIR)/plain32.c
	@mkdir -p $(@D)
	case $$($(CC) -dumpmachine) in x86_64*) \
		$(CC) $(KINDS_CFLAGS) -m32 -static -nostdlib -ffreestanding -fno-stack-protector -o $@ $< ;; \
	*) : >$@ ;; esac

out/bin/kinds-go: $(KINDS_DIR)/touch.go
	@mkdir -p $(@D)
	if command -v go >/dev/null; then go build -o $@ $<; else : >$@; fi

out/bin/Touch.class: $(KINDS_DIR)/Touch.java
	@mkdir -p $(@D)
	if command -v javac >/dev/null; then javac -d $(@D) $<; else : >$@; fi

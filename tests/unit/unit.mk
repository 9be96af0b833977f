# SPDX-License-Identifier: GPL-2.0
#
# Unit tests of the module's pure files, in userland under sanitizers; included
# by the top Makefile. Run out/bin/unit.

UNIT_SRCS := $(wildcard tests/unit/*.c)
UNIT_PURE := space regions adapt fresh wss parse
UNIT_OBJS := $(UNIT_SRCS:tests/unit/%.c=out/obj/unit/%.o) \
	$(UNIT_PURE:%=out/obj/unit/module/wsmon_%.o)
UNIT_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror -Itests/unit/include \
	-fsanitize=address,undefined -fno-sanitize-recover=all $(UNIT_EXTRA)

.PHONY: unit
unit: out/bin/unit

out/bin/unit: $(UNIT_OBJS)
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) -o $@ $^

out/obj/unit/%.o: tests/unit/%.c tests/unit/unit.mk
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) -MMD -MP -c -o $@ $<

out/obj/unit/module/%.o: module/%.c tests/unit/unit.mk
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) -MMD -MP -c -o $@ $<

-include $(UNIT_OBJS:.o=.d)

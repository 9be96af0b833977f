# SPDX-License-Identifier: GPL-2.0
#
# Unit tests of the module's pure files, in userland under sanitizers; included
# by the top Makefile. Run out/bin/unit.

UNIT_SRCS := $(wildcard tests/unit/*.c) \
	$(addprefix tests/unit/kunit/,world.c regions.c split.c fresh.c wss.c peaks.c parse.c)
UNIT_PURE := math regions space split wss peaks pace parse
UNIT_OBJS := $(UNIT_SRCS:tests/unit/%.c=out/obj/unit/%.o) \
	$(UNIT_PURE:%=out/obj/unit/module/wsmon_%.o)
UNIT_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror -Itests/unit/include \
	-fsanitize=address,undefined -fno-sanitize-recover=all $(UNIT_EXTRA)
# the kernel builds these files, too, without this warning
out/obj/unit/kunit/%.o: UNIT_CFLAGS += -Wno-missing-field-initializers
out/obj/coverage/kunit/%.o: UNIT_COV_CFLAGS += -Wno-missing-field-initializers

.PHONY: unit
unit: out/bin/unit

out/bin/unit: $(UNIT_OBJS)
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) -o $@ $^ -lm

out/obj/unit/%.o: tests/unit/%.c tests/unit/unit.mk
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) -MMD -MP -c -o $@ $<

out/obj/unit/module/%.o: module/%.c tests/unit/unit.mk
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) -MMD -MP -c -o $@ $<

# Used by tests/lib/sim.py
out/bin/sim: tests/sim/sim.c $(UNIT_PURE:%=out/obj/unit/module/wsmon_%.o)
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) -o $@ $^

# The same tests without sanitizers, to count which lines of the pure files they run. Fewer
# repetitions run the same lines.
UNIT_COV_OBJS := $(UNIT_OBJS:out/obj/unit/%=out/obj/coverage/%)
UNIT_COV_CFLAGS := -std=gnu11 -O0 -g -Wall -Wextra -Werror -Itests/unit/include \
	-DSEEDS=10 -DMODELS=1000

.PHONY: coverage
coverage: out/bin/unit-coverage
	@tests/unit/line-coverage $< out/obj/coverage/module $(UNIT_PURE:%=module/wsmon_%.c)

out/bin/unit-coverage: $(UNIT_COV_OBJS)
	@mkdir -p $(@D)
	$(CC) $(UNIT_COV_CFLAGS) --coverage -o $@ $^ -lm

out/obj/coverage/%.o: tests/unit/%.c tests/unit/unit.mk
	@mkdir -p $(@D)
	$(CC) $(UNIT_COV_CFLAGS) -MMD -MP -c -o $@ $<

out/obj/coverage/module/%.o: module/%.c tests/unit/unit.mk
	@mkdir -p $(@D)
	$(CC) $(UNIT_COV_CFLAGS) --coverage -MMD -MP -c -o $@ $<

-include $(UNIT_OBJS:.o=.d) $(UNIT_COV_OBJS:.o=.d)

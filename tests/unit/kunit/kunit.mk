# SPDX-License-Identifier: GPL-2.0
#
# The KUnit suites, for a kernel that has KUnit; included by the top Makefile.
# Built in a directory of links, as the module is.

O_KUNIT ?= out/kunit/$(notdir $(KDIR:%/build=%))
KUNIT_SRCS := $(wildcard tests/unit/kunit/*.[ch] module/*.[ch] include/*.h)

.PHONY: kunit
kunit: plain-path $(O_KUNIT)/wsmon_kunit.ko

$(O_KUNIT)/wsmon_kunit.ko: $(KUNIT_SRCS) tests/unit/kunit/Kbuild tests/unit/kunit/kunit.mk \
		$(KDIR)/include/config/auto.conf | plain-path
	@grep -q '^CONFIG_KUNIT=' $(KDIR)/include/config/auto.conf || \
		{ echo "no KUnit in this kernel: $(KDIR)" >&2; exit 1; }
	@mkdir -p $(@D)/tests/unit
	cp -rsf $(CURDIR)/module $(CURDIR)/include $(CURDIR)/tests/unit/kunit/Kbuild $(@D)/
	cp -rsf $(CURDIR)/tests/unit/kunit $(@D)/tests/unit/
	+$(MAKE) -C $(KDIR) M=$(abspath $(@D)) W=1 modules

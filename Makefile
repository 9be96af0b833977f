# SPDX-License-Identifier: GPL-2.0
#
# How wsmon is built, tested and installed; Kbuild says what the module is.
# "make help" lists the targets. Everything that is built goes to out/.

KDIR ?= /lib/modules/$(shell uname -r)/build
O_MODULE ?= out/module/$(notdir $(KDIR:%/build=%))
MODULE_SRCS := Kbuild $(wildcard module/*.[ch] include/*.h)

prefix ?= /usr/local
bindir ?= $(prefix)/bin
libdir ?= $(prefix)/lib
includedir ?= $(prefix)/include
pkgconfigdir ?= $(libdir)/pkgconfig
mandir ?= $(prefix)/share/man
completiondir ?= $(prefix)/share/bash-completion/completions
zshcompletiondir ?= $(prefix)/share/zsh/site-functions
# wsmo looks for them beside its own directory
schemedir = $(bindir)/../share/wsmon/schemes
preloaddir = $(bindir)/../lib/wsmo

.PHONY: all
all: module wsmo libwsmon

# Kbuild takes such a path for several words, or for part of a command. All else is built in it.
.PHONY: plain-path
plain-path:
	@case "$$(pwd -P)" in *[[:space:]\'\"\`:\;\&\|\<\>\(\)*?$$\#%\\]*) \
		echo "a kernel's modules cannot be built in a directory with blanks, quotes or" \
			"other special characters: $$(pwd -P)" >&2; exit 1 ;; esac

# The module, in a directory of links, so that several kernels can be built for
.PHONY: module
module: plain-path $(O_MODULE)/wsmon.ko

$(O_MODULE)/wsmon.ko: $(MODULE_SRCS) $(KDIR)/Makefile Makefile | plain-path
	@mkdir -p $(@D)
	cp -rsf $(CURDIR)/Kbuild $(CURDIR)/module $(CURDIR)/include $(@D)/
	+$(MAKE) -C $(KDIR) M=$(abspath $(@D)) W=1 modules

# Modules that use it, or are beside it: the sample, and what tests and benches load
TEST_MODULES := $(wildcard tests/selftests/programs/wsmon_*.c bench/guest/wsmon_*.c)
.PHONY: samples
samples: plain-path $(O_MODULE)/samples/wsmon_sample.ko

$(O_MODULE)/samples/wsmon_sample.ko: $(O_MODULE)/wsmon.ko $(wildcard samples/*) $(TEST_MODULES)
	@mkdir -p $(@D)
	ln -sf $(abspath $(wildcard samples/*) $(TEST_MODULES)) $(@D)/
	+$(MAKE) -C $(KDIR) M=$(abspath $(@D)) W=1 \
		KBUILD_EXTRA_SYMBOLS=$(abspath $(O_MODULE))/Module.symvers \
		WSMON_TEST_MODULES="$(notdir $(TEST_MODULES:.c=.o))" modules

include tools/wsmo/wsmo.mk
-include tests/workloads/workloads.mk
-include tests/kinds/kinds.mk
-include tests/unit/unit.mk
-include tests/stress/stress.mk
-include tests/unit/kunit/kunit.mk
-include tests/fuzz-recordings/fuzz.mk

# What has to be there before anything can be built
.PHONY: need-build need-vm
need-build:
	@scripts/need gcc make libc6-dev libsmartcols-dev libjson-c-dev libzstd-dev zlib1g-dev \
		libncurses-dev libdw-dev libiberty-dev python3-docutils
need-vm: need-build
	@scripts/need qemu-system-x86 busybox-static kmod cpio xz-utils zstd python3 \
		gnuplot-nox chromium file tmux pkgconf openssl zsh

.PHONY: demo
demo: need-build
	@tests/demo

.PHONY: test
test: need-build
	@tests/quick

.PHONY: check
check: need-vm
	@tests/check

.PHONY: check-all
check-all: need-vm
	@tests/check all

.PHONY: check-debug
check-debug: need-vm
	@tests/check-debug

.PHONY: check-races
check-races: need-vm
	@STRESS_SECS=$${STRESS_SECS:-10} tests/check-debug kcsan

# The same with all selftests, and SECS for each stress test instead of three
SECS ?= 60
.PHONY: soak
soak: need-vm
	@STRESS_SECS=$(SECS) STRESS_CYCLES=$(SECS) SELFTEST_TIMEOUT=1200 \
		STRESS_TIMEOUT=$$((7200 + 30 * $(SECS))) tests/check-debug debug all

# Manual pages
MAN := $(patsubst Documentation/reference/man/%.rst,out/man/%.1,$(wildcard Documentation/reference/man/*.rst))
.PHONY: man
man: $(MAN)
out/man/%.1: Documentation/reference/man/%.rst
	@mkdir -p $(@D)
	rst2man --report=2 --halt=2 $< $@

# of the library
HEADERS := include/wsmon.h tools/libwsmon/wsmon_records.h tools/libwsmon/libwsmon.h

.PHONY: install install-user install-wsmo install-module
install: install-user install-module

# All but the module, which needs a kernel's headers
install-user: install-wsmo libwsmon
	install -d $(DESTDIR)$(libdir) $(DESTDIR)$(includedir) $(DESTDIR)$(pkgconfigdir)
	install -m 644 out/lib/libwsmon.a out/lib/$(LIBWSMON_SONAME) $(DESTDIR)$(libdir)/
	ln -sf $(LIBWSMON_SONAME) $(DESTDIR)$(libdir)/libwsmon.so
	install -m 644 $(HEADERS) $(DESTDIR)$(includedir)/
	sed -e 's|@prefix@|$(prefix)|' -e 's|@libdir@|$(libdir)|' -e 's|@version@|$(WSMO_VERSION)|' \
		-e 's|@includedir@|$(includedir)|' tools/libwsmon/libwsmon.pc.in \
		| install -m 644 /dev/stdin $(DESTDIR)$(pkgconfigdir)/libwsmon.pc
	$(if $(DESTDIR),,[ "$$(id -u)" != 0 ] || /sbin/ldconfig)

install-wsmo: wsmo completion man
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(mandir)/man1 $(DESTDIR)$(schemedir) \
		$(DESTDIR)$(preloaddir)
	install -m 755 $(WSMO_PROGRAMS:%=out/bin/%) $(DESTDIR)$(bindir)/
	install -m 644 tools/wsmo/schemes/* $(DESTDIR)$(schemedir)/
	install -m 644 $(WSMO_ALLOC) $(DESTDIR)$(preloaddir)/
	install -m 644 $(MAN) $(DESTDIR)$(mandir)/man1/
	install -D -m 644 out/share/wsmo.bash $(DESTDIR)$(completiondir)/wsmo
	install -D -m 644 out/share/wsmo.zsh $(DESTDIR)$(zshcompletiondir)/_wsmo

install-module: module
	$(MAKE) -C $(KDIR) M=$(abspath $(O_MODULE)) CONFIG_MODULE_SIG_ALL= \
		$(if $(DESTDIR),INSTALL_MOD_PATH=$(DESTDIR)) modules_install
	$(if $(DESTDIR),,/sbin/depmod $$(/sbin/modinfo -F vermagic $(O_MODULE)/wsmon.ko | cut -d" " -f1))

# Packages, in out/deb, built in a copy. Their version is that of debian/changelog, with
# the date of the last commit, so that apt sees later ones as upgrades.
O_DEB ?= out/deb
DEB_VERSION ?= $(WSMO_VERSION)$(shell TZ=UTC git log -1 --date=format-local:+git%Y%m%d.%H%M \
	--format=%cd 2>/dev/null)
.PHONY: deb
deb: need-build
	@scripts/need debhelper dh-dkms dpkg-dev
	rm -rf $(O_DEB)
	mkdir -p $(O_DEB)/build/wsmon
	tar -c --exclude=./out --exclude=./.git . | tar -x -C $(O_DEB)/build/wsmon
	cd $(O_DEB)/build/wsmon && sed -i '1s/(.*)/($(DEB_VERSION))/' debian/changelog && \
		sed -i 's/^MODULE_VERSION(.*)/MODULE_VERSION("$(DEB_VERSION)")/' module/wsmon_core.c && \
		env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u WSMO_VERSION DEB_BUILD_OPTIONS=noautodbgsym \
		dpkg-buildpackage -b -us -uc -j$$(nproc)
	mv $(O_DEB)/build/*.deb $(O_DEB)/
	rm -rf $(O_DEB)/build

.PHONY: uninstall
uninstall:
	rm -f $(WSMO_PROGRAMS:%=$(DESTDIR)$(bindir)/%)
	rm -f $(DESTDIR)$(mandir)/man1/wsmo*.1
	rm -f $(DESTDIR)$(completiondir)/wsmo $(DESTDIR)$(zshcompletiondir)/_wsmo
	rm -f $(DESTDIR)$(libdir)/libwsmon.a $(DESTDIR)$(libdir)/libwsmon.so*
	rm -f $(addprefix $(DESTDIR)$(includedir)/,$(notdir $(HEADERS)))
	rm -f $(DESTDIR)$(pkgconfigdir)/libwsmon.pc
	rm -rf $(DESTDIR)$(schemedir) $(DESTDIR)$(preloaddir)
	rm -f $(DESTDIR)/lib/modules/*/*/wsmon.ko*

.PHONY: clean
clean:
	rm -rf out

.PHONY: help
help:
	@echo 'make            build the module for the running kernel, and wsmo'
	@echo 'make module     the module; KDIR=DIR for another kernel'
	@echo 'make samples    the module, and samples/, which use it'
	@echo 'make wsmo       the command'
	@echo 'make libwsmon   the library that reads recordings'
	@echo 'make install    install all three, the man pages and completion (prefix=$(prefix))'
	@echo 'make install-user  the same without the module'
	@echo 'make deb        Debian packages of the command and the module, in out/deb'
	@echo 'make man        the manual pages, in out/man'
	@echo 'make uninstall  remove them'
	@echo 'make demo       see it work in a virtual machine (DEMO=host: here)'
	@echo 'make test       the tests that need no virtual machine and little time: about two minutes'
	@echo 'make check      the tests, in virtual machines where they need one'
	@echo 'make check-all  each selftest on each kernel, other kernels, packages; long'
	@echo 'make check-debug  KUnit and stress tests, in a kernel with every checker'
	@echo 'make check-races  the same, in a kernel that looks for data races'
	@echo 'make soak       check-debug with all selftests, SECS=60 for each stress test'
	@echo 'make fuzz       feed damaged recordings to wsmo, texts to the parser, for FUZZ_SECS (300)'
	@echo 'make vendor     fetch uPlot, the charts of report html, anew'
	@echo 'make clean      remove what was built'

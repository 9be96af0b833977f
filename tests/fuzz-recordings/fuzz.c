// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz.c - libFuzzer's entry points: wsmo reads the input
 *
 * An input is a record file: "wsmo report" prints it, each view once and in all four
 * formats, and "wsmo record" gets it as its stream. Inputs that report rejects are also
 * passed to "wsmo check", as the module's status and the kernel's configuration. To
 * repeat a finding: out/bin/wsmo-fuzz FILE, or wsmo report -i FILE.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/cli.h"
#include "fuzz.h"

/*
 * dir/		the module's files with an idle module
 * dir/check/	the same with the input as its status
 * dir/boot/	the input as the kernel's configuration
 */
static char dir[PATH_MAX / 2], input[32];
static int input_fd;

__u32 fuzz_select(const __u8 *data, size_t size)
{
	const size_t at = offsetof(struct wsmon_file_header, real_ns);
	__u32 select = 0;

	if (size >= at + sizeof(select))
		memcpy(&select, data + at, sizeof(select));
	return select;
}

static void must(int err, const char *what)
{
	if (err)
		fuzz_fail("%s: %s", what, strerror(errno));
}

static void make_file(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	must(!f || fputs(text, f) < 0 || fclose(f), path);
}

static void make_link(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	must(symlink(input, path), path);
}

static void make_dir(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	must(mkdir(path, 0700), path);
}

static void remove_dir(void)
{
	char command[sizeof(dir) + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	must(system(command), command);
}

int LLVMFuzzerInitialize(int *argc __attribute__((unused)),
			 char ***argv __attribute__((unused)))
{
	const char *tmp = getenv("TMPDIR");
	char name[PATH_MAX];
	struct utsname uts;

	must(!setlocale(LC_CTYPE, "C.UTF-8"), "C.UTF-8");
	setenv("TZ", "UTC", 1);
	input_fd = memfd_create("input", MFD_CLOEXEC);
	must(input_fd < 0 || uname(&uts), "memfd_create");
	snprintf(input, sizeof(input), "/proc/self/fd/%d", input_fd);
	snprintf(dir, sizeof(dir), "%s/wsmo-fuzz.XXXXXX", tmp ? tmp : "/tmp");
	must(!mkdtemp(dir), dir);
	must(atexit(remove_dir), "atexit");
	make_dir("boot");
	make_dir("check");
	snprintf(name, sizeof(name), "boot/config-%s", uts.release);
	make_link(name);
	make_link("check/status");
	make_file("check/attrs", "");
	make_file("check/target", "");
	make_file("check/buffer", "");
	make_file("status", "idle\n");
	snprintf(name, sizeof(name), "%s/buffer", dir);
	must(mkfifo(name, 0600), name);
	return 0;
}

static void run_check(void)
{
	char verb[] = "check", sysroot[PATH_MAX], debugfs[PATH_MAX];
	char *argv[] = { verb, sysroot, debugfs, NULL };
	int status;

	snprintf(sysroot, sizeof(sysroot), "--sysroot=%s", dir);
	snprintf(debugfs, sizeof(debugfs), "--debugfs=%s/check", dir);
	sink_begin(false, false);
	status = cmd_check(ARRAY_SIZE(argv) - 1, argv);
	free(sink_end());
	if (status != WSMO_OK && status != WSMO_FAILURE)
		fuzz_fail("check: exit status %d", status);
}

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size)
{
	__u32 select = fuzz_select(data, size);

	must(ftruncate(input_fd, 0) ||
	     pwrite(input_fd, data, size, 0) != (ssize_t)size, input);
	if (fuzz_report(input, select) == WSMO_FAILURE)
		run_check();
	stream_run(dir, data, size, select);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/* check.c - "wsmo check": whether recording works here, and what is missing */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "core/cli.h"
#include "core/files.h"
#include "core/options.h"
#include "live/session.h"

/* An option of the kernel's configuration. @with, @without: its meaning if it is set, or is not */
struct kconfig {
	const char *option, *name, *with, *without;
	bool set;
};

static struct kconfig options_used[] = {
	{ "CONFIG_PAGE_IDLE_FLAG", "idle pages",
	  "reclaim sees the references that sampling clears",
	  "not in this kernel (CONFIG_PAGE_IDLE_FLAG); not needed: without it, reclaim sees references a little later",
	  false },
	{ "CONFIG_TRANSPARENT_HUGEPAGE", "huge pages", "transparent huge pages are recognized",
	  "no CONFIG_TRANSPARENT_HUGEPAGE: nothing to do", false },
};

/* Looks up the options in a file. Return: 0, or -1 if the file cannot be read */
static int read_kconfig(const char *path)
{
	gzFile f = gzopen(path, "re");	/* also reads files that are not compressed */
	char line[512];
	int lines = 0;
	size_t i;

	if (!f)
		return -1;
	for (; gzgets(f, line, sizeof(line)); lines++) {
		for (i = 0; i < ARRAY_SIZE(options_used); i++) {
			size_t len = strlen(options_used[i].option);

			if (!strncmp(line, options_used[i].option, len) && line[len] == '=' &&
			    (line[len + 1] == 'y' || line[len + 1] == 'm'))
				options_used[i].set = true;
		}
	}
	gzclose(f);
	return lines ? 0 : -1;
}

/* Certificate of the key with which DKMS signs modules; it has to be enrolled */
#define DKMS_CERTIFICATE "/var/lib/dkms/mok.pub"

enum enrolment {
	ENROL_NO_UEFI,		/* the machine cannot enrol certificates */
	ENROL_NO_CERTIFICATE,
	ENROL_MISSING,
	ENROL_WAITING,		/* for the next boot */
	ENROL_DONE,
};

/**
 * struct installed - the module on disk for the running kernel
 * @path:	the file; "": none
 * @signer:	name of the signer; "": not signed
 * @srcversion:	checksum of its sources
 * @dkms:	"wsmon/VERSION" if DKMS has the sources, else ""
 * @headers:	the kernel's headers, which DKMS needs, are installed
 */
struct installed {
	char path[PATH_MAX];
	char signer[64];
	char srcversion[64];
	char dkms[64];
	bool headers;
};

/* Variables of shim, from the kernel and from efivarfs; files of efivarfs begin with flags */
#define SHIM_GUID	"-605dab50-e046-4300-abb6-3dd810dd8b23"
#define MOK_KERNEL	"/sys/firmware/efi/mok-variables/MokListRT"
#define MOK_ENROLLED	"/sys/firmware/efi/efivars/MokListRT" SHIM_GUID
#define MOK_WAITING	"/sys/firmware/efi/efivars/MokNew" SHIM_GUID

/* Reads the file @root@name. Return: number of bytes; 0 if there is no such file */
static size_t slurp(const char *root, const char *name, char *data, size_t size)
{
	char path[PATH_MAX];
	int len;

	snprintf(path, sizeof(path), "%s%s", root, name);
	len = read_text(AT_FDCWD, path, data, size);
	return len < 0 ? 0 : len;
}

/* Reads the first line of the file @root@name. Return: false, and @line "", if there is none */
static bool first_line(const char *root, const char *name, char *line, size_t size)
{
	size_t len = slurp(root, name, line, size);

	line[strcspn(line, "\n")] = '\0';
	return len;
}

/* Does the kernel reject unsigned modules? */
static bool installed_signed_only(const char *root)
{
	char line[128];

	return (first_line(root, "/sys/module/module/parameters/sig_enforce", line, sizeof(line)) &&
		*line == 'Y') ||
	       (first_line(root, "/sys/kernel/security/lockdown", line, sizeof(line)) &&
		!strstr(line, "[none]"));
}

/* Does the kernel trust DKMS's certificate? */
static enum enrolment installed_enrolment(const char *root)
{
	static char cert[1 << 14], list[1 << 18];
	char path[PATH_MAX];
	size_t len;

	snprintf(path, sizeof(path), "%s/sys/firmware/efi", root);
	if (access(path, F_OK))
		return ENROL_NO_UEFI;
	len = slurp(root, DKMS_CERTIFICATE, cert, sizeof(cert));
	if (!len)
		return ENROL_NO_CERTIFICATE;
	if (memmem(list, slurp(root, MOK_KERNEL, list, sizeof(list)), cert, len) ||
	    memmem(list, slurp(root, MOK_ENROLLED, list, sizeof(list)), cert, len))
		return ENROL_DONE;
	if (memmem(list, slurp(root, MOK_WAITING, list, sizeof(list)), cert, len))
		return ENROL_WAITING;
	return ENROL_MISSING;
}

/* Reads @field of a module by modinfo, which also reads compressed modules */
static void modinfo(char *path, char *field, char *value, int size)
{
	char name[] = "modinfo", option[] = "-F", env[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char *argv[] = { name, option, field, path, NULL }, *envp[] = { env, NULL };
	posix_spawn_file_actions_t actions;
	int fd[2], spawned;
	ssize_t n;
	pid_t pid;

	*value = '\0';
	if (pipe2(fd, O_CLOEXEC))
		return;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	spawned = !posix_spawn(&pid, "/sbin/modinfo", &actions, NULL, argv, envp);
	posix_spawn_file_actions_destroy(&actions);
	close(fd[1]);
	/* a pipe passes on a short line as a whole */
	n = read(fd[0], value, size - 1);
	value[n > 0 ? n : 0] = '\0';
	value[strcspn(value, "\n")] = '\0';
	close(fd[0]);
	if (spawned)
		waitpid(pid, NULL, 0);
}

/* Finds the module in modules.dep, which has a line "PATH: DEPENDENCIES" for each module */
static void find_file(const char *modules, char *path, size_t size)
{
	char list[PATH_MAX], line[8192];
	FILE *f;

	*path = '\0';
	snprintf(list, sizeof(list), "%s/modules.dep", modules);
	f = fopen(list, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		char *end = strchr(line, ':'), *slash;

		if (!end)
			continue;
		*end = '\0';
		slash = strrchr(line, '/');
		if (strncmp(slash ? slash + 1 : line, "wsmon.ko", 8))
			continue;
		if (snprintf(path, size, "%s/%s", modules, line) >= (int)size)
			*path = '\0';
		break;
	}
	fclose(f);
}

/* Looks for the module of the running kernel; @root: prefix of all paths */
static void installed_find(const char *root, struct installed *in)
{
	char signer[] = "signer", srcversion[] = "srcversion";
	char modules[PATH_MAX / 2], path[PATH_MAX];
	struct utsname uts;
	glob_t found;

	memset(in, 0, sizeof(*in));
	uname(&uts);
	if (snprintf(modules, sizeof(modules), "%s/lib/modules/%s", root, uts.release) >=
	    (int)sizeof(modules))
		return;
	find_file(modules, in->path, sizeof(in->path));
	if (*in->path && !access(in->path, R_OK)) {
		modinfo(in->path, signer, in->signer, sizeof(in->signer));
		modinfo(in->path, srcversion, in->srcversion, sizeof(in->srcversion));
	} else {
		*in->path = '\0';
	}
	snprintf(path, sizeof(path), "%s/build/Makefile", modules);
	in->headers = !access(path, F_OK);
	snprintf(path, sizeof(path), "%s/usr/src/wsmon-*/dkms.conf", root);
	if (!glob(path, 0, NULL, &found)) {
		char *version = strstr(found.gl_pathv[found.gl_pathc - 1], "/usr/src/wsmon-") + 15;

		snprintf(in->dkms, sizeof(in->dkms), "wsmon/%.*s",
			 (int)strcspn(version, "/"), version);
	}
	globfree(&found);
}

#define DAMON_STAT	"/sys/module/damon_stat/parameters/enabled"

struct check_row {
	const char *name, *status, *needed, *detail;
};

#define ROW struct check_row

TABLE(check_table, "check",
	COL(name, TEXT, 8, "CHECK", 0, "what is checked"),
	COL(status, TEXT, 7, "STATUS", 0, "``ok``, ``missing``, ``unknown`` or ``shared``"),
	COL(needed, TEXT, 6, "NEEDED", 0, "``yes`` or ``no``: whether monitoring needs it"),
	COL(detail, TEXT, 8, "WHAT IT MEANS, WHAT TO DO", 0, "what it means, and what to do"));

struct check {
	enum table_format format;
	const char *root;
	struct table *table;
	bool failed;
};

enum state { MISSING, OK, UNKNOWN, SHARED };

static void report(struct check *c, const char *name, bool needed,
		   enum state state, const char *detail)
{
	static const char * const names[] = {
		[MISSING] = "missing", [OK] = "ok", [UNKNOWN] = "unknown",
		[SHARED]  = "shared",
	};

	if (needed && state != OK)
		c->failed = true;
	table_row(c->table, &(struct check_row) {
		.name = name,
		.status = names[state],
		.needed = needed ? "yes" : "no",
		.detail = detail,
	});
}

/* Explains how to install the module */
static void explain_not_installed(const struct installed *in, char *detail, size_t size)
{
	struct utsname uts;

	uname(&uts);
	if (!*in->dkms)
		snprintf(detail, size,
			 "not installed; apt install ./wsmon-dkms_*.deb (make deb builds it), or in wsmon's sources: make && sudo make install");
	else if (!in->headers)
		snprintf(detail, size,
			 "not built for this kernel, as its headers are missing; apt install linux-headers-%s",
			 uts.release);
	else
		snprintf(detail, size,
			 "not built for this kernel; dkms install -k %s %s (what went wrong is in /var/lib/dkms/%s/build/make.log)",
			 uts.release, in->dkms, in->dkms);
}

/* Checks the module's signature, for a kernel that rejects unsigned modules */
static void check_signature(struct check *c, const struct installed *in)
{
	static const struct {
		enum state state;
		const char *detail;
	} about[] = {
		[ENROL_NO_UEFI]	       = { UNKNOWN,
			"the kernel accepts only modules signed with a key that it knows, and without UEFI no key can be added; if modprobe wsmon fails, boot without module.sig_enforce and lockdown" },
		[ENROL_NO_CERTIFICATE] = { UNKNOWN,
			"signed, not with DKMS's key; if modprobe wsmon fails, enrol the certificate of the key: mokutil --import FILE" },
		[ENROL_MISSING]	       = { MISSING,
			"signed with a key that the kernel does not know; mokutil --import " DKMS_CERTIFICATE ", then reboot and choose Enroll MOK" },
		[ENROL_WAITING]	       = { MISSING,
			"the key is not enrolled yet; reboot and choose Enroll MOK" },
		[ENROL_DONE]	       = { OK, "signed with an enrolled key" },
	};
	enum enrolment state;
	char detail[512];
	struct utsname uts;

	if (!*in->signer) {
		uname(&uts);
		if (*in->dkms)
			snprintf(detail, sizeof(detail),
				 "the kernel rejects unsigned modules; apt install openssl, then: dkms build --force -k %s %s && dkms install --force -k %s %s",
				 uts.release, in->dkms, uts.release, in->dkms);
		else
			snprintf(detail, sizeof(detail),
				 "the kernel rejects unsigned modules; apt install ./wsmon-dkms_*.deb, which signs it (make deb builds it)");
		report(c, "signature", true, MISSING, detail);
		return;
	}
	state = installed_enrolment(c->root);
	report(c, "signature", true, about[state].state, about[state].detail);
}

/* Return: true if the module is loaded */
static bool check_module(struct check *c)
{
	char path[PATH_MAX], detail[512], loaded[64];
	struct installed in;

	installed_find(c->root, &in);
	snprintf(path, sizeof(path), "%s/sys/module/wsmon", c->root);
	if (!access(path, F_OK)) {
		report(c, "module", true, OK, "wsmon is loaded");
		first_line(c->root, "/sys/module/wsmon/srcversion", loaded, sizeof(loaded));
		if (*in.srcversion && strcmp(in.srcversion, loaded))
			report(c, "version", false, MISSING,
			       "another version is loaded than is installed; when no recording runs: rmmod wsmon");
		return true;
	}
	if (!*in.path)
		explain_not_installed(&in, detail, sizeof(detail));
	report(c, "module", true, *in.path ? OK : MISSING,
	       *in.path ? "installed; wsmo record loads it (by hand: modprobe wsmon)" : detail);
	if (*in.path && installed_signed_only(c->root))
		check_signature(c, &in);
	return false;
}

/* Checks for lockdown, which Secure Boot turns on: signed modules work then, debugfs does not */
static void check_lockdown(struct check *c)
{
	char modes[128];

	if (first_line(c->root, "/sys/kernel/security/lockdown", modes, sizeof(modes)) &&
	    !strstr(modes, "[none]"))
		report(c, "lockdown", true, MISSING,
		     "the kernel is locked down: debugfs cannot be written, " DEVICE " can; leave out --debugfs");
}

static void not_permitted(struct check *c)
{
	report(c, "access", true, MISSING, "not permitted; run it as root: sudo wsmo check");
}

/* Return: true if the device exists */
static bool check_device(struct check *c)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s" DEVICE, c->root);
	if (strcmp(debugfs_dir(NULL), DEBUGFS_DEFAULT) || faccessat(AT_FDCWD, path, F_OK, AT_EACCESS))
		return false;
	if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS))
		not_permitted(c);
	else
		report(c, "device", true, OK, DEVICE " is usable");
	return true;
}

static enum state check_debugfs(struct check *c)
{
	static const struct {
		const char *name;
		int mode;
	} files[] = {
		{ "attrs", R_OK | W_OK }, { "target", R_OK | W_OK },
		{ "status", R_OK }, { "buffer", R_OK },
	};
	char path[PATH_MAX], detail[PATH_MAX + 128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", debugfs_dir(NULL),
			 files[i].name);
		if (!faccessat(AT_FDCWD, path, files[i].mode, AT_EACCESS))
			continue;
		if (errno == EACCES) {
			not_permitted(c);
			return MISSING;
		}
		snprintf(detail, sizeof(detail),
			 "%s does not exist; load the module, or mount debugfs: mount -t debugfs none /sys/kernel/debug",
			 path);
		report(c, "debugfs", true, MISSING, detail);
		return MISSING;
	}
	snprintf(detail, sizeof(detail), "%s is usable", debugfs_dir(NULL));
	report(c, "debugfs", true, OK, detail);
	return OK;
}

static void check_session(struct check *c)
{
	char status[DEBUGFS_TEXT];

	if (debugfs_read("status", status, sizeof(status)))
		report(c, "session", true, UNKNOWN, "status cannot be read");
	else if (!strncmp(status, "idle", 4))
		report(c, "session", true, OK, "nobody else is monitoring");
	else
		report(c, "session", true, MISSING,
		     "monitoring is already running; wait for it, or end it, as root: echo > target");
}

static void check_kernel(struct check *c)
{
	char detail[256], path[PATH_MAX], path2[PATH_MAX];
	struct utsname uts;
	bool fits, known;
	size_t i;

	uname(&uts);
	fits = !strcmp(uts.machine, "x86_64") || !strcmp(uts.machine, "aarch64");
	snprintf(detail, sizeof(detail), "Linux %s on %s%s", uts.release,
		 uts.machine, fits ? "" : ", where the module does not run");
	report(c, "kernel", true, fits ? OK : MISSING, detail);
	snprintf(path, sizeof(path), "%s/boot/config-%s", c->root, uts.release);
	snprintf(path2, sizeof(path2), "%s/proc/config.gz", c->root);
	known = !read_kconfig(path) || !read_kconfig(path2);
	for (i = 0; i < ARRAY_SIZE(options_used); i++) {
		const struct kconfig *k = &options_used[i];

		if (!known)
			report(c, k->name, false, UNKNOWN,
			       "neither /boot/config nor /proc/config.gz can be read");
		else
			report(c, k->name, false, k->set ? OK : MISSING, k->set ? k->with : k->without);
	}
}

/* Checks for other samplers: since Linux 6.17 DAMON may watch all memory from boot on */
static void check_others(struct check *c)
{
	char enabled[4];

	if (first_line(c->root, DAMON_STAT, enabled, sizeof(enabled)) && *enabled == 'Y')
		report(c, "Accessed bits", false, SHARED,
		       "DAMON_STAT clears them, too: huge pages that processes share may read as idle, and wsmo act does nothing; echo N > " DAMON_STAT);
}

static const struct option_desc options[] = {
	{ "sysroot", 0, "DIR", "Check the system installed in DIR (/)", OPT_TEXT, OPT_AT(struct check, root) },
	{ 0 }
};

int cmd_check(int argc, char **argv)
{
	struct check c = { .format = TABLE_HUMAN, .root = "" };
	bool loaded, device;

	options_parse(&(struct command_line) {
		.name = "wsmo check",
		.doc = "Check whether recording works here, and what is missing."
		       "\vThe exit status is 0 if recording works: the module is loaded, or record can load it.",
		.groups = {
			OPT_GROUP(options, &c), OPT_GROUP(format_options, &c.format),
			OPT_GROUP(debugfs_options, NULL),
		},
	}, argc, argv);
	c.table = table_new(&check_table, c.format);
	loaded = check_module(&c);
	device = check_device(&c);
	if (!device && (loaded || strcmp(debugfs_dir(NULL), DEBUGFS_DEFAULT))) {
		check_lockdown(&c);
		if (check_debugfs(&c) == OK)
			check_session(&c);
	}
	check_kernel(&c);
	check_others(&c);
	table_end(c.table);
	return c.failed ? WSMO_FAILURE : WSMO_OK;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * check.c - "wsmo check": would recording work here, and what is missing
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "kconfig.h"
#include "session/debugfs.h"

enum { NAME, STATUS, NEEDED, DETAIL };

static const struct column columns[] = {
	[NAME]	 = { "name", "CHECK", COL_TEXT, 8, 0 },
	[STATUS] = { "status", "STATUS", COL_TEXT, 7, 0 },
	[NEEDED] = { "needed", "NEEDED", COL_TEXT, 6, 0 },
	[DETAIL] = { "detail", "WHAT IT MEANS, WHAT TO DO", COL_TEXT, 8, 0 },
};

static const struct table_desc desc = {
	.type = "check", .columns = columns, .nr = ARRAY_SIZE(columns),
};

struct check {
	enum table_format format;
	const char *root;
	struct table *table;
	bool failed;
};

enum state { MISSING, OK, UNKNOWN };

static void tell(struct check *c, const char *name, bool needed,
		 enum state state, const char *detail)
{
	static const char * const names[] = {
		[MISSING] = "missing", [OK] = "ok", [UNKNOWN] = "unknown",
	};

	if (needed && state != OK)
		c->failed = true;
	table_row(c->table, (struct cell[]) {
		[NAME]	 = cell_s(name),
		[STATUS] = cell_s(names[state]),
		[NEEDED] = cell_s(needed ? "yes" : "no"),
		[DETAIL] = cell_s(detail),
	});
}

static void check_module(struct check *c)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/module/wsmon", c->root);
	if (access(path, F_OK))
		tell(c, "module", true, MISSING,
		     "not loaded; record loads it once it is installed; now: modprobe wsmon (or insmod wsmon.ko)");
	else
		tell(c, "module", true, OK, "wsmon is loaded");
}

/* A kernel that is locked down, as with Secure Boot, has neither for us. */
static void check_lockdown(struct check *c)
{
	char path[PATH_MAX], modes[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/sys/kernel/security/lockdown", c->root);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(modes, sizeof(modes), f) && !strstr(modes, "[none]"))
		tell(c, "lockdown", true, MISSING,
		     "the kernel is locked down: no module of one's own, no debugfs; switch Secure Boot off");
	fclose(f);
}

static enum state check_access(struct check *c)
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
			tell(c, "access", true, MISSING,
			     "not permitted; run it as root: sudo wsmo check");
			return MISSING;
		}
		snprintf(detail, sizeof(detail),
			 "%s is not there; load the module, or mount debugfs: mount -t debugfs none /sys/kernel/debug",
			 path);
		tell(c, "debugfs", true, MISSING, detail);
		return MISSING;
	}
	snprintf(detail, sizeof(detail), "%s can be used", debugfs_dir(NULL));
	tell(c, "debugfs", true, OK, detail);
	return OK;
}

static void check_session(struct check *c)
{
	char status[DEBUGFS_TEXT];

	if (debugfs_read("status", status, sizeof(status)))
		tell(c, "session", true, UNKNOWN, "status cannot be read");
	else if (!strncmp(status, "idle", 4))
		tell(c, "session", true, OK, "nobody else is monitoring");
	else
		tell(c, "session", true, MISSING,
		     "monitoring is running already; wait for it or end it: echo > target");
}

static void check_kernel(struct check *c)
{
	static const struct {
		const char *name, *with, *without;
	} about[] = {
		{ "idle pages",
		  "reclaim gets back the references that sampling takes",
		  "no CONFIG_PAGE_IDLE_FLAG: references are given back later, when a sample is dropped" },
		{ "huge pages", "transparent huge pages are seen as such",
		  "no CONFIG_TRANSPARENT_HUGEPAGE: nothing to do" },
	};
	struct kconfig options[] = {
		{ .name = "CONFIG_PAGE_IDLE_FLAG" },
		{ .name = "CONFIG_TRANSPARENT_HUGEPAGE" },
	};
	bool known = !kconfig_read(c->root, options, ARRAY_SIZE(options));
	char detail[256];
	struct utsname uts;
	size_t i;

	uname(&uts);
	snprintf(detail, sizeof(detail), "Linux %s on %s%s", uts.release,
		 uts.machine, strcmp(uts.machine, "x86_64") ?
		 ", where the module does not run" : "");
	tell(c, "kernel", true, strcmp(uts.machine, "x86_64") ? MISSING : OK,
	     detail);
	for (i = 0; i < ARRAY_SIZE(options); i++) {
		if (!known)
			tell(c, about[i].name, false, UNKNOWN,
			     "neither /boot/config nor /proc/config.gz can be read");
		else
			tell(c, about[i].name, false, options[i].set ? OK : MISSING,
			     options[i].set ? about[i].with : about[i].without);
	}
}

enum { OPT_JSON = 256, OPT_CSV, OPT_DEBUGFS, OPT_SYSROOT };

static const struct argp_option options_help[] = {
	{ "json", OPT_JSON, NULL, 0, "One JSON object a line", 0 },
	{ "csv", OPT_CSV, NULL, 0, "Comma separated values", 0 },
	{ "debugfs", OPT_DEBUGFS, "DIR", 0, "The module's directory (" DEBUGFS_DEFAULT ")", 0 },
	{ "sysroot", OPT_SYSROOT, "DIR", 0, "Look at the system below DIR", 0 },
	{ 0 }
};

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct check *c = state->input;

	switch (key) {
	case OPT_JSON:
		c->format = TABLE_JSON;
		return 0;
	case OPT_CSV:
		c->format = TABLE_CSV;
		return 0;
	case OPT_DEBUGFS:
		debugfs_dir(arg);
		return 0;
	case OPT_SYSROOT:
		c->root = arg;
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "'%s' is too much", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options_help,
	.parser = parse_opt,
	.children = verb_common,
	.doc = "Tell whether recording would work here, and what is missing."
	       "\vThe exit status is 0 only if it would without loading the module.",
};

int cmd_check(int argc, char **argv)
{
	struct check c = { .format = TABLE_HUMAN, .root = "" };

	verb_parse(&argp, "wsmo check", argc, argv, &c);
	c.table = table_new(&desc, c.format);
	check_module(&c);
	check_lockdown(&c);
	if (check_access(&c) == OK)
		check_session(&c);
	check_kernel(&c);
	table_end(c.table);
	return c.failed ? WSMO_FAILURE : WSMO_OK;
}

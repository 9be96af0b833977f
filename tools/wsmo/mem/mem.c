// SPDX-License-Identifier: GPL-2.0
/*
 * mem.c - "wsmo mem": options, which processes, and what of them
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/kcmp.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "mem.h"
#include "session/cgroup.h"
#include "session/session.h"

#define TOP	10	/* rows of a table among others */

bool mem_wants(const struct mem *mem, const struct mem_process *p, const struct mem_mapping *m)
{
	if (mem->classes && !(mem->classes & 1U << m->class))
		return false;
	return !mem->filter || strstr(m->path, mem->filter) || strstr(p->comm, mem->filter);
}

static int compare_pids(const void *x, const void *y)
{
	return COMPARE(*(const __u32 *)x, *(const __u32 *)y);
}

static void add_pid(struct pids *pids, __u32 pid)
{
	if (!(pids->nr & (pids->nr - 1)))
		pids->pid = need(reallocarray(pids->pid, pids->nr ? 2 * pids->nr : 1,
					      sizeof(*pids->pid)));
	pids->pid[pids->nr++] = pid;
}

/* Return: 0, or -1 after a message */
static int list_all(struct mem *mem)
{
	char path[4096];
	const struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%s/proc", mem->root);
	d = opendir(path);
	if (!d) {
		msg("%s: cannot be read: %s", path, strerror(errno));
		return -1;
	}
	while ((e = readdir(d)))
		if (*e->d_name >= '1' && *e->d_name <= '9')
			add_pid(&mem->pids, strtoul(e->d_name, NULL, 10));
	closedir(d);
	return 0;
}

static int no_cgroup(const char *path)
{
	msg("there is no cgroup %s", path);
	return -1;
}

/* Return: 0, or -1 after a message */
static int list_cgroup(struct mem *mem, const char *cgroup)
{
	size_t room = 1024;
	long nr;

	for (;; room = nr + 1024) {
		mem->pids.pid = need(reallocarray(mem->pids.pid, room, sizeof(__u32)));
		nr = cgroup_pids(cgroup, mem->pids.pid, room);
		if (nr <= (long)room)
			break;
	}
	if (nr < 0)
		return no_cgroup(cgroup);
	if (!nr)
		msg("%s has no process; a threaded cgroup's are in the one above it", cgroup);
	mem->pids.nr = nr;
	return nr ? 0 : -1;
}

/* Is it a path within cgroups? A recording can have any text */
static bool is_within(const char *path)
{
	const char *part = path;

	if (*path != '/')
		return false;
	while ((part = strstr(part, "/.."))) {
		part += 3;
		if (!*part || *part == '/')
			return false;
	}
	return true;
}

/* The processes that are wanted, ascending; Return: 0, or -1 after a message */
static int choose(struct mem *mem)
{
	struct pids *pids = &mem->pids;
	const struct in_use_target *t = mem->use.targets.base;
	size_t i, nr = 0;
	int err = 0;

	mem->named = pids->nr;
	/* whether or not cgroups are in use here */
	if (mem->cgroup && !strcmp(mem->cgroup, "/"))
		err = list_all(mem);
	else if (mem->cgroup)
		err = list_cgroup(mem, mem->cgroup);
	else if (!mem->named && *mem->use.cgroup && !is_within(mem->use.cgroup))
		err = no_cgroup(mem->use.cgroup);
	else if (!mem->named && *mem->use.cgroup)
		err = list_cgroup(mem, mem->use.cgroup);
	else if (!mem->named && mem->use.targets.nr)
		for (i = 0; i < mem->use.targets.nr; i++)
			add_pid(pids, t[i].pid);
	else if (!mem->named)
		err = list_all(mem);
	if (err)
		return -1;
	qsort(pids->pid, pids->nr, sizeof(*pids->pid), compare_pids);
	for (i = 0; i < pids->nr; i++)
		if (!nr || pids->pid[i] != pids->pid[nr - 1])
			pids->pid[nr++] = pids->pid[i];
	pids->nr = nr;
	return 0;
}

/* Has a process no memory of its own? After vfork() or clone(CLONE_VM) it is its parent's. */
static bool is_parents(const struct mem *mem, const struct mem_process *p)
{
	return !*mem->root && p->parent > 1 &&
	       !syscall(SYS_kcmp, (long)p->pid, (long)p->parent, KCMP_VM, 0L, 0L) &&
	       bsearch(&p->parent, mem->pids.pid, mem->pids.nr, sizeof(__u32), compare_pids);
}

/* A process could not be read: say why, if it was named */
static void not_read(struct mem *mem, __u32 pid, int err)
{
	if (err == -EACCES || err == -EPERM)
		mem->denied++;
	if (err == -ESRCH)
		mem->ended++;
	if (!mem->named || mem->told)
		return;
	mem->failed = true;
	if (err == -ESRCH)
		msg("there is no process %u", pid);
	else if (!err)
		msg("process %u has no memory: it is a kernel thread, or has ended", pid);
	else if (err != -EACCES && err != -EPERM)
		msg("process %u: cannot be read: %s", pid, strerror(-err));
}

void mem_read(struct mem *mem, void (*each)(void *to, const struct mem_process *p,
					    const struct mem_mapping *m))
{
	const bool use = mem->input || mem->live;
	size_t i;
	int res;

	mem->read = mem->denied = mem->ended = 0;
	for (i = 0; i < mem->pids.nr; i++) {
		struct mem_process p = { .pid = mem->pids.pid[i] };

		res = smaps_open(&p, mem->root, p.pid);
		mem->now = !res && use && in_use_same(&mem->use, &p) ?
			   in_use_find(&mem->use, p.pid) : NULL;
		if (!res && !is_parents(mem, &p))
			res = smaps_read(&p, each, mem);
		else if (!res)
			res = 1;
		smaps_close(&p);
		if (res > 0)
			mem->read++;
		else
			not_read(mem, p.pid, res);
	}
	if (mem->denied && !mem->told)
		msg("%llu of %zu processes may not be read and are left out%s", mem->denied,
		    mem->pids.nr, geteuid() ? ": other users' need root" : "");
	if (mem->ended && !mem->told && !mem->named)
		msg("%llu of %zu processes ended meanwhile and are left out", mem->ended, mem->pids.nr);
	mem->told = true;
}

static void add(void *to, const struct mem_process *p, const struct mem_mapping *m)
{
	struct mem *mem = to;
	double in_use = 0;
	__u64 once;
	int i;

	if (!mem_wants(mem, p, m))
		return;
	once = mem->once ? frames_once(&mem->seen, p, m) : m->bytes[MEM_PSS];
	if (mem->now)
		in_use = in_use_range(mem->now, m->start, m->end);
	for (i = 0; i < MEM_NR_TABLES; i++) {
		const bool by = mem->by && i < MEM_TOTAL;
		struct row *row;

		if ((by && i) || (i == MEM_TEXT && (m->class != WSMON_CLASS_TEXT || !m->bytes[MEM_COPIED])))
			continue;
		row = rows_get(&mem->table[i], p, m);
		row_add(row, p, m, once);
		row->in_use += in_use;
		row->known |= !!mem->now;
	}
}

static int tables(struct mem *mem)
{
	static const unsigned int by[] = { BY_CLASS, BY_FILE, BY_PROCESS, 0, BY_FILE };
	int i;

	if (!mem->by && mem->format != TABLE_HUMAN && mem->format != TABLE_RAW)
		mem->by = BY_PROCESS | BY_CLASS | BY_FILE;
	for (i = 0; i < MEM_NR_TABLES; i++)
		mem->table[i].by = by[i];
	if (mem->by || mem->picture.file)
		mem->table[0].by = mem->by ? mem->by : BY_CLASS;
	/* of one process nothing is counted twice */
	mem->once = !(mem->by & BY_PROCESS) || mem->format == TABLE_HUMAN;
	if (mem->once)
		frames_begin(&mem->seen);
	mem_read(mem, add);
	if (mem->picture.file && mem->read)
		mem->failed |= mem_draw(mem, &mem->table[0]);
	else
		mem_print(mem);
	for (i = 0; i < MEM_NR_TABLES; i++)
		rows_free(&mem->table[i]);
	frames_free(&mem->seen);
	return mem->failed || !mem->read ? WSMO_FAILURE : WSMO_OK;
}

static void set_cgroup(struct argp_state *state, char *arg,
		       const struct option_desc *o __attribute__((unused)), void *to)
{
	struct mem *mem = to;

	mem->cgroup = cgroup_option(state, arg, mem->cgroup);
}

static void set_by(struct argp_state *state, char *list,
		   const struct option_desc *o, void *to)
{
	struct mem *mem = to;
	char *word;

	while ((word = strsep(&list, ",")))
		mem->by |= 1U << option_choice(state, word, o->arg);
}

static void set_picture(struct argp_state *state, char *arg,
			const struct option_desc *o __attribute__((unused)), void *to)
{
	if (!plot_can(arg))
		usage_error(state, "the name '%s' does not end in .png, .svg or .pdf", arg);
	((struct mem *)to)->picture.file = arg;
}

static void check(struct argp_state *state, void *to)
{
	const struct mem *mem = to;

	if (mem->pids.nr && mem->cgroup)
		usage_error(state, "processes or a cgroup, not both");
	if (mem->input && mem->live)
		usage_error(state, "a recording or what runs now, not both");
	if (mem->picture.file && mem->format != TABLE_HUMAN)
		usage_error(state, "%s is a picture: leave out --json, --csv and --raw",
			    mem->picture.file);
	if (mem->pages + (mem->growth_ns > 0) + !!mem->picture.file > 1)
		usage_error(state, "only one of --pages, --frames, --growth and -o");
	if (mem->pages && !mem->pids.nr)
		usage_error(state, "--pages and --frames need processes: -p PID");
	if ((mem->pages || mem->growth_ns) && (mem->by || mem->input || mem->live))
		usage_error(state, "--pages, --frames and --growth take neither --by nor -i nor --live");
}

static void set_frames(struct argp_state *state __attribute__((unused)),
		       char *arg __attribute__((unused)),
		       const struct option_desc *o __attribute__((unused)), void *to)
{
	struct mem *mem = to;

	mem->pages = mem->frames = true;
}

static const struct option_desc options[] = {
	{ "pid", 'p', "PID,...", "Only these processes", OPT_PIDS, OPT_AT(struct mem, pids) },
	{ "cgroup", 0, "CGROUP", "Only the processes of CGROUP and below it", OPT_CALL, .call = set_cgroup },
	{ "all", 0, NULL, NULL, OPT_CALL, .call = set_cgroup },
	{ "by", 0, "process|class|file", "Rows; several with commas (one table of each)", OPT_CALL, .call = set_by },
	{ "class", 0, "CLASS,...", "Only these classes of memory", OPT_CLASSES, OPT_AT(struct mem, classes) },
	{ "filter", 0, "TEXT", "Only what has TEXT in its path or process name", OPT_TEXT,
	  OPT_AT(struct mem, filter) },
	{ "sort", 0, "resident|virtual|private|shared|swap|huge|in-use|idle", "Order (resident)",
	  OPT_CHOICE, OPT_AT(struct mem, sort) },
	{ "top", 0, "N", "Rows of a table (10; with --by, JSON, CSV all)", OPT_COUNT,
	  OPT_AT(struct mem, top), 1, 1000000 },
	{ "input", 'i', "FILE", "A recording: what is in use", OPT_TEXT, OPT_AT(struct mem, input) },
	{ "live", 0, NULL, "What is in use, from the session that runs now", OPT_FLAG, OPT_AT(struct mem, live) },
	{ "growth", 0, "TIME", "Watch for TIME what grows: is there a leak?", OPT_TIME,
	  OPT_AT(struct mem, growth_ns), NSEC_PER_SEC / 10 },
	{ "pages", 0, NULL, "Ranges of pages and their flags, of -p PID", OPT_FLAG, OPT_AT(struct mem, pages) },
	{ "frames", 0, NULL, "Likewise, with page frames; root only", OPT_CALL, .call = set_frames },
	{ "output", 'o', "FILE", "Draw FILE.png, .svg or .pdf", OPT_CALL, .call = set_picture },
	{ "sysroot", 0, "DIR", NULL, OPT_TEXT, OPT_AT(struct mem, root) },
	{ 0 }
};

int cmd_mem(int argc, char **argv)
{
	static struct mem mem = { .root = "" };
	int status = WSMO_FAILURE;

	options_parse(&(struct command_line) {
		.name = "wsmo mem",
		.doc = "What processes have mapped, what of it is resident, and what in use; each page once. "
		       "All processes, or those of the recording; other users' need root.",
		.groups = {
			OPT_GROUP(options, &mem), OPT_GROUP(format_options, &mem.format),
			OPT_GROUP(debugfs_options, NULL),
		},
		.to = &mem, .check = check,
	}, argc, argv);
	if ((!mem.input || !in_use_read(&mem.use, mem.input)) &&
	    (!mem.live || !in_use_live(&mem.use)) && !choose(&mem)) {
		if (!mem.top && !mem.by && mem.format == TABLE_HUMAN)
			mem.top = TOP;
		status = mem.pages ? mem_pages(&mem) : mem.growth_ns ? mem_growth(&mem) :
			 tables(&mem);
	}
	in_use_free(&mem.use);
	smaps_done();
	free(mem.pids.pid);
	free(mem.cgroup);
	return status;
}

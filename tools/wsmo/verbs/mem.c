// SPDX-License-Identifier: GPL-2.0
/* mem.c - "wsmo mem": options, the choice of processes, sums over them, and their growth */
#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <math.h>
#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/cli.h"
#include "core/clock.h"
#include "core/options.h"
#include "core/text.h"
#include "core/units.h"
#include "libwsmon/curve.h"
#include "libwsmon/names.h"
#include "libwsmon/stats.h"
#include "live/cgroup.h"
#include "live/session.h"
#include "mem.h"
#include "views/asset.h"

static int compare_row_keys(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	return COMPARE(a->pid, b->pid) ?: COMPARE(a->class, b->class) ?:
	       (a->path ? strcmp(a->path, b->path) : 0);
}

/* Find the row of a mapping, or add it; exits if there is no memory */
static struct row *rows_get(struct rows *rows, const struct mem_process *p,
			    const struct mem_mapping *m)
{
	struct row key = {
		.pid = rows->by & BY_PROCESS ? p->pid : 0,
		.class = rows->by & BY_CLASS ? m->class : WSMON_CLASS_ALL,
		.path = rows->by & BY_FILE ? (char *)(uintptr_t)m->path : NULL,
	};
	struct row **found = tfind(&key, &rows->tree, compare_row_keys), *row;

	if (found)
		return *found;
	row = need(malloc(sizeof(*row)));
	*row = key;
	if (key.pid)
		memcpy(row->comm, p->comm, sizeof(row->comm));
	if (key.path)
		row->path = need(strdup(key.path));
	need(tsearch(row, &rows->tree, compare_row_keys));
	rows->row = need(array_more(rows->row, rows->nr, sizeof(struct row *)));
	rows->row[rows->nr++] = row;
	return row;
}

/* Find the row with the keys of another row. Return: NULL if there is none */
static const struct row *rows_find(const struct rows *rows, const struct row *like)
{
	struct row **found = tfind(like, &rows->tree, compare_row_keys);

	return found ? *found : NULL;
}

/*
 * Add a mapping
 * @once:	resident bytes of the mapping that were not counted before
 */
static void row_add(struct row *row, const struct mem_process *p, const struct mem_mapping *m,
		    __u64 once)
{
	int i;

	for (i = 0; i < MEM_NR_BYTES; i++)
		row->sum[i] += m->bytes[i];
	row->once += once;
	row->processes += row->last != p->pid;
	row->last = p->pid;
}

/* Return: bytes of a kind in a row; each page counts once, if that is known */
static __u64 row_bytes(const struct row *row, enum mem_bytes what)
{
	__u64 private = row->sum[MEM_PRIVATE];

	if (row->processes < 2)
		return row->sum[what];
	switch (what) {
	case MEM_RESIDENT:
		return row->once;
	case MEM_SHARED:
		return row->once > private ? row->once - private : 0;
	case MEM_SWAP:
		return row->sum[MEM_SWAP_PSS];
	default:
		return row->sum[what];
	}
}

/* Return: bytes of a row in use; for several processes, at most its resident bytes */
static __u64 row_in_use(const struct row *row)
{
	__u64 resident = row_bytes(row, MEM_RESIDENT);

	return row->processes > 1 && row->in_use > resident ? resident : whole(row->in_use);
}

static void leave(void *row)
{
}

static void rows_free(struct rows *rows)
{
	size_t i;

	tdestroy(rows->tree, leave);
	for (i = 0; i < rows->nr; i++) {
		free(rows->row[i]->path);
		free(rows->row[i]);
	}
	free(rows->row);
	*rows = (struct rows) { .by = rows->by };
}

#define TOP	10	/* max. rows of a table, if several tables are printed */

bool mem_wants(const struct mem *mem, const struct mem_process *p, const struct mem_mapping *m)
{
	if (mem->classes && !(mem->classes & 1U << m->class))
		return false;
	return !mem->filter || strstr(m->path, mem->filter) || strstr(p->comm, mem->filter);
}

static void add_pid(struct pids *pids, __u32 pid)
{
	pids->pid = need(array_more(pids->pid, pids->nr, sizeof(*pids->pid)));
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
		msg("%s has no process; the processes of a threaded cgroup are in the cgroup above it", cgroup);
	mem->pids.nr = nr;
	return nr ? 0 : -1;
}

/* Is a text the path of a cgroup, without ".."? A recording may contain any text */
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

/* Lists the wanted processes, ascending. Return: 0, or -1 after a message */
static int choose(struct mem *mem)
{
	struct pids *pids = &mem->pids;
	const struct in_use_target *t = mem->use.targets.base;
	size_t i, nr = 0;
	int err = 0;

	mem->named = pids->nr;
	/* list all processes without cgroups, which may not be mounted */
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
	qsort(pids->pid, pids->nr, sizeof(*pids->pid), order_u32);
	for (i = 0; i < pids->nr; i++)
		if (!nr || pids->pid[i] != pids->pid[nr - 1])
			pids->pid[nr++] = pids->pid[i];
	pids->nr = nr;
	return 0;
}

/* Has a process the address space of its parent, as after vfork() or clone(CLONE_VM)? */
static bool is_parents(const struct mem *mem, const struct mem_process *p)
{
	return !*mem->root && p->parent > 1 &&
	       !syscall(SYS_kcmp, (long)p->pid, (long)p->parent, KCMP_VM, 0L, 0L) &&
	       bsearch(&p->parent, mem->pids.pid, mem->pids.nr, sizeof(__u32), order_u32);
}

/* Counts a process that could not be read; explains why if it was named with -p */
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
	else if (err != -EACCES && err != -EPERM && err != -ETIMEDOUT)
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
		    mem->pids.nr, geteuid() ? ": processes of other users need root" : "");
	if (mem->ended && !mem->told && !mem->named)
		msg("%llu of %zu processes ended meanwhile and are left out", mem->ended, mem->pids.nr);
	mem->told = true;
}

/* Max. files with copied text that are named */
#define TEXTS_MAX	5

struct mem_row {
	__u64 pid;
	const char *comm, *class;
	__u64 processes, virtual, resident, pss, private, shared, swap, huge, copied, in_use;
	const char *path;
};

#define ROW struct mem_row

TABLE(mem_table, "mem",
	COL(pid, COUNT, 7, "PID", OR_NULL, "the process; null for several"),
	COL(comm, TEXT, 12, "NAME", OR_NULL, "its name; null for several"),
	COL(class, TEXT, 7, "CLASS", 0, "class of memory; ``all`` stands for all classes"),
	COL(processes, COUNT, 5, "PROCS", 0, "processes that have such a mapping"),
	COL(virtual, SIZE, 9, "VIRTUAL", 0, "mapped"),
	COL(resident, SIZE, 9, "RESIDENT", 0, "in RAM"),
	COL(pss, SIZE, 9, "PSS", 0, "in RAM, each page divided by the number of its mappings"),
	COL(private, SIZE, 9, "PRIVATE", 0, "in RAM, and mapped once"),
	COL(shared, SIZE, 9, "SHARED", 0, "in RAM, and mapped more than once"),
	COL(swap, SIZE, 9, "SWAP", 0, "in swap"),
	COL(huge, SIZE, 9, "HUGE", 0, "in RAM, and mapped by huge pages"),
	COL(copied, SIZE, 9, "COPIED", NOT_HUMAN, "in RAM: private copies of a file's pages"),
	COL(in_use, SIZE, 9, "IN USE", OR_NULL,
	    "accessed within an aggregation interval, mean over the recording"),
	COL(path, TEXT, 4, "FILE", OR_NULL,
	    "the file, empty for memory without a name; null for several"));

/* Return: the path of a row to print; "[anon]" if it has none */
static const char *mem_path(const char *path)
{
	return *path ? path : "[anon]";
}

/* Is a row the total, or a class, of a group whose working set is known? */
static bool in_total(const struct mem *mem, const struct rows *rows, const struct row *row)
{
	return !(rows->by & (BY_PROCESS | BY_FILE)) && row->processes > 1 && !mem->classes &&
	       !mem->filter && mem->use.totals[row->class];
}

static __u64 in_use(const struct mem *mem, const struct rows *rows, const struct row *row)
{
	if (in_total(mem, rows, row))
		return whole(mem->use.total[row->class] / mem->use.totals[row->class]);
	return row->known ? row_in_use(row) : UNKNOWN_U64;
}

static void print_row(const struct mem *mem, struct table *t, const struct rows *rows,
		      const struct row *row)
{
	const bool exact = mem->format == TABLE_JSON || mem->format == TABLE_CSV;

	table_row(t, &(struct mem_row) {
		.pid = row->pid ?: UNKNOWN_U64, .comm = row->pid ? row->comm : NULL,
		.class = class_name(row->class),
		.processes = row->processes,
		.virtual = row_bytes(row, MEM_VIRTUAL),
		.resident = row_bytes(row, MEM_RESIDENT),
		.pss = row_bytes(row, MEM_PSS),
		.private = row_bytes(row, MEM_PRIVATE), .shared = row_bytes(row, MEM_SHARED),
		.swap = row_bytes(row, MEM_SWAP),
		.huge = row_bytes(row, MEM_HUGE),
		.copied = row_bytes(row, MEM_COPIED),
		.in_use = in_use(mem, rows, row),
		.path = row->path && !exact ? mem_path(row->path) : row->path,
	});
}

static double sort_key(const struct row *row, enum mem_sort sort)
{
	switch (sort) {
	case SORT_VIRTUAL:
		return row_bytes(row, MEM_VIRTUAL);
	case SORT_PRIVATE:
		return row_bytes(row, MEM_PRIVATE);
	case SORT_SHARED:
		return row_bytes(row, MEM_SHARED);
	case SORT_SWAP:
		return row_bytes(row, MEM_SWAP);
	case SORT_HUGE:
		return row_bytes(row, MEM_HUGE);
	case SORT_IN_USE:
		return row->known ? row_in_use(row) : -1.0;
	case SORT_IDLE:
		return row->known ? (double)row_bytes(row, MEM_RESIDENT) - row_in_use(row) : -1e30;
	default:
		return row_bytes(row, MEM_RESIDENT);
	}
}

/* Orders by --sort, largest first, then by mapped bytes, then by name */
static int compare_rows(const void *x, const void *y, void *sort)
{
	const struct row *a = *(struct row * const *)x, *b = *(struct row * const *)y;
	const enum mem_sort by = *(const enum mem_sort *)sort;

	return COMPARE(sort_key(b, by), sort_key(a, by)) ?:
	       COMPARE(b->sum[MEM_VIRTUAL], a->sum[MEM_VIRTUAL]) ?: COMPARE(a->pid, b->pid) ?:
	       COMPARE(a->class, b->class) ?: (a->path ? strcmp(a->path, b->path) : 0);
}

/* Sort rows as --sort says */
static void mem_sort(const struct mem *mem, struct rows *rows)
{
	enum mem_sort sort = mem->sort;

	if (rows->nr)
		qsort_r(rows->row, rows->nr, sizeof(struct row *), compare_rows, &sort);
}

/* @total: the total, printed first; NULL: none */
static void print_table(struct mem *mem, struct rows *rows, const struct rows *total)
{
	const struct {
		size_t offset;
		bool shown;
	} for_people[] = {
		{ offsetof(ROW, pid), rows->by & BY_PROCESS },
		{ offsetof(ROW, comm), rows->by & BY_PROCESS },
		{ offsetof(ROW, pss), rows->by & BY_PROCESS },
		{ offsetof(ROW, class), rows->by & BY_CLASS || !rows->by },
		{ offsetof(ROW, processes), !(rows->by & BY_PROCESS) },
		{ offsetof(ROW, path), rows->by & BY_FILE },
		{ offsetof(ROW, in_use), mem->input || mem->live },
	};
	struct table *t = table_new(&mem_table, mem->format);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(for_people); i++)
		table_show(t, for_people[i].offset, NOT_HUMAN, for_people[i].shown);
	mem_sort(mem, rows);
	if (total && total->nr)
		print_row(mem, t, total, total->row[0]);
	for (i = 0; i < rows->nr && (!mem->top || i < mem->top); i++)
		print_row(mem, t, rows, rows->row[i]);
	table_end(t);
}

/* Prints the sum, and how pages that several processes map are counted */
static void print_total(const struct mem *mem)
{
	const struct rows *all = &mem->table[MEM_TOTAL];
	char virtual[UNITS_LEN], resident[UNITS_LEN], swap[UNITS_LEN];
	const struct row *row = all->row[0];

	printf("%llu process%s: %s mapped, %s resident, %s in swap", row->processes,
	       row->processes == 1 ? "" : "es", units_size(virtual, row_bytes(row, MEM_VIRTUAL)),
	       units_size(resident, row_bytes(row, MEM_RESIDENT)),
	       units_size(swap, row_bytes(row, MEM_SWAP)));
	if (row->processes < 2)
		puts("");
	else if (mem->seen.known)
		puts("; each page once, by its frame");
	else
		puts("; each page once, by PSS");
}

/* Names files with copied text: pages of text are copied only if relocations write to them */
static void print_texts(struct mem *mem)
{
	struct rows *texts = &mem->table[MEM_TEXT];
	char size[UNITS_LEN], name[4096];
	size_t i;

	mem_sort(mem, texts);
	for (i = 0; i < texts->nr && i < TEXTS_MAX; i++) {
		const struct row *row = texts->row[i];

		printf("%s%s of the text of %s are private copies, in %llu process%s\n", i ? "" : "\n",
		       units_size(size, row->sum[MEM_COPIED]),
		       text_clean(name, sizeof(name), row->path), row->processes,
		       row->processes == 1 ? "" : "es");
	}
	if (texts->nr > TEXTS_MAX)
		printf("and of %zu more files\n", texts->nr - TEXTS_MAX);
	if (texts->nr)
		puts("Text is copied if it is written to: its file was built without -fPIC, or its code is patched at run time.");
}

/* Print the tables */
static void mem_print(struct mem *mem)
{
	const bool people = mem->format == TABLE_HUMAN || mem->format == TABLE_RAW;
	struct rows *t = mem->table;

	if (people && !t[MEM_TOTAL].nr) {
		if (mem->read)
			msg("nothing matches");
		return;
	}
	if (mem->format == TABLE_HUMAN) {
		print_total(mem);
		puts("");
	}
	print_table(mem, &t[0], t[0].by == BY_CLASS ? &t[MEM_TOTAL] : NULL);
	if (people && !mem->by) {
		puts("");
		print_table(mem, &t[MEM_FILES], NULL);
		puts("");
		print_table(mem, &t[MEM_PROCESSES], NULL);
	}
	if (mem->format == TABLE_HUMAN)
		print_texts(mem);
}

/*
 * Rows of "wsmo mem" as a picture: bars of what is resident
 *
 *	heap    |###########%%%%%%%%%%%%%%%%------....|
 *	         in use     other private   shared swap
 */

#define BARS	30
#define NAME	48

/* Names a row; cuts off the beginning of a long path, as the end is more specific */
static void name_row(char *name, size_t size, const struct rows *rows, const struct row *row)
{
	const char *path = row->path ? mem_path(row->path) : "";
	size_t len = strlen(path);
	int at = 0;

	if (rows->by & BY_PROCESS)
		at += snprintf(name + at, size - at, "%.16s (%u) ", row->comm, row->pid);
	if (rows->by & BY_CLASS)
		at += snprintf(name + at, size - at, "%s ", class_name(row->class));
	if (len > NAME) {
		/* begin at a whole UTF-8 character */
		for (path += len - NAME; (*path & 0xc0) == 0x80; path++)
			;
		snprintf(name + at, size - at, "…%s", path);
	} else {
		snprintf(name + at, size - at, "%s", path);
	}
}

ASSET(mem_gp, "tools/wsmo/verbs/mem.gp");

/* Draw rows; Return: 0, or -1 after a message */
static int mem_draw(const struct mem *mem, struct rows *rows)
{
	size_t max = mem->top && mem->top < BARS ? mem->top : BARS, i;
	struct picture picture = mem->picture;
	char name[256], text[PLOT_TEXT], size[UNITS_LEN];
	struct plot p;

	mem_sort(mem, rows);
	if (rows->nr < max)
		max = rows->nr;
	picture.height = 120 + 26 * max;
	if (plot_open(&p, &picture))
		return -1;
	plot_printf(&p, "$bars << END\n");
	for (i = 0; i < max; i++) {
		const struct row *row = rows->row[i];
		double use = row->known ? row_in_use(row) : 0, rest = row_bytes(row, MEM_PRIVATE);
		double shared = row_bytes(row, MEM_SHARED), of_shared;

		/* it is unknown which kind of memory is in use: assume private memory first */
		of_shared = use > rest ? use - rest : 0;
		rest = use > rest ? 0 : rest - use;
		shared = of_shared > shared ? 0 : shared - of_shared;
		plot_printf(&p, "%zu %.9g %.9g %.9g %.9g\n", max - i, use / 1048576, rest / 1048576,
			    shared / 1048576, row_bytes(row, MEM_SWAP) / 1048576.0);
	}
	plot_printf(&p, "END\nset ytics (");
	for (i = 0; i < max; i++) {
		const struct row *row = rows->row[i];
		size_t len;

		name_row(name, sizeof(name) - UNITS_LEN, rows, row);
		len = strlen(name);
		snprintf(name + len, sizeof(name) - len, " (%s)",
			 units_short(size, row_bytes(row, MEM_VIRTUAL)));
		plot_printf(&p, "%s%s %zu", i ? ", " : "", plot_tic(text, name), max - i);
	}
	plot_printf(&p, ")\nbars = %zu\nfirst = %d\n%s", max, mem->input || mem->live ? 1 : 2, mem_gp);
	return plot_close(&p);
}

/*
 * "wsmo mem --growth TIME": which memory grows, and how fast
 *
 * A straight line is fitted by least squares to the private memory of a row, in RAM or in swap. If
 * the memory grows and shrinks again, the interval of the slope includes 0.
 */

/* Number of readings */
#define READINGS	11

struct growth_row {
	__u64 pid;
	const char *comm, *class;
	__u64 first, bytes;
	double growth, low, high;
	const char *people, *path;
};

#undef ROW
#define ROW struct growth_row

TABLE(growth_table, "mem_growth",
	COL(pid, COUNT, 7, "PID", 0, "the process"),
	COL(comm, TEXT, 12, "NAME", 0, "its name"),
	COL(class, TEXT, 7, "CLASS", 0, "class of memory"),
	COL(first, SIZE, 9, "AT FIRST", 0, "private memory at the first reading"),
	COL(bytes, SIZE, 9, "NOW", 0, "private memory at the last reading"),
	COL(growth, RATE, 9, "GROWTH/S", NOT_HUMAN, "bytes a second; negative if it shrinks"),
	COL(low, RATE, 9, "LOW", NOT_HUMAN, "lower end of the 95 % interval"),
	COL(high, RATE, 9, "HIGH", NOT_HUMAN, "upper end"),
	COL(people, TEXT, 20, "GROWTH (95 % INTERVAL)", NOT_JSON | NOT_CSV, ""),
	COL(path, TEXT, 4, "FILE", 0, "the file, empty for memory without a name"));

/* A row and its readings; a reading in which the row is missing is 0 */
struct series {
	const struct row *row;	/* in the last reading */
	double y[READINGS];
	double slope, half;
};

struct growth {
	struct rows rows[READINGS];
	double t[READINGS];
	struct rows *to;
	struct series *series;
	size_t nr;
};

static struct growth growing;

static void add_reading(void *to, const struct mem_process *p, const struct mem_mapping *m)
{
	if (mem_wants(to, p, m))
		row_add(rows_get(growing.to, p, m), p, m, 0);
}

/* Return: number of processes in the last reading; 0 if all have ended */
static __u64 read_all(struct mem *mem)
{
	const __u64 began = clock_now();
	int i;

	for (i = 0; i < READINGS; i++) {
		__u64 at = began + mem->growth_ns * i / (READINGS - 1);
		__u64 now;

		while ((now = clock_now()) < at) {
			struct timespec rest = { (at - now) / NSEC_PER_SEC, (at - now) % NSEC_PER_SEC };

			nanosleep(&rest, NULL);
		}
		growing.to = &growing.rows[i];
		growing.to->by = BY_PROCESS | BY_CLASS | BY_FILE;
		growing.t[i] = (double)(clock_now() - began) / NSEC_PER_SEC;
		mem_read(mem, add_reading);
		if (!mem->read)
			return 0;
	}
	return mem->read;
}

static int compare_keys(const void *x, const void *y)
{
	const struct row *a = *(struct row * const *)x, *b = *(struct row * const *)y;

	return COMPARE(a->pid, b->pid) ?: COMPARE(a->class, b->class) ?: strcmp(a->path, b->path);
}

/* Orders by the lower end of the slope's interval, largest first */
static int compare_series(const void *x, const void *y)
{
	const struct series *a = x, *b = y;

	return COMPARE(b->slope - b->half, a->slope - a->half) ?: compare_keys(&a->row, &b->row);
}

/* @quantile: of Student's t */
static void fit(struct series *s, double quantile)
{
	double t = 0, y = 0, tt = 0, ty = 0, rest = 0;
	int i;

	for (i = 0; i < READINGS; i++) {
		t += growing.t[i] / READINGS;
		y += s->y[i] / READINGS;
	}
	for (i = 0; i < READINGS; i++) {
		tt += (growing.t[i] - t) * (growing.t[i] - t);
		ty += (growing.t[i] - t) * (s->y[i] - y);
	}
	s->slope = ty / tt;
	for (i = 0; i < READINGS; i++)
		rest += pow(s->y[i] - y - s->slope * (growing.t[i] - t), 2);
	s->half = quantile * sqrt(rest / (READINGS - 2) / tt);
}

/* Fits a line to each row of the last reading, which has only processes that still run */
static void make_series(void)
{
	struct rows *last = &growing.rows[READINGS - 1];
	double quantile = student(0.05, READINGS - 2);
	size_t i;
	int k;

	growing.series = need(calloc(last->nr + 1, sizeof(*growing.series)));
	for (i = 0; i < last->nr; i++) {
		struct series *s = &growing.series[growing.nr++];

		s->row = last->row[i];
		for (k = 0; k < READINGS; k++) {
			const struct row *row = rows_find(&growing.rows[k], s->row);

			if (row)
				s->y[k] = row->sum[MEM_PRIVATE] + row->sum[MEM_SWAP];
		}
		fit(s, quantile);
	}
	qsort(growing.series, growing.nr, sizeof(*growing.series), compare_series);
}

static const char *rate(char *buf, double bytes)
{
	char size[UNITS_LEN];

	snprintf(buf, 2 * UNITS_LEN, "%s%s", bytes < 0 ? "-" : "", units_size(size, fabs(bytes)));
	return buf;
}

static void print_series(const struct mem *mem, struct table *t, const struct series *s)
{
	char slope[2 * UNITS_LEN], low[2 * UNITS_LEN], high[2 * UNITS_LEN], people[8 * UNITS_LEN];
	const bool exact = mem->format == TABLE_JSON || mem->format == TABLE_CSV;

	if (mem->format == TABLE_RAW)
		snprintf(people, sizeof(people), "%.0f/s (%.0f to %.0f)", s->slope, s->slope - s->half,
			 s->slope + s->half);
	else
		snprintf(people, sizeof(people), "%s/s (%s to %s)", rate(slope, s->slope),
			 rate(low, s->slope - s->half), rate(high, s->slope + s->half));
	table_row(t, &(struct growth_row) {
		.pid = s->row->pid, .comm = s->row->comm,
		.class = class_name(s->row->class),
		.first = s->y[0], .bytes = s->y[READINGS - 1],
		.growth = s->slope,
		.low = s->slope - s->half, .high = s->slope + s->half,
		.people = people,
		.path = exact ? s->row->path : mem_path(s->row->path),
	});
}

/* Watch growth; Return: exit status */
static int mem_growth(struct mem *mem)
{
	const bool people = mem->format == TABLE_HUMAN || mem->format == TABLE_RAW;
	char time[UNITS_LEN];
	struct table *t;
	size_t i, nr = 0;

	if (!read_all(mem))
		return WSMO_FAILURE;
	make_series();
	t = table_new(&growth_table, mem->format);
	for (i = 0; i < growing.nr && (!mem->top || i < mem->top); i++) {
		const struct series *s = &growing.series[i];

		/* in a table for people, print only rows that certainly grow */
		if (people && s->slope - s->half <= 0)
			break;
		print_series(mem, t, s);
		nr++;
	}
	table_end(t);
	if (!nr && people)
		printf("Nothing grew steadily within %s.\n", units_time(time, mem->growth_ns));
	for (i = 0; i < READINGS; i++)
		rows_free(&growing.rows[i]);
	free(growing.series);
	return mem->failed ? WSMO_FAILURE : WSMO_OK;
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
	/* rows of one process count no page twice; other rows, and the total for people, may */
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

static void set_by(struct argp_state *state, char *list,
		   const struct option_desc *o, void *to)
{
	struct mem *mem = to;
	char *word;

	while ((word = strsep(&list, ",")))
		mem->by |= 1U << option_choice(state, word, o->arg);
}

static void set_picture(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	if (!plot_can(arg))
		usage_error(state, "the name '%s' does not end in .png, .svg or .pdf", arg);
	((struct mem *)to)->picture.file = arg;
}

static void check(struct argp_state *state, void *to)
{
	struct mem *mem = to;

	mem->pages |= mem->frames;
	if (mem->pids.nr && mem->cgroup)
		usage_error(state, "processes or a cgroup, not both");
	if (mem->input && mem->live)
		usage_error(state, "a recording (-i) or the running session (--live), not both");
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

static const struct option_desc options[] = {
	{ "pid", 'p', "PID,...", "Only these processes", OPT_PIDS, OPT_AT(struct mem, pids) },
	CGROUP_OPTIONS("Only the processes of CGROUP and below it", OPT_AT(struct mem, cgroup)),
	{ "by", 0, "process|class|file", "Rows; several with commas (one table of each)", OPT_CALL, .call = set_by },
	{ "class", 0, "CLASS,...", "Only these classes of memory", OPT_CLASSES, OPT_AT(struct mem, classes) },
	{ "filter", 0, "TEXT", "Only mappings with TEXT in path or process name", OPT_TEXT,
	  OPT_AT(struct mem, filter) },
	{ "sort", 0, "resident|virtual|private|shared|swap|huge|in-use|idle", "Order (resident)",
	  OPT_CHOICE, OPT_AT(struct mem, sort) },
	{ "top", 0, "N", "Rows of a table (10; with --by, JSON, CSV all)", OPT_COUNT,
	  OPT_AT(struct mem, top), 1, 1000000 },
	{ "input", 'i', "FILE", "Recording with the memory in use", OPT_TEXT, OPT_AT(struct mem, input) },
	{ "live", 0, NULL, "Take the memory in use from the running session", OPT_FLAG, OPT_AT(struct mem, live) },
	{ "growth", 0, "TIME", "Watch growth for TIME: is there a leak?", OPT_TIME,
	  OPT_AT(struct mem, growth_ns), NSEC_PER_SEC / 10 },
	{ "pages", 0, NULL, "Ranges of pages and their flags, of -p PID", OPT_FLAG, OPT_AT(struct mem, pages) },
	{ "frames", 0, NULL, "Likewise, with page frames; root only", OPT_FLAG, OPT_AT(struct mem, frames) },
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
		.doc = "Mapped memory of processes, its resident part, and its part in use; each page once. "
		       "All processes, or the recorded ones. Processes of other users need root.",
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

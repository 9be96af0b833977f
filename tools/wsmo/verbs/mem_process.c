// SPDX-License-Identifier: GPL-2.0
/* mem_process.c - the memory of a process: resident bytes, and bytes in use */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/cli.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/secondary.h"
#include "libwsmon/reader.h"
#include "libwsmon/series.h"
#include "libwsmon/sorted.h"
#include "live/patience.h"
#include "live/procfs.h"
#include "live/session.h"
#include "mem.h"

/* Mappings and their resident bytes, from /proc/PID/smaps */

/* A device of a file system */
struct device {
	unsigned int major, minor;
	bool tmpfs;
};

static int compare_devices(const void *x, const void *y)
{
	const struct device *a = x, *b = y;

	return COMPARE(a->major, b->major) ?: COMPARE(a->minor, b->minor);
}

static struct sorted devices = SORTED(struct device, 65536, compare_devices);

int smaps_file(const struct mem_process *p, const char *name)
{
	return openat(p->dir, name, O_RDONLY | O_CLOEXEC);
}

/* Reads /proc/PID/stat; the name in it may contain blanks and parentheses */
static void read_stat(struct mem_process *p)
{
	char text[512];
	const char *at;

	read_text(p->dir, "stat", text, sizeof(text));
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1, " %*c %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
			  &p->parent, &p->start) != 2)
		p->parent = p->start = 0;
}

/* If the main thread has exited, uses the directory of another thread, which still has the mm */
static void open_thread(struct mem_process *p)
{
	__u32 tid = proc_thread(p->pid);
	char path[64];
	int dir;

	if (tid == p->pid)
		return;
	snprintf(path, sizeof(path), "/proc/%u", tid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return;
	close(p->dir);
	p->dir = dir;
}

int smaps_open(struct mem_process *p, const char *root, __u32 pid)
{
	char path[4096];
	int len;

	snprintf(path, sizeof(path), "%s/proc/%u", root, pid);
	p->pid = pid;
	p->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->dir < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	len = read_text(p->dir, "comm", p->comm, sizeof(p->comm));
	if (len > 0 && p->comm[len - 1] == '\n')
		p->comm[len - 1] = '\0';
	read_stat(p);
	if (!*root)
		open_thread(p);
	return 0;
}

void smaps_close(struct mem_process *p)
{
	if (p->dir >= 0)
		close(p->dir);
	p->dir = -1;
}

void smaps_done(void)
{
	free(devices.base);
	devices.base = NULL;
	devices.nr = 0;
}

/* Notes the file systems in a process's mountinfo. Unlike statfs(), reading it cannot hang. */
static void read_mounts(const struct mem_process *p)
{
	int fd = smaps_file(p, "mountinfo");
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	struct device d;
	char *line = NULL;
	size_t size = 0;

	while (f && getline(&line, &size, f) >= 0) {
		const char *type = strstr(line, " - ");

		if (!type || sscanf(line, "%*s %*s %u:%u", &d.major, &d.minor) != 2)
			continue;
		d.tmpfs = !strncmp(type, " - tmpfs ", 9) || !strncmp(type, " - devtmpfs ", 12);
		sorted_get(&devices, &d);
	}
	free(line);
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
}

static bool begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Is a shared mapping on a tmpfs? Shared memory without a file of its own is, too. */
static bool on_tmpfs(const struct mem_process *p, const struct maps *m)
{
	const struct device *found;
	struct device key;

	if (!m->inode || begins_with(m->name, "/memfd:") || begins_with(m->name, "/SYSV") ||
	    begins_with(m->name, "/dev/zero"))
		return true;
	if (sscanf(m->line, "%*s %*s %*s %x:%x", &key.major, &key.minor) != 2 || key.major)
		return false;
	key.tmpfs = false;
	if (!sorted_find(&devices, &key)) {
		read_mounts(p);
		/* note a device that no mountinfo has, too: then it is not looked for again */
		sorted_get(&devices, &key);
	}
	found = sorted_find(&devices, &key);
	return found && found->tmpfs;
}

/* A walk through smaps */
struct walk {
	const struct mem_process *p;
	struct maps maps;
	__u64 data_end;		/* end of the last mapping of .data; .bss begins there */
	char data[MAPS_NAME];	/* file of this .data */
	char file[MAPS_NAME];	/* file of the last mapping with a file */
	__u64 file_bytes;	/* bytes mapped of @file so far */
	unsigned int files;	/* number of files so far; the first file is the program */
	char path[MAPS_NAME];
	char line[512];
};

/*
 * Counts the mapped bytes of a file, for classify(). The mapping after .data is .bss, possibly
 * merged with other memory. If it is larger than all mappings of a library, it does not count as
 * memory of the library.
 */
static void note_file(struct walk *w)
{
	if (!w->maps.inode)
		return;
	if (strcmp(w->file, w->path)) {
		strcpy(w->file, w->path);
		w->file_bytes = 0;
		w->files++;
	}
	w->file_bytes += w->maps.end - w->maps.start;
}

/* Classifies a mapping as the module does (Documentation/reference/abi.rst) */
static enum wsmon_class classify(struct walk *w, bool hugetlb)
{
	const struct maps *m = &w->maps;

	if (hugetlb)
		return WSMON_CLASS_HUGETLB;
	if (m->prot & MAPS_EXEC)
		return WSMON_CLASS_TEXT;
	if (m->prot & MAPS_SHARED)
		return on_tmpfs(w->p, m) ? WSMON_CLASS_SHMEM : WSMON_CLASS_FILE;
	if (m->inode && !(m->prot & MAPS_WRITE))
		return WSMON_CLASS_FILE;
	if (m->inode) {
		w->data_end = m->end;
		strcpy(w->data, w->path);
		return WSMON_CLASS_DATA;
	}
	if (!strcmp(m->name, "[stack]"))
		return WSMON_CLASS_STACK;
	if (m->start == w->data_end) {
		if (w->files == 1 || m->end - m->start <= w->file_bytes)
			strcpy(w->path, w->data);
		return WSMON_CLASS_DATA;
	}
	return !strcmp(m->name, "[heap]") ? WSMON_CLASS_HEAP : WSMON_CLASS_ANON;
}

/* The lines of smaps that are read, and the sums to which they are added */
static const struct {
	const char *key;
	int to[2];
} keys[] = {
	{ "Size:", { MEM_VIRTUAL, -1 } },
	{ "Rss:", { MEM_RESIDENT, -1 } },
	{ "Pss:", { MEM_PSS, -1 } },
	{ "Shared_Clean:", { MEM_SHARED, -1 } },
	{ "Shared_Dirty:", { MEM_SHARED, -1 } },
	{ "Private_Clean:", { MEM_PRIVATE, -1 } },
	{ "Private_Dirty:", { MEM_PRIVATE, -1 } },
	{ "Anonymous:", { MEM_COPIED, -1 } },
	{ "AnonHugePages:", { MEM_HUGE, -1 } },
	{ "ShmemPmdMapped:", { MEM_HUGE, -1 } },
	{ "FilePmdMapped:", { MEM_HUGE, -1 } },
	{ "Shared_Hugetlb:", { MEM_SHARED, MEM_HUGE } },
	{ "Private_Hugetlb:", { MEM_PRIVATE, MEM_HUGE } },
	{ "Swap:", { MEM_SWAP, -1 } },
	{ "SwapPss:", { MEM_SWAP_PSS, -1 } },
};

static void take_line(const char *line, __u64 *bytes)
{
	__u64 n;
	size_t i;
	int k;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		size_t len = strlen(keys[i].key);

		if (strncmp(line, keys[i].key, len))
			continue;
		n = strtoull(line + len, NULL, 10);
		n = n > ~0ULL / 1024 ? 0 : n * 1024;
		for (k = 0; k < 2 && keys[i].to[k] >= 0; k++)
			bytes[keys[i].to[k]] += n;
		/* no other line counts pages of hugetlbfs */
		if (strstr(keys[i].key, "Hugetlb")) {
			bytes[MEM_RESIDENT] += n;
			bytes[MEM_PSS] += n;
		}
		return;
	}
}

/* Reads the values of a mapping: their lines begin with a capital, the next mapping does not */
static void read_values(struct walk *w, struct mem_mapping *m, bool *hugetlb)
{
	FILE *f = w->maps.file;
	int c;

	while ((c = getc(f)) != EOF) {
		ungetc(c, f);
		if (!isupper(c) || !fgets(w->line, sizeof(w->line), f))
			break;
		if (!strncmp(w->line, "VmFlags:", 8))
			*hugetlb = strstr(w->line, " ht");
		else
			take_line(w->line, m->bytes);
	}
}

static void read_mapping(struct walk *w, struct mem_mapping *m)
{
	bool hugetlb = false;

	*m = (struct mem_mapping) { .start = w->maps.start, .end = w->maps.end };
	w->path[0] = '\0';
	if (strlen(w->maps.name) < sizeof(w->path))
		maps_unescape(w->path, w->maps.name);
	read_values(w, m, &hugetlb);
	note_file(w);
	m->class = classify(w, hugetlb);
	m->path = w->path;
	if (!w->maps.inode || w->maps.prot & MAPS_SHARED)
		m->bytes[MEM_COPIED] = 0;
}

int smaps_read(const struct mem_process *p,
	       void (*each)(void *to, const struct mem_process *p, const struct mem_mapping *m),
	       void *to)
{
	struct walk w = { .p = p, .maps.file = patient_file(p->pid, p->dir, "smaps") };
	struct mem_mapping m;
	int nr = 0, err = 0;

	if (!w.maps.file)
		return errno == ENOENT ? -ESRCH : -errno;
	while (maps_next(&w.maps)) {
		read_mapping(&w, &m);
		/* [vsyscall] is not memory of the process */
		if (strcmp(m.path, "[vsyscall]")) {
			each(to, p, &m);
			nr++;
		}
	}
	if (ferror(w.maps.file))
		err = errno == ETIMEDOUT ? -errno : -ESRCH;
	maps_close(&w.maps);
	return err ?: nr;
}

/*
 * Memory in use, by address: the mean of the share accessed within an aggregation interval, over a
 * recording or some intervals of a running session
 */

#define TARGETS_MAX	65536

/* Intervals to read of a running session; the first may be incomplete, because it began before */
#define LIVE_INTERVALS	2
#define LIVE_PATIENCE	(30 * NSEC_PER_SEC)

static __u32 no_place(void *data, __u32 pid, const struct wsmon_region_entry *e)
{
	return 0;
}

static void take_target(struct in_use *u, const struct wsmon_rec_target *rec)
{
	struct in_use_target key = { .pid = rec->pid }, *t;

	if ((rec->flags & WSMON_TARGET_REASON) != WSMON_TARGET_AGAIN)
		hot_exec(&u->hot, rec->pid);
	if (!u->targets.size)
		u->targets = SORTED(key, TARGETS_MAX, order_u32);
	t = sorted_get(&u->targets, &key);
	if (t)
		memcpy(t->comm, rec->comm, sizeof(t->comm));
}

/* Takes the working set of a group. Of several windows the shortest counts: regions have it, too */
static void take_total(struct in_use *u, const struct wsmon_rec_total *rec)
{
	if (rec->class >= WSMON_NR_CLASSES || (u->window_us && rec->window_us > u->window_us))
		return;
	if (rec->window_us < u->window_us) {
		memset(u->total, 0, sizeof(u->total));
		memset(u->totals, 0, sizeof(u->totals));
	}
	u->window_us = rec->window_us;
	u->total[rec->class] += rec->bytes;
	u->totals[rec->class]++;
}

static void take(struct in_use *u, const struct wsmon_record *rec)
{
	u->hot.place = no_place;
	u->last_ns = rec->time_ns;
	secondary_take(rec, "");
	switch (rec->type) {
	case WSMON_REC_TARGET:
		take_target(u, (const void *)rec);
		break;
	case WSMON_REC_SNAPSHOT:
		if (hot_snapshot(&u->hot, (const void *)rec))
			need(NULL);
		break;
	case WSMON_REC_TOTAL:
		take_total(u, (const void *)rec);
		break;
	case WSMON_REC_GROUP:
		snprintf(u->cgroup, sizeof(u->cgroup), "%s", reader_cgroup(rec));
		break;
	case WSMON_REC_STATS:
		u->intervals++;
		break;
	}
}

int in_use_read(struct in_use *u, const char *file)
{
	const char *name = strcmp(file, "-") ? file : "standard input";
	int fd = strcmp(file, "-") ? open(file, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	const struct wsmon_file_header *header;
	const struct wsmon_record *rec;
	struct wsmon_reader *r;
	int res;

	if (fd < 0) {
		msg("%s: cannot be read: %s", file, strerror(errno));
		return -1;
	}
	r = need(wsmon_open_fd(fd));
	while ((res = wsmon_next(r, &rec)) > 0)
		take(u, rec);
	if (res == -EBADMSG)
		msg("%s: %s", name, wsmon_error(r));
	header = wsmon_header(r);
	/* in nanoseconds since 1970, because the machine may have been rebooted meanwhile */
	if (header)
		u->last_ns += header->real_ns - header->mono_ns;
	wsmon_close(r);
	if (fd != STDIN_FILENO)
		close(fd);
	return res == -EBADMSG ? -1 : 0;
}

static bool take_live(void *arg, const struct wsmon_record *rec)
{
	struct in_use *u = arg;

	if (rec)
		take(u, rec);
	return !rec || (rec->type != WSMON_REC_END && u->intervals < LIVE_INTERVALS);
}

int in_use_live(struct in_use *u)
{
	struct session s = { .fd = -1 };
	__u64 end_ns = clock_now() + LIVE_PATIENCE;
	int res = session_join(&s);

	if (res > 0)
		msg("nothing is being monitored; begin with 'wsmo record', or name a recording with -i");
	while (!res && clock_now() < end_ns) {
		struct pollfd fd = { .fd = s.fd, .events = POLLIN };

		if (poll(&fd, 1, 100) < 0 && errno != EINTR)
			break;
		res = session_take(&s, take_live, u);
		if (res <= 0)
			break;
		res = 0;
	}
	session_close(&s);
	if (!res && !u->intervals) {
		msg("the session has had no figures for %llu s", LIVE_PATIENCE / NSEC_PER_SEC);
		res = -1;
	}
	/* a process that runs now is the process that was watched, as its pid was not reused */
	u->last_ns = ~0ULL;
	return res ? -1 : 0;
}

/* Return: start time of a process, in nanoseconds since 1970 */
static __u64 began(const struct mem_process *p)
{
	struct timespec real, boot;
	double since = (double)p->start / sysconf(_SC_CLK_TCK);

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return (real.tv_sec - boot.tv_sec + since) * NSEC_PER_SEC;
}

bool in_use_same(const struct in_use *u, const struct mem_process *p)
{
	const struct in_use_target key = { .pid = p->pid };
	const struct in_use_target *t = sorted_find(&u->targets, &key);

	if (!t)
		return false;
	if (!strncmp(t->comm, p->comm, sizeof(t->comm)) &&
	    (u->last_ns == ~0ULL || began(p) < u->last_ns + NSEC_PER_SEC))
		return true;
	msg("process %u is not the %.16s that was recorded: which memory it uses is not known",
	    p->pid, t->comm);
	return false;
}

const struct hot_target *in_use_find(const struct in_use *u, __u32 pid)
{
	struct hot_target key = { .pid = pid }, *t, *last = NULL;

	while ((t = sorted_find(&u->hot.targets, &key))) {
		last = t;
		key.life++;
	}
	return last && last->seconds > 0 ? last : NULL;
}

double in_use_range(const struct hot_target *t, __u64 start, __u64 end)
{
	size_t i = t->nr ? sorted_above(&t->cell->end, t->nr, sizeof(*t->cell), start) : 0;
	double sum = 0;

	for (; i < t->nr && t->cell[i].start < end; i++) {
		const struct hot_cell *c = &t->cell[i];
		__u64 from = c->start > start ? c->start : start;
		__u64 to = c->end < end ? c->end : end;

		sum += c->share / t->seconds * (to - from);
	}
	return sum;
}

void in_use_free(struct in_use *u)
{
	hot_free(&u->hot);
	free(u->targets.base);
}

// SPDX-License-Identifier: GPL-2.0
/* act_target.c - a process to act on: its mappings, its page tables, advice */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "act_target.h"
#include "core/cli.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/identity.h"
#include "live/cgroup.h"
#include "live/patience.h"
#include "live/procfs.h"

#ifndef PID_FS_MAGIC
#define PID_FS_MAGIC	0x50494446
#endif

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

/* Mappings older than this are read again before an action */
#define MAPS_FRESH	(10 * NSEC_PER_MSEC)

#define SPLIT_FILE	"/sys/kernel/debug/split_huge_pages"
#define KPAGEFLAGS	"/proc/kpageflags"

/* Entries of pagemap read at once; bits of it and of kpageflags (admin-guide/mm/pagemap) */
#define ENTRIES		8192
#define PM_PRESENT	(1ULL << 63)
#define PM_SWAPPED	(1ULL << 62)
#define PM_PFN		((1ULL << 55) - 1)
#define KPF_HEAD	(1ULL << 15)
#define KPF_TAIL	(1ULL << 16)
#define KPF_THP		(1ULL << 22)
#define KPF_ZERO	(1ULL << 24)

/* Base pages in a huge page */
#define HUGE_PAGES	(ACT_HUGE / 4096)

int process_open(struct act_process *p, __u32 pid)
{
	char path[32];

	*p = (struct act_process){ .pid = pid, .proc = -1, .claim = -1 };
	p->pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (p->pidfd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	p->proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->proc < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	/* if the process of the pidfd is alive, /proc/PID is still its directory */
	return process_alive(p) ? 0 : -ESRCH;
}

static FILE *open_file(const struct act_process *p, const char *name)
{
	int fd = openat(p->proc, name, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f && fd >= 0)
		close(fd);
	return f;
}

/* Return: start time of the process, in clock ticks since boot */
static __u64 began(const struct act_process *p)
{
	FILE *f = open_file(p, "stat");
	char text[512], *at;
	__u64 ticks = 0;

	text[f ? fread(text, 1, sizeof(text) - 1, f) : 0] = '\0';
	at = strrchr(text, ')');
	if (at)
		sscanf(at + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
		       &ticks);
	if (f)
		fclose(f);
	return ticks;
}

/*
 * Return: a number that no other process has. From Linux 6.9 on it is the inode number of the pidfd,
 * the same in all namespaces. Before, id and start time depend on the pid and the time namespace.
 */
static __u64 identify(const struct act_process *p)
{
	struct statfs fs;
	struct stat st;

	if (!fstatfs(p->pidfd, &fs) && fs.f_type == PID_FS_MAGIC && !fstat(p->pidfd, &st))
		return st.st_ino & ~(1ULL << 63);
	return (__u64)p->pid << 40 | (began(p) & ((1ULL << 40) - 1));
}

/*
 * Locks a byte that represents the process, in a file that nobody else can open. The owner of the
 * process could lock a file of the process itself, and so keep wsmo from acting on it.
 */
int process_claim(struct act_process *p)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1,
		.l_start = identify(p),
	};
	int dir = runtime_open(), err = 0;

	if (dir < 0)
		return dir;
	p->claim = openat(dir, "act", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (p->claim < 0)
		err = -errno;
	else if (fcntl(p->claim, F_OFD_SETLK, &lock))
		err = errno == EACCES || errno == EAGAIN ? -EWOULDBLOCK : -errno;
	close(dir);
	return err;
}

void process_rest(struct act_process *p)
{
	patient_close(p->pagemap);
	p->pagemap = NULL;
}

void process_exec(struct act_process *p)
{
	process_rest(p);
	p->nr = 0;
	p->stale_ns = 0;
}

void process_close(struct act_process *p)
{
	process_exec(p);
	if (p->claim >= 0)
		close(p->claim);
	if (p->proc >= 0)
		close(p->proc);
	if (p->pidfd >= 0)
		close(p->pidfd);
	free(p->mapping);
	*p = (struct act_process){ .pid = p->pid, .pidfd = -1, .proc = -1, .claim = -1 };
}

bool process_alive(const struct act_process *p)
{
	struct pollfd fd = { .fd = p->pidfd, .events = POLLIN };

	return p->pidfd >= 0 && !poll(&fd, 1, 0);
}

char *process_cgroup(const struct act_process *p)
{
	return cgroup_read(open_file(p, "cgroup"));
}

bool process_swap(const struct act_process *p, __u64 bytes, bool *slows, char **cgroup)
{
	char *path = process_cgroup(p);

	*cgroup = NULL;
	*slows = false;
	if (path && !cgroup_swap_left(path, bytes, slows))
		*cgroup = path;
	else
		free(path);
	return !*cgroup;
}

struct system_of {
	char file[64];
	bool tmpfs;
};

static void ask_system(void *data, int proc)
{
	struct system_of *s = data;
	int fd = openat(proc, s->file, O_PATH | O_CLOEXEC);
	struct statfs fs;

	s->tmpfs = fd < 0 || fstatfs(fd, &fs) || fs.f_type == TMPFS_MAGIC;
	if (fd >= 0)
		close(fd);
}

/* Is the mapped file on a tmpfs? Shared anonymous memory is, too. */
static bool on_tmpfs(const struct act_process *p, const struct maps *m)
{
	/* file systems asked before, by device number */
	static struct { __u64 dev; bool known, tmpfs; } last[16];
	const struct question q = { .ask = ask_system, .fd = p->proc };
	struct system_of s = { .tmpfs = false };
	unsigned int major = 0, minor = 0;
	__u64 dev, i;

	sscanf(m->line, "%*s %*s %*s %x:%x", &major, &minor);
	dev = (__u64)major << 32 | minor;
	i = dev % ARRAY_SIZE(last);
	if (!last[i].known || last[i].dev != dev) {
		/* if the file system does not answer, @s.tmpfs stays false: it is no tmpfs */
		snprintf(s.file, sizeof(s.file), "map_files/%llx-%llx", m->start, m->end);
		patience_ask(&q, &s, sizeof(s));
		last[i].dev = dev;
		last[i].known = true;
		last[i].tmpfs = s.tmpfs;
	}
	return last[i].tmpfs;
}

/*
 * Classifies a mapping as the module does (Documentation/reference/abi.rst)
 * @data_end: end of the last mapping of .data; .bss begins there
 */
static enum wsmon_class classify(const struct act_process *p,
				 const struct maps *m, __u64 *data_end)
{
	if (strstr(m->name, "hugepage"))
		return WSMON_CLASS_HUGETLB;
	if (m->prot & MAPS_EXEC)
		return WSMON_CLASS_TEXT;
	if (m->prot & MAPS_SHARED)
		return !m->inode || on_tmpfs(p, m) ?
		       WSMON_CLASS_SHMEM : WSMON_CLASS_FILE;
	if (m->inode && m->prot & MAPS_WRITE) {
		*data_end = m->end;
		return WSMON_CLASS_DATA;
	}
	if (m->inode)
		return WSMON_CLASS_FILE;
	if (m->start == *data_end)
		return WSMON_CLASS_DATA;
	if (!strcmp(m->name, "[heap]"))
		return WSMON_CLASS_HEAP;
	if (!strcmp(m->name, "[stack]"))
		return WSMON_CLASS_STACK;
	return WSMON_CLASS_ANON;
}

/* Mappings of the kernel's own pages, of devices, and without access are left alone */
static bool forbidden(const struct maps *m)
{
	return !strncmp(m->name, "[v", 2) || !(m->prot & ~MAPS_SHARED) ||
	       (!strncmp(m->name, "/dev/", 5) && strncmp(m->name, "/dev/shm/", 9) &&
		strncmp(m->name, "/dev/zero", 9));
}

static int add_mapping(struct act_process *p, const struct maps *m,
		       __u64 *data_end)
{
	struct mapping *more = array_more(p->mapping, p->nr, sizeof(*more));

	if (!more)
		return -ENOMEM;
	p->mapping = more;
	p->mapping[p->nr++] = (struct mapping) {
		.start = m->start,
		.end = m->end,
		.class = forbidden(m) ? 0 : 1U << classify(p, m, data_end),
	};
	return 0;
}

/* Reading smaps is slow, and few processes lock memory: ask status first */
static bool has_locked(const struct act_process *p)
{
	__u64 bytes = 0;

	read_numbers(open_file(p, "status"), &(struct key_number) { "VmLck", &bytes }, 1);
	return bytes;
}

static void mark_locked(struct act_process *p)
{
	unsigned long long from = 0, to = 0, start, end;
	FILE *f = patient_file(p->pid, p->proc, "smaps");
	char *line = NULL;
	size_t size = 0, i;

	while (f && getline(&line, &size, f) >= 0) {
		if (sscanf(line, "%llx-%llx ", &start, &end) == 2) {
			from = start;
			to = end;
		} else if (!strncmp(line, "VmFlags:", 8) && strstr(line, " lo")) {
			for (i = 0; i < p->nr; i++)
				if (p->mapping[i].start < to &&
				    p->mapping[i].end > from)
					p->mapping[i].locked = true;
		}
	}
	free(line);
	if (f)
		fclose(f);
}

int process_maps(struct act_process *p)
{
	__u64 began = clock_now(), data_end = 0, took;
	struct maps m = { 0 };
	int err = 0;

	if (began < p->stale_ns)
		return 0;
	p->nr = 0;
	m.file = patient_file(p->pid, p->proc, "maps");
	if (!m.file)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && maps_next(&m))
		err = add_mapping(p, &m, &data_end);
	if (!err && ferror(m.file))
		err = errno == ETIMEDOUT ? -errno : -ESRCH;
	maps_close(&m);
	if (!err && has_locked(p))
		mark_locked(p);
	took = clock_now() - began;
	p->stale_ns = began + took + (took > MAPS_FRESH ? took : MAPS_FRESH);
	return err;
}

const struct mapping *process_mapping(const struct act_process *p, __u64 addr)
{
	size_t low = 0, high = p->nr;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (p->mapping[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < p->nr ? &p->mapping[low] : NULL;
}

/* Does a huge page begin at this entry? The zero page and smaller folios do not count. */
static bool is_huge(int flags, __u64 entry)
{
	__u64 kpf[HUGE_PAGES], pfn = entry & PM_PFN;
	size_t i;

	if (!(entry & PM_PRESENT) || !pfn || pfn % HUGE_PAGES ||
	    pread(flags, kpf, sizeof(kpf), pfn * sizeof(*kpf)) != sizeof(kpf) ||
	    (kpf[0] & (KPF_THP | KPF_HEAD | KPF_ZERO)) != (KPF_THP | KPF_HEAD))
		return false;
	for (i = 1; i < HUGE_PAGES; i++)
		if (!(kpf[i] & KPF_TAIL))
			return false;
	return true;
}

static __u64 huge_bytes(int flags, const __u64 *entry, __u64 start, size_t nr)
{
	__u64 page = sysconf(_SC_PAGESIZE), bytes = 0;
	size_t i, step = ACT_HUGE / page;

	for (i = -(start / page) % step; i + step <= nr; i += step)
		if (is_huge(flags, entry[i]))
			bytes += ACT_HUGE;
	return bytes;
}

int process_resident(struct act_process *p, __u64 start, __u64 end, bool huge,
		     struct resident *r)
{
	static __u64 entry[ENTRIES];
	__u64 page = sysconf(_SC_PAGESIZE), at = 0;
	int flags = huge ? open(KPAGEFLAGS, O_RDONLY | O_CLOEXEC) : -1;
	int err = 0;
	ssize_t n;
	size_t i;

	*r = (struct resident){ 0 };
	if (!p->pagemap)
		p->pagemap = patient_open(p->pid, p->proc, "pagemap");
	if (!p->pagemap)
		err = -errno;
	while (!err && start < end) {
		size_t want = (end - start) / page < ENTRIES ?
			      (end - start) / page : ENTRIES;

		n = patient_pread(p->pagemap, entry, want * sizeof(*entry),
				  start / page * sizeof(*entry),
				  p->ahead / page * sizeof(*entry));
		/* the file is empty if the address space is gone */
		if (n <= 0) {
			err = n ? -errno : -ESRCH;
			break;
		}
		n /= sizeof(*entry);
		for (i = 0; i < (size_t)n; i++, at++) {
			if (entry[i] & PM_PRESENT) {
				r->bytes += page;
			} else if (entry[i] & PM_SWAPPED) {
				r->swapped += page;
				if (at < 64 * ACT_BLOCK_WORDS)
					r->out[at / 64] |= 1ULL << at % 64;
			}
		}
		if (flags >= 0)
			r->huge += huge_bytes(flags, entry, start, n);
		start += n * page;
	}
	if (flags >= 0)
		close(flags);
	return err;
}

static int advice_of(enum wsmon_action action)
{
	switch (action) {
	case WSMON_ACT_PAGEOUT:
		return MADV_PAGEOUT;
	case WSMON_ACT_COLD:
		return MADV_COLD;
	case WSMON_ACT_WILLNEED:
		return MADV_WILLNEED;
	case WSMON_ACT_HUGEPAGE:
		return MADV_COLLAPSE;
	default:
		return -1;
	}
}

/* Max. wait for an action: it takes the mmap lock, and may wait for a slow disk */
#define ACT_MS		10000

struct advice {
	int advice, err;
	size_t nr;
	struct iovec iov[32 * ACT_BLOCK_WORDS];	/* at most a range for every two pages */
};

static void ask_advice(void *data, int pidfd)
{
	struct advice *a = data;

	/* it succeeds if the first of several ranges was advised; the others may be left out */
	a->err = syscall(SYS_process_madvise, pidfd, a->iov, a->nr, a->advice, 0) < 0 ? -errno : 0;
}

static int advise(const struct act_process *p, struct advice *a)
{
	const struct question q = {
		.ask = ask_advice, .pid = p->pid, .fd = p->pidfd, .ms = ACT_MS,
	};

	return patience_ask(&q, a, offsetof(struct advice, iov[a->nr])) ? a->err : -ETIMEDOUT;
}

int process_may(const struct act_process *p, enum wsmon_action action)
{
	struct advice a = { .advice = advice_of(action) };

	if (action == WSMON_ACT_NOHUGEPAGE)
		return access(SPLIT_FILE, W_OK) ? -errno : 0;
	return a.advice < 0 ? 0 : advise(p, &a);
}

/* debugfs' split_huge_pages takes a pid, not a pidfd */
struct split {
	struct act_process p;
	__u64 start, end;
	int err;
};

static void ask_split(void *data, int pidfd)
{
	struct split *s = data;
	char text[96];
	int fd, len;

	len = snprintf(text, sizeof(text), "%u,%#llx,%#llx", s->p.pid, s->start, s->end);
	fd = open(SPLIT_FILE, O_WRONLY | O_CLOEXEC);
	s->p.pidfd = pidfd;
	if (fd < 0)
		s->err = -errno;
	else if (!process_alive(&s->p))
		s->err = -ESRCH;
	else if (write(fd, text, len) != len)
		s->err = -errno;
	if (fd >= 0)
		close(fd);
}

static int split(const struct act_process *p, __u64 start, __u64 end)
{
	const struct question q = {
		.ask = ask_split, .pid = p->pid, .fd = p->pidfd, .ms = ACT_MS,
	};
	struct split s = { .p = *p, .start = start, .end = end };

	return patience_ask(&q, &s, sizeof(s)) ? s.err : -ETIMEDOUT;
}

/* Cuts the pages of @keep out of a range; Return: number of parts left */
static size_t cut(struct iovec *iov, __u64 start, __u64 end, const __u64 *keep)
{
	__u64 page = sysconf(_SC_PAGESIZE), at, bit;
	bool open = false;
	size_t nr = 0;

	for (at = start; at < end; at += page) {
		bit = at % ACT_BLOCK / page;
		if (keep[bit / 64] >> bit % 64 & 1) {
			open = false;
			continue;
		}
		if (!open)
			iov[nr++] = (struct iovec){ .iov_base = (void *)(uintptr_t)at };
		iov[nr - 1].iov_len += page;
		open = true;
	}
	return nr;
}

int process_advise(const struct act_process *p, enum wsmon_action action,
		   __u64 start, __u64 end, const __u64 *keep)
{
	struct advice a = {
		.advice = advice_of(action), .nr = 1,
		.iov[0] = { .iov_base = (void *)(uintptr_t)start, .iov_len = end - start },
	};

	switch (action) {
	case WSMON_ACT_STAT:
		return 0;
	case WSMON_ACT_NOHUGEPAGE:
		return split(p, start, end);
	default:
		if (keep)
			a.nr = cut(a.iov, start, end, keep);
		return a.nr ? advise(p, &a) : 0;
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * act_target.c - a process to act on: its mappings, its page tables, advice
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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
#include "live/cgroup.h"
#include "live/patience.h"
#include "live/procfs.h"

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

	*p = (struct act_process){ .pid = pid, .proc = -1, .pagemap = -1, .claim = -1 };
	p->pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (p->pidfd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	p->proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->proc < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	/* if it is still alive, the directory is of the same process */
	return process_alive(p) ? 0 : -ESRCH;
}

/*
 * Only users who may read a process's memory can open its pagemap. While the file is open its
 * inode stays the same, whatever the process executes.
 */
int process_claim(struct act_process *p)
{
	p->claim = openat(p->proc, "pagemap", O_RDONLY | O_CLOEXEC);
	return p->claim < 0 || flock(p->claim, LOCK_EX | LOCK_NB) ? -errno : 0;
}

void process_exec(struct act_process *p)
{
	if (p->pagemap >= 0)
		close(p->pagemap);
	p->pagemap = -1;
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
	*p = (struct act_process){ .pid = p->pid, .pidfd = -1, .proc = -1,
				   .pagemap = -1, .claim = -1 };
}

bool process_alive(const struct act_process *p)
{
	struct pollfd fd = { .fd = p->pidfd, .events = POLLIN };

	return p->pidfd >= 0 && !poll(&fd, 1, 0);
}

static FILE *open_file(const struct act_process *p, const char *name)
{
	int fd = openat(p->proc, name, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f && fd >= 0)
		close(fd);
	return f;
}

char *process_cgroup(const struct act_process *p)
{
	return cgroup_read(open_file(p, "cgroup"));
}

bool process_swap(const struct act_process *p, char **cgroup)
{
	char *path = process_cgroup(p);

	*cgroup = NULL;
	if (path && !cgroup_swap_left(path))
		*cgroup = path;
	else
		free(path);
	return !*cgroup;
}

struct system_of {
	char file[32];
	bool tmpfs;
};

static void ask_system(void *data)
{
	struct system_of *s = data;
	struct statfs fs;

	s->tmpfs = statfs(s->file, &fs) || fs.f_type == TMPFS_MAGIC;
}

/* Is the mapped file on a tmpfs? Shared anonymous memory is, too. */
static bool on_tmpfs(const struct act_process *p, __u64 start, __u64 end)
{
	/* file systems asked before, by device number */
	static struct { __u64 dev; bool known, tmpfs; } last[16];
	struct system_of s = { .tmpfs = false };
	struct statx st = { 0 };
	char path[64];
	__u64 dev, i;
	int fd;

	snprintf(path, sizeof(path), "map_files/%llx-%llx", start, end);
	fd = openat(p->proc, path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return true;
	/* with DONT_SYNC this does not ask a server, and cannot hang */
	statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st);
	dev = (__u64)st.stx_dev_major << 32 | st.stx_dev_minor;
	i = dev % ARRAY_SIZE(last);
	if (!last[i].known || last[i].dev != dev) {
		/* a file system that does not answer is no tmpfs */
		snprintf(s.file, sizeof(s.file), "/proc/%d/fd/%d", getpid(), fd);
		patience_ask(ask_system, &s, sizeof(s));
		patience_end();
		last[i].dev = dev;
		last[i].known = true;
		last[i].tmpfs = s.tmpfs;
	}
	close(fd);
	return last[i].tmpfs;
}

/*
 * Sorts a mapping as the module does (Documentation/reference/abi.rst); @data_end: end of the
 * last .data, which .bss follows
 */
static enum wsmon_class classify(const struct act_process *p,
				 const struct maps *m, __u64 *data_end)
{
	if (strstr(m->name, "hugepage"))
		return WSMON_CLASS_HUGETLB;
	if (m->prot & MAPS_EXEC)
		return WSMON_CLASS_TEXT;
	if (m->prot & MAPS_SHARED)
		return !m->inode || on_tmpfs(p, m->start, m->end) ?
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
	FILE *f = open_file(p, "smaps");
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
	m.file = open_file(p, "maps");
	if (!m.file)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && maps_next(&m))
		err = add_mapping(p, &m, &data_end);
	if (!err && ferror(m.file))
		err = -ESRCH;
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

/* Does a huge page begin there? The zero page and smaller folios do not count. */
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
	if (p->pagemap < 0)
		p->pagemap = openat(p->proc, "pagemap", O_RDONLY | O_CLOEXEC);
	if (p->pagemap < 0)
		err = -errno;
	while (!err && start < end) {
		size_t want = (end - start) / page < ENTRIES ?
			      (end - start) / page : ENTRIES;

		n = pread(p->pagemap, entry, want * sizeof(*entry),
			  start / page * sizeof(*entry));
		/* the file of an address space that is gone is empty */
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

static int advise(const struct act_process *p, const struct iovec *iov,
		  size_t nr, int advice)
{
	/* it advises all of one range or fails, e.g. with ENOMEM; of several at least the first */
	return syscall(SYS_process_madvise, p->pidfd, iov, nr, advice, 0) < 0 ?
	       -errno : 0;
}

int process_may(const struct act_process *p, enum wsmon_action action)
{
	int advice = advice_of(action);

	if (action == WSMON_ACT_NOHUGEPAGE)
		return access(SPLIT_FILE, W_OK) ? -errno : 0;
	return advice < 0 ? 0 : advise(p, NULL, 0, advice);
}

/* debugfs' split_huge_pages takes a pid, not a pidfd */
static int split(const struct act_process *p, __u64 start, __u64 end)
{
	char text[96];
	int fd, len, err = 0;

	len = snprintf(text, sizeof(text), "%u,%#llx,%#llx", p->pid, start, end);
	fd = open(SPLIT_FILE, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!process_alive(p))
		err = -ESRCH;
	else if (write(fd, text, len) != len)
		err = -errno;
	close(fd);
	return err;
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
	/* at most every second page begins a part */
	struct iovec iov[32 * ACT_BLOCK_WORDS] = {
		{ .iov_base = (void *)(uintptr_t)start, .iov_len = end - start },
	};
	size_t nr = 1;

	switch (action) {
	case WSMON_ACT_STAT:
		return 0;
	case WSMON_ACT_NOHUGEPAGE:
		return split(p, start, end);
	default:
		if (keep)
			nr = cut(iov, start, end, keep);
		return nr ? advise(p, iov, nr, advice_of(action)) : 0;
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * contents.c - what memory of the targets contains: copies of pages chosen at random
 *
 * Not of memory that is locked or kept out of dumps, nor of processes whose cgroup must not swap: it
 * may be secret.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "contents.h"
#include "session/cgroup.h"
#include "session/procfs.h"

/* Mappings of a target to choose of, and attempts at a page in memory */
#define MAPPINGS	4096
#define TRIES		(16 * CONTENTS_PAGES)
#define PAGEMAP_PRESENT	(1ULL << 63)

/* Fewer pages say nothing */
#define FEW		16

static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

void contents_fill(char *mem, size_t bytes)
{
	__u64 x = clock_now() | 1, *word = (__u64 *)(void *)mem;
	size_t i;

	for (i = 0; i < bytes / sizeof(*word); i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		word[i] = i / 64 % 2 ? x : i;
	}
}

/* Private memory that has no file, its pages counted from 0 on */
struct pool {
	__u32 pid;
	int pagemap;
	size_t nr;
	__u64 pages;
	struct {
		unsigned long start;
		__u64 first;
	} mapping[MAPPINGS];
};

static void pool_open(struct pool *pool, __u32 pid)
{
	char path[32], line[PATH_MAX + 128], perms[5];
	unsigned long start = 0, end, inode;
	__u64 pages = 0;
	FILE *f;

	*pool = (struct pool) { .pid = pid };
	pid = proc_thread(pid);
	snprintf(path, sizeof(path), "/proc/%u/pagemap", pid);
	pool->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%u/smaps", pid);
	f = fopen(path, "re");
	while (f && pool->nr < MAPPINGS && fgets(line, sizeof(line), f)) {
		unsigned long from;

		if (sscanf(line, "%lx-%lx %4s %*s %*s %lu", &from, &end, perms, &inode) == 4) {
			start = from;
			pages = inode || strcmp(perms, "rw-p") ? 0 : (end - start) / page_size();
		}
		/* a mapping's last line */
		if (!pages || strncmp(line, "VmFlags:", 8) || strstr(line, " lo") ||
		    strstr(line, " dd") || strstr(line, " wf"))
			continue;
		pool->mapping[pool->nr].start = start;
		pool->mapping[pool->nr++].first = pool->pages;
		pool->pages += pages;
	}
	if (f)
		fclose(f);
}

/*
 * Copy a page of the pool. Return: false if it is not in memory, or may not be read, or is filled
 * with one word: it was not used yet, and is not refaulted
 */
static bool pool_copy(const struct pool *pool, char *to, __u64 page)
{
	struct iovec local = { to, page_size() }, remote = { NULL, page_size() };
	size_t low = 0, high = pool->nr;
	unsigned long addr;
	__u64 entry;

	while (high - low > 1) {
		size_t mid = (low + high) / 2;

		if (pool->mapping[mid].first > page)
			high = mid;
		else
			low = mid;
	}
	addr = pool->mapping[low].start + (page - pool->mapping[low].first) * page_size();
	if (pread(pool->pagemap, &entry, sizeof(entry), addr / page_size() * sizeof(entry)) !=
	    sizeof(entry) || !(entry & PAGEMAP_PRESENT))
		return false;
	remote.iov_base = (char *)addr;
	return process_vm_readv(pool->pid, &local, 1, &remote, 1, 0) == (ssize_t)page_size() &&
	       memcmp(to, to + sizeof(long), page_size() - sizeof(long));
}

bool contents_copy(char *mem, const struct pids *pids, bool *forbidden)
{
	static struct pool pool;
	size_t page = page_size(), n = 0, i, tries;
	size_t nr = pids->nr < CONTENTS_TARGETS ? pids->nr : CONTENTS_TARGETS;
	unsigned short seed[3] = { 1 };

	for (i = 0; i < nr; i++) {
		size_t until = CONTENTS_PAGES * (i + 1) / nr;

		if (cgroup_swap_forbidden(pids->pid[i])) {
			*forbidden = true;
			continue;
		}
		pool_open(&pool, pids->pid[i]);
		for (tries = 0; pool.pages && tries < TRIES / nr && n < until; tries++)
			n += pool_copy(&pool, mem + n * page, erand48(seed) * pool.pages);
		if (pool.pagemap >= 0)
			close(pool.pagemap);
	}
	for (i = n; n >= FEW && i < CONTENTS_PAGES; i++)
		memcpy(mem + i * page, mem + i % n * page, page);
	return n >= FEW;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * refault.c - how long a refault takes on this machine
 *
 * A MiB of anonymous memory and one of a file are paged out, then accessed page by page, in an
 * order that no readahead foresees. Only accesses that had to wait for a page count: the
 * kernel's count of major faults says which. One may read pages around its own, too. What room
 * for them costs is the time that paging out took. It was paged out in one go, as reclaim does it.
 *
 * How long compressed swap takes depends on the contents. So the memory gets those of pages of
 * the targets, chosen at random; but not what they lock or keep out of dumps: that may be secret.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "refault.h"

#define PAGES		256
#define ROUNDS		4
/* Where one fault reads many pages, more rounds are needed */
#define ROUNDS_MAX	64
/* Coprime to PAGES: each page once, none beside the one before */
#define STRIDE		89

/* No round begins later, and none pages in for longer */
#define TIME_MAX	(200 * NSEC_PER_MSEC)

/* Fewer say nothing */
#define SAMPLES_MIN	16
#define SAMPLES_GOOD	64

/* Targets to choose pages of, mappings of each, and attempts at a page that is in memory */
#define TARGETS		16
#define MAPPINGS	4096
#define TRIES		(16 * PAGES)
#define PAGEMAP_PRESENT	(1ULL << 63)

#define DIRECTORY	"/var/tmp"
#define TMPFS		0x01021994
#define RAMFS		0x858458f6

/**
 * struct samples - what was measured of a kind
 * @ns:		times of refaults, @nr of them
 * @reclaim_ns:	time to page out, of @reclaimed pages
 * @read:	how many of these were read again
 */
struct samples {
	__u64 ns[PAGES * ROUNDS];
	size_t nr;
	__u64 reclaim_ns;
	__u64 reclaimed;
	__u64 read;
};

static long major_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_majflt;
}

static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

/* Half of it compresses well, half not at all */
static void fill(char *mem, size_t bytes)
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

/* Copy a page of the pool. Return: false if it is not in memory, or may not be read */
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
	return process_vm_readv(pool->pid, &local, 1, &remote, 1, 0) == (ssize_t)page_size();
}

/* Copy pages of the targets, chosen at random. Return: were there enough? */
static bool copy_contents(char *mem, const struct pids *pids)
{
	static struct pool pool;
	size_t page = page_size(), n = 0, i, tries;
	size_t nr = pids->nr < TARGETS ? pids->nr : TARGETS;
	unsigned short seed[3] = { 1 };

	for (i = 0; i < nr; i++) {
		size_t until = PAGES * (i + 1) / nr;

		pool_open(&pool, pids->pid[i]);
		for (tries = 0; pool.pages && tries < TRIES / nr && n < until; tries++)
			n += pool_copy(&pool, mem + n * page, erand48(seed) * pool.pages);
		if (pool.pagemap >= 0)
			close(pool.pagemap);
	}
	for (i = n; n >= SAMPLES_MIN && i < PAGES; i++)
		memcpy(mem + i * page, mem + i % n * page, page);
	return n >= SAMPLES_MIN;
}

static void touch(const volatile char *mem, struct samples *s)
{
	__u64 end_ns = clock_now() + TIME_MAX;
	size_t page = page_size(), i;

	for (i = 0; i < PAGES && s->nr < PAGES * ROUNDS && clock_now() < end_ns; i++) {
		long major = major_faults();
		__u64 ns = clock_now();

		(void)mem[i * STRIDE % PAGES * page];
		ns = clock_now() - ns;
		if (major_faults() > major)
			s->ns[s->nr++] = ns;
	}
}

/* How many of the pages are not in memory */
static size_t absent(char *mem)
{
	unsigned char in[PAGES];
	size_t i, n = 0;

	if (mincore(mem, PAGES * page_size(), in))
		return 0;
	for (i = 0; i < PAGES; i++)
		n += !(in[i] & 1);
	return n;
}

/* @fd: of the file that @mem is of, or -1 */
static void measure(char *mem, int fd, struct samples *s)
{
	__u64 end_ns = clock_now() + TIME_MAX, ns;
	size_t bytes = PAGES * page_size(), round, out, still;

	for (round = 0; round < (s->nr < SAMPLES_GOOD ? ROUNDS_MAX : ROUNDS) &&
	     clock_now() < end_ns; round++) {
		ns = clock_now();
		if (fd < 0)
			madvise(mem, bytes, MADV_PAGEOUT);
		else
			/* mapped pages stay */
			madvise(mem, bytes, MADV_DONTNEED);
		if (fd >= 0)
			posix_fadvise(fd, 0, bytes, POSIX_FADV_DONTNEED);
		s->reclaim_ns += clock_now() - ns;
		out = absent(mem);
		touch(mem, s);
		still = absent(mem);
		s->reclaimed += out;
		/* a slow disk leaves time for few */
		s->read += out - (still < out ? still : out);
	}
}

static int compare(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* @what: is paged out */
static void summarise(struct samples *s, struct wsmon_rec_refault *rec, char *text, const char *what)
{
	double sum = 0, squares = 0, mean;
	size_t i;

	if (s->nr < SAMPLES_MIN) {
		snprintf(text, REFAULT_NAME, s->reclaimed < SAMPLES_MIN ?
			 "%s is not paged out here" : "of %s only %zu pages had to be read",
			 what, s->nr);
		return;
	}
	for (i = 0; i < s->nr; i++) {
		sum += s->ns[i];
		squares += (double)s->ns[i] * s->ns[i];
	}
	mean = sum / s->nr;
	qsort(s->ns, s->nr, sizeof(*s->ns), compare);
	rec->refaults = s->nr;
	rec->median_ns = s->ns[s->nr / 2];
	rec->mean_ns = mean;
	rec->half_ns = 1.96 * sqrt(fmax(0, squares / s->nr - mean * mean) / s->nr);
	if (s->reclaimed)
		rec->reclaim_ns = (double)s->reclaim_ns / s->reclaimed * s->read / s->nr;
}

/* A word from a file in /sys, "" without it */
static const char *sys_word(char *word, size_t size, const char *path)
{
	FILE *f = fopen(path, "re");

	*word = '\0';
	if (f && fgets(word, size, f))
		word[strcspn(word, "\n")] = '\0';
	if (f)
		fclose(f);
	return word;
}

/* " on sda2, rotating"; nothing if it is no block device */
static void device_name(dev_t dev, char *name, size_t size)
{
	char path[64], link[PATH_MAX], word[8];
	ssize_t len;

	*name = '\0';
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	len = readlink(path, link, sizeof(link) - 1);
	if (len <= 0)
		return;
	link[len] = '\0';
	snprintf(name, size, " on %.32s", strrchr(link, '/') ? strrchr(link, '/') + 1 : link);
	strcat(path, "/queue/rotational");
	if (access(path, F_OK))
		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../queue/rotational",
			 major(dev), minor(dev));
	if (*sys_word(word, sizeof(word), path) == '1')
		strcat(name, ", rotating");
}

/* What is swapped to first; Return: false without swap */
static bool swap_name(char *text)
{
	char line[512], path[256], best[256] = "", device[64], word[8];
	FILE *f = fopen("/proc/swaps", "re");
	int priority, highest = INT_MIN;
	struct stat st;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%255s %*s %*u %*u %d", path, &priority) != 2 ||
		    priority < highest)
			continue;
		highest = priority;
		strcpy(best, path);
	}
	if (f)
		fclose(f);
	if (!*best)
		return false;
	*device = '\0';
	if (!stat(best, &st))
		device_name(S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev, device, sizeof(device));
	snprintf(text, REFAULT_NAME, "%s%.24s%s",
		 *sys_word(word, sizeof(word), "/sys/module/zswap/parameters/enabled") == 'Y' ?
		 "zswap before " : "", best, device);
	return true;
}

static void measure_swap(struct wsmon_rec_refault *rec, char *text, const struct pids *pids)
{
	static struct samples s;
	size_t bytes = PAGES * page_size();
	char *mem;

	if (!swap_name(text)) {
		strcpy(text, "there is no swap");
		return;
	}
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED) {
		strcpy(text, "no memory");
		return;
	}
	madvise(mem, bytes, MADV_NOHUGEPAGE);
	if (copy_contents(mem, pids))
		strncat(text, ", contents of the targets", REFAULT_NAME - 1 - strlen(text));
	else
		fill(mem, bytes);
	measure(mem, -1, &s);
	munmap(mem, bytes);
	summarise(&s, rec, text, "memory");
}

/* Return: a file that is gone when it is closed, or -1 */
static int open_file(void)
{
	char name[] = DIRECTORY "/wsmo-XXXXXX";
	int fd = open(DIRECTORY, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	/* not all file systems have such files */
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	return fd;
}

static bool fill_file(int fd, size_t bytes)
{
	char *data = need(malloc(bytes));
	bool done;

	fill(data, bytes);
	done = write(fd, data, bytes) == (ssize_t)bytes && !fsync(fd);
	free(data);
	return done;
}

static void measure_file(struct wsmon_rec_refault *rec, char *text)
{
	static struct samples s;
	size_t bytes = PAGES * page_size();
	int fd = open_file();
	char device[64];
	struct statfs fs;
	struct stat st;
	char *mem;

	if (fd < 0 || fstatfs(fd, &fs) || fstat(fd, &st)) {
		snprintf(text, REFAULT_NAME, "no file in %s: %s", DIRECTORY, strerror(errno));
	} else if (fs.f_type == TMPFS || fs.f_type == RAMFS) {
		strcpy(text, DIRECTORY " is in memory");
	} else if (!fill_file(fd, bytes)) {
		snprintf(text, REFAULT_NAME, "%s: %s", DIRECTORY, strerror(errno));
	} else {
		mem = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
		if (mem != MAP_FAILED) {
			measure(mem, fd, &s);
			munmap(mem, bytes);
		}
		device_name(st.st_dev, device, sizeof(device));
		snprintf(text, REFAULT_NAME, "%s%s", DIRECTORY, device);
		summarise(&s, rec, text, "a file in " DIRECTORY);
	}
	if (fd >= 0)
		close(fd);
}

void refaults_measure(struct refaults *r, const struct pids *pids)
{
	__u32 i;

	for (i = 0; i < REFAULT_KINDS; i++)
		r->rec[i] = (struct wsmon_rec_refault) {
			.rec = { .type = WSMON_REC_REFAULT, .size = sizeof(r->rec[i]) }, .kind = i,
		};
	measure_swap(&r->rec[WSMON_REFAULT_SWAP], r->text[WSMON_REFAULT_SWAP], pids);
	measure_file(&r->rec[WSMON_REFAULT_FILE], r->text[WSMON_REFAULT_FILE]);
}

void refaults_report(const struct refaults *r)
{
	static const char * const kinds[REFAULT_KINDS] = { "from swap", "of a file" };
	char mean[UNITS_LEN], half[UNITS_LEN];
	size_t i;

	for (i = 0; i < REFAULT_KINDS; i++) {
		const struct wsmon_rec_refault *rec = &r->rec[i];

		if (rec->refaults)
			msg("a refault %s takes %s, +/- %s (%s)", kinds[i],
			    units_time(mean, rec->mean_ns + rec->reclaim_ns),
			    units_time(half, rec->half_ns), r->text[i]);
		else
			msg("what a refault %s takes was not measured: %s", kinds[i], r->text[i]);
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * refault.c - measures the time of a refault on this machine
 *
 * A child process, in a memory cgroup with a limit, accesses random pages of a file, then of
 * anonymous memory; each is four times as large as the limit. The kernel's count of major faults is
 * the number of times that the child waited for a page. The time of all accesses, divided by this
 * number, is the time of a refault: reading the page and the pages around it, and reclaiming memory
 * for them, as under any limit.
 *
 * The time of compressed swap depends on the contents, so the memory is filled with copies of pages
 * of the targets.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cgroup.h"
#include "core/cli.h"
#include "core/clock.h"
#include "core/files.h"
#include "libwsmon/stats.h"
#include "libwsmon/wsmon_records.h"
#include "patience.h"
#include "procfs.h"
#include "refault.h"

/*
 * Contents of the targets' memory: copies of random pages
 *
 * Memory may be secret if it is locked or kept out of dumps, or if the cgroup of its process must
 * not swap. Such memory is not copied.
 */

/* Max. mappings of a target from which pages are chosen, and attempts to find a page in memory */
#define MAPPINGS	4096
#define TRIES		(16 * CONTENTS_PAGES)
#define PAGEMAP_PRESENT	(1ULL << 63)

/* Use copied contents only if at least this many pages were copied */
#define FEW		16

static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

/* Fill memory with made-up contents: one half compresses well, the other not at all */
static void contents_fill(char *mem, size_t bytes)
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

/* Private memory without a file; its pages are numbered from 0 */
struct pool {
	struct patient *pagemap, *mem;
	size_t nr;
	__u64 pages;
	struct {
		unsigned long start;
		__u64 first;
	} mapping[MAPPINGS];
};

static void pool_open(struct pool *pool, __u32 pid)
{
	char path[32], *name, line[PATH_MAX + 128], perms[5];
	unsigned long start = 0, end, inode;
	__u64 pages = 0;
	FILE *f;

	memset(pool, 0, sizeof(*pool));
	name = path + snprintf(path, sizeof(path), "/proc/%u/", proc_thread(pid));
	strcpy(name, "smaps");
	f = patient_file(pid, -1, path);
	while (f && pool->nr < MAPPINGS && fgets(line, sizeof(line), f)) {
		unsigned long from;

		if (sscanf(line, "%lx-%lx %4s %*s %*s %lu", &from, &end, perms, &inode) == 4) {
			start = from;
			pages = inode || strcmp(perms, "rw-p") ? 0 : (end - start) / page_size();
		}
		/* VmFlags is the last line of a mapping; lo: locked, dd: not dumped, wf: wiped */
		if (!pages || strncmp(line, "VmFlags:", 8) || strstr(line, " lo") ||
		    strstr(line, " dd") || strstr(line, " wf"))
			continue;
		pool->mapping[pool->nr].start = start;
		pool->mapping[pool->nr++].first = pool->pages;
		pool->pages += pages;
	}
	if (f)
		fclose(f);
	strcpy(name, "pagemap");
	pool->pagemap = patient_open(pid, -1, path);
	strcpy(name, "mem");
	pool->mem = patient_open(pid, -1, path);
}

static void pool_close(struct pool *pool)
{
	patient_close(pool->pagemap);
	patient_close(pool->mem);
}

/*
 * Copy a page of the pool. Return: false if the page is not in memory or cannot be read, or if one
 * word fills it: such a page was not used yet, and will not be refaulted
 */
static bool pool_copy(const struct pool *pool, char *to, __u64 page)
{
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
	if (patient_pread(pool->pagemap, &entry, sizeof(entry), addr / page_size() * sizeof(entry), 0) !=
	    sizeof(entry) || !(entry & PAGEMAP_PRESENT))
		return false;
	return patient_pread(pool->mem, to, page_size(), addr, 0) == (ssize_t)page_size() &&
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
		for (tries = 0; pool.pages && pool.pagemap && pool.mem && tries < TRIES / nr && n < until; tries++)
			n += pool_copy(&pool, mem + n * page, erand48(seed) * pool.pages);
		pool_close(&pool);
	}
	for (i = n; n >= FEW && i < CONTENTS_PAGES; i++)
		memcpy(mem + i * page, mem + i % n * page, page);
	return n >= FEW;
}

/* The measurement */

/*
 * Size of the memory, and of the file. The limit of the cgroup is a quarter of it; with zswap three
 * quarters, because compressed pages are charged to the cgroup, too
 */
#define BYTES		(16 << 20)

/* Max. times to access, to fill the memory, and of the child (in seconds): a disk may be slow */
#define TIME_MAX	(200 * NSEC_PER_MSEC)
#define FILL_MAX	NSEC_PER_SEC
#define TIMEOUT		10

/* Min. and max. number of samples. Their variance is that of the means of BATCHES batches */
#define SAMPLES_MIN	64
#define SAMPLES_MAX	4096
#define BATCHES		16

#define DIRECTORY	"/var/tmp"
#define TMPFS		0x01021994
#define RAMFS		0x858458f6

/**
 * struct samples - measurements of a kind of refaults
 * @ns:		for each of @nr refaults: the time of all accesses since the last refault
 * @seed:	state of erand48()
 * @unmapped:	for a file: share of the cgroup's file pages that are not mapped
 * @full:	the limit was reached, so faults from then on are refaults
 * @done:	the measurement ran to its end
 */
struct samples {
	__u64 ns[SAMPLES_MAX];
	size_t nr;
	unsigned short seed[3];
	double unmapped;
	bool full;
	bool done;
};

static long major_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_majflt;
}

static void touch(const volatile char *mem, size_t pages, struct samples *s, __u64 max_ns)
{
	__u64 end_ns = clock_now() + max_ns, sum = 0, ns;

	while (s->nr < SAMPLES_MAX && clock_now() < end_ns) {
		size_t page = erand48(s->seed) * pages;
		long major = major_faults();

		ns = clock_now();
		(void)mem[page * page_size()];
		sum += clock_now() - ns;
		if (major_faults() > major) {
			s->ns[s->nr++] = sum;
			sum = 0;
		}
	}
}

/* Did the cgroup reach its limit? */
static bool is_full(const char *path)
{
	return cgroup_key(path, "memory.events", "max");
}

/*
 * Accesses pages until the cgroup is full, then measures. Runs in the child, as do the functions
 * below, up to touch_memory(). @path: the child's cgroup
 */
static void measure_full(const char *path, const char *mem, size_t pages, struct samples *s)
{
	__u64 end_ns = clock_now() + FILL_MAX;

	while (!(s->full = is_full(path)) && clock_now() < end_ns) {
		touch(mem, pages, s, TIME_MAX / 10);
		s->nr = 0;
	}
	if (s->full)
		touch(mem, pages, s, TIME_MAX);
	s->done = true;
}

/* Return: the share of the cgroup's file pages that are not mapped */
static double unmapped(const char *path)
{
	__u64 file = cgroup_key(path, "memory.stat", "file");
	__u64 mapped = cgroup_key(path, "memory.stat", "file_mapped");

	return mapped && mapped < file ? 1 - (double)mapped / file : 0;
}

static void touch_file(const char *path, int fd, struct samples *s)
{
	char *mem = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);

	if (mem == MAP_FAILED)
		return;
	measure_full(path, mem, BYTES / page_size(), s);
	s->unmapped = unmapped(path);
	munmap(mem, BYTES);
}

/* Measures refaults from swap. @contents: CONTENTS_PAGES pages */
static void touch_memory(const char *path, const char *contents, struct samples *s)
{
	size_t page = page_size(), n;
	__u64 end_ns = clock_now() + FILL_MAX;
	char *mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		return;
	madvise(mem, BYTES, MADV_NOHUGEPAGE);
	for (n = 0; n < BYTES / page && clock_now() < end_ns; n++)
		memcpy(mem + n * page, contents + n % CONTENTS_PAGES * page, page);
	measure_full(path, mem, n, s);
}

/* Computes the result; if there is none, @text gets the reason. @what: the swap area or file */
static void summarise(struct samples *s, struct wsmon_rec_refault *rec, char *text, const char *what)
{
	double sum = 0, squares = 0, mean;
	size_t i, k;

	if (!s->done) {
		snprintf(text, REFAULT_NAME, "the measuring process was killed");
		return;
	}
	if (s->nr < SAMPLES_MIN) {
		snprintf(text, REFAULT_NAME, s->full ? "of %s only %zu pages had to be read again" :
			 "%s is too slow, or is not paged out", what, s->nr);
		return;
	}
	for (i = 0; i < BATCHES; i++) {
		size_t from = i * s->nr / BATCHES, to = (i + 1) * s->nr / BATCHES;
		double batch = 0;

		for (k = from; k < to; k++)
			batch += s->ns[k];
		batch /= to - from;
		sum += batch;
		squares += batch * batch;
	}
	mean = sum / BATCHES;
	rec->mean_ns = mean;
	rec->half_ns = student(0.05, BATCHES - 1) *
		       sqrt(fmax(0, squares / BATCHES - mean * mean) / (BATCHES - 1));
	qsort(s->ns, s->nr, sizeof(*s->ns), order_u64);
	rec->refaults = s->nr;
	rec->unmapped = s->unmapped * WSMON_SHARE_ONE;
	rec->median_ns = s->ns[s->nr / 2];
}

/* Does a file in /sys begin with this letter? */
static bool sys_is(const char *path, char letter)
{
	char word[8];

	read_text(AT_FDCWD, path, word, sizeof(word));
	return *word == letter;
}

/* Gets a text such as " on sda2, rotating"; "" if @dev is no block device */
static void device_name(dev_t dev, char *name, size_t size)
{
	char path[64], link[PATH_MAX];
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
	if (sys_is(path, '1'))
		strcat(name, ", rotating");
}

static bool zswap(void)
{
	return sys_is("/sys/module/zswap/parameters/enabled", 'Y');
}

/* Names the swap area with the highest priority. Return: false without swap */
static bool swap_name(char *text)
{
	char line[512], path[256], best[256] = "", device[64];
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
		 zswap() ? "zswap before " : "", best, device);
	return true;
}

/* Return: a file that is deleted when it is closed, or -1 */
static int open_file(void)
{
	char name[] = DIRECTORY "/wsmo-XXXXXX";
	int fd = open(DIRECTORY, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	/* not all file systems support O_TMPFILE */
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	return fd;
}

static bool fill_file(int fd, size_t bytes)
{
	char *data = need(malloc(bytes));
	bool done;

	contents_fill(data, bytes);
	/* errno for a short write(), which sets none */
	errno = ENOSPC;
	done = write(fd, data, bytes) == (ssize_t)bytes && !fsync(fd);
	free(data);
	return done;
}

/* Return: a file to read; -1: @text gets the reason */
static int prepare_file(char *text)
{
	int fd = open_file();
	struct statfs fs;
	char device[64];
	struct stat st;

	if (fd < 0 || fstatfs(fd, &fs) || fstat(fd, &st)) {
		snprintf(text, REFAULT_NAME, "no file in %s: %s", DIRECTORY, strerror(errno));
	} else if (fs.f_type == TMPFS || fs.f_type == RAMFS) {
		strcpy(text, DIRECTORY " is in memory");
	} else if (!fill_file(fd, BYTES)) {
		snprintf(text, REFAULT_NAME, "%s: %s", DIRECTORY, strerror(errno));
	} else {
		/* drop the pages: then they are charged to the cgroup, which reads them next */
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		device_name(st.st_dev, device, sizeof(device));
		snprintf(text, REFAULT_NAME, "%s%s", DIRECTORY, device);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Return: true if swap can be measured. @text gets the name of the swap area, or the reason */
static bool prepare_swap(char *contents, const struct pids *pids, char *text)
{
	const char *contents_of = NULL;
	bool forbidden = false;
	struct sysinfo info;

	if (!swap_name(text)) {
		strcpy(text, "there is no swap");
		return false;
	}
	if (sysinfo(&info) || (__u64)info.freeswap * info.mem_unit < BYTES) {
		strcpy(text, "swap is full");
		return false;
	}
	if (contents_copy(contents, pids, &forbidden))
		contents_of = forbidden ? ", contents of targets that may swap" : ", contents of the targets";
	else
		contents_fill(contents, CONTENTS_PAGES * page_size());
	strncat(text, contents_of ?: forbidden ? ", made-up contents: the targets may not swap" : "",
		REFAULT_NAME - 1 - strlen(text));
	return true;
}

static int put(const char *path, const char *name, const char *value)
{
	char *file = cgroup_file(path, name);
	int fd = open(file, O_WRONLY | O_CLOEXEC), err = fd < 0 ? -errno : 0;

	free(file);
	if (fd < 0)
		return err;
	if (write(fd, value, strlen(value)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* The child. @path: its cgroup; @contents NULL: do not measure swap; @fd -1: do not measure a file */
static void work(const char *path, const char *contents, int fd, struct samples *s)
{
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* end even if a disk does not answer */
	alarm(TIMEOUT);
	/* other processes should take little of the measured time */
	setpriority(PRIO_PROCESS, 0, -20);
	put(path, "cpu.weight", "10000");
	err = put(path, "cgroup.procs", "0");
	if (err)
		_exit(-err);
	if (fd >= 0)
		touch_file(path, fd, &s[WSMON_REFAULT_FILE]);
	if (contents)
		touch_memory(path, contents, &s[WSMON_REFAULT_SWAP]);
	_exit(0);
}

/* Return: exit status of a child; 0 if it was killed; -errno if there is no child */
static int wait_for(pid_t pid)
{
	int status;

	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* Create the cgroup, measure in it, and remove it. Return: 0, or errno if it cannot be created */
static int measure(const char *path, size_t limit, const char *contents, int fd, struct samples *s)
{
	char text[32], *dir = cgroup_file(path, "");
	int err, tries;
	pid_t pid;

	/* remove the cgroup of a killed process that had the same pid */
	rmdir(dir);
	err = mkdir(dir, 0700) ? errno : 0;
	if (!err) {
		snprintf(text, sizeof(text), "%zu", limit);
		err = -put(path, "memory.max", text);
		pid = err ? 0 : fork();
		if (!err && !pid)
			work(path, contents, fd, s);
		if (!err)
			err = abs(wait_for(pid));
		/* a process stays in its cgroup for a moment after its end: try again */
		for (tries = 0; rmdir(dir) && errno == EBUSY && tries < 100; tries++)
			nanosleep(&(struct timespec) { .tv_nsec = NSEC_PER_MSEC }, NULL);
	}
	free(dir);
	return err;
}

void refaults_measure(struct refaults *r, const struct pids *pids)
{
	static const char * const names[REFAULT_KINDS] = { "memory", "a file in " DIRECTORY };
	struct samples *s = mmap(NULL, REFAULT_KINDS * sizeof(*s), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *contents = need(malloc(CONTENTS_PAGES * page_size()));
	char (*text)[REFAULT_NAME] = r->text;
	int fd, err = 0;
	char path[32];
	bool swap;
	pid_t pid;
	__u32 i;

	for (i = 0; i < REFAULT_KINDS; i++)
		r->rec[i] = (struct wsmon_rec_refault) {
			.rec = { .type = WSMON_REC_REFAULT, .size = sizeof(r->rec[i]) }, .kind = i,
		};
	fd = prepare_file(text[WSMON_REFAULT_FILE]);
	swap = prepare_swap(contents, pids, text[WSMON_REFAULT_SWAP]);
	snprintf(path, sizeof(path), "/wsmo-%d", getpid());
	if (s == MAP_FAILED) {
		err = ENOMEM;
	} else if (swap || fd >= 0) {
		/* a child measures, so that the cgroup is removed even if wsmo is killed */
		pid = fork();
		if (!pid)
			_exit(measure(path, zswap() ? BYTES / 4 * 3 : BYTES / 4,
				      swap ? contents : NULL, fd, s));
		err = wait_for(pid);
	}
	for (i = 0; i < REFAULT_KINDS; i++) {
		if (i == WSMON_REFAULT_SWAP ? !swap : fd < 0)
			continue;
		if (err)
			snprintf(text[i], REFAULT_NAME, "no memory cgroup can be made: %s",
				 err == ENOENT ? "no memory controller, or it is not enabled for all cgroups" :
				 strerror(abs(err)));
		else
			summarise(&s[i], &r->rec[i], text[i], names[i]);
	}
	if (s != MAP_FAILED)
		munmap(s, REFAULT_KINDS * sizeof(*s));
	if (fd >= 0)
		close(fd);
	free(contents);
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
			    units_time(mean, rec->mean_ns),
			    units_time(half, rec->half_ns), r->text[i]);
		else
			msg("the time of a refault %s was not measured: %s", kinds[i], r->text[i]);
	}
}

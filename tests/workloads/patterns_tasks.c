// SPDX-License-Identifier: GPL-2.0
/* Patterns of several threads or processes, and of a file. */
#include <alloca.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patterns.h"

#define CGROUPS		"/sys/fs/cgroup"

/* A thread with a stack of its own. */
struct thread {
	struct job *job;
	size_t index;
};

static unsigned int threads_ready;

/*
 * Uses @size bytes of the stack, and the part between them and the top: the
 * caller's frames and the thread's descriptor, which are only read. Nothing is
 * called while the stack is deep, so no page below is touched.
 */
static __attribute__((noinline)) void dig(struct job *job, size_t i)
{
	size_t page = sysconf(_SC_PAGESIZE), size = job->opts.hot;
	struct place *stack = &job->track.places[i];
	int64_t now = now_ns();
	uintptr_t array, at;

	track_mark_place(&job->track, i);
	array = (uintptr_t)alloca(size - page);
	stack->start = array / page * page;
	*(volatile int64_t *)array = now;
	for (at = stack->start + page; at < array + size - page; at += page)
		*(volatile int64_t *)at = now;
	for (; at < stack->end; at += page)
		*(volatile char *)at;
}

static void *stack_thread(void *arg)
{
	struct thread *thread = arg;
	struct job *job = thread->job;
	bool hot = chosen(&job->opts, thread->index, job->opts.count);

	dig(job, thread->index);
	__atomic_add_fetch(&threads_ready, 1, __ATOMIC_RELEASE);
	for (int64_t next = now_ns(); !stopped;) {
		if (!hot) {
			pause();
			continue;
		}
		next += job->opts.period;
		sleep_until(next);
		dig(job, thread->index);
	}
	return NULL;
}

static void setup_stacks(struct job *job)
{
	const struct options *opts = &job->opts;
	size_t page = sysconf(_SC_PAGESIZE);
	struct thread *threads = calloc(opts->count, sizeof(*threads));
	char *map;

	if (!threads)
		err(EXIT_FAILURE, "threads");
	if (opts->size < opts->hot + 16 * page)
		usage_error("--hot does not fit into a stack of --size");
	map = map_buffer(opts->count * opts->size, page, false);
	job->range = range(map, opts->count * opts->size);
	track_places(&job->track, opts->count);
	for (size_t i = 0; i < opts->count; i++) {
		char *stack = map + i * opts->size;
		pthread_attr_t attr;
		pthread_t id;
		int error;

		threads[i] = (struct thread){ job, i };
		job->track.places[i] = range(stack, opts->size);
		/* a guard, which also keeps the stacks from being one mapping */
		if (mprotect(stack, page, PROT_NONE))
			err(EXIT_FAILURE, "mprotect");
		pthread_attr_init(&attr);
		pthread_attr_setstack(&attr, stack + page, opts->size - page);
		error = pthread_create(&id, &attr, stack_thread, &threads[i]);
		if (error)
			errx(EXIT_FAILURE, "thread %zu: %s", i, strerror(error));
	}
	while (__atomic_load_n(&threads_ready, __ATOMIC_ACQUIRE) < opts->count)
		sleep_until(now_ns() + MS);
}

/* The second process has its own truth; it ends with the first. */
static void start_second(struct job *job)
{
	uint64_t overhead = job->truth.overhead;
	pid_t parent = getpid();
	char *file = NULL;

	if (job->opts.hot * 5 / 2 > job->opts.size)
		usage_error("--hot is too large a part of --size");
	if (job->opts.truth && asprintf(&file, "%s.child", job->opts.truth) < 0)
		err(EXIT_FAILURE, "asprintf");
	job->other = fork();
	if (job->other < 0)
		err(EXIT_FAILURE, "fork");
	if (job->other)
		return;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	job->child = true;
	job->opts.length = 0;
	truth_start(&job->truth, file);
	job->truth.overhead = overhead;
	if (getppid() != parent)
		stopped = true;
}

static void finish_second(struct job *job)
{
	int status;

	if (job->child)
		return;
	kill(job->other, SIGTERM);
	if (waitpid(job->other, &status, 0) != job->other || status)
		errx(EXIT_FAILURE, "the second process failed");
}

static void setup_shared(struct job *job)
{
	const struct options *opts = &job->opts;
	char *map = mmap(NULL, opts->size + HUGE_PAGE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		err(EXIT_FAILURE, "mapping %zu bytes", opts->size);
	map = (char *)round_up((uintptr_t)map, HUGE_PAGE);
	if (opts->thp && madvise(map, opts->size, MADV_HUGEPAGE))
		err(SKIPPED, "madvise");
	job->huge = opts->thp;
	job->range = range(map, opts->size);
	track_pieces(&job->track, map, opts->size, opts->thp ? HUGE_PAGE : CHUNK, 1);
	start_second(job);
	/* each process has to map the pages by itself */
	track_touch(&job->track, 0, opts->size, STORE);
}

static void shared(struct job *job, int64_t elapsed)
{
	size_t hot = job->opts.hot;

	(void)elapsed;
	if (job->child)
		track_touch(&job->track, round_up(hot / 2, CHUNK), 2 * hot, STORE);
	else
		track_touch(&job->track, 0, hot, STORE);
}

static void setup_fork(struct job *job)
{
	const struct options *opts = &job->opts;
	char *map = map_buffer(opts->size, HUGE_PAGE, false);

	job->range = range(map, opts->size);
	track_pieces(&job->track, map, opts->size, CHUNK, 1);
	track_touch(&job->track, 0, opts->size, STORE);
	start_second(job);
}

static void cow(struct job *job, int64_t elapsed)
{
	size_t hot = job->opts.hot;

	(void)elapsed;
	if (job->child) {
		track_touch(&job->track, round_up(hot / 2, CHUNK), hot, LOAD);
		track_touch(&job->track, 2 * hot, round_up(hot / 2, CHUNK), STORE);
	} else {
		track_touch(&job->track, 0, hot, STORE);
	}
}

static bool put(const char *dir, const char *file, const char *text)
{
	char path[256];
	int fd;
	bool done;

	snprintf(path, sizeof(path), CGROUPS "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return done;
}

static void own_cgroup(char *name, size_t size)
{
	snprintf(name, size, "/patterns-%d", (int)getpid());
}

/* Move to a memory cgroup (v2) of its own, so that it has to give up pages. */
static void limit_memory(size_t limit)
{
	char name[32], path[64], text[32];

	own_cgroup(name, sizeof(name));
	snprintf(path, sizeof(path), CGROUPS "%s", name);
	snprintf(text, sizeof(text), "%zu", limit);
	if (!put("", "cgroup.subtree_control", "+memory") || mkdir(path, 0755))
		err(SKIPPED, "no memory cgroup in " CGROUPS);
	if (!put(name, "memory.max", text) || !put(name, "cgroup.procs", "0"))
		err(EXIT_FAILURE, "%s", path);
}

static void finish_file(struct job *job)
{
	char name[32], path[64];

	if (!job->opts.limit)
		return;
	own_cgroup(name, sizeof(name));
	snprintf(path, sizeof(path), CGROUPS "%s", name);
	if (!put("", "cgroup.procs", "0") || rmdir(path))
		warn("%s", path);
}

/*
 * A fault maps all pages of the 64 KiB around it that are in the page cache, so
 * pieces have that size. Without readahead no other pages get mapped.
 */
static void setup_file(struct job *job)
{
	const struct options *opts = &job->opts;
	char *map;

	if (!opts->file)
		usage_error("--file is missing");
	job->fd = open(opts->file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (job->fd < 0 || ftruncate(job->fd, opts->size))
		err(EXIT_FAILURE, "%s", opts->file);
	if (opts->limit)
		limit_memory(opts->limit);
	map = mmap(NULL, opts->size, PROT_READ, MAP_SHARED, job->fd, 0);
	if (map == MAP_FAILED || madvise(map, opts->size, MADV_RANDOM))
		err(EXIT_FAILURE, "mapping %s", opts->file);
	job->range = range(map, opts->size);
	track_pieces(&job->track, map, opts->size, CHUNK, 1);
}

static void read_chunk(struct job *job, size_t at)
{
	posix_fadvise(job->fd, at, CHUNK, POSIX_FADV_WILLNEED);
	track_touch(&job->track, at, CHUNK, LOAD);
}

static void file(struct job *job, int64_t elapsed)
{
	const struct options *opts = &job->opts;
	size_t chunks = (double)opts->rate * opts->period / NSEC_PER_SEC / CHUNK + 0.5;

	(void)elapsed;
	for (size_t at = 0; at < opts->hot; at += CHUNK)
		read_chunk(job, at);
	for (; chunks && opts->size > opts->hot; chunks--) {
		read_chunk(job, opts->hot + job->done);
		job->done = (job->done + CHUNK) % (opts->size - opts->hot);
	}
}

const struct pattern shared_patterns[] = {
	{ "stacks", "--count threads with stacks of --size bytes; --percent of them use\n"
	  "--hot bytes again and again, the others once",
	  USES_HOT | USES_COUNT | USES_PERCENT,
	  { .size = 8 * MIB, .hot = MIB / 4, .count = 64, .percent = 50,
	    .period = 100 * MS },
	  .setup = setup_stacks },
	{ "shared", "two processes with the same memory: one uses its first --hot bytes\n"
	  "(H), the other 2 H from H/2 on",
	  USES_HOT | USES_THP | TWO_PROCESSES,
	  { .size = 256 * MIB, .hot = 64 * MIB, .period = 100 * MS },
	  .setup = setup_shared, .round = shared, .finish = finish_second },
	{ "fork", "a process writes the first H bytes (--hot) of what it populated; its\n"
	  "child reads H from H/2 on and writes H/2 from 2 H on",
	  USES_HOT | TWO_PROCESSES,
	  { .size = 256 * MIB, .hot = 64 * MIB, .period = 100 * MS },
	  .setup = setup_fork, .round = cow, .finish = finish_second },
	{ "file", "reads the first --hot bytes of a mapped file again and again, and --rate\n"
	  "bytes a second of the rest once; at most --limit bytes are resident",
	  USES_HOT | USES_RATE | USES_LIMIT | USES_FILE,
	  { .size = GIB, .hot = 32 * MIB, .rate = 16 * MIB, .period = 100 * MS },
	  .setup = setup_file, .round = file, .finish = finish_file },
	{ }
};

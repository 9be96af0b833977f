// SPDX-License-Identifier: GPL-2.0
/*
 * tree.c WORKERS OWN SHARED FILE COPIED WRITTEN USERS LIVES_MS IDLE - a tree of processes
 *
 * Every 50 ms each worker uses, in MiB: OWN of private memory; COPIED of memory that the parent
 * filled before it forked, of which the worker has written WRITTEN; the first USERS workers
 * also SHARED of a memfd, and FILE of a file (argument 10). IDLE is used only once. With LIVES_MS
 * workers live for so long, and new ones follow. When all have filled their memory, prints the
 * memory in use by all together, in KiB; the programs themselves use a little more.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB	((size_t)1 << 20)

static size_t own, shared, file, copied, written, idle;
static char *shared_mem, *file_mem, *copied_mem;
static volatile unsigned long sink;
static pid_t parent;
/* each of the first workers writes a byte once it has filled its memory */
static int filled[2];

static char *map(size_t size, int flags, int fd)
{
	char *p;

	if (!size)
		return NULL;
	p = mmap(NULL, size, PROT_READ | (flags & MAP_PRIVATE && fd >= 0 ? 0 : PROT_WRITE),
		 flags | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	madvise(p, size, MADV_NOHUGEPAGE);
	return p;
}

static void use(const volatile char *p, size_t size)
{
	for (size_t i = 0; i < size; i += 4096)
		sink += p[i];
}

static void fill(char *p, size_t size)
{
	for (size_t i = 0; i < size; i += 4096)
		p[i] = 1;
}

static void worker(int nr, int users, long lives_ms)
{
	struct timespec pause = { 0, 50000000 };
	char *mem = map(own, MAP_PRIVATE, -1);
	char *once = map(idle, MAP_PRIVATE, -1);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* the parent may have been killed before prctl() */
	if (getppid() != parent)
		_exit(0);
	fill(copied_mem, written);
	fill(once, idle);
	/* two mappings, whose pages have one anon_vma */
	fill(mem, own);
	madvise(mem, own / 2, MADV_DONTDUMP);
	if (write(filled[1], "", 1) != 1)
		_exit(1);
	for (long ms = 0; !lives_ms || ms < lives_ms; ms += 50) {
		fill(mem, own);
		if (nr < users) {
			use(shared_mem, shared);
			use(file_mem, file);
		}
		use(copied_mem, copied);
		nanosleep(&pause, NULL);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int workers = atoi(argv[1]), users = atoi(argv[7]), nr = 0, fd;
	long lives_ms = atol(argv[8]);

	(void)argc;
	parent = getpid();
	own = atof(argv[2]) * MIB;
	shared = atof(argv[3]) * MIB;
	file = atof(argv[4]) * MIB;
	copied = atof(argv[5]) * MIB;
	written = atof(argv[6]) * MIB;
	idle = atof(argv[9]) * MIB;
	fd = memfd_create("tree", 0);
	if (ftruncate(fd, shared))
		return 1;
	shared_mem = map(shared, MAP_SHARED, fd);
	if (file)
		file_mem = map(file, MAP_PRIVATE, open(argv[10], O_RDONLY));
	copied_mem = map(copied, MAP_PRIVATE, -1);
	fill(copied_mem, copied);
	/* a byte on standard input: the monitor has begun */
	if (!getchar() || pipe(filled))
		return 1;
	for (; nr < workers; nr++) {
		if (!fork())
			worker(nr, users, lives_ms);
	}
	for (int i = 0; i < workers; i++) {
		if (read(filled[0], &(char){ 0 }, 1) != 1)
			return 1;
	}
	printf("%zu\n", (workers * own + (users ? shared + file : 0) +
			 (workers ? copied - written : 0) + workers * written) / 1024);
	fflush(stdout);
	for (;; nr++) {
		if (wait(NULL) < 0)
			pause();
		else if (!fork())
			worker(nr % workers, users, lives_ms);
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * kinds - processes and memory that tools easily get wrong, each with its known truth
 *
 *	kinds KIND [SECS]	be one of that kind for SECS (3600)
 *	kinds --list		list the kinds
 *
 * Unless its line says otherwise, a kind touches USED bytes of memory each 50 ms, and has
 * touched IDLE bytes once. When it has, it prints
 *
 *	ready pid=PID used=BYTES resident=BYTES slack=BYTES
 *
 * PID is the process to watch, in the namespace of the caller. "resident" is the minimum in
 * memory by /proc, for all its processes together; 0: not known. Text, stack and libc of the
 * program come on top: less than "slack". Later, if a busy machine keeps it from running:
 *
 *	late ms=MS
 *
 * Exit status: 0; 2 usage; 4 this kernel lacks the kind, and a sentence says why.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define KIB(n) ((size_t)(n) << 10)
#define MIB(n) ((size_t)(n) << 20)
#define PAGE 4096UL
#define USED MIB(8)
#define IDLE MIB(16)
#define HUGE MIB(2)
#ifndef SLACK_MIB
#define SLACK_MIB 1
#endif
/* Two passes within a sampling interval; not more: in an emulator each pass fills the TLB anew */
#define PASS_MS 50

static void cannot(const char *why)
{
	printf("cannot: %s: %s\n", why, strerror(errno));
	exit(4);
}

static void *must_map(size_t size, int prot, int flags, int fd)
{
	void *p = mmap(NULL, size, prot, flags, fd, 0);

	if (p == MAP_FAILED)
		cannot("mmap");
	return p;
}

/* Anonymous memory of pages of 4 KiB: huge pages are kinds of their own */
static char *memory(size_t size)
{
	char *p = must_map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	madvise(p, size, MADV_NOHUGEPAGE);
	return p;
}

/* Memory at the address of a huge page */
static char *huge_memory(size_t size)
{
	char *p = must_map(size + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	return (char *)(((uintptr_t)p + HUGE - 1) & ~(HUGE - 1));
}

static void touch(volatile char *p, size_t size)
{
	for (size_t i = 0; i < size; i += PAGE)
		p[i]++;
}

static void look(const volatile char *p, size_t size)
{
	for (size_t i = 0; i < size; i += PAGE)
		(void)p[i];
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static size_t slack = MIB(SLACK_MIB);

static void ready_as(pid_t pid, size_t used, size_t resident)
{
	printf("ready pid=%d used=%zu resident=%zu slack=%zu\n", pid, used, resident, slack);
	fflush(stdout);
}

static void ready(size_t used, size_t resident)
{
	ready_as(getpid(), used, resident);
}

/*
 * Report a pass over the memory that ended this late: the truth may not hold, as there may be
 * a second in which not all memory was used
 */
#define LATE_MS	450

static void on_time(struct timespec *last)
{
	struct timespec now;
	long ms;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (now.tv_sec - last->tv_sec) * 1000 + (now.tv_nsec - last->tv_nsec) / 1000000;
	if (last->tv_sec && ms > LATE_MS) {
		printf("late ms=%ld\n", ms);
		fflush(stdout);
	}
	*last = now;
}

static void *work(void *p)
{
	struct timespec last = { 0 };

	for (;;) {
		touch(p, USED);
		on_time(&last);
		pause_ms(PASS_MS);
	}
	return NULL;
}

/* IDLE bytes that were used once, and USED bytes that are in use */
static char *usual(void)
{
	touch(memory(IDLE), IDLE);
	char *p = memory(USED);
	touch(p, USED);
	return p;
}

static void usual_work(void)
{
	char *p = usual();

	ready(USED, IDLE + USED);
	work(p);
}

static void rest(void)
{
	for (;;)
		pause();
}

static pthread_t thread(void *(*f)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, KIB(64));
	errno = pthread_create(&t, &attr, f, arg);
	if (errno)
		cannot("pthread_create");
	return t;
}

/* A process that dies with its parent */
static pid_t process(void (*f)(void))
{
	pid_t pid = fork();

	if (pid < 0)
		cannot("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		f();
		_exit(0);
	}
	return pid;
}

static void write_file(const char *path, const char *format, ...)
{
	FILE *f = fopen(path, "we");
	va_list args;

	if (!f)
		cannot(path);
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	if (fclose(f))
		cannot(path);
}

/* Processes */

static void leader_gone(void)
{
	thread(work, usual());
	ready(USED, IDLE + USED);
	pthread_exit(NULL);
}

static void child_works(void)
{
	work(usual());
}

static void children_before(void)
{
	process(child_works);
	pause_ms(500);
	ready(USED, IDLE + USED);
	rest();
}

/* Children use their own memory slowly, in a second, by at most a page each fault */
static void add_children(int nr)
{
	struct rusage all;

	getrusage(RUSAGE_CHILDREN, &all);
	slack += nr * (all.ru_minflt + all.ru_majflt) * PAGE;
}

static void exec_true(void)
{
	if (!vfork()) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	wait(NULL);
}

static void vforks(void)
{
	char *p = usual();

	exec_true();
	add_children(1000 / 100);
	thread(work, p);
	ready(USED, IDLE + USED);
	for (;;) {
		exec_true();
		pause_ms(100);
	}
}

static void nothing(void)
{
}

static void forks(void)
{
	char *p = usual();

	process(nothing);
	wait(NULL);
	add_children(1000 / PASS_MS);
	thread(work, p);
	ready(USED, IDLE + USED);
	for (;;) {
		process(nothing);
		wait(NULL);
		pause_ms(PASS_MS);
	}
}

static void *read_all(void *p)
{
	struct timespec last = { 0 };

	for (;;) {
		look(p, USED);
		on_time(&last);
		pause_ms(PASS_MS);
	}
	return NULL;
}

/* Memory that belongs to it and its child by turns */
static void shared_at_times(void)
{
	thread(read_all, usual());
	ready(USED, 0);
	for (;;) {
		pid_t pid = process(rest);

		pause_ms(1000);
		kill(pid, SIGKILL);
		wait(NULL);
		pause_ms(1000);
	}
}

/* Memory of a file, which stays while programs come and go */
#define EXECS_FD 100

static void execs_on(void)
{
	char *p = must_map(USED, PROT_READ | PROT_WRITE, MAP_SHARED, EXECS_FD);

	for (int i = 0; i < 3; i++) {
		touch(p, USED);
		pause_ms(15);
	}
	execl("/proc/self/exe", "kinds", "execs-on", NULL);
	cannot("exec");
}

static void execs(void)
{
	int fd = memfd_create("kinds", 0);

	if (fd < 0 || ftruncate(fd, USED) || dup2(fd, EXECS_FD) < 0)
		cannot("memfd_create");
	/* each program begins anew, and its libraries write to their data */
	slack += MIB(4);
	ready(USED, 0);
	execs_on();
}

/* SIGUSR1: another program gets the pid of the watched one */
static pid_t process_as(pid_t pid, void (*f)(void))
{
	struct clone_args args = {
		.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1,
	};
	long got = syscall(SYS_clone3, &args, sizeof(args));

	if (got < 0)
		cannot("clone3() with set_tid");
	if (!got) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		f();
	}
	return pid;
}

static void other_works(void)
{
	char *p = memory(IDLE);

	prctl(PR_SET_NAME, "other");
	for (;;) {
		touch(p, IDLE);
		pause_ms(PASS_MS);
	}
}

static void pid_reused(void)
{
	sigset_t set;
	pid_t pid;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pid = process(child_works);
	pause_ms(500);
	ready_as(pid, USED, IDLE + USED);
	sigwait(&set, &sig);
	kill(pid, SIGKILL);
	wait(NULL);
	process_as(pid, other_works);
	pause_ms(500);
	ready_as(pid, IDLE, IDLE);
	rest();
}

static void stopped(void)
{
	usual();
	ready(0, IDLE + USED);
	raise(SIGSTOP);
}

static void traced(void)
{
	pid_t pid = process(child_works);

	pause_ms(500);
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		cannot("ptrace");
	ready_as(pid, USED, IDLE + USED);
	rest();
}

static void not_dumpable(void)
{
	char *p = usual();

	if (setgid(65534) || setuid(65534))
		cannot("setuid");
	prctl(PR_SET_DUMPABLE, 0);
	ready(USED, IDLE + USED);
	work(p);
}

static void threads_4000(void)
{
	char *p = usual();

	for (int i = 0; i < 4000; i++)
		thread((void *(*)(void *))(void *)rest, NULL);
	/* and the stacks */
	ready(USED, 0);
	work(p);
}

static void named(const char *name)
{
	prctl(PR_SET_NAME, name);
	usual_work();
}

static void name_blank(void)
{
	named("a b\tc");
}

static void name_newline(void)
{
	named("a\nb");
}

static void name_bytes(void)
{
	named("\xff\xfe\x80");
}

static void name_override(void)
{
	named("a\xe2\x80\xae" "b\x1b[31m");
}

static void name_backslash(void)
{
	named("a\\x2d\\");
}

/* Namespaces */

static void in_namespace(int flags)
{
	pid_t pid;

	if (unshare(flags))
		cannot("unshare");
	pid = process(child_works);
	pause_ms(500);
	ready_as(pid, USED, IDLE + USED);
	rest();
}

static void ns_pid(void)
{
	in_namespace(CLONE_NEWPID);
}

static void ns_mount(void)
{
	in_namespace(CLONE_NEWNS);
}

static void ns_time(void)
{
	in_namespace(CLONE_NEWTIME);
}

static void ns_user(void)
{
	in_namespace(CLONE_NEWUSER);
}

/* A cgroup made by another user within a cgroup delegated to that user */
static void delegated(void)
{
	static const char *const files[] = { "", "/cgroup.procs", "/cgroup.subtree_control" };
	char path[2 * PATH_MAX], name[PATH_MAX];
	FILE *f = fopen("/proc/self/cgroup", "re");

	if (!f || fscanf(f, "0::%4095s", name) != 1)
		cannot("/proc/self/cgroup");
	fclose(f);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s%s", name, files[i]);
		if (chown(path, 65534, 65534))
			cannot(path);
	}
	if (setgid(65534) || setuid(65534))
		cannot("setuid");
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/own", name);
	if (mkdir(path, 0755))
		cannot(path);
	strcat(path, "/cgroup.procs");
	write_file(path, "0");
	usual_work();
}

static void in_chroot(void)
{
	char dir[] = "/tmp/kinds.XXXXXX";

	if (!mkdtemp(dir) || chroot(dir) || chdir("/"))
		cannot("chroot");
	usual_work();
}

/* Memory */

static void thp_fault(void)
{
	char *p = huge_memory(USED);

	touch(memory(IDLE), IDLE);
	if (madvise(p, USED, MADV_HUGEPAGE))
		cannot("MADV_HUGEPAGE");
	touch(p, USED);
	ready(USED, IDLE + USED);
	work(p);
}

/* Half of the memory is used, in small pages; then all of it is made huge, again and again */
static void collapse(void)
{
	char *p = huge_memory(IDLE + USED);

	madvise(p, IDLE + USED, MADV_NOHUGEPAGE);
	touch(p, IDLE + USED);
	pause_ms(1000);
	ready(USED, IDLE + USED);
	thread(work, p);
	pause_ms(1500);
	madvise(p, IDLE + USED, MADV_HUGEPAGE);
	for (size_t i = USED; i < IDLE + USED; i += HUGE) {
		madvise(p + i, HUGE, MADV_COLLAPSE);
		pause_ms(500);
	}
	rest();
}

static void khugepaged(void)
{
	char *p = huge_memory(IDLE + USED);

	write_file("/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs", "500");
	madvise(p, IDLE + USED, MADV_NOHUGEPAGE);
	touch(p, IDLE + USED);
	ready(USED, IDLE + USED);
	thread(work, p);
	pause_ms(1500);
	madvise(p, IDLE + USED, MADV_HUGEPAGE);
	rest();
}

static void mthp(void)
{
	char *p = huge_memory(USED);

	write_file("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled", "always");
	touch(memory(IDLE), IDLE);
	touch(p, USED);
	write_file("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled", "never");
	ready(USED, IDLE + USED);
	work(p);
}

static void shmem_huge(void)
{
	char dir[] = "/tmp/kinds.XXXXXX", path[64];
	char *p;
	int fd;

	if (!mkdtemp(dir) || unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", dir, "tmpfs", 0, "huge=always"))
		cannot("tmpfs with huge=always");
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, USED))
		cannot(path);
	p = mmap(huge_memory(USED), USED, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	touch(memory(IDLE), IDLE);
	touch(p, USED);
	ready(USED, IDLE + USED);
	work(p);
}

/* 8 MiB of equal pages, in two processes: merged to one page, or a few hundred */
static char *ksm_memory;

static void ksm_works(void)
{
	for (;;) {
		look(ksm_memory, USED);
		pause_ms(PASS_MS);
	}
}

static void ksm(void)
{
	write_file("/sys/kernel/mm/ksm/pages_to_scan", "10000");
	write_file("/sys/kernel/mm/ksm/sleep_millisecs", "20");
	write_file("/sys/kernel/mm/ksm/run", "1");
	ksm_memory = memory(USED);
	memset(ksm_memory, 42, USED);
	if (madvise(ksm_memory, USED, MADV_MERGEABLE))
		cannot("MADV_MERGEABLE");
	process(ksm_works);
	for (int i = 0; i < 100; i++) {
		FILE *f = fopen("/sys/kernel/mm/ksm/pages_sharing", "re");
		unsigned long nr = 0;

		if (!f || fscanf(f, "%lu", &nr) != 1)
			cannot("pages_sharing");
		fclose(f);
		if (nr > 2 * USED / PAGE * 95 / 100)
			break;
		pause_ms(200);
	}
	/* merged pages stay merged */
	write_file("/sys/kernel/mm/ksm/sleep_millisecs", "200");
	/* a shared page stands for at most 256 pages (ksm/max_page_sharing) */
	ready(2 * USED / 256, 0);
	ksm_works();
}

/* Memory that was read, but never written, is no memory */
static void zero_page(void)
{
	char *zero = memory(IDLE), *p = memory(USED);

	touch(p, USED);
	ready(USED, USED);
	for (;;) {
		look(zero, IDLE);
		touch(p, USED);
		pause_ms(PASS_MS);
	}
}

static void hugetlb(int flags)
{
	char *p;

	write_file("/proc/sys/vm/nr_hugepages", "24");
	p = must_map(USED + IDLE / 2, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_HUGETLB, -1);
	touch(p, USED + IDLE / 2);
	ready(USED, USED + IDLE / 2);
	work(p);
}

static void hugetlb_private(void)
{
	hugetlb(MAP_PRIVATE);
}

static void hugetlb_shared(void)
{
	hugetlb(MAP_SHARED);
}

/* The same pages of a file, mapped three times in one process */
static void memfd_thrice(void)
{
	int fd = memfd_create("kinds", MFD_CLOEXEC);
	char *p[3];

	if (fd < 0 || ftruncate(fd, USED))
		cannot("memfd_create");
	for (int i = 0; i < 3; i++)
		p[i] = must_map(USED, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	touch(memory(IDLE), IDLE);
	for (int i = 0; i < 3; i++)
		touch(p[i], USED);
	ready(USED, IDLE + USED);
	for (;;) {
		for (int i = 0; i < 3; i++)
			touch(p[i], USED);
		pause_ms(PASS_MS);
	}
}

static void lazily_freed(void)
{
	char *p = memory(IDLE);

	touch(p, IDLE);
	if (madvise(p, IDLE, MADV_FREE))
		cannot("MADV_FREE");
	p = usual();
	ready(USED, 0);
	work(p);
}

/* Swapped out: half of it comes back, and is in use */
static void swapped(void)
{
	char *p = memory(USED + IDLE);

	touch(p, USED + IDLE);
	if (madvise(p, USED + IDLE, MADV_PAGEOUT))
		cannot("MADV_PAGEOUT");
	touch(p, USED);
	/* without swap, all of it is still there */
	ready(USED, 0);
	work(p);
}

static void locked(void)
{
	char *p = usual();

	if (mlockall(MCL_CURRENT))
		cannot("mlockall");
	ready(USED, IDLE + USED);
	work(p);
}

static int uffd;

/* Fill each missing page */
static void *fill(void *unused)
{
	static char page[PAGE];
	struct uffd_msg msg;

	memset(page, 1, sizeof(page));
	while (read(uffd, &msg, sizeof(msg)) == sizeof(msg)) {
		struct uffdio_copy copy = {
			.dst = msg.arg.pagefault.address & ~(PAGE - 1),
			.src = (uintptr_t)page, .len = PAGE,
		};

		ioctl(uffd, UFFDIO_COPY, &copy);
	}
	return unused;
}

static void userfault(void)
{
	char *p = memory(IDLE + USED);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { (uintptr_t)p, IDLE + USED }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) || ioctl(uffd, UFFDIO_REGISTER, &reg))
		cannot("userfaultfd");
	thread(fill, NULL);
	touch(p, IDLE + USED);
	ready(USED, IDLE + USED);
	work(p);
}

static void secret(void)
{
	int fd = syscall(SYS_memfd_secret, O_CLOEXEC);
	char *p;

	if (fd < 0 || ftruncate(fd, USED))
		cannot("memfd_secret");
	p = mmap(NULL, USED, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		cannot("secret memory (RLIMIT_MEMLOCK)");
	touch(memory(IDLE), IDLE);
	touch(p, USED);
	ready(USED, IDLE + USED);
	work(p);
}

static void arena(void)
{
	must_map((size_t)20 << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	usual_work();
}

/* Every other page is read-only */
static void mappings_65000(void)
{
	char *p = memory(65000 * PAGE), *used = usual();

	for (size_t i = 0; i < 64000; i += 2) {
		if (mprotect(p + i * PAGE, PAGE, PROT_READ))
			cannot("mprotect");
	}
	ready(USED, IDLE + USED);
	work(used);
}

/* Memory that is mapped, used, and unmapped within the window, over and over */
static void unmapped(void)
{
	touch(memory(IDLE), IDLE);
	ready(USED, 0);
	for (;;) {
		char *p = memory(USED);

		for (int i = 0; i < 6; i++) {
			touch(p, USED);
			pause_ms(PASS_MS);
		}
		munmap(p, USED);
	}
}

static void deleted(void)
{
	char self[] = "/tmp/kinds.XXXXXX", command[PATH_MAX + 64], exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int fd = mkstemp(self);

	if (n < 0 || fd < 0)
		cannot("mkstemp");
	close(fd);
	exe[n] = '\0';
	snprintf(command, sizeof(command), "cp '%s' %s && chmod 755 %s", exe, self, self);
	if (system(command))
		cannot("cp");
	execl(self, self, "unlinked", NULL);
	cannot(self);
}

static void unlinked(void)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n < 0 ? 0 : n] = '\0';
	/* remove only files made by deleted() */
	if (!strncmp(exe, "/tmp/kinds.", 11))
		unlink(exe);
	usual_work();
}

static void many_sleep(void)
{
	char *p = usual();

	for (int i = 0; i < 2000; i++)
		process(rest);
	ready(USED, 0);
	work(p);
}

static const struct kind {
	const char *name;
	void (*be)(void);
	const char *what;
} kinds[] = {
	{ "plain", usual_work, "an ordinary process" },
	{ "leader-gone", leader_gone, "its main thread has exited" },
	{ "children-before", children_before, "a child that existed before does the work" },
	{ "vfork", vforks, "it starts programs by vfork() all the time" },
	{ "forks", forks, "it forks all the time" },
	{ "shared-at-times", shared_at_times, "reads memory that a child shares each other second" },
	{ "execs", execs, "it executes itself all the time, and uses one file" },
	{ "execs-on", execs_on, NULL },
	{ "pid-reused", pid_reused, "it ends, and another program gets its pid" },
	{ "stopped", stopped, "stopped by a signal: nothing is in use" },
	{ "traced", traced, "a debugger is attached" },
	{ "not-dumpable", not_dumpable, "changed its user, and is not dumpable" },
	{ "threads-4000", threads_4000, "4000 threads" },
	{ "sleepers-2000", many_sleep, "2000 children that sleep" },
	{ "name-blank", name_blank, "blanks in its name" },
	{ "name-newline", name_newline, "a newline in its name" },
	{ "name-bytes", name_bytes, "a name that is no UTF-8" },
	{ "name-override", name_override, "escapes and direction overrides in its name" },
	{ "name-backslash", name_backslash, "backslashes in its name" },
	{ "deleted", deleted, "its program file was removed" },
	{ "unlinked", unlinked, NULL },
	{ "ns-pid", ns_pid, "in a pid namespace" },
	{ "ns-mount", ns_mount, "in a mount namespace" },
	{ "ns-time", ns_time, "in a time namespace" },
	{ "ns-user", ns_user, "in a user namespace" },
	{ "delegated", delegated, "in a cgroup that another user made, and of that user" },
	{ "chroot", in_chroot, "its root is an empty directory" },
	{ "thp-fault", thp_fault, "huge pages from the first fault on" },
	{ "thp-collapse", collapse, "idle memory is made huge by MADV_COLLAPSE" },
	{ "thp-khugepaged", khugepaged, "idle memory is made huge by khugepaged" },
	{ "thp-64k", mthp, "folios of 64 KiB" },
	{ "thp-shmem", shmem_huge, "huge pages of tmpfs" },
	{ "ksm", ksm, "pages merged by KSM, two processes" },
	{ "zero-page", zero_page, "reads memory that was never written" },
	{ "hugetlb-private", hugetlb_private, "private hugetlb pages" },
	{ "hugetlb-shared", hugetlb_shared, "shared hugetlb pages" },
	{ "memfd-thrice", memfd_thrice, "one file mapped three times" },
	{ "madv-free", lazily_freed, "memory that is freed lazily" },
	{ "swapped", swapped, "some of its memory came back from swap" },
	{ "mlock", locked, "all of its memory is locked" },
	{ "userfaultfd", userfault, "its pages are filled by userfaultfd" },
	{ "secretmem", secret, "memfd_secret()" },
	{ "arena-20t", arena, "20 TiB reserved" },
	{ "mappings-65000", mappings_65000, "65,000 mappings" },
	{ "unmapped", unmapped, "maps, uses and unmaps memory within the window" },
};

int main(int argc, char **argv)
{
	const size_t nr = sizeof(kinds) / sizeof(*kinds);

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (size_t i = 0; i < nr; i++) {
			if (kinds[i].what)
				printf("%s\t%s\n", kinds[i].name, kinds[i].what);
		}
		return 0;
	}
	alarm(argc == 3 ? atoi(argv[2]) : 3600);
	for (size_t i = 0; argc > 1 && i < nr; i++) {
		if (!strcmp(kinds[i].name, argv[1]))
			kinds[i].be();
	}
	fprintf(stderr, "usage: kinds KIND [SECS], or kinds --list\n");
	return 2;
}

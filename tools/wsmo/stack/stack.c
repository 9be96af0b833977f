// SPDX-License-Identifier: GPL-2.0
/*
 * stack.c - wsmo-stack: takes the call stacks of a process's threads
 *
 * wsmo-stack is a separate program, because "wsmo record" must be small and must not wait.
 *
 * A thread is stopped only while its registers and a part of its stack are copied. The copy is
 * unwound while the thread runs. A child process stops the threads: when the child ends, for
 * whatever reason, the kernel releases all threads that it had stopped.
 */
#include <dirent.h>
#include <elf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/cli.h"
#include "core/clock.h"
#include "core/stack_request.h"
#include "libwsmon/util.h"
#include "libwsmon/wsmon_records.h"
#include "live/procfs.h"

/* Max. bytes of a thread's stack that are copied */
#define STACK_COPY	(256 << 10)

/**
 * struct stack_thread - copy of the registers and the stack of a thread
 * @tid:	the thread
 * @error:	0: copied; else errno
 * @comm:	name of the thread
 * @time_ns:	time of the copy (CLOCK_MONOTONIC)
 * @stopped_ns:	upper bound of the time for which the thread was stopped
 * @regs:	its registers
 * @sp:		its stack pointer: the address of @stack in the process
 * @bytes:	bytes of @stack that were copied
 * @stack:	the innermost part of its stack
 */
struct stack_thread {
	__u32 tid;
	__u32 error;
	char comm[WSMON_COMM_LEN];
	__u64 time_ns;
	__u64 stopped_ns;
	struct user_regs_struct regs;
	__u64 sp;
	size_t bytes;
	unsigned char stack[STACK_COPY];
};

/**
 * struct stack_threads - copies of threads of a process
 * @nr:		number of threads in @thread, whether copied or not
 * @total:	number of threads that the process has
 * @thread:	running threads first
 */
struct stack_threads {
	__u32 nr;
	__u32 total;
	struct stack_thread thread[STACK_THREADS];
};

#if defined(__x86_64__)

#define regs_pc(r)	((r)->rip)
#define regs_sp(r)	((r)->rsp)

/* In the order of the System V ABI for x86-64, figure 3.36 */
static inline bool regs_set(Dwfl_Thread *thread, const struct user_regs_struct *r)
{
	const Dwarf_Word regs[] = {
		r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp,
		r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15,
		r->rip,
	};

	return dwfl_thread_state_registers(thread, 0, 17, regs);
}

#elif defined(__aarch64__)

#define regs_pc(r)	((r)->pc)
#define regs_sp(r)	((r)->sp)

/* x0 to x30 and sp: DWARF for the Arm 64-bit Architecture, section 4.1 */
static inline bool regs_set(Dwfl_Thread *thread, const struct user_regs_struct *r)
{
	Dwarf_Word regs[32];
	int i;

	for (i = 0; i < 31; i++)
		regs[i] = r->regs[i];
	regs[31] = r->sp;
	dwfl_thread_state_register_pc(thread, r->pc);
	return dwfl_thread_state_registers(thread, 0, 32, regs);
}

#else
#error "the registers of this architecture are not known"
#endif

/* Copying registers and stacks, which stops each thread */

/* Wait this long for all threads of a process to stop, and for the child that copies them */
#define STOP_PATIENCE	NSEC_PER_SEC
#define GRAB_PATIENCE	(3 * NSEC_PER_SEC)

/* Wait this long for another recording to release a thread; a debugger keeps it for longer */
#define OTHERS_PATIENCE	(NSEC_PER_SEC / 10)

/*
 * Like waitid(), with a deadline
 * @how: flags of waitid()
 * Return: 1; 0 if the deadline is over; -1 if there is no such child
 */
static int wait_until(pid_t pid, siginfo_t *si, int how, __u64 deadline_ns)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (;;) {
		__u64 now = clock_now();
		struct timespec left;

		si->si_pid = 0;
		if (waitid(P_PID, pid, si, how | __WALL | WNOHANG))
			return -1;
		if (si->si_pid)
			return 1;
		if (now >= deadline_ns)
			return 0;
		left.tv_sec = (deadline_ns - now) / NSEC_PER_SEC;
		left.tv_nsec = (deadline_ns - now) % NSEC_PER_SEC;
		sigtimedwait(&set, NULL, &left);
	}
}

/* Return: 0 or errno */
static int copy_thread(struct stack_thread *t)
{
	struct iovec regs = { &t->regs, sizeof(t->regs) };
	struct iovec to = { t->stack, sizeof(t->stack) }, from = to;
	ssize_t n;

	if (ptrace(PTRACE_GETREGSET, t->tid, NT_PRSTATUS, &regs))
		return errno;
	/* a 32-bit program has smaller registers */
	if (regs.iov_len != sizeof(t->regs))
		return EOPNOTSUPP;
	t->sp = regs_sp(&t->regs);
	from.iov_base = (void *)(uintptr_t)t->sp;
	n = process_vm_readv(t->tid, &to, 1, &from, 1, 0);
	/* if the stack cannot be read, the program counter is still of use */
	t->bytes = n > 0 ? n : 0;
	return 0;
}

/* Return: 0 or errno */
static int seize(pid_t tid, __u64 deadline_ns)
{
	const struct timespec pause = { .tv_nsec = 200000 };

	while (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		if (errno != EPERM || clock_now() >= deadline_ns)
			return errno;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* Return: 0 or errno */
static int grab_thread(struct stack_thread *t, __u64 others_ns, __u64 deadline_ns)
{
	int res, sig, err;
	siginfo_t si;
	bool waits;

	err = seize(t->tid, others_ns);
	if (err)
		return err;
	/* a thread that waits for a disk, or for its child after vfork(), stops after the wait */
	waits = proc_thread_state(t->tid, t->tid) == 'D';
	t->time_ns = clock_now();
	if (ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL))
		return errno;
	/*
	 * The thread may be about to get a signal. Without WNOWAIT, waitid() would consume the
	 * signal, and it would be lost if this process were killed before PTRACE_DETACH.
	 */
	res = wait_until(t->tid, &si, WEXITED | WSTOPPED | WNOWAIT, deadline_ns);
	/* the kernel detaches the thread when this process ends */
	if (!res)
		return ETIMEDOUT;
	if (res < 0 || si.si_code != CLD_TRAPPED)
		return ESRCH;
	if (waits)
		t->time_ns = clock_now();
	err = copy_thread(t);
	sig = si.si_status >> 8 ? 0 : si.si_status;
	if (ptrace(PTRACE_DETACH, t->tid, NULL, sig) && !err)
		err = errno;
	t->stopped_ns = clock_now() - t->time_ns;
	return err;
}

static void __attribute__((noreturn)) grab_all(struct stack_threads *ts)
{
	const struct sched_param first = { .sched_priority = 1 };
	__u64 deadline_ns = clock_now() + STOP_PATIENCE;
	__u64 patience = OTHERS_PATIENCE;
	__u32 i;

	/* no other program may delay this process while a thread is stopped */
	sched_setscheduler(0, SCHED_FIFO, &first);
	for (i = 0; i < ts->nr; i++) {
		ts->thread[i].error = grab_thread(&ts->thread[i], clock_now() + patience,
						  deadline_ns);
		if (ts->thread[i].error == EPERM)
			patience = 0;
	}
	_exit(0);
}

/* Running threads first, then sleeping threads, then threads that cannot be stopped soon */
static int urgency(char state)
{
	return state == 'R' ? 0 : state == 'D' ? 2 : 1;
}

struct candidate {
	__u32 tid;
	int urgency;
};

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->urgency != y->urgency)
		return x->urgency - y->urgency;
	return COMPARE(x->tid, y->tid);
}

/* Return: 0 or errno */
static int choose_threads(struct stack_threads *ts, pid_t pid, __u32 max)
{
	struct candidate *c = NULL, *more;
	struct dirent *d;
	char path[64];
	__u32 i;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? ESRCH : errno;
	while ((d = readdir(dir))) {
		__u32 tid = strtoul(d->d_name, NULL, 10);

		/* a main thread that has exited is listed as long as other threads live */
		if (tid && strchr("ZX", proc_thread_state(pid, tid)))
			continue;
		more = tid ? reallocarray(c, ts->total + 1, sizeof(*c)) : NULL;
		if (!more)
			continue;
		c = more;
		c[ts->total++] = (struct candidate) {
			tid, urgency(proc_thread_state(pid, tid)),
		};
	}
	closedir(dir);
	if (c)
		qsort(c, ts->total, sizeof(*c), compare_candidates);
	ts->nr = ts->total < max ? ts->total : max;
	for (i = 0; i < ts->nr; i++) {
		ts->thread[i].tid = c[i].tid;
		proc_comm(c[i].tid, ts->thread[i].comm);
	}
	free(c);
	return ts->nr ? 0 : ESRCH;
}

static void fail_all(struct stack_threads *ts, int err)
{
	__u32 i;

	for (i = 0; i < ts->nr; i++)
		ts->thread[i].error = err;
}

/**
 * stack_grab() - copy registers and stacks of a process's threads
 * @ts:		gets the copies; in memory shared with child processes
 * @max:	maximum number of threads
 *
 * Context: SIGCHLD is blocked. Takes some seconds at most, whatever state the
 * threads are in.
 */
static void stack_grab(struct stack_threads *ts, pid_t pid, __u32 max)
{
	int err = choose_threads(ts, pid, max);
	siginfo_t si;
	__u32 i;
	pid_t child;

	if (err) {
		ts->nr = 1;
		ts->thread[0].tid = pid;
		ts->thread[0].error = err;
		return;
	}
	/* a thread that the child does not reach in time keeps this error */
	fail_all(ts, ETIMEDOUT);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		grab_all(ts);
	}
	if (child < 0) {
		fail_all(ts, errno);
		return;
	}
	if (!wait_until(child, &si, WEXITED, clock_now() + GRAB_PATIENCE)) {
		/* the child waits for a page to copy, perhaps on a disk that does not answer */
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	/* EPERM may also mean that the thread has ended, but is still listed */
	for (i = 0; i < ts->nr; i++)
		if (ts->thread[i].error == EPERM &&
		    strchr("ZX?", proc_thread_state(pid, ts->thread[i].tid)))
			ts->thread[i].error = ESRCH;
}

/*
 * Finding the calls in a copied stack, by libdwfl
 *
 * The tables for unwinding are in the mapped files. These are opened through map_files, because
 * the process may be in a container, or a file may have been replaced since it was mapped.
 */

/**
 * struct unwind - arguments of libdwfl's callbacks
 * @ts:		the copies of threads
 * @thread:	the thread that is unwound
 * @rec:	gets the frames of @thread
 */
struct unwind {
	const struct stack_threads *ts;
	const struct stack_thread *thread;
	struct wsmon_rec_stack *rec;
};

static pid_t unwound_pid;

/* Opens the file of the mapping that starts at an address. Return: fd or -1 */
static int open_mapped(__u64 start)
{
	char dir[64], name[32], path[512];
	struct dirent *d;
	int fd = -1;
	DIR *files;

	snprintf(dir, sizeof(dir), "/proc/%d/map_files", unwound_pid);
	snprintf(name, sizeof(name), "%llx-", start);
	files = opendir(dir);
	while (files && (d = readdir(files))) {
		if (strncmp(d->d_name, name, strlen(name)))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
		fd = open_regular(path, 0);
		break;
	}
	if (files)
		closedir(files);
	return fd;
}

static int find_elf(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
		    char **file_name, Elf **elf)
{
	int fd;

	if (*name != '/')
		return dwfl_linux_proc_find_elf(mod, data, name, base,
						file_name, elf);
	fd = open_mapped(base);
	if (fd < 0)
		fd = open_regular(name, 0);
	if (fd < 0)
		return -1;
	*file_name = strdup(name);
	return fd;
}

/* Debug information is not needed to unwind, and looking for it in other files may take seconds */
static int no_debuginfo(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **path)
{
	return -1;
}

static const Dwfl_Callbacks files = {
	.find_elf = find_elf,
	.find_debuginfo = no_debuginfo,
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	const struct unwind *u = arg;

	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return u->thread->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	*thread_arg = arg;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	const struct unwind *u = arg;
	const struct stack_thread *t = u->thread;

	if (addr < t->sp || addr - t->sp > t->bytes ||
	    t->bytes - (addr - t->sp) < sizeof(*result))
		return false;
	memcpy(result, t->stack + (addr - t->sp), sizeof(*result));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct unwind *u = arg;

	return regs_set(thread, &u->thread->regs);
}

static const Dwfl_Thread_Callbacks threads = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

static int take_frame(Dwfl_Frame *frame, void *arg)
{
	struct wsmon_rec_stack *rec = ((struct unwind *)arg)->rec;
	bool next;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, &next) || rec->nr == WSMON_STACK_FRAMES) {
		rec->flags |= WSMON_STACK_CUT;
		return DWARF_CB_ABORT;
	}
	rec->pc[rec->nr++] = next ? pc : pc - 1;
	return DWARF_CB_OK;
}

/*
 * libdwfl compares each mapped file with all files before it. A process can alternate mappings of
 * two files 32000 times, which then takes half a minute.
 */
#define FILES_MAX	8192

static bool has_too_many_files(pid_t pid)
{
	char path[32], *line = NULL, file[64], last[64] = "";
	size_t size = 0, nr = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	while (f && nr <= FILES_MAX && getline(&line, &size, f) >= 0) {
		/* device and inode */
		if (sscanf(line, "%*s %*s %*s %63[0-9a-f: ]", file) != 1 || !strchr(line, '/') ||
		    !strcmp(file, last))
			continue;
		strcpy(last, file);
		nr++;
	}
	free(line);
	if (f)
		fclose(f);
	return nr > FILES_MAX;
}

static Dwfl *open_process(struct unwind *u, pid_t pid)
{
	Dwfl *dwfl = has_too_many_files(pid) ? NULL : dwfl_begin(&files);

	unwound_pid = pid;
	if (!dwfl)
		return NULL;
	if (!dwfl_linux_proc_report(dwfl, pid) &&
	    !dwfl_report_end(dwfl, NULL, NULL) &&
	    dwfl_attach_state(dwfl, NULL, pid, &threads, u))
		return dwfl;
	dwfl_end(dwfl);
	return NULL;
}

static void unwind_thread(Dwfl *dwfl, struct unwind *u)
{
	struct wsmon_rec_stack *rec = u->rec;

	if (dwfl && dwfl_getthread_frames(dwfl, u->thread->tid, take_frame, u))
		rec->flags |= WSMON_STACK_CUT;
	/* if nothing could be unwound, the program counter is still known */
	if (!rec->nr) {
		rec->pc[rec->nr++] = regs_pc(&u->thread->regs);
		rec->flags |= WSMON_STACK_CUT;
	}
}

/**
 * stack_unwind() - find the calls in the copied stacks
 * @done:	called with the record of each thread
 */
static void stack_unwind(const struct stack_threads *ts, const struct stack_request *rq,
			 void (*done)(const struct wsmon_rec_stack *rec))
{
	union {
		struct wsmon_rec_stack rec;
		unsigned char room[STACK_RECORD];
	} out;
	struct unwind u = { .ts = ts, .rec = &out.rec };
	Dwfl *dwfl = NULL;
	bool opened = false;
	__u32 i;

	for (i = 0; i < ts->nr; i++) {
		u.thread = &ts->thread[i];
		memset(&out.rec, 0, sizeof(out.rec));
		out.rec.rec.type = WSMON_REC_STACK;
		out.rec.rec.time_ns = u.thread->time_ns ? u.thread->time_ns :
							  clock_now();
		out.rec.pid = rq->pid;
		out.rec.tid = u.thread->tid;
		out.rec.reason = rq->reason;
		out.rec.number = rq->number;
		out.rec.stopped_ns = u.thread->stopped_ns;
		out.rec.error = u.thread->error;
		out.rec.threads = ts->total;
		memcpy(out.rec.comm, u.thread->comm, WSMON_COMM_LEN - 1);
		if (!opened && !u.thread->error) {
			/* not the main thread: if it has exited, it has no mappings */
			dwfl = open_process(&u, u.thread->tid);
			opened = true;
		}
		if (!u.thread->error)
			unwind_thread(dwfl, &u);
		out.rec.rec.size = sizeof(out.rec) + out.rec.nr * 8;
		done(&out.rec);
	}
	dwfl_end(dwfl);
}

/* The program, which "wsmo record" executes */

#define MEMORY_MAX	(256UL << 20)	/* bytes, without shared memory and mapped files */

static void answer(const struct wsmon_rec_stack *rec)
{
	/* EPIPE: "wsmo record" has ended; the next recv() notices, too */
	if (send(STDIN_FILENO, rec, rec->rec.size, MSG_NOSIGNAL) < 0 &&
	    errno != EPIPE)
		msg("a stack was not sent: %s", strerror(errno));
}

/*
 * This program may wait for a mapped file for ever. So close its copies of the outputs of "wsmo
 * record", or a program that reads these until their end would wait, too.
 */
static void be_silent(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	close(fd);
}

static void take(const struct stack_request *rq)
{
	struct stack_threads *ts;

	/* unused pages take no memory */
	ts = mmap(NULL, sizeof(*ts), PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ts == MAP_FAILED) {
		msg("no memory for stacks: %s", strerror(errno));
		return;
	}
	stack_grab(ts, rq->pid, rq->threads);
	be_silent();
	stack_unwind(ts, rq, answer);
	munmap(ts, sizeof(*ts));
}

/* Signals of a terminal are for "wsmo record", which then ends this program */
static void block_signals(void)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGHUP, SIGCHLD };
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGCHLD, SIG_DFL);
}

/* Reads all pages of this program now: if they were read at a peak, the peak could be over first */
static void read_pages(void)
{
	if (!mlockall(MCL_CURRENT))
		munlockall();
}

/*
 * A library of 1 MiB can have compressed sections that expand to 1 GiB. If there is no memory for
 * them, libdw finds calls by other tables.
 */
static void limit_memory(void)
{
	/* ASan reserves terabytes */
#ifndef __SANITIZE_ADDRESS__
	setrlimit(RLIMIT_DATA, &(struct rlimit) { MEMORY_MAX, MEMORY_MAX });
#endif
}

int main(void)
{
	struct stack_request rq;
	ssize_t n;

	begin_program();
	survive_truncation();
	limit_memory();
	block_signals();
	read_pages();
	while ((n = recv(STDIN_FILENO, &rq, sizeof(rq), 0)) == sizeof(rq))
		if (rq.pid && rq.threads && rq.threads <= STACK_THREADS)
			take(&rq);
	if (!n)
		return end_program(WSMO_OK);
	if (n < 0 && errno == ENOTSOCK)
		msg("wsmo-stack is not to be run by hand; 'wsmo record' runs it");
	else
		msg("wsmo-stack: no request: %s", n < 0 ? strerror(errno) : "broken");
	return end_program(WSMO_USAGE);
}

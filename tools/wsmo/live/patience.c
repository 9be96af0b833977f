// SPDX-License-Identifier: GPL-2.0
/* patience.c - questions that may never be answered */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/cli.h"
#include "core/clock.h"
#include "patience.h"

/*
 * After this many questions without an answer, wait for less time: a user may start many processes
 * that do not answer.
 */
#define SILENT_MAX	4
#define LATER_MS	100

/* Ask no questions that are about no process after this many of them got no answer */
#define UNANSWERED_MAX	4

/* A helper that works uses at least this much CPU time in a second */
#define WORKS		(50 * NSEC_PER_MSEC)

/* Max. number of files open at the same time, such as maps and pagemap of a process */
#define HELPERS		8

#define AT_ONCE_MS	10

#define CHUNK		65536

struct request {
	enum { OPEN, READ, CLOSE, ASK } what;
	void (*ask)(void *data, int fd);
	__u64 at;
	__u32 size;
	bool text;		/* the file is read from start to end, then closed */
	char data[PATIENCE_DATA];	/* or the file's name */
};

#define REQUEST		offsetof(struct request, data)

struct answer {
	int err;
	__u32 ended;		/* @data is the last part of the file */
	__u64 cpu_ns;
	char data[CHUNK];
};

#define ANSWER		offsetof(struct answer, data)

/* A helper process; it has at most one file open */
struct helper {
	pid_t pid;		/* 0: not started */
	bool busy;
	int fd;
};

struct patient {
	struct helper *helper;	/* NULL: no helper could be started, and wsmo itself reads @fd */
	int fd;
	__u32 pid;
	bool text;
	bool ended;
	__u64 at;		/* offset of @data in the file */
	__u64 read_ns;		/* time when @data was read */
	size_t len;
	size_t taken;		/* bytes of @data that patient_file() has passed on */
	char data[CHUNK];
};

static struct helper helpers[HELPERS];
static unsigned int unanswered;
static __u64 cpu_ns;

/* Processes that did not answer, with their start times, because pids are reused */
static struct silent {
	__u32 pid;
	__u64 start;
} *silent;
static size_t nr_silent;

__u64 patience_cpu(void)
{
	return cpu_ns;
}

/* In the helper: reads until the answer is full. A read() of a file of /proc returns one page */
static ssize_t read_file(int *file, const struct request *rq, struct answer *a)
{
	size_t size = rq->size < CHUNK ? rq->size : CHUNK, len = 0;
	ssize_t n = 1;

	while (len < size && (n = pread(*file, a->data + len, size - len, rq->at + len)) > 0)
		len += n;
	a->err = n < 0 && !len ? errno : 0;
	a->ended = !n;
	if (a->ended && rq->text) {
		close(*file);
		*file = -1;
	}
	return len;
}

static ssize_t handle(const struct request *rq, size_t size, int fd, int *file, struct answer *a)
{
	a->err = a->ended = 0;
	switch (rq->what) {
	case ASK:
		memcpy(a->data, rq->data, size);
		rq->ask(a->data, fd);
		return size;
	case CLOSE:
	case OPEN:
		if (*file >= 0)
			close(*file);
		*file = -1;
		if (rq->what == CLOSE)
			return -1;
		*file = openat(fd >= 0 ? fd : AT_FDCWD, rq->data, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		a->err = *file < 0 ? errno : 0;
		return *file < 0 || !rq->size ? 0 : read_file(file, rq, a);
	default:
		return read_file(file, rq, a);
	}
}

/* Return: bytes after the header; -1: there will be no further request */
static ssize_t receive(struct request *rq, int *fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { rq, sizeof(*rq) };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(STDIN_FILENO, &m, MSG_CMSG_CLOEXEC);

	*fd = -1;
	if (n >= (ssize_t)REQUEST && CMSG_FIRSTHDR(&m))
		memcpy(fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(*fd));
	return n - (ssize_t)REQUEST;
}

static void __attribute__((noreturn)) help(int socket)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGPIPE };
	static struct request rq;
	static struct answer a;
	int file = -1, fd;
	__u64 before;
	ssize_t n;
	size_t i;

	prctl(PR_SET_NAME, "wsmo-reader");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* ignore signals of the terminal: the main process decides when to end */
	for (i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	/* close all other descriptors: they would stay open while the helper waits */
	if (dup2(socket, STDIN_FILENO) < 0 || close_range(STDIN_FILENO + 1, ~0U, 0))
		_exit(1);
	while ((n = receive(&rq, &fd)) >= 0) {
		before = clock_cpu();
		n = handle(&rq, n, fd, &file, &a);
		a.cpu_ns = clock_cpu() - before;
		if (fd >= 0)
			close(fd);
		if (n >= 0 && send(STDIN_FILENO, &a, ANSWER + n, MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

static bool start(struct helper *h)
{
	int pair[2], room = 4 * CHUNK;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return false;
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	h->pid = fork();
	if (!h->pid)
		help(pair[1]);
	close(pair[1]);
	h->fd = pair[0];
	if (h->pid > 0)
		return true;
	close(h->fd);
	h->pid = 0;
	return false;
}

/* Abandons a helper. It may end late or never, as it may wait in a system call */
static void end(struct helper *h)
{
	int tries = 0;

	/* shutdown(), as other children may have the socket open, too */
	shutdown(h->fd, SHUT_RDWR);
	close(h->fd);
	kill(h->pid, SIGKILL);
	while (!waitpid(h->pid, NULL, WNOHANG) && tries++ < 20)
		nanosleep(&(struct timespec) { .tv_nsec = NSEC_PER_MSEC }, NULL);
	h->pid = 0;
	h->busy = false;
}

static struct helper *helper_get(void)
{
	struct pollfd idle = { .events = POLLIN };
	struct helper *h = helpers;

	while (h < helpers + HELPERS && h->busy)
		h++;
	/* the helper may have been killed: then its socket is readable */
	idle.fd = h < helpers + HELPERS && h->pid ? h->fd : -1;
	if (poll(&idle, 1, 0) > 0)
		end(h);
	if (h == helpers + HELPERS || (!h->pid && !start(h)))
		return NULL;
	h->busy = true;
	return h;
}

/* Reads the start time of a process from /proc/PID/stat. Return: the state of the process */
static char read_stat(__u32 pid, __u64 *start)
{
	char path[32], text[512], *at, state = '?';
	FILE *f;

	*start = 0;
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	f = fopen(path, "re");
	text[f ? fread(text, 1, sizeof(text) - 1, f) : 0] = '\0';
	at = strrchr(text, ')');
	if (at)
		sscanf(at + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
		       &state, start);
	if (f)
		fclose(f);
	return state;
}

static bool is_silent(__u32 pid)
{
	__u64 start;
	size_t i;

	for (i = 0; i < nr_silent; i++) {
		if (silent[i].pid != pid)
			continue;
		read_stat(pid, &start);
		return silent[i].start == start;
	}
	return false;
}

static void note_silent(__u32 pid)
{
	size_t i = 0;

	if (!pid)
		return;
	if (!nr_silent)
		msg("the memory of process %u cannot be read, perhaps because it waits for a file system that does not answer: this process and others like it are left out",
		    pid);
	while (i < nr_silent && silent[i].pid != pid)
		i++;
	if (i == nr_silent)
		silent = need(reallocarray(silent, ++nr_silent, sizeof(*silent)));
	silent[i].pid = pid;
	read_stat(pid, &silent[i].start);
}

static __u64 cpu_of(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/* Waits for an answer while the helper works. Return: true if it answered or died */
static bool wait_for(const struct helper *h, unsigned int ms)
{
	struct pollfd fd = { .fd = h->fd, .events = POLLIN };
	__u64 before, cpu, end_ns, now, start;
	/* most answers come at once */
	int res = poll(&fd, 1, AT_ONCE_MS);

	cpu = cpu_of(h->pid);
	while (res <= 0) {
		before = cpu;
		end_ns = clock_now() + ms * NSEC_PER_MSEC;
		while (res <= 0 && (now = clock_now()) < end_ns)
			res = poll(&fd, 1, (end_ns - now) / NSEC_PER_MSEC + 1);
		cpu = cpu_of(h->pid);
		if (res <= 0 && cpu - before < WORKS * ms / PATIENCE_MS &&
		    read_stat(h->pid, &start) != 'R')
			return false;
	}
	return true;
}

static bool send_request(const struct helper *h, const struct request *rq, size_t size, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .room = "" };
	struct iovec iov = { (void *)(uintptr_t)rq, REQUEST + size };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	return sendmsg(h->fd, &m, MSG_NOSIGNAL) >= 0;
}

/*
 * Sends a request, and reads the answer: its header to @a, the rest to @to. Without an answer,
 * abandons the helper.
 * Return: number of bytes in @to, or -1
 */
static ssize_t exchange(struct helper *h, __u32 pid, unsigned int ms, const struct request *rq,
			size_t size, int fd, struct answer *a, void *to, size_t room)
{
	struct iovec iov[] = { { a, ANSWER }, { to, room } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n;
	int err;

	if (!ms)
		ms = nr_silent < SILENT_MAX ? PATIENCE_MS : LATER_MS;
	if (!send_request(h, rq, size, fd)) {
		errno = EIO;
	} else if (!wait_for(h, ms)) {
		note_silent(pid);
		errno = ETIMEDOUT;
	} else {
		n = recvmsg(h->fd, &m, 0);
		if (n >= (ssize_t)ANSWER) {
			cpu_ns += a->cpu_ns;
			errno = a->err;
			return a->err ? -1 : n - (ssize_t)ANSWER;
		}
		errno = EIO;
	}
	err = errno;
	end(h);
	errno = err;
	return -1;
}

bool patience_ask(const struct question *q, void *data, size_t size)
{
	static struct request rq;
	struct answer a;
	struct helper *h;
	bool done;

	if (size > sizeof(rq.data) || (q->pid ? is_silent(q->pid) : unanswered == UNANSWERED_MAX))
		return false;
	h = helper_get();
	if (!h)
		return false;
	rq.what = ASK;
	rq.ask = q->ask;
	memcpy(rq.data, data, size);
	done = exchange(h, q->pid, q->ms, &rq, size, q->fd, &a, data, size) == (ssize_t)size;
	unanswered += !done && !q->pid;
	h->busy = false;
	return done;
}

/* Return: number of bytes read; at most @room of them are in @to; -1 with errno */
static ssize_t ask_file(struct patient *p, const struct request *rq, size_t size, int dir,
			void *to, size_t room)
{
	struct answer a;
	ssize_t n = exchange(p->helper, p->pid, 0, rq, size, dir, &a, to, room);

	p->ended = n >= 0 && a.ended;
	if (!p->helper->pid)
		p->helper = NULL;
	return n;
}

static struct patient *open_file(__u32 pid, int dir, const char *name, bool text)
{
	size_t size = strlen(name) + 1;
	static struct request rq;
	struct patient *p;
	ssize_t n = 0;
	int err;

	if (is_silent(pid)) {
		errno = ETIMEDOUT;
		return NULL;
	}
	p = need(malloc(sizeof(*p)));
	p->helper = helper_get();
	p->fd = -1;
	p->pid = pid;
	p->text = text;
	p->ended = false;
	p->at = p->len = p->taken = 0;
	if (p->helper) {
		rq.what = OPEN;
		rq.at = 0;
		rq.size = text ? CHUNK : 0;
		rq.text = text;
		memcpy(rq.data, name, size);
		n = ask_file(p, &rq, size, dir, p->data, sizeof(p->data));
		p->len = n > 0 ? n : 0;
	} else {
		p->fd = openat(dir >= 0 ? dir : AT_FDCWD, name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	}
	if (n >= 0 && (p->helper || p->fd >= 0))
		return p;
	err = errno;
	patient_close(p);
	errno = err;
	return NULL;
}

struct patient *patient_open(__u32 pid, int dir, const char *name)
{
	return open_file(pid, dir, name, false);
}

void patient_close(struct patient *p)
{
	static struct request rq;

	if (!p)
		return;
	if (p->helper) {
		rq.what = CLOSE;
		if (!p->text || !p->ended)
			send_request(p->helper, &rq, 0, -1);
		p->helper->busy = false;
	}
	if (p->fd >= 0)
		close(p->fd);
	free(p);
}

ssize_t patient_pread(struct patient *p, void *to, size_t size, __u64 at, size_t ahead)
{
	static struct request rq;
	ssize_t n;

	if (p->fd >= 0)
		return pread(p->fd, to, size, at);
	if (ahead && at >= p->at && at - p->at < p->len && size <= p->len - (at - p->at) &&
	    clock_now() - p->read_ns < PATIENT_FRESH) {
		memcpy(to, p->data + (at - p->at), size);
		return size;
	}
	if (!p->helper) {
		errno = ETIMEDOUT;
		return -1;
	}
	rq.what = READ;
	rq.text = p->text;
	rq.at = at;
	rq.size = ahead > size ? ahead : size;
	if (!ahead)
		return ask_file(p, &rq, 0, -1, to, size);
	n = ask_file(p, &rq, 0, -1, p->data, sizeof(p->data));
	p->at = at;
	p->len = n > 0 ? n : 0;
	p->read_ns = clock_now();
	if (n > (ssize_t)size)
		n = size;
	if (n > 0)
		memcpy(to, p->data, n);
	return n;
}

static ssize_t take_text(void *cookie, char *to, size_t size)
{
	struct patient *p = cookie;
	ssize_t n = p->len - p->taken;

	if (p->fd >= 0)
		return read(p->fd, to, size);
	if (!n && !p->ended) {
		p->at += p->len;
		p->len = p->taken = 0;
		n = patient_pread(p, p->data, sizeof(p->data), p->at, 0);
		p->len = n > 0 ? n : 0;
	}
	if (n <= 0)
		return n;
	n = n < (ssize_t)size ? n : (ssize_t)size;
	memcpy(to, p->data + p->taken, n);
	p->taken += n;
	return n;
}

static int close_text(void *cookie)
{
	patient_close(cookie);
	return 0;
}

FILE *patient_file(__u32 pid, int dir, const char *name)
{
	static const cookie_io_functions_t io = { .read = take_text, .close = close_text };
	struct patient *p = open_file(pid, dir, name, true);

	return p ? need(fopencookie(p, "r", io)) : NULL;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs-fuzz: all other operations on an open file
 *
 * Some files stay open from step to step, so that their positions are anywhere
 * and descriptors are shared with children.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "debugfs_fuzz.h"

#define NR_HELD		8
#define END(array)	(sizeof(array) / sizeof(*(array)))

static struct held {
	int fd;			/* 0: none */
	int flags;
	enum file file;
} held[NR_HELD];

static void drop(struct held *h)
{
	if (h->fd && close(h->fd))
		wrong("close %s: %s", file_names[h->file], error_name(errno));
	h->fd = 0;
}

/* Return: one of the files held open, or opened now; NULL: cannot be opened */
static struct held *hold(void)
{
	static const int access[] = { O_RDONLY, O_WRONLY, O_RDWR, O_RDWR };
	static const int extra[] = {
		O_NONBLOCK, O_APPEND, O_CLOEXEC, O_TRUNC, O_SYNC, O_NOATIME
	};
	struct held *h = &held[pick(NR_HELD)];

	/* give the buffer back more often: others need it, too */
	if (h->fd && !one_in(h->file == BUFFER ? 4 : 16))
		return h;
	drop(h);
	h->file = pick(NR_FILES);
	h->flags = access[pick(END(access))];
	for (int i = pick(3); i; i--)
		h->flags |= extra[pick(END(extra))];
	h->fd = open_file(h->file, h->flags);
	if (h->fd >= 0)
		return h;
	h->fd = 0;
	return NULL;
}

static void check_error(const struct held *h, const char *what, ssize_t ret,
			const int *errors, size_t nr)
{
	int e = errno;

	if (ret >= 0 || e == EINTR || e == ENOMEM)
		return;
	for (size_t i = 0; i < nr; i++)
		if (errors[i] == e)
			return;
	wrong("%s, %s, flags %#x: %s", what, file_names[h->file], h->flags,
	      error_name(e));
}

#define CHECK_ERROR(h, what, ret, ...) do {				\
		static const int errors[] = { __VA_ARGS__ };		\
		check_error(h, what, ret, errors, END(errors));		\
	} while (0)

/* A pointer to mapped memory, or beyond it */
static char *some_pointer(void)
{
	switch (pick(8)) {
	case 0:
		return NULL;
	case 1:
		return (char *)pick(4096);
	case 2:
		return (char *)0xffff888000000000;
	case 3:
		return (char *)0x7ffffffff000 - pick(100);
	case 4:
		return room + ROOM;
	case 5:
		return room + ROOM - 1 - pick(10000);
	default:
		return room;
	}
}

static size_t some_count(void)
{
	static const size_t counts[] = {
		0, 1, 4095, 4096, 4097, 65536, 0x7ffff000, 0x7fffffff,
		0x80000000, 0xffffffff, 0x100000001, 1UL << 62, ~0UL
	};

	return one_in(2) ? log_pick(0, ROOM) : counts[pick(END(counts))];
}

static off_t some_offset(void)
{
	switch (pick(4)) {
	case 0:
		return log_pick(0, INT64_MAX);
	case 1:
		return -(off_t)log_pick(0, INT64_MAX);
	default:
		return pick(10000);
	}
}

static void read_anywhere(struct held *h)
{
	CHECK_ERROR(h, "read", read(h->fd, some_pointer(), some_count()),
		    EBADF, EFAULT, EINVAL, EAGAIN);
}

static void read_one_byte(struct held *h)
{
	CHECK_ERROR(h, "read", read(h->fd, room, 1), EBADF, EAGAIN);
}

static void read_at(struct held *h)
{
	CHECK_ERROR(h, "pread",
		    pread(h->fd, some_pointer(), some_count(), some_offset()),
		    EBADF, EFAULT, EINVAL, ESPIPE, EOVERFLOW);
}

static void some_vector(struct iovec v[3])
{
	size_t at = 0;

	for (int i = 0; i < 3; i++) {
		v[i].iov_base = one_in(8) ? some_pointer() : room + at;
		v[i].iov_len = one_in(16) ? some_count() : pick(2000);
		at += 2000;
	}
}

static void read_vector(struct held *h)
{
	struct iovec v[3];

	some_vector(v);
	CHECK_ERROR(h, "readv", one_in(2) ? readv(h->fd, v, 3) :
		    preadv(h->fd, v, 3, some_offset()),
		    EBADF, EFAULT, EINVAL, EAGAIN, ESPIPE);
}

static void seek(struct held *h)
{
	CHECK_ERROR(h, "lseek", lseek(h->fd, some_offset(), pick(6)),
		    EINVAL, ESPIPE, ENXIO, EOVERFLOW);
}

static enum file writable(const struct held *h)
{
	return h->file <= MARK ? h->file : ATTRS;
}

/* A write from any address, and of any length */
static void write_anywhere(struct held *h)
{
	size_t count = some_count();
	char *p = some_pointer();

	/*
	 * room may hold a text read from attrs, with the key seed: it must not
	 * be written
	 */
	memset(room, 'x', 8192);
	memset(room + ROOM - 10000, 0, 10000);
	CHECK_ERROR(h, "write", one_in(2) ? write(h->fd, p, count) :
		    pwrite(h->fd, p, count, some_offset()),
		    EBADF, EFAULT, EINVAL, ERANGE, ESRCH, ESPIPE);
}

static void write_vector(struct held *h)
{
	static struct text t;
	struct iovec v[4];
	size_t at = 0;

	make_good(&t, writable(h));
	for (int i = 0; i < 4; i++) {
		v[i].iov_base = t.bytes + at;
		v[i].iov_len = i == 3 ? t.len - at : pick(t.len - at + 1);
		at += v[i].iov_len;
	}
	CHECK_ERROR(h, "writev", one_in(2) ? writev(h->fd, v, 4) :
		    pwritev(h->fd, v, 4, pick(2)),
		    EBADF, EINVAL, ERANGE, ESRCH, ESPIPE);
}

/* Texts that are generated when read cannot be written at an offset. */
static void write_at(struct held *h)
{
	static struct text t;

	make_good(&t, writable(h));
	if (pwrite(h->fd, t.bytes, t.len, pick(2)) >= 0)
		wrong("pwrite to %s", file_names[h->file]);
	CHECK_ERROR(h, "pwrite", -1, ESPIPE, EBADF);
}

static void duplicate(struct held *h)
{
	struct held *to = &held[pick(NR_HELD)];

	if (to == h)
		return;
	drop(to);
	*to = *h;
	to->fd = one_in(2) ? dup(h->fd) : fcntl(h->fd, F_DUPFD_CLOEXEC, 50);
	if (to->fd < 0)
		wrong("dup: %s", error_name(errno));
}

static void change_flags(struct held *h)
{
	int flags = pick(2) * O_NONBLOCK | pick(2) * O_APPEND;

	CHECK_ERROR(h, "F_SETFL", fcntl(h->fd, F_SETFL, flags), EPERM);
	CHECK_ERROR(h, "F_SETFL", fcntl(h->fd, F_SETFL, O_ASYNC), EPERM, EINVAL);
}

static void wait_for(struct held *h)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT };
	struct timeval soon = { .tv_usec = pick(2000) };
	struct pollfd p = { .fd = h->fd, .events = pick(0x10000) };
	fd_set set;
	int ep;

	switch (pick(3)) {
	case 0:
		CHECK_ERROR(h, "poll", poll(&p, 1, pick(3)), EINVAL);
		break;
	case 1:
		FD_ZERO(&set);
		FD_SET(h->fd, &set);
		CHECK_ERROR(h, "select", select(h->fd + 1, &set, NULL, NULL, &soon),
			    EINVAL);
		break;
	case 2:
		ep = epoll_create1(0);
		/* texts are always ready: epoll refuses them */
		CHECK_ERROR(h, "epoll_ctl",
			    epoll_ctl(ep, EPOLL_CTL_ADD, h->fd, &e), EPERM);
		epoll_wait(ep, &e, 1, pick(3));
		close(ep);
		break;
	}
}

static void map(struct held *h)
{
	int prot = one_in(2) ? PROT_READ : PROT_READ | PROT_WRITE;
	void *p = mmap(NULL, 8192, prot, one_in(2) ? MAP_SHARED : MAP_PRIVATE,
		       h->fd, 4096 * pick(2));

	if (p != MAP_FAILED)
		wrong("%s can be mapped", file_names[h->file]);
	CHECK_ERROR(h, "mmap", -1, ENODEV, EACCES, EBADF);
}

static void control(struct held *h)
{
	static const unsigned long commands[] = {
		0, ~0UL, FIONREAD, FIONBIO, FIOASYNC, FIOQSIZE, FIOCLEX, TIOCSTI,
		TCGETS
	};
	unsigned long command = one_in(2) ? commands[pick(END(commands))] :
					    0x77000000 + pick(1 << 24);

	memset(room, 0, 64);
	CHECK_ERROR(h, "ioctl", ioctl(h->fd, command, one_in(4) ? NULL : room),
		    ENOTTY, EFAULT, EBADF, EINVAL, EPERM, EOPNOTSUPP);
}

static void resize(struct held *h)
{
	CHECK_ERROR(h, "ftruncate", ftruncate(h->fd, some_offset()),
		    EINVAL, EFBIG, EBADF);
	CHECK_ERROR(h, "fallocate", fallocate(h->fd, 0, 0, 1 + pick(10000)),
		    EBADF, EOPNOTSUPP, ENODEV, ESPIPE, EPERM, ENOTSUP);
}

static void synchronise(struct held *h)
{
	struct stat st;

	CHECK_ERROR(h, "fsync", fsync(h->fd), EINVAL);
	CHECK_ERROR(h, "fstat", fstat(h->fd, &st), EBADF);
}

/* Generated texts support no splicing, and no data is there to be spliced. */
static void without_copying(struct held *h)
{
	loff_t at = pick(100);
	int pipes[2];
	ssize_t n = 0;

	if (pipe2(pipes, O_NONBLOCK))
		wrong("pipe: %s", error_name(errno));
	if (write(pipes[1], "flush_tlb=1\n", 12) != 12)
		wrong("a pipe without room");
	switch (pick(5)) {
	case 0:
		n = splice(h->fd, NULL, pipes[1], NULL, some_count(), SPLICE_F_NONBLOCK);
		break;
	case 1:
		n = splice(pipes[0], NULL, h->fd, NULL, some_count(), SPLICE_F_NONBLOCK);
		break;
	case 2:
		n = splice(h->fd, &at, pipes[1], NULL, 1 + pick(5000), 0);
		break;
	case 3:
		n = sendfile(pipes[1], h->fd, one_in(2) ? &at : NULL, some_count());
		break;
	case 4:
		n = copy_file_range(h->fd, NULL, held[pick(NR_HELD)].fd, NULL,
				    some_count(), 0);
		break;
	}
	CHECK_ERROR(h, "splice", n, EINVAL, EBADF, ESPIPE, EAGAIN, EXDEV, EPERM,
		    EOVERFLOW, EFBIG, ETXTBSY);
	close(pipes[0]);
	close(pipes[1]);
}

static void (* const uses[])(struct held *h) = {
	read_anywhere, read_anywhere, read_one_byte, read_at, read_at, read_vector,
	seek, write_anywhere, write_anywhere, write_vector, write_at,
	duplicate, change_flags, wait_for, map, control, resize, synchronise,
	without_copying
};

/* Close all held files */
void let_go(void)
{
	for (int i = 0; i < NR_HELD; i++)
		drop(&held[i]);
}

void odd_use(void)
{
	struct held *h = hold();

	if (h)
		uses[pick(END(uses))](h);
}

/* Parent and child use the same open files, until the child ends or is killed. */
void shared_use(void)
{
	pid_t pid = must_fork();

	for (int i = pid ? 10 : 5 + pick(10); i; i--)
		odd_use();
	if (!pid)
		_exit(0);
	if (one_in(2))
		kill(pid, SIGKILL);
	reap(pid);
}

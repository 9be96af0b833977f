// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs-fuzz: open files of /dev/wsmon, from open to close or SIGKILL
 *
 * What was written to a file is remembered, so that each result is known, except for
 * effects of other processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "debugfs_fuzz.h"

#define PATH	"/dev/wsmon"

/* An open file */
static struct {
	int fd;
	bool had;		/* it has, or had, a session */
	bool stopped;
	bool partial;		/* attributes that may be invalid for its processes */
	bool shared;		/* others read from it, too: its records are unpredictable */
	bool ended;		/* a read returned 0 */
} life;

static struct text text;

/* Write @text; the errors @results are allowed, 0 for success. Return: whether it was taken */
static bool put(const int *results, size_t nr)
{
	ssize_t n = write(life.fd, text.bytes, text.len);
	int e = n < 0 ? errno : 0;

	if (n >= 0 && n != (ssize_t)text.len)
		wrong("%s: %zd of %zu bytes written", PATH, n, text.len);
	if (e == EINTR || e == ENOMEM)
		return false;
	for (size_t i = 0; i < nr; i++)
		if (results[i] == e)
			return !e;
	wrong("%s <- %zu bytes \"%.300s\", %s session%s: %s", PATH, text.len, text.bytes,
	      life.had ? "had a" : "no", life.stopped ? ", stopped" : "", error_name(e));
}

#define PUT(...) put((const int[]){ __VA_ARGS__ }, \
		      sizeof((int[]){ __VA_ARGS__ }) / sizeof(int))

static void print(const char *s)
{
	text.len = snprintf(text.bytes, sizeof(text.bytes), "%s", s);
}

/* Name known processes, perhaps with attributes. */
static void put_pids(void)
{
	unsigned int first = pick(nr_known), nr = one_in(2) ? 1 : 1 + pick(nr_known);
	bool taken;

	text.len = 0;
	if (one_in(2))
		make_good(&text, ATTRS);
	for (unsigned int i = 0; i < nr; i++)
		text.len += sprintf(text.bytes + text.len, "%s%d", i ? "," : " pid=",
				    known[(first + i) % nr_known]);
	if (life.had)
		taken = PUT(EALREADY);
	else if (life.partial)
		taken = PUT(0, EBUSY, EINVAL, E2BIG);
	else
		taken = PUT(0, EBUSY, E2BIG);
	if (taken && !life.shared)
		stream_expect(first, nr);
	life.had |= taken;
}

static void put_join(void)
{
	print("join\n");
	if (life.had)
		PUT(EALREADY);
	else
		life.had = PUT(0, ESRCH, EBUSY, EINVAL);
}

static void put_stop(void)
{
	print("stop");
	if (life.had && !life.stopped)
		life.stopped = PUT(0);
	else
		PUT(ESRCH);
}

static void put_mark(void)
{
	struct text mark;

	make_good(&mark, MARK);
	print("mark=");
	memcpy(text.bytes + text.len, mark.bytes, mark.len);
	text.len += mark.len;
	if (mark.results == INVAL)
		PUT(EINVAL);
	else
		PUT(0, ESRCH);
}

static void put_attrs(void)
{
	make_good(&text, ATTRS);
	PUT(0, EBUSY, E2BIG);
}

/* Texts of all kinds for attributes, most of them wrong */
static void put_odd_attrs(void)
{
	make_text(&text, ATTRS);
	if (text.results & TAKEN)
		life.partial |= PUT(0, EINVAL, ERANGE, ESRCH, EBUSY, E2BIG);
	else
		PUT(EINVAL, ERANGE);
}

static void put_wrong(void)
{
	static const char *const words[] = {
		"pid", "pid=", "pid=,1", "pid=1,", "pid=1,,2", "pid=0", "pid=-1", "pid=1,1", "pid=1 pid=1",
		"pid=1 join", "join join", "join stop", "stop stop", "stop pid=1", "joins", " mark=a",
		"a mark=b", "mark=", "mark=\n", "cgroup=", "cgroup=/ pid=1", "cgroup=/ cgroup=/",
		"\n", " ", "pid=4000000000", "pid=1 max_regions=0", "pid=1;", "PID=1", "pid=1\v"
	};

	print(words[pick(sizeof(words) / sizeof(*words))]);
	if (strcmp(text.bytes, "pid=1 max_regions=0") || !life.had)
		PUT(EINVAL, ERANGE);
	else
		PUT(EALREADY);
}

/* Refused later: no such process, or none to monitor; or because of other attributes */
static void put_missing(void)
{
	static const struct {
		const char *text;
		int err;
	} texts[] = {
		{ "pid=2", EINVAL }, { "pid=2147483647", ESRCH }, { "pid=1,2", EINVAL },
		{ "min_regions=2 max_regions=1 pid=1", EINVAL },
		{ "max_regions=50 pid=2147483647", ESRCH },
	};
	unsigned int i = pick(sizeof(texts) / sizeof(*texts));

	print(texts[i].text);
	if (life.had)
		PUT(EALREADY);
	else
		PUT(texts[i].err, EINVAL, E2BIG);
}

static void put_cgroup(void)
{
	bool there = one_in(8);

	print(there ? "cgroup=/" : "cgroup=/there/is/none");
	if (!there)
		PUT(ENOENT);
	else if (life.had)
		PUT(EALREADY, ENOENT);
	else
		life.had = PUT(0, EBUSY, ENOENT, EINVAL);
}

/* Valid texts with some bytes changed, which may make any other text */
static void put_damaged(void)
{
	static const char *const texts[] = { "join", "stop", "mark=x", "flush_tlb=1", "pid=1" };
	ssize_t n;

	print(texts[pick(sizeof(texts) / sizeof(*texts))]);
	text.bytes[pick(text.len)] ^= 1U << pick(8);
	n = write(life.fd, text.bytes, text.len);
	/* whatever it was: from now on, the state of the file is unknown */
	if (n >= 0)
		life.shared = true;
	else if (errno != EINVAL && errno != ERANGE && errno != ESRCH && errno != EALREADY &&
		 errno != EBUSY && errno != EINTR && errno != ENOMEM && errno != E2BIG)
		wrong("%s <- \"%s\": %s", PATH, text.bytes, error_name(errno));
}

static void expect_error(const char *what, long ret, int err)
{
	if (ret >= 0 || (errno != err && errno != EINTR && errno != ENOMEM))
		wrong("%s of %s: %ld, %s", what, PATH, ret, error_name(ret < 0 ? errno : 0));
}

static void put_nothing(void)
{
	char *unmapped = room + ROOM;

	expect_error("write of no byte", write(life.fd, room, 0), EINVAL);
	expect_error("write of 4097 bytes", write(life.fd, room, INPUT_MAX + 1), EINVAL);
	expect_error("write from nowhere", write(life.fd, unmapped, 10), EFAULT);
	expect_error("write from nowhere", write(life.fd, unmapped - 5, 10), EFAULT);
}

static void use_strangely(void)
{
	expect_error("lseek", lseek(life.fd, 0, SEEK_CUR), ESPIPE);
	expect_error("pread", pread(life.fd, room, 10, pick(2)), ESPIPE);
	expect_error("pwrite", pwrite(life.fd, "join", 4, pick(2)), ESPIPE);
	expect_error("ioctl", ioctl(life.fd, FIONREAD, room), ENOTTY);
	if (mmap(NULL, 8192, PROT_READ, MAP_SHARED, life.fd, 0) != MAP_FAILED)
		wrong("%s can be mapped", PATH);
}

static void get(void)
{
	ssize_t n = read(life.fd, room, 1 + pick(log_pick(1, ROOM)));

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		wrong("read of %s: %s", PATH, error_name(errno));
	if (life.shared || n < 0)
		return;
	if (n && life.ended)
		wrong("%zd bytes after the end", n);
	if (n)
		stream_feed(room, n);
	else
		stream_end();
	life.ended |= !n;
}

static void wait_and_get(void)
{
	struct pollfd p = { .fd = life.fd, .events = POLLIN };
	ssize_t n;

	if (poll(&p, 1, pick(20)) <= 0 || life.shared)
		return;
	if (p.revents != POLLIN)
		wrong("poll of %s says %#x", PATH, p.revents);
	fcntl(life.fd, F_SETFL, O_NONBLOCK);
	n = read(life.fd, room, 0);
	if (n)
		wrong("read of nothing: %zd", n);
	n = read(life.fd, room, 1);
	if (n < 0 && errno != EINTR)
		wrong("poll says that there is something to read: %s", error_name(errno));
	if (n == 1)
		stream_feed(room, n);
}

static void duplicate(void)
{
	int fd = dup(life.fd);

	if (fd < 0 || close(life.fd))
		wrong("dup of %s: %s", PATH, error_name(errno));
	life.fd = fd;
}

static void (* const uses[])(void) = {
	put_pids, put_pids, put_pids, put_pids, put_join, put_stop, put_mark, put_attrs, put_attrs,
	put_odd_attrs, put_wrong, put_wrong, put_missing, put_cgroup, put_nothing, use_strangely,
	get, get, get, get, get, get, wait_and_get, wait_and_get, duplicate, put_damaged,
};

static void use(void)
{
	/* a damaged text may have had any effect */
	if (life.shared)
		get();
	else
		uses[pick(sizeof(uses) / sizeof(*uses))]();
}

/* A child uses the file, too, and is killed at any point. */
static void share(void)
{
	pid_t pid = must_fork();

	life.shared = true;
	if (!pid)
		for (;;)
			get();
	usleep(pick(5000));
	kill(pid, SIGKILL);
	reap(pid);
}

/* Open, use, close a file */
void device_life(void)
{
	memset(&life, 0, sizeof(life));
	stream_begin();
	life.fd = open_path(PATH, (one_in(8) ? O_RDONLY : O_RDWR) | (one_in(4) ? 0 : O_NONBLOCK));
	if (life.fd < 0)
		return;
	if ((fcntl(life.fd, F_GETFL) & O_ACCMODE) == O_RDONLY) {
		expect_error("write to what was opened for reading", write(life.fd, "join", 4),
			     EBADF);
	} else {
		for (unsigned int left = log_pick(1, may_unload ? 6 : 60); left && !time_is_up(); left--)
			use();
		if (one_in(8))
			share();
	}
	if (close(life.fd))
		wrong("close %s: %s", PATH, error_name(errno));
}

/* A process with a session is killed in the middle of it. */
void device_killed(void)
{
	pid_t pid = must_fork();

	if (!pid)
		for (;;)
			device_life();
	usleep(pick(40000));
	kill(pid, SIGKILL);
	reap(pid);
}

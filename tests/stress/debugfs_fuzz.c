// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs-fuzz: misuses the module's files, and checks that they behave as
 * Documentation/reference/abi.rst says meanwhile.
 *
 *	debugfs-fuzz [-a] [-d] [-t] [-u] SECS SEED PID...
 *
 * The pids are processes to monitor; they must outlive it. One process, one chain
 * of random steps; several are run at once. Exits with 0, or with 1 and the error,
 * the seed and the step. -a: only valid attributes, written and read as fast as
 * possible; -t: the same with targets, so that sessions come and go while they are
 * read. -d: most steps are sessions of /dev/wsmon. -u: the module may be unloaded
 * meanwhile, so files may be missing.
 *
 * It never succeeds in changing the attribute seed: its caller writes the seed, and
 * so can tell whether a failed write, or a write of others, changed it.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "debugfs_fuzz.h"

#define DIR		"/sys/kernel/debug/wsmon/"
#define PAGE		4096UL
#define MAX_KNOWN	64

const char *const file_names[NR_FILES] = {
	"attrs", "target", "mark", "status", "wss", "regions", "peaks", "stats", "buffer"
};

char *room;
pid_t known[MAX_KNOWN];
unsigned int nr_known;

static uint64_t state, seed, step;
bool may_unload;

uint64_t pick(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state * 0x2545f4914f6cdd1d >> 11) % n;
}

bool one_in(unsigned int n)
{
	return !pick(n);
}

/* Small and large numbers alike */
uint64_t log_pick(uint64_t min, uint64_t max)
{
	uint64_t top = min;

	while (top < max && !one_in(8))
		top = top >= max / 4 ? max : top * 4 + 1;
	return min + pick(top - min + 1);
}

noreturn void wrong(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "debugfs-fuzz: seed %llu, step %llu: %s\n",
		(unsigned long long)seed, (unsigned long long)step, text);
	_exit(1);
}

const char *error_name(int err)
{
	const char *name = err ? strerrorname_np(err) : "success";

	/* such as ERESTARTSYS, which users must never see */
	return name ? name : "an errno there is not";
}

/* Return: a descriptor, or -1 if the file cannot be opened now */
int open_path(const char *path, int flags)
{
	int fd = open(path, flags);

	if (fd >= 0 || (errno == EBUSY && !strcmp(path, DIR "buffer")) || errno == ENOMEM ||
	    errno == EINTR ||
	    (may_unload && (errno == ENOENT || errno == ENXIO ||
			     errno == ENODEV)))
		return fd;
	wrong("open %s, flags %#x: %s", path, flags, error_name(errno));
}

int open_file(enum file f, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), DIR "%s", file_names[f]);
	return open_path(path, flags);
}

/* Open the file; wait until it is there */
int must_open(enum file f, int flags)
{
	int fd;

	do {
		fd = open_file(f, flags);
		if (fd < 0)
			usleep(1000);
	} while (fd < 0 && f != BUFFER && !may_unload);
	return fd;
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* Interrupt all waiting now and then: no SA_RESTART. */
static void interrupt_often(void)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval often = { { 0, 30000 }, { 0, 30000 } };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

/* A child for steps of its own, which does not outlive its parent */
pid_t must_fork(void)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		interrupt_often();
		state ^= 0x5851f42d4c957f2d;
	}
	return pid;
}

void reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			err(1, "wait");
	if (WIFEXITED(status) && WEXITSTATUS(status))
		_exit(1);
}

static void show(char *out, size_t size, const struct text *t)
{
	size_t at = 0;

	for (size_t i = 0; i < t->len && at + 5 < size; i++)
		at += snprintf(out + at, size - at,
			       t->bytes[i] < ' ' || t->bytes[i] > '~' ?
			       "\\%03o" : "%c", (unsigned char)t->bytes[i]);
	out[at] = 0;
}

static unsigned int result(ssize_t n, size_t len)
{
	if (n == (ssize_t)len)
		return TAKEN;
	switch (n < 0 ? errno : 0) {
	case EINVAL:
		return INVAL;
	case ERANGE:
		return RANGE;
	case ESRCH:
		return SRCH;
	case EINTR:
	case ENOMEM:
		return ~0U;
	default:
		return 0;
	}
}

/* Write a text in the proper way, and check the result */
static void put_text(void)
{
	enum file f = one_in(3) ? TARGET : one_in(4) ? MARK : ATTRS;
	static const int extra[] = { 0, O_NONBLOCK, O_APPEND, O_CLOEXEC };
	int fd = must_open(f, (one_in(2) ? O_WRONLY : O_RDWR) | extra[pick(4)]);
	static struct text t;
	char shown[400];
	ssize_t n;

	if (fd < 0)
		return;
	make_text(&t, f);
	/* writes at offsets other than 0 are refused */
	if (one_in(10) && lseek(fd, 1 + pick(10000), SEEK_SET) > 0)
		t.results = INVAL;
	n = write(fd, t.bytes, t.len);
	if (!(result(n, t.len) & t.results)) {
		int e = n < 0 ? errno : 0;

		show(shown, sizeof(shown), &t);
		wrong("%s <- %zu bytes \"%s\": %zd, %s", file_names[f], t.len,
		      shown, n, error_name(e));
	}
	close(fd);
}

/* Write two texts in turn: a reader that sees neither of them sees a mixture. */
static void put_often(enum file f, unsigned int times)
{
	int fd = must_open(f, O_WRONLY);
	static struct text texts[2];

	make_good(&texts[0], f);
	make_good(&texts[1], f);
	for (unsigned int i = 0; fd >= 0 && i < times; i++) {
		const struct text *t = &texts[i % 2];

		if (!(result(write(fd, t->bytes, t->len), t->len) & t->results))
			wrong("write %s: %s", file_names[f], error_name(errno));
	}
	if (fd >= 0)
		close(fd);
}

static void put_attrs(void)
{
	put_often(ATTRS, 500);
}

static void put_target(void)
{
	put_often(TARGET, 3);
}

struct step {
	void (*run)(void);
	unsigned int weight;
};

static const struct step all_steps[] = {
	{ put_text, 8 },
	{ check_text, 12 },
	{ odd_use, 30 },
	{ shared_use, 1 },
	{ check_stream, 2 },
	{ blocked_reader, 1 },
	{ second_reader, 2 },
	{ device_life, 2 },
	{ }
};

static const struct step device_steps[] = {
	{ device_life, 20 },
	{ device_killed, 3 },
	{ put_text, 4 },
	{ check_text, 4 },
	{ odd_use, 10 },
	{ check_stream, 4 },
	{ }
};

static const struct step attrs_steps[] = {
	{ put_attrs, 1 },
	{ check_attrs, 1 },
	{ }
};

static const struct step target_steps[] = {
	{ put_target, 1 },
	{ check_session, 2 },
	{ }
};

static void one_step(const struct step *s)
{
	unsigned int sum = 0, i;

	for (i = 0; s[i].run; i++)
		sum += s[i].weight;
	sum = pick(sum);
	while (sum >= s->weight)
		sum -= s++->weight;
	s->run();
	step++;
	/* let the module be unloaded */
	if (may_unload) {
		let_go();
		usleep(one_in(8) ? 20000 : pick(1000));
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static double end;

bool time_is_up(void)
{
	return seconds() >= end;
}

int main(int argc, char **argv)
{
	const struct step *steps = all_steps;
	int opt;

	while ((opt = getopt(argc, argv, "adtu")) != -1) {
		switch (opt) {
		case 'a':
			steps = attrs_steps;
			break;
		case 'd':
			steps = device_steps;
			break;
		case 't':
			steps = target_steps;
			break;
		case 'u':
			may_unload = true;
			break;
		default:
			return 2;
		}
	}
	argv += optind;
	argc -= optind;
	if (argc < 3 || argc > MAX_KNOWN + 2)
		errx(2, "usage: debugfs-fuzz [-a] [-d] [-t] [-u] SECS SEED PID...");
	end = seconds() + atof(argv[0]);
	seed = strtoull(argv[1], NULL, 10);
	state = (seed + 1) * 0x9e3779b97f4a7c15 | 1;
	while (nr_known < (unsigned int)argc - 2) {
		known[nr_known] = atoi(argv[2 + nr_known]);
		nr_known++;
	}
	room = mmap(NULL, ROOM + PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED || munmap(room + ROOM, PAGE))
		err(1, "mmap");
	signal(SIGPIPE, SIG_IGN);
	interrupt_often();
	while (!time_is_up())
		one_step(steps);
	fprintf(stderr, "debugfs-fuzz: seed %llu: %llu steps\n",
		(unsigned long long)seed, (unsigned long long)step);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * sizing.c - "wsmo sizing": tries a limit on a cgroup, and compares the effect with the prediction
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "act_limits.h"
#include "core/cli.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/identity.h"
#include "core/units.h"
#include "libwsmon/curve.h"
#include "libwsmon/sizing.h"
#include "live/cgroup.h"
#include "views/collect.h"
#include "views/report.h"
#include "wsmon.h"

/*
 * A limit on a cgroup that is restored whatever happens
 *
 * A separate process, the guard, changes memory.high and restores it. It waits for the end of a
 * pipe, which also ends when wsmo is killed. It ignores the signals that end wsmo, and is in its
 * own session. In case both are killed, the old value is in a file, the note. wsmo and the guard
 * hold the note locked, so a note that is not locked was left behind.
 */

#define GUARD_VALUE	32

/**
 * struct guard - a memory.high that was changed
 * @dir:	directory of the cgroup
 * @was:	the old value
 * @note:	fd of the note, with @was, which a later run reads if this run is killed; -1: none
 * @name:	name of the note in @notes
 * @notes:	directory of notes
 * @pid:	the guard
 * @life:	write end of the pipe; when it is closed, also by the death of wsmo, the guard
 *		restores the limit
 */
struct guard {
	const char *dir;
	char was[GUARD_VALUE];
	int note;
	char name[64];
	int notes;
	pid_t pid;
	int life;
};

/* Exit status of the guard */
enum { RESTORED, FAILED, CHANGED };

/* Gets the path of a cgroup's file, in PATH_MAX bytes. Return: 0 or -errno */
static int path_of(char *path, const char *dir, const char *name)
{
	return snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Return: 0 or -errno */
static int read_high(const char *dir, char *value)
{
	char path[PATH_MAX];
	int n = path_of(path, dir, "memory.high") ?: read_line(AT_FDCWD, path, value, GUARD_VALUE);

	return n > 0 ? 0 : n ?: -ENODATA;
}

/* Return: 0 or -errno */
static int write_high(const char *dir, const char *value)
{
	char path[PATH_MAX];
	int err = path_of(path, dir, "memory.high"), fd;
	struct stat st;

	if (err)
		return err;
	fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* truncate only a plain file: files of a cgroup have size 0 */
	if (write(fd, value, strlen(value)) != (ssize_t)strlen(value) || fstat(fd, &st) ||
	    (st.st_size > (off_t)strlen(value) && ftruncate(fd, strlen(value))))
		err = -errno;
	close(fd);
	return err;
}

/* Names a note by numbers that no other cgroup has until the next boot. Return: 0 or -errno */
static int name_of(const char *dir, char *name, size_t size)
{
	struct stat st;

	if (stat(dir, &st))
		return -errno;
	snprintf(name, size, "high-%llu-%llu", (__u64)st.st_dev, (__u64)st.st_ino);
	return 0;
}

/* Return: fd of the note, locked; -EWOULDBLOCK if a running wsmo holds it; -errno */
static int open_note(int notes, const char *name, int flags)
{
	int fd = openat(notes, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
	struct stat st;

	if (fd < 0)
		return -errno;
	/* no link: the note was removed before it was locked here, because the other run ends */
	if (!flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &st) && st.st_nlink)
		return fd;
	close(fd);
	return -EWOULDBLOCK;
}

/* Restores the limit in a note, and removes the note. Return: 0, or -1 after a message */
static int follow(int notes, const char *name, int note)
{
	char text[PATH_MAX + 2 * GUARD_VALUE], is[64], now[GUARD_VALUE], *set = text, *was, *dir;
	ssize_t n = pread(note, text, sizeof(text) - 1, 0);
	int err;

	text[n > 0 ? n : 0] = '\0';
	was = strchr(text, ' ');
	dir = was ? strchr(was + 1, ' ') : NULL;
	/* an incomplete note was written before the limit; a cgroup that is gone has no limit */
	if (dir && text[n - 1] == '\n') {
		text[n - 1] = *was++ = *dir++ = '\0';
		if (!name_of(dir, is, sizeof(is)) && !strcmp(is, name) && !read_high(dir, now) &&
		    !strcmp(now, set)) {
			err = write_high(dir, was);
			if (err) {
				msg("%s/memory.high: a run that was killed left %s, and the old value COULD NOT BE RESTORED: %s; write %s to it",
				    dir, set, strerror(-err), was);
				return -1;
			}
			msg("%s/memory.high: a run that was killed left %s; restored to %s", dir, set, was);
		}
	}
	unlinkat(notes, name, 0);
	return 0;
}

/*
 * Restores limits that killed runs left, with a message for each
 * Return: 0, or -1 after a message
 */
static int guard_restore(void)
{
	int notes = runtime_open(), res = 0;
	DIR *list = notes < 0 ? NULL : fdopendir(notes);
	struct dirent *e;

	while (list && (e = readdir(list))) {
		int note = strncmp(e->d_name, "high-", 5) ? -1 : open_note(notes, e->d_name, 0);

		if (note < 0)
			continue;
		if (follow(notes, e->d_name, note))
			res = -1;
		close(note);
	}
	if (list)
		closedir(list);
	return res;
}

/* Return: 0, or -1 after a message */
static int write_note(struct guard *g, const char *value)
{
	char path[PATH_MAX];
	int err;

	g->notes = runtime_open();
	err = g->notes < 0 ? g->notes : name_of(g->dir, g->name, sizeof(g->name));
	if (!err)
		g->note = open_note(g->notes, g->name, O_CREAT);
	if (!err && g->note < 0)
		err = g->note;
	if (err == -EWOULDBLOCK) {
		msg("%s: another run tests a limit on this cgroup", g->dir);
		return -1;
	}
	/* the full path, as the reader of the note may have another working directory */
	if (!err && (!realpath(g->dir, path) || dprintf(g->note, "%s %s %s\n", value, g->was, path) < 0))
		err = -errno;
	if (err)
		msg("if wsmo and its helper process are both killed, memory.high stays %s, because the old value cannot be noted: %s",
		    value, strerror(-err));
	return 0;
}

/* Removes the note, after the limit was restored or somebody else changed it */
static void remove_note(const struct guard *g)
{
	if (g->note >= 0)
		unlinkat(g->notes, g->name, 0);
}

static void tell(int fd, int err)
{
	if (write(fd, &err, sizeof(err)) != sizeof(err))
		_exit(FAILED);
}

/* Return: RESTORED or FAILED */
static int restore(const struct guard *g)
{
	/* if the write fails, leave the note for --restore */
	if (write_high(g->dir, g->was))
		return FAILED;
	remove_note(g);
	return RESTORED;
}

static void guard(const struct guard *g, const char *value, int life, int ready)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };
	char set[GUARD_VALUE] = "", now[GUARD_VALUE] = "", byte;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	/* neither signals of the terminal nor the end of its session reach this process */
	setsid();
	err = write_high(g->dir, value);
	if (err) {
		/* the failed write may have changed the limit */
		write_high(g->dir, g->was);
		remove_note(g);
		tell(ready, err);
		_exit(FAILED);
	}
	/* read the value back, as the kernel rounds it */
	read_high(g->dir, set);
	tell(ready, 0);
	while (read(life, &byte, 1) < 0 && errno == EINTR)
		;
	/* if the limit was changed by others, leave it. If it cannot be read, restore it */
	if (*set && !read_high(g->dir, now) && strcmp(now, set)) {
		remove_note(g);
		_exit(CHANGED);
	}
	_exit(restore(g));
}

/*
 * Set memory.high of the cgroup in @dir
 * Return: 0, or -1 after a message, and nothing was changed
 */
static int guard_begin(struct guard *g, const char *dir, __u64 bytes)
{
	int life[2], ready[2], err;
	__u64 page = sysconf(_SC_PAGESIZE);
	char value[GUARD_VALUE];
	ssize_t n;

	*g = (struct guard) { .dir = dir, .note = -1, .notes = -1 };
	if (guard_restore())
		return -1;
	err = read_high(dir, g->was);
	if (err) {
		msg("%s/memory.high: %s", dir, strerror(-err));
		return -1;
	}
	/* round as the kernel does */
	snprintf(value, sizeof(value), "%llu", bytes / page * page);
	if (write_note(g, value))
		return -1;
	if (pipe2(life, O_CLOEXEC) || pipe2(ready, O_CLOEXEC)) {
		msg("no pipe: %s", strerror(errno));
		remove_note(g);
		return -1;
	}
	g->pid = fork();
	if (!g->pid) {
		close(life[1]);
		close(ready[0]);
		guard(g, value, life[0], ready[1]);
	}
	close(life[0]);
	close(ready[1]);
	g->life = life[1];
	if (g->pid < 0) {
		msg("no process: %s", strerror(errno));
		remove_note(g);
		return -1;
	}
	/* the guard's write may take long, as it waits for reclaim: continue after a signal */
	while ((n = read(ready[0], &err, sizeof(err))) < 0 && errno == EINTR)
		;
	close(ready[0]);
	if (n == sizeof(err) && !err)
		return 0;
	msg("%s/memory.high: cannot be set: %s", dir, n > 0 ? strerror(-err) : "its process died");
	close(g->life);
	waitpid(g->pid, NULL, 0);
	/* the guard may have died after it had set the limit */
	if (n <= 0)
		restore(g);
	return -1;
}

/* Restore the limit. Return: 0, or -1 after a message */
static int guard_end(struct guard *g)
{
	int status;

	close(g->life);
	while (waitpid(g->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	/* the guard was killed: restore the limit here */
	if (WIFSIGNALED(status))
		status = restore(g);
	else
		status = WEXITSTATUS(status);
	if (status == CHANGED)
		msg("%s/memory.high was changed by another program, and is left alone; the old value was %s", g->dir,
		    g->was);
	else if (status == FAILED && access(g->dir, F_OK))
		msg("%s is gone, and its limit with it", g->dir);
	else if (status == FAILED)
		msg("%s/memory.high COULD NOT BE RESTORED: write %s to it", g->dir, g->was);
	return status == RESTORED ? 0 : -1;
}

/*
 * The effect of a limit on a cgroup
 *
 * memory.high makes the kernel reclaim memory and slow processes down, but never kill them.
 */

/**
 * struct usage - a cgroup at a moment
 * @time_ns:	the moment (CLOCK_MONOTONIC)
 * @anon, @file: bytes of anonymous memory and of files
 * @current:	bytes charged, including kernel memory
 * @major_faults: faults so far that waited for a page
 * @anon_refaults, @file_refaults: pages that came back so far, including pages read around a
 *		faulting page
 * @stall_us:	time so far in which some thread waited for memory
 * @pressure:	the part of the last ten seconds in which some thread waited for memory; negative:
 *		it cannot be read
 */
struct usage {
	__u64 time_ns;
	__u64 anon;
	__u64 file;
	__u64 current;
	__u64 major_faults;
	__u64 anon_refaults;
	__u64 file_refaults;
	__u64 stall_us;
	double pressure;
};

/** enum verify_end - why the trial ended */
enum verify_end {
	VERIFY_DONE,
	VERIFY_PRESSURE,	/* the pressure was too high */
	VERIFY_SIGNAL,
	VERIFY_GONE,		/* the cgroup was removed, after a message */
};

/**
 * struct verify - a limit that is tried
 * @dir:	directory of the cgroup
 * @high:	memory.high to set
 * @duration_ns: duration of the trial; its second half is measured
 * @max_pressure: the trial ends above this pressure
 * @from:	the cgroup when measuring began; its time is 0 if the trial ended earlier
 * @to:		the cgroup when the trial ended
 * @end:	why the trial ended
 */
struct verify {
	const char *dir;
	__u64 high;
	__u64 duration_ns;
	double max_pressure;
	struct usage from;
	struct usage to;
	enum verify_end end;
};

static volatile sig_atomic_t caught;

static void note_signal(int sig)
{
	caught = sig;
}

static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	const struct sigaction note = { .sa_handler = note_signal };
	struct sigaction old;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		/* a signal that is ignored, as under nohup, stays ignored */
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &note, NULL);
}

static int read_stat(struct usage *u, const char *dir)
{
	const struct key_number keys[] = {
		{ "anon", &u->anon }, { "file", &u->file },
		{ "workingset_refault_anon", &u->anon_refaults },
		{ "workingset_refault_file", &u->file_refaults },
		{ "pgmajfault", &u->major_faults },
	};
	char path[PATH_MAX];

	return !path_of(path, dir, "memory.stat") &&
	       read_numbers(fopen(path, "re"), keys, ARRAY_SIZE(keys)) == ARRAY_SIZE(keys) ? 0 : -1;
}

/* Return: 0, or -1 after a message */
static int usage_read(struct usage *u, const char *dir)
{
	char path[PATH_MAX], text[32];

	*u = (struct usage) { .time_ns = clock_now() };
	if (path_of(path, dir, "memory.current") || read_text(AT_FDCWD, path, text, sizeof(text)) <= 0 ||
	    sscanf(text, "%llu", &u->current) != 1 || read_stat(u, dir)) {
		msg("%s: memory.current or memory.stat cannot be read", dir);
		return -1;
	}
	if (path_of(path, dir, "memory.pressure") || psi_read(path, &u->pressure, &u->stall_us))
		u->pressure = -1;
	return 0;
}

static void progress(const struct verify *v, __u64 now_ns, __u64 end_ns)
{
	char left[UNITS_LEN], memory[UNITS_LEN], line[160];

	if (!isatty(STDERR_FILENO))
		return;
	snprintf(line, sizeof(line), "%s left, %s charged, pressure %.1f %%%s",
		 units_time(left, (end_ns - now_ns) / NSEC_PER_SEC * NSEC_PER_SEC),
		 units_size(memory, v->to.current), 100 * v->to.pressure,
		 v->from.time_ns ? ", measuring" : "");
	msg_progress(line);
}

static void watch(struct verify *v)
{
	__u64 begin_ns = clock_now(), end_ns = begin_ns + v->duration_ns;

	for (;;) {
		if (usage_read(&v->to, v->dir)) {
			v->end = VERIFY_GONE;
			return;
		}
		if (!v->from.time_ns && v->to.time_ns >= begin_ns + v->duration_ns / 2)
			v->from = v->to;
		if (caught)
			v->end = VERIFY_SIGNAL;
		else if (v->to.pressure > v->max_pressure)
			v->end = VERIFY_PRESSURE;
		if (v->end || v->to.time_ns >= end_ns)
			return;
		progress(v, v->to.time_ns, end_ns);
		nanosleep(&(struct timespec) {
			.tv_nsec = end_ns - v->to.time_ns < NSEC_PER_SEC / 2 ?
				   end_ns - v->to.time_ns : NSEC_PER_SEC / 2,
		}, NULL);
	}
}

/* Set the limit, watch, restore; Return: 0, or -1 after a message */
static int verify_run(struct verify *v)
{
	struct guard g;

	catch_signals();
	if (guard_begin(&g, v->dir, v->high))
		return -1;
	watch(v);
	msg_progress(NULL);
	return guard_end(&g);
}

struct verify_row {
	__u64 limit, high, memory, measured_us;
	double predicted_per_s, predicted_low_per_s, predicted_high_per_s, refaults_per_s;
	double anon_per_s, file_per_s;
	const char *verdict;
	double slowdown, slowdown_low, slowdown_high, stalled;
};

#define ROW struct verify_row

TABLE_LIST(verify_table, "verify",
	COL(limit, SIZE, 0, "limit", 0, "the limit"),
	COL(high, SIZE, 0, "memory.high", 0,
	    "``memory.high``: the limit, plus charges of the cgroup that are neither anonymous "
	    "memory nor pages of files"),
	COL(memory, SIZE, 0, "memory in use", 0, "anonymous memory and pages of files at the end"),
	COL(measured_us, US, 0, "measured for", 0, "length of the measurement"),
	COL(predicted_per_s, RATE, 0, "refaults/s predicted", OR_NULL,
	    "predicted refaults, as in ``sizing``"),
	COL(predicted_low_per_s, RATE, 0, "  low", OR_NULL, "lower end of the 95 % interval"),
	COL(predicted_high_per_s, RATE, 0, "  high", OR_NULL, "upper end"),
	COL(refaults_per_s, RATE, 0, "refaults/s measured", 0,
	    "measured refaults: major faults, for each of which a thread waited"),
	COL(anon_per_s, RATE, 0, "pages/s from swap", 0,
	    "pages that came back from swap, including read-ahead"),
	COL(file_per_s, RATE, 0, "pages/s of files", 0,
	    "pages of files that came back, including read-ahead and pages that were not mapped"),
	COL(verdict, TEXT, 0, "compared with the interval", 0,
	    "the measured refaults are ``below``, ``within`` or ``above`` the predicted interval"),
	COL(slowdown, RATIO, 0, "slowdown predicted", OR_NULL,
	    "predicted slowdown, as in ``sizing``; may exceed 1"),
	COL(slowdown_low, RATIO, 0, "  low", OR_NULL,
	    "lower end of the 95 % interval; may exceed 1"),
	COL(slowdown_high, RATIO, 0, "  high", OR_NULL, "upper end; may exceed 1"),
	COL(stalled, RATIO, 0, "some waited (PSI)", OR_NULL,
	    "share of the time in which some thread waited for memory, according to "
	    "``memory.pressure``"));

/**
 * struct job - the command line, and the results
 * @rp:		reads the recording
 * @cgroup:	--verify
 * @limit:	the limit; 0: the recommended limit
 * @choice:	how to choose the limit
 * @yes:	do not ask
 * @curves:	the curves of the recording
 * @slowdown:	the cost of refaults
 * @verify:	the trial
 * @restore:	no trial: restore limits that killed runs left
 */
struct job {
	struct report rp;
	const char *cgroup;
	__u64 limit;
	struct sizing_choice choice;
	bool yes;
	bool restore;
	struct wsmon_curves *curves;
	struct slowdown slowdown;
	struct verify verify;
};

static void begin(struct report *rp)
{
	struct job *job = rp->data;

	job->curves = need(wsmon_curves_new(&rp->reader.header));
	job->slowdown.files = need(wsmon_curves_new(&rp->reader.header));
}

static void record(struct report *rp, const struct wsmon_record *rec)
{
	struct job *job = rp->data;

	collect_curves(job->curves, &rp->filter, rec);
	collect_slowdown(&job->slowdown, &rp->filter, rec);
}

static void end(struct report *rp)
{
	struct job *job = rp->data;

	if (wsmon_curves_fit(job->curves) < 0 || wsmon_curves_fit(job->slowdown.files) < 0)
		need(NULL);
	if (job->choice.refault_cost_ns)
		slowdown_set(&job->slowdown, job->choice.refault_cost_ns / 1e9);
}

static const struct report_view view = {
	.name = "sizing", .no_snapshots = true, .begin = begin, .record = record, .end = end,
};

/* Return: the curve of all processes together, or the only curve; NULL after a message */
static const struct wsmon_curve *find_curve(const struct job *job)
{
	const struct wsmon_curves *cs = job->curves;
	size_t i;

	for (i = 0; i < cs->nr; i++)
		if (!cs->of[i].pid || cs->nr == 1)
			return &cs->of[i];
	msg("%s predicts nothing: record with 'wsmo record --sizing', for five minutes", job->rp.file);
	return NULL;
}

/* Return: 0, or -1 after a message */
static int choose_limit(struct job *job, const struct wsmon_curve *of)
{
	double knee = sizing_knee(&job->choice, &job->slowdown, of), low = of->point[0].low;
	char size[UNITS_LEN], least[UNITS_LEN], window[UNITS_LEN];

	if (!job->limit && isinf(knee)) {
		msg("the recording recommends no limit, see 'wsmo report sizing': name one with --limit");
		return -1;
	}
	if (!job->limit)
		job->limit = whole(knee);
	if (job->limit >= low)
		return 0;
	msg("a limit of %s is below %s, the memory used within %s: it would stop the processes",
	    units_size(size, job->limit), units_size(least, whole(low)),
	    units_time(window, whole(of->point[0].window * 1e9)));
	return -1;
}

/* Is a directory in the cgroup file system, or at least one that nobody else can change? */
static bool has_limit(const char *dir)
{
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;
	struct stat st;
	bool ours;

	ours = fd >= 0 && !fstatfs(fd, &fs) && !fstat(fd, &st) &&
	       (fs.f_type == CGROUP2_SUPER_MAGIC ||
		(st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)))) &&
	       !faccessat(fd, "memory.high", F_OK, AT_SYMLINK_NOFOLLOW);
	if (fd >= 0)
		close(fd);
	return ours;
}

/* Return: the directory of the cgroup, malloc()ed; NULL after a message */
static char *find_dir(const char *name)
{
	char *path = cgroup_path(name), *dir = cgroup_file(path, "");

	free(path);
	/* look in the cgroup file system first, even if the working directory has the same name */
	if (has_limit(dir))
		return dir;
	free(dir);
	if (has_limit(name))
		return need(strdup(name));
	msg("%s: no cgroup (of version 2) with the memory controller", name);
	return NULL;
}

/* Sets the trial up; Return: 0, or -1 after a message */
static int prepare(struct job *job)
{
	struct verify *v = &job->verify;
	char size[UNITS_LEN], has[UNITS_LEN];
	__u64 protected = cgroup_protected(v->dir);
	struct usage now;

	if (usage_read(&now, v->dir))
		return -1;
	if (protected > job->limit) {
		msg("memory.min of cgroups below it keeps %s, more than %s: the limit would have no effect",
		    units_size(has, protected), units_size(size, job->limit));
		return -1;
	}
	/* the limit is for anonymous memory and files, but kernel memory is charged, too: add it */
	v->high = job->limit;
	if (now.current > now.anon + now.file)
		v->high += now.current - now.anon - now.file;
	if (now.anon > job->limit && !meminfo("SwapFree")) {
		msg("there is no swap for %s of anonymous memory that do not fit into %s",
		    units_size(has, now.anon - job->limit), units_size(size, job->limit));
		return -1;
	}
	if (now.current <= v->high)
		msg("the cgroup has %s, less than %s: there is nothing to reclaim now",
		    units_size(has, now.current), units_size(size, v->high));
	if (now.pressure < 0)
		msg("%s/memory.pressure cannot be read: high pressure will not stop the test", v->dir);
	return 0;
}

/* Return: exit status; WSMO_OK to go on */
static int ask(const struct job *job)
{
	char size[UNITS_LEN], time[UNITS_LEN], answer[16];

	if (job->yes)
		return WSMO_OK;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		msg("this sets memory.high of %s: confirm with --yes", job->cgroup);
		return WSMO_USAGE;
	}
	fprintf(stderr, "Set memory.high of %s to %s for %s? [y/N] ", job->cgroup,
		units_size(size, job->verify.high), units_time(time, job->verify.duration_ns));
	if (fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y'))
		return WSMO_OK;
	msg("nothing was changed");
	return WSMO_FAILURE;
}

static const char *verdict(double measured, const struct wsmon_limit *at)
{
	return measured < at->low ? "below" : measured > at->high ? "above" : "within";
}

/* Prints predicted and measured refaults; outside the recording's windows, only bounds are known */
static void print_verdict(const struct wsmon_limit *at, double measured)
{
	fputs("Refaults a second: predicted ", stdout);
	if (at->bound == WSMON_EXACT)
		printf("%.1f (%.1f to %.1f)", at->refaults, at->low, at->high);
	else if (isfinite(at->high))
		printf("%.1f to %.1f", at->low, at->high);
	else
		printf("at least %.1f", at->low);
	printf(", measured %.1f, which is %s.\n\n", measured, verdict(measured, at));
}

static void print(const struct job *job, const struct wsmon_curve *of)
{
	const struct verify *v = &job->verify;
	struct wsmon_limit at = slowdown_limit(&job->slowdown, of, job->limit);
	struct slowdown_range slow = slowdown_at(&job->slowdown, of, &at);
	double us = (v->to.time_ns - v->from.time_ns) / 1e3;
	double waited = (v->to.major_faults - v->from.major_faults) / us * 1e6;
	double anon = (v->to.anon_refaults - v->from.anon_refaults) / us * 1e6;
	double file = (v->to.file_refaults - v->from.file_refaults) / us * 1e6;
	struct table *t;

	if (job->rp.out.format == TABLE_HUMAN)
		print_verdict(&at, waited);
	t = table_new(&verify_table, job->rp.out.format);
	table_show(t, offsetof(ROW, predicted_per_s), NOT_HUMAN, at.bound == WSMON_EXACT);
	table_row(t, &(struct verify_row) {
		.limit = job->limit,
		.high = v->high,
		.memory = v->to.anon + v->to.file,
		.measured_us = whole(us),
		.predicted_per_s = at.bound == WSMON_EXACT ? at.refaults : NAN,
		.predicted_low_per_s = at.low, .predicted_high_per_s = at.high,
		.refaults_per_s = waited,
		.anon_per_s = anon, .file_per_s = file,
		.verdict = verdict(waited, &at),
		.slowdown = slow.mean, .slowdown_low = slow.low, .slowdown_high = slow.high,
		.stalled = v->to.pressure < 0 ? NAN : (v->to.stall_us - v->from.stall_us) / us,
	});
	table_end(t);
}

static void explain_end(const struct verify *v)
{
	if (v->end == VERIFY_PRESSURE)
		msg("stopped early: memory pressure was %.1f %%, --max-pressure is %.1f %%",
		    100 * v->to.pressure, 100 * v->max_pressure);
	if (v->end == VERIFY_SIGNAL)
		msg("interrupted");
	if (v->end && v->from.time_ns == 0)
		msg("nothing was measured: measuring begins after half of the time");
}

/* Return: exit status */
static int verify(struct job *job)
{
	struct verify *v = &job->verify;
	const struct wsmon_curve *of = find_curve(job);
	char *dir = of && !choose_limit(job, of) ? find_dir(job->cgroup) : NULL;
	int status = WSMO_FAILURE;

	v->dir = dir;
	if (!dir || prepare(job)) {
		free(dir);
		return status;
	}
	status = ask(job);
	if (!status) {
		status = verify_run(v) || v->end ? WSMO_FAILURE : WSMO_OK;
		explain_end(v);
		if (v->from.time_ns && v->to.time_ns > v->from.time_ns && v->end != VERIFY_GONE)
			print(job, of);
	}
	free(dir);
	return status;
}

static const struct option_desc options[] = {
	{ "verify", 0, "CGROUP", "Set memory.high of this cgroup, and restore it", OPT_TEXT,
	  OPT_AT(struct job, cgroup) },
	{ "duration", 'd', "TIME", "Half to settle, half to measure (1m)", OPT_TIME,
	  OPT_AT(struct job, verify.duration_ns), .min = 2 * NSEC_PER_SEC },
	{ "max-pressure", 0, "PERCENT", "Stop above this memory pressure (25%)", OPT_PERCENT,
	  OPT_AT(struct job, verify.max_pressure) },
	{ "restore", 0, NULL, "Restore the limit that a killed run changed", OPT_FLAG, OPT_AT(struct job, restore) },
	{ "yes", 'y', NULL, "Do not ask", OPT_FLAG, OPT_AT(struct job, yes) },
	{ 0 }
};

static void reject(struct argp_state *state, const char *arg, void *to)
{
	usage_error(state, "'%s' is one argument too many; a recording comes after -i", arg);
}

static void check(struct argp_state *state, void *to)
{
	struct job *job = to;

	if (job->restore) {
		if (job->cgroup)
			usage_error(state, "--restore is alone: --verify restores before it begins");
		return;
	}
	if (!job->cgroup)
		usage_error(state, "name a cgroup with --verify; 'wsmo report sizing' predicts without one");
	if (job->choice.nr_limits > 1)
		usage_error(state, "one limit at a time");
	job->limit = job->choice.limits[0];
	sizing_defaults(&job->choice);
}

int cmd_sizing(int argc, char **argv)
{
	static struct job job = {
		.verify = { .duration_ns = 60 * NSEC_PER_SEC, .max_pressure = 0.25 },
	};
	int status;

	report_init(&job.rp, &view);
	job.rp.data = &job;
	options_parse(&(struct command_line) {
		.name = "wsmo sizing",
		.args = "--verify CGROUP\n--restore",
		.doc = "Try a memory limit on a cgroup: refaults predicted and measured."
		       "\vThe old value is restored even if wsmo is killed. If its helper process is killed, too, "
		       "the next run or --restore restores it. memory.high slows processes down, and never "
		       "kills them.",
		.groups = {
			OPT_GROUP(options, &job), OPT_GROUP(recording_options, &job.rp),
			OPT_GROUP(sizing_options, &job.choice),
			OPT_GROUP(format_options, &job.rp.out.format),
		},
		.to = &job, .arg = reject, .check = check,
	}, argc, argv);
	if (job.restore)
		return guard_restore() ? WSMO_FAILURE : WSMO_OK;
	status = report_run(&job.rp, NULL);
	if (!status)
		status = verify(&job);
	wsmon_curves_free(job.curves);
	wsmon_curves_free(job.slowdown.files);
	return status;
}

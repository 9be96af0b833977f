// SPDX-License-Identifier: GPL-2.0
/* run.c - reads a recording for a view, once or twice */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli.h"
#include "core/outfile.h"
#include "core/secondary.h"
#include "core/units.h"
#include "libwsmon/series.h"
#include "report.h"

static int open_file(const char *file)
{
	struct stat st;
	int fd;

	if (!strcmp(file, "-"))
		return STDIN_FILENO;
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		if (errno == ENOENT)
			msg("%s: does not exist; record one with 'wsmo record'%s", file,
			    strcmp(file, "wsmon.data") ? "" : ", or name one with -i");
		else
			msg("%s: cannot be read: %s", file, strerror(errno));
		return -1;
	}
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		msg("%s: a directory; name the recording with -i", file);
		close(fd);
		return -1;
	}
	return fd;
}

/* Skips snapshots that the view does not need: most of a file are snapshots */
static bool want_snapshot(const void *data, const struct wsmon_record *rec)
{
	const struct report *rp = data;

	return !rp->view->no_snapshots && filter_wants(&rp->filter, rec);
}

/* Return: 0 or -ENOMEM; reader_free() in either case */
static int start_reader(struct report *rp, int fd)
{
	int err = reader_init(&rp->reader, fd);

	rp->reader.want = want_snapshot;
	rp->reader.want_data = rp;
	return err;
}

/* Note that a window was recorded, even if other filters leave it out */
static void note_window(struct report *rp, __u64 window_us)
{
	__u32 i;

	for (i = 0; i < rp->filter.nr_windows; i++)
		if (rp->filter.windows[i] == window_us)
			rp->windows_seen |= 1U << i;
}

/* Print a note on stderr if the figures of a target are too low */
static void note_secondary(const struct report *rp, const struct wsmon_record *rec)
{
	__u32 pid;

	if (rec->type == WSMON_REC_TARGET && wsmon_record_pid(rec, &pid) &&
	    (filter_wants_pid(&rp->filter, pid)))
		secondary_take(rec, "");
}

/* Does the view show this record, and does the filter want it? */
static bool has_data(const struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_snapshot *s = (const void *)rec;
	const struct filter *f = &rp->filter;
	struct wsmon_wss_row row;
	__u32 i;

	if (!filter_wants(f, rec))
		return false;
	if (wss_row_get(rec, &row))
		return filter_wants_class(f, row.class) && filter_wants_window(f, row.window_us);
	switch (rec->type) {
	case WSMON_REC_SNAPSHOT:
		for (i = 0; i < s->nr; i++)
			if (!f->classes || rp->view->no_snapshots ||
			    filter_wants_class(f, s->regions[i].class))
				return true;
		return false;
	case WSMON_REC_PEAK:
	case WSMON_REC_MARK:
	case WSMON_REC_STACK:
	case WSMON_REC_WHO:
	case WSMON_REC_ACT:
	case WSMON_REC_ALLOC:
		return true;
	case WSMON_REC_PROC:
	case WSMON_REC_STATS:
		return rp->view->shows_all || (rp->view->shows_memory && !f->classes);
	default:
		return rp->view->shows_all;
	}
}

static void note(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	__u32 i;

	if (!rp->first_ns)
		rp->first_ns = rec->time_ns;
	if (rec->time_ns > rp->last_ns)
		rp->last_ns = rec->time_ns;
	if (!rp->any)
		rp->any = has_data(rp, rec);
	if (rec->type != WSMON_REC_TARGET)
		return;
	for (i = 0; i < rp->processes && i < REPORT_PIDS; i++)
		if (rp->pids[i] == target->pid)
			return;
	if (rp->processes < REPORT_PIDS)
		rp->pids[rp->processes] = target->pid;
	rp->processes++;
}

/* If the filter leaves out everything, prints what the recording has */
static void explain_nothing(const struct report *rp, const char *name)
{
	const struct filter *f = &rp->filter;
	char time[UNITS_LEN], pids[80] = "";
	size_t len = 0;
	__u32 i;

	if (filter_is_all(f)) {
		msg("%s: nothing to show: it ended before its first interval, or no process was there", name);
		return;
	}
	for (i = 0; i < rp->processes && i < REPORT_PIDS; i++)
		len += snprintf(pids + len, sizeof(pids) - len, "%s%u", i ? ", " : "", rp->pids[i]);
	msg("%s: nothing is left by%s%s%s%s; the recording has %s%s%s%s", name, f->pids.nr ? " --pid" : "",
	    f->from_ns != LLONG_MIN || f->to_ns != LLONG_MAX ? " --time" : "",
	    f->classes ? " --class" : "", f->nr_windows ? " --window" : "",
	    units_time(time, rp->last_ns > f->zero_ns ? rp->last_ns - f->zero_ns : 0),
	    rp->processes > 1 ? " of processes " : rp->processes ? " of process " : "", pids,
	    rp->processes > REPORT_PIDS ? ", ..." : "");
}

static void begin(struct report *rp)
{
	rp->filter.zero_ns = rp->reader.header.mono_ns;
	rp->view->begin(rp);
}

/* Makes the reader skip unwanted times, unless the view needs the whole recording */
static void take_header(struct report *rp)
{
	const struct filter *f = &rp->filter;
	const struct wsmon_attrs *attrs = &rp->reader.header.attrs;
	__u64 zero = rp->reader.header.mono_ns;
	size_t i;

	if (rp->view->whole || (f->from_ns == LLONG_MIN && f->to_ns == LLONG_MAX))
		return;
	for (i = 0; i < ARRAY_SIZE(attrs->windows_us); i++)
		note_window(rp, attrs->windows_us[i]);
	reader_only(&rp->reader, f->from_ns == LLONG_MIN ? 0 : zero + f->from_ns,
		    f->to_ns == LLONG_MAX ? ~0ULL : zero + f->to_ns);
}

static const char *file_name(const struct report *rp)
{
	return strcmp(rp->file, "-") ? rp->file : "standard input";
}

/*
 * The first of two readings. Errors after the header are left to the second reading.
 * Return: true if the file has to be read a second time
 */
static bool scan(struct report *rp)
{
	const struct wsmon_record *rec;

	if (!wsmon_header(&rp->reader)) {
		msg("%s: %s", file_name(rp), wsmon_error(&rp->reader));
		return false;
	}
	take_header(rp);
	begin(rp);
	while (wsmon_next(&rp->reader, &rec) > 0) {
		note_secondary(rp, rec);
		rp->view->scan(rp, rec);
	}
	rp->view->scanned(rp);
	return true;
}

/* Read the file. Return: exit status */
static int walk(struct report *rp)
{
	const char *name = file_name(rp);
	const struct wsmon_record *rec;
	struct wsmon_wss_row row;
	bool ended = false;
	int res;

	if (!wsmon_header(&rp->reader)) {
		msg("%s: %s", name, wsmon_error(&rp->reader));
		return WSMO_FAILURE;
	}
	take_header(rp);
	if (!rp->view->scan)
		begin(rp);
	while ((res = wsmon_next(&rp->reader, &rec)) > 0) {
		ended = rec->type == WSMON_REC_END;
		if (wss_row_get(rec, &row))
			note_window(rp, row.window_us);
		note_secondary(rp, rec);
		note(rp, rec);
		rp->of_cgroup |= *reader_cgroup(rec);
		rp->view->record(rp, rec);
		/* a closed pipe, or a full disk */
		if (output_error()) {
			rp->view->end(rp);
			return WSMO_FAILURE;
		}
	}
	rp->cut = res || !ended;
	rp->view->end(rp);
	if (res == -ENODATA)
		msg("%s: cut off inside a record at byte %llu; everything before it was used", name,
		    rp->reader.offset);
	else if (res)
		msg("%s: %s", name, wsmon_error(&rp->reader));
	else if (!ended)
		msg("%s: has no end; the recording was interrupted or still runs", name);
	return res && res != -ENODATA ? WSMO_FAILURE : WSMO_OK;
}

/* Copy a pipe to a file, because it can be read only once. Return: fd or -1 */
static int spool(int fd)
{
	FILE *copy = tmpfile();
	char buf[65536];
	ssize_t n = -1;
	int res = -1;

	if (copy) {
		while ((n = read(fd, buf, sizeof(buf))) > 0)
			if (fwrite(buf, 1, n, copy) != (size_t)n)
				break;
		if (!n && !fflush(copy))
			res = fcntl(fileno(copy), F_DUPFD_CLOEXEC, 0);
		fclose(copy);
	}
	if (res >= 0 && lseek(res, 0, SEEK_SET) < 0) {
		close(res);
		res = -1;
	}
	if (res < 0)
		msg("cannot keep a copy of standard input: %s", strerror(errno));
	return res;
}

/* Return: exit status */
static int read_twice(struct report *rp)
{
	off_t start = lseek(rp->reader.fd, 0, SEEK_CUR);
	int copy = -1, fd = rp->reader.fd, status = WSMO_FAILURE;

	if (start < 0) {
		start = 0;
		copy = spool(fd);
		if (copy < 0)
			return status;
		rp->reader.fd = fd = copy;
	}
	if (scan(rp) && lseek(fd, start, SEEK_SET) == start) {
		reader_free(&rp->reader);
		if (!start_reader(rp, fd))
			status = walk(rp);
	}
	if (copy >= 0)
		close(copy);
	return status;
}

/* Prints a message if a wanted window was not recorded. Return: true if it did */
static bool window_missing(const struct report *rp)
{
	char text[UNITS_LEN];
	__u32 i;

	for (i = 0; i < rp->filter.nr_windows; i++) {
		if (rp->windows_seen & 1U << i)
			continue;
		msg("no working set with a window of %s was recorded; see wsmo record --window",
		    units_time(text, rp->filter.windows[i] * 1000));
		return true;
	}
	return false;
}

static int run(struct report *rp)
{
	int status = WSMO_FAILURE, fd = open_file(rp->file);

	if (fd >= 0 && !start_reader(rp, fd)) {
		status = rp->view->scan ? read_twice(rp) : walk(rp);
		if (status == WSMO_OK && rp->of_cgroup && rp->view->of_processes) {
			msg("a cgroup was recorded, as a whole: for '%s' record its processes with -p",
			    rp->view->name);
			rp->failed = true;
		}
		if (status == WSMO_OK && (rp->failed || window_missing(rp))) {
			status = WSMO_FAILURE;
		} else if (status == WSMO_OK && !rp->any && rp->view->help) {
			explain_nothing(rp, file_name(rp));
			status = WSMO_FAILURE;
		}
		reader_free(&rp->reader);
	}
	filter_free(&rp->filter);
	if (fd > STDIN_FILENO)
		close(fd);
	return status;
}

void report_init(struct report *rp, const struct report_view *view)
{
	*rp = (struct report) {
		.view = view, .options = view->options, .file = "wsmon.data",
		.out.f = stdout,
	};
	filter_init(&rp->filter);
}

int report_run(struct report *rp, const char *file)
{
	int status;

	secondary_forget();
	if (file && outfile_begin(file))
		return WSMO_FAILURE;
	status = run(rp);
	if (!file)
		return status;
	if (status != WSMO_OK)
		outfile_abort();
	else if (outfile_commit(true))
		status = WSMO_FAILURE;
	return status;
}

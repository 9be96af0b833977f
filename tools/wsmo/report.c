// SPDX-License-Identifier: GPL-2.0
/*
 * report.c - "wsmo report": options, the loop over the file, filters
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "names.h"
#include "plot.h"
#include "report.h"
#include "units.h"
#include "wsmo.h"

static const struct report_view * const views[] = {
	&report_summary, &report_wss, &report_regions, &report_heatmap,
	&report_raw,
};

double report_time(const struct report *rp, __u64 time_ns)
{
	return (double)(__s64)(time_ns - rp->reader.header.mono_ns) /
	       NSEC_PER_SEC;
}

bool report_wants(const struct report *rp, const struct wsmon_record *rec)
{
	__s64 t = rec->time_ns - rp->reader.header.mono_ns;
	__u32 pid;

	if (t < rp->from_ns || t > rp->to_ns)
		return false;
	if (!rp->pids.nr)
		return true;
	return reader_pid(rec, &pid) && has_pid(&rp->pids, pid);
}

bool report_wants_class(const struct report *rp, __u32 class)
{
	if (!rp->classes)
		return true;
	return class < 32 && (rp->classes & (1U << class));
}

static int open_file(const char *file)
{
	struct stat st;
	int fd;

	if (!strcmp(file, "-"))
		return STDIN_FILENO;
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		if (errno == ENOENT)
			msg("%s: not there; record one with 'wsmo record', or name one with -i",
			    file);
		else
			msg("%s: cannot be read: %s", file, strerror(errno));
		return -1;
	}
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		msg("%s: a directory; name the record file with -i", file);
		close(fd);
		return -1;
	}
	return fd;
}

/* A window is in the file even if other filters leave it out of the report. */
static void note_tau(struct report *rp, const struct wsmon_rec_wss *wss)
{
	__u32 i;

	for (i = 0; i < rp->nr_taus; i++)
		if (rp->taus[i] == wss->tau_us)
			rp->taus_seen |= 1U << i;
}

static const char *file_name(const struct report *rp)
{
	return strcmp(rp->file, "-") ? rp->file : "standard input";
}

/*
 * The first of two times the file is read. What is wrong behind its header is
 * told the second time. Return: whether there is anything to read again
 */
static bool scan(struct report *rp)
{
	const struct wsmon_record *rec;

	for (;;) {
		switch (reader_next(&rp->reader, &rec)) {
		case READER_HEADER:
			rp->view->begin(rp);
			break;
		case READER_RECORD:
			rp->view->scan(rp, rec);
			break;
		default:
			if (rp->reader.have_header)
				rp->view->scanned(rp);
			else
				msg("%s: %s", file_name(rp), rp->reader.error);
			return rp->reader.have_header;
		}
	}
}

/* Walks the file; Return: exit status */
static int walk(struct report *rp)
{
	const char *name = file_name(rp);
	const struct wsmon_record *rec;
	bool ended = false;

	for (;;) {
		switch (reader_next(&rp->reader, &rec)) {
		case READER_HEADER:
			if (!rp->view->scan)
				rp->view->begin(rp);
			break;
		case READER_RECORD:
			ended = rec->type == WSMON_REC_END;
			if (rec->type == WSMON_REC_WSS)
				note_tau(rp, (const void *)rec);
			rp->view->record(rp, rec);
			/* nobody reads on, or the disk is full */
			if (output_error()) {
				rp->view->end(rp);
				return WSMO_FAILURE;
			}
			break;
		case READER_CUT:
			rp->cut = true;
			rp->view->end(rp);
			msg("%s: cut off inside a record at byte %llu; what is before it was used",
			    name, rp->reader.offset);
			return WSMO_OK;
		case READER_END:
			rp->cut = !ended;
			rp->view->end(rp);
			if (!ended)
				msg("%s: has no end; the recording was interrupted or is still running",
				    name);
			return WSMO_OK;
		default:
			if (rp->reader.have_header) {
				rp->cut = true;
				rp->view->end(rp);
			}
			msg("%s: %s", name, rp->reader.error);
			return WSMO_FAILURE;
		}
	}
}

/* A pipe can be read but once: its content goes to a file. Return: fd or -1 */
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
		if (!reader_init(&rp->reader, fd))
			status = walk(rp);
	}
	if (copy >= 0)
		close(copy);
	return status;
}

enum { OPT_JSON = 256, OPT_CSV, OPT_RAW, OPT_TIME, OPT_PID, OPT_CLASS, OPT_TAU };

static const struct argp_option options[] = {
	{ "input", 'i', "FILE", 0, "The record file (wsmon.data); - is standard input", 0 },
	{ "json", OPT_JSON, NULL, 0, "One JSON object a line", 0 },
	{ "csv", OPT_CSV, NULL, 0, "Comma separated values", 0 },
	{ "raw", OPT_RAW, NULL, 0, "Exact numbers: bytes, nanoseconds, shares", 0 },
	{ "time", OPT_TIME, "A,B", 0, "Only from time A to time B of the recording; either may be empty", 0 },
	{ "pid", OPT_PID, "PID,...", 0, "Only these targets", 0 },
	{ "class", OPT_CLASS, "CLASS,...", 0, "Only these: all text data heap stack anon file shmem hugetlb mixed", 0 },
	{ "output", 'o', "FILE", 0, "Draw the heatmap as a picture instead: FILE.png, .svg or .pdf", 0 },
	{ "tau", OPT_TAU, "TIME,...", 0, "Only these windows of the working set; the summary is of the first", 0 },
	{ 0 }
};

static void parse_bound(struct argp_state *state, const char *text, __s64 *ns)
{
	__u64 v;

	if (!*text)
		return;
	if (units_parse_time(text, &v) || v > LLONG_MAX)
		usage_error(state, "'%s' is not a time; try --time 1.5,90 or --time 500ms,2m",
			    text);
	*ns = v;
}

static void parse_time(struct argp_state *state, char *arg, struct report *rp)
{
	char *comma = strchr(arg, ',');

	if (!comma)
		usage_error(state, "--time wants two times, A,B, one of which may be empty");
	*comma = '\0';
	parse_bound(state, arg, &rp->from_ns);
	parse_bound(state, comma + 1, &rp->to_ns);
	if (rp->from_ns > rp->to_ns)
		usage_error(state, "--time wants the earlier time first");
}

static void parse_classes(struct argp_state *state, char *arg,
			  struct report *rp)
{
	char *name;

	while ((name = strsep(&arg, ","))) {
		int class = class_by_name(name);

		if (class < 0)
			usage_error(state, "'%s' is not a class of memory", name);
		rp->classes |= 1U << class;
	}
}

static void parse_taus(struct argp_state *state, char *arg, struct report *rp)
{
	char *tau;
	__u64 ns;

	while ((tau = strsep(&arg, ","))) {
		if (units_parse_time(tau, &ns) || ns < NSEC_PER_USEC)
			usage_error(state, "'%s' is not a time; try --tau 100ms,10s",
				    tau);
		if (rp->nr_taus == WSMON_WINDOWS_MAX)
			usage_error(state, "at most %d windows", WSMON_WINDOWS_MAX);
		rp->taus[rp->nr_taus++] = ns / 1000;
	}
}

bool report_wants_tau(const struct report *rp, __u64 tau_us)
{
	__u32 i;

	for (i = 0; i < rp->nr_taus; i++)
		if (rp->taus[i] == tau_us)
			return true;
	return !rp->nr_taus;
}

/* A window that was not recorded; Return: whether there is one */
static bool tau_missing(const struct report *rp)
{
	char text[UNITS_LEN];
	__u32 i;

	for (i = 0; i < rp->nr_taus; i++) {
		if (rp->taus_seen & 1U << i)
			continue;
		msg("no working set with a window of %s was recorded; see wsmo record --window",
		    units_time(text, rp->taus[i] * 1000));
		return true;
	}
	return false;
}

static void parse_view(struct argp_state *state, const char *arg,
		       struct report *rp)
{
	size_t i;

	if (rp->view)
		usage_error(state, "one report at a time: '%s' is too much", arg);
	for (i = 0; i < ARRAY_SIZE(views); i++)
		if (!strcmp(views[i]->name, arg))
			rp->view = views[i];
	if (!rp->view)
		usage_error(state, "there is no report '%s'", arg);
}

static void set_format(struct argp_state *state, struct report *rp,
		       enum table_format format)
{
	if (rp->format != TABLE_HUMAN && rp->format != format)
		usage_error(state, "only one of --json, --csv and --raw");
	rp->format = format;
}

void report_option(struct report *rp, const struct report_view *view,
		   const char *name)
{
	rp->option_of = view;
	rp->option = name;
}

/* What can only be told when all options and the view are known */
static void check_options(struct argp_state *state, struct report *rp)
{
	if (!rp->view)
		rp->view = &report_summary;
	if (rp->option && rp->option_of != rp->view)
		usage_error(state, "%s is an option of 'wsmo report %s'",
			    rp->option, rp->option_of->name);
	if (rp->output && rp->format != TABLE_HUMAN)
		usage_error(state, "--output is a picture: it takes none of --json, --csv and --raw");
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct report *rp = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[1] = rp;
		return 0;
	case 'i':
		rp->file = arg;
		return 0;
	case 'o':
		report_option(rp, &report_heatmap, "--output");
		if (!plot_can(arg))
			usage_error(state, "'%s' is no name of a picture: it ends in .png, .svg or .pdf",
				    arg);
		rp->output = arg;
		return 0;
	case OPT_JSON:
		set_format(state, rp, TABLE_JSON);
		return 0;
	case OPT_CSV:
		set_format(state, rp, TABLE_CSV);
		return 0;
	case OPT_RAW:
		set_format(state, rp, TABLE_RAW);
		return 0;
	case OPT_TIME:
		parse_time(state, arg, rp);
		return 0;
	case OPT_PID:
		parse_pids(state, arg, &rp->pids);
		return 0;
	case OPT_CLASS:
		parse_classes(state, arg, rp);
		return 0;
	case OPT_TAU:
		parse_taus(state, arg, rp);
		return 0;
	case ARGP_KEY_ARG:
		parse_view(state, arg, rp);
		return 0;
	case ARGP_KEY_END:
		check_options(state, rp);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void help_view(FILE *f, const struct report_view *view)
{
	size_t i;

	fprintf(f, "%s: %s\n", view->name, view->help);
	for (i = 0; i < view->nr_tables; i++) {
		char *columns = table_help(view->tables[i]);

		fprintf(f, "%s\n", columns);
		free(columns);
	}
}

static char *help_filter(int key, const char *text, void *input)
{
	const struct report *rp = input;
	char *extra = NULL;
	size_t size, i;
	FILE *f;

	if (key != ARGP_KEY_HELP_EXTRA)
		return (char *)(uintptr_t)text;
	f = open_memstream(&extra, &size);
	if (!f)
		return NULL;
	fputs("Reports and what they tell:\n\n", f);
	for (i = 0; i < ARRAY_SIZE(views); i++)
		if (!rp || !rp->view || rp->view == views[i])
			help_view(f, views[i]);
	fclose(f);
	return extra;
}

static const struct argp_child children[] = {
	{ .argp = &verb_common_argp },
	{ .argp = &heatmap_argp, .header = "For heatmap:", .group = 1 },
	{ 0 }
};

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.children = children,
	.args_doc = "[summary|wss|regions|heatmap|raw]",
	.doc = "Print what a record file holds. Without a name: the summary.",
	.help_filter = help_filter,
};

int cmd_report(int argc, char **argv)
{
	struct report rp = {
		.file = "wsmon.data",
		.from_ns = LLONG_MIN,
		.to_ns = LLONG_MAX,
		.heatmap.to = ~0ULL,
	};
	int status, fd;

	verb_parse(&argp, "wsmo report", argc, argv, &rp);
	fd = open_file(rp.file);
	if (fd < 0 || reader_init(&rp.reader, fd)) {
		free(rp.pids.pid);
		return WSMO_FAILURE;
	}
	status = rp.view->scan ? read_twice(&rp) : walk(&rp);
	if (status == WSMO_OK && rp.failed)
		status = WSMO_FAILURE;
	if (status == WSMO_OK && tau_missing(&rp))
		status = WSMO_FAILURE;
	reader_free(&rp.reader);
	free(rp.pids.pid);
	if (fd != STDIN_FILENO)
		close(fd);
	return status;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * record.c - "wsmo record": options, and the order in which things are done
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "debugfs.h"
#include "record.h"
#include "units.h"
#include "wsmo.h"

enum {
	OPT_SAMPLE = 256, OPT_AGGR, OPT_UPDATE, OPT_WINDOW, OPT_MIN, OPT_MAX,
	OPT_NO_FLUSH, OPT_SEED, OPT_CPU, OPT_DEBUGFS,
};

static const struct argp_option options[] = {
	{ "pid", 'p', "PID,...", 0, "Record these processes", 0 },
	{ "duration", 'd', "TIME", 0, "End after this time; a plain number is seconds", 0 },
	{ "output", 'o', "FILE", 0, "The record file (wsmon.data); one that is there becomes FILE.old", 0 },
	{ "quiet", 'q', NULL, 0, "No progress, no closing words but what was lost", 0 },
	{ NULL, 0, NULL, 0, "How to monitor (what the module is set to, else):", 1 },
	{ "sample", OPT_SAMPLE, "TIME", 0, "Sampling interval", 1 },
	{ "aggr", OPT_AGGR, "TIME", 0, "Aggregation interval: one working set size each", 1 },
	{ "update", OPT_UPDATE, "TIME", 0, "How often mappings are read again", 1 },
	{ "window", OPT_WINDOW, "TIME,...", 0, "The window of the working set, or several", 1 },
	{ "min-regions", OPT_MIN, "N", 0, "Least regions of a target", 1 },
	{ "max-regions", OPT_MAX, "N", 0, "Most regions of all targets", 1 },
	{ "no-flush", OPT_NO_FLUSH, NULL, 0, "Do not flush TLBs: cheaper, blind to small working sets", 1 },
	{ "seed", OPT_SEED, "N", 0, "Seed of the sample positions", 1 },
	{ "cpu-permille", OPT_CPU, "N", 0, "CPU time monitoring may take, in 1/1000 of one CPU", 1 },
	{ "debugfs", OPT_DEBUGFS, "DIR", 0, "The module's directory (" DEBUGFS_DEFAULT ")", 2 },
	{ 0 }
};

static char *setting(struct record *r, const char *key)
{
	struct session *s = &r->session;
	size_t i;

	for (i = 0; i < s->nr_settings; i++)
		if (!strcmp(s->settings[i].key, key))
			break;
	if (i == s->nr_settings)
		s->nr_settings++;
	s->settings[i].key = key;
	return s->settings[i].value;
}

static void set_value(struct record *r, const char *key, __u64 value)
{
	snprintf(setting(r, key), SETTING_TEXT, "%llu", value);
}

static __u64 parse_time(struct argp_state *state, const char *arg)
{
	__u64 ns;

	if (units_parse_time(arg, &ns) || ns < NSEC_PER_USEC)
		usage_error(state, "'%s' is not a time; write 500us, 100ms, 2s or 5m",
			    arg);
	return ns;
}

static void set_windows(struct argp_state *state, char *list, struct record *r)
{
	char *text = setting(r, "window_us"), *window;
	size_t len = 0, nr = 0;

	while ((window = strsep(&list, ","))) {
		if (nr++ == WSMON_WINDOWS_MAX)
			usage_error(state, "at most %d windows", WSMON_WINDOWS_MAX);
		len += snprintf(text + len, SETTING_TEXT - len, "%s%llu",
				len ? "," : "", parse_time(state, window) / 1000);
		if (len >= SETTING_TEXT)
			usage_error(state, "windows are at most a day");
	}
}

static __u64 parse_count(struct argp_state *state, const char *arg, __u64 max)
{
	__u64 n;

	if (units_parse_count(arg, max, &n))
		usage_error(state, "'%s' is not a number from 0 to %llu", arg,
			    max);
	return n;
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct record *r = state->input;

	switch (key) {
	case 'p':
		parse_pids(state, arg, &r->pids);
		return 0;
	case 'd':
		r->duration_ns = parse_time(state, arg);
		return 0;
	case 'o':
		r->file = arg;
		return 0;
	case 'q':
		r->quiet = true;
		return 0;
	case OPT_SAMPLE:
		set_value(r, "sample_us", parse_time(state, arg) / 1000);
		return 0;
	case OPT_AGGR:
		set_value(r, "aggr_us", parse_time(state, arg) / 1000);
		return 0;
	case OPT_UPDATE:
		set_value(r, "update_us", parse_time(state, arg) / 1000);
		return 0;
	case OPT_WINDOW:
		set_windows(state, arg, r);
		return 0;
	case OPT_MIN:
		set_value(r, "min_regions", parse_count(state, arg, UINT_MAX));
		return 0;
	case OPT_MAX:
		set_value(r, "max_regions", parse_count(state, arg, UINT_MAX));
		return 0;
	case OPT_NO_FLUSH:
		set_value(r, "flush_tlb", 0);
		return 0;
	case OPT_SEED:
		set_value(r, "seed", parse_count(state, arg, ~0ULL));
		return 0;
	case OPT_CPU:
		set_value(r, "cpu_permille", parse_count(state, arg, 1000));
		return 0;
	case OPT_DEBUGFS:
		debugfs_dir(arg);
		return 0;
	case ARGP_KEY_ARGS:
		r->cmd = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		if (r->cmd && r->pids.nr)
			usage_error(state, "either -p or a command, not both");
		if (!r->cmd && !r->pids.nr)
			usage_error(state, "nothing to record: name processes with -p, or a command");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.children = verb_common,
	.args_doc = "-p PID,...\n[--] COMMAND [ARG...]",
	.doc = "Record the working set of running processes, or of a command, to a file."
	       "\vEnds with the command or the last process, after --duration, or on Ctrl-C. "
	       "Returns the command's exit status. Run by sudo, the command runs as the "
	       "user who called sudo.",
};

static int check_pids(const struct record *r)
{
	char path[32];
	size_t i;

	for (i = 0; i < r->pids.nr; i++) {
		snprintf(path, sizeof(path), "/proc/%u", r->pids.pid[i]);
		if (access(path, F_OK)) {
			msg("there is no process %u", r->pids.pid[i]);
			return -1;
		}
	}
	return 0;
}

/* From here on signals wait in signal_fd; @mask is what was before */
static int catch_signals(struct record *r, sigset_t *mask)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	struct sigaction old;
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		/* nohup and the like: what is ignored stays ignored */
		if (!sigaction(signals[i], NULL, &old) &&
		    old.sa_handler != SIG_IGN)
			sigaddset(&set, signals[i]);
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &set, mask);
	r->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (r->signal_fd >= 0)
		return 0;
	msg("signals cannot be caught: %s", strerror(errno));
	return -1;
}

/* The pids as "target" wants them; Return: malloc()ed */
static char *target_text(const struct record *r)
{
	char *text = NULL;
	size_t size, i;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (r->cmd)
		fprintf(f, "%d", r->child.pid);
	for (i = 0; i < r->pids.nr; i++)
		fprintf(f, "%s%u", i ? " " : "", r->pids.pid[i]);
	fputc('\n', f);
	fclose(f);
	return text;
}

/*
 * Everything up to the moment when data comes. What can fail is tried before
 * anything is changed. Return: 0, or the exit status after a message
 */
static int begin(struct record *r)
{
	sigset_t mask;
	char *target;
	int err;

	if (check_pids(r) || session_open(&r->session) ||
	    output_open(&r->output, r->file) || catch_signals(r, &mask))
		return WSMO_FAILURE;
	if (r->cmd && child_start(&r->child, r->cmd, &mask))
		return WSMO_FAILURE;
	target = target_text(r);
	if (!target) {
		msg("out of memory");
		return WSMO_FAILURE;
	}
	r->start_ns = record_now();
	err = session_start(&r->session, target);
	free(target);
	if (err)
		return WSMO_FAILURE;
	if (r->cmd) {
		if (session_wait("running"))
			return WSMO_FAILURE;
		err = child_release(&r->child, r->cmd[0]);
		if (err)
			return err;
	}
	return output_commit(&r->output) ? WSMO_FAILURE : 0;
}

static void tell_end(const struct record *r)
{
	char bytes[UNITS_LEN], time[UNITS_LEN], hold[UNITS_LEN];
	const struct wsmon_rec_stats *st = &r->stats;
	__u64 ran = r->end_ns - r->start_ns, lost = record_lost(r);

	if (lost)
		msg("LOST %llu records (%s) that found no room in the module's buffer",
		    lost, units_size(bytes, r->lost.bytes > st->lost_bytes ?
				     r->lost.bytes : st->lost_bytes));
	if (r->quiet)
		return;
	msg("wrote %llu records, %s, in %s to %s", r->records,
	    units_size(bytes, r->output.bytes), units_time(time, ran),
	    r->file);
	if (st->rec.size && ran)
		msg("monitoring took %.2f %% of one CPU; %llu rounds, %llu late; longest lock hold %s",
		    100.0 * st->cpu_ns / ran, st->rounds, st->late_rounds,
		    units_time(hold, st->max_hold_ns));
	msg("now see: wsmo report summary -i %s", r->file);
}

/* Waits for CMD, or ends it if it was not to begin; Return: its exit status */
static int end_child(struct record *r)
{
	if (r->child.release >= 0)
		child_discard(&r->child);
	else
		record_wait_child(r);
	return child_exit_status(&r->child);
}

int cmd_record(int argc, char **argv)
{
	static struct record r = {
		.file = "wsmon.data",
		.session.fd = -1,
		.output.fd = -1,
		.signal_fd = -1,
	};
	int status, child;

	verb_parse(&argp, "wsmo record", argc, argv, &r);
	status = begin(&r);
	if (!status)
		record_loop(&r);
	session_close(&r.session);
	output_close(&r.output);
	if (!status) {
		tell_end(&r);
		if (r.failed)
			status = WSMO_FAILURE;
	}
	if (r.child.pid) {
		child = end_child(&r);
		if (!status)
			status = child;
	}
	if (r.signal_fd >= 0)
		close(r.signal_fd);
	maps_close(&r.maps);
	free(r.targets.base);
	free(r.pids.pid);
	return status;
}

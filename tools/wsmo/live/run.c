// SPDX-License-Identifier: GPL-2.0
/*
 * run.c - a run of a verb that monitors, from its options and checks to its last message
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cgroup.h"
#include "core/cli.h"
#include "core/clock.h"
#include "core/identity.h"
#include "core/options.h"
#include "core/secondary.h"
#include "core/units.h"
#include "libwsmon/wsmon_records.h"
#include "procfs.h"
#include "record.h"
#include "stuck.h"

/* Options: targets, duration, attributes */

/* Bounds of the module: see wsmon_attrs_check() */
#define INTERVAL_MIN	(100 * NSEC_PER_USEC)
#define INTERVAL_MAX	(86400 * NSEC_PER_SEC)
#define WINDOW_MAX	INTERVAL_MAX
#define REGIONS_MAX	32768

static struct setting *setting(struct record *r, const char *key)
{
	struct session *s = &r->session;
	size_t i;

	for (i = 0; i < s->nr_settings; i++)
		if (!strcmp(s->settings[i].key, key))
			break;
	if (i == ARRAY_SIZE(s->settings))
		abort();
	if (i == s->nr_settings)
		s->nr_settings++;
	s->settings[i].key = key;
	return &s->settings[i];
}

char *record_setting(struct record *r, const char *key, const char *option)
{
	struct setting *set = setting(r, key);

	if (option)
		set->option = option;
	return set->value;
}

void record_follow(struct record *r, bool follow, const char *option)
{
	struct setting *set = setting(r, "follow");

	set->option = option;
	strcpy(set->value, follow ? "1" : "0");
	set->missing = follow ? "this module does not follow children: they are not recorded; load a newer module, or use --no-children" :
				"";
}

/* The functions below set the attribute that @data names */
static void set_number(void *to, const struct option_desc *o, __u64 value)
{
	snprintf(record_setting(to, o->data, o->name), SETTING_TEXT, "%llu", value);
}

static void set_us(void *to, const struct option_desc *o, __u64 ns)
{
	set_number(to, o, ns / NSEC_PER_USEC);
}

static void set_decimal(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	__u64 milli;

	if (units_parse_milli(arg, o->max * 1000, &milli) || milli < o->min)
		usage_error(state, "'%s' is not a number from %s to %llu with at most three decimals",
			    arg, o->min ? "0.001" : "0", o->max);
	snprintf(record_setting(to, o->data, o->name), SETTING_TEXT, "%llu.%03llu",
		 milli / 1000, milli % 1000);
}

static void set_word(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	option_choice(state, arg, o->arg);
	strcpy(record_setting(to, o->data, o->name), arg);
}

static void set_windows(struct argp_state *state, char *list, const struct option_desc *o, void *to)
{
	struct record *r = to;
	char *text = record_setting(r, o->data, o->name), *window;
	size_t len = 0, nr = 0;

	while ((window = strsep(&list, ","))) {
		__u64 us = option_time_within(state, window, INTERVAL_MIN, WINDOW_MAX) / NSEC_PER_USEC;

		if (nr++ == WSMON_WINDOWS_MAX)
			usage_error(state, "at most %d windows", WSMON_WINDOWS_MAX);
		if (!len)
			r->window_us = us;
		len += snprintf(text + len, SETTING_TEXT - len, "%s%llu", len ? "," : "", us);
		if (len >= SETTING_TEXT)
			usage_error(state, "'%s' is too long; at most a day", window);
	}
}

const struct option_desc record_cgroup_options[] = {
	{ "--cgroup=CGROUP, --all", .help = "Monitor all processes of a cgroup, or all", .kind = OPT_DOC },
	CGROUP_OPTIONS(NULL, OPT_AT(struct record, session.cgroup)),
	{ 0 }
};

const struct option_desc record_target_options[] = {
	{ "pid", 'p', "PID,...", "Monitor these processes", OPT_PIDS, OPT_AT(struct record, pids) },
	{ "duration", 'd', "TIME", "End after this time: 500ms, 30 (seconds), 5m", OPT_TIME,
	  OPT_AT(struct record, duration_ns) },
	/* wsmo-record(1) describes it */
	{ "user", 0, "NAME", NULL, OPT_TEXT, OPT_AT(struct record, child.user) },
	{ 0 }
};

#define CALL(how, key)	OPT_CALL, .call = set_##how, .data = key
#define NUMBER(key)	.set = set_number, .data = key
#define INTERVAL(key)	OPT_TIME, .set = set_us, .data = key, .min = INTERVAL_MIN, .max = INTERVAL_MAX

const struct option_desc record_attr_options[] = {
	{ "aggr", 0, "TIME", "Estimate the working set this often", INTERVAL("aggr_us") },
	{ "window", 0, "TIME,...", "How far back an access counts; up to 8 windows", CALL(windows, "window_us") },
	{ "max-regions", 0, "N", "Max. regions of all processes", OPT_COUNT, NUMBER("max_regions"), .min = 1, .max = REGIONS_MAX },
	{ "cpu", 0, "PERCENT", "Max. CPU time for monitoring, of one CPU", OPT_PERMILLE, NUMBER("cpu_permille") },
	{ "precision", 0, "PERCENT", "Half-width to reach, at the lowest cost", OPT_PRECISION, NUMBER("precision") },
	/* wsmo-record(1) describes these */
	{ "sample", 0, "TIME", NULL, INTERVAL("sample_us") },
	{ "update", 0, "TIME", NULL, INTERVAL("update_us") },
	{ "min-regions", 0, "N", NULL, OPT_COUNT, NUMBER("min_regions"), .min = 1, .max = REGIONS_MAX },
	{ "no-flush", 0, NULL, NULL, OPT_CLEAR, NUMBER("flush_tlb") },
	{ "seed", 0, "N", NULL, OPT_COUNT, NUMBER("seed"), .max = ~0ULL },
	{ "peak-detector", 0, "sigma|fano|off", NULL, CALL(word, "peak_detector") },
	{ "peak-window", 0, "N", NULL, OPT_COUNT, NUMBER("peak_window"), .min = 2, .max = 10000 },
	{ "peak-gain", 0, "X", NULL, CALL(decimal, "peak_gain"), .min = 1, .max = 100 },
	{ "peak-adapt", 0, "X", NULL, CALL(decimal, "peak_adapt"), .max = 1 },
	{ 0 }
};

void record_command(char **argv, void *to)
{
	((struct record *)to)->cmd = argv;
}

static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

/* Refuses a command that begins with a digit: it is likely a misplaced pid or value */
static void check_command(struct argp_state *state, const struct record *r)
{
	const char *before = r->cmd[-1];
	size_t i;

	if (!strchr("0123456789", *r->cmd[0]))
		return;
	if (!strncmp(before, "--", 2) && before[2] && !strchr(before, '='))
		usage_error(state, "for %s to be the argument of %s write %s=%s", r->cmd[0], before, before,
			    r->cmd[0]);
	for (i = 0; r->cmd[i] && is_number(r->cmd[i]); i++)
		;
	if (r->cmd[i])
		return;
	if (r->pids.nr)
		usage_error(state, "several processes are one argument of -p: -p %u,%s%s", r->pids.pid[0],
			    r->cmd[0], i > 1 ? ",..." : "");
	usage_error(state, "for a process use -p %s; a command of this name is ./%s", r->cmd[0], r->cmd[0]);
}

void record_set_who(void *to, const struct option_desc *o, __u64 rate)
{
	((struct record *)to)->who = true;
	set_number(to, o, rate);
}

void record_check(struct argp_state *state, void *to)
{
	struct record *r = to;
	struct identity user;

	if (r->cmd)
		check_command(state, r);
	if (r->cmd && r->pids.nr)
		usage_error(state, "either -p or a command, not both");
	if (r->child.user && !r->cmd)
		usage_error(state, "--user needs a command, which runs as this user");
	if (r->child.user && identity_get(&user, r->child.user))
		usage_error(state, "there is no user '%s'", r->child.user);
	if (r->feed.rate && !r->cmd)
		usage_error(state, "--alloc needs a command: the command loads a library when it starts");
	if (r->session.cgroup && (r->cmd || r->pids.nr))
		usage_error(state, "--cgroup and --all name the processes: neither -p nor a command");
	if (!r->cmd && !r->pids.nr && !r->session.cgroup && !r->optional)
		usage_error(state, "nothing to %s: name processes with -p, or a command", r->verb);
	/* only targets have stacks, and the processes of a cgroup are no targets */
	r->stacks.wanted &= !r->session.cgroup;
	if (r->who && r->session.cgroup)
		usage_error(state, "--who needs processes: it cannot sample a cgroup");
}

/* Marks at given times: --mark-at */

void marks_parse(struct argp_state *state, char *list, const struct option_desc *o, void *at)
{
	struct marks *m = at;
	char *time;

	while ((time = strsep(&list, ","))) {
		if (m->nr == MARKS_AT)
			usage_error(state, "at most %d marks", MARKS_AT);
		m->at_ns[m->nr++] = option_time(state, time);
	}
	qsort(m->at_ns, m->nr, sizeof(m->at_ns[0]), order_u64);
}

/* Return: time of the next mark (CLOCK_MONOTONIC); 0: never */
static __u64 marks_due(const struct marks *m)
{
	return m->next < m->nr ? m->start_ns + m->at_ns[m->next] : 0;
}

/* Set the marks that are due */
static void marks_tick(struct marks *m, const struct session *s)
{
	char text[UNITS_LEN + 8] = "at ";
	__u64 due;
	int err;

	while ((due = marks_due(m)) && clock_now() >= due) {
		units_time(text + 3, m->at_ns[m->next]);
		err = session_mark(s, text);
		if (err) {
			msg("no mark %s: %s", text, strerror(-err));
			/* do not try again: the session has ended, or the module has no marks */
			m->nr = m->next;
			return;
		}
		m->next++;
	}
}

void marks_report(const struct marks *m)
{
	if (m->next < m->nr)
		msg("%zu of %zu marks of --mark-at were after the end", m->nr - m->next, m->nr);
}

/*
 * Completing the records of the stream on their way into the file: adds names of areas, mappings,
 * and resident memory
 */

static void write_mapping(void *output, const struct wsmon_record *rec)
{
	output_record(output, rec);
}

/* Write records of the command's allocations since the last call */
static void record_allocations(struct record *r)
{
	/* not before the header, which is the start of the file */
	if (r->session.header_size)
		feed_take(&r->feed, r->child.pid, &r->output);
}

static void write_area(struct record *r, const struct wsmon_rec_area *area)
{
	char name[MAPS_NAME];

	if (area->rec.size > sizeof(*area) && area->path[0]) {
		rotate_note(&r->rotation, &area->rec, area->path);
		output_record(&r->output, &area->rec);
		return;
	}
	maps_name(&r->maps, area, name);
	rotate_note(&r->rotation, &area->rec, name);
	output_named(&r->output, &area->rec, sizeof(*area), name);
}

static void take_area(struct record *r, const struct wsmon_rec_area *area)
{
	write_area(r, area);
	if (area->index != area->total - 1)
		return;
	maps_close(&r->maps);
	if (r->file)
		mapper_changed(&r->mapper, area->pid);
}

static void take_target(struct record *r, const struct wsmon_rec_target *target)
{
	targets_note(&r->targets, target->pid, false);
	secondary_take(&target->rec, "");
	if ((target->flags & WSMON_TARGET_REASON) != WSMON_TARGET_AGAIN)
		mapper_forget(&r->mapper, target->pid);
}

static void take_exit(struct record *r, const struct wsmon_rec_exit *gone)
{
	targets_note(&r->targets, gone->pid, true);
	mapper_forget(&r->mapper, gone->pid);
}

static void take_wss(struct record *r, const struct wsmon_rec_wss *w)
{
	if (w->class != WSMON_CLASS_ALL)
		return;
	if (w->pid == r->targets.first)
		r->wss = *w;
	targets_memory(&r->targets, w->pid, &r->output);
}

/* Called between two intervals, so that each snapshot is in one file */
static void rotate_if_due(struct record *r)
{
	__u64 now_ns = r->stats.rec.time_ns;
	size_t i = 0;
	__u32 pid;

	/* the first file began with the stream */
	if (!r->rotation.begun_ns)
		r->rotation.begun_ns = r->session.reader.header.mono_ns;
	if (!rotates(&r->rotation) || !rotate_due(&r->rotation, &r->output, now_ns))
		return;
	if (rotate(&r->rotation, &r->output, &r->session, &r->stats)) {
		r->failed = true;
		return;
	}
	if (r->session.cgroup)
		members_again(&r->targets, &r->output);
	while (!r->session.cgroup && (pid = targets_next(&r->targets, &i))) {
		mapper_forget(&r->mapper, pid);
		mapper_changed(&r->mapper, pid);
	}
	rotate_begun(&r->rotation, &r->output);
}

/* Complete a record of the stream and write it */
static void record_take(struct record *r, const struct wsmon_record *rec)
{
	const struct wsmon_rec_total *total = (const void *)rec;
	const struct wsmon_rec_lost *lost = (const void *)rec;
	const struct wsmon_rec_mark *mark = (const void *)rec;

	if (r->hooks.take)
		r->hooks.take(r, rec);
	budget_take(&r->budget, rec);
	if (rec->type == WSMON_REC_AREA) {
		take_area(r, (const void *)rec);
		return;
	}
	rotate_note(&r->rotation, rec, "");
	/* no record may follow END; allocations must precede the snapshot that counts them */
	if (rec->type == WSMON_REC_END)
		stacks_end(&r->stacks, &r->output);
	if (rec->type == WSMON_REC_END || rec->type == WSMON_REC_SNAPSHOT)
		record_allocations(r);
	if (rec->type == WSMON_REC_GROUP && r->session.cgroup)
		output_named(&r->output, rec, sizeof(r->group), r->session.cgroup);
	else
		output_record(&r->output, r->file && !r->no_pack ?
			      packer_take(&r->packer, rec) : rec);
	switch (rec->type) {
	case WSMON_REC_TARGET:
		take_target(r, (const void *)rec);
		break;
	case WSMON_REC_EXIT:
		take_exit(r, (const void *)rec);
		break;
	case WSMON_REC_WSS:
		take_wss(r, (const void *)rec);
		break;
	case WSMON_REC_GROUP:
		r->group = *(const struct wsmon_rec_group *)(const void *)rec;
		break;
	case WSMON_REC_TOTAL:
		if (total->class == WSMON_CLASS_ALL)
			r->total = *total;
		break;
	case WSMON_REC_PEAK:
		stacks_peak(&r->stacks, (const void *)rec);
		break;
	case WSMON_REC_MARK:
		stacks_mark(&r->stacks, &r->targets, mark->number);
		break;
	case WSMON_REC_LOST:
		r->lost.records += lost->records;
		r->lost.bytes += lost->bytes;
		break;
	case WSMON_REC_STATS:
		wsmon_record_copy(rec, &r->stats, sizeof(r->stats));
		rotate_if_due(r);
		break;
	case WSMON_REC_END:
		r->ended = true;
		r->reason = ((const struct wsmon_rec_end *)(const void *)rec)->reason;
		break;
	}
}

/* The loop that copies the stream to the file while a session runs */

#define END_PATIENCE	(5 * NSEC_PER_SEC)	/* max. wait for END after stopping */
#define EXIT_PATIENCE	(2 * NSEC_PER_SEC)	/* max. wait for END after CMD's exit */

/* Times of the next events (CLOCK_MONOTONIC); 0: never */
struct loop {
	__u64 tick_ns;		/* read /proc and draw progress */
	__u64 stop_ns;		/* stop the session */
	__u64 give_up_ns;	/* wait for END no longer */
	bool progress;
};

__u64 record_lost(const struct record *r)
{
	/* a loss at the very end has no LOST record, but STATS counts it */
	return r->lost.records > r->stats.lost_records ?
	       r->lost.records : r->stats.lost_records;
}

static void progress(const struct record *r)
{
	/* the stream has a total only while there are several members */
	bool group = r->total.rec.size && r->total.rec.time_ns >= r->wss.rec.time_ns;
	char wss[UNITS_LEN], low[UNITS_LEN], high[UNITS_LEN];
	char bytes[UNITS_LEN], time[UNITS_LEN], line[256];
	__u64 elapsed = (clock_now() - r->start_ns) / NSEC_PER_SEC;
	int len;

	len = snprintf(line, sizeof(line), "%s",
		       units_time(time, elapsed * NSEC_PER_SEC));
	if (group)
		len += snprintf(line + len, sizeof(line) - len,
				"  %u process%s: WSS %s (%s to %s)", r->group.members,
				r->group.members == 1 ? "" : "es",
				units_size(wss, r->total.bytes),
				units_size(low, r->total.low),
				units_size(high, r->total.high));
	else if (r->wss.rec.size)
		len += snprintf(line + len, sizeof(line) - len,
				"  pid %u: WSS %s (%s to %s)", r->targets.first,
				units_size(wss, r->wss.bytes),
				units_size(low, r->wss.low),
				units_size(high, r->wss.high));
	snprintf(line + len, sizeof(line) - len, "  %s written, %llu lost",
		 units_size(bytes, r->output.bytes), record_lost(r));
	msg_progress(line);
}

static void stop(struct record *r, struct loop *l)
{
	l->stop_ns = 0;
	if (!r->session.started)
		return;
	session_stop(&r->session);
	l->give_up_ns = clock_now() + END_PATIENCE;
}

static void fail(struct record *r)
{
	r->failed = true;
	if (r->session.started)
		session_stop(&r->session);
}

static bool take_record(void *arg, const struct wsmon_record *rec)
{
	struct record *r = arg;

	if (rec)
		record_take(r, rec);
	else if (!r->output.bytes)
		output_put(&r->output, r->session.header,
			   r->session.header_size);
	return !r->ended;
}

/* Takes all records that the stream has. Return: false at its end */
static bool take_stream(struct record *r)
{
	int res = session_take(&r->session, take_record, r);

	if (res < 0)
		fail(r);
	return res > 0;
}

static void forward(const struct record *r, int sig)
{
	if (r->child.pid && !r->child.gone)
		kill(r->child.pid, sig);
}

int record_signal(struct record *r)
{
	struct signalfd_siginfo info;

	if (read(r->signal_fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	if (info.ssi_signo == SIGCHLD)
		child_reap(&r->child);
	else if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP)
		forward(r, info.ssi_signo);
	return info.ssi_signo;
}

static void handle_signals(struct record *r, struct loop *l)
{
	int sig;

	while ((sig = record_signal(r))) {
		if (sig == SIGCHLD) {
			if (r->child.gone && r->session.started)
				l->stop_ns = clock_now() + EXIT_PATIENCE;
		} else if (!r->cmd) {
			/* first signal: stop the session; second signal: do not wait for END */
			if (r->session.started)
				stop(r, l);
			else
				l->give_up_ns = 1;
		}
	}
}

static void earlier(__u64 *a, __u64 b)
{
	if (b && b < *a)
		*a = b;
}

static int timeout_ms(const struct record *r, const struct loop *l)
{
	__u64 now = clock_now(), next = l->tick_ns;

	earlier(&next, l->stop_ns);
	earlier(&next, l->give_up_ns);
	earlier(&next, marks_due(&r->marks));
	if (r->feed.ring)
		earlier(&next, now + FEED_NS);
	if (next <= now)
		return 0;
	return (next - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
}

static void tick(struct record *r, struct loop *l)
{
	__u64 now = clock_now();

	if (now < l->tick_ns)
		return;
	l->tick_ns += (now - l->tick_ns) / NSEC_PER_SEC * NSEC_PER_SEC +
		      NSEC_PER_SEC;
	if (r->session.cgroup)
		members_tick(&r->members, r->session.cgroup, &r->targets, &r->output);
	targets_memory(&r->targets, 0, &r->output);
	mapper_tick(&r->mapper);
	if (r->hooks.tick)
		r->hooks.tick(r);
	if (l->progress)
		progress(r);
}

static bool write_failed(struct record *r)
{
	char bytes[UNITS_LEN], saved[64];

	output_flush(&r->output);
	if (!r->output.error)
		return false;
	snprintf(saved, sizeof(saved), "the %s before it were saved", units_size(bytes, r->output.bytes));
	if (r->output.error != -ECANCELED)
		msg("%s: %s; recording ends, %s", r->output.name, strerror(-r->output.error),
		    r->output.bytes ? saved : "nothing was saved");
	fail(r);
	return true;
}

void record_loop(struct record *r)
{
	struct loop l = {
		.tick_ns = r->start_ns + NSEC_PER_SEC,
		.stop_ns = r->duration_ns ? r->start_ns + r->duration_ns : 0,
		.progress = !r->quiet && isatty(STDERR_FILENO),
	};
	struct pollfd fds[] = {
		{ .events = POLLIN },
		{ .fd = r->signal_fd, .events = POLLIN },
		{ .events = POLLIN },
	};

	r->mapper.write = write_mapping;
	r->mapper.data = &r->output;
	output_put(&r->output, r->session.header, r->session.header_size);
	output_flush(&r->output);
	for (;;) {
		fds[0].fd = r->session.fd;
		fds[2].fd = r->stacks.fd;
		if (poll(fds, ARRAY_SIZE(fds), timeout_ms(r, &l)) < 0)
			continue;
		if (fds[1].revents)
			handle_signals(r, &l);
		if (fds[2].revents && r->stacks.fd >= 0)
			stacks_take(&r->stacks, &r->output);
		marks_tick(&r->marks, &r->session);
		record_allocations(r);
		if (fds[0].revents && !take_stream(r))
			break;
		if (write_failed(r))
			break;
		if (!rotates(&r->rotation) && !l.give_up_ns &&
		    rotate_due(&r->rotation, &r->output, 0)) {
			msg("%s has reached --max-size: recording ends", r->output.name);
			stop(r, &l);
		}
		tick(r, &l);
		if (r->failed)
			break;
		if (l.stop_ns && clock_now() >= l.stop_ns)
			stop(r, &l);
		if (l.give_up_ns && clock_now() >= l.give_up_ns) {
			msg("the module did not report the end; the file has no end record");
			/* @give_up_ns 1: the user did not want to wait, which is no failure */
			r->failed |= l.give_up_ns > 1;
			break;
		}
	}
	if (r->ended)
		r->session.started = false;
	if (!r->failed)
		write_failed(r);
	r->end_ns = clock_now();
	msg_progress(NULL);
}

/* Wait for CMD, forwarding signals */
static void record_wait_child(struct record *r)
{
	struct pollfd fd = { .fd = r->signal_fd, .events = POLLIN };

	while (!child_reap(&r->child)) {
		poll(&fd, 1, -1);
		record_signal(r);
	}
}

/* The order of a run's steps */

/* Checks that an existing process can be monitored. Return: 0, or -1 after a message */
static int check_pid(__u32 pid, FILE *status)
{
	char line[256], name[64] = "", state = 0;
	struct wsmon_rec_proc rec;
	bool memory = false, ended;
	__u32 tgid = pid;

	while (fgets(line, sizeof(line), status)) {
		sscanf(line, "Name: %63[^\n]", name);
		sscanf(line, "State: %c", &state);
		sscanf(line, "Tgid: %u", &tgid);
		memory |= !strncmp(line, "VmSize:", 7);
	}
	/* after the end of the main thread, other threads may still run */
	ended = state == 'Z' || state == 'X';
	if (ended && !proc_memory(pid, &rec)) {
		ended = false;
		memory = true;
	}
	if (tgid != pid)
		msg("%u is a thread of process %u (%s): name the process", pid, tgid, name);
	else if (ended)
		msg("process %u (%s) has ended", pid, name);
	else if (!memory)
		msg("process %u (%s) is a kernel thread: it has no memory of its own", pid, name);
	return tgid != pid || ended || !memory ? -1 : 0;
}

static int check_pids(const struct record *r)
{
	char path[32];
	FILE *status;
	size_t i;
	int err;

	if (r->hooks.gone)
		return 0;
	for (i = 0; i < r->pids.nr; i++) {
		snprintf(path, sizeof(path), "/proc/%u/status", r->pids.pid[i]);
		status = fopen(path, "re");
		if (!status) {
			msg("there is no process %u", r->pids.pid[i]);
			return -1;
		}
		err = check_pid(r->pids.pid[i], status);
		fclose(status);
		if (err)
			return err;
	}
	return 0;
}

int record_catch_signals(struct record *r, sigset_t *mask)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	struct sigaction old;
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		/* a signal that is ignored, as under nohup, stays ignored */
		if (!sigaction(signals[i], NULL, &old) &&
		    old.sa_handler != SIG_IGN)
			sigaddset(&set, signals[i]);
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &set, mask);
	r->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (r->signal_fd >= 0) {
		stuck_watch(r->signal_fd, &r->output.file.fd, &r->child);
		return 0;
	}
	msg("signals cannot be caught: %s", strerror(errno));
	return -1;
}

/* Return: the pids or the cgroup as the module's file "target" takes them; malloc()ed */
static char *target_text(const struct record *r)
{
	char *text = NULL;
	size_t size, i;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (r->session.cgroup)
		fputs(r->session.cgroup, f);
	if (r->cmd)
		fprintf(f, "%d", r->child.pid);
	for (i = 0; i < r->pids.nr; i++)
		fprintf(f, "%s%u", i ? " " : "", r->pids.pid[i]);
	fputc('\n', f);
	fclose(f);
	return text;
}

int record_prepare(struct record *r)
{
	return check_pids(r) || session_open(&r->session) ? -1 : 0;
}

static int start_session(struct record *r)
{
	char *target;
	int res;

	do {
		target = need(target_text(r));
		res = session_start(&r->session, target);
		if (res > 0 && (!r->hooks.gone || r->hooks.gone(r))) {
			msg("no such process, or it has no memory of its own: %.*s",
			    (int)strcspn(target, "\n"), target);
			res = -1;
		}
		free(target);
	} while (res > 0);
	return res;
}

int record_restart(struct record *r)
{
	struct session *s = &r->session, before = *s;

	session_close(s);
	*s = (struct session) { .fd = -1, .nr_settings = before.nr_settings };
	memcpy(s->settings, before.settings, sizeof(s->settings));
	return session_open(s) || start_session(r) ? -1 : 0;
}

static int open_feed(struct record *r)
{
	struct identity id;

	/* a wrong identity is reported when the command starts */
	return identity_get(&id, r->child.user) ? 0 : feed_open(&r->feed, r->cmd[0], id.uid ? id.uid : geteuid());
}

int record_start(struct record *r)
{
	sigset_t mask;

	if (record_catch_signals(r, &mask))
		return WSMO_FAILURE;
	if (r->feed.rate && open_feed(r))
		return WSMO_FAILURE;
	if (r->cmd && child_start(&r->child, r->cmd, &mask))
		return WSMO_FAILURE;
	feed_started(&r->feed);
	if (r->hooks.begin && r->hooks.begin(r))
		return WSMO_FAILURE;
	r->marks.start_ns = r->start_ns = clock_now();
	if (start_session(r))
		return WSMO_FAILURE;
	if (!r->cmd)
		return 0;
	if (session_wait(&r->session))
		return WSMO_FAILURE;
	return child_release(&r->child, r->cmd[0]);
}

/*
 * Does all steps before the first data. Steps that can fail precede steps that change something.
 * Return: 0, or the exit status after a message
 */
static int begin(struct record *r)
{
	char text[256];
	int err;

	if (record_prepare(r) ||
	    (r->file && output_open(&r->output, r->file, r->rotation.keep)))
		return WSMO_FAILURE;
	if (rotates(&r->rotation) && r->output.file.dir < 0) {
		msg("%s: not a regular file: --rotate cannot rename it", r->file);
		return WSMO_FAILURE;
	}
	err = record_start(r);
	if (err)
		return err;
	if (r->session.cgroup) {
		guests_read();
		if (guests_text(text, sizeof(text), r->session.cgroup))
			msg("%s", text);
	}
	return 0;
}

/* Waits for CMD, or ends CMD if it has not begun. Return: its exit status */
static int end_child(struct record *r)
{
	if (r->child.release >= 0)
		child_discard(&r->child);
	else
		record_wait_child(r);
	return child_exit_status(&r->child);
}

int record_finish(struct record *r, int status)
{
	int child;

	if (r->child.pid) {
		child = end_child(r);
		if (!status)
			status = child;
	}
	if (r->signal_fd >= 0)
		close(r->signal_fd);
	feed_close(&r->feed);
	free(r->stacks.last.base);
	rotate_free(&r->rotation);
	maps_close(&r->maps);
	mapper_free(&r->mapper);
	packer_free(&r->packer);
	targets_free(&r->targets);
	members_free(&r->members);
	free(r->pids.pid);
	free(r->session.cgroup);
	return status;
}

int record_run(struct record *r)
{
	int status = begin(r);

	if (!status) {
		stacks_begin(&r->stacks);
		record_loop(r);
	}
	session_close(&r->session);
	if (!status && r->hooks.end)
		r->hooks.end(r);
	stacks_end(&r->stacks, &r->output);
	if (output_close(&r->output))
		r->failed = true;
	if (!status) {
		r->hooks.report(r);
		if (r->failed)
			status = WSMO_FAILURE;
	}
	return record_finish(r, status);
}

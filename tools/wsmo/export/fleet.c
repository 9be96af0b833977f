// SPDX-License-Identifier: GPL-2.0
/*
 * fleet.c - many cgroups, watched in turns
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "fleet.h"
#include "session/cgroup.h"
#include "session/session.h"

/* Cgroups are looked for this often, or after this many times what looking took */
#define LOOK_INTERVAL	(5 * NSEC_PER_SEC)
#define LOOK_PACE	100

/* A turn is the longest window and this many aggregation intervals: figures get better */
#define TURN_INTERVALS	4

/* How many times as long one may be that has no figures yet */
#define TURNS_PATIENCE	6

/* CPU time that was allowed and not used can be used later, for this long */
#define CREDIT		(10 * NSEC_PER_SEC)

/* A session takes up to 7 MiB in the kernel */
#define RAM_PER_SESSION	(256ULL << 20)

#define EVENTS		64

static struct watched *at(const struct fleet *f, size_t i)
{
	return ((struct watched **)f->list.base)[i];
}

static int compare(const void *a, const void *b)
{
	const struct watched * const *x = a, * const *y = b;

	return strcmp((*x)->session.cgroup, (*y)->session.cgroup);
}

static void end_turn(struct fleet *f, struct watched *w, __u64 now)
{
	if (w->session.fd < 0)
		return;
	f->cpu_ns += w->live.cpu_ns;
	f->ended++;
	f->lost += w->live.lost;
	f->open--;
	session_close(&w->session);
	w->session.fd = -1;
	w->session.reader = (struct wsmon_reader) { 0 };
	w->ended_ns = now;
}

static void drop(struct fleet *f, size_t i)
{
	struct watched *w = at(f, i);

	end_turn(f, w, 0);
	f->refused -= w->refused;
	sorted_remove(&f->list, &((struct watched **)f->list.base)[i]);
	live_free(&w->live);
	wsmon_wss_free(&w->rows);
	free(w->session.cgroup);
	free(w);
}

/* Return: the element of the list, NULL if there is none */
static struct watched *find(const struct fleet *f, char *path)
{
	struct watched key = { .session.cgroup = path }, *k = &key, **w;

	w = sorted_find(&f->list, &k);
	return w ? *w : NULL;
}

static void add(struct fleet *f, const struct cgroup_below *c)
{
	struct watched *w = find(f, c->path);

	if (!w) {
		w = need(calloc(1, sizeof(*w)));
		w->session.cgroup = need(strdup(c->path));
		memcpy(w->session.settings, f->how.settings, sizeof(w->session.settings));
		w->session.nr_settings = f->how.nr_settings;
		w->session.fd = -1;
		live_init(&w->live);
		need(sorted_get(&f->list, &w));
	}
	w->resident = c->bytes;
	w->guests = guests_of(c->path);
	w->there = true;
	w->again = w->refused;
}

/* The largest first; one that is watched stays until others are a quarter larger */
static int by_size(const void *x, const void *y, void *arg)
{
	const struct cgroup_below *a = x, *b = y;
	__u64 p = a->bytes, q = b->bytes;

	p += find(arg, a->path) ? p / 4 + 1 : 0;
	q += find(arg, b->path) ? q / 4 + 1 : 0;
	return COMPARE(q, p) ?: strcmp(a->path, b->path);
}

/* Return: 0, or -1 if there is no such cgroup */
static int list_root(const struct fleet *f, struct cgroup_below **list, size_t *nr)
{
	__u32 pid;

	*list = NULL;
	*nr = 0;
	if (!f->alone)
		return cgroup_list(f->root, list, nr);
	if (cgroup_pids(f->root, &pid, 1) < 0)
		return -1;
	*list = need(calloc(1, sizeof(**list)));
	(*list)->path = need(strdup(f->root));
	cgroup_memory(f->root, &(*list)->bytes);
	*nr = 1;
	return 0;
}

/* Return: 0, or -1 if there is no such cgroup: for now nothing is watched */
static int look(struct fleet *f)
{
	struct cgroup_below *list;
	size_t nr, i;
	__u64 began = clock_now(), took;
	int err = list_root(f, &list, &nr);

	took = clock_now() - began;
	f->look_ns = began + (took * LOOK_PACE > LOOK_INTERVAL ? took * LOOK_PACE : LOOK_INTERVAL);
	f->found = nr;
	guests_read();
	if (nr > f->max)
		qsort_r(list, nr, sizeof(*list), by_size, f);
	for (i = 0; i < f->list.nr; i++)
		at(f, i)->there = false;
	for (i = 0; i < nr; i++) {
		if (i < f->max)
			add(f, &list[i]);
		free(list[i].path);
	}
	free(list);
	for (i = f->list.nr; i-- > 0;)
		if (!at(f, i)->there)
			drop(f, i);
	return err;
}

static __u64 longest_window_ns(const struct watched *w)
{
	const struct wsmon_attrs *a = &w->session.reader.header.attrs;

	return a->nr_windows ? a->windows_us[a->nr_windows - 1] * NSEC_PER_USEC : 0;
}

/* Are there figures of this turn that cover the longest window? */
static bool has_figures(const struct watched *w)
{
	return w->live.time_ns >= w->began_ns + longest_window_ns(w);
}

/* On a busy machine the first figures are late, and a cgroup without processes has none */
static bool is_over(const struct watched *w, __u64 now)
{
	const struct wsmon_attrs *a = &w->session.reader.header.attrs;
	__u64 aggr_ns = a->aggr_us ? a->aggr_us * NSEC_PER_USEC : NSEC_PER_SEC;
	__u64 turn_ns = longest_window_ns(w) + TURN_INTERVALS * aggr_ns;

	return now - w->began_ns > (has_figures(w) ? turn_ns : TURNS_PATIENCE * turn_ns);
}

/* Whose turn it is: what waits longest; of those that had none the largest */
static struct watched *next(const struct fleet *f)
{
	struct watched *best = NULL;
	size_t i;

	for (i = 0; i < f->list.nr; i++) {
		struct watched *w = at(f, i);

		if (w->session.fd < 0 && w->refused <= w->again && (!best || w->ended_ns < best->ended_ns ||
					  (w->ended_ns == best->ended_ns &&
					   w->resident > best->resident)))
			best = w;
	}
	return best;
}

/* What turns take: those that go on take what the others did, or more */
static __u64 cpu_taken(const struct fleet *f)
{
	__u64 usual = f->ended ? f->cpu_ns / f->ended : 0, sum = f->cpu_ns;
	size_t i;

	for (i = 0; i < f->list.nr; i++)
		if (at(f, i)->session.fd >= 0)
			sum += at(f, i)->live.cpu_ns > usual ? at(f, i)->live.cpu_ns : usual;
	return sum;
}

/*
 * May a turn begin? The module limits what sessions take that go on. What it cannot spread over
 * time is the beginning: turns wait until there is CPU time for it, but not if all cgroups can
 * be watched at once.
 */
static bool can_afford(const struct fleet *f, const struct watched *w)
{
	return (!w->ended_ns && f->list.nr <= f->at_once) || f->cpu_permille >= 1000 ||
	       cpu_taken(f) <= f->allowed_ns;
}

static void allow(struct fleet *f, __u64 now)
{
	__u64 most = cpu_taken(f) + CREDIT / 1000 * f->cpu_permille;

	f->allowed_ns += (now - f->allowed_at_ns) / 1000 * f->cpu_permille;
	f->allowed_at_ns = now;
	if (f->allowed_ns > most)
		f->allowed_ns = most;
}

/* What is watched longest, NULL if its turn is not over */
static struct watched *last(const struct fleet *f, __u64 now)
{
	struct watched *best = NULL;
	size_t i;

	for (i = 0; i < f->list.nr; i++)
		if (at(f, i)->session.fd >= 0 && (!best || at(f, i)->began_ns < best->began_ns))
			best = at(f, i);
	return best && is_over(best, now) ? best : NULL;
}

static void end_turns(struct fleet *f, __u64 now)
{
	size_t waiting = f->list.nr - f->refused - f->open, some = f->at_once / TURN_INTERVALS + 1;
	struct watched *w;

	if (waiting > some)
		waiting = some;
	while (waiting-- && (w = last(f, now)))
		end_turn(f, w, now);
}

/* Return: 0, 1 if there can be no session now, or -1 after a message */
static int begin_turn(struct fleet *f, struct watched *w, __u64 now)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = w };
	int err = session_watch(&w->session);

	if (!err) {
		live_free(&w->live);
		live_init(&w->live);
		w->began_ns = now;
		f->open++;
		f->refused -= w->refused;
		w->refused = false;
		if (!epoll_ctl(f->fd, EPOLL_CTL_ADD, w->session.fd, &event))
			return 0;
		msg("epoll: %m");
		return -1;
	}
	session_close(&w->session);
	w->session.fd = -1;
	w->session.reader = (struct wsmon_reader) { 0 };
	switch (err) {
	case -ENOENT:		/* it was removed a moment ago, */
	case -EINVAL:		/* or its path is too long: others do not wait for it */
		f->refused += !w->refused;
		w->refused = true;
		w->again = false;
		return 0;
	case -EMFILE:
	case -ENOMEM:
		return 1;
	case 1:
		return -1;
	}
	device_explain("buffer", err);
	return -1;
}

int fleet_turn(struct fleet *f)
{
	__u64 now = clock_now();
	struct watched *w;
	int err = 0;

	if (now >= f->look_ns)
		look(f);
	allow(f, now);
	end_turns(f, now);
	/* what just ended, or could not begin, does not begin now */
	while (!err && f->open < f->at_once && (w = next(f)) && w->ended_ns != now &&
	       can_afford(f, w))
		err = begin_turn(f, w, now);
	return err < 0 ? -1 : 0;
}

int fleet_begin(struct fleet *f)
{
	__u64 room = sysconf(_SC_PHYS_PAGES) * (__u64)sysconf(_SC_PAGESIZE) / RAM_PER_SESSION + 1;
	int fd;

	f->list = (struct sorted) {
		.size = sizeof(struct watched *), .max = f->max, .compare = compare,
	};
	if (f->at_once > room)
		f->at_once = room;
	f->allowed_at_ns = clock_now();
	f->fd = epoll_create1(EPOLL_CLOEXEC);
	debugfs_load_module();
	fd = device_open();
	if (fd >= 0) {
		close(fd);
	} else if (fd != -EMFILE) {
		device_explain("buffer", fd);
		return -1;
	}
	if (!look(f))
		return fleet_turn(f);
	msg("no such cgroup (of version 2): %s", f->root);
	return -1;
}

/* The last figures of an interval, if they cover the longest window */
static void keep(struct watched *w)
{
	struct timespec ts;

	if (!has_figures(w))
		return;
	clock_gettime(CLOCK_REALTIME, &ts);
	wsmon_wss_free(&w->rows);
	w->rows = w->live.now.rows;
	w->live.now.rows = (struct wsmon_wss_rows) { 0 };
	w->processes = w->live.now.group.members;
	w->time_ms = ts.tv_sec * 1000 + ts.tv_nsec / NSEC_PER_MSEC -
		     (clock_now() - w->live.time_ns) / NSEC_PER_MSEC;
}

static bool take_record(void *arg, const struct wsmon_record *rec)
{
	struct watched *w = arg;
	__u64 before = w->live.time_ns;

	if (!rec)
		return true;
	live_take(&w->live, rec);
	if (w->live.time_ns != before)
		keep(w);
	w->session.started = rec->type != WSMON_REC_END;
	return w->session.started;
}

int fleet_take(struct fleet *f)
{
	struct epoll_event event[EVENTS];
	int nr = epoll_wait(f->fd, event, EVENTS, 0), i;

	for (i = 0; i < nr; i++) {
		struct watched *w = event[i].data.ptr;

		if (session_take(&w->session, take_record, w) < 0)
			return -1;
		/* it was removed */
		if (!w->session.started)
			end_turn(f, w, clock_now());
	}
	return 0;
}

void fleet_sum(const struct fleet *f, __u64 *cpu_ns, __u64 *lost)
{
	size_t i;

	*cpu_ns = f->cpu_ns;
	*lost = f->lost;
	for (i = 0; i < f->list.nr; i++) {
		if (at(f, i)->session.fd < 0)
			continue;
		*cpu_ns += at(f, i)->live.cpu_ns;
		*lost += at(f, i)->live.lost;
	}
}

void fleet_end(struct fleet *f)
{
	while (f->list.nr)
		drop(f, f->list.nr - 1);
	free(f->list.base);
	if (f->fd >= 0)
		close(f->fd);
}

// SPDX-License-Identifier: GPL-2.0
/* cgroups.c - a session for a cgroup, and one for each service or container below it */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cgroup.h"
#include "cgroups.h"
#include "core/cli.h"
#include "core/clock.h"
#include "procfs.h"

/* List cgroups this often, or after LIST_PACE times the CPU time of listing: users can make many */
#define LIST_INTERVAL	(5 * NSEC_PER_SEC)
#define LIST_PACE	100

/* Read PSS again after this many times the time of reading, so that it takes 1 % of the time */
#define PSS_PACE	100

/* Max. processes of a cgroup whose PSS is added */
#define PSS_PIDS	4096

void cgroup_session_init(struct cgroup_session *s, const struct session *how, const char *path)
{
	memcpy(s->session.settings, how->settings, sizeof(s->session.settings));
	s->session.nr_settings = how->nr_settings;
	s->session.cgroup = need(strdup(path));
	s->session.fd = -1;
	live_init(&s->live);
	s->keep = true;
}

/* Return: 0, or 1 after a message */
static int poll_for(struct cgroup_session *s, int epoll)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = s };

	if (!epoll_ctl(epoll, EPOLL_CTL_ADD, s->session.fd, &event))
		return 0;
	msg("epoll: %m");
	return 1;
}

int cgroup_session_begin(struct cgroup_session *s, int epoll)
{
	int err = session_watch(&s->session) ?: poll_for(s, epoll);

	if (err) {
		cgroup_session_end(s);
		return err;
	}
	live_free(&s->live);
	live_init(&s->live);
	return 0;
}

static bool take_record(void *arg, const struct wsmon_record *rec)
{
	struct cgroup_session *s = arg;

	if (!rec)
		return true;
	live_take(&s->live, rec);
	s->session.started = rec->type != WSMON_REC_END;
	return s->session.started;
}

int cgroup_session_take(struct cgroup_session *s)
{
	return session_take(&s->session, take_record, s) < 0 ? -1 : 0;
}

void cgroup_session_end(struct cgroup_session *s)
{
	session_close(&s->session);
	s->session.fd = -1;
	s->session.reader = (struct wsmon_reader) { 0 };
}

void cgroup_session_free(struct cgroup_session *s)
{
	cgroup_session_end(s);
	free(s->session.cgroup);
	live_free(&s->live);
	free(s);
}

size_t cgroup_sessions_ready(int epoll, struct cgroup_session **ready)
{
	struct epoll_event event[CGROUPS_MAX + 1];
	int nr = epoll_wait(epoll, event, CGROUPS_MAX + 1, 0), i;

	for (i = 0; i < nr; i++)
		ready[i] = event[i].data.ptr;
	return nr > 0 ? nr : 0;
}

size_t cgroup_sessions_max(void)
{
	__u64 ram = (__u64)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);

	return ram / CGROUPS_RAM < CGROUPS_MAX ? ram / CGROUPS_RAM + 1 : CGROUPS_MAX;
}

static struct cgroup_session *new_session(struct cgroups *c, const struct session *how,
					  const char *path)
{
	struct cgroup_session *s = need(calloc(1, sizeof(*s)));

	cgroup_session_init(s, how, path);
	s->number = ++c->numbers;
	return s;
}

static void add_session(struct cgroups *c, struct cgroup_session *s)
{
	c->list = need(reallocarray(c->list, c->nr + 1, sizeof(struct cgroup_session *)));
	c->list[c->nr++] = s;
}

/* Return: NULL if a cgroup below has no session */
static struct cgroup_session *find(const struct cgroups *c, const char *path)
{
	size_t i;

	for (i = 1; i < c->nr; i++)
		if (!strcmp(c->list[i]->session.cgroup, path))
			return c->list[i];
	return NULL;
}

/*
 * Orders by size, largest first. A cgroup with a session counts twice, so that cgroups of nearly
 * one size do not alternate.
 */
static int by_size(const void *x, const void *y, void *arg)
{
	const struct cgroup_below *a = x, *b = y;
	__u64 p = find(arg, a->path) ? 2 * a->bytes + 1 : a->bytes;
	__u64 q = find(arg, b->path) ? 2 * b->bytes + 1 : b->bytes;

	return COMPARE(q, p) ?: strcmp(a->path, b->path);
}

/* Ends all sessions without @keep */
static void drop_others(struct cgroups *c)
{
	size_t i, nr = 1;

	for (i = 1; i < c->nr; i++) {
		if (c->list[i]->keep)
			c->list[nr++] = c->list[i];
		else
			cgroup_session_free(c->list[i]);
	}
	c->nr = nr;
}

/* Begins a session. Return: 0; 1 if there is no room for a session; -1 after a message */
static int watch(struct cgroups *c, const char *path)
{
	struct cgroup_session *s = new_session(c, &c->list[0]->session, path);
	int err = cgroup_session_begin(s, c->fd);

	if (!err) {
		add_session(c, s);
		return 0;
	}
	cgroup_session_free(s);
	/* the cgroup was removed since it was listed, or its path is too long */
	if (err == -ENOENT || err == -EINVAL) {
		c->refused++;
		return 0;
	}
	return err == 1 ? -1 : 1;
}

/* Begins sessions for the largest cgroups of a list, and ends the others */
static int watch_largest(struct cgroups *c, struct cgroup_below *list, size_t nr)
{
	size_t max = nr < c->max ? nr : c->max, i;
	struct cgroup_session *s;
	int err = 0;

	qsort_r(list, nr, sizeof(*list), by_size, c);
	for (i = 1; i < c->nr; i++)
		c->list[i]->keep = false;
	for (i = 0; i < max; i++) {
		s = find(c, list[i].path);
		if (s)
			s->keep = s->session.started;
	}
	drop_others(c);
	c->refused = 0;
	for (i = 0; i < max && !err; i++)
		if (!find(c, list[i].path))
			err = watch(c, list[i].path);
	c->left_out = nr - (c->nr - 1) - c->refused;
	return err < 0 ? -1 : 0;
}

static int look_for_cgroups(struct cgroups *c)
{
	__u64 began = clock_now(), took = clock_cpu();
	struct cgroup_below *list;
	size_t nr, i;
	int err;

	if (began < c->list_ns)
		return 0;
	err = cgroup_list(c->list[0]->session.cgroup, &list, &nr);
	took = (clock_cpu() - took) * LIST_PACE;
	c->list_ns = began + (took > LIST_INTERVAL ? took : LIST_INTERVAL);
	err = err ? 0 : watch_largest(c, list, nr);
	for (i = 0; i < nr; i++)
		free(list[i].path);
	free(list);
	guests_read();
	for (i = 0; i < c->nr; i++)
		c->list[i]->guests = guests_of(c->list[i]->session.cgroup);
	return err;
}

static void read_pss(struct cgroup_session *s)
{
	__u32 pids[PSS_PIDS];
	__u64 began = clock_now();
	long nr, i;

	if (began < s->pss_ns)
		return;
	nr = cgroup_pids(s->session.cgroup, pids, PSS_PIDS);
	s->has_resident = nr >= 0 && nr <= PSS_PIDS;
	s->resident = 0;
	for (i = 0; i < nr && s->has_resident; i++)
		s->resident += proc_pss(pids[i]);
	s->pss_ns = clock_now() + (clock_now() - began) * PSS_PACE;
}

static void look_at_memory(struct cgroup_session *s)
{
	if (!cgroup_memory(s->session.cgroup, &s->resident))
		s->has_resident = true;
	else
		read_pss(s);
}

int cgroups_refresh(struct cgroups *c)
{
	size_t i;

	if (look_for_cgroups(c))
		return -1;
	for (i = 0; i < c->nr && !c->held; i++)
		look_at_memory(c->list[i]);
	return 0;
}

int cgroups_begin(struct cgroups *c, const struct session *how)
{
	struct cgroup_session *s;

	*c = (struct cgroups) {
		.max = cgroup_sessions_max(), .fd = epoll_create1(EPOLL_CLOEXEC),
	};
	s = new_session(c, how, how->cgroup);
	if (c->fd < 0 || session_open(&s->session) ||
	    session_start(&s->session, s->session.cgroup) || poll_for(s, c->fd)) {
		cgroup_session_free(s);
		return -1;
	}
	add_session(c, s);
	return cgroups_refresh(c);
}

int cgroups_take(struct cgroups *c)
{
	struct cgroup_session *ready[CGROUPS_MAX + 1], *s;
	size_t nr = cgroup_sessions_ready(c->fd, ready), i;

	for (i = 0; i < nr; i++) {
		s = ready[i];
		s->live.held = c->held;
		if (cgroup_session_take(s))
			return -1;
		/* no further record; the session of a cgroup below stays until the next listing */
		if (!s->session.started)
			epoll_ctl(c->fd, EPOLL_CTL_DEL, s->session.fd, NULL);
	}
	c->ended = !c->list[0]->session.started;
	return 0;
}

void cgroups_end(struct cgroups *c)
{
	size_t i;

	for (i = 0; i < c->nr; i++)
		cgroup_session_free(c->list[i]);
	free(c->list);
	if (c->fd >= 0)
		close(c->fd);
}

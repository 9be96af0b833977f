// SPDX-License-Identifier: GPL-2.0
/*
 * inuse.c - what of a process's memory is in use, from a recording or a session that runs
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/secondary.h"
#include "inuse.h"
#include "libwsmon/reader.h"
#include "libwsmon/series.h"
#include "session/session.h"

#define TARGETS_MAX	65536

/* Intervals of a session that runs: of the first one only the end may come */
#define LIVE_INTERVALS	2
#define LIVE_PATIENCE	(30 * NSEC_PER_SEC)

static int compare(const void *x, const void *y)
{
	const struct in_use_target *a = x, *b = y;

	return COMPARE(a->pid, b->pid);
}

static __u32 no_place(void *data __attribute__((unused)), __u32 pid __attribute__((unused)),
		      const struct wsmon_region_entry *e __attribute__((unused)))
{
	return 0;
}

static void take_target(struct in_use *u, const struct wsmon_rec_target *rec)
{
	struct in_use_target key = { .pid = rec->pid }, *t;

	if ((rec->flags & WSMON_TARGET_REASON) != WSMON_TARGET_AGAIN)
		hot_exec(&u->hot, rec->pid);
	u->targets.size = sizeof(key);
	u->targets.max = TARGETS_MAX;
	u->targets.compare = compare;
	t = sorted_get(&u->targets, &key);
	if (t)
		memcpy(t->comm, rec->comm, sizeof(t->comm));
}

/* Of several windows the shortest counts, as in regions */
static void take_total(struct in_use *u, const struct wsmon_rec_total *rec)
{
	if (rec->class >= WSMON_NR_CLASSES || (u->window_us && rec->window_us > u->window_us))
		return;
	if (rec->window_us < u->window_us) {
		memset(u->total, 0, sizeof(u->total));
		memset(u->totals, 0, sizeof(u->totals));
	}
	u->window_us = rec->window_us;
	u->total[rec->class] += rec->bytes;
	u->totals[rec->class]++;
}

static void take(struct in_use *u, const struct wsmon_record *rec)
{
	u->hot.place = no_place;
	u->last_ns = rec->time_ns;
	secondary_take(rec, "");
	switch (rec->type) {
	case WSMON_REC_TARGET:
		take_target(u, (const void *)rec);
		break;
	case WSMON_REC_SNAPSHOT:
		if (hot_snapshot(&u->hot, (const void *)rec))
			need(NULL);
		break;
	case WSMON_REC_TOTAL:
		take_total(u, (const void *)rec);
		break;
	case WSMON_REC_GROUP:
		snprintf(u->cgroup, sizeof(u->cgroup), "%s", reader_cgroup(rec));
		break;
	case WSMON_REC_STATS:
		u->intervals++;
		break;
	}
}

int in_use_read(struct in_use *u, const char *file)
{
	const char *name = strcmp(file, "-") ? file : "standard input";
	int fd = strcmp(file, "-") ? open(file, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	const struct wsmon_file_header *header;
	const struct wsmon_record *rec;
	struct wsmon_reader *r;
	int res;

	if (fd < 0) {
		msg("%s: cannot be read: %s", file, strerror(errno));
		return -1;
	}
	r = need(wsmon_open_fd(fd));
	while ((res = wsmon_next(r, &rec)) > 0)
		take(u, rec);
	if (res == -EBADMSG)
		msg("%s: %s", name, wsmon_error(r));
	header = wsmon_header(r);
	/* times are of this boot if it is the same */
	if (header)
		u->last_ns += header->real_ns - header->mono_ns;
	wsmon_close(r);
	if (fd != STDIN_FILENO)
		close(fd);
	return res == -EBADMSG ? -1 : 0;
}

static bool take_live(void *arg, const struct wsmon_record *rec)
{
	struct in_use *u = arg;

	if (rec)
		take(u, rec);
	return !rec || (rec->type != WSMON_REC_END && u->intervals < LIVE_INTERVALS);
}

int in_use_live(struct in_use *u)
{
	struct session s = { .fd = -1 };
	__u64 end_ns = clock_now() + LIVE_PATIENCE;
	int res = session_join(&s);

	if (res > 0)
		msg("nothing is being monitored; begin with 'wsmo record', or name a recording with -i");
	while (!res && clock_now() < end_ns) {
		struct pollfd fd = { .fd = s.fd, .events = POLLIN };

		if (poll(&fd, 1, 100) < 0 && errno != EINTR)
			break;
		res = session_take(&s, take_live, u);
		if (res <= 0)
			break;
		res = 0;
	}
	session_close(&s);
	if (!res && !u->intervals) {
		msg("the session has had no figures for %llu s", LIVE_PATIENCE / NSEC_PER_SEC);
		res = -1;
	}
	/* nobody who runs now is another than who was watched a moment ago */
	u->last_ns = ~0ULL;
	return res ? -1 : 0;
}

/* When a process began, as nanoseconds since 1970 */
static __u64 began(const struct mem_process *p)
{
	struct timespec real, boot;
	double since = (double)p->start / sysconf(_SC_CLK_TCK);

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return (real.tv_sec - boot.tv_sec + since) * NSEC_PER_SEC;
}

bool in_use_same(const struct in_use *u, const struct mem_process *p)
{
	const struct in_use_target key = { .pid = p->pid };
	const struct in_use_target *t = u->targets.size ? sorted_find(&u->targets, &key) : NULL;

	if (!t)
		return false;
	if (!strncmp(t->comm, p->comm, sizeof(t->comm)) &&
	    (u->last_ns == ~0ULL || began(p) < u->last_ns + NSEC_PER_SEC))
		return true;
	msg("process %u is now another than the %.16s that was recorded: what it uses is not known",
	    p->pid, t->comm);
	return false;
}

const struct hot_target *in_use_find(const struct in_use *u, __u32 pid)
{
	struct hot_target key = { .pid = pid }, *t, *last = NULL;

	while (u->hot.targets.size && (t = sorted_find(&u->hot.targets, &key))) {
		last = t;
		key.life++;
	}
	return last && last->seconds > 0 ? last : NULL;
}

double in_use_range(const struct hot_target *t, __u64 start, __u64 end)
{
	size_t i = t->nr ? sorted_above(&t->cell->end, t->nr, sizeof(*t->cell), start) : 0;
	double sum = 0;

	for (; i < t->nr && t->cell[i].start < end; i++) {
		const struct hot_cell *c = &t->cell[i];
		__u64 from = c->start > start ? c->start : start;
		__u64 to = c->end < end ? c->end : end;

		sum += c->share / t->seconds * (to - from);
	}
	return sum;
}

void in_use_free(struct in_use *u)
{
	hot_free(&u->hot);
	free(u->targets.base);
}

// SPDX-License-Identifier: GPL-2.0
/* debugfs-fuzz: readers of the stream that close it at any point */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../include/wsmon.h"
#include "debugfs_fuzz.h"

/* The stream so far; checked records are forgotten. */
static struct {
	union {
		struct wsmon_file_header header;
		struct wsmon_record rec;
		struct wsmon_rec_wss wss;
		struct wsmon_rec_peak peak;
		struct wsmon_rec_mark mark;
		struct wsmon_rec_group group;
		struct wsmon_rec_total total;
		struct wsmon_rec_who who;
		struct wsmon_rec_snapshot snapshot;
		struct wsmon_rec_attrs attrs;
		unsigned char bytes[WSMON_RECORD_MAX];
	};
	size_t have;		/* bytes of the present record */
	bool in_records;	/* the header is complete */
	unsigned int first, nr;	/* which of @known the records may be of; @nr 0: any process */
	uint32_t last_type;
} in;

static void check_header(void)
{
	if (memcmp(in.header.magic, WSMON_MAGIC, sizeof(in.header.magic)) ||
	    in.header.version != WSMON_VERSION ||
	    in.header.header_size != sizeof(in.header) ||
	    in.header.page_size != 4096)
		wrong("a stream that begins with something else than its header");
}

/* A region with reported samples has two pages at least; bits without a meaning are 0. */
static int strange_samples(const struct wsmon_region_entry *r)
{
	const unsigned int places = WSMON_SAMPLES_PLACES * WSMON_SAMPLES_PLACES - 1;

	if (!(r->samples & WSMON_SAMPLES_VALID))
		return r->samples & ~WSMON_SAMPLES_MISSED;
	return r->end - r->start < 2 * 4096 ||
	       r->samples & ~(WSMON_SAMPLES_VALID | WSMON_SAMPLES_LOWER_HIT |
			      WSMON_SAMPLES_UPPER_HIT | places);
}

static void check_snapshot(const struct wsmon_rec_snapshot *s)
{
	if (s->rec.size != sizeof(*s) + s->nr * sizeof(s->regions[0]) ||
	    s->first + s->nr > s->total || s->budget > REGIONS_LIMIT)
		wrong("snapshot: %u regions from %u of %u in %u bytes", s->nr,
		      s->first, s->total, s->rec.size);
	for (uint32_t i = 0; i < s->nr; i++) {
		const struct wsmon_region_entry *r = &s->regions[i];

		if (r->start >= r->end || r->share > WSMON_SHARE_ONE ||
		    r->freq > WSMON_SHARE_ONE || r->class >= WSMON_NR_CLASSES ||
		    strange_samples(r) || (i && r->start < r[-1].end))
			wrong("snapshot: strange region %u", i);
	}
}

static void check_peak(const struct wsmon_rec_peak *p)
{
	if (p->rec.size != sizeof(*p) || p->group >= WSMON_PEAK_GROUPS ||
	    p->edge > WSMON_PEAK_END || (p->sign != 1 && p->sign != -1) ||
	    !p->number || !p->start_ns || !p->end_ns != (p->edge == WSMON_PEAK_START) ||
	    p->low > p->bytes || p->bytes > p->high)
		wrong("peak %u of group %u, edge %u: strange", p->number, p->group, p->edge);
}

/* A pid in a record is that of an expected process. */
static void check_pid(void)
{
	pid_t pid = in.wss.pid;

	for (unsigned int i = 0; i < in.nr; i++)
		if (known[(in.first + i) % nr_known] == pid)
			return;
	if (in.nr)
		wrong("record %u of process %d, which was not named", in.rec.type, pid);
}

static void check_record(void)
{
	const struct wsmon_attrs *a = &in.attrs.attrs;

	if (in.rec.type <= WSMON_REC_EXIT && in.rec.type != WSMON_REC_ATTRS &&
	    in.rec.type != WSMON_REC_MARK)
		check_pid();
	switch (in.rec.type) {
	case WSMON_REC_ATTRS:
		if (a->sample_us < SAMPLE_US_MIN || a->aggr_us < a->sample_us ||
		    a->max_regions < a->min_regions || a->nr_windows < 1 ||
		    a->nr_windows > WSMON_WINDOWS_MAX)
			wrong("record of strange attributes");
		break;
	case WSMON_REC_SNAPSHOT:
		check_snapshot(&in.snapshot);
		break;
	case WSMON_REC_WSS:
		if (in.wss.low > in.wss.bytes || in.wss.bytes > in.wss.high ||
		    in.wss.high > in.wss.mapped)
			wrong("record of strange working set size");
		break;
	case WSMON_REC_PEAK:
		check_peak(&in.peak);
		break;
	case WSMON_REC_MARK:
		if (!in.mark.number || !in.mark.text[0] ||
		    !memchr(in.mark.text, 0, in.rec.size - sizeof(in.mark)))
			wrong("strange mark %u", in.mark.number);
		break;
	case WSMON_REC_GROUP:
		if (in.rec.size != sizeof(in.group) || in.group.missed > in.group.went)
			wrong("strange group of %u members", in.group.members);
		break;
	case WSMON_REC_TOTAL:
		if (in.rec.size != sizeof(in.total) || in.total.class >= WSMON_NR_CLASSES ||
		    in.total.low > in.total.bytes || in.total.bytes > in.total.high ||
		    in.total.high > in.total.mapped)
			wrong("total of strange working set size");
		break;
	case WSMON_REC_WHO:
		check_pid();
		if (in.rec.size != sizeof(in.who) || !in.who.tid || !in.who.bytes ||
		    in.who.flags >> 4 || !memchr(in.who.comm, 0, sizeof(in.who.comm)))
			wrong("strange touch of %llx", (unsigned long long)in.who.address);
		break;
	case WSMON_REC_TARGET:
	case WSMON_REC_AREA:
	case WSMON_REC_EXIT:
	case WSMON_REC_LOST:
	case WSMON_REC_STATS:
	case WSMON_REC_END:
		break;
	default:
		wrong("record of type %u", in.rec.type);
	}
	in.last_type = in.rec.type;
}

/* Bytes that complete the present header or record, as far as known */
static size_t wanted(void)
{
	if (!in.in_records)
		return sizeof(in.header);
	if (in.have < sizeof(in.rec))
		return sizeof(in.rec);
	if (in.rec.size < sizeof(in.rec) || in.rec.size > WSMON_RECORD_MAX ||
	    in.rec.size % 8)
		wrong("record %u of %u bytes after record %u", in.rec.type,
		      in.rec.size, in.last_type);
	return in.rec.size;
}

/* Take bytes of the stream as they come */
void stream_feed(const char *p, size_t n)
{
	while (n) {
		size_t part = wanted() - in.have;

		if (part > n)
			part = n;
		memcpy(in.bytes + in.have, p, part);
		in.have += part;
		p += part;
		n -= part;
		if (in.have < wanted())
			continue;
		if (in.in_records)
			check_record();
		else
			check_header();
		in.in_records = true;
		in.have = 0;
	}
}

/* A stream begins with its header. */
void stream_begin(void)
{
	memset(&in, 0, sizeof(in));
}

/* From now on records are of @nr known processes, from @first on */
void stream_expect(unsigned int first, unsigned int nr)
{
	in.first = first;
	in.nr = nr;
}

/* The stream has ended. */
void stream_end(void)
{
	if (in.have || in.last_type != WSMON_REC_END)
		wrong("a stream ends after record %u, %zu bytes", in.last_type, in.have);
}

/* Return: bytes read; -1 if there is nothing now */
static ssize_t read_some(int fd, size_t count)
{
	ssize_t n = read(fd, room, count);

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		wrong("read buffer: %s", error_name(errno));
	return n;
}

/* A reader gets whole records in order, as long as it has the file open. */
void check_stream(void)
{
	struct pollfd p = { .events = POLLIN };
	size_t most = log_pick(1, ROOM);

	p.fd = open_file(BUFFER, O_RDONLY | O_NONBLOCK);
	if (p.fd < 0)
		return;
	stream_begin();
	for (unsigned int left = log_pick(1, 200); left; left--) {
		ssize_t n = read_some(p.fd, 1 + pick(most));

		if (n > 0)
			stream_feed(room, n);
		else if (poll(&p, 1, 5) > 0 && p.revents != POLLIN)
			wrong("poll says %#x", p.revents);
		/* without an end of the session, a stream has whole records only */
		if (!n && in.have)
			wrong("a session ended within a record");
	}
	close(p.fd);
}

/* A process that waits for records is killed. */
void blocked_reader(void)
{
	int fd = open_file(BUFFER, O_RDONLY);
	pid_t pid;

	if (fd < 0)
		return;
	pid = must_fork();
	if (!pid)
		for (;;)
			read_some(fd, ROOM);
	if (one_in(2)) {
		close(fd);
		fd = -1;
	}
	usleep(pick(5000));
	kill(pid, SIGKILL);
	reap(pid);
	if (fd >= 0)
		close(fd);
}

/* While a process has the buffer open, no other process may open it. */
void second_reader(void)
{
	int fd = open_file(BUFFER, O_RDONLY | O_NONBLOCK), second;

	if (fd < 0)
		return;
	for (int i = pick(4); i >= 0; i--) {
		int copy = dup(fd);

		close(fd);
		fd = copy;
		second = open_file(BUFFER, O_RDONLY);
		if (second >= 0)
			wrong("a second reader");
		read_some(fd, pick(100000));
	}
	if (lseek(fd, 0, SEEK_CUR) != -1 || errno != ESPIPE)
		wrong("lseek in buffer: %s", error_name(errno));
	if (pread(fd, room, 10, pick(2)) != -1 || errno != ESPIPE)
		wrong("pread of buffer: %s", error_name(errno));
	close(fd);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * damo.c - "wsmo export damo": what "damo report" reads
 *
 * damo's record is a JSON array with an object for each target, which has all its
 * snapshots; so each target's are collected in a temporary file first. DAMON's
 * nr_accesses is the number of sampling rounds that found a region accessed: freq
 * times the number of rounds. DAMON has no share of pages.
 *
 * The output is compressed by zlib, as damo's own records are: damo asks file(1),
 * which does not recognize large JSON.
 *
 * Ages are in microseconds. The age in intervals is 0: damo's heatmap would extend a
 * snapshot back over it, over the snapshots before.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "export.h"

#define TARGETS_MAX	256	/* an open file each */

/**
 * struct damo_target - a target's snapshots
 * @pid:	the target
 * @snapshots:	their JSON
 * @nr:		how many
 * @open:	the last of them is not ended
 * @regions:	how many that one has
 * @bytes:	of its regions
 */
struct damo_target {
	__u32 pid;
	FILE *snapshots;
	__u64 nr;
	bool open;
	__u32 regions;
	__u64 bytes;
};

struct damo {
	struct sorted targets;
	struct wsmon_attrs attrs;
};

static int compare(const void *a, const void *b)
{
	const struct damo_target *x = a, *y = b;

	return COMPARE(x->pid, y->pid);
}

static void damo_begin(struct report *rp)
{
	struct damo *d = calloc(1, sizeof(*d));

	if (!d) {
		msg("out of memory");
		exit(WSMO_FAILURE);
	}
	d->attrs = rp->reader.header.attrs;
	d->targets = (struct sorted) {
		.size = sizeof(struct damo_target), .max = TARGETS_MAX,
		.compare = compare,
	};
	rp->data = d;
}

static struct damo_target *target_of(struct report *rp, __u32 pid)
{
	const struct damo_target key = { .pid = pid };
	struct damo *d = rp->data;
	struct damo_target *t = sorted_get(&d->targets, &key);

	if (rp->failed)
		return NULL;
	if (t && !t->snapshots)
		t->snapshots = tmpfile();
	if (t && t->snapshots)
		return t;
	msg("no room for process %u: %s; choose some with --pid", pid,
	    t ? strerror(errno) : "too many processes");
	rp->failed = true;
	return NULL;
}

static void close_snapshot(struct damo_target *t)
{
	if (t->open)
		fprintf(t->snapshots, "],\"total_bytes\":%llu}", t->bytes);
	t->open = false;
}

static void open_snapshot(const struct report *rp, struct damo_target *t,
			  const struct wsmon_rec_snapshot *s)
{
	__u64 end = s->rec.time_ns - rp->reader.header.mono_ns +
		    rp->reader.header.real_ns;

	close_snapshot(t);
	fprintf(t->snapshots, "%s{\"start_time\":%llu,\"end_time\":%llu,\"regions\":[",
		t->nr++ ? ",\n" : "", end - s->interval_ns, end);
	t->open = true;
	t->regions = 0;
	t->bytes = 0;
}

static void put_region(struct damo_target *t, const struct wsmon_rec_snapshot *s,
		       const struct wsmon_region_entry *e)
{
	fprintf(t->snapshots, "%s{\"start\":%llu,\"end\":%llu,\"nr_accesses\":{\"samples\":%llu,\"percent\":%.3f},\"age\":{\"usec\":%llu,\"aggr_intervals\":0}}",
		t->regions++ ? "," : "", e->start, e->end,
		((__u64)e->freq * s->rounds + WSMON_SHARE_ONE / 2) /
		WSMON_SHARE_ONE, 100.0 * e->freq / WSMON_SHARE_ONE,
		e->age_ms * 1000ULL);
	t->bytes += e->end - e->start;
}

static void snapshot(struct report *rp, const struct wsmon_rec_snapshot *s)
{
	struct damo_target *t = target_of(rp, s->pid);
	__u32 i;

	if (!t)
		return;
	/* a large snapshot comes in several records */
	if (!s->first || !t->open)
		open_snapshot(rp, t, s);
	for (i = 0; i < s->nr; i++)
		if (filter_wants_class(&rp->filter, s->regions[i].class))
			put_region(t, s, &s->regions[i]);
}

static void damo_record(struct report *rp, const struct wsmon_record *rec)
{
	struct damo *d = rp->data;
	struct wsmon_rec_attrs attrs;

	if (rec->type == WSMON_REC_ATTRS) {
		wsmon_record_copy(rec, &attrs, sizeof(attrs));
		d->attrs = attrs.attrs;
	} else if (rec->type == WSMON_REC_SNAPSHOT && filter_wants(&rp->filter, rec)) {
		snapshot(rp, (const void *)rec);
	}
}

static void deflate_to_stdout(z_stream *z, int flush)
{
	unsigned char buf[65536];

	do {
		z->next_out = buf;
		z->avail_out = sizeof(buf);
		deflate(z, flush);
		fwrite(buf, 1, sizeof(buf) - z->avail_out, stdout);
	} while (!z->avail_out);
}

static ssize_t deflate_write(void *cookie, const char *buf, size_t size)
{
	z_stream *z = cookie;

	z->next_in = (void *)buf;
	z->avail_in = size;
	deflate_to_stdout(z, Z_NO_FLUSH);
	return size;
}

static int deflate_close(void *cookie)
{
	deflate_to_stdout(cookie, Z_FINISH);
	return deflateEnd(cookie);
}

/* What is written there goes to standard output, compressed; its end when it is closed */
static FILE *open_deflate(z_stream *z)
{
	FILE *out = NULL;

	if (deflateInit(z, Z_DEFAULT_COMPRESSION) == Z_OK)
		out = fopencookie(z, "w", (cookie_io_functions_t) {
			.write = deflate_write, .close = deflate_close,
		});
	if (!out) {
		msg("out of memory");
		exit(WSMO_FAILURE);
	}
	return out;
}

static void put_target(struct report *rp, struct damo_target *t, FILE *out)
{
	const struct damo *d = rp->data;
	char buf[65536];
	size_t n;

	close_snapshot(t);
	fprintf(out, "{\"kdamond_idx\":null,\"context_idx\":null,\"scheme_idx\":null,\"scheme_filters\":[],\n"
		"\"intervals\":{\"sample_us\":%llu,\"aggr_us\":%llu,\"ops_update_us\":%llu},\n"
		"\"target_id\":%u,\"snapshots\":[\n", d->attrs.sample_us,
		d->attrs.aggr_us, d->attrs.update_us, t->pid);
	/* what was lost before is lost though there is room again */
	if (fflush(t->snapshots) || ferror(t->snapshots) || fseek(t->snapshots, 0, SEEK_SET)) {
		msg("cannot write a temporary file: %s", strerror(errno ?: EIO));
		rp->failed = true;
	}
	while ((n = fread(buf, 1, sizeof(buf), t->snapshots)) > 0)
		fwrite(buf, 1, n, out);
	if (ferror(t->snapshots) && !rp->failed) {
		msg("cannot read a temporary file: %s", strerror(errno));
		rp->failed = true;
	}
	fputs("\n]}", out);
}

static void damo_end(struct report *rp)
{
	struct damo *d = rp->data;
	struct damo_target *t = d->targets.base;
	z_stream z = { 0 };
	FILE *out = open_deflate(&z);
	size_t i;

	putc('[', out);
	for (i = 0; i < d->targets.nr; i++) {
		if (!t[i].snapshots)
			continue;
		if (i)
			fputs(",\n", out);
		put_target(rp, &t[i], out);
		fclose(t[i].snapshots);
	}
	fputs("]\n", out);
	fclose(out);
	free(t);
	free(d);
}

const struct report_view export_damo = {
	.name = "damo",
	.begin = damo_begin,
	.record = damo_record,
	.end = damo_end,
};

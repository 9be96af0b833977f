// SPDX-License-Identifier: GPL-2.0
/*
 * consumer.c - prints the working set sizes of a recording, and sums up its regions:
 * a program that has nothing of wsmon but the installed library
 */
#include <libwsmon.h>
#include <stdio.h>
#include <string.h>

static void print_wss(const struct wsmon_reader *r, const struct wsmon_rec_wss *w)
{
	(void)r;
	printf("wss %u %s %llu %llu %llu %llu\n", w->pid, wsmon_class_name(w->class),
	       w->window_us, w->bytes, w->low, w->high);
}

static void print_snapshot(const struct wsmon_reader *r, const struct wsmon_rec_snapshot *s)
{
	unsigned long long bytes = 0;
	__u32 i, named = 0;

	for (i = 0; i < s->nr; i++) {
		bytes += s->regions[i].end - s->regions[i].start;
		named += *wsmon_area_path(r, s->pid, s->regions[i].area) != '\0';
	}
	printf("snapshot %u %u %llu %u\n", s->pid, s->nr, bytes, named);
}

int main(int argc, char **argv)
{
	struct wsmon_reader *r = argc > 1 ? wsmon_open(argv[1]) : wsmon_open_fd(0);
	const struct wsmon_record *rec;
	int res;

	if (!r || !wsmon_header(r)) {
		fprintf(stderr, "error %s\n", r ? wsmon_error(r) : "cannot be opened");
		wsmon_close(r);
		return 1;
	}
	if (argc > 2 && !strcmp(argv[2], "--no-snapshots"))
		wsmon_skip_snapshots(r);
	while ((res = wsmon_next(r, &rec)) > 0) {
		if (rec->type == WSMON_REC_WSS)
			print_wss(r, (const void *)rec);
		else if (rec->type == WSMON_REC_SNAPSHOT)
			print_snapshot(r, (const void *)rec);
	}
	if (res < 0)
		fprintf(stderr, "error %s\n", wsmon_error(r));
	wsmon_close(r);
	return res ? 1 : 0;
}

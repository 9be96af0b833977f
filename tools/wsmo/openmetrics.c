// SPDX-License-Identifier: GPL-2.0
/*
 * openmetrics.c - the metrics, and how OpenMetrics 1.0 writes them
 */
#include <stddef.h>
#include <stdio.h>

#include "names.h"
#include "openmetrics.h"
#include "text.h"
#include "wsmo.h"

/* Families with a sample for each row: the name, and where its value is */
static const struct family {
	const char *name;
	const char *help;
	size_t offset;
	bool classes;
} wss_families[] = {
	{ "wsmon_working_set_bytes", "Memory accessed within the window, estimate.",
	  offsetof(struct wss_row, bytes), true },
	{ "wsmon_working_set_low_bytes", "Lower end of its 95 % interval.",
	  offsetof(struct wss_row, low), true },
	{ "wsmon_working_set_high_bytes", "Upper end of its 95 % interval.",
	  offsetof(struct wss_row, high), true },
	{ "wsmon_mapped_bytes", "Memory mapped.",
	  offsetof(struct wss_row, mapped), true },
}, rss_family = {
	"wsmon_resident_bytes", "Memory resident.",
	offsetof(struct wss_row, bytes), false,
};

static void head(const char *name, const char *type, const char *unit,
		 const char *help)
{
	printf("# TYPE %s %s\n", name, type);
	if (unit)
		printf("# UNIT %s %s\n", name, unit);
	printf("# HELP %s %s\n", name, help);
}

/* What would end the label is escaped */
static void put_label(const char *text)
{
	char clean[4 * WSMON_COMM_LEN];
	const char *s = text_clean(clean, sizeof(clean), text);

	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		putchar(*s);
	}
}

static void sample(const struct family *f, const struct wss_row *row,
		   const struct sorted *names, __u64 mono_ns, __u64 real_ns)
{
	const struct wss_name key = { .pid = row->pid };
	const struct wss_name *name = sorted_find(names, &key);

	printf("%s{pid=\"%u\",comm=\"", f->name, row->pid);
	put_label(name ? name->comm : "");
	putchar('"');
	if (f->classes)
		printf(",class=\"%s\",tau_seconds=\"%.15g\"",
		       class_name(row->class), row->tau_us / 1e6);
	printf("} %llu", *(const __u64 *)((const char *)row + f->offset));
	if (mono_ns)
		printf(" %.3f", (real_ns + (row->time_ns - mono_ns)) / 1e9);
	putchar('\n');
}

static void family(const struct family *f, const struct wss_rows *rows,
		   const struct sorted *names, __u64 mono_ns, __u64 real_ns)
{
	size_t i;

	head(f->name, "gauge", "bytes", f->help);
	for (i = 0; i < rows->nr; i++)
		sample(f, &rows->row[i], names, mono_ns, real_ns);
}

void metrics_wss(const struct wss_rows *rows, const struct sorted *names,
		 __u64 mono_ns, __u64 real_ns)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wss_families); i++)
		family(&wss_families[i], rows, names, mono_ns, real_ns);
}

void metrics_rss(const struct wss_rows *rows, const struct sorted *names,
		 __u64 mono_ns, __u64 real_ns)
{
	family(&rss_family, rows, names, mono_ns, real_ns);
}

void metric_plain(const char *name, const char *unit, bool counter,
		  const char *help, double value)
{
	head(name, counter ? "counter" : "gauge", unit, help);
	printf("%s%s %.15g\n", name, counter ? "_total" : "", value);
}

void metrics_end(void)
{
	puts("# EOF");
}

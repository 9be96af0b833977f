// SPDX-License-Identifier: GPL-2.0
/*
 * touched.c - who touched memory, for the page of "report html"
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "put.h"
#include "report/who/map.h"
#include "report/who/table.h"
#include "touched.h"

#define ROWS		30
/* of the map */
#define THREADS		20
#define OBJECTS		12

static void put_rows(const struct who *w)
{
	char *text = NULL;
	size_t size;
	FILE *f = need(open_memstream(&text, &size));

	who_table(f, TABLE_JSON, w, WHO_BY_ALL, ROWS, true);
	fclose(f);
	html_put_lines("who", text);
	free(text);
}

static void put_parts(const char *key, const struct who_part *p, size_t nr)
{
	char name[WHO_MAP_NAME];
	size_t i;

	printf("\"%s\":[", key);
	for (i = 0; i < nr; i++) {
		printf("%s{\"share\":%.6f,\"name\":", i ? ",\n" : "", p[i].share);
		html_put_text(who_map_name(name, &p[i]));
		putchar('}');
	}
	fputs("],", stdout);
}

/* Shares read and written, line by line */
static void put_map(const struct who *w)
{
	struct who_map m;
	size_t i;

	who_map_make(&m, w, THREADS, OBJECTS);
	fputs("\"touched\":{", stdout);
	put_parts("threads", m.thread, m.threads);
	put_parts("objects", m.object, m.objects);
	printf("\"max\":%.6f,\"cells\":[", who_map_max(&m));
	for (i = 0; i < m.threads * m.objects; i++)
		printf("%s[%.6f,%.6f]", i ? "," : "", m.cell[i].read, m.cell[i].written);
	puts("]},");
	who_map_free(&m);
}

void html_put_who(struct who *w)
{
	who_sum_up(w, WHO_BY_ALL);
	put_rows(w);
	put_map(w);
}

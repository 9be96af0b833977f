// SPDX-License-Identifier: GPL-2.0
/*
 * picture.c - rows of "wsmo mem" as a picture: bars of what is resident
 *
 *	heap    |###########%%%%%%%%%%%%%%%%------....|
 *	         in use     other private   shared swap
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "libwsmon/names.h"
#include "mem.h"

#define BARS	30
#define NAME	48

/* The end of a long name says more than its beginning */
static void name_row(char *name, size_t size, const struct rows *rows, const struct row *row)
{
	const char *path = row->path ? mem_path(row->path) : "";
	size_t len = strlen(path);
	int at = 0;

	if (rows->by & BY_PROCESS)
		at += snprintf(name + at, size - at, "%.16s (%u) ", row->comm, row->pid);
	if (rows->by & BY_CLASS)
		at += snprintf(name + at, size - at, "%s ", class_name(row->class));
	if (len > NAME) {
		/* whole characters */
		for (path += len - NAME; (*path & 0xc0) == 0x80; path++)
			;
		snprintf(name + at, size - at, "…%s", path);
	} else {
		snprintf(name + at, size - at, "%s", path);
	}
}

int mem_draw(const struct mem *mem, struct rows *rows)
{
	static const struct {
		const char *name, *color;
	} part[] = {
		{ "in use", "#d55e00" }, { "private", "#0072b2" }, { "shared", "#56b4e9" },
		{ "in swap", "#b0b0b0" },
	};
	size_t max = mem->top && mem->top < BARS ? mem->top : BARS, i, k;
	struct picture picture = mem->picture;
	char name[256], text[PLOT_TEXT], size[UNITS_LEN];
	const char *comma = "plot";
	struct plot p;

	mem_sort(mem, rows);
	if (rows->nr < max)
		max = rows->nr;
	picture.height = 120 + 26 * max;
	if (plot_open(&p, &picture))
		return -1;
	plot_printf(&p, "$bars << END\n");
	for (i = 0; i < max; i++) {
		const struct row *row = rows->row[i];
		double use = row->known ? row_in_use(row) : 0, rest = row_bytes(row, MEM_PRIVATE);
		double shared = row_bytes(row, MEM_SHARED), of_shared;

		/* which of them is in use is not known: private memory first */
		of_shared = use > rest ? use - rest : 0;
		rest = use > rest ? 0 : rest - use;
		shared = of_shared > shared ? 0 : shared - of_shared;
		plot_printf(&p, "%zu %.9g %.9g %.9g %.9g\n", max - i, use / 1048576, rest / 1048576,
			    shared / 1048576, row_bytes(row, MEM_SWAP) / 1048576.0);
	}
	plot_printf(&p, "END\nset grid x lc rgb '#d0d0d0' lt 1\nset border 3\nset tics nomirror\n"
		    "set key above Left reverse\nset xrange [0:*]\nset yrange [0.3:%zu.7]\n"
		    "set xlabel 'MiB resident, or in swap (in parentheses: mapped)'\nset ytics (", max);
	for (i = 0; i < max; i++) {
		const struct row *row = rows->row[i];
		size_t len;

		name_row(name, sizeof(name) - UNITS_LEN, rows, row);
		len = strlen(name);
		snprintf(name + len, sizeof(name) - len, " (%s)",
			 units_short(size, row_bytes(row, MEM_VIRTUAL)));
		plot_printf(&p, "%s%s %zu", i ? ", " : "", plot_tic(text, name), max - i);
	}
	plot_printf(&p, ")\n");
	for (k = mem->input || mem->live ? 0 : 1; k < ARRAY_SIZE(part); k++, comma = ",") {
		char from[32] = "0", to[32] = "$2";

		for (i = 0; i < k; i++) {
			static const char * const sums[] = { "$2", "$2+$3", "$2+$3+$4", "$2+$3+$4+$5" };

			snprintf(from, sizeof(from), "%s", sums[k - 1]);
			snprintf(to, sizeof(to), "%s", sums[k]);
		}
		plot_printf(&p, "%s $bars using (%s):1:(%s):(%s):($1-0.35):($1+0.35) with boxxyerror fs solid noborder fc rgb '%s' title '%s'",
			    comma, from, from, to, part[k].color, part[k].name);
	}
	plot_printf(&p, "\n");
	return plot_close(&p);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * table.c - one description of columns, four ways to print it
 */
#include <json-c/json.h>
#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "secondary.h"
#include "table.h"
#include "text.h"
#include "units.h"

/* Rows libsmartcols gets at once: what it aligns, and what it holds */
#define TABLE_BLOCK	512

#define CELL_LEN	8192

struct table {
	FILE *f;
	const struct table_desc *desc;
	enum table_format format;
	struct libscols_table *cols;
	struct libscols_column *col[TABLE_COLUMNS];
	size_t rows;
	bool began;
	struct json_object *row;
	struct json_object *member[TABLE_COLUMNS];
};

static bool shown(const struct table *t, size_t i)
{
	return !(t->desc->columns[i].not_in & (1U << t->format));
}

static void setup_cols(struct table *t)
{
	size_t i;

	t->cols = need(scols_new_table());
	scols_table_set_stream(t->cols, t->f);
	for (i = 0; i < t->desc->nr; i++) {
		const struct column *c = &t->desc->columns[i];

		if (!shown(t, i))
			continue;
		t->col[i] = need(scols_table_new_column(t->cols, c->head, c->width,
				c->type == COL_TEXT ? 0 : SCOLS_FL_RIGHT));
	}
}

/* One object serves all rows; its members change their values, but for texts. */
static void setup_json(struct table *t)
{
	size_t i;

	t->row = need(json_object_new_object());
	json_object_object_add(t->row, "type",
			       json_object_new_string(t->desc->type));
	for (i = 0; i < t->desc->nr; i++) {
		const struct column *c = &t->desc->columns[i];
		struct json_object *o;

		if (!shown(t, i) || c->type == COL_TEXT)
			continue;
		switch (c->type) {
		case COL_T:
		case COL_RATIO:
		case COL_RATE:
			o = need(json_object_new_double(0));
			json_object_set_serializer(o,
				json_object_double_to_json_string,
				(void *)(uintptr_t)(c->type == COL_RATIO ?
						    "%.6f" : "%.3f"), NULL);
			break;
		default:
			o = need(json_object_new_uint64(0));
		}
		t->member[i] = o;
	}
}

struct table *table_new(const struct table_desc *desc,
			enum table_format format)
{
	return table_new_on(stdout, desc, format);
}

struct table *table_new_on(FILE *f, const struct table_desc *desc,
			   enum table_format format)
{
	struct table *t = need(calloc(1, sizeof(*t)));

	t->f = f;
	t->desc = desc;
	t->format = format;
	if (format == TABLE_JSON)
		setup_json(t);
	else if (format != TABLE_CSV && !desc->list)
		setup_cols(t);
	return t;
}

static bool is_set(const struct column *c, const struct cell *cell)
{
	if (!cell->set)
		return false;
	if (c->type == COL_T || c->type == COL_RATIO || c->type == COL_RATE)
		return isfinite(cell->d);
	return true;
}

/* The value with exact numbers; without the number where it has none. */
static const char *exact(char *buf, const struct column *c,
			 const struct cell *cell)
{
	switch (c->type) {
	case COL_T:
	case COL_RATE:
		snprintf(buf, CELL_LEN, "%.3f", cell->d);
		break;
	case COL_RATIO:
		snprintf(buf, CELL_LEN, "%.6f", cell->d);
		break;
	case COL_TEXT:
		text_clean(buf, CELL_LEN, cell->s);
		break;
	default:
		snprintf(buf, CELL_LEN, "%llu", cell->u);
	}
	return buf;
}

static __u64 scaled(__u64 v, __u64 ns)
{
	return __builtin_mul_overflow(v, ns, &v) ? ~0ULL : v;
}

static const char *for_people(char *buf, const struct table *t,
			      const struct column *c, const struct cell *cell)
{
	if (!is_set(c, cell) || (c->type == COL_TEXT && !*cell->s))
		return "-";
	if (c->type == COL_ADDR) {
		snprintf(buf, CELL_LEN, "%#llx", cell->u);
		return buf;
	}
	if (t->format == TABLE_RAW)
		return exact(buf, c, cell);
	switch (c->type) {
	case COL_SIZE:
		return units_size(buf, cell->u);
	case COL_NS:
		return units_time(buf, cell->u);
	case COL_US:
		return units_time(buf, scaled(cell->u, NSEC_PER_USEC));
	case COL_MS:
		return units_time(buf, scaled(cell->u, NSEC_PER_MSEC));
	case COL_RATIO:
		snprintf(buf, CELL_LEN, "%.1f %%", 100 * cell->d);
		return buf;
	case COL_RATE:
		snprintf(buf, CELL_LEN, cell->d < 9.95 ? "%.1f" : "%.0f", cell->d);
		return buf;
	default:
		return exact(buf, c, cell);
	}
}

static void print_block(struct table *t)
{
	size_t i;

	if (!t->rows)
		return;
	scols_print_table(t->cols);
	scols_table_remove_lines(t->cols);
	scols_table_enable_noheadings(t->cols, 1);
	for (i = 0; i < t->desc->nr; i++) {
		/* the next block's columns are at least as wide */
		if (t->col[i])
			scols_column_set_whint(t->col[i],
				scols_column_get_width(t->col[i]));
	}
	t->rows = 0;
}

static void row_cols(struct table *t, const struct cell *cells)
{
	struct libscols_line *line = need(scols_table_new_line(t->cols, NULL));
	char buf[CELL_LEN];
	size_t i;

	for (i = 0; i < t->desc->nr; i++) {
		if (!t->col[i])
			continue;
		if (scols_line_set_column_data(line, t->col[i],
				for_people(buf, t, &t->desc->columns[i],
					   &cells[i])))
			need(NULL);
	}
	if (++t->rows == TABLE_BLOCK)
		print_block(t);
}

static void row_list(struct table *t, const struct cell *cells)
{
	char buf[CELL_LEN];
	int width = 0;
	size_t i;

	for (i = 0; i < t->desc->nr; i++)
		if (shown(t, i) &&
		    (int)strlen(t->desc->columns[i].head) > width)
			width = strlen(t->desc->columns[i].head);
	for (i = 0; i < t->desc->nr; i++)
		if (shown(t, i) && cells[i].set)
			fprintf(t->f, "%-*s  %s\n", width, t->desc->columns[i].head,
			       for_people(buf, t, &t->desc->columns[i],
					  &cells[i]));
}

static void csv_text(FILE *f, const char *s)
{
	if (!s[strcspn(s, ",\"")]) {
		fputs(s, f);
		return;
	}
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"')
			fputc('"', f);
		fputc(*s, f);
	}
	fputc('"', f);
}

static void csv_head(const struct table *t)
{
	const char *comma = "";
	size_t i;

	for (i = 0; i < t->desc->nr; i++) {
		if (!shown(t, i))
			continue;
		fprintf(t->f, "%s%s", comma, t->desc->columns[i].key);
		comma = ",";
	}
	fputc('\n', t->f);
}

static void row_csv(const struct table *t, const struct cell *cells)
{
	const char *comma = "";
	char buf[CELL_LEN];
	size_t i;

	for (i = 0; i < t->desc->nr; i++) {
		const struct column *c = &t->desc->columns[i];

		if (!shown(t, i))
			continue;
		fputs(comma, t->f);
		if (is_set(c, &cells[i]))
			csv_text(t->f, exact(buf, c, &cells[i]));
		comma = ",";
	}
	fputc('\n', t->f);
}

/* A new one each time: json-c before 0.17 leaks a text that becomes empty. */
static struct json_object *json_text(const char *text)
{
	char buf[CELL_LEN];

	return need(json_object_new_string(text_utf8(buf, sizeof(buf), text)));
}

/* Figures of such a target are not to be taken for those of others. */
static void json_secondary(struct table *t, const struct cell *cells)
{
	static const char key[] = "secondary_mmu";
	size_t i;

	json_object_object_del(t->row, key);
	for (i = 0; i < t->desc->nr; i++)
		if (!strcmp(t->desc->columns[i].key, "pid") && cells[i].set &&
		    secondary_has(cells[i].u))
			json_object_object_add(t->row, key,
					       json_object_new_boolean(1));
}

static void row_json(struct table *t, const struct cell *cells)
{
	size_t i;

	for (i = 0; i < t->desc->nr; i++) {
		const struct column *c = &t->desc->columns[i];
		struct json_object *o = t->member[i];

		if (!shown(t, i))
			continue;
		if (!is_set(c, &cells[i])) {
			json_object_object_add(t->row, c->key, NULL);
			continue;
		}
		if (c->type == COL_TEXT) {
			json_object_object_add(t->row, c->key,
					       json_text(cells[i].s));
			continue;
		}
		if (c->type == COL_T || c->type == COL_RATIO || c->type == COL_RATE)
			json_object_set_double(o, cells[i].d);
		else
			json_object_set_uint64(o, cells[i].u);
		json_object_object_add(t->row, c->key, json_object_get(o));
	}
	json_secondary(t, cells);
	fprintf(t->f, "%s\n",
		json_object_to_json_string_ext(t->row, JSON_C_TO_STRING_PLAIN |
					       JSON_C_TO_STRING_NOZERO |
					       JSON_C_TO_STRING_NOSLASHESCAPE));
}

void table_row(struct table *t, const struct cell *cells)
{
	if (t->format == TABLE_CSV && !t->began)
		csv_head(t);
	t->began = true;
	if (t->format == TABLE_CSV)
		row_csv(t, cells);
	else if (t->format == TABLE_JSON)
		row_json(t, cells);
	else if (t->desc->list)
		row_list(t, cells);
	else
		row_cols(t, cells);
}

void table_flush(struct table *t)
{
	if (!t)
		return;
	if (t->cols)
		print_block(t);
	fflush(t->f);
}

void table_end(struct table *t)
{
	size_t i;

	if (!t)
		return;
	if (t->format == TABLE_CSV && !t->began)
		csv_head(t);
	if (t->cols)
		print_block(t);
	for (i = 0; i < t->desc->nr; i++)
		json_object_put(t->member[i]);
	json_object_put(t->row);
	scols_unref_table(t->cols);
	free(t);
}

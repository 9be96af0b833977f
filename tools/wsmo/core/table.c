// SPDX-License-Identifier: GPL-2.0
/* table.c - prints rows as a table for people, as raw table, as CSV or as JSON */
#include <json-c/json.h>
#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "secondary.h"
#include "table.h"
#include "term.h"
#include "text.h"
#include "units.h"

/* A field of a row */
union cell {
	__u64 u;
	double d;
	const char *s;
};

static bool column_is_double(const struct column *c)
{
	return c->type >= COL_T;
}

static bool column_is_text(const struct column *c)
{
	return c->type == COL_TEXT || c->type == COL_LIST;
}

/* Return: the cell of a column; NULL if its value is not known, or cannot be printed */
static const union cell *cell_of(const struct column *c, const void *row)
{
	const union cell *cell = (const void *)((const char *)row + c->offset);
	bool known = column_is_double(c) ? isfinite(cell->d) :
		     column_is_text(c) ? cell->s != NULL :
		     !(c->flags & OR_NULL) || cell->u != UNKNOWN_U64;

	return known ? cell : NULL;
}

/* Defined by the linker: the section that TABLE() fills */
extern const struct table_desc * const __start_table_descs[];
extern const struct table_desc * const __stop_table_descs[];

void table_list(void)
{
	static const char * const units[] = {
		[COL_COUNT] = "count", [COL_SIZE] = "bytes", [COL_ADDR] = "address",
		[COL_NS] = "ns", [COL_US] = "us", [COL_MS] = "ms", [COL_TEXT] = "text",
		[COL_LIST] = "texts", [COL_T] = "s", [COL_RATIO] = "share",
		[COL_RATE] = "per s", [COL_CHANGE] = "change",
	};
	const struct table_desc * const *desc;
	const struct column *c;

	for (desc = __start_table_descs; desc < __stop_table_descs; desc++)
		for (c = (*desc)->columns; c < (*desc)->columns + (*desc)->nr; c++)
			if (!(c->flags & NOT_JSON))
				printf("%s\t%s\t%s%s\t%s\n", (*desc)->type, c->key, units[c->type],
				       c->flags & OR_NULL ? "?" : "", c->help);
}

/* Number of rows that libsmartcols holds in memory and aligns together */
#define TABLE_BLOCK	512

#define CELL_LEN	8192

/* Indentation of a line that continues the line above, in characters */
#define INDENT		2

struct table {
	FILE *f;
	const struct table_desc *desc;
	enum table_format format;
	struct libscols_table *cols;
	struct libscols_column *col[TABLE_COLUMNS];
	bool shown[TABLE_COLUMNS];
	size_t rows;
	bool began;
	unsigned int terminal;	/* width of the terminal; 0: no terminal */
	/* JSON: one object for all rows; for each row, numbers are set and texts are replaced */
	struct json_object *row;
	struct json_object *member[TABLE_COLUMNS];
	const struct column *pid;
};

/* JSON */

static void setup_json(struct table *t)
{
	const struct table_desc *desc = t->desc;
	size_t i;

	t->row = need(json_object_new_object());
	json_object_object_add(t->row, "type",
			       json_object_new_string(desc->type));
	for (i = 0; i < desc->nr; i++) {
		const struct column *c = &desc->columns[i];
		struct json_object *o;

		if (!t->shown[i] || column_is_text(c))
			continue;
		if (!strcmp(c->key, "pid"))
			t->pid = c;
		if (column_is_double(c)) {
			o = need(json_object_new_double(0));
			json_object_set_serializer(o,
				json_object_double_to_json_string,
				(void *)(uintptr_t)(c->type == COL_RATIO ? "%.6f" :
						    c->type == COL_CHANGE ? "%.0f" :
						    "%.3f"), NULL);
		} else {
			o = need(json_object_new_uint64(0));
		}
		t->member[i] = o;
	}
}

/* Makes a new object for each text: json-c before 0.17 leaks a text that is set to an empty one */
static struct json_object *json_text(const char *text)
{
	char buf[CELL_LEN];

	return need(json_object_new_string(text_utf8(buf, sizeof(buf), text)));
}

static struct json_object *json_list(const char *lines)
{
	struct json_object *array = need(json_object_new_array());
	char *copy = need(strdup(lines)), *at = copy, *line;

	while (*lines && (line = strsep(&at, "\n")))
		json_object_array_add(array, json_text(line));
	free(copy);
	return array;
}

/* Marks the rows of a target with a secondary MMU, because its figures may be too low */
static void json_secondary(const struct table *t, const void *row)
{
	static const char key[] = "secondary_mmu";
	const union cell *pid = t->pid ? cell_of(t->pid, row) : NULL;

	json_object_object_del(t->row, key);
	if (pid && secondary_has(pid->u))
		json_object_object_add(t->row, key, json_object_new_boolean(1));
}

/* Return: the value of a cell; NULL stands for null */
static struct json_object *json_value(const struct table *t, size_t i, const void *row)
{
	const struct column *c = &t->desc->columns[i];
	const union cell *cell = cell_of(c, row);

	if (!cell)
		return NULL;
	if (c->type == COL_TEXT)
		return json_text(cell->s);
	if (c->type == COL_LIST)
		return json_list(cell->s);
	if (column_is_double(c))
		json_object_set_double(t->member[i], cell->d);
	else
		json_object_set_uint64(t->member[i], cell->u);
	return json_object_get(t->member[i]);
}

static void row_json(const struct table *t, const void *row)
{
	size_t i;

	for (i = 0; i < t->desc->nr; i++)
		if (t->shown[i])
			json_object_object_add(t->row, t->desc->columns[i].key,
					       json_value(t, i, row));
	json_secondary(t, row);
	text_put_json(t->f, json_object_to_json_string_ext(t->row, JSON_C_TO_STRING_PLAIN |
							JSON_C_TO_STRING_NOZERO |
							JSON_C_TO_STRING_NOSLASHESCAPE));
	fputc('\n', t->f);
}

/* Tables for people, raw tables and CSV */

static void setup_cols(struct table *t)
{
	size_t i;

	t->cols = need(scols_new_table());
	scols_table_set_stream(t->cols, t->f);
	scols_table_set_termforce(t->cols, SCOLS_TERMFORCE_NEVER);
	for (i = 0; i < t->desc->nr; i++) {
		const struct column *c = &t->desc->columns[i];

		if (!t->shown[i])
			continue;
		t->col[i] = need(scols_table_new_column(t->cols, c->head, c->width,
				c->type == COL_TEXT ? 0 : SCOLS_FL_RIGHT));
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
	unsigned int lines;
	size_t i;

	t->f = f;
	t->desc = desc;
	t->format = format;
	if (isatty(fileno(f)))
		term_size(&t->terminal, &lines);
	for (i = 0; i < desc->nr; i++)
		t->shown[i] = !(desc->columns[i].flags & 1U << format);
	return t;
}

void table_show(struct table *t, size_t offset, unsigned int formats, bool yes)
{
	size_t i;

	for (i = 0; i < t->desc->nr; i++)
		if (t->desc->columns[i].offset == offset && formats & 1U << t->format)
			t->shown[i] = yes;
}

/* Writes the lines of a COL_LIST cell, with semicolons between them */
static void list(char *buf, const char *lines)
{
	char text[CELL_LEN], *c = text;

	snprintf(text, sizeof(text), "%s", lines);
	while ((c = strchr(c, '\n')))
		*c = ';';
	text_clean(buf, CELL_LEN, text);
}

/* Writes the value of a cell as an exact number, or as text */
static char *exact(char *buf, const struct column *c, const union cell *cell)
{
	switch (c->type) {
	case COL_T:
	case COL_RATE:
		snprintf(buf, CELL_LEN, "%.3f", cell->d);
		break;
	case COL_RATIO:
		snprintf(buf, CELL_LEN, "%.6f", cell->d);
		break;
	case COL_CHANGE:
		snprintf(buf, CELL_LEN, "%.0f", cell->d);
		break;
	case COL_TEXT:
		text_clean(buf, CELL_LEN, cell->s);
		break;
	case COL_LIST:
		list(buf, cell->s);
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

static const char *for_people(char *buf, const struct table *t, const struct column *c,
			      const union cell *cell)
{
	if (!cell || (c->type == COL_TEXT && !*cell->s))
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
	case COL_CHANGE:
		buf[0] = cell->d < 0 ? '-' : '+';
		units_size(buf + 1, fabs(cell->d) + 0.5);
		return buf;
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

/* Prints a text, indented, in as many lines as it takes. Breaks lines at blanks if possible. */
static void put_wrapped(const struct table *t, const char *text, size_t len, unsigned int indent)
{
	const char *end = text + len, *next, *blank;
	unsigned int used;

	while (end > text && end[-1] == ' ')
		end--;
	while (text < end) {
		next = term_fit(text, t->terminal - indent, &used);
		if (next == text || next > end)
			next = end;
		blank = next < end ? memrchr(text, ' ', next - text + 1) : NULL;
		if (blank && blank > text)
			next = blank;
		fprintf(t->f, "%*s%.*s\n", (int)indent, "", (int)(next - text), text);
		text = next + (blank == next);
	}
}

/*
 * Divides rows into lines that fit the terminal, at the same columns in each row. Ignores the last
 * column, which may be a long text.
 * @width: gets the width of each line. Return: number of lines
 */
static size_t cut_rows(const struct table *t, unsigned int *width)
{
	size_t last = t->desc->nr - 1, n = 0, i;

	while (!t->col[last])
		last--;
	width[0] = 0;
	for (i = 0; i < last; i++) {
		unsigned int more = t->col[i] ? scols_column_get_width(t->col[i]) : 0;

		if (!t->col[i])
			continue;
		if (width[n] && width[n] + more + (n ? INDENT : 0) > t->terminal)
			width[++n] = 0;
		width[n] += more + 1;
	}
	return n + 1;
}

/* Prints rows to a terminal. If it is too narrow, headings and rows continue in further lines. */
static void print_narrow(const struct table *t)
{
	unsigned int width[TABLE_COLUMNS], used;
	const char *text, *end, *next;
	size_t n, i;
	char *all;

	if (scols_print_table_to_string(t->cols, &all))
		need(NULL);
	n = cut_rows(t, width);
	for (text = all; *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		for (i = 0; text < end; i++) {
			unsigned int indent = i ? INDENT : 0;

			next = i < n ? term_fit(text, width[i], &used) : end;
			if (i == n - 1 && term_fit(text, t->terminal - indent, &used) == end)
				next = end;
			put_wrapped(t, text, next - text, indent);
			text = next;
		}
	}
	free(all);
}

static void print_block(struct table *t)
{
	size_t i;

	if (!t->rows)
		return;
	if (t->terminal)
		print_narrow(t);
	else
		scols_print_table(t->cols);
	scols_table_remove_lines(t->cols);
	scols_table_enable_noheadings(t->cols, 1);
	for (i = 0; i < t->desc->nr; i++) {
		/* make the columns of the next block at least as wide */
		if (t->col[i])
			scols_column_set_whint(t->col[i],
				scols_column_get_width(t->col[i]));
	}
	t->rows = 0;
}

static void row_cols(struct table *t, const void *row)
{
	struct libscols_line *line = need(scols_table_new_line(t->cols, NULL));
	char buf[CELL_LEN];
	size_t i;

	for (i = 0; i < t->desc->nr; i++) {
		const struct column *c = &t->desc->columns[i];

		if (t->col[i] && scols_line_set_column_data(line, t->col[i],
				for_people(buf, t, c, cell_of(c, row))))
			need(NULL);
	}
	if (++t->rows == TABLE_BLOCK)
		print_block(t);
}

static void row_list(struct table *t, const void *row)
{
	char buf[CELL_LEN];
	int width = 0;
	size_t i;

	for (i = 0; i < t->desc->nr; i++)
		if (t->shown[i] &&
		    (int)strlen(t->desc->columns[i].head) > width)
			width = strlen(t->desc->columns[i].head);
	for (i = 0; i < t->desc->nr; i++) {
		const struct column *c = &t->desc->columns[i];
		const union cell *cell = cell_of(c, row);
		const char *text;

		if (!t->shown[i] || (!cell && !column_is_double(c)))
			continue;
		text = for_people(buf, t, c, cell);
		if (t->terminal && width + 2 + strlen(text) > t->terminal) {
			fprintf(t->f, "%s\n", t->desc->columns[i].head);
			put_wrapped(t, text, strlen(text), INDENT);
		} else {
			fprintf(t->f, "%-*s  %s\n", width, t->desc->columns[i].head, text);
		}
	}
}

/* Would a spreadsheet take a text for a formula? It may begin with blanks, or be full-width */
static bool is_formula(const char *text)
{
	static const char * const first[] = { "=", "+", "-", "@", "＝", "＋", "－", "＠" };
	size_t i;

	text += strspn(text, " ");
	for (i = 0; i < ARRAY_SIZE(first); i++)
		if (!strncmp(text, first[i], strlen(first[i])))
			return true;
	return false;
}

/* Puts a quote before a formula: then a spreadsheet takes it as text */
static char *no_formula(char *buf)
{
	size_t len = strnlen(buf, CELL_LEN - 2);
	char *end;

	if (!is_formula(buf))
		return buf;
	strtod(buf, &end);
	if (end != buf && !*end)
		return buf;
	memmove(buf + 1, buf, len);
	buf[len + 1] = '\0';
	*buf = '\'';
	return buf;
}

/* Prints a text. Quotes semicolons, too: if commas are decimal points, they separate cells */
static void csv_text(FILE *f, const char *s)
{
	if (!s[strcspn(s, ",;\"")]) {
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
		if (!t->shown[i])
			continue;
		fprintf(t->f, "%s%s", comma, t->desc->columns[i].key);
		comma = ",";
	}
	fputc('\n', t->f);
}

static void row_csv(const struct table *t, const void *row)
{
	const char *comma = "";
	char buf[CELL_LEN];
	size_t i;

	for (i = 0; i < t->desc->nr; i++) {
		const struct column *c = &t->desc->columns[i];
		const union cell *cell = cell_of(c, row);

		if (!t->shown[i])
			continue;
		fputs(comma, t->f);
		if (cell)
			csv_text(t->f, column_is_text(c) ? no_formula(exact(buf, c, cell)) :
							   exact(buf, c, cell));
		comma = ",";
	}
	fputc('\n', t->f);
}

static void begin(struct table *t)
{
	if (t->began)
		return;
	t->began = true;
	if (t->format == TABLE_JSON)
		setup_json(t);
	else if (t->format == TABLE_CSV)
		csv_head(t);
	else if (!t->desc->list)
		setup_cols(t);
}

void table_row(struct table *t, const void *row)
{
	begin(t);
	if (t->format == TABLE_CSV)
		row_csv(t, row);
	else if (t->format == TABLE_JSON)
		row_json(t, row);
	else if (t->desc->list)
		row_list(t, row);
	else
		row_cols(t, row);
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
	begin(t);
	if (t->cols)
		print_block(t);
	for (i = 0; i < t->desc->nr; i++)
		json_object_put(t->member[i]);
	json_object_put(t->row);
	scols_unref_table(t->cols);
	free(t);
}

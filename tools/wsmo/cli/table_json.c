// SPDX-License-Identifier: GPL-2.0
/*
 * table_json.c - rows of a table as JSON objects
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "secondary.h"
#include "table.h"
#include "text.h"

#define TEXT_LEN	8192

/* One object serves all rows; its members change their values, but for texts. */
struct table_json {
	const struct table_desc *desc;
	struct json_object *row;
	struct json_object *member[TABLE_COLUMNS];
};

struct table_json *table_json_new(const struct table_desc *desc)
{
	struct table_json *t = need(calloc(1, sizeof(*t)));
	size_t i;

	t->desc = desc;
	t->row = need(json_object_new_object());
	json_object_object_add(t->row, "type",
			       json_object_new_string(desc->type));
	for (i = 0; i < desc->nr; i++) {
		const struct column *c = &desc->columns[i];
		struct json_object *o;

		if (!column_is_in(c, TABLE_JSON) || c->type == COL_TEXT ||
		    c->type == COL_LIST)
			continue;
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
	return t;
}

/* A new one each time: json-c before 0.17 leaks a text that becomes empty. */
static struct json_object *json_text(const char *text)
{
	char buf[TEXT_LEN];

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

/* Figures of such a target are not to be taken for those of others. */
static void json_secondary(struct table_json *t, const struct cell *cells)
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

void table_json_row(struct table_json *t, FILE *f, const struct cell *cells)
{
	size_t i;

	for (i = 0; i < t->desc->nr; i++) {
		const struct column *c = &t->desc->columns[i];
		struct json_object *o = t->member[i];

		if (!column_is_in(c, TABLE_JSON))
			continue;
		if (!cell_is_set(c, &cells[i])) {
			json_object_object_add(t->row, c->key, NULL);
			continue;
		}
		if (c->type == COL_TEXT) {
			json_object_object_add(t->row, c->key,
					       json_text(cells[i].s));
			continue;
		}
		if (c->type == COL_LIST) {
			json_object_object_add(t->row, c->key, json_list(cells[i].s));
			continue;
		}
		if (column_is_double(c))
			json_object_set_double(o, cells[i].d);
		else
			json_object_set_uint64(o, cells[i].u);
		json_object_object_add(t->row, c->key, json_object_get(o));
	}
	json_secondary(t, cells);
	text_put_json(f, json_object_to_json_string_ext(t->row, JSON_C_TO_STRING_PLAIN |
							JSON_C_TO_STRING_NOZERO |
							JSON_C_TO_STRING_NOSLASHESCAPE));
	fputc('\n', f);
}

void table_json_free(struct table_json *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->desc->nr; i++)
		json_object_put(t->member[i]);
	json_object_put(t->row);
	free(t);
}

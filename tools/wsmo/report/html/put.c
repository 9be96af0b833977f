// SPDX-License-Identifier: GPL-2.0
/*
 * put.c - JSON for the page of "report html"
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "put.h"

/* JSON in a page: nothing in it may look like a tag */
static void put_safely(const char *json)
{
	for (; *json; json++) {
		if (*json == '<') {
			fputs("\\u003c", stdout);
		} else if (*json == '\\' && json[1]) {
			/* the page shows what was escaped as it is */
			printf(json[1] == 'u' ? "\\\\%c" : "\\%c", json[1]);
			json++;
		} else {
			putchar(*json);
		}
	}
}

void html_put_text(const char *text)
{
	size_t size = 4 * strlen(text) + 1;
	char *utf8 = need(malloc(size)), *json = NULL;
	struct json_object *o =
		need(json_object_new_string(text_utf8(utf8, size, text)));
	FILE *f = need(open_memstream(&json, &size));

	text_put_json(f, json_object_to_json_string_ext(o, JSON_C_TO_STRING_NOSLASHESCAPE));
	fclose(f);
	put_safely(json);
	json_object_put(o);
	free(json);
	free(utf8);
}

void html_put_lines(const char *key, char *lines)
{
	const char *comma = "";
	char *line;

	printf("\"%s\":[", key);
	for (; (line = strsep(&lines, "\n")) && *line; comma = ",\n") {
		fputs(comma, stdout);
		put_safely(line);
	}
	puts("],");
}

// SPDX-License-Identifier: GPL-2.0
/* act_scheme.c - the rules of "wsmo act": reads rules, prints rules and their results */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "act_scheme.h"
#include "core/act_table.h"
#include "core/cli.h"
#include "core/units.h"
#include "libwsmon/wsmon_records.h"


enum { MIN_SIZE, MAX_SIZE, MIN_ACCESS, MAX_ACCESS, MIN_AGE, MAX_AGE, ACTION, FIELDS };

#define RULE	"min-size max-size min-share max-share min-age max-age action"

/* Lines of column names; a file without such a line has the columns of the first one */
static const struct header {
	const char *text;
	const char *name[FIELDS];
	bool freq;
} headers[] = {
	{ RULE, { "min-size", "max-size", "min-share", "max-share", "min-age",
		  "max-age", "action" }, false },
	{ "min-size max-size min-freq max-freq min-age max-age action",
	  { "min-size", "max-size", "min-freq", "max-freq", "min-age", "max-age",
	    "action" }, true },
	{ "min_sz max_sz min_acc max_acc min_age max_age action",
	  { "min_sz", "max_sz", "min_acc", "max_acc", "min_age", "max_age",
	    "action" }, true },
};

/**
 * struct scheme_file - the parser's position
 * @name:	name of the file
 * @line:	number of the line, from 1
 * @text:	the line
 * @header:	names of its columns
 */
struct scheme_file {
	const char *name;
	unsigned int line;
	const char *text;
	const struct header *header;
};

/* Prints an error. @at: its position in the line */
static int __attribute__((format(printf, 3, 4)))
bad(const struct scheme_file *f, const char *at, const char *fmt, ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	msg("%s:%u:%zu: %s", f->name, f->line, (size_t)(at - f->text) + 1, why);
	return -1;
}

/*
 * Parses "null", "min" and "max". "null" leaves the bound open. In any column, "min" is the
 * smallest and "max" the greatest value, as in DAMON: "min max" is open, "min min" is 0.
 * @greatest: gets true for the greatest value, false for the smallest
 * Return: false if @word is another word
 */
static bool is_extreme(const char *word, int field, bool *greatest)
{
	bool upper = field == MAX_SIZE || field == MAX_ACCESS || field == MAX_AGE;

	*greatest = !strcmp(word, "max") || (!strcmp(word, "null") && upper);
	return *greatest || !strcmp(word, "min") || !strcmp(word, "null");
}

static int parse_bound(const struct scheme_file *f, const char *at,
		       const char *word, int field, struct act_rule *rule)
{
	__u64 * const number[FIELDS] = {
		[MIN_SIZE] = &rule->min_size, [MAX_SIZE] = &rule->max_size,
		[MIN_AGE] = &rule->min_age_ns, [MAX_AGE] = &rule->max_age_ns,
	};
	double *access = field == MIN_ACCESS ? &rule->min_access : &rule->max_access;
	const char *name = f->header->name[field];
	bool greatest;

	if (is_extreme(word, field, &greatest)) {
		if (number[field])
			*number[field] = greatest ? ~0ULL : 0;
		else
			*access = greatest;
		return 0;
	}
	switch (field) {
	case MIN_SIZE:
	case MAX_SIZE:
		switch (units_parse_size(word, number[field])) {
		case 0:
			return 0;
		case -ERANGE:
			return bad(f, at, "%s '%s' is too large", name, word);
		}
		return bad(f, at, "%s '%s' is not a size; write 4K, 2M, 1G or null", name, word);
	case MIN_ACCESS:
	case MAX_ACCESS:
		/* DAMON writes percentages without a sign, too */
		if ((rule->freq || strchr(word, '%')) && !units_parse_percent(word, access))
			return 0;
		return bad(f, at, "%s '%s' is not a %s from 0%% to 100%%%s",
			   name, word, rule->freq ? "rate" : "share",
			   word[strspn(word, "0123456789")] ? "" :
			   "; above the rules of a DAMON scheme put its column names, see RULES in wsmo-act(1)");
	default:
		if (!units_parse_time(word, number[field]))
			return 0;
		return bad(f, at, "%s '%s' is not a time; write 500ms, 5s, 2m or null", name, word);
	}
}

static int parse_action(const struct scheme_file *f, const char *at,
			const char *word, struct act_rule *rule)
{
	size_t i;

	for (i = 0; i < WSMON_NR_ACTIONS; i++) {
		if (!strcmp(act_action_name(i), word)) {
			rule->action = i;
			return 0;
		}
	}
	return bad(f, at, "'%s' is not an action; actions are pageout cold willneed hugepage nohugepage stat",
		   word);
}

/* Refuses bounds that exclude each other; @at: positions of the fields */
static int check_order(const struct scheme_file *f, const char * const *at,
		       const struct act_rule *rule)
{
	const char * const *name = f->header->name;
	int max;

	if (rule->min_size > rule->max_size)
		max = MAX_SIZE;
	else if (rule->min_access > rule->max_access)
		max = MAX_ACCESS;
	else if (rule->min_age_ns > rule->max_age_ns)
		max = MAX_AGE;
	else
		return 0;
	return bad(f, at[max], "%s is less than %s", name[max], name[max - 1]);
}

static int parse_rule(const struct scheme_file *f, struct act_rule *rule)
{
	const char *at[FIELDS], *p = f->text;
	size_t used = 0;
	int n;

	*rule = (struct act_rule){ .line = f->line, .freq = f->header->freq };
	for (n = 0; p += strspn(p, " \t"), *p; n++) {
		size_t len = strcspn(p, " \t");
		char word[40];

		if (n == FIELDS)
			return bad(f, p, "only a comment may follow the action");
		if (len >= sizeof(word))
			return bad(f, p, "%s is too long", f->header->name[n]);
		memcpy(word, p, len);
		word[len] = '\0';
		at[n] = p;
		if (n == ACTION ? parse_action(f, p, word, rule) :
				  parse_bound(f, p, word, n, rule))
			return -1;
		used += snprintf(rule->text + used, sizeof(rule->text) - used,
				 "%s%s", n ? " " : "", word);
		if (used >= sizeof(rule->text))
			return bad(f, p, "the rule is too long");
		p += len;
	}
	if (n < FIELDS)
		return bad(f, p, "%s is missing; a rule is: %s",
			   f->header->name[n], f->header->text);
	/* rules are printed without column names: mark a rule that bounds rates */
	if (rule->freq)
		used += snprintf(rule->text + used, sizeof(rule->text) - used,
				 " (freq)");
	if (used >= sizeof(rule->text))
		return bad(f, f->text, "the rule is too long");
	return check_order(f, at, rule);
}

/* Cuts the comment off a line. Return: false if nothing is left */
static bool strip(char *line)
{
	line[strcspn(line, "#\r\n")] = '\0';
	return line[strspn(line, " \t")];
}

/* Takes a line of column names. Return: false if it is another line */
static bool is_header(struct scheme_file *f)
{
	size_t i, len;
	const char *p;
	int n;

	for (i = 0; i < ARRAY_SIZE(headers); i++) {
		p = f->text;
		for (n = 0; p += strspn(p, " \t"), n < FIELDS; n++, p += len) {
			len = strlen(headers[i].name[n]);
			if (strncmp(p, headers[i].name[n], len) ||
			    (p[len] && !strchr(" \t", p[len])))
				break;
		}
		if (n < FIELDS || *p)
			continue;
		f->header = &headers[i];
		return true;
	}
	return false;
}

static int parse(struct act_scheme *scheme, FILE *stream, const char *name)
{
	struct scheme_file f = { .name = name, .header = headers };
	size_t size = 0, before = scheme->nr;
	char *line = NULL;
	ssize_t len;
	int err = 0;

	while (!err && (len = getline(&line, &size, stream)) >= 0) {
		f.line++;
		f.text = line;
		if (strlen(line) != (size_t)len)
			err = bad(&f, line + strlen(line), "a NUL byte: this is not a text file");
		else if (!strip(line) || is_header(&f))
			continue;
		else if (scheme->nr == ACT_RULES)
			err = bad(&f, line, "more than %d rules", ACT_RULES);
		else
			err = parse_rule(&f, &scheme->rule[scheme->nr++]);
	}
	if (!err && ferror(stream)) {
		msg("%s: cannot be read: %s", name, strerror(errno));
		err = -1;
	} else if (!err && scheme->nr == before) {
		msg("%s: has no rules", name);
		err = -1;
	}
	free(line);
	return err;
}

const char *act_scheme_dir(void)
{
	static char dir[PATH_MAX + 32];
	const char *set = getenv("WSMON_SCHEMES");
	char exe[PATH_MAX] = "";
	char *slash;

	if (set && *set)
		return set;
	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		*exe = '\0';
	slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	snprintf(dir, sizeof(dir), "%s/../share/wsmon/schemes", exe);
	return dir;
}

int act_scheme_load(struct act_scheme *scheme, const char *name)
{
	char path[PATH_MAX];
	FILE *f = NULL;
	int err;

	if (!strchr(name, '/')) {
		snprintf(path, sizeof(path), "%s/%s", act_scheme_dir(), name);
		f = fopen(path, "re");
	}
	if (!f)
		f = fopen(name, "re");
	if (!f) {
		msg("%s: %s; name a file of rules, or a preset of %s", name,
		    strerror(errno),
		    act_scheme_dir());
		return -1;
	}
	err = parse(scheme, f, name);
	fclose(f);
	return err;
}

/* Does @a match all memory that @b matches, by accesses? A share says little about a rate */
static bool access_covers(const struct act_rule *a, const struct act_rule *b)
{
	if (a->freq != b->freq)
		return a->min_access <= 0 && a->max_access >= 1;
	return a->min_access <= b->min_access && a->max_access >= b->max_access;
}

static bool access_overlaps(const struct act_rule *a, const struct act_rule *b)
{
	return a->freq != b->freq || (a->min_access <= b->max_access &&
				      b->min_access <= a->max_access);
}

/* Does rule @a match all memory that rule @b matches? */
static bool covers(const struct act_rule *a, const struct act_rule *b)
{
	return a->min_size <= b->min_size && a->max_size >= b->max_size &&
	       access_covers(a, b) &&
	       a->min_age_ns <= b->min_age_ns && a->max_age_ns >= b->max_age_ns;
}

/* Can both rules match the same memory? */
static bool overlaps(const struct act_rule *a, const struct act_rule *b)
{
	return a->min_size <= b->max_size && b->min_size <= a->max_size &&
	       access_overlaps(a, b) &&
	       a->min_age_ns <= b->max_age_ns && b->min_age_ns <= a->max_age_ns;
}

struct scheme_row {
	__u64 rule, line, min_size, max_size;
	double min_share, max_share, min_freq, max_freq;
	__u64 min_age_ns, max_age_ns;
	const char *action;
};

#define ROW struct scheme_row

TABLE(scheme_table, "scheme",
	COL(rule, COUNT, 4, "RULE", 0, "number of the rule"),
	COL(line, COUNT, 4, "LINE", 0, "its line in the file"),
	COL(min_size, SIZE, 9, "MIN SIZE", 0, "smallest region"),
	COL(max_size, SIZE, 9, "MAX SIZE", OR_NULL, "largest region; null if there is no limit"),
	COL(min_share, RATIO, 9, "MIN SHARE", OR_NULL,
	    "smallest share; null if the rule is about ``freq``"),
	COL(max_share, RATIO, 9, "MAX SHARE", OR_NULL, "largest share"),
	COL(min_freq, RATIO, 8, "MIN FREQ", OR_NULL,
	    "smallest ``freq``; null if the rule is about the share"),
	COL(max_freq, RATIO, 8, "MAX FREQ", OR_NULL, "largest ``freq``"),
	COL(min_age_ns, NS, 7, "MIN AGE", 0, "shortest age"),
	COL(max_age_ns, NS, 7, "MAX AGE", OR_NULL, "longest age; null if there is no limit"),
	COL(action, TEXT, 8, "ACTION", 0, "the action"));

/* A rule bounds the share or the rate, not both */
static double access_bound(const struct act_rule *r, bool freq, double v)
{
	return r->freq == freq ? v : NAN;
}

void act_show_rules(const struct act_scheme *s, enum table_format format)
{
	struct table *t = table_new(&scheme_table, format);
	size_t i;

	for (i = 0; i < s->nr; i++) {
		const struct act_rule *r = &s->rule[i];

		table_row(t, &(struct scheme_row) {
			.rule = i + 1, .line = r->line,
			.min_size = r->min_size, .max_size = r->max_size,
			.min_share = access_bound(r, false, r->min_access),
			.max_share = access_bound(r, false, r->max_access),
			.min_freq = access_bound(r, true, r->min_access),
			.max_freq = access_bound(r, true, r->max_access),
			.min_age_ns = r->min_age_ns, .max_age_ns = r->max_age_ns,
			.action = act_action_name(r->action),
		});
	}
	table_end(t);
}

/* Finds the first earlier rule related to @b; Return: its index, or @b */
static size_t earlier(const struct act_scheme *s, size_t b,
		      bool (*related)(const struct act_rule *,
				      const struct act_rule *))
{
	size_t a;

	for (a = 0; a < b; a++)
		if (related(&s->rule[a], &s->rule[b]))
			break;
	return a;
}

void act_report_overlaps(const struct act_scheme *s, bool partly)
{
	size_t i, first;

	for (i = 1; i < s->nr; i++) {
		first = earlier(s, i, covers);
		if (first < i) {
			msg("rule %zu (%s) is never applied: rule %zu (%s) covers it",
			    i + 1, s->rule[i].text, first + 1, s->rule[first].text);
			continue;
		}
		first = earlier(s, i, overlaps);
		if (first < i && partly)
			msg("rules %zu (%s) and %zu (%s) overlap: the first one is applied",
			    first + 1, s->rule[first].text, i + 1, s->rule[i].text);
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * act_scheme.c - reads rules of "wsmo act"
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "act_scheme.h"
#include "units.h"
#include "wsmo.h"

static const char * const actions[ACT_ACTIONS] = {
	[ACT_STAT]	 = "stat",
	[ACT_PAGEOUT]	 = "pageout",
	[ACT_COLD]	 = "cold",
	[ACT_WILLNEED]	 = "willneed",
	[ACT_HUGEPAGE]	 = "hugepage",
	[ACT_NOHUGEPAGE] = "nohugepage",
};

enum { MIN_SIZE, MAX_SIZE, MIN_SHARE, MAX_SHARE, MIN_AGE, MAX_AGE, ACTION, FIELDS };

static const char * const field_names[FIELDS] = {
	"min-size", "max-size", "min-share", "max-share", "min-age", "max-age",
	"action",
};

/**
 * struct scheme_file - where the parser is
 * @name:	of the file
 * @line:	number of the line, from 1
 * @text:	the line
 */
struct scheme_file {
	const char *name;
	unsigned int line;
	const char *text;
};

/* @at: where in the line */
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

/* Return: whether @word leaves the bound open */
static bool no_bound(const char *word)
{
	return !strcmp(word, "null") || !strcmp(word, "min") ||
	       !strcmp(word, "max");
}

static int parse_share(const char *word, double *share)
{
	char *end;
	double v;

	/* strtod() would take blanks, signs, hexadecimals and names as well */
	if (word[strspn(word, "0123456789.%")] || *word == '.')
		return -EINVAL;
	v = strtod(word, &end);
	if (end == word || strcmp(end, "%"))
		return -EINVAL;
	if (v > 100)
		return -ERANGE;
	*share = v / 100;
	return 0;
}

static int parse_size(const struct scheme_file *f, const char *at,
		      const char *word, int field, __u64 *size)
{
	if (no_bound(word)) {
		*size = field == MIN_SIZE ? 0 : ~0ULL;
		return 0;
	}
	switch (units_parse_size(word, size)) {
	case 0:
		return 0;
	case -ERANGE:
		return bad(f, at, "%s '%s' is too large", field_names[field], word);
	default:
		return bad(f, at, "%s '%s' is not a size; write 4K, 2M, 1G or null",
			   field_names[field], word);
	}
}

static int parse_bound(const struct scheme_file *f, const char *at,
		       const char *word, int field, struct act_rule *rule)
{
	__u64 *age = field == MIN_AGE ? &rule->min_age_ns : &rule->max_age_ns;
	double *share = field == MIN_SHARE ? &rule->min_share : &rule->max_share;

	switch (field) {
	case MIN_SIZE:
		return parse_size(f, at, word, field, &rule->min_size);
	case MAX_SIZE:
		return parse_size(f, at, word, field, &rule->max_size);
	case MIN_SHARE:
	case MAX_SHARE:
		if (no_bound(word)) {
			*share = field == MAX_SHARE;
			return 0;
		}
		if (parse_share(word, share))
			return bad(f, at, "%s '%s' is not a share from 0%% to 100%%",
				   field_names[field], word);
		return 0;
	default:
		if (no_bound(word)) {
			*age = field == MIN_AGE ? 0 : ~0ULL;
			return 0;
		}
		if (units_parse_time(word, age))
			return bad(f, at, "%s '%s' is not a time; write 500ms, 5s, 2m or null",
				   field_names[field], word);
		return 0;
	}
}

static int parse_action(const struct scheme_file *f, const char *at,
			const char *word, struct act_rule *rule)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(actions); i++) {
		if (!strcmp(actions[i], word)) {
			rule->action = i;
			return 0;
		}
	}
	return bad(f, at, "'%s' is not an action: pageout cold willneed hugepage nohugepage stat",
		   word);
}

/* Bounds that exclude each other; @at: of each field */
static int check_order(const struct scheme_file *f, const char * const *at,
		       const struct act_rule *rule)
{
	if (rule->min_size > rule->max_size)
		return bad(f, at[MAX_SIZE], "max-size is less than min-size");
	if (rule->min_share > rule->max_share)
		return bad(f, at[MAX_SHARE], "max-share is less than min-share");
	if (rule->min_age_ns > rule->max_age_ns)
		return bad(f, at[MAX_AGE], "max-age is less than min-age");
	return 0;
}

static int parse_rule(const struct scheme_file *f, struct act_rule *rule)
{
	const char *at[FIELDS], *p = f->text;
	size_t used = 0;
	int n;

	*rule = (struct act_rule){ .line = f->line };
	for (n = 0; p += strspn(p, " \t"), *p; n++) {
		size_t len = strcspn(p, " \t");
		char word[40];

		if (n == FIELDS)
			return bad(f, p, "nothing may follow the action but a comment");
		if (len >= sizeof(word))
			return bad(f, p, "%s is too long", field_names[n]);
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
		return bad(f, p, "%s is missing; a rule is: min-size max-size min-share max-share min-age max-age action",
			   field_names[n]);
	return check_order(f, at, rule);
}

/* A line without its comment; Return: whether anything is left */
static bool strip(char *line)
{
	line[strcspn(line, "#\r\n")] = '\0';
	return line[strspn(line, " \t")];
}

static int parse(struct act_scheme *scheme, FILE *stream, const char *name)
{
	struct scheme_file f = { .name = name };
	size_t size = 0, before = scheme->nr;
	char *line = NULL;
	ssize_t len;
	int err = 0;

	while (!err && (len = getline(&line, &size, stream)) >= 0) {
		f.line++;
		f.text = line;
		if (strlen(line) != (size_t)len)
			err = bad(&f, line + strlen(line), "a NUL byte: this is no text");
		else if (!strip(line))
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
		msg("%s: %s; name a file of rules, or a preset in %s", name,
		    errno == ENOENT ? "not there" : strerror(errno),
		    act_scheme_dir());
		return -1;
	}
	err = parse(scheme, f, name);
	fclose(f);
	return err;
}

bool act_rule_covers(const struct act_rule *a, const struct act_rule *b)
{
	return a->min_size <= b->min_size && a->max_size >= b->max_size &&
	       a->min_share <= b->min_share && a->max_share >= b->max_share &&
	       a->min_age_ns <= b->min_age_ns && a->max_age_ns >= b->max_age_ns;
}

bool act_rule_overlaps(const struct act_rule *a, const struct act_rule *b)
{
	return a->min_size <= b->max_size && b->min_size <= a->max_size &&
	       a->min_share <= b->max_share && b->min_share <= a->max_share &&
	       a->min_age_ns <= b->max_age_ns && b->min_age_ns <= a->max_age_ns;
}

const char *act_action_name(__u32 action)
{
	static char unknown[24];

	if (action < ARRAY_SIZE(actions))
		return actions[action];
	snprintf(unknown, sizeof(unknown), "action%u", action);
	return unknown;
}

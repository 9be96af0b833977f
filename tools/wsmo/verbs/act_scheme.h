/* SPDX-License-Identifier: GPL-2.0 */
/*
 * act_scheme.h - rules of "wsmo act": size, use and age of memory, and the action
 *
 * The format is from the DAMON patch set, one rule a line:
 *
 *	min-size max-size  min-share max-share  min-age max-age  action
 *
 * Values have units; "null" leaves a bound open; '#' begins a comment. A line of column names
 * applies to the rules below it. With the columns min-freq and max-freq, or with DAMON's names
 * (min_sz max_sz min_acc max_acc min_age max_age action), rules bound rates instead of shares.
 */
#ifndef WSMO_ACT_SCHEME_H
#define WSMO_ACT_SCHEME_H

#include <stdbool.h>
#include <stddef.h>

#include "core/act_table.h"
#include "core/table.h"
#include "libwsmon/wsmon_records.h"

#define ACT_TEXT	96	/* maximum bytes of a rule's text */

/**
 * struct act_rule - a rule; every bound is inclusive
 * @min_size:	minimum bytes of a stretch of memory
 * @max_size:	maximum bytes; ~0: no bound
 * @freq:	the access bounds are of the share of sampling rounds that find a page accessed, as
 *		in DAMON; else of the share of pages accessed in an interval
 * @min_access:	minimum share, 0 to 1
 * @max_access:	maximum share; 1: no bound, 0: never accessed
 * @min_age_ns:	minimum time for which the memory has fit
 * @max_age_ns:	maximum time; ~0: no bound
 * @action:	the action
 * @line:	line number in the file
 * @text:	the rule with single blanks
 */
struct act_rule {
	__u64 min_size;
	__u64 max_size;
	bool freq;
	double min_access;
	double max_access;
	__u64 min_age_ns;
	__u64 max_age_ns;
	enum wsmon_action action;
	unsigned int line;
	char text[ACT_TEXT];
};

/** struct act_scheme - @nr rules; the first rule that fits is applied */
struct act_scheme {
	struct act_rule rule[ACT_RULES];
	size_t nr;
};

/**
 * act_scheme_load() - append the rules of a file
 * @name: name of a preset or a file
 * Return: 0, or -1 after a message with line and column
 */
int act_scheme_load(struct act_scheme *scheme, const char *name);

/**
 * act_scheme_dir() - return the directory of presets
 *
 * $WSMON_SCHEMES, or share/wsmon/schemes beside the command's directory.
 */
const char *act_scheme_dir(void);

/**
 * act_rule_cold() - tell whether a rule is about unused memory
 *
 * For such a rule, one access restarts the age. A rule with a maximum rate above 0 allows accesses.
 */
static inline bool act_rule_cold(const struct act_rule *rule)
{
	return rule->freq ? rule->max_access <= 0 : rule->max_access < 0.5;
}

/** act_show_rules() - print the rules */
void act_show_rules(const struct act_scheme *s, enum table_format format);

/**
 * act_report_overlaps() - print which rules hide other rules
 * @partly:	print rules that hide a part of another rule, too
 */
void act_report_overlaps(const struct act_scheme *s, bool partly);

#endif /* WSMO_ACT_SCHEME_H */

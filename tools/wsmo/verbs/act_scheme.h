/* SPDX-License-Identifier: GPL-2.0 */
/*
 * act_scheme.h - rules of "wsmo act": which memory, of what age, what to do
 *
 * The form is that of the DAMON patch set, one rule a line:
 *
 *	min-size max-size  min-share max-share  min-age max-age  action
 *
 * with units; "null" leaves a bound open, '#' begins a comment. A line of column names
 * applies to the rules below it: with min-freq max-freq, or with DAMON's names (min_sz
 * max_sz min_acc max_acc min_age max_age action), these bound rates instead of shares.
 */
#ifndef WSMO_ACT_SCHEME_H
#define WSMO_ACT_SCHEME_H

#include <stdbool.h>
#include <stddef.h>

#include "core/act_table.h"
#include "core/table.h"
#include "libwsmon/wsmon_records.h"

#define ACT_TEXT	96	/* max. bytes of a rule's text */

/**
 * struct act_rule - a rule; every bound is inclusive
 * @min_size:	bytes of a stretch of memory that fits
 * @max_size:	~0 is no bound
 * @freq:	the next two bound the share of sampling rounds that find a page
 *		accessed, as in DAMON; else the share of pages accessed in an interval
 * @min_access:	0 to 1
 * @max_access:	1 is no bound; 0 means never
 * @min_age_ns:	how long the memory has fit
 * @max_age_ns:	~0 is no bound
 * @action:	what to do
 * @line:	line of the file
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

/** struct act_scheme - @nr rules; the first that fits is applied */
struct act_scheme {
	struct act_rule rule[ACT_RULES];
	size_t nr;
};

/**
 * act_scheme_load() - append the rules of a file
 * @name: a preset's name, or a file's
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
 * act_rule_cold() - is the rule about unused memory?
 *
 * If so, one access restarts the age. A rate above 0 allows for accesses.
 */
static inline bool act_rule_cold(const struct act_rule *rule)
{
	return rule->freq ? rule->max_access <= 0 : rule->max_access < 0.5;
}

/** act_show_rules() - print the rules */
void act_show_rules(const struct act_scheme *s, enum table_format format);

/**
 * act_report_overlaps() - print which rules hide others
 * @partly:	also print rules that hide a part of another rule
 */
void act_report_overlaps(const struct act_scheme *s, bool partly);

#endif /* WSMO_ACT_SCHEME_H */

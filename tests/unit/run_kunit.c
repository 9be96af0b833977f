// SPDX-License-Identifier: GPL-2.0
/*
 * run_kunit.c - runs the suites of tests/unit/kunit in userland
 */
#include <kunit/test.h>
#include <setjmp.h>

#include "test.h"

#define MAX_ACTIONS	1000

static struct kunit_suite *suites, **last = &suites;
static jmp_buf aborted;

static struct {
	void (*action)(void *what);
	void *what;
} actions[MAX_ACTIONS];
static unsigned int nr_actions;

void kunit_register(struct kunit_suite *suite)
{
	*last = suite;
	last = &suite->next;
}

int kunit_add_action_or_reset(struct kunit *test, void (*action)(void *), void *what)
{
	(void)test;
	if (nr_actions == MAX_ACTIONS) {
		action(what);
		return -ENOMEM;
	}
	actions[nr_actions].action = action;
	actions[nr_actions++].what = what;
	return 0;
}

void *kunit_kzalloc(struct kunit *test, size_t size, int gfp)
{
	void *p = calloc(1, size);

	(void)gfp;
	return p && !kunit_add_action_or_reset(test, free, p) ? p : NULL;
}

void *kunit_kmalloc(struct kunit *test, size_t size, int gfp)
{
	return kunit_kzalloc(test, size, gfp);
}

void test_abort(void)
{
	longjmp(aborted, 1);
}

static void run_one(const struct kunit_case *c, const void *param)
{
	struct kunit test = { param };

	if (!setjmp(aborted))
		c->run(&test);
	while (nr_actions--)
		actions[nr_actions].action(actions[nr_actions].what);
	nr_actions = 0;
}

/* One TAP point a case; a failing parameter is named. */
static void run_case(const char *suite, const struct kunit_case *c)
{
	char name[300], desc[KUNIT_PARAM_DESC_SIZE];
	const void *param = NULL;

	snprintf(name, sizeof(name), "%s: %s", suite, c->name);
	test_begin();
	if (!c->params)
		run_one(c, NULL);
	while (c->params && (param = c->params(param, desc))) {
		bool held = test_holds();

		run_one(c, param);
		if (held && !test_holds())
			printf("# with parameter: %s\n", desc);
	}
	test_end(name);
}

void test_run_suites(void)
{
	const struct kunit_suite *s;
	const struct kunit_case *c;

	for (s = suites; s; s = s->next)
		for (c = s->test_cases; c->run; c++)
			run_case(s->name, c);
}

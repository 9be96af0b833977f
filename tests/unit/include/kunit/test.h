/* SPDX-License-Identifier: GPL-2.0 */
/* The part of KUnit that tests/unit/kunit uses, for userland: its suites run in both */
#ifndef STUB_KUNIT_TEST_H
#define STUB_KUNIT_TEST_H

#include <linux/types.h>
#include <stdio.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define U16_MAX		UINT16_MAX

struct kunit {
	const void *param_value;
};

#define KUNIT_PARAM_DESC_SIZE	128

struct kunit_case {
	void (*run)(struct kunit *test);
	const char *name;
	const void *(*params)(const void *prev, char *desc);
};

struct kunit_suite {
	const char *name;
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
	struct kunit_suite *next;
};

#define KUNIT_CASE(f)		{ f, #f, NULL }
#define KUNIT_CASE_PARAM(f, p)	{ f, #f, p }

#define KUNIT_ARRAY_PARAM_DESC(id, array, member)			\
	static const void *id##_gen_params(const void *prev, char *desc) \
	{								\
		__typeof__(&(array)[0]) next = prev ?			\
			(__typeof__(next))prev + 1 : (array);		\
		if (next - (array) >= (long)ARRAY_SIZE(array))		\
			return NULL;					\
		snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", next->member); \
		return next;						\
	}

void kunit_register(struct kunit_suite *suite);
void test_run_suites(void);

#define kunit_test_suite(suite)						\
	__attribute__((constructor)) static void register_suite(void)	\
	{								\
		kunit_register(&(suite));				\
	}

void test_fail(const char *file, int line, const char *cond, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void test_abort(void) __attribute__((noreturn));

#define SHIM_CHECK(test, cond, text, ...) ({				\
	bool _held = (cond);						\
	(void)(test);							\
	if (!_held)							\
		test_fail(__FILE__, __LINE__, text, __VA_ARGS__);	\
	_held; })
#define SHIM_COMPARE(test, a, op, b, ...)				\
	SHIM_CHECK(test, (a) op (b), #a " " #op " " #b, __VA_ARGS__)
#define SHIM_ASSERT(held)	((held) ? (void)0 : test_abort())

#define KUNIT_EXPECT_EQ_MSG(t, a, b, ...)	SHIM_COMPARE(t, a, ==, b, __VA_ARGS__)
#define KUNIT_EXPECT_GE_MSG(t, a, b, ...)	SHIM_COMPARE(t, a, >=, b, __VA_ARGS__)
#define KUNIT_EXPECT_LE_MSG(t, a, b, ...)	SHIM_COMPARE(t, a, <=, b, __VA_ARGS__)
#define KUNIT_EXPECT_EQ(t, a, b)	SHIM_COMPARE(t, a, ==, b, "%s", "")
#define KUNIT_EXPECT_NE(t, a, b)	SHIM_COMPARE(t, a, !=, b, "%s", "")
#define KUNIT_EXPECT_LT(t, a, b)	SHIM_COMPARE(t, a, <, b, "%s", "")
#define KUNIT_EXPECT_LE(t, a, b)	SHIM_COMPARE(t, a, <=, b, "%s", "")
#define KUNIT_EXPECT_GT(t, a, b)	SHIM_COMPARE(t, a, >, b, "%s", "")
#define KUNIT_EXPECT_GE(t, a, b)	SHIM_COMPARE(t, a, >=, b, "%s", "")
#define KUNIT_EXPECT_TRUE(t, a)		SHIM_CHECK(t, a, #a, "%s", "")
#define KUNIT_EXPECT_FALSE(t, a)	SHIM_CHECK(t, !(a), "!" #a, "%s", "")
#define KUNIT_EXPECT_TRUE_MSG(t, a, ...)	SHIM_CHECK(t, a, #a, __VA_ARGS__)
#define KUNIT_EXPECT_FALSE_MSG(t, a, ...)	SHIM_CHECK(t, !(a), "!" #a, __VA_ARGS__)
#define KUNIT_EXPECT_STREQ(t, a, b)	SHIM_CHECK(t, !strcmp(a, b), #a, "%s, not %s", a, b)
#define KUNIT_EXPECT_MEMEQ(t, a, b, n)	SHIM_CHECK(t, !memcmp(a, b, n), #a, "%s", #b)
#define KUNIT_EXPECT_MEMEQ_MSG(t, a, b, n, ...) \
	SHIM_CHECK(t, !memcmp(a, b, n), #a, __VA_ARGS__)
#define KUNIT_ASSERT_EQ(t, a, b)	SHIM_ASSERT(KUNIT_EXPECT_EQ(t, a, b))
#define KUNIT_ASSERT_LE(t, a, b)	SHIM_ASSERT(KUNIT_EXPECT_LE(t, a, b))
#define KUNIT_ASSERT_NOT_NULL(t, p)	SHIM_ASSERT(KUNIT_EXPECT_TRUE(t, (p) != NULL))

/* Memory freed at the end of the test */
#define GFP_KERNEL	0
void *kunit_kmalloc(struct kunit *test, size_t size, int gfp);
void *kunit_kzalloc(struct kunit *test, size_t size, int gfp);
int kunit_add_action_or_reset(struct kunit *test, void (*action)(void *), void *what);

#define KUNIT_DEFINE_ACTION_WRAPPER(wrapper, f, type)			\
	static void wrapper(void *what)					\
	{								\
		f((type)what);						\
	}

#define kvcalloc(n, size, gfp)	calloc(n, size)
#define kvfree(p)		free((void *)(p))

#endif

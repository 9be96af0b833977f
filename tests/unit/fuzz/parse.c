// SPDX-License-Identifier: GPL-2.0
/*
 * parse.c - libFuzzer feeds any bytes to the parsers of the module's files
 *
 * The first byte selects the parser, the second is the limit of a list. An accepted text
 * must be within the bounds of Documentation/reference/abi.rst, and be accepted again when
 * written as abi.rst says; a refused text must change nothing. Sanitizers see accesses
 * outside of the text.
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include <stdlib.h>

#include "../../../module/wsmon_control.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

#define MAX_PIDS	8
#define HOLDS(cond) do {						\
		if (!(cond)) {						\
			fprintf(stderr, "fuzz: not so: %s\n", #cond);	\
			abort();					\
		}							\
	} while (0)

static const struct wsmon_attrs before = {
	.sample_us = 100000, .aggr_us = 1000000, .update_us = 1000000,
	.windows_us = { 1000000 }, .seed = 5, .min_regions = 10,
	.max_regions = 2000, .flags = WSMON_ATTR_FLUSH_TLB, .nr_windows = 1,
	.cpu_permille = 30, .peak_detector = WSMON_PEAK_SIGMA,
	.peak_window = 30, .peak_gain = 5000, .peak_adapt = 250,
};

static bool within(u64 value, u64 min, u64 max)
{
	return value >= min && value <= max;
}

static void check_bounds(const struct wsmon_attrs *a)
{
	HOLDS(within(a->sample_us, 100, 86400000000ULL));
	HOLDS(within(a->aggr_us, a->sample_us, 86400000000ULL));
	HOLDS(within(a->update_us, a->sample_us, 86400000000ULL));
	HOLDS(within(a->min_regions, 1, a->max_regions));
	HOLDS(a->max_regions <= 32768);
	HOLDS(within(a->cpu_permille, 1, 1000));
	HOLDS(within(a->peak_window, 2, 10000));
	HOLDS(within(a->peak_gain, 1, 100000));
	HOLDS(a->peak_adapt <= 1000 && a->peak_detector <= WSMON_PEAK_FANO);
	HOLDS(a->follow <= 1 && a->precision <= 1000 && a->who_rate <= WSMON_WHO_RATE_MAX);
	HOLDS(!(a->flags & ~(u64)WSMON_ATTR_FLUSH_TLB));
	HOLDS(within(a->nr_windows, 1, 8));
	HOLDS(within(a->windows_us[0], a->sample_us, 86400000000ULL));
	for (u32 i = 1; i < 8; i++)
		HOLDS(i < a->nr_windows ?
		      within(a->windows_us[i], a->windows_us[i - 1] + 1, 86400000000ULL) :
		      !a->windows_us[i]);
}

/* The text of all attributes, in the format of the file attrs */
static size_t write_attrs(char *text, size_t size, const struct wsmon_attrs *a)
{
	size_t n = snprintf(text, size, "sample_us=%llu aggr_us=%llu update_us=%llu window_us=",
			    (unsigned long long)a->sample_us, (unsigned long long)a->aggr_us,
			    (unsigned long long)a->update_us);

	for (u32 i = 0; i < a->nr_windows; i++)
		n += snprintf(text + n, size - n, "%s%llu", i ? "," : "",
			      (unsigned long long)a->windows_us[i]);
	return n + snprintf(text + n, size - n,
			    " seed=%llu min_regions=%u max_regions=%u flush_tlb=%u cpu_permille=%u"
			    " peak_window=%u peak_gain=%u.%03u peak_adapt=%u.%03u peak_detector=%s"
			    " follow=%u who_rate=%u precision=%u\n",
			    (unsigned long long)a->seed, (u32)a->min_regions, (u32)a->max_regions,
			    !!(a->flags & WSMON_ATTR_FLUSH_TLB), (u32)a->cpu_permille,
			    (u32)a->peak_window, (u32)a->peak_gain / 1000, (u32)a->peak_gain % 1000,
			    (u32)a->peak_adapt / 1000, (u32)a->peak_adapt % 1000,
			    wsmon_detector_name(a->peak_detector), (u32)a->follow, (u32)a->who_rate,
			    (u32)a->precision);
}

/* An accepted text is refused when it has a key or a window twice, or a NUL */
static void check_twice(char *text, size_t len, size_t size, u64 window)
{
	struct wsmon_attrs a = before;

	HOLDS(wsmon_attrs_parse(&a, text, len + 1) == -EINVAL);
	snprintf(text + len, size - len, "follow=0");
	HOLDS(wsmon_attrs_parse(&a, text, strlen(text)) == -EINVAL);
	snprintf(text, size, "window_us=%llu,%llu", (unsigned long long)window,
		 (unsigned long long)window);
	HOLDS(wsmon_attrs_parse(&a, text, strlen(text)) == -EINVAL);
	HOLDS(!memcmp(&a, &before, sizeof(a)));
}

static void attrs(const char *text, size_t len)
{
	struct wsmon_attrs a = before, again = { .sample_us = 1 };
	int err = wsmon_attrs_parse(&a, text, len);
	char canonical[1000];

	HOLDS(err == 0 || err == -EINVAL || err == -ERANGE);
	if (err) {
		HOLDS(!memcmp(&a, &before, sizeof(a)));
		return;
	}
	HOLDS(memchr(text, '=', len));
	check_bounds(&a);
	len = write_attrs(canonical, sizeof(canonical), &a);
	HOLDS(len + 10 < sizeof(canonical));
	HOLDS(!wsmon_attrs_parse(&again, canonical, len));
	HOLDS(!memcmp(&a, &again, sizeof(a)));
	check_twice(canonical, len, sizeof(canonical), a.windows_us[a.nr_windows - 1]);
}

static void check_pids(const u32 *pids, u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		HOLDS(within(pids[i], 1, S32_MAX));
		for (u32 j = 0; j < i; j++)
			HOLDS(pids[i] != pids[j]);
	}
}

static void list(const char *text, size_t len, u32 max)
{
	u32 *pids = malloc(max * sizeof(*pids));
	int nr = wsmon_pids_parse(pids, max, text, len);

	HOLDS(nr == -EINVAL || nr == -ERANGE || within(nr, 0, max));
	for (size_t i = 0; nr >= 0 && i < len; i++)
		HOLDS(strchr("0123456789 \t\r\n", text[i]) && text[i]);
	if (nr >= 0)
		check_pids(pids, nr);
	free(pids);
}

static void request(char *text, size_t len, u32 max)
{
	u32 *pids = malloc(max * sizeof(*pids));
	char *written = memcpy(malloc(len + !len), text, len);
	struct wsmon_request req;
	int err = wsmon_request_parse(&req, pids, max, text, len);

	HOLDS(err == 0 || err == -EINVAL || err == -ERANGE);
	if (!err) {
		HOLDS(req.nr_pids <= max);
		check_pids(pids, req.nr_pids);
		HOLDS(!!req.nr_pids + req.join + !!req.cgroup <= 1);
		HOLDS(!req.stop || (!req.nr_pids && !req.join && !req.cgroup && !req.has_attrs));
		HOLDS(!req.mark || (req.mark == text + 5 && req.mark_len == len - 5));
		HOLDS(!req.cgroup || (req.cgroup > text && req.cgroup_len &&
				      req.cgroup + req.cgroup_len <= text + len &&
				      !memchr(req.cgroup, 0, req.cgroup_len)));
		/* bytes stay or become blanks, except in the cgroup's path */
		for (size_t i = 0; i < len; i++)
			HOLDS(text[i] == written[i] || text[i] == ' ' ||
			      (req.cgroup && text + i >= req.cgroup &&
			       text + i < req.cgroup + req.cgroup_len));
		if (req.cgroup)
			memset(req.cgroup_word, ' ', req.cgroup + req.cgroup_len - req.cgroup_word);
		if (!req.mark && req.has_attrs)
			attrs(text, len);
	}
	free(written);
	free(pids);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	u32 max = len > 1 ? 1 + data[1] % MAX_PIDS : 0;
	char *text;

	if (len < 2)
		return 0;
	/* exactly as long: sanitizers see accesses beyond */
	len -= 2;
	text = malloc(len + !len);
	memcpy(text, data + 2, len);
	switch (data[0] % 3) {
	case 0:
		attrs(text, len);
		break;
	case 1:
		list(text, len, max);
		break;
	default:
		request(text, len, max);
	}
	free(text);
	return 0;
}

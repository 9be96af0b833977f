// SPDX-License-Identifier: GPL-2.0
/* debugfs-fuzz: texts read must be as the ABI says */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../include/wsmon.h"
#include "debugfs_fuzz.h"

#define LINE_MAX_LEN	400

/*
 * Read until the end into room, @chunk bytes at a time.
 * A call waits for a round at most, but a text of megabytes takes hundreds of them.
 *
 * Return: number of bytes, or -1: the file is gone, or the time is up.
 */
ssize_t read_all(int fd, size_t chunk)
{
	size_t len = 0, left;
	ssize_t n;

	for (;;) {
		left = ROOM - 1 - len;
		/* read the rest of a long text at once */
		if (len > 300 && chunk < 4096)
			chunk = 65536;
		n = read(fd, room + len, chunk < left ? chunk : left);
		if (n < 0 && errno == EINTR)
			continue;
		if ((n < 0 && errno == ENOMEM) || (n > 0 && time_is_up()))
			return -1;
		if (n < 0)
			wrong("read: %s", error_name(errno));
		if (!n)
			break;
		len += n;
		if (len == ROOM - 1)
			wrong("a text of %zu bytes and more", len);
	}
	room[len] = 0;
	return len;
}

/* Return: whether it is a list of at most eight windows, ascending */
static bool windows_right(char *list, unsigned long long sample)
{
	unsigned long long window, before = sample - 1;
	unsigned int nr = 0;
	char *end;

	do {
		window = strtoull(list, &end, 10);
		if (end == list || window <= before || window > DAY_US || ++nr > 8)
			return false;
		before = window;
		list = end + 1;
	} while (*end == ',');
	return !*end;
}

/* Return: whether it is a number from @min to @max in 1/1000, with three decimals at most */
static bool decimal_right(const char *s, int min, int max)
{
	const char *point = strchr(s, '.');
	double v = atof(s) * 1000;

	if (point && (point == s || !point[1] || strlen(point) > 4 || s[strlen(s) - 1] == '0'))
		return false;
	return v > min - 0.5 && v < max + 0.5;
}

static void attrs_right(const char *s)
{
	unsigned long long sample, aggr, update, min, max, flush, seed, cpu, window, follow,
			   who, precision;
	char windows[128], gain[16], adapt[16], detector[16];
	int n;

	if (sscanf(s, "sample_us=%llu\naggr_us=%llu\nupdate_us=%llu\nwindow_us=%127[0-9,]\n"
		   "min_regions=%llu\nmax_regions=%llu\nflush_tlb=%llu\nseed=%llu\n"
		   "cpu_permille=%llu\npeak_window=%llu\npeak_gain=%15[0-9.]\n"
		   "peak_adapt=%15[0-9.]\npeak_detector=%15[a-z]\nfollow=%llu\n"
		   "who_rate=%llu\nprecision=%llu%n",
		   &sample, &aggr, &update, windows, &min, &max, &flush, &seed,
		   &cpu, &window, gain, adapt, detector, &follow, &who, &precision,
		   &n) != 16 || strcmp(s + n, "\n"))
		wrong("attrs is not well formed: %s", s);
	if (sample < SAMPLE_US_MIN || aggr < sample || aggr > DAY_US ||
	    update < sample || update > DAY_US || !windows_right(windows, sample) ||
	    min < 1 || max < min || max > REGIONS_LIMIT || flush > 1 || follow > 1 ||
	    who > WSMON_WHO_RATE_MAX || precision > 1000 ||
	    cpu < 1 || cpu > 1000 || window < 2 || window > 10000 ||
	    !decimal_right(gain, 1, 100000) || !decimal_right(adapt, 0, 1000) ||
	    (strcmp(detector, "off") && strcmp(detector, "sigma") && strcmp(detector, "fano")))
		wrong("attrs that do not go together: %s", s);
}

static int by_number(const void *a, const void *b)
{
	return *(const long *)a < *(const long *)b ? -1 :
	       *(const long *)a > *(const long *)b;
}

static void check_target(const char *s)
{
	long pids[MAX_TARGETS];
	unsigned int nr = 0;
	const char *p = s;
	char *end;

	while (*p != '\n') {
		if (nr == MAX_TARGETS || *p < '0' || *p > '9')
			wrong("target is not well formed: %s", s);
		pids[nr] = strtol(p, &end, 10);
		if (pids[nr++] < 1)
			wrong("target has a pid that is none: %s", s);
		p = *end == ' ' && end[1] != '\n' ? end + 1 : end;
	}
	if (p[1])
		wrong("target has more than a line: %s", s);
	qsort(pids, nr, sizeof(*pids), by_number);
	for (unsigned int i = 1; i < nr; i++)
		if (pids[i] == pids[i - 1])
			wrong("target has a pid twice: %s", s);
}

static void check_status(const char *s)
{
	static const char *const now[] = { "idle\n", "running\n" };
	static const char *const then[] = {
		"", "last stop: on request\n", "last stop: every target is gone\n"
	};
	size_t len;

	for (int i = 0; i < 2; i++) {
		len = strlen(now[i]);
		for (int j = 0; !strncmp(s, now[i], len) && j < 3; j++)
			if (!strcmp(s + len, then[j]))
				return;
	}
	wrong("status is not well formed: %s", s);
}

/* Call f with each line of a text */
static void each_line(char *s, void (*f)(const char *line))
{
	char *end;

	for (; *s; s = end + 1) {
		end = strchr(s, '\n');
		if (!end || end - s > LINE_MAX_LEN)
			wrong("a line without an end: %.300s", s);
		*end = 0;
		f(s);
	}
}

static bool is_class(const char *name)
{
	static const char *const names[] = {
		"all", "text", "data", "heap", "stack", "anon", "file", "shmem",
		"hugetlb", "mixed"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static void check_wss_line(const char *s)
{
	unsigned long long window, bytes, low, high, mapped;
	char class[16];
	int pid, n;

	if (sscanf(s, "pid=%d class=%15s window_us=%llu bytes=%llu low=%llu high=%llu mapped=%llu%n",
		   &pid, class, &window, &bytes, &low, &high, &mapped, &n) != 7 ||
	    s[n] || pid < 1 || !is_class(class))
		wrong("wss is not well formed: %s", s);
	if (low > bytes || bytes > high || high > mapped || window < SAMPLE_US_MIN ||
	    window > DAY_US)
		wrong("wss with strange figures: %s", s);
}

static void check_peak_line(const char *s)
{
	unsigned long long number, start, end, window, bytes, low, high, height, base, far;
	char group[8];
	int pid, sign, n;

	if (sscanf(s, "dropped=%llu%n", &number, &n) == 1 && !s[n])
		return;
	if (sscanf(s, "pid=%d group=%7s number=%llu sign=%d start_ns=%llu end_ns=%llu window_us=%llu bytes=%llu low=%llu high=%llu height=%llu baseline=%llu threshold=%llu%n",
		   &pid, group, &number, &sign, &start, &end, &window, &bytes, &low, &high,
		   &height, &base, &far, &n) != 13 || s[n] || pid < 1 ||
	    (strcmp(group, "all") && strcmp(group, "text") && strcmp(group, "rest")))
		wrong("peaks is not well formed: %s", s);
	if (low > bytes || bytes > high || !number || (sign != 1 && sign != -1) ||
	    (end && end <= start) || (sign > 0 ? height < base : height > base + 4096) ||
	    window < SAMPLE_US_MIN || window > DAY_US)
		wrong("peaks with strange figures: %s", s);
}

static int region_pid;
static unsigned long long region_end;
static unsigned int region_lines;

static void check_region_line(const char *s)
{
	unsigned long long start, end, age;
	unsigned int one, permille;
	int pid, n, digits, behind;
	char class[16];

	if (sscanf(s, "pid=%d class=%15s start=0x%llx end=0x%llx share=%u.%n%u%n age_ms=%llu%n",
		   &pid, class, &start, &end, &one, &digits, &permille, &behind,
		   &age, &n) != 7 ||
	    s[n] || pid < 1 || !is_class(class) || behind - digits != 3)
		wrong("regions is not well formed: %s", s);
	if (one * 1000 + permille > 1000 || start >= end || start % 4096 ||
	    end % 4096 || (pid == region_pid && start < region_end))
		wrong("a strange region: %s (behind 0x%llx)", s, region_end);
	region_pid = pid;
	region_end = end;
	region_lines++;
}

/* A target's array has some more room than its limit of regions */
static void check_regions(char *s)
{
	region_pid = 0;
	region_lines = 0;
	each_line(s, check_region_line);
	if (region_lines > 2 * REGIONS_LIMIT)
		wrong("%u regions", region_lines);
}

static void check_stats(const char *s)
{
	static const char *const names[] = {
		"rounds", "late_rounds", "missed", "checks", "arms", "flushes",
		"walk_ns", "flush_ns", "adapt_ns", "emit_ns", "cpu_ns",
		"max_hold_ns", "lost_records", "lost_bytes", "targets", "regions",
		"samples", "budget", "sample_ns", "remote_ns", "idle_rounds",
		"late_p50_ns", "late_p99_ns", "late_max_ns",
		"hold_p99_ns", "members", "unfollowed", "who_armed", "who_absent",
		"who_seen", "who_restored", "who_skipped", "who_huge"
	};
	enum {
		MAX_HOLD = 11, TARGETS = 14, REGIONS, SAMPLES,
		LATE_P50 = 21, LATE_P99, LATE_MAX, HOLD_P99
	};
	const size_t nr = sizeof(names) / sizeof(*names);
	unsigned long long v[sizeof(names) / sizeof(*names)];
	const char *p = s;
	char name[32];

	for (size_t i = 0; i < nr; i++) {
		int n;

		if (sscanf(p, "%31[a-z0-9_]=%llu%n", name, &v[i], &n) != 2 ||
		    strcmp(name, names[i]) || p[n] != '\n')
			wrong("stats is not well formed: %s", s);
		p += n + 1;
	}
	if (*p)
		wrong("stats has more than it should: %s", s);
	if (v[TARGETS] > MAX_TARGETS || v[SAMPLES] > 2 * v[REGIONS] ||
	    v[LATE_P50] > v[LATE_P99] || v[LATE_P99] > v[LATE_MAX] ||
	    v[HOLD_P99] > v[MAX_HOLD])
		wrong("stats with strange figures: %s", s);
}

static void check(enum file f)
{
	switch (f) {
	case ATTRS:
		attrs_right(room);
		break;
	case TARGET:
		check_target(room);
		break;
	case MARK:
		if (!*room || room[strspn(room, "0123456789")] != '\n')
			wrong("mark is no number: %s", room);
		break;
	case STATUS:
		check_status(room);
		break;
	case WSS:
		each_line(room, check_wss_line);
		break;
	case REGIONS:
		check_regions(room);
		break;
	case PEAKS:
		each_line(room, check_peak_line);
		break;
	default:
		check_stats(room);
		break;
	}
}

/* A text is well formed in any number of reads. */
static void read_and_check(enum file f, size_t chunk, unsigned int times)
{
	int fd = must_open(f, O_RDONLY);

	while (fd >= 0 && times--) {
		ssize_t n = read_all(fd, chunk);

		if (n < 0)
			break;
		if (strlen(room) != (size_t)n)
			wrong("a NUL in %s", file_names[f]);
		check(f);
		if (lseek(fd, 0, SEEK_SET))
			wrong("lseek to the beginning: %s", error_name(errno));
	}
	if (fd >= 0)
		close(fd);
}

void check_text(void)
{
	static const size_t chunks[] = { 1, 7, 100, 4096, ROOM };

	read_and_check(pick(BUFFER), chunks[pick(5)], 3);
}

void check_attrs(void)
{
	read_and_check(ATTRS, ROOM, 500);
}

/* Check texts made from the session */
void check_session(void)
{
	static const enum file files[] = { TARGET, WSS, REGIONS, PEAKS, STATS };

	read_and_check(files[pick(5)], ROOM, 5);
}

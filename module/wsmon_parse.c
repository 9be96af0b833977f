// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_parse.c - parses texts written to /dev/wsmon and debugfs files; names of the ABI
 *
 * Pure: no mm, no allocation, no locks. Strict: a text takes effect completely or not at all;
 * "12 abc" is an error, not 12.
 */
#include "wsmon_control.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Get the next word, and advance *@text to its end. Return: the word's length; 0 at the end. */
static size_t parse_next_word(const char **text, const char *end, const char **word)
{
	while (*text < end && is_blank(**text))
		(*text)++;
	*word = *text;
	while (*text < end && !is_blank(**text))
		(*text)++;
	return *text - *word;
}

/*
 * Parse a decimal number that has digits only: no sign, no prefix, no suffix.
 * Return: 0; -EINVAL; -ERANGE for a number above @max.
 */
static int parse_number(const char *p, size_t len, u64 max, u64 *val)
{
	bool range = false;
	u64 v = 0;
	size_t i;

	if (!len)
		return -EINVAL;
	for (i = 0; i < len; i++) {
		unsigned int digit = p[i] - '0';

		if (digit > 9)
			return -EINVAL;
		if (v > (U64_MAX - digit) / 10)
			range = true;
		v = v * 10 + digit;
	}
	if (range || v > max)
		return -ERANGE;
	*val = v;
	return 0;
}

#define KEY(text, field, most, how) {						\
	.name = text, .max = most, .at = offsetof(struct wsmon_attrs, field),	\
	.wide = sizeof(((struct wsmon_attrs *)NULL)->field) == sizeof(u64),	\
	.kind = WSMON_KEY_##how							\
}

/* All attributes, in the order of debugfs wsmon/attrs; WSMON_ATTR_FLUSH_TLB is the only flag */
const struct wsmon_key wsmon_keys[WSMON_NR_KEYS] = {
	KEY("sample_us", sample_us, WSMON_INTERVAL_US_MAX, NUMBER),
	KEY("aggr_us", aggr_us, WSMON_INTERVAL_US_MAX, NUMBER),
	KEY("update_us", update_us, WSMON_INTERVAL_US_MAX, NUMBER),
	KEY("window_us", windows_us[0], WSMON_INTERVAL_US_MAX, WINDOWS),
	KEY("min_regions", min_regions, WSMON_REGIONS_LIMIT, NUMBER),
	KEY("max_regions", max_regions, WSMON_REGIONS_LIMIT, NUMBER),
	KEY("flush_tlb", flags, WSMON_ATTR_FLUSH_TLB, NUMBER),
	KEY("seed", seed, U64_MAX, NUMBER),
	KEY("cpu_permille", cpu_permille, 1000, NUMBER),
	KEY("peak_window", peak_window, WSMON_PEAK_WINDOW_MAX, NUMBER),
	KEY("peak_gain", peak_gain, WSMON_PEAK_GAIN_MAX, MILLI),
	KEY("peak_adapt", peak_adapt, 1000, MILLI),
	KEY("peak_detector", peak_detector, WSMON_NR_PEAK_DETECTORS - 1, DETECTOR),
	KEY("follow", follow, 1, NUMBER),
	KEY("who_rate", who_rate, WSMON_WHO_RATE_MAX, NUMBER),
	KEY("precision", precision, 1000, NUMBER),
};

/* Return: the field of an attribute's number. */
static void *attrs_field(const struct wsmon_attrs *a, const struct wsmon_key *key)
{
	return (u8 *)a + key->at;
}

/**
 * wsmon_attrs_get - return the number of an attribute; of windows the first
 * @a:		the attributes
 * @key:	the attribute: an element of wsmon_keys
 */
u64 wsmon_attrs_get(const struct wsmon_attrs *a, const struct wsmon_key *key)
{
	return key->wide ? *(const u64 *)attrs_field(a, key) : *(const u32 *)attrs_field(a, key);
}

static void attrs_set(struct wsmon_attrs *a, const struct wsmon_key *key, u64 val)
{
	if (key->wide)
		*(u64 *)attrs_field(a, key) = val;
	else
		*(u32 *)attrs_field(a, key) = val;
}

static bool word_is(const char *word, size_t n, const char *text)
{
	return n == strlen(text) && !memcmp(word, text, n);
}

static int attrs_find_key(const char *word, size_t len)
{
	int i;

	for (i = 0; i < (int)WSMON_NR_KEYS; i++) {
		if (word_is(word, len, wsmon_keys[i].name))
			return i;
	}
	return -EINVAL;
}

/*
 * Parse windows, separated by commas, in any order; store them ascending.
 * Return: as parse_number(); also -EINVAL for a window given twice, and -ERANGE for more than
 * WSMON_WINDOWS_MAX windows.
 */
static int parse_windows(struct wsmon_attrs *a, const char *p, const char *end)
{
	unsigned int nr = 0, i;
	u64 *w = a->windows_us;

	memset(w, 0, sizeof(a->windows_us));
	for (;;) {
		const char *comma = memchr(p, ',', end - p) ?: end;
		u64 val;
		int err;

		err = parse_number(p, comma - p, WSMON_INTERVAL_US_MAX, &val);
		if (err)
			return err;
		if (nr == WSMON_WINDOWS_MAX)
			return -ERANGE;
		for (i = nr++; i && w[i - 1] >= val; i--) {
			if (w[i - 1] == val)
				return -EINVAL;
			w[i] = w[i - 1];
		}
		w[i] = val;
		if (comma == end)
			break;
		p = comma + 1;
	}
	a->nr_windows = nr;
	return 0;
}

/*
 * Parse a number with up to three decimals: "5", "0.25". A point needs digits on both sides.
 * *@val and @max are in 1/1000. Return: as parse_number().
 */
static int parse_milli(const char *p, const char *end, u64 max, u64 *val)
{
	const char *point = memchr(p, '.', end - p);
	u64 whole, part = 0;
	size_t digits;
	int err;

	err = parse_number(p, (point ?: end) - p, max / 1000, &whole);
	if (point && (!err || err == -ERANGE)) {
		digits = end - point - 1;
		if (digits > 3 || parse_number(point + 1, digits, 999, &part))
			return -EINVAL;
		for (; digits < 3; digits++)
			part *= 10;
	}
	if (err)
		return err;
	*val = whole * 1000 + part;
	return *val > max ? -ERANGE : 0;
}

#define PARSE_NAME(id, name)	name,
static const char * const detectors[] = { WSMON_PEAK_DETECTORS(PARSE_NAME) };
static const char * const classes[] = { WSMON_CLASSES(PARSE_NAME) };
static const char * const groups[] = { WSMON_PEAK_GROUP_LIST(PARSE_NAME) };

static int parse_detector(const char *p, size_t len, u64 *val)
{
	u32 i;

	for (i = 0; i < WSMON_NR_PEAK_DETECTORS; i++) {
		if (word_is(p, len, detectors[i])) {
			*val = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_attr(struct wsmon_attrs *a, const struct wsmon_key *key, const char *p,
		      const char *end)
{
	u64 val;
	int err;

	if (key->kind == WSMON_KEY_WINDOWS)
		return parse_windows(a, p, end);
	if (key->kind == WSMON_KEY_DETECTOR)
		err = parse_detector(p, end - p, &val);
	else if (key->kind == WSMON_KEY_MILLI)
		err = parse_milli(p, end, key->max, &val);
	else
		err = parse_number(p, end - p, key->max, &val);
	if (!err)
		attrs_set(a, key, val);
	return err;
}

/** wsmon_attrs_same_windows - tell whether two sets of attributes have the same windows */
bool wsmon_attrs_same_windows(const struct wsmon_attrs *a,
			      const struct wsmon_attrs *b)
{
	/* unused windows are 0 */
	return !memcmp(a->windows_us, b->windows_us, sizeof(a->windows_us));
}

/** wsmon_attrs_same_peaks - tell whether two sets of attributes find the same peaks */
bool wsmon_attrs_same_peaks(const struct wsmon_attrs *a,
			    const struct wsmon_attrs *b)
{
	return a->peak_detector == b->peak_detector &&
	       a->peak_window == b->peak_window &&
	       a->peak_gain == b->peak_gain &&
	       a->peak_adapt == b->peak_adapt &&
	       a->windows_us[0] == b->windows_us[0];
}

/*
 * Check what parse_attr() cannot: minimums, and values that must fit together.
 * Return: 0; -EINVAL if a value is zero or contradicts another value; -ERANGE if a value is too
 * small.
 */
static int attrs_check(const struct wsmon_attrs *a)
{
	if (!a->sample_us || !a->min_regions || !a->cpu_permille ||
	    !a->peak_window || !a->peak_gain)
		return -EINVAL;
	if (a->peak_window < WSMON_PEAK_WINDOW_MIN)
		return -ERANGE;
	if (a->sample_us < WSMON_SAMPLE_US_MIN)
		return -ERANGE;
	if (a->aggr_us < a->sample_us || a->update_us < a->sample_us ||
	    a->windows_us[0] < a->sample_us || a->max_regions < a->min_regions)
		return -EINVAL;
	return 0;
}

/**
 * wsmon_attrs_parse - change attributes according to a text
 * @attrs:	the attributes; unchanged on error
 * @text:	"key=value ...": one or more keys, each at most once
 * @len:	length of @text in bytes
 *
 * Return: 0; -EINVAL for malformed text, an unknown or repeated key, a zero where none is
 * allowed, or values that do not fit together; -ERANGE for a number that is too large or too
 * small, or too many windows.
 */
int wsmon_attrs_parse(struct wsmon_attrs *attrs, const char *text, size_t len)
{
	const char *end = text + len, *word, *eq;
	struct wsmon_attrs new = *attrs;
	unsigned int seen = 0;
	int key, err;
	size_t n;

	while ((n = parse_next_word(&text, end, &word))) {
		eq = memchr(word, '=', n);
		if (!eq)
			return -EINVAL;
		key = attrs_find_key(word, eq - word);
		if (key < 0 || seen & (1U << key))
			return -EINVAL;
		seen |= 1U << key;
		err = parse_attr(&new, &wsmon_keys[key], eq + 1, word + n);
		if (err)
			return err;
	}
	if (!seen)
		return -EINVAL;
	err = attrs_check(&new);
	if (err)
		return err;
	*attrs = new;
	return 0;
}

/**
 * wsmon_pids_parse - parse a list of process ids
 * @pids:	the ids
 * @max:	maximum number of ids
 * @text:	ids separated by white space; may be blank
 * @len:	length of @text in bytes
 *
 * Return: the number of ids; -EINVAL for malformed text, an id of 0, or a repeated id; -ERANGE
 * for a number above S32_MAX, or more than @max ids.
 */
int wsmon_pids_parse(u32 *pids, unsigned int max, const char *text, size_t len)
{
	const char *end = text + len, *word;
	unsigned int nr = 0, i;
	size_t n;
	u64 val;
	int err;

	while ((n = parse_next_word(&text, end, &word))) {
		err = parse_number(word, n, S32_MAX, &val);
		if (err)
			return err;
		if (!val)
			return -EINVAL;
		for (i = 0; i < nr; i++) {
			if (pids[i] == val)
				return -EINVAL;
		}
		if (nr == max)
			return -ERANGE;
		pids[nr++] = val;
	}
	return nr;
}

/*
 * Parse "N,N": replaces the commas by blanks. Return: as wsmon_pids_parse(), but -EINVAL for an
 * empty list.
 */
static int parse_commas(u32 *pids, u32 max, char *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (p[i] != ',')
			continue;
		if (!i || i + 1 == len || p[i - 1] == ' ')
			return -EINVAL;
		p[i] = ' ';
	}
	return wsmon_pids_parse(pids, max, p, len) ?: -EINVAL;
}

/*
 * Decode a path in place. "\NNN", three octal digits, stands for a byte, as in /proc/mounts, so
 * that a path can contain blanks, which separate words. Any other backslash stands for itself:
 * systemd's names contain backslashes.
 * Return: the length of the path; -EINVAL if it contains a NUL.
 */
static int parse_path(char *p, size_t len)
{
	size_t i, n = 0;

	for (i = 0; i < len; i++) {
		bool octal = p[i] == '\\' && len - i > 3 &&
			     (p[i + 1] & ~3) == '0' && (p[i + 2] & ~7) == '0' &&
			     (p[i + 3] & ~7) == '0';

		p[n] = p[i];
		if (octal) {
			p[n] = (p[i + 1] & 3) << 6 | (p[i + 2] & 7) << 3 | (p[i + 3] & 7);
			i += 3;
		}
		if (!p[n++])
			return -EINVAL;
	}
	memset(p + n, ' ', len - n);
	return n;
}

/**
 * wsmon_request_parse - parse a text written to /dev/wsmon
 * @req:	the result; its mark and cgroup point into @text
 * @pids:	gets the ids of "pid="
 * @max:	maximum number of ids
 * @text:	words "key=value", "pid=N,N", "cgroup=PATH", "join", "stop"; or "mark=TEXT".
 *		Replaces all words but attributes and the cgroup by blanks
 * @len:	length of @text in bytes
 *
 * Does not parse attributes: if there are some, the caller blanks the cgroup, and passes @text
 * to wsmon_attrs_parse().
 * Return: 0; -EINVAL for an empty text, more than one of "pid=", "cgroup=" and "join", "stop"
 * with other words, or a NUL in the path; or an error of wsmon_pids_parse().
 */
int wsmon_request_parse(struct wsmon_request *req, u32 *pids, u32 max, char *text, size_t len)
{
	const char *p = text, *end = text + len, *found;
	u32 words = 0, scopes = 0;
	size_t n;

	memset(req, 0, sizeof(*req));
	if (len >= 5 && !memcmp(text, "mark=", 5)) {
		req->mark = text + 5;
		req->mark_len = len - 5;
		return 0;
	}
	for (; (n = parse_next_word(&p, end, &found)); words++) {
		char *word = text + (found - text);
		int nr = 0;

		if (word_is(word, n, "join")) {
			req->join = true;
		} else if (word_is(word, n, "stop")) {
			req->stop = true;
		} else if (n >= 4 && !memcmp(word, "pid=", 4)) {
			nr = req->nr_pids ? -EINVAL : parse_commas(pids, max, word + 4, n - 4);
		} else if (n > 7 && !memcmp(word, "cgroup=", 7)) {
			req->cgroup_word = word;
			nr = parse_path(word + 7, n - 7);
			if (nr < 0)
				return nr;
			req->cgroup = word + 7;
			req->cgroup_len = nr;
			scopes++;
			continue;
		} else {
			req->has_attrs = true;
			continue;
		}
		if (nr < 0)
			return nr;
		req->nr_pids += nr;
		scopes += !req->stop;
		memset(word, ' ', n);
	}
	if (!words || (req->stop && words > 1) || scopes > 1)
		return -EINVAL;
	return 0;
}

/** wsmon_detector_name - return the name of WSMON_PEAK_OFF ...; "?" for an unknown number */
const char *wsmon_detector_name(u32 detector)
{
	return detector < WSMON_NR_PEAK_DETECTORS ? detectors[detector] : "?";
}

/** wsmon_class_name - return the name of an enum wsmon_class; "?" for an unknown number */
const char *wsmon_class_name(u32 class)
{
	return class < WSMON_NR_CLASSES ? classes[class] : "?";
}

/** wsmon_peak_group_name - return the name of WSMON_PEAK_ALL ...; "?" for an unknown number */
const char *wsmon_peak_group_name(u32 group)
{
	return group < WSMON_PEAK_GROUPS ? groups[group] : "?";
}

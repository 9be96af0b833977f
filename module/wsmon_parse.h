/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_parse.h - texts that people write to debugfs and the device; wsmon_pure.h includes it
 */
#ifndef WSMON_PARSE_H
#define WSMON_PARSE_H

bool wsmon_attrs_same_windows(const struct wsmon_attrs *a, const struct wsmon_attrs *b);
bool wsmon_attrs_same_peaks(const struct wsmon_attrs *a, const struct wsmon_attrs *b);
const char *wsmon_detector_name(u32 detector);
int wsmon_attrs_parse(struct wsmon_attrs *attrs, const char *text, size_t len);
/**
 * struct wsmon_request - what a text written to /dev/wsmon asks for
 * @nr_pids:	number of processes to watch
 * @cgroup_word: begin of "cgroup=" in the text, which wsmon_attrs_parse() would not take
 * @cgroup:	path of the cgroup, or NULL
 * @cgroup_len:	its length in bytes
 * @join:	to join the session that began last
 * @stop:	to end the session
 * @has_attrs:	it has attributes
 * @mark:	text of a mark, or NULL
 * @mark_len:	its length in bytes
 */
struct wsmon_request {
	u32 nr_pids;
	char *cgroup_word;
	const char *cgroup;
	size_t cgroup_len;
	bool join;
	bool stop;
	bool has_attrs;
	const char *mark;
	size_t mark_len;
};

int wsmon_request_parse(struct wsmon_request *req, u32 *pids, u32 max, char *text, size_t len);
int wsmon_pids_parse(u32 *pids, unsigned int max, const char *text, size_t len);
const char *wsmon_class_name(u32 class);
const char *wsmon_peak_group_name(u32 group);

#endif /* WSMON_PARSE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* debugfs-fuzz: misuses the module's files; see debugfs_fuzz.c */
#ifndef DEBUGFS_FUZZ_H
#define DEBUGFS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/types.h>

#define INPUT_MAX	4096		/* bytes of one write, at most, by the ABI */
#define ROOM		(8UL << 20)	/* more than any text or the buffer */
#define MARK_MAX	256		/* bytes of a mark, at most, by the ABI, with its NUL */
#define MAX_TARGETS	256
#define REGIONS_LIMIT	32768
#define DAY_US		86400000000ULL
#define SAMPLE_US_MIN	100

enum file { ATTRS, TARGET, MARK, STATUS, WSS, REGIONS, PEAKS, STATS, BUFFER, NR_FILES };
extern const char *const file_names[NR_FILES];

/* Results of a write; EINTR and ENOMEM are always allowed. */
#define TAKEN		1
#define INVAL		2
#define RANGE		4
#define SRCH		8
#define REFUSED		(INVAL | RANGE)

/* A text to write; results: allowed by the ABI. */
struct text {
	char bytes[2 * INPUT_MAX];
	size_t len;
	unsigned int results;
};

/* fuzz.c */
uint64_t pick(uint64_t n);
bool one_in(unsigned int n);
uint64_t log_pick(uint64_t min, uint64_t max);
noreturn void wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *error_name(int err);
int open_file(enum file f, int flags);
int open_path(const char *path, int flags);
int must_open(enum file f, int flags);
pid_t must_fork(void);
void reap(pid_t pid);
extern bool may_unload;			/* the module may be unloaded if nobody has a file open */
extern char *room;			/* ROOM bytes, with nothing mapped after them */
extern pid_t known[];			/* processes that outlive this one */
extern unsigned int nr_known;

/* fuzz_text.c: texts to write */
void make_text(struct text *t, enum file f);
void make_good(struct text *t, enum file f);

/* fuzz_check.c: texts read must be well formed */
void check_text(void);
void check_attrs(void);
void check_session(void);
bool time_is_up(void);
ssize_t read_all(int fd, size_t chunk);

/* fuzz_stream.c: so must the stream be */
void stream_begin(void);
void stream_expect(unsigned int first, unsigned int nr);
void stream_feed(const char *p, size_t n);
void stream_end(void);
void check_stream(void);
void blocked_reader(void);
void second_reader(void);

/* fuzz_device.c: sessions of /dev/wsmon */
void device_life(void);
void device_killed(void);

/* fuzz_odd.c: everything else that can be done with a file */
void odd_use(void);
void shared_use(void);
void let_go(void);

#endif

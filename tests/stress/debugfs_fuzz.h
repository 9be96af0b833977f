/* SPDX-License-Identifier: GPL-2.0 */
/* debugfs-fuzz: uses the module's files as nobody should; see debugfs_fuzz.c */
#ifndef DEBUGFS_FUZZ_H
#define DEBUGFS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/types.h>

#define INPUT_MAX	4096		/* bytes of one write, by the ABI */
#define ROOM		(8UL << 20)	/* more than any text or the buffer has */
#define MARK_MAX	256		/* bytes of a mark, by the ABI, NUL included */
#define MAX_TARGETS	256
#define REGIONS_LIMIT	32768
#define DAY_US		86400000000ULL
#define SAMPLE_US_MIN	100

enum file { ATTRS, TARGET, MARK, STATUS, WSS, REGIONS, PEAKS, STATS, BUFFER, NR_FILES };
extern const char *const file_names[NR_FILES];

/* What a write may come to; EINTR and ENOMEM always may be. */
#define TAKEN		1
#define INVAL		2
#define RANGE		4
#define SRCH		8
#define REFUSED		(INVAL | RANGE)

/* A text to be written; results: what the ABI allows. */
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
extern bool may_unload;			/* the module may go if nobody has a file open */
extern char *room;			/* ROOM bytes, nothing mapped behind */
extern pid_t known[];			/* processes that live on */
extern unsigned int nr_known;

/* fuzz_text.c: what to write */
void make_text(struct text *t, enum file f);
void make_good(struct text *t, enum file f);

/* fuzz_check.c: what is read must be well formed */
void check_text(void);
void check_attrs(void);
void check_session(void);
bool time_is_up(void);
ssize_t read_all(int fd, size_t chunk);

/* fuzz_stream.c: so must be the stream */
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

// SPDX-License-Identifier: GPL-2.0
/*
 * alloc_feed.c - makes records of the allocations that libwsmo-alloc.so samples
 *
 * The command may write anything to the ring, so nothing in the ring is trusted.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "core/cli.h"
#include "core/clock.h"
#include "core/files.h"
#include "alloc_feed.h"
#include "libwsmon/wsmon_records.h"
#include "alloc/ring.h"

/* Can libwsmo-alloc.so be loaded into the program? */

/* Finds the file that execvp() will execute. Return: false if there is none */
static bool find_program(char *path, size_t size, const char *cmd)
{
	const char *dirs = getenv("PATH");
	size_t len;

	if (strchr(cmd, '/')) {
		snprintf(path, size, "%s", cmd);
		return !access(path, X_OK);
	}
	for (dirs = dirs ? dirs : "/bin:/usr/bin"; *dirs; dirs += len + !!dirs[len]) {
		len = strcspn(dirs, ":");
		snprintf(path, size, "%.*s%s%s", (int)len, dirs, len ? "/" : "", cmd);
		if (!access(path, X_OK))
			return true;
	}
	return false;
}

/* Has a program a header of a type? True also if its headers are not all in @buf */
static bool has_header(const char *buf, size_t size, __u32 type)
{
	const Elf64_Ehdr *e = (const void *)buf;
	size_t i;

	for (i = 0; i < e->e_phnum; i++) {
		const Elf64_Phdr *p = (const void *)(buf + e->e_phoff + i * sizeof(*p));

		if (e->e_phoff > size || (i + 1) * sizeof(*p) > size - e->e_phoff)
			return true;
		if (p->p_type == type)
			return true;
	}
	return false;
}

/**
 * program_can_preload() - tell whether the dynamic linker can load libwsmo-alloc.so into a program
 * @cmd:	the program, as for execvp()
 * @uid:	the user who will run the program
 *
 * Return: false after a message. True may be wrong: the interpreter of a script is not checked
 */
static bool program_can_preload(const char *cmd, uid_t uid)
{
	union {
		char bytes[4096];
		Elf64_Ehdr elf;
	} head;
	char path[PATH_MAX];
	struct stat st;
	ssize_t n = 0;
	int fd;

	/* a program that cannot be run is reported later */
	if (!find_program(path, sizeof(path), cmd) || stat(path, &st))
		return true;
	if ((st.st_mode & S_ISUID && st.st_uid != uid) || (st.st_mode & S_ISGID && uid)) {
		msg("%s runs with the rights of another user (setuid): it ignores LD_PRELOAD, so --alloc cannot work; run it as that user",
		    path);
		return false;
	}
	fd = open_regular(path, 0);
	if (fd >= 0) {
		n = read(fd, &head, sizeof(head));
		close(fd);
	}
	/* perhaps a script, whose interpreter is not checked */
	if (n < (ssize_t)sizeof(head.elf) || memcmp(head.elf.e_ident, ELFMAG, SELFMAG))
		return true;
	if (head.elf.e_ident[EI_CLASS] != ELFCLASS64) {
		msg("%s is a 32-bit program: --alloc needs one of 64 bits", path);
		return false;
	}
	if (has_header(head.bytes, n, PT_INTERP))
		return true;
	msg("%s is linked statically: its functions cannot be replaced, so --alloc cannot work",
	    path);
	return false;
}

/* The samples of the library */

#define LIBRARY		"/../lib/wsmo/libwsmo-alloc.so"
#define PRELOAD		"LD_PRELOAD"

/* If an event stays incomplete for this long, the process that wrote it was killed */
#define PATIENCE	NSEC_PER_SEC

/* The command inherits the memory with the lowest free descriptor from this number on */
#define DESCRIPTOR	500

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL	8U
#endif

/* The command may have at least this many live samples: 1 MiB */
#define SAMPLES_MIN	(1U << 16)

/* Max. number of stacks that are remembered; further stacks are written again each time */
#define STACKS_MAX	(1U << 20)

/* Max. places of the hash table that a stack may have */
#define PROBES		64

struct feed_stack {
	__u64 hash;		/* 0: not used */
	__u32 number;
};

/* Gets the path of the library. Return: false after a message if the library is missing */
static bool library(char *path, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", path, size - sizeof(LIBRARY));
	char *slash;

	if (len > 0) {
		path[len] = '\0';
		slash = strrchr(path, '/');
		if (slash) {
			strcpy(slash, LIBRARY);
			if (!access(path, R_OK))
				return true;
		}
	}
	msg("there is no libwsmo-alloc.so in ../lib/wsmo, relative to the directory of wsmo; both are installed together");
	return false;
}

/*
 * Makes a file in memory. It is allocated now, and nobody can truncate it: an access to a missing
 * page, beyond its end or without memory for it, would raise SIGBUS. Return: a descriptor that the
 * command will inherit; -1 with errno
 */
static int make_memory(void)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int fd, high;

	fd = memfd_create("wsmo-alloc", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	/* before Linux 6.3 there is no MFD_NOEXEC_SEAL */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("wsmo-alloc", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || fallocate(fd, 0, 0, ALLOC_RING_HEAD + ALLOC_RING_BYTES) ||
	    fcntl(fd, F_ADD_SEALS, seals))
		return -1;
	/* a high number: shells use low descriptors for files that scripts open */
	high = fcntl(fd, F_DUPFD, DESCRIPTOR);
	if (high < 0)
		high = fcntl(fd, F_DUPFD, STDERR_FILENO + 1);
	close(fd);
	return high;
}

static void set_environment(const struct feed *f, const char *path)
{
	const char *before = getenv(PRELOAD);
	char *text;

	if (asprintf(&text, "%s%s%s", path, before && *before ? ":" : "", before ? before : "") < 0)
		need(NULL);
	setenv(PRELOAD, text, 1);
	free(text);
	if (asprintf(&text, "%d,%d", f->fd, getpid()) < 0)
		need(NULL);
	setenv(ALLOC_RING_ENV, text, 1);
	free(text);
}

int feed_open(struct feed *f, const char *cmd, uid_t uid)
{
	char path[PATH_MAX];
	void *p = MAP_FAILED;
	int fd;

	if (!program_can_preload(cmd, uid) || !library(path, sizeof(path)))
		return -1;
	fd = make_memory();
	if (fd >= 0)
		p = mmap(NULL, ALLOC_RING_HEAD + ALLOC_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			 fd, 0);
	if (p == MAP_FAILED) {
		msg("--alloc: no 4 MiB of memory for allocations: %s", strerror(errno));
		return -1;
	}
	f->fd = fd;
	f->ring = p;
	f->ring->rate = f->rate;
	/* a program may allocate more than there is, and not use it */
	f->ring->samples = 4 * meminfo("MemTotal") / f->rate;
	if (f->ring->samples < SAMPLES_MIN)
		f->ring->samples = SAMPLES_MIN;
	f->ring->magic = ALLOC_RING_MAGIC;
	f->event = need(malloc(sizeof(*f->event)));
	set_environment(f, path);
	return 0;
}

void feed_started(struct feed *f)
{
	const char *text = getenv(PRELOAD), *before = text ? strchr(text, ':') : NULL;
	char *kept;

	if (!f->ring)
		return;
	close(f->fd);
	unsetenv(ALLOC_RING_ENV);
	kept = before ? need(strdup(before + 1)) : NULL;
	if (kept)
		setenv(PRELOAD, kept, 1);
	else
		unsetenv(PRELOAD);
	free(kept);
}

/* Copies the event at @at. Return: its size in the ring; 0 if there is no complete event */
static __u64 get(struct feed *f, __u64 at, __u64 head)
{
	const char *data = (const char *)f->ring + ALLOC_RING_HEAD;
	struct alloc_event *e = f->event;
	__u64 size = ALLOC_RING_UNIT, i;
	const __u64 *tag = (const void *)(data + at % ALLOC_RING_BYTES);

	if (__atomic_load_n(tag, __ATOMIC_ACQUIRE) != alloc_ring_tag(at))
		return 0;
	for (i = 0; i < size; i += ALLOC_RING_UNIT) {
		memcpy((char *)e + i, data + (at + i) % ALLOC_RING_BYTES,
		       i + ALLOC_RING_UNIT > sizeof(*e) ? sizeof(*e) - i : ALLOC_RING_UNIT);
		if (i)
			continue;
		if (e->nr > ALLOC_FRAMES || alloc_event_size(e->nr) > head - at)
			return 0;
		size = alloc_event_size(e->nr);
	}
	return size;
}

/* Gets the next event into @event. Return: false if there is none */
static bool next(struct feed *f, __u64 head)
{
	__u64 at = f->tail, size = 0, now;

	while (at != head && !(size = get(f, at, head))) {
		now = clock_now();
		if (!f->stuck_ns)
			f->stuck_ns = now;
		if (now - f->stuck_ns < PATIENCE)
			return false;
		/* leave out the incomplete event, and look for the next complete one */
		at += ALLOC_RING_UNIT;
		f->broken++;
		f->tail = at;
	}
	f->stuck_ns = 0;
	f->tail = at + size;
	__atomic_store_n(&f->ring->tail, f->tail, __ATOMIC_RELEASE);
	return size;
}

static __u64 hash(const struct alloc_event *e)
{
	__u64 h = e->nr + e->cut * 1000ULL + 1, i;

	for (i = 0; i < e->nr; i++) {
		h = (h ^ e->pc[i]) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	return h ? h : 1;
}

/* Return: the place of a stack; NULL if its places are taken, as a hostile command can cause */
static struct feed_stack *find(struct feed_stack *table, __u32 room, __u64 h)
{
	__u64 i;

	for (i = h; i - h < PROBES; i++)
		if (!table[i % room].hash || table[i % room].hash == h)
			return &table[i % room];
	return NULL;
}

static void grow(struct feed *f)
{
	__u32 room = f->room ? 2 * f->room : 1024, i;
	struct feed_stack *table = need(calloc(room, sizeof(*table))), *s;

	for (i = 0; i < f->room; i++) {
		s = f->stack[i].hash ? find(table, room, f->stack[i].hash) : NULL;
		if (s)
			*s = f->stack[i];
	}
	free(f->stack);
	f->stack = table;
	f->room = room;
}

/* Writes the event's stack, unless it was written before. Return: number of the stack */
static __u32 take_stack(struct feed *f, pid_t pid, struct output *o)
{
	const struct alloc_event *e = f->event;
	__u64 buf[sizeof(struct wsmon_rec_stack) / 8 + ALLOC_FRAMES];
	struct wsmon_rec_stack *out = (void *)buf;
	struct feed_stack *s;

	if (2 * f->stacks >= f->room && f->room < 2 * STACKS_MAX)
		grow(f);
	s = find(f->stack, f->room, hash(e));
	if (s && s->hash)
		return s->number;
	*out = (struct wsmon_rec_stack){
		.rec = {
			.type = WSMON_REC_STACK, .time_ns = f->time_ns,
			.size = sizeof(*out) + e->nr * sizeof(out->pc[0]),
		},
		.pid = pid, .tid = pid, .reason = WSMON_STACK_ALLOC, .nr = e->nr,
		.number = ++f->stacks, .flags = e->cut ? WSMON_STACK_CUT : 0,
	};
	if (s && f->stacks < STACKS_MAX)
		*s = (struct feed_stack){ .hash = hash(e), .number = f->stacks };
	memcpy(out->pc, e->pc, e->nr * sizeof(out->pc[0]));
	output_record(o, &out->rec);
	return f->stacks;
}

static void write_alloc(struct output *o, struct wsmon_rec_alloc rec)
{
	rec.rec.type = WSMON_REC_ALLOC;
	rec.rec.size = sizeof(rec);
	output_record(o, &rec.rec);
}

static void take(struct feed *f, pid_t pid, struct output *o)
{
	const struct alloc_event *e = f->event;
	bool sample = e->kind == WSMON_ALLOC_MALLOC || e->kind == WSMON_ALLOC_MMAP;

	if (e->kind > WSMON_ALLOC_MUNMAP) {
		f->broken++;
		return;
	}
	f->begun = true;
	if (e->time_ns > f->time_ns)
		f->time_ns = e->time_ns < f->now_ns ? e->time_ns : f->now_ns;
	f->samples += sample;
	write_alloc(o, (struct wsmon_rec_alloc) {
		.rec.time_ns = f->time_ns, .pid = pid, .kind = e->kind, .addr = e->addr,
		.bytes = e->size, .stack = sample ? take_stack(f, pid, o) : 0,
	});
}

void feed_take(struct feed *f, pid_t pid, struct output *o)
{
	__u64 head, lost;

	if (!f->ring || f->overwritten)
		return;
	f->now_ns = clock_now();
	__atomic_store_n(&f->ring->now_ns, f->now_ns, __ATOMIC_RELAXED);
	head = __atomic_load_n(&f->ring->head, __ATOMIC_ACQUIRE);
	/* such a head is only possible if the command overwrote the ring */
	if (head - f->tail > ALLOC_RING_BYTES || head % ALLOC_RING_UNIT) {
		f->overwritten = true;
		head = f->tail;
		f->broken++;
	}
	while (next(f, head))
		take(f, pid, o);
	lost = __atomic_load_n(&f->ring->lost, __ATOMIC_RELAXED) + f->broken;
	if (lost > f->lost)
		write_alloc(o, (struct wsmon_rec_alloc) {
			.rec.time_ns = f->now_ns, .pid = pid, .kind = WSMON_ALLOC_LOST,
			.bytes = lost - f->lost,
		});
	f->lost = lost;
}

void feed_report(const struct feed *f, bool quiet)
{
	__u64 others;

	if (!f->ring)
		return;
	if (f->overwritten)
		msg("the command overwrote the buffer for allocations: later allocations were not recorded");
	if (f->lost)
		msg("LOST %llu events of allocations: 'report alloc' shows too little or too much; sample less often with --alloc=BYTES",
		    f->lost);
	if (!f->begun)
		msg("no allocations: the dynamic linker did not load libwsmo-alloc.so, as in static programs, or setuid ones");
	else if (!f->samples)
		msg("no allocations were sampled: the program allocates little, or has an allocator of its own");
	if (quiet)
		return;
	if (f->samples)
		msg("sampled %llu allocations, of %u stacks; see: wsmo report alloc", f->samples,
		    f->stacks);
	others = __atomic_load_n(&f->ring->others, __ATOMIC_RELAXED);
	if (others)
		msg("allocations of other processes (%llu) were not recorded: only the command's first process is watched by address; to see one of them, run it as the command",
		    others);
}

void feed_close(struct feed *f)
{
	if (f->ring)
		munmap(f->ring, ALLOC_RING_HEAD + ALLOC_RING_BYTES);
	free(f->event);
	free(f->stack);
	*f = (struct feed){ 0 };
}

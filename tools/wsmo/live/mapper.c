// SPDX-License-Identifier: GPL-2.0
/*
 * mapper.c - makes MAPPING records of changes in /proc/PID/maps
 *
 * A hash of each written mapping is kept, in the order of addresses, which is also the order of
 * maps. So one walk along both finds new mappings. Reading maps takes the target's mmap lock, so it
 * may take at most 1/50 of the time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buildid.h"
#include "core/cli.h"
#include "core/clock.h"
#include "libwsmon/util.h"
#include "libwsmon/wsmon_records.h"
#include "mapper.h"
#include "patience.h"
#include "procfs.h"

#define MAPPER_TARGETS	4096
#define MAPPER_PACE	50
#define MAPPER_THREADS	1024
#define MAPPER_STACK	(256 << 10)	/* a waiting thread mostly uses less of its stack */

struct written {
	__u64 start;
	__u64 hash;
	__u32 tid;
};

struct list {
	struct written *written;
	unsigned int nr;
};

struct mapped {
	__u32 pid;
	bool waits;		/* mappings changed since the last reading */
	__u64 next_ns;		/* the next reading is not before this time */
	unsigned int left_out;	/* max. number of mappings left out by a reading */
	struct list list;
};

/* A thread and its stack pointer */
struct thread {
	__u64 sp;
	__u32 tid;
};

/*
 * Threads of a target. A helper process reads them: it may have to wait for a thread that is in
 * execve().
 */
struct threads {
	size_t nr;
	struct thread t[MAPPER_THREADS];
};

/* One reading of a target's mappings */
struct reading {
	struct mapper *m;
	const struct list *old;
	unsigned int at;	/* index in @old */
	struct list new;
	struct threads threads;
	__u64 guard, guard_end;	/* size and end of the last mapping, if it has no permissions */
	/* the last file, and its build ID: the next mapping often has the same file */
	__u64 file;
	__u8 build_id[WSMON_BUILD_ID];
	__u32 build_id_len;
};

/* Parses /proc/PID/task/TID/syscall: "running", or the number and arguments of the call, sp, pc */
static bool parse_sp(const char *text, __u64 *sp)
{
	__u64 pc;

	return sscanf(text, "%*d %*x %*x %*x %*x %*x %*x %llx %llx", sp, &pc) == 2 ||
	       sscanf(text, "-1 %llx %llx", sp, &pc) == 2;
}

static bool read_sp(__u32 tid, __u64 *sp)
{
	char path[32], text[256];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/syscall", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return false;
	text[len] = '\0';
	return parse_sp(text, sp);
}

static void read_sps(void *data, int fd __attribute__((unused)))
{
	struct threads *threads = data;
	size_t i, nr = 0;

	for (i = 0; i < threads->nr; i++)
		if (read_sp(threads->t[i].tid, &threads->t[i].sp))
			threads->t[nr++] = threads->t[i];
	threads->nr = nr;
}

/*
 * Reads the threads that wait in the kernel, lowest stack pointer first. The stack pointer of a
 * running thread cannot be read; at the next reading the thread may wait. The main thread is left
 * out, because its stack is named [stack].
 */
static void threads_read(__u32 pid, struct threads *threads)
{
	const struct question q = { .ask = read_sps, .pid = pid, .fd = -1 };
	const struct dirent *e;
	char path[32];
	DIR *dir;

	threads->nr = 0;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && threads->nr < MAPPER_THREADS && (e = readdir(dir))) {
		struct thread *t = &threads->t[threads->nr];

		t->tid = strtoul(e->d_name, NULL, 10);
		threads->nr += t->tid && t->tid != pid;
	}
	if (dir)
		closedir(dir);
	if (!threads->nr)
		return;
	if (!patience_ask(&q, threads, offsetof(struct threads, t[threads->nr])))
		threads->nr = 0;
	qsort(threads->t, threads->nr, sizeof(*threads->t), order_u64);
}

/*
 * Return: the thread whose stack is in a mapping; 0 if the mapping is no stack
 *
 * A stack pointer alone does not show that a mapping is a stack, because Go keeps the stacks of its
 * goroutines in the heap. A mapping with a single stack pointer is a stack in two cases. Below it
 * are pages without permissions, fewer than its own: the guard pages of thread libraries. Or the
 * stack pointer is near the end of the mapping, where a thread's stack begins.
 */
static __u32 stack_of(const struct thread *t, size_t nr, const struct maps *map, __u64 guard)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t[mid].sp < map->start)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == nr || t[low].sp >= map->end ||
	    (low + 1 < nr && t[low + 1].sp < map->end))
		return 0;
	return (guard && guard < map->end - map->start) || map->end - t[low].sp < MAPPER_STACK ?
	       t[low].tid : 0;
}

static __u64 hash_bytes(__u64 hash, const void *data, size_t size)
{
	const unsigned char *p = data;

	/* FNV-1a */
	while (size--)
		hash = (hash ^ *p++) * 0x100000001b3ULL;
	return hash;
}

static __u64 hash_of(const struct maps *map)
{
	const __u64 numbers[] = { map->end, map->prot, map->offset, map->inode };
	__u64 hash = hash_bytes(0xcbf29ce484222325ULL, numbers, sizeof(numbers));

	return hash_bytes(hash, map->name, strlen(map->name));
}

/** struct mapped_file - a file to read a build ID from; @name: its name in /proc */
struct mapped_file {
	char name[64];
	__u8 build_id[WSMON_BUILD_ID];
	__u32 build_id_len;
};

/* Reads the build ID through map_files, even if another file has the path now */
static void read_mapped(void *data, int fd __attribute__((unused)))
{
	struct mapped_file *m = data;
	int file = open_regular(m->name, 0);

	if (file < 0)
		return;
	m->build_id_len = buildid_read(file, m->build_id);
	close(file);
}

static void read_build_id(struct reading *r)
{
	const struct maps *map = &r->m->maps;
	__u64 file = map->inode ? hash_bytes(map->inode, map->name, strlen(map->name)) : 0;
	const struct question q = { .ask = read_mapped, .fd = -1 };
	struct mapped_file m = { .build_id_len = 0 };

	if (file == r->file)
		return;
	r->file = file;
	r->build_id_len = 0;
	memset(r->build_id, 0, sizeof(r->build_id));
	if (!file || map->name[0] != '/')
		return;
	snprintf(m.name, sizeof(m.name), "/proc/%u/map_files/%llx-%llx", proc_thread(map->pid),
		 map->start, map->end);
	if (!patience_ask(&q, &m, sizeof(m)))
		return;
	memcpy(r->build_id, m.build_id, sizeof(r->build_id));
	r->build_id_len = m.build_id_len;
}

static void write_mapping(struct reading *r, __u32 tid)
{
	const struct maps *map = &r->m->maps;
	union {
		struct wsmon_rec_mapping rec;
		char room[sizeof(struct wsmon_rec_mapping) + MAPS_NAME];
	} m = { .room = "" };
	char *path = m.room + sizeof(m.rec);
	size_t len;

	m.rec.rec.type = WSMON_REC_MAPPING;
	m.rec.rec.time_ns = clock_now();
	m.rec.pid = map->pid;
	m.rec.prot = map->prot;
	m.rec.start = map->start;
	m.rec.end = map->end;
	m.rec.offset = map->offset;
	m.rec.inode = map->inode;
	m.rec.tid = tid;
	if (strlen(map->name) < MAPS_NAME)
		maps_unescape(path, map->name);
	len = strlen(path) + 1;
	m.rec.rec.size = sizeof(m.rec) + len + -len % 8;
	read_build_id(r);
	memcpy(m.rec.build_id, r->build_id, sizeof(m.rec.build_id));
	m.rec.build_id_len = r->build_id_len;
	r->m->write(r->m->data, &m.rec.rec);
}

static bool remember(struct reading *r, const struct written *t)
{
	struct list *l = &r->new;

	struct written *more = array_more(l->written, l->nr, sizeof(*more));

	if (!more)
		return false;
	l->written = more;
	l->written[l->nr++] = *t;
	return true;
}

/* Takes the next mapping of the walk. Return: false if there is no room */
static bool take(struct reading *r)
{
	const struct maps *map = &r->m->maps;
	struct written t = { .start = map->start, .hash = hash_of(map) };
	const struct written *old = NULL;

	if (map->start != r->guard_end)
		r->guard = 0;
	while (r->at < r->old->nr && r->old->written[r->at].start < map->start)
		r->at++;
	if (r->at < r->old->nr && r->old->written[r->at].start == map->start &&
	    r->old->written[r->at].hash == t.hash)
		old = &r->old->written[r->at];
	if (!strcmp(map->name, "[stack]"))
		t.tid = map->pid;
	else if (!map->inode)
		t.tid = stack_of(r->threads.t, r->threads.nr, map, r->guard);
	r->guard = map->prot & (MAPS_READ | MAPS_WRITE | MAPS_EXEC) ? 0 : map->end - map->start;
	r->guard_end = map->end;
	/* the thread may be running now, but an earlier reading may have found it waiting */
	if (!t.tid && old)
		t.tid = old->tid;
	if (!remember(r, &t))
		return false;
	if (!old || old->tid != t.tid)
		write_mapping(r, t.tid);
	return true;
}

/* Has a process more than @max mappings? */
static bool too_many(struct maps *map, __u32 pid, unsigned int max)
{
	unsigned int nr = 0;

	maps_open(map, pid);
	while (nr <= max && maps_next(map))
		nr++;
	return nr > max;
}

static void read_all(struct mapper *m, struct mapped *t)
{
	unsigned int max = MAPPER_ALL - (m->written - t->list.nr), left_out = 0;
	struct reading r = { .m = m, .old = &t->list, .threads.nr = 0 };
	bool named;

	if (max > MAPPER_TARGET)
		max = MAPPER_TARGET;
	named = too_many(&m->maps, t->pid, max);
	threads_read(t->pid, &r.threads);
	maps_open(&m->maps, t->pid);
	while (maps_next(&m->maps)) {
		if (r.new.nr == max || (named && !m->maps.name[0]) ||
		    !take(&r))
			left_out++;
	}
	maps_close(&m->maps);
	if (left_out > t->left_out) {
		m->left_out += left_out - t->left_out;
		t->left_out = left_out;
	}
	m->written += r.new.nr - t->list.nr;
	free(t->list.written);
	t->list = r.new;
}

static void read_if_due(struct mapper *m, struct mapped *t)
{
	__u64 now = clock_now();

	if (!t->waits || now < t->next_ns)
		return;
	t->waits = false;
	read_all(m, t);
	t->next_ns = now + (clock_now() - now) * MAPPER_PACE;
}

void mapper_changed(struct mapper *m, __u32 pid)
{
	const struct mapped key = { .pid = pid };
	struct mapped *t;

	if (!m->targets.size)
		m->targets = SORTED(key, MAPPER_TARGETS, order_u32);
	t = sorted_get(&m->targets, &key);
	if (!t)
		return;
	t->waits = true;
	read_if_due(m, t);
}

void mapper_tick(struct mapper *m)
{
	struct mapped *t = m->targets.base;
	size_t i;

	for (i = 0; i < m->targets.nr; i++)
		read_if_due(m, &t[i]);
}

void mapper_forget(struct mapper *m, __u32 pid)
{
	const struct mapped key = { .pid = pid };
	struct mapped *t = sorted_find(&m->targets, &key);

	if (!t)
		return;
	m->written -= t->list.nr;
	free(t->list.written);
	*t = key;
}

void mapper_free(struct mapper *m)
{
	struct mapped *t = m->targets.base;
	size_t i;

	for (i = 0; i < m->targets.nr; i++)
		free(t[i].list.written);
	free(m->targets.base);
	maps_close(&m->maps);
}

// SPDX-License-Identifier: GPL-2.0
/* procfs.c - reads /proc/PID: mappings, resident memory, names */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "libwsmon/util.h"
#include "libwsmon/wsmon_records.h"
#include "patience.h"
#include "procfs.h"

static FILE *open_file(__u32 tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/%s", tid, name);
	return fopen(path, "re");
}

char proc_thread_state(__u32 pid, __u32 tid)
{
	char path[64], text[512], *name_end;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", pid, tid);
	read_text(AT_FDCWD, path, text, sizeof(text));
	/* "1 (name) R ...": the name may contain parentheses and line feeds */
	name_end = strrchr(text, ')');
	return name_end && name_end[1] == ' ' ? name_end[2] : '?';
}

__u32 proc_thread(__u32 pid)
{
	const struct dirent *e;
	char path[64];
	__u32 found = pid;
	DIR *d;

	if (proc_thread_state(pid, pid) != 'Z')
		return pid;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	d = opendir(path);
	while (d && found == pid && (e = readdir(d))) {
		__u32 tid = strtoul(e->d_name, NULL, 10);

		if (tid && !strchr("ZX?", proc_thread_state(pid, tid)))
			found = tid;
	}
	if (d)
		closedir(d);
	return found;
}

/* Opens a file of /proc/PID; opening or reading it takes the process's mmap lock */
static FILE *open_proc(__u32 pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/%s", proc_thread(pid), name);
	return patient_file(pid, -1, path);
}

static __u32 prot_of(const char *perms)
{
	return (perms[0] == 'r' ? MAPS_READ : 0) | (perms[1] == 'w' ? MAPS_WRITE : 0) |
	       (perms[2] == 'x' ? MAPS_EXEC : 0) | (perms[3] == 's' ? MAPS_SHARED : 0);
}

bool maps_next(struct maps *m)
{
	char perms[5] = "";
	int at = 0;

	m->start = m->end = 0;
	if (!m->file || getline(&m->line, &m->line_size, m->file) < 0)
		return false;
	m->line[strcspn(m->line, "\n")] = '\0';
	if (sscanf(m->line, "%llx-%llx %4s %llx %*s %llu %n", &m->start, &m->end,
		   perms, &m->offset, &m->inode, &at) < 5 || !at) {
		m->start = m->end = 0;
		return false;
	}
	m->prot = prot_of(perms);
	m->name = m->line + at;
	return true;
}

void maps_unescape(char *to, const char *from)
{
	while (*from) {
		if (!strncmp(from, "\\012", 4)) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

void maps_open(struct maps *m, __u32 pid)
{
	maps_close(m);
	m->file = open_proc(pid, "maps");
	m->pid = pid;
}

/* The largest mapping so far; adjacent mappings with one name (a run) count as one mapping */
struct best {
	char run[MAPS_NAME];
	__u64 run_bytes;
	__u64 bytes;
	unsigned int runs;
};

static void add_mapping(struct best *b, const struct maps *m, __u64 bytes, char *name)
{
	if (!b->runs || strncmp(b->run, m->name, sizeof(b->run) - 1)) {
		snprintf(b->run, sizeof(b->run), "%s", m->name);
		b->run_bytes = 0;
		b->runs++;
	}
	b->run_bytes += bytes;
	if (b->run_bytes > b->bytes) {
		b->bytes = b->run_bytes;
		strcpy(name, b->run);
	}
}

void maps_name(struct maps *m, const struct wsmon_rec_area *area, char *name)
{
	struct best best = { .runs = 0 };
	size_t len;

	*name = '\0';
	if (!area->index || m->pid != area->pid) {
		maps_open(m, area->pid);
		maps_next(m);
	}
	while (m->end && m->end <= area->start)
		maps_next(m);
	while (m->end && m->start < area->end) {
		__u64 start = m->start > area->start ? m->start : area->start;
		__u64 end = m->end < area->end ? m->end : area->end;

		add_mapping(&best, m, end - start, name);
		if (m->end > area->end)
			break;
		maps_next(m);
	}
	if (best.runs < 2)
		return;
	if (!*name)
		strcpy(name, "[anon]");
	len = strlen(name);
	if (len > MAPS_NAME - 32)
		len = MAPS_NAME - 32;
	snprintf(name + len, MAPS_NAME - len, " +%u", best.runs - 1);
}

void maps_close(struct maps *m)
{
	if (m->file)
		fclose(m->file);
	free(m->line);
	memset(m, 0, sizeof(*m));
}

/* Return: the number in a small file of /proc or /sys; 0 if there is none */
static __u64 read_number(const char *path)
{
	char text[32];

	read_text(AT_FDCWD, path, text, sizeof(text));
	return strtoull(text, NULL, 10);
}

/*
 * Return: bytes that VmRSS counts too much because of pages that KSM merged: it counts each mapping
 * of such a page in full. The number of mappings that share a page is known only as a mean of the
 * machine.
 */
static __u64 merged_away(__u32 pid)
{
	__u64 pages = read_number("/sys/kernel/mm/ksm/pages_shared"), more, mine;
	char path[64];

	if (!pages)
		return 0;
	more = read_number("/sys/kernel/mm/ksm/pages_sharing");
	snprintf(path, sizeof(path), "/proc/%u/ksm_merging_pages", proc_thread(pid));
	mine = read_number(path);
	return (__u64)((double)mine * more / (pages + more)) * sysconf(_SC_PAGESIZE);
}

/* Reads the memory of a thread. Return: 0; -1 if the thread has no memory */
static int read_status(__u32 tid, struct wsmon_rec_proc *rec, __u64 *hugetlb)
{
	const struct key_number keys[] = {
		{ "VmRSS", &rec->rss }, { "VmSwap", &rec->swap }, { "VmSize", &rec->vsize },
		{ "HugetlbPages", hugetlb },
	};

	rec->rss = rec->swap = rec->vsize = *hugetlb = 0;
	/* the status of a process that has ended has none of these lines */
	return read_numbers(open_file(tid, "status"), keys, ARRAY_SIZE(keys)) ? 0 : -1;
}

static int read_memory(__u32 pid, struct wsmon_rec_proc *rec, __u64 *hugetlb)
{
	return read_status(pid, rec, hugetlb) ?
	       read_status(proc_thread(pid), rec, hugetlb) : 0;
}

int proc_memory(__u32 pid, struct wsmon_rec_proc *rec)
{
	__u64 hugetlb, away;

	if (read_memory(pid, rec, &hugetlb))
		return -1;
	away = merged_away(pid);
	rec->rss -= away < rec->rss ? away : rec->rss;
	rec->rss += hugetlb;
	return 0;
}

void proc_comm(__u32 pid, char comm[WSMON_COMM_LEN])
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	read_line(AT_FDCWD, path, comm, WSMON_COMM_LEN);
}

/* Reads sums over all mappings, in bytes; 0 if they cannot be read */
static void read_rollup(__u32 pid, __u64 *pss, __u64 *shared, __u64 *alone)
{
	const struct key_number keys[] = {
		{ "Pss", pss }, { "Shared_Hugetlb", shared }, { "Private_Hugetlb", alone },
	};

	*pss = *shared = *alone = 0;
	read_numbers(open_proc(pid, "smaps_rollup"), keys, ARRAY_SIZE(keys));
}

__u64 proc_pss(__u32 pid)
{
	__u64 pss, shared, alone;

	read_rollup(pid, &pss, &shared, &alone);
	return pss + shared + alone;
}

__u64 proc_hugetlb(__u32 pid, __u64 *shared)
{
	struct wsmon_rec_proc proc;
	__u64 pss, alone, hugetlb;

	*shared = 0;
	if (read_memory(pid, &proc, &hugetlb) || !hugetlb)
		return 0;
	read_rollup(pid, &pss, shared, &alone);
	return alone;
}

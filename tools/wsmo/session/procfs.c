// SPDX-License-Identifier: GPL-2.0
/*
 * procfs.c - reads /proc/PID: mappings, resident memory, names
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "procfs.h"

static FILE *open_proc(__u32 pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	return fopen(path, "re");
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

/* Neighbours of one name count as one mapping */
struct best {
	char run[MAPS_NAME];
	__u64 run_bytes;
	__u64 bytes;
	unsigned int runs;
};

static void add_mapping(struct best *b, const struct maps *m, __u64 bytes,
			char *name)
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

int proc_memory(__u32 pid, struct wsmon_rec_proc *rec)
{
	static const struct {
		const char *format;
		size_t offset;
	} keys[] = {
		{ "VmRSS: %llu", offsetof(struct wsmon_rec_proc, rss) },
		{ "VmSwap: %llu", offsetof(struct wsmon_rec_proc, swap) },
		{ "VmSize: %llu", offsetof(struct wsmon_rec_proc, vsize) },
	};
	FILE *f = open_proc(pid, "status");
	char line[256];
	int found = 0;
	size_t i;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			__u64 kib;

			if (sscanf(line, keys[i].format, &kib) != 1)
				continue;
			*(__u64 *)((char *)rec + keys[i].offset) = kib * 1024;
			found++;
		}
	}
	fclose(f);
	/* a zombie has none of them */
	return found ? 0 : -1;
}

void proc_comm(__u32 pid, char comm[WSMON_COMM_LEN])
{
	FILE *f = open_proc(pid, "comm");

	if (!f || !fgets(comm, WSMON_COMM_LEN, f))
		*comm = '\0';
	comm[strcspn(comm, "\n")] = '\0';
	if (f)
		fclose(f);
}

__u64 proc_pss(__u32 pid)
{
	FILE *f = open_proc(pid, "smaps_rollup");
	__u64 kib = 0;
	char line[256];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Pss: %llu", &kib) == 1)
			break;
	fclose(f);
	return kib * 1024;
}

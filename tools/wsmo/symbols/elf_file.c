// SPDX-License-Identifier: GPL-2.0
/*
 * elf_file.c - ELF files of any origin, and the memory that they may take
 */
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/program.h"
#include "elf_file.h"

#define SPARE_MAX	(64ULL << 20)	/* bytes in memory of all files, */
#define MEMORY_TIMES	32		/* beside so many times what each takes on the disk */

static __u64 spare = SPARE_MAX;		/* what is left of it */
static __u64 spare_later = SPARE_MAX;	/* the same, for what libdw decompresses when it needs it */
static __u64 taken;			/* when the limit was set */
static __u64 allowed;			/* bytes beside @spare */
static struct rlimit unlimited;
static bool limited;

/* Bytes that count for RLIMIT_DATA, and some more; 0 if they are not known */
static __u64 data_size(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (f && fscanf(f, "%*u %*u %*u %*u %*u %llu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

static void set_limit(void)
{
	struct rlimit limit = unlimited;

	if (taken + spare + allowed < limit.rlim_cur)
		limit.rlim_cur = taken + spare + allowed;
	setrlimit(RLIMIT_DATA, &limit);
}

void elf_limit_memory(__u64 room)
{
	taken = data_size();
	allowed = room;
	limited = taken && !getrlimit(RLIMIT_DATA, &unlimited);
	if (limited)
		set_limit();
}

__u64 elf_unlimit_memory(void)
{
	__u64 now = data_size(), grown = now > taken ? now - taken : 0;
	__u64 more = grown > allowed ? grown - allowed : 0;

	if (limited)
		setrlimit(RLIMIT_DATA, &unlimited);
	limited = false;
	spare -= more < spare ? more : spare;
	return more ? 0 : allowed - grown;
}

/* What a section takes when it is decompressed, which libdw does with all debug information; else 0 */
static __u64 inflated(Elf *elf, size_t names, Elf_Scn *section, int fd)
{
	unsigned char head[12] = "";
	GElf_Shdr sh;
	GElf_Chdr ch;
	const char *name;
	__u64 size = 0;
	size_t i;

	if (gelf_getchdr(section, &ch))
		return ch.ch_size;
	/* the old way */
	name = gelf_getshdr(section, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
	if (!name || strncmp(name, ".zdebug", 7) || pread(fd, head, sizeof(head), sh.sh_offset) < 0)
		return 0;
	for (i = 4; i < sizeof(head); i++)
		size = size << 8 | head[i];
	return size;
}

/* Return: the same of all sections; ~0 if it is no ELF file, which libdw would decompress */
static __u64 all_inflated(int fd)
{
	Elf *elf = elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	__u64 sum = elf_kind(elf) == ELF_K_ELF ? 0 : ~0ULL, size;
	Elf_Scn *section = NULL;
	size_t names;

	if (sum || elf_getshdrstrndx(elf, &names))
		names = 0;
	while (names && (section = elf_nextscn(elf, section))) {
		size = inflated(elf, names, section, fd);
		sum = size > ~0ULL - sum ? ~0ULL : sum + size;
	}
	elf_end(elf);
	return sum;
}

/* Does it take memory as its size on the disk makes one expect? */
static bool is_usual(int fd)
{
	struct stat st;
	__u64 some, more;

	if (fstat(fd, &st))
		return false;
	some = st.st_blocks * 512ULL * MEMORY_TIMES;
	if ((__u64)st.st_size > SPARE_MAX && (__u64)st.st_size > some)
		return false;
	allowed += st.st_size + some;
	if (limited)
		set_limit();
	more = all_inflated(fd);
	if (more <= some)
		return true;
	if (more > spare_later)
		return false;
	spare_later -= more;
	return true;
}

int elf_open(const char *path)
{
	int fd = open_regular(path, 0);
	bool alone = !limited, usual;

	if (fd < 0)
		return fd;
	if (alone)
		elf_limit_memory(0);
	usual = is_usual(fd);
	if (alone)
		elf_unlimit_memory();
	if (usual)
		return fd;
	close(fd);
	errno = EFBIG;
	return -1;
}

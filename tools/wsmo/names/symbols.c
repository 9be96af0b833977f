// SPDX-License-Identifier: GPL-2.0
/*
 * symbols.c - names of functions and objects, and source lines
 *
 * Each file is opened when it is first asked for; its symbols are sorted once.
 */
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <linux/types.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli.h"
#include "core/clock.h"
#include "core/text.h"
#include "libwsmon/sorted.h"
#include "libwsmon/wsmon_records.h"
#include "live/patience.h"
#include "live/procfs.h"
#include "symbols.h"

/*
 * ELF files of any origin, and the memory that they may take
 *
 * A file of a few blocks on the disk may take gigabytes of memory, because it may have compressed
 * sections or holes, even in its table of sections. The size of .gnu_debugdata is unknown until it
 * is decompressed. A byte of a line table may take a hundred bytes of memory. So RLIMIT_DATA limits
 * the memory for data and private mappings while libdw opens files or reads a line table.
 */

#define MEMORY_TIMES	32		/* memory of a file, in sizes that it has on the disk */
#define SPARE_MAX	(64ULL << 20)	/* further bytes of memory, for all files together */

static __u64 spare = SPARE_MAX;		/* rest of SPARE_MAX */
static __u64 spare_later = SPARE_MAX;	/* the same, for sections that libdw decompresses later */
static __u64 taken;			/* bytes of data that wsmo had when the limit was set */
static __u64 allowed;			/* bytes that may be added before @spare is used */
static struct rlimit unlimited;
static bool limited;

/* Bytes that count for RLIMIT_DATA, and some more; 0 if they are not known */
static __u64 data_size(void)
{
	static int fd = -1;
	unsigned long long pages;
	char text[128];
	ssize_t n;

	if (fd < 0)
		fd = openat(AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	return sscanf(text, "%*u %*u %*u %*u %*u %llu", &pages) == 1 ? pages * sysconf(_SC_PAGESIZE) : 0;
}

static void set_limit(void)
{
	struct rlimit limit = unlimited;

	if (taken + spare + allowed < limit.rlim_cur)
		limit.rlim_cur = taken + spare + allowed;
	setrlimit(RLIMIT_DATA, &limit);
}

/**
 * elf_limit_memory() - limit the memory that files may take, until elf_unlimit_memory()
 * @room: bytes that files opened before may take; files that are opened meanwhile add their own
 */
static void elf_limit_memory(__u64 room)
{
	taken = data_size();
	allowed = room;
	limited = taken && !getrlimit(RLIMIT_DATA, &unlimited);
	if (limited)
		set_limit();
}

/* Return: the part of @allowed that was not used */
static __u64 elf_unlimit_memory(void)
{
	__u64 now = data_size(), grown = now > taken ? now - taken : 0;
	__u64 more = grown > allowed ? grown - allowed : 0;

	if (limited)
		setrlimit(RLIMIT_DATA, &unlimited);
	limited = false;
	spare -= more < spare ? more : spare;
	return more ? 0 : allowed - grown;
}

/* Uncompressed size of a section, which libdw may decompress; 0 if it is not compressed */
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
	/* the old format */
	name = gelf_getshdr(section, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
	if (!name || strncmp(name, ".zdebug", 7) || pread(fd, head, sizeof(head), sh.sh_offset) < 0)
		return 0;
	for (i = 4; i < sizeof(head); i++)
		size = size << 8 | head[i];
	return size;
}

/* Return: sum of inflated() over all sections; ~0 if it is no ELF file, as libdw may expand it */
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

/* Does a file take memory in proportion to its size on the disk, or is spare memory left for it? */
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

/* Opens an ELF file. Return: fd; -1, errno EFBIG if it would take too much memory */
static int elf_open(const char *path)
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

/* Files, their symbols and lines */

#define SYMBOLS_FILES	256		/* files open at the same time; perf-PID.map files read */
#define SYMBOLS_MAX	(1 << 22)	/* symbols of a file */
#define NESTED_MAX	8		/* symbols tried before an address, as symbols may nest */
#define NAME_COMPARED	256		/* bytes compared of the names of symbols at one address */
#define TRIES_MAX	16		/* processes in whose view a file is looked for */
#define UNITS_MAX	(1 << 20)	/* units of a file */
#define SCOPES_MAX	100		/* nested blocks and functions */
#define NAMED_FILES	3
#define DELETED		" (deleted)"
#define JITS_MAX	65536		/* processes that may compile code */
#define JIT_BYTES	(64 << 20)	/* bytes of a perf-PID.map */
#define JITS_BYTES	(128ULL << 20)	/* bytes of all; they take up to six times that in memory */
#define INLINED_SLOW	NSEC_PER_MSEC	/* CPU time for an address; usually it takes microseconds */
#define INLINED_PATIENCE (5 * NSEC_PER_SEC)	/* CPU time for all slow addresses of a file */
#define INLINED_ALL	(30 * NSEC_PER_SEC)	/* the same of all files */
#define CHECKED_MAX	(1ULL << 30)	/* bytes of files whose checksum is computed */
#define ABBREV_TIMES	64		/* memory for the abbreviations of some units, in their size */
#define ABBREV_SIZE	64		/* memory for an abbreviation in libdw */

struct entry {
	__u64 start;
	__u64 size;
	const char *name;
	bool global;
};

/**
 * struct file - an ELF file
 * @path:	recorded path
 * @build_id:	recorded build ID; bytes after @build_id_len are 0
 * @build_id_len: its length
 * @inode:	recorded inode number
 * @tries:	number of attempts to open the file
 * @pid:	the last attempt looked for the file in the view of this process
 * @dwfl:	NULL if the file cannot be used
 * @mod:	the only module of @dwfl
 * @first:	address of the file's first byte in @mod
 * @end:	end of its last segment in @mod
 * @entries:	@nr symbols in order of @start, at most one an address
 * @nr:		number of @entries
 * @slow_ns:	CPU time of slow searches for inlined functions
 * @room:	bytes of memory that the file may still take
 * @units:	Dwarf_Die * of the units whose lines were read
 * @asked:	debug information was looked for
 * @swollen:	debug information or the lines of a unit would take too much memory
 */
struct file {
	char *path;
	__u8 build_id[WSMON_BUILD_ID];
	__u32 build_id_len;
	__u64 inode;
	__u32 tries;
	__u32 pid;
	Dwfl *dwfl;
	Dwfl_Module *mod;
	GElf_Addr first;
	GElf_Addr end;
	struct entry *entries;
	size_t nr;
	__u64 slow_ns;
	__u64 room;
	struct sorted units;
	bool asked;
	bool swollen;
};

/**
 * struct jit - the code that a process compiled itself, and the names in its perf-PID.map
 * @pid:	the process
 * @code:	@codes mappings that may be such code, ascending
 * @codes:	number of mappings
 * @looked_ns:	time when the mappings were read; 0: never
 * @found:	an address was in one of the mappings, so perf-PID.map was read
 * @entries:	@nr lines of the file by @start; of several with one @start, the last line
 * @nr:		number of @entries
 * @text:	contents of the file; @entries point to names in it
 */
struct jit {
	__u32 pid;
	struct code {
		__u64 start;
		__u64 end;
	} *code;
	size_t codes;
	__u64 looked_ns;
	bool found;
	struct jit_entry {
		__u64 start;
		__u64 size;
		const char *name;
	} *entries;
	size_t nr;
	char *text;
};

struct symbols {
	struct sorted files;
	struct sorted jits;
	size_t found;		/* number of @jits that are @found */
};

static int compare_files(const void *x, const void *y)
{
	const struct file *a = x, *b = y;
	int c = strcmp(a->path, b->path);

	if (!c)
		c = memcmp(a->build_id, b->build_id, sizeof(a->build_id));
	if (!c)
		c = COMPARE(a->inode, b->inode);
	return c;
}

struct symbols *symbols_new(void)
{
	struct symbols *s = need(calloc(1, sizeof(*s)));

	/* debug information comes from this machine, not from the network */
	unsetenv("DEBUGINFOD_URLS");
	/* libdw maps files, which others may write meanwhile */
	survive_truncation();
	s->files = SORTED(struct file, SYMBOLS_FILES, compare_files);
	s->jits = SORTED(struct jit, JITS_MAX, order_u32, .lazy = true);
	return s;
}

/* Is the opened file the file that was mapped when it was recorded? */
static bool is_same(const struct file *f, const struct stat *st)
{
	const unsigned char *id;
	GElf_Addr at;
	int len = dwfl_module_build_id(f->mod, &id, &at);

	if (f->build_id_len)
		return len == (int)f->build_id_len && !memcmp(id, f->build_id, len);
	return len <= 0 && st->st_ino == f->inode;
}

static bool is_named(const GElf_Sym *sym, const char *name)
{
	int type = GELF_ST_TYPE(sym->st_info);

	return name && *name && sym->st_shndx != SHN_UNDEF &&
	       (type == STT_FUNC || type == STT_OBJECT || type == STT_GNU_IFUNC);
}

/* By address; of several symbols at one address, the symbol to keep comes first */
static int compare_entries(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if (a->global != b->global)
		return a->global ? -1 : 1;
	/* hostile names of megabytes may differ at their ends only */
	return strncmp(a->name, b->name, NAME_COMPARED) ?: COMPARE(a->name, b->name);
}

static void sort_entries(struct file *f)
{
	size_t i, n = 0;

	qsort(f->entries, f->nr, sizeof(*f->entries), compare_entries);
	for (i = 0; i < f->nr; i++)
		if (!n || f->entries[n - 1].start != f->entries[i].start)
			f->entries[n++] = f->entries[i];
	f->nr = n;
	/* symbols of assembly have no size: each ends where the next symbol begins */
	for (i = 0; i < n; i++)
		if (!f->entries[i].size)
			f->entries[i].size = (i + 1 < n ? f->entries[i + 1].start :
					      f->end) - f->entries[i].start;
}

static void read_symbols(struct file *f)
{
	int nr = dwfl_module_getsymtab(f->mod), i;

	if (nr <= 0 || nr > SYMBOLS_MAX)
		return;
	f->entries = calloc(nr, sizeof(*f->entries));
	for (i = 0; f->entries && i < nr; i++) {
		const char *name;
		GElf_Addr addr;
		GElf_Sym sym;

		name = dwfl_module_getsym_info(f->mod, i, &sym, &addr, NULL,
						   NULL, NULL);
		if (is_named(&sym, name) && addr >= f->first && addr < f->end)
			f->entries[f->nr++] = (struct entry) {
				.start = addr,
				/* clamp, so that iteration cannot wrap */
				.size = sym.st_size < f->end - addr ?
					sym.st_size : f->end - addr,
				.name = name,
				.global = GELF_ST_BIND(sym.st_info) != STB_LOCAL,
			};
	}
	sort_entries(f);
}

static bool reading;	/* libdw is called, and may open files */
static bool checks;	/* libdw computes a checksum of the files that it opens now */
static __u64 checked;	/* total size of the files whose checksum was computed */

/* Opens a file for libdw. The checksum of a large sparse file would take too long */
static int open_other(const char *path)
{
	int fd = elf_open(path);
	struct stat st;

	if (fd < 0 || !checks)
		return fd;
	if (!fstat(fd, &st) && (__u64)st.st_size <= CHECKED_MAX - checked) {
		checked += st.st_size;
		return fd;
	}
	close(fd);
	errno = EFBIG;
	return -1;
}

/*
 * Overrides open() of libc, so that libdw calls it. An ELF file may name other files with its debug
 * information (.gnu_debuglink, .gnu_debugaltlink, DW_AT_dwo_name). These may be as large, or a pipe
 * on which open() would wait for a writer.
 */
int open(const char *path, int flags, ...)
{
	int (*next)(const char *path, int flags, ...) = dlsym(RTLD_NEXT, "open");
	va_list more;
	mode_t mode;

	if (reading && (flags & O_ACCMODE) == O_RDONLY)
		return open_other(path);
	va_start(more, flags);
	mode = va_arg(more, int);
	va_end(more);
	return next(path, flags, mode);
}

/*
 * Wraps dwfl_standard_find_debuginfo(). It compares build IDs; if a file has none, it compares
 * the checksum in .gnu_debuglink, for which it reads candidates in full.
 */
static int find_debuginfo(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **path)
{
	const unsigned char *id;
	GElf_Addr at;
	int fd;

	checks = dwfl_module_build_id(mod, &id, &at) <= 0;
	fd = dwfl_standard_find_debuginfo(mod, data, name, base, file, link, crc, path);
	checks = false;
	return fd;
}

static const Dwfl_Callbacks callbacks = {
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static bool read_file(struct file *f, const char *path)
{
	int fd = elf_open(path);
	struct stat st;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st))
		f->dwfl = dwfl_begin(&callbacks);
	if (f->dwfl)
		f->mod = dwfl_report_elf(f->dwfl, "", path, fd, 0x10000, false);
	else
		f->mod = NULL;
	/* otherwise the module owns fd */
	if (!f->mod)
		close(fd);
	if (f->mod) {
		dwfl_report_end(f->dwfl, NULL, NULL);
		dwfl_module_info(f->mod, NULL, &f->first, &f->end, NULL, NULL, NULL, NULL);
		if (is_same(f, &st)) {
			read_symbols(f);
			return true;
		}
	}
	if (f->dwfl)
		dwfl_end(f->dwfl);
	f->dwfl = NULL;
	return false;
}

/* Return: the file at this path is the file that was recorded, and was read */
static bool open_path(struct file *f, const char *path)
{
	bool is;

	elf_limit_memory(0);
	is = read_file(f, path);
	f->room = elf_unlimit_memory();
	return is;
}

static void look_up(void *path, int fd __attribute__((unused)))
{
	int file = open(path, O_PATH | O_CLOEXEC);

	if (file >= 0)
		close(file);
}

/*
 * Can a path in map_files be looked up? The lookup takes the mmap lock of the process and may never
 * return, so a helper tries it: see patience.h.
 */
static bool answers(__u32 pid, char *path)
{
	const struct question q = { .ask = look_up, .pid = pid, .fd = -1 };

	return patience_ask(&q, path, strlen(path) + 1);
}

/*
 * Looks for the file at its path here, at its path as the process sees it and, in case it is
 * deleted, where the process has it mapped. The kernel appends " (deleted)" to the path of a file
 * that was replaced; a file may also have such a name.
 */
static void open_file(struct file *f, const struct module *m)
{
	size_t len = strlen(f->path), more = sizeof(DELETED) - 1, i;
	char path[PATH_MAX];
	bool deleted = len > more && !strcmp(f->path + len - more, DELETED);

	f->pid = m->pid;
	for (i = f->tries++ ? 2 : 0; i < 4; i++) {
		/* the second and fourth attempt leave out " (deleted)", if the path has it */
		int part = i % 2 && deleted ? len - more : len;

		if (i % 2 && !deleted)
			continue;
		if (i < 2)
			snprintf(path, sizeof(path), "%.*s", part, f->path);
		else
			snprintf(path, sizeof(path), "/proc/%u/root%.*s", m->pid, part, f->path);
		if (open_path(f, path))
			return;
	}
	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", m->pid, m->start, m->end);
	if (answers(m->pid, path))
		open_path(f, path);
}

/* Return: the opened file of a mapping, if @addr is in it; @at gets the address in @mod */
static struct file *get_file(struct symbols *s, const struct module *m, __u64 addr, GElf_Addr *at)
{
	struct file key = {
		.path = (char *)(uintptr_t)m->path,
		.build_id_len = m->build_id_len,
		.inode = m->inode,
	}, *f;

	memcpy(key.build_id, m->build_id, m->build_id_len);
	f = sorted_get(&s->files, &key);
	if (!f)
		return NULL;
	if (f->path == m->path)
		f->path = need(strdup(m->path));
	reading = true;
	if (!f->tries || (!f->dwfl && m->pid != f->pid && f->tries < TRIES_MAX))
		open_file(f, m);
	reading = false;
	*at = addr - m->base + f->first;
	return f->dwfl && addr >= m->base && *at < f->end ? f : NULL;
}

/* Index of the first entry that begins after @at */
static size_t locate(const struct file *f, GElf_Addr at)
{
	return f->nr ? sorted_above(&f->entries->start, f->nr, sizeof(*f->entries), at) : 0;
}

static const struct entry *find_entry(const struct file *f, GElf_Addr at)
{
	size_t i = locate(f, at), n;

	for (n = 0; i && n < NESTED_MAX; n++) {
		const struct entry *e = &f->entries[--i];

		if (at - e->start < e->size)
			return e;
	}
	return NULL;
}

static void give(const struct file *f, const struct entry *e, const struct module *m,
		 struct symbol *out)
{
	*out = (struct symbol) {
		.name = e->name,
		.start = e->start - f->first + m->base,
		.size = e->size,
	};
}

bool symbols_find(struct symbols *s, const struct module *m, __u64 addr,
		  struct symbol *out)
{
	GElf_Addr at;
	const struct file *f = get_file(s, m, addr, &at);
	const struct entry *e = f ? find_entry(f, at) : NULL;

	if (e)
		give(f, e, m, out);
	return e;
}

bool symbols_next(struct symbols *s, const struct module *m, __u64 addr,
		  struct symbol *out)
{
	GElf_Addr at;
	const struct file *f = get_file(s, m, addr, &at);
	const struct entry *e = f ? find_entry(f, at) : NULL;

	if (f && !e) {
		size_t i = locate(f, at);

		e = i < f->nr ? &f->entries[i] : NULL;
	}
	if (e)
		give(f, e, m, out);
	return e;
}

static jmp_buf no_memory;

__attribute__((noreturn)) static void give_up(void)
{
	longjmp(no_memory, 1);
}

/* Reads the line table of a unit, if it has one. Return: false if that takes too much memory */
static bool read_lines(Dwarf *dwarf, Dwarf_Die *cu)
{
	Dwarf_Lines *lines;
	size_t nr;

	if (setjmp(no_memory))
		return false;
	dwarf_new_oom_handler(dwarf, give_up);
	errno = 0;
	return !dwarf_getsrclines(cu, &lines, &nr) || errno != ENOMEM;
}

static int compare_units(const void *x, const void *y)
{
	return COMPARE(*(Dwarf_Die * const *)x, *(Dwarf_Die * const *)y);
}

/* Moves behind a LEB128 number. Return: its value if it is unsigned; 0 at the end of the data */
static __u64 leb128(const unsigned char **at, const unsigned char *end)
{
	unsigned int shift = 0;
	__u64 value = 0;

	for (; *at < end; shift += 7) {
		if (shift < 64)
			value |= (__u64)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			break;
	}
	return value;
}

/* Return: the number of abbreviations in a table, up to that with a code, but at most @most */
static __u64 abbreviations_before(const unsigned char *at, const unsigned char *end, __u64 code,
				  __u64 most)
{
	__u64 n, attribute, form, found;

	for (n = 0; n < most && at < end; n++) {
		found = leb128(&at, end);
		if (!found || found == code)
			break;
		leb128(&at, end);	/* tag */
		at += at < end;		/* has children */
		do {
			attribute = leb128(&at, end);
			form = leb128(&at, end);
			if (form == DW_FORM_implicit_const)
				leb128(&at, end);
		} while (attribute || form);
	}
	return n;
}

#define SAME_MAX	8	/* maximum number of sections of one kind */

/* Finds the sections with a part in their names. Return: their number; -1 if there are too many */
static int sections_with(Elf *elf, const char *part, const Elf_Data *data[SAME_MAX])
{
	Elf_Scn *section = NULL;
	const char *name;
	GElf_Shdr sh;
	size_t names;
	int n = 0;

	if (!elf || elf_getshdrstrndx(elf, &names))
		return 0;
	while ((section = elf_nextscn(elf, section))) {
		name = gelf_getshdr(section, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
		if (!name || !strstr(name, part))
			continue;
		if (n == SAME_MAX)
			return -1;
		data[n] = elf_getdata(section, NULL);
		n += data[n] && data[n]->d_buf;
	}
	return n;
}

/* Return: the code at the beginning of an entry, 0 if its section is not known */
static __u64 entry_code(const Dwarf_Die *die, const Elf_Data *const info[], int nr)
{
	const unsigned char *at = die->addr, *start;
	int i;

	for (i = 0; i < nr; i++) {
		start = info[i]->d_buf;
		if (at >= start && at < start + info[i]->d_size)
			return leb128(&at, start + info[i]->d_size);
	}
	return 0;
}

/*
 * Is there memory for abbreviations? libdw reads a unit's up to the one that is used, and each unit
 * may have all of them. The first address makes it read those of the first entry of each unit. An
 * inlined function may take its name from up to 16 other units. If a file has several sections of
 * abbreviations, each unit counts with that which takes most.
 */
static bool abbreviations_fit(const struct file *f, Dwarf *dwarf)
{
	Elf *elf = dwarf ? dwarf_getelf(dwarf) : NULL;
	const Elf_Data *abbrev[SAME_MAX], *info[SAME_MAX];
	int nr = sections_with(elf, "debug_abbrev", abbrev), infos = sections_with(elf, "debug_info", info), i;
	__u64 left = (f->room + spare) / ABBREV_SIZE, code, n, most;
	Dwarf_Off off, next, at;
	Dwarf_Die die;
	size_t header;

	if (nr < 0 || infos < 0)
		return false;
	for (i = 0; i < nr; i++)
		if (abbrev[i]->d_size > (f->room + spare) / ABBREV_TIMES)
			return false;
	for (off = 0; !dwarf_nextcu(dwarf, off, &next, &header, &at, NULL, NULL); off = next) {
		code = dwarf_offdie(dwarf, off + header, &die) ? entry_code(&die, info, infos) : 0;
		for (i = 0, most = 0; code && i < nr; i++) {
			const unsigned char *start = abbrev[i]->d_buf;

			n = at < abbrev[i]->d_size ?
			    abbreviations_before(start + at, start + abbrev[i]->d_size, code, left) : 0;
			most = n > most ? n : most;
		}
		left -= most;
		if (!left)
			return false;
	}
	return true;
}

static void report_swollen(struct file *f)
{
	char path[256];

	f->swollen = true;
	msg("%s: finding source lines takes too much memory: further lines are left out",
	    text_clean(path, sizeof(path), f->path));
}

/*
 * Charges the data that was added since wsmo had @before bytes of it to a file's room, then to spare
 * memory. Return: false after a message if that is too much
 */
static bool charge_since(struct file *f, __u64 before)
{
	__u64 now = data_size(), grown = now > before ? now - before : 0;
	__u64 more = grown > f->room ? grown - f->room : 0;

	f->room -= grown - more;
	if (more > spare)
		report_swollen(f);
	spare -= more > spare ? spare : more;
	return !f->swollen;
}

/* Finds the unit of an address, and reads its lines. Return: NULL if that is impossible */
static Dwarf_Die *find_unit(struct file *f, GElf_Addr at, GElf_Addr *bias)
{
	__u64 before;
	Dwarf *dwarf;
	Dwarf_Die *cu;

	if (!f->asked) {
		elf_limit_memory(f->room);
		dwarf = dwfl_module_getdwarf(f->mod, bias);
		f->room = elf_unlimit_memory();
		f->asked = true;
		f->units = SORTED(cu, UNITS_MAX, compare_units);
		if (!abbreviations_fit(f, dwarf))
			report_swollen(f);
	}
	if (f->swollen)
		return NULL;
	/* this may read abbreviations, too */
	before = data_size();
	cu = dwfl_module_addrdie(f->mod, at, bias);
	if (!charge_since(f, before))
		return NULL;
	if (!cu || sorted_find(&f->units, &cu))
		return cu;
	elf_limit_memory(f->room);
	f->swollen = !read_lines(dwfl_module_getdwarf(f->mod, bias), cu);
	f->room = elf_unlimit_memory();
	if (!f->swollen && sorted_get(&f->units, &cu))
		return cu;
	report_swollen(f);
	return NULL;
}

const char *symbols_line(struct symbols *s, const struct module *m, __u64 addr,
			 int *line)
{
	GElf_Addr at, bias;
	struct file *f = get_file(s, m, addr, &at);
	Dwfl_Line *l;

	reading = true;
	l = f && find_unit(f, at, &bias) ? dwfl_module_getsrc(f->mod, at) : NULL;
	reading = false;
	if (!l)
		return NULL;
	return dwfl_lineinfo(l, NULL, line, NULL, NULL, NULL);
}

static void call_site(Dwarf_Die *cu, Dwarf_Die *die, struct inlined *out)
{
	Dwarf_Word file, line;
	Dwarf_Attribute attr;
	Dwarf_Files *files;

	if (!dwarf_formudata(dwarf_attr_integrate(die, DW_AT_call_line,
							  &attr), &line))
		out->line = line;
	if (!dwarf_formudata(dwarf_attr_integrate(die, DW_AT_call_file,
							  &attr), &file) &&
	    !dwarf_getsrcfiles(cu, &files, NULL))
		out->file = dwarf_filesrc(files, file, NULL, NULL);
}

/* Entries with this tag have no addresses, but may contain functions */
static bool holds_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/** struct bounds - when to give up: a CPU time, and a size of wsmo's data */
struct bounds {
	__u64 until_ns;
	__u64 bytes;
};

/*
 * Finds the inlined functions around an address, innermost first. dwarf_getscopes() does not
 * find functions that were defined in another unit, as after link-time optimization.
 */
static int inlined_in(Dwarf_Die *cu, Dwarf_Die *parent, Dwarf_Addr addr, int depth,
		      const struct bounds *b, struct inlined *out, int max)
{
	Dwarf_Die die;

	if (!depth || dwarf_child(parent, &die))
		return 0;
	do {
		int tag = dwarf_tag(&die), n;
		const char *name;

		/* n entries with n ranges each take n^2 steps */
		if (clock_cpu() > b->until_ns)
			return 0;
		if (!holds_functions(tag) && dwarf_haspc(&die, addr) <= 0)
			continue;
		n = inlined_in(cu, &die, addr, depth - 1, b, out, max);
		if (tag == DW_TAG_inlined_subroutine && n < max && data_size() <= b->bytes) {
			name = dwarf_diename(&die);
			out[n] = (struct inlined){ .name = name ? name : "?" };
			call_site(cu, &die, &out[n++]);
		}
		if (n)
			return n;
	} while (!dwarf_siblingof(&die, &die));
	return 0;
}

int symbols_inlined(struct symbols *s, const struct module *m, __u64 addr,
		    struct inlined *out, int max)
{
	static __u64 slow_ns;	/* of all files */
	GElf_Addr at, bias;
	struct file *f = get_file(s, m, addr, &at);
	__u64 began = clock_cpu(), took, before, left;
	struct bounds b;
	char path[256];
	Dwarf_Die *cu;
	int nr;

	if (!f || f->slow_ns >= INLINED_PATIENCE || slow_ns >= INLINED_ALL)
		return 0;
	left = INLINED_PATIENCE - f->slow_ns;
	if (left > INLINED_ALL - slow_ns)
		left = INLINED_ALL - slow_ns;
	reading = true;
	cu = find_unit(f, at, &bias);
	before = data_size();
	b = (struct bounds) { began + left, before + f->room + spare };
	nr = cu ? inlined_in(cu, cu, at - bias, SCOPES_MAX, &b, out, max) : 0;
	reading = false;
	charge_since(f, before);
	took = clock_cpu() - began;
	took = took > INLINED_SLOW ? took : 0;
	f->slow_ns += took;
	slow_ns += took;
	if (slow_ns >= INLINED_ALL)
		msg("finding inlined functions takes too long: further functions are left out");
	else if (f->slow_ns >= INLINED_PATIENCE)
		msg("%s: finding inlined functions takes too long: further functions are left out",
		    text_clean(path, sizeof(path), f->path));
	return nr;
}

/* Reads the owner of a process, and its pid in its own pid namespace */
static bool read_owner(__u32 pid, uid_t *uid, __u32 *inner)
{
	char path[64], line[1024];
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		const char *last = strrchr(line, '\t');

		found += sscanf(line, "Uid:\t%*u\t%u", uid) == 1;
		found += !strncmp(line, "NSpid:", 6) && last && sscanf(last, "%u", inner) == 1;
	}
	if (f)
		fclose(f);
	return found == 2;
}

/*
 * Reads /tmp/perf-PID.map. Anybody may create this file, so refuse links, pipes, and files that
 * belong neither to the owner of the process nor to root.
 */
static char *read_map(__u32 pid)
{
	static __u64 left = JITS_BYTES;
	char path[64], *text = NULL;
	struct stat st;
	__u32 inner;
	ssize_t n = -1;
	uid_t uid;
	int fd;

	if (!read_owner(pid, &uid, &inner))
		return NULL;
	snprintf(path, sizeof(path), "/proc/%u/root/tmp/perf-%u.map", pid, inner);
	fd = open_regular(path, O_NOFOLLOW);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && (st.st_uid == uid || !st.st_uid) &&
	    st.st_size > 0 && st.st_size <= JIT_BYTES && (__u64)st.st_size <= left)
		text = malloc(st.st_size + 1);
	if (text) {
		left -= st.st_size;
		n = read(fd, text, st.st_size);
		text[n > 0 ? n : 0] = '\0';
	}
	close(fd);
	return text;
}

static int compare_jit_entries(const void *x, const void *y)
{
	const struct jit_entry *a = x, *b = y;

	/* a higher address of the name is a later line: lines written last come first */
	return COMPARE(a->start, b->start) ?: COMPARE(b->name, a->name);
}

/* Parses lines "START SIZE name", with hexadecimal numbers; of several at one address, the last */
static void parse_map(struct jit *j)
{
	char *line, *rest = j->text;
	size_t i, n = 0;

	while ((line = strsep(&rest, "\n"))) {
		struct jit_entry e;
		int at = 0;

		if (sscanf(line, "%llx %llx %n", &e.start, &e.size, &at) != 2 || !at ||
		    !line[at])
			continue;
		e.name = line + at;
		j->entries = need(array_more(j->entries, j->nr, sizeof(e)));
		j->entries[j->nr++] = e;
	}
	if (j->nr)
		qsort(j->entries, j->nr, sizeof(*j->entries), compare_jit_entries);
	for (i = 0; i < j->nr; i++)
		if (!n || j->entries[n - 1].start != j->entries[i].start)
			j->entries[n++] = j->entries[i];
	j->nr = n;
}

static void look_for_code(struct jit *j)
{
	struct maps maps = { 0 };

	free(j->code);
	j->code = NULL;
	j->codes = 0;
	maps_open(&maps, j->pid);
	while (maps_next(&maps)) {
		if (maps.inode || !(maps.prot & MAPS_EXEC))
			continue;
		j->code = need(array_more(j->code, j->codes, sizeof(*j->code)));
		j->code[j->codes++] = (struct code){ maps.start, maps.end };
	}
	maps_close(&maps);
}

/*
 * Does the process now have code at the address that it compiled? If not, its pid may have been
 * reused. A process may have 65530 mappings, so they are read at most once a second.
 */
static bool has_code(struct jit *j, __u64 addr)
{
	__u64 now = clock_now();
	size_t i;

	if (!j->looked_ns || now - j->looked_ns > NSEC_PER_SEC) {
		look_for_code(j);
		j->looked_ns = clock_now();
	}
	i = j->codes ? sorted_above(&j->code->start, j->codes, sizeof(*j->code), addr) : 0;
	return i && addr < j->code[i - 1].end;
}

const char *symbols_jit(struct symbols *s, __u32 pid, __u64 addr)
{
	struct jit *j = sorted_get(&s->jits, &(struct jit){ .pid = pid });
	size_t i, n;

	if (!j)
		return NULL;
	if (!j->found) {
		if (s->found == SYMBOLS_FILES || !has_code(j, addr))
			return NULL;
		j->found = true;
		s->found++;
		j->text = read_map(pid);
		if (j->text)
			parse_map(j);
	}
	i = j->nr ? sorted_above(&j->entries->start, j->nr, sizeof(*j->entries), addr) : 0;
	for (n = 0; i && n < NESTED_MAX; n++) {
		const struct jit_entry *e = &j->entries[--i];

		if (addr - e->start < e->size)
			return e->name;
	}
	return NULL;
}

static void report_missing(const struct symbols *s)
{
	const struct file *f = s->files.base;
	char list[NAMED_FILES * 1024] = "", path[1000];
	size_t i, nr = 0, len = 0;

	for (i = 0; i < s->files.nr; i++) {
		/* a file without a build ID may not be an ELF file */
		if (!f[i].tries || f[i].dwfl || !f[i].build_id_len)
			continue;
		if (nr++ < NAMED_FILES)
			len += snprintf(list + len, sizeof(list) - len, "%s%s",
					len ? ", " : "",
					text_clean(path, sizeof(path), f[i].path));
	}
	if (nr)
		msg("no names from %zu file%s, missing or not as recorded: %s%s",
		    nr, nr == 1 ? "" : "s", list, nr > NAMED_FILES ? ", ..." : "");
}

void symbols_free(struct symbols *s)
{
	struct file *f = s->files.base;
	struct jit *j = s->jits.base;
	size_t i;

	report_missing(s);
	for (i = 0; i < s->jits.nr; i++) {
		free(j[i].code);
		free(j[i].entries);
		free(j[i].text);
	}
	free(j);
	for (i = 0; i < s->files.nr; i++) {
		if (f[i].dwfl)
			dwfl_end(f[i].dwfl);
		free(f[i].units.base);
		free(f[i].entries);
		free(f[i].path);
	}
	free(s->files.base);
	free(s);
}

// SPDX-License-Identifier: GPL-2.0
/* cgroup.c - cgroups of version 2: names, processes, memory */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"
#include "core/cli.h"
#include "core/files.h"
#include "procfs.h"

/* Max. levels of cgroups below the named cgroup */
#define LEVELS	32

/* Max. processes whose memory of hugetlbfs is added */
#define HUGETLB_PIDS	4096

/* Undoes the escapes of text_clean(), and of the kernel in names of mount points */
static void decode(char *path)
{
	const char *s = path;
	unsigned int byte;
	int n;

	for (; *s; path++) {
		n = 0;
		if (sscanf(s, "\\%3o%n", &byte, &n) == 1 && n == 4 && byte && byte < 256) {
			*path = byte;
			s += n;
		} else {
			*path = *s++;
		}
	}
	*path = '\0';
}

/*
 * Finds the mount point of cgroup v2 with which @path begins; @path NULL: the first mount point. In
 * a mount of only a part of the hierarchy, cgroups have other paths. So such a mount counts only if
 * the whole hierarchy is not mounted, and if no other part was mounted earlier.
 * Return: length of the mount point in @name, PATH_MAX bytes; 0 if there is none
 */
static size_t mount_point(const char *path, char *name)
{
	char part[PATH_MAX] = "", root[PATH_MAX], dir[PATH_MAX], *line = NULL;
	FILE *f = fopen("/proc/self/mountinfo", "re");
	size_t best = 0, len, size = 0;

	while (f && getline(&line, &size, f) >= 0) {
		if (!strstr(line, " - cgroup2 ") || sscanf(line, "%*s %*s %*s %4095s %4095s", root, dir) != 2)
			continue;
		decode(dir);
		/* skip a mount point that is hidden by a mount over a parent directory */
		if (access(dir, F_OK))
			continue;
		if (!*part || (strcmp(part, "/") && !strcmp(root, "/"))) {
			strcpy(part, root);
			best = 0;
		}
		len = strlen(dir);
		if (strcmp(root, part) || len <= best || (best && !path) ||
		    (path && (strncmp(path, dir, len) || (path[len] && path[len] != '/'))))
			continue;
		best = len;
		strcpy(name, dir);
	}
	free(line);
	if (f)
		fclose(f);
	return best;
}

static bool is_there(const char *path)
{
	char *dir = cgroup_file(path, "");
	bool there = *dir && !access(dir, F_OK);

	free(dir);
	return there;
}

char *cgroup_path(const char *path)
{
	char name[PATH_MAX], *copy;
	size_t len;

	path += mount_point(path, name);
	path += strspn(path, "/");
	len = strlen(path);
	while (len && path[len - 1] == '/')
		len--;
	copy = need(malloc(len + 2));
	sprintf(copy, "/%.*s", (int)len, path);
	if (!is_there(copy))
		decode(copy);
	return copy;
}

void cgroup_option(struct argp_state *state, char *arg, const struct option_desc *o, void *at)
{
	char **path = at;

	if (*path)
		usage_error(state, "only one of --cgroup and --all");
	if (arg && !*arg)
		usage_error(state, "the path of the cgroup is empty");
	*path = cgroup_path(arg ? arg : "");
	/* the module takes texts of up to 4096 bytes, with attributes */
	if (cgroup_put(NULL, *path) > 3072)
		usage_error(state, "the path of the cgroup is too long");
}

size_t cgroup_put(FILE *f, const char *path)
{
	size_t n = 0;

	for (; *path; path++) {
		bool special = isspace((unsigned char)*path) || *path == '\\';

		if (f)
			fprintf(f, special ? "\\%03o" : "%c", (unsigned char)*path);
		n += special ? 4 : 1;
	}
	return n;
}

char *cgroup_file(const char *path, const char *name)
{
	static char mount[PATH_MAX];
	char *file;

	if (!*mount && !mount_point(NULL, mount))
		return need(strdup(""));
	if (asprintf(&file, "%s%s/%s", mount, path, name) < 0)
		file = NULL;
	return need(file);
}

static FILE *open_file(const char *path, const char *name)
{
	char *file = cgroup_file(path, name);
	int fd = open_regular(file, 0);
	FILE *f = fd < 0 ? NULL : need(fdopen(fd, "r"));

	free(file);
	return f;
}

/* Adds the numbers in the lines of two keys; @key2 may be NULL. Return: -1 without the file */
static int read_keys(const char *path, const char *name, const char *key, const char *key2,
		     __u64 *sum)
{
	__u64 a = 0, b = 0;
	const struct key_number keys[] = { { key, &a }, { key2, &b } };
	FILE *f = open_file(path, name);

	if (!f)
		return -1;
	read_numbers(f, keys, key2 ? 2 : 1);
	*sum = a + b;
	return 0;
}

/* Return: the number in a file; @none if there is no file, or the file has "max" */
static __u64 read_number(const char *path, const char *name, __u64 none)
{
	FILE *f = open_file(path, name);
	unsigned long long n;

	if (!f)
		return none;
	if (fscanf(f, "%llu", &n) != 1)
		n = none;
	fclose(f);
	return n;
}

__u64 cgroup_key(const char *path, const char *name, const char *key)
{
	__u64 n;

	return read_keys(path, name, key, NULL, &n) ? 0 : n;
}

char *cgroup_read(FILE *f)
{
	char line[PATH_MAX + 64], *found = NULL;

	while (f && !found && fgets(line, sizeof(line), f))
		if (!strncmp(line, "0::/", 4))
			found = need(strndup(line + 3, strcspn(line + 3, "\n")));
	if (f)
		fclose(f);
	return found;
}

static char *cgroup_of(unsigned int pid)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/%u/cgroup", pid);
	return cgroup_read(fopen(name, "re"));
}

bool cgroup_swap_forbidden(__u32 pid)
{
	char *path = cgroup_of(pid), *end;
	/* a path outside of this cgroup namespace: its limits cannot be read */
	bool forbidden = !path || !strncmp(path, "/..", 3);

	for (end = path + (path ? strlen(path) : 0); end > path && !forbidden; end = strrchr(path, '/')) {
		*end = '\0';
		forbidden = !read_number(path, "memory.swap.max", ~0ULL) ||
			    !read_number(path, "memory.zswap.writeback", 1);
	}
	free(path);
	return forbidden;
}

bool cgroup_swap_left(char *path, __u64 bytes, bool *slows)
{
	char *end = path + strlen(path);
	__u64 has, high;

	*slows = false;
	for (; end > path; end = strrchr(path, '/')) {
		*end = '\0';
		has = read_number(path, "memory.swap.current", 0);
		high = read_number(path, "memory.swap.high", ~0ULL);
		*slows |= high != ~0ULL;
		if (has >= read_number(path, "memory.swap.max", ~0ULL) || has > high ||
		    high - has < bytes)
			return false;
	}
	return true;
}

/* Return: the number in a file below an open directory; 0 without the file, ~0 for "max" */
static __u64 number_at(int dir, const char *name, const char *file)
{
	char path[NAME_MAX + 32], text[32];

	snprintf(path, sizeof(path), "%s/%s", name, file);
	read_text(dir, path, text, sizeof(text));
	return strncmp(text, "max", 3) ? strtoull(text, NULL, 10) : ~0ULL;
}

__u64 cgroup_protected(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	__u64 sum = 0, min, has;

	while (d && (e = readdir(d))) {
		if (e->d_type != DT_DIR || *e->d_name == '.')
			continue;
		min = number_at(dirfd(d), e->d_name, "memory.min");
		has = number_at(dirfd(d), e->d_name, "memory.current");
		sum += min < has ? min : has;
	}
	if (d)
		closedir(d);
	return sum;
}

/* Appends the processes of a cgroup, without cgroups below it. Return: new number of processes */
static size_t own_pids(const char *path, __u32 *pids, size_t max, size_t nr)
{
	FILE *f = open_file(path, "cgroup.procs");
	unsigned int pid;

	while (f && fscanf(f, "%u", &pid) == 1) {
		if (nr < max)
			pids[nr] = pid;
		nr++;
	}
	if (f)
		fclose(f);
	return nr;
}

/* Adds the usage by the hugetlb controller. Return: -1 without the controller */
static int controller_hugetlb(const char *path, __u64 *bytes)
{
	char *dir = cgroup_file(path, ""), size[32], end;
	const struct dirent *e;
	DIR *d = opendir(dir);
	int res = -1;

	free(dir);
	while (d && (e = readdir(d))) {
		unsigned long long n;
		FILE *f;

		if (sscanf(e->d_name, "hugetlb.%31[0-9KMGB].curren%c", size, &end) != 2)
			continue;
		f = open_file(path, e->d_name);
		if (f && fscanf(f, "%llu", &n) == 1) {
			*bytes += n;
			res = 0;
		}
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return res;
}

/*
 * Return: memory of hugetlbfs, which memory.stat leaves out. Without the hugetlb controller this is
 * an estimate: the private memory of all processes, plus the shared memory of the process that has
 * most of it, because processes mostly share the same pages.
 */
static __u64 hugetlb_memory(const char *path)
{
	__u32 pids[HUGETLB_PIDS];
	__u64 bytes = 0, most = 0;
	long nr, i;

	if (!meminfo("Hugetlb") || !controller_hugetlb(path, &bytes))
		return bytes;
	nr = cgroup_pids(path, pids, HUGETLB_PIDS);
	for (i = 0; i < nr && i < HUGETLB_PIDS; i++) {
		__u64 shared;

		bytes += proc_hugetlb(pids[i], &shared);
		most = shared > most ? shared : most;
	}
	return bytes + most;
}

int cgroup_memory(const char *path, __u64 *bytes)
{
	if (read_keys(path, "memory.stat", "anon", "file_mapped", bytes))
		return -1;
	*bytes += hugetlb_memory(path);
	return 0;
}

/* Lists the cgroups directly below a cgroup. Return: their number; -1 if there is no such cgroup */
static int children(const char *path, char ***child)
{
	char *dir = cgroup_file(path, ""), *name;
	DIR *d = opendir(dir);
	const struct dirent *e;
	int nr = 0;

	free(dir);
	*child = NULL;
	if (!d)
		return -1;
	while ((e = readdir(d))) {
		if (e->d_type != DT_DIR || !strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		*child = need(reallocarray(*child, nr + 1, sizeof(**child)));
		if (asprintf(&name, "%s/%s", path[1] ? path : "", e->d_name) < 0)
			name = NULL;
		(*child)[nr++] = need(name);
	}
	closedir(d);
	return nr;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len > n && !strcmp(text + len - n, end);
}

/* Calls @each for each cgroup directly below a cgroup; if it returns true, also below that one */
static int walk(const char *path, int levels, bool (*each)(const char *path, void *to), void *to)
{
	char **child;
	int nr = children(path, &child), i;

	for (i = 0; i < nr; i++) {
		if (each(child[i], to) && levels)
			walk(child[i], levels - 1, each, to);
		free(child[i]);
	}
	free(child);
	return nr;
}

struct found {
	struct cgroup_below *list;
	size_t nr;
};

static bool add_unit(const char *path, void *to)
{
	struct found *f = to;
	__u64 populated, bytes = 0;

	if (read_keys(path, "cgroup.events", "populated", NULL, &populated) || !populated)
		return false;
	if (!ends_with(path, ".service") && !ends_with(path, ".scope") &&
	    !own_pids(path, NULL, 0, 0))
		return true;
	cgroup_memory(path, &bytes);
	f->list = need(reallocarray(f->list, f->nr + 1, sizeof(*f->list)));
	f->list[f->nr++] = (struct cgroup_below) {
		.path = need(strdup(path)), .bytes = bytes,
	};
	return false;
}

int cgroup_list(const char *path, struct cgroup_below **list, size_t *nr)
{
	struct found f = { 0 };
	int err = walk(path, LEVELS, add_unit, &f);

	*list = f.list;
	*nr = f.nr;
	return err < 0 ? -1 : 0;
}

struct pid_list {
	__u32 *pids;
	size_t max, nr;
};

static bool add_pids(const char *path, void *to)
{
	struct pid_list *l = to;

	l->nr = own_pids(path, l->pids, l->max, l->nr);
	return true;
}

long cgroup_pids(const char *path, __u32 *pids, size_t max)
{
	struct pid_list l = { pids, max, 0 };

	add_pids(path, &l);
	if (walk(path, LEVELS, add_pids, &l) < 0)
		return -1;
	qsort(pids, l.nr < max ? l.nr : max, sizeof(*pids), order_u32);
	return l.nr;
}

/* Virtual machines */

/* Directory with an entry PID-FD for each virtual machine; PID: the thread that created it */
#define KVM_DIR		"/sys/kernel/debug/kvm"

static char **vm_cgroup;	/* cgroup of each virtual machine */
static size_t vms;

void guests_read(void)
{
	DIR *d = opendir(KVM_DIR);
	const struct dirent *e;
	unsigned int pid;
	char dash, *cgroup;

	while (vms)
		free(vm_cgroup[--vms]);
	while (d && (e = readdir(d))) {
		if (sscanf(e->d_name, "%u%c", &pid, &dash) != 2 || dash != '-')
			continue;
		cgroup = cgroup_of(pid);
		if (!cgroup)
			continue;
		vm_cgroup = need(reallocarray(vm_cgroup, vms + 1, sizeof(*vm_cgroup)));
		vm_cgroup[vms++] = cgroup;
	}
	if (d)
		closedir(d);
}

size_t guests_of(const char *cgroup)
{
	size_t len = cgroup[1] ? strlen(cgroup) : 0, i, n = 0;

	for (i = 0; i < vms; i++)
		n += !strncmp(vm_cgroup[i], cgroup, len) && (!vm_cgroup[i][len] || vm_cgroup[i][len] == '/');
	return n;
}

bool guests_text(char *buf, size_t size, const char *cgroup)
{
	size_t n = guests_of(cgroup);

	snprintf(buf, size, "%zu virtual machine%s: memory that only %s reads as idle (%s)", n,
		 n == 1 ? "" : "s", n == 1 ? "its guest accesses" : "their guests access", cgroup);
	return n;
}

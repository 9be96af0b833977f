// SPDX-License-Identifier: GPL-2.0
/*
 * unwind.c - finds the calls in a copied stack, by libdwfl
 *
 * The tables that tell how to unwind are in the files that are mapped, which are
 * opened as the process has them: it may be in a container, and a file that was
 * replaced is still its own.
 */
#include <dirent.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/program.h"
#include "regs.h"
#include "stack.h"

/**
 * struct unwind - what libdwfl's callbacks work with
 * @ts:		what was copied
 * @thread:	the thread whose turn it is
 * @rec:	gets its frames
 */
struct unwind {
	const struct stack_threads *ts;
	const struct stack_thread *thread;
	struct wsmon_rec_stack *rec;
};

static pid_t unwound_pid;

/* The file that is mapped at an address; Return: fd or -1 */
static int open_mapped(__u64 start)
{
	char dir[64], name[32], path[512];
	struct dirent *d;
	int fd = -1;
	DIR *files;

	snprintf(dir, sizeof(dir), "/proc/%d/map_files", unwound_pid);
	snprintf(name, sizeof(name), "%llx-", start);
	files = opendir(dir);
	while (files && (d = readdir(files))) {
		if (strncmp(d->d_name, name, strlen(name)))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
		fd = open_regular(path, 0);
		break;
	}
	if (files)
		closedir(files);
	return fd;
}

static int find_elf(Dwfl_Module *mod, void **data, const char *name,
		    Dwarf_Addr base, char **file_name, Elf **elf)
{
	int fd;

	if (*name != '/')
		return dwfl_linux_proc_find_elf(mod, data, name, base,
						file_name, elf);
	fd = open_mapped(base);
	if (fd < 0)
		fd = open_regular(name, 0);
	if (fd < 0)
		return -1;
	*file_name = strdup(name);
	return fd;
}

/* Looking for debug information elsewhere may take seconds, and is not needed */
static int no_debuginfo(Dwfl_Module *mod, void **data, const char *name,
			Dwarf_Addr base, const char *file, const char *link,
			GElf_Word crc, char **path)
{
	(void)mod;
	(void)data;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	(void)path;
	return -1;
}

static const Dwfl_Callbacks files = {
	.find_elf = find_elf,
	.find_debuginfo = no_debuginfo,
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	const struct unwind *u = arg;

	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return u->thread->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl;
	(void)tid;
	*thread_arg = arg;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result,
			void *arg)
{
	const struct unwind *u = arg;
	const struct stack_thread *t = u->thread;

	(void)dwfl;
	if (addr < t->sp || addr - t->sp > t->bytes ||
	    t->bytes - (addr - t->sp) < sizeof(*result))
		return false;
	memcpy(result, t->stack + (addr - t->sp), sizeof(*result));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct unwind *u = arg;

	return regs_set(thread, &u->thread->regs);
}

static const Dwfl_Thread_Callbacks threads = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

static int take_frame(Dwfl_Frame *frame, void *arg)
{
	struct wsmon_rec_stack *rec = ((struct unwind *)arg)->rec;
	bool next;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, &next) || rec->nr == WSMON_STACK_FRAMES) {
		rec->flags |= WSMON_STACK_CUT;
		return DWARF_CB_ABORT;
	}
	rec->pc[rec->nr++] = next ? pc : pc - 1;
	return DWARF_CB_OK;
}

static Dwfl *open_process(struct unwind *u, pid_t pid)
{
	Dwfl *dwfl = dwfl_begin(&files);

	unwound_pid = pid;
	if (!dwfl)
		return NULL;
	if (!dwfl_linux_proc_report(dwfl, pid) &&
	    !dwfl_report_end(dwfl, NULL, NULL) &&
	    dwfl_attach_state(dwfl, NULL, pid, &threads, u))
		return dwfl;
	dwfl_end(dwfl);
	return NULL;
}

static void unwind_thread(Dwfl *dwfl, struct unwind *u)
{
	struct wsmon_rec_stack *rec = u->rec;

	if (dwfl && dwfl_getthread_frames(dwfl, u->thread->tid, take_frame, u))
		rec->flags |= WSMON_STACK_CUT;
	/* where nothing can be unwound it is known at least where it was */
	if (!rec->nr) {
		rec->pc[rec->nr++] = regs_pc(&u->thread->regs);
		rec->flags |= WSMON_STACK_CUT;
	}
}

void stack_unwind(const struct stack_threads *ts,
		  const struct stack_request *rq,
		  void (*done)(const struct wsmon_rec_stack *rec))
{
	union {
		struct wsmon_rec_stack rec;
		unsigned char room[STACK_RECORD];
	} out;
	struct unwind u = { .ts = ts, .rec = &out.rec };
	Dwfl *dwfl = NULL;
	bool opened = false;
	__u32 i;

	for (i = 0; i < ts->nr; i++) {
		u.thread = &ts->thread[i];
		memset(&out.rec, 0, sizeof(out.rec));
		out.rec.rec.type = WSMON_REC_STACK;
		out.rec.rec.time_ns = u.thread->time_ns ? u.thread->time_ns :
							  clock_now();
		out.rec.pid = rq->pid;
		out.rec.tid = u.thread->tid;
		out.rec.reason = rq->reason;
		out.rec.number = rq->number;
		out.rec.stopped_ns = u.thread->stopped_ns;
		out.rec.error = u.thread->error;
		out.rec.threads = ts->total;
		memcpy(out.rec.comm, u.thread->comm, WSMON_COMM_LEN - 1);
		if (!opened && !u.thread->error) {
			/* the main thread may have exited, and has no memory then */
			dwfl = open_process(&u, u.thread->tid);
			opened = true;
		}
		if (!u.thread->error)
			unwind_thread(dwfl, &u);
		out.rec.rec.size = sizeof(out.rec) + out.rec.nr * 8;
		done(&out.rec);
	}
	dwfl_end(dwfl);
}

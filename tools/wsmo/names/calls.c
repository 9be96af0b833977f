// SPDX-License-Identifier: GPL-2.0
/* calls.c - call stacks with demangled names; equal stacks are stored once */
#include <libiberty/demangle.h>
#include <setjmp.h>
#undef ARRAY_SIZE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "calls.h"
#include "core/cli.h"
#include "core/text.h"
#include "libwsmon/sorted.h"
#include "libwsmon/wsmon_records.h"
#include "symbols.h"

#define PLAIN_MAX	8192	/* bytes of a function's name; longer names stay mangled */
#define PLAIN_US	200000	/* CPU time for a name; usually it takes microseconds */
#define STRINGS_MAX	(1 << 22)
#define STACKS_MAX	(1 << 22)
#define INLINED_MAX	16	/* nested inlined functions */

struct calls {
	struct symbols *symbols;
	struct sorted strings;		/* char *, each once */
	struct sorted stacks;		/* struct callstack *, each once */
	struct callstack **numbered;
	__u32 numbers;
};

static int compare_strings(const void *x, const void *y)
{
	return strcmp(*(char * const *)x, *(char * const *)y);
}

/* Equal strings are stored once, so that comparing their addresses is enough */
static int order(const void *x, const void *y)
{
	return COMPARE(x, y);
}

static int compare_calls(const struct call *a, const struct call *b)
{
	int c = order(a->function, b->function);

	if (!c)
		c = order(a->file, b->file);
	if (!c)
		c = order(a->path, b->path);
	if (c)
		return c;
	if (a->line != b->line)
		return a->line - b->line;
	/* if the source line is known, calls in one line are the same, whatever their address */
	if (a->file || a->function)
		return a->inlined - b->inlined;
	if (!a->path)
		return COMPARE(a->pc, b->pc);
	return COMPARE(a->offset, b->offset);
}

static int compare_stacks(const void *x, const void *y)
{
	const struct callstack *a = *(struct callstack * const *)x;
	const struct callstack *b = *(struct callstack * const *)y;
	__u32 i;
	int c;

	if (a->nr != b->nr)
		return a->nr < b->nr ? -1 : 1;
	if (a->cut != b->cut)
		return a->cut - b->cut;
	for (i = 0; i < a->nr; i++) {
		c = compare_calls(&a->call[i], &b->call[i]);
		if (c)
			return c;
	}
	return 0;
}

struct calls *calls_new(void)
{
	struct calls *cs = need(calloc(1, sizeof(*cs)));

	cs->symbols = symbols_new();
	cs->strings = SORTED(char *, STRINGS_MAX, compare_strings, .lazy = true);
	cs->stacks = SORTED(struct callstack *, STACKS_MAX, compare_stacks, .lazy = true);
	return cs;
}

struct symbols *calls_symbols(struct calls *cs)
{
	return cs->symbols;
}

static const char *keep(struct calls *cs, const char *text)
{
	char **s = sorted_find(&cs->strings, &text), *copy;

	if (s)
		return *s;
	copy = need(strdup(text));
	need(sorted_get(&cs->strings, &copy));
	return copy;
}

/* A demangled name, as far as it was written */
struct plain {
	char text[PLAIN_MAX];
	size_t len;
};

static sigjmp_buf give_up;

static void end_demangling(int why)
{
	siglongjmp(give_up, why);
}

static void add_part(const char *part, size_t len, void *to)
{
	struct plain *p = to;

	if (len >= sizeof(p->text) - p->len)
		end_demangling(1);
	memcpy(p->text + p->len, part, len);
	p->len += len;
}

static bool write_plain(struct plain *p, const char *symbol)
{
	p->len = 0;
	if (rust_demangle_callback(symbol, DMGL_NO_OPTS, add_part, p))
		return true;
	p->len = 0;
	return cplus_demangle_v3_callback(symbol, DMGL_NO_OPTS, add_part, p);
}

static void set_timer(long us)
{
	setitimer(ITIMER_VIRTUAL, &(struct itimerval) { .it_value.tv_usec = us }, NULL);
}

/*
 * Demangles a name, which may be made to use up memory or time. Each part of a mangled name can
 * stand for two of the part before it, so 300 characters can stand for gigabytes. So the name is
 * written piece by piece, and given up if it is too long. 25 characters can also make the demangler
 * loop 62^10 times and write nothing. So a timer interrupts the demangler, and each interruption
 * halves the time for later names. The timer must not interrupt malloc(). Only Rust names with
 * letters beyond ASCII need malloc(), and they are too short to take long there.
 * Return: malloc()ed; NULL if the symbol is not mangled, too long or takes too long
 */
static char *demangle(const char *symbol)
{
	const struct sigaction act = { .sa_handler = end_demangling };
	static long us = PLAIN_US;
	static struct plain p;
	bool done;

	if (strlen(symbol) >= PLAIN_MAX)
		return NULL;
	sigaction(SIGVTALRM, &act, NULL);
	if (sigsetjmp(give_up, 1)) {
		set_timer(0);
		us = us / 2 + 1;
		return NULL;
	}
	set_timer(us);
	done = write_plain(&p, symbol);
	set_timer(0);
	return done ? need(strndup(p.text, p.len)) : NULL;
}

static const char *function_name(struct calls *cs, const char *symbol)
{
	/* suffixes that compilers give to copies of a function */
	static const char * const copies[] = {
		".isra.", ".constprop.", ".part.", ".cold", ".lto_priv.", ".llvm.",
	};
	char *plain = demangle(symbol), *name, *version;
	const char *kept;
	size_t i;

	name = need(plain ? plain : strdup(symbol));
	if (plain) {
		/* "scan(int) [clone .isra.0]" */
		version = strstr(name, " [clone ");
	} else {
		/* "memcpy@@GLIBC_2.14", "scan_index.isra.0" */
		version = strchr(name, '@');
		for (i = 0; !version && i < ARRAY_SIZE(copies); i++)
			version = strstr(name, copies[i]);
	}
	if (version && version != name)
		*version = '\0';
	kept = keep(cs, name);
	free(name);
	return kept;
}

/* Sets what is known without an ELF file: the path, such as "[vdso]", and the offset */
static void resolve_part(struct calls *cs, const struct mapping *m, struct call *call)
{
	if (!m || !*m->path)
		return;
	call->path = keep(cs, m->path);
	call->offset = call->pc - m->start + m->offset;
}

/* Names a call in code that the process compiled itself */
static void resolve_jit(struct calls *cs, __u32 pid, struct call *call)
{
	const char *name = symbols_jit(cs->symbols, pid, call->pc);
	char path[32];

	if (!name)
		return;
	snprintf(path, sizeof(path), "perf-%u.map", pid);
	call->function = keep(cs, name);
	call->path = keep(cs, path);
	call->offset = call->pc;
}

/*
 * Names a call, and adds calls for the functions that are inlined at its address.
 * @call: array of INLINED_MAX + 1; only @pc of the first is set
 * Return: number of calls
 */
static int resolve(struct calls *cs, const struct mappings *ms, __u32 pid, struct call *call)
{
	struct inlined in[INLINED_MAX];
	struct module module;
	struct symbol symbol;
	const char *file;
	int nr, i;

	if (!mappings_module(ms, pid, call->pc, &module)) {
		const struct mapping *m = mappings_find(ms, pid, call->pc);

		resolve_part(cs, m, call);
		if (m && m->prot & PROT_EXEC && !m->inode)
			resolve_jit(cs, pid, call);
		return 1;
	}
	call->path = keep(cs, module.path);
	call->offset = call->pc - module.base;
	file = symbols_line(cs->symbols, &module, call->pc, &call->line);
	call->file = file ? keep(cs, file) : NULL;
	nr = symbols_inlined(cs->symbols, &module, call->pc, in, INLINED_MAX);
	/* an inlined function was called from a line of the next outer function */
	for (i = 0; i < nr; i++) {
		call[i + 1] = call[i];
		call[i].function = keep(cs, in[i].name);
		call[i].inlined = true;
		call[i + 1].file = in[i].file ? keep(cs, in[i].file) : NULL;
		call[i + 1].line = in[i].line;
	}
	/* a name may be empty if the file was truncated meanwhile */
	if (symbols_find(cs->symbols, &module, call->pc, &symbol) && *symbol.name)
		call[nr].function = function_name(cs, symbol.name);
	return nr + 1;
}

static struct callstack *with_room(struct callstack *s, __u32 nr)
{
	return need(realloc(s, sizeof(*s) + nr * sizeof(s->call[0])));
}

struct callstack *calls_take(struct calls *cs, const struct mappings *ms,
			     const struct wsmon_rec_stack *rec)
{
	struct callstack *s = with_room(NULL, 0);
	__u32 i;

	*s = (struct callstack){ .cut = rec->flags & WSMON_STACK_CUT };
	for (i = 0; i < rec->nr; i++) {
		s = with_room(s, s->nr + 1 + INLINED_MAX);
		s->call[s->nr] = (struct call){ .pc = rec->pc[i] };
		s->nr += resolve(cs, ms, rec->pid, &s->call[s->nr]);
	}
	return s;
}

/* Looks again for the names of calls that have no file yet */
static struct callstack *complete(struct calls *cs, const struct mappings *ms, __u32 pid,
				  struct callstack *old)
{
	struct callstack *s = with_room(NULL, 0);
	__u32 i;

	*s = (struct callstack){ .cut = old->cut };
	for (i = 0; i < old->nr; i++) {
		s = with_room(s, s->nr + 1 + INLINED_MAX);
		s->call[s->nr] = old->call[i];
		s->nr += old->call[i].path ? 1 :
			 resolve(cs, ms, pid, &s->call[s->nr]);
	}
	free(old);
	return s;
}

struct callstack *calls_fold(struct calls *cs, const struct mappings *ms,
			     __u32 pid, struct callstack *stack)
{
	struct callstack **s;
	__u32 i;

	for (i = 0; i < stack->nr && stack->call[i].path; i++)
		;
	if (i < stack->nr)
		stack = complete(cs, ms, pid, stack);
	s = need(sorted_get(&cs->stacks, &stack));
	if (*s != stack)
		free(stack);
	return *s;
}

bool calls_number(struct calls *cs, struct callstack *stack)
{
	if (stack->number)
		return false;
	cs->numbered = need(reallocarray(cs->numbered, cs->numbers + 1,
					 sizeof(*cs->numbered)));
	cs->numbered[cs->numbers] = stack;
	stack->number = ++cs->numbers;
	return true;
}

const struct callstack *calls_numbered(const struct calls *cs, __u32 number)
{
	return number && number <= cs->numbers ? cs->numbered[number - 1] : NULL;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *calls_text(char *buf, const struct call *call)
{
	char text[CALL_TEXT];

	if (call->function && call->file)
		snprintf(text, sizeof(text), "%s (%s:%d%s)", call->function,
			 last_part(call->file), call->line,
			 call->inlined ? ", inlined" : "");
	else if (call->function)
		snprintf(text, sizeof(text), "%s (%s)", call->function,
			 last_part(call->path));
	else if (call->path)
		snprintf(text, sizeof(text), "%s+%#llx", call->path,
			 call->offset);
	else
		snprintf(text, sizeof(text), "%#llx", call->pc);
	return text_clean(buf, CALL_TEXT, text);
}

void calls_print_part(FILE *f, const char *text)
{
	for (; *text; text++)
		fputc(*text == ';' ? ':' : *text, f);
}

void calls_print_folded(FILE *f, const struct callstack *stack)
{
	char text[CALL_TEXT];
	__u32 i;

	for (i = stack->nr; i--;) {
		const struct call *c = &stack->call[i];

		calls_print_part(f, c->function ? text_clean(text, sizeof(text), c->function) :
						  calls_text(text, c));
		if (i)
			fputc(';', f);
	}
}

void calls_free(struct calls *cs)
{
	struct callstack **stack = cs->stacks.base;
	char **string = cs->strings.base;
	size_t i;

	symbols_free(cs->symbols);
	for (i = 0; i < cs->stacks.nr; i++)
		free(stack[i]);
	for (i = 0; i < cs->strings.nr; i++)
		free(string[i]);
	free(cs->numbered);
	free(cs->stacks.base);
	free(cs->strings.base);
	free(cs);
}

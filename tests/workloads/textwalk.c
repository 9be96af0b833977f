// SPDX-License-Identifier: GPL-2.0
/*
 * textwalk.c - executes one instruction of each page of its own text, and touches
 * each page of a static array, once a second
 *
 * The text is FUNCTIONS functions of PAGES pages each, walk_0 and so on: 2 MiB.
 *
 * usage: textwalk [SECONDS]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FUNCTIONS	32
#define PAGES		16
#define STRING(x)	#x
#define VALUE(x)	STRING(x)
#ifdef __aarch64__
#define JUMP		"b"
#else
#define JUMP		"jmp"
#endif

/* Each page has a jump to the next page; the last page of a function returns */
__asm__(".pushsection .text.walk, \"ax\", @progbits\n"
	".macro walker\n"
	"	.balign 4096\n"
	"	.type walk_\\@, @function\n"
	"walk_\\@:\n"
	"	.rept " VALUE(PAGES) " - 1\n"
	"	" JUMP " . + 4096\n"
	"	.balign 4096, 0xcc\n"
	"	.endr\n"
	"	ret\n"
	"	.balign 4096, 0xcc\n"
	"	.size walk_\\@, . - walk_\\@\n"
	".endm\n"
	"	.balign 4096\n"
	"walkers:\n"
	"	.rept " VALUE(FUNCTIONS) "\n"
	"	walker\n"
	"	.endr\n"
	".popsection\n");

extern char walkers[];

/* static, so that only the symbol table has its name */
static volatile char touched_table[1 << 20];

static void walk(void)
{
	size_t i;

	for (i = 0; i < FUNCTIONS; i++) {
		void (*f)(void) = (void (*)(void))(walkers + i * PAGES * 4096);

		f();
	}
	for (i = 0; i < sizeof(touched_table); i += 4096)
		touched_table[i]++;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 3600, i;
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	puts("walking");
	fflush(stdout);
	for (i = 0; i < seconds; i++) {
		walk();
		next.tv_sec++;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
			;
	}
	return 0;
}

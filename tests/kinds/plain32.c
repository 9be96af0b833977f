// SPDX-License-Identifier: GPL-2.0
/*
 * plain32 - an ordinary process like in kinds.c, of 32 bits, on x86; without a libc, as
 * Debian's cross-compilers and gcc-multilib cannot both be installed
 */
#define USED (8 << 20)
#define IDLE (16 << 20)

static int sys(int nr, int a, const void *b, int c)
{
	__asm__ volatile("int $0x80" : "+a"(nr) : "b"(a), "c"(b), "d"(c) : "memory");
	return nr;
}

static char idle[IDLE] __attribute__((aligned(4096))), used[USED] __attribute__((aligned(4096)));

static void touch(volatile char *p, int size)
{
	for (int i = 0; i < size; i += 4096)
		p[i]++;
}

/* Append a text, or a number */
static char *say(char *to, const char *text, unsigned int number)
{
	char digits[12];
	int n = 0;

	while (*text)
		*to++ = *text++;
	do
		digits[n++] = '0' + number % 10;
	while (number /= 10);
	while (n)
		*to++ = digits[--n];
	return to;
}

void _start(void)
{
	int nap[2] = { 0, 50000000 };
	char line[128], *end = line;

	/* MADV_NOHUGEPAGE */
	sys(219, (int)idle, (void *)IDLE, 15);
	sys(219, (int)used, (void *)USED, 15);
	touch(idle, IDLE);
	touch(used, USED);
	end = say(end, "ready pid=", sys(20, 0, 0, 0));
	end = say(end, " used=", USED);
	end = say(end, " resident=", USED + IDLE);
	*end++ = '\n';
	sys(4, 1, line, end - line);
	for (;;) {
		touch(used, USED);
		sys(162, (int)nap, 0, 0);
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * khugepaged.c - a heap that grows by 4 MiB a second, piece by piece
 *
 * It fills 48 MiB first. Each 50 ms it touches every 4th page of their second third, and
 * fills the new piece. brk() moves by little at a time, so no fault gets a huge page: all
 * huge pages are made by khugepaged.
 *
 * Prints "TIME_NS ADDRESS BYTES STEP" of the memory touched all the time, then of each piece.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MIB	(1L << 20)
#define PIECE	(64L << 10)
#define STEP	(4L << 12)

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static char *piece(void)
{
	return memset(sbrk(PIECE), 1, PIECE);
}

int main(void)
{
	static char out[4096];
	const struct timespec pause = { .tv_nsec = 50000000 };
	long long begin, filled = 0;
	char *hot;

	setvbuf(stdout, out, _IOLBF, sizeof(out));
	sbrk(-(uintptr_t)sbrk(0) & 4095);
	hot = (char *)sbrk(0) + 16 * MIB;
	for (long done = 0; done < 48 * MIB; done += PIECE)
		piece();
	printf("%lld %ld %ld %ld\n", now_ns(), (long)hot, 16 * MIB, STEP);
	for (begin = now_ns();; nanosleep(&pause, NULL)) {
		for (long at = 0; at < 16 * MIB; at += STEP)
			*(volatile char *)(hot + at) += 1;
		for (; filled < (now_ns() - begin) * 4 / 1000 * MIB / 1000000; filled += PIECE)
			printf("%lld %ld %ld 4096\n", now_ns(), (long)piece(), PIECE);
	}
}

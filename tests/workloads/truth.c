// SPDX-License-Identifier: GPL-2.0
/* Shared by the workloads, see truth.h. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "truth.h"

#define CALIBRATION_ROUNDS	10
#define CALIBRATION_PAUSE	(20 * NSEC_PER_MSEC)

volatile bool stopped;

static void stop(int sig)
{
	(void)sig;
	stopped = true;
}

void truth_start(struct truth *truth, const char *path)
{
	struct sigaction action = { .sa_handler = stop };

	memset(truth, 0, sizeof(*truth));
	truth->fd = -1;
	if (path) {
		truth->fd = strcmp(path, "-") ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) :
						STDOUT_FILENO;
		if (truth->fd < 0)
			err(EXIT_FAILURE, "%s", path);
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

void truth_note(const struct truth *truth, const char *fmt, ...)
{
	va_list ap;

	if (truth->fd < 0)
		return;
	va_start(ap, fmt);
	if (vdprintf(truth->fd, fmt, ap) < 0)
		err(EXIT_FAILURE, "truth file");
	va_end(ap);
}

void truth_sample(struct truth *truth, int64_t now, uint64_t bytes)
{
	double delta = bytes - truth->mean;

	truth->samples++;
	truth->mean += delta / truth->samples;
	truth->m2 += delta * (bytes - truth->mean);
	if (bytes > truth->peak)
		truth->peak = bytes;
	truth_note(truth, "truth %" PRId64 " %" PRIu64 " %" PRIu64 "\n",
		   now, bytes, truth->overhead);
}

uint64_t smaps_sum(const char *field, uintptr_t start, uintptr_t end)
{
	FILE *smaps = fopen("/proc/self/smaps", "re");
	size_t length = strlen(field);
	uintptr_t from, to;
	bool inside = false;
	uint64_t sum = 0, kib;
	char line[512];

	if (!smaps)
		err(EXIT_FAILURE, "/proc/self/smaps");
	while (fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			inside = from >= start && from < end;
		else if (inside && !strncmp(line, field, length) && line[length] == ':' &&
			 sscanf(line + length + 1, "%" SCNu64, &kib) == 1)
			sum += kib * 1024;
	}
	fclose(smaps);
	return sum;
}

void truth_calibrate(struct truth *truth)
{
	struct truth scratch = *truth;
	int64_t now = now_ns();
	bool cleared;
	int fd;

	scratch.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	cleared = fd >= 0 && write(fd, "1", 1) == 1;
	if (fd >= 0)
		close(fd);
	for (int i = 0; i < CALIBRATION_ROUNDS && !stopped; i++) {
		now += CALIBRATION_PAUSE;
		sleep_until(now);
		truth_sample(&scratch, now_ns(), 0);
	}
	if (scratch.fd >= 0)
		close(scratch.fd);
	truth->overhead = smaps_sum(cleared ? "Referenced" : "Rss", 0, UINTPTR_MAX);
}

void truth_summary(const struct truth *truth, const char *what)
{
	double sigma = truth->samples ? sqrt(truth->m2 / truth->samples) : 0;
	double page = sysconf(_SC_PAGESIZE);
	uint64_t rss = smaps_sum("Rss", 0, UINTPTR_MAX);

	printf("%s: true working set (%" PRIu64 " samples), RSS %" PRIu64 " bytes\n",
	       what, truth->samples, rss);
	printf("  mean  %12.0f bytes %9.1f pages\n", truth->mean, truth->mean / page);
	printf("  sigma %12.0f bytes %9.1f pages\n", sigma, sigma / page);
	printf("  peak  %12" PRIu64 " bytes %9.1f pages\n", truth->peak, truth->peak / page);
	printf("  and   %12" PRIu64 " bytes %9.1f pages of its own: code, stack, bookkeeping\n",
	       truth->overhead, truth->overhead / page);
}

int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

void sleep_until(int64_t when)
{
	struct timespec ts = { .tv_sec = when / NSEC_PER_SEC, .tv_nsec = when % NSEC_PER_SEC };

	while (!stopped && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

char *map_buffer(size_t size, size_t align, bool huge)
{
	char *map = mmap(NULL, size + align, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *buffer;

	if (map == MAP_FAILED)
		err(EXIT_FAILURE, "mapping %zu bytes", size);
	buffer = (char *)(((uintptr_t)map + align - 1) & ~(uintptr_t)(align - 1));
	/* unmap all but the buffer: its VMA must not be larger */
	if (buffer > map)
		munmap(map, buffer - map);
	munmap(buffer + size, map + align - buffer);
	if (madvise(buffer, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) && errno != EINVAL)
		err(EXIT_FAILURE, "madvise");
	return buffer;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * stream.c - runs the reading part of "wsmo record" on an input, and checks
 * that the file it makes of it is a good one
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "live/record.h"

#define FIFO_SIZE	(1 << 20)

/* What is written must be readable: the header, then the records counted */
static void check_file(int fd, __u64 records)
{
	const struct wsmon_record *rec;
	struct wsmon_reader *reader;
	__u64 n = 0;
	int res;

	reader = lseek(fd, 0, SEEK_SET) ? NULL : wsmon_open_fd(fd);
	if (!reader)
		fuzz_fail("the recording cannot be read");
	while ((res = wsmon_next(reader, &rec)) > 0)
		n++;
	/* without a header there was nothing to write */
	if (res && lseek(fd, 0, SEEK_END))
		fuzz_fail("the recording %s", res == -ENODATA ? "is cut" : wsmon_error(reader));
	if (n != records)
		fuzz_fail("%llu records recorded, %llu in the file", records, n);
	wsmon_close(reader);
}

static void feed(int fifo, const __u8 *data, size_t size)
{
	if (write(fifo, data, size) != (ssize_t)size)
		fuzz_fail("the FIFO is too small for %zu bytes", size);
}

static void release(struct record *r)
{
	output_close(&r->output);
	session_close(&r->session);
	maps_close(&r->maps);
	packer_free(&r->packer);
	targets_free(&r->targets);
}

/* The first bytes are an earlier session's; they may end inside a record. */
void stream_run(const char *dir, const __u8 *data, size_t size,
		__u32 select)
{
	static struct record r;
	size_t stale = size * (select >> 8 & 0xff) / 256;
	char path[PATH_MAX];
	int fifo, file;

	snprintf(path, sizeof(path), "%s/buffer", dir);
	fifo = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	file = memfd_create("recording", MFD_CLOEXEC);
	if (fifo < 0 || file < 0 || fcntl(fifo, F_SETPIPE_SZ, FIFO_SIZE) < 0)
		fuzz_fail("%s: %s", path, strerror(errno));
	r = (struct record)RECORD_INIT("record");
	r.quiet = true;
	r.output.name = "recording";
	r.output.file = (struct outfile){ .name = "recording", .fd = dup(file), .dir = -1 };
	debugfs_dir(dir);
	sink_begin(false, false);
	feed(fifo, data, stale);
	if (!session_open(&r.session)) {
		feed(fifo, data + stale, size - stale);
		close(fifo);
		fifo = -1;
		record_loop(&r);
	}
	release(&r);
	free(sink_end());
	if (fifo >= 0)
		close(fifo);
	check_file(file, r.output.records);
	close(file);
}

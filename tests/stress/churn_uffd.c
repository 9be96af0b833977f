// SPDX-License-Identifier: GPL-2.0
/* churn uffd: missing pages are served by a thread of the process itself */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "churn.h"

#define PAGES		1024UL
#define USERS		2

static atomic_int users = USERS;
static int uffd;
static char *area;

/* A page that was missing gets a tag of its address. */
static void serve(uint64_t addr)
{
	static _Alignas(4096) char page[PAGE];
	struct uffdio_copy copy = { .len = PAGE, .src = (uintptr_t)page };

	copy.dst = addr & ~(PAGE - 1);
	write_page(page, (copy.dst - (uintptr_t)area) / PAGE);
	while (ioctl(uffd, UFFDIO_COPY, &copy)) {
		struct uffdio_range range = { copy.dst, PAGE };

		if (errno == EEXIST) {
			ioctl(uffd, UFFDIO_WAKE, &range);
			return;
		}
		if (errno != EAGAIN)
			err(1, "UFFDIO_COPY");
	}
}

static void *server(void *arg)
{
	struct pollfd p = { .fd = uffd, .events = POLLIN };
	struct uffd_msg m;

	(void)arg;
	while (atomic_load(&users)) {
		if (poll(&p, 1, 50) < 1 || read(uffd, &m, sizeof(m)) != sizeof(m))
			continue;
		if (m.event == UFFD_EVENT_PAGEFAULT)
			serve(m.arg.pagefault.address);
		count();
	}
	return NULL;
}

static void *user(void *arg)
{
	static uint64_t tags[PAGES];
	size_t me = (uintptr_t)arg;

	for (size_t i = me; i < PAGES; i += USERS)
		tags[i] = i;
	while (going()) {
		size_t i = pick(PAGES / USERS) * USERS + me;
		char *p = area + i * PAGE;

		check_page(p, tags[i]);
		tags[i] += PAGES;
		write_page(p, tags[i]);
		check_page(p, tags[i]);
		if (pick(2)) {
			if (madvise(p, PAGE, MADV_DONTNEED))
				err(1, "madvise");
			tags[i] = i;
		}
	}
	atomic_fetch_sub(&users, 1);
	return NULL;
}

static void *uffd_thread(void *arg)
{
	return (uintptr_t)arg < USERS ? user(arg) : server(arg);
}

void churn_uffd(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (uffd < 0)
		skip("userfaultfd: %s", strerror(errno));
	area = map_pages(PAGES, 0);
	reg.range.start = (uintptr_t)area;
	reg.range.len = PAGES * PAGE;
	if (ioctl(uffd, UFFDIO_API, &api) || ioctl(uffd, UFFDIO_REGISTER, &reg))
		err(1, "userfaultfd");
	run_threads(USERS + 1, uffd_thread);
}

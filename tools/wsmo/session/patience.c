// SPDX-License-Identifier: GPL-2.0
/*
 * patience.c - questions that may never be answered
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "patience.h"

#define PATIENCE_MS	1000
#define UNANSWERED_MAX	4

struct question {
	void (*ask)(void *data);
	int answered[2];
	char data[] __attribute__((aligned(16)));
};

static void *in_thread(void *arg)
{
	struct question *q = arg;

	q->ask(q->data);
	close(q->answered[1]);
	return NULL;
}

/* Return: 0 or an error */
static int start(struct question *q)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;
	int err;

	/* signals are for the thread that waits */
	sigfillset(&all);
	err = pthread_attr_init(&attr) ?: pthread_attr_setsigmask_np(&attr, &all) ?:
	      pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (!err)
		err = pthread_create(&thread, &attr, in_thread, q);
	pthread_attr_destroy(&attr);
	return err;
}

bool patience_ask(void (*ask)(void *data), void *data, size_t size)
{
	static unsigned int unanswered;
	struct pollfd end = { .events = POLLIN };
	struct question *q;

	if (unanswered == UNANSWERED_MAX)
		return false;
	q = malloc(sizeof(*q) + size);
	if (!q || pipe2(q->answered, O_CLOEXEC)) {
		free(q);
		return false;
	}
	q->ask = ask;
	memcpy(q->data, data, size);
	if (start(q)) {
		close(q->answered[0]);
		close(q->answered[1]);
		free(q);
		return false;
	}
	end.fd = q->answered[0];
	if (poll(&end, 1, PATIENCE_MS) <= 0) {
		unanswered++;
		return false;
	}
	memcpy(data, q->data, size);
	close(q->answered[0]);
	free(q);
	return true;
}

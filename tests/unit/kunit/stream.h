/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stream.h - a buffer that keeps the records put into it, for stream.c and snapshot.c
 */
#ifndef WSMON_KUNIT_STREAM_H
#define WSMON_KUNIT_STREAM_H

#include "../../../module/wsmon_session.h"
#include "world.h"

#define ONE		WSMON_ONE
#define NOW		BIT_ULL(60)

/* The records of one test */
extern struct taken {
	struct kunit *test;
	u8 *bytes;
	size_t len;
	size_t room;
	u32 nr;
} taken;

/* Init and exit of a suite: no records yet, a new session */
int stream_begin(struct kunit *test);

/* The n-th record */
const void *stream_record(u32 n);
/* A target whose pid is that of the test's thread */
struct wsmon_target *stream_target(struct kunit *test, struct world *w);

#endif

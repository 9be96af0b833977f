/* SPDX-License-Identifier: GPL-2.0 */
/*
 * peaks.h - the stacks of a recording, as "wsmo report peaks" prints them,
 * and peaks that the module could not find
 */
#ifndef WSMO_REPORT_PEAKS_H
#define WSMO_REPORT_PEAKS_H

#include "libwsmon/events.h"
#include "libwsmon/series.h"
#include "report.h"
#include "symbols/calls.h"

/**
 * struct taken - what a STACK record says
 * @stack:	NULL if it could not be taken
 * @alike:	of the threads of a target with the same stack, or the same error: how many, if it is the first
 * @names:	they have different names
 * @longest_ns:	longest time one of them was stopped
 * @chosen:	by taken_choose()
 * @given:	by taken_once()
 */
struct taken {
	__u64 time_ns;
	__u64 stopped_ns;
	__u32 pid;
	__u32 tid;
	__u32 reason;
	__u32 number;
	__u32 error;
	__u32 threads;
	char comm[WSMON_COMM_LEN];
	struct callstack *stack;
	__u64 longest_ns;
	__u32 alike;
	bool names;
	bool chosen;
	bool given;
};

/** struct taken_list - @nr of them, room for @room */
struct taken_list {
	struct taken *t;
	size_t nr;
	size_t room;
};

/**
 * struct taken_event - a peak or mark
 * @reason:	WSMON_STACK_*
 * @pid:	the target; of marks 0: all
 * @number:	of the peak or mark whose stacks are its
 * @of:		its own number
 */
struct taken_event {
	__u32 reason;
	__u32 pid;
	__u32 number;
	__u32 of;
};

extern const struct table_desc peaks_stack_desc;
extern const struct table_desc peaks_frame_desc;

/** taken_add() - take a record */
void taken_add(struct taken_list *l, struct calls *cs,
	       const struct mappings *ms, const struct wsmon_rec_stack *rec);

/** taken_fold() - after the last one: sort them, merge equal stacks */
void taken_fold(struct taken_list *l, struct calls *cs,
		const struct mappings *ms);

/** taken_any() - is there any for a peak or mark? Context: after taken_fold() */
bool taken_any(const struct taken_list *l, const struct taken_event *event);

/** taken_once() - Return: whether it is asked for the first time for the stacks of an event */
bool taken_once(struct taken_list *l, const struct taken_event *event);

/** taken_print() - print the stacks of a peak or mark for people */
void taken_print(const struct report *rp, const struct taken_list *l,
		 struct calls *cs, const struct taken_event *event);

/** taken_rows() - print the same as rows of peaks_stack_desc */
void taken_rows(const struct report *rp, const struct taken_list *l,
		struct calls *cs, const struct taken_event *event,
		struct table *table);

/** taken_frames() - print the frames of numbered stacks as rows of peaks_frame_desc */
void taken_frames(const struct report *rp, const struct calls *cs);

/** taken_choose() - taken_print_folded() is to print the stacks of a peak or mark */
void taken_choose(struct taken_list *l, const struct taken_event *event);

/** taken_print_folded() - print a line for each thread name and stack, with a count */
void taken_print_folded(const struct report *rp, const struct taken_list *l);

/**
 * struct after - zeroed is empty
 * @rows:	estimates of whole targets within the shortest window
 * @runs:	of which program they are
 * @peak:	@nr peaks without number, by target and time
 */
struct after {
	struct wsmon_wss_rows rows;
	struct sorted runs;
	struct peak *peak;
	size_t nr;
};

/** after_add() - take WSS and TARGET records; others are ignored */
void after_add(struct after *a, const struct wsmon_attrs *attrs,
	       const struct wsmon_record *rec);

/** after_judge() - after the last record: find peaks that are not in @ev */
void after_judge(struct after *a, const struct events *ev,
		 const struct wsmon_attrs *attrs);

/** after_free() - frees what is in it */
void after_free(struct after *a);

#endif /* WSMO_REPORT_PEAKS_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * index.h - makes INDEX records, so that reports of a time read only their part of the file
 */
#ifndef WSMO_RECORD_INDEX_H
#define WSMO_RECORD_INDEX_H

#include <stdbool.h>

#include "libwsmon/wsmon_records.h"

/**
 * struct index - the runs of a file that are not in it yet; zeroed, there are none
 * @run:	the run that records are added to; none if its @bytes are 0
 * @head:	of the INDEX record
 * @runs:	those that ended
 */
struct index {
	struct wsmon_index_run run;
	struct wsmon_rec_index head;
	struct wsmon_index_run runs[WSMON_INDEX_RUNS];
};

/**
 * index_add() - note a record of the file
 * @offset: where it begins
 * Return: whether @head and @runs are full: to be written, see index_written()
 */
bool index_add(struct index *x, const struct wsmon_record *rec, __u64 offset);

/** index_end() - end the last run; Return: whether there are runs to be written */
bool index_end(struct index *x);

/** index_written() - the INDEX record went to @offset: begin a new one, yet without runs */
void index_written(struct index *x, __u64 offset);

#endif /* WSMO_RECORD_INDEX_H */

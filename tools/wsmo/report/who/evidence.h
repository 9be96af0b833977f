/* SPDX-License-Identifier: GPL-2.0 */
/*
 * evidence.h - how sure a share is, by the records that it comes from
 *
 * A share is a ratio of two sums over records. A record counts for the memory it stands for:
 * where that differs, a function whose records stand for much has a wider interval than one
 * with as many that stand for little. Pages are drawn at even distances from a random start,
 * and all that are drawn at one moment are one draw: of memory that lies together it has
 * nearly the same number of pages each time. So what varies is draws, not records.
 */
#ifndef WSMO_WHO_EVIDENCE_H
#define WSMO_WHO_EVIDENCE_H

#include <stddef.h>

/**
 * struct evidence - sums over records, of a row or of all
 * @bytes:	memory that they stand for
 * @squares:	squares of that
 * @draws:	over draws: squares of what their records stand for together
 * @cross:	over draws: that, times what all records of the draw stand for
 */
struct evidence {
	double bytes;
	double squares;
	double draws;
	double cross;
};

/**
 * evidence_add() - add a record
 * @e:		to this
 * @bytes:	memory that it stands for
 * @before:	memory of the records of the same draw that were added before
 * @all:	memory of all records of the draw, whether they are added or not
 */
void evidence_add(struct evidence *e, double bytes, double before, double all);

/**
 * evidence_interval() - the 95 % interval of a share
 * @row:	the records that it is of
 * @all:	all records
 * @draws:	number of draws that they are of
 * @low, @high:	its ends
 */
void evidence_interval(const struct evidence *row, const struct evidence *all, size_t draws,
		       double *low, double *high);

#endif /* WSMO_WHO_EVIDENCE_H */

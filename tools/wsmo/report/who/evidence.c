// SPDX-License-Identifier: GPL-2.0
/*
 * evidence.c - how sure a share is, by the records that it comes from
 */
#include <math.h>

#include "evidence.h"
#include "libwsmon/stats.h"

void evidence_add(struct evidence *e, double bytes, double before, double all)
{
	e->bytes += bytes;
	e->squares += bytes * bytes;
	e->draws += bytes * (bytes + 2 * before);
	e->cross += bytes * all;
}

/* The variance of a sum over records of which each is drawn by itself */
static double of_records(const struct evidence *row, const struct evidence *all, double p)
{
	return (1 - p) * (1 - p) * row->squares + p * p * (all->squares - row->squares);
}

/*
 * Likewise by how much draws differ, of which the variance over @records counts as two more:
 * that few agree may be chance. Student's t is larger than Z if they are few.
 */
static double of_draws(const struct evidence *row, const struct evidence *all, double p,
		       size_t draws, double records)
{
	const double sum = fmax(row->draws - 2 * p * row->cross + p * p * all->draws, 0);
	const double free = draws + 1;

	return (sum * draws + 2 * records) / free * (1 + (Z * Z + 1) / (2 * free));
}

void evidence_interval(const struct evidence *row, const struct evidence *all, size_t draws,
		       double *low, double *high)
{
	const double p = row->bytes / all->bytes, square = all->bytes * all->bytes;
	double n = square / all->squares, records, variance;

	/* rounding is not evidence */
	if (p > 0 && p < 1 - 1e-9) {
		records = of_records(row, all, p);
		/* draws that differ by more than chance explains are of a program that changes */
		variance = draws < 2 ? records :
			   fmin(of_draws(row, all, p, draws, records),
				records * (1 + 2 * sqrt(2.0 / (draws - 1))));
		n = p * (1 - p) * square / variance;
	}
	wilson(p, n, low, high);
}

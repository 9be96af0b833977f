/* SPDX-License-Identifier: GPL-2.0 */
/* hot.h - the options of "wsmo report hot"; the view html sets them, too */
#ifndef WSMO_REPORT_HOT_H
#define WSMO_REPORT_HOT_H

#include "report.h"

#define HOT_TOP		10

/** enum hot_sort - orders of rows */
enum hot_sort {
	HOT_BY_FREQ,
	HOT_BY_SHARE,
	HOT_BY_SIZE,
	HOT_BY_AGE,
	HOT_BY_ADDRESS,
};

/**
 * struct hot_options - the command line
 * @top:	maximum number of rows of each process and class
 * @sort:	order of the rows
 */
struct hot_options {
	__u32 top;
	enum hot_sort sort;
};

#endif /* WSMO_REPORT_HOT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* series.h - internals of the working set sizes of libwsmon.h, and names for their targets */
#ifndef WSMO_SERIES_H
#define WSMO_SERIES_H

#include "libwsmon.h"
#include "sorted.h"

/**
 * struct wss_name - the name of a target, an element for order_u32()
 * @pid:	the target
 * @comm:	name of the target
 * @secondary_mmu: devices access its memory, too; set in a live stream only
 * @gone:	the target ended; set in a live stream only
 */
struct wss_name {
	__u32 pid;
	char comm[WSMON_COMM_LEN];
	bool secondary_mmu;
	bool gone;
};

/**
 * wss_row_get() - get the working set size in a WSS or TOTAL record
 * Return: false for any other record
 */
bool wss_row_get(const struct wsmon_record *rec, struct wsmon_wss_row *row);

#endif /* WSMO_SERIES_H */

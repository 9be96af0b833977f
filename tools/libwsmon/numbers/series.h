/* SPDX-License-Identifier: GPL-2.0 */
/*
 * series.h - names beside the working set sizes of libwsmon.h
 */
#ifndef WSMO_SERIES_H
#define WSMO_SERIES_H

#include "libwsmon/libwsmon.h"
#include "libwsmon/sorted.h"

/** struct wss_name - the name of a target */
struct wss_name {
	__u32 pid;
	char comm[WSMON_COMM_LEN];
	/* of a stream that is read now only */
	bool secondary_mmu;
	bool gone;			/* it ended */
};

/**
 * wss_row_get() - get the working set size in a WSS or TOTAL record
 * Return: false for others
 */
bool wss_row_get(const struct wsmon_record *rec, struct wsmon_wss_row *row);

/** wss_name_compare() - compare struct wss_name by pid */
int wss_name_compare(const void *a, const void *b);

#endif /* WSMO_SERIES_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * table.h - who touched memory, as rows
 */
#ifndef WSMO_WHO_TABLE_H
#define WSMO_WHO_TABLE_H

#include "cli/table.h"
#include "model.h"

/**
 * who_table() - print rows that were added up
 * @by:		what they are of
 * @top:	max. number of rows
 * @code:	in JSON, too, say where functions without a name are
 */
void who_table(FILE *f, enum table_format format, const struct who *w, enum who_by by, size_t top,
	       bool code);

/** who_folded() - print all for flame graphs */
void who_folded(FILE *f, const struct who *w);

#endif /* WSMO_WHO_TABLE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * table.h - what the rules of "wsmo act" did, for it and for "report act"
 */
#ifndef WSMO_ACT_TABLE_H
#define WSMO_ACT_TABLE_H

#include "cli/table.h"
#include "libwsmon/wsmon_records.h"

extern const struct table_desc act_desc;

/** act_row() - print a rule's figures; its text ends within the record */
void act_row(struct table *t, const struct wsmon_rec_act *rec);

#endif /* WSMO_ACT_TABLE_H */

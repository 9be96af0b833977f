/* SPDX-License-Identifier: GPL-2.0 */
/*
 * act_table.h - the table of what "wsmo act" has done
 */
#ifndef WSMO_ACT_TABLE_H
#define WSMO_ACT_TABLE_H

#include "libwsmon/wsmon_records.h"
#include "table.h"

#define ACT_RULES	32	/* max. rules */

/** act_action_name() - Return: "pageout", ...; "action9" for an unknown action */
const char *act_action_name(__u32 action);

/** act_table() - begin the table */
struct table *act_table(FILE *f, enum table_format format);

/** act_row() - print a rule's figures; its text must end within the record */
void act_row(struct table *t, const struct wsmon_rec_act *rec);

#endif /* WSMO_ACT_TABLE_H */

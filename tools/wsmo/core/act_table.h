/* SPDX-License-Identifier: GPL-2.0 */
/* act_table.h - the table of the actions of "wsmo act" */
#ifndef WSMO_ACT_TABLE_H
#define WSMO_ACT_TABLE_H

#include "libwsmon/wsmon_records.h"
#include "table.h"

#define ACT_RULES	32	/* maximum number of rules */

/** act_action_name() - name an action: "pageout", ...; "action9" if unknown */
const char *act_action_name(__u32 action);

/** act_table() - begin the table */
struct table *act_table(FILE *f, enum table_format format);

/** act_row() - print a rule's figures; the text in @rec must be terminated */
void act_row(struct table *t, const struct wsmon_rec_act *rec);

#endif /* WSMO_ACT_TABLE_H */

// SPDX-License-Identifier: GPL-2.0
/* secondary.c - targets with a secondary MMU, as virtual machines have */
#include <stdio.h>

#include "cli.h"
#include "libwsmon/sorted.h"
#include "secondary.h"
#include "text.h"

static struct sorted pids = SORTED(__u32, 65536, order_u32);

bool secondary_add(__u32 pid)
{
	return !secondary_has(pid) && sorted_get(&pids, &pid);
}

void secondary_forget(void)
{
	pids.nr = 0;
}

bool secondary_has(__u32 pid)
{
	return sorted_find(&pids, &pid);
}

const char *secondary_text(char *buf, __u32 pid, const char *comm)
{
	char name[WSMON_COMM_LEN + 1], clean[4 * WSMON_COMM_LEN + 1];

	snprintf(name, sizeof(name), "%.*s", WSMON_COMM_LEN, comm);
	snprintf(buf, SECONDARY_TEXT,
		 "%u %s has a secondary MMU: memory that only its guest or a device accesses reads as idle",
		 pid, text_clean(clean, sizeof(clean), name));
	return buf;
}

void secondary_take(const struct wsmon_record *rec, const char *then)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	char text[SECONDARY_TEXT];

	if (rec->type != WSMON_REC_TARGET ||
	    !(target->flags & WSMON_TARGET_SECONDARY_MMU) ||
	    !secondary_add(target->pid))
		return;
	msg("%s%s", secondary_text(text, target->pid, target->comm), then);
}

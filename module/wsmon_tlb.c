// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_tlb.c - one flush a pass makes the processor set Accessed bits again
 *
 * A processor that has a translation in its TLB uses the page without setting the
 * Accessed bit again. So after bits were cleared, the translations have to go. Until
 * the flush, accesses are not seen; nothing else depends on it, so nobody waits for it.
 */
#include <linux/ktime.h>

#include "wsmon_internal.h"
#include "wsmon_walk.h"

/**
 * wsmon_tlb_finish - flush the TLBs after a pass that cleared bits
 * @pass:	the pass
 *
 * Context: no locks but the monitor's, may sleep.
 */
void wsmon_tlb_finish(struct wsmon_pass *pass)
{
	struct wsmon_session *ss = pass->session;
	u64 start = ktime_get_ns();

	if (!pass->dirty_tlb || !(ss->mon->attrs.flags & WSMON_ATTR_FLUSH_TLB) ||
	    !wsmon_tlb_can_flush())
		return;
	/* the program has ended: nobody uses the mm */
	if (pass->member && wsmon_pid_alive(pass->member->pid))
		wsmon_tlb_flush(ss, pass->member, pass->mm);
	ss->stats.flushes++;
	ss->stats.flush_ns += ktime_get_ns() - start;
}

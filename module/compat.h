/* SPDX-License-Identifier: GPL-2.0 */
/*
 * compat.h - differences between kernel versions, 6.1 to 7.3
 *
 * The only place that looks at LINUX_VERSION_CODE. The code reads as for the
 * newest kernel; what older ones lack is defined here.
 */
#ifndef WSMON_COMPAT_H
#define WSMON_COMPAT_H

#include <linux/percpu.h>
#include <asm/cpufeature.h>
#include <linux/version.h>

/*
 * asm/tlbflush.h has this exported variable for code that is built in only. It is
 * so from 5.13 on.
 */
struct tlb_state_shared {
	bool is_lazy;
};
DECLARE_PER_CPU_SHARED_ALIGNED(struct tlb_state_shared, cpu_tlbstate_shared);

/*
 * From 6.15 on, where the processor can flush by broadcast, one that comes back to an
 * mm with a global ASID does not look at its generation.
 */
#ifdef X86_FEATURE_INVLPGB
#define wsmon_generation_seen()	(!boot_cpu_has(X86_FEATURE_INVLPGB))
#else
#define wsmon_generation_seen()	true
#endif

/* sched_process_exit tells whether the whole group is dead */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define wsmon_exit_probe(name)	\
	static void name(void *data, struct task_struct *task, bool group_dead)
#else
#define wsmon_exit_probe(name)	\
	static void name(void *data, struct task_struct *task)
#endif

#endif /* WSMON_COMPAT_H */

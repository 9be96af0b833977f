/* SPDX-License-Identifier: GPL-2.0 */
/*
 * compat.h - differences between kernel versions, 6.1 to 7.3
 *
 * This is the only file that tests LINUX_VERSION_CODE. The others are written for the
 * newest kernel; what older kernels lack is defined here.
 */
#ifndef WSMON_COMPAT_H
#define WSMON_COMPAT_H

#include <linux/percpu.h>
#include <asm/cpufeature.h>
#include <linux/version.h>

/*
 * The kernel exports this variable, but asm/tlbflush.h declares it for built-in code
 * only. The declaration is correct from 5.13 on.
 */
struct tlb_state_shared {
	bool is_lazy;
};
DECLARE_PER_CPU_SHARED_ALIGNED(struct tlb_state_shared, cpu_tlbstate_shared);

/*
 * Does a processor that switches to an mm check the mm's TLB generation? From 6.15 on
 * it does not if the mm has a global ASID, which only processors with INVLPGB have.
 */
#ifdef X86_FEATURE_INVLPGB
#define wsmon_generation_seen()	(!boot_cpu_has(X86_FEATURE_INVLPGB))
#else
#define wsmon_generation_seen()	true
#endif

/* From 6.16 on sched_process_exit has an argument: is the whole group dead? */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define wsmon_exit_probe(name)	\
	static void name(void *data, struct task_struct *task, bool group_dead)
#else
#define wsmon_exit_probe(name)	\
	static void name(void *data, struct task_struct *task)
#endif

#endif /* WSMON_COMPAT_H */

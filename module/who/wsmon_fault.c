// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_fault.c - the probe at page faults: who touched an armed page
 *
 * The probe runs in the thread that faults, before the kernel handles the fault. It allocates
 * nothing and does not sleep, and waits a few microseconds for the lock of a page table at
 * most. It looks at WSMON_WHO_WAYS keys of each session that has hint faults, one cache line,
 * and writes to the slot of the page it finds. Each slot is written by one probe at most: the
 * one that made it BUSY. Then it repairs the entry if one was armed, also for a process that
 * nobody watches, as a child has copies of armed entries.
 *
 * The probe is attached as long as a session has hint faults: it runs, and has a who_rate.
 */
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/timekeeping.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>

#include "wsmon_who.h"

/* Sessions with hint faults: the probe reads it under RCU */
static LIST_HEAD(fault_sessions);
/* Protects changes of the list, and attaching and detaching the probes */
static DEFINE_MUTEX(fault_lock);

#ifdef WSMON_HINTS
/* A fault by the kernel has the user's instruction that called it. */
static void fault_note(struct wsmon_who *w, struct wsmon_who_slot *s, unsigned long address,
		       struct pt_regs *regs, unsigned long error)
{
	bool user = user_mode(regs);

	s->address = address;
	s->ip = instruction_pointer(user ? regs : task_pt_regs(current));
	s->seen_ns = ktime_get_ns();
	s->tid = task_pid_nr_ns(current, w->ns);
	s->cpu = raw_smp_processor_id();
	s->flags = wsmon_fault_flags(error) | (user ? 0 : WSMON_WHO_KERNEL);
	/* another thread may be changing it */
	data_race(memcpy(s->comm, current->comm, sizeof(s->comm)));
	s->comm[sizeof(s->comm) - 1] = '\0';
}

static void fault_find(struct wsmon_who *w, struct mm_struct *mm, unsigned long address,
		       struct pt_regs *regs, unsigned long error)
{
	u64 vpn = address >> PAGE_SHIFT, key = wsmon_who_key(mm, vpn);
	u32 i = wsmon_who_place(key), end = i + WSMON_WHO_WAYS;

	for (; i < end; i++) {
		struct wsmon_who_slot *s = &w->slots[i];

		if (READ_ONCE(w->keys[i]) != key ||
		    atomic_cmpxchg(&s->state, WSMON_WHO_ARMED, WSMON_WHO_BUSY) !=
		    WSMON_WHO_ARMED)
			continue;
		/* it may be in use for another page since the key was read */
		if (s->mm != mm || s->vpn != vpn) {
			atomic_set_release(&s->state, WSMON_WHO_ARMED);
			continue;
		}
		fault_note(w, s, address, regs, error);
		atomic_set_release(&s->state, WSMON_WHO_SEEN);
		return;
	}
}

/*
 * The kernel does not handle faults in interrupts, or where they are disabled: then the
 * code that faulted does without, or tries again.
 */
static void fault_probe(void *data, unsigned long address, struct pt_regs *regs,
			unsigned long error)
{
	struct mm_struct *mm = current->mm;
	struct wsmon_who *w;

	if (!mm || !wsmon_fault_absent(error) || address >= TASK_SIZE_MAX)
		return;
	if (!user_mode(regs) && (in_nmi() || in_hardirq() || in_serving_softirq() ||
				 pagefault_disabled() || current->flags & PF_KTHREAD))
		return;
	/* newer kernels may preempt a probe; kwsmond spins while it has a slot BUSY */
	preempt_disable();
	rcu_read_lock();
	list_for_each_entry_rcu(w, &fault_sessions, node)
		fault_find(w, mm, address, regs, error);
	rcu_read_unlock();
	preempt_enable();
	wsmon_hint_repair(mm, address);
}
#else
static void fault_probe(void *data, unsigned long address, struct pt_regs *regs,
			unsigned long error)
{
}
#endif

/* The tracepoints */
static struct {
	const char *name;
	struct tracepoint *tp;
	bool attached;
} faults[] = {
	{ .name = "page_fault_user" },
	{ .name = "page_fault_kernel" },
};

static void fault_find_tracepoint(struct tracepoint *tp, void *data)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (!strcmp(tp->name, faults[i].name))
			faults[i].tp = tp;
	}
}

static void fault_detach(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (faults[i].attached)
			tracepoint_probe_unregister(faults[i].tp, fault_probe, NULL);
		faults[i].attached = false;
	}
	tracepoint_synchronize_unregister();
	synchronize_rcu();
}

static int fault_attach(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		err = tracepoint_probe_register(faults[i].tp, fault_probe, NULL);
		if (err) {
			fault_detach();
			return err;
		}
		faults[i].attached = true;
	}
	return 0;
}

/** wsmon_fault_possible - tell whether the kernel has the tracepoints */
bool wsmon_fault_possible(void)
{
	bool found = true;
	unsigned int i;

	mutex_lock(&fault_lock);
	for_each_kernel_tracepoint(fault_find_tracepoint, NULL);
	for (i = 0; i < ARRAY_SIZE(faults); i++)
		found &= !!faults[i].tp;
	mutex_unlock(&fault_lock);
	return found;
}

/**
 * wsmon_fault_begin - have the probe look at the slots of a session, if it does not yet
 * @w:	the session's
 *
 * Context: may sleep; wsmon_fault_possible() is true.
 * Return: 0 or -ENOMEM.
 */
int wsmon_fault_begin(struct wsmon_who *w)
{
	int err = 0;

	mutex_lock(&fault_lock);
	if (w->watched)
		goto out;
	if (list_empty(&fault_sessions))
		err = fault_attach();
	if (err)
		goto out;
	list_add_rcu(&w->node, &fault_sessions);
	w->watched = true;
out:
	mutex_unlock(&fault_lock);
	return err;
}

/**
 * wsmon_fault_end - undo wsmon_fault_begin(), if that was called
 * @w:	the session's; no probe looks at it any more afterwards
 *
 * Context: may sleep; waits for all processors, so no monitor's lock is held.
 */
void wsmon_fault_end(struct wsmon_who *w)
{
	mutex_lock(&fault_lock);
	if (!w->watched)
		goto out;
	w->watched = false;
	list_del_rcu(&w->node);
	/* either waits for probes that look at it */
	if (list_empty(&fault_sessions))
		fault_detach();
	else
		synchronize_rcu();
out:
	mutex_unlock(&fault_lock);
}

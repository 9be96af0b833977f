// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_probes.c - probes at fork, exec and exit
 *
 * They run in the context of the process, and do not sleep. Without CONFIG_TRACEPOINTS only
 * rounds notice new programs, and no child is followed.
 */
#include <linux/sched/signal.h>
#include <linux/tracepoint.h>
#include <trace/events/sched.h>

#include "../wsmon_internal.h"

/* Runs at the end of fork: the child is complete, but has not begun to run. */
static void fork_probe(void *data, struct task_struct *parent, struct task_struct *child)
{
	if (!same_thread_group(parent, child) && child->mm &&
	    (wsmon_members_known(parent) || wsmon_members_in_cgroups(child)))
		wsmon_members_forked(parent, child);
}

/* Runs in exec, before it leaves the old mm: it cannot fail any more, or kills the process. */
static void prepare_exec_probe(void *data, struct task_struct *task, struct linux_binprm *bprm)
{
	if (wsmon_members_known(task))
		wsmon_members_leaving(task);
}

/* Runs at the end of exec: current has its new mm, and its new name. */
static void exec_probe(void *data, struct task_struct *task, pid_t old_pid,
		       struct linux_binprm *bprm)
{
	if (wsmon_members_known(task) || wsmon_members_in_cgroups(task))
		wsmon_members_executed(task);
}

/* Before 6.16 the thread has left its mm; from 6.16 on it is about to. */
wsmon_exit_probe(exit_probe)
{
	if (!atomic_read(&task->signal->live) && wsmon_members_known(task))
		wsmon_members_ended(task);
}

/* The tracepoints */
static struct probe {
	const char *name;
	void *function;
	struct tracepoint *tp;
} probes[] = {
	{ "sched_process_fork", fork_probe },
	{ "sched_prepare_exec", prepare_exec_probe },
	{ "sched_process_exec", exec_probe },
	{ "sched_process_exit", exit_probe },
};

static void probes_find_tracepoint(struct tracepoint *tp, void *data)
{
	struct probe *p = data;

	if (!strcmp(tp->name, p->name))
		p->tp = tp;
}

/** wsmon_probes_exit - detach the probes, and wait for those that run */
void wsmon_probes_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (probes[i].tp)
			tracepoint_probe_unregister(probes[i].tp, probes[i].function, NULL);
	}
	tracepoint_synchronize_unregister();
}

/**
 * wsmon_probes_init - attach the probes
 *
 * Return: 0 or -ENOMEM.
 */
int wsmon_probes_init(void)
{
	unsigned int i;
	int err;

	/* check the arguments against those of this kernel at compile time */
	check_trace_callback_type_sched_process_fork(fork_probe);
	wsmon_check_prepare_exec(prepare_exec_probe);
	check_trace_callback_type_sched_process_exec(exec_probe);
	check_trace_callback_type_sched_process_exit(exit_probe);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		for_each_kernel_tracepoint(probes_find_tracepoint, &probes[i]);
		if (!probes[i].tp)
			continue;
		err = tracepoint_probe_register(probes[i].tp, probes[i].function, NULL);
		if (err) {
			probes[i].tp = NULL;
			wsmon_probes_exit();
			return err;
		}
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_sample.c - prints the working set size of a process to the kernel's log
 *
 *	make samples
 *	insmod wsmon.ko; insmod wsmon_sample.ko pid=PID [aggr_us=US]
 *
 * It stops when it is unloaded, or the process is gone.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/pid.h>

#include <wsmon_kernel.h>

static int pid;
module_param(pid, int, 0444);
MODULE_PARM_DESC(pid, "the process, in the pid namespace of insmod");

static unsigned int aggr_us = 1000000;
module_param(aggr_us, uint, 0444);
MODULE_PARM_DESC(aggr_us, "microseconds from one line to the next");

static struct wsmon_client *session;

/* Called by wsmon for each record, in its thread */
static void sample_record(void *private, const struct wsmon_record *rec)
{
	const struct wsmon_rec_wss *wss = (const void *)rec;
	const struct wsmon_rec_peak *peak = (const void *)rec;
	const struct wsmon_rec_exit *gone = (const void *)rec;

	switch (rec->type) {
	case WSMON_REC_WSS:
		if (wss->class == WSMON_CLASS_ALL)
			pr_info("pid %u: %llu KiB in use (%llu to %llu) of %llu KiB\n",
				wss->pid, wss->bytes >> 10, wss->low >> 10, wss->high >> 10,
				wss->mapped >> 10);
		break;
	case WSMON_REC_PEAK:
		if (peak->group == WSMON_PEAK_ALL)
			pr_info("pid %u: peak %u %s\n", peak->pid, peak->number,
				peak->edge == WSMON_PEAK_START ? "begins" : "ends");
		break;
	case WSMON_REC_EXIT:
		pr_info("pid %u: gone\n", gone->pid);
		break;
	default:
		break;
	}
}

static int __init sample_init(void)
{
	struct pid *target = find_get_pid(pid);
	char attrs[128];
	int err;

	if (!target)
		return -ESRCH;
	snprintf(attrs, sizeof(attrs), "sample_us=%u aggr_us=%u update_us=%u window_us=%u",
		 aggr_us / 10, aggr_us, aggr_us, aggr_us);
	session = wsmon_session_create(attrs, sample_record, NULL);
	if (IS_ERR(session)) {
		put_pid(target);
		return PTR_ERR(session);
	}
	err = wsmon_session_add(session, target);
	put_pid(target);
	if (!err)
		err = wsmon_session_start(session);
	if (err)
		wsmon_session_destroy(session);
	return err;
}

static void __exit sample_exit(void)
{
	/* sample_record() does not run any more when this returns */
	wsmon_session_destroy(session);
}

module_init(sample_init);
module_exit(sample_exit);

MODULE_DESCRIPTION("Prints the working set size of a process");
MODULE_AUTHOR("The wsmon authors");
MODULE_LICENSE("GPL");

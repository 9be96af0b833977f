/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_trace.h - tracepoints wsmon:*, at the end of an aggregation interval
 *
 * Pids are those of the initial pid namespace, which tracers use. The tracer adds the
 * time of an event. The task of an event is kwsmond, not the target.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM wsmon

#if !defined(WSMON_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define WSMON_TRACE_H

#include <linux/tracepoint.h>

/* format files have numbers in place of enum names: tools that parse these files need them */
#define WSMON_TRACE_CLASS(id, name)	TRACE_DEFINE_ENUM(WSMON_CLASS_##id);
#define WSMON_TRACE_GROUP(id, name)	TRACE_DEFINE_ENUM(WSMON_PEAK_##id);
WSMON_CLASSES(WSMON_TRACE_CLASS)
WSMON_PEAK_GROUP_LIST(WSMON_TRACE_GROUP)

/* a list's elements begin with a comma, as none may end it */
#define WSMON_SHOW_CLASS(id, name)	, { WSMON_CLASS_##id, name }
#define WSMON_SHOW_GROUP(id, name)	, { WSMON_PEAK_##id, name }
#define show_class(class)							\
	__print_symbolic(class, { 255, "?" } WSMON_CLASSES(WSMON_SHOW_CLASS))
#define show_group(group)							\
	__print_symbolic(group, { 255, "?" } WSMON_PEAK_GROUP_LIST(WSMON_SHOW_GROUP))

/* The end of a target's aggregation interval: how much was sampled */
TRACE_EVENT(wsmon_snapshot,
	    TP_PROTO(pid_t pid, u64 interval_ns, u32 rounds, u32 regions, u64 mapped),
	    TP_ARGS(pid, interval_ns, rounds, regions, mapped),
	    TP_STRUCT__entry(__field(u64, interval_ns)
			     __field(u64, mapped)
			     __field(pid_t, pid)
			     __field(u32, rounds)
			     __field(u32, regions)),
	    TP_fast_assign(__entry->interval_ns = interval_ns;
			   __entry->mapped = mapped;
			   __entry->pid = pid;
			   __entry->rounds = rounds;
			   __entry->regions = regions;),
	    TP_printk("pid=%d interval_ns=%llu rounds=%u regions=%u mapped=%llu",
		      __entry->pid, __entry->interval_ns, __entry->rounds,
		      __entry->regions, __entry->mapped)
);

/* A working set size: a WSS record */
TRACE_EVENT(wsmon_wss,
	    TP_PROTO(pid_t pid, u32 class, u64 window_us, const struct wsmon_wss *w),
	    TP_ARGS(pid, class, window_us, w),
	    TP_STRUCT__entry(__field(u64, window_us)
			     __field(u64, bytes)
			     __field(u64, low)
			     __field(u64, high)
			     __field(u64, mapped)
			     __field(pid_t, pid)
			     __field(u32, class)),
	    TP_fast_assign(__entry->window_us = window_us;
			   __entry->bytes = w->pages << PAGE_SHIFT;
			   __entry->low = w->low << PAGE_SHIFT;
			   __entry->high = w->high << PAGE_SHIFT;
			   __entry->mapped = w->mapped << PAGE_SHIFT;
			   __entry->pid = pid;
			   __entry->class = class;),
	    TP_printk("pid=%d class=%s window_us=%llu bytes=%llu low=%llu high=%llu mapped=%llu",
		      __entry->pid, show_class(__entry->class), __entry->window_us,
		      __entry->bytes, __entry->low, __entry->high, __entry->mapped)
);

/* The start or end of a peak: a PEAK record */
TRACE_EVENT(wsmon_peak,
	    TP_PROTO(pid_t pid, const struct wsmon_rec_peak *p),
	    TP_ARGS(pid, p),
	    TP_STRUCT__entry(__field(u64, start_ns)
			     __field(u64, end_ns)
			     __field(u64, bytes)
			     __field(u64, height)
			     __field(u64, baseline)
			     __field(u64, threshold)
			     __field(pid_t, pid)
			     __field(u32, group)
			     __field(u32, edge)
			     __field(s32, sign)
			     __field(u32, number)),
	    TP_fast_assign(__entry->start_ns = p->start_ns;
			   __entry->end_ns = p->end_ns;
			   __entry->bytes = p->bytes;
			   __entry->height = p->height;
			   __entry->baseline = p->baseline;
			   __entry->threshold = p->threshold;
			   __entry->pid = pid;
			   __entry->group = p->group;
			   __entry->edge = p->edge;
			   __entry->sign = p->sign;
			   __entry->number = p->number;),
	    TP_printk("pid=%d group=%s number=%u edge=%s sign=%d start_ns=%llu end_ns=%llu bytes=%llu height=%llu baseline=%llu threshold=%llu",
		      __entry->pid, show_group(__entry->group), __entry->number,
		      __print_symbolic(__entry->edge, { WSMON_PEAK_START, "start" },
				       { WSMON_PEAK_END, "end" }),
		      __entry->sign, __entry->start_ns, __entry->end_ns,
		      __entry->bytes, __entry->height, __entry->baseline,
		      __entry->threshold)
);

#endif /* WSMON_TRACE_H */

/* Kbuild has the directory in the include path */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE wsmon_trace
#include <trace/define_trace.h>

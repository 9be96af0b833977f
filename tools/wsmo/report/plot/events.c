// SPDX-License-Identifier: GPL-2.0
/*
 * events.c - peaks and marks in a picture
 */
#include "cli/cli.h"
#include "events.h"

/* More of them would not be distinguishable */
#define LABELS_MAX	100

static double at(__u64 time_ns, __u64 zero_ns, double per_time)
{
	return (__s64)(time_ns - zero_ns) / per_time;
}

/*
 * The same time may be a peak of the whole and of a part: one band, one number. Points of the
 * curve are at the end of their intervals: the band begins and ends between two of them.
 */
static void plot_peaks(struct plot *p, const struct events *ev, __u64 zero_ns,
		       double per_time)
{
	__u64 last_ns = 0, half = ev->interval_ns / 2;
	const struct peak *peak;
	size_t i, n = 0;

	for (i = 0; (peak = events_peak_at(ev, i)) && n < LABELS_MAX; i++) {
		double x = at(peak->start_ns - half, zero_ns, per_time);

		if (peak->start_ns == last_ns)
			continue;
		last_ns = peak->start_ns;
		n++;
		if (peak->end_ns)
			plot_printf(p, "set object rectangle from %.9g, graph 0 to %.9g, graph 1 behind fc rgb '#%s' fs solid noborder\n",
				    x, at(peak->end_ns - half, zero_ns, per_time),
				    peak->sign < 0 ? "e4eefa" : "fdeed8");
		plot_printf(p, "set label \"%s %u\" at %.9g, graph 0 offset 0.3,0.7 front rotate by 90 tc rgb '#%s'\n",
			    peak_word(peak), peak->number, x, peak->sign < 0 ? "446688" : "885500");
	}
}

void plot_events(struct plot *p, const struct events *ev, __u64 zero_ns,
		 double per_time)
{
	char text[PLOT_TEXT], label[PLOT_TEXT / 4];
	size_t i;

	plot_peaks(p, ev, zero_ns, per_time);
	for (i = 0; i < ev->nr_marks && i < LABELS_MAX; i++) {
		double x = at(ev->mark[i].time_ns, zero_ns, per_time);

		snprintf(label, sizeof(label), "%u %.40s", ev->mark[i].number,
			 ev->mark[i].text);
		plot_printf(p, "set arrow from %.9g, graph 0 to %.9g, graph 1 nohead front dt 3 lc rgb '#555555'\n",
			    x, x);
		plot_printf(p, "set label %s at %.9g, graph 1 offset 0.3,-0.7 front rotate by 90 right tc rgb '#555555'\n",
			    plot_text(text, label), x);
	}
}

/* @row: of names above the map, so that those of peaks and marks do not meet */
static void plot_line(struct plot *p, const char *what, __u32 number, double x,
		      unsigned int row)
{
	plot_printf(p, "set arrow from %.9g, graph 0 to %.9g, graph 1 nohead front dt 2 lc rgb '#ff5533'\n",
		    x, x);
	plot_printf(p, "set label '%s %u' at %.9g, graph 1 offset 0,%g center font ',8' tc rgb '#cc3311'\n",
		    what, number, x, 0.5 + 0.75 * row);
}

void plot_events_over(struct plot *p, const struct events *ev, __u32 pid,
		      __u64 zero_ns, double per_time)
{
	const struct peak *peak;
	__u64 last_ns = 0;
	size_t i, n = 0;

	for (i = 0; (peak = events_peak_at(ev, i)) && n < LABELS_MAX; i++) {
		if (peak->pid != pid || peak->start_ns == last_ns)
			continue;
		last_ns = peak->start_ns;
		n++;
		plot_line(p, peak_word(peak), peak->number,
			  at(peak->start_ns - ev->interval_ns / 2, zero_ns, per_time), 0);
	}
	for (i = 0; i < ev->nr_marks && i < LABELS_MAX; i++)
		plot_line(p, "mark", ev->mark[i].number,
			  at(ev->mark[i].time_ns, zero_ns, per_time), 1);
}

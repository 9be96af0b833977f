// SPDX-License-Identifier: GPL-2.0
/* plot.c - pictures by gnuplot */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/cli.h"
#include "core/clock.h"
#include "core/outfile.h"
#include "core/text.h"
#include "core/units.h"
#include "asset.h"
#include "plot.h"

#define NO_GNUPLOT	127

ASSET(lines_gp, "tools/wsmo/views/lines.gp");

static const struct {
	const char *suffix;
	const char *terminal;
	double unit;	/* pixels for each unit of the terminal's size */
} kinds[] = {
	{ ".png", "pngcairo noenhanced font 'DejaVu Sans,9'", 1 },
	{ ".svg", "svg noenhanced font 'DejaVu Sans,12' background 'white'", 1 },
	{ ".pdf", "pdfcairo noenhanced font 'DejaVu Sans,9'", 96 },
};

static int kind_of(const char *file)
{
	const char *dot = strrchr(file, '.');
	size_t i;

	for (i = 0; dot && i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(dot, kinds[i].suffix))
			return i;
	return -1;
}

bool plot_can(const char *file)
{
	return kind_of(file) >= 0;
}

int plot_open(struct plot *p, const struct picture *picture)
{
	unsigned int width = picture->width ? picture->width : PLOT_WIDTH;
	unsigned int height = picture->height ? picture->height : PLOT_HEIGHT;
	int kind = kind_of(picture->file);

	p->file = picture->file;
	p->script = tmpfile();
	if (!p->script) {
		msg("cannot make a temporary file: %s", strerror(errno));
		return -1;
	}
	plot_printf(p, "set encoding utf8\nset terminal %s size %g,%g\n", kinds[kind].terminal,
		    width / kinds[kind].unit, height / kinds[kind].unit);
	return 0;
}

void plot_printf(struct plot *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(p->script, fmt, ap);
	va_end(ap);
}

static const char *quote(char *buf, const char *text, bool format)
{
	static const char mark[] = "\xe2\x80\x99";
	char clean[PLOT_TEXT / (sizeof(mark) - 1) - 1];
	const char *s = text_clean(clean, sizeof(clean), text);
	char *out = buf;

	*out++ = '\'';
	for (; *s; s++) {
		/* a quote would end the text, a backquote would run a shell */
		if (*s == '\'' || *s == '`')
			out = stpcpy(out, mark);
		else
			*out++ = *s;
		if (format && *s == '%')
			*out++ = '%';
	}
	strcpy(out, "'");
	return buf;
}

const char *plot_text(char *buf, const char *text)
{
	return quote(buf, text, false);
}

const char *plot_name(char *buf, const char *text, size_t chars)
{
	char clean[PLOT_TEXT];
	size_t i, n = 0;

	text_clean(clean, sizeof(clean), text);
	for (i = 0; clean[i]; i++) {
		/* count and keep whole characters of UTF-8 */
		if ((clean[i] & 0xc0) == 0x80)
			continue;
		if (n++ == chars) {
			strcpy(clean + i, "~");
			break;
		}
	}
	return plot_text(buf, clean);
}

const char *plot_tic(char *buf, const char *text)
{
	return quote(buf, text, true);
}

double plot_time_unit(__u64 span_ns, const char **name)
{
	__u64 s = span_ns / NSEC_PER_SEC;

	*name = s < 600 ? "s" : s < 7200 ? "min" : "h";
	return NSEC_PER_SEC * (s < 600 ? 1.0 : s < 7200 ? 60.0 : 3600.0);
}

double plot_size_unit(double max, const char **name)
{
	static const char * const names[] = { "KiB", "MiB", "GiB", "TiB" };
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(names) && max >= 1ULL << (10 * (i + 2)))
		i++;
	*name = names[i];
	return 1ULL << (10 * (i + 1));
}

void plot_lines(struct plot *p, size_t lines, const char *dots, size_t others)
{
	plot_printf(p, "lines = %zu\ndots = '%s'\nothers = %zu\n%s", lines, dots, others, lines_gp);
}

/* gnuplot hangs if for this long it neither prints nor uses CPU time */
#define QUIET		(20 * NSEC_PER_SEC)

/* Limits of gnuplot's CPU time, and of the bytes of a picture */
#define CPU_SECONDS	600
#define PICTURE_MAX	(1ULL << 30)

/* Copies bytes from a pipe to a file. Return: number of bytes; 0 at the end of the pipe */
static ssize_t pass_on(int from, int to, int *err)
{
	char buf[65536];
	ssize_t n, put, done;

	while ((n = read(from, buf, sizeof(buf))) < 0 && errno == EINTR)
		;
	if (n < 0)
		*err = errno;
	/* after a failed write continue to read, so that gnuplot can end */
	for (done = 0; done < n && !*err; done += put) {
		put = write(to, buf + done, n - done);
		if (put < 0 && errno != EINTR)
			*err = errno;
		if (put < 0)
			put = 0;
	}
	return n;
}

static __u64 cpu_of(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/*
 * Copy gnuplot's output, because gnuplot does not notice failed writes. Return when gnuplot has
 * ended, even if another process still has the pipe open.
 * Return: gnuplot's wait status, or -1; @err gets an errno if the picture was not written
 */
static int copy(pid_t pid, int from, int to, int *err)
{
	struct pollfd fd = { .fd = from, .events = POLLIN };
	__u64 cpu = 0, used, bytes = 0, active_ns = clock_now();
	bool ended = false;
	int status;
	pid_t got;
	ssize_t n;

	for (;;) {
		/* after the end of the output (fd.fd < 0), only wait for gnuplot to end */
		if (poll(&fd, 1, ended ? 0 : fd.fd < 0 ? 10 : 1000) > 0) {
			n = pass_on(from, to, err);
			bytes += n > 0 ? n : 0;
			active_ns = clock_now();
			if (n > 0 && bytes <= PICTURE_MAX)
				continue;
			fd.fd = -1;
		}
		if (ended)
			break;
		got = waitpid(pid, &status, WNOHANG);
		if (got < 0)
			return -1;
		ended = got == pid;
		used = ended ? cpu : cpu_of(pid);
		if (used > cpu)
			active_ns = clock_now();
		cpu = used;
		if (ended || (bytes <= PICTURE_MAX && clock_now() - active_ns < QUIET))
			continue;
		*err = bytes > PICTURE_MAX ? EFBIG : ETIMEDOUT;
		kill(pid, SIGKILL);
	}
	if (!bytes && !status)
		*err = ENODATA;
	return status;
}

/* Run gnuplot. Return: its wait status, or -1; @err gets 0, or the errno of a write */
static int run(FILE *script, int picture, int *err)
{
	const struct rlimit limit = { CPU_SECONDS, CPU_SECONDS };
	int status = -1, out[2];
	pid_t pid;

	if (pipe2(out, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		/* the script is UTF-8 in any locale */
		setenv("LC_ALL", "C.UTF-8", 1);
		setrlimit(RLIMIT_CPU, &limit);
		if (dup2(fileno(script), STDIN_FILENO) >= 0 && dup2(out[1], STDOUT_FILENO) >= 0)
			execlp("gnuplot", "gnuplot", "-d", (char *)NULL);
		_exit(NO_GNUPLOT);
	}
	close(out[1]);
	if (pid > 0)
		status = copy(pid, out[0], picture, err);
	close(out[0]);
	return status;
}

int plot_close(struct plot *p)
{
	struct outfile picture;
	int status = -1, res = -1, err = 0;

	if (outfile_open(&picture, p->file, 0666)) {
		fclose(p->script);
		return -1;
	}
	if (!fflush(p->script) && !ferror(p->script) && !fseek(p->script, 0, SEEK_SET))
		status = run(p->script, picture.fd, &err);
	if (status == -1)
		msg("%s: cannot be drawn: %s", p->file, strerror(errno));
	else if (WIFEXITED(status) && WEXITSTATUS(status) == NO_GNUPLOT)
		msg("%s: pictures need gnuplot (apt install gnuplot-nox)",
		    p->file);
	else if (err == ETIMEDOUT)
		msg("%s: gnuplot hangs: it was killed", p->file);
	else if (err == ENODATA)
		msg("%s: gnuplot drew nothing", p->file);
	else if (status)
		msg("%s: gnuplot failed", p->file);
	else
		res = outfile_finish(&picture, err, true);
	outfile_close(&picture);
	fclose(p->script);
	return res;
}

/*
 * Peaks and marks in a picture
 */

/* More labels could not be told apart */
#define LABELS_MAX	100

static double at(__u64 time_ns, __u64 zero_ns, double per_time)
{
	return (__s64)(time_ns - zero_ns) / per_time;
}

/*
 * Draw a band and a label for each peak. If several peaks begin in one interval, draw only the
 * first. Points of a series are at the ends of intervals; a band begins and ends halfway between.
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

/* @row: row of labels above the map. Peaks and marks have different rows, so they do not overlap */
static void plot_over(struct plot *p, const char *what, __u32 number, double x,
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
		plot_over(p, peak_word(peak), peak->number,
			  at(peak->start_ns - ev->interval_ns / 2, zero_ns, per_time), 0);
	}
	for (i = 0; i < ev->nr_marks && i < LABELS_MAX; i++)
		plot_over(p, "mark", ev->mark[i].number,
			  at(ev->mark[i].time_ns, zero_ns, per_time), 1);
}

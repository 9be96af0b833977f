// SPDX-License-Identifier: GPL-2.0
/*
 * plot.c - pictures by gnuplot
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "cli/units.h"
#include "plot.h"

#define NO_GNUPLOT	127

const char * const plot_colors[PLOT_COLORS] = {
	"0072b2", "d55e00", "009e73", "cc79a7", "e69f00", "56b4e9", "000000",
	"8c6d1f",
};

static const struct {
	const char *suffix;
	const char *terminal;
	double unit;	/* pixels in what the terminal's size is given in */
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

const char *plot_text(char *buf, const char *text)
{
	static const char quote[] = "\xe2\x80\x99";
	char clean[PLOT_TEXT / (sizeof(quote) - 1) - 1];
	const char *s = text_clean(clean, sizeof(clean), text);
	char *out = buf;

	*out++ = '\'';
	for (; *s; s++) {
		/* it would end the text, or have a shell run what follows */
		if (*s == '\'' || *s == '`')
			out = stpcpy(out, quote);
		else
			*out++ = *s;
	}
	strcpy(out, "'");
	return buf;
}

double plot_time_unit(__u64 span_ns, const char **name)
{
	__u64 s = span_ns / NSEC_PER_SEC;

	*name = s < 600 ? "s" : s < 7200 ? "min" : "h";
	return NSEC_PER_SEC * (s < 600 ? 1.0 : s < 7200 ? 60.0 : 3600.0);
}

/* Return: gnuplot's wait status, or -1 */
static int run(FILE *script, FILE *picture)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return -1;
	if (!pid) {
		if (dup2(fileno(script), STDIN_FILENO) >= 0 &&
		    dup2(fileno(picture), STDOUT_FILENO) >= 0)
			execlp("gnuplot", "gnuplot", "-d", (char *)NULL);
		_exit(NO_GNUPLOT);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

static int copy(FILE *from, const char *file)
{
	FILE *to = fopen(file, "wbe");
	char buf[65536];
	size_t n;
	int err = 0;

	if (!to) {
		msg("%s: cannot be written: %s", file, strerror(errno));
		return -1;
	}
	rewind(from);
	while ((n = fread(buf, 1, sizeof(buf), from)) > 0)
		if (fwrite(buf, 1, n, to) != n)
			break;
	if (ferror(from) || ferror(to))
		err = errno;
	if (fclose(to) && !err)
		err = errno;
	if (!err)
		return 0;
	msg("%s: cannot be written: %s", file, strerror(err));
	return -1;
}

int plot_close(struct plot *p)
{
	FILE *picture = tmpfile();
	int status = -1, res = -1;

	if (picture && !fflush(p->script) && !ferror(p->script) &&
	    !fseek(p->script, 0, SEEK_SET))
		status = run(p->script, picture);
	if (status == -1)
		msg("%s: cannot be drawn: %s", p->file, strerror(errno));
	else if (WIFEXITED(status) && WEXITSTATUS(status) == NO_GNUPLOT)
		msg("%s: pictures need gnuplot (apt install gnuplot-nox)",
		    p->file);
	else if (status)
		msg("%s: gnuplot failed", p->file);
	else
		res = copy(picture, p->file);
	if (picture)
		fclose(picture);
	fclose(p->script);
	return res;
}

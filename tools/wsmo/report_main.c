// SPDX-License-Identifier: GPL-2.0
/*
 * report_main.c - main() of what reads: "wsmo report", "act", "export", "check"
 */
#include <locale.h>
#include <string.h>

#include "wsmo.h"

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
} verbs[] = {
	{ "act", cmd_act },
	{ "export", cmd_export },
	{ "check", cmd_check },
	{ "report", cmd_report },
};

int main(int argc, char **argv)
{
	size_t i;

	begin_program();
	setlocale(LC_CTYPE, "");
	/* by hand, as wsmo-report, it is "report" */
	for (i = 0; i < ARRAY_SIZE(verbs) - 1; i++)
		if (argc && !strcmp(argv[0], verbs[i].name))
			break;
	return end_program(verbs[i].run(argc, argv));
}

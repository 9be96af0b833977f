// SPDX-License-Identifier: GPL-2.0
/*
 * top_main.c - main() of what "wsmo top" executes
 */
#include <locale.h>

#include "wsmo.h"

int main(int argc, char **argv)
{
	begin_program();
	setlocale(LC_CTYPE, "");
	return end_program(cmd_top(argc, argv));
}

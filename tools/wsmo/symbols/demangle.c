// SPDX-License-Identifier: GPL-2.0
/*
 * demangle.c - names of functions as in the source, by libiberty, whose header does
 * not go with cli.h
 */
#include <libiberty/demangle.h>

#include "demangle.h"

char *demangle(const char *symbol)
{
	return cplus_demangle(symbol, DMGL_AUTO | DMGL_NO_OPTS);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * libdw.c - elfutils' libdw, loaded when it is needed for the first time
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "libdw.h"

#define LIBDW_SONAME	"libdw.so.1"

static const struct {
	const char *name;
	size_t offset;
} functions[] = {
#define LIBDW_ENTRY(f)	{ #f, offsetof(struct libdw, f) },
	LIBDW_FUNCTIONS(LIBDW_ENTRY)
};

static bool find_functions(void *lib, struct libdw *dw)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		void **f = (void **)((char *)dw + functions[i].offset);

		*f = dlsym(lib, functions[i].name);
		if (!*f)
			return false;
	}
	return true;
}

const struct libdw *libdw_load(void)
{
	static struct libdw dw;
	static bool tried, there;
	void *lib;

	if (tried)
		return there ? &dw : NULL;
	tried = true;
	/* debug information is taken from this machine, not from the network */
	unsetenv("DEBUGINFOD_URLS");
	lib = dlopen(LIBDW_SONAME, RTLD_NOW | RTLD_LOCAL);
	there = lib && find_functions(lib, &dw);
	if (!there)
		msg("no names of functions and objects: %s; install libdw1", dlerror());
	return there ? &dw : NULL;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libdw.h - elfutils' libdw, loaded when it is needed for the first time
 *
 * With all it needs it takes a third of what record may take; few who run wsmo
 * ask for names.
 */
#ifndef WSMO_LIBDW_H
#define WSMO_LIBDW_H

#include <elfutils/libdwfl.h>

/* Its functions in use: struct libdw has a pointer of the same name to each */
#define LIBDW_FUNCTIONS(f)		\
	f(dwarf_attr_integrate)		\
	f(dwarf_child)			\
	f(dwarf_diename)		\
	f(dwarf_filesrc)		\
	f(dwarf_formudata)		\
	f(dwarf_getsrcfiles)		\
	f(dwarf_haspc)			\
	f(dwarf_siblingof)		\
	f(dwarf_tag)			\
	f(dwfl_begin)			\
	f(dwfl_end)			\
	f(dwfl_lineinfo)		\
	f(dwfl_module_addrdie)		\
	f(dwfl_module_build_id)		\
	f(dwfl_module_getsrc)		\
	f(dwfl_module_getsym_info)	\
	f(dwfl_module_getsymtab)	\
	f(dwfl_module_info)		\
	f(dwfl_offline_section_address)	\
	f(dwfl_report_elf)		\
	f(dwfl_report_end)		\
	f(dwfl_standard_find_debuginfo)

#define LIBDW_POINTER(name) __typeof__(name) *name;

struct libdw {
	LIBDW_FUNCTIONS(LIBDW_POINTER)
};

/**
 * libdw_load() - load it, if it is not loaded yet
 * Return: its functions; NULL, after a message the first time, if it is not there
 */
const struct libdw *libdw_load(void);

#endif /* WSMO_LIBDW_H */

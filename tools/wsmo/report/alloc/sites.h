/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sites.h - where a program allocates: stacks, or the calls in them that say most
 */
#ifndef WSMO_ALLOC_SITES_H
#define WSMO_ALLOC_SITES_H

#include <stdbool.h>

#include "estimate.h"
#include "libwsmon/mappings.h"
#include "symbols/calls.h"

/**
 * struct place - a site
 * @site:	its figures
 * @stack:	one of its stacks, or the only one; NULL if it is not known
 * @call:	the call that allocates
 */
struct place {
	struct site site;
	const struct callstack *stack;
	const struct call *call;
};

struct sites;

/** sites_new() - @by_stack: each stack is a site of its own. Exits without memory */
struct sites *sites_new(bool by_stack);

/** sites_stack() - take a STACK record, whose names are those of what is mapped now */
void sites_stack(struct sites *s, const struct mappings *ms, const struct wsmon_rec_stack *rec);

/** sites_named() - after the last record: what was mapped later has names, too */
void sites_named(struct sites *s, const struct mappings *ms);

/** sites_get() - the site of a stack, for estimate_add(). Context: after sites_named() */
struct site *sites_get(void *sites, __u32 stack);

/** sites_sorted() - all that have samples, most idle first. Return: an array, as long as @s */
struct place **sites_sorted(struct sites *s, size_t *nr);

/** sites_free() - says which files had no names */
void sites_free(struct sites *s);

#endif /* WSMO_ALLOC_SITES_H */

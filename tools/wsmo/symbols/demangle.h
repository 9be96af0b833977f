/* SPDX-License-Identifier: GPL-2.0 */
/*
 * demangle.h - names of functions as in the source
 */
#ifndef WSMO_DEMANGLE_H
#define WSMO_DEMANGLE_H

/**
 * demangle() - a symbol of C++, Rust and the like as in the source, without the
 * types of its parameters
 * Return: malloc()ed; NULL if it is a plain name
 */
char *demangle(const char *symbol);

#endif /* WSMO_DEMANGLE_H */

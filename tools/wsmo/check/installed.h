/* SPDX-License-Identifier: GPL-2.0 */
/*
 * installed.h - the module as it is installed for the running kernel
 */
#ifndef WSMO_INSTALLED_H
#define WSMO_INSTALLED_H

#include <limits.h>
#include <stdbool.h>

/* The certificate by which DKMS signs, and thus the one to enrol */
#define DKMS_CERTIFICATE "/var/lib/dkms/mok.pub"

enum enrolment {
	ENROL_NO_UEFI,		/* there is nothing to enrol a certificate in */
	ENROL_NO_CERTIFICATE,
	ENROL_MISSING,
	ENROL_WAITING,		/* for the next boot */
	ENROL_DONE,
};

/**
 * struct installed - what can be found out without loading it
 * @path:	the file, "" if there is none
 * @signer:	who signed it, "" if nobody
 * @srcversion:	checksum of its sources
 * @dkms:	"wsmon/VERSION" if DKMS has its sources, else ""
 * @headers:	the kernel's headers, which DKMS needs, are there
 */
struct installed {
	char path[PATH_MAX];
	char signer[64];
	char srcversion[64];
	char dkms[64];
	bool headers;
};

/**
 * installed_find() - look for the module of the running kernel
 * @root:	prefix of all paths
 */
void installed_find(const char *root, struct installed *in);

/** installed_enrolment() - is DKMS's certificate among those the kernel trusts? */
enum enrolment installed_enrolment(const char *root);

/** installed_signed_only() - does the kernel reject unsigned modules? */
bool installed_signed_only(const char *root);

/** read_line() - the first line of @root@name; Return: false and "" if there is none */
bool read_line(const char *root, const char *name, char *line, int size);

#endif /* WSMO_INSTALLED_H */

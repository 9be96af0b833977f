/* SPDX-License-Identifier: GPL-2.0 */
/*
 * guests.h - which cgroups have virtual machines
 *
 * What a guest accesses leaves no trace in page tables of processes. The stream of a cgroup
 * does not say that one of its processes has such a secondary MMU, but KVM lists its virtual
 * machines in debugfs.
 */
#ifndef WSMO_GUESTS_H
#define WSMO_GUESTS_H

#include <stdbool.h>
#include <stddef.h>

/** guests_read() - list the virtual machines anew; without debugfs or KVM there are none */
void guests_read(void);

/** guests_of() - Return: how many there are in a cgroup and below it, as of guests_read() */
size_t guests_of(const char *cgroup);

/** guests_text() - what to say of a cgroup; Return: does it have any? */
bool guests_text(char *buf, size_t size, const char *cgroup);

#endif /* WSMO_GUESTS_H */

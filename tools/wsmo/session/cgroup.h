/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cgroup.h - names of cgroups
 */
#ifndef WSMO_CGROUP_H
#define WSMO_CGROUP_H

/** cgroup_path() - cut the mount point of cgroup v2 off a path; Return: malloc()ed */
char *cgroup_path(const char *path);

#endif /* WSMO_CGROUP_H */

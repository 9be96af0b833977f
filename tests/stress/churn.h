/* SPDX-License-Identifier: GPL-2.0 */
/* churn: targets that never stop changing their memory; see churn.c */
#ifndef CHURN_H
#define CHURN_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/types.h>

#define PAGE		4096UL
#define HUGE_PAGE	(2UL << 20)
#define SKIPPED		77

/* One of the modes; returns when going() says so, or exits. */
void churn_map(void);
void churn_mprotect(void);
void churn_tables(void);
void churn_fork(void);
void churn_exec(void);
void churn_exit(void);
void churn_thp(void);
void churn_hugetlb(void);
void churn_swap(void);
void churn_memcg(void);
void churn_lazyfree(void);
void churn_migrate(void);
void churn_ksm(void);
void churn_uffd(void);
void churn_shmem(void);
void churn_file(void);
void churn_hold(void);
void churn_victim(void);

bool going(void);
void must_end_well(pid_t pid);
void count(void);
void hand_over(void);
uint32_t pick(uint32_t n);
size_t megabytes(size_t preset);

void *map_pages(size_t pages, int flags);
void write_page(void *page, uint64_t tag);
void check_page(const void *page, uint64_t tag);
void check_zero(const void *page);
void write_pages(char *p, size_t pages, uint64_t tag);
void check_pages(const char *p, size_t pages, uint64_t tag);

/* Run functions in threads of their own, with 0, 1, ... as argument */
void run_threads(unsigned int n, void *(*f)(void *));

/*
 * Memory whose page may vanish: if (may_fault()) { access } fault_end();
 * the body is left at the access that got SIGBUS.
 */
extern _Thread_local sigjmp_buf fault_env;
extern _Thread_local volatile bool fault_expected;
#define may_fault()	(fault_expected = true, !sigsetjmp(fault_env, 0))
#define fault_end()	(fault_expected = false)
void catch_faults(void);

noreturn void lost(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
noreturn void skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif

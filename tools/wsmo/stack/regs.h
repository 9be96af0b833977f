/* SPDX-License-Identifier: GPL-2.0 */
/*
 * regs.h - the registers of a thread, as the architecture and DWARF have them
 */
#ifndef REGS_H
#define REGS_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <sys/user.h>

#if defined(__x86_64__)

#define regs_pc(r)	((r)->rip)
#define regs_sp(r)	((r)->rsp)

/* In the order of the System V ABI for x86-64, figure 3.36 */
static inline bool regs_set(Dwfl_Thread *thread, const struct user_regs_struct *r)
{
	const Dwarf_Word regs[] = {
		r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp,
		r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15,
		r->rip,
	};

	return dwfl_thread_state_registers(thread, 0, 17, regs);
}

#elif defined(__aarch64__)

#define regs_pc(r)	((r)->pc)
#define regs_sp(r)	((r)->sp)

/* x0 to x30 and sp: DWARF for the Arm 64-bit Architecture, section 4.1 */
static inline bool regs_set(Dwfl_Thread *thread, const struct user_regs_struct *r)
{
	Dwarf_Word regs[32];
	int i;

	for (i = 0; i < 31; i++)
		regs[i] = r->regs[i];
	regs[31] = r->sp;
	dwfl_thread_state_register_pc(thread, r->pc);
	return dwfl_thread_state_registers(thread, 0, 32, regs);
}

#else
#error "the registers of this architecture are not known"
#endif

#endif /* REGS_H */

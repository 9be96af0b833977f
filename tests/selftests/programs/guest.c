// SPDX-License-Identifier: GPL-2.0
/*
 * guest.c - "guest MIB": memory that a virtual machine uses, not the process
 *
 * The process touches its memory once, prints the address and waits for a line on
 * standard input. Then it makes a virtual machine (KVM) of that memory, which writes
 * to every page ten times a second, and prints "running" after the first pass. From
 * then on the process itself does not touch the memory. Exits with 77 without KVM.
 */
#include <err.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* 32 bits, flat, no paging: from address 0 on */
static unsigned char code[] = {
	0xbf, 0x00, 0x10, 0x00, 0x00,		/* 0: mov $0x1000,%edi */
	0xfe, 0x07,				/* 1: incb (%edi) */
	0x81, 0xc7, 0x00, 0x10, 0x00, 0x00,	/* add $0x1000,%edi */
	0x81, 0xff, 0x00, 0x00, 0x00, 0x00,	/* cmp $size,%edi */
	0x72, 0xf0,				/* jb 1b */
	0xe6, 0x10,				/* out %al,$0x10 */
	0xeb, 0xe7,				/* jmp 0b */
};

#define SIZE_AT	15

static void set(int fd, unsigned long request, void *arg)
{
	if (ioctl(fd, request, arg) < 0)
		err(1, "ioctl %#lx", request);
}

static int vcpu(int vm)
{
	const struct kvm_segment flat = {
		.limit = ~0U, .selector = 16, .type = 3, .present = 1, .db = 1,
		.s = 1, .g = 1,
	};
	struct kvm_regs regs = { .rflags = 2 };
	struct kvm_sregs sregs;
	int fd = ioctl(vm, KVM_CREATE_VCPU, 0);

	if (fd < 0)
		err(1, "KVM_CREATE_VCPU");
	set(fd, KVM_GET_SREGS, &sregs);
	sregs.cs = sregs.ds = sregs.es = sregs.ss = flat;
	sregs.cs.selector = 8;
	sregs.cs.type = 11;
	sregs.cr0 |= 1;
	set(fd, KVM_SET_SREGS, &sregs);
	set(fd, KVM_SET_REGS, &regs);
	return fd;
}

int main(int argc, char **argv)
{
	struct kvm_userspace_memory_region slot = { 0 };
	size_t size = (argc > 1 ? atoi(argv[1]) : 32) << 20;
	struct timespec pause = { 0, 100000000 };
	unsigned int bound = size;
	int kvm, vm, cpu, first = 1;
	struct kvm_run *run;
	char *memory;

	kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (kvm < 0)
		return 77;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		err(1, "mmap");
	memset(memory, 1, size);
	memcpy(code + SIZE_AT, &bound, sizeof(bound));
	memcpy(memory, code, sizeof(code));
	printf("%p\n", (void *)memory);
	fflush(stdout);
	if (getchar() == EOF)
		return 1;

	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	if (vm < 0)
		err(1, "KVM_CREATE_VM");
	slot.memory_size = size;
	slot.userspace_addr = (unsigned long)memory;
	set(vm, KVM_SET_USER_MEMORY_REGION, &slot);
	cpu = vcpu(vm);
	run = mmap(NULL, 4096, PROT_READ, MAP_SHARED, cpu, 0);
	if (run == MAP_FAILED)
		err(1, "mmap");
	for (;; nanosleep(&pause, NULL)) {
		if (ioctl(cpu, KVM_RUN, 0) < 0)
			err(1, "KVM_RUN");
		if (run->exit_reason != KVM_EXIT_IO)
			errx(1, "the guest ended: %u", run->exit_reason);
		if (first)
			puts("running");
		fflush(stdout);
		first = 0;
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * oracle_plugin.c - which pages each address space accesses, and when
 *
 * A plugin of QEMU's translator (TCG, plugin API version 1: QEMU 4.2 to 8.x). It
 * sees every access of a guest: loads and stores of programs, the kernel's on
 * their behalf (copy_to_user()), and instruction fetches. For those below the
 * middle of the address space it writes (epoch, address space, page), once an
 * epoch. An address space is identified by its page tables, CR3.
 *
 * The guest talks to it by touching one agreed page, see enum command. A process
 * that does is part of the measurement, and its accesses are not written.
 *
 * usage: -plugin oracle_plugin.so,out=FILE[,epoch_ms=N]
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Debian has no package with qemu-plugin.h: these are the parts used here. */
typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { QEMU_PLUGIN_CB_NO_REGS };
enum { QEMU_PLUGIN_MEM_RW = 3 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*cb)(qemu_plugin_id_t id,
						      struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned int cpu, void *data),
					    int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*cb)(unsigned int cpu, qemu_plugin_meminfo_t info,
						 uint64_t vaddr, void *data),
				      int flags, int rw, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

/* The API has no access to registers, but QEMU exports the functions of its gdb stub. */
struct byte_array {		/* GLib's GByteArray */
	uint8_t *data;
	unsigned int len;
};

struct byte_array *g_byte_array_new(void);
struct byte_array *g_byte_array_set_size(struct byte_array *array, unsigned int len);
void *qemu_get_cpu(int index);
int x86_cpu_gdb_read_register(void *cpu, struct byte_array *array, int n);
#define GDB_CR3		29	/* its number of the register */

int qemu_plugin_version = 1;

/* The guest maps a page here for commands: the touched byte is the command. */
#define COMMANDS	0x6d6f6e000000ULL
enum command {
	SYNC = 0,	/* write the time */
	ON = 64,	/* write accesses from now on */
	OFF = 128,	/* stop, and flush the file */
};

#define PAGE_BITS	12
#define USER_BITS	47	/* addresses of programs */
#define SPACE_SHIFT	(USER_BITS - PAGE_BITS)
#define EPOCH_SHIFT	48
#define SPACES		(1 << (EPOCH_SHIFT - SPACE_SHIFT))
#define SEEN		(1 << 16)
#define CPUS		64

/**
 * struct cpu - an emulated processor, run by one thread
 * @space: number of its address space
 * @moved: CR3 is about to be written: @space is unknown
 * @seen:  recent records, not to be written again; may forget some
 * @reg:   for the gdb stub
 */
struct cpu {
	uint64_t space;
	bool moved;
	uint64_t seen[SEEN];
	struct byte_array *reg;
};

static struct cpu cpus[CPUS];
static uint64_t spaces[SPACES];		/* CR3 of each; 0 for none */
static bool measuring[SPACES];		/* it gives commands: not written */
static volatile uint64_t epoch;
static volatile bool on;
static FILE *accesses, *events;
static long epoch_ns = 50000000;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void event(const char *what, uint64_t number)
{
	fprintf(events, "%s %lu %lu\n", what, now(), number);
}

/* An epoch in the file begins when the file says so. */
static void *tick(void *unused)
{
	for (;;) {
		struct timespec ts = { .tv_nsec = epoch_ns };

		clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
		if (on) {
			event("epoch", epoch + 1);
			epoch++;
		}
	}
	return unused;
}

static void find_space(struct cpu *cpu, unsigned int nr)
{
	uint64_t cr3 = 0, i;

	if (!cpu->reg)
		cpu->reg = g_byte_array_new();
	g_byte_array_set_size(cpu->reg, 0);
	x86_cpu_gdb_read_register(qemu_get_cpu(nr), cpu->reg, GDB_CR3);
	memcpy(&cr3, cpu->reg->data, sizeof(cr3));
	cr3 &= ~0x1fffULL;	/* without PCID and the half of page table isolation */
	pthread_mutex_lock(&lock);
	for (i = 1; i < SPACES - 1 && spaces[i] && spaces[i] != cr3; i++)
		;
	spaces[i] = cr3;
	pthread_mutex_unlock(&lock);
	cpu->space = i;
	cpu->moved = false;
}

static void obey(struct cpu *cpu, enum command command)
{
	measuring[cpu->space] = true;
	switch (command) {
	case SYNC:
		event("sync", 0);
		break;
	case ON:
		event("on", ftell(accesses));
		event("epoch", epoch + 1);
		epoch++;
		on = true;
		break;
	case OFF:
		on = false;
		fflush(accesses);
		event("off", ftell(accesses));
		fflush(events);
	}
}

static void note(unsigned int nr, uint64_t vaddr)
{
	struct cpu *cpu = &cpus[nr];
	uint64_t record, *seen;

	if (vaddr >> USER_BITS)
		return;
	if (cpu->moved)
		find_space(cpu, nr);
	if (vaddr >> PAGE_BITS == COMMANDS >> PAGE_BITS)
		obey(cpu, vaddr - COMMANDS);
	if (!on || measuring[cpu->space])
		return;
	record = epoch << EPOCH_SHIFT | cpu->space << SPACE_SHIFT | vaddr >> PAGE_BITS;
	seen = &cpu->seen[(record ^ record >> 16) % SEEN];
	if (*seen == record)
		return;
	*seen = record;
	fwrite(&record, sizeof(record), 1, accesses);
}

static void accessed(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *unused)
{
	(void)info;
	(void)unused;
	note(cpu, vaddr);
}

static void executed(unsigned int cpu, void *vaddr)
{
	note(cpu, (uint64_t)vaddr);
}

static void moves(unsigned int cpu, void *unused)
{
	(void)unused;
	cpus[cpu].moved = true;
}

static bool writes_cr3(const struct qemu_plugin_insn *insn)
{
	const uint8_t *code = qemu_plugin_insn_data(insn);
	size_t size = qemu_plugin_insn_size(insn);

	/* REX.B may be the first byte */
	if (size && (code[0] & 0xf0) == 0x40)
		code++, size--;
	return size == 3 && code[0] == 0x0f && code[1] == 0x22 && (code[2] & 0x38) == 0x18;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t page = ~0ULL;

	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t start = qemu_plugin_insn_vaddr(insn);
		uint64_t last = start + qemu_plugin_insn_size(insn) - 1;

		for (; start <= last; start = (start | 4095) + 1) {
			if (start >> USER_BITS || start >> PAGE_BITS == page)
				continue;
			page = start >> PAGE_BITS;
			qemu_plugin_register_vcpu_insn_exec_cb(insn, executed,
							       QEMU_PLUGIN_CB_NO_REGS,
							       (void *)start);
		}
		if (writes_cr3(insn))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, moves,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
		qemu_plugin_register_vcpu_mem_cb(insn, accessed, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, NULL);
	}
}

static FILE *create(const char *out, const char *ending)
{
	char name[4096];

	snprintf(name, sizeof(name), "%s%s", out, ending);
	return fopen(name, "w");
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	pthread_t ticker;
	sigset_t all, before;

	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4)) {
			accesses = create(argv[i] + 4, ".accesses");
			events = create(argv[i] + 4, ".events");
		} else if (!strncmp(argv[i], "epoch_ms=", 9)) {
			epoch_ns = atol(argv[i] + 9) * 1000000;
		}
	}
	if (!accesses || !events || epoch_ns <= 0 || epoch_ns >= 1000000000) {
		fputs("oracle_plugin: wants out=FILE[,epoch_ms=N]\n", stderr);
		return -1;
	}
	for (int i = 0; i < CPUS; i++)
		cpus[i].moved = true;
	/* signals are for QEMU's own threads */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&ticker, NULL, tick, NULL))
		return -1;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}

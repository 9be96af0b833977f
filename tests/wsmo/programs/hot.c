// SPDX-License-Identifier: GPL-2.0
/*
 * hot.c - functions and objects of known sizes, for "report hot" to name; it never
 * runs
 */
#define PAGE __attribute__((aligned(4096), noinline))

char zeroed_table[65536] __attribute__((aligned(4096)));
char filled_table[16384] __attribute__((aligned(4096))) = { 1 };

PAGE int first_function(int x)
{
	return x + filled_table[x];
}

PAGE int second_function(int x)
{
	return x * zeroed_table[x];
}

PAGE int main(int argc, char **argv)
{
	(void)argv;
	return first_function(argc) + second_function(argc);
}

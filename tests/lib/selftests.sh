# SPDX-License-Identifier: GPL-2.0
#
# Which selftests make check and make check-debug run on which kernel. Selftests that
# depend most on the kernel run on all of them; each runs on at least one.
# "make check-all" and "make soak" run all of them everywhere. To be sourced at the
# top of the tree.
# shellcheck disable=SC2034 # used where this is sourced
declare -A selftests=(
	[arm64]="lifecycle shared_bits stacks"
	[6.12]="accuracy unused gone act hot limits/sizing processes stacks start"
	[6.1]="act_huge buffer checkout export group input lifecycle once peaks readers secondary"
	[newest]="cgroup children device pace regions who/who wsmo"
	[debug]="device lifecycle"
)

# selftests_of KERNEL: the names of its selftests
selftests_of()
{
	printf '%s_test.py\n' ${selftests[$1]}
}

# Return: whether the lists name each selftest, and name no others
selftests_are_listed()
{
	diff <(printf '%s_test.py\n' ${selftests[*]} | sort -u) \
		<(cd tests/selftests && ls -- *_test.py */*_test.py | sort) >&2 ||
		{ echo "tests/lib/selftests.sh: the lists are not what is in tests/selftests" >&2; return 1; }
}

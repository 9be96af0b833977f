# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by the examples: how they boot a guest and show commands.
top=$(cd "$(dirname "$0")/../.." && pwd -P)

# boot MEM: run this example in a guest
boot()
{
	"$top/tests/vm/run" --kernel "${KERNEL:-6.12}" --mem "$1" -- "$top/bench/examples/${0##*/}" --guest
}

# Print a command and what it prints
show()
{
	printf '$ %s\n' "$*"
	eval "$*" 2>&1
	echo
}

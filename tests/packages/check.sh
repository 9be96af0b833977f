# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# check WHAT COMMAND...: one test, passed if the command succeeds. To be sourced.
check()
{
	local what=$1 verdict=ok output

	shift
	output=$("$@" 2>&1) || verdict="not ok"
	echo "$verdict - $what"
	[ "$verdict" = ok ] || sed 's/^/# /' <<<"$output"
}

# SPDX-License-Identifier: GPL-2.0
#
# What make check and make check-debug share: parts run in the background. Their
# verdicts are shown as they come, in comments; what each printed (TAP) is shown
# when all have ended, and counted. To be sourced, with $logs the directory for the
# output.
passed=0 failed=0 skipped=0 parts=()

rm -rf "$logs"
mkdir -p "$logs"
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
trap 'exit 130' INT TERM

# start NAME CMD...: run CMD in the background
start()
{
	local name=$1

	shift
	parts+=("$name")
	{
		began=$SECONDS
		TIMEFORMAT="# $name: ends after %0R s, with %0U + %0S s of a processor"
		time {
			"$@" </dev/null 2>&1 | tee "$logs/$name.log" |
				sed -unE "s/^(not )?ok /# $name: &/p"
			rc=${PIPESTATUS[0]}
		}
		echo "$rc $((SECONDS - began))" >"$logs/$name.rc"
	} &
}

# Show what a part printed, count its TAP lines.
collect()
{
	local name=$1 log=$logs/$1.log rc=1 seconds=0 p f s

	[ ! -e "$logs/$name.rc" ] || read -r rc seconds <"$logs/$name.rc"
	echo "# $name: $seconds s"
	cat "$log"
	read -r p f s < <(python3 tests/lib/ktap.py "$log")
	# 4: skipped, as kselftest has it
	[ "$rc" -ne 4 ] || [ $((p + f)) -ne 0 ] || rc=0
	# died without a verdict, or ran nothing
	if [ "$f" -eq 0 ] && { [ "$rc" -ne 0 ] || [ $((p + s)) -eq 0 ]; }; then
		echo "not ok - $name: exit $rc after $((p + s)) tests"
		f=1
	fi
	passed=$((passed + p))
	failed=$((failed + f))
	skipped=$((skipped + s))
}

# Wait for all parts, show them in the order they were started, and the sum.
# Return: whether all is well
verdict()
{
	local part

	wait
	for part in "${parts[@]}"; do
		collect "$part"
	done
	echo "$passed passed, $failed failed, $skipped skipped"
	[ $failed -eq 0 ]
}

# Nothing could be run.
hopeless()
{
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
}

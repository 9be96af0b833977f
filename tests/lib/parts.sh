# SPDX-License-Identifier: GPL-2.0
#
# Shared by make check and make check-debug: parts run in the background. Their
# verdicts are shown at once, as comments; their output (TAP) is shown when all
# have ended, and counted. To be sourced, with $logs the directory for the
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

# Show the output of a part, and count its TAP lines.
collect()
{
	local name=$1 log=$logs/$1.log rc=1 seconds=0 p f s

	[ ! -e "$logs/$name.rc" ] || read -r rc seconds <"$logs/$name.rc"
	echo "# $name: $seconds s"
	cat "$log"
	read -r p f s < <(python3 tests/lib/ktap.py "$log")
	# exit status 4: skipped, as in kselftest
	[ "$rc" -ne 4 ] || [ $((p + f)) -ne 0 ] || rc=0
	# it died without a verdict, or ran nothing
	if [ "$f" -eq 0 ] && { [ "$rc" -ne 0 ] || [ $((p + s)) -eq 0 ]; }; then
		echo "not ok - $name: exit $rc after $((p + s)) tests"
		f=1
	fi
	passed=$((passed + p))
	failed=$((failed + f))
	skipped=$((skipped + s))
}

# Wait for all parts, show them in the order of their start, and the sum.
# Return: whether all passed
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

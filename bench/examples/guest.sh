# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by the examples: boots a guest and shows commands.
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

# debian_source PACKAGE DIR: unpack Debian 12's source of a package in DIR/src
debian_source()
{
	local apt=(-qq -o "Dir::Etc::sourcelist=$2/list" -o Dir::Etc::sourceparts=-
		-o "Dir::State::lists=$2/lists" -o "Dir::Cache=$2/cache" -o APT::Sandbox::User=root)

	mkdir -p "$2/lists/partial" "$2/src"
	echo "deb-src http://deb.debian.org/debian bookworm main" >"$2/list"
	cd "$2"
	apt-get "${apt[@]}" update
	apt-get "${apt[@]}" source --download-only "$1"
	tar -xf "$1"_*.orig.tar.xz -C src --strip-components=1
}

# with_source PACKAGE: run build in a copy of its source, then this example in a guest, with
# the result at $WSMON_BUILT
with_source()
{
	WSMON_BUILT=$(mktemp -d)
	export WSMON_BUILT
	trap 'rm -rf "$WSMON_BUILT"' EXIT
	chmod 755 "$WSMON_BUILT"
	(debian_source "$1" "$WSMON_BUILT" && cd src && build)
	boot 4G
}

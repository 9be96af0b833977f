# SPDX-License-Identifier: GPL-2.0
"""bash completion: what is offered where, by the script made from the tables."""
import os
import re
import subprocess

from tap import TOP, WSMO, Directory, ok, run, skip

MAKE = os.path.join(TOP, "tools", "wsmo", "completion.sh")
ASK = """
set -u
. ./completion
line=$1
COMP_WORDS=()
# as bash does with COMP_WORDBREAKS: an = is a word
for word in $line; do
	while [[ $word == --*=* ]]; do
		COMP_WORDS+=("${word%%=*}" "=")
		word=${word#*=}
	done
	[[ $word ]] && COMP_WORDS+=("$word")
done
[[ $line == *[!=' '] || $line == *= ]] || COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_wsmo
((${#COMPREPLY[@]})) && printf '%s\\n' "${COMPREPLY[@]}"
exit 0
"""


class Shell(Directory):
    """A directory with the script and some files in it."""

    def ask(self, line):
        p = subprocess.run(["bash", "--norc", "-c", ASK, "ask", line], cwd=self.name,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if p.returncode or p.stderr:
            return p.stderr.decode().splitlines() or ["exit %d" % p.returncode]
        return p.stdout.decode().splitlines()


def offered(d):
    def expect(line, *want, exactly=True):
        got = d.ask(line)
        ok(sorted(got) == sorted(want) if exactly else set(want) <= set(got),
           "'%s'" % line, got)

    expect("wsmo ", "record", "report", "top", "export", "check", "--help",
           "--version", exactly=False)
    expect("wsmo rep", "report")
    expect("wsmo report ", "summary", "wss", "regions", "heatmap", "raw",
           exactly=False)
    expect("wsmo report hea", "heatmap")
    expect("wsmo report --ra", "--raw")
    expect("wsmo record --min", "--min-regions")
    expect("wsmo record --no-f", "--no-flush")
    expect("wsmo export ", "chrome", "damo", "openmetrics")
    expect("wsmo export chrome -i a", "a.data")
    expect("wsmo record --peak-detector f", "fano")
    expect("wsmo check --", "--json", "--csv", "--sysroot", "--help", exactly=False)
    expect("wsmo report -i ", "a.data", "b b.data", "completion", "sub")
    expect("wsmo report -i a", "a.data")
    expect("wsmo report --input=b", "b b.data")
    expect("wsmo report --input=", "a.data", "b b.data", "completion", "sub")
    expect("wsmo check --sysroot ", "sub")
    expect("wsmo report --sort ", "time", "size", "freq", "share", "age", "address")
    expect("wsmo report wss --sort=si", "size")
    expect("wsmo report heatmap --color n", "never")
    expect("wsmo report --class he", "heap")
    expect("wsmo report --class heap,st", "heap,stack")
    expect("wsmo report --class=hu", "hugetlb")
    # an option whose argument may be left out takes none but behind a =
    expect("wsmo report --percentiles wss", "wss")
    expect("wsmo report --time ")
    expect("wsmo record -p %d" % os.getpid(), str(os.getpid()), exactly=False)
    expect("wsmo record -p 1,%d" % os.getpid(), "1,%d" % os.getpid(), exactly=False)
    expect("wsmo record -d 3 -- bash", "bash", exactly=False)
    expect("wsmo record -- ls a", "a.data")
    expect("wsmo nonsense --")


def complete(d):
    """Every option is offered, those of --help among them."""
    verbs = run("--list-options").stdout.decode().split()
    ok(verbs and all(verb in run("--help").stdout.decode() for verb in verbs),
       "the verbs", verbs)
    for verb in verbs:
        text = run(verb, "--help").stdout.decode().split("Reports and what")[0]
        told = set(re.findall(r"^ +(?:-., )?(--[a-z-]+)", text, re.M))
        there = set(re.findall(r"^--[a-z-]+", run(verb, "--list-options").stdout.decode(), re.M))
        got = set(d.ask("wsmo %s --" % verb))
        ok(told and told <= there and got == there, "options of %s" % verb, told - there, got ^ there)


def main(_accept):
    with Shell() as d:
        made = subprocess.run([MAKE, WSMO], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        ok(made.returncode == 0 and not made.stderr, "the script is made", made.stderr)
        d.write("completion", made.stdout)
        for name in ("a.data", "b b.data"):
            d.write(name, b"")
        os.mkdir(d.path("sub"))
        if not os.path.exists("/bin/bash"):
            skip("what is offered", "there is no bash")
            return
        offered(d)
        complete(d)

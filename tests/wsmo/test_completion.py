# SPDX-License-Identifier: GPL-2.0
"""Completion in bash and zsh: the offers of the script made from the option tables."""
import os
import re
import subprocess

from command import TOP, WSMO, Directory, ok, run, skip

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
    expect("wsmo record --cg", "--cgroup")
    expect("wsmo record --al", "--all", "--alloc")
    expect("wsmo record --cgroup /sys/fs/cg", "/sys/fs/cgroup")
    expect("wsmo record --no-f", "--no-flush")
    expect("wsmo check --", "--json", "--csv", "--sysroot", "--help", exactly=False)
    expect("wsmo report -i ", "a.data", "b b.data", "completion", "sub")
    expect("wsmo report -i a", "a.data")
    expect("wsmo report --input=b", "b b.data")
    expect("wsmo report --input=", "a.data", "b b.data", "completion", "sub")
    expect("wsmo check --sysroot ", "sub")
    expect("wsmo report wss --sort ", "time", "size")
    expect("wsmo report hot --sort ", "freq", "share", "size", "age", "address")
    expect("wsmo report wss --sort=si", "size")
    expect("wsmo report heatmap --color n", "never")
    expect("wsmo report --class he", "heap")
    expect("wsmo report --class heap,st", "heap,stack")
    expect("wsmo report --class=hu", "hugetlb")
    # an optional argument has to follow a =
    expect("wsmo report wss --percentiles ")
    expect("wsmo report --percent")
    expect("wsmo report wss --percent", "--percentiles")
    expect("wsmo report hot --o")
    expect("wsmo report wss --o", "--output")
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
        same(d, verb)
    views = run("report", "--list-options").stdout.decode().split()[1].split("|")
    ok(len(views) > 9, "the views", views)
    for view in views:
        same(d, "report " + view)


def same(d, verb):
    text = run(*verb.split(), "--help").stdout.decode()
    # a line begins with an option, or several
    lines = re.findall(r"^ {2,6}(-.*?)(?:  |$)", text, re.M)
    told = set(re.findall(r"--[a-z-]+", " ".join(lines)))
    there = set(re.findall(r"^--[a-z-]+",
                           run(*verb.split(), "--list-options").stdout.decode(), re.M))
    got = set(d.ask("wsmo %s --" % verb))
    ok(told and told <= there and got == there, "options of %s" % verb, told - there, got ^ there)


# The arguments of zsh's own functions, when the word after the last one is completed
ZSH = """
compadd() { print -l -- $@ }
_arguments() { print -l -- ${words[1]} $@ }
words=(${=1}) CURRENT=$((${#words} + 1))
complete() { source ./_wsmo }
complete
"""


def zsh(d):
    made = subprocess.run([MAKE.replace(".sh", "-zsh.sh"), WSMO], capture_output=True)
    d.write("_wsmo", made.stdout)
    if not any(os.path.exists(os.path.join(p, "zsh")) for p in os.environ["PATH"].split(":")):
        skip("zsh's completion", "there is no zsh")
        return
    for line, *want in (
            ("wsmo", "record", "check", "--help"),
            ("wsmo record", "record", "--quiet", "*--output=:FILE:_files", "*:: :_normal",
             "*--pid=:PID,...:_sequence _pids", "*--peak-detector=:sigma|fano|off:(sigma fano off)"),
            ("wsmo report", "report", "*-i+:FILE:_files", "--json"),
            ("wsmo report wss", "wss", "*--percentiles=-::P,...: ", "*--sort=:time|size:(time size)"),
            ("wsmo act", "act", "*--cgroup=:CGROUP:_files -/")):
        p = subprocess.run(["zsh", "-f", "-c", ZSH, "zsh", line], cwd=d.name, capture_output=True)
        got = p.stdout.decode().splitlines()
        ok(not p.stderr and set(want) <= set(got), "zsh: '%s'" % line, set(want) - set(got), p.stderr)


def test_shells():
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
        zsh(d)
        os.unlink(d.path("_wsmo"))
        offered(d)
        complete(d)

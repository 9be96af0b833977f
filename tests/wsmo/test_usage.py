# SPDX-License-Identifier: GPL-2.0
"""Command lines: help, version, refusals, content of manual pages."""
import os
import re
import shutil
import subprocess
import threading

import forms
import samples
import screen
from command import ENV, HERE, TOP, WSMO, Directory, cgroup_root, ok, run, skip
from recorder import fake
from test_mem import Proc, odd_tree


def refused(*args, word=""):
    res = run(*args)
    lines = res.stderr.decode().splitlines()
    ok(res.returncode == 2 and not res.stdout and lines and
       (lines[0].startswith("wsmo: ") or lines[0].startswith("Usage: ")) and
       word in res.stderr.decode() and
       (not word.startswith("not a ") or re.match("wsmo: --[a-z-]+: '", lines[0])),
       "refused: wsmo " + " ".join(args),
       res.returncode, *lines)


def manual(name):
    path = os.path.join(TOP, "Documentation", "reference", "man", name + ".rst")
    if not os.path.exists(path):
        return ""
    with open(path) as f:
        return f.read()


def test_manuals():
    """Each verb has a page with its options; options for monitoring may be in record's
    page, if the verb's page says so."""
    overview, of_record = manual("wsmo"), manual("wsmo-record")
    for verb in run("--list-options").stdout.decode().split():
        text = run(verb, "--help").stdout.decode()
        page = manual("wsmo-" + verb)
        options = re.findall(r"^--[a-z-]+", run(verb, "--list-options").stdout.decode(), re.M)
        missing = [option for option in options
                   if option not in page and not (
                       option in of_record and re.search(r"(?:are those|as) (?:of|in)\n?.*"
                                                         r"wsmo-record", page))]
        ok(page and not missing and ("**wsmo-%s**" % verb) in overview,
           "wsmo-%s(1) has all options" % verb, missing)
        if verb == "report":
            missing = [view for view in views()
                       if "\n``%s``\n" % view not in page or view not in overview]
            ok(not missing, "and all views", missing)


def views():
    """The names of the views of report."""
    return run("report", "--list-options").stdout.decode().split()[1].split("|")


def test_one_screen():
    for verb in "", "record", "mark", "diff", "sizing", "act", "export", "top", "check", "mem":
        lines = run(*verb.split(), "-h").stdout.decode().splitlines()
        ok(2 < len(lines) <= 24 and max(map(len, lines)) <= 80,
           "wsmo %s -h is one screen" % verb, len(lines), *lines)


# command line, status, words of its message
SENTENCES = (
    ("record --durration 3s -p 1", 2, "--durration; did you mean --duration?"),
    ("record --pid=", 2, "not a process id"),
    ("record -p", 2, "-p needs an argument: PID,..."),
    ("record -qp", 2, "-p needs an argument: PID,..."),
    ("record -qz", 2, "no option -z"),
    ("record --duration", 2, "--duration needs an argument: TIME"),
    ("record --quiet=3 -p 1", 2, "--quiet takes no argument"),
    ("record --peak 3 -p 1", 2, "--peak may be several options"),
    ("record --xyzzy -p 1", 2, "no option --xyzzy\n"),
    ("record 189", 2, "for a process use -p 189"),
    ("record -p 1 2 3", 2, "-p 1,2,..."),
    ("record -p 1 2", 2, "-p 1,2\n"),
    ("record --who 50", 2, "--who=50"),
    ("top --repeat 2", 2, "--repeat=2"),
    ("recrod", 2, "did you mean record?"),
    ("xyzzy", 2, "no verb 'xyzzy'; 'wsmo --help'"),
    ("report sumary", 2, "did you mean summary?"),
    ("report -i F wss", 2, "a view comes before its options: wsmo report wss"),
    ("report --class hep", 2, "did you mean heap?"),
    ("report --class xyzzy", 2, "all|text|data|heap|stack|anon|file|shmem|hugetlb|mixed"),
    ("report wss --sort tme", 2, "did you mean time?"),
    ("record --sample 1us -p 1", 2, "too short; at least 100 us"),
    ("record --aggr 48h -p 1", 2, "not from 100 us to 24h00m"),
    ("record --window 48h,1 -p 1", 2, "not from 100 us to 24h00m"),
    ("record --max-regions 40000 -p 1", 2, "not a number from 1 to 32768"),
    ("record --peak-window 1 -p 1", 2, "not a number from 2 to 10000"),
    ("record --peak-gain 0 -p 1", 2, "not a number from 0.001 to 100"),
    ("record -p 4194300", 1, "there is no process 4194300"),
)


def test_sentences():
    """The most frequent mistakes: a sentence for each, with the correct text."""
    for args, status, words in SENTENCES:
        res = run(*args.split())
        ok(res.returncode == status and not res.stdout and words in res.stderr.decode(), "wsmo " + args,
           res.returncode, res.stderr.decode())
    with Directory() as d:
        status, text = screen.run("report", "html", "-i", d.write("data", samples.few()))
        ok(status == 2 and not text, "no page on a terminal", status, text[:300])
    ok(run("help").stdout == run("--help").stdout and
       run("help", "top").stdout == run("top", "--help").stdout, "wsmo help")
    ok(b"[----" not in run("record", "--usage").stdout,
       "wsmo record --usage", run("record", "--usage").stdout)


def test_cgroups():
    """A cgroup is found by its name, and by the printed form of it."""
    name = "wsmo\\x2dtest-%d" % os.getpid()
    if os.getuid() or not cgroup_root() or not os.access(cgroup_root(), os.W_OK):
        skip("cgroups as they are printed", "no cgroups of version 2")
        return
    there = os.path.join(cgroup_root(), name)
    os.mkdir(there)
    child = subprocess.Popen(["sleep", "60"])
    try:
        with open(there + "/cgroup.procs", "w") as f:
            f.write(str(child.pid))
        for typed in name, name.replace("\\", "\\134"), "/" + name:
            res = run("mem", "--cgroup", typed, "--by", "process", "--json")
            ok(b'"pid":%d,' % child.pid in res.stdout.replace(b" ", b""), "--cgroup " + typed, res)
    finally:
        child.kill()
        child.wait()
        os.rmdir(there)


def test_processes():
    """Processes that cannot be monitored, and lists of them."""
    kernel = subprocess.run(["pgrep", "-P", "2"], stdout=subprocess.PIPE).stdout.decode().split()
    child = subprocess.Popen(["sleep", "60"])
    dead = subprocess.Popen(["true"])
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    cases = [(str(dead.pid), "has ended"), (str(thread.native_id), "is a thread of process %d" % os.getpid())]
    if kernel:
        cases.append((kernel[0], "is a kernel thread"))
    for pids in "%d %d", "%d, 4194301", " %d\n4194301 ":
        cases.append((pids.replace("%d", str(child.pid), 1).replace("%d", "4194301"), "no process 4194301"))
    for pids, words in cases:
        res = run("record", "--debugfs", "/nowhere", "-p", pids)
        ok(res.returncode == 1 and words in res.stderr.decode(), "-p %r: %s" % (pids, words), res.stderr)
    out = run("report", "raw", "--json", "-p", "4242,4242, 4242", "-i", "-", stdin=samples.few()).returncode
    ok(out == 0, "a process named twice counts once", out)
    stop.set()
    thread.join()
    dead.wait()
    child.kill()
    child.wait()


def test_narrow():
    """On a narrow terminal rows continue in the next lines; test_views tests the views of
    report."""
    with Directory() as d, Proc() as tree:
        odd_tree(tree)
        recording = d.write("main", samples.main())
        windows = os.path.join(HERE, "recordings", "windows.data")
        for args in (("report", "curve", "-i", windows), ("report", "sizing", "-i", windows),
                     ("diff", recording, recording), ("check", "--sysroot", d.name),
                     ("mem", "--sysroot", tree.name), ("mem", "--sysroot", tree.name, "--raw")):
            whole = run(*args).stdout.decode()
            for columns in 40, 80:
                _, text = screen.run(*args, columns=columns, stderr=subprocess.DEVNULL)
                ok(*forms.none(screen.too_wide(text, whole, columns), "on %d columns: wsmo %s" % (
                    columns, " ".join(map(os.path.basename, args)))))


def test_closed():
    """Files opened while 0, 1 or 2 are closed do not get the output."""
    with Directory() as d, Proc() as tree:
        odd_tree(tree)
        svg = d.path("a.svg")
        cases = [(("top", "--repeat", "--interval", "50ms", "--command-output", d.path("out"),
                   "--", "sh", "-c", "sleep 0.2; echo words"), 0),
                 (("mem", "--sysroot", tree.name), 0), (("mem", "--sysroot", tree.name, "-p", "12"), 1)]
        if shutil.which("gnuplot"):
            cases.append((("mem", "--sysroot", tree.name, "-p", "7,12", "-o", svg), 1))
        for args, status in cases:
            for fds in "0", "1", "2", "01", "02", "12", "012":
                with fake() as (_, m):
                    more = ("--debugfs", m.dir.name) if args[0] == "top" else ()
                    res = subprocess.run(["sh", "-c", "exec \"$0\" \"$@\" " + "".join("%s>&- " % fd for fd in fds),
                                          WSMO, args[0], *more, *args[1:]], stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV, timeout=60)
                    asked = m.targets[1:]
                unsaid = "1" in fds and not status
                ok(res.returncode == (1 if unsaid else status) and
                   bool(res.stdout) == (not status and "1" not in fds) and
                   ("2" in fds and not res.stderr or
                    (b"Bad file descriptor" if unsaid else b"no process 12" if status else b"") in res.stderr) and
                   set(asked) <= {"\n"} and (args[0] != "top" or d.read("out") == b"words\n") and
                   (svg not in args or d.read("a.svg").endswith(b"</svg>\n\n")),
                   "%s>&-: wsmo %s" % (",".join(fds), " ".join(args[:1] + args[3:])), res, asked, os.listdir(d.name))


def test_full():
    """Output other than reports can be lost, too."""
    for args in "--help", "help mem", "--version", "mem --help", "record --usage", "report -V", "act --list-options":
        with open("/dev/full", "wb") as f:
            res = run(*args.split(), stdout=f)
        ok(res.returncode == 1 and b"No space left" in res.stderr, "a full disk: wsmo " + args, res)


def test_refused():
    for args in (("--help",), ("record", "--help"), ("report", "--help"),
                 ("report", "wss", "--help"), ("check", "--help"), ("act", "--help"),
                 ("top", "--help"),
                 ("--version",), ("report", "--version"),
                 ("record", "--usage")):
        res = run(*args)
        ok(res.returncode == 0 and res.stdout and not res.stderr,
           "wsmo " + " ".join(args), res)
    text = run("report", "wss", "--help").stdout.decode()
    ok("Usage: wsmo report wss" in text and "--percentiles" in text and "--top" not in text,
       "help of a view has its options, and no other", text)

    for rotate in "", "x", "0", "1ms", "63K", "1e6", "-1":
        refused("record", "-p", "1", "--rotate", rotate)
    for more in (("--keep", "3"), ("--rotate", "1h", "--keep", "0"), ("--max-size", "100K"),
                 ("--rotate", "1M", "--max-size", "1900K"), ("--max-size", "x")):
        refused("record", "-p", "1", *more, word="--")
    for args in ((), ("a",), ("a", "b", "c")):
        refused("diff", *args, word="recording")
    refused("sizing", "--verify", "x", "--limit", "1M,2M", word="one limit")
    refused("sizing", "--verify", "x", "-d", "1s", word="too short")
    refused("sizing", "--verify", "x", "y", word="'y'")
    refused("sizing", word="--verify")
    refused("diff", "a", "b", "--fail-above", "x", word="not a percentage")
    refused("record", "--alloc", "--rotate", "1m", "true", word="one file")
    refused("diff", "a", "b", "--window", "1,2", word="one window")
    refused("diff", "a", "b", "--by", "mapping", "--window", "1", word="classes and processes")
    refused()
    refused("recrod", word="recrod")
    refused("record", word="nothing to record")
    refused("record", "-p", "1", "--", "true", word="not both")
    for args in (("--cgroup", "/x", "-p", "1"), ("--all", "-p", "1"),
                 ("--all", "--", "true"), ("--cgroup", "x", "true")):
        refused("record", *args, word="neither -p nor a command")
    for verb in ("record",), ("top",), ("act", "-s", "reclaim"):
        refused(*verb, "--all", "--cgroup", "/x", word="only one of --cgroup and --all")
        refused(*verb, "--all", "-p", "1", word="neither -p nor a command")
    refused("record", "--cgroup", "", word="is empty")
    refused("record", "--cgroup", "/x" * 2000, word="too long")
    for pid in ("", "x", "0", "-1", "1,", "1,,2", "12 abc",
                "4294967296", "9" * 400):
        refused("record", "-p", pid, word="not a process id")
    for time in ("", "x", "1x", "-1", "1 2", "0", "1.", ".5", "1e3", "nan",
                 "9" * 400, "1s2", "1 2s", "18446744073709551616ns", "99999999h"):
        refused("record", "-p", "1", "-d", time, word="not a time")
    for number in ("", "x", "-1", "1x", "4294967296", "9" * 400, "0x10"):
        refused("record", "-p", "1", "--max-regions", number,
                word="not a number")
    refused("record", "-p", "1", "--seed", "18446744073709551616")
    for decimal in ("", ".", "5.", ".5", "-1", "1.2345", "1e1", "1,5", "100.001", "9" * 400):
        refused("record", "-p", "1", "--peak-gain", decimal, word="not a number from 0.001 to 100")
    refused("record", "-p", "1", "--peak-adapt", "1.001", word="not a number from 0 to 1 ")
    refused("record", "-p", "1", "--peak-window", "3.5", word="not a number")
    for name in ("", "Sigma", "sigmas", "1"):
        refused("record", "-p", "1", "--peak-detector", name, word="not one of sigma|fano|off")
    for windows in ("", "1s,", ",1s", "1s,x", "0", "1s,,2s"):
        refused("record", "-p", "1", "--window", windows, word="not a time")
    refused("record", "-p", "1", "--window", "1,2,3,4,5,6,7,8,9", word="at most 8")
    refused("record", "--nonsense", word="--nonsense")
    refused("report", "nonsense", word="nonsense")
    refused("check", "junk", word="junk")
    refused("check", "--json", "--csv", word="only one")
    refused("act", "-p", "1", word="no rules")
    refused("act", "-s", "reclaim", word="nothing to act on")
    refused("act", "-s", "reclaim", "-p", "1", "--", "true", word="not both")
    refused("act", "-s", "reclaim", "--json", "--csv", word="only one")
    refused("act", "-s", "reclaim", "--class", "junk", word="junk")
    refused("act", "-s", "reclaim", "--quota-bytes", "0", word="never act")
    refused("act", "-s", "reclaim", "--when-available", "0%", word="never reclaim")
    for goal, word in (("", "not a goal"), ("10%", "not a goal"), ("available", "not a goal"),
                       ("=10%", "not a goal"), ("free=10%", "not a goal: available=SIZE|PERCENT"),
                       ("avail=10%", "not a goal"), ("available=", "not a size"),
                       ("available=0", "never reclaim"), ("available=0%", "never reclaim"),
                       ("available=9999T", "more than this machine has"),
                       ("available=101%", "not a percentage"), ("pressure=0%", "never reclaim"),
                       ("pressure=1M", "not a percentage"), ("pressure=11%", "above --max-pressure")):
        refused("act", "-s", "reclaim", "-p", "1", "--goal", goal, word=word)
    for size in ("", "x", "-1", "1X", "1.5", "99999999999999999999", "1KB"):
        refused("act", "-s", "reclaim", "--quota-bytes", size, word="not a size")
    for number in ("", "0", "-1", "1001", "1x"):
        refused("act", "-s", "reclaim", "--quota-cpu", number,
                word="never act" if number == "0" else "not a percentage")
    for number in ("", "-1", "x"):
        refused("act", "-s", "reclaim", "--max-refaults", number, word="not a number")
    for percent in ("", "-1", "101%", "x%", "5%%", "nan", " 5%", "0x10%", "1e1%"):
        refused("record", "-p", "1", "--cpu", percent, word="not a percentage")
        refused("act", "-s", "reclaim", "--max-pressure", percent, word="not a percentage")
    refused("top", "-p", "1", "--", "true", word="not both")
    refused("record", "-p", "1", "--cpu", "0.04%", word="at least 0.1%")
    refused("record", "-p", "1", "--precision", "0.04%", word="at least 0.1%, or max")
    refused("record", "-p", "1", "--precision", "least", word="not a percentage")
    refused("top", "--command-output", "x", word="command")
    refused("top", "--duration", "x", word="not a time")
    refused("top", "--sort", "junk", word="junk")
    refused("top", "--filter", "x" * 32, word="at most 31")
    refused("top", "--json", "--csv", word="only one")
    for number in ("", "0", "x", "-1", "1x"):
        refused("top", "--repeat=" + number, word="not a number")
    for time in ("", "x", "0", "1us"):
        refused("top", "--interval", time)
        refused("top", "--window", time + "x", word="not a time")

    res = run("report", "wss", "--time", "0.5s,1m", "-i", "-",
              stdin=samples.small())
    ok(res.returncode == 0 and res.stdout, "times with units", res)

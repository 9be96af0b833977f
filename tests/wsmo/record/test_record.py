# SPDX-License-Identifier: GPL-2.0
"""wsmo record, against a fake of the module."""
import contextlib
import fcntl
import os
import pty
import re
import signal
import stat
import struct
import subprocess
import sys
import termios
import time

import records as r
from command import ENV, HERE, TOP, WSMO, Directory, cgroup_root, fails, ok, parsed, run, skip
from fakedevice import Device
from fakemodule import ATTRS, now
from recorder import args, fake, kinds, start


def raw(d):
    res = run("report", "raw", "--json", "-i", d.path("data"))
    ok(res.returncode == 0 and not res.stderr, "  and the file is good",
       res.stderr)
    return parsed(res)


def test_command():
    with fake() as (d, m):
        res = run(*args(d, m, "--", "sh", "-c", "sleep 0.3; echo out; exit 7"))
        err = res.stderr.decode()
        ok(res.returncode == 7 and res.stdout == b"out\n",
           "a command: its output, its exit status", res.returncode, err)
        ok(re.search(r"wsmo: wrote \d+ records, [\d.]+ KiB, in \d+.* to ", err)
           and re.search(r"wsmo: monitoring took \d+\.\d+ % of one CPU", err)
           and ("wsmo: now see: wsmo report summary -i " + d.path("data"))
           in err and "LOST" not in err, "the closing words", err)
        ok(stat.S_IMODE(os.stat(d.path("data")).st_mode) == 0o600,
           "the file is private")
        ok(len(m.targets) == 1 and m.attrs == "follow=1\n",
           "started once, not stopped: it ended by itself", m.targets)
        lines = raw(d)
        ok(lines[-1]["type"] == "end" and lines[-1]["reason"] ==
           "targets gone" and lines[-2]["type"] == "stats", "up to its end")
        areas = [line for line in lines if line["type"] == "area"]
        ok(areas and areas[0].get("path") == "[heap]", "areas have names",
           areas[:2])
        ok(any(re.fullmatch(r"\S.* \+\d+", line.get("path", ""))
               for line in areas), "of several mappings the largest is named",
           areas[:4])
        proc = [line for line in lines if line["type"] == "proc"]
        ok(proc and 4096 <= proc[0]["rss"] < proc[0]["vsize"],
           "RSS is beside the working set", proc)
        ok(sorted(os.listdir(d.name)) == ["data", "debug"],
           "nothing else is left", os.listdir(d.name))
    for what, status, words in (
            ("kill -TERM $$", 143, ""), ("exit 255", 255, "")):
        with fake() as (d, m):
            res = run(*args(d, m, "--", "sh", "-c", what))
            ok(res.returncode == status, "status of sh -c '%s'" % what,
               res.returncode, res.stderr.decode())
    with fake() as (d, m):
        res = run(*args(d, m, "-q", "--", "sleep", "0.2"))
        ok(res.returncode == 0 and not res.stderr, "-q is quiet", res.stderr)
    with fake() as (d, m):
        res = run(*args(d, m, "-q", "sh", "-c", "echo $# $0 -p", "--", "-d"))
        ok(res.stdout == b"1 -- -p\n", "options of the command stay its own",
           res.stdout, res.stderr)


def test_time_namespace():
    """Clocks differ by a namespace: the recorder's own records have the times of the module's
    records."""
    prefix = ["unshare", "-T", "--monotonic", "1000000"]
    if subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL).returncode:
        skip("a recorder in a time namespace", "none can be made")
        return
    with fake() as (d, m):
        before = now()
        res = subprocess.run([*prefix, WSMO, *args(d, m, "-q", "--", "sleep", "1")], env=ENV,
                             capture_output=True)
        after = now()
        ok(res.returncode == 0, "recorded in a time namespace", res)
        times = {x["type"]: x["time_ns"] for x in raw(d) if "time_ns" in x}
        ok({"proc", "wss"} <= set(times) and all(before <= t <= after for t in times.values()),
           "all records have times of one clock", before, after, times)


def test_windows():
    with fake() as (d, m):
        res = run(*args(d, m, "-q", "--window", "100ms,1s,86400", "--", "sleep", "0.2"))
        ok(res.returncode == 0 and "window_us=100000,1000000,86400000000" in
           m.attrs.split(), "several windows", m.attrs, res.stderr)
    with fake() as (d, m):
        res = run(*args(d, m, "--sizing", "--", "sleep", "0.2"))
        ok(res.returncode == 0 and {"sample_us=500000", "aggr_us=1000000", "window_us=1000000,"
           "2000000,4000000,8000000,15000000,30000000,60000000,120000000"} <=
           set(m.attrs.split()) and b"now see: wsmo report sizing" in res.stderr,
           "--sizing", m.attrs, res.stderr)
        lines = raw(d)
        found = {x["kind"]: x for x in lines if x["type"] == "refault"}
        ok([x["type"] for x in lines[:3]] == ["header", "refault", "refault"] and set(found) == {0, 1},
           "it begins with what refaults take", lines[:3])
        ok(all(16 <= x["refaults"] <= 1024 and x["text"] and 0 < x["median_ns"] < 10**9 and
               0 < x["mean_ns"] < 10**9 and x["half_ns"] < x["mean_ns"] if x["refaults"] else
               ("the time of a refault %s was not measured: %s" % (("from swap", "of a file")[kind], x["text"])).encode()
               in res.stderr for kind, x in found.items()), "measured, or it says why not", found, res.stderr)
        for kind, x in found.items():
            if not x["refaults"]:
                skip("the time of a refault %s" % ("from swap", "of a file")[kind], x["text"])
        with open("/proc/swaps") as f:
            swap = len(f.readlines()) > 1
        ok(swap or found[0]["text"] == "there is no swap", "swap, if there is any", found[0])
        ok(not [name for name in os.listdir("/var/tmp") if name.startswith("wsmo-")], "no file is left")


def test_contents():
    """--sizing does not copy memory that its cgroup, or one above, keeps from swap"""
    if os.geteuid() or not cgroup_root() or subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode:
        skip("contents of memory", "no root, no mount namespaces or no cgroups of version 2")
        return
    layers = ["out/obj/plain/%s.a" % name for name in ("live", "core", "libwsmon")]
    subprocess.run(["make", "-s", "-C", TOP, *layers], check=True)
    with open("/proc/self/cgroup") as f:
        own = [line[3:].strip("/\n") for line in f if line.startswith("0::")][0]
    with Directory() as d:
        subprocess.run(["gcc", "-D_GNU_SOURCE", *("-I" + os.path.join(TOP, x) for x in ("include", "tools", "tools/wsmo")),
                        "-o", d.path("contents"), os.path.join(HERE, "programs", "contents.c"),
                        *(os.path.join(TOP, x) for x in layers), "-lzstd", "-lm"], check=True)
        os.makedirs(d.path("fake", own))

        def copied(name, value, level):
            path = d.path("fake", *own.split("/")[:level], name)
            with open(path, "w") as f:
                f.write(value)
            out = subprocess.run(["unshare", "-m", "sh", "-c", 'mount --bind "$0" "$1" && exec "$2"', d.path("fake"),
                                  cgroup_root(), d.path("contents")], stdout=subprocess.PIPE).stdout
            os.unlink(path)
            return [int(x) for x in out.split()]

        for level in {0, len(own.split("/"))}:
            for name, value in ("memory.swap.max", "0\n"), ("memory.zswap.writeback", "0\n"):
                got = copied(name, value, level)
                ok(got == [0, 1, 0], "%s of 0 at level %d: nothing is copied" % (name, level), got)
        got = copied("memory.swap.max", "max\n", 0)
        ok(got[:2] == [1, 0] and got[2] > 400, "else it is", got)


def test_no_command():
    with fake() as (d, m):
        precious = r.header(1)
        d.write("data", precious)
        fails(run(*args(d, m, "--", "/no/such/command")), "no such command",
              "no such command", status=127)
        ok(d.read("data") == precious and
           sorted(os.listdir(d.name)) == ["data", "debug"],
           "an older file is as it was", os.listdir(d.name))
        ok(m.targets[-1] == "\n", "and monitoring was stopped", m.targets)
    with fake() as (d, m):
        name = d.write("script", b"")
        fails(run(*args(d, m, "--max-regions", "77", "--", name)),
              "a command that cannot be run", "Permission denied", status=126)
        time.sleep(0.2)
        ok("max_regions=77" in m.attrs and
           m.dir.read("attrs") == b"follow=0 max_regions=2000\n",
           "attributes are restored after that, too", m.attrs)


def test_attach():
    with fake() as (d, m):
        d.write("data", r.header(1) + b"the old one")
        began = time.time()
        res = run(*args(d, m, "-p", "%d,%d" % (os.getpid(), os.getppid()),
                        "-d", "1.3", "--sample", "10ms", "--aggr", "0.2",
                        "--no-flush", "--seed", "5", "--peak-detector", "fano",
                        "--peak-window", "60", "--peak-gain", "2.5", "--peak-adapt", "1",
                        # these are all attributes
                        "--update", "2", "--window", "0.2", "--min-regions", "20",
                        "--max-regions", "500", "--cpu", "5%"))
        took = time.time() - began
        ok(res.returncode == 0 and 1.2 < took < 3, "-p, -d", res.returncode,
           took, res.stderr)
        ok(m.targets == ["%d %d\n" % (os.getpid(), os.getppid()), "\n"],
           "the target is written, and an empty line ends it", m.targets)
        ok(m.attrs == "follow=1 sample_us=10000 aggr_us=200000 flush_tlb=0 seed=5 peak_detector=fano "
           "peak_window=60 peak_gain=2.500 peak_adapt=1.000 update_us=2000000 "
           "window_us=200000 min_regions=20 max_regions=500 cpu_permille=50\n",
           "attributes are set before the target", m.attrs)
        ok(m.dir.read("attrs") == b"follow=0 sample_us=100000 aggr_us=1000000 "
           b"flush_tlb=1 seed=0 peak_detector=sigma peak_window=30 peak_gain=5 "
           b"peak_adapt=0.25 update_us=1000000 window_us=1000000 min_regions=10 "
           b"max_regions=2000 cpu_permille=30\n", "and restored", m.dir.read("attrs"))
        ok(d.read("data.old") == r.header(1) + b"the old one", "the older file is kept")
        lines = raw(d)
        proc = [line for line in lines if line["type"] == "proc"]
        ok(3 <= len(proc) <= 6 and {line["pid"] for line in proc} ==
           {os.getpid(), os.getppid()}, "RSS once a second for each", proc)
        pss = [line["pss"] for line in proc if line["pid"] == os.getpid()]
        ok(0 < pss[0] <= proc[0]["rss"] * 1.1 + (1 << 20) and not any(pss[1:]),
           "PSS less often", pss)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with fake() as (d, m):
            p = start(d, m, "-p", str(os.getpid()))
            m.running.wait(10)
            time.sleep(0.2)
            p.send_signal(sig)
            err = p.communicate(timeout=10)[1]
            ok(p.returncode == 0 and kinds(d)[-1] == r.END and b"wrote" in err,
               "-p ends cleanly on " + sig.name, p.returncode, err)
    with fake() as (d, m):
        p = start(d, m, "-p", str(os.getpid()), preexec_fn=lambda:
                  signal.signal(signal.SIGHUP, signal.SIG_IGN))
        m.running.wait(10)
        p.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        ok(p.poll() is None, "an ignored SIGHUP stays ignored (nohup)")
        p.send_signal(signal.SIGTERM)
        p.communicate(timeout=10)
    with fake() as (d, m):
        sleeper = subprocess.Popen(["sleep", "0.5"])
        p = start(d, m, "-p", str(sleeper.pid))
        sleeper.wait()
        err = p.communicate(timeout=10)[1]
        ok(p.returncode == 0 and len(m.targets) == 1 and
           kinds(d)[-2:] == [r.STATS, r.END],
           "it ends when the last process is gone", p.returncode, err)


def test_command_signals():
    trap = "trap 'echo got; sleep 0.2; exit 3' %s; echo up; " \
        "for i in $(seq 100); do sleep 0.05; done"
    for sig in (signal.SIGTERM, signal.SIGHUP):
        with fake() as (d, m):
            p = start(d, m, "--", "sh", "-c", trap % sig.name[3:])
            p.stdout.readline()
            p.send_signal(sig)
            out, err = p.communicate(timeout=10)
            ok(p.returncode == 3 and out == b"got\n",
               "%s is forwarded to the command" % sig.name, p.returncode, out,
               err)
    with fake() as (d, m):
        p = start(d, m, "--", "sh", "-c", trap % "INT",
                  start_new_session=True)
        p.stdout.readline()
        os.killpg(p.pid, signal.SIGINT)
        out, err = p.communicate(timeout=10)
        ok(p.returncode == 3 and out == b"got\n" and b"wrote" in err and
           kinds(d)[-1] == r.END,
           "Ctrl-C: recording goes on until the command is gone",
           p.returncode, out, err)
    with fake() as (d, m):
        began = time.time()
        p = start(d, m, "-d", "0.3", "--", "sh", "-c", "sleep 1; exit 4")
        out, err = p.communicate(timeout=10)
        ok(p.returncode == 4 and time.time() - began >= 1 and
           m.targets[-1] == "\n" and r.EXIT not in kinds(d) and
           kinds(d)[-1] == r.END,
           "-d with a command: recording ends, the command goes on",
           p.returncode, m.targets, err)


def test_stale_stream():
    def data(d):
        return r.parse(d.read("data"))

    old = r.header(1) + r.target(2, 9999, b"old") + r.end(3)
    with fake(stale=old) as (d, m):
        run(*args(d, m, "--", "sleep", "0.2"))
        ok(data(d)[0][0] == r.ATTRS and b"old" not in d.read("data") and
           d.read("data").count(r.MAGIC) == 1,
           "what an earlier session left is thrown away", data(d)[:3])
    half = r.wss(3, 9999, "all", 1, 1, 1, 1)
    with fake(stale=r.header(1) + half[:20], script=lambda m, pids: (
            m.send(half[20:]), m.monitor(pids))) as (d, m):
        run(*args(d, m, "--", "sleep", "0.2"))
        ok(data(d)[0][0] == r.ATTRS, "even if it comes in two parts",
           data(d)[:3])


def test_losses():
    def script(m, pids):
        m.begin(pids)
        m.send(r.lost(now(), 5, 5000))
        m.send(r.stats(now(), lost_records=7, lost_bytes=7000))
        m.send(r.end(now()))

    with fake(script=script) as (d, m):
        res = run(*args(d, m, "-q", "-p", str(os.getpid())))
        ok(res.returncode == 0 and b"LOST 7 records (6.8 KiB)" in res.stderr,
           "what was lost is told, even with -q", res.stderr)


def test_who():
    for options, want in (("--who",), "100"), (("--who=10000",), "10000"):
        with fake() as (d, m):
            res = run(*args(d, m, "-q", *options, "--", "sleep", "0.2"))
            ok(res.returncode == 0 and m.attrs == "follow=1 who_rate=%s\n" % want, options[0],
               m.attrs, res)
    with fake() as (d, m):
        for options in ("--who=0",), ("--who=10001",), ("--who", "--all"):
            res = run(*args(d, m, *options))
            ok(res.returncode == 2 and b"who" in res.stderr or b"10001" in res.stderr,
               " ".join(options) + " is refused", res)


def test_children():
    old = ATTRS.replace("follow=0\n", "")
    said = b"wsmo: this module does not follow children: they are not recorded; load a newer module, " \
        b"or use --no-children\n"
    for options, attrs, want, err in (((), ATTRS, "follow=1\n", b""),
                                      (("--no-children",), ATTRS, "follow=0\n", b""),
                                      ((), old, old, said),
                                      (("--no-children",), old, old, b"")):
        with fake() as (d, m):
            m.dir.write("attrs", attrs.encode())
            res = run(*args(d, m, "-q", *options, "--", "sleep", "0.2"))
            ok(res.returncode == 0 and m.attrs == want and res.stderr == err,
               "children, %s, %s module" % (options, "an old" if attrs == old else "a"), m.attrs, res)
            ok(m.dir.read("attrs").decode() == (old if attrs == old else "follow=0\n"), "  restored",
               m.dir.read("attrs"))

    def script(m, pids):
        m.begin(pids)
        for _ in range(20):
            t = now()
            m.send(r.wss(t, pids[0], "all", 3 << 20, 2 << 20, 4 << 20, 9 << 20))
            m.send(r.group(t, 12, came=11) + r.total(t, "all", 7 << 20, 6 << 20, 8 << 20, 99 << 20) +
                   r.total(t, "anon", 5 << 20, 5 << 20, 5 << 20, 99 << 20))
            if m.asked(0.1):
                break
        m.send(r.end(now()))

    with fake(script=script) as (d, m):
        text = shown(d, m, "-p", str(os.getpid()))
        ok(b"12 processes: WSS 7.0 MiB (6.0 MiB to 8.0 MiB)" in text,
           "progress: the total of the group", text)
        got = kinds(d)
        ok(got.count(r.GROUP) == got.count(r.WSS) > 9 and got.count(r.TOTAL) == 2 * got.count(r.GROUP),
           "records of the group are in the file", got)


def test_budget():
    """A recording shorter than an interval, with fewer rounds than were due."""
    def script(rounds):
        def play(m, pids):
            t = now()
            m.send(r.header(t) + r.attrs(t, cpu_permille=30) + r.target(t, pids[0], b"target"))
            m.send(r.stats(t + 10**9, rounds=rounds, targets=1, budget=2000,
                           sample_ns=10**8))
            m.send(r.end(t + 10**9))
        return play

    said = b"wsmo: --cpu 3% left out 70 % of the rounds"
    for rounds, options, count in (3, (), 1), (3, ("-q",), 0), (10, (), 0):
        with fake(script=script(rounds)) as (d, m):
            err = run(*args(d, m, *options, "-p", str(os.getpid()))).stderr
            ok(err.count(said) == err.count(b"--cpu") == count and (options or b"wrote" in err),
               "%d rounds of 10, %s: %s" % (rounds, options, "said" if count else "not said"), err)


def test_broken_stream():
    def script(tail):
        def play(m, pids):
            m.begin(pids)
            m.send(tail)
            m.asked(5)
        return play

    with fake(script=script(r.record(r.WSS, 1, b""))) as (d, m):
        res = run(*args(d, m, "-p", str(os.getpid())))
        ok(res.returncode == 1 and b"the stream is broken at byte" in
           res.stderr and kinds(d) == [r.ATTRS, r.TARGET],
           "a broken stream: stop, keep what is whole", res)

    def vanish(m, pids):
        m.begin(pids)
        time.sleep(0.3)
        null = os.open("/dev/null", os.O_RDWR)
        os.dup2(null, m.buffer)

    with fake(script=vanish) as (d, m):
        res = run(*args(d, m, "-p", str(os.getpid())))
        ok(res.returncode == 1 and b"ended too early" in res.stderr,
           "a stream that ends too early", res)

    def silent(m, pids):
        m.begin(pids)
        m.asked(5)

    with fake(script=silent) as (d, m):
        began = time.time()
        res = run(*args(d, m, "-p", str(os.getpid()), "-d", "0.1"))
        ok(b"did not report the end" in res.stderr and
           time.time() - began < 8, "a module that never ends", res)


def test_refusals():
    with fake() as (d, m):
        precious = r.header(1)
        d.write("data", precious)

        def untouched(name, *more, words=(), where=None, **kw):
            fails(run("record", "--debugfs", where or m.dir.name, "-o",
                      d.path("data"), *more, **kw), name, *words)
            ok(d.read("data") == precious and not m.targets and
               m.dir.read("attrs").decode() == ATTRS and
               sorted(os.listdir(d.name)) == ["data", "debug"],
               "  and nothing was changed", os.listdir(d.name))

        for option in "--all", "--cgroup=/x":
            untouched("a cgroup without a device", option,
                      words=("a cgroup can only be watched with /dev/wsmon",))
        me = str(os.getpid())
        untouched("no such process", "-p", "1,2147483647",
                  words=("there is no process 2147483647",))
        untouched("no module", "-p", me, where="/nowhere",
                  words=("/nowhere/", "'wsmo check' says why"))
        m.status(b"running\n")
        untouched("another session", "-p", me, words=("already running",))
        m.status(b"idle\n")
        fails(run("record", "--debugfs", m.dir.name, "-o",
                  "/no/such/directory/f", "-p", me), "no such directory",
              "No such file or directory")
        fails(run("record", "--debugfs", m.dir.name, "-o", d.name, "-p", me),
              "the output is a directory", "a directory")
        m.dir.write("attrs", b"sample_us=100000\n")
        fails(run(*args(d, m, "-p", me, "--aggr", "1s")),
              "an attribute the module does not have", "aggr_us")
        m.dir.write("attrs", ATTRS.encode())
        if os.geteuid() == 0:
            untouched("not root", "-p", me, user=65534, words=("sudo",),
                      env={"ASAN_OPTIONS": "detect_leaks=0"})
    with fake() as (d, m):
        res = run("record", "--debugfs", m.dir.name, "-o", "/dev/full", "--",
                  "sh", "-c", "sleep 0.3; exit 9")
        ok(res.returncode == 1 and b"No space left on device" in res.stderr
           and b"nothing was saved" in res.stderr and
           m.targets[-1] == "\n" and os.path.exists("/dev/full"),
           "a full disk: stop, tell, the command goes on", res)


def test_sudo():
    if os.geteuid():
        skip("sudo", "not root")
        return
    user = {"SUDO_UID": "65534", "SUDO_GID": "65534", "SUDO_USER": "nobody"}
    with fake() as (d, m):
        res = run(*args(d, m, "-q", "--", "sh", "-c",
                        "id -u; id -g; id -G; echo $HOME $USER $LOGNAME"),
                  env=user)
        lines = res.stdout.decode().split()
        ok(lines[:3] == ["65534"] * 3 and
           lines[3:] == ["/nonexistent", "nobody", "nobody"],
           "sudo: the command runs as the user", lines, res.stderr)
        st = os.stat(d.path("data"))
        ok(st.st_uid == 65534 and st.st_gid == 65534 and
           stat.S_IMODE(st.st_mode) == 0o600, "sudo: the file is the user's")
    as_daemon = {"PKEXEC_UID": "1"}
    for name, env, want in (
            ("pkexec", as_daemon, "1 daemon"), ("doas", {"DOAS_USER": "daemon"}, "1 daemon"),
            ("sudo called by root in pkexec", dict(as_daemon, SUDO_UID="0", SUDO_GID="0"), "1 daemon"),
            ("sudo in doas", dict(user, DOAS_USER="daemon"), "65534 nobody"),
            ("a user without a name", {"SUDO_UID": "54321", "SUDO_GID": "54321"}, "54321 root"),
            ("root", {}, "0 root")):
        for option in (), ("--user", "nobody"), ("--user", "root"):
            with fake() as (d, m):
                res = run(*args(d, m, "-q", *option, "--", "sh", "-c", "echo $(id -u; id -G) $USER"),
                          env=dict(env, USER="root"))
                uid, comm = want.split()
                owner = os.stat(d.path("data")).st_uid
                if option:
                    comm = option[1]
                ran = {"nobody": "65534", "root": "0", "daemon": "1"}.get(comm, uid) if option else uid
                words = res.stdout.decode().split()
                ok([words[0], words[-1]] == [ran, comm] and (ran == "0" or words[1:-1] == [ran]) and
                   owner == int(uid), "%s %s" % (name, " ".join(option)), res, owner)
    bad = [dict(user, SUDO_UID=x) for x in ("", "x", "4294967295", "-1")] + [
        {"SUDO_UID": "1"}, {"PKEXEC_UID": "54321"}, {"PKEXEC_UID": "-1"}, {"DOAS_USER": "no such user"}, {"DOAS_USER": ""}]
    for env in bad:
        with fake() as (d, m):
            res = run(*args(d, m, "--", "id"), env=env)
            ok(res.returncode == 126 and not res.stdout and b"cannot become" in res.stderr,
               "%s does not run it as root" % env, res)
    with fake() as (d, m):
        for options in ("--user", "no such user", "--", "id"), ("--user", "daemon", "-p", "1"):
            res = run(*args(d, m, *options))
            ok(res.returncode == 2 and b"user" in res.stderr and not m.targets, "refused: " + " ".join(options), res)


def test_inheritance():
    with fake() as (d, m):
        res = run(*args(d, m, "-q", "--", sys.executable, "-c",
                        "import os,signal\n"
                        "print(sorted(int(f) for f in os.listdir("
                        "'/proc/self/fd'))[:4])\n"
                        "s = open('/proc/self/status').read()\n"
                        "print([l.split()[1] for l in s.splitlines() "
                        "if l.startswith('SigBlk')])\n"))
        lines = res.stdout.decode().splitlines()
        ok(lines == ["[0, 1, 2, 3]", "['0000000000000000']"],
           "the command inherits no fd and no blocked signal", lines,
           res.stderr)


def shown(d, m, *more, columns=0):
    """Messages on a terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    p = subprocess.Popen([WSMO, *args(d, m, *more)], env=ENV, stderr=slave)
    os.close(slave)
    text = b""
    with contextlib.suppress(OSError):
        while True:
            data = os.read(master, 4096)
            if not data:
                break
            text += data
    p.wait()
    os.close(master)
    return text


def test_progress():
    with fake() as (d, m):
        text = shown(d, m, "-p", str(os.getpid()), "-d", "2.5")
        ok(text.count(b"WSS 3.0 MiB (2.0 MiB to 4.0 MiB)") == 2 and
           b"\r2 s  pid" in text and b"wsmo: wrote" in text,
           "a progress line on a terminal", text)
    with fake() as (d, m):
        text = shown(d, m, "-p", str(os.getpid()), "-d", "2.5", columns=40)
        lines = text.split(b"wsmo: wrote")[0].split(b"\r")
        ok(len(lines) > 3 and max(map(len, lines)) == 39 and any(b"WSS 3.0 MiB" in line for line in lines),
           "it does not go on in a second line of a narrow one, where it could not be overwritten", lines)


def test_cgroup_mounts():
    """A mount that shows only a part of the cgroups"""
    with open("/proc/self/mounts") as f:
        mounts = [line.split()[1] for line in f if line.split()[2] == "cgroup2"]
    if os.geteuid() or not mounts or subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode:
        skip("cgroups", "no root, no mount namespaces or no cgroups of version 2")
        return
    name = "wsmo-test-%d" % os.getpid()
    top = os.path.join(mounts[0], name)
    os.mkdir(top)
    try:
        script = """mkdir part all; mount --bind %s part; umount -R %s; mount -t cgroup2 none all || exit 9
                    mkdir %s/sub && exec "$0" mem --cgroup "$1" """ % (top, mounts[0], "part")
        for path, said in ("/%s/sub" % name, b"has no process"), ("/sub", b"there is no cgroup /sub"):
            with Directory() as d:
                res = subprocess.run(["unshare", "-m", "sh", "-c", script, WSMO, path], cwd=d.name, env=ENV,
                                     stderr=subprocess.PIPE)
                if res.returncode == 9:
                    skip("a part of the cgroups", "cgroups of version 2 cannot be mounted")
                    continue
                ok(said in res.stderr, "a mount of a part of the cgroups: %s" % path, res)
                os.rmdir(os.path.join(top, "sub"))
    finally:
        os.rmdir(top)


def test_slow_machine():
    """Reading the processes of a cgroup may take far longer than the recording"""
    with Directory() as d:
        device = Device(d)
        device.cgroup("/slow-1.scope", processes=0)
        with open(d.path("cgroups/slow-1.scope/cgroup.procs"), "w") as f:
            f.write("%d\n" % os.getpid() * 200)
        began = time.monotonic()
        res = run("record", "-q", "--cgroup", "/slow-1.scope", "-d", "1", "-o", d.path("data"),
                  env=dict(device.env, FAKE_SLOW="1"))
        took = time.monotonic() - began
        device.close()
        # this device does not report the end: 5 s
        ok(b"did not report the end" in res.stderr and took < 20, "a cgroup that it takes 20 s to look at: the recording ends in time", took, res)

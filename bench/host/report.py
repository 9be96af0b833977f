# SPDX-License-Identifier: GPL-2.0
"""Speed and memory of wsmo report on a large recording.

Makes a recording of 2000 regions and 6 working set sizes an interval, feeds it to wsmo
record through a fake of the module, plain and packed, and has the reports read both; needs
no guest. MB/s are of the plain recording, whichever file is read, in a second of CPU: the
files are in the page cache, and the machine may have other load.
"""
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import records as r
import sim
from command import ENV, Directory
from fakemodule import Module
from host.lib import MIB, TOP, at_least, table

NEED = ()
KEY = ("what", "of")
WSMO = os.path.join(TOP, "out", "bin", "wsmo")
PID = os.getpid()
REGIONS = 2000
CYCLE = 64  # intervals that are generated; then they repeat, at later times
WINDOW = 100  # intervals of the late window

REPORTS = (
    ("summary", ("summary",)),
    ("wss", ("wss",)),
    ("wss --csv", ("wss", "--csv")),
    ("regions of a class", ("regions", "--csv", "--class", "stack")),
    ("regions, late window", ("regions", "--csv", "--time", "{late},",
                              "--class", "text")),
    ("summary, one minute", ("summary", "--time", "{middle},{minute}")),
    ("idle, one minute", ("idle", "--time", "{middle},{minute}")),
    ("regions of no target", ("regions", "--csv", "--pid", "1")),
)


def wss(t):
    return b"".join(r.wss(t, PID, cls, n << 20, n << 19, n << 21, n << 30)
                    for n, cls in enumerate(r.CLASSES[:6]))


def intervals():
    """(time, records), endlessly: all cycles are equal, apart from times"""
    begin = 5000 * 10**9
    made = [(struct.unpack_from("<Q", one, 8)[0], one[:8], one[16:])
            for one in sim.history(CYCLE, REGIONS, pid=PID)]
    later = 0
    while True:
        for t, head, rest in made:
            t += later
            yield t, head + struct.pack("<Q", t) + rest + wss(t) + \
                r.stats(t, rounds=10)
        later += made[-1][0] - begin


def send(module, data):
    """All of it: a FIFO takes no more at a time than it has room for"""
    view = memoryview(data)
    while view:
        view = view[os.write(module.buffer, view):]


def feed(todo):
    """The fake module: sends the intervals, then END"""
    def script(module, _pids):
        for part in (r.header(5000 * 10**9), r.attrs(5000 * 10**9),
                     r.target(5000 * 10**9, PID, b"bench")):
            send(module, part)
        size = 0
        for n, (t, interval) in enumerate(intervals(), 1):
            send(module, interval)
            size += len(interval)
            if size >= todo["bytes"]:
                break
        todo.update(late=t / 10**9 - 5000 - WINDOW, plain=size, intervals=n)
        todo.update(middle=todo["late"] / 2, minute=todo["late"] / 2 + 60)
        send(module, r.end(t))
    return script


def high_water(pid):
    """KiB; ru_maxrss would be this process's if that is larger"""
    try:
        with open("/proc/%d/status" % pid) as f:
            return max([int(line.split()[1]) for line in f if line.startswith("VmHWM")] or [0])
    except OSError:
        return 0


def run(*command):
    """(seconds, seconds of CPU, KiB of memory) of a command"""
    kib = 0
    before = time.monotonic()
    p = subprocess.Popen(command, env=ENV, stdout=subprocess.DEVNULL)
    while True:
        pid, status, usage = os.wait4(p.pid, os.WNOHANG)
        if pid:
            break
        kib = max(kib, high_water(p.pid))
        time.sleep(0.004)
    took = time.monotonic() - before
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        sys.exit("%s: exit status %d" % (" ".join(command), p.returncode))
    return {"seconds": took, "cpu": usage.ru_utime + usage.ru_stime, "kib": kib}


def record(todo, name, *options):
    with Directory() as fake:
        module = Module(fake, script=feed(todo))
        try:
            took = run(WSMO, "record", "--debugfs", fake.name, "-q", "-o", name,
                       "-p", str(PID), *options)
        finally:
            module.close()
    took["intervals"] = todo["intervals"]
    took["bytes"] = os.path.getsize(name)
    return took


def read(todo, name, args, runs):
    command = [WSMO, "report", *(a.format(**todo) for a in args), "-i", name]
    all_runs = [run(*command) for _ in range(runs)]
    result = {key: statistics.median(x[key] for x in all_runs)
              for key in ("seconds", "cpu")}
    result["mb_s"] = todo["plain"] / result["cpu"] / 1e6
    result["kib"] = max(x["kib"] for x in all_runs)
    return result


def options(parser):
    parser.add_argument("--mib", type=at_least(16), default=1024, help="size of the plain recording (1024)")
    parser.add_argument("--runs", type=at_least(1), default=5,
                        help="of which the median counts (5)")


def measure(args, _run):
    if not os.path.exists(WSMO):
        sys.exit("out/bin/wsmo is not there: make wsmo")
    todo, rows = {"bytes": args.mib << 20}, []
    with tempfile.TemporaryDirectory() as tmp:
        for kind, options in (("plain", ("--no-pack",)), ("packed", ())):
            rows.append({"what": "recording", "of": kind,
                         **record(todo, os.path.join(tmp, kind), *options)})
        for title, words in REPORTS:
            for kind in "plain", "packed":
                rows.append({"what": title, "of": kind,
                             **read(todo, os.path.join(tmp, kind), words, args.runs)})
    return rows


def tables(rows):
    return {
        "report: recordings": table(
            ["recording", "MiB", "bytes an interval", "ms of CPU an interval", "KiB of memory"],
            [[r["of"], "%.1f" % (r["bytes"] / MIB), "%.0f" % (r["bytes"] / r["intervals"]),
              "%.3f" % (r["cpu"] / r["intervals"] * 1e3), r["kib"]]
             for r in rows if r["what"] == "recording"]),
        "report: views": table(
            ["report", "of", "s of CPU", "MB/s", "KiB of memory"],
            [[r["what"], r["of"], "%.2f" % r["cpu"], "%.0f" % r["mb_s"], r["kib"]]
             for r in rows if r["what"] != "recording"])}


def notes(rows):
    return []

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Peaks of the working set: found where they are and nowhere else, and reported."""
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import wsmontest as w
import truth
import wsmon

MIB = 1 << 20
TRACING = "/sys/kernel/tracing/"
# ten estimates a second, and a baseline of three seconds
FAST = ("sample_us=%d aggr_us=%d update_us=%d window_us=%d max_regions=600 "
        "cpu_permille=1000 ")


class Stream:
    """Reads buffer from its creation until monitoring ends."""

    def __init__(self):
        self.fd = os.open(w.DIR + "buffer", os.O_RDONLY)
        self.data, self.reads = b"", []
        self.thread = threading.Thread(target=self.follow)
        self.thread.start()

    def follow(self):
        while part := os.read(self.fd, 1 << 20):
            self.data += part
            self.reads.append((len(self.data), time.monotonic_ns()))
        os.close(self.fd)

    def records(self):
        self.thread.join()
        return list(wsmon.read(io.BytesIO(self.data))[1])


def workload(*words):
    return subprocess.Popen(words, stdout=subprocess.DEVNULL)


def fast(ms):
    w.must_put("attrs", FAST % (ms * 200, ms * 1000, ms * 1000, ms * 1000))


def edges(records, pid, group):
    return [r for r in records
            if r.type == "PEAK" and r.pid == pid and r.group == group]


def show(records, pid):
    for r in records:
        if r.type == "PEAK" and r.pid == pid:
            print("#   %s %d %s%+d at %.1f s: %.1f MiB (%.1f - %.1f), %.1f of %.1f" % (
                r.group, r.number, r.edge, r.sign,
                (r.time_ns - records[0].time_ns) / 1e9, r.bytes / MIB, r.low / MIB,
                r.high / MIB, r.height / MIB, r.baseline / MIB))
    sys.stdout.flush()


def paired(found):
    """The end records of the peaks; each follows a start of the same number."""
    assert [r.edge for r in found] == ["start", "end"] * (len(found) // 2), \
        [r.edge for r in found]
    for start, end in zip(found[::2], found[1::2]):
        assert (start.number, start.sign, start.start_ns, start.baseline,
                start.threshold) == (end.number, end.sign, end.start_ns,
                                     end.baseline, end.threshold)
        assert start.end_ns == 0 and start.time_ns == start.start_ns
        assert end.time_ns == end.end_ns > end.start_ns
        assert start.bytes == start.height
        assert start.sign < 0 or start.low > start.baseline + start.threshold
    return found[1::2]


# Pages of its code and libraries that a workload may use when it prints
CODE = MIB // 2


def surprises(records, pid, expected):
    """False peaks, and false troughs; but not the troughs of a program at rest that a
    busy machine stopped for most of an interval, nor the program's own code, when it prints."""
    return [r for r in records
            if r.type == "PEAK" and r.pid == pid and r.edge == "start" and
            (r.group, r.number) not in expected and (r.high > CODE if r.sign > 0 else r.baseline > MIB)]


@w.measured
def ramps():
    """The top of each ramp is one peak, and nothing else is."""
    fast(250)
    w.must_put("attrs", "peak_window=10")
    pages, cycles = 16384, 10
    ramping = {stride: workload("pageramp", "--pages", str(pages), "--stride", str(stride),
                                "--populate", "--ramp", "2", "--rest", "4", "--window", "250",
                                "--cycles", str(cycles)) for stride in (1, 2)}
    # populating the pages first is no ramp
    w.wait_for("its memory", lambda: all(rss(p) > pages << 12 for p in ramping.values()), 60)
    time.sleep(0.5)
    stream = Stream()
    w.must_put("target", " ".join(str(p.pid) for p in ramping.values()))
    for p in ramping.values():
        p.wait()
    w.wait_for("the end", w.idle)
    records = stream.records()
    for stride, p in ramping.items():
        print("# stride %d" % stride)
        show(records, p.pid)
    for stride, p in ramping.items():
        found = set()
        for group in ("all", "rest"):
            peaks = [r for r in paired(edges(records, p.pid, group)) if r.sign > 0 and r.height > CODE]
            assert len(peaks) == cycles, len(peaks)
            top = pages // stride << 12
            for r in peaks:
                assert 0.8 < r.height / top < 1.15, r.height / top
                assert r.baseline < top / 20, r.baseline
                assert (r.end_ns - r.start_ns) / 1e9 < 2.8
                found.add((group, r.number))
        assert not surprises(records, p.pid, found)


def rss(p):
    with open("/proc/%d/statm" % p.pid) as f:
        return int(f.read().split()[1]) << 12


def read_bursts(path, base):
    """When each burst began, from the workload's own output"""
    rows = truth.read_truth(path)
    return [t for (_, before), (t, size) in zip(rows, rows[1:])
            if before < 2 * base < size]


@w.measured
def bursts():
    """Five bursts of four times the base for two seconds, in noise of 10 %."""
    ms, base = 200, 16 * MIB
    fast(ms)
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "truth")
        p = workload("patterns", "bursts", "--size", "128M", "--hot", "16M", "--count", "5",
                     "--hold-ms", "8000", "--seconds", "0", "--window-ms", str(ms), "--truth-ms", "20",
                     "--truth", path)
        try:
            w.wait_for("its memory", lambda: os.path.exists(path) and read_lines(path) > 5, 60)
            stream = Stream()
            w.must_put("target", "%d\n" % p.pid)
            time.sleep(46)
            w.must_put("target", "\n")
        finally:
            p.send_signal(signal.SIGTERM)
            p.wait()
        begun = read_bursts(path, base)
    records = stream.records()
    show(records, p.pid)
    assert len(begun) == 5, begun
    found = set()
    for group in ("all", "rest"):
        # a busy machine that stops the target makes troughs: ignore them
        peaks = [r for r in paired(edges(records, p.pid, group)) if r.sign > 0]
        assert len(peaks) == 5, len(peaks)
        late = [(r.start_ns - t) / 1e6 for r, t in zip(peaks, begun)]
        print("# %s: found %s ms after their beginning" % (
            group, " ".join("%.0f" % x for x in late)))
        # the workload reports a burst when it touches the pages, at most 20 ms later
        assert all(-20 <= x <= 1.1 * ms for x in late), late
        for r in peaks:
            assert 3 < r.height / base < 5.3, r.height
            assert 0.8 < r.baseline / base < 1.25, r.baseline
            assert 1.7e9 < r.end_ns - r.start_ns < 2.5e9, r.end_ns - r.start_ns
        found |= {(group, r.number) for r in peaks}
    assert not [r for r in surprises(records, p.pid, found) if r.sign > 0]
    # a reader gets the peak at once: time from the event to the read
    waited = [(when - r.time_ns) / 1e6 for r, when in arrivals(stream)
              if r.type == "PEAK" and r.edge == "start"]
    print("# read %s ms after it happened" % " ".join("%.1f" % x for x in waited))
    assert len(waited) >= 10 and sorted(waited)[len(waited) // 2] < ms / 2, waited


@w.measured
def soon():
    """At the defaults, in 45 s: 1.5 s peaks, one every 12 s, are all found, with their function."""
    with tempfile.TemporaryDirectory() as tmp:
        program, path = w.program("bursting"), os.path.join(tmp, "data")
        # 12 MiB, then 102; the second program's peaks use new memory each time
        jobs = [subprocess.Popen([program, "12", "102", "10.5", "1.5", "99", first],
                                 stdout=subprocess.PIPE) for first in ("10.5", "-14.2")]
        time.sleep(1)
        subprocess.run(["wsmo", "record", "-q", "-d", "45", "-o", path,
                        "-p", ",".join(str(p.pid) for p in jobs)], check=True)
        for p in jobs:
            p.kill()
            p.communicate()
        lines = [json.loads(x) for x in subprocess.run(
            ["wsmo", "report", "peaks", "--json", "-i", path], check=True,
            stdout=subprocess.PIPE).stdout.splitlines()]
    of = {}
    for x in lines:
        if x["type"] == "frame":
            of.setdefault(x["stack"], []).append(x["function"])
    stacks = {(x["pid"], x["number"]): of[x["stack"]] for x in lines
              if x["type"] == "stack" and x["stack"]}
    named = 0
    for p in jobs:
        peaks = [x for x in lines if x["type"] == "peak" and x["pid"] == p.pid and
                 x["group"] == "all" and x["sign"] == "up"]
        for x in peaks:
            print("# %d: %s at %.1f s: %.1f MiB over %.1f, %s" % (
                p.pid, x["found"], x["t"], x["height"] / MIB, x["baseline"] / MIB,
                stacks.get((p.pid, x["number"]))))
        # a burst may end after the recording
        assert len(peaks) in (3, 4) and all(x["found"] == "live" for x in peaks), peaks
        for x in peaks[:3]:
            assert 11 < x["baseline"] / MIB < 15 and x["height"] > 20 * MIB, x
            named += "burst_here" in stacks.get((p.pid, x["number"]), [])
    assert named >= 5, named


def read_lines(path):
    with open(path) as f:
        return sum(1 for _ in f)


def arrivals(stream):
    """Each record, and when its last byte was read"""
    f, reads = io.BytesIO(stream.data), iter(stream.reads)
    end, when = next(reads)
    for r in wsmon.read(f)[1]:
        while end < f.tell():
            end, when = next(reads)
        yield r, when


JUMPS = """
def work(*_):
    global large
    large = not large
signal.signal(signal.SIGUSR1, work)
large = False
while True:
    size = 64 if large else 8
    m[:size << 20:4096] = b'x' * (size << 8)
    time.sleep(0.02)
"""
SETUP = "import signal\nm = mmap.mmap(-1, 64 << 20)\nm[::4096] = b'x' * (64 << 8)\n"


def peaks_of(t, group="all", sign="+1"):
    """No troughs: a busy machine that stops the target makes them"""
    return [x for x in w.lines("peaks") if x.get("pid") == str(t.pid) and
            x["group"] == group and x["sign"] == sign]


def warm(n=1):
    """Sleep for @n times the intervals that the detector needs to begin"""
    time.sleep(0.8 * n)


SOON = ("sample_us=10000 aggr_us=50000 update_us=50000 window_us=50000 max_regions=600 "
        "cpu_permille=1000 peak_window=8 ")


@w.figures
def the_file():
    """A line for each peak, while it lasts and afterwards; none of another session."""
    assert w.get("peaks") == ""
    with w.Target(JUMPS, SETUP) as t:
        w.must_put("attrs", SOON)
        w.must_put("target", "%d\n" % t.pid)
        warm()
        assert not peaks_of(t), peaks_of(t)
        os.kill(t.pid, signal.SIGUSR1)
        w.wait_for("a peak", lambda: peaks_of(t), 20)
        first = peaks_of(t)[0]
        assert (first["sign"], first["end_ns"], first["window_us"]) == ("+1", "0", "50000"), first
        assert int(first["baseline"]) >> 20 in range(6, 14)
        assert abs(int(first["start_ns"]) - time.monotonic_ns()) < 10e9
        os.kill(t.pid, signal.SIGUSR1)
        w.wait_for("its end", lambda: peaks_of(t)[0]["end_ns"] != "0", 20)
        over = peaks_of(t)[0]
        assert int(over["height"]) >> 20 in range(30, 90) and int(over["bytes"]) >> 20 < 30
        for key in ("number", "start_ns", "baseline", "threshold"):
            assert over[key] == first[key], key
        w.must_put("target", "\n")
        assert peaks_of(t)[0] == over, "kept"
        w.must_put("target", "%d\n" % t.pid)
        assert w.get("peaks") == "", "of the session before"


@w.figures
def restarts():
    """A change of attributes or of the program ends a peak, and restarts the detector."""
    with w.Target(JUMPS, SETUP) as t:
        w.must_put("attrs", SOON)
        w.must_put("target", "%d\n" % t.pid)
        for change in ("peak_window=9", "window_us=40000", "peak_detector=off"):
            # the start was a burst: it has to be forgotten
            warm(3)
            before = len(peaks_of(t))
            os.kill(t.pid, signal.SIGUSR1)
            w.wait_for("a peak", lambda: len(peaks_of(t)) > before, 20)
            w.must_put("attrs", change)
            last = peaks_of(t)[-1]
            # the size is of the last estimate, which a new window makes void
            assert last["end_ns"] != "0" and int(last["bytes"]) > 0, (change, last)
            after = len(peaks_of(t))
            # back to little: only a detector that kept its past would report it
            os.kill(t.pid, signal.SIGUSR1)
            time.sleep(0.3)
            assert len(peaks_of(t)) == after, change
        # no peaks are reported while the detector is off
        warm(2)
        os.kill(t.pid, signal.SIGUSR1)
        time.sleep(0.5)
        assert len(peaks_of(t)) == after
        os.kill(t.pid, signal.SIGUSR1)
        # attributes that do not concern peaks do not disturb
        w.must_put("attrs", "peak_detector=sigma")
        warm(3)
        w.must_put("attrs", "max_regions=500 seed=7 peak_gain=5.000")
        os.kill(t.pid, signal.SIGUSR1)
        w.wait_for("a peak", lambda: len(peaks_of(t)) > after, 20)
    w.wait_for("the end", w.idle)
    assert peaks_of(t)[-1]["end_ns"] != "0", "it is gone"
    # the target executes a program
    code = JUMPS.replace("large = not large", "os.execlp('sleep', 'sleep', '1000')")
    with w.Target(code.replace("time.sleep(0.02)", "time.sleep(0.02)\n    n += 1\n"
                               "    large = n > %d" % 50).replace(
                                   "large = False", "large, n = False, 0"), SETUP) as t:
        w.must_put("attrs", "peak_window=8 window_us=50000")
        w.must_put("target", "%d\n" % t.pid)
        w.wait_for("a peak", lambda: peaks_of(t), 20)
        os.kill(t.pid, signal.SIGUSR1)
        w.wait_for("its end", lambda: peaks_of(t)[-1]["end_ns"] != "0", 20)
        n = len(peaks_of(t))
        time.sleep(0.3)
        assert len(peaks_of(t)) == n, "a new program has no past"
    # a trough of the first program is none of the next
    code = JUMPS.replace("size = 64 if large else 8", "size = 64\n    if large:\n"
                         "        os.execlp('sleep', 'sleep', '1000')")
    with w.Target(code, SETUP) as t:
        # longer than execve(), during which nothing is touched: it would be a trough, too
        w.must_put("attrs", "window_us=600000")
        w.must_put("target", "%d\n" % t.pid)
        warm(3)
        before = len(peaks_of(t, sign="-1"))
        os.kill(t.pid, signal.SIGUSR1)
        w.wait_for("the next program",
                   lambda: open("/proc/%d/comm" % t.pid).read() == "sleep\n", 20)
        warm(3)
        assert len(peaks_of(t, sign="-1")) == before, peaks_of(t, sign="-1")


def bounded():
    """The file has the last 1024 peaks, and the number of earlier ones."""
    # now more, now less: the detector reports both
    code = ("while True:\n"
            "    n = 1024 if int(time.monotonic() * 10) % 2 else 16\n"
            "    m[:n << 12:4096] = b'x' * n\n"
            "    time.sleep(0.01)\n")
    targets = [w.Target(code, SETUP.replace("64 << ", "4 << ")) for _ in range(6)]
    try:
        w.must_put("attrs", "sample_us=10000 aggr_us=20000 update_us=500000 window_us=20000 "
                   "max_regions=180 cpu_permille=1000 peak_window=2 peak_gain=0.1 "
                   "peak_adapt=1")
        w.must_put("target", " ".join(str(t.pid) for t in targets))
        w.wait_for("more peaks than are kept",
                   lambda: w.get("peaks").startswith("dropped="), 100)
        lines = w.lines("peaks")
        w.must_put("target", "\n")
    finally:
        for t in targets:
            t.kill()
    assert len(lines) == 1025 and int(lines[0]["dropped"]) > 0, (len(lines), lines[0])
    # in the order of their start, and none is missing
    starts = [int(x["start_ns"]) for x in lines[1:]]
    assert starts == sorted(starts)
    for t in targets:
        numbers = [int(x["number"]) for x in lines[1:] if x["pid"] == str(t.pid)]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), numbers


def write(path, text):
    with open(TRACING + path, "w") as f:
        f.write(text)


def fields(line):
    """'name', {field: value} of a line of the trace"""
    event, words = line.split(": ", 2)[1:]
    return event, dict(x.split("=") for x in words.split())


def tracepoints():
    """The trace events that perf, trace-cmd and bpftrace rely on: formats and values."""
    if not os.path.exists(TRACING + "trace"):
        subprocess.run(["mount", "-t", "tracefs", "none", TRACING], check=True)
    assert sorted(x for x in os.listdir(TRACING + "events/wsmon") if x.startswith("wsmon")) == \
        ["wsmon_peak", "wsmon_snapshot", "wsmon_wss"]
    # names of tasks would have schedule() patched, and QEMU does not always survive that
    write("options/record-cmd", "0")
    write("trace", "")
    write("events/wsmon/enable", "1")
    try:
        with w.Target(JUMPS, SETUP) as t:
            w.must_put("attrs", SOON)
            stream = Stream()
            w.must_put("target", "%d\n" % t.pid)
            warm(2)
            os.kill(t.pid, signal.SIGUSR1)
            w.wait_for("a peak", lambda: peaks_of(t), 20)
            os.kill(t.pid, signal.SIGUSR1)
            w.wait_for("its end", lambda: peaks_of(t)[0]["end_ns"] != "0", 20)
            w.must_put("target", "\n")
            records = stream.records()
        with open(TRACING + "trace") as f:
            events = [fields(x) for x in f if "wsmon_" in x]
        with open(TRACING + "events/wsmon/wsmon_wss/format") as f:
            assert '{ 1, "text" }' in f.read(), "names as numbers, for tools"
    finally:
        write("events/wsmon/enable", "0")
    for name in ("wsmon_snapshot", "wsmon_wss", "wsmon_peak"):
        print("# %s: %s" % (name, [e for n, e in events if n == name][-1]))
    wss = [e for n, e in events if n == "wsmon_wss"]
    told = [r for r in records if r.type == "WSS"]
    assert [(int(e["bytes"]), int(e["low"]), int(e["high"]), e["class"], int(e["pid"]))
            for e in wss] == [(r.bytes, r.low, r.high, r.cls, t.pid) for r in told]
    peak = [e for n, e in events if n == "wsmon_peak"]
    told = [r for r in records if r.type == "PEAK"]
    assert told and [(e["group"], e["edge"], int(e["sign"]), int(e["height"]),
                      int(e["start_ns"]), int(e["number"])) for e in peak] == \
        [(r.group, r.edge, r.sign, r.height, r.start_ns, r.number) for r in told]
    snapshots = [e for n, e in events if n == "wsmon_snapshot"]
    told = [r for r in records if r.type == "SNAPSHOT" and r.first == 0]
    assert [(int(e["interval_ns"]), int(e["regions"]), int(e["rounds"])) for e in snapshots] == \
        [(r.interval_ns, r.total, r.rounds) for r in told]


def unloads_while_traced():
    """Enabled events do not keep the module loaded, and vanish with it."""
    write("events/wsmon/enable", "1")
    with w.sleeper() as t:
        w.must_put("target", "%d\n" % t.pid)
        time.sleep(0.3)
        w.unload()
    assert not os.path.exists(TRACING + "events/wsmon")
    w.load()


w.need("wsmo", "patterns")
tests = [the_file, restarts, bounded, tracepoints, unloads_while_traced, bursts, soon]
# it does not depend on the kernel, and takes a minute
if os.uname().release.startswith("6.1."):
    tests.append(ramps)
w.main(*tests)

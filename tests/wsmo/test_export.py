# SPDX-License-Identifier: GPL-2.0
"""export: each format as its readers parse it, files that appear whole, --live."""
import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import zlib

import records as r
import samples
from command import ENV, HERE, TOP, WSMO, Directory, every, fails, golden, ok, run, skip, wait_for
from fakemodule import Stream, now

sys.path.insert(0, os.path.join(TOP, "contrib"))
import wsmon  # noqa: E402

SEC = samples.SEC
MIB = samples.MIB
FORMATS = ("chrome", "damo", "openmetrics")


def export(form, *args, data=None):
    return run("export", form, "-i", "-", *args,
               stdin=samples.main() if data is None else data)


def test_golden_files(accept):
    for form in FORMATS:
        res = export(form)
        # zlib's output may change with its version
        got = zlib.decompress(res.stdout) if form == "damo" else res.stdout
        golden("export." + form, got, accept, not res.returncode and not res.stderr, res.stderr)


def recorded(data):
    """The result of the independent reader for a recording."""
    header, records = wsmon.read(io.BytesIO(data))
    return header, list(records)


def test_chrome():
    trace = json.loads(export("chrome").stdout)
    events = trace["traceEvents"]
    ok(every(e["ph"] in "MCi" and isinstance(e["pid"], int) and e["name"]
           for e in events) and
       every(isinstance(e["ts"], float) and len(e["args"]) == 1 and
           isinstance(e["args"]["bytes"], int) for e in events if e["ph"] == "C") and
       every(e["s"] in "gpt" for e in events if e["ph"] == "i"),
       "chrome has events a viewer takes", events)
    heap = [(e["ts"], e["args"]["bytes"]) for e in events
            if e["name"] == "working set heap, 1 s"]
    ok(heap == [((i + 1) * 1e6, (30 + 2 * i) << 20) for i in range(3)],
       "a counter of microseconds and bytes", heap)
    high = [e["args"]["bytes"] for e in events
            if e["name"] == "working set all, 1 s (high)" and e["pid"] == 4242]
    ok(high == [x + x // 16 for x in (40 << 20, 42 << 20, 44 << 20)], "its ends", high)
    names = [e["args"]["name"] for e in events if e["name"] == "process_name"]
    ok(names == ["redis-server", "a\x1b[31m,\"b\ufffd", "redis-new"], "names", names)
    ok([e["name"] for e in events if e["ph"] == "i"] ==
       ["2 records lost", "peak 1 of all begins", "peak 2 of rest down begins",
        "peak 1 of all ends", "peak 1 of group7 ends", "exit", "exit"],
       "losses, peaks and ends", [e for e in events if e["ph"] == "i"])
    small = json.loads(export("chrome", data=r.header(0) + r.end(1)).stdout)
    ok(len(small["traceEvents"]) == 1, "of an empty recording", small)


def damo_number(value):
    assert type(value) in (int, float), value
    return value


def damo_load(compressed):
    """damo's view of a record, as far as it looks into one."""
    out = {}
    for kv in json.loads(zlib.decompress(compressed)):
        for key in ("sample_us", "aggr_us", "ops_update_us"):
            damo_number(kv["intervals"][key])
        assert kv["scheme_filters"] == [] and kv["target_id"] not in out
        out[kv["target_id"]] = snapshots = []
        for s in kv["snapshots"]:
            regions = [(damo_number(x["start"]), damo_number(x["end"]),
                        damo_number(x["nr_accesses"]["samples"]),
                        damo_number(x["nr_accesses"]["percent"]),
                        damo_number(x["age"]["usec"]),
                        damo_number(x["age"]["aggr_intervals"]))
                       for x in s["regions"]]
            assert s["total_bytes"] == sum(x[1] - x[0] for x in regions)
            snapshots.append((damo_number(s["start_time"]),
                              damo_number(s["end_time"]), regions))
    return out


def heats(snapshots, times, addresses):
    """The mean number of accesses of each pixel of a heatmap: (start, unit, number) twice"""
    out = [[0.0] * addresses[2] for _ in range(times[2])]

    def parts(start, end, axis):
        """For each pixel: index and share of it between start and end"""
        first, unit, number = axis
        for i in range(max(0, (start - first) // unit), min(number, -(-(end - first) // unit))):
            at = first + i * unit
            yield i, (min(end, at + unit) - max(start, at)) / unit
    for begin, end, regions in snapshots:
        for i, share in parts(begin, end, times):
            for start, stop, hits, *_ in regions:
                for k, of_space in parts(start, stop, addresses):
                    out[i][k] += hits * share * of_space
    return out


def damo_told(*args):
    """The output of the real damo; nothing if it fails."""
    res = subprocess.run([os.path.join(HERE, "damo"), "report", *args],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    ok(res.returncode == 0, "damo report " + args[0], res.stdout.decode())
    return res.stdout.decode().splitlines() if res.returncode == 0 else []


def real_damo(name, path, pid, snapshots):
    """damo's own reports of an export have the recording's figures. Pixels are of the largest
    range without a gap in the last snapshot."""
    told = damo_told("wss", "--input", path, "--raw_number", "--all_wss", "--per_target",
                     "--exclude_samples", "0", "--sortby", "time")
    told = "\n".join(told).split("# target_id\t")
    sizes = [sum(end - start for start, end, hits, *_ in regions if hits)
             for _, _, regions in snapshots]
    got = [x.split("\n")[3:] for x in told if x.startswith("%d\n" % pid)]
    ok(sizes and [[x for x in of if x] for of in got] == [["%d %d" % x for x in enumerate(sizes)]],
       name + ": damo's working set sizes", str(sizes)[:500], str(told)[:500])

    ranges = [[0, 0]]
    for start, end, *_ in snapshots[-1][2]:
        if start != ranges[-1][1]:
            ranges.append([start, start])
        ranges[-1][1] = end
    start, end = max(ranges, key=lambda x: x[1] - x[0])
    begin, until = snapshots[0][0], snapshots[-1][1]
    want = heats(snapshots, (begin, (until - begin) // 40, 40), (start, (end - start) // 50, 50))
    told = damo_told("heatmap", "--input", path, "--tid", str(pid), "--output", "raw",
                     "--resol", "40", "50", "--time_range", str(begin), str(until),
                     "--address_range", str(start), str(end))
    got = [float(line.split("\t")[2]) for line in told]
    want = [x for row in want for x in row]
    ok(len(got) == len(want) and max(want) > 0 and
       all(abs(a - b) < 1e-4 * max(want) if b else a <= 0 for a, b in zip(got, want)),
       name + ": damo's heatmap",
       [(i, a, b) for i, (a, b) in enumerate(zip(got, want))
        if abs(a - b) > 1e-4 * max(want)][:10])


def ten_minutes():
    """80 MiB: the hot part, 1 or 2 MiB in turn, moves on by 2 MiB each 15 s."""
    def regions(t):
        hot = range(t // 15 * 2, t // 15 * 2 + 1 + t // 15 % 2)
        return [r.region((4096 + i) * MIB, (4097 + i) * MIB, 1, 1 if i in hot else 0,
                         "heap", 1000 * (t % 15 if i in hot else t), 0)
                for i in range(80)]
    return r.header(0) + b"".join(r.snapshot((t + 1) * SEC, 7, regions(t))
                                  for t in range(600)) + r.end(601 * SEC)


def test_read_by_damo(d):
    """The real damo: its pictures, and the figures behind them."""
    path = d.path("damo.data")
    recordings = [("ten minutes", ten_minutes()), ("several processes", samples.main())]
    with open(os.path.join(HERE, "recordings", "windows.data"), "rb") as f:
        recordings.append(("a real recording", f.read()))
    for name, data in recordings:
        export("damo", "-o", path, data=data)
        for pid, snapshots in damo_load(d.read("damo.data")).items():
            real_damo("%s, %d" % (name, pid), path, pid, snapshots)
    export("damo", "-o", path, data=ten_minutes())
    told = damo_told("wss", "--input", path)
    ok([line.split()[1:3] for line in told if not line.startswith("#")] ==
       2 * [["1024.000", "KiB"]] + 3 * [["2.000", "MiB"]], "its percentiles", told)
    told = damo_told("heatmap", "--input", path, "--stdout_skip_colorset_example")
    rows = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in told]
    ok(rows[:40] == ["0" * 2 * i + "8" + "08"[i % 2] + "0" * (78 - 2 * i) for i in range(40)] and
       any(line.startswith("# y-axis: time") and "10 m" in line for line in rows),
       "the picture it draws", *rows)
    told = damo_told("access", "--input_file", path, "--raw_number")
    ages = [int(x) for x in re.findall(r" age (\d+)", "\n".join(told))]
    ok(len(ages) == 80 * 600 and max(ages) == 599 * 10**6, "ages", len(ages), ages[-80:])


def test_damo():
    header, records = recorded(samples.main())
    want = {}
    for rec in records:
        if rec.type != "SNAPSHOT":
            continue
        end = rec.time_ns - header.mono_ns + header.real_ns
        of = want.setdefault(rec.pid, {}).setdefault(
            (end - rec.interval_ns, end), [])
        of += [(g.start, g.end, int(g.freq * rec.rounds + 0.5), round(g.freq * 100, 3),
                g.age_ms * 1000, 0) for g in rec.regions]
    want = {pid: [(a, z, regions) for (a, z), regions in of.items()]
            for pid, of in want.items()}
    got = damo_load(export("damo").stdout)
    ok(got == want, "damo has every region of every snapshot", got, want)
    got = damo_load(export("damo", "--class", "heap", "--pid", "4242").stdout)
    ok(list(got) == [4242] and [len(s[2]) for s in got[4242]] == [1, 1, 1],
       "filters hold for it", got)
    ok(damo_load(export("damo", data=r.header(0) + r.end(1)).stdout) == {},
       "of an empty recording")
    many = r.header(0) + b"".join(
        r.snapshot(SEC, pid, [r.region(4096, 8192, 1, 1, "heap", 0, 0)])
        for pid in range(1, 300)) + r.end(2 * SEC)
    fails(export("damo", data=many), "too many targets", "--pid")


LABEL = r'[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(r'([a-z_]+)(?:\{(%s(?:,%s)*)\})? (-?[0-9.e+-]+)(?: ([0-9.]+))?$'
                    % (LABEL, LABEL))


def openmetrics_load(text, live=False):
    """Families by name: type, and samples by labels; raises if a rule is broken. Live files are in
    Prometheus' format: a counter is declared by the name of its samples, and has no unit."""
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""], lines[-3:]
    families, name = {}, None
    for line in lines[:-2]:
        words = line.split(" ", 3)
        if words[0] == "#" and words[1] == "TYPE":
            name = words[2]
            assert name not in families, "not together: " + name
            families[name] = {"type": words[3], "samples": {}, "last": None}
            continue
        family = families[name]
        if words[0] == "#":
            assert words[2] == name and words[1] in ("UNIT", "HELP"), line
            assert words[1] != "UNIT" or name.endswith("_" + words[3]) and not live, line
            continue
        m = SAMPLE.match(line)
        assert m, line
        want = name + ("_total" if family["type"] == "counter" and not live else "")
        assert m.group(1) == want, line
        labels = tuple(re.findall(LABEL, m.group(2) or ""))
        of = family["samples"].setdefault(labels, [])
        # the samples of a metric lie together, and time goes on in them
        assert not of or family["last"] == labels, line
        family["last"] = labels
        t = float(m.group(4)) if m.group(4) else None
        assert not of or t is not None and of[-1][0] < t, line
        of.append((t, float(m.group(3))))
    return families


def test_openmetrics():
    header, records = recorded(samples.main())
    families = openmetrics_load(export("openmetrics").stdout.decode())
    ok({k: v["type"] for k, v in families.items()} ==
       dict(dict.fromkeys(("wsmon_working_set_bytes", "wsmon_working_set_low_bytes",
                           "wsmon_working_set_high_bytes", "wsmon_mapped_bytes",
                           "wsmon_resident_bytes", "wsmon_peak"), "gauge"),
            wsmon_peaks="counter"), "openmetrics keeps the rules",
       list(families))
    for name, key in (("working_set", "bytes"), ("working_set_low", "low"),
                      ("working_set_high", "high"), ("mapped", "mapped")):
        got = families["wsmon_%s_bytes" % name]["samples"]
        got = sorted((t, v) for of in got.values() for t, v in of)
        want = sorted((header.real_ns / 1e9 + (rec.time_ns - header.mono_ns) / 1e9,
                       getattr(rec, key)) for rec in records if rec.type == "WSS")
        ok(got == want, "every value of " + name, got, want)
    stacks = openmetrics_load(export("openmetrics", data=samples.stacks()).stdout.decode())
    # records.py's header: the second of the clock at which the recording began
    got = {labels[0] + labels[-1]: [(t - 1700000000, v) for t, v in of] for labels, of
           in stacks["wsmon_peak"]["samples"].items()}
    ok(got == {'pid="4242"group="all"': [(3, 1), (5, -1), (6, 0)],
               'pid="4242"group="text"': [(7, 1)],
               'pid="4242"group="rest"': [(3, 1), (5, 0)]} and
       [[(t - 1700000000, v) for t, v in of] for of in
        stacks["wsmon_peaks"]["samples"].values()] == [[(3, 2), (5, 3), (7, 4)]],
       "peaks with their times", got, stacks["wsmon_peaks"])
    labels = [x for x in families["wsmon_working_set_bytes"]["samples"]
              if 'pid="77"' in x]
    ok(labels == [('pid="77"', 'comm="a\\\\033[31m,\\"b\\\\377"', 'class="all"',
                   'window="1"')], "labels", labels)


def test_files():
    with Directory() as d:
        path = d.path("out.json")
        old = os.umask(0o027)
        res = run("export", "chrome", "-o", path, "-i", "-", stdin=samples.main())
        os.umask(old)
        ok(res.returncode == 0 and not res.stdout and
           d.read("out.json") == export("chrome").stdout and
           os.stat(path).st_mode & 0o777 == 0o640 and
           os.listdir(d.name) == ["out.json"], "-o", res, os.listdir(d.name))
        res = run("export", "chrome", "-o", path, "-i", "-", stdin=b"junk")
        ok(res.returncode == 1 and d.read("out.json") == export("chrome").stdout and
           os.listdir(d.name) == ["out.json"], "a failure leaves the old one", res)
        fails(run("export", "chrome", "-o", d.name, "-i", "-", stdin=samples.main()),
              "-o a directory", "a directory")
        fails(run("export", "chrome", "-o", "/nowhere/x", "-i", "-",
                  stdin=samples.main()), "-o where nothing is", "No such file")
        p = subprocess.Popen([WSMO, "export", "chrome", "-o", d.path("sig"), "-i", "-"],
                             stdin=subprocess.PIPE, env=ENV)
        p.stdin.write(samples.main())
        p.stdin.flush()
        begun = wait_for(lambda: has_open(p.pid, d.name))
        p.send_signal(signal.SIGINT)
        p.wait()
        p.stdin.close()
        ok(begun and p.returncode == -signal.SIGINT and
           os.listdir(d.name) == ["out.json"], "Ctrl-C leaves nothing behind",
           p.returncode, os.listdir(d.name))
    for form in FORMATS:
        with open("/dev/full", "wb") as full:
            fails(run("export", form, "-i", "-", stdin=samples.main(),
                      stdout=full), form + " to a full disk", "No space left")
        with Directory() as d:
            data = d.write("wsmon.data", samples.main())
            fails(run("export", form, "-o", data, cwd=d.name), form + " does not replace a recording",
                  "name another file")
            ok(d.read("wsmon.data") == samples.main() and os.listdir(d.name) == ["wsmon.data"], "  which stays")


def has_open(pid, directory):
    """Does a process have a file below a directory open? It may close others meanwhile."""
    for fd in os.listdir("/proc/%d/fd" % pid):
        with contextlib.suppress(FileNotFoundError):
            if os.readlink("/proc/%d/fd/%s" % (pid, fd)).startswith(directory):
                return True
    return False


def start(d, *args):
    return subprocess.Popen(
        [WSMO, "export", "openmetrics", "--live", *args], stderr=subprocess.PIPE,
        stdout=subprocess.PIPE, env=dict(ENV, WSMON_DEBUGFS=d.name))


def test_live():
    me = os.getpid()
    figures = [(me, "all", 5000, 10000), (me, "heap", 3000, 9000)]
    peaks = (r.peak(now(), me, 4, edge=1, end_ns=2 * 10**9) + r.peak(now(), me, 5, 2, sign=-1) +
             r.peak(now(), me + 1, 9))
    with Directory() as d, Directory() as out:
        s = Stream(d, figures, cpu_ns=1500000000, lost=3, more=peaks)
        path = out.path("wsmon.prom")
        p = start(d, "-o", path, "--interval", "20ms")
        there = wait_for(lambda: os.path.exists(path))
        text = out.read("wsmon.prom").decode() if there else ""
        families = openmetrics_load(text, True)
        get = lambda name: list(families[name]["samples"].values())[0][0]  # noqa: E731
        ok(there and get("wsmon_working_set_bytes") == (None, 5000) and
           get("wsmon_monitoring") == (None, 1) and
           get("wsmon_cpu_seconds_total") == (None, 1.5) and
           get("wsmon_lost_records_total") == (None, 3) and
           len(families["wsmon_working_set_bytes"]["samples"]) == 2,
           "--live tells what is now, without times", text)
        peaks = {labels[2:]: values for labels, values
                 in families["wsmon_peak"]["samples"].items()}
        ok(peaks == {('group="all"',): [(None, 0)], ('group="text"',): [(None, 0)],
                     ('group="rest"',): [(None, -1)]} and
           list(families["wsmon_peaks_total"]["samples"].values()) == [[(None, 5)]],
           "peaks so far and now, of what is monitored", peaks, families["wsmon_peaks_total"])
        rss = get("wsmon_resident_bytes")[1]
        ok(1 << 20 < rss < 1 << 34 and 'comm="python3' in text,
           "resident sizes and names are of the process", text)

        torn, stop = [], threading.Event()

        def watch():
            while not stop.is_set():
                with open(path) as f:
                    whole = f.read()
                try:
                    openmetrics_load(whole, True)
                except AssertionError as e:
                    torn.append((e, whole))
        watcher = threading.Thread(target=watch)
        watcher.start()
        time.sleep(1)
        stop.set()
        watcher.join()
        ok(not torn, "a reader never sees half a file", torn[:1])
        s.write_status("idle")
        s.send(r.end(now()))
        ok(wait_for(lambda: b"wsmon_monitoring 0" in out.read("wsmon.prom")) and
           b"working_set_bytes{" not in out.read("wsmon.prom"),
           "no old figures once monitoring is over", out.read("wsmon.prom"))
        s.write_status("running")
        s.restart()
        ok(wait_for(lambda: b"working_set_bytes{" in out.read("wsmon.prom")), "nor later ones missed")
        p.send_signal(signal.SIGTERM)
        err = p.communicate()[1]
        ok(p.returncode == 0 and not err and not os.listdir(out.name),
           "it ends on a signal, and takes its file along", p.returncode, err,
           os.listdir(out.name))

        s.restart()
        p = start(d, "--interval", "10ms")
        first = p.stdout.readline()
        p.send_signal(signal.SIGINT)
        p.communicate()
        ok(first.startswith(b"# TYPE") and p.returncode == 0, "to standard output")
        s.restart()
        p = start(d, "-o", path)
        wait_for(lambda: os.path.exists(path))
        s.send(b"something else" * 10)
        err = p.communicate()[1]
        ok(p.returncode == 1 and b"the stream is" in err and not os.listdir(out.name),
           "a broken stream", err)
        os.unlink(d.path("status"))
        p = start(d, "-o", path)
        err = p.communicate()[1]
        ok(p.returncode == 1 and err.startswith(b"wsmo: "), "no module", err)
        s.close()


def test_refused():
    for args, word in (((), "name a format"), (("chrome", "damo"), "one format"),
                       (("csv",), "not a format"), (("chrome", "--live"), "openmetrics"),
                       (("openmetrics", "--interval", "1s"), "--live"),
                       (("openmetrics", "--live", "--interval", "x"), "not a time"),
                       (("openmetrics", "--live", "--interval", "1us"), "at least 1 ms"),
                       (("openmetrics", "--live", "-i", "x"), "takes none"),
                       (("openmetrics", "--live", "--pid", "1"), "takes none"),
                       (("chrome", "x"), "-i")):
        res = run("export", *args)
        ok(res.returncode == 2 and word in res.stderr.decode() and not res.stdout,
           "refused: export " + " ".join(args), res.stderr)


def test_filled():
    """The file system for temporary files is full for a while: lost output is reported."""
    if os.geteuid():
        return skip("export damo: a full /tmp", "not root")
    regions = [r.region(i << 20, (i + 1) << 20, 1, 1, "heap", 5, 0) for i in range(200)]
    data = r.header(0) + b"".join(r.snapshot(i * 10**9, 1, regions) for i in range(1, 41)) + r.end(41 * 10**9)
    mount = 'mount -t tmpfs -o size=512k none /tmp && head -c 450000 /dev/zero >/tmp/ballast && exec "$0" export damo -i -'
    with subprocess.Popen(["unshare", "-m", "sh", "-c", mount, os.path.abspath(WSMO)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV) as p:
        tmp = "/proc/%d/root/tmp" % p.pid
        p.stdin.write(data[:200000])
        p.stdin.flush()
        full = wait_for(lambda: os.path.exists(tmp + "/ballast") and not os.statvfs(tmp).f_bavail)
        time.sleep(0.3)
        if full:
            os.unlink(tmp + "/ballast")
        _, err = p.communicate(data[200000:])
    ok(full and p.returncode == 1 and b"temporary file" in err, "export damo: a full /tmp", full, p.returncode, err)

# SPDX-License-Identifier: GPL-2.0
"""Reports of good files: golden output, exact JSON, filters, pipes."""
import contextlib
import csv
import io
import json
import os
import re
import subprocess

import records as r
import samples
import forms
from command import WSMO, Directory, fails, golden, ok, one_line, parsed, peak_rss, run, skip

VIEWS = ("summary", "wss", "regions", "act", "raw")
DRAWN = VIEWS + ("heatmap",)


def test_golden_files(accept):
    """Text, and JSON where it is not long; test_views has the other forms."""
    for view in DRAWN:
        args = ("report", view, "-i", "-")
        res = run(*args, stdin=samples.main())
        golden(view + ".txt", res.stdout, accept, not res.returncode and not res.stderr, res.stderr)
        if view != "heatmap":
            golden(view + ".json", run(*args, "--json", stdin=samples.main()).stdout, accept)


def json_lines(*args, stdin=None):
    return parsed(run(*args, "--json", "-i", "-",
                 stdin=samples.main() if stdin is None else stdin))


def test_exact_json():
    first = run("report", "wss", "--json", "-i", "-", stdin=r.header(0) +
                r.wss(1234000000, 123, "all", 10, 5, 20, 30) + r.end(2 * 10**9))
    ok(first.stdout == b'{"type":"wss","t":1.234,"scope":"process","pid":123,"comm":"",'
       b'"name":null,"class":"all","window_us":1000000,"bytes":10,"low":5,"high":20}\n',
       "wss line is exact",
       first.stdout)
    first = run("report", "regions", "--json", "-i", "-", stdin=r.header(0) +
                r.snapshot(1234000000, 123, [
                    r.region(4096, (1 << 64) - 4096, 0.5, 0.25, "heap", 7, 0)
                ]) + r.end(2 * 10**9))
    ok(first.stdout == b'{"type":"region","t":1.234,"pid":123,"comm":"","class":"heap",'
       b'"start":4096,"end":18446744073709547520,"share":0.5,"freq":0.25,'
       b'"age_ms":7,"path":""}\n', "region line is exact", first.stdout)

    lines = json_lines("report", "wss")
    ok(len(lines) == 13 and lines[4]["t"] == 2.0 and
       lines[4]["bytes"] == 42 << 20, "wss of the sample", lines)
    lines = json_lines("report", "regions")
    ok(len(lines) == 19, "regions of the sample, chunks included", len(lines))
    odd = [line for line in lines if line["pid"] == samples.ODD][0]
    ok(abs(odd["share"] - 1 / 3) < 1e-4 and odd["freq"] == 1 and
       odd["age_ms"] == 4294967295, "shares are fractions", odd)

    kinds = [line["type"] for line in json_lines("report", "raw")]
    ok(kinds[:3] == ["header", "attrs", "target"] and "type99" in kinds and
       kinds[-1] == "end", "raw has every record, unknown ones too", kinds)
    lines = json_lines("report", "raw")
    stats = [line for line in lines if line["type"] == "stats"][-1]
    ok(all(name in stats for name in r.STATS_FIELDS) and
       stats["cpu_ns"] == 56000000, "raw stats have every field", stats)


def test_summary_figures():
    lines = json_lines("report", "summary")
    rec = lines[-1]
    ok(lines[0]["type"] == "wss_summary" and rec["type"] == "recording" and rec["lost_records"] == 3 and
       rec["ended"] == "targets gone" and rec["intervals"] == 3 and
       rec["duration_ns"] == 3499999000 and
       abs(rec["cpu"] - 0.056 / 3) < 1e-5, "summary: the recording", rec)
    heap = [line for line in lines if line["type"] == "wss_summary" and
            line["class"] == "heap"][0]
    ok(heap["mean"] == 32 << 20 and heap["sd"] == 2 << 20 and
       heap["peak"] == 34 << 20 and heap["peak_t"] == 3.0 and
       heap["low"] == 30 << 20 and heap["high"] == 34 << 20 and
       heap["mapped"] == 64 << 20, "summary: mean, sd, peak, interval", heap)
    mem = [line for line in lines if line["type"] == "memory"]
    ok(mem[1]["rss_mean"] == 81 << 20 and mem[1]["rss_max"] == 82 << 20 and
       mem[1]["comm"] == "redis-new" and mem[0]["rss_mean"] is None,
       "summary: memory, name after exec, null where nothing is known", mem)
    again = samples.main().replace(
        r.target(samples.T0 + 2000, samples.PID, b"redis-server"),
        r.target(samples.T0 + 2000, samples.PID, b"redis-server", 2))
    rec = json_lines("report", "summary", stdin=again)[-1]
    ok(abs(rec["cpu"] - 0.036 / 2) < 1e-5,
       "summary: cost counts from the first stats if the reader came late",
       rec)


def test_little():
    """A cgroup has no regions; a window may be longer than the recording."""
    cgroup = samples.cgroup()
    for view in "summary", "wss":
        ok(run("report", view, "-i", "-", stdin=cgroup).returncode == 0, "a cgroup: report " + view)
    text = run("report", "summary", "-i", "-", stdin=cgroup).stdout.decode()
    ok("Most regions" not in text or not re.search(r"Most regions +0$", text, re.M), "no regions of a cgroup", text)
    text = run("report", "summary", "-i", "-", stdin=r.header(0, windows_us=(60000000,)) + r.wss(
        3 * 10**9, 7, "all", 1, 1, 1, 1, window_us=60000000) + r.end(3 * 10**9 + 5)).stderr.decode()
    ok("the window of 1m00s is longer than the recording" in text, "a window longer than the recording", text)


def test_budget():
    """Less sampling than asked for, to keep within the CPU budget, is reported once, from a tenth
    on."""
    t0, sec, ms = samples.T0, samples.SEC, 10**6
    usual = {"late_rounds": 0, "idle_rounds": 0, "sample_ns": 100 * ms, "budget": 2000,
             "targets": 1}

    def message(*stats, cpu_permille=30, flags=0, targets=1):
        data = r.header(t0) + r.attrs(t0, cpu_permille=cpu_permille)
        for pid in range(targets):
            data += r.target(t0, 100 + pid, b"x", flags)
        for seconds, rounds, more in stats:
            data += r.stats(t0 + round(seconds * sec), rounds=rounds, **{**usual, **more})
        res = run("report", "summary", "-i", "-", stdin=data + r.end(t0 + 100 * sec))
        return res.stderr.decode()

    few = "wsmo: --cpu 3% left out 70 % of the rounds: for an exact freq give more\n"
    ok(message((1, 3, {})) == few, "less than an interval, most rounds left out", message((1, 3, {})))
    ok(message((1, 3, {}), (2, 6, {})) == few, "once", message((1, 3, {}), (2, 6, {})))
    for name, got in {
            "all rounds": message((1, 10, {}), (2, 20, {})),
            "early in a long recording": message((1, 3, {}), (60, 593, {})),
            "late rounds": message((1, 3, {"late_rounds": 7})),
            "targets that sleep": message((1, 3, {"idle_rounds": 2})),
            "no targets, but a cgroup": message((1, 3, {"targets": 0})),
            "no budget": message((1, 3, {}), cpu_permille=1000),
            "a reader that came late": message((1, 3, {}), flags=2),
            "regions shared by many targets": message((1, 10, {"budget": 1600}), (2, 20, {"budget": 1600}),
                                                      (3, 30, {"budget": 1600}), targets=400)}.items():
        ok(got == "", name + ": no message", got)
    text = message((1, 10, {"budget": 500}), (2, 20, {"budget": 500}), cpu_permille=5)
    ok(text == "wsmo: --cpu 0.5% left out 37 % of the regions: for narrower intervals give more\n", "fewer regions in half of the time", text)
    text = message((1, 3, {"sample_ns": 500 * ms, "budget": 2}), (2, 5, {"idle_rounds": 1}), flags=0)
    ok(text == "wsmo: --cpu 3% left out 75 % of the rounds and 50 % of the regions: for narrower intervals "
       "give more\n",
       "both; an interval in which targets slept counts by its sampling interval", text)
    over = "wsmo: took %s %% of one CPU, more than --cpu 3%%; the beginning takes more, what follows less: " \
        "record for longer\n"
    text = message((1, 3, {"cpu_ns": 150 * ms}), (2, 13, {"cpu_ns": 180 * ms}))
    ok(text == over % "9", "more than the budget", text)
    text = message((1, 10, {}), (100, 1000, {"cpu_ns": 9000 * ms}))
    ok(text == (over % "9").split(";")[0] + "\n", "and for long: no advice", text)
    text = message((1, 10, {"cpu_ns": 150 * ms}), (60, 600, {"cpu_ns": 1800 * ms}))
    ok(text == "", "not in the long run", text)
    text = message((1, 10, {"cpu_ns": 900 * ms}), cpu_permille=1000)
    ok(text == "", "nor without a budget", text)
    # a cgroup has no targets
    for members, want in (5, over % "20"), (6, ""):
        data = r.header(t0) + r.attrs(t0, cpu_permille=30) + r.group(t0 + sec, members, 5, interval_ns=sec) + \
            r.stats(t0 + sec, rounds=10, **{**usual, "targets": 0, "cpu_ns": 200 * ms}) + r.end(t0 + sec)
        text = run("report", "summary", "-i", "-", stdin=data).stderr.decode()
        ok(text == want, "a cgroup of which %d of %d came" % (5, members), text)
    # all of them are in the first interval
    data = r.header(t0) + r.attrs(t0, cpu_permille=30, peak=(1, 30, 5000, 250), precision=50) + \
        r.target(t0, 100, b"x")
    for i in range(1, 4):
        t = t0 + i * sec
        data += r.wss(t, 100, 0, 1 << 20, 990 << 10, 1056 << 10, 1 << 30, 1000000)
        data += r.stats(t, rounds=i, budget=240, cpu_ns=i * 4 * ms)
    got = run("report", "summary", "-i", "-", stdin=data + r.end(t0 + 4 * sec)).stderr.decode()
    ok(got == "wsmo: for --precision 5%: ±3.2 % with 827 of 2000 regions and 0.4 % of one CPU; freq and "
       "ACCESSES are by intervals\n", "what a precision took", got)
    text = message((1, 3, {"sample_ns": 500 * ms}), (2, 5, {}), flags=2)
    ok("80 % of the" in text, "a late reader, after the first STATS record", text)


def test_filters():
    def count(*args):
        return len(json_lines("report", *args))

    ok(count("wss", "--time", "1.5,2") == 5, "--time keeps what is inside")
    ok(count("wss", "--time", "1,1") == 4, "--time includes its ends")
    ok(count("wss", "--time", "2500ms,") == 4, "--time without an end")
    ok(count("wss", "--time", ",1s") == 4, "--time without a beginning")
    ok(count("wss", "--pid", "77") == 1, "--pid")
    ok(count("wss", "--pid", "77,4242", "--class", "all") == 4,
       "--pid and --class lists")
    ok(count("regions", "--class", "heap,anon") == 6, "--class of regions")
    ok(count("raw", "--pid", "77") == 8, "--pid of raw",
       json_lines("report", "raw", "--pid", "77"))
    result = run("report", "regions", "--time", "2.5,", "-i", "-",
                 stdin=samples.main())
    ok(b"[heap]" in result.stdout, "names of areas outlive --time",
       result.stdout.decode())


def test_record_counts():
    """Each type of record that raw prints counts, with its size."""
    for data in samples.main(), samples.stacks(), samples.cgroup(), samples.allocs():
        for args in (), ("--time", "1,2"), ("--pid", "77"):
            want = {}
            for x in json_lines("report", "raw", *args, stdin=data)[1:]:
                n, size = want.get(x["type"], (0, 0))
                want[x["type"]] = n + 1, size + x["size"]
            got = json_lines("report", "records", *args, stdin=data)
            ok({x["record"]: (x["count"], x["bytes"]) for x in got} == want and len(got) == len(want),
               "types of records " + " ".join(args), got, want)


def test_windows():
    """Several windows in one file: wss shows all, summary the shortest; or the given ones."""
    data = r.header(0, windows_us=(100000, 1000000, 10000000))
    data += r.attrs(1, windows_us=(100000, 1000000, 10000000))
    for i in range(1, 4):
        for window, size in ((100000, 1), (1000000, 5), (10000000, 9)):
            data += r.wss(i * 10**9, 7, "all", size << 20, 0, 10 << 20, 64 << 20,
                          window_us=window)
    data += r.end(4 * 10**9)
    lines = json_lines("report", "wss", stdin=data)
    ok([x["window_us"] for x in lines] == 3 * [100000, 1000000, 10000000], "all windows", lines)
    lines = json_lines("report", "wss", "--window", "10s,100ms", stdin=data)
    ok([x["window_us"] for x in lines] == 3 * [100000, 10000000], "--window", lines)
    for options, mean, window in (((), 1, 100000), (("--window", "1s"), 5, 1000000),
                                  (("--window", "10s"), 9, 10000000)):
        lines = json_lines("report", "summary", *options, stdin=data)
        ok([x["mean"] for x in lines if x.get("class") == "all"] == [mean << 20] and
           lines[-1]["window_us"] == window, "the summary of one %s" % (options,), lines)
    lines = json_lines("report", "summary", "--window", "10s,1s", stdin=data)
    ok([(x["window_us"], x["mean"]) for x in lines if x.get("class") == "all"] ==
       [(1000000, 5 << 20), (10000000, 9 << 20)], "the summary of two", lines)
    fails(run("report", "wss", "--window", "1s,2s", "-i", "-", stdin=data),
          "a window that is not there", "2 s", "--window")
    for view in VIEWS:
        options = {"summary": ("--window", "1s", "--class", "heap"),
                   "wss": ("--window", "1s", "--class", "heap"), "regions": ("--class", "heap"),
                   "act": (), "raw": ()}[view]
        res = run("report", view, *options, "-i", "-", stdin=data)
        # nothing is left, which a message says
        ok(res.returncode == (view != "raw") and bool(res.stderr) == (view != "raw"),
           "a window that is there but not shown: " + view, res.stderr)


def test_short_windows():
    """No window is rounded to another."""
    apart = [500, 1000, 1500]
    data = r.header(0, sample_us=50, aggr_us=500, windows_us=(500, *apart[1:]))
    data += r.target(0, 7, b"short")
    for i in range(10, 20):
        data += b"".join(r.wss(i * 10**6, 7, "all", us << 10, us << 9, us << 11, 64 << 20, window_us=us)
                         for us in apart)
    data += r.end(10**9)
    for args in (("report", "wss"), ("report", "wss", "--percentiles"), ("report", "curve"),
                 ("report", "raw")):
        # CSV of raw has a line for each field
        for form in ("--json", "--csv")[:1 if "raw" in args else 2]:
            out = run(*args, form, "-i", "-", stdin=data).stdout.decode()
            rows = [json.loads(line) for line in out.splitlines()] if form == "--json" else \
                csv.DictReader(io.StringIO(out))
            found = {(int(x["window_us"]), int(x["bytes"])) for x in rows if x.get("bytes")}
            ok(found == {(us, us << 10) for us in apart}, " ".join(args + (form,)), out[:300])
    for us in apart:
        rows = json_lines("report", "summary", "--window", "%dus" % us, stdin=data)
        ok([(x["window_us"], x["mean"]) for x in rows if x["type"] == "wss_summary"] ==
           [(us, us << 10)], "report summary --window %dus" % us, rows)
        row, = json_lines("report", "sizing", "--limit", str(us << 10), stdin=data)[:1]
        ok(row["keeps_us"] == us, "report sizing keeps %d us" % us, row)
    for args in (("report", "wss"), ("report", "curve"), ("report", "sizing")):
        out = run(*args, "-i", "-", stdin=data).stdout.decode()
        ok(all(" %s " % text in out for text in ("500 us", "1 ms", "1.5 ms")), "for people: " + args[1],
           out)
    out = run("export", "openmetrics", "-i", "-", stdin=data).stdout.decode()
    ok(all('window="%s"' % text in out for text in ("0.0005", "0.001", "0.0015")),
       "export openmetrics", out)
    out = run("export", "chrome", "-i", "-", stdin=data).stdout.decode()
    ok(all('working set all, %s"' % text in out for text in ("500 us", "1 ms", "1.5 ms")),
       "export chrome", out)
    with Directory() as d:
        run("report", "html", "-o", d.path("x.html"), "-i", "-", stdin=data)
        out = d.read("x.html").decode()
    ok(set(re.findall('"window_us":([0-9]+),"points"', out)) == set(map(str, apart)), "report html",
       re.findall('"window_us":.{20}', out))


def test_safe_text():
    for first in "=", "-", "＝", "＋", "－", "＠", "  =":
        data = samples.main().replace(samples.ODD_NAME, (first + "1").encode()[:len(samples.ODD_NAME)].ljust(len(samples.ODD_NAME), b"x"))
        out = run("report", "wss", "--csv", "-i", "-", stdin=data).stdout.decode()
        ok("'" + first in out and "," + first not in out, "a name that begins with '%s' is no formula" % first, out[:500])
    with Directory() as d:
        for command, data in ((("report", "html"), samples.main()), (("report", "html"), samples.stacks()),
                              (("export", "chrome"), samples.main()), (("export", "openmetrics"), samples.main())):
            res = run(*command, "-o", d.path("x.html"), "-i", "-", stdin=samples.hostile(data))
            out = d.read("x.html").decode().replace("\t", "") if not res.returncode else ""
            shown = re.findall(r"[^\\](?:\\\\)*\\u(?!003c)[0-9a-f]{4}", out) if "html" in command else []
            ok(out and not forms.STEERS.findall(out) and not shown, "nor does " + " ".join(command),
               forms.STEERS.findall(out), shown, res.stderr)
    data = samples.hostile(samples.main())
    names = {json.loads(line).get("comm") for line in
             run("report", "wss", "--json", "-i", "-", stdin=data).stdout.splitlines()}
    ok("=\u202e\x7f\x9b\x1b\ufffd1" in names, "JSON has them all", names)
    odd = b"/\x1b[2J\xe2\x80\xae/x"
    data = samples.cgroup(odd)
    for args in ("mem", "-i", "-"), ("report", "summary", "-i", "-"), ("report", "x\x1b[2J"), ("report", "wss", "-i", "\x1b"):
        res = run(*args, stdin=data)
        ok(not forms.STEERS.findall(res.stderr.decode() + res.stdout.decode()), "nor do messages of " + args[1], res.stderr)
    out = run("report", "regions", "--csv", "-i", "-",
              stdin=samples.main()).stdout.decode()
    rows = list(csv.DictReader(io.StringIO(out)))
    odd = [row for row in rows if row["pid"] == "77"][0]
    ok(odd["path"] == "/tmp/\\033]0;owned\\007 \\302\\233 \u00e9 \\377, \"x\"",
       "csv quotes and escapes", odd)
    # a surrogate, an overlong form, and a value above the last code point
    name = b"\xed\xa0\x80\xc0\xaf\xf4\x90\x80\x80"
    data = r.header(0) + r.target(1, 7, name) + r.wss(2, 7, "all", 1, 1, 1, 1) + r.end(3)
    out = run("report", "summary", "--csv", "-i", "-", stdin=data).stdout
    lines = run("report", "summary", "--json", "-i", "-", stdin=data).stdout.decode()
    ok(b"\\355\\240\\200\\300\\257\\364\\220\\200\\200" in out and "\ufffd" in lines,
       "what is no UTF-8 is escaped", out, lines)


def test_long_file():
    """Streaming: memory does not grow with the file, columns stay aligned."""
    data = samples.many(30)
    out = run("report", "regions", "-i", "-", stdin=data).stdout
    widths = {len(line.rstrip()) for line in out.decode().splitlines()[1:]}
    ok(out.count(b"\n") == 30001 and out.count(b"TIME") == 1 and
       len(widths) == 1, "a long table has one heading and stays aligned",
       sorted(widths), out.count(b"\n"))

    with Directory() as d:
        rss = [peak_rss("report", "regions", "-i",
                        d.write("data", samples.many(n, 1500)))
               for n in (2, 100)]
    if None in rss:
        skip("memory does not grow with the file", "out/bin/wsmo is not built")
        return
    ok(rss[1] < rss[0] + 1024, "memory does not grow with the file",
       "%d KiB, then %d KiB" % tuple(rss))


def gives_up(pipe_signal):
    """Does wsmo stop reading its input if nobody reads its output?"""
    left, right = os.pipe()
    os.close(left)
    p = subprocess.Popen([WSMO, "report", "wss", "--csv", "-i", "-"],
                         stdin=subprocess.PIPE, stdout=right,
                         restore_signals=pipe_signal)
    os.close(right)
    more = r.wss(1, 1, "all", 1, 1, 1, 1) * 1000
    try:
        p.stdin.write(r.header(0))
        for _ in range(500):
            p.stdin.write(more)
        gave_up = False
    except BrokenPipeError:
        gave_up = True
    with contextlib.suppress(BrokenPipeError):
        p.stdin.close()
    p.wait()
    return gave_up


def test_output_errors():
    data = samples.many(30)
    with Directory() as d:
        name = d.write("many", data)
        for pipe_signal in (True, False):
            left, right = os.pipe()
            os.close(left)
            result = run("report", "regions", "-i", name, stdin=None,
                         stdout=right, restore_signals=pipe_signal)
            os.close(right)
            ok(result.returncode != 0 and not result.stderr,
               "a closed pipe ends it quietly", result.returncode,
               result.stderr)
            ok(gives_up(pipe_signal), "a closed pipe ends it soon")
        result = subprocess.run(["sh", "-c", '"$0" "$@" >&-', WSMO,
                                 "report", "wss", "-i", name],
                                stderr=subprocess.PIPE)
        ok(result.returncode == 1 and one_line(result.stderr),
           "closed stdout is an error", result)

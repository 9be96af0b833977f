# SPDX-License-Identifier: GPL-2.0
"""Common behaviour of all views of wsmo report: forms, filters, refusals, messages, pictures. A
view is tested if "wsmo report --help" lists it, with the first recordings of which it shows
anything."""
import csv
import functools
import io
import itertools
import os
import re
import shutil
import struct
import subprocess

import forms
import records as r
import samples
import screen
import test_sizing as sizing
from command import FORMS, Directory, needs, ok, parsed, run, same_numbers

gnuplot = needs(shutil.which("gnuplot"), "gnuplot is not installed")
# Columns that tables for people leave out, or show in words
NOT_RAW = {"alloc": {"function", "file", "line", "stack", "live_low", "live_high", "idle_1min_low", "idle_1min_high"},
           "hot": {"end", "path", "offset", "tid", "symbols", "source"}, "idle": {"t", "comm", "watched_ns", "used_low", "used_high"},
           "act": {"dry_run"}, "wss": {"name"}, "summary": {"name"},
           "who": {"file", "line", "pid", "low", "high", "address", "path"}, "peaks": set()}
# Views whose text is not the table of their rows; who escapes names in JSON, too
OWN_TEXT = {"raw": (), "peaks": (), "who": ("comm",), "heatmap": ()}
# Views whose messages say more than the list of processes
OWN_WORDS = ("curve", "sizing", "who", "act", "alloc", "heatmap")
# A valid value for each kind of argument in --list-options
VALUES = {"PID,...": "1", "A,B": "1,2", "CLASS,...": "heap", "TIME,...": "1s", "N": "3", "WxH": "800x600",
          "P,...?": None, "PERCENT": "5%", "TIME": "1ms", "SIZE,...": "1M"}
# and invalid values, with words of the message
WRONG = {"PID,...": (("x", "'x'"),), "CLASS,...": (("junk", "junk"), ("heap,junk", "junk")),
         "TIME,...": (("1s,x", "not a time"), ("1,2,3,4,5,6,7,8,9", "at most 8")),
         "N": (("0", "'0'"), ("-1", "'-1'"), ("x", "'x'")),
         "WxH": (("80", "width and height"), ("800x600x", "width and height"), ("99999x600", "width and height"),
                 ("800x99999", "width and height"), ("0x600", "width and height"))}


@functools.cache
def views():
    """Return: {name: {option: what stands for its value}}"""
    def options(*view):
        words = run("report", *view, "--list-options").stdout.decode()
        return dict(re.findall(r"^(--[a-z-]+) (\S*)", words, re.M))
    names = run("report", "--list-options").stdout.decode().split()[1].split("|")
    return {name: options(name) for name in names}


def tables():
    """The views that have rows"""
    return [view for view, options in views().items() if "--json" in options]


@functools.cache
def recordings():
    return {"main": samples.main(), "stacks": samples.stacks(), "family": samples.family(),
            "cgroup": samples.cgroup(windows=(1, 2, 4)), "allocs": samples.allocs(), "who": samples.who(),
            "sizes": sizing.recording(sizing.random_use, rss=lambda t: 90 << 20, first=r.refault(0, 0, 90000))}


@functools.cache
def shown(view):
    """Return: {name: recording} of which the view shows anything"""
    return {name: data for name, data in recordings().items()
            if run("report", view, "-i", "-", stdin=data).stdout}


def first(view):
    return next(iter(shown(view).values()))


def rows(view, *args, data=None):
    return parsed(run("report", view, "--json", *args, "-i", "-", stdin=data or first(view)))


def refused(view, *args, word):
    res = run("report", view, *args, "-i", "-", stdin=b"")
    text = res.stderr.decode()
    ok(res.returncode == 2 and not res.stdout and text.startswith("wsmo: ") and word in text,
       "refused: %s %s" % (view, " ".join(args)), res)


def test_shown():
    for view in views():
        ok(shown(view), "a recording shows " + view)


def test_forms():
    for view in tables():
        for name, data in shown(view).items():
            args = ("report", view, "-i", "-")
            what = "%s of %s" % (view, name)
            if view not in OWN_TEXT:
                same_numbers(what, *args, stdin=data, only_csv=["path"], not_raw=NOT_RAW.get(view, ()))
                continue
            lines, text, raw = [run(*args, form, stdin=data).stdout.decode() for form in FORMS]
            ok(*forms.none(forms.field_differences(text, lines) if view == "raw" else
                           forms.csv_differences(text, lines, ["path"], OWN_TEXT[view]), what + ": CSV is as JSON"))
            ok(raw and (view != "raw" or raw.encode() == run(*args, stdin=data).stdout), what + ": --raw", raw)


def test_refused():
    every = {option: value for options in views().values() for option, value in options.items()}
    for view, options in views().items():
        for option in set(every) - set(options):
            value = VALUES.get(every[option], every[option].split("|")[0])
            refused(view, *([option, value] if value else [option]), word=option)
        for option, value in options.items():
            for bad, word in WRONG.get(value, ()) or [("xyzzy", "xyzzy")] * ("|" in value):
                refused(view, option, bad, word=word)
        for bad, word in (("1", "A,B"), ("2,1", "than '1'"), ("x,", "'x'"), ("1,y", "'y'"), ("1,2,3", "'2,3'")):
            refused(view, "--time", bad, word=word)
        refused(view, "xyzzy", word="'xyzzy' is one argument too many")
        ends = ".png, .svg or .pdf" if "--json" in options else ".html"
        for file in ("x", "x.jpg", ".png/x", "x.htm", "x.png" if ends == ".html" else "x.html") * ("--output" in options):
            refused(view, "-o", file, word=ends)
        if "--json" in options:
            for two in itertools.combinations(FORMS, 2):
                refused(view, *two, word="only one")
        if "--size" in options:
            for form in FORMS:
                refused(view, "-o", "x.png", form, word="picture")
            for size in "599x300", "600x299":
                refused(view, "-o", "x.png", "--size", size, word="600x300")
            if not re.search("columns and lines", run("report", view, "--help").stdout.decode()):
                refused(view, "--size", "800x600", word="-o")


def test_filters():
    for view in tables():
        for name, data in shown(view).items():
            everything = rows(view, data=data)
            for pid in {x["pid"] for x in everything if x.get("pid")}:
                found = {x.get("pid") for x in rows(view, "--pid", str(pid), data=data)} - {None}
                ok(found <= {pid}, "report %s of %s --pid %d" % (view, name, pid), found)
            for cls in {x["class"] for x in everything if x.get("class")} if "--class" in views()[view] else ():
                found = {x["class"] for x in rows(view, "--class", cls, data=data) if x.get("class")}
                ok(found <= {cls} or view == "idle" and found == {"all", cls}, "report %s of %s --class %s" % (view, name, cls),
                   found)
            if view in ("wss", "regions", "raw"):
                # between two times
                times = sorted({round(x["t"], 3) for x in everything})
                low, high = ((times[i] + times[i + 1]) / 2 for i in (len(times) // 4, len(times) // 2))
                found = rows(view, "--time", "%.4f,%.4f" % (low, high), data=data)
                ok(found == [x for x in everything if low <= x["t"] <= high or x["type"] == "header"],
                   "report %s of %s --time" % (view, name), found)


def test_options_count():
    """A filter that a view accepts and ignores would give wrong figures."""
    values = {"--pid": ["77"], "--time": [",1.2"], "--class": ["heap", "anon"], "--window": ["1s", "2s", "1,2,4"]}
    for view, options in views().items():
        for option in set(values) & set(options):
            used = any(run("report", view, option, value, "-i", "-", stdin=data).stdout !=
                       run("report", view, "-i", "-", stdin=data).stdout
                       for data in shown(view).values() for value in values[option])
            ok(used, "report %s %s changes what is shown" % (view, option))


def test_nothing():
    """A view with nothing to show says so on standard error, and exits 1."""
    data, empty = samples.main(), r.header(0) + r.target(1, 7, b"x") + r.end(2)
    for view, options in views().items():
        for args, file, words in ((("-p", "12"), data, "4242"), (("--time", "90,"), data, "3.5 s"), ((), empty, "")):
            # these views show each record
            if (view in ("raw", "records") and file == empty) or ("--json" not in options and not args):
                continue
            for form in ((), ("--json",))[:1 + ("--json" in options)]:
                res = run("report", view, *args, *form, "-i", "-", stdin=file)
                said = res.stderr.decode()
                ok(res.returncode == 1 and said.startswith("wsmo: ") and (words in said or view in OWN_WORDS) and
                   "a recording" not in said.split(";")[0],
                   "nothing to show: report %s %s" % (view, " ".join(args + form)), res.returncode, said)


def test_pipes(d):
    """A pipe and a file get the same output; a full disk is an error, and a pipe without a reader
    the end."""
    for view in views():
        data = first(view)
        args = ("report", view, "-i", d.write("data", data))
        want, got = run(*args), run("report", view, "-i", "-", stdin=data)
        ok(want.stdout and (want.stdout, want.returncode) == (got.stdout, got.returncode),
           view + ": a pipe and a file look the same", want.stdout, got.stdout)
        with open("/dev/full", "wb") as full:
            res = run(*args, stdout=full)
        ok(res.returncode == 1 and b"No space left" in res.stderr.splitlines()[-1], view + " to a full disk", res)
        left, right = os.pipe()
        os.close(left)
        res = run(*args, stdout=right)
        os.close(right)
        ok(res.returncode and b"Broken" not in res.stderr, view + " to a closed pipe", res)


SIGNS = tuple("=+-@")


def test_safe_text():
    for view in tables():
        for name, data in shown(view).items():
            for suffix, options in ("txt", ()), ("raw", ("--raw",)), ("csv", ("--csv",)):
                for file in {data, samples.hostile(data)}:
                    out = run("report", view, *options, "-i", "-", stdin=file).stdout.decode()
                    bad = forms.STEERS.findall(out)
                    ok(out and not bad, "%s.%s of %s steers no terminal" % (view, suffix, name), bad)
                    if suffix == "csv":
                        bad = [cell for row in csv.reader(io.StringIO(out)) for cell in row
                               if cell[:1] in SIGNS and not re.fullmatch(r"[-+]?[0-9.]+", cell)]
                        ok(not bad, "%s.csv of %s has no formulas" % (view, name), bad)


def test_narrow(d):
    """On a narrow terminal rows go on in the next lines, between columns; nothing is left out."""
    for view in set(tables()) - {"heatmap", "raw"}:
        for name, data in shown(view).items():
            args = ("report", view, "-i", d.write(name, data))
            whole = run(*args).stdout.decode()
            for columns in 40, 80:
                _, text = screen.run(*args, columns=columns, stderr=subprocess.DEVNULL)
                wrong = screen.too_wide(text, whole, columns)
                ok(not wrong, "on %d columns: report %s of %s" % (columns, view, name), *wrong)


def test_help():
    """Each help text is one screen; the list of views may be longer."""
    for view in [(), *((view,) for view in views())]:
        lines = run("report", *view, "--help").stdout.decode().splitlines()
        ok(2 < len(lines) <= (24 if view else 12 + len(views())) and max(map(len, lines)) <= 80,
           "wsmo %s --help is one screen" % " ".join(("report", *view)), len(lines), *lines)


def png_size(data):
    return struct.unpack(">II", data[16:24])


@gnuplot
def test_pictures():
    for view in [view for view, options in views().items() if "--size" in options]:
        data = samples.small() if view == "heatmap" else first(view)
        notes = run("report", view, "-i", "-", stdin=data).stderr
        with Directory() as d:
            for suffix, magic in ("png", b"\x89PNG"), ("pdf", b"%PDF-"), ("svg", b"<?xml"):
                for env in {}, {"LC_ALL": "C"}:
                    res = run("report", view, "-o", d.path("a." + suffix), "-i", "-", stdin=data, env=env)
                    ok(res.returncode == 0 and not res.stdout and res.stderr == notes and
                       d.read("a." + suffix).startswith(magic), "%s: a picture: %s %s" % (view, suffix, env or ""), res)
            run("report", view, "-o", d.path("s.png"), "--size", "640x400", "-i", "-", stdin=data)
            ok(png_size(d.read("s.png")) == (640, 400), view + ": --size of a picture", png_size(d.read("s.png")))
            made = os.listdir(d.name)
            for file, args, env, word in (("/nowhere/x.png", (), {}, b"No such file"),
                                          (d.path("no.png"), (), {"PATH": d.name}, b"apt install gnuplot-nox"),
                                          (d.path("no.png"), ("--pid", "4194305"), {}, b""),
                                          (d.path("no.png"), ("--time", "9000,"), {}, b"")):
                res = run("report", view, "-o", file, *args, "-i", "-", stdin=data, env=env)
                said = res.stderr.replace(notes, b"")
                ok(res.returncode == 1 and said.startswith(b"wsmo: ") and word in said and said.count(b"\n") == 1,
                   "%s: no picture %s %s %s" % (view, file, " ".join(args), env), res)
            ok(sorted(os.listdir(d.name)) == sorted(made), view + ": no picture after a failure", os.listdir(d.name))

# SPDX-License-Identifier: GPL-2.0
"""What the benches share: guests, stored runs, tables.

A bench is a module in this folder with a docstring that is its help, and

    NEED              packages it needs
    KEY               fields that say which figure a row is
    options(parser)   adds its options
    measure(args, run)  returns rows, dicts of what was measured
    tables(rows)      returns {block of RESULTS.md: table in Markdown}
    notes(rows)       returns what else is worth printing, a list of texts
    PICTURE, draw(rows, path)   only if there is one: its name, and what draws it

The guest's part of NAME is ../guest/NAME.py.
"""
import argparse
import datetime
import importlib
import json
import os
import shlex
import statistics
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUT = os.path.join(TOP, "out/bench")
sys.path += [os.path.join(TOP, d) for d in
             ("contrib", "tests/selftests", "tests/workloads", "tests/lib")]
NAMES = ("accuracy", "act", "alloc", "budget", "cases", "cgroups", "children", "curves", "fleet",
         "foundation", "groups", "independence", "kernels", "khugepaged", "many", "oracle", "overhead", "peaks",
         "price", "report", "services", "sizing", "stages", "who", "windows")
MIB = 1 << 20


def bench(name):
    return importlib.import_module("host." + name)


class Run:
    """A running bench. status: of the last failed guest, or 0; beside: busy processes"""

    def __init__(self, name, beside=0):
        self.name, self.kernels, self.status, self.rows, self.beside = name, [], 0, [], beside
        self.command = shlex.join(["bench/run", *sys.argv[1:]])

    def guest(self, todo, kernel="6.12", mem="4G", cpus=2, timeout=3600, tree=TOP, **env):
        """Boot a guest for ../guest/NAME.py; yield the rows that it prints"""
        guest = subprocess.Popen(
            [os.path.join(tree, "tests/vm/run"), "--kernel", kernel, "--mem", mem, "--cpus",
             str(cpus), "--timeout", str(timeout), "--", "/usr/bin/python3", "bench/run", "--guest", self.name,
             json.dumps(todo)], cwd=tree, env={**os.environ, **env}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True)
        busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(self.beside)]
        try:
            for line in guest.stdout:
                row = json.loads(line) if line.startswith("{") else {}
                if row.keys() == {"kernel"}:
                    self.kernels += [row["kernel"]] * (row["kernel"] not in self.kernels)
                elif row:
                    yield row
        except BaseException:
            guest.terminate()
            raise
        finally:
            for process in busy:
                process.kill()
                process.wait()
            if guest.wait():
                self.status = guest.returncode
                say("%s: the guest failed (%d)" % (self.name, self.status))

    def save(self):
        os.makedirs(OUT, exist_ok=True)
        with open(os.path.join(OUT, self.name + ".json"), "w") as f:
            json.dump({"bench": self.name,
                       "kernel": " and ".join(self.kernels) or os.uname().release,
                       "date": datetime.date.today().isoformat(),
                       "command": self.command, "rows": self.rows}, f, indent=1)
            f.write("\n")


def load(name, directory=OUT):
    try:
        with open(os.path.join(directory, name + ".json")) as f:
            return json.load(f)
    except FileNotFoundError:
        sys.exit("bench: %s was not run yet" % name)


def say(text):
    print(text, file=sys.stderr, flush=True)


def at_least(low, most=float("inf")):
    """A type for argparse: a whole number"""
    def number(text):
        if not low <= int(text) <= most:
            raise argparse.ArgumentTypeError("at least %d%s" % (
                low, "" if most == float("inf") else ", at most %d" % most))
        return int(text)
    return number


def one_of(names):
    """A type for argparse, where choices and nargs="*" do not go together"""
    def name(text):
        if text not in names:
            raise argparse.ArgumentTypeError("not one of %s" % ", ".join(names))
        return text
    return name


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def form(value, text, scale=1):
    """@value / @scale in a printf format, or - for None"""
    return "-" if value is None else text % (value / scale)


def percent(value, digits=0, sign=""):
    # no "-0 %"
    return "-" if value is None else "%{}.{}f %%".format(sign, digits) % (
        round(value * 100, digits) + 0.0)


def mib(value):
    return form(value, "%.1f", MIB)


def table(head, rows):
    """Markdown that is aligned as text, too: the first column left, others right"""
    rows = [[str(cell) for cell in row] for row in rows]
    width = [max(len(row[i]) for row in [head] + rows) for i in range(len(head))]

    def line(row):
        return "| " + " | ".join(cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in
                                 enumerate(zip(row, width))) + " |"

    rule = "|" + "|".join("-" * (w + 1) + (":" if i else "-") for i, w in enumerate(width)) + "|"
    return "\n".join([line(head), rule, *map(line, rows)])

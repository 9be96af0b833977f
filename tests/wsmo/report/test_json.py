# SPDX-License-Identifier: GPL-2.0
"""JSON of every view against Documentation/reference/json.rst; test_top and test_mem test top and
mem.

The tables of the document are the columns of wsmo's tables: --accept writes them.
"""
import json
import os
import re
import textwrap

import records as r
import samples
import test_sizing as sizing
from command import TOP, ok, run

DOCUMENT = os.path.join(TOP, "Documentation", "reference", "json.rst")
UNITS = {"count": int, "bytes": int, "address": int, "us": int, "ms": int, "ns": int,
         "s": (int, float), "share": (int, float), "per s": (int, float), "text": str,
         "texts": list, "change": int}
HEAD = {"type", "t", "time_ns", "size"}
# Never in these recordings: no file has debug information
UNSEEN = {(kind, field) for kind in ("alloc", "frame", "who")
          for field in ("function", "file", "line")}
# Tables of wsmo act, which the suites goals and schemes test
OF_ACT = "goal", "action", "scheme"


def rows(text):
    """The rows of the simple table in a section, continued lines joined."""
    rule, *lines = re.search(r"^=+  [= ]+$(?:\n.*)*?\n\n", text + "\n\n", re.M).group(0).splitlines()
    starts = [m.start() for m in re.finditer(r"=+", rule)] + [None]
    got = []
    for line in lines[2:]:
        if line.startswith("==="):
            break
        cells = [line[a:b].strip() for a, b in zip(starts, starts[1:])]
        if cells[0]:
            got.append(cells)
        else:
            got[-1] = [" ".join(pair).strip() for pair in zip(got[-1], cells)]
    return got


def documented():
    """Return: {view of report, or "top": {type: {field: (unit, meaning)}}}, {type of record: fields}"""
    with open(DOCUMENT) as f:
        text = f.read()
    sections = re.split(r"^(\w+)\n=+\n", text, flags=re.M)[1:]
    views = {}
    for name, body in zip(sections[::2], sections[1::2]):
        if name == "raw":
            raw = {kind: set(re.findall(r"\w+", fields)) for kind, fields in rows(body)}
            continue
        view = re.match(r"\n``wsmo (?:report )?(\w+)``: ", body).group(1)
        views.setdefault(view, {})[name] = {
            field: (unit, meaning) for field, unit, meaning in rows(body)}
    return views, raw


def table(fields):
    """Return: the simple table of fields, each with its unit and meaning"""
    head = ("Field", "Unit", "Meaning")
    widths = [max(len(row[i]) for row in [head] + fields) for i in (0, 1)]
    literal = lambda m: m.group(0).replace(" ", "\0")
    wrapped = [(field, unit, textwrap.wrap(re.sub("``.*?``", literal, meaning), 96 - sum(widths),
                                           break_on_hyphens=False)) for field, unit, meaning in fields]
    widths.append(max(len(line) for row in wrapped for line in row[2] + [head[2]]))
    rule = "  ".join("=" * width for width in widths)
    lines = [rule, "%-*s  %-*s  %s" % (widths[0], head[0], widths[1], head[1], head[2]), rule]
    for field, unit, meaning in wrapped:
        lines += [("%-*s  %-*s  %s" % (widths[0], at, widths[1], of, line)).rstrip()
                  for at, of, line in zip([field] + [""] * len(meaning), [unit] + [""] * len(meaning), meaning)]
    return "\n".join(lines + [rule]).replace("\0", " ") + "\n"


def generated(text):
    """Return: the document with wsmo's tables; a table without a section gets one"""
    views = dict(re.findall(r"^  (\w+) +(.*)$", run("report", "--help").stdout.decode(), re.M))
    kinds = {}
    for program in "report", "act", "top":
        for line in run(program, "--list-columns").stdout.decode().splitlines():
            kind, *column = line.split("\t")
            kinds.setdefault(kind, {})[column[0]] = column
    del kinds["raw"]  # a line of its CSV is no object
    for kind, fields in kinds.items():
        if not re.search("^%s\n=+$" % kind, text, re.M):
            help_text = views[kind]
            text = re.sub(r"(?m)^raw\n===$", lambda m: "%s\n%s\n\n``wsmo report %s``: %s.\n\n====\n====\n\n%s" % (
                kind, "=" * len(kind), kind, help_text[0].lower() + help_text[1:], m.group(0)), text)
        text = re.sub(r"(?ms)^(%s\n=+\n\n.*?\n\n)=.*?=\n(?=\n)" % kind, lambda m: m.group(1) + table(list(fields.values())),
                      text, count=1)
    return text


def test_tables_are_columns(accept):
    with open(DOCUMENT) as f:
        text = f.read()
    new = generated(text)
    if accept and new != text:
        with open(DOCUMENT, "w") as f:
            f.write(new)
    ok(accept or new == text, "json.rst has the columns of all tables; --accept writes them",
       *set(new.splitlines()) ^ set(text.splitlines()))


def wrong(kind, fields, x):
    """Return: the errors of an object"""
    if set(x) - {"secondary_mmu"} != set(fields) | {"type"}:
        return "fields", set(x) ^ set(fields)
    for field, (unit, meaning) in fields.items():
        value = x[field]
        if value is None:
            if not unit.endswith("?"):
                return field, "null"
        elif not isinstance(value, UNITS[unit.rstrip("?")]) or isinstance(value, bool):
            return field, "type", value
        elif unit.startswith("share") and not re.search("(above|exceed) 1", meaning) and \
                not 0 <= value <= 1:
            return field, "not a share", value
        elif unit.rstrip("?") not in ("text", "texts", "change") and value < 0 and \
                "negative" not in meaning:
            return field, "negative", value
    return None


def tables(views):
    recordings = (samples.main(), samples.stacks(), samples.family(), samples.cgroup(), samples.allocs(),
                  samples.who(), sizing.recording(sizing.random_use, rss=lambda t: 90 << 20,
                                                  first=r.refault(0, 0, 90000)))
    for view, kinds in views.items():
        seen, bad = set(), []
        for data in recordings:
            for options in [()] + [("--percentiles",)] * (view == "wss") + \
                    [("--mappings",)] * (view == "idle") + [("--by", "node")] * (view == "who"):
                for line in run("report", view, "--json", "-i", "-", *options,
                                stdin=data).stdout.splitlines():
                    x = json.loads(line)
                    kind = x["type"]
                    seen |= {(kind, field) for field in x if x[field] is not None}
                    why = wrong(kind, kinds[kind], x) if kind in kinds else "not documented"
                    if why:
                        bad.append((kind, why, x))
        ok(not bad, "report %s is as documented" % view, len(bad), *bad[:3])
        missing = {(kind, field) for kind in kinds if kind not in OF_ACT for field in kinds[kind]} - seen - UNSEEN
        ok(not missing, "all that is documented of %s is printed" % view, missing)


def records(raw):
    got, bad = {}, []
    for data in samples.main(), samples.stacks(), samples.small(), samples.family(), samples.cgroup(), samples.who():
        for line in run("report", "raw", "--json", "-i", "-", stdin=data).stdout.splitlines():
            x = json.loads(line)
            if re.match(r"type\d+$", x["type"]):
                fields = set()
            else:
                fields = raw.get(x["type"], set())
                got.setdefault(x["type"], set()).update(set(x) - HEAD)
            if not HEAD <= set(x) or set(x) - HEAD - fields:
                bad.append(x)
    ok(not bad, "records are as documented", *bad[:3])
    ok(got == raw, "all that is documented of records is printed",
       *["%s: %s" % (kind, got.get(kind, set()) ^ raw.get(kind, set()))
         for kind in set(got) | set(raw) if got.get(kind) != raw.get(kind)])


def test_documented():
    views, raw = documented()
    # tested by suites of their own
    del views["top"], views["diff"], views["mem"], views["check"], views["sizing"]["verify"]
    names = run("report", "--list-options").stdout.decode().split()[1].split("|")
    ok(set(views) | {"raw", "html"} == set(names), "every view is documented", names)
    tables(views)
    records(raw)

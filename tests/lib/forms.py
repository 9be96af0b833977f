# SPDX-License-Identifier: GPL-2.0
"""Do CSV, a --raw table and JSON lines show the same rows?

Golden files show one form's looks; here the numbers of the other forms are compared.
"""
import csv
import io
import json
import re
import xml.etree.ElementTree as xml


# control characters (C0, DEL, C1), bidirectional marks, line separators: a table prints none
STEERS = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def svg_texts(svg):
    """The texts of an SVG picture"""
    texts = [" ".join("".join(t.itertext()).split()) for t in xml.fromstring(svg).iter()
             if t.tag.endswith("}text")]
    return [text for text in texts if text]


def page_data(html):
    """The data of a page of report html"""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S).group(1))


def tables(text):
    """The tables of CSV output, which are separated by blank lines: lists of rows, as dicts."""
    return [list(csv.DictReader(io.StringIO(part))) for part in text.split("\n\n")]


def unescape(text):
    """The original of a text that CSV or a table shows with control and invalid bytes
    as \\ooo."""
    raw = re.sub(rb"\\([0-3][0-7]{2})", lambda m: bytes([int(m[1], 8)]), text.encode())
    return raw.decode("utf-8", "replace")


def equal(text, value):
    """Is the CSV cell @text the JSON @value?"""
    if value is None:
        return text == ""
    if isinstance(value, list):
        return text == ";".join(value)
    if isinstance(value, str):
        return unescape(text) == value
    try:
        return type(value)(text) == value
    except ValueError:
        return False


def csv_differences(text, lines, only_csv=(), but=()):
    """Where CSV and JSON differ, apart from columns @but; each CSV row has the fields of its JSON
    object, and @only_csv."""
    rows = sum(tables(text), [])
    objects = [json.loads(line) for line in lines.splitlines()]
    if len(rows) != len(objects) or not rows:
        return ["%d rows, %d objects" % (len(rows), len(objects))]
    wrong = []
    for row, obj in zip(rows, objects):
        obj.pop("type")
        if set(row) != set(obj) | set(only_csv) & set(row):
            wrong.append("columns %s, fields %s" % (sorted(row), sorted(obj)))
        wrong += ["%s: %s is not %r" % (key, row[key], obj[key]) for key in row
                  if key in obj and key not in but and not equal(row[key], obj[key])]
    return wrong


def in_line(line, row, but):
    """The first column of @row that @line does not show, given that columns keep their order."""
    at = 0
    for key, text in row.items():
        if key in but or text == "":
            continue
        forms = {text, hex(int(text))} if text.isdigit() else {text}
        found = re.compile("(?<!\\S)(%s)(?!\\S)" % "|".join(map(re.escape, forms))).search(line, at)
        if not found:
            return key
        at = found.end()
    return None


def raw_differences(text, raw, but=()):
    """Where the --raw table and CSV differ, apart from columns @but."""
    # columns for programs only: a table leaves them out
    but = (*but, "scope", "comm")
    wrong = []
    # a table without rows has no heading
    found, parts = [rows for rows in tables(text) if rows], re.split("\n\n+", raw.strip("\n"))
    for rows, part in zip(found, parts):
        lines = part.splitlines()[1:]
        if len(rows) == 1 and len(lines) > 1:
            # names and values, one pair a line
            lines = [" ".join(part.split())]
        if len(rows) != len(lines):
            wrong.append("%d rows, %d lines" % (len(rows), len(lines)))
        for row, line in zip(rows, lines):
            key = in_line(line, row, but)
            if key:
                wrong.append("%s=%s is not in: %s" % (key, row[key], line))
    return wrong + ["%d tables" % len(parts)] * (len(parts) != len(found))


def none(differences, name):
    """Arguments of ktap.ok(): test point @name passes if there are no differences."""
    return (not differences, name, *differences[:10])


def flat(obj, prefix=""):
    """The fields of a record, named as by report raw --csv."""
    for key, value in obj.items():
        if isinstance(value, list):
            for n, one in enumerate(value, obj.get("first", 0)):
                yield from (flat(one, "%s%d." % (key.rstrip("s"), n)) if isinstance(one, dict) else
                            [("%s%s%d" % (prefix, key, n), one)])
        else:
            yield prefix + key, value


def field_differences(text, lines):
    """Where the fields differ between CSV (one a line) and JSON (one record a line)."""
    rows = list(csv.DictReader(io.StringIO(text)))
    want = []
    for n, line in enumerate(lines.splitlines()):
        obj = json.loads(line)
        head = "%.3f" % obj.pop("t"), str(n), obj.pop("type")
        want += [(*head, *one) for one in flat(obj) if one[0] not in ("time_ns", "size")]
    if len(rows) != len(want) or not rows:
        return ["%d rows, %d fields" % (len(rows), len(want))]
    return ["%s is not %s" % (row, one) for row, one in zip(rows, want)
            if (row["t"], row["n"], row["type"], row["field"]) != one[:4] or
            not equal(row["value"], one[4])]

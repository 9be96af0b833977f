# SPDX-License-Identifier: GPL-2.0
"""bench/results puts the tables of runs into bench/RESULTS.md: here from small stored runs."""
import json
import os
import re
import subprocess

from command import HERE, TOP, Directory, golden, ok

BLOCK = re.compile(r"^<!-- (?!end -->)(.*?) -->\n(.*?)\n<!-- end -->", re.M | re.S)


def results(tmp, page, runs):
    """Return: the exit status, @page with the tables of @runs, messages"""
    for name in os.listdir(tmp.name):
        os.unlink(tmp.path(name))
    for name, run in runs.items():
        tmp.write(name + ".json", json.dumps(run).encode())
    path = tmp.write("page.md", page.encode())
    done = subprocess.run([os.path.join(TOP, "bench/results"), "--runs", tmp.name, "--page", path,
                           "--pictures", tmp.name], stderr=subprocess.PIPE, text=True)
    return done.returncode, tmp.read("page.md").decode(), done.stderr


def cells(table):
    """Return: the titles of a table's columns"""
    return [cell.strip() for cell in table.splitlines()[0].split("|")]


def test_results(accept):
    with open(os.path.join(TOP, "bench/RESULTS.md")) as f:
        page = f.read()
    with open(os.path.join(HERE, "runs.json")) as f:
        runs = json.load(f)
    old = dict(BLOCK.findall(page))
    with Directory() as tmp:
        status, same, err = results(tmp, page, {})
        ok(status == 0 and same == page, "bench/results: without runs nothing changes", err)
        status, text, err = results(tmp, page, runs)
        new = dict(BLOCK.findall(text))
        ok(status == 0 and BLOCK.sub(r"\1", text) == BLOCK.sub(r"\1", page),
           "bench/results: only tables change", err)
        kept = [name for name in old if new.get(name) == old[name]]
        ok(not kept, "bench/results: every table comes from a run", *kept)
        other = [name for name in old if cells(new.get(name, "|")) != cells(old[name])]
        ok(not other, "bench/results: a table keeps its columns",
           *["%s: %s, not %s" % (n, cells(new.get(n, "|")), cells(old[n])) for n in other])
        with open(tmp.path("price.png"), "rb") as f:
            head = f.read(24)
        ok(head[:8] == b"\x89PNG\r\n\x1a\n" and int.from_bytes(head[16:20], "big") == 960,
           "bench/results: draws the picture of a run", head)
        golden("bench.md", "\n\n".join(new.values()).encode() + b"\n", accept, status == 0, err)

        part = {"overhead": dict(runs["overhead"], rows=runs["overhead"]["rows"][:1])}
        status, text, err = results(tmp, page, part)
        found = dict(BLOCK.findall(text))
        changed = [name for name in old if found.get(name) != old[name]]
        ok(status == 0 and changed == ["overhead: cost"],
           "bench/results: a run of one part changes its table alone", changed, err)

        less = page.replace("<!-- sizing -->", "")
        status, text, err = results(tmp, less, runs)
        ok(status == 1 and text == less and "<!-- sizing -->" in err,
           "bench/results: fails if a table has no place", err)

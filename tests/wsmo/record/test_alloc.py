# SPDX-License-Identifier: GPL-2.0
"""wsmo record --alloc of programs that allocate known bytes, against a fake of the module."""
import math
import os
import shutil
import stat
import struct
import subprocess

import records as r
from command import HERE, TOP, Directory, fails, ok, run, skip
from recorder import args, fake, kinds

RATE = 4096
START, MALLOC, FREE, MMAP, MUNMAP, LOST = range(6)
WAYS = ("malloc", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc",
        "posix_memalign", "valloc", "threads", "fork", "mmap")
# Of all ways together less; two of three runs may be wrong by chance, not by a bias
SIGMAS, POOLED = 4.5, 3


def build(d):
    path = d.path("allocs")
    subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-pthread", "-o", path,
                    os.path.join(HERE, "programs", "allocs.c")], check=True)
    return path


def records(d):
    """[(pid, kind, stack, addr, size)], [numbers of stacks], in the order of the file"""
    events, stacks = [], []
    for kind, _, body in r.parse(d.read("data")):
        if kind == r.ALLOC:
            pid, what, stack, _, addr, size = struct.unpack_from("<4I2Q", body)
            events.append((pid, what, stack, addr, size))
            if stack and stack not in stacks:
                events.append((pid, -1, stack, addr, size))
        elif kind == r.STACK and struct.unpack_from("<I", body, 8)[0] == 2:
            stacks.append(struct.unpack_from("<I", body, 12)[0])
    return events, stacks


def estimate(events, rate=RATE):
    """Bytes that are live, the variance of that, and frees of what is not known"""
    live, maps, strange = {}, [], 0
    for _, kind, _, addr, size in events:
        if kind == MALLOC:
            strange += addr in live
            live[addr] = size
        elif kind == FREE:
            strange += live.pop(addr, None) is None
        elif kind == MMAP:
            maps.append((addr, addr + size, size))
        elif kind == MUNMAP:
            cut = []
            for a, b, whole in maps:
                cut += [(x, y, whole) for x, y in ((a, min(b, addr)), (max(a, addr + size), b))
                        if x < y]
            maps = cut
    total = variance = 0
    for size, whole in [(s, s) for s in live.values()] + [(b - a, whole) for a, b, whole in maps]:
        p = -math.expm1(-whole / rate)
        total += size / p
        variance += size * size * (1 - p) / p / p
    return total, variance, strange


def ways():
    error = variances = 0
    with fake() as (d, m):
        program = build(d)
    for way in WAYS:
        with fake() as (d, m):
            program = build(d)
            res = run(*args(d, m, "--alloc=%d" % RATE, "--", program, way))
            text = res.stdout.decode().split()
            events, stacks = records(d)
            good = ok(res.returncode == 0 and text[:1] == ["live"] and events and
                      b"LOST" not in res.stderr, way + ": recorded", res.stdout, res.stderr)
            if not good:
                continue
            truth = int(text[1])
            total, variance, strange = estimate(events)
            error += total - truth
            variances += variance
            ok(abs(total - truth) < SIGMAS * math.sqrt(variance),
               "  what is live, of samples", "%d +- %d, not %d" % (total, math.sqrt(variance), truth))
            ok(not strange, "  each end has its beginning", strange)
            ok(events[0][1] == START and events[0][4] == RATE and len({e[0] for e in events}) == 1,
               "  of one process, from its start on", events[:2], {e[0] for e in events})
            ok(not [e for e in events if e[1] < 0] and len(set(stacks)) == len(stacks),
               "  each stack once, before what refers to it")
            ok((b"of other processes were not recorded" in res.stderr) == (way == "fork"),
               "  children are told of", res.stderr)
    ok(abs(error) < POOLED * math.sqrt(variances), "no bias in all of them together",
       "%d +- %d" % (error, math.sqrt(variances)))


def stacks():
    """Through frames without frame pointers, as far as main()."""
    with fake() as (d, m):
        program = build(d)
        run(*args(d, m, "--alloc=%d" % RATE, "--", program, "calloc"))
        deep = 0
        for kind, _, body in r.parse(d.read("data")):
            if kind == r.STACK:
                nr, = struct.unpack_from("<I", body, 32)
                deep = max(deep, nr)
        ok(deep >= 4, "stacks reach main() and what calls it", deep)


def losses():
    with fake(interval=0.5) as (d, m):
        program = build(d)
        # the recorder stops while the program does not
        res = run(*args(d, m, "--alloc=1", "--", "sh", "-c",
                        "kill -STOP $PPID; (sleep 2; kill -CONT $PPID) & exec " + program + " threads"))
        events, _ = records(d)
        lost = sum(e[4] for e in events if e[1] == LOST)
        ok(res.returncode == 0 and lost and b"LOST %d events of allocations" % lost in res.stderr,
           "what finds no room is counted", res.stderr, lost)


def environment():
    with fake() as (d, m):
        res = run(*args(d, m, "--alloc", "--", "env"), env={"LD_PRELOAD": "/no/such/lib.so"})
        lines = dict(line.split("=", 1) for line in res.stdout.decode().splitlines() if "=" in line)
        ok(lines.get("LD_PRELOAD", "").endswith("/libwsmo-alloc.so:/no/such/lib.so"),
           "what was preloaded still is", lines)
        ring = lines.get("WSMO_ALLOC", "")
        ok(ring and not os.path.exists(ring), "the file for events is gone at the end", ring)
        ok(b"sampled" in res.stderr or b"no allocations were sampled" in res.stderr, "closing words",
           res.stderr)
    with fake() as (d, m):
        res = run(*args(d, m, "--alloc", "--", "env", "-i", "sleep", "0.1"))
        ok(res.returncode == 0, "a command that is executed without them runs", res.stderr)
    with fake() as (d, m):
        res = run(*args(d, m, "--", "env"))
        ok(b"WSMO_ALLOC" not in res.stdout and r.ALLOC not in kinds(d), "without --alloc nothing of it",
           res.stdout)
    # a ring that cannot be opened is told, once; the program runs
    library = os.path.join(TOP, "out", "lib", "wsmo", "libwsmo-alloc.so")
    for name, words in ("/dev/null", b"are not recorded"), ("/no/such/file", b""):
        res = subprocess.run(["/bin/echo", "ran"], env={"LD_PRELOAD": library, "WSMO_ALLOC": name},
                             capture_output=True)
        ok(res.stdout == b"ran\n" and (words in res.stderr if words else not res.stderr),
           "with $WSMO_ALLOC " + name, res.stderr)


def refused():
    with Directory() as d:
        source = b"int main(void) { return 0; }"
        subprocess.run(["gcc", "-static", "-x", "c", "-o", d.path("static"), "-"], input=source,
                       check=True)
        shutil.copy("/bin/true", d.path("setuid"))
        for name, words in ("static", "linked statically"), ("setuid", "ignores LD_PRELOAD"):
            if name == "setuid":
                if os.geteuid():
                    skip("setuid programs", "not root")
                    continue
                os.chown(d.path(name), 1000, -1)
                os.chmod(d.path(name), 0o755 | stat.S_ISUID)
            with fake() as (e, m):
                fails(run(*args(e, m, "--alloc", "--", d.path(name))), "a %s program" % name, words)
                ok(not os.path.exists(e.path("data")), "  leaves no file")
    with fake() as (d, m):
        for bad in (("--alloc=0", "--", "true"), ("--alloc=x", "--", "true"), ("--alloc", "-p", "1")):
            res = run(*args(d, m, *bad))
            ok(res.returncode == 2 and res.stderr.startswith(b"wsmo: "), " ".join(bad) + " is refused",
               res.stderr)


def main(_accept):
    if not os.path.exists(os.path.join(TOP, "out", "lib", "wsmo", "libwsmo-alloc.so")):
        skip("--alloc", "out/lib/wsmo/libwsmo-alloc.so is not built")
        return
    ways()
    stacks()
    losses()
    environment()
    refused()

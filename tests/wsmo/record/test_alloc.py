# SPDX-License-Identifier: GPL-2.0
"""wsmo record --alloc of programs that allocate known bytes, against a fake of the module."""
import fcntl
import math
import os
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys

import records as r
from command import HERE, TOP, Directory, fails, ok, run, skip
from recorder import args, fake, kinds

LIBRARY = os.path.join(TOP, "out", "lib", "wsmo", "libwsmo-alloc.so")
SKIP = "" if os.path.exists(LIBRARY) else LIBRARY + " is not built"
RATE = 4096
START, MALLOC, FREE, MMAP, MUNMAP, LOST = range(6)
WAYS = ("malloc", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc",
        "posix_memalign", "valloc", "threads", "fork", "mmap")
# A lower bound for all ways together; two of three runs may be off by chance, but not by a bias
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
    """Live bytes, their variance, and the number of frees of unknown memory"""
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


def test_ways():
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
            ok((b"allocations of other processes (" in res.stderr) == (way == "fork"),
               "  children are told of", res.stderr)
    ok(abs(error) < POOLED * math.sqrt(variances), "no bias in all of them together",
       "%d +- %d" % (error, math.sqrt(variances)))


def test_stacks():
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


def test_losses():
    with fake(interval=0.5) as (d, m):
        program = build(d)
        # stop the recorder before the program begins
        res = run(*args(d, m, "--alloc=1", "--", "sh", "-c",
                        "kill -STOP $PPID; (sleep 2; kill -CONT $PPID) & exec " + program + " threads"))
        events, _ = records(d)
        lost = sum(e[4] for e in events if e[1] == LOST)
        ok(res.returncode == 0 and lost and b"LOST %d events of allocations" % lost in res.stderr,
           "what finds no room is counted", res.stderr, lost)


def test_environment():
    with fake() as (d, m):
        res = run(*args(d, m, "--alloc", "--", "env"), env={"LD_PRELOAD": "/no/such/lib.so"})
        lines = dict(line.split("=", 1) for line in res.stdout.decode().splitlines() if "=" in line)
        ok(lines.get("LD_PRELOAD", "").endswith("/libwsmo-alloc.so:/no/such/lib.so"),
           "what was preloaded still is", lines)
        ok(b"sampled" in res.stderr or b"no allocations were sampled" in res.stderr, "closing words",
           res.stderr)
    with fake() as (d, m):
        res = run(*args(d, m, "--alloc", "--", "env", "-i", "sleep", "0.1"))
        ok(res.returncode == 0, "a command that is executed without them runs", res.stderr)
    with fake() as (d, m):
        res = run(*args(d, m, "--", "env"))
        ok(b"WSMO_ALLOC" not in res.stdout and r.ALLOC not in kinds(d), "without --alloc nothing of it",
           res.stdout)
    # the first process reports a closed descriptor; the program runs
    for name, words in (("700,%d" % os.getpid(), b"are not recorded"), ("700,1", b""), ("x", b"")):
        res = subprocess.run(["/bin/echo", "ran"], env={"LD_PRELOAD": LIBRARY, "WSMO_ALLOC": name},
                             capture_output=True)
        ok(res.stdout == b"ran\n" and (words in res.stderr if words else not res.stderr),
           "with $WSMO_ALLOC " + name, res.stderr)


def test_memory():
    """The ring can neither lack memory nor be truncated, and leaves nothing behind."""
    with fake(interval=0.5) as (d, m):
        look = ("import fcntl, os; fd = int(os.environ['WSMO_ALLOC'].split(',')[0]); s = os.fstat(fd); "
                "print(s.st_blocks * 512 - s.st_size, fcntl.fcntl(fd, fcntl.F_GET_SEALS) & 7, "
                "os.readlink('/proc/self/fd/%d' % fd))")
        res = run(*args(d, m, "--alloc", "--", sys.executable, "-c", look))
        seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
        ok(res.stdout == b"0 %d /memfd:wsmo-alloc (deleted)\n" % seals,
           "the ring is memory, sealed, and no file", res.stdout, res.stderr)
    with fake() as (d, m):
        # the limit of file sizes stands for a lack of memory
        res = run(*args(d, m, "--alloc", "--", "echo", "ran"), preexec_fn=lambda: (
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))))
        fails(res, "without 4 MiB", "no 4 MiB of memory")
        ok(not res.stdout, "  the command does not run", res.stdout)


def test_locked():
    """mlockall() makes all memory resident that is mapped: the library maps little"""
    if os.geteuid():
        skip("locked memory", "not root")
        return
    code = ("import ctypes, re; assert not ctypes.CDLL(None).mlockall(1); "
            "print(re.search(r'VmLck:\\s*(\\d+)', open('/proc/self/status').read())[1])")
    command = sys.executable, "-c", code
    with fake() as (d, m):
        alone = int(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        res = run(*args(d, m, "--alloc", "--", *command))
        more = (int(res.stdout) - alone) / 1024
        ok(res.returncode == 0 and 4 <= more <= 32, "little is locked", more, res.stderr)


def test_hostile():
    """Programs that forbid system calls, write into the ring, or close it."""
    with Directory() as b:
        program = b.path("hostile")
        subprocess.run(["gcc", "-O1", "-fno-builtin", "-I" + os.path.join(TOP, "include"), "-o", program,
                        os.path.join(HERE, "programs", "hostile_alloc.c")], check=True)
        for way, sampled, words in (
                ("seccomp", 1000, b""), ("tail", 1000, b""), ("shrink", 1000, b""), ("hole", 900, b""),
                ("head", 0, b"overwrote the buffer"), ("events", 0, b"LOST"),
                ("close", 0, b"allocations are not recorded: the descriptor")):
            with fake(interval=0.2) as (d, m):
                more = ("/bin/echo", "ran") if way == "close" else ()
                res = run(*args(d, m, "--alloc=1", "--", program, way, *more), timeout=60)
                events, _ = records(d)
                ok(res.returncode == 0 and res.stdout == b"ran\n", way + ": the program runs", res.stderr)
                ok(len([e for e in events if e[1] == MALLOC]) >= sampled and words in res.stderr,
                   "  what is there is recorded, and trouble told", len(events), res.stderr)


def test_crowded():
    """A command makes stacks that fall into one place of the recorder's table: no quadratic
    work."""
    took = {}
    with Directory() as b:
        program = b.path("hostile")
        subprocess.run(["gcc", "-O1", "-fno-builtin", "-I" + os.path.join(TOP, "include"), "-o", program,
                        os.path.join(HERE, "programs", "hostile_alloc.c")], check=True)
        for way in "spread", "collide":
            with fake(interval=0.2) as (d, m):
                before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                res = run(*args(d, m, "--alloc=1", "--", program, way), timeout=170)
                took[way] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
                nr = re.search(rb"sampled (\d+) allocations", res.stderr)
                ok(res.returncode == 0 and nr and int(nr[1]) >= 3 << 16, way + ": all are recorded", res.stderr)
        ok(took["collide"] < 4 * took["spread"] + 1, "stacks in one place", took)


def test_libraries():
    """The library starts in programs of any C library: it needs only functions that all of them
    have."""
    names = subprocess.run(["nm", "-D", "--undefined-only", LIBRARY], stdout=subprocess.PIPE,
                           check=True).stdout.decode().split("\n")
    needed = {line.split()[1].split("@")[0] for line in names if line.split()[:1] == ["U"]}
    common = set("""__errno_location abort clock_gettime dl_iterate_phdr dlsym free fstat getauxval getppid
                    madvise malloc memcpy memset mmap pthread_mutex_lock pthread_mutex_unlock secure_getenv
                    __stack_chk_fail strlen strtol syscall sysconf write""".split())
    ok("write" in needed and needed <= common, "the library needs what all C libraries have", needed - common)


def test_refused():
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
        os.mkfifo(d.path("pipe"))
        os.chmod(d.path("pipe"), 0o777)
        res = run(*args(d, m, "--alloc", "--", d.path("pipe")), timeout=20)
        ok(res.returncode == 126 and b"cannot be run" in res.stderr, "a pipe instead of a program", res.stderr)
    with fake() as (d, m):
        for bad in (("--alloc=0", "--", "true"), ("--alloc=x", "--", "true"), ("--alloc", "-p", "1")):
            res = run(*args(d, m, *bad))
            ok(res.returncode == 2 and res.stderr.startswith(b"wsmo: "), " ".join(bad) + " is refused",
               res.stderr)

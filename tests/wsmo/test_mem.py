# SPDX-License-Identifier: GPL-2.0
"""wsmo mem: against smaps_rollup, page frames and /proc/meminfo; text that is copied; odd
processes.

Memory of other processes changes while wsmo runs, as it maps libraries, too. So for exact
comparisons wsmo reads a copy of /proc (--sysroot).
"""
import contextlib
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

import test_json
from command import Directory, fails, golden, ok, parsed, run, same_numbers, skip

KIB, MIB = 1 << 10, 1 << 20
ROOT = not os.geteuid()

# A parent and two children that share anonymous memory, partly written by one; tmpfs; sparse
FAMILY = r"""import ctypes, mmap, os, signal
shared = mmap.mmap(-1, 8 << 20)
private = mmap.mmap(-1, 16 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
sparse = mmap.mmap(-1, 1 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for i in range(0, 4 << 20, 4096):
    shared[i] = 1
for i in range(0, 16 << 20, 4096):
    private[i] = 1
for i in range(0, 1 << 30, 16 << 20):
    sparse[i] = 1
zero = [private[i] for i in range(0, 4096)] + [sparse[i + 4096] for i in range(0, 1 << 30, 16 << 20)]
for n in range(2):
    if not os.fork():
        for i in range(0, n << 20, 4096):
            private[i] = 2
        zero += [shared[i] for i in range(0, 4 << 20, 4096)]
        break
os.write(1, b"%d\n" % os.getpid())
while True:
    signal.pause()
"""


@contextlib.contextmanager
def processes(code, nr=1, *args):
    """Processes that run Python code, and have printed a line; yields their pids."""
    p = subprocess.Popen([sys.executable, "-c", code, *args], stdout=subprocess.PIPE,
                         stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield sorted(int(p.stdout.readline()) for _ in range(nr))
    finally:
        os.killpg(p.pid, signal.SIGKILL)
        p.communicate()


def rows(*args, **kw):
    """Return: the objects of --json, and the result"""
    res = run("mem", "--json", *args, **kw)
    return parsed(res), res


def total(found, field):
    return sum(row[field] for row in found)


def kib(text):
    """{key: sum in bytes} of smaps, smaps_rollup or meminfo"""
    sums = {}
    for key, n in re.findall(r"^(\w[\w()]*): +(\d+) kB$", text, re.M):
        sums[key] = sums.get(key, 0) + int(n) * KIB
    return sums


def read(path):
    with open(path, errors="surrogateescape") as f:
        return f.read()


class Proc(Directory):
    """A root directory with a fake /proc."""

    def add(self, pid, smaps, comm="fake", start=1, **files):
        os.makedirs(self.path("proc", str(pid)))
        files.update(smaps=smaps, comm=comm + "\n",
                     stat="%d (%s) S 1 %s %d 0\n" % (pid, comm, "0 " * 17, start))
        for name, text in files.items():
            with open(self.path("proc", str(pid), name), "w", errors="surrogateescape") as f:
                f.write(text)

    def copy(self, pid):
        """Return: smaps_rollup of the same moment"""
        there = "/proc/%d/" % pid
        while True:
            before, smaps = read(there + "smaps_rollup"), read(there + "smaps")
            if before == read(there + "smaps_rollup"):
                break
        self.add(pid, smaps, read(there + "comm").rstrip("\n"), mountinfo=read(there + "mountinfo"))
        return kib(before)

    def rows(self, *args):
        return rows("--sysroot", self.name, *args)


def mapping(start, size, perms="rw-p", path="", inode=0, dev="00:00", flags="rd wr", **values):
    """A mapping in smaps; sizes are KiB"""
    head = "%x-%x %s 00000000 %s %d" % (start, start + size * KIB, perms, dev, inode)
    values = {"Size": size, "Rss": 0, **values}
    return (head.ljust(73) + path if path else head) + "\n" + "".join(
        "%s: %8d kB\n" % (key, n) for key, n in values.items()) + "VmFlags: %s \n" % flags


def test_rollup():
    """The sums of each process are exactly the kernel's."""
    with processes(FAMILY, 3) as pids, Proc() as d:
        time.sleep(0.2)
        for pid in pids:
            want = d.copy(pid)
            found, res = d.rows("-p", str(pid))
            huge = want["Shared_Hugetlb"] + want["Private_Hugetlb"]
            pairs = {
                "resident": want["Rss"] + huge,
                "private": want["Private_Clean"] + want["Private_Dirty"] + want["Private_Hugetlb"],
                "shared": want["Shared_Clean"] + want["Shared_Dirty"] + want["Shared_Hugetlb"],
                "swap": want["Swap"],
                "huge": want["AnonHugePages"] + want["ShmemPmdMapped"] + want["FilePmdMapped"] + huge}
            ok(not res.returncode and not res.stderr and
               {key: total(found, key) for key in pairs} == pairs, "as smaps_rollup says", pairs,
               {key: total(found, key) for key in pairs}, res)
            lines = read(d.path("proc", str(pid), "smaps")).count("VmFlags")
            ok(0 <= want["Pss"] + huge - total(found, "pss") <= lines * KIB,
               "PSS, of which smaps cuts fractions", want["Pss"], total(found, "pss"))
            size = int(re.search(r"VmSize:\s+(\d+)", read("/proc/%d/status" % pid)).group(1)) * KIB
            ok(total(found, "virtual") == size, "virtual is VmSize", size, total(found, "virtual"))
            process, _ = d.rows("-p", str(pid), "--by", "process")
            ok(len(process) == 1 and all(process[0][key] == n for key, n in pairs.items()) and
               process[0]["class"] == "all" and process[0]["path"] is None, "by process", process)
        found, _ = d.rows("--by", "class")
        ok({"all", "text", "data", "heap", "stack", "anon", "file", "shmem"} >=
           {row["class"] for row in found} >= {"all", "text", "anon", "shmem", "stack"} and
           total(found, "private") == 2 * found[0]["private"] and found[0]["processes"] == 3,
           "classes add up to all", found)


def frames(pids):
    """All page frames, each once, of all mappings, by pagemap, without zero pages."""
    seen = set()
    with open("/proc/kpageflags", "rb") as flags:
        for pid in pids:
            with open("/proc/%d/pagemap" % pid, "rb") as pagemap:
                for line in open("/proc/%d/maps" % pid):
                    if "[v" in line:
                        continue
                    start, end = (int(x, 16) // 4096 for x in line.split()[0].split("-"))
                    pagemap.seek(start * 8)
                    data = pagemap.read((end - start) * 8)
                    for (entry,) in struct.iter_unpack("<Q", data):
                        if entry >> 63:
                            seen.add(entry & (1 << 55) - 1)
        zero = set()
        for frame in seen:
            flags.seek(frame * 8)
            if struct.unpack("<Q", flags.read(8))[0] >> 24 & 1:
                zero.add(frame)
    return len(seen - zero) * 4096


def test_each_page_once():
    if not ROOT:
        skip("page frames", "needs root")
        return
    with processes(FAMILY, 3) as pids:
        time.sleep(0.2)
        want = frames(pids)
        found, res = rows("--by", "class", "-p", ",".join(map(str, pids)))
        got, rss = found[0]["resident"], total(rows("-p", ",".join(map(str, pids)))[0], "resident")
        # [vdso] is left out above, as the kernel's data beside it has frames, too
        ok(not res.returncode and 0 <= got - want <= 4 * 4096 and rss > got + 32 * MIB,
           "each page once, by its frame", got, want, rss, found)
        anon = [row for row in found if row["class"] == "anon"][0]
        ok(17 * MIB <= anon["resident"] <= 30 * MIB and anon["shared"] >= 15 * MIB and
           anon["private"] >= MIB, "copied pages count each", anon)
        shmem = [row for row in found if row["class"] == "shmem"][0]
        ok(shmem["resident"] == 4 * MIB == shmem["shared"], "shared memory counts once", shmem)
        text = run("mem", "-p", ",".join(map(str, pids))).stdout.decode()
        ok("3 processes: " in text and "by its frame" in text, "it says how", text)


# Many mappings of 64 GiB, each with one page, which all share
SPREAD = """import mmap, os, signal, sys
fd = os.memfd_create("spread")
os.truncate(fd, 64 << 30)
views = [mmap.mmap(fd, 64 << 30, mmap.MAP_SHARED) for i in range(int(sys.argv[1]))]
for view in views:
    view[0] = 1
os.write(1, b"%d\\n" % os.getpid())
while True:
    signal.pause()
"""


def test_spread():
    """A process may map 128 TiB of a few pages: their absent pages are not all read."""
    if not ROOT:
        skip("page frames", "needs root")
        return
    took = {}
    for nr in 16, 96:
        with processes(SPREAD, 1, str(nr)) as pids:
            began = time.monotonic()
            found, res = rows("--by", "class", "-p", str(pids[0]))
            took[nr] = time.monotonic() - began
            ok(not res.returncode and found[0]["virtual"] >= nr << 36 and found[0]["resident"] < 64 * MIB,
               "%d mappings of one page" % nr, found, res.stderr)
    ok(took[96] < 2 * took[16] + 1, "time does not grow with the mappings", took)
    print("# seconds: %s" % took)


# A parent and its child share 64 MiB, and a file of 32 MiB
SHARERS = """import mmap, os, sys, tempfile
mem = bytearray(os.urandom(1 << 20)) * 64
file = tempfile.TemporaryFile()
file.truncate(32 << 20)
view = mmap.mmap(file.fileno(), 32 << 20)
for i in range(0, 32 << 20, 4096):
    view[i] = 1
if os.fork():
    print("ready", flush=True)
sys.stdin.read()
"""


def test_meminfo():
    """Additional mappings have the same size in /proc/meminfo. The sums differ: wsmo counts its own
    memory, too, and cannot read each process."""
    if not ROOT:
        skip("meminfo", "needs root")
        return

    def both():
        sums = []
        for _ in range(2):
            m = kib(read("/proc/meminfo"))
            sums.append(m["AnonPages"] + m["Mapped"])
            if len(sums) == 1:
                found, res = rows("--by", "class")
        return min(sums), max(sums), found[0]["resident"], res

    tries = []
    for _ in range(5):
        low, high, got, _ = both()
        with subprocess.Popen([sys.executable, "-c", SHARERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
            p.stdout.readline()
            more = both()
            p.stdin.close()
        tries.append((more[0] - high, more[2] - got, more[1] - low))
        slack = 2 * MIB + high // 50
        if tries[-1][0] - slack <= tries[-1][1] <= tries[-1][2] + slack and tries[-1][1] > 90 * MIB:
            break
    else:
        ok(False, "AnonPages and Mapped of /proc/meminfo", tries)
        return
    ok(not more[3].returncode, "AnonPages and Mapped of /proc/meminfo", more[3])


LIBRARY = "int v[%d];\n" + "".join("int f%d(void) { return v[%d]++; }\n" % (i, i) for i in range(4000)) + \
    "int (*all[])(void) = {" + ",".join("f%d" % i for i in range(4000)) + "};\n"
USER = r"""import ctypes, os, signal, sys
library = ctypes.CDLL(sys.argv[1])
for i in range(4000):
    getattr(library, "f%d" % i)()
for i in range(2):
    if not os.fork():
        break
os.write(1, b"%d\n" % os.getpid())
signal.pause()
"""


def test_text_relocations():
    """The paper's case: a library built without -fPIC has copied text in each process."""
    if not shutil.which("gcc"):
        skip("text relocations", "there is no gcc")
        return
    with Directory() as d:
        source = d.write("l.c", (LIBRARY % 4000).encode())
        for name, flags in (("pic", ["-fPIC"]), ("nopic", ["-fno-pic", "-mcmodel=large", "-Wl,-z,notext"])):
            library = d.path("lib%s.so" % name)
            built = subprocess.run(["gcc", "-O1", "-shared", "-w", *flags, "-o", library, source],
                                   stderr=subprocess.PIPE)
            if built.returncode:
                skip("text of lib%s.so" % name, built.stderr.decode()[:60])
                continue
            # two users: text of a single process is private without being a copy
            with processes(USER, 3, library) as pids, processes(USER, 3, library) as more:
                time.sleep(0.2)
                pids = ",".join(map(str, pids + more))
                found, res = rows("-p", pids, "--by", "file,class", "--filter", "lib%s.so" % name)
                text = [row for row in found if row["class"] == "text"][0]
                print("# lib%s.so: text %d KiB mapped, %d resident, %d copied" % (
                    name, text["virtual"] // KIB, text["resident"] // KIB, text["copied"] // KIB))
                shown = run("mem", "-p", pids).stdout.decode()
                told = re.search("of the text of .*lib%s.so are private copies, in 6 processes" % name,
                                 shown)
                if name == "pic":
                    ok(not text["copied"] and not told and text["resident"] <= text["virtual"] // 6,
                       "text built with -fPIC is shared", text, shown)
                else:
                    ok(text["copied"] >= text["virtual"] * 0.9 and told and "-fPIC" in shown and
                       text["resident"] >= 2 * text["virtual"] // 6 * 0.9,
                       "text built without -fPIC is copied", text, shown)


ODD = "\x1b[31m \u00e9,\"\udcff"


def odd_tree(d):
    lib = "/lib/x y\\012z.so (deleted)"
    d.add(7, mapping(0x1000000, 8, "r--p", lib, 5, "fe:00", Pss=2, Shared_Clean=8) +
          mapping(0x1002000, 16, "r-xp", lib, 5, "fe:00", Pss=6, Private_Clean=4, Shared_Clean=8) +
          mapping(0x1006000, 4, "rw-p", lib, 5, "fe:00", Rss=4, Pss=4, Private_Dirty=4, Anonymous=4) +
          mapping(0x1007000, 8, "rw-p", Rss=8, Pss=8, Private_Dirty=8, Anonymous=8) +
          mapping(0x2000000, 64, "rw-p", "[heap]", Rss=40, Pss=40, Private_Dirty=40, Anonymous=40, Swap=12,
                  SwapPss=12) +
          mapping(0x3000000, 4096, "rw-s", "/anon_hugepage (deleted)", 9, "00:10", "rd wr sh ht",
                  Private_Hugetlb=2048) +
          mapping(0x4000000, 16, "rw-s", "/dev/shm/a", 6, "00:1a", Rss=16, Pss=8, Shared_Dirty=16) +
          mapping(0x4100000, 16, "rw-s", "/memfd:b (deleted)", 7, "00:01", Rss=4, Pss=4, Private_Dirty=4) +
          mapping(0x4200000, 16, "rw-s", "/home/c", 8, "00:2b", Rss=4, Pss=4, Private_Clean=4) +
          mapping(0x4300000, 16, "rw-s", "/[aio] (deleted)", 8, "00:11", Rss=4, Pss=4, Private_Clean=4) +
          mapping(0x7f0000000000, 1 << 32, "rw-p", "[anon:" + ODD + "]", Rss=4, Pss=4, Private_Dirty=4) +
          mapping(0x7ffd00000000, 132, "rw-p", "[stack]", Rss=12, Pss=12, Private_Dirty=12) +
          mapping(0xffffffffff600000, 4, "--xp", "[vsyscall]"),
          comm="a) (b\n" + ODD[:4],
          mountinfo="22 1 0:26 / /dev/shm rw - tmpfs tmpfs rw\n23 1 0:43 / /home rw shared:1 - btrfs /dev/x rw\n")
    # no VmFlags, no last newline, numbers that no kernel prints
    d.add(8, "1000-2000 r-xp 00000000 fe:00 5 /lib/x\nSize: 99999999999999999999999 kB\nRss: 18446744073709551615 kB\n"
          "Pss: -4 kB\nnonsense\nSwap: 4 kB\n3000-4000 rw-p 00000000 00:00 0\nRss: 4 kB\nPrivate_Dirty: 4 kB")
    d.add(9, "")
    d.add(10, "junk\n1000-2000 rw-p 00000000 00:00 0\nRss: 4 kB\n")
    d.write("proc/11", b"no directory")
    d.write("proc/meminfo", b"")


def test_odd(accept):
    with Proc() as d:
        odd_tree(d)
        found, res = d.rows()
        ok(not res.returncode and not res.stderr, "odd processes", res)
        of = {(row["pid"], row["class"], row["path"]): row for row in found}
        lib = "/lib/x y\nz.so (deleted)"
        want = {(7, "file", lib): 8, (7, "text", lib): 16, (7, "data", lib): 12, (7, "heap", "[heap]"): 64,
                (7, "hugetlb", "/anon_hugepage (deleted)"): 4096, (7, "shmem", "/dev/shm/a"): 16,
                (7, "shmem", "/memfd:b (deleted)"): 16, (7, "file", "/home/c"): 16,
                (7, "file", "/[aio] (deleted)"): 16, (7, "stack", "[stack]"): 132,
                (7, "anon", "[anon:" + ODD[:-1] + "\ufffd]"): 1 << 32}
        ok({key: row["virtual"] // KIB for key, row in of.items() if key[0] == 7} == want,
           "classes and names", sorted(map(str, of)))
        ok(found[0]["comm"] == "a) (b\n\x1b[31" and of[(7, "data", lib)]["copied"] == 4 * KIB and
           of[(7, "hugetlb", "/anon_hugepage (deleted)")]["resident"] == 2 * MIB, "names and sums", found[0])
        ok({row["pid"] for row in found} == {7, 8}, "what is none is left out", {row["pid"] for row in found})
        same_numbers("mem", "mem", "--sysroot", d.name, "--by", "process,class,file", "-p", "7",
                     not_raw=("processes", "copied", "in_use"))
        res = run("mem", "--sysroot", d.name)
        golden("mem.txt", res.stdout.replace(b"by its frame", b"by PSS"), accept, not res.returncode and b"\x1b" not in res.stdout, res.stderr)
        for pid, word in ((9, "has no memory"), (12, "no process 12"), (11, "process 11")):
            fails(run("mem", "--sysroot", d.name, "-p", str(pid)), "process %d" % pid, word)
        found, res = d.rows("-p", "7,7,12", "--by", "process")
        ok(res.returncode == 1 and len(found) == 1 and found[0]["swap"] == 12 * KIB,
           "others are shown, each once; the status says that one is missing", found, res)
        ok([row["class"] for row in d.rows("--class", "heap,stack", "--by", "class")[0]] ==
           ["all", "heap", "stack"], "--class")
        ok({row["path"] for row in d.rows("--filter", "/dev/sh")[0]} == {"/dev/shm/a"}, "--filter")
        ok([row["class"] for row in d.rows("-p", "7", "--by", "class", "--sort", "virtual", "--top", "2")[0]] ==
           ["all", "anon", "hugetlb"], "--sort and --top")
        fails(run("mem", "--sysroot", "/nonexistent"), "no /proc", "/nonexistent/proc")
        for ending in "svg", "png", "pdf":
            if not shutil.which("gnuplot"):
                skip("pictures", "there is no gnuplot")
                break
            res = run("mem", "--sysroot", d.name, "-o", d.path("x." + ending), "--by", "class,file")
            data = d.read("x." + ending)
            ok(not res.returncode and not res.stderr and len(data) > 1000 and
               (ending != "svg" or b"/memfd:b" in data), "a picture: " + ending, res)
    # labels of an axis are formats
    for name, want in ("/tmp/%d%n 100%", "/tmp/%d%n 100%"), ("/tmp/a%%b", "/tmp/a%%b"), ("/\u00e9" + 47 * "x", "\u2026" + 47 * "x"):
        with Proc() as d:
            d.add(7, mapping(0x1000, 16, "rw-s", name, 6, "00:1a", Rss=16, Pss=16, Private_Dirty=16))
            d.write("proc/meminfo", b"")
            if shutil.which("gnuplot"):
                res = run("mem", "--sysroot", d.name, "-o", d.path("x.svg"), "--by", "file")
                ok(not res.returncode and ">%s (16.0K)<" % want in d.read("x.svg").decode(), "a picture with " + name, res)


def test_documented():
    kinds = test_json.documented()[0]["mem"]
    with Proc() as d:
        odd_tree(d)
        lines = run("mem", "--sysroot", d.name, "--json").stdout
    me = str(os.getpid())
    lines += run("mem", "-p", me, "--json", "--by", "class").stdout
    lines += run("mem", "-p", me, "--json", "--frames" if ROOT else "--pages", "--class", "heap,stack").stdout
    lines += run("mem", "-p", me, "--json", "--growth", "0.2").stdout
    bad = []
    for x in map(json.loads, lines.splitlines()):
        fields = {key: unit for key, unit in kinds.get(x["type"], {}).items()}
        negative = x["type"] == "mem_growth"
        why = test_json.wrong(x["type"], fields, {
            key: abs(n) if negative and isinstance(n, float) else n for key, n in x.items()})
        bad += [(why, x)] if why else []
    ok(not bad and set(kinds) == {"mem", "mem_page", "mem_growth"}, "JSON is as documented", *bad[:3])


# The main thread exits, another lives on, with a name that /proc/PID/stat shows as it is; 60 is
# exit() of one thread on x86-64, 93 elsewhere
NO_LEADER = r"""import ctypes, mmap, os, platform, threading, time
m = mmap.mmap(-1, 24 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
m[::4096] = bytes(24 << 8)
def live():
    while open("/proc/self/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
        time.sleep(0.01)
    os.write(1, b"%d\n" % os.getpid())
    time.sleep(1000)
ctypes.CDLL(None).prctl(15, b"a\n) Z")
threading.Thread(target=live).start()
ctypes.CDLL(None).syscall(60 if platform.machine() == "x86_64" else 93, 0)
"""


def test_no_leader():
    """If the main thread has exited, the memory is that of the other threads."""
    with processes(NO_LEADER) as (pid,):
        found, res = rows("-p", str(pid))
        ok(not res.returncode and not res.stderr and total(found, "resident") > 24 * MIB and
           {x["comm"] for x in found} == {read("/proc/%d/comm" % pid).strip()} and
           any("python" in x["path"] for x in found), "its memory and files are there", res, found[:3])
        found, res = rows("--all", "--by", "process")
        ok([x for x in found if x["pid"] == pid and x["resident"] > 24 * MIB], "also among all", res)
        res = run("mem", "--json", "--growth", "0.2", "-p", str(pid))
        ok(not res.returncode and b"no memory" not in res.stderr, "growth", res)


def test_usage():
    for args, word in ((("--by", "junk"), "junk"), (("--by", "class,"), "''"), (("--sort", "x"), "not one of"),
                       (("--top", "0"), "number"), (("-o", "x.txt"), ".png"), (("-o", "x.png", "--json"), "picture"),
                       (("--pages",), "-p PID"), (("--frames",), "-p PID"), (("--growth", "1ns"), "time"),
                       (("--growth", "1s", "--by", "class"), "neither"), (("-i", "x", "--live"), "not both"),
                       (("-p", "1", "--all"), "not both"), (("--all", "--cgroup", "/x"), "only one"),
                       (("-p", "1", "--pages", "-o", "x.png"), "only one"), (("--class", "junk"), "junk"),
                       (("junk",), "junk"), (("-p", "x"), "not a process id")):
        res = run("mem", *args)
        ok(res.returncode == 2 and not res.stdout and word in res.stderr.decode(), "refused: " + " ".join(args),
           res)
    fails(run("mem", "--cgroup", "/no/such"), "no cgroup", "no cgroup /no/such")
    with open("/dev/full", "w") as full:
        fails(run("mem", "-p", str(os.getpid()), stdout=full), "a full disk", "cannot write")

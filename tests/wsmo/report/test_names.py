# SPDX-License-Identifier: GPL-2.0
"""Names of functions: files of other classes and places, and code that the process compiled
itself."""
import lzma
import os
import re
import random
import struct
import subprocess
import sys
import zlib

import records as r
from command import ENV, WSMO, Directory, content, ok, parsed, peak_rss, run, skip, wait_for
from test_mapping import areas, decode, maps, record

SEC = 10**9

SOURCE = """
__attribute__((noinline)) int scan_index(int x) { return x * 3; }
int scan_copy(int) __asm__("scan_index.isra.0");
int scan_copy(int x) { return x * 5; }
"""

# maps a file, or memory for code; each case adds code before and after
CHILD = """import ctypes, os, shutil, sys
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
path, place = sys.argv[1:3]
%s
fd = os.open(path, os.O_RDONLY) if path != "code" else -1
at = libc.mmap(None, 8192, 5, 2 if fd >= 0 else 0x22, fd, 0)
%s
print(at, flush=True)
input()
"""

# in another mount namespace, where no other process sees the file
ELSEWHERE = """assert not libc.unshare(0x20000)
assert not libc.mount(b"none", b"/", None, 0x44000, None)
os.mkdir(place)
assert not libc.mount(b"none", place.encode(), b"tmpfs", 0, None)
shutil.copy(path, place + "/there")
path = place + "/there"
"""

MAP = """name = "/tmp/perf-%d.map" % os.getpid()
text = "%x 10 LazyCompile:*inner app.js:7\\n%x 20 old\\n%x 20 new\\n" % (at, at + 256, at + 256)
"""
WRITE = 'open(name, "w").write(text)\n'


def build(d, *options):
    """A shared object and the addresses of its functions."""
    with open(d.path("it.c"), "w") as f:
        f.write(SOURCE)
    bits = ["-m32"] if "elf_i386" in options else []
    subprocess.run(["gcc", *bits, "-O2", "-fPIC", "-c", "-o", d.path("it.o"), d.path("it.c")], check=True)
    subprocess.run(["ld", *options, "-shared", "--build-id", "-z", "noseparate-code", "-o", d.path("it.so"),
                    d.path("it.o")], check=True)
    out = subprocess.run(["nm", d.path("it.so")], stdout=subprocess.PIPE, check=True).stdout.decode()
    return {line.split()[2]: int(line.split()[0], 16) for line in out.splitlines()}


def library(d, source, *options):
    """Builds it.so from a text"""
    name = d.write("it.s" if source.startswith("\t.text") else "it.c", source.encode())
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-z,noseparate-code", *options, "-o", "it.so", os.path.basename(name)],
                   check=True, cwd=d.name)


def addresses(d, *options):
    """The addresses of the functions in it.so"""
    out = subprocess.run(["nm", *options, d.path("it.so")], stdout=subprocess.PIPE, check=True).stdout.decode()
    return {line.split()[-1]: int(line.split()[0], 16) for line in out.splitlines() if line[0] != " "}


def functions(res):
    return [x["function"] for x in parsed(res) if x["type"] == "frame"]


def frames(pid, bodies, pcs):
    out = r.header(0) + r.target(0, pid, b"x")
    out += b"".join(r.record(r.MAPPING, 0, body) for body in bodies)
    out += r.mark(SEC, 1, b"m") + r.stack(SEC, pid, pid, 1, pcs, reason=1) + r.end(2 * SEC)
    res = run("report", "peaks", "--json", "-i", "-", stdin=out, timeout=60)
    lines = parsed(res)
    return [x["function"] for x in lines if x["type"] == "frame"], res


def resolved(d, path, before, after, offsets):
    """Functions at offsets of the mappings of a live process."""
    p = subprocess.Popen([sys.executable, "-c", CHILD % (before, after), path, d.path("place")],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        at = int(p.stdout.readline())

        def script(module):
            areas(module, p.pid)
            module.asked(0.5)
        bodies, _ = record(p, script)
        return frames(p.pid, bodies, [at + offset for offset in offsets])
    finally:
        p.kill()
        p.wait()
        for name in "/tmp/perf-%d.map" % p.pid, "/tmp/perf-%d.map" % (p.pid + 1):
            if os.path.lexists(name):
                os.unlink(name)


def test_files():
    cases = (
        ("a file", "it.so", (), "", ""),
        ("a 32-bit file", "it.so", ("-m", "elf_i386"), "", ""),
        ("a file called so", "x (deleted)", (), "", ""),
        ("one that is deleted, of a process that lives", "it.so", (), "", "os.unlink(path)"),
        ("one that was replaced by another", "it.so", (), "",
         'os.unlink(path); open(path, "w").write("other")'),
        ("one in another mount namespace", "it.so", (), ELSEWHERE, ""),
    )
    for what, name, options, before, after in cases:
        if os.getuid() and (before or after):
            skip(what, "not root")
            continue
        with Directory() as d:
            at = build(d, *options)
            os.rename(d.path("it.so"), d.path(name))
            got, res = resolved(d, d.path(name), before, after,
                                [at["scan_index"], at["scan_index.isra.0"]])
            ok(got == ["scan_index", "scan_index"], "functions of " + what, got, res.stderr)


def test_mangled():
    """Names that stand for gigabytes, or take years to demangle; a usual name beside them"""
    def short(i):
        return "S_" if not i else "S%s_" % "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i - 1]

    def nested(depth, name):
        """A template with two equal arguments, one level deeper; without a parameter pack."""
        return name + "I" + (nested(depth - 1, "S0_") + short(depth + 1) if depth else "iii") + "E"
    names = ["_ZN4good4nameEi",
             "_Z1fISt4pairIiiE" + "".join("S0_I%s%sE" % (short(i), short(i)) for i in range(2, 30)) + "EvT_",
             "_RMINvC1a1bFGzzzzzzzzzz_EuEu",
             "_Z1fIDp" + nested(34, "1a") + "Evv"]
    with Directory() as d:
        library(d, "".join("int f%d(int) __asm__(\"%s\");\nint f%d(int x) { return x * 3; }\n" % (i, name, i)
                           for i, name in enumerate(names)), "-O2")
        at = addresses(d)
        got, res = resolved(d, d.path("it.so"), "", "", [at[name] for name in names])
        ok(got == ["good::name"] + names[1:], "a name that is too long, or takes too long, stays mangled", got, res.stderr)


def test_pipes():
    """Files named by a program's file: opening a pipe would wait for a writer."""
    for what, options, objcopy, name in (
            (".gnu_debuglink", (), ("--add-gnu-debuglink=",), "it.debug"),
            ("DW_AT_dwo_name", ("-g", "-gsplit-dwarf"), (), "it.dwo"),
            (".gnu_debugaltlink", ("-g",), ("--add-section=.gnu_debugaltlink=",), "it.alt")):
        with Directory() as d:
            library(d, "static inline int in(int x) { return x * 3; }\nint scan(int x) { return in(x) + in(x / 3); }\n",
                    "-O2", *options)
            for option in objcopy:
                with open(d.path(name), "wb") as f:
                    f.write(d.path("pipe").encode() + b"\0" + bytes(20))
                subprocess.run(["objcopy", option + name, "it.so"], check=True, cwd=d.name)
            for old in os.listdir(d.name):
                if old.endswith(("debug", "dwo")):
                    os.unlink(d.path(old))
                    os.mkfifo(d.path(old))
            os.mkfifo(d.path("pipe"))
            got, res = resolved(d, d.path("it.so"), "", "", [addresses(d)["scan"]])
            ok(got[-1:] == ["scan"], "a pipe that %s names" % what, got, res.stderr)


def inflate(path, section, size):
    """Make @section of an ELF file @size zeros, compressed to a thousandth of that."""
    with open(path, "rb") as f:
        data = bytearray(f.read())
    table, = struct.unpack_from("<Q", data, 40)
    nr, names = struct.unpack_from("<2H", data, 60)
    names, = struct.unpack_from("<Q", data, table + 64 * names + 24)
    press, chunk = zlib.compressobj(1), bytes(1 << 20)
    body = b"".join(press.compress(chunk) for _ in range(size >> 20)) + press.flush()
    # the old format has no flag
    flags = 0 if section.startswith(b".z") else 0x800
    body = (struct.pack("<IIQQ", 1, 0, size, 1) if flags else b"ZLIB" + struct.pack(">Q", size)) + body
    for at in range(table, table + 64 * nr, 64):
        name, = struct.unpack_from("<I", data, at)
        if data[names + name:].startswith(section + b"\0"):
            struct.pack_into("<Q", data, at + 8, flags)
            struct.pack_into("<QQ", data, at + 24, len(data), len(body))
    with open(path, "wb") as f:
        f.write(data + body)


def test_sparse(d):
    """Files without a build ID get a checksum, but not sparse ones of terabytes."""
    library(d, "int scan(int x) { return x * 3; }\n", "-g", "-O2", "-Wl,--build-id=none")
    for more in ("--only-keep-debug", "it.so", "it.debug"), ("--strip-debug", "--add-gnu-debuglink=it.debug", "it.so"):
        subprocess.run(["objcopy", *more], check=True, cwd=d.name)
    at = addresses(d, "-D")["scan"]
    for size, want in (0, d.path("it.c")), (1 << 40, None):
        if size:
            os.truncate(d.path("it.debug"), size)
        data = r.header(0) + r.target(0, 7, b"x") + r.mark(SEC, 1, b"m")
        data += r.mapping(0, 7, 1 << 28, (1 << 28) + 8192, "rx", d.path("it.so").encode(), 0,
                          os.stat(d.path("it.so")).st_ino)
        data += r.stack(SEC, 7, 7, 1, [(1 << 28) + at + 1], reason=1) + r.end(2 * SEC)
        res = run("report", "peaks", "--json", "-i", "-", stdin=data, timeout=60)
        got = [x for x in parsed(res) if x["type"] == "frame"]
        ok(got and (got[0]["function"], got[0]["file"]) == ("scan", want),
           "debug information in a file " + ("of 1 TiB" if size else "with the right checksum"), got, res.stderr)


def test_truncated(d):
    """A file becomes empty while its names are read, as when a library is rebuilt in place."""
    library(d, "".join("int f%d(int x) { return x * %d; }\n" % (i, i + 3) for i in range(3000)), "-g", "-O2",
            "-Wl,--build-id=none")
    at = [at for name, at in addresses(d, "-D").items() if re.fullmatch(r"f\d+", name)]
    stacks = [r.stack(SEC, 7, 7, 1, [(1 << 28) + a + 1], reason=1) for a in at]
    data = r.header(0) + r.target(0, 7, b"x") + r.mark(SEC, 1, b"m")
    data += r.mapping(0, 7, 1 << 28, (1 << 28) + (1 << 20), "rx", d.path("it.so").encode(), 0,
                      os.stat(d.path("it.so")).st_ino) + stacks[0]
    with subprocess.Popen([WSMO, "report", "peaks", "--json", "-i", "-"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV) as p:
        p.stdin.write(data)
        p.stdin.flush()
        opened = wait_for(lambda: d.path("it.so") in content("/proc/%d/maps" % p.pid).decode())
        os.truncate(d.path("it.so"), 0)
        out, err = p.communicate(b"".join(stacks[1:]) + r.end(2 * SEC))
    ok(opened and p.returncode == 0 and out.count(b'"type":"frame"') == len(stacks),
       "a file that is cut off", opened, p.returncode, out[-300:], err)


def cpu_of(data, *args):
    """Seconds of CPU time"""
    began = os.times()
    res = run("report", *args, "-i", "-", stdin=data)
    took = os.times()
    return took.children_user + took.children_system - began.children_user - began.children_system, res


def test_swollen():
    """Files of 1 MiB with debug information of 1 GiB: no line numbers, and no time is spent."""
    took = {}
    with Directory() as d:
        for section in b"", b".debug_str", b".zdebug_str":
            library(d, "int scan(int x) { return x * 3; }\n", "-g", "-O2", "-Wl,--build-id=none")
            if b"z" in section:
                subprocess.run(["objcopy", "--rename-section", ".debug_str=.zdebug_str", "it.so"], check=True, cwd=d.name)
            if section:
                inflate(d.path("it.so"), section, 1 << 30)
            at = addresses(d, "-D")["scan"]
            data = r.header(0) + r.target(0, 7, b"x") + r.mark(SEC, 1, b"m")
            data += r.mapping(0, 7, 1 << 28, (1 << 28) + 8192, "rx", d.path("it.so").encode(), 0,
                              os.stat(d.path("it.so")).st_ino)
            took[section], res = cpu_of(data + r.stack(SEC, 7, 7, 1, [(1 << 28) + at + 1], reason=1) + r.end(2 * SEC),
                                        "peaks", "--json")
            got = functions(res)
            ok(got == [None if section else "scan"] and took[section] < 4 * took[b""] + 1,
               "debug information %s of a small file" % section.decode(), got, took, res.stderr)


def of_one(d, name, *functions):
    """A recording with these functions of a file in the stacks of a mark"""
    at = addresses(d)
    data = r.header(0) + r.target(0, 7, b"x") + r.mark(SEC, 1, b"m")
    data += r.mapping(0, 7, 1 << 28, (1 << 28) + (1 << 20), "rx", d.path(name).encode(), 0, os.stat(d.path(name)).st_ino)
    return d.write("data", data + b"".join(r.stack(SEC, 7, 7, 1, [(1 << 28) + at[f] + 1], reason=1) for f in functions) +
                   r.end(2 * SEC))


def packed(nr):
    """@nr MiB of zeros, packed by xz"""
    press = lzma.LZMACompressor(preset=0)
    return b"".join(press.compress(bytes(1 << 20)) for _ in range(nr)) + press.flush()


def with_sections(data, nr):
    """An ELF file with @nr sections, of which all but its own are a hole; and its length"""
    data = bytearray(data)
    table, = struct.unpack_from("<Q", data, 40)
    own, = struct.unpack_from("<H", data, 60)
    own = data[table:table + 64 * own]
    # their number is in the size of the first one, as 16 bits are too few
    struct.pack_into("<Q", own, 32, nr)
    struct.pack_into("<H", data, 60, 0)
    data += bytes(-len(data) % 64)
    struct.pack_into("<Q", data, 40, len(data))
    return data + own, len(data) + 64 * nr


# a unit of code with so many lines, a byte each
LINES = """	.text
	.globl scan
	.type scan, @function
scan:	.fill 64, 1, 0x90
	.size scan, 64
	.section .debug_abbrev,"",@progbits
	.uleb128 1, 0x11
	.byte 0
	.uleb128 0x11, 0x01, 0x12, 0x07, 0x10, 0x17, 0, 0
	.byte 0
	.section .debug_line,"",@progbits
	.long 4f - 1f
1:	.value 3
	.long 3f - 2f
2:	.byte 1, 1, 1, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0
	.asciz "it.c"
	.byte 0, 0, 0, 0
3:	.byte 0, 9, 2
	.quad scan
	.fill %d, 1, 10
	.byte 2, 64, 0, 1, 1
4:	.section .debug_info,"",@progbits
	.long 6f - 5f
5:	.value 4
	.long 0
	.byte 8
	.uleb128 1
	.quad scan, 64
	.long 0
6:	.section .debug_aranges,"",@progbits
	.long 8f - 7f
7:	.value 2
	.long 0
	.byte 8, 0
	.long 0
	.quad scan, 64, 0, 0
8:
"""


def test_many_lines():
    """A file of 64 KiB whose line numbers take gigabytes."""
    for nr, file in (1000, b"it.c"), (40 << 20, None):
        with Directory() as d:
            library(d, LINES % nr, "-nostdlib", "-Wl,--build-id=none,--compress-debug-sections=zlib")
            data = of_one(d, "it.so", "scan", "scan")
            if file:
                res = run("report", "peaks", "--json", "-i", data)
                ok(b'"file":"it.c","line":1001' in res.stdout and not res.stderr, "lines of a file", res)
                continue
            taken = peak_rss("report", "peaks", "-i", data)
            if taken is None:
                skip("memory for lines", "not built")
            else:
                ok(taken < 300 << 10 and os.path.getsize(d.path("it.so")) < 1 << 17, "memory for lines", "%d KiB" % taken)


def test_traps(d):
    """Files of less than 1 MiB that libdw would take gigabytes for"""
    library(d, "__attribute__((noinline)) static int hidden(int x) { return x * 3; }\n"
            "int scan(int x) { return hidden(x) + 1; }\n", "-O2", "-Wl,--build-id=none")
    subprocess.run(["objcopy", "--only-keep-debug", "it.so", "it.debug"], check=True, cwd=d.name)
    for what, body in ("data", lzma.compress(d.read("it.debug"))), ("bomb", packed(2000)):
        d.write(what, body)
        subprocess.run(["objcopy", "--strip-all", "--add-section", ".gnu_debugdata=" + what, "it.so", what + ".so"],
                       check=True, cwd=d.name)
    res = run("report", "peaks", "--json", "-i", of_one(d, "data.so", "scan", "hidden"))
    got = functions(res)
    ok(got == ["scan", "hidden"], "functions of .gnu_debugdata", got, res.stderr)
    d.write("packed.so", packed(2000))
    for name, nr in ("sections.so", 1 << 20), ("table.so", 1 << 23):
        data, size = with_sections(d.read("it.so"), nr)
        os.truncate(d.write(name, data), size)
    for name in "bomb.so", "packed.so", "sections.so", "table.so":
        taken = peak_rss("report", "peaks", "-i", of_one(d, name, "scan"))
        blocks = os.stat(d.path(name)).st_blocks
        if taken is None:
            skip("memory for " + name, "not built")
        else:
            ok(taken < 300 << 10 and blocks < 2048, "memory for " + name, "%d KiB" % taken, "%d blocks" % blocks)


# units of 16 bytes of code each, %(units)d, that share %(nr)d abbreviations, and each use the last
ABBREVIATIONS = """	.text
	.globl scan
	.type scan, @function
scan:	.fill %(units)d * 16, 1, 0x90
	.size scan, %(units)d * 16
	.section .debug_abbrev,"",@progbits
	%(first)s
	.set code, 2
	.rept %(nr)d
	.uleb128 code
	.byte 0x1d, 0, 0, 0
	.set code, code + 1
	.endr
	%(last)s
	.byte 0
	.set at, 0
	.rept %(units)d
	.section .debug_info,"",@progbits
0:	.long 2f - 1f
1:	.value 4
	.long 0
	.byte 8
	.uleb128 %(unit)s
	.quad scan + at, 16
	.uleb128 %(child)s
	.byte 0
2:	.section .debug_aranges,"",@progbits
	.long 4f - 3f
3:	.value 2
	.long 0b
	.byte 8, 0
	.long 0
	.quad scan + at, 16, 0, 0
4:	.set at, at + 16
	.endr
"""


# the abbreviation of a unit
UNIT = """.uleb128 %s, 0x11
	.byte 1
	.uleb128 0x11, 0x01, 0x12, 0x07, 0, 0"""
# the last abbreviation is an inlined function's, or the unit's
LAST_IS_CHILD = {"first": UNIT % 1, "last": "", "unit": "1", "child": "code - 1"}
LAST_IS_UNIT = {"first": "", "last": UNIT % "code", "unit": "code", "child": "0"}


def test_abbreviations():
    """Each unit may have its own copy of all abbreviations: 100 KiB take gigabytes."""
    for units, nr, how in ((3000, 20000, LAST_IS_CHILD), (300, 200000, LAST_IS_CHILD),
                           (3000, 20000, LAST_IS_UNIT), (300, 200000, LAST_IS_UNIT)):
        with Directory() as d:
            library(d, ABBREVIATIONS % {"units": units, "nr": nr, **how}, "-nostdlib",
                    "-Wl,--build-id=none,--compress-debug-sections=zlib")
            at = addresses(d)["scan"] + (1 << 28) + 1
            data = r.header(0) + r.target(0, 7, b"x") + r.mark(SEC, 1, b"m")
            data += r.mapping(0, 7, 1 << 28, (1 << 28) + (1 << 20), "rx", d.path("it.so").encode(), 0,
                              os.stat(d.path("it.so")).st_ino)
            data += b"".join(r.stack(SEC, 7, i, 1, [at + 16 * (i + n) for n in range(50)], reason=1) for i in range(0, units, 50))
            taken = peak_rss("report", "peaks", "-i", d.write("data", data + r.end(2 * SEC)))
            if taken is None:
                skip("memory for abbreviations", "not built")
            else:
                ok(taken < 300 << 10 and os.path.getsize(d.path("it.so")) < 1 << 19, "memory for abbreviations",
                   "%d KiB" % taken, "%d bytes" % os.path.getsize(d.path("it.so")))


# nested functions, %(nr)d of them with the same %(nr)d ranges; none holds the code
RANGES = """	.text
	.globl scan
	.type scan, @function
scan:	.fill 4096, 1, 0x90
	.size scan, 4096
	.section .debug_abbrev,"",@progbits
	.uleb128 1, 0x11
	.byte 1
	.uleb128 0x11, 0x01, 0x12, 0x07, 0, 0
	.uleb128 2, 0x1d
	.byte 0
	.uleb128 0x55, 0x17, 0, 0
	.byte 0
	.section .debug_ranges,"",@progbits
	.rept %(nr)d
	.quad 0x100000, 0x100001
	.endr
	.quad 0, 0
	.section .debug_info,"",@progbits
	.long 2f - 1f
1:	.value 4
	.long 0
	.byte 8
	.uleb128 1
	.quad scan
	.quad 4096
	.rept %(nr)d
	.uleb128 2
	.long 0
	.endr
	.byte 0
2:	.section .debug_aranges,"",@progbits
	.long 4f - 3f
3:	.value 2
	.long 0
	.byte 8, 0
	.long 0
	.quad scan, 4096, 0, 0
4:
"""


def test_ranges(d):
    """Debug information may need quadratic time for each address: it gets some seconds."""
    library(d, RANGES % {"nr": 15000}, "-nostdlib", "-Wl,--build-id=none")
    at = addresses(d, "-D")["scan"]
    data = r.header(0) + r.target(0, 7, b"x") + r.mark(SEC, 1, b"m")
    data += r.mapping(0, 7, 1 << 28, (1 << 28) + 65536, "rx", d.path("it.so").encode(), 0, os.stat(d.path("it.so")).st_ino)
    data += b"".join(r.stack(SEC, 7, i, 1, [(1 << 28) + at + 1 + i], reason=1) for i in range(1, 16))
    took, res = cpu_of(data + r.end(2 * SEC), "peaks", "--json")
    got = functions(res)
    ok(got == ["scan"] and took < 10 and res.stderr.count(b"takes too long") == 1,
       "ranges by the square", got, took, res.stderr)
    print("# CPU time: %s" % took)


def test_many():
    """In any order: later records replace earlier ones, in less than quadratic time."""
    rng = random.Random(1)
    bodies, found = [], {}
    for i in range(3000):
        start = rng.randrange(4096)
        end = start + 1 + rng.choice((0, 0, 1, 40, rng.randrange(400)))
        bodies.append(r.mapping(0, 7, start << 12, end << 12, "rx", b"/nowhere/%d" % i, 0, i + 1)[16:])
        found.update(dict.fromkeys(range(start, end), "/nowhere/%d" % i))
    pages = rng.sample(range(4400), 120)
    head = r.header(0) + r.target(0, 7, b"x")
    data = head + b"".join(r.record(r.MAPPING, 0, body) for body in bodies) + r.mark(SEC, 1, b"m")
    for i in range(0, len(pages), 40):
        data += r.stack(SEC, 7, 7 + i, 1, [page << 12 for page in pages[i:i + 40]], reason=1)
    res = run("report", "peaks", "--json", "-i", "-", stdin=data + r.end(2 * SEC))
    got = [x["path"] for x in parsed(res) if x["type"] == "frame"]
    ok(sorted(map(str, got)) == sorted(str(found.get(page)) for page in pages), "the last mapping of each page", got[:9])
    order = list(range(100000))
    took = {}
    for name in "ascending", "descending", "random":
        if name != "ascending":
            order.reverse() if name == "descending" else rng.shuffle(order)
        took[name], res = cpu_of(head + b"".join(r.mapping(0, 7, i << 13, (2 * i + 1) << 12, "rw", b"/x", 0, 1)
                                                  for i in order) + r.mark(SEC, 1, b"m") +
                                 r.stack(SEC, 7, 7, 1, [8192], reason=1) + r.end(2 * SEC), "peaks", "--json")
        ok(b'"/x"' in res.stdout, name, res.stdout[-300:], res.stderr)
    ok(max(took.values()) < 4 * took["ascending"] + 1, "100000 mappings in each order", took)
    print("# CPU time: %s" % took)


def test_compiled():
    """perf-PID.map: a regular file of the process's user or root, in its mount namespace."""
    cases = (
        ("", WRITE, ["LazyCompile:*inner app.js:7", "new", None]),
        ("of somebody else", WRITE + "os.chown(name, 1234, 1234)\n", [None, None, None]),
        ("of its user", WRITE + "os.chown(name, 1234, 1234)\nos.setresuid(1234, 1234, 1234)\n",
         ["LazyCompile:*inner app.js:7", "new", None]),
        ("that is a link", 'open(name + "x", "w").write(text)\nos.symlink(name + "x", name)\n',
         [None, None, None]),
        ("that is a pipe", "os.mkfifo(name)\n", [None, None, None]),
        ("with odd lines", 'open(name, "w").write("x\\n%x 10\\n1 2 3\\n%x 20 new\\n-5 fffffffffffffffff z" % (at + 256, at + 256))\n',
         [None, "new", None]),
    )
    for what, after, want in cases:
        if os.getuid() and "chown" in after:
            skip("a map " + what, "not root")
            continue
        with Directory() as d:
            got, res = resolved(d, "code", "", MAP + after, [8, 0x110, 0x1000])
            ok(got == want and not res.returncode, "a map " + what, got, res.stderr)
    ok(frames(2**22 + 5, [r.mapping(0, 2**22 + 5, 4096, 8192, "rx", b"")[16:]], [4100])[0] == [None],
       "of a process that is gone: none")


def elf(names, strings):
    """A shared object with symbols at one address, whose names begin at offsets in @strings."""
    def section(name, kind, address, at, size, link, info, entry):
        return struct.pack("<IIQQQQIIQQ", name, kind, 6 if address else 0, address, at, size, link, info, 1, entry)
    sections = b"\0.symtab\0.strtab\0"
    symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", at, 0x12, 0, 4, 0x1000, 16) for at in names)
    parts = [symbols, strings, sections]
    at = [4096 + sum(map(len, parts[:i])) for i in range(4)]
    table = section(0, 0, 0, 0, 0, 0, 0, 0) + section(1, 2, 0, at[0], len(symbols), 2, 1, 24) + \
        section(9, 3, 0, at[1], len(strings), 0, 0, 0) + section(0, 3, 0, at[2], len(sections), 0, 0, 0) + \
        section(0, 1, 0x1000, 0, 4096, 0, 0, 0)
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + \
        struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, at[3], 0, 64, 56, 1, 64, 5, 3) + \
        struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 1 << 20, 1 << 20, 4096)
    return head.ljust(4096, b"\0") + b"".join(parts) + table


def test_crowded():
    """Many functions at one address, with names that differ only at their ends: no quadratic
    work."""
    nr, took = 20000, {}
    with Directory() as d:
        for what, step in ("short", 4), ("long", 199):
            names = [1 + i * step for i in range(nr)]
            strings = b"\0" + (b"abc\0" * nr if what == "short" else b"a" * nr * step + b"\0")
            path = d.write("it.so", elf(names, strings))
            took[what], res = cpu_of(r.header(0) + r.target(0, 7, b"x") +
                                     r.mapping(0, 7, 1 << 28, (1 << 28) + (1 << 20), "rx", path.encode(), 0,
                                               os.stat(path).st_ino) +
                                     r.mark(SEC, 1, b"m") + r.stack(SEC, 7, 7, 1, [(1 << 28) + 0x1004], reason=1) +
                                     r.end(2 * SEC), "peaks", "--json")
            name = functions(res)
            ok(name and name[0] and set(name[0]) <= set("abc"), "a function of %d at one address" % nr, res.stderr)
    ok(took["long"] < 4 * took["short"] + 1, "long names", took)
    print("# CPU time: %s" % took)
    pcs = list(range(1, 2001))
    for what, more in ("own addresses", "+ i"), ("one address", ""):
        began = os.times()
        with Directory() as d:
            got, res = resolved(d, "code", "", """open("/tmp/perf-%%d.map" %% os.getpid(), "w").write(
    "".join("%%x 8 n%%d\\n" %% (at %s, i) for i in range(400000)))
""" % more, pcs)
        began, ended = [t.children_user + t.children_system for t in (began, os.times())]
        took[what] = ended - began
        ok(got[6] == ("n7" if more else "n399999") and len(got) == len(pcs), "compiled code at " + what, got[:9], res.stderr)
    ok(took["one address"] < 4 * took["own addresses"] + 1, "many entries of perf-PID.map", took)


def test_large():
    """Maps of many processes, which cost their owner nothing"""
    hole = 'name = "/tmp/perf-%d.map" % os.getpid()\nopen(name, "w").truncate(64 << 20)\n'
    children = [subprocess.Popen([sys.executable, "-c", CHILD % ("", hole), "code", ""], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE) for _ in range(6)]
    try:
        data = r.header(0)
        for p in children:
            at = int(p.stdout.readline())
            data += r.target(0, p.pid, b"x") + r.mapping(0, p.pid, at, at + 4096, "rx", b"") + \
                r.stack(SEC, p.pid, p.pid, 1, [at])
        with Directory() as d:
            peak = peak_rss("report", "peaks", "-i", d.write("f", data + r.end(2 * SEC)))
        ok(peak is None or 64 << 10 < peak < 200 << 10, "maps of holes", peak)
    finally:
        for p in children:
            p.kill()
            p.communicate()
            os.unlink("/tmp/perf-%d.map" % p.pid)


def test_scattered():
    """A process with the maximum number of mappings, none with the code that the recording names"""
    took = {}
    for what, nr in ("few", 1), ("many", 50000):
        p = subprocess.Popen([sys.executable, "-c", CHILD % ("", "for i in range(%d):\n    libc.mmap(None, 4096, 1 + 2 * (i %% 2), 0x22, -1, 0)" % nr),
                              "code", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            p.stdout.readline()
            mappings = len(content("/proc/%d/maps" % p.pid).splitlines())
            data = r.header(0) + r.target(0, p.pid, b"x") + r.mapping(0, p.pid, 4096, 1 << 30, "rx", b"") + r.mark(SEC, 1, b"m")
            data += b"".join(r.stack(SEC, p.pid, p.pid, 1, [8192 + i], reason=1) for i in range(200)) + r.end(2 * SEC)
            took[what], res = cpu_of(data, "peaks", "--json")
        finally:
            p.kill()
            p.wait()
        ok(res.returncode == 0 and res.stdout.count(b'"type":"frame"') == 200 and (mappings > nr or nr == 1), what + " mappings",
           mappings, res.stderr)
    ok(took["many"] < took["few"] + 3, "  in no time", took)


# stacks in an arena, as in Go: low in it and without a guard; a thread's own
STACKS = """
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
static void *wait_here(void *arg) { for (;;) pause(); return arg; }
int main(void)
{
	char *arena = mmap(NULL, 64 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, arena + (1 << 20), 1 << 20);
	pthread_create(&thread, &attr, wait_here, NULL);
	pthread_create(&thread, NULL, wait_here, NULL);
	usleep(300000);
	printf("%lu\\n", (unsigned long)arena);
	fflush(stdout);
	return getchar();
}
"""


def test_stacks():
    with Directory() as d:
        with open(d.path("s.c"), "w") as f:
            f.write(STACKS)
        subprocess.run(["gcc", "-pthread", "-o", d.path("s"), d.path("s.c")], check=True)
        p = subprocess.Popen([d.path("s")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            arena = int(p.stdout.readline())

            def script(module):
                areas(module, p.pid)
                module.asked(0.5)
            got = [decode(body) for body in record(p, script)[0]]
            tids = {int(t) for t in os.listdir("/proc/%d/task" % p.pid)}
            seen = maps(p.pid)
        finally:
            p.kill()
            p.wait()
    of = {start: tid for start, _, _, tid in got if tid}
    whole = {start: what[2] for start, what in seen.items()}
    ok(len(tids) == 3 and len(of) == 2 and not [s for s in of if s <= arena < whole[s]],
       "an arena with a stack in it is no thread's; a thread's stack is", of, arena, tids)

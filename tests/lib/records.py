# SPDX-License-Identifier: GPL-2.0
"""Makes wsmon streams from the layout in wsmon.h and wsmon_records.h, in plain Python.

It shares no code with wsmo, so that a misunderstanding of the layout in one of
the two does not hide in the other.
"""
import struct

MAGIC = b"WSMON\r\n\x1a"
ONE = 32768  # 1.0 as a share
RECORD_MAX = 65536

CLASSES = ("all", "text", "data", "heap", "stack", "anon", "file", "shmem",
           "hugetlb", "mixed")
CLASS = {name: number for number, name in enumerate(CLASSES)}

(ATTRS, TARGET, AREA, SNAPSHOT, WSS, PEAK, STACK, MARK, EXIT, LOST, STATS, END,
 PROC, PACKED, ACT, MAPPING, GROUP, TOTAL, INDEX, WHO, ALLOC,
 REFAULT) = range(1, 23)

STATS_FIELDS = ("rounds", "late_rounds", "missed", "checks", "arms", "flushes",
                "walk_ns", "flush_ns", "adapt_ns", "emit_ns", "cpu_ns",
                "max_hold_ns", "lost_records", "lost_bytes", "regions",
                "samples", "targets", "budget", "sample_ns", "remote_ns",
                "idle_rounds", "late_p50_ns", "late_p99_ns", "late_max_ns",
                "hold_p99_ns", "members", "unfollowed", "who_armed", "who_absent", "who_seen",
                "who_restored", "who_skipped", "who_huge")


def record(kind, time_ns, body):
    body += bytes(-len(body) % 8)
    return struct.pack("<IIQ", kind, 16 + len(body), time_ns) + body


def attrs_body(sample_us=100000, aggr_us=1000000, update_us=1000000,
               windows_us=(1000000,), seed=1, min_regions=10, max_regions=2000,
               flags=1, cpu_permille=None, peak=None, follow=0, who_rate=0, precision=0):
    # the record's length before there was a CPU budget
    body = struct.pack("<QQQQIIII8Q", sample_us, aggr_us, update_us, seed, min_regions,
                       max_regions, flags, len(windows_us),
                       *windows_us, *(8 - len(windows_us)) * (0,))
    if cpu_permille:
        # with peaks too: detector, window, and gain and adapt in 1/1000
        body += struct.pack("<II", cpu_permille, peak[0] if peak else 0)
    if peak:
        body += struct.pack("<IIIIII", *peak[1:], follow, who_rate, precision)
    return body


def header(mono_ns, real_ns=1700000000 * 10**9, version=2, size=None,
           magic=MAGIC, clock=1, more=b"", **attrs):
    rest = struct.pack("<QQ", mono_ns, real_ns) + attrs_body(**attrs) + more
    if size is None:
        size = 8 + 16 + len(rest)
    return magic + struct.pack("<IIII", version, size, 4096, clock) + rest


def attrs(t, **kw):
    return record(ATTRS, t, attrs_body(**kw))


def target(t, pid, comm, flags=0):
    return record(TARGET, t, struct.pack("<II16s", pid, flags, comm))


def area(t, pid, cls, index, total, start, end, mapped=None, path=b""):
    body = struct.pack("<IIIIQQQ", pid, CLASS[cls], index, total, start, end,
                       end - start if mapped is None else mapped)
    return record(AREA, t, body + (path + b"\0" if path else b""))


SAMPLES_MISSED = 0x4000


def region(start, end, share, freq, cls, age_ms, area_index, samples=0):
    return struct.pack("<QQHHHHII", start, end, round(share * ONE),
                       round(freq * ONE), CLASS[cls], samples, age_ms, area_index)


def snapshot(t, pid, regions, first=0, total=None, interval_ns=10**9,
             rounds=10, nr=None, budget=0):
    nr = len(regions) if nr is None else nr
    body = struct.pack("<IIIIQII", pid, nr, first,
                       first + nr if total is None else total, interval_ns,
                       rounds, budget)
    return record(SNAPSHOT, t, body + b"".join(regions))


def wss(t, pid, cls, nbytes, low, high, mapped, window_us=1000000):
    cls = CLASS.get(cls, cls)
    return record(WSS, t, struct.pack("<IIQQQQQ", pid, cls, window_us, nbytes,
                                      low, high, mapped))


def group(t, members, came=0, went=0, missed=0, regions=500, visits=1500, interval_ns=10**9,
          path=b""):
    return record(GROUP, t, struct.pack("<Q6I", interval_ns, members, came, went, missed, regions,
                                        visits) + (path + b"\0" if path else b""))


def total(t, cls, nbytes, low, high, mapped, window_us=1000000):
    cls = CLASS.get(cls, cls)
    return record(TOTAL, t, struct.pack("<IIQQQQQ", cls, 0, window_us, nbytes, low, high, mapped))


def peak(t, pid, number, group=0, edge=0, sign=1, start_ns=None, end_ns=0,
         window_us=1000000, size=0, low=0, high=0, height=0, baseline=0,
         threshold=0):
    """edge: 0 is the start, 1 the end"""
    return record(PEAK, t, struct.pack(
        "<IIIiII9Q", pid, group, edge, sign, number, 0,
        t if start_ns is None else start_ns, end_ns, window_us, size, low, high,
        height, baseline, threshold))


def stack(t, pid, tid, number, pcs=(), reason=0, stopped_ns=20000, flags=0,
          error=0, threads=1, comm=b"", nr=None):
    """reason: 0 is a peak, 1 a mark; pcs: innermost first"""
    body = struct.pack("<IIIIQIIII16s", pid, tid, reason, number, stopped_ns,
                       flags, error, len(pcs) if nr is None else nr, threads, comm)
    return record(STACK, t, body + struct.pack("<%dQ" % len(pcs), *pcs))


def mark(t, number, text):
    return record(MARK, t, struct.pack("<II", number, 0) + text + b"\0")


def exit_(t, pid):
    return record(EXIT, t, struct.pack("<II", pid, 0))


def lost(t, records, nbytes):
    return record(LOST, t, struct.pack("<QQ", records, nbytes))


def stats(t, **kw):
    values = [kw.get(name, 0) for name in STATS_FIELDS]
    body = struct.pack("<14Q4I15Q", *values)
    # without a budget: the record as it was before there was one
    return record(STATS, t, body if "budget" in kw else body[:-112])


def end(t, reason=0):
    return record(END, t, struct.pack("<II", reason, 0))


def proc(t, pid, rss, swap, vsize, pss=None):
    # with or without PSS: older records have none
    more = b"" if pss is None else struct.pack("<Q", pss)
    return record(PROC, t, struct.pack("<IIQQQ", pid, 0, rss, swap, vsize) + more)


def who(t, pid, tid, address, ip, nbytes, write=0, comm=b"", waited_ns=10**6, cpu=0, node=0,
        cpu_node=0):
    """write: WSMON_WHO_*"""
    return record(WHO, t, struct.pack("<II4QIIii16s", pid, tid, address, ip, nbytes, waited_ns,
                                      write, cpu, node, cpu_node, comm))


def mapping(t, pid, start, end, prot, path, offset=0, inode=0, build_id=b"", tid=0):
    """prot: any of "rwxs"."""
    bits = sum(1 << "rwxs".index(c) for c in prot)
    return record(MAPPING, t, struct.pack("<IIQQQQ32sII", pid, bits, start, end, offset,
                                          inode, build_id, len(build_id), tid) +
                  path + b"\0")


ACT_FIELDS = ("tried", "applied", "tried_bytes", "applied_bytes", "refaulted_bytes",
              "skipped_bytes", "gone_bytes", "shadowed_bytes", "cpu_ns")


def act(t, rule, nr_rules, action, text, flags=0, errors=(), **kw):
    """errors: [(errno, how often)]"""
    body = struct.pack("<4I9Q", rule, nr_rules, action, flags,
                       *[kw.get(name, 0) for name in ACT_FIELDS])
    errors = [*errors, *(6 - len(errors)) * [(0, 0)]]
    body += struct.pack("<12I", *[e for e, _ in errors], *[n for _, n in errors])
    return record(ACT, t, body + text + b"\0")


def alloc(t, pid, kind, addr=0, size=0, stack=0):
    """kind: 0 start (size is the rate), 1 malloc, 2 free, 3 mmap, 4 munmap, 5 lost"""
    return record(ALLOC, t, struct.pack("<4I2Q", pid, kind, stack, 0, addr, size))


def refault(t, kind, mean_ns, half_ns=0, unmapped=0, count=1024, text=b"zram0"):
    """kind: 0 swap, 1 file; count 0: not measured, and the text gives the reason"""
    return record(REFAULT, t, struct.pack("<II4Q", kind, count, mean_ns, mean_ns, half_ns, round(unmapped * 32768)) +
                  text + b"\0")


def parse(data):
    """The records of a file: [(type, time_ns, body)], without the header."""
    size = struct.unpack_from("<I", data, 12)[0]
    found = []
    while size < len(data):
        kind, length, t = struct.unpack_from("<IIQ", data, size)
        found.append((kind, t, data[size + 16:size + length]))
        size += length
    assert size == len(data), "the file does not end at a record's end"
    return found

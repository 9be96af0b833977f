# SPDX-License-Identifier: GPL-2.0
"""Makes wsmon streams from the layout in include/wsmon.h, in nothing but Python.

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
 PROC, PACKED, ACT) = range(1, 16)

STATS_FIELDS = ("rounds", "late_rounds", "missed", "checks", "arms", "flushes",
                "walk_ns", "flush_ns", "adapt_ns", "emit_ns", "cpu_ns",
                "max_hold_ns", "lost_records", "lost_bytes", "regions",
                "samples", "targets", "budget", "sample_ns", "remote_ns",
                "idle_rounds", "late_p50_ns", "late_p99_ns", "late_max_ns")


def record(kind, time_ns, body):
    body += bytes(-len(body) % 8)
    return struct.pack("<IIQ", kind, 16 + len(body), time_ns) + body


def attrs_body(sample_us=100000, aggr_us=1000000, update_us=1000000,
               window_us=1000000, seed=1, min_regions=10, max_regions=2000,
               flags=1, longer_us=(), cpu_permille=None):
    # as long as it was before there were several windows, or a CPU budget
    more = len(longer_us) or cpu_permille
    body = struct.pack("<QQQQQIIII", sample_us, aggr_us, update_us, window_us,
                       seed, min_regions, max_regions, flags,
                       1 + len(longer_us) if more else 0)
    if more:
        body += struct.pack("<7Q", *longer_us, *(7 - len(longer_us)) * (0,))
    if cpu_permille:
        body += struct.pack("<II", cpu_permille, 0)
    return body


def header(mono_ns, real_ns=1700000000 * 10**9, version=1, size=None,
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


def region(start, end, share, freq, cls, age_ms, area_index):
    return struct.pack("<QQHHHHII", start, end, round(share * ONE),
                       round(freq * ONE), CLASS[cls], 0, age_ms, area_index)


def snapshot(t, pid, regions, first=0, total=None, interval_ns=10**9,
             rounds=10, nr=None, budget=0):
    nr = len(regions) if nr is None else nr
    body = struct.pack("<IIIIQII", pid, nr, first,
                       first + nr if total is None else total, interval_ns,
                       rounds, budget)
    return record(SNAPSHOT, t, body + b"".join(regions))


def wss(t, pid, cls, nbytes, low, high, mapped, tau_us=1000000):
    cls = CLASS.get(cls, cls)
    return record(WSS, t, struct.pack("<IIQQQQQ", pid, cls, tau_us, nbytes,
                                      low, high, mapped))


def exit_(t, pid):
    return record(EXIT, t, struct.pack("<II", pid, 0))


def lost(t, records, nbytes):
    return record(LOST, t, struct.pack("<QQ", records, nbytes))


def stats(t, **kw):
    values = [kw.get(name, 0) for name in STATS_FIELDS]
    body = struct.pack("<14Q4I6Q", *values)
    # without a budget as it was before there was one
    return record(STATS, t, body if "budget" in kw else body[:-48])


def end(t, reason=0):
    return record(END, t, struct.pack("<II", reason, 0))


def proc(t, pid, rss, swap, vsize):
    return record(PROC, t, struct.pack("<IIQQQ", pid, 0, rss, swap, vsize))


ACT_FIELDS = ("tried", "applied", "tried_bytes", "applied_bytes", "refaulted_bytes",
              "skipped_bytes", "gone_bytes", "shadowed_bytes", "cpu_ns")


def act(t, rule, nr_rules, action, text, flags=0, errors=(), **kw):
    """errors: [(errno, how often)]"""
    body = struct.pack("<4I9Q", rule, nr_rules, action, flags,
                       *[kw.get(name, 0) for name in ACT_FIELDS])
    errors = [*errors, *(6 - len(errors)) * [(0, 0)]]
    body += struct.pack("<12I", *[e for e, _ in errors], *[n for _, n in errors])
    return record(ACT, t, body + text + b"\0")


def parse(data):
    """The records of a file: [(type, time_ns, body)], header left out."""
    size = struct.unpack_from("<I", data, 12)[0]
    found = []
    while size < len(data):
        kind, length, t = struct.unpack_from("<IIQ", data, size)
        found.append((kind, t, data[size + 16:size + length]))
        size += length
    assert size == len(data), "the file does not end at a record's end"
    return found

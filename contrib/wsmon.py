# SPDX-License-Identifier: GPL-2.0
"""Reader of wsmon recordings (include/wsmon.h, tools/libwsmon/wsmon_records.h). It needs the
standard library only, and libzstd.so.1 for files with packed snapshots.

    import wsmon
    with open("wsmon.data", "rb") as f:
        header, records = wsmon.read(f)
        for r in records:                  # objects, in the order written
            if r.type == "WSS" and r.cls == "all":
                print(r.time_ns - header.mono_ns, r.pid, r.bytes, r.low, r.high)
            elif r.type == "SNAPSHOT":
                for g in r.regions:   # start end share freq cls samples age_ms area
                    print(hex(g.start), g.end - g.start, g.share)

A truncated file is read up to its last complete record. A file that is not a
recording, or is broken, raises ValueError. Packed snapshots appear as SNAPSHOT.
"""
import ctypes
import struct
from types import SimpleNamespace

MAGIC = b"WSMON\r\n\x1a"
VERSION = 2
ONE = 32768.0
RECORD_MAX = 65536
CLASSES = ("all text data heap stack anon file shmem hugetlb mixed").split()
_ATTRS = struct.Struct("<4Q4I8Q")
_HEADER = struct.Struct("<8s4IQQ")
_RECORD = struct.Struct("<IIQ")
_REGION = struct.Struct("<QQHHHHII")


def _name(names, number):
    return names[number] if number < len(names) else str(number)


def _cls(number):
    return _name(CLASSES, number)


def _text(raw):
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace")


def _attrs(body):
    names = "sample_us aggr_us update_us seed min_regions max_regions flags nr_windows".split()
    values = _ATTRS.unpack_from(body)
    a = SimpleNamespace(**dict(zip(names, values)))
    a.windows_us = values[len(names):][:a.nr_windows]
    at = _ATTRS.size
    a.cpu_permille = struct.unpack_from("<I", body, at)[0] if len(body) > at else None
    a.peak_detector = "off"
    if len(body) >= _ATTRS.size + 20:
        detector, a.peak_window, gain, adapt = struct.unpack_from("<4I", body, _ATTRS.size + 4)
        a.peak_detector = _name(("off", "sigma", "fano"), detector)
        a.peak_gain, a.peak_adapt = gain / 1000, adapt / 1000
    a.precision = 0
    if len(body) >= _ATTRS.size + 32:
        a.precision = struct.unpack_from("<I", body, _ATTRS.size + 28)[0]
    return a


def _target(b):
    pid, flags, comm = struct.unpack_from("<II16s", b)
    return dict(pid=pid, flags=flags, comm=_text(comm))


def _area(b):
    pid, cls, index, total, start, end, mapped = struct.unpack_from("<4I3Q", b)
    return dict(pid=pid, cls=_cls(cls), index=index, total=total, start=start,
                end=end, mapped=mapped, path=_text(b[40:]))


def _snapshot(b):
    pid, nr, first, total, interval, rounds, budget = struct.unpack_from("<4IQII", b)
    if 32 + nr * _REGION.size > len(b):
        raise ValueError("snapshot longer than its record")
    regions = [
        SimpleNamespace(start=start, end=end, share=share / ONE, freq=freq / ONE,
                        cls=_cls(cls), samples=samples, age_ms=age, area=area)
        for start, end, share, freq, cls, samples, age, area
        in _REGION.iter_unpack(b[32:32 + nr * _REGION.size])]
    return dict(pid=pid, nr=nr, first=first, total=total, interval_ns=interval,
                rounds=rounds, budget=budget, regions=regions)


def _decompress(frame):
    z = ctypes.CDLL("libzstd.so.1")
    z.ZSTD_decompress.restype = ctypes.c_size_t
    z.ZSTD_isError.argtypes = [ctypes.c_size_t]
    out = ctypes.create_string_buffer(RECORD_MAX)
    size = z.ZSTD_decompress(out, ctypes.c_size_t(RECORD_MAX), frame,
                             ctypes.c_size_t(len(frame)))
    if z.ZSTD_isError(size):
        raise ValueError("broken packed snapshot")
    return out.raw[:size]


def _unpack(time_ns, b):
    """The body of the SNAPSHOT record: see Documentation/reference/abi.rst."""
    pid, size = struct.unpack_from("<II", b)
    raw = _decompress(b[8:8 + size])
    if len(raw) < 48:
        raise ValueError("broken packed snapshot: it ends too early")
    kind, size, when, same_pid, nr = struct.unpack_from("<IIQII", raw)
    if (kind, when, same_pid) != (4, time_ns, pid) or \
            not len(raw) == size == 48 + 32 * nr:
        raise ValueError("broken packed snapshot: not of this record")
    body, end = raw[16:48], 0
    for i in range(nr):
        gap, length, *rest = _REGION.unpack(raw[48 + i::nr])
        start = (end + gap) % (1 << 64)
        end = (start + length) % (1 << 64)
        body += _REGION.pack(start, end, *rest)
    return body


def _wss(b):
    pid, cls, window, size, low, high, mapped = struct.unpack_from("<II5Q", b)
    return dict(pid=pid, cls=_cls(cls), window_us=window, bytes=size, low=low,
                high=high, mapped=mapped)


def _group(b):
    names = "interval_ns members came went missed regions visits".split()
    return dict(zip(names, struct.unpack_from("<Q6I", b)), path=_text(b[32:]))


def _total(b):
    cls, _, window, size, low, high, mapped = struct.unpack_from("<II5Q", b)
    return dict(cls=_cls(cls), window_us=window, bytes=size, low=low, high=high, mapped=mapped)


def _peak(b):
    pid, group, edge, sign, number, _ = struct.unpack_from("<3IiII", b)
    names = "start_ns end_ns window_us bytes low high height baseline threshold".split()
    return dict(zip(names, struct.unpack_from("<9Q", b, 24)), pid=pid,
                group=_name(("all", "text", "rest"), group),
                edge=_name(("start", "end"), edge), sign=sign, number=number)


def _act(b):
    names = ("rule nr_rules action flags tried applied tried_bytes applied_bytes "
             "refaulted_bytes skipped_bytes gone_bytes shadowed_bytes cpu_ns").split()
    errors = struct.unpack_from("<12I", b, 88)
    return dict(zip(names, struct.unpack_from("<4I9Q", b)), text=_text(b[136:]),
                errors={e: n for e, n in zip(errors[:6], errors[6:]) if n})


def _stack(b):
    names = "pid tid reason number stopped_ns flags error nr threads".split()
    fields = dict(zip(names, struct.unpack_from("<4IQ4I", b)))
    return dict(fields, comm=_text(b[40:56]),
                pc=list(struct.unpack_from("<%dQ" % fields.pop("nr"), b, 56)))


def _mark(b):
    return dict(number=struct.unpack_from("<I", b)[0], text=_text(b[8:]))


def _fields(fmt, names):
    layout, names = struct.Struct("<" + fmt), names.split()
    return lambda b: dict(zip(names, layout.unpack_from(b)))


def _who(b):
    names = "pid tid address ip bytes waited_ns flags cpu node cpu_node".split()
    return dict(zip(names, struct.unpack_from("<II4QIIii", b)), comm=_text(b[56:72]))


def _proc(b):
    pid, _, rss, swap, vsize = struct.unpack_from("<IIQQQ", b)
    # older writers have no pss; 0: it was not read
    pss = struct.unpack_from("<Q", b, 32)[0] if len(b) >= 40 else 0
    return dict(pid=pid, rss=rss, swap=swap, vsize=vsize, pss=pss or None)


def _mapping(b):
    pid, prot, start, end, offset, inode, build_id, length, tid = \
        struct.unpack_from("<II4Q32sII", b)
    return dict(pid=pid, prot=prot, start=start, end=end, offset=offset, inode=inode,
                build_id=build_id[:length].hex(), tid=tid, path=_text(b[80:]))


def _refault(b):
    names = "kind refaults median_ns mean_ns half_ns unmapped".split()
    return dict(zip(names, struct.unpack_from("<II4Q", b)), text=_text(b[40:]))


_KINDS = {
    1: ("ATTRS", lambda b: vars(_attrs(b))),
    2: ("TARGET", _target),
    3: ("AREA", _area),
    4: ("SNAPSHOT", _snapshot),
    5: ("WSS", _wss),
    6: ("PEAK", _peak),
    7: ("STACK", _stack),
    8: ("MARK", _mark),
    9: ("EXIT", _fields("I", "pid")),
    10: ("LOST", _fields("QQ", "records bytes")),
    11: ("STATS", _fields(
        "14Q4I", "rounds late_rounds missed checks arms flushes walk_ns "
        "flush_ns adapt_ns emit_ns cpu_ns max_hold_ns lost_records lost_bytes "
        "regions samples targets budget")),
    12: ("END", _fields("I", "reason")),
    13: ("PROC", _proc),
    15: ("ACT", _act),
    16: ("MAPPING", _mapping),
    17: ("GROUP", _group),
    18: ("TOTAL", _total),
    20: ("WHO", _who),
    21: ("ALLOC", _fields("4I2Q", "pid kind stack reserved addr bytes")),
    22: ("REFAULT", _refault),
}


def _records(f):
    while True:
        head = f.read(_RECORD.size)
        if len(head) < _RECORD.size:
            return
        kind, size, time_ns = _RECORD.unpack(head)
        if size < _RECORD.size or size % 8 or size > RECORD_MAX:
            raise ValueError("broken record: size %d" % size)
        body = f.read(size - _RECORD.size)
        if len(body) < size - _RECORD.size:
            return
        if kind == 14:
            try:
                kind, body = 4, _unpack(time_ns, body)
            except struct.error:
                raise ValueError("broken packed snapshot of %d bytes" % size)
        if kind in _KINDS:
            name, parse = _KINDS[kind]
            try:
                fields = parse(body)
            except struct.error:
                raise ValueError("broken record: %s of %d bytes" % (name, size))
            yield SimpleNamespace(type=name, time_ns=time_ns, **fields)


def read(f):
    """Return the header and an iterator over the records of a binary file."""
    raw = f.read(_HEADER.size + _ATTRS.size)
    if len(raw) < _HEADER.size + _ATTRS.size or raw[:8] != MAGIC:
        raise ValueError("not a wsmon record")
    names = "magic version header_size page_size clock_id mono_ns real_ns".split()
    h = SimpleNamespace(**dict(zip(names, _HEADER.unpack_from(raw))))
    if h.version != VERSION:
        raise ValueError("version %d; this reader knows %d" % (h.version, VERSION))
    raw += f.read(h.header_size - len(raw))
    h.attrs = _attrs(raw[_HEADER.size:])
    return h, _records(f)

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The binary stream: blocking, poll, one reader, loss, end."""
import errno
import fcntl
import io
import os
import select
import struct
import threading
import time

import wsmontest as w
import wsmon

FAST = ("sample_us=5000 aggr_us=50000 update_us=50000 window_us=50000 "
        "cpu_permille=1000")


def open_buffer(flags=0):
    return os.open(w.DIR + "buffer", os.O_RDONLY | flags)


def parse(data):
    header, records = wsmon.read(io.BytesIO(data))
    return header, list(records)


def read_all(fd):
    data = b""
    while True:
        part = os.read(fd, 65536)
        if not part:
            return data
        data += part


@w.measured
def a_session():
    with w.sleeper() as t:
        w.must_put("attrs", FAST + " max_regions=100 seed=42")
        fd = open_buffer()
        w.must_put("target", "%d\n" % t.pid)
        time.sleep(0.6)
        w.must_put("mark", "x" * 255)
        w.must_put("mark", "load \u2026\n")
        w.must_put("target", "\n")
        header, records = parse(read_all(fd))
        assert os.read(fd, 100) == b"", "the end is not the end"
        os.close(fd)
    assert header.version == 2 and header.page_size == 4096
    assert header.attrs.seed == 42 and header.attrs.max_regions == 100
    kinds = [r.type for r in records]
    assert kinds[0] == "ATTRS" and kinds[1] == "TARGET", kinds[:4]
    assert records[1].pid == t.pid and records[1].comm.startswith("python3")
    assert kinds[-1] == "END" and records[-1].reason == 0
    assert kinds.count("END") == 1 and "LOST" not in kinds
    assert kinds[-2] == "STATS"
    marks = [(r.number, r.text) for r in records if r.type == "MARK"]
    assert marks == [(1, "x" * 255), (2, "load \u2026")], marks
    areas = [r for r in records if r.type == "AREA"]
    assert areas[0].index == 0 and areas[-1].index == areas[-1].total - 1
    assert {"text", "heap", "stack"} <= {a.cls for a in areas}
    snapshots = [r for r in records if r.type == "SNAPSHOT"]
    # late intervals are longer, none is shorter
    assert 2 < len(snapshots) < 15, len(snapshots)
    assert min(s.interval_ns for s in snapshots) < 65e6
    for s in snapshots:
        assert s.total == s.nr and 0 < s.nr <= 100 and s.first == 0
        assert 40e6 < s.interval_ns < 1e9, s.interval_ns
        assert all(a.end <= b.start for a, b in zip(s.regions, s.regions[1:]))
        assert all(0 <= g.share <= 1 and 0 <= g.freq <= 1 for g in s.regions)
    times = [r.time_ns for r in records]
    assert times == sorted(times) and times[0] >= header.mono_ns
    for r in records:
        if r.type == "WSS":
            assert r.low <= r.bytes <= r.high <= r.mapped and r.window_us == 50000


def blocks_until_start():
    fd = open_buffer()
    got = []
    thread = threading.Thread(target=lambda: got.append(os.read(fd, 4096)))
    thread.start()
    time.sleep(0.3)
    assert not got, "read did not block"
    with w.sleeper() as t:
        w.must_put("target", "%d\n" % t.pid)
        thread.join(5)
        assert got and got[0].startswith(wsmon.MAGIC)
        w.must_put("target", "\n")
    os.close(fd)


def nonblocking_and_poll():
    fd = open_buffer(os.O_NONBLOCK)
    try:
        os.read(fd, 100)
        raise AssertionError("something from nothing")
    except BlockingIOError:
        pass
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    assert not poll.poll(200)
    with w.sleeper() as t:
        w.must_put("attrs", FAST)
        w.must_put("target", "%d\n" % t.pid)
        assert poll.poll(5000) == [(fd, select.POLLIN)]
        # read byte by byte, the stream is the same
        data = b""
        while len(data) < 1000:
            try:
                data += os.read(fd, 1)
            except BlockingIOError:
                poll.poll(1000)
        w.must_put("target", "\n")
        fcntl.fcntl(fd, fcntl.F_SETFL, 0)
        data += read_all(fd)
        assert poll.poll(0) == [(fd, select.POLLIN)], "no end to be seen"
    os.close(fd)
    assert parse(data)[1][-1].type == "END"


def one_reader():
    fd = open_buffer()
    try:
        open_buffer()
        raise AssertionError("a second reader")
    except OSError as e:
        assert e.errno == errno.EBUSY
    os.close(fd)
    fd = open_buffer()
    try:
        os.pread(fd, 10, 5)
        raise AssertionError("pread works")
    except OSError as e:
        assert e.errno == errno.ESPIPE
    os.close(fd)


def left_behind():
    """Unread records stay until the next session."""
    with w.sleeper() as t:
        for seed in (1, 2):
            w.must_put("attrs", FAST + " seed=%d" % seed)
            w.must_put("target", "%d\n" % t.pid)
            time.sleep(0.3)
            w.must_put("target", "\n")
    fd = open_buffer()
    header, records = parse(read_all(fd))
    os.close(fd)
    assert [r.type for r in records].count("END") == 1
    assert records[0].type == "ATTRS" and records[0].seed == 2


def late_reader():
    """A late reader gets the targets and their mappings again."""
    with w.sleeper() as t:
        w.must_put("attrs", FAST)
        fd = open_buffer()
        w.must_put("target", "%d\n" % t.pid)
        time.sleep(0.3)
        os.close(fd)
        fd = open_buffer(os.O_NONBLOCK)
        while True:          # records of the first session
            try:
                os.read(fd, 1 << 20)
            except BlockingIOError:
                break
        os.close(fd)
        fd = open_buffer()
        time.sleep(0.3)
        w.must_put("target", "\n")
        records = parse(read_all(fd))[1]
        os.close(fd)
    assert any(r.type == "TARGET" and r.flags == 2 for r in records)
    assert any(r.type == "AREA" for r in records)
    assert records[-1].type == "END"


def loss_is_told():
    with w.Target("time.sleep(1000)", "m = mmap.mmap(-1, 64 << 20)\n"
                  "m[::4096] = bytes(len(m) // 4096)") as t:
        fd = open_buffer()
        w.must_put("attrs", "sample_us=2000 aggr_us=4000 update_us=1000000 "
                   "window_us=4000 max_regions=4000 cpu_permille=1000")
        w.must_put("target", "%d\n" % t.pid)
        w.wait_for("a full buffer", lambda: w.stats()["lost_records"] > 20, 60)
        # there is room again: the stream goes on, and reports the loss
        data = os.read(fd, 4096)
        data += os.read(fd, 1 << 20)
        lost = w.stats()["lost_records"]
        time.sleep(0.2)
        w.must_put("target", "\n")
        total = w.stats()
        data += read_all(fd)
        os.close(fd)
    records = parse(data)[1]
    told = [r for r in records if r.type == "LOST"]
    assert told, "nothing said of %d lost records" % lost
    assert sum(r.records for r in told) == total["lost_records"], (
        told, total["lost_records"])
    assert sum(r.bytes for r in told) == total["lost_bytes"]
    assert records[-1].type == "END"


ATTRS, TARGET, AREA, LOST = 1, 2, 3, 10


def behind_loss(data):
    """The types of the records from the first LOST one on; faster than parse()"""
    kinds, at = [], struct.unpack_from("<I", data, 12)[0]
    while at + 16 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kinds or kind == LOST:
            kinds.append(kind)
        at += size
    return kinds


def lost_each(intervals):
    """Records lost an interval, at one round each"""
    before = w.stats()
    w.wait_for("intervals", lambda: w.stats()["rounds"] >= before["rounds"] + intervals, 60)
    after = w.stats()
    return ((after["lost_records"] - before["lost_records"]) /
            (after["rounds"] - before["rounds"]))


def nobody_reads():
    """A full buffer loses no more than the current records: targets and mappings are
    reported again when there is room for them, not each interval."""
    mappings = 300
    with w.Target("time.sleep(1000)", "import ctypes\n"
                  "libc = ctypes.CDLL(None)\n"
                  "libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]\n"
                  "m = mmap.mmap(-1, 64 << 20)\n"
                  "m[::4096] = bytes(len(m) // 4096)\n"
                  "at = ctypes.addressof(ctypes.c_char.from_buffer(m))\n"
                  "for i in range(%d):\n"
                  "    libc.mprotect(at + i * 8192, 4096, 0)\n" % mappings) as t:
        w.must_put("attrs", "sample_us=4000 aggr_us=4000 update_us=1000000 "
                   "window_us=4000 max_regions=4000 cpu_permille=1000")
        fd = open_buffer()
        w.must_put("target", "%d\n" % t.pid)
        # no room even for small records: WSS of each class, and statistics
        w.wait_for("a full buffer", lambda: lost_each(5) > 5, 120)
        # the new attributes are lost, too: the reader must get them later
        w.must_put("attrs", "seed=7")
        each = lost_each(20)
        data, end = b"", time.monotonic() + 60
        while not data or AREA not in behind_loss(data) and time.monotonic() < end:
            data += os.read(fd, 1 << 20)
        w.must_put("target", "\n")
        data += read_all(fd)
        os.close(fd)
    print("# %.1f records lost in an interval" % each)
    # at most a snapshot, its sizes by class, and the statistics
    assert each < mappings / 4, "%.1f records lost in an interval" % each
    kinds = behind_loss(data)
    again = kinds.index(TARGET)
    assert kinds[again - 1] == ATTRS, kinds[:again + 2]
    assert kinds[again + 1:].count(AREA) >= mappings, kinds[:again + 400]


def exit_and_exec_records():
    code = "time.sleep(0.4); os.execv('/bin/sleep', ['sleep', '0.4'])"
    with w.Target(code) as t:
        w.must_put("attrs", FAST)
        fd = open_buffer()
        w.must_put("target", "%d\n" % t.pid)
        w.wait_for("the exec", lambda: "sleep" in open(
            "/proc/%d/comm" % t.pid).read())
        t.process.wait()
        records = parse(read_all(fd))[1]
        os.close(fd)
    targets = [(r.flags, r.comm) for r in records if r.type == "TARGET"]
    assert (1, "sleep") in targets, targets
    assert [r.pid for r in records if r.type == "EXIT"] == [t.pid]
    assert records[-1].type == "END" and records[-1].reason == 1


def attrs_are_recorded():
    with w.sleeper() as t:
        w.must_put("attrs", FAST)
        fd = open_buffer()
        w.must_put("target", "%d\n" % t.pid)
        w.must_put("attrs", "window_us=100000")
        time.sleep(0.5)
        w.must_put("target", "\n")
        records = parse(read_all(fd))[1]
        os.close(fd)
    seen = [r.windows_us[0] for r in records if r.type == "ATTRS"]
    assert seen == [50000, 100000], seen
    assert {r.window_us for r in records if r.type == "WSS"} >= {100000}


def half_a_record():
    """A reader that closes in the middle of a record leaves no half of it to the next reader."""
    with w.sleeper() as t:
        w.must_put("attrs", FAST)
        fd = open_buffer()
        w.must_put("target", "%d\n" % t.pid)
        w.wait_for("a snapshot", lambda: w.get("wss"))
        header = os.read(fd, 4096)
        assert len(header) == struct.unpack_from("<I", header, 12)[0]
        assert len(os.read(fd, 1001)) == 1001
        os.close(fd)
        fd = open_buffer()
        time.sleep(0.3)
        w.must_put("target", "\n")
        records = parse(read_all(fd))[1]
        os.close(fd)
    assert records[-1].type == "END"


def one_session_after_the_other():
    """A reader sees the end of each session."""
    with w.sleeper() as t:
        w.must_put("attrs", FAST)
        fd = open_buffer()
        w.must_put("target", "%d\n" % t.pid)
        time.sleep(0.2)
        w.must_put("target", "%d\n" % t.pid)
        time.sleep(0.2)
        first = read_all(fd)
        w.must_put("target", "\n")
        second = read_all(fd)
        os.close(fd)
    header = struct.unpack_from("<I", first, 12)[0]
    for data in first, first[:header] + second:
        kinds = [r.type for r in parse(data)[1]]
        assert kinds[0] == "ATTRS" and kinds[-1] == "END", kinds
        assert kinds.count("END") == 1


def stopped_at_once():
    """A session stopped at once has an end record all the same."""
    with w.sleeper() as t:
        for _ in range(50):
            fd = open_buffer()
            w.must_put("target", "%d\n" % t.pid)
            w.must_put("target", "\n")
            assert parse(read_all(fd))[1][-1].type == "END"
            os.close(fd)
    assert "on request" in w.get("status")


def bad_address():
    """Bytes that could not be copied to the reader are not lost."""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.read.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
    libc.read.restype = ctypes.c_ssize_t
    page = libc.mmap(None, 8192, 3, 0x22, -1, 0)
    libc.munmap(page + 4096, 4096)
    with w.sleeper() as t:
        w.must_put("attrs", FAST)
        fd = open_buffer()
        w.must_put("target", "%d\n" % t.pid)
        time.sleep(0.5)
        w.must_put("target", "\n")
        assert libc.read(fd, None, 1000) == -1
        assert ctypes.get_errno() == errno.EFAULT
        data = os.read(fd, 4096)
        assert libc.read(fd, page + 4096, 1000) == -1
        while True:
            # the second half of the destination is not mapped
            n = libc.read(fd, page + 4096 - 500, 1000)
            assert n >= 0, ctypes.get_errno()
            if n < 1:
                break
            data += ctypes.string_at(page + 4096 - 500, n)
            if n < 500:
                break
        data += read_all(fd)
        os.close(fd)
    assert parse(data)[1][-1].type == "END"


def shared_by_threads():
    """Threads that read one open file get each byte once."""
    got = []

    def read():
        while True:
            part = os.read(fd, 10000)
            if not part:
                return
            got.append(len(part))

    with w.sleeper() as t:
        w.must_put("attrs", FAST + " max_regions=2000")
        fd = open_buffer()
        readers = [threading.Thread(target=read) for _ in range(4)]
        for r in readers:
            r.start()
        w.must_put("target", "%d\n" % t.pid)
        time.sleep(1)
        w.must_put("target", "\n")
        for r in readers:
            r.join(5)
            assert not r.is_alive(), "a reader was not woken"
        os.close(fd)
    assert sum(got) % 8 == 0 and sum(got) > 100000


w.main(a_session, blocks_until_start, nonblocking_and_poll, one_reader,
       left_behind, late_reader, loss_is_told, nobody_reads, exit_and_exec_records,
       attrs_are_recorded, half_a_record, one_session_after_the_other,
       stopped_at_once, bad_address, shared_by_threads)

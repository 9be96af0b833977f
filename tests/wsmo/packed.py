# SPDX-License-Identifier: GPL-2.0
"""Packs snapshots as Documentation/reference/abi.rst says, to be compared with wsmo.

As records.py it shares no code with wsmo, nor with contrib/wsmon.py.
"""
import bisect
import ctypes
import struct

import records as r

PACKED = 14
KEY, KEY_NS = 64, 60 * 10**9

zstd = ctypes.CDLL("libzstd.so.1")
zstd.ZSTD_createCCtx.restype = ctypes.c_void_p
zstd.ZSTD_compress2.restype = ctypes.c_size_t
zstd.ZSTD_compress2.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t,
                                ctypes.c_char_p, ctypes.c_size_t]
zstd.ZSTD_CCtx_setParameter.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
CONTEXT = zstd.ZSTD_createCCtx()
LEVEL, CHECKSUM = 100, 201  # ZSTD_c_compressionLevel, ZSTD_c_checksumFlag


def frame(raw, checksum=1):
    zstd.ZSTD_CCtx_setParameter(CONTEXT, LEVEL, 3)
    zstd.ZSTD_CCtx_setParameter(CONTEXT, CHECKSUM, checksum)
    out = ctypes.create_string_buffer(len(raw) + 1024)
    size = zstd.ZSTD_compress2(CONTEXT, out, len(out), raw, len(raw))
    return out.raw[:size]


def varint(v):
    out = b""
    while v > 127:
        out += bytes((v & 127 | 128,))
        v >>= 7
    return out + bytes((v,))


def signed(v):
    return varint(v * 2 if v >= 0 else -v * 2 - 1)


def record(t, pid, number, first, data, size=None):
    return r.record(PACKED, t, struct.pack(
        "<IIII", pid, number, first, len(data) if size is None else size) + data)


class Packer:
    """
    pack() takes a plain SNAPSHOT record of one target after the other. @number:
    of the first, which ought to be 0
    """

    def __init__(self, number=0):
        self.number = number - 1
        self.old, self.now, self.key_ns = [], [], 1 << 64 if number else 0

    def before(self, start):
        """(share, since) of the region that held an address, or None"""
        n = bisect.bisect_right(self.old, (start, 1 << 64)) - 1
        if n < 0 or self.old[n][1] <= start:
            return None
        return self.old[n][2:]

    def columns(self, body, t):
        nr, rounds = struct.unpack_from("<I", body, 4)[0], \
            struct.unpack_from("<I", body, 24)[0]
        cols = [b""] * 8
        end = cls_before = area_before = 0
        for n in range(nr):
            start, stop, share, freq, cls, samples, age, area = \
                struct.unpack_from("<QQHHHHII", body, 32 + 32 * n)
            old = self.before(start)
            since = old[1] if old else t
            if age == (t - since) // 10**6:
                told = 0
            else:
                told, since = 1 + age, t - age * 10**6
            guess = {0: 0, r.ONE: r.ONE}.get(freq, r.ONE // 2)
            if old and age:
                guess = old[0] + int((guess - old[0]) / 8)
            hits = -(-freq * 2 * rounds // r.ONE)
            if not rounds or hits > 2 * rounds or \
                    hits * r.ONE // (2 * rounds) != freq:
                hits = 2 * rounds + 1 + freq
            more = (signed((start - end) // 4096),
                    varint((stop - start) // 4096), varint(hits),
                    varint(told), signed(share - guess),
                    signed(cls - cls_before), signed(area - area_before),
                    varint(samples))
            cols = [c + m for c, m in zip(cols, more)]
            end, cls_before, area_before = stop, cls, area
            self.now.append((start, stop, share, since))
        if not any(cols[7]):
            cols.pop()
        return b"".join(cols)

    def raw(self, snapshot):
        """What is in the frame."""
        t, body = struct.unpack_from("<Q", snapshot, 8)[0], snapshot[16:]
        if not struct.unpack_from("<I", body, 8)[0]:
            self.number = (self.number + 1) % KEY
            if t - self.key_ns >= KEY_NS:
                self.number = 0
            self.key_ns = self.key_ns if self.number else t
            self.old, self.now = self.now if self.number else [], []
        return snapshot[:48] + varint(self.number) + self.columns(body, t)

    def pack(self, snapshot):
        raw = self.raw(snapshot)
        t, pid, _, first = struct.unpack_from("<QIII", snapshot, 8)
        return record(t, pid, self.number, first, frame(raw))


def pack(data):
    """A whole recording, its snapshots packed."""
    size = struct.unpack_from("<I", data, 12)[0]
    out, packers = data[:size], {}
    for kind, t, body in r.parse(data):
        one = r.record(kind, t, body)
        if kind == r.SNAPSHOT:
            one = packers.setdefault(body[:4], Packer()).pack(one)
        elif kind in (r.TARGET, r.EXIT):
            packers.pop(body[:4], None)
        elif kind == r.LOST:
            packers.clear()
        out += one
    return out

# SPDX-License-Identifier: GPL-2.0
"""Packs snapshots as Documentation/reference/abi.rst defines, for comparison with wsmo.

Like records.py it shares no code with wsmo, nor with contrib/wsmon.py.
"""
import ctypes
import struct

import records as r

PACKED = 14

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


def record(t, pid, data, size=None):
    return r.record(PACKED, t, struct.pack(
        "<II", pid, len(data) if size is None else size) + data)


def contents(snapshot):
    """The content of the frame that packs a plain SNAPSHOT record."""
    entries, end = [], 0
    for at in range(48, len(snapshot), 32):
        start, stop = struct.unpack_from("<QQ", snapshot, at)
        entries.append(struct.pack("<QQ", (start - end) % (1 << 64), (stop - start) % (1 << 64)) +
                       snapshot[at + 16:at + 32])
        end = stop
    return snapshot[:48] + bytes(entry[n] for n in range(32) for entry in entries)


def pack_one(snapshot):
    t, pid = struct.unpack_from("<QI", snapshot, 8)
    return record(t, pid, frame(contents(snapshot)))


def pack(data):
    """A whole recording with its snapshots packed."""
    size = struct.unpack_from("<I", data, 12)[0]
    out = data[:size]
    for kind, t, body in r.parse(data):
        one = r.record(kind, t, body)
        out += pack_one(one) if kind == r.SNAPSHOT else one
    return out

# SPDX-License-Identifier: GPL-2.0
"""A file system with one file, "f", whose server stops answering on request."""
import ctypes
import errno
import os
import signal
import struct
import subprocess
import sys
import time


class Deaf:
    """@content: of the file .path; deaf() ends the answers. A process that waits for one is
    released when the block ends."""

    def __init__(self, directory, content, *how):
        self.path = os.path.join(directory, "f")
        self.server = subprocess.Popen([sys.executable, __file__, directory, *how], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)
        self.server.stdin.write(content)
        self.server.stdin.close()
        self.works = self.server.stdout.readline() == b"mounted\n"

    def deaf(self):
        self.server.terminate()
        self.server.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.kill()
        self.server.wait()
        self.server.stdout.close()
        subprocess.run(["umount", "-l", os.path.dirname(self.path)], stderr=subprocess.DEVNULL)


# mmap() of a file with FOPEN_DIRECT_IO waits, with the mmap lock held, while a page is read that
# the server does not send
LOCKS = """import mmap, os, sys, threading, time
cached, direct = (os.open(sys.argv[1], os.O_RDONLY) for _ in range(2))
threading.Thread(target=os.read, args=(cached, 1), daemon=True).start()
print("up", flush=True)
input()
mmap.mmap(direct, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ)
"""


class Locked:
    """A process whose mmap lock is held from lock() until the end; there is none unless .works."""

    def __init__(self, directory):
        self.deaf = Deaf(directory, bytes(4096), "locks")
        self.works = self.deaf.works
        if not self.works:
            return
        self.process = subprocess.Popen([sys.executable, "-c", LOCKS, self.deaf.path], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        self.process.stdout.readline()
        self.deaf.server.stdout.readline()

    def lock(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        state = ""
        while state != "D":
            time.sleep(0.01)
            with open("/proc/%d/stat" % self.pid) as f:
                state = f.read().rsplit(")")[-1].split()[0]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.deaf.__exit__(*error)
        if self.works:
            self.process.kill()
            self.process.communicate()


def serve(directory, locks):
    deaf, opened = [], []
    content = sys.stdin.buffer.read()

    def end_answers(*_):
        deaf.append(True)
        print("deaf", flush=True)

    def attributes(node):
        return struct.pack("<6Q10I", node, len(content), 8, 0, 0, 0, 0, 0, 0, 0o40755 if node == 1 else 0o100755,
                           1, 0, 0, 0, 4096, 0)

    def answer(kind, node, body):
        if kind == 26:      # INIT
            return struct.pack("<4I2H2I2H8I", 7, 31, 65536, 0, 16, 12, 65536, 1, 0, 0, *[0] * 8)
        if kind == 1 and body == b"f\0":        # LOOKUP
            return struct.pack("<4Q2I", 2, 0, 0, 0, 0, 0) + attributes(2)
        if kind == 3:       # GETATTR
            return struct.pack("<Q2I", 0, 0, 0) + attributes(node)
        if kind == 14:      # OPEN
            opened.append(node)
            return struct.pack("<Q2I", 0, locks and len(opened) == 2, 0)
        if kind == 15:      # READ
            at, size = struct.unpack_from("<8xQI", body)
            return content[at:at + size]
        return b"" if kind in (18, 25) else None        # RELEASE, FLUSH

    fd = os.open("/dev/fuse", os.O_RDWR)
    options = b"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % fd
    if ctypes.CDLL(None).mount(b"fuse", directory.encode(), b"fuse", 0, options):
        return
    signal.signal(signal.SIGTERM, end_answers)
    print("mounted", flush=True)
    while True:
        request = os.read(fd, 1 << 20)
        kind, number, node = struct.unpack_from("<4xI2Q", request)
        # the kernel expects no answer to FORGET, INTERRUPT and BATCH_FORGET
        if deaf or kind in (2, 36, 42):
            continue
        if locks and kind == 15:
            print("read", flush=True)
            continue
        out = answer(kind, node, request[40:])
        error = -errno.ENOSYS if out is None else 0
        os.write(fd, struct.pack("<IiQ", 16 + len(out or b""), error, number) + (out or b""))


if __name__ == "__main__":
    serve(sys.argv[1], len(sys.argv) > 2)

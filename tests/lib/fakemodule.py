# SPDX-License-Identifier: GPL-2.0
"""Fakes of the module: its debugfs directory (text files and three FIFOs), or only its
stream."""
import os
import select
import threading
import time

import records as r

ATTRS = ("sample_us=100000\naggr_us=1000000\nupdate_us=1000000\n"
         "window_us=1000000\nmin_regions=10\nmax_regions=2000\nflush_tlb=1\n"
         "seed=0\ncpu_permille=30\npeak_window=30\npeak_gain=5\npeak_adapt=0.25\n"
         "peak_detector=sigma\nfollow=0\nwho_rate=0\nprecision=0\n")


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def heap_of(pid):
    with open("/proc/%d/maps" % pid) as f:
        for line in f:
            if line.rstrip().endswith("[heap]"):
                return tuple(int(a, 16) for a in line.split()[0].split("-"))
    return None


def interval(wss=(), regions=(), cpu_ns=0, lost=0, more=b""):
    """Records of an interval. wss: (pid, class, bytes, mapped), and the window in s if
    it is not 1; regions: (pid, class, start, end, share)."""
    t = now()
    data = b""
    for pid in {region[0] for region in regions}:
        data += r.snapshot(t, pid, [
            r.region(start, end, share, share, kind, 1, 0)
            for p, kind, start, end, share in regions if p == pid])
    for pid, kind, size, mapped, *window in wss:
        data += r.wss(t, pid, kind, size, size * 3 // 4, size * 5 // 4, mapped,
                      round((window or [1])[0] * 1000000))
    return data + more + r.stats(now(), rounds=5, cpu_ns=cpu_ns, lost_records=lost)


class Stream:
    """The stream of a session that others started. @names: of targets, if not the names
    of the processes; @flags: of targets."""

    def __init__(self, directory, wss=(), regions=(), names=None, flags=None, **more):
        self.dir = directory
        self.names, self.flags = names or {}, flags or {}
        self.write_status("running")
        os.mkfifo(directory.path("buffer"), 0o600)
        self.fd = os.open(directory.path("buffer"), os.O_RDWR | os.O_NONBLOCK)
        self.figures = (wss, regions), more
        self.restart()

    def write_status(self, text):
        self.dir.write("status", text.encode() + b"\n")

    def comm(self, pid):
        if pid in self.names:
            return self.names[pid]
        try:
            with open("/proc/%d/comm" % pid, "rb") as f:
                return f.read().strip()[:15]
        except OSError:
            return b""

    def send(self, data):
        os.write(self.fd, data)

    def show(self, *args, **more):
        self.figures = args, more
        self.send(interval(*args, **more))

    def restart(self):
        """Make it ready for the next reader"""
        try:
            while os.read(self.fd, 65536):
                pass
        except BlockingIOError:
            pass
        args, more = self.figures
        data = r.header(now()) + r.attrs(now())
        for pid in sorted({row[0] for row in args[0]}):
            data += r.target(now(), pid, self.comm(pid), self.flags.get(pid, 0))
        self.send(data + interval(*args, **more))

    def close(self):
        os.close(self.fd)


class Module:
    """Serves one session; keeps in .targets and .attrs what wsmo wrote."""

    def __init__(self, directory, stale=b"", script=None, interval=0.05):
        self.dir = directory
        self.stale = stale
        self.script = script or Module.monitor
        self.interval = interval
        self.targets = []
        self.attrs = None
        self.running = threading.Event()
        self.stop = False
        directory.write("attrs", ATTRS.encode())
        self.status(b"idle: never started\n")
        for name in ("target", "buffer", "mark"):
            os.mkfifo(directory.path(name), 0o600)
        # both ends open: open() does not wait for wsmo, and no reader sees an early end of file
        self.buffer = os.open(directory.path("buffer"), os.O_RDWR)
        self.target = os.open(directory.path("target"),
                              os.O_RDWR | os.O_NONBLOCK)
        self.mark = os.open(directory.path("mark"), os.O_RDWR | os.O_NONBLOCK)
        self.marks = 0
        if stale:
            os.write(self.buffer, stale)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def status(self, text):
        # replace it in one step: wsmo must not read half of it
        self.dir.write("status.new", text)
        os.rename(self.dir.path("status.new"), self.dir.path("status"))

    def send(self, data):
        os.write(self.buffer, data)

    def asked(self, timeout):
        """What is written to target within this time, or None; passes marks on"""
        ready = select.select([self.target, self.mark], [], [], timeout)[0]
        if self.mark in ready:
            self.marks += 1
            self.send(r.mark(now(), self.marks, os.read(self.mark, 4096)))
            return self.asked(timeout)
        if not ready:
            return None
        return os.read(self.target, 65536).decode()

    def serve(self):
        """Serve one session, unless the directory is removed meanwhile"""
        try:
            self.session()
        except FileNotFoundError:
            if os.path.isdir(self.dir.name):
                raise

    def session(self):
        text = None
        while text is None:
            text = self.asked(0.1)
            if self.stop:
                return
        self.targets.append(text)
        self.attrs = self.dir.read("attrs").decode()
        self.status(b"running\n")
        self.running.set()
        try:
            self.script(self, [int(pid) for pid in text.split()])
        except OSError:
            pass
        self.status(b"idle: told to stop\n")

    def begin(self, pids):
        if not self.stale:
            self.send(r.header(now()))
        self.send(r.attrs(now()))
        for pid in pids:
            self.send(r.target(now(), pid, b"target"))

    def monitor(self, pids):
        """Play the module: send intervals until stopped or until all targets are gone."""
        self.begin(pids)
        rounds = 0
        started = now()
        alive = list(pids)
        while True:
            text = self.asked(self.interval)
            if text is not None:
                self.targets.append(text)
                self.send(r.end(now(), 0))
                return
            if self.stop:
                return
            rounds += 1
            t = now()
            for pid in list(alive):
                heap = None
                try:
                    heap = heap_of(pid)
                except OSError:
                    pass
                if not os.path.exists("/proc/%d" % pid):
                    alive.remove(pid)
                    self.send(r.exit_(t, pid))
                    continue
                if heap:
                    self.send(r.area(t, pid, "heap", 0, 2, *heap))
                    self.send(r.area(t, pid, "mixed", 1, 2, heap[1],
                                     (1 << 47) - 4096))
                self.send(r.wss(t, pid, "all", 3 << 20, 2 << 20, 4 << 20,
                                9 << 20))
            self.send(r.stats(t, rounds=rounds, cpu_ns=(t - started) // 50,
                              max_hold_ns=1500))
            if not alive:
                self.send(r.end(now(), 1))
                return

    def close(self):
        self.stop = True
        self.thread.join(5)
        os.close(self.buffer)
        os.close(self.target)
        os.close(self.mark)

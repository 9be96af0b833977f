# SPDX-License-Identifier: GPL-2.0
"""A fake of /dev/wsmon and of cgroups, for wsmo with tests/wsmo/programs/fakedevice.c."""
import os
import re
import select
import socket
import threading

import records as r
from command import ENV, preloaded
from fakemodule import now

MIB = 1 << 20


class Device:
    """Sessions of cgroups, with intervals of 100 ms. A cgroup with -N in its name reports a working
    set of N MiB. @cost_ns: CPU time to begin; @late: seconds before the first interval;
    @watched: how often each cgroup was watched; @most: files open at once, at most."""

    def __init__(self, directory, files=63, window_us=100000, cost_ns=0, late=0):
        self.dir = directory
        self.files, self.window_us = files, window_us
        self.cost_ns, self.late = cost_ns, late
        self.watched, self.most, self.refused = {}, 0, 0
        self.connections = []
        self.stop = threading.Event()
        self.lock = threading.Lock()
        os.mkdir(directory.path("cgroups"))
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(directory.path("device"))
        self.socket.listen(64)
        self.env = dict(ENV, FAKE_DEVICE=directory.path("device"), FAKE_CGROUPS=directory.path("cgroups"),
                        **preloaded(directory, "fakedevice.c"))
        threading.Thread(target=self.accept, daemon=True).start()

    def cgroup(self, path, memory=100 * MIB, processes=1):
        """Make a cgroup with that many processes of its own, and @memory bytes in RAM"""
        full = self.dir.path("cgroups" + path)
        os.makedirs(full, exist_ok=True)
        for name, text in (("cgroup.events", "populated %d\n" % (processes > 0)),
                           ("cgroup.procs", "".join("%d\n" % (i + 1) for i in range(processes))),
                           ("memory.stat", "anon %d\nfile_mapped 0\n" % memory)):
            with open(os.path.join(full, name), "w") as f:
                f.write(text)
        while os.path.dirname(full) != self.dir.path("cgroups"):
            full = os.path.dirname(full)
            for name, text in ("cgroup.events", "populated 1\n"), ("cgroup.procs", ""):
                with open(os.path.join(full, name), "a") as f:
                    f.write("" if f.tell() else text)

    def open(self):
        """Number of open files"""
        poll = select.poll()
        with self.lock:
            for connection in self.connections:
                poll.register(connection, select.POLLRDHUP)
            return len(self.connections) - len(poll.poll(0))

    def accept(self):
        while True:
            try:
                connection = self.socket.accept()[0]
            except OSError:
                return
            full = self.open() >= self.files
            connection.send(b"\1" if full else b"\0")
            if not full:
                with self.lock:
                    self.connections.append(connection)
                self.most = max(self.most, self.open())
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            text = connection.recv(8192).decode(errors="surrogateescape")
            if text:
                self.session(connection, dict(word.split("=", 1) for word in text.split()))
        except ValueError:
            self.refused += 1
        except OSError:
            pass
        with self.lock:
            self.connections.remove(connection)
        connection.close()

    def session(self, connection, words):
        path = re.sub(r"\\([0-3][0-7]{2})", lambda m: bytes([int(m.group(1), 8)]).decode(errors="surrogateescape"),
                      words["cgroup"])
        with self.lock:
            self.watched[path] = self.watched.get(path, 0) + 1
        windows = [int(x) for x in words.get("window_us", str(self.window_us)).split(",")]
        size = int(re.search(r"-(\d+)\.", path).group(1)) * MIB
        began = now()
        connection.send(r.header(began, aggr_us=100000, windows_us=windows))
        self.stop.wait(self.late)
        while not self.stop.wait(0.1) and os.path.isdir(self.dir.path("cgroups" + path)):
            t = now()
            data = r.group(t, 3)
            for window in windows:
                for cls in "all", "anon":
                    data += r.total(t, cls, size, size - 4096, size + 4096, 200 * MIB, window)
            connection.send(data + r.stats(t, cpu_ns=self.cost_ns + (t - began) // 10, rounds=10, budget=2000))
        connection.send(r.end(now(), 1))

    def close(self):
        self.stop.set()
        self.socket.close()

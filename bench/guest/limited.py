# SPDX-License-Identifier: GPL-2.0
"""Workloads in memory cgroups of their own. Among them are real programs with an even load of
single requests: then the client's cost is the same whatever the program waits for.

The time to answer, times the requests a second, is the share of a CPU's time for which the
program works; waiting for memory shows as longer answers.
"""
import glob
import os
import random
import re
import shutil
import subprocess
import threading
import time

import redis_load
from guest.machine import PAGE, read, write

CGROUPS = "/tmp/cgroup"
SLOW_FS = "/var/tmp"


def read_from_slow_fs():
    """Have the programs map their own files from SLOW_FS: costs on other file systems are
    unknown"""
    files = {os.path.realpath(shutil.which(name)) for name in ("redis-server", "gawk", "git", "python3")}
    files.update(glob.glob("/usr/lib/python3*/lib-dynload/_[js][sq][ol]*.so"))
    ldd = subprocess.run(["ldd", *files], stdout=subprocess.PIPE, text=True, check=True).stdout
    files.update(os.path.realpath(path) for path in re.findall("=> (/\\S+)", ldd))
    for n, path in enumerate(sorted(files)):
        copy = os.path.join(SLOW_FS, "%d-%s" % (n, os.path.basename(path)))
        shutil.copy(path, copy)
        subprocess.run(["mount", "--bind", copy, path], check=True)
    charge_to_next()


def charge_to_next():
    """Charge pages of files to the cgroup that reads them next"""
    os.sync()
    write("/proc/sys/vm/drop_caches", 3)


class Cgroup:
    def __init__(self, name):
        self.dir = os.path.join(CGROUPS, name)
        os.makedirs(self.dir, exist_ok=True)

    def join(self):
        write(os.path.join(self.dir, "cgroup.procs"), os.getpid())

    def stat(self):
        return {k: int(v) for k, v in (line.split() for line in
                                       read(os.path.join(self.dir, "memory.stat")).splitlines())}

    def stalled(self):
        """Seconds in which any thread waited for memory, by memory.pressure"""
        with open(os.path.join(self.dir, "memory.pressure")) as f:
            return int(f.readline().rsplit("total=", 1)[1]) / 1e6

    def current(self):
        return int(read(os.path.join(self.dir, "memory.current")))

    def limit(self, size):
        write(os.path.join(self.dir, "memory.max"), size // PAGE * PAGE)

    def killed(self):
        events = dict(line.split() for line in
                      read(os.path.join(self.dir, "memory.events")).splitlines())
        return int(events["oom_kill"])


class Workload:
    def __init__(self, name, *command, stdout=subprocess.DEVNULL, **kw):
        self.name, self.cgroup = name, Cgroup(name)
        self.p = subprocess.Popen(command, preexec_fn=self.cgroup.join, stdout=stdout, **kw)
        self.pid = self.p.pid

    def stop(self):
        self.p.kill()
        self.p.wait()


class Paced(Workload):
    """A program with requests for keys by Zipf's law, BATCH at once, RATE a second. busy: seconds
    until the answers; asked: keys; late: seconds behind."""
    KEYS, RATE, BATCH, EXPONENT = 16000, 1000, 20, 1.0

    def __init__(self, name, *command, **kw):
        super().__init__(name, *command, **kw)
        self.begin()
        rng, keys = random.Random(1), list(range(self.KEYS))
        rng.shuffle(keys)
        total, chances = 0, []
        for i in range(self.KEYS):
            total += (i + 1) ** -self.EXPONENT
            chances.append(total)
        self.draw = lambda: rng.choices(keys, cum_weights=chances, k=self.BATCH)
        self.done = threading.Event()
        self.busy = self.asked = self.late = 0
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        due = time.monotonic()
        while not self.done.is_set():
            due += self.BATCH / self.RATE
            wait = due - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            elif wait < -1:
                # never catch up: the load has to be even
                self.late -= wait
                due -= wait
            keys, began = self.draw(), time.monotonic()
            self.ask(keys)
            self.busy += time.monotonic() - began
            self.asked += len(keys)

    def stop(self):
        self.done.set()
        self.thread.join(10)
        super().stop()


class Redis(Paced):
    """redis-server, with values of a page"""

    def __init__(self, tmp, exponent=1.0):
        self.EXPONENT = exponent
        super().__init__("redis", *redis_load.server(tmp))

    def begin(self):
        self.client = redis_load.Client(self.KEYS)

    def ask(self, keys):
        for key in keys:
            self.client.get([key])


class Lines(Paced):
    """A program that answers each line with one line; its first line says that it is ready"""
    RATE, BATCH = 150, 5

    def __init__(self, name, *command):
        super().__init__(name, *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def begin(self):
        self.p.stdout.readline()

    def ask(self, keys):
        for key in keys:
            self.p.stdin.write(b"%s\n" % str(self.line(key)).encode())
            self.p.stdin.flush()
            self.answer()

    def line(self, key):
        return key

    def answer(self):
        self.p.stdout.readline()


class Sqlite(Lines):
    """sqlite with a table in memory, rows of 2 KiB by their keys"""

    def __init__(self, tmp):
        super().__init__("sqlite", "python3", "-c", """
import sqlite3, sys
db = sqlite3.connect(":memory:")
db.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)")
db.executemany("INSERT INTO t VALUES (?, ?)", ((i, 250 * ("%%08d" %% i)) for i in range(%d)))
print("ready", flush=True)
for line in sys.stdin:
    print(len(db.execute("SELECT v FROM t WHERE k = ?", (int(line),)).fetchone()[0]), flush=True)
""" % self.KEYS)


class Json(Lines):
    """python3 with parsed JSON, which prints documents of it"""
    KEYS = 8000

    def __init__(self, tmp):
        super().__init__("json", "python3", "-c", """
import json, sys
docs = [json.loads(json.dumps([{"id": i * 1000 + k, "name": "n%%d" %% (i + k)} for k in range(12)]))
        for i in range(%d)]
print("ready", flush=True)
for line in sys.stdin:
    print(len(json.dumps(docs[int(line)])), flush=True)
""" % self.KEYS)


class Gawk(Lines):
    """gawk with an array of strings of 2 KiB; in bytes, as it keeps a wide copy of other strings it
    cuts"""

    def __init__(self, tmp):
        super().__init__("gawk", "gawk", "-b", """
BEGIN {
    for (i = 0; i < %d; i++)
        a[i] = sprintf("%%2000d", i)
    print "ready"; fflush()
}
{ print substr(a[$1], 1990); fflush() }""" % self.KEYS)


class Git(Lines):
    """git cat-file --batch, of blobs of 3 KiB in one pack, which it maps: pages of a file"""
    KEYS = 6000

    def __init__(self, tmp):
        repository = os.path.join(SLOW_FS, "repository")
        subprocess.run(["git", "init", "-q", "--bare", repository], check=True)
        marks, rng = os.path.join(tmp, "marks"), random.Random(2)
        blobs = b"".join(b"blob\nmark :%d\ndata 3000\n%s\n" % (i + 1, rng.randbytes(3000))
                         for i in range(self.KEYS))
        subprocess.run(["git", "-C", repository, "-c", "core.compression=0", "fast-import", "--quiet", "--export-marks=" + marks],
                       input=blobs, check=True)
        self.ids = [line.split()[1] for line in read(marks).splitlines()]
        charge_to_next()
        super().__init__("git", "git", "-C", repository, "cat-file", "--batch")

    def begin(self):
        for key in range(self.KEYS):
            self.ask([key])

    def line(self, key):
        return self.ids[key]

    def answer(self):
        size = int(self.p.stdout.readline().split()[2])
        self.p.stdout.read(size + 1)


PROGRAMS = {"redis": Redis, "sqlite": Sqlite, "json": Json, "gawk": Gawk, "git": Git}

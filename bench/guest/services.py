# SPDX-License-Identifier: GPL-2.0
"""Services of several processes in a cgroup: their working set by wsmon, and bounds for it."""
import contextlib
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time

import redis_load
import wsmontest as w
from cgroup_test import ROOT, Cgroup, attach
from device_test import Session
from guest.groups import mount
from guest.machine import read, row, say, write

TMP = tempfile.mkdtemp()
POSTGRES = "/usr/lib/postgresql/15/bin/"
TOP = os.getcwd()
# a request uses a random tenth of the memory that the parent filled before it forked
SERVER = """
import os, random, socketserver
things = [os.urandom(100) for i in range(400000)]
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        first = random.randrange(9) * 40000
        self.wfile.write(b"%d\\n" % sum(len(x) for x in things[first:first + 40000]))
server = socketserver.TCPServer(("127.0.0.1", 7778), Handler)
server.socket.listen(64)
for i in range(8):
    if not os.fork():
        server.serve_forever()
print("ready", flush=True)
os.wait()
"""


def start(*command, **more):
    return subprocess.Popen(command, preexec_fn=lambda: attach("test"),
                            stderr=subprocess.DEVNULL, **more)


def repeat(what, pause):
    """Do it again and again, in the background, until the service is killed."""
    def loop():
        with contextlib.suppress(OSError):
            while True:
                what()
                time.sleep(pause)
    threading.Thread(target=loop, daemon=True).start()


def postgres():
    """50 connections, 128 MiB of shared_buffers, 200 transactions a second"""
    os.chmod(TMP, 0o777)
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    data = ["-h", TMP, "-U", "postgres"]
    subprocess.run([*as_user, POSTGRES + "initdb", "-D", TMP + "/db", "-A", "trust", "-N", "-U",
                    "postgres"], check=True, stdout=subprocess.DEVNULL, cwd=TMP)
    start(*as_user, POSTGRES + "postgres", "-D", TMP + "/db", "-k", TMP, "-c", "fsync=off", "-c",
          "shared_buffers=128MB", "-c", "listen_addresses=", stdout=subprocess.DEVNULL, cwd=TMP)
    w.wait_for("postgres", lambda: not subprocess.run(
        [POSTGRES + "pg_isready", "-q", *data]).returncode, 60)
    subprocess.run([POSTGRES + "pgbench", "-i", "-q", "-s", "8", *data, "postgres"],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.Popen([POSTGRES + "pgbench", "-c", "50", "-j", "1", "-T", "100000", "-R", "200",
                      *data, "postgres"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def python():
    """A server of Python with 8 workers that its parent forked, 40 requests a second"""
    assert start(sys.executable, "-c", SERVER, stdout=subprocess.PIPE).stdout.readline()

    def ask():
        with socket.create_connection(("127.0.0.1", 7778)) as s:
            s.recv(100)
    repeat(ask, 0.025)


def make():
    """make -j2 of wsmo"""
    subprocess.run(["cp", "-r", "Makefile", "tools", "include", "scripts", "third_party",
                    "module", TMP], check=True, cwd=TOP)
    start("sh", "-c", "while make -s wsmo; do rm -r out; done", cwd=TMP,
          stdout=subprocess.DEVNULL)


def redis():
    """150 MiB, a quarter of it requested, and a tenth set again each second; BGSAVE all the time,
    each taking 20 s"""
    start(*redis_load.server(TMP), "--rdb-key-save-delay", "500", stdout=subprocess.DEVNULL)
    keys = 40000
    client = redis_load.Client(keys)

    def ask():
        client.get(random.sample(range(keys // 4), 500))
        client.ask([("SET", "key:%d" % key, redis_load.VALUE)
                    for key in random.sample(range(keys), 200)])
    repeat(ask, 0.05)
    saver = redis_load.Client(0)
    repeat(lambda: saver.ask([("BGSAVE",)]), 1)


SERVICES = {"postgres": postgres, "python": python, "make": make, "redis": redis}


def pids():
    return read(ROOT + "/test/cgroup.procs").split()


def mappings(pid):
    """(identity of the memory, is it shared by name, {field: bytes}) of each mapping"""
    what = fields = None
    try:
        for line in read("/proc/%s/smaps" % pid).splitlines():
            words = line.split()
            if not words[0].endswith(":"):
                if fields:
                    yield what, fields
                named = words[4] != "0"
                # private memory since a fork is at the same place
                what = (words[3], words[4], words[2]) if named else words[0].split("-")[0]
                fields = {"named": named, "shmem": named and "s" in words[1]}
            elif words[-1] == "kB":
                fields[words[0]] = int(words[1]) << 10
        if fields:
            yield what, fields
    except OSError:
        pass


def bounds(seconds):
    """Bounds of the memory that members use together; the sum over them; PSS

    Pages mapped by one process count once in any case. Of other pages at least those
    used by one process count, and at most all that are there, or mapped.
    """
    for pid in pids():
        try:
            write("/proc/%s/clear_refs" % pid, 1)
        except OSError:
            pass
    time.sleep(seconds)
    found = {}
    for pid in pids():
        for what, f in mappings(pid):
            found.setdefault(what, []).append(f)
    low = high = total = pss = 0
    for parts in found.values():
        used = [f["Referenced:"] for f in parts]
        there = sum(f["Pss:"] for f in parts)
        low += max(max(used), sum(max(0, f["Referenced:"] - f["Shared_Clean:"] -
                                      f["Shared_Dirty:"]) for f in parts))
        # all mappers of memory without a file, or of shared memory, are in the cgroup
        only_here = not parts[0]["named"] or parts[0]["shmem"]
        high += min(sum(used), there if only_here else max(f["Size:"] for f in parts))
        total += sum(used)
        pss += there
    return {"low": low, "high": high, "sum": total, "pss": pss}


def one(name, todo):
    with Cgroup():
        SERVICES[name]()
        time.sleep(5)
        for n in range(todo["rounds"]):
            began, found = time.monotonic(), []
            while time.monotonic() < began + todo["seconds"]:
                found.append(bounds(todo["window"]))
            with Session("window_us=%d cgroup=/test" % (todo["window"] * 1000000)) as s:
                s.read(todo["seconds"] + todo["window"])
                s.put("stop")
                records = s.read_all()
            groups = [r for r in records if r.type == "GROUP"]
            # the first estimates are of less than a window
            whole = records[0].time_ns + (todo["window"] + 1) * 1000000000
            sizes = [{"bytes": r.bytes, "low": r.low, "high": r.high} for r in records
                     if r.type == "TOTAL" and r.cls == "all" and r.time_ns > whole]
            say("%s: %d processes, %s" % (name, groups[-1].members, found[-1]))
            row(service=name, members=max(r.members for r in groups),
                missed=sum(r.missed for r in groups), bounds=found,
                sizes=sizes)


def main(todo):
    w.load()
    mount()
    for name in todo["services"] or SERVICES:
        one(name, todo)

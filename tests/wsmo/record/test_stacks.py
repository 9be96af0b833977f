# SPDX-License-Identifier: GPL-2.0
"""wsmo record takes call stacks of real processes, and marks."""
import os
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

import records as r
import test_mem
from command import TOP, WSMO, Directory, content, fails, ok, run, skip
from fakemodule import now
from fuse import Deaf
from recorder import Program, args, fake, kinds, peaks, record, start
from test_names import inflate

PTRACE_SEIZE = 0x4206


def refused(result, name, words):
    text = result.stderr.decode()
    ok(result.returncode == 2 and words in text and text.startswith("wsmo: "), name, text)


def stacks(d):
    """The STACK records of the file."""
    found = []
    for kind, _, body in r.parse(d.read("data")):
        if kind != r.STACK:
            continue
        names = "pid tid reason number stopped_ns flags error nr threads".split()
        s = dict(zip(names, struct.unpack_from("<4IQ4I", body)))
        s["comm"] = body[40:56].split(b"\0")[0]
        s["pc"] = struct.unpack_from("<%dQ" % s["nr"], body, 56)
        found.append(s)
    return found


def one(t, pid):
    return r.peak(t, pid, 1)


def traced_by(tid):
    with open("/proc/%d/status" % tid) as f:
        text = dict(line.split(":", 1) for line in f)
    return int(text["TracerPid"]), text["State"].strip()[0]


def test_single():
    for options in ("-O2",), ("-O0",), ("-O2", "-fomit-frame-pointer", "-static"):
        with fake(script=peaks(one)) as (d, m), Program(d, 0, 3, options=options) as p:
            res = record(d, m, p.pid)
            found = stacks(d)
            names = p.functions(found[0]) if found else []
            want = ["work_here"] + 4 * ["descend"] + ["main"]
            ok(res.returncode == 0 and len(found) == 1 and names[:6] == want and
               not found[0]["flags"], "the stack of a thread (gcc %s)" % " ".join(options),
               names, found, res.stderr)
            s = found[0]
            ok((s["pid"], s["tid"], s["reason"], s["number"], s["error"],
                s["threads"], s["comm"]) == (p.pid, p.pid, 0, 1, 0, 1, b"stacked"),
               "  and what is beside it", s)
            ok(0 < s["stopped_ns"] < 10**9, "  it tells how long it was stopped", s)
            ok(traced_by(p.pid) == (0, "R"), "  and it runs on", traced_by(p.pid))
            ok(b"took 1 call stacks; the longest stop of a thread was" in res.stderr,
               "  the closing words", res.stderr)


VFORK = """
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	for (;;) {
		if (!vfork()) {
			usleep(900000);
			_exit(0);
		}
		wait(NULL);
	}
}
"""


def test_vfork():
    """A thread waits for its child: no stop is the reason"""
    with fake(script=peaks(one)) as (d, m):
        d.write("vfork.c", VFORK.encode())
        subprocess.run(["gcc", "-w", "-o", d.path("vfork"), d.path("vfork.c")], check=True)
        with subprocess.Popen([d.path("vfork")], start_new_session=True) as p:
            time.sleep(0.3)
            record(d, m, p.pid)
            os.killpg(p.pid, signal.SIGKILL)
        found = stacks(d)
        ok(found and not found[0]["error"] and found[0]["stopped_ns"] < 4 * 10**8, "waiting is no stop", found)


def test_threads():
    with fake(script=peaks(one)) as (d, m), Program(d, 40) as p:
        res = record(d, m, p.pid)
        found = stacks(d)
        ok(len(found) == 16 and found[0]["tid"] == p.pid and
           {s["threads"] for s in found} == {41}, "no more than 16 threads, the running one first",
           found, res.stderr)
        ok(all("wait_here" in p.functions(s) and "waiter" in p.functions(s)
               for s in found[1:]), "the others", found[1:3])
    with fake(script=peaks(one)) as (d, m), Program(d, 40) as p:
        record(d, m, p.pid, "--stack-threads", "256")
        ok(len({s["tid"] for s in stacks(d)}) == 41, "--stack-threads", len(stacks(d)))
    for bad in "0", "257", "x", "-1":
        refused(run("record", "--stack-threads", bad, "-p", "1"), "--stack-threads " + bad,
                "not a number from 1 to 256")


def test_no_leader():
    """The main thread has exited: stacks of the others are taken, and mappings have names."""
    with fake(script=peaks(one)) as (d, m), test_mem.processes(test_mem.NO_LEADER) as (pid,):
        res = record(d, m, pid)
        found = stacks(d)
        ok(len(found) == 1 and found[0]["tid"] != pid and not found[0]["error"] and found[0]["nr"] > 3,
           "a process without its main thread", found, res.stderr)


def test_deep():
    with fake(script=peaks(one)) as (d, m), Program(d, 0, 1000, options=("-O0",)) as p:
        record(d, m, p.pid)
        found = stacks(d)[0]
        ok(found["nr"] == 256 and found["flags"] == 1 and
           p.functions(found)[:2] == ["work_here", "descend"],
           "a deep stack is cut, and tells so", found["nr"], found["flags"])


def test_which_peaks():
    with fake(script=peaks(
            lambda t, pid: r.peak(t, pid, 1, sign=-1),
            lambda t, pid: r.peak(t, pid, 2, edge=1),
            lambda t, pid: r.peak(t, pid, 3, start_ns=5 * 10**9),
            lambda t, pid: r.peak(t, pid, 4, group=2, start_ns=5 * 10**9),
            lambda t, pid: r.peak(t, pid, 5, start_ns=5 * 10**9 + 10**8),
            lambda t, pid: r.peak(t, pid, 6, start_ns=6 * 10**9),
    )) as (d, m), Program(d) as p:
        res = record(d, m, p.pid)
        ok([s["number"] for s in stacks(d)] == [3, 6],
           "at the start of peaks upwards, once for those at the same time, not too often",
           stacks(d))
        ok(b"1 peaks and marks have no stacks: they came too soon" in res.stderr,
           "which is told", res.stderr)
    with fake(script=peaks(
            lambda t, pid: r.peak(t, pid, 5, start_ns=5 * 10**9 + 10**8),
            lambda t, pid: r.peak(t, pid, 6, start_ns=6 * 10**9),
            lambda t, pid: r.peak(t, pid, 7, start_ns=15 * 10**9 + 10**8),
    )) as (d, m), Program(d) as p:
        record(d, m, p.pid, "--stack-interval", "10s")
        ok([s["number"] for s in stacks(d)] == [5, 7], "--stack-interval", stacks(d))
    with fake(script=peaks(one)) as (d, m), Program(d) as p:
        res = record(d, m, p.pid, "--no-stacks")
        ok(not stacks(d) and r.PEAK in kinds(d) and b"stack" not in res.stderr,
           "--no-stacks", kinds(d), res.stderr)


def test_command():
    """Stacks of the command that record runs."""
    with fake(script=peaks(one)) as (d, m):
        with Program(d):
            pass
        res = run(*args(d, m, "--", "timeout", "1", d.path("stacked")))
        ok(len(stacks(d)) == 1 and stacks(d)[0]["comm"] == b"timeout" and
           stacks(d)[0]["nr"] > 2, "of a command", stacks(d), res.stderr)


def test_debugged():
    """Another process debugs it: left alone, with one message."""
    with fake(script=peaks(one, lambda t, pid: r.peak(t, pid, 2, start_ns=t + 10**10))
              ) as (d, m), Program(d) as p:
        tracer = subprocess.Popen(["python3", "-c", """import ctypes, sys, time
print(ctypes.CDLL(None).ptrace(%d, %d, None, None), flush=True)
time.sleep(60)""" % (PTRACE_SEIZE, p.pid)], stdout=subprocess.PIPE)
        ok(tracer.stdout.readline() == b"0\n", "a debugger is attached")
        res = record(d, m, p.pid)
        found = stacks(d)
        ok(res.returncode == 0 and [(s["error"], s["nr"]) for s in found] == 2 * [(1, 0)] and
           res.stderr.count(b"no stack of thread %d" % p.pid) == 1 and
           b"a debugger is attached" in res.stderr and
           b"2 stacks could not be taken" in res.stderr,
           "it is left alone, which is told once", found, res.stderr)
        tracer.kill()
        tracer.wait()
        tracer.stdout.close()


def test_gone():
    """The process ended before its turn: no message."""
    with fake(script=lambda m, pids: (
            os.kill(pids[0], signal.SIGKILL), time.sleep(0.2),
            peaks(one)(m, pids))) as (d, m), Program(d) as p:
        res = record(d, m, p.pid)
        ok(res.returncode == 0 and [s["error"] for s in stacks(d)] in ([3], []) and
           b"no stack of" not in res.stderr, "a process that is gone", stacks(d), res.stderr)


def test_stopped():
    """A stopped process has a stack, and stays stopped."""
    with fake(script=peaks(one)) as (d, m), Program(d, 1) as p:
        os.kill(p.pid, signal.SIGSTOP)
        time.sleep(0.1)
        record(d, m, p.pid)
        found = stacks(d)
        ok(len(found) == 2 and "work_here" in p.functions(
            [s for s in found if s["tid"] == p.pid][0]) and
           traced_by(p.pid) == (0, "T"), "a stopped process stays stopped", found,
           traced_by(p.pid))


def stack_readers(pid):
    """Child processes of a recorder that are not readers of /proc files"""
    lines = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(pid)], stdout=subprocess.PIPE, text=True).stdout
    return [line.split()[0] for line in lines.splitlines() if "wsmo-reader" not in line]


def test_killed():
    """wsmo and all its processes are killed again and again: no target stays stopped."""
    def storm(m, pids):
        m.begin(pids)
        for i in range(100000):
            m.send(r.peak(now(), pids[0], i + 1, start_ns=now()))
            if m.stop or m.asked(0.0005) is not None:
                return

    for victim in "wsmo", "wsmo-stack":
        with fake(script=storm) as (d, m), Program(d, 30) as p:
            w = start(d, m, "-p", str(p.pid), "--stack-interval", "1us")
            m.running.wait(10)
            time.sleep(1)
            if victim == "wsmo":
                w.kill()
            else:
                children = stack_readers(w.pid)
                ok(len(children) == 1, "wsmo-stack runs", children)
                os.kill(int(children[0]), signal.SIGKILL)
            deadline = time.time() + 10
            tids = [int(t) for t in os.listdir("/proc/%d/task" % p.pid)]
            states = None
            while time.time() < deadline:
                states = {traced_by(t) for t in tids}
                if states <= {(0, "R"), (0, "S")}:
                    break
                time.sleep(0.05)
            ok(states <= {(0, "R"), (0, "S")} and len(tids) == 31,
               "%s is killed: no thread stays stopped" % victim, states)
            if victim == "wsmo-stack":
                w.send_signal(signal.SIGINT)
                _, err = w.communicate(timeout=20)
                ok(b"wsmo-stack ended; no stacks from now on" in err and
                   kinds(d)[-1] != r.STACK, "and recording goes on without", err)
                ok(w.returncode == 1 and b"no end record" in err,
                   "an end that the module does not tell is a failure", w.returncode)


def test_stuck():
    """A thread that does not stop: it waits for a child of vfork()."""
    with fake(script=peaks(one)) as (d, m):
        source = d.write("vfork.c", b"""#include <stdio.h>
#include <unistd.h>
int main(void)
{
	if (!vfork()) {
		write(1, "ready\\n", 6);
		sleep(60);
		_exit(0);
	}
}
""")
        subprocess.run(["gcc", "-o", d.path("vfork"), source], check=True)
        p = subprocess.Popen([d.path("vfork")], stdout=subprocess.PIPE,
                             start_new_session=True)
        p.stdout.readline()
        began = time.time()
        res = record(d, m, p.pid)
        found = stacks(d)
        ok(time.time() - began < 15 and len(found) == 1 and found[0]["error"] == 110 and
           b"did not stop in time" in res.stderr, "a thread that does not stop", found, res.stderr)
        ok(traced_by(p.pid) == (0, "D"), "it is let go", traced_by(p.pid))
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        p.stdout.close()


def test_unanswered():
    """A program on a file system that does not answer: a process waiting for it cannot be
    killed."""
    with open(shutil.which("sleep"), "rb") as sleep:
        content = sleep.read()
    with fake(script=peaks(one)) as (d, m), Directory() as mount, Deaf(mount.name, content) as f:
        if not f.works:
            return skip("stacks of a program whose server does not answer", "no FUSE, or not root")
        p = subprocess.Popen([f.path, "60"])
        time.sleep(0.2)
        f.deaf()
        late = threading.Timer(30, f.server.kill)
        late.start()
        res = record(d, m, p.pid)
        ok(late.is_alive() and res.returncode == 0 and b"did not end in time" in res.stderr and r.END in kinds(d),
           "files that do not answer do not hold up the end", res, late.is_alive(), kinds(d))
        late.cancel()
        p.kill()
    p.wait()


def test_marks():
    with fake() as (d, m), Program(d, 1) as p:
        w = start(d, m, "-p", str(p.pid), "--mark-at", "0.8,0.2,3600")
        m.running.wait(10)
        time.sleep(0.5)
        res = run("mark", "--debugfs", m.dir.name, "load", "begins \N{LATIN SMALL LETTER E WITH ACUTE}")
        ok(not res.returncode and not res.stdout and not res.stderr, "wsmo mark", res)
        time.sleep(0.6)
        res = run("mark", "--debugfs", m.dir.name, "x" * 255)
        ok(not res.returncode, "the longest text", res)
        refused(run("mark", "--debugfs", m.dir.name, "x" * 256), "a longer one", "too long")
        refused(run("mark", "--debugfs", m.dir.name, ""), "an empty one", "needs a text")
        if os.geteuid() == 0:
            os.chmod(m.dir.name, 0o755)
            res = run("mark", "--debugfs", m.dir.name, "x", user=65534,
                      env={"ASAN_OPTIONS": "detect_leaks=0"})
            ok(res.returncode == 1 and b"not permitted" in res.stderr, "another user", res)
        else:
            skip("marks of another user", "not root")
        w.send_signal(signal.SIGINT)
        _, err = w.communicate(timeout=20)
        ok(b"1 of 3 marks of --mark-at were after the end" in err, "a late one is told", err)
        found = [(struct.unpack_from("<I", body)[0], body[8:].split(b"\0")[0])
                 for kind, _, body in r.parse(d.read("data")) if kind == r.MARK]
        ok(found == [(1, b"at 200 ms"), (2, b"load begins \xc3\xa9"), (3, b"at 800 ms"),
                     (4, b"x" * 255)], "marks in the file", found)
        ok(sorted((s["reason"], s["number"]) for s in stacks(d)) ==
           [(1, n) for n in (1, 1, 2, 2, 3, 3, 4, 4)], "with stacks",
           stacks(d))
    fails(run("mark", "--debugfs", "/nowhere", "x"), "no module", "'wsmo check' says why")
    refused(run("record", "--mark-at", "1,x", "-p", "1"), "a bad time", "not a time")
    refused(run("record", "--mark-at", ",".join(65 * ["1"]), "-p", "1"), "too many", "64 marks")


def test_by_hand():
    res = subprocess.run([WSMO + "-stack"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    ok(res.returncode == 2 and b"not to be run by hand" in res.stderr, "wsmo-stack by hand", res)


def test_swollen():
    """A library of 1 MiB with debug information of 1 GiB: wsmo-stack does not allocate that
    much."""
    program = os.path.join(TOP, "out/bin/wsmo-stack")
    with Directory() as d:
        with open(d.path("lib.c"), "w") as f:
            f.write("long hold(void)\n{\n\tlong r = 34;\n\n"
                    "\tasm volatile(\"syscall\" : \"+a\"(r) : : \"rcx\", \"r11\", \"memory\");\n\treturn r + 1;\n}\n")
        with open(d.path("main.c"), "w") as f:
            f.write("long hold(void);\nint main(void) { return hold(); }\n")
        # without unwind tables outside of the debug information, which is read then
        subprocess.run(["gcc", "-g", "-O2", "-fno-asynchronous-unwind-tables", "-shared", "-fPIC", "-o", "lib.so", "lib.c"],
                       check=True, cwd=d.name)
        subprocess.run(["gcc", "-o", "main", "main.c", "./lib.so"], check=True, cwd=d.name)
        inflate(d.path("lib.so"), b".debug_str", 1 << 30)
        with subprocess.Popen(["./main"], cwd=d.name) as p:
            while not content("/proc/%d/syscall" % p.pid).startswith(b"34 "):
                time.sleep(0.1)
            ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            stack = subprocess.Popen([program], stdin=its)
            its.close()
            ours.send(struct.pack("<4I", p.pid, 1, 0, 1))
            answer = ours.recv(1 << 16)
            memory = content("/proc/%d/status" % stack.pid)
            ours.close()
            p.kill()
        peak = int(memory.split(b"VmHWM:")[1].split()[0])
        ok(stack.wait() == 0 and peak < 64 << 10 and len(answer) > 72,
           "a library that swells: %d KiB" % peak, len(answer))


# Mappings of two files in turn
IN_TURN = r"""#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd[] = { open(argv[0], O_RDONLY), open(argv[1], O_RDONLY) }, i;

	for (i = 0; i < atoi(argv[2]); i++)
		if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd[i % 2], 0) == MAP_FAILED)
			return 1;
	return pause();
}
"""


def test_many_files():
    """A process with 64000 mappings of files: wsmo-stack does not take half a minute for its
    stack."""
    program = os.path.join(TOP, "out/bin/wsmo-stack")
    with Directory() as d:
        with open(d.path("main.c"), "w") as f:
            f.write(IN_TURN)
        subprocess.run(["gcc", "-o", "main", "main.c"], check=True, cwd=d.name)
        for nr, calls in (4000, 2), (64000, 1):
            with subprocess.Popen(["./main", "main.c", str(nr)], cwd=d.name) as p:
                while not content("/proc/%d/syscall" % p.pid).startswith(b"34 "):
                    time.sleep(0.1)
                ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                stack = subprocess.Popen([program], stdin=its)
                its.close()
                ours.settimeout(60)
                ours.send(struct.pack("<4I", p.pid, 1, 0, 1))
                answer = ours.recv(1 << 16)
                used = sum(map(int, content("/proc/%d/stat" % stack.pid).rsplit(b")", 1)[1].split()[11:13]))
                ours.close()
                p.kill()
            ok(stack.wait() == 0 and used < 5 * os.sysconf("SC_CLK_TCK") and len(answer) >= 72 + 8 * calls,
               "%d mappings: a stack in %d ticks" % (nr, used), len(answer))


def test_ready():
    """wsmo-stack runs from the beginning, as a peak may be short."""
    for options, want in ([], 1), (["--no-stacks"], 0):
        with fake() as (d, m), Program(d) as p:
            w = start(d, m, "-p", str(p.pid), *options)
            m.running.wait(10)
            time.sleep(1)
            children = stack_readers(w.pid)
            ok(len(children) == want, "wsmo-stack runs before a peak: %d" % want, children)
            w.send_signal(signal.SIGINT)
            w.communicate(timeout=20)


def test_missing():
    """wsmo was copied without its helpers."""
    with fake(script=peaks(one)) as (d, m), Program(d) as p, Directory() as copy:
        subprocess.run(["cp", WSMO, copy.path("wsmo")], check=True)
        res = subprocess.run([copy.path("wsmo"), *args(d, m, "-p", str(p.pid))],
                             stderr=subprocess.PIPE)
        ok(res.returncode == 0 and b"wsmo-stack: No such file" in res.stderr and
           res.stderr.count(b"no stacks from now on") == 1 and kinds(d)[-1] == r.END,
           "without wsmo-stack it records, and tells", res.stderr)

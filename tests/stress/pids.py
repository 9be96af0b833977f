# SPDX-License-Identifier: GPL-2.0
"""A target is a process, not a number: numbers are used again, kept, passed on."""
import errno
import os
import random
import subprocess
import time

import stress as s
import wsmon
import wsmontest as w

STARTED, EXECUTED = 0, 1          # flags of TARGET records
SLOW = ("sample_us=1000000 aggr_us=1000000 update_us=1000000 window_us=1000000 "
        "min_regions=10 max_regions=2000")


def born_as(number):
    """A process with this number, which must be free"""
    for _ in range(100):
        s.write("/proc/sys/kernel/ns_last_pid", number - 1)
        process = subprocess.Popen(["sleep", "1000"])
        if process.pid == number:
            return process
        # another process was faster
        end(process)
    raise AssertionError("never got pid %d" % number)


def end(process):
    process.kill()
    process.wait()


def one_exit(reader, least=1):
    """One target began and ended. Return: how often it executed a program.

    least: 0 if it may have ended before the first round, which reports it."""
    w.wait_for("idle", w.idle, 20)
    assert "gone" in w.get("status") and w.get("target") == "\n"
    assert reader.process.wait(s.PATIENCE) == 0
    with open(reader.PATH, "rb") as f:
        flags = [r.flags for r in wsmon.read(f)[1] if r.type == "TARGET"]
    counts = reader.finish()
    assert counts[s.EXIT] == 1 and counts[s.END] == 1, counts
    assert least <= flags.count(STARTED) <= 1, flags
    return flags.count(EXECUTED)


def samples(process):
    """A session on the process works."""
    s.start(process.pid)
    w.wait_for("a working set", lambda: [
        line["pid"] for line in w.lines("wss") if line["class"] == "all"
        ] == [str(process.pid)])
    s.rounds_go_on()
    s.stop()


def replace_unseen(process):
    """Another process gets its number before the next round. Return: the process, and
    whether it was in time."""
    before = s.rounds()
    end(process)
    process = born_as(process.pid)
    return process, s.rounds() == before


def used_again_between_two_rounds():
    process = subprocess.Popen(["sleep", "1000"])
    try:
        for _ in range(10):
            reader = s.Reader()
            s.start(process.pid, attrs=SLOW)
            w.wait_for("a round", s.rounds)
            process, unseen = replace_unseen(process)
            assert not one_exit(reader), "followed into another process"
            samples(process)
            if unseen:
                return
        raise AssertionError("a round came between each time")
    finally:
        end(process)


def used_again_next_to_another():
    """The other target goes on; the new process is no target."""
    with w.sleeper() as other:
        process = subprocess.Popen(["sleep", "1000"])
        try:
            s.start(process.pid, other.pid, attrs=SLOW)
            w.wait_for("a round", s.rounds)
            process, _ = replace_unseen(process)
            rounds = s.rounds()
            w.wait_for("two rounds", lambda: s.rounds() > rounds + 1)
            assert w.get("target") == "%d\n" % other.pid, w.get("target")
            assert {x["pid"] for x in w.lines("regions")} == {str(other.pid)}
            assert w.running()
            s.stop()
        finally:
            end(process)


def used_again_and_again():
    """At any moment of a fast session; the new process is the next target."""
    process = subprocess.Popen(["sleep", "1000"])
    n, stop = 0, time.monotonic() + s.SECS
    try:
        while n < 3 or time.monotonic() < stop:
            reader = s.Reader()
            s.start(process.pid)
            time.sleep(random.random() / 20)
            end(process)
            process = born_as(process.pid)
            assert not one_exit(reader, least=0)
            n += 1
    finally:
        end(process)
    s.note("%d processes, one number" % n)


def kept_by_a_group():
    """The process has ended, but its number is still that of its process group."""
    leader = subprocess.Popen(["sh", "-c", "sleep 1000 & echo $!; wait"],
                              stdout=subprocess.PIPE, start_new_session=True)
    member = int(leader.stdout.readline())
    try:
        reader = s.Reader()
        s.start(leader.pid)
        s.rounds_go_on()
        end(leader)
        one_exit(reader)
        assert os.getpgid(member) == leader.pid
        assert w.put("target", "%d\n" % leader.pid) == errno.ESRCH
    finally:
        end(leader)
        os.kill(member, 9)


def passed_on_to_another_thread():
    """A thread that executes a program takes over the main thread's number."""
    code = ("import threading\n"
            "time.sleep(0.5)\n"
            "threading.Thread(target=os.execv, args=('/bin/sleep', "
            "['sleep', '1000'])).start()\n"
            "time.sleep(1000)")
    with w.Target(code) as target:
        reader = s.Reader()
        s.start(target.pid)
        w.wait_for("the program", lambda: s.read(
            "/proc/%d/comm" % target.pid) == "sleep\n")
        s.rounds_go_on()
        assert w.get("target") == "%d\n" % target.pid
        w.wait_for("its working set", lambda: w.get("wss"))
        target.kill()
        # a round during the exec sees the new memory, but still the old name
        assert one_exit(reader) in (1, 2)


def of_another_namespace():
    """Pids are those of the namespace of the writer and the reader."""
    inner = ("echo $$ >%starget && cat %starget" % (w.DIR, w.DIR))
    with s.Churn("map", 1000) as churn:
        s.start(churn.pid)
        seen = s.run("unshare", "--pid", "--fork", "cat", w.DIR + "target")
        assert seen == "0", "a process that cannot be seen is seen: " + seen
        seen = s.run("unshare", "--pid", "--fork", "sh", "-c", inner)
        assert seen == "1", seen
        w.wait_for("idle", w.idle)


TESTS = [used_again_between_two_rounds, used_again_next_to_another,
         used_again_and_again, kept_by_a_group, passed_on_to_another_thread,
         of_another_namespace]

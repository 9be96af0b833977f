# SPDX-License-Identifier: GPL-2.0
"""Runs each program under wsmo record, polls its mappings, and gives the times to the
emulator (bench/programs/oracle_plugin.c); a row for each program."""
import ctypes
import os
import re
import shutil
import subprocess
import time

import wsmontest as w
from guest import machine
from guest.machine import read, row, write

TRACING = "/sys/kernel/tracing/"
COMMANDS = 0x6d6f6e000000       # as in the plugin
SYNC, ON, OFF = 0, 64, 128
POLL = 0.05


def commands():
    """A function that gives the plugin a command."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    # readable, private, anonymous, fixed
    assert libc.mmap(COMMANDS, 4096, 1, 0x32, -1, 0) == COMMANDS, ctypes.get_errno()
    return lambda command: ctypes.c_ubyte.from_address(COMMANDS + command).value


def sync(command):
    """Pairs of times around the plugin's own time stamps."""
    pairs = []
    for _ in range(20):
        before = time.monotonic_ns()
        command(SYNC)
        pairs.append((before, time.monotonic_ns()))
    return pairs


def trace_moves():
    write(TRACING + "trace_clock", "mono")
    for edge in "enter", "exit":
        write(TRACING + "events/syscalls/sys_%s_mremap/enable" % edge, "1")


def moves_of(pid):
    """[(time_ns, from, to, bytes)]: memory that mremap(2) moved since the last call"""
    moves, calls = [], {}
    for line in read(TRACING + "trace").splitlines():
        call = re.search(r"-(\d+) .* (\d+)\.(\d{6}): sys_mremap(?:\(addr: (\w+), "
                         r"old_len: (\w+), new_len: (\w+)| -> 0x(\w+))", line)
        if not call or int(call[1]) != pid:
            continue
        if not call[7]:
            calls[pid] = [int(x, 16) for x in call.groups()[3:6]]
        elif pid in calls:
            (old, size, new_size), new = calls.pop(pid), int(call[7], 16)
            # an address, no error
            if new != old and new < 1 << 47:
                moves.append((int(call[2] + call[3]) * 1000, old, new, min(size, new_size)))
    write(TRACING + "trace", "")
    return moves


def child_of(pid):
    children = read("/proc/%d/task/%d/children" % (pid, pid)).split()
    return int(children[0]) if children else None


def ranges(pid):
    """The accessible ranges of /proc/PID/maps"""
    lines = [line.split(None, 5) for line in read("/proc/%d/maps" % pid).splitlines()]
    return [[*(int(x, 16) for x in line[0].split("-")), line[5].strip() if line[5:] else ""]
            for line in lines if line[1] != "---p" and line[-1] != "[vsyscall]"]


def poll(recorder, pid, end):
    """[(time_ns, mappings)], one for each change, until the recorder ends"""
    polls, checks = [], []
    while recorder.poll() is None and time.monotonic() < end:
        try:
            pid = pid or child_of(recorder.pid)
            now, maps = time.monotonic_ns(), ranges(pid) if pid else []
        except (OSError, ProcessLookupError):
            maps = []
        if maps:
            checks.append(now)
            if not polls or polls[-1][1] != maps:
                polls.append((now, maps))
        time.sleep(POLL)
    return pid, polls, checks


def record(program, command, out):
    data = os.path.join("/tmp", program["name"] + ".data")
    options = ["-q", "--no-stacks", "-o", data, "-d", str(program["seconds"]), *program["options"]]
    others = [subprocess.Popen(other, stdout=subprocess.DEVNULL) for other in program["before"]]
    pid = None
    if program["pid"]:
        pid = others[0].pid
        time.sleep(program["settle"])
    command(ON)
    syncs = sync(command)
    recorder = subprocess.Popen(["wsmo", "record", *options, *(
        ["-p", str(pid)] if pid else ["--", *program["command"]])], stdout=subprocess.DEVNULL)
    others += [subprocess.Popen(other, stdout=subprocess.DEVNULL) for other in program["beside"]]
    # do not wait for a program that takes longer than its recording
    pid, polls, checks = poll(recorder, pid, time.monotonic() + program["seconds"] + 1)
    if recorder.poll() is None and not program["pid"]:
        os.kill(pid, 9)
    recorder.wait()
    syncs += sync(command)
    command(OFF)
    for other in others:
        other.kill()
        other.wait()
    shutil.copy(data, out)
    return {"name": program["name"], "pid": pid, "syncs": syncs, "polls": polls, "checks": checks,
            "moves": moves_of(pid)}


def main(todo):
    write(machine.THP + "enabled", "never")
    if todo["no_fault_around"]:
        write("/sys/kernel/debug/fault_around_bytes", "4096")
    os.environ["LC_ALL"] = "C"
    trace_moves()
    command = commands()
    w.load()
    for program in todo["programs"]:
        row(**record(program, command, os.environ["WSMON_OUT"]))

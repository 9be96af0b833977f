# SPDX-License-Identifier: GPL-2.0
"""Output of wsmo: standard output, links, pipes, devices, files of others, and remains."""
import fcntl
import os
import resource
import signal
import stat
import struct
import subprocess
import threading
import time

import records as r
import samples
from command import ENV, WSMO, Directory, content, fails, ok, preloaded, run, skip, wait_for
from fakemodule import Stream, now
from recorder import args, fake, start
from test_long import lines, player

NOBODY = 65534


def writers(d, m, name):
    """Every command that writes a file, and its needs; @name without its ending"""
    data = d.write("in", samples.main())
    yield name, ("record", "--debugfs", m.dir.name, "-q", "-o", name, "--", "true")
    yield name, ("export", "chrome", "-i", data, "-o", name)
    yield name + ".html", ("report", "html", "-i", data, "-o", name + ".html")
    yield name + ".svg", ("report", "wss", "-i", data, "-o", name + ".svg")
    yield name, ("top", "--debugfs", m.dir.name, "--repeat=1", "--command-output", name, "--", "true")


def modules(d, name):
    """The same, each with a module of its own"""
    for i in range(5):
        with fake() as (_, m):
            yield list(writers(d, m, name))[i]


def test_standard_output():
    for name in "-", "/proc/self/fd/1", "/dev/fd/1", "/dev/stdout":
        with fake() as (d, m):
            d.write("f", b"")
            before = os.stat(d.path("f")).st_ino
            with open(d.path("f"), "wb") as f:
                res = run("record", "--debugfs", m.dir.name, "-o", name, "--", "echo", "words", stdout=f, cwd=d.name)
            got = d.read("f")
            ok(res.returncode == 0 and got.startswith(r.MAGIC) and r.parse(got)[-1][0] == r.END and
               b"words" not in got and b"words\n" in res.stderr and b"to standard output" in res.stderr and
               b"now see" not in res.stderr, "record -o %s: the recording alone" % name, res)
            ok(os.stat(d.path("f")).st_ino == before and sorted(os.listdir(d.name)) == ["debug", "f"] and
               os.path.islink("/dev/stdout"), "  and nothing else is made", os.listdir(d.name))
    html = run("report", "html", "-i", "-", stdin=samples.main()).stdout
    for form, want in (("html",), html), (("chrome",), run("export", "chrome", "-i", "-", stdin=samples.main()).stdout):
        res = run("export" if want != html else "report", *form, "-i", "-", "-o", "-", stdin=samples.main(), cwd="/")
        ok(res.returncode == 0 and res.stdout == want and want, "%s -o -" % form, res.stderr)
    with fake() as (d, m):
        first, second = os.pipe()
        res = run("record", "--debugfs", m.dir.name, "-q", "-o", "/dev/fd/%d" % second, "--", "true", pass_fds=(second,))
        os.close(second)
        with open(first, "rb") as f:
            got = f.read()
        ok(res.returncode == 0 and got.startswith(r.MAGIC), "a descriptor that the shell made", res)
    with fake() as (d, m):
        fails(run("record", "--debugfs", m.dir.name, "-o", "/dev/fd/3", "--", "true"),
              "not one of its own", "not open for writing")
        ok(not m.targets, "  and nothing began")
    with fake() as (d, m):
        res = run("act", "--debugfs", m.dir.name, "-s", "reclaim", "-o", "-", "-p", str(os.getpid()))
        ok(res.returncode == 2 and b"standard output has the actions" in res.stderr, "act -o -", res)


def refused(d, name, what, precious=False):
    """No command writes to this file."""
    for file, command in modules(d, d.path("out", name)):
        mine = os.path.join(d.path("out"), os.path.basename(file))
        if mine != d.path("out", name) and not os.path.lexists(mine):
            os.rename(d.path("out", name), mine)
        before = os.lstat(mine)
        res = run(*command, timeout=60)
        after = os.lstat(mine)
        ok(res.returncode in (1, 126) and what in res.stderr.decode() and
           [before.st_ino, before.st_mode] == [after.st_ino, after.st_mode] and
           (not precious or content(mine) == b"precious"), "%s: %s" % (command[0], what), res)
        ok(os.listdir(d.path("out")) == [os.path.basename(mine)], "  nothing is left", os.listdir(d.path("out")))
        if mine != d.path("out", name):
            os.rename(mine, d.path("out", name))


def test_links():
    with Directory() as d:
        os.mkdir(d.path("out"))
        d.write("target", b"precious")
        os.symlink("../target", d.path("out", "x"))
        refused(d, "x", "a symbolic link", True)
        os.unlink(d.path("out", "x"))
        os.symlink("../nothing", d.path("out", "x"))
        refused(d, "x", "a symbolic link")
        ok(not os.path.lexists(d.path("nothing")), "nothing is made behind a link")
        os.unlink(d.path("out", "x"))
        os.mkfifo(d.path("out", "x"))
        refused(d, "x", "nobody reads it")
        os.unlink(d.path("out", "x"))
        os.mkdir(d.path("out", "x"))
        refused(d, "x", "a directory")
        os.rmdir(d.path("out", "x"))
        if os.geteuid():
            return skip("block devices, files of others", "not root")
        # a loop device without a file: output to it would be lost
        os.mknod(d.path("out", "x"), stat.S_IFBLK | 0o600, os.makedev(7, 250))
        refused(d, "x", "neither a file nor a pipe nor a terminal")
        os.unlink(d.path("out", "x"))
        os.mkfifo(d.path("out", "x"))
        os.chown(d.path("out", "x"), NOBODY, NOBODY)
        reader = os.open(d.path("out", "x"), os.O_RDONLY | os.O_NONBLOCK)
        refused(d, "x", "another user's pipe")
        os.close(reader)
        os.unlink(d.path("out", "x"))
        d.write("out/x", b"precious")
        os.chown(d.path("out", "x"), NOBODY, NOBODY)
        os.chmod(d.path("out"), 0o1777)
        refused(d, "x", "another user owns it", True)
        os.unlink(d.path("out", "x"))
    for env, status in ({}, 1), ({"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)}, 0):
        with fake() as (d, m):
            os.chmod(d.name, 0o1777)
            d.write("data", r.header(1))
            os.chown(d.path("data"), NOBODY, NOBODY)
            res = run(*args(d, m, "-q", "--", "true"), env=env)
            ok(res.returncode == status, "a file in /tmp of who called sudo is ours", env, res)


def test_meanwhile():
    """A file put in the place by another user while wsmo writes stays, in directories open to
    all."""
    if os.geteuid():
        return skip("files that others put in the place", "not root")
    for user, status in (NOBODY, 1), (0, 0):
        for verb in ("report", "html"), ("export", "chrome"):
            with Directory() as d:
                os.chmod(d.name, 0o1777)
                with subprocess.Popen([WSMO, *verb, "-i", "-", "-o", d.path("x.html")], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV) as p:
                    p.stdin.write(samples.main()[:4096])
                    p.stdin.flush()
                    fds = "/proc/%d/fd" % p.pid
                    begun = wait_for(lambda: any(d.name in os.readlink(os.path.join(fds, fd)) for fd in os.listdir(fds)))
                    os.chown(d.write("x.html", b"precious"), user, user)
                    err = p.communicate(samples.main()[4096:])[1]
                ok(begun and p.returncode == status and (d.read("x.html") == b"precious") == (b"File exists" in err) == bool(status) and
                   os.listdir(d.name) == ["x.html"], "%s: a file of user %d put there meanwhile" % (verb[0], user), p.returncode, err)


def test_pipes():
    with fake() as (d, m):
        os.mkfifo(d.path("data"))
        got = []

        def read():
            with open(d.path("data"), "rb") as f:
                got.append(f.read())
        reader = threading.Thread(target=read)
        reader.start()
        for _ in range(100):
            time.sleep(0.05)
            res = run(*args(d, m, "-q", "--", "true"), timeout=60)
            if b"nobody reads" not in res.stderr:
                break
        reader.join()
        ok(res.returncode == 0 and got[0].startswith(r.MAGIC) and r.parse(got[0])[-1][0] == r.END and
           stat.S_ISFIFO(os.lstat(d.path("data")).st_mode), "a FIFO that is read", res)


def test_killed():
    """A recording that ends before its first data leaves no file; later it leaves the data so
    far."""
    for signals in (signal.SIGKILL,), (signal.SIGINT, signal.SIGINT):
        with fake(script=lambda m, pids: m.asked(5)) as (d, m):
            p = start(d, m, "-q", "-p", str(os.getpid()))
            m.running.wait(10)
            time.sleep(0.3)
            names = os.listdir(d.name)
            for sig in signals:
                p.send_signal(sig)
                time.sleep(0.2)
            p.communicate()
            ok(names == os.listdir(d.name) == ["debug"], "%s: nothing is left" % signals[0].name,
               names, os.listdir(d.name))
    with fake() as (d, m):
        p = start(d, m, "-q", "-p", str(os.getpid()))
        there = wait_for(lambda: os.path.exists(d.path("data")))
        size = os.path.getsize(d.path("data"))
        p.kill()
        p.communicate()
        ok(there and size >= 24 and d.read("data").startswith(r.MAGIC), "no file is ever empty", size)


def limit(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_limits():
    size = 96 << 10
    with fake(script=player()) as (d, m):
        res = run(*args(d, m, "-q", "--no-stacks", "-p", str(os.getpid())), preexec_fn=limit(size))
        ok(res.returncode == 1 and b"File too large; recording ends, the 96.0 KiB before it were saved" in res.stderr and
           os.path.getsize(d.path("data")) == size and
           run("report", "wss", "-i", d.path("data")).returncode == 0, "record with ulimit -f", res)
    with fake(script=player(20)) as (d, m):
        res = run(*args(d, m, "-q", "--no-stacks", "--rotate=1s", "-p", str(os.getpid())), preexec_fn=limit(20 << 10))
        ok(res.returncode == 1 and res.stderr == b"wsmo: %s: File too large\n" % d.path("data").encode(),
           "  with --rotate one message, too", res)
    with fake(script=player()) as (d, m):
        res = run("record", "--debugfs", m.dir.name, "-o", "/dev/full", "-p", str(os.getpid()))
        ok(res.returncode == 1 and res.stderr == b"wsmo: /dev/full: No space left on device; recording ends, nothing was saved\n",
           "record: nothing is saved, nothing is to be seen", res)
    with fake(script=player()) as (d, m):
        d.write("scheme", b"4K null null 5% 500ms null stat\n")
        res = run("act", "--debugfs", m.dir.name, "-s", d.path("scheme"), "-o", "/dev/full", "-p", str(os.getpid()))
        ok(res.returncode == 1 and b"nothing was saved" in res.stderr and b"now see" not in res.stderr, "act", res)
    with Directory() as d:
        data = d.write("in", samples.main())
        for command in ("export", "openmetrics"), ("export", "chrome"):
            res = run(*command, "-i", data, "-o", "/dev/full")
            ok(res.returncode == 1 and res.stderr == b"wsmo: /dev/full: cannot be written: No space left on device\n",
               " ".join(command) + ": one message", res)
    with fake() as (d, m):
        res = run(*args(d, m, "-q", "--", "sh", "-c", "ulimit -f 1; exec cat /dev/zero >" + d.path("big")))
        ok(res.returncode == 128 + signal.SIGXFSZ, "  which kills a command as it always does", res)
    with Directory() as d:
        data = d.write("in", samples.main())
        for name, command in (("x.html", ("report", "html")), ("x.svg", ("report", "wss")), ("x", ("export", "chrome"))):
            d.write(name, b"precious")
            res = run(*command, "-i", data, "-o", d.path(name), preexec_fn=limit(1000))
            ok(res.returncode == 1 and b"File too large" in res.stderr and d.read(name) == b"precious" and
               len(os.listdir(d.name)) == 2, " ".join(command) + " leaves the old file", res, os.listdir(d.name))
            os.unlink(d.path(name))


def test_foreign():
    """Files that are no recordings, or not of this series, are neither renamed nor removed"""
    for options, name in (("--rotate=5s",), "data.1"), (("--rotate=5s", "--keep=1"), "data"), ((), "data"), ((), "data.old"):
        with fake(script=player(20)) as (d, m):
            d.write("data", r.header(1))
            d.write(name, b"precious")
            res = run(*args(d, m, "-q", "--no-stacks", *options, "-p", str(os.getpid())))
            ok(res.returncode == 1 and (d.path(name) + " is not a recording of yours").encode() in res.stderr and
               not m.targets and d.read(name) == b"precious", "%s: %s stays" % (" ".join(options), name), res)
    with fake(script=player(20)) as (d, m):
        d.write("data.2", r.header(1))
        os.symlink("data.2", d.path("data.1"))
        res = run(*args(d, m, "-q", "--no-stacks", "--rotate=5s", "-p", str(os.getpid())))
        ok(res.returncode == 1 and b"data.1 is not a recording" in res.stderr and os.path.islink(d.path("data.1")),
           "a link stays", res)
    with fake(script=player(12)) as (d, m):
        d.write("data.4", b"precious")
        d.write("data", b"")
        res = run(*args(d, m, "-q", "--no-stacks", "--rotate=5s", "--max-size=400K", "-p", str(os.getpid())))
        ok(res.returncode == 0 and d.read("data.4") == b"precious" and len(lines(d.path("data.2"))) > 5 and
           not os.path.exists(d.path("data.3")), "after a gap another series begins; an empty file is none",
           os.listdir(d.name), res)


def acls():
    """An ACL of the old file stays: else its mask would be the group's permissions."""
    name = "system.posix_acl_access"
    owner, user, group, mask, others, nobody = 1, 2, 4, 16, 32, 0xffffffff
    for what, more in (("one more user, but not the group", ((user, 4, NOBODY), (group, 0, nobody), (others, 0, nobody))),
                       ("all but one user", ((user, 0, NOBODY), (group, 4, nobody), (others, 4, nobody)))):
        acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in sorted(
            more + ((owner, 6, nobody), (mask, 4, nobody))))
        with Directory() as d:
            data = d.write("in", samples.main())
            try:
                os.setxattr(d.write("x.html", b"x"), name, acl)
            except OSError as e:
                skip("ACLs", e)
                return
            mode = os.stat(d.path("x.html")).st_mode
            res = run("report", "html", "-i", data, "-o", d.path("x.html"))
            ok(res.returncode == 0 and d.read("x.html") != b"x" and os.stat(d.path("x.html")).st_mode == mode and
               name in os.listxattr(d.path("x.html")) and os.getxattr(d.path("x.html"), name) == acl,
               "an ACL that admits %s" % what, oct(mode), oct(os.stat(d.path("x.html")).st_mode),
               os.listxattr(d.path("x.html")), res)


def test_modes():
    """A new file is open to no more users than the old one; a recording only to its owner."""
    with Directory() as d:
        for file, command in modules(d, d.path("x")):
            for old in 0o600, 0o640, 0o666:
                if command[0] in ("record", "top"):
                    continue
                with open(file, "wb"):
                    os.chmod(file, old)
                res = run(*command)
                ok(res.returncode == 0 and stat.S_IMODE(os.stat(file).st_mode) == old,
                   "%s: the mode of the old file" % " ".join(command[:2]), oct(old), oct(os.stat(file).st_mode), res)
                if os.geteuid():
                    continue
                os.chown(file, NOBODY, 1)
                res = run(*command, env={"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)})
                st = os.stat(file)
                ok(res.returncode == 0 and (st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode)) == (NOBODY, 1, old) and st.st_size,
                   "  it still belongs to who called sudo", st, res)
                os.chown(file, NOBODY + 1, 1)
                res = run(*command, env={"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)})
                ok(os.stat(file).st_uid == 0, "  no others get it", os.stat(file), res)
                # new files of the directory belong to a group that could not read this one
                os.chown(d.name, 0, 3)
                os.chmod(d.name, 0o2700)
                os.chown(file, 0, 2)
                os.chmod(file, old)
                res = run(*command)
                st = os.stat(file)
                ok((st.st_gid, stat.S_IMODE(st.st_mode)) == (2, old), "  nor does another group", st, res)
    acls()
    with fake() as (d, m):
        d.write("data", r.header(1))
        os.chmod(d.path("data"), 0o666)
        res = run(*args(d, m, "-q", "--", "true"))
        ok(res.returncode == 0 and stat.S_IMODE(os.stat(d.path("data")).st_mode) == 0o600, "a recording", res)


def test_live():
    with Directory() as d, Directory() as out:
        path = out.write("x", b"precious")
        res = run("export", "openmetrics", "--live", "-o", path, env={"WSMON_DEBUGFS": d.name})
        ok(res.returncode == 1 and res.stderr and out.read("x") == b"precious",
           "export --live without the module leaves the file", res)
        stream = Stream(d, [(os.getpid(), "all", 5000, 10000)])
        p = subprocess.Popen([WSMO, "export", "openmetrics", "--live", "--interval", "1h", "-o", path],
                             stderr=subprocess.PIPE, env=dict(ENV, WSMON_DEBUGFS=d.name))
        wrote = wait_for(lambda: out.read("x") != b"precious")
        out.write("new", b"another's")
        os.rename(out.path("new"), path)
        p.send_signal(signal.SIGTERM)
        p.communicate()
        ok(wrote and out.read("x") == b"another's", "and what somebody else put there")
        stream.restart()
        p = subprocess.Popen([WSMO, "export", "openmetrics", "--live", "--interval", "100ms", "-o", path],
                             stderr=subprocess.PIPE, env=dict(ENV, WSMON_DEBUGFS=d.name))
        wrote = wait_for(lambda: out.read("x") != b"another's")
        resource.prlimit(p.pid, resource.RLIMIT_FSIZE, (10, 10))
        err = p.communicate()[1]
        ok(wrote and p.returncode == 1 and b"File too large" in err and not os.listdir(out.name),
           "figures that cannot be replaced any more do not stay", p.returncode, err, os.listdir(out.name))


def test_other_directory():
    """The directory is replaced by a link to another one, while "export --live" and rotation write
    to it: nothing in the other directory changes."""
    with Directory() as d, Directory() as out:
        os.mkdir(out.path("d"))
        os.mkdir(out.path("other"))
        out.write("other/x", b"precious")
        stream = Stream(d, [(os.getpid(), "all", 5000, 10000)])
        p = subprocess.Popen([WSMO, "export", "openmetrics", "--live", "--interval", "20ms", "-o", out.path("d/x")],
                             stderr=subprocess.PIPE, env=dict(ENV, WSMON_DEBUGFS=d.name))
        wrote = wait_for(lambda: os.path.exists(out.path("d/x")))
        os.rename(out.path("d"), out.path("moved"))
        os.symlink(out.path("other"), out.path("d"))
        before = os.stat(out.path("moved/x")).st_ino
        goes_on = wait_for(lambda: os.stat(out.path("moved/x")).st_ino != before)
        p.send_signal(signal.SIGTERM)
        err = p.communicate()[1]
        ok(wrote and goes_on and p.returncode == 0 and not os.listdir(out.path("moved")) and
           os.listdir(out.path("other")) == ["x"] and out.read("other/x") == b"precious",
           "export --live goes on in the directory that it began in", err, os.listdir(out.path("other")))
        stream.close()

    def script(m, pids):
        m.begin(pids)
        os.rename(m.where + "/d", m.where + "/moved")
        os.symlink(m.where + "/other", m.where + "/d")
        begin = now()
        for i in range(1, 5):
            m.send(r.stats(begin + i * 10**9, rounds=i))
        m.send(r.end(now()))

    with fake(script=script) as (d, m):
        m.where = d.name
        os.mkdir(d.path("d"))
        os.mkdir(d.path("other"))
        d.write("other/data", r.header(1) + b"precious")
        res = run("record", "--debugfs", m.dir.name, "-o", d.path("d/data"), "--rotate", "1s", "--keep", "1", "-p",
                  str(os.getpid()))
        ok(not res.returncode and sorted(os.listdir(d.path("moved"))) == ["data", "data.1"] and
           os.listdir(d.path("other")) == ["data"] and d.read("other/data") == r.header(1) + b"precious",
           "as does rotation", res.stderr, os.listdir(d.path("other")))


def test_calls(d):
    """The order of syncing a file and putting it in its place; also without O_TMPFILE"""
    library = preloaded(d, "noname.c")
    data = d.write("in", samples.main())
    os.mkdir(d.path("out"))
    for old in False, True:
        for without in {}, {"NO_TMPFILE": "1"}:
            env = dict(library, CALLS=d.path("calls"), **without)
            d.write("calls", b"")
            if old:
                d.write("out/x", b"old")
            res = run("export", "chrome", "-i", data, "-o", d.path("out", "x"), env=env)
            got = d.read("calls").decode().splitlines()
            ok(res.returncode == 0 and len(d.read("out/x")) > 100 and os.listdir(d.path("out")) == ["x"] and
               got[0] == "sync file" and got[-1] == "sync directory" and
               ("rename" in got) == bool(old or without), "complete, then renamed, then on the disk", got, res)
            os.unlink(d.path("out", "x"))
            with fake() as (e, m):
                d.write("calls", b"")
                if old:
                    e.write("data", r.header(1))
                res = run(*args(e, m, "-q", "--", "sleep", "0.3"), env=env)
                got = d.read("calls").decode().splitlines()
                ok(res.returncode == 0 and sorted(os.listdir(e.name)) == ["data"] + ["data.old"] * old + ["debug"] and
                   got[-2:] == ["sync file", "sync directory"], "a recording is on the disk", got, res)
    with Directory() as e:
        stream = Stream(e, [(os.getpid(), "all", 5000, 10000)])
        d.write("calls", b"")
        p = subprocess.Popen([WSMO, "export", "openmetrics", "--live", "-o", d.path("out", "x")],
                             stderr=subprocess.PIPE, env={**ENV, "WSMON_DEBUGFS": e.name, **env})
        there = wait_for(lambda: os.path.exists(d.path("out", "x")))
        p.send_signal(signal.SIGTERM)
        err = p.communicate()[1]
        stream.close()
        ok(there and not err and d.read("calls") == b"rename\n" and not os.listdir(d.path("out")),
           "figures of now do not wait for a disk", d.read("calls"), err)
    for sig in signal.SIGINT, signal.SIGQUIT, signal.SIGHUP:
        p = subprocess.Popen([WSMO, "export", "chrome", "-o", d.path("out", "x"), "-i", "-"],
                             stdin=subprocess.PIPE, env={**ENV, **env})
        begun = wait_for(lambda: os.listdir(d.path("out")))
        p.send_signal(sig)
        p.wait()
        p.stdin.close()
        ok(begun and p.returncode == -sig and not os.listdir(d.path("out")),
           "%s leaves no temporary name" % sig.name, p.returncode, os.listdir(d.path("out")))


def test_long_names():
    """Names to which nothing can be appended"""
    for length in 251, 252, 255:
        name = "n" * length
        with fake() as (d, m):
            command = ("record", "--debugfs", m.dir.name, "-q", "-o", d.path(name), "--", "true")
            res = run(*command)
            ok(res.returncode == 0 and not res.stderr and d.read(name), "a name of %d bytes" % length, res)
        for options, suffix in ((), b".old"), (("--rotate=5s", "--keep=20"), b".20"):
            with fake() as (d, m):
                d.write(name, r.header(1))
                command = ("record", "--debugfs", m.dir.name, "-q", "-o", d.path(name), *options, "--", "true")
                res = run(*command)
                if length + len(suffix) <= 255:
                    ok(res.returncode == 0, "  has room for " + suffix.decode(), res)
                else:
                    ok(res.returncode == 1 and b"no room for the " + suffix in res.stderr and
                       res.stderr.count(b"\n") == 1 and not m.targets and d.read(name) == r.header(1),
                       "  has no room for %s: that is said before" % suffix.decode(), res)


def test_stuck():
    """A reader that does not read: signals end wsmo, and its command."""
    for sig in signal.SIGINT, signal.SIGTERM:
        with fake() as (d, m):
            reader, writer = os.pipe()
            os.write(writer, bytes(65536))
            command = ("sh", "-c", "echo $$ >%s; exec sleep 60" % d.path("pid")) if sig == signal.SIGTERM else ()
            p = subprocess.Popen([WSMO, "record", "--debugfs", m.dir.name, "-o", "-",
                                  *(("--", *command) if command else ("-p", str(os.getpid())))],
                                 env=ENV, stdout=writer, stderr=subprocess.DEVNULL)
            m.running.wait(20)
            wait_for(lambda: not command or os.path.exists(d.path("pid")))
            time.sleep(1)
            p.send_signal(sig)
            try:
                p.wait(20)
            except subprocess.TimeoutExpired:
                p.kill()
            ok(p.wait() == -sig, "%s ends a recording whose reader does not read" % sig.name, p.returncode)
            if command:
                ok(wait_for(lambda: not os.path.exists("/proc/%d" % int(d.read("pid"))), 5), "  and its command")
            os.close(reader)
            os.close(writer)


def test_slow():
    """A reader that takes some bytes each second is waited for."""
    with fake() as (d, m):
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        os.write(writer, bytes(4096))
        p = subprocess.Popen([WSMO, "record", "--debugfs", m.dir.name, "-o", "-", "-p", str(os.getpid())],
                             env=ENV, stdout=writer, stderr=subprocess.DEVNULL)
        os.close(writer)
        m.running.wait(20)
        time.sleep(1)
        p.send_signal(signal.SIGINT)
        got = b""
        while p.poll() is None:
            # as much as wsmo writes at once fits again
            got += os.read(reader, 4096)
            time.sleep(0.9)
        got += os.read(reader, 1 << 20)
        os.close(reader)
        ok(p.returncode == 0 and got[4096:] and not got[4096:].strip(b"\0") == b"",
           "SIGINT waits for a reader that is slow", p.returncode, len(got))

# SPDX-License-Identifier: GPL-2.0
"""wsmo check, on a made-up system."""
import gzip
import json
import os

from command import Directory, ok, run


def make(d, module=True, config=None, gz=False, status=b"idle\n"):
    os.makedirs(d.path("debug"))
    for name in ("attrs", "target", "buffer"):
        d.write("debug/" + name, b"")
    d.write("debug/status", status)
    if module:
        os.makedirs(d.path("sys/module/wsmon"))
    if config is not None and gz:
        os.makedirs(d.path("proc"))
        d.write("proc/config.gz", gzip.compress(config))
    elif config is not None:
        os.makedirs(d.path("boot"))
        d.write("boot/config-" + os.uname().release, config)


def check(d, *args):
    res = run("check", "--sysroot", d.name, "--debugfs", d.path("debug"),
              "--json", *args)
    lines = [json.loads(line) for line in res.stdout.splitlines()]
    return res, {line["name"]: line["status"] for line in lines}


CONFIG = b"# a comment\n" \
    b"CONFIG_TRANSPARENT_HUGEPAGE=y\n# CONFIG_PAGE_IDLE_FLAG is not set\n"


def main(_accept):
    for gz in (False, True):
        with Directory() as d:
            make(d, config=CONFIG, gz=gz)
            res, status = check(d)
            ok(res.returncode == 0 and status == {
                "module": "ok", "debugfs": "ok", "session": "ok",
                "kernel": "ok", "idle pages": "missing",
                "huge pages": "ok"},
               "all is well, config%s" % (".gz" if gz else ""), status,
               res.stderr)
    with Directory() as d:
        make(d)
        res, status = check(d)
        ok(res.returncode == 0 and status["idle pages"] == "unknown",
           "an unknown configuration does not matter", status)
        text = run("check", "--sysroot", d.name, "--debugfs", d.path("debug"))
        ok(b"CHECK" in text.stdout and text.stdout.count(b"\n") == 7,
           "the table", text.stdout)
        res = run("check", "--sysroot", d.name, env={
            "WSMON_DEBUGFS": d.path("debug")})
        ok(res.returncode == 0, "WSMON_DEBUGFS names the directory", res)
    with Directory() as d:
        make(d, module=False)
        res, status = check(d)
        ok(res.returncode == 1 and status["module"] == "missing",
           "no module", status)
    with Directory() as d:
        make(d)
        os.unlink(d.path("debug/buffer"))
        res, status = check(d)
        ok(res.returncode == 1 and status["debugfs"] == "missing",
           "no debugfs", status)
    for modes, want in (b"none [integrity] confidentiality\n", "missing"), \
            (b"[none] integrity confidentiality\n", None):
        with Directory() as d:
            make(d)
            os.makedirs(d.path("sys/kernel/security"))
            d.write("sys/kernel/security/lockdown", modes)
            res, status = check(d)
            ok(res.returncode == bool(want) and status.get("lockdown") == want,
               "lockdown: %s" % modes, status)
    with Directory() as d:
        make(d, status=b"running\n")
        res, status = check(d)
        ok(res.returncode == 1 and status["session"] == "missing",
           "a session runs already", status)
    with Directory() as d:
        make(d, status=b"running\n")
        os.makedirs(d.path("dev"))
        d.write("dev/wsmon", b"")
        os.makedirs(d.path("sys/kernel/security"))
        d.write("sys/kernel/security/lockdown", b"none [integrity] confidentiality\n")
        res = run("check", "--sysroot", d.name, "--json")
        status = {x["name"]: x["status"] for x in map(json.loads, res.stdout.splitlines())}
        ok(res.returncode == 0 and status == {
            "module": "ok", "device": "ok", "kernel": "ok", "idle pages": "unknown",
            "huge pages": "unknown"}, "with a device debugfs does not matter", status)
        if os.geteuid() == 0:
            os.chmod(d.path("dev/wsmon"), 0o600)
            os.chmod(d.name, 0o755)
            res = run("check", "--sysroot", d.name, user=65534)
            ok(res.returncode == 1 and b"sudo" in res.stdout, "which only root may use", res)
    if os.geteuid() == 0:
        with Directory() as d:
            make(d)
            os.chmod(d.name, 0o755)
            os.chmod(d.path("debug"), 0o700)
            res = run("check", "--sysroot", d.name, "--debugfs",
                      d.path("debug"), user=65534)
            ok(res.returncode == 1 and b"sudo" in res.stdout, "not root", res)

# SPDX-License-Identifier: GPL-2.0
"""wsmo check, on a made-up system."""
import gzip
import os
import struct
import subprocess

from command import Directory, ok, parsed, run


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
    lines = parsed(res)
    return res, {line["name"]: line["status"] for line in lines}


RELEASE = os.uname().release
GUID = "-605dab50-e046-4300-abb6-3dd810dd8b23"


def put(d, name, data=b""):
    os.makedirs(os.path.dirname(d.path(name)), exist_ok=True)
    d.write(name, data)


def sign(path, certificate):
    """Append a signature as the kernel's sign-file does."""
    pem = path + ".pem"

    def openssl(*args, **kw):
        return subprocess.run(["openssl", *args], check=True, capture_output=True, **kw).stdout

    openssl("req", "-new", "-x509", "-nodes", "-newkey", "rsa:2048", "-keyout", path + ".key",
            "-subj", "/CN=somebody", "-out", pem)
    openssl("x509", "-in", pem, "-outform", "DER", "-out", certificate)
    sig = openssl("cms", "-sign", "-signer", pem, "-inkey", path + ".key", "-binary", "-in", path,
                  "-outform", "DER", "-nocerts", "-noattr", "-md", "sha256")
    with open(path, "ab") as f:
        # PKCS#7
        f.write(sig + struct.pack(">2xB5xI", 2, len(sig)) + b"~Module signature appended~\n")


def install(d, srcversion="1A2B", signed=False):
    """A module file, good enough for modinfo."""
    ko = "lib/modules/%s/updates/dkms/wsmon.ko" % RELEASE
    put(d, "lib/modules/%s/modules.dep" % RELEASE,
        b"kernel/other.ko.xz:\nupdates/dkms/wsmon.ko: kernel/other.ko.xz\n")
    put(d, ko)
    subprocess.run(["gcc", "-x", "c", "-c", "-o", d.path(ko), "-"], check=True, input=(
        'const char m[] __attribute__((section(".modinfo"))) = "license=GPL\\0srcversion=%s";'
        % srcversion).encode())
    if signed:
        put(d, "var/lib/dkms/mok.pub")
        sign(d.path(ko), d.path("var/lib/dkms/mok.pub"))


def details(d):
    """Return: status and detail of each check, as if nothing was loaded"""
    res = run("check", "--sysroot", d.name, "--json")
    lines = parsed(res)
    return res, {line["name"]: (line["status"], line["detail"]) for line in lines}


def told(d, what, status, words, name="module"):
    """An installed module that is not loaded is fine: record loads it."""
    res, found = details(d)
    ok(res.returncode == (status != "ok") and name in found and found[name][0] == status and
       words in found[name][1] and "debugfs" not in found, what, found)


def test_not_loaded(d):
    told(d, "nothing is installed", "missing", "apt install ./wsmon-dkms_*.deb")
    put(d, "usr/src/wsmon-0.1/dkms.conf")
    told(d, "no headers", "missing", "apt install linux-headers-" + RELEASE)
    put(d, "lib/modules/%s/build/Makefile" % RELEASE)
    told(d, "DKMS failed", "missing", "dkms install -k %s wsmon/0.1 " % RELEASE)
    install(d)
    told(d, "not loaded", "ok", "modprobe wsmon")
    _, found = details(d)
    ok("signature" not in found, "unsigned modules are accepted", found)


def test_signature(d):
    install(d)
    put(d, "sys/module/module/parameters/sig_enforce", b"Y\n")
    told(d, "not signed", "missing", "wsmon-dkms_*.deb, which signs it", "signature")
    put(d, "usr/src/wsmon-0.1/dkms.conf")
    told(d, "not signed by DKMS", "missing", "apt install openssl", "signature")
    put(d, "sys/module/module/parameters/sig_enforce", b"N\n")
    put(d, "sys/kernel/security/lockdown", b"none [integrity] confidentiality\n")
    told(d, "not signed, locked down", "missing", "openssl", "signature")
    install(d, signed=True)
    told(d, "no UEFI", "unknown", "module.sig_enforce", "signature")
    put(d, "sys/firmware/efi/efivars/other")
    told(d, "signed, not enrolled", "missing",
         "mokutil --import /var/lib/dkms/mok.pub", "signature")
    with open(d.path("var/lib/dkms/mok.pub"), "rb") as f:
        certificate = f.read()
    put(d, "sys/firmware/efi/efivars/MokNew" + GUID, b"\7\0\0\0list" + certificate)
    told(d, "the next boot enrols it", "missing", "reboot", "signature")
    for name in "efivars/MokListRT" + GUID, "mok-variables/MokListRT":
        put(d, "sys/firmware/efi/" + name, b"another" + certificate + b"more")
        told(d, "enrolled: " + name, "ok", "enrolled", "signature")
        os.unlink(d.path("sys/firmware/efi/" + name))
    os.unlink(d.path("var/lib/dkms/mok.pub"))
    told(d, "somebody else's key", "unknown", "mokutil --import FILE", "signature")


def test_version():
    for loaded, want in ("1A2B", None), ("3C4D", "missing"), (None, "missing"):
        with Directory() as d:
            make(d)
            install(d)
            if loaded:
                put(d, "sys/module/wsmon/srcversion", loaded.encode() + b"\n")
            res, status = check(d)
            ok(res.returncode == 0 and status.get("version") == want,
               "loaded is %s, installed 1A2B" % loaded, status)


CONFIG = b"# a comment\n" \
    b"CONFIG_TRANSPARENT_HUGEPAGE=y\n# CONFIG_PAGE_IDLE_FLAG is not set\n"


def test_system():
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
        for enabled, want in ((b"N\n", None), (b"Y\n", "shared")):
            put(d, "sys/module/damon_stat/parameters/enabled", enabled)
            res, status = check(d)
            ok(res.returncode == 0 and status.get("Accessed bits") == want,
               "DAMON_STAT: " + enabled.decode().strip(), status)
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
        status = {x["name"]: x["status"] for x in parsed(res)}
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

# SPDX-License-Identifier: GPL-2.0
"""Headless Chromium, driven through a pipe, at any width and with real input.

DevTools protocol: JSON messages that end with a zero byte, on descriptors 3 (to
Chromium) and 4.
"""
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

CHROMIUM = shutil.which("chromium")
PATIENCE = 120


class Browser:
    """A tab; .console holds its console messages as (kind, text)."""

    def __init__(self, to, back):
        self.to, self.back = to, back
        self.buffer = b""
        self.number = 0
        self.session = None
        self.console = []
        self.seen = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target,
                                flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log":
            self.ask(domain + ".enable")

    def message(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            assert left > 0 and select.select([self.back], [], [], left)[0], \
                "Chromium does not answer"
            data = os.read(self.back, 1 << 20)
            assert data, "Chromium is gone"
            self.buffer += data
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def event(self, message):
        method, params = message.get("method"), message.get("params", {})
        self.seen.append(method)
        if method == "Runtime.exceptionThrown":
            self.console.append(("exception", params["exceptionDetails"]["text"]))
        elif method == "Runtime.consoleAPICalled":
            self.console.append((params["type"], str(params["args"])))
        elif method == "Log.entryAdded":
            self.console.append((params["entry"]["level"], params["entry"]["text"]))

    def ask(self, method, **params):
        self.number += 1
        text = {"id": self.number, "method": method, "params": params}
        if self.session:
            text["sessionId"] = self.session
        data = json.dumps(text).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            message = self.message()
            if message.get("id") == self.number:
                assert "error" not in message, "%s: %s" % (method, message["error"])
                return message["result"]
            self.event(message)

    def shape(self, width, height=900, dark=False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path):
        """Load a file. Return: once its load event is over and it is painted"""
        del self.console[:], self.seen[:]
        self.ask("Page.navigate", url="file://" + path)
        while "Page.loadEventFired" not in self.seen:
            self.event(self.message())
        self.run("new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")

    def run(self, script):
        """Return: the value of an expression; if that is a promise, of the promise"""
        result = self.ask("Runtime.evaluate", expression=script, awaitPromise=True,
                          returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def mouse(self, kind, x, y, **more):
        """kind: Moved, Pressed, Released"""
        self.ask("Input.dispatchMouseEvent", type="mouse" + kind, x=x, y=y, **more)

    def press(self, kind, x, y, clicks=1):
        self.mouse(kind, x, y, button="left", clickCount=clicks,
                   buttons=1 if kind == "Pressed" else 0)

    def drag(self, x0, y0, x1, y1):
        self.mouse("Moved", x0, y0)
        self.press("Pressed", x0, y0)
        self.mouse("Moved", x1, y1, button="left", buttons=1)
        self.press("Released", x1, y1)

    def double_click(self, x, y):
        for clicks in 1, 2:
            self.press("Pressed", x, y, clicks)
            self.press("Released", x, y, clicks)


@contextlib.contextmanager
def browser():
    to, back = os.pipe(), os.pipe()

    def descriptors():
        # dup() first: one dup2() must not overwrite the other's source
        a, b = os.dup(to[0]), os.dup(back[1])
        os.dup2(a, 3)
        os.dup2(b, 4)

    with tempfile.TemporaryDirectory() as profile:
        p = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
             "--remote-debugging-pipe", "--user-data-dir=" + profile],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=descriptors, start_new_session=True,
            # temporary files are removed with the profile
            env=dict(os.environ, TMPDIR=profile))
        os.close(to[0])
        os.close(back[1])
        try:
            yield Browser(to[1], back[0])
        finally:
            os.close(to[1])
            os.close(back[0])
            with contextlib.suppress(ProcessLookupError):
                os.killpg(p.pid, signal.SIGKILL)
            p.wait()
            # its children may still write to the profile
            time.sleep(0.2)

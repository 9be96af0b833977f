# SPDX-License-Identifier: GPL-2.0
"""A command in tmux: its screen, keys, sizes."""
import re
import shlex
import shutil
import subprocess
import time

from command import ENV, WSMO, Directory

TMUX = shutil.which("tmux")


def order(text):
    """The class or process id of each row of wsmo top, up to the first other line."""
    rows = []
    for line in text.split("\n")[3:]:
        if not line.strip() or not re.match(" *[0-9]+ ", line):
            break
        found = re.match(r" *(\d+)   (\w+)", line)
        rows.append(found.group(2) if found else line.split()[0])
    return rows


class Terminal(Directory):
    """Runs wsmo in a terminal; then shows the exit status and the terminal's state."""

    def __init__(self, *args, columns=100, lines=24, env=None):
        super().__init__()
        command = shlex.join([WSMO, *args])
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(lines),
                  command + "; echo EXIT $?; stty -a | tr ' ;' '\\n\\n' |"
                  "grep -xE -e '-?(icanon|echo|isig)' | tr '\\n' ' '; exec sleep 1000",
                  env=env)

    def tmux(self, *args, env=None):
        p = subprocess.run([TMUX, "-u", "-S", self.path("socket"), "-f", "/dev/null", *args],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env=dict(ENV, TERM="xterm", **(env or {})), timeout=60)
        return p.stdout.decode()

    def __exit__(self, *exc):
        # wsmo's leak check at exit fails if the terminal goes meanwhile
        if "EXIT" not in self.text():
            self.keys("C-c")
            self.wait("EXIT")
        self.tmux("kill-server")
        super().__exit__(*exc)

    def text(self):
        return self.tmux("capture-pane", "-p")

    def pid(self):
        """wsmo's process id."""
        shell = self.tmux("display", "-p", "#{pane_pid}").strip()
        with open("/proc/%s/task/%s/children" % (shell, shell)) as f:
            return int(f.read().split()[0])

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def wait(self, *words, without=(), rows=None, timeout=20):
        """The screen once it shows these words and rows, or when time is up."""
        end = time.time() + timeout
        while True:
            text = self.text()
            good = all(w in text for w in words) and not any(w in text for w in without) and \
                rows in (None, order(text))
            if good or time.time() > end:
                return good, text
            time.sleep(0.05)

    def restored(self, status):
        """wsmo ended with this status and left the terminal as it was."""
        text = self.wait("EXIT %d" % status, "icanon")[1]
        state = self.tmux("display", "-p", "#{alternate_on} #{cursor_flag}")
        # alone on its line: nothing else is left on the screen
        return "\nEXIT %d\nisig icanon echo" % status in "\n" + text and \
            state == "0 1\n", text + state

# SPDX-License-Identifier: GPL-2.0
"""Runs wsmo on a terminal of a given size."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from command import ENV, WSMO


def run(*args, columns=80, lines=24, env=None, **kw):
    """Return: exit status and what it wrote to the terminal, as text."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ,
                struct.pack("HHHH", lines, columns, 0, 0))
    p = subprocess.Popen([WSMO, *args], stdin=subprocess.DEVNULL, stdout=theirs,
                         env=dict(ENV, **(env or {})), **kw)
    os.close(theirs)
    out = b""
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:
            break
        if not more:
            break
        out += more
    os.close(ours)
    return p.wait(), out.decode().replace("\r\n", "\n")


def plain(text):
    """The text without colours."""
    return re.sub("\x1b\\[[0-9;]*m", "", text)


def too_wide(text, whole, columns):
    """What is wrong with @text, shown in that many columns; @whole is the text in a
    wide terminal"""
    # sentences have no columns: the terminal wraps them
    wide = [line for line in text.splitlines() if len(line) > columns and re.search(r"\S  +\S", line)]
    # the length of bars depends on the width
    got, want = (re.sub("[\\s\u2588\u2591]", "", x) for x in (text, whole))
    return wide or [] if want and got == want else [text]

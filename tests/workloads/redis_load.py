# SPDX-License-Identifier: GPL-2.0
"""A redis-server's client: fills it with values of a page, and sends many requests at once.

Over a local socket: a memory cgroup under pressure stops TCP for hundreds of milliseconds.
"""
import socket

import wsmontest as w

SOCKET = "/tmp/redis.socket"
VALUE = "v" * 3900


def server(directory):
    """The command of a server for this client; it keeps nothing on disk."""
    return ["redis-server", "--port", "0", "--unixsocket", SOCKET, "--save", "", "--dir", directory, "--hz", "10"]


class Client:
    def __init__(self, keys):
        """Wait for the server, then store values."""
        w.wait_for("redis", self.connect, 60)
        for first in range(0, keys, 100):
            self.ask([("SET", "key:%d" % i, VALUE) for i in range(first, min(first + 100, keys))])

    def connect(self):
        try:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(SOCKET)
        except OSError:
            return False
        self.answers = self.socket.makefile("rb")
        return True

    def ask(self, commands):
        """Send all commands at once; return when all are answered."""
        self.socket.sendall("".join("*%d\r\n%s" % (len(c), "".join(
            "$%d\r\n%s\r\n" % (len(x), x) for x in c)) for c in commands).encode())
        for _ in commands:
            line = self.answers.readline()
            if line[:1] == b"$":
                self.answers.read(int(line[1:]) + 2)

    def get(self, keys):
        self.ask([("GET", "key:%d" % key) for key in keys])

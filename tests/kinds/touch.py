# SPDX-License-Identifier: GPL-2.0
"""An ordinary process like in kinds.c: uses 8 MiB of 24"""
import os
import time

used, idle = 8 << 20, 16 << 20
m = bytearray(idle)
m[::4096] = bytes(len(m[::4096]))
u = bytearray(used)
n = len(u[::4096])
u[::4096] = bytes(n)
print("ready pid=%d used=%d resident=%d slack=%d" %
      # slack includes the huge pages around these
      (os.getpid(), used, used + idle, 7 << 20), flush=True)
while True:
    u[::4096] = bytes(n)
    time.sleep(0.05)

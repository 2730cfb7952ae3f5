"""A process that carries IP packets between two network namespaces, as well or badly as it is told.

Each end is a TUN device in its namespace. A line of JSON on standard input sets the faults: ``delay`` and
``jitter`` [s], by which packets overtake each other, and ``loss``, a share of them.

    python cable.py NAMESPACE NAMESPACE
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import itertools
import json
import os
import random
import select
import struct
import sys
import threading
import time
from pathlib import Path

TUN, DEVICE = "/dev/net/tun", "cable"
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI, _CLONE_NEWNET = 0x400454CA, 0x0001, 0x1000, 0x40000000
LARGEST = 65536


def end_in(namespace: str) -> int:
    """The descriptor of a new TUN device in a network namespace."""
    made: list[int] = []

    def make() -> None:
        with Path(namespace).open() as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET) != 0:
                return
        descriptor = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), _IFF_TUN | _IFF_NO_PI))
        made.append(descriptor)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    return made[0]


def main(*namespaces: str) -> None:
    """Carry packets until standard input ends."""
    ends = [end_in(namespace) for namespace in namespaces]
    across = {ends[0]: ends[1], ends[1]: ends[0]}
    chance, count = random.Random(1), itertools.count()
    faults: dict[str, float] = {}
    due: list[tuple[float, int, int, bytes]] = []
    print("ready", flush=True)
    while True:
        patience = max(0.0, due[0][0] - time.monotonic()) if due else None
        for descriptor in select.select([0, *ends], [], [], patience)[0]:
            if descriptor == 0:
                line = sys.stdin.readline()
                if not line:
                    return
                faults = json.loads(line)
                continue
            packet = os.read(descriptor, LARGEST)
            if chance.random() < faults.get("loss", 0.0):
                continue
            late = faults.get("delay", 0.0) + chance.uniform(0.0, faults.get("jitter", 0.0))
            heapq.heappush(due, (time.monotonic() + late, next(count), across[descriptor], packet))
        while due and due[0][0] <= time.monotonic():
            _, _, descriptor, packet = heapq.heappop(due)
            try:
                os.write(descriptor, packet)
            except OSError:
                continue  # a host that is not up yet


if __name__ == "__main__":
    main(*sys.argv[1:])

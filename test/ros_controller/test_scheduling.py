"""Requests to the operating system, read back from it."""

import ctypes
import os
import threading

import pytest

from robot_dynamics.ros.support import scheduling

_SCHED_GETATTR = {"x86_64": 315, "aarch64": 275, "riscv64": 275}


def attributes_of(thread):
    attributes = scheduling.SchedulingAttributes()
    call = _SCHED_GETATTR[os.uname().machine]
    size = ctypes.sizeof(attributes)
    assert ctypes.CDLL(None).syscall(ctypes.c_long(call), thread, ctypes.byref(attributes), size, 0) == 0
    return attributes


@pytest.mark.parametrize("policy", [os.SCHED_OTHER, os.SCHED_BATCH])
def test_short_turns_are_for_threads_without_a_policy_of_their_own(policy):
    seen = []

    def work():
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, 3)
        os.sched_setscheduler(thread, policy, os.sched_param(0))
        before = attributes_of(thread)
        scheduling.take_short_turns([thread, 2**22])
        seen.extend([before, attributes_of(thread)])

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    before, after = seen
    assert (after.policy, after.nice) == (before.policy, before.nice) == (policy, 3)
    # A kernel that does not know turns of a length of one's own tells none.
    heeded = before.runtime > 0 and policy == os.SCHED_OTHER
    assert after.runtime == (scheduling.SHORT_TURN if heeded else before.runtime)

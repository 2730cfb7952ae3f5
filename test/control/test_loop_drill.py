"""The loop in C through every situation, under the sanitizers: see drill_loop.c, whose plant is a pendulum.

It weighs 10 N·m per radian: held at 0.3 rad it takes 3 N·m, at 0.2 rad 2 N·m.
"""

import re
from pathlib import Path

import pytest
from sanitized import output_of

from robot_dynamics.control.core import library

pytestmark = pytest.mark.long

C_SOURCES = Path(library.__file__).parent
EXPECTED = r"""
nothing to use: sent 0, effort 0.000, phase 0, halting 0
before the first state: sent 1, effort 0.000, phase 0, halting 0
inactive: sent 0, effort 0.000, phase 0, halting 0
holding: sent 3, effort 3.000, phase 1, halting 0
late plan: 3
plan: 1, segment 0
after another: 2
following: sent 102, effort \d+\.\d+, phase 2, halting 0
still waiting: sent 0, effort \d+\.\d+, phase 2, halting 0
states lost: sent 20, effort 0.000, phase 3, halting 1
states back: sent 1, effort 2.000, phase 1, halting 0
no number: sent 2, effort 0.000, phase 3, halting 0
numbers again: sent 2, effort 2.000, phase 1, halting 0
nobody at home: sent \d+, effort 0.000, phase 3, halting 1
somebody at home: sent 2, effort 2.000, phase 1, halting 0
states that waited: sent \d, effort 2.000, phase 3, halting 1
a state of now: sent 1, effort 2.000, phase 1, halting 0
in motion: sent 100, effort \d+\.\d+, phase 2, halting 0
coming to rest: sent 2, effort -?\d+\.\d+, phase 6, halting 0
safe output at rest: 1, speed 0.000
at rest: sent \d+, effort 0.000, phase 3, halting 0
active again: sent 3, effort 2.000, phase 1, halting 0
records \d+, lost \d+
unread: 9 jumps, 1 loss, 1 back
no clock: sent 0, effort \d+\.\d+, phase 1, halting 0
simulated time: sent 50, effort 2.000, phase 1, halting 0
a pause: sent 0, effort 2.000, phase 1, halting 0
states without time: sent \d+, effort 0.000, phase 3, halting 1
time again: sent 2, effort 2.000, phase 1, halting 0
time without states: sent 21, effort 0.000, phase 3, halting 1
nobody publishes: sent \d+, effort 0.000, phase 3, halting 1
told: 1 of the clock, 1 of senders
halted: sent 6, effort 0.000, phase 3, halting 0
safe outputs of requests that looked met without them: 0
"""


def test_the_loop_under_sanitizers(tmp_path):
    sources = [Path(__file__).with_name("drill_loop.c"), *sorted(C_SOURCES.glob("*.c"))]
    printed = output_of(tmp_path / "drill", sources).strip()
    assert re.fullmatch(EXPECTED.strip(), printed), printed


def test_the_loop_keeps_its_times_to_the_nanosecond(tmp_path):
    sources = [Path(__file__).with_name("drill_loop_times.c"), *sorted(C_SOURCES.glob("*.c"))]
    assert output_of(tmp_path / "drill", sources).splitlines() == ["102 expectations"]

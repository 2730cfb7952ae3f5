"""Reports that the node's own thread makes of the native loop's record."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from robot_dynamics.control.core.snapshot import PHASES
from robot_dynamics.control.protocol import Phase
from robot_dynamics.ros.control.cycle_monitor import CycleMonitor
from robot_dynamics.ros.control.events import RecordReader
from robot_dynamics.ros.control.records import CALM, WATCHED, Cycles, cycle_of, record_type
from robot_dynamics.ros.control.tracking import TrackingErrors
from robot_dynamics.ros.support.joint_state_bytes import JointStateBytes
from robot_dynamics.ros.support.messages import set_stamp, to_array

ANSWERED, OBSERVED, NO_EFFORT, STATES_LOST = range(4)
TRACKING, FAULT = PHASES.index(Phase.TRACKING), PHASES.index(Phase.FAULT)


def words_of(record: Any) -> str:
    return f"time ran backwards by {record.discontinuity_size:.3f} s" if record.discontinuity else ""


def rows_of(count: int, joints: int) -> Any:
    """Answers one after the other, with numbers that are all different."""
    random = np.random.default_rng(joints)
    rows = np.zeros(count, record_type(joints))
    for name in rows.dtype.names[1:]:
        rows[name] = random.normal(size=(count, joints))
    rows["unlimited"] = rows["effort"]
    head = rows["head"]
    head["stamp"] = 1_700_000_000_999_500_000 + 1_000_000 * np.arange(count)
    head["arrived"] = 1_000_000 * np.arange(count)
    head["left"] = head["arrived"] + 20_000
    head["phase"] = TRACKING
    return rows


@pytest.mark.parametrize("joints", [1, 2, 7])
def test_joint_states_that_were_never_objects_are_read_as_those_that_were(joints: int) -> None:
    cycles, names = Cycles(rows_of(3, joints)), [f"a joint {'x' * k}" for k in range(joints)]
    writer, expected, alone = JointStateBytes(names), [], []
    for cycle in cycles:
        message = JointState(name=names)
        set_stamp(message.header.stamp, cycle.nanoseconds)
        message.position = to_array(cycle.command.reference.position)
        message.velocity = to_array(cycle.command.reference.velocity)
        message.effort = to_array(cycle.command.unlimited)
        expected.append(message)
        reference = cycle.command.reference
        values = reference.position, reference.velocity, cycle.command.unlimited
        alone.append(writer.message(cycle.nanoseconds, *values))
    arrays = [cycles.array(name) for name in ("goal", "rate", "unlimited")]
    for data in (alone, writer.messages(cycles.nanoseconds, *arrays)):
        assert [deserialize_message(message, JointState) for message in data] == expected
        assert [len(message) for message in data] == [len(serialize_message(message)) for message in expected]


def test_the_largest_error_is_that_of_all_cycles_that_track() -> None:
    rows = rows_of(20, 3)
    rows["head"]["phase"][5:12] = PHASES.index(Phase.HOLDING)
    rows["goal"][7] += 100.0
    errors = TrackingErrors()
    errors.begin(["a", "b", "c"])
    errors.add_all(Cycles(rows[:8]))
    errors.add_all(Cycles(rows[8:]))
    tracking = [cycle for cycle in Cycles(rows) if cycle.command.phase is Phase.TRACKING]
    expected = np.max([np.abs(one.command.reference.position - one.position) for one in tracking], axis=0)
    assert errors.largest() == dict(zip("abc", expected.tolist(), strict=True))
    assert max(errors.largest().values()) < 50.0


class Events:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def stamped(self, stamp: int, arrived: int) -> None:
        """Clocks of states are judged elsewhere."""

    def answered(self, command: Any, names: Any, why: str, safe_output: str, back: bool) -> None:
        self.told.append((float(command.effort[0]), why.split(" by")[0], back))

    def states_lost(self, age: float, safe_output: str) -> None:
        self.told.append(("lost", age, safe_output))

    def no_effort(self, reason: str) -> None:
        self.told.append("no effort")


def test_of_many_records_people_learn_what_is_not_as_usual_and_what_holds_now() -> None:
    rows = rows_of(12, 2)
    rows["effort"][:, 0] = rows["unlimited"][:, 0] = np.arange(12)
    head = rows["head"]
    head["discontinuity"][2], head["discontinuity_size"][2] = 1, 0.5
    rows["unlimited"][[3, 4], 0] += 1.0
    head["phase"][5] = FAULT
    head["kind"][6:9] = NO_EFFORT, STATES_LOST, OBSERVED
    head["age"][7] = 0.25
    head["back"][9] = 1
    events, monitor, seen = Events(), CycleMonitor(), []

    def on_cycles(cycles: Cycles, controller: Any) -> float:
        seen.extend(int(cycle.command.effort[0]) for cycle in cycles)
        return WATCHED

    parameters = SimpleNamespace(fail_safe="zero")
    session: Any = SimpleNamespace(
        records=lambda: iter([rows[:8], rows[8:]]),
        controller=SimpleNamespace(
            parameters=parameters,
            words_of=words_of,
            failure=lambda: "no effort",
        ),
        cycle=cycle_of,
        order=SimpleNamespace(joint_names=("a", "b")),
    )
    reader = RecordReader(events, monitor, on_cycles)  # type: ignore[arg-type]
    assert reader.read(session) == WATCHED
    assert events.told == [
        (2.0, "time ran backwards", False),
        (4.0, "", False),
        (5.0, "", False),
        "no effort",
        ("lost", 0.25, "zero"),
        (9.0, "", True),
        (11.0, "", False),
    ]
    assert seen == [0, 1, 2, 3, 4, 5, 9, 10, 11]
    assert monitor.cycles == 11
    assert CALM > WATCHED

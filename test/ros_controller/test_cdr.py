"""The codec in C against rclpy's own: what it takes, it reads as rclpy does; the rest it leaves."""

import itertools
import math
import struct
from pathlib import Path

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from sanitized import output_of
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.ros.control.native import library
from robot_dynamics.ros.control.native.library import ffi, load_hosts
from robot_dynamics.ros.control.session import Names

JOINTS = ["shoulder", "elbow", "j3"]
C_SOURCES = Path(library.__file__).parent


def read_names(data: bytes):
    """rd_reading of a message for a robot with JOINTS, places of these, and their fields."""
    names, places, state = Names(JOINTS), ffi().new("uint32_t[3]"), ffi().new("rd_joint_state *")
    joints = ffi().new("rd_names *", [names.count, names.lengths, names.text])
    return load_hosts().rd_cdr_read_joint_state(data, len(data), joints, places, state), places, state


def leaves_out(data: bytes) -> bool:
    """True if the codec finds no joint of the robot among those of a message."""
    return read_names(data)[0] == load_hosts().RD_OTHER_JOINTS


def read(data: bytes):
    """Stamp, position, velocity and effort (None where there are none) by the codec; None if it declines."""
    codec = load_hosts()
    reading, places, state = read_names(data)
    if reading != codec.RD_READ:
        return None
    fields = []
    for field in (state.position, state.velocity, state.effort):
        values = np.zeros(3)
        if field:
            codec.rd_cdr_pick(field, places, 3, ffi().from_buffer("double[]", values))
        fields.append(values if field else None)
    return state.stamp, *fields


def names_by_rclpy(data: bytes) -> list[str]:
    """Names in a message; none where rclpy refuses it."""
    try:
        return list(deserialize_message(data, JointState).name)
    except Exception:
        return []


def same_as_rclpy(data: bytes) -> bool:
    """True if the codec took the message; if so, rclpy must read the same from it.

    A message that it leaves out has none of the joints for rclpy either, which may refuse it as a whole.
    """
    mine = read(data)
    if mine is None:
        if leaves_out(data):
            assert not set(JOINTS) & set(names_by_rclpy(data))
        return False
    message = deserialize_message(data, JointState)
    names = list(message.name)
    places = [names.index(name) for name in JOINTS]
    assert all(names.count(name) == 1 for name in JOINTS)
    assert mine[0] == message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
    for values, field in zip(mine[1:], (message.position, message.velocity, message.effort), strict=True):
        assert (values is None) == (len(field) == 0)
        if values is not None:
            assert len(field) == len(names)
            assert struct.pack("<3d", *values) == struct.pack("<3d", *(field[p] for p in places))
    return True


numbers = st.floats(allow_nan=True, allow_infinity=True, width=64)
triples = st.lists(numbers, min_size=3, max_size=3)


@st.composite
def joint_states(draw):
    return JointState(
        name=JOINTS,
        position=draw(triples),
        velocity=draw(st.one_of(st.just([]), triples)),
        effort=draw(st.one_of(st.just([]), triples)),
    )


@settings(deadline=None, derandomize=True, max_examples=100)
@given(joint_states(), st.integers(-(2**31), 2**31 - 1), st.integers(0, 999_999_999), st.text(st.characters(
    min_codepoint=1, max_codepoint=127), max_size=20), st.binary(max_size=5))  # fmt: skip
def test_complete_messages_are_read_as_rclpy_reads_them(message, sec, nanosec, frame, trailing):
    message.header.stamp = Time(sec=sec, nanosec=nanosec)
    message.header.frame_id = frame
    assert same_as_rclpy(bytes(serialize_message(message)) + trailing)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(joint_states(), st.data())
def test_damaged_messages_are_left_or_read_as_rclpy_reads_them(message, data):
    """Cut off anywhere, bytes changed, lengths blown up, rubbish put in between."""
    damaged = bytearray(serialize_message(message))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, max(0, len(damaged) - 1)))
        kind = data.draw(st.sampled_from(("cut", "byte", "length", "insert")))
        if kind == "cut":
            del damaged[place:]
        elif kind == "byte" and damaged:
            damaged[place] = data.draw(st.integers(0, 255))
        elif kind == "length":
            place -= place % 4
            damaged[place : place + 4] = struct.pack("<I", data.draw(st.sampled_from(
                (0, 1, 2, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF8, 0xFFFFFFFF, len(damaged)))))  # fmt: skip
        else:
            damaged[place:place] = data.draw(st.binary(max_size=8))
    same_as_rclpy(bytes(damaged))


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.binary(max_size=200))
def test_rubbish_is_left(data):
    assert read(data) is None
    assert read(b"\x00\x01\x00\x00" + data) is None


def test_padding_may_hold_anything():
    data = bytearray(serialize_message(JointState(name=JOINTS, position=[1.0, 2.0, 3.0])))
    zeros = [i for i in range(4, len(data)) if data[i] == 0]
    taken = 0
    for place in zeros:
        other = bytearray(data)
        other[place] = 0x5A
        taken += same_as_rclpy(bytes(other))
    assert taken > 3, "some of these bytes are padding, others belong to numbers"


@pytest.mark.parametrize("head", [b"\x00\x00", b"\x00\x03", b"\x00\x07", b"\x00\x0b", b"\x01\x01"])
def test_other_encapsulations_are_left(head):
    data = bytes(serialize_message(JointState(name=JOINTS, position=[1.0, 2.0, 3.0])))
    assert same_as_rclpy(data)
    assert read(head + data[2:]) is None


@pytest.mark.parametrize(
    "message",
    [
        JointState(name=JOINTS),
        JointState(name=JOINTS, position=[1.0, 2.0]),
        JointState(name=JOINTS, position=[1.0, 2.0, 3.0], velocity=[1.0]),
        JointState(name=JOINTS, position=[1.0, 2.0, 3.0], effort=[1.0] * 4),
        JointState(name=JOINTS[:2], position=[1.0, 2.0]),
        JointState(name=[*JOINTS[:2], "j4"], position=[1.0, 2.0, 3.0]),
        JointState(name=[*JOINTS, "elbow"], position=[1.0, 2.0, 3.0, 4.0]),
        JointState(name=["shoulder", "elbow", "j\u0003"], position=[1.0, 2.0, 3.0]),
        JointState(),
    ],
)
def test_incomplete_and_unknown_messages_are_left(message):
    data = bytes(serialize_message(message))
    assert read(data) is None and not leaves_out(data)


@pytest.mark.parametrize("names", [*itertools.permutations((*JOINTS, "finger", "gelenk_ä"))][::7])
def test_joints_are_picked_by_their_names_among_others(names):
    values = dict(zip((*JOINTS, "finger", "gelenk_ä"), (0.5, 0.3, 0.2, 0.1, 0.4), strict=True))
    position = [values[name] for name in names]
    message = JointState(name=names, position=position, velocity=[10.0 * value for value in position])
    stamp, position, velocity, effort = read(bytes(serialize_message(message)))
    assert stamp == 0
    assert position.tolist() == [0.5, 0.3, 0.2]
    assert velocity.tolist() == [5.0, 3.0, 2.0]
    assert effort is None


@pytest.mark.parametrize(
    "names", [["finger"], ["gelenk_ä", ""], ["elbo", "elbow2", "j"], [f"finger_{i}" for i in range(500)]]
)
def test_messages_without_the_joints_are_left_out(names):
    for position in ([], [0.1] * len(names)):
        assert leaves_out(bytes(serialize_message(JointState(name=names, position=position))))


def test_a_name_with_a_zero_inside_is_left_to_rclpy():
    data = bytes(serialize_message(JointState(name=[*JOINTS, "elbow?"], position=[1.0] * 4)))
    assert read(data) is not None
    cut = data.replace(b"elbow?", b"elbow\0")
    assert read(cut) is None and not leaves_out(cut)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_noticed_where_they_are_used(bad):
    codec = load_hosts()
    for place, usable in ((1, 0), (3, 1)):
        position = [1.0] * 4
        position[place] = bad
        data = bytes(serialize_message(JointState(name=[*JOINTS, "finger"], position=position)))
        reading, places, state = read_names(data)
        assert reading == codec.RD_READ
        values = np.zeros(3)
        assert codec.rd_cdr_pick(state.position, places, 3, ffi().from_buffer("double[]", values)) == usable


letters = st.characters(exclude_characters="\0", exclude_categories=("Cs",))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(st.text(letters, max_size=9), max_size=8),
    st.integers(-(2**31) * 10**9, 2**31 * 10**9 - 1),
)
def test_commands_are_what_rclpy_reads(names, stamp):
    codec, given, place = load_hosts(), Names(names), ffi().new("size_t[3]")
    rows = np.linspace(-1.0, 2.0, 3 * len(names)).reshape(3, -1)

    def written(function, count, *arguments):
        size = function(ffi().NULL, 0, len(names), *arguments, place)
        buffer = bytearray(size)
        assert function(ffi().from_buffer(buffer), size, len(names), *arguments, place) == size
        for k, row in enumerate(rows[:count]):
            buffer[place[k] : place[k] + 8 * len(names)] = row.tobytes()
        return buffer

    joint_state = written(codec.rd_cdr_write_joint_state, 3, given.lengths, given.text)
    codec.rd_cdr_set_stamp(ffi().from_buffer(joint_state), stamp)
    expected = JointState(name=names, position=rows[0], velocity=rows[1], effort=rows[2])
    expected.header.stamp = Time(sec=stamp // 10**9, nanosec=stamp % 10**9)
    assert deserialize_message(bytes(joint_state), JointState) == expected
    array = written(codec.rd_cdr_write_float64_array, 1)
    assert deserialize_message(bytes(array), Float64MultiArray).data.tolist() == rows[0].tolist()


def corpus():
    """Whole messages and damaged ones, the same in every run."""
    random = np.random.default_rng(7)
    whole = [
        bytes(serialize_message(JointState(name=JOINTS, position=[1.0] * 3, velocity=v, effort=e)))
        for v in ([], [1.0] * 3)
        for e in ([], [2.0] * 3)
    ]
    yield from whole
    for data in whole:
        for end in range(len(data)):
            yield data[:end]
    for _ in range(3000):
        data = bytearray(whole[random.integers(len(whole))])
        for _ in range(random.integers(1, 4)):
            place = int(random.integers(len(data) // 4)) * 4
            data[place : place + 4] = random.choice(
                np.array([0, 1, 3, 2**31 - 1, 2**31, 2**32 - 8, 2**32 - 1], dtype="<u4")
            ).tobytes()
        yield bytes(data[: random.integers(len(data) + 1)] if random.random() < 0.3 else data)


def test_sanitizers_find_nothing(tmp_path):
    """Each message of the corpus lies in a block of memory of its own size."""
    messages = list(corpus())
    stream = b"".join(struct.pack("<I", len(data)) + data for data in messages)
    sources = [Path(__file__).with_name("read_corpus.c"), *C_SOURCES.glob("cdr.c")]
    taken = sum(read(data) is not None for data in messages)
    printed = output_of(tmp_path / "read_corpus", sources, stream)
    assert printed == f"{len(messages)} messages, {taken} taken\n"

"""Logs are read alike from bags and tables; bad ones are refused with the reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import simulated

import robot_dynamics as rd
from robot_dynamics.errors import LogError
from robot_dynamics.identification.identify import identify
from robot_dynamics.identification.logs import read_log
from robot_dynamics.resources import resource

pytest.importorskip("scipy", reason="scipy is not installed")


@pytest.fixture(scope="module")
def puma():
    return rd.load_urdf(resource("urdf/puma560.urdf"))


@pytest.fixture(scope="module")
def log(puma):
    return simulated.simulated_log(puma, simulated.parameters(puma, 0.1, 1.0, 1.0), 1, seconds=4.0)


def write_bag(folder, logs, mcap=False, effort=True):
    rosbag2 = pytest.importorskip("rosbags.rosbag2", reason="rosbags is not installed")
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    kinds = {name.rpartition("/")[2]: store.types[name] for name in store.types}
    plugin = rosbag2.StoragePlugin.MCAP if mcap else rosbag2.StoragePlugin.SQLITE3
    with rosbag2.Writer(folder, version=9, storage_plugin=plugin) as writer:
        for topic, log in logs.items():
            connection = writer.add_connection(topic, "sensor_msgs/msg/JointState", typestore=store)
            for k, time in enumerate(log.time):
                stamp = kinds["Time"](sec=int(time), nanosec=round(1e9 * (time % 1.0)))
                message = kinds["JointState"](
                    header=kinds["Header"](stamp=stamp, frame_id=""),
                    name=list(log.joint_names)[::-1],
                    position=log.q[k, ::-1].copy(),
                    velocity=log.qd[k, ::-1].copy(),
                    effort=log.effort[k, ::-1].copy() if effort else np.zeros(0),
                )
                data = store.serialize_cdr(message, connection.msgtype)
                writer.write(connection, round(1e9 * time), data)


def write_table(path, log, quantities=("position", "velocity", "effort")):
    values = {"position": log.q, "velocity": log.qd, "effort": log.effort}
    header = ["time", *(f"{name}.{kind}" for kind in quantities for name in log.joint_names)]
    table = np.column_stack([log.time, *(values[kind] for kind in quantities)])
    lines = [",".join(header), *(",".join(map(repr, map(float, row))) for row in table)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("form", ["csv", "sqlite3", "mcap"])
def test_tables_and_bags_are_read_alike(form, log, puma, tmp_path):
    path = tmp_path / "run.csv"
    if form == "csv":
        write_table(path, log)
    else:
        path = tmp_path / "run"
        write_bag(path, {"/joint_states": log}, mcap=form == "mcap")
    read = read_log(str(path), puma.joint_names)
    assert np.allclose(read.time, log.time, atol=1e-9, rtol=0.0)
    for ours, theirs in ((read.q, log.q), (read.qd, log.qd), (read.effort, log.effort)):
        assert np.array_equal(ours, theirs)


def test_a_state_that_is_published_twice_counts_once(log, puma, tmp_path):
    """Simulators in lockstep repeat what nobody answers."""
    twice = np.sort(np.concatenate([np.arange(len(log.time)), [3, 50, 50]]))
    repeated = replace(log, time=log.time[twice], q=log.q[twice], qd=log.qd[twice], effort=log.effort[twice])
    write_bag(tmp_path / "run", {"/joint_states": repeated})
    again = read_log(str(tmp_path / "run"), puma.joint_names)
    np.testing.assert_allclose(again.time - again.time[0], log.time - log.time[0], atol=1e-8)


def test_logs_of_other_joints_or_without_efforts_are_refused(log, puma, tmp_path):
    write_table(tmp_path / "a.csv", log, ("position",))
    with pytest.raises(LogError, match=r"no column joint1\.effort"):
        read_log(str(tmp_path / "a.csv"), puma.joint_names)
    write_bag(tmp_path / "a", {"/joint_states": log}, effort=False)
    with pytest.raises(LogError, match="0 efforts for 6 joints"):
        read_log(str(tmp_path / "a"), puma.joint_names)
    with pytest.raises(LogError, match="no joint elbow; joints found: joint6"):
        read_log(str(tmp_path / "a"), ["joint1", "elbow"])
    write_bag(tmp_path / "two", {"/left/joint_states": log, "/right/joint_states": log})
    with pytest.raises(LogError, match="several robots, on /left/joint_states, /right/joint_states"):
        read_log(str(tmp_path / "two"), puma.joint_names)
    assert len(read_log(str(tmp_path / "two"), puma.joint_names, "/left/joint_states").time) == len(log.time)
    (tmp_path / "b.db3").write_bytes(b"no bag at all")
    with pytest.raises(LogError, match="cannot read the bag"):
        read_log(str(tmp_path / "b.db3"), puma.joint_names)


def broken(log, what):
    time, q, effort = log.time.copy(), log.q.copy(), log.effort.copy()
    if what == "gap":
        time[200:] += 0.5
        time[350:] += 0.5
    elif what == "constant":
        q[:, 2] = 0.4
    elif what == "silent":
        effort[:, 1] = 0.0
    elif what == "two robots":
        time = np.repeat(time, 2)[: len(time)]
    elif what == "jumps":
        q[::2, 0] += 1.0
    elif what == "degrees":
        return replace(log, q=np.degrees(q), qd=np.degrees(log.qd))
    elif what == "mixed":
        return replace(log, q=np.degrees(0.01 * q), qd=0.01 * log.qd)
    elif what == "currents":
        effort *= 0.08
    elif what == "sign":
        effort[:, 1] *= -1.0
    elif what == "nan":
        effort[5, 3] = np.nan
    elif what == "short":
        return replace(log, **{k: getattr(log, k)[:100] for k in ("time", "q", "qd", "effort")})
    return replace(log, time=time, q=q, effort=effort)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("gap", "a gap of 0.508 s after 1.592 s.*2 s at least are needed"),
        ("constant", "joint3 not moving"),
        ("silent", "effort of joint2 is constant"),
        ("two robots", "time does not advance"),
        ("jumps", "joint1 jumps by"),
        ("degrees", "are they degrees?"),
        ("mixed", "are they degrees?"),
        ("sign", "efforts of joint2 have the wrong sign"),
        ("currents", r"these are motor currents \[A\]"),
        ("nan", "the effort of joint4 in state 6 is no finite number"),
        ("short", "a run of 2 s at least"),
    ],
)
def test_bad_logs_are_refused_with_the_reason(what, message, log, puma):
    with pytest.raises(LogError, match=message):
        identify(puma, [broken(log, what)])

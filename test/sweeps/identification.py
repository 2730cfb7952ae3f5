"""Simulated robots are identified, and what the results claim is compared with the truth.

    make sweep NAME=identification SWEEP="--robots 20 --seed 1"

Counted are: base parameters outside four of their own standard deviations (at most 1 in 500), efforts of an
unseen motion more than 2 % off that were not announced, negative masses, centres of mass outside their links.
Delays outside four of their deviations are shown.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time as clock
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import yaml
from simulated_arms import STICTION, Conditions, arm, built_up, link_efforts, log_of, motion

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.identification.description import identified_urdf
from robot_dynamics.identification.files import drive_parameters
from robot_dynamics.identification.identify import identify
from robot_dynamics.identification.link_boxes import link_boxes
from robot_dynamics.identification.runs import Options

FAR = 4.0
"""Standard deviations outside of which a base parameter counts as missed."""
MOST_FAR = 1.0 / 500.0
PACES = (1.0, 0.5, 0.2)
"""Speeds of a second run that are compared."""
UNSEEN_PACES = (1.0, 0.3, 0.1)
GOOD = 0.02
"""Relative error of the efforts of an unseen motion that must be announced."""


def written_efforts(folder: Path, chain, q, qd, qdd):
    """(N, n) efforts by Pinocchio from the files that an identification has written."""
    document = yaml.safe_load((folder / "friction.yaml").read_text(encoding="utf-8"))
    drives = {key: np.array(value) for key, value in document["/**"]["ros__parameters"].items()}
    links = link_efforts((folder / "identified.urdf").read_bytes(), chain, q, qd, qdd)
    slow = np.clip(qd / STICTION, -1.0, 1.0)
    sign = 0.5 * slow * (3.0 - slow**2)
    size = drives["friction"] + 0.0 * qd
    if "static_friction" in drives:
        drop = drives["static_friction"] - drives["friction"]
        size = size + drop * np.exp(-np.abs(qd) / drives["stribeck_velocity"])
    size = size + drives.get("friction_offset", 0.0) * sign
    size = size + drives.get("load_friction", 0.0) * np.abs(links)
    dry = size * sign
    if "presliding_friction" in drives:
        built = np.abs(sign) * built_up(q, drives["presliding_travel"]) - sign
        dry = dry + drives["presliding_friction"] * built
    return links + drives["rotor_inertia"] * qdd + drives["damping"] * qd + dry


def try_robot(index: int, seed: int, load: bool) -> dict:
    """Identify one robot; what came out beside the truth."""
    draw = np.random.default_rng([seed, index])
    robot, conditions = arm(draw, index, load), Conditions.drawn(draw)
    log = log_of(robot, conditions, draw)
    row = {"name": robot.described.name, "conditions": conditions, "far": 0, "base": 0, "negative": 0}
    row["load"], row["builds"] = bool(robot.friction.load.any()), bool(robot.friction.builds.any())
    begin = clock.perf_counter()
    try:
        found = identify(robot.described, [log])
    except RobotDynamicsError as error:
        return {**row, "refused": str(error)}
    row["seconds"] = clock.perf_counter() - begin
    truth = {entry.name: entry for entry in found.base}
    values = base_truth(found, robot)
    known = [name for name in truth if name in values]
    scores = [(values[name] - truth[name].least_squares) / truth[name].deviation for name in known]
    row["scores"] = np.array(scores)
    row["worst"] = max(zip(np.abs(scores), known, strict=True), default=(0.0, ""))
    row["far"], row["base"] = int(np.sum(np.abs(scores) > FAR)), len(scores)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "identified.urdf").write_bytes(identified_urdf(robot.source, found.chain))
        Path(folder, "friction.yaml").write_text(drive_parameters(found), encoding="utf-8")
        draw = np.random.default_rng([seed, index, 1])
        q, qd, qdd = motion(robot.described, draw, np.arange(0.0, 20.0, 0.02), 0.6, 1.2)
        effort = robot.efforts(q, qd, qdd)
        missed = written_efforts(Path(folder), robot.described, q, qd, qdd) - effort
        described = link_efforts(robot.source.read_bytes(), robot.described, q, qd, qdd) - effort
    row["error"] = np.linalg.norm(missed) / np.linalg.norm(effort)
    row["joints"] = np.linalg.norm(missed, axis=0) / np.linalg.norm(effort, axis=0)
    row["described"] = np.linalg.norm(described) / np.linalg.norm(effort)
    row["announced"] = found.expected_miss()
    row["cutoff"], row["delay"] = found.treatment.cutoff, found.treatment.delay
    row["negative"] = sum(joint.body.mass <= 0.0 for joint in found.chain.joints)
    row["outside"] = sum(
        not box.contains(joint.body.center_of_mass, 1e-6)
        for joint, box in zip(found.chain.joints, link_boxes(robot.described), strict=True)
    )
    row["validate"] = found.summary()["error"]["validate"]
    return row


def compare_speeds(index: int, seed: int, load: bool) -> dict[str, list[float]]:
    """Errors of the efforts of an unseen motion, at its speed and slower, by runs of the same length.

    One run is of double length. Of two runs the second is slower, or at the same speed from elsewhere.
    """
    found = {}
    for name, paces in (("double", None), *((f"1, {pace:g}", (1.0, pace)) for pace in PACES)):
        draw = np.random.default_rng([seed, index])
        robot, conditions = arm(draw, index, load), Conditions.drawn(draw)
        conditions = replace(conditions, seconds=20.0, speed=0.6, span=0.9)
        if paces is None:
            logs = [log_of(robot, replace(conditions, seconds=40.0), draw)]
        else:
            logs = [log_of(robot, conditions, draw, pace) for pace in paces]
        result = identify(robot.described, logs, options=Options(learn_share=1.0))
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "identified.urdf").write_bytes(identified_urdf(robot.source, result.chain))
            Path(folder, "friction.yaml").write_text(drive_parameters(result), encoding="utf-8")
            draw = np.random.default_rng([seed, index, 1])
            states = motion(robot.described, draw, np.arange(0.0, 20.0, 0.02), 0.6, 1.2)
            errors = []
            for pace in UNSEEN_PACES:
                q, qd, qdd = (pace**order * part for order, part in enumerate(states))
                effort = robot.efforts(q, qd, qdd)
                missed = written_efforts(Path(folder), robot.described, q, qd, qdd) - effort
                errors.append(float(np.linalg.norm(missed) / np.linalg.norm(effort)))
        found[name] = errors
    return found


def speeds(robots: range, seed: int, load: bool) -> int:
    """Compare runs at several speeds; the exit code is 1 where two speeds are not better."""
    rows: list[tuple[set[str], dict[str, list[float]]]] = []
    for index in robots:
        draw = np.random.default_rng([seed, index])
        robot, conditions = arm(draw, index, load), Conditions.drawn(draw)
        kinds = {"all", "30 and 50 Hz" if conditions.rate < 100.0 else "100 Hz and more"}
        kinds.add("load friction" if robot.friction.load.any() else "no load friction")
        curved = int(np.sum(robot.friction.static != robot.friction.coulomb))
        kinds.add("Stribeck in 2 joints and more" if curved > 1 else "Stribeck in 0 or 1 joint")
        try:
            found = compare_speeds(index, seed, load)
        except RobotDynamicsError as error:
            print(f"{index:4d} REFUSED {error}", flush=True)
            continue
        rows.append((kinds, found))
        parts = (
            f"{name}: {' '.join(f'{100 * error:.2f}' for error in row)} %" for name, row in found.items()
        )
        print(f"{index:4d} {', '.join(sorted(kinds - {'all'}))} | {' | '.join(parts)}", flush=True)
    print(f"median error of unseen motions at {', '.join(f'{pace:g}' for pace in UNSEEN_PACES)} of the speed")
    worse = False
    for kind in sorted(set().union(*(kinds for kinds, _ in rows))):
        chosen = [found for kinds, found in rows if kind in kinds]
        errors = {name: np.array([found[name] for found in chosen]) for name in chosen[0]}
        print(f"{kind} ({len(chosen)} robots)")
        for name, own in errors.items():
            gain = np.median(own / errors["double"], axis=0)
            shown = " ".join(f"{100 * error:.2f}" for error in np.median(own, axis=0))
            shares = " ".join(f"{share:.2f}" for share in gain)
            print(f"  {name:>8}: {shown} %; of the double length's: {shares}")
        if kind == "all":
            middle = {name: np.median(own, axis=0).sum() for name, own in errors.items()}
            worse = min(middle.values()) >= middle["double"]
    return int(worse)


def base_truth(found, robot) -> dict[str, float]:
    """True values of the base parameters, by name."""
    from robot_dynamics.identification.runs import parameter_names

    # The combinations of the result: others may have the same names where the law of friction differs.
    base = found.knowledge.base
    names = parameter_names(robot.described)
    truth = base.grouping @ robot.parameters()
    plain = (found.law.stribeck_velocity == 0.0) & (found.law.presliding_travel == 0.0)
    count = len(plain)
    law = robot.friction
    curved = (law.static != law.coulomb) | law.load.astype(bool) | law.builds.astype(bool)
    result = {}
    for column, value in zip(base.columns, truth, strict=True):
        joint = (column - len(names)) % count
        drive = names[column].endswith(("friction", "damping", "static_friction", "offset"))
        # Parameters of another law of friction than the true one have no true value.
        if drive and (curved[joint] or not plain[joint]):
            continue
        result[names[column]] = float(value)
    return result


def main() -> int:
    """Sweep; the exit code is 1 where a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--robots", type=int, default=200, help="number of robots (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the robots (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="index of the first robot (default: 0)")
    parser.add_argument("--no-load-friction", action="store_true", help="friction independent of the load")
    parser.add_argument("--speeds", action="store_true", help="compare runs at several speeds instead")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.speeds:
        chosen = range(arguments.first, arguments.first + arguments.robots)
        return speeds(chosen, arguments.seed, not arguments.no_load_friction)
    rows: list[dict] = []
    for index in range(arguments.first, arguments.first + arguments.robots):
        if rows and len(rows) % 10 == 0:
            print("so far:", "; ".join(tally(rows)[0]), flush=True)
        row = try_robot(index, arguments.seed, not arguments.no_load_friction)
        rows.append(row)
        c = row["conditions"]
        head = (
            f"{index:4d} {row['name']:<12} {c.rate:5.0f} Hz {1e3 * c.delay:5.1f} ms {c.encoder_step:.0e} rad"
            f" {100 * c.noise:4.1f} % span {c.span:.2f} {'load' if row['load'] else '    '}"
            f" {'builds' if row['builds'] else '      '}"
        )
        if "refused" in row:
            print(head, "REFUSED", row["refused"], flush=True)
            continue
        print(
            head,
            f"far {row['far']:2d}/{row['base']} worst {row['worst'][0]:5.1f} {row['worst'][1]:<28}"
            f" unseen {100 * row['error']:6.2f} % announced {100 * row['announced']:6.2f} %"
            f" described {100 * row['described']:5.1f} % held out {100 * row['validate']:5.2f} %"
            f" cut-off {row['cutoff']:.1f} Hz delay {1e3 * row['delay'].seconds:.2f}"
            f" ± {1e3 * row['delay'].deviation:.2g} ms {row['seconds']:.1f} s",
            flush=True,
        )
    lines, missed = tally(rows)
    print("\n".join([*lines, "verdict: a limit is exceeded" if missed else "verdict: all limits are kept"]))
    return int(missed)


def tally(rows: list[dict]) -> tuple[list[str], bool]:
    """Sums over the robots so far, and whether a limit is exceeded."""
    done = [row for row in rows if "refused" not in row]
    far, base = sum(row["far"] for row in done), sum(row["base"] for row in done)
    unsaid = [row for row in done if row["error"] > GOOD and not row["announced"] > GOOD]
    scores = np.abs(np.concatenate([row["scores"] for row in done])) if done else np.full(1, np.nan)
    middle, size = np.median(scores), np.sqrt(np.mean(scores**2))
    negative = sum(row["negative"] for row in done)
    outside = sum(row["outside"] for row in done)
    late = [
        abs(row["delay"].seconds - row["conditions"].delay) > FAR * row["delay"].deviation for row in done
    ]
    lines = [
        f"{len(rows)} robots, {len(rows) - len(done)} refused",
        f"base parameters outside {FAR:g} deviations: {far} of {base}, at most {MOST_FAR * base:.1f}",
        f"errors in units of their deviations: median {middle:.2f}, root mean square {size:.2f}"
        " (normal distribution: 0.67 and 1)",
        f"more than {100 * GOOD:g} % off: {sum(row['error'] > GOOD for row in done)},"
        f" not announced: {len(unsaid)}",
        f"announced as more than {100 * GOOD:g} % off: {sum(row['announced'] > GOOD for row in done)}",
        f"masses that are not positive: {negative}; centres of mass outside their links: {outside}",
        f"delays outside {FAR:g} deviations: {sum(late)} of {len(late)}",
    ]
    return lines, bool(far > MOST_FAR * base or unsaid or negative + outside)


if __name__ == "__main__":
    sys.exit(main())

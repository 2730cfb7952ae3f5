"""The evidence of the five papers: its verdicts, its page, its errata; and the oracles that it rests on."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.benchmark.arms import random_arm as random_chain
from robot_dynamics.cli.main import main
from robot_dynamics.dynamics.formulations import FORMULATIONS
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.papers.craig.recursion import iterate
from robot_dynamics.papers.dasgupta.joint_space import plan
from robot_dynamics.papers.dasgupta.machines import frictionless, paper_platform
from robot_dynamics.papers.dasgupta.reproduction import paper_paths
from robot_dynamics.papers.dasgupta.verbatim import Flops, published_forces
from robot_dynamics.papers.evidence.finding import Erratum, EvidenceVerdict, PaperFinding
from robot_dynamics.papers.evidence.kinematics import frame_motion, lagrange_oracle, random_arm, random_state
from robot_dynamics.papers.lee.figures import simulate
from robot_dynamics.papers.registry import PAPERS
from robot_dynamics.papers.renaud.classical import classical
from robot_dynamics.papers.turney import simulation
from robot_dynamics.papers.turney.strobing import coriolis_cost, mass_matrix_cost
from robot_dynamics.papers.turney.symbolic import SymbolicArm, difference_terms, lagrange, newton_euler
from robot_dynamics.stewart import StewartPlatform

pytestmark = pytest.mark.long

# As in test_stewart_reproduction.py.
START_OF_PATH_I = [411.5293, -1146.6681, 1434.0676, -616.9372, -68.9928, 370.5364]
DOCS = Path(__file__).resolve().parents[2] / "docs/papers"
FIELDS = {"paper", "item", "printed", "found", "verdict", "reason", "command"}
# Statements that do not come out; all others are reproduced or cannot be compared.
DIFFERING_STATEMENTS = {
    "section 6: leg inertia's share of the forces",
    "operations of each leg (section 2)",
    "operations of the final system of equations",
    "cost of C, dynamic part d_2 n(n+1)/2",
    "errors always below 4.26e-4 rad: published law, links alone",
    "errors always below 4.26e-4 rad: published law, with the motors' inertia",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Everything, as the command writes it, but for a shorter free motion."""
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation, "_DURATION", 0.4)
        patch.setattr(simulation, "_STEPS", (0.04, 0.02, 0.01))
        assert main(["reproduce", "all", "-o", str(folder), "--markdown", str(folder / "docs")]) == 0
    return folder


@pytest.fixture(scope="module")
def items(made):
    return json.loads((made / "items.json").read_text(encoding="utf-8"))


def of(items, paper):
    return {item["item"]: item for item in items if item["paper"] == paper}


def test_every_item_has_every_field_and_a_reason_unless_it_is_reproduced(items):
    for item in items:
        assert set(item) - {"derivation"} == FIELDS
        assert all(isinstance(item[field], str) for field in FIELDS)
        assert item["item"] and item["found"]
        assert item["verdict"] in {verdict.value for verdict in EvidenceVerdict}
        assert item["verdict"] == "reproduced" or item["reason"]


def test_an_item_is_there_once(items):
    names = [(item["paper"], item["item"]) for item in items]
    assert len(set(names)) == len(names)
    assert {paper for paper, _ in names} == set(PAPERS)


def test_what_differs_is_what_is_known_to_differ(items):
    differing = {
        item["item"]
        for item in items
        if item["verdict"] == "differs" and not re.match(r"erratum|table|step table", item["item"])
    }
    assert differing == DIFFERING_STATEMENTS


def test_tables_have_all_their_lines(items):
    turney, lee, renaud = (of(items, name) for name in ("turney", "lee", "renaud"))
    lines = {1: 3, 2: 8, 3: 14, 4: 13, 5: 9}
    for number, count in lines.items():
        assert sum(name.startswith(f"table {number}") for name in turney) == count
    assert sum(name.startswith("table 1,") for name in lee) == 11
    assert sum(name.startswith("table 2,") for name in lee) == 11
    steps = [name for name in renaud if re.match(r"step table of the 6R example, \d", name)]
    assert len(steps) == 7
    assert "164 ×, 115 +" in renaud["step table of the 6R example, with y^5 - z^6 as one parameter"]["found"]


def test_errata_are_wrong_as_printed_and_right_as_corrected(items):
    errata = [item for item in items if item["item"].startswith("erratum")]
    assert len(errata) >= 24
    for item in errata:
        printed, corrected = (
            float(x) for x in re.findall(r"as (?:printed|corrected) (\d\.\de[+-]\d\d)", item["found"])
        )
        assert printed > 1e-4 and corrected < 1e-8
        assert item["verdict"] == "differs" and len(item["derivation"]) > 40


def test_the_page_is_self_contained(made, items):
    page = (made / "index.html").read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(?!#|data:image/png;base64,)', page)
    assert "http" not in re.sub(r"data:image/png;base64,[A-Za-z0-9+/=]+", "", page).replace("http-equiv", "")
    assert page.count("data:image/png;base64,") >= 15
    for paper in PAPERS.values():
        for section in paper.sections:
            assert f"robot_dynamics reproduce {paper.key} --only {section.key}" in page
    assert page.count('class="verdict"') == len(items)


def test_dasguptas_figures_and_tables_are_written(made):
    folder = made / "dasgupta"
    drawn = sorted(file.name for file in folder.glob("*.png"))
    assert len(drawn) == 13
    for number in range(3, 11):
        assert any(name.startswith(f"figure_{number:02d}_") for name in drawn)
    assert all(file.stat().st_size > 2_000 for file in folder.glob("*.png"))
    with (folder / "path_I_exact.csv").open(encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    assert len(rows) == 62 and rows[0][0] == "time [s]" and rows[0][2] == "force_1 [N]"
    np.testing.assert_allclose([float(x) for x in rows[1][2:8]], START_OF_PATH_I, atol=6e-5)


def test_commands_make_the_items_again(made, items, tmp_path, capsys):
    commands = sorted({item["command"] for item in items})
    assert len(commands) == sum(len(paper.sections) for paper in PAPERS.values())
    command = next(command for command in commands if command.endswith("lee --only law"))
    assert main([*command.split()[1:], "-o", str(tmp_path)]) == 0
    again = json.loads((tmp_path / "items.json").read_text(encoding="utf-8"))
    assert [i["item"] for i in again] == [i["item"] for i in items if i["command"] == command]
    assert main(["reproduce", "lee", "--only", "nothing", "-o", str(tmp_path)]) == 1
    assert "figures" in capsys.readouterr().err


def test_progress_is_shown(tmp_path, capsys):
    assert main(["reproduce", "craig", "-o", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert "3/3" in shown.err and "%" in shown.err
    assert "craig: " in shown.out and "index.html" in shown.out


def verdicts(text):
    return re.findall(
        r"^\| (.*?) \|.*\| (reproduced|differs|cannot be compared) \|", text, flags=re.MULTILINE
    )


def test_the_documents_are_what_the_command_writes(made):
    for name in ("evidence.md", "errata.md"):
        written, kept = ((folder / name).read_text(encoding="utf-8") for folder in (made / "docs", DOCS))
        assert verdicts(written) == verdicts(kept)
        assert re.findall(r"^#+ .*", written, flags=re.MULTILINE) == re.findall(
            r"^#+ .*", kept, flags=re.MULTILINE
        )


def test_the_documents_have_their_pictures():
    linked = re.findall(r"\]\((images/evidence/.*?)\)", (DOCS / "evidence.md").read_text(encoding="utf-8"))
    assert len(linked) >= 15
    assert {name for name in linked if not (DOCS / name).is_file()} == set()
    assert {f"images/evidence/{path.name}" for path in (DOCS / "images/evidence").iterdir()} == set(linked)


def test_a_finding_that_is_not_reproduced_needs_a_reason():
    with pytest.raises(ValueError, match="reason"):
        PaperFinding("x", "1", "2", False)
    assert PaperFinding("x", "1", "1", True, "not shown").explanation == ""
    assert PaperFinding("x", "1", "?", None, "no number").verdict is EvidenceVerdict.INCOMPARABLE


def test_an_erratum_whose_correction_fails_is_not_called_an_error_of_the_print():
    def erratum(wrong, right):
        return Erratum("p", "a", "b", "because", "x", lambda: (wrong, right)).finding().verdict

    assert erratum(0.3, 1e-12) is EvidenceVerdict.DIFFERS
    assert erratum(1e-12, 1e-12) is EvidenceVerdict.REPRODUCED
    assert erratum(0.3, 0.2) is EvidenceVerdict.INCOMPARABLE


def test_the_oracle_agrees_with_pinocchio():
    pinocchio = pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    from robot_dynamics.benchmark.others import pinocchio_statements

    chain = random_chain(5)
    model = SerialModel.from_chain(chain)
    state = random_state(model)
    names = pinocchio_statements(chain, *state)["inverse_dynamics"].names
    expected = pinocchio.rnea(names["model"], names["data"], *state)
    np.testing.assert_allclose(lagrange_oracle(model, *state), expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("kinds", ["R", "P", "RPRRPR", "PRPRRR"])
def test_renauds_classical_recursion_and_craigs_literal_one(kinds):
    model = random_arm(21, kinds)
    state = random_state(model, 3)
    expected = lagrange_oracle(model, *state)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(classical(model, *state), expected, atol=1e-10 * scale)
    np.testing.assert_allclose(iterate(model, *state).tau, expected, atol=1e-10 * scale)
    motion = frame_motion(model, *state, standard=False)
    turned = [r @ v for r, v in zip(motion.rotation, iterate(model, *state).v, strict=True)]
    np.testing.assert_allclose(turned, motion.velocity, atol=1e-12)


def test_the_symbolic_proof_notices_an_error():
    arm = SymbolicArm.of(2)
    right = [arm.normal(tau) for tau in newton_euler(arm)]
    assert right == [arm.normal(tau) for tau in lagrange(arm)]
    heavier = SymbolicArm(arm.joints, arm.g * 2, arm.pairs, arm.ring)
    assert right != [arm.normal(tau) for tau in lagrange(heavier)]
    assert difference_terms(2)[1] == 0


def test_the_symbolic_torques_are_those_of_the_formulations():
    """Numbers put into the symbols give the torques of an arm in modified frames."""
    arm, random = SymbolicArm.of(2), np.random.default_rng(8)
    names = ["a", "d", "m", "rx", "ry", "rz", "Ix", "Iy", "Iz", "v", "w"]
    joints = [dict(zip(names, random.uniform(0.2, 1.0, 11), strict=True)) for _ in range(2)]
    theta, twist = random.uniform(-1.0, 1.0, (2, 2))
    values, moments, inertias = {"g": 9.81}, [], []
    for symbols, numbers, t, phi in zip(arm.joints, joints, theta, twist, strict=True):
        full = numbers | {"c": np.cos(t), "s": np.sin(t), "ca": np.cos(phi), "sa": np.sin(phi)}
        values |= {str(symbols[name]): value for name, value in full.items()}
        # The standard frame stands at the link's far end: Rx(phi) Trans(a, 0, 0) from the modified one.
        turn = np.array([[1, 0, 0], [0, np.cos(phi), -np.sin(phi)], [0, np.sin(phi), np.cos(phi)]])
        center = turn @ [numbers["rx"] + numbers["a"], numbers["ry"], numbers["rz"]]
        central = turn @ np.diag([numbers["Ix"], numbers["Iy"], numbers["Iz"]]) @ turn.T
        moments.append(numbers["m"] * center)
        inertias.append(central + numbers["m"] * (center @ center * np.eye(3) - np.outer(center, center)))
    order = [values[str(symbol)] for symbol in arm.ring.gens]
    symbolic = [
        sum(float(c) * np.prod(np.power(order, monomial)) for monomial, c in arm.ring(tau).items())
        for tau in newton_euler(arm)
    ]
    model = SerialModel.from_dh(
        [0.0, twist[0]],
        [0.0, joints[0]["a"]],
        [joint["d"] for joint in joints],
        [joint["m"] for joint in joints],
        moments,
        inertias,
    )
    rates, accelerations = ([joint[name] for joint in joints] for name in ("v", "w"))
    np.testing.assert_allclose(
        symbolic, FORMULATIONS["craig"](model, theta, rates, accelerations), rtol=1e-12
    )


def test_strobing_costs_by_hand():
    """M for two links: the first turns with a constant tensor; counts of link 2 from table 4's lines."""
    cost = mass_matrix_cost()
    assert cost.kinematic.at(2).multiplications == 12
    assert str(cost.kinematic.multiplications) == "12n^2 - 24n + 12"
    assert len(coriolis_cost().dynamic.additions.coefficients) == 4


def test_matlabs_flops_by_hand():
    flops = Flops()
    flops.product(np.eye(3), np.eye(3))
    assert (flops.operations, flops.matlab) == (45, 54)
    flops.product(np.eye(3), np.ones(3))
    assert (flops.operations, flops.matlab) == (60, 72)
    flops.solve(2.0 * np.eye(2), np.ones(2))
    # One factor, one product and one difference; then 1 + 1 forward, 1 + 1 and two divisions backward.
    assert flops.operations - 60 == 3 + 6


@pytest.mark.parametrize("time", [0.0, 0.5, 3.0])
def test_verbatim_equations_are_the_published_model(time):
    machine = frictionless(paper_platform().machine)
    motion = paper_paths()["II"].line.at(time / 10.0)
    expected = StewartPlatform(machine).inverse_dynamics_of(motion, "published", on_violation="report")
    counted = published_forces(machine, motion)
    np.testing.assert_allclose(counted.forces, expected.actuator_forces, rtol=1e-10)
    assert counted.platform.matlab == 273


def test_a_path_planned_in_joint_space_moves_as_its_rates_say():
    path = plan(paper_platform())
    step = path.times[1] - path.times[0]
    # Between the blends, where accelerations do not jump.
    middle = slice(27, 34)
    numeric = np.gradient(path.motion.position, step, axis=0)[middle]
    np.testing.assert_allclose(path.motion.linear_velocity[middle], numeric, atol=2e-4)
    numeric = np.gradient(path.motion.linear_velocity, step, axis=0)[middle]
    np.testing.assert_allclose(path.motion.linear_acceleration[middle], numeric, atol=2e-3)


def test_lees_law_in_our_plant():
    """As measured by others: 1.76e-3 rad on the links alone, 4.32e-4 with the motors; ours far below."""
    assert simulate(half_period_ahead=False, motors=False).largest == pytest.approx(1.76e-3, rel=0.01)
    assert simulate(half_period_ahead=False, motors=True).largest == pytest.approx(4.32e-4, rel=0.01)
    assert simulate(half_period_ahead=True, motors=True).largest < 2e-5
    assert simulate(half_period_ahead=True, motors=False).largest < 6e-5
    assert "newton-euler-lee" in FORMULATIONS

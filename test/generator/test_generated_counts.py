"""Operation counts of the generated inverse dynamics: literals that may only become smaller."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from harness.installed_robots import FOLDERS

from robot_dynamics.benchmark.operation_list import listed, main, names_of_longer, operations
from robot_dynamics.codegen.program import CONVENTION
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.programs import find_choices, generate
from robot_dynamics.papers.count_report.generated import reference_table, stewart_table
from robot_dynamics.papers.dasgupta.machines import (
    frictionless,
    general_machine,
    stewart_counts,
)
from robot_dynamics.papers.reference_models import (
    REFERENCE_MODELS,
    drawn_counts,
    reference_counts,
)
from robot_dynamics.stewart.program import make_program

# Fewest operations; fewest with the joints' own sines and cosines alone. All lengths differ.
REACHED = {
    "Renaud's 6R example": (209, 216),
    "RX-90, simplified set": (218, 225),
    "RX-90, 36 base parameters": (382, 401),
    "PUMA 560, 36 base parameters": (405, 424),
}
# Of the models with other numbers; `robot_dynamics count` draws more.
DRAWN = 10
# Without and with friction.
REACHED_STEWART = {"the paper's": (1663, 1836), "a general": (1920, 2124), "the same": (1982, 2186)}


LISTED = Path(__file__).with_name("operation_list.tsv")
ROBOTS = "cmeel.prefix/share/example-robot-data/robots/"
SOON_COUNTED = ["a1_description/urdf/a1.urdf", "ur_description/urdf/ur5_robot.urdf"]
LATER_COUNTED = [
    "kinova_description/robots/kinova.urdf", "so_arm_description/urdf/so101.urdf",
    "xarm_description/urdf/xarm7.urdf", "talos_data/robots/talos_left_arm.urdf",
]  # fmt: skip


ONE_JOINT = """<robot name="arm"><link name="base"/><link name="rod"><inertial><mass value="2"/>
<origin xyz="0.3 0 0"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="9" velocity="3"/></joint></robot>"""


@pytest.fixture(scope="module")
def counts():
    return reference_counts(effort="normal", draws=0)


@pytest.mark.long
def test_counts_from_elsewhere_are_undercut(counts):
    for row in counts:
        elsewhere = row.reference.multiplications + row.reference.additions
        assert row.count.total <= REACHED[row.reference.name][0] < elsewhere
        assert row.joint_angles_only.total <= REACHED[row.reference.name][1] < elsewhere
        assert row.joint_angles_only.sines_and_cosines <= 12
        assert row.count.divisions == row.count.square_roots == 0


def test_only_renauds_count_is_called_published():
    assert [(r.total, r.published) for r in REFERENCE_MODELS] == [
        (279, True),
        (269, False),
        (512, False),
        (541, False),
    ]


@pytest.mark.parametrize("reference", REFERENCE_MODELS, ids=lambda r: r.file)
def test_no_two_lengths_are_equal(reference):
    for model in (reference.model(), reference.model(3)):
        lengths = [abs(x) for link in model.links for x in (link.a, link.r) if x]
        assert len(set(lengths)) == len(lengths)


@pytest.mark.parametrize("objective", [Objective.OPERATIONS, Objective.JOINT_ANGLES], ids=lambda o: o.option)
@pytest.mark.parametrize("reference", REFERENCE_MODELS, ids=lambda r: r.file)
def test_a_count_holds_for_other_numbers_and_signs(reference, objective):
    choices = find_choices(reference.model(), objective)
    found = drawn_counts(reference, choices, DRAWN)
    assert len(found) == DRAWN
    assert max(found) <= REACHED[reference.name][objective is Objective.JOINT_ANGLES]


@pytest.mark.parametrize("reference", REFERENCE_MODELS, ids=lambda r: r.file)
def test_a_search_of_its_own_does_no_worse_on_other_numbers(reference):
    model = reference.model(1000)
    program = generate(model, objective=Objective.OPERATIONS)
    assert len(program.instructions) >= REACHED[reference.name][0]
    operations = [i for i in program.instructions if i.operation.value in "+-*"]
    assert len(operations) <= REACHED[reference.name][0]
    if reference.file == "renaud_example":
        assert program == generate(model, choices=find_choices(model, Objective.OPERATIONS))


@pytest.mark.long
def test_stewart_platforms():
    table = stewart_counts()
    for row, (name, reached) in zip(table, REACHED_STEWART.items(), strict=True):
        assert row.name.startswith(name)
        assert row.without.total <= reached[0] and row.with_friction.total <= reached[1]
    for row, line in zip(table, stewart_table(table).splitlines()[1:], strict=True):
        assert line.split()[-2:] == [str(row.without.total), str(row.with_friction.total)]


@pytest.mark.parametrize("seed", [3, 17])
def test_other_general_machines_take_no_more(seed):
    machine = general_machine(seed)
    assert make_program(machine).count.total <= REACHED_STEWART["a general"][1]
    assert make_program(frictionless(machine)).count.total <= REACHED_STEWART["a general"][0]
    assert np.linalg.matrix_rank(machine.platform.inertia) == 3


@pytest.mark.long
def test_the_table_names_every_model_and_the_convention(counts):
    table = reference_table(counts)
    assert CONVENTION in table
    assert all(name in table for name in REACHED)
    assert "301* 240+ = 541" in table
    assert "published: 279 (Renaud's 6R example)" in table


@pytest.mark.skipif("example-robot-data" not in FOLDERS, reason="example-robot-data is not installed")
@pytest.mark.parametrize(
    "name", [*SOON_COUNTED, *(pytest.param(name, marks=pytest.mark.long) for name in LATER_COUNTED)]
)
def test_the_list_of_serial_chains_has_the_counts_of_today(name):
    """A list that says more than today's count is stale, too: it hides the next increase."""
    folder = FOLDERS["example-robot-data"]
    now = operations(folder / name)
    assert listed(LISTED)[f"{ROBOTS}{name}"] == " ".join(f"{key}={value}" for key, value in now.items())


@pytest.mark.skipif("example-robot-data" not in FOLDERS, reason="example-robot-data is not installed")
def test_the_list_has_every_description_that_is_installed():
    folder = FOLDERS["example-robot-data"]
    installed = {f"{ROBOTS}{path.relative_to(folder)}" for path in folder.rglob("*.urdf")}
    assert {name for name in listed(LISTED) if name.startswith(ROBOTS)} == installed


@pytest.mark.parametrize(
    ("row", "said", "exit_code"),
    [("energy=1 gravity=9", ("longer: energy", "was energy=1"), 1), ("", ("was not listed",), 1)],
    ids=["other counts", "not listed"],
)
def test_a_stale_list_is_told_in_both_directions(row, said, exit_code, tmp_path, monkeypatch, capsys):
    robots = tmp_path / "robots"
    robots.mkdir()
    (robots / "arm.urdf").write_text(ONE_JOINT)
    (tmp_path / "list").write_text(f"arm.urdf\t{row}\ngone.urdf\tenergy=3\n" if row else "")
    monkeypatch.setattr(sys, "argv", ["list", str(robots), "--against", str(tmp_path / "list")])
    assert main() == exit_code
    printed = capsys.readouterr().out
    assert all(text in printed for text in (*said, *(["gone.urdf\n  is  not installed"] if row else [])))
    assert names_of_longer("energy=4 gravity=9", "energy=3 gravity=10 coriolis=2") == ["gravity"]


def digest(hash_seed):
    script = (
        "import hashlib, sys\n"
        "from robot_dynamics.dynamics.programs import generate\n"
        "from robot_dynamics.papers.reference_models import reference_model\n"
        "model = reference_model('rx90_base').model()\n"
        "programs = [generate(model, name) for name in ('inverse_dynamics', 'mass_matrix')]\n"
        "print(hashlib.sha256(repr(programs).encode()).hexdigest())\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    result = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    return result.stdout.strip()


@pytest.mark.long
def test_programs_are_the_same_in_every_process():
    assert digest("1") == digest("4242")


@pytest.mark.parametrize("reference", REFERENCE_MODELS[:1], ids=lambda r: r.name)
def test_programs_are_the_same_when_generated_again(reference):
    first, second = (generate(reference.model()) for _ in range(2))
    assert hashlib.sha256(repr(first).encode()).digest() == hashlib.sha256(repr(second).encode()).digest()

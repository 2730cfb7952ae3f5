"""Operation counts of the generated inverse dynamics: literals that may only become smaller."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from robot_dynamics.codegen.program import CONVENTION
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.programs import find_choices, generate
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
from robot_dynamics.papers.reference_table import reference_table, stewart_table
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


def test_the_table_names_every_model_and_the_convention(counts):
    table = reference_table(counts)
    assert CONVENTION in table
    assert all(name in table for name in REACHED)
    assert "301* 240+ = 541" in table
    assert "published: 279 (Renaud's 6R example)" in table


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


def test_programs_are_the_same_in_every_process():
    assert digest("1") == digest("4242")


@pytest.mark.parametrize("reference", REFERENCE_MODELS[:1], ids=lambda r: r.name)
def test_programs_are_the_same_when_generated_again(reference):
    first, second = (generate(reference.model()) for _ in range(2))
    assert hashlib.sha256(repr(first).encode()).digest() == hashlib.sha256(repr(second).encode()).digest()

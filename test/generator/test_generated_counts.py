"""Operation counts of the generated inverse dynamics: literals that may only become smaller."""

import hashlib
import os
import subprocess
import sys

import pytest

from robot_dynamics.codegen.program import CONVENTION
from robot_dynamics.dynamics.generator import generate
from robot_dynamics.papers.reference_models import (
    REFERENCE_MODELS,
    reference_counts,
    reference_table,
)

# Fewest operations; fewest with the joints' own sines and cosines alone.
REACHED = {
    "Renaud's 6R example": (209, 216),
    "RX-90, simplified set": (218, 225),
    "RX-90, 36 base parameters": (383, 402),
    "PUMA 560, 36 base parameters": (401, 420),
}


def test_published_counts_are_undercut():
    for row in reference_counts(effort="normal"):
        published = row.reference.multiplications + row.reference.additions
        assert row.count.total <= REACHED[row.reference.name][0] < published
        assert row.joint_angles_only.total <= REACHED[row.reference.name][1] < published
        assert row.joint_angles_only.sines_and_cosines <= 12
        assert row.count.divisions == row.count.square_roots == 0


def test_names_are_complete():
    assert {reference.name for reference in REFERENCE_MODELS} == set(REACHED)


def test_the_table_names_every_model_and_the_convention():
    table = reference_table(effort="none")
    assert CONVENTION in table
    assert all(name in table for name in REACHED)
    assert "301* 240+ = 541" in table


def digest(hash_seed):
    script = (
        "import hashlib, sys\n"
        "from robot_dynamics.dynamics.generator import generate\n"
        "from robot_dynamics.papers.reference_models import rx90_base\n"
        "programs = [generate(rx90_base(), name) for name in ('inverse_dynamics', 'mass_matrix')]\n"
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
    first, second = (generate(reference.make()) for _ in range(2))
    assert hashlib.sha256(repr(first).encode()).digest() == hashlib.sha256(repr(second).encode()).digest()

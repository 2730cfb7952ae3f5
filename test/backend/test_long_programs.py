"""Programs of many blocks: values pass between the blocks, outputs wait for the inputs."""

import numpy as np
import pytest
from random_arms import PinocchioArm, random_chain

from robot_dynamics import compile_dynamics
from robot_dynamics.codegen import emit_lanes
from robot_dynamics.codegen.emit_lanes import ASKED_BYTES, TILE
from robot_dynamics.codegen.partition import partition
from robot_dynamics.dynamics.programs import make_program
from robot_dynamics.errors import StateError
from robot_dynamics.native import cache

JOINTS = 24
GRAVITY = (1.0, -2.0, -9.3)
# Several tiles, vectors that fill no tile and states that fill no vector, for every width of vector.
SAMPLES = 3 * 8 * TILE + 8 + 3


@pytest.fixture(scope="module")
def chain():
    return random_chain(np.random.default_rng(24), JOINTS, prismatic=0.2)


@pytest.fixture(scope="module")
def dynamics(chain):
    return compile_dynamics(chain, GRAVITY, "c")


@pytest.fixture(scope="module")
def states():
    return np.random.default_rng(7).normal(size=(3, SAMPLES, JOINTS))


@pytest.fixture(scope="module")
def reference(chain, states):
    oracle = PinocchioArm(chain, GRAVITY)
    return np.array([oracle.inverse_dynamics(*rows) for rows in zip(*states, strict=True)])


def close(value, reference):
    np.testing.assert_allclose(value, reference, rtol=0.0, atol=1e-11 * np.abs(reference).max())


@pytest.mark.parametrize("samples", [1, 2, 7, 8 * TILE, 8 * TILE + 1, SAMPLES])
def test_batches_agree_with_pinocchio(dynamics, states, reference, samples):
    close(dynamics.inverse_dynamics(*states[:, :samples]), reference[:samples])


def test_one_state_agrees_with_pinocchio(dynamics, states, reference):
    close(dynamics.inverse_dynamics(*states[:, 5]), reference[5])


def test_a_batch_beyond_the_caches_gives_what_its_parts_give(dynamics):
    samples = ASKED_BYTES // (3 * 8 * JOINTS) + SAMPLES
    states = np.random.default_rng(5).normal(size=(3, samples, JOINTS))
    starts = range(0, samples, SAMPLES)
    parts = [dynamics.inverse_dynamics(*states[:, start : start + SAMPLES]) for start in starts]
    np.testing.assert_array_equal(dynamics.inverse_dynamics(*states), np.concatenate(parts))


@pytest.mark.parametrize("place", range(3))
def test_the_result_may_take_the_place_of_any_input(dynamics, states, reference, place):
    inputs = [array.copy() for array in states]
    dynamics.inverse_dynamics(*inputs, out=inputs[place])
    close(inputs[place], reference)


@pytest.mark.parametrize("sample", [0, 8 * TILE + 1, SAMPLES - 1])
@pytest.mark.parametrize("joint", [0, JOINTS - 1])
def test_a_value_that_is_not_finite_is_found_wherever_it_is(dynamics, states, sample, joint):
    qdd = states[2].copy()
    qdd[sample, joint] = np.nan
    with pytest.raises(StateError, match=rf"qdd is nan at joint joint_{joint + 1} of state {sample}"):
        dynamics.inverse_dynamics(states[0], states[1], qdd)


def test_blocks_hold_every_instruction_once_and_share_slots(chain):
    program = make_program(chain, np.array(GRAVITY), "inverse_dynamics")
    parts = partition(program)
    assert len(parts.blocks) > 10
    assert sum(len(block.program.instructions) for block in parts.blocks) == len(program.instructions)
    assert sorted(place for block in parts.blocks for place in block.outputs) == list(range(JOINTS))
    for block in parts.blocks:
        assert not set(block.loads) & set(block.stores)
    # A dozen values at a joint, not hundreds.
    assert parts.slots < 12 * JOINTS


@pytest.mark.long
def test_one_state_of_a_very_long_program_passes_through_the_blocks(
    chain, states, reference, monkeypatch, tmp_path
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(emit_lanes, "LONGEST_SINGLE", 100)
    cache._folder.cache_clear()
    try:
        model = compile_dynamics(chain, backend="c", quantities=()).with_gravity(GRAVITY)
        close(model.inverse_dynamics(*states[:, 5]), reference[5])
        last = states[2, 5].copy()
        assert model.inverse_dynamics(*states[:2, 5], last, out=last) is last
        close(last, reference[5])
        close(model.inverse_dynamics(*states[:, :11]), reference[:11])
    finally:
        cache._folder.cache_clear()

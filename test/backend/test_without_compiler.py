"""Without a compiler only the speed changes; what goes wrong with one is said."""

import os
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from compilers import CC
from patience import PATIENCE
from random_arms import PinocchioArm, random_chain

import robot_dynamics
from robot_dynamics import compile_dynamics
from robot_dynamics.control.core.sources import FLAGS, core_source
from robot_dynamics.control.retiming.sources import wide
from robot_dynamics.errors import BackendError
from robot_dynamics.native import cache, fast_call, prebuilt
from robot_dynamics.native.library import NativeKernel
from robot_dynamics.native.prebuilt import joined_source

SCRIPT = """
import sys
import numpy as np
from random_arms import random_chain
from robot_dynamics import compile_dynamics
chain = random_chain(np.random.default_rng(1), 2)
dynamics = compile_dynamics(chain, backend=sys.argv[1])
dynamics.prepare(("inverse_dynamics", "mass_matrix", "forward_dynamics"))
q = np.arange(1.0, 3.0)
print(dynamics.backend)
for result in (
    dynamics.inverse_dynamics(q, q, q),
    dynamics.forward_dynamics(q, q, q, wrench=np.ones(6)),
    dynamics.mass_matrix(q),
):
    print(*result.reshape(-1).tolist())
"""


def run(tmp_path, backend="auto", **environment):
    """Run SCRIPT in a process with its own cache."""
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), **environment}
    variables["PYTHONPATH"] = str(Path(__file__).parent)
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, backend],
        env=variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def numbers(process):
    return np.concatenate([np.array(line.split(), float) for line in process.stdout.splitlines()[1:]])


without_ziglang = pytest.mark.skipif(find_spec("ziglang") is not None, reason="ziglang is installed")


@pytest.mark.long
@without_ziglang
def test_no_compiler_on_the_path_changes_speed_only(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "second").mkdir()
    compiled = run(tmp_path)
    interpreted = run(tmp_path / "second", PATH=str(tmp_path / "empty"), CC="")
    assert compiled.returncode == 0 and interpreted.returncode == 0, interpreted.stderr
    assert compiled.stdout.startswith("c\n") and interpreted.stdout.startswith("python\n")
    np.testing.assert_allclose(numbers(interpreted), numbers(compiled), rtol=1e-12, atol=1e-12)
    assert compiled.stderr == ""
    assert interpreted.stderr.count("no C compiler") == 1 and "slower" in interpreted.stderr
    again = run(tmp_path / "second", PATH=str(tmp_path / "empty"), CC="")
    assert again.stdout == interpreted.stdout


PLATFORM = """
import robot_dynamics as rd
from robot_dynamics.resources import resource
try:
    rd.StewartController(rd.load_stewart(resource("config/stewart_demo.yaml")))
except rd.BackendError as error:
    print(error)
"""


@without_ziglang
def test_a_platforms_controller_says_in_a_line_which_compiler_to_install(tmp_path):
    environment = {**os.environ, "PATH": str(tmp_path), "CC": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PLATFORM],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert process.stdout.count("\n") == 1 and "no C compiler" in process.stdout
    assert "install gcc" in process.stdout and process.returncode == 0, process.stderr


@pytest.mark.long
def test_a_compiler_that_fails_is_quoted_once_and_not_needed(tmp_path):
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho 'kernel.c:1: it is Sunday' >&2\nexit 1\n")
    broken.chmod(0o755)
    process = run(tmp_path, CC=str(broken))
    assert process.returncode == 0 and process.stdout.startswith("python\n")
    assert process.stderr.count("it is Sunday") == 1
    forced = run(tmp_path, backend="c", CC=str(broken))
    assert forced.returncode != 0 and "BackendError" in forced.stderr and "it is Sunday" in forced.stderr


@pytest.fixture
def chain():
    return random_chain(np.random.default_rng(4), 2)


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cache._folder.cache_clear()
    yield tmp_path / "cache" / "robot_dynamics"
    cache._folder.cache_clear()


@without_ziglang
def test_forced_c_says_what_is_missing(chain, own_cache, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    with pytest.raises(BackendError, match="CC names 'no-such-compiler'"):
        compile_dynamics(chain, backend="c")
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BackendError, match="neither cc, gcc nor clang"):
        compile_dynamics(chain, backend="c")
    assert compile_dynamics(chain, backend="python").backend == "python"


def test_a_compiler_that_knows_no_native_flag_is_used_without(chain, own_cache, tmp_path, monkeypatch):
    plain = tmp_path / "plain-cc"
    real = shlex.join(CC)
    plain.write_text(f'#!/bin/sh\ncase "$*" in *-march=native*) exit 1;; esac\nexec {real} "$@"\n')
    plain.chmod(0o755)
    monkeypatch.setenv("CC", str(plain))
    q = np.array([0.3, -0.4])
    np.testing.assert_allclose(
        compile_dynamics(chain, backend="c").inverse_dynamics(q, q, q),
        PinocchioArm(chain).inverse_dynamics(q, q, q),
        rtol=1e-12,
    )


def test_ziglang_compiles_where_nothing_else_does(chain, own_cache, monkeypatch):
    if find_spec("ziglang") is None:
        pytest.skip("ziglang is not installed")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "")
    q = np.array([0.3, -0.4])
    expected = PinocchioArm(chain).inverse_dynamics(q, q, q)
    compiled = compile_dynamics(chain, backend="c").inverse_dynamics(q, q, q)
    np.testing.assert_allclose(compiled, expected, rtol=1e-12)


@pytest.mark.long
def test_an_installation_builds_the_control_core_without_any_dependency(tmp_path):
    """-S: nothing of site-packages is there, as in an environment that pip makes for building."""
    folder = Path(robot_dynamics.__file__).parents[1]
    command = [sys.executable, "-S", "-m", "robot_dynamics.control.core.build", str(tmp_path)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and not done.stderr
    assert len(list(tmp_path.iterdir())) == 2 + wide(), "the core, and the retiming, also for wide registers"
    assert prebuilt.build(core_source(), FLAGS, tmp_path) in tmp_path.iterdir()
    (tmp_path / "empty").mkdir()
    lost = {**os.environ, "CC": "no-such-compiler"}
    command[-1] = str(tmp_path / "none")
    done = subprocess.run(command, cwd=folder, env=lost, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and done.stderr.count("\n") == 1 and "is not built" in done.stderr


def test_no_python_headers_are_needed():
    source = joined_source("robot_dynamics.native", fast_call.SOURCES)
    included = {line for line in source.splitlines() if line.startswith("#include")}
    assert included == {f"#include <{name}.h>" for name in ("stddef", "stdint", "stdlib", "string")}


def test_without_fast_calls_functions_go_through_ctypes(chain, own_cache, monkeypatch):
    monkeypatch.setattr(fast_call, "_unsupported", lambda: "this test says so")
    fast_call.load_fast_calls.cache_clear()
    try:
        dynamics = compile_dynamics(chain, backend="c")
        rng = np.random.default_rng(6)
        q, qd, qdd = rng.normal(size=(3, 11, 2))
        oracle = PinocchioArm(chain)
        result = dynamics.inverse_dynamics(q, qd, qdd)
        for i in range(11):
            np.testing.assert_allclose(result[i], oracle.inverse_dynamics(q[i], qd[i], qdd[i]), rtol=1e-11)
        out = np.empty(2)
        assert dynamics.inverse_dynamics(q[0], qd[0], qdd[0], out=out) is out
        np.testing.assert_allclose(out, result[0], rtol=1e-12)
        evaluator = dynamics._evaluators["inverse_dynamics"]
        assert dynamics.inverse_dynamics is evaluator and isinstance(evaluator.kernel(), NativeKernel)
    finally:
        fast_call.load_fast_calls.cache_clear()


def test_fast_calls_are_in_use_here(chain, own_cache):
    dynamics = compile_dynamics(chain, backend="c")
    assert type(dynamics.inverse_dynamics).__name__ == "builtin_function_or_method"


def test_a_damaged_library_is_compiled_again(chain, own_cache):
    q = np.array([0.3, -0.4])
    before = compile_dynamics(chain, backend="c").inverse_dynamics(q, q, q)
    libraries = sorted(own_cache.glob("*.so"))
    assert libraries
    for library in libraries:
        kept = library.read_bytes()
        library.unlink()
        library.write_bytes(kept[: len(kept) // 2])
        library.chmod(0o700)
    again = compile_dynamics(chain, backend="c").inverse_dynamics(q, q, q)
    np.testing.assert_array_equal(again, before)

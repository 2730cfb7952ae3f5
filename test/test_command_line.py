"""Rules of all subcommands."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import robot_dynamics as rd
from robot_dynamics.cli.main import COMMANDS, main
from robot_dynamics.cli.run import NODES
from robot_dynamics.extras import install_command
from robot_dynamics.resources import resource

PUMA = Path(resource("urdf/puma560.urdf"))


def call(*arguments, given=b""):
    done = subprocess.run(
        [sys.executable, "-m", "robot_dynamics.cli.main", *map(str, arguments)],
        input=given,
        capture_output=True,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_the_version_is_that_of_the_package():
    assert call("--version") == (0, f"robot_dynamics {rd.__version__}\n", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_subcommand_has_help(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command.replace("_", "-"), "--help"])
    output, errors = capsys.readouterr()
    assert ended.value.code in (None, 0) and errors == ""
    assert output.startswith(f"usage: robot_dynamics {command.replace('_', '-')}")


@pytest.mark.parametrize("node", NODES)
def test_a_nodes_help_has_its_parameters(node):
    code, output, errors = call("run", node, "--help")
    assert code == 0 and errors == ""
    assert output.startswith(f"usage: robot_dynamics run {node}") and NODES[node] in output
    assert "ros__parameters:" in output


def test_bash_completes_subcommands_options_nodes_and_files():
    pytest.importorskip("shtab", reason="shtab is not installed")
    bash = shutil.which("bash")
    assert bash is not None
    code, script, _ = call("completion", "bash")
    assert code == 0
    ask = 'COMP_WORDS=({words}); COMP_CWORD={last}; {function}; printf "%s\\n" "${{COMPREPLY[@]}}"'

    def completed(words, function):
        lines = f"{script}\n" + ask.format(
            words=" ".join(f"'{word}'" for word in words), last=len(words) - 1, function=function
        )
        done = subprocess.run([bash, "-c", lines], capture_output=True, text=True, check=False)
        return done.stdout.split()

    function = script[script.rindex("-F ") + 3 :].split()[0]
    assert completed(["robot_dynamics", "run", "sim"], function) == ["simulator"]
    assert completed(["robot_dynamics", "dh", str(PUMA)[:-3]], function) == [str(PUMA)]
    assert completed(["robot_dynamics", "generate", "-o", str(PUMA)[:-3]], function) == []
    assert {"view", "dh", "generate"} <= set(completed(["robot_dynamics", ""], function))
    assert "--convention" in completed(["robot_dynamics", "dh", "--con"], function)


WEIGHTLESS_TIP = (
    b'<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1"'
    b' izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="tool"/>'
    b'<joint name="j" type="continuous">'
    b'<parent link="a"/><child link="b"/></joint><joint name="t" type="continuous"><parent link="b"/>'
    b'<child link="tool"/></joint></robot>'
)


def test_generate_reads_standard_input_and_locks_joints(tmp_path):
    options = ("--lock", "joint6=0.5", "-o", tmp_path, "--quantity", "gravity")
    code, _, errors = call("generate", "-", *options, given=PUMA.read_bytes())
    assert code == 0, errors
    (source,) = tmp_path.glob("*.c")
    assert "standard input, SHA-256" in source.read_text(encoding="utf-8")
    assert "joint6" not in source.read_text(encoding="utf-8")


def test_generate_shows_warnings_as_dh_does(tmp_path):
    warnings = []
    for command, *options in (("dh",), ("generate", "-o", tmp_path)):
        code, _, errors = call(command, "-", "--tip", "b", *options, given=WEIGHTLESS_TIP)
        assert code == 0, errors
        warnings.append([line for line in errors.splitlines() if "warning:" in line])
    assert "tool" in warnings[0][0] and warnings[0] == warnings[1]


WANTING = {
    "mujoco": (["view", PUMA], "simulation"),
    "viser": (["demo", "--view"], "view"),
    "rosbags": (["record", "-o", "run"], "identification"),
    "clarabel": (["identify", PUMA, "run.csv", "-o", "found"], "identification"),
    "sympy": (["reproduce", "all"], "report"),
    "jinja2": (["stewart", "report", "machine.yaml"], "report"),
    "matplotlib": (["benchmark", "--plot", "a.png"], "plots"),
    "scipy": (["excite", PUMA, "-o", "move.yaml"], "identification"),
    "rclpy": (["set", "payload_mass=1"], "ros"),
}


@pytest.mark.parametrize("module", WANTING)
def test_what_is_missing_is_named_in_one_line_before_anything_begins(module, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    arguments, extra = WANTING[module]
    assert main([str(argument) for argument in arguments]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert module in line and line.endswith(install_command(extra))
    assert list(tmp_path.iterdir()) == []

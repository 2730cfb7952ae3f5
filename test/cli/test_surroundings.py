"""The command line in strange surroundings: no traceback, no hang, a short message, the right exit code."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field

import pytest
from patience import PATIENCE
from shares import share_of

from robot_dynamics.cli.main import main
from robot_dynamics.resources import resource

LONGEST = 2500
"""Characters of the longest complaint: a usage line, a note or two and a message."""
LATIN = os.fsdecode(b"arm\xff.urdf")
"""A name that is no UTF-8."""
ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
NO_UTF_8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
COLUMNS = "joint1,joint2,joint3,joint4\n"
TABLES = {
    "good": COLUMNS + "0.1,0.2,0.1,0.3\n",
    "cell": COLUMNS + "1" * 200_000 + ",0.2,0.1,0.3\n",
    "name": "j" * 200_000 + ",joint2,joint3,joint4\n",
    "quote": COLUMNS + '"' + "1\n" * 100_000 + '",0.2,0.1,0.3\n',
    "return": COLUMNS + "0.1,0.\r2,0.1,0.3\n",
    "nul": COLUMNS + "0.1,0.\0002,0.1,0.3\n",
    "underscore": COLUMNS + "1_0,0.2,0.1,0.3\n",
    "arabic": COLUMNS + "١٧.٤,0.2,0.1,0.3\n",
    "wide": COLUMNS + "0.1,0.2,0.1,１\n",
    "overflow": COLUMNS + "1e400,0.2,0.1,0.3\n",
    "columns": ",".join(f"c{k}" for k in range(12_000)) + "\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with files of every kind."""
    made = tmp_path_factory.mktemp("surroundings")
    for name, text in TABLES.items():
        (made / f"{name}.csv").write_bytes(text.encode())
    (made / "old.csv").write_bytes(TABLES["good"].replace("\n", "\r").encode())
    (made / "utf16.csv").write_bytes(TABLES["good"].encode("utf-16"))
    os.mkfifo(made / "fifo")
    scara = resource("urdf/scara.urdf").read_text(encoding="utf-8")
    (made / LATIN).write_text(scara, encoding="utf-8")
    named = scara.replace('"joint1"', '"Gelenk·ü"').replace('name="scara"', 'name="sc\u202eara"')
    named = named.replace('"joint2"', '"joint&#10;2&#x202e;"')
    (made / "names.urdf").write_text(named, encoding="utf-8")
    links = "".join(
        f'<link name="l{k}"><inertial><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        f'<joint name="j{k}" type="continuous"><parent link="l{k - 1}"/><child link="l{k}"/></joint>'
        for k in range(1, 31)
    )
    (made / "snake.urdf").write_text(f'<robot name="snake"><link name="l0"/>{links}</robot>')
    machine = resource("config/stewart_demo.yaml").read_text(encoding="utf-8")
    (made / "controls.yaml").write_text(machine.replace("stewart_demo", '"a\\0b"', 1), encoding="utf-8")
    (made / "occupied").mkdir()
    os.mkfifo(made / "occupied" / "scara_dynamics.c")
    return made


@dataclass(frozen=True)
class Case:
    """A shell command in which rd is the command line, its exit code, and variables of its environment."""

    command: str
    code: int
    environment: dict = field(default_factory=dict)

    def __str__(self):
        return " ".join([*(f"{k}={v}" for k, v in self.environment.items()), self.command[:80]])


def states(file, code):
    return [Case(f"rd inverse-dynamics $U --states {file}.csv --backend python", code)]


CASES = [
    # Closed and full streams
    *(
        Case(f"rd {command} {streams}", code)
        for command in ("dh $U", "inverse-dynamics $U --states good.csv --backend python", "dh --help")
        for streams, code in (
            (">/dev/full", 1), ("| head -c 5", 0),
        )
    ),
    Case("rd dh $U >&-", 1), Case("rd inverse-dynamics $U --states good.csv --backend python >&-", 1),
    *(Case(f"rd dh $U {streams} >/dev/null", 0) for streams in ("2>&-", "2>/dev/full", "<&-")),
    Case("rd dh $U <&- >&- 2>&-", 1),
    Case("rd generate $U -o made >&-", 1),
    *(
        Case(f"rd {command} {streams}", code)
        for command, code in (("dh nothing.urdf", 1), ("nonsense", 2))
        for streams in ("", "2>&-", "2>/dev/full", ">&- 2>&-")
    ),
    # What is no file
    *(Case(f"rd dh {name}", 1) for name in ("/dev/zero", "/dev/null", "fifo", ".", "/proc/self/mem")),
    *(Case(f"rd sdf {name}", 1) for name in ("/dev/zero", "fifo", ".")),
    *(Case(f"rd generate {name}", 1) for name in ("/dev/zero", "fifo")),
    *(Case(f"rd inverse-dynamics $U --states {name}", 1) for name in ("/dev/zero", "fifo", ".", "none.csv")),
    *(
        Case(f"rd inverse-dynamics $U --states good.csv --backend python --output {name}", 1)
        for name in ("fifo", "/dev/full", ".", "none/efforts.csv")
    ),
    *(Case(f"rd generate $U -o {name}", 1) for name in ("fifo", "good.csv", "occupied")),
    # Standard input
    *(Case(f"rd dh - {source}", 1) for source in ("</dev/zero", "<&-", "</dev/null")),
    Case("rd dh - <$U", 0),
    *(Case(f"rd inverse-dynamics $U --states - {source}", 1) for source in ("</dev/zero", "<&-")),
    Case("rd inverse-dynamics $U --states - --backend python <good.csv", 0),
    # Tables
    *states("old", 0),
    *(case for name in (*TABLES, "utf16") for case in states(name, int(name != "good"))),
    # Names and terminals
    Case(f"rd dh '{LATIN}'", 0), Case(f"rd dh '{LATIN}x'", 1), Case(f"rd dh $U --tip '{LATIN}'", 1),
    Case(f"rd generate '{LATIN}' -o '{LATIN}d' --quantity gravity", 0), Case(f"rd run '{LATIN}'", 1),
    Case(f"rd '{LATIN}'", 2), Case(f"rd dh '{LATIN}'", 0, ASCII),
    *(
        Case(f"rd {command}", 0, terminal)
        for command in ("dh names.urdf", "dh names.urdf --format json", "sdf $M", "inverse-dynamics --help")
        for terminal in (ASCII, NO_UTF_8)
    ),
    Case("rd count snake.urdf --draws 0", 1), Case("rd sdf controls.yaml", 1),
    # Arguments
    *(
        Case(f"rd {command.format('x' * 100_000)}", code)
        for command, code in (
            ("dh {}", 1), ("{}", 2), ("run {}", 1), ("dh $U --tip {}", 1), ("dh $U --lock {}", 2),
            ("dh $U --lock a={}", 2),
        )
    ),
    *(Case(f"rd dh $U --lock joint1={word}", 2) for word in ("1e400", "1_0", "١٠", "9" * 5000)),
    *(Case(f"rd count --links {word}", 2) for word in ("1_0", "9" * 5000, "2.5")),
    # Gates of their own
    *(Case(f"rd stewart {command}", 1) for command in ("check fifo good.csv", "play fifo")),
    Case(f"rd record -o bag --topic {'x' * 300}", 1), Case("rd excite $U -o excited.yaml --floor nan", 2),
    Case("rd set payload_mass=1 --patience 1e300", 2), Case("rd demo --realtime --duration nan", 2),
    # Compiler and folders
    *(
        Case(f"rd inverse-dynamics $U --states good.csv --backend {backend}", code, {"CC": compiler})
        for backend, code in (("auto", 0), ("c", 1))
        for compiler in ('"', "\\", "/none/cc", "false")
    ),
    *(
        Case(f"without_temporary inverse-dynamics $U --states good.csv --backend {backend}", code)
        for backend, code in (("auto", 0), ("python", 0), ("c", 1))
    ),
]  # fmt: skip

PRELUDE = """
rd() { "$PYTHON" -m robot_dynamics.cli.main "$@"; }
without_temporary() {
  XDG_CACHE_HOME=/proc/none "$PYTHON" -c 'import sys, tempfile
tempfile._candidate_tempdir_list = lambda: ["/proc/none"]
from robot_dynamics.cli.main import main
sys.exit(main())' "$@"
}
set -o pipefail
"""


FILES = {"U": str(resource("urdf/scara.urdf")), "M": str(resource("config/stewart_demo.yaml"))}


def by_bash(case, folder):
    """Exit code and what was said, of processes."""
    done = subprocess.run(
        ["bash", "-c", PRELUDE + case.command],
        cwd=folder, env={**os.environ, **FILES, "PYTHON": sys.executable, **case.environment},
        stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr.decode(errors="backslashreplace")


def in_this_process(case, folder, capfd, monkeypatch):
    """Exit code and what was said, by a call of the command line."""
    monkeypatch.chdir(folder)
    for name, value in case.environment.items():
        monkeypatch.setenv(name, value)
    words = shlex.split(case.command.replace("$U", FILES["U"]).replace("$M", FILES["M"]))[1:]
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    return code, capfd.readouterr().err


@pytest.mark.parametrize("case", share_of({str(case): case for case in CASES}))
def test_nothing_outside_brings_a_traceback(case, folder, capfd, monkeypatch):
    """Streams, encodings and places of temporary files are those of a process; all else is in the command."""
    if set(case.environment) <= {"CC"} and not re.search("[<>|]|without_temporary", case.command):
        code, said = in_this_process(case, folder, capfd, monkeypatch)
    else:
        code, said = by_bash(case, folder)
    assert code == case.code, said[-2000:]
    for word in ("Traceback", "Exception ignored"):
        assert word not in said
    assert len(said) <= LONGEST
    if case.code == 1 and "2>" not in case.command:
        assert "robot_dynamics: " in said


@pytest.mark.parametrize("command", ["dh names.urdf", "dh names.urdf --format csv", "sdf machine.yaml"])
def test_names_cannot_change_what_a_terminal_shows(command, folder):
    machine = resource("config/stewart_demo.yaml").read_text(encoding="utf-8")
    named = machine.replace("name: leg_1", 'name: "leg\\u202e_1"').replace("stewart_demo", '"demo\\u2066"', 1)
    (folder / "machine.yaml").write_text(named, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "robot_dynamics.cli.main", *command.split()],
        cwd=folder, capture_output=True, encoding="utf-8", timeout=PATIENCE, check=True,
    )  # fmt: skip
    assert all(line.isprintable() for line in done.stdout.splitlines())


@pytest.mark.long
def test_names_never_reach_generated_code_as_anything_but_text(folder):
    for language in ("c", "python"):
        command = [
            sys.executable,
            "-m",
            "robot_dynamics.cli.main",
            "generate",
            "names.urdf",
            "--quantity",
            "gravity",
        ]
        subprocess.run([*command, "--language", language, "-o", language], cwd=folder, check=True)
        for file in (folder / language).iterdir():
            text = file.read_text(encoding="utf-8")
            assert all(line.isprintable() for line in text.splitlines())
            assert "u202e" in text and "Gelenk·ü" in text

"""The tests from within once more, with a core that ends where C leaves the behaviour undefined."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

TESTS = Path(__file__).resolve().parents[1]
RUN = """
import sys
import pytest
from pathlib import Path
from robot_dynamics.control.core import library
library.core_path = lambda: Path(sys.argv[1])
sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-m", "not long", *sys.argv[2:]]))
"""


@pytest.mark.long
def test_no_inner_function_leaves_its_arrays(tmp_path, monkeypatch):
    """The library is that which faults are planted in."""
    monkeypatch.syspath_prepend(TESTS / "mutation")
    made = importlib.import_module("objects").Objects(TESTS.parent, tmp_path).library()
    files = map(str, sorted(Path(__file__).parent.glob("test_*_within.py")))
    call = [sys.executable, "-X", "faulthandler", "-c", RUN, str(made), *files]
    run = subprocess.run(call, capture_output=True, text=True, timeout=5 * PATIENCE)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]

"""``robot_dynamics retime``: what it writes passes ``robot_dynamics check``."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.cli.main import main
from robot_dynamics.resources import resource

PUMA = str(resource("urdf/puma560.urdf"))
JOINTS = [f"joint{j}" for j in range(1, 7)]


@pytest.fixture
def path(tmp_path):
    """Waypoints that the PUMA cannot pass that fast."""
    file = tmp_path / "path.csv"
    rows = [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.4, 0.6, -0.6, 0.7, 0.0, 0.3, 0.0]]
    rows.append([0.8, 1.2, -0.2, 0.2, 0.3, 0.6, 0.5])
    lines = [",".join(["time", *JOINTS]), *(",".join(map(str, row)) for row in rows)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(file)


@pytest.mark.long
@pytest.mark.parametrize("suffix", ["csv", "yaml"])
def test_the_result_is_executable(path, tmp_path, capsys, suffix):
    made, picture = str(tmp_path / f"made.{suffix}"), tmp_path / "made.png"
    assert main(["check", PUMA, path]) == 1
    more = ["--plot", str(picture), "--slower"] if suffix == "csv" else ["--margin", "0.1", "--payload", "2"]
    assert main(["retime", PUMA, path, "-o", made, *more]) == 0
    assert "keeps every limit" in capsys.readouterr().out
    if suffix == "csv":
        assert main(["check", PUMA, made]) == 0
        assert picture.stat().st_size < 300_000
        rows = list(csv.reader(Path(made).read_text(encoding="utf-8").splitlines()))
        assert rows[0][0] == "time" and rows[0][-1] == "joint6.effort"
        values = np.array(rows[1:], dtype=float)
        assert values[-1, 1:7] == pytest.approx([1.2, -0.2, 0.2, 0.3, 0.6, 0.5], abs=1e-9)
        assert values[-1, 0] > 0.8


@pytest.mark.long
def test_efforts_change_no_faster_than_asked(path, tmp_path, capsys):
    made = tmp_path / "made.csv"
    assert main(["retime", PUMA, path, "-o", str(made), "--effort-rate", *["800"] * 6]) == 0
    assert "keeps every limit" in capsys.readouterr().out
    values = np.array(list(csv.reader(made.read_text(encoding="utf-8").splitlines()))[1:], dtype=float)
    rates = np.abs(np.diff(values[:, -6:], axis=0)) / np.diff(values[:, 0])[:, None]
    assert 790.0 < rates.max() <= 800.0
    assert main(["retime", PUMA, path, "-o", str(made), "--effort-rate", "1", "2"]) == 2
    assert "effort_rate is [1.0, 2.0]; give one number, or 6" in capsys.readouterr().err


@pytest.mark.long
def test_the_drivers_limits_count(path, tmp_path, capsys):
    made, profile = tmp_path / "made.csv", tmp_path / "own.yaml"
    text = resource("config/drivers/generic.yaml").read_text(encoding="utf-8")
    text = text.replace("torque_rate_limit: 0.0", "torque_rate_limit: 700.0")
    text = text.replace("torque_limits: []", "torque_limits: [60, 100, 40, 8, 8, 8]")
    profile.write_text(text, encoding="utf-8")
    assert main(["retime", PUMA, path, "-o", str(made), "--driver", str(profile)]) == 0
    values = np.array(list(csv.reader(made.read_text(encoding="utf-8").splitlines()))[1:], dtype=float)
    rates = np.abs(np.diff(values[:, -6:], axis=0)) / np.diff(values[:, 0])[:, None]
    assert 690.0 < rates.max() <= 700.0
    shares = np.abs(values[:, -6:]).max(axis=0) / [60, 100, 40, 8, 8, 8]
    assert shares.max() <= 1.0
    assert main(["check", PUMA, str(made), "--driver", str(profile)]) == 0
    fast = tmp_path / "fast.csv"
    assert main(["retime", PUMA, path, "-o", str(fast)]) == 0
    capsys.readouterr()
    assert main(["check", PUMA, str(fast), "--driver", str(profile)]) == 1
    assert main(["check", PUMA, path, "--driver", "nobody"]) == 2
    assert "no driver profile 'nobody'" in capsys.readouterr().err


def test_a_bag_comes_out_and_goes_in_again(path, tmp_path, capsys):
    pytest.importorskip("rosbags", reason="rosbags writes the bag")
    bag, again = str(tmp_path / "made"), str(tmp_path / "again.csv")
    assert main(["retime", PUMA, path, "-o", bag, "--slower", "--margin", "0.01"]) == 0
    assert main(["check", PUMA, bag, "--topic", "/joint_trajectory"]) == 0
    # What keeps its limits becomes no slower: the bag's timing is that of the file which it could have been.
    capsys.readouterr()
    assert main(["retime", PUMA, bag, "-o", again, "--slower"]) == 0
    before, after = re.search(r"([\d.]+) s become ([\d.]+) s", capsys.readouterr().out).groups()
    assert float(after) == pytest.approx(float(before), rel=1e-3)
    assert main(["retime", PUMA, path, "-o", bag]) == 2
    assert "it is a folder" in capsys.readouterr().err


def test_what_cannot_be_done_says_so(path, tmp_path, capsys):
    assert main(["retime", PUMA, path, "-o", str(tmp_path / "made.csv"), "--payload", "80"]) == 2
    assert "cannot hold its weight" in capsys.readouterr().err
    assert not (tmp_path / "made.csv").exists()
    single = tmp_path / "single.csv"
    single.write_text(",".join(["time", *JOINTS]) + "\n0,0,0,0,0,0,0\n", encoding="utf-8")
    assert main(["retime", PUMA, str(single), "-o", str(tmp_path / "made.csv")]) == 2
    assert "single waypoint" in capsys.readouterr().err

"""Whatever comes to the gates, nothing but errors of this package comes out.

``make fuzz`` does the same for longer: FUZZ_EXAMPLES inputs from hypothesis for each gate, and a
coverage-guided search.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from gates import CORPUS, GATES, knock, seeds
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patience import PATIENCE

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "60"))
SHORT_ROUND = ["-runs=300", "-max_len=3000", "-timeout=60"]
HOSTILE = [
    *(
        b"",
        b"\0",
        b"\xff",
        b"\r",
        b"\n",
        b'"',
        b"'",
        b"<",
        b">",
        b"&",
        b"*a",
        b"&a ",
        b"[" * 50,
        b"{",
        b": ",
        b"- ",
    ),
    *("\u202e", "\ud7ff", "\ufeff", "١٧.٤", "１７"),
    *(
        b"nan",
        b"inf",
        b"1e400",
        b"-1",
        b"1e300",
        b"0",
        b"1_7.4",
        b"0x_",
        b"2001-99-99",
        b"!!int x",
        b"9" * 5000,
    ),
    *(b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"<!--", b"]]>", b"${a}", b"true", b"~", b"<<: *a", b"x" * 5000),
]
SEARCHED = sorted(GATES.keys() - {"bag", "identified"})
"""For a short time by coverage; behind the others are the parser of bags, and the gate for YAML once more."""
TOKENS = st.sampled_from([token.encode() if isinstance(token, str) else token for token in HOSTILE])


@st.composite
def damaged(draw, name):
    """A kept input with parts cut out, doubled, moved, or replaced by something hostile."""
    data = draw(st.sampled_from(seeds(name)))
    for _ in range(draw(st.integers(0, 4))):
        begin = draw(st.integers(0, len(data)))
        end = min(len(data), begin + draw(st.integers(0, 40)))
        part = draw(st.one_of(TOKENS, st.binary(max_size=8), st.just(2 * data[begin:end])))
        data = data[:begin] + part + data[end:]
    return data


def inputs(name):
    return st.one_of(damaged(name), st.binary(max_size=200), st.text(max_size=100).map(str.encode))


@pytest.mark.parametrize("name", GATES)
def test_kept_inputs(name):
    passed = [knock(name, data) for data in seeds(name)]
    assert any(passed), "the gate lets nothing through"


@pytest.mark.parametrize("name", GATES)
def test_damaged_inputs_and_noise(name):
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(inputs(name))
    def everything_is_served_or_refused(data):
        knock(name, data)

    everything_is_served_or_refused()


@pytest.mark.long
def test_a_short_coverage_guided_round_at_each_gate(tmp_path):
    pytest.importorskip("atheris", reason="atheris, the coverage-guided fuzzer, is not installed")
    for name in SEARCHED:
        (tmp_path / name).mkdir()
    command = [sys.executable, str(Path(__file__).parent / "guided.py"), ",".join(SEARCHED), *SHORT_ROUND]
    folders = [f"-artifact_prefix={tmp_path}/{{gate}}_", str(tmp_path / "{gate}"), str(CORPUS / "{gate}")]
    done = subprocess.run(
        [*command, *folders],
        capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr.count("Done 300 runs") == len(SEARCHED), done.stderr[-3000:]

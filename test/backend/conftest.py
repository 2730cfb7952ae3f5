"""These tests use the robots that the model's tests find on this machine, and share what they compile."""

import sys
from pathlib import Path

import pytest

from robot_dynamics.native import cache

sys.path.insert(0, str(Path(__file__).parents[1] / "model"))


@pytest.fixture(scope="module")
def fresh_cache(tmp_path_factory):
    """A cache of this session, for all of its workers: nothing compiled by an earlier run is used."""
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if base.name.startswith("popen-") else base) / "fresh_cache"
    place.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place))
        cache._folder.cache_clear()
        yield place
    cache._folder.cache_clear()

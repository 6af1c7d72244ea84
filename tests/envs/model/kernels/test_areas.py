"""What the compiler is told about a tile is true: areas with names of their own do not overlap."""

import re
from pathlib import Path

import pytest

from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.parameters import setting_matrix

KERNELS = Path(layout.__file__).parent
NAMED = re.compile(r"(?:area|put_all)\(\s*base, plan, (P_[A-Z_]+)(?:, (P_[A-Z_]+))?")


def _names() -> set[str]:
    found = [name for path in KERNELS.glob("*.py") for pair in NAMED.findall(path.read_text("utf-8")) for name in pair]
    return {name for name in found if name}


@pytest.mark.parametrize("name", ["incident-2014", "lab-pcrf", "dra-db-cpu", "imsimgr-unknown"])
@pytest.mark.parametrize("tile", [1, 32])
def test_no_two_areas_begin_at_the_same_place(name: str, tile: int) -> None:
    scenario = scenario_file.load(name)
    table = Batch([scenario], [0], setting_matrix([{}], scenario), tile=tile).plan.table
    empty = set() if table[layout.P_EVENTS] else {"P_EVENT"}
    offsets = {area: int(table[getattr(layout, area)]) for area in _names() - empty}
    # Scratch lies at the very front; what a scenario does not have stands at 0 or -1.
    used = {area: offset for area, offset in offsets.items() if offset > 0}
    assert len(used) > 15
    assert len(set(used.values())) == len(used), sorted(used, key=lambda area: used[area])


def test_an_entry_that_leads_to_other_areas_is_none_itself() -> None:
    assert {"P_STORM", "P_LINK", "P_SHORT", "P_LONG_STOCK", "P_POOL"} <= _names()
    assert "P_RELEASE" not in _names()

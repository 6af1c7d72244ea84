"""The C twin: compiled once, run on the very memory that a batch has prepared."""

import ctypes
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout

FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno", "-std=c11")
_SOURCE = Path(__file__).with_name("twin.c")


def compiler() -> str | None:
    """Return the C compiler, None where there is none."""
    return shutil.which("gcc") or shutil.which("cc")


@functools.cache
def library(tile: int) -> ctypes.CDLL:
    """Compile the twin for a tile width and load it.

    Raises:
        RuntimeError: If there is no compiler.
    """
    gcc = compiler()
    if gcc is None:
        raise RuntimeError("the C twin needs gcc or cc; install a C compiler")
    folder = Path(tempfile.mkdtemp(prefix="signalstorm-twin-"))
    constants = {name: value for name, value in vars(layout).items() if name.isupper() and isinstance(value, int)}
    header = "".join(f"#define {name} {value}\n" for name, value in constants.items())
    (folder / "layout.h").write_text(header)
    target = folder / f"twin{tile}.so"
    command = [gcc, *FLAGS, f"-DT={tile}", f"-I{folder}", "-shared", "-fPIC", str(_SOURCE), "-o", str(target), "-lm"]
    subprocess.run(command, check=True)
    loaded = ctypes.CDLL(str(target))
    shutil.rmtree(folder)
    return loaded


def run(batch: Batch, steps: int | None = None) -> None:
    """Advance a batch with the twin instead of the kernel, on one thread."""
    twin = library(batch.plan.tile)
    count = batch.end - batch.step if steps is None else steps
    plan = batch.plan.table.ctypes.data_as(ctypes.c_void_p)
    for tile in batch._memory:  # one row per tile
        twin.run(tile.ctypes.data_as(ctypes.c_void_p), plan, ctypes.c_int64(batch.step), ctypes.c_int64(count))
    batch.step += count

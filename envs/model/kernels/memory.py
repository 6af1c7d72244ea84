"""A tile's single array seen as rows of storms, by three types of Numba's that leave no trace in the compiled kernel.

The compiler knows how wide a row is and has one pointer for all rows of a block, so loops over storms are vectorised
without checks for overlap: in a trial 130 ns per substep against 196-290 ns with separate arrays. Arrays of Numba's own
would do, but each of their indices asks whether it is negative and each view carries shape, strides and a reference
count: the kernel then takes 24 s to compile instead of 15, and a storm alone is a third slower.
"""

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import NativeValue, intrinsic, lower_builtin, models, register_model, unbox
from numba.np.arrayobj import make_array

_INT = ir.IntType(64)
_DOUBLE = ir.DoubleType()
_PAIR = types.UniTuple(types.int64, 2)
_MANY = 1 << 20
"""More storms than a tile ever has."""


class TileType(types.Type):
    """The type of a `Tile`: one per width, so each width is compiled for itself."""

    def __init__(self, width):
        super().__init__(name=f"Tile({width})")
        self.width = width


class Tile:
    """Tells the kernel how many storms lie side by side; ``len(tile)`` in compiled code."""

    def __init__(self, width: int) -> None:
        self._numba_type_ = TileType(width)

    def __len__(self) -> int:
        return self._numba_type_.width


register_model(TileType)(models.OpaqueModel)


@unbox(TileType)
def _unbox_tile(kind, value, c):
    return NativeValue(c.context.get_dummy_value())


@infer_global(len)
class _LenOfTile(AbstractTemplate):
    def generic(self, args, kws):
        return signature(types.intp, *args) if isinstance(args[0], TileType) else None


@lower_builtin(len, TileType)
def _len_of_tile(context, builder, sig, args):
    """Return the width; if above 1, as 1 x width with a 1 that the optimiser cannot see through.

    It would else unroll short loops over storms before it tries to vectorise them: gains 10 % in batches.
    """
    width = ir.Constant(_INT, sig.args[0].width)
    if width.constant == 1:
        return width
    _widen(builder.function)
    one = builder.asm(ir.FunctionType(_INT, [_INT]), "", "=r,0", [ir.Constant(_INT, 1)], side_effect=False)
    one.set_metadata("range", builder.module.add_metadata([ir.Constant(_INT, 1), ir.Constant(_INT, _MANY)]))
    return builder.mul(one, width)


def _widen(function):
    """Let loops over many storms use the longest vectors that the processor has: gains 5 %.

    By itself the compiler avoids the longest, which can slow the clock down; a storm alone has no use for them.
    llvmlite's own check of attributes knows only those without a value.
    """
    set.add(function.attributes, '"prefer-vector-width"="512"')


class Rows(types.Type):
    """Rows of ``width`` numbers, by row and storm: ``rows[row, b]``. Nothing checks an index."""

    def __init__(self, width, area=None):
        super().__init__(name=f"Rows({width}, {area})")
        self.width = width
        self.area = area


@register_model(Rows)
class _RowsModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _DOUBLE.as_pointer())


def _address(builder, base, offset):
    address = builder.add(base, builder.mul(offset, ir.Constant(_INT, 8)))
    return builder.inttoptr(address, _DOUBLE.as_pointer())


@intrinsic
def block(typingctx, base, offset, rows, tile):
    """View ``rows`` rows of ``len(tile)`` storms that start at ``offset`` of the tile at address ``base``."""

    def codegen(context, builder, sig, args):
        return _address(builder, args[0], args[1])

    return Rows(tile.width)(types.int64, types.int64, types.int64, tile), codegen


@intrinsic(prefer_literal=True)
def area(typingctx, base, plan, index, first, rows, tile):
    """View ``rows`` rows, from the number ``first`` on, of what begins at the offset ``plan[index]``.

    The compiler is told that what begins at different entries of the plan does not overlap. Else each loop that reads
    one and writes another asks first, which takes longer than a short loop itself. ``index`` is a name of the layout,
    and not one that leads to what has a name of its own.
    """

    def codegen(context, builder, sig, args):
        entry = _entry(builder, args[1], ir.Constant(_INT, index.literal_value))
        return _address(builder, args[0], builder.add(entry, args[3]))

    view = Rows(tile.width, index.literal_value)
    return view(types.int64, plan, index, types.int64, types.int64, tile), codegen


def _tell_apart(builder, kind, access):
    """Mark an access to an area: accesses to others are none to this one."""
    if kind.area is None:
        return access
    module = builder.module
    root = module.add_metadata(["signalstorm tile"])
    name = module.add_metadata([f"area {kind.area}", root, ir.Constant(_INT, 0)])
    access.set_metadata("tbaa", module.add_metadata([name, name, ir.Constant(_INT, 0)]))
    return access


@infer_global(operator.getitem)
class _GetNumber(AbstractTemplate):
    def generic(self, args, kws):
        return signature(types.float64, args[0], _PAIR) if isinstance(args[0], Rows) else None


@infer_global(operator.setitem)
class _SetNumber(AbstractTemplate):
    def generic(self, args, kws):
        return signature(types.none, args[0], _PAIR, types.float64) if isinstance(args[0], Rows) else None


def _place(builder, kind, rows, index):
    row, b = cgutils.unpack_tuple(builder, index)
    return builder.gep(rows, [builder.add(builder.mul(row, ir.Constant(_INT, kind.width)), b)])


@lower_builtin(operator.getitem, Rows, types.UniTuple)
def _get_number(context, builder, sig, args):
    return _tell_apart(builder, sig.args[0], builder.load(_place(builder, sig.args[0], *args)))


@lower_builtin(operator.setitem, Rows, types.UniTuple, types.Float)
def _set_number(context, builder, sig, args):
    rows, index, number = args
    _tell_apart(builder, sig.args[0], builder.store(number, _place(builder, sig.args[0], rows, index)))
    return context.get_dummy_value()


LARGEST_BANK = 8
"""Links side by side in a row of their own, in a tile of one storm."""
_NUMBERS_OF_A_ROW = 64
"""Links times storms of such a row in a wide tile: rows of 2 KiB would all fall into the same sets of the cache."""


def bank_size(width: int) -> int:
    """Return how many links lie side by side in a row of their own, where ``width`` storms do."""
    return max(min(LARGEST_BANK, _NUMBERS_OF_A_ROW // width), 1)


@intrinsic
def links_per_bank(typingctx, tile):
    """Return `bank_size` of a tile: loops over links run over so many, and their storms, at once."""

    def codegen(context, builder, sig, args):
        return ir.Constant(_INT, bank_size(tile.width))

    return types.int64(tile), codegen


@intrinsic
def bank(typingctx, tile):
    """Return a tile of so many times as many storms: the type of rows that hold a number per link and storm."""

    def codegen(context, builder, sig, args):
        return context.get_dummy_value()

    return TileType(bank_size(tile.width) * tile.width)(tile), codegen


class Table(types.Type):
    """Whole numbers that never change while the kernel runs, so each is read once: the plan."""

    def __init__(self):
        super().__init__(name="Table")


@register_model(Table)
class _TableModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _INT.as_pointer())


@intrinsic
def table(typingctx, array):
    """View an array of int64 as a table."""

    def codegen(context, builder, sig, args):
        return make_array(sig.args[0])(context, builder, args[0]).data

    return Table()(array), codegen


@infer_global(operator.getitem)
class _GetEntry(AbstractTemplate):
    def generic(self, args, kws):
        return signature(types.int64, args[0], types.int64) if isinstance(args[0], Table) else None


@lower_builtin(operator.getitem, Table, types.Integer)
def _get_entry(context, builder, sig, args):
    return _entry(builder, *args)


def _entry(builder, plan, index):
    entry = builder.load(builder.gep(plan, [index]))
    entry.set_metadata("invariant.load", builder.module.add_metadata([]))
    return entry

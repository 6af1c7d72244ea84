"""Counter-based random numbers: a draw is a hash of (storm key, step, element, stream), never a state."""

import numpy as np
from numba import njit

from signalstorm.envs.model.kernels.layout import P_SCRATCH, P_STORM, S_APART, S_COUNT, S_SEED_HIGH, S_SEED_LOW, S_STEP
from signalstorm.envs.model.kernels.memory import area

_EXACT_BELOW = 8.0
"""Poisson means below this are drawn by inversion; the cube form's skewness is twice Poisson's."""
_TERMS = 64
"""Terms of the inversion: at a mean of 8 the tail beyond is below 1e-30."""
_BYTES_MEAN = 510.0
_BYTES_PER_DEVIATION = 0.006765875086793228
"""Mean, and 1 / standard deviation, of the sum of four uniform bytes."""
_LINEAR = 0.9490332780957845
_CUBIC = 0.018642382500609254
"""``x (linear + cubic x^2)`` gives that sum the variance 1 and the kurtosis 3 of a normal; solved exactly."""
_UNIT = 2.0**-32
_ROUNDING = 1e-6
"""More than the error of `_exp_minus`: 1 - x less this is below what it returns, so nothing is drawn there."""

(
    D_MEAN,
    D_DRAW,
    D_PART,
    D_TOTAL,
    D_TIME,
    D_SQUARE,
    _UNIFORM,
    _TERM,
    _CUMULATED,
    _HASH,
    _KNOWN,
    _CENTRE,
    _SPREAD,
    SCRATCH_COUNT,
) = range(14)
"""Rows of the scratch block: the mean goes in, the draw comes out; D_PART to D_SQUARE are free for others."""


@njit(inline="always")
def mix_key(step, element):
    """Hash a counter to 64 bits (the finaliser of splitmix64)."""
    z = np.uint64(step) * np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64(element + 1) * np.uint64(0xD1B54A32D192ED03)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(inline="always")
def hash_row(low, high, key_low, key_high):
    """Hash a storm's two 32-bit seeds with a mixed counter to 32 bits (three multiplications)."""
    h = np.uint32(low ^ key_low)
    h = np.uint32(np.uint32(h ^ np.uint32(h >> np.uint32(16))) * np.uint32(0x7FEB352D))
    h = np.uint32(h + np.uint32(high ^ key_high))
    h = np.uint32(np.uint32(h ^ np.uint32(h >> np.uint32(15))) * np.uint32(0x846CA68B))
    h = np.uint32(np.uint32(h ^ np.uint32(h >> np.uint32(16))) * np.uint32(0x9E485565))
    return np.uint32(h ^ np.uint32(h >> np.uint32(15)))


@njit(inline="always")
def _exp_minus(x):
    """Return exp(-x) for 0 <= x <= 8 with a relative error below 1e-7: no library call, so the loop is vectorised."""
    y = x * 0.125
    p = 1.0 - y / 9.0
    p = 1.0 - p * y / 8.0
    p = 1.0 - p * y / 7.0
    p = 1.0 - p * y / 6.0
    p = 1.0 - p * y / 5.0
    p = 1.0 - p * y / 4.0
    p = 1.0 - p * y / 3.0
    p = 1.0 - p * y / 2.0
    p = 1.0 - p * y
    p *= p
    p *= p
    return p * p


@njit(error_model="numpy")
def draw_poisson(base, plan, element, tile):
    """Draw one Poisson number per storm: from D_MEAN to D_DRAW of the scratch block.

    Below a mean of 8 by inversion, exact; above by the Wilson-Hilferty cube, continuous. Which of the two a storm
    gets, and what comes out, depends on its own row alone.

    Args:
        base: Address of the tile.
        plan: The table of offsets and counts.
        element: Number of the element, times STREAMS, plus the stream.
        tile: A `memory.Tile`.
    """
    d = area(base, plan, P_SCRATCH, 0, SCRATCH_COUNT, tile)
    hash_storms(base, plan, element, d, 0, tile)
    draw_hashed(d, len(tile))


@njit(inline="always")
def hash_storms(base, plan, element, d, first, tile):
    """Hash each storm's counter into _HASH of scratch ``d``, from its column ``first`` on."""
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    if storm[S_APART, 0] > 0.0:
        for b in range(len(tile)):
            key = mix_key(np.uint64(storm[S_STEP, b]), element)
            low = np.uint32(key & np.uint64(0xFFFFFFFF))
            high = np.uint32(key >> np.uint64(32))
            d[_HASH, first + b] = hash_row(np.uint32(storm[S_SEED_LOW, b]), np.uint32(storm[S_SEED_HIGH, b]), low, high)
    else:
        key = mix_key(np.uint64(storm[S_STEP, 0]), element)
        low = np.uint32(key & np.uint64(0xFFFFFFFF))
        high = np.uint32(key >> np.uint64(32))
        for b in range(len(tile)):
            d[_HASH, first + b] = hash_row(np.uint32(storm[S_SEED_LOW, b]), np.uint32(storm[S_SEED_HIGH, b]), low, high)


@njit(inline="always")
def _invert(mean, uniform):
    """Return the Poisson number of a mean up to 8 that ``uniform`` stands for; the same as for many at once."""
    if uniform <= 1.0 - mean - _ROUNDING:
        return 0.0
    term = _exp_minus(mean)
    cumulated = term
    drawn = 0.0
    for n in range(1, _TERMS):
        if uniform <= cumulated:
            break
        drawn += 1.0
        term *= mean * (1.0 / n)
        cumulated += term
    return drawn


@njit(error_model="numpy")
def draw_hashed(d, numbers):
    """Draw the first ``numbers`` of scratch ``d``, whose means and hashes are there."""
    small = 0
    large = 0
    new = 0
    for i in range(numbers):
        exact = d[D_MEAN, i] < _EXACT_BELOW
        small += exact
        large += not exact
        new += d[D_MEAN, i] != d[_KNOWN, i]
    if large > 0:
        if new > 0:
            for i in range(numbers):
                mean = max(d[D_MEAN, i], _EXACT_BELOW)
                d[_KNOWN, i] = d[D_MEAN, i]
                d[_CENTRE, i] = 1.0 - 1.0 / (9.0 * mean)
                d[_SPREAD, i] = 3.0 * np.sqrt(mean)
        for i in range(numbers):
            h = np.uint32(d[_HASH, i])
            total = (
                (h & np.uint32(255))
                + ((h >> np.uint32(8)) & np.uint32(255))
                + ((h >> np.uint32(16)) & np.uint32(255))
                + (h >> np.uint32(24))
            )
            x = (np.float64(total) - _BYTES_MEAN) * _BYTES_PER_DEVIATION
            z = x * (_LINEAR + _CUBIC * x * x)
            mean = max(d[D_MEAN, i], _EXACT_BELOW)
            cube = max(d[_CENTRE, i] + z / d[_SPREAD, i], 0.0)
            d[D_DRAW, i] = mean * cube * cube * cube
    if small > 0 and numbers == 1:
        d[D_DRAW, 0] = _invert(d[D_MEAN, 0], (d[_HASH, 0] + 0.5) * _UNIT)
    elif small > 0:
        some = 0
        for i in range(numbers):
            uniform = (d[_HASH, i] + 0.5) * _UNIT
            exact = d[D_MEAN, i] < _EXACT_BELOW
            d[_UNIFORM, i] = uniform
            d[D_DRAW, i] = 0.0 if exact else d[D_DRAW, i]
            some += exact & (uniform > 1.0 - d[D_MEAN, i] - _ROUNDING)
        if some == 0:
            return
        for i in range(numbers):
            exact = d[D_MEAN, i] < _EXACT_BELOW
            nothing = _exp_minus(min(d[D_MEAN, i], _EXACT_BELOW))
            d[_TERM, i] = nothing
            d[_CUMULATED, i] = nothing if exact else 2.0
        for n in range(1, _TERMS):
            above = 0
            share = 1.0 / n
            for i in range(numbers):
                more = d[_UNIFORM, i] > d[_CUMULATED, i]
                above += more
                d[D_DRAW, i] += 1.0 if more else 0.0
                d[_TERM, i] *= d[D_MEAN, i] * share
                d[_CUMULATED, i] += d[_TERM, i]
            if above == 0:
                break

"""Run benchmarks and print their table: ``python -m benchmarks [NAME ...] [--check] [--json]``."""

import argparse
import json
import sys
from dataclasses import asdict

from benchmarks.suite import SUITE


def main(arguments: list[str] | None = None) -> int:
    """Run the named benchmarks, all by default; returns 1 if ``--check`` and a pass mark is missed."""
    parser = argparse.ArgumentParser(prog="benchmarks", description="Speed ratios, side by side, in one run.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(SUITE)}; all by default")
    parser.add_argument("--check", action="store_true", help="exit 1 if a pass mark is missed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in SUITE]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(SUITE)}")
    rows = []
    for name in options.names or SUITE:
        for row in SUITE[name]():
            rows.append(row)
            if not options.json:
                mark = f"  {row.mark}" if row.mark else ""
                times = f"{row.candidate:10.3g} / {row.reference:9.3g} {row.unit:15}"
                print(
                    f"{row.name:52} {times} ratio {row.ratio:7.3g} ({row.low:.3g} to {row.high:.3g}){mark}", flush=True
                )
    if options.json:
        print(json.dumps([asdict(row) | {"passed": row.passed} for row in rows], indent=2))
    return int(options.check and not all(row.passed for row in rows))


if __name__ == "__main__":
    sys.exit(main())

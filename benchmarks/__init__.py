"""Speed, as ratios measured side by side in one run: `python -m benchmarks` or `signalstorm bench`."""

"""The page of a closed loop: what a controller sees and sets over time, in one self-contained file."""

from collections.abc import Sequence

from signalstorm.experiments.recommendation import ScenarioName
from signalstorm.experiments.report.curves import Chart
from signalstorm.experiments.report.drawing import Figure
from signalstorm.experiments.report.drawings import Drawing
from signalstorm.experiments.report.figures import storm_chart
from signalstorm.experiments.report.markup import element
from signalstorm.experiments.report.page import document
from signalstorm.experiments.report.parts import figure, section


def loop_page(scenario: ScenarioName, name: str, charts: Sequence[Chart], counted: str) -> str:
    """Return the page as HTML.

    Args:
        scenario: The scenario.
        name: What the controller is called.
        charts: The curves; the controller's are those of the setting `recommended`.
        counted: From when T counts, in words.
    """
    storms = max((band.seeds for chart in charts for band in chart.bands), default=0)
    words = (
        f"The same {storms} held-out storms under the present setting and under {name}. Lines: median over the storms "
        "that are not over yet; bands: 10th to 90th percentile. Present dashed with a hatched band, the other solid. "
        f"A knob that is off has no curve. {counted}"
    )
    mark = " The dotted line is where T starts to count." if scenario.count_from_s > 0 else ""
    drawn = [Drawing("loop", chart.name, chart.title, _renamed(storm_chart(chart, scenario), name)) for chart in charts]
    parts = {"set": "What is set", "seen": "What is seen"}
    groups = {"set": [d for d in drawn if d.name.startswith("knob-")]}
    groups["seen"] = [d for d in drawn if d not in groups["set"]]
    sections = (
        section(key, title, element("div", *map(figure, groups[key]), class_="charts"))
        for key, title in parts.items()
        if groups[key]
    )
    title = f"{name} over time in {scenario.name}"
    main = element("main", element("header", element("h1", title), element("p", words + mark)), *sections)
    return document(title, main)


def _renamed(drawn: Figure, name: str) -> Figure:
    """Call the second curve by the controller's name."""
    for trace in drawn["data"]:
        setting, comma, rest = trace["name"].partition(",")
        trace["name"] = f"{name if setting == 'recommended' else setting}{comma}{rest}"
    return drawn

"""What is promised of large catalogues and many listeners, beside what was measured.

Each line follows from the JSON of a part alone, so a report that was written can be judged
again. Where several situations were measured, the worst of their medians counts.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations, pairwise
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from bandstand_lab.speed.asked import number
from benchmarks.scale.asked_radio import changing_lines, cold_lines, serving_lines
from benchmarks.scale.words import milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Part = Mapping[str, Any]

MEGABYTE: Final = 1_000_000
# The largest median may be so many times the smallest, and the line is still flat.
FLAT: Final = 1.5
_STEPS_PER_SLOW_ONE: Final = 200
# What three times LinUCB with rank-one widths was expected to be, of LinUCB with a whole product.
_OF_PRODUCT: Final = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One promise and its measurement."""

    part: str
    what: str
    asked: str
    measured: str
    value: float | None
    holds: bool

    def as_json(self) -> dict[str, Any]:
        """Return the promise and the measurement."""
        return asdict(self)


def asked_lines(parts: Mapping[str, Part]) -> list[Line]:
    """Return every promise about the parts that were measured."""
    return [
        Line(part=name, **fields)
        for name, lines in _LINES.items()
        if name in parts
        for fields in lines(parts[name])
    ]


def _step(part: Part) -> Iterator[dict[str, Any]]:
    situations = part["situations"]
    first = situations[0]
    songs, count = f"{first['songs']:,} songs", first["steps"]
    over_stream, (right, words) = _worst(situations, "step / stream"), _forced(situations)
    yield {
        "what": f"one step, {songs}, {first['ratings']:,} ratings",
        "asked": "≤ 3 × stream, aim < 1 ×",
        "measured": f"{number(over_stream)} × ({words})",
        "value": over_stream,
        "holds": over_stream <= 3 and right,
    }
    faster = 1 / _worst(situations, "step / linucb-product")
    yield {
        "what": f"LinUCB with a whole product / one step, {songs}",
        "asked": "≥ 4 ×",
        "measured": f"{number(faster)} ×",
        "value": faster,
        "holds": faster >= 4 and right,
    }
    slow = max(one["slower_than_5_streams"] for one in situations)
    most = max(1, count // _STEPS_PER_SLOW_ONE)
    yield {
        "what": f"of {count} consecutive steps, those above 5 × stream",
        "asked": f"≤ {most}",
        "measured": str(slow),
        "value": float(slow),
        "holds": slow <= most and right,
    }


def _small(part: Part) -> Iterator[dict[str, Any]]:
    double = [one for one in part["situations"] if one["linucb_precision"] == "double"]
    ratio, (right, words) = _worst(double, "step / linucb-widths"), _forced(part["situations"])
    yield {
        "what": f"one step, {double[0]['songs']:,} songs",
        "asked": "≤ 3 × LinUCB with rank-one widths",
        "measured": f"{number(ratio)} × ({words})",
        "value": ratio,
        "holds": ratio <= 3 and right,
    }
    whole = _worst(double, "step / linucb-product")
    yield {
        "what": f"one step, {double[0]['songs']:,} songs",
        "asked": "≤ 0.6 × LinUCB with product",
        "measured": f"{number(whole)} ×",
        "value": whole,
        "holds": whole <= _OF_PRODUCT and right,
    }


def _growth(part: Part) -> Iterator[dict[str, Any]]:
    sizes, medians = _curve(part["songs"], "songs")
    pairs = list(zip(sizes, medians, strict=True))
    steepest = max(
        ((above / below) / (more / fewer) for (fewer, below), (more, above) in pairwise(pairs)),
        default=0.0,
    )
    yield {
        "what": f"growth with songs, {_listed(sizes)}",
        "asked": "time / songs never rises",
        "measured": f"{milliseconds(medians)} ms",
        "value": steepest,
        "holds": steepest <= 1,
    }
    answers, times = _curve(part["ratings"], "ratings")
    spread = max(times) / min(times)
    yield {
        "what": f"growth with ratings, {_listed(answers)}",
        "asked": f"flat: largest ≤ {FLAT:g} × smallest",
        "measured": f"{milliseconds(times)} ms: {_course(times)}",
        "value": spread,
        "holds": spread <= FLAT,
    }


def _course(times: Sequence[float]) -> str:
    """Return how medians go on as answers grow, in a word or two.

    >>> _course([1.0, 1.2, 1.1]), _course([4.0, 2.0, 1.0]), _course([1.0, 5.0, 1.0])
    ('flat', 'not flat, falls', 'not flat, rises and falls')
    """
    if max(times) <= FLAT * min(times):
        return "flat"
    rises = any(later > FLAT * sooner for sooner, later in combinations(times, 2))
    falls = any(sooner > FLAT * later for sooner, later in combinations(times, 2))
    return "not flat, " + " and ".join(
        word for word, is_so in (("rises", rises), ("falls", falls)) if is_so
    )


def _playlist(part: Part) -> Iterator[dict[str, Any]]:
    situations = sorted(part["situations"], key=lambda one: float(one["in_steps"]["median"]))
    worst = situations[-1]
    ratio = worst["in_steps"]["median"]
    middle = median(one["in_steps"]["median"] for one in situations)
    whole, stream = (number(worst[name]["median"]) for name in ("in_whole_steps", "in_streams"))
    # One song again and again would be quick.
    varied = all(2 * min(one["different_songs"]) > part["length"] for one in situations)
    what = f"playlist of {part['length']}, {part['songs']:,} songs"
    yield {
        "what": f"{what}, worst of {len(situations)}",
        "asked": "≤ 5 × one step",
        "measured": f"{number(ratio)} × ({whole} × one that reads all, {stream} × stream); "
        f"median {number(middle)} ×",
        "value": ratio,
        "holds": ratio <= 5 and varied,
    }


def _memory(part: Part) -> Iterator[dict[str, Any]]:
    engine, radio = part["sizes"][-1], part["radios"][-1]
    for what, one, matrix in (
        ("an engine", engine, engine["parts"]["matrix"]),
        ("a whole radio", radio, radio["matrix"]),
    ):
        peak, most = one["peak"], memory_limit(matrix)
        yield {
            "what": f"memory of {what} with {one['songs']:,} songs",
            "asked": f"≤ 1.5 × matrix + 200 MB = {most / MEGABYTE:,.0f} MB",
            "measured": "not told here" if peak is None else f"{peak / MEGABYTE:,.0f} MB",
            "value": peak,
            "holds": peak is not None and peak <= most,
        }


def memory_limit(matrix: float) -> float:
    """Return how much a process may hold whose matrix has so many bytes."""
    return 1.5 * matrix + 200 * MEGABYTE


def _correctness(part: Part) -> Iterator[dict[str, Any]]:
    # A choice from lists that hold every song proves nothing: some must have left songs out.
    names = ("cases", "wrong", "songs_outside", "without_a_pass")
    cases, wrong, outside, spared = (sum(each[name] for each in part.values()) for name in names)
    lists = f"{outside:,} by lists without all songs, {spared:,} of these by them alone"
    yield {
        "what": f"choices unlike brute force's, of {cases:,}",
        "asked": "0",
        "measured": f"{wrong} ({lists})",
        "value": float(wrong),
        "holds": not wrong and all(each["without_a_pass"] > 0 for each in part.values()),
    }


def _scan(part: Part) -> Iterator[dict[str, Any]]:
    ratio = part["times_as_fast_median"]
    yield {
        "what": f"scan of {part['files']:,} files on Dask, two workers / one",
        "asked": "≥ 1.7 ×",
        "measured": f"{number(ratio)} ×",
        "value": ratio,
        "holds": ratio >= 1.7,
    }


_LINES: Final[dict[str, Callable[[Part], Iterator[dict[str, Any]]]]] = {
    "step": _step,
    "playlist": _playlist,
    "small": _small,
    "growth": _growth,
    "memory": _memory,
    "cold": cold_lines,
    "changing": changing_lines,
    "correctness": _correctness,
    "scan": _scan,
    "serving": serving_lines,
}


def _forced(situations: Sequence[Part]) -> tuple[bool, str]:
    """Return whether all choices that were checked are those of brute force; and in words.

    A quick step to a wrong song keeps no promise, nor does one that nobody has checked.
    """
    found = [one["brute_force"] for one in situations]
    checked, agreed = (sum(one[name] for one in found) for name in ("checked", "agreed"))
    right = all(one["agreed"] == one["checked"] > 0 for one in found)
    return right, f"{agreed:,} of {checked:,} checked choices right"


def _worst(situations: Sequence[Part], ratio: str) -> float:
    return max(float(one["ratios"][ratio]["median"]) for one in situations)


def _curve(situations: Sequence[Part], by: str) -> tuple[list[int], list[float]]:
    """Return sizes, rising, and the median seconds of a step at each."""
    found = sorted((one[by], one["seconds"]["step"]["median"]) for one in situations)
    return [size for size, _ in found], [seconds for _, seconds in found]


def _listed(sizes: Sequence[int]) -> str:
    return " / ".join(f"{size:,}" for size in sizes)

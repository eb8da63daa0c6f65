"""Counts for Prometheus, in its text format. No user or event is named."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping

from lumpable.service.lately import ArmShown
from lumpable.service.reading import Status

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends in seconds."""
CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"


class Meter:
    """Counts requests and how long they took; for one thread, that of the event loop."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.times: dict[str, list[int]] = {}
        self.seconds: Counter[str] = Counter()
        self.under_way = 0

    def on_answer(self, route: str, status: int, seconds: float) -> None:
        """Take notice of an answer."""
        self.requests[route, status] += 1
        times = self.times.get(route)
        if times is None:
            times = self.times[route] = [0] * (len(BUCKETS) + 1)
        times[bisect_left(BUCKETS, seconds)] += 1
        self.seconds[route] += seconds  # type: ignore[assignment]

    def lines(self) -> Iterable[str]:
        """Yield what was counted."""
        yield "# TYPE lumpable_requests_total counter"
        for (route, status), times in sorted(self.requests.items()):
            yield f"lumpable_requests_total{_labels(route=route, status=status)} {times}"
        yield "# TYPE lumpable_requests_under_way gauge"
        yield f"lumpable_requests_under_way {self.under_way}"
        yield "# TYPE lumpable_request_seconds histogram"
        for route, counts in sorted(self.times.items()):
            total = 0
            for end, count in zip((*BUCKETS, "+Inf"), counts, strict=True):
                total += count
                yield f"lumpable_request_seconds_bucket{_labels(route=route, le=end)} {total}"
            yield f"lumpable_request_seconds_sum{_labels(route=route)} {self.seconds[route]:.6f}"
            yield f"lumpable_request_seconds_count{_labels(route=route)} {total}"


def text(
    meter: Meter, ready: bool, status: Status | None, arms: Iterable[ArmShown],
    standings: Mapping[str, int], concerns: int,
) -> bytes:  # fmt: skip
    """Return the whole page."""
    lines = [*meter.lines(), *_one("ready", "gauge", int(ready)),
             *_one("concerns", "gauge", concerns)]  # fmt: skip
    if status is not None:
        lines += [
            *_one("log_entries", "gauge", status.entries),
            *_one("decisions", "gauge", status.decisions),
            *_one("rewards", "gauge", status.rewards),
            *_one("rewards_counted", "gauge", status.counted),
            *_one("decisions_waiting", "gauge", status.waiting),
            *_one("users", "gauge", status.users),
            *_one("arms", "gauge", len(status.arms)),
            *_one("version", "gauge", status.version),
        ]
    lines.append("# TYPE lumpable_arm_decisions_total counter")
    for row in arms:
        kind = "integer" if isinstance(row.arm, int) else "string"
        labels = _labels(arm=row.arm, type=kind)
        lines.append(f"lumpable_arm_decisions_total{labels} {row.decisions}")
    lines.append("# TYPE lumpable_rewards_standing_total counter")
    for standing, times in sorted(standings.items()):
        lines.append(f"lumpable_rewards_standing_total{_labels(standing=standing)} {times}")
    return "\n".join([*lines, ""]).encode()


def _one(name: str, kind: str, value: int) -> list[str]:
    return [f"# TYPE lumpable_{name} {kind}", f"lumpable_{name} {value}"]


def _labels(**labels: object) -> str:
    r"""Write labels; names come from anybody.

    >>> _labels(arm='a"b\n')
    '{arm="a\\"b\\n"}'
    """
    marks = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    inside = ",".join(f'{name}="{str(value).translate(marks)}"' for name, value in labels.items())
    return "{" + inside + "}"

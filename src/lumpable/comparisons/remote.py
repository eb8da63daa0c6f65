"""Tasks on a cluster, Dask or Ray, which has its own workers and queue. Knows no task."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from lumpable.base.extras import need
from lumpable.base.interrupts import defer_interrupts
from lumpable.comparisons.jobs import Events, Task, call, keep_busy

AHEAD = 2
"""Tasks that a cluster is handed at once, for each core."""


def on_dask(tasks: Sequence[Task], jobs: int | None, address: str | None) -> Events:
    """Do the work on Dask: at an address, or on workers of its own."""
    distributed = need("distributed", "dask", "comparing on Dask")
    where: dict[str, Any] = {"address": address}
    if address is None:
        where = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None}
    with defer_interrupts():
        client = distributed.Client(**where)
    with client:
        many = jobs or AHEAD * max(1, sum(client.ncores().values()))
        submit = client.get_executor(pure=False).submit
        yield from keep_busy(tasks, many, lambda packed: submit(call, packed))


def on_ray(tasks: Sequence[Task], jobs: int | None, address: str | None) -> Events:
    """Do the work on Ray: at an address, on the one that runs here, or on one of its own."""
    ray = need("ray", "ray", "comparing on Ray")
    with _ray(ray, jobs, address) as available:
        many = jobs or AHEAD * available
        remote = ray.remote(max_retries=0)(call)
        yield from keep_busy(tasks, many, lambda packed: remote.remote(packed).future())


@contextlib.contextmanager
def _ray(ray: Any, jobs: int | None, address: str | None) -> Iterator[int]:
    """Connect to Ray and return its cores; start one if none runs."""
    mine = not ray.is_initialized()
    if mine:
        quiet = {"log_to_driver": False, "logging_level": "warning"}
        try:
            ray.init(address=address or "auto", **quiet)
        except ConnectionError:
            if address is not None:
                raise
            ray.init(num_cpus=jobs, include_dashboard=False, **quiet)
    try:
        yield int(ray.cluster_resources()["CPU"])
    finally:
        if mine:
            ray.shutdown()

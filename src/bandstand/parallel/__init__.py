"""Work that is done on several processors at once: here, or on a cluster.

tasks    the same function of many values
cluster  a connection to a Dask cluster
"""

from bandstand.parallel.tasks import check_one_place, run_tasks, usable_cores

__all__ = ["check_one_place", "run_tasks", "usable_cores"]

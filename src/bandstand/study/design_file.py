"""A study's design as a file in TOML that a person writes and keeps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from bandstand._util.toml_files import read_toml
from bandstand.study.design import Design

if TYPE_CHECKING:
    from pathlib import Path

_TEMPLATE: Final = '''\
# A blind comparison of algorithms with people. What is left out has the value shown here, which
# is that of the paper. Once the study is open nothing in here can be changed any more.

# The study's name: participants read it, and it is the study's name in the store.
title = {title}

# What participants read, and agree to, before they begin. Name whoever runs the study, and how
# to reach them.
consent = """
{consent}"""

# What is compared; `bandstand simulate --help` lists all names. Participants never see them.
algorithms = [
{algorithms}]

# How many songs each participant rates with each algorithm.
ratings_per_arm = {ratings_per_arm}

# How long a song must be heard before it can be rated, unless the participant knows it.
listen_seconds = {listen_seconds:g}

# After so many ratings comes a rest of so many seconds.
rest_after = {rest_after}
rest_seconds = {rest_seconds:g}

# At most so many algorithms within 24 hours, with so many hours between two of them.
arms_per_day = {arms_per_day}
gap_hours = {gap_hours:g}

# How long it takes from asking for a song to the answer. It is the same for all algorithms, so
# that it betrays none; it should be longer than the slowest of them takes.
answer_seconds = {answer_seconds:g}

# With fewer analysed songs the study is not opened.
least_songs = {least_songs}

# Everything that is drawn at random follows from this number.
seed = {seed}
'''


def read_design(path: Path) -> Design:
    """Return the design in a TOML file; whatever is wrong with it is one InvalidInputError."""
    return Design.from_mapping(read_toml(path, "the study"), str(path))


def template() -> str:
    """Return a file with every default and what it means, for a person to change."""
    design = Design()
    fields = design.as_json()
    fields["title"] = _quoted(design.title)
    fields["algorithms"] = "".join(f"    {_quoted(name)},\n" for name in design.algorithms)
    return _TEMPLATE.format(**fields)


def _quoted(text: str) -> str:
    """Return text as TOML writes it, which JSON does alike."""
    return json.dumps(text, ensure_ascii=False)

"""How a server is set up: one frozen value, from a file, the environment and options.

fields    every setting with its default and what it means
values    what the value of a setting may be
loading   from config.toml, BANDSTAND_* and the command line to a `Settings`
"""

from bandstand.settings.fields import Settings, setting_fields, variable
from bandstand.settings.loading import load_settings

__all__ = ["Settings", "load_settings", "setting_fields", "variable"]

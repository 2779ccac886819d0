"""Speed, scale and load, measured from a checkout; not part of the installed package."""

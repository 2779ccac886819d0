"""Speed of the radio: a server under load, with many listeners at once."""

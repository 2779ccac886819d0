"""The songs of a whole catalogue that could be chosen, and proof that no other one could."""

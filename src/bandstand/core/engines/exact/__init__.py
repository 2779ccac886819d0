"""The exact engine: quadrature over the recovery time, everything else in closed form."""

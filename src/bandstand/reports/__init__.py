"""What people look at: measurements, tables and figures.

Speed, as `bandstand bench` shows it: `bench` and the modules that it names.
"""

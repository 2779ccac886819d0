"""One listener's radio: the log read as evidence, the choice of songs, and why they were chosen."""

"""The choice of a song: bans, years, spacing, stations, the dial, and the belief."""

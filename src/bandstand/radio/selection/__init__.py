"""Which song is played: the shelf, bans, years, spacing, wishes, the dial, and the choice."""

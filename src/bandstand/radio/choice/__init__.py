"""Which song is played: the shelf, bans, spacing, wishes, the dial, and the choice."""

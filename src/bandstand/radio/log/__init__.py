"""What a listener's log says: evidence, the ledger, its snapshots, and rebuilding all of it."""

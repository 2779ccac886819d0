"""A listener's log as evidence: the ledger, its snapshots, and rebuilding all of them."""

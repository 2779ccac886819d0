"""The events of one listener as evidence: weights of plays, the ledger and its snapshots."""

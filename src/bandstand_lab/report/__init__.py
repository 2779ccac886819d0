"""The paper reproduced by one command: studies cut into jobs, and one report of them all."""

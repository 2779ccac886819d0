"""Sessions, cookies, passwords, throttling and bind-address checks."""

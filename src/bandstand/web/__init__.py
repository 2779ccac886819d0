"""The radio over HTTP: routes, what every request passes, security, and the page."""

"""Why a song is played, and what has been learned about a listener, in numbers and words."""

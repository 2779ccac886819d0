"""Why a song is played, and what has been learnt about a listener, in numbers and words."""

"""Songs, their files, and lists of them."""

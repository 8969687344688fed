"""What `scripts/dist.py` makes: programs and wheels, the list of what is in them, and packages of them."""

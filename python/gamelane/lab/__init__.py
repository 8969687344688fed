"""Real hosts on one machine: network namespaces, the links between them, and what runs in them."""

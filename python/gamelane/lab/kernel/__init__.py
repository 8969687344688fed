"""The kernel's own queues and shaper as gateway, link and paths of the lab: `--engine kernel`."""

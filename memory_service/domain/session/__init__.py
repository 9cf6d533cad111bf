"""Working memory: what a session is, what its turns say about its state, and how much of it fits a prompt. Pure."""

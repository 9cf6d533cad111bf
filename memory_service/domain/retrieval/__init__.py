"""Searching one owner's memories: the snapshot, its filters, candidate lists and fusion. Pure; no I/O."""

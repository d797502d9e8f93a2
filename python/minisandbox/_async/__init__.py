"""The client for tasks. What is in `_sync` is made of it by `make_sync.py`."""

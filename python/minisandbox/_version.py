"""Versions."""

#: Of this package.
__version__ = "0.1.0"

#: Of the protocol that it speaks.
PROTOCOL = 1

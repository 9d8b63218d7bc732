"""Build side: manifest -> plan -> compile pool -> store, and the Hatch hook around it."""

# Before ``digest``, which then takes OpenSSL's sha256: a build hashes every header, and that one is 3.5 times as fast.
import hashlib  # noqa: F401

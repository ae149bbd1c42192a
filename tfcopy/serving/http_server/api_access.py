"""Access control: API keys, and limits of requests per minute."""

import hashlib
from collections.abc import Mapping

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from tfcopy import file_formats
from tfcopy.runtime.signatures import ModelError
from tfcopy.serving.http_server.api_messages import ApiError

# Wrong keys from an address before it is blocked for a while.
_WRONG_KEYS = RateLimitItemPerMinute(10)


def read_keys(path) -> dict[bytes, int | None]:
    """Reads a file of API keys, one per line, with optional limits.

    Lines are `KEY`, or `KEY<TAB>REQUESTS A MINUTE`; blank ones and those that
    begin with `# ` are skipped.

    Returns:
        Dict from digests of the keys to their limits, `None` for the default.

    Raises:
        ModelError: If it cannot be read; the message names file and line.
    """
    try:
        with file_formats.open_plain(path) as file:
            lines = file.read().decode().splitlines()
    except (OSError, UnicodeDecodeError, file_formats.FormError) as error:
        reason = getattr(error, "strerror", None) or "not a file of keys"
        raise ModelError(
            f"--api_keys: cannot read {path} ({reason})."
        ) from None
    keys = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("# "):
            continue
        key, *limit = line.split()
        if len(limit) > 1 or not all(
            x.isascii() and x.isdigit() for x in limit
        ):
            raise ModelError(  # without the key
                f"--api_keys: {path}, line {number}: expected a key, or a key "
                "and its requests a minute."
            )
        keys[_digest(key)] = int(limit[0]) if limit else None
    if not keys:
        raise ModelError(f"--api_keys: {path} has no keys.")
    return keys


class Access:
    """Checks API keys and limits.

    Args:
        keys: Result of `read_keys`; `None` if no key is required.
        limit: Maximum requests per minute of a key, or of an address if no key
            is required; `None` for any number.
    """

    def __init__(
        self, keys: Mapping[bytes, int | None] | None, limit: int | None
    ):
        self.needs_key = keys is not None
        self._keys = keys or {}
        self._limit = limit
        self._requests = MovingWindowRateLimiter(MemoryStorage())

    def check(self, key: str, address: str):
        """Counts a request, or refuses it.

        Raises:
            ApiError: 403 without a valid key; 429 above the limit, or after too
                many wrong keys from the address.
        """
        limit, who = self._limit, address
        if self.needs_key:
            if not key:
                raise ApiError(
                    403, "Please contact the server operator to get an API key"
                )
            # Before the key is looked up, so that guessing has a cost.
            if not self._requests.test(_WRONG_KEYS, "wrong keys", address):
                raise ApiError(
                    429, f"Slowdown: {_WRONG_KEYS} of wrong keys", 60
                )
            who = _digest(key)
            if who not in self._keys:
                self._requests.hit(_WRONG_KEYS, "wrong keys", address)
                raise ApiError(403, "Invalid API key")
            limit = self._keys[who] if self._keys[who] is not None else limit
            who = who.hex()
        if limit is None:
            return
        item = RateLimitItemPerMinute(max(1, limit))
        if limit < 1 or not self._requests.hit(item, who):
            raise ApiError(429, f"Slowdown: {limit} per 1 minute", 60)


def _digest(key):
    # Looked up by its digest, so that timing reveals nothing about a key.
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()

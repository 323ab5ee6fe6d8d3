"""Rate limits: a token bucket for each caller, in the memory of this process."""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from ricordo.http.problems import TooManyRequests
from ricordo.limits import MAX_RATE_BUCKETS

_SECONDS_PER_MINUTE = 60.0


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


class RateLimiter:
    """Allows each caller a number of requests per minute, in a burst or spread out.

    The least recently used buckets are evicted; a minute of silence fills a bucket anyway.
    """

    def __init__(self, per_minute: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        """0 ``per_minute`` means no limit."""
        self._per_minute = per_minute
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def count(self, caller: str) -> None:
        """Count one request. Raises TooManyRequests: the limit is reached; this request does not
        count."""
        if not self._per_minute:
            return
        with self._lock:
            bucket = self._refilled(caller)
            if bucket.tokens < 1:
                missing = 1 - bucket.tokens
                raise TooManyRequests(math.ceil(missing * _SECONDS_PER_MINUTE / self._per_minute))
            bucket.tokens -= 1

    def _refilled(self, caller: str) -> _Bucket:
        now = self._monotonic()
        bucket = self._buckets.get(caller)
        if bucket is None:
            bucket = self._buckets[caller] = _Bucket(self._per_minute, now)
            if len(self._buckets) > MAX_RATE_BUCKETS:
                self._buckets.popitem(last=False)
            return bucket
        self._buckets.move_to_end(caller)
        gained = (now - bucket.filled_at) * self._per_minute / _SECONDS_PER_MINUTE
        bucket.tokens = min(self._per_minute, bucket.tokens + gained)
        bucket.filled_at = now
        return bucket

"""How often each caller may ask: a bucket of tokens each, in the memory of this process."""

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
    """Lets each caller make so many requests per minute, all at once or spread out.

    Callers who have been silent longest are forgotten when there are too many; a minute of silence
    fills a bucket anyway, so that mostly nothing is lost by it.
    """

    def __init__(self, per_minute: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        """With 0 ``per_minute`` there is no limit."""
        self._per_minute = per_minute
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def count(self, caller: str) -> None:
        """One request more.

        Raises:
            TooManyRequests: there were too many before; this one does not count.
        """
        if not self._per_minute:
            return
        with self._lock:
            bucket = self._filled(caller)
            if bucket.tokens < 1:
                missing = 1 - bucket.tokens
                raise TooManyRequests(math.ceil(missing * _SECONDS_PER_MINUTE / self._per_minute))
            bucket.tokens -= 1

    def _filled(self, caller: str) -> _Bucket:
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

"""What Prometheus reads of the server: counts and times, no texts."""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The metrics of one server."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self):
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self.requests = self._new(
            Counter, "requests", "Requests.", ["path", "status"]
        )
        self.seconds = self._new(
            Histogram,
            "request_seconds",
            "Seconds of a request.",
            ["path"],
            buckets=_SECONDS,
        )
        pair = ["source", "target"]
        self.texts = self._new(Counter, "texts", "Texts translated.", pair)
        self.characters = self._new(
            Counter, "characters", "Characters of these texts.", pair
        )
        self.lost_spans = self._new(
            Counter, "lost_spans", "Spans that answers did not keep.", pair
        )
        self.batch_size = self._new(
            Histogram,
            "batch_size",
            "Questions of a batch.",
            ["model"],
            buckets=(1, 2, 4, 8, 16, 32, 64, 128),
        )
        self.batch_seconds = self._new(
            Histogram,
            "batch_seconds",
            "Seconds that a model takes for a batch.",
            ["model"],
            buckets=_SECONDS,
        )
        self.waiting = self._new(
            Gauge, "waiting", "Questions that wait for a model."
        )

    def _new(self, kind, name, help, labels=(), **options):
        return kind(
            f"tfcopy_{name}", help, labels, registry=self._registry, **options
        )

    def shown(self) -> bytes:
        """All metrics, in Prometheus's format."""
        return generate_latest(self._registry)

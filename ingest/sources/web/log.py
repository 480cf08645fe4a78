"""What HTTP libraries log, without secrets.

httpx logs each URL, and httpcore each answer's headers, where cookies and signed addresses are.
"""

from __future__ import annotations

import logging
import re

from ingest.sources.web.addresses import public_url

_URL = re.compile(r"https?://[^\s'\"]+")
_WITH_HEADERS = "receive_response_headers.complete"


class _Public(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if message.startswith(_WITH_HEADERS):
            return False
        clear = _URL.sub(lambda found: public_url(found[0]), message)
        if clear != message:
            record.msg, record.args = clear, ()
        return True


_FILTER = _Public()


def keep_secrets_out() -> None:
    """Have the libraries' loggers show public URLs alone; calling it again changes nothing."""
    for name in ("httpx", "httpcore.connection", "httpcore.http11"):
        logging.getLogger(name).addFilter(_FILTER)

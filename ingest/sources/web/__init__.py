"""Reading pages over HTTP from servers that may be slow, broken or hostile."""

from ingest.sources.web.addresses import public_url, web_address
from ingest.sources.web.pages import WebPage, WebState, refused
from ingest.sources.web.reader import WebReader

__all__ = ["WebPage", "WebReader", "WebState", "public_url", "refused", "web_address"]

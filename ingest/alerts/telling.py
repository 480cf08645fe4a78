"""Telling people: one message for all that is new, by mail, webhook or what else Apprise knows."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from apprise import Apprise, NotifyFormat, NotifyType

from ingest.errors import ConfigurationError
from ingest.settings import AlertSettings
from schemas.incident import IncidentRecord

log = logging.getLogger(__name__)


def check_addresses(settings: AlertSettings) -> None:
    """Look at the addresses without asking them anything.

    Raises:
        ConfigurationError: ``alert_address``; the address is not repeated, because it may hold a
            password.
    """
    for number, url in enumerate(settings.urls, start=1):
        if not Apprise().add(url.get_secret_value()):
            raise ConfigurationError(
                "alert_address",
                f"The address number {number} in MUNIMENT_ALERTS__URLS is none that messages can "
                "be sent to. See docs/alerts.md for their form.",
            )


def tell(settings: AlertSettings, incidents: Sequence[IncidentRecord]) -> bool:
    """Send one message on these incidents to every address; return whether one took it.

    An address that does not answer is logged and hinders no other: what nobody took is sent again
    with the next message.
    """
    begun = [one for one in incidents if one.closed_at is None]
    ended = [one for one in incidents if one.closed_at is not None]
    lines = [one.message for one in begun]
    lines += [f"Over: {one.kind.replace('_', ' ')} {one.subject}".rstrip() + "." for one in ended]
    kinds = sorted({one.kind.replace("_", " ") for one in begun})
    title = f"Muniment: {', '.join(kinds)}" if begun else "Muniment: all clear"
    return send(settings, title, "\n\n".join(lines), is_bad=bool(begun))


def send(settings: AlertSettings, title: str, body: str, *, is_bad: bool) -> bool:
    """Send a message to every address; return whether one took it."""
    taken = False
    for url in settings.urls:
        one = Apprise()
        if not one.add(url.get_secret_value()):
            log.error("An address in MUNIMENT_ALERTS__URLS is none that messages can be sent to.")
            continue
        where = one[0].url(privacy=True)  # type: ignore[no-untyped-call]  # Apprise's own
        kind = NotifyType.WARNING if is_bad else NotifyType.SUCCESS
        if one.notify(title=title, body=body, notify_type=kind, body_format=NotifyFormat.TEXT):
            taken = True
        else:
            log.error("An alert could not be sent to %s.", where)
    return taken

"""A notifier that sends mail through the server of a connection.

``smtplib`` of the standard library does the work. A server that refuses or does not answer is an error of the callback:
it is in its log and changes no state.
"""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from typing import Any, Final

from treadle.connections import Connection
from treadle.notifiers.base import BaseNotifier

SUBJECT: Final = (
    "{{ dag.dag_id }}: "
    "{% if deadline is defined %}run {{ run_id }} missed its deadline"
    "{% elif reason is defined %}run {{ run_id }} is {{ dag_run.state }}"
    "{% else %}task {{ ti.task_id }} of run {{ run_id }} is {{ ti.state }}{% endif %}"
)
HTML: Final = """\
<p>DAG <b>{{ dag.dag_id | e }}</b>, run <b>{{ run_id | e }}</b>, {{ dag_run.state }}
{%- if ti is defined %}; task <b>{{ ti.task_id | e }}</b>, try {{ ti.try_number }}, {{ ti.state }}{% endif %}</p>
{% if deadline is defined %}<p>The deadline was {{ deadline.deadline_time }}.</p>
{% endif %}{% if reason is defined %}<p>Reason: {{ reason | e }}</p>
{% endif %}{% if exception is defined %}<pre>{{ exception | e }}</pre>
{% endif %}"""


class SmtpNotifier(BaseNotifier):
    """Send a mail ``to`` one address or several, from ``from_email`` or the ``from_email`` of the connection's extra.

    The connection ``smtp_conn_id`` gives host, port, login and password; its extra may say ``disable_ssl`` (plain
    SMTP), ``disable_tls`` (no STARTTLS on it), ``timeout`` (seconds, 30). As in Airflow's provider, a connection that
    says nothing is SMTP over TLS. Subject and text are templates with defaults.

    Raises:
        ValueError: there is no receiver.
    """

    template_fields = ("to", "cc", "bcc", "from_email", "subject", "html_content")

    def __init__(
        self,
        *,
        to: str | Sequence[str],
        from_email: str | None = None,
        subject: str | None = None,
        html_content: str | None = None,
        cc: str | Sequence[str] | None = None,
        bcc: str | Sequence[str] | None = None,
        smtp_conn_id: str = "smtp_default",
        context: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(context=context)
        if not to:
            raise ValueError("SmtpNotifier: to= is empty; it takes an address or a list of them")
        self.to = to
        self.cc = cc
        self.bcc = bcc
        self.from_email = from_email
        self.subject = SUBJECT if subject is None else subject
        self.html_content = HTML if html_content is None else html_content
        self.smtp_conn_id = smtp_conn_id

    def notify(self, context: Mapping[str, Any]) -> None:  # noqa: ARG002 - all is in the rendered fields
        """Send the mail."""
        found = Connection.get(self.smtp_conn_id)
        options = found.extra_dejson
        sender = self.from_email or options.get("from_email") or found.login
        if not sender:
            raise ValueError(
                f"SmtpNotifier: nobody is the sender; give from_email=, or from_email in the extra of the connection "
                f"{self.smtp_conn_id!r}"
            )
        with _server(found, options) as server:
            if found.login and found.password:
                server.login(found.login, found.password)
            server.send_message(self._message(str(sender)), to_addrs=self._receivers())
        self.log.info("Sent to %d addresses: %s", len(self._receivers()), self.subject)

    def _receivers(self) -> list[str]:
        return [*_addresses(self.to), *_addresses(self.cc), *_addresses(self.bcc)]

    def _message(self, sender: str) -> EmailMessage:
        message = EmailMessage()
        message["From"] = sender
        message["To"] = ", ".join(_addresses(self.to))
        if self.cc:
            message["Cc"] = ", ".join(_addresses(self.cc))
        # A line break in a header would begin another header.
        message["Subject"] = " ".join(self.subject.split())
        message.set_content(self.html_content, subtype="html")
        return message


def _server(found: Connection, options: Mapping[str, Any]) -> smtplib.SMTP:
    host, seconds = found.host or "localhost", float(options.get("timeout", 30.0))
    if not _is_set(options, "disable_ssl"):
        port = found.port or smtplib.SMTP_SSL_PORT
        return smtplib.SMTP_SSL(host, port, timeout=seconds, context=ssl.create_default_context())
    server = smtplib.SMTP(host, found.port or smtplib.SMTP_PORT, timeout=seconds)
    if not _is_set(options, "disable_tls"):
        server.starttls(context=ssl.create_default_context())
    return server


def _is_set(options: Mapping[str, Any], name: str) -> bool:
    return str(options.get(name, "")).lower() in ("true", "1", "yes")


def _addresses(given: str | Sequence[str] | None) -> list[str]:
    if given is None:
        return []
    parts = given.replace(";", ",").split(",") if isinstance(given, str) else given
    return [one.strip() for one in parts if one.strip()]

"""The digest e-mail: for each member whose company posted a job, what was posted, as plain text and as HTML.

A digest is a file first: `outbox/<day>-<member>.eml`, a message any mail program opens. With a mail server it is then
sent, and moved to `outbox/sent/`; one that is there already is not sent again, so a second run of the same day bothers
nobody twice. The message id is made from the day and the member, so that even a copy is known as one.
"""

from __future__ import annotations

import smtplib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from html import escape
from pathlib import Path

from barnabas.pipelines.errors import PipelineError

SENDER = "Barnabas <digest@barnabas.example>"
SMTP_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Posting:
    title: str
    city: str
    time_ms: int


@dataclass(frozen=True, slots=True)
class Digest:
    member: int
    name: str
    email: str
    company: str
    jobs: tuple[Posting, ...]


def file_name(day: str, member: int) -> str:
    return f"{day}-{member}.eml"


def render(digest: Digest, day: str, now_ms: int) -> bytes:
    """The message as it travels."""
    count = len(digest.jobs)
    jobs = "a job" if count == 1 else f"{count} jobs"
    message = EmailMessage(policy=SMTP)
    message["Subject"] = f"{digest.company} posted {jobs}"
    message["From"] = SENDER
    message["To"] = f"{digest.name} <{digest.email}>"
    message["Date"] = format_datetime(datetime.fromtimestamp(now_ms // 1000, UTC))
    message["Message-ID"] = f"<digest.{day}.{digest.member}@barnabas.example>"
    message.set_content(_text(digest, jobs))
    message.add_alternative(_html(digest, jobs), subtype="html")
    return message.as_bytes()


def _text(digest: Digest, jobs: str) -> str:
    lines = [f"  {job.title.capitalize()}, {job.city}" for job in digest.jobs]
    first = digest.name.split()[0]
    return (
        f"Hello {first},\n\nyour company {digest.company} posted {jobs}:\n\n" + "\n".join(lines) + "\n\n"
        "Do you know somebody who would fit? Pass it on.\n\nBarnabas\n"
    )


def _html(digest: Digest, jobs: str) -> str:
    """Tables and inline styles: what mail programs understand."""
    rows = "".join(
        f'<tr><td style="padding:10px 0;border-bottom:1px solid #e3e8ef"><b>{escape(job.title.capitalize())}</b>'
        f'<br><span style="color:#667085">{escape(job.city)}</span></td></tr>'
        for job in digest.jobs
    )
    return (
        '<div style="background:#f3f5f9;padding:24px;font-family:Segoe UI,Helvetica,Arial,sans-serif;color:#18202e">'
        '<table width="100%" cellpadding="0" cellspacing="0" style="max-width:520px;margin:0 auto;background:#ffffff;'
        'border-radius:12px"><tr><td style="padding:26px 28px">'
        f'<p style="margin:0 0 4px;color:#3b5bdb;font-weight:600">{escape(digest.company)}</p>'
        f'<h1 style="margin:0 0 14px;font-size:21px">Your company posted {escape(jobs)}</h1>'
        f'<table width="100%" cellpadding="0" cellspacing="0">{rows}</table>'
        f'<p style="color:#667085;margin:18px 0 0">Hello {escape(digest.name.split()[0])}, do you know somebody '
        "who would fit? Pass it on.</p></td></tr></table></div>"
    )


def leave(outbox: Path, messages: Iterable[tuple[str, bytes]]) -> int:
    """Put each message into the outbox, unless it was sent before. Returns how many there are to send."""
    sent = outbox / "sent"
    sent.mkdir(parents=True, exist_ok=True)
    count = 0
    for name, message in messages:
        if (sent / name).exists():
            continue
        fresh = outbox / f"{name}.new"
        fresh.write_bytes(message)
        fresh.replace(outbox / name)
        count += 1
    return count


def send(outbox: Path, server: str) -> int:
    """Everything in the outbox by SMTP, over one connection. Returns how many were taken."""
    waiting = sorted(outbox.glob("*.eml"))
    if not waiting:
        return 0
    host, port = _address(server)
    try:
        with smtplib.SMTP(host, port, timeout=SMTP_TIMEOUT_S) as mail:
            return sum(_send_one(mail, file, outbox / "sent" / file.name) for file in waiting)
    except (OSError, smtplib.SMTPException) as error:
        raise PipelineError(
            f"the mail server {server} does not take the digests: {error}. They wait in {outbox}"
        ) from None


def _send_one(mail: smtplib.SMTP, file: Path, sent: Path) -> bool:
    from email import message_from_bytes

    message = message_from_bytes(file.read_bytes(), policy=SMTP)
    try:
        mail.send_message(message)
    except (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError):  # this one only: it stays, the others go on
        return False
    file.replace(sent)
    return True


def _address(server: str) -> tuple[str, int]:
    host, colon, port = server.rpartition(":")
    if not colon:
        return server, 25
    if not port.isdigit() or not host:
        raise PipelineError(f"smtp={server!r} is not host:port")
    return host, int(port)


def to_render(member: int, name: str, email: str, company: str, jobs: Sequence[tuple[str, str, int]]) -> Digest:
    return Digest(member, name, email, company, tuple(Posting(*job) for job in jobs))

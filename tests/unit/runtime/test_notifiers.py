"""Notifiers as callbacks, and what the two that come along send: to real servers on this machine."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Iterator, Mapping
from email import message_from_string, policy
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any

import pytest
from tests.unit.runtime.attempts import Answers, attempt

from treadle import DAG, BaseNotifier, PythonOperator, SmtpNotifier, WebhookNotifier


class Mailbox(StreamRequestHandler):
    """Speaks as much SMTP as a client needs, and keeps who logged in, the receivers and the mail."""

    mails: list[dict[str, Any]]

    def handle(self) -> None:
        mail: dict[str, Any] = {"to": [], "login": None}
        self.say("220 here")
        for line in iter(self.line, ""):
            verb = line.split(" ")[0].upper()
            if verb == "EHLO":
                self.say("250-here\r\n250 AUTH PLAIN")
            elif verb == "AUTH":
                mail["login"] = base64.b64decode(line.split(" ")[2]).decode().split("\0")[1:]
                self.say("235 welcome")
            elif verb == "RCPT":
                mail["to"].append(line.partition("<")[2].rstrip(">"))
                self.say("250 ok")
            elif verb == "DATA":
                self.say("354 go on")
                text = "\r\n".join(iter(self.line, "."))
                self.mails.append(mail | {"message": message_from_string(text, policy=policy.default)})
                self.say("250 taken")
            else:
                self.say("221 bye" if verb == "QUIT" else "250 ok")
                if verb == "QUIT":
                    return

    def line(self) -> str:
        return self.rfile.readline().decode().rstrip("\r\n")

    def say(self, text: str) -> None:
        self.wfile.write(text.encode() + b"\r\n")


class Hook(BaseHTTPRequestHandler):
    posts: list[tuple[str, Mapping[str, str], Any]]
    gets: list[Mapping[str, str]]
    server: HTTPServer
    answer = 200

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.posts.append((self.path, dict(self.headers), body))
        self.send_response(self.answer)
        if 300 <= self.answer < 400:
            self.send_header("Location", f"http://localhost:{self.server.server_port}/elsewhere")
        self.end_headers()

    def do_GET(self) -> None:
        self.gets.append(dict(self.headers))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def served(server: Any) -> Iterator[int]:
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture
def mail_port() -> Iterator[int]:
    Mailbox.mails = []
    yield from served(ThreadingTCPServer(("127.0.0.1", 0), Mailbox))


@pytest.fixture
def hook_port() -> Iterator[int]:
    Hook.posts, Hook.gets, Hook.answer = [], [], 200
    yield from served(HTTPServer(("127.0.0.1", 0), Hook))


def failing(*callbacks: Any) -> DAG:
    def fails() -> None:
        raise ValueError("boom <b>")

    with DAG("sales") as dag:
        PythonOperator(task_id="t", python_callable=fails, on_failure_callback=list(callbacks))
    return dag


def mail_connection(port: int, **extra: Any) -> dict[str, Any]:
    fields = {"conn_id": "smtp_default", "conn_type": "smtp", "host": "127.0.0.1", "port": port}
    return fields | {"login": "me", "password": "pw", "extra": json.dumps({"disable_ssl": True, **extra})}


def test_a_mail_is_sent_with_default_texts_that_say_what_happened(
    mail_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    answers = Answers(connections={"smtp_default": mail_connection(mail_port, disable_tls=True)})
    notifier = SmtpNotifier(to=["a@x", "b@x"], cc="c@x", bcc="d@x", from_email="from@x")
    attempt(failing(notifier), "t", answers)
    (mail,) = Mailbox.mails
    assert mail["login"] == ["me", "pw"]
    assert mail["to"] == ["a@x", "b@x", "c@x", "d@x"]
    message = mail["message"]
    assert message["Subject"] == "sales: task t of run manual__1 is failed"
    assert (message["From"], message["To"], message["Cc"], message["Bcc"]) == ("from@x", "a@x, b@x", "c@x", None)
    text = message.get_content()
    assert "boom &lt;b&gt;" in text
    assert "try 1" in text
    assert "failed;" not in caplog.text


def test_a_subject_cannot_add_headers(mail_port: int) -> None:
    answers = Answers(connections={"smtp_default": mail_connection(mail_port, disable_tls=True, from_email="f@x")})
    attempt(failing(SmtpNotifier(to="a@x", subject="{{ 'x\\nBcc: evil@x' }}")), "t", answers)
    assert Mailbox.mails[0]["message"]["Subject"] == "x Bcc: evil@x"
    assert Mailbox.mails[0]["to"] == ["a@x"]


def test_a_mail_without_a_sender_or_server_is_told_in_the_log(mail_port: int, caplog: pytest.LogCaptureFixture) -> None:
    answers = Answers(connections={"smtp_default": mail_connection(mail_port, disable_tls=True) | {"login": None}})
    assert attempt(failing(SmtpNotifier(to="a@x")), "t", answers).outcome == "failed"
    assert "nobody is the sender" in caplog.text
    with pytest.raises(ValueError, match="to= is empty"):
        SmtpNotifier(to="")


def test_a_web_hook_gets_the_rendered_payload(hook_port: int) -> None:
    payload = {"text": ["{{ dag.dag_id }}", {"try": "{{ ti.try_number }}"}], "n": 1}
    attempt(failing(WebhookNotifier(url=f"http://127.0.0.1:{hook_port}/x?y=1", payload=payload)), "t")
    attempt(failing(WebhookNotifier(url=f"http://127.0.0.1:{hook_port}/")), "t")
    assert Hook.posts[0][0] == "/x?y=1"
    assert Hook.posts[0][2] == {"text": ["sales", {"try": "1"}], "n": 1}
    assert Hook.posts[1][2] == {"text": "sales: task t of run manual__1 is failed"}


def test_a_web_hook_s_connection_gives_address_and_token(hook_port: int) -> None:
    fields = {"conn_id": "hook", "conn_type": "http", "host": f"http://127.0.0.1:{hook_port}", "password": "token"}
    answers = Answers(connections={"hook": fields | {"extra": '{"path": "/in"}'}})
    attempt(failing(WebhookNotifier(http_conn_id="hook")), "t", answers)
    assert Hook.posts[0][0] == "/in"
    assert Hook.posts[0][1]["Authorization"] == "Bearer token"


def test_a_web_hook_that_refuses_is_told_in_the_log(hook_port: int, caplog: pytest.LogCaptureFixture) -> None:
    Hook.answer = 500
    attempt(
        failing(WebhookNotifier(url=f"http://127.0.0.1:{hook_port}/"), WebhookNotifier(url="file:///etc/passwd")), "t"
    )
    assert "HTTP Error 500" in caplog.text
    assert "expected an http(s) address" in caplog.text
    with pytest.raises(ValueError, match="one of the two"):
        WebhookNotifier()


@pytest.mark.parametrize("code", [302, 303, 307])
def test_a_web_hook_that_has_moved_is_an_error_and_the_token_goes_nowhere_else(
    hook_port: int, caplog: pytest.LogCaptureFixture, code: int
) -> None:
    Hook.answer = code
    fields = {"conn_id": "hook", "conn_type": "http", "host": f"http://127.0.0.1:{hook_port}", "password": "token"}
    attempt(failing(WebhookNotifier(http_conn_id="hook")), "t", Answers(connections={"hook": fields}))
    assert len(Hook.posts) == 1
    assert Hook.gets == []
    assert f"HTTP Error {code}" in caplog.text


class Noting(BaseNotifier):
    template_fields = ("text",)

    def __init__(self, text: str, **named: Any) -> None:
        super().__init__(**named)
        self.text = text
        self.notes: list[str] = []

    def notify(self, context: Mapping[str, Any]) -> None:
        self.notes.append(f"{self.text} {context['ti'].try_number}")


def test_a_notifier_is_rendered_anew_each_time(caplog: pytest.LogCaptureFixture) -> None:
    notifier = Noting("{{ run_id }}")
    dag = failing(notifier)
    attempt(dag, "t", run_id="r1")
    attempt(dag, "t", run_id="r2")
    assert notifier.notes == ["r1 1", "r2 1"]
    assert notifier.text == "{{ run_id }}"
    assert "on_failure_callback failed" not in caplog.text


def test_a_notifier_with_one_of_the_two_can_do_both() -> None:
    class Awaited(BaseNotifier):
        seen: list[Any] = []

        async def async_notify(self, context: Mapping[str, Any]) -> None:
            self.seen.append(context)

    with DAG("d") as dag:
        pass
    Awaited()({"dag": dag, "n": 1})

    async def wait(notifier: BaseNotifier) -> None:
        await notifier

    asyncio.run(wait(Awaited(context={"dag": dag, "n": 2})))
    assert [one["n"] for one in Awaited.seen] == [1, 2]
    with pytest.raises(NotImplementedError, match="neither notify"):
        BaseNotifier()({"dag": dag})

"""Studies over sites by Flower: plans and answers are bytes in its records.

A site is a `ClientApp` that is started anew for each message, so its state lies in a file. Flower
carries the bytes and knows which node sent them; everything else is checked by site and server.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from curvedp.errors import BudgetError, MissingExtraError, SiteError
from curvedp.sites.agreement import Agreement
from curvedp.sites.release import SitesMeanRelease
from curvedp.sites.server import ServerMean
from curvedp.sites.site import SiteMean

__all__ = ["client_app", "server_app"]

_RECORD, _BYTES, _REFUSED = "curvedp", "bytes", "refused"
_LOG = logging.getLogger(__name__)


def _flower() -> Any:
    try:
        import flwr.app
        import flwr.clientapp
        import flwr.serverapp
    except ImportError:
        raise MissingExtraError("flower", "A study by Flower") from None
    return flwr


def client_app(site_of: Callable[[Any], SiteMean]) -> Any:
    """A site of a study as a Flower `ClientApp`.

    Parameters
    ----------
    site_of : callable
        Makes the site from Flower's `Context`: its ``node_config`` has what was given to
        ``flower-supernode --node-config``. Give the site a `state` file and a `ledger` with a path.

    Returns
    -------
    flwr.clientapp.ClientApp

    Raises
    ------
    MissingExtraError
        If Flower is not installed.
    """
    flwr = _flower()
    app = flwr.clientapp.ClientApp()

    def reply(message: Any, context: Any, act: Callable[[SiteMean, bytes], bytes]) -> Any:
        try:
            own: dict[str, Any] = {_BYTES: act(site_of(context), message.content[_RECORD][_BYTES])}
        except (SiteError, BudgetError) as error:  # says nothing of records
            own = {_REFUSED: str(error)}
        except Exception:  # may say something: it stays here
            _LOG.exception("the site failed")
            own = {_REFUSED: "the site failed: its own log says why"}
        content = flwr.app.RecordDict({_RECORD: flwr.app.ConfigRecord(own)})
        return flwr.app.Message(content=content, reply_to=message)

    def answer(message: Any, context: Any) -> Any:
        return reply(message, context, lambda site, plan: site.answer(plan))

    def finish(message: Any, context: Any) -> Any:
        def end(site: SiteMean, _: bytes) -> bytes:
            site.finish()
            return b""

        return reply(message, context, end)

    app.query()(answer)
    app.query("finish")(finish)
    return app


def server_app(
    agreement: Agreement, done: Callable[[SitesMeanRelease], object], *, timeout: float = 60.0
) -> Any:
    """The server of a study as a Flower `ServerApp`.

    Parameters
    ----------
    agreement : Agreement
        Without masks: their keys do not outlive a message of Flower's.
    done : callable
        Is given the release.
    timeout : float
        Seconds for which a round waits, and for which the first one waits for all nodes.

    Returns
    -------
    flwr.serverapp.ServerApp

    Raises
    ------
    MissingExtraError
        If Flower is not installed.
    ValueError
        For an agreement with masks.
    """
    flwr = _flower()
    if agreement.masks:
        raise ValueError("masks need sites that stay in one process: Flower starts them anew")
    app = flwr.serverapp.ServerApp()

    def main(grid: Any, context: Any) -> None:
        def asked(step: bytes, action: str) -> list[bytes]:
            content = flwr.app.RecordDict({_RECORD: flwr.app.ConfigRecord({_BYTES: step})})
            messages = [
                flwr.app.Message(content=content, message_type=action, dst_node_id=node)
                for node in grid.get_node_ids()
            ]
            replies = grid.send_and_receive(messages, timeout=timeout)
            own = [reply.content[_RECORD] for reply in replies if not reply.has_error()]
            for record in own:
                if _REFUSED in record:
                    _LOG.warning("a site refused: %s", record[_REFUSED])
            return [record[_BYTES] for record in own if _BYTES in record]

        until = time.monotonic() + timeout
        while len(list(grid.get_node_ids())) < len(agreement.roster) and time.monotonic() < until:
            time.sleep(0.1)
        server = ServerMean(agreement)
        step: bytes | SitesMeanRelease = server.plan()
        while isinstance(step, bytes):
            step = server.feed(asked(step, "query"))
            for text in server.left_out:
                _LOG.warning("left out: %s", text)
        asked(b"", "query.finish")
        done(step)

    app.main()(main)
    return app

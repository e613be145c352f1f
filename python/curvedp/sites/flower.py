"""Studies over sites by Flower: plans and answers are bytes in its records.

A site is a `ClientApp` that is started anew for each message, so its state lies in a file, with the
secret of its masks. Flower carries the bytes and knows which node sent them; everything else is
checked by site and server.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import Any

from curvedp.errors import BudgetError, MissingExtraError, SiteError
from curvedp.sites.agreement import Agreement
from curvedp.sites.release import SitesMeanRelease
from curvedp.sites.server import ServerMean
from curvedp.sites.site import SiteMean

__all__ = ["client_app", "server_app"]

_RECORD, _BYTES, _SITE, _REFUSED = "curvedp", "bytes", "site", "refused"
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
        own: dict[str, Any] = {}
        try:
            site = site_of(context)
            own[_SITE] = site.name
            own[_BYTES] = act(site, message.content[_RECORD][_BYTES])
        except (SiteError, BudgetError) as error:  # says nothing of records
            own[_REFUSED] = str(error)
        except Exception:  # may say something: it stays here
            _LOG.exception("the site failed")
            own[_REFUSED] = "the site failed: its own log says why"
        content = flwr.app.RecordDict({_RECORD: flwr.app.ConfigRecord(own)})
        return flwr.app.Message(content=content, reply_to=message)

    def finished(site: SiteMean, _: bytes) -> bytes:
        site.finish()
        return b""

    @app.query()  # type: ignore[untyped-decorator]
    def answer(message: Any, context: Any) -> Any:
        return reply(message, context, lambda site, plan: site.answer(plan))

    @app.query("key")  # type: ignore[untyped-decorator]
    def key(message: Any, context: Any) -> Any:
        return reply(message, context, lambda site, _: site.key)

    @app.query("finish")  # type: ignore[untyped-decorator]
    def finish(message: Any, context: Any) -> Any:
        return reply(message, context, finished)

    return app


def server_app(
    agreement: Agreement,
    done: Callable[[SitesMeanRelease], object],
    *,
    timeout: float = 60.0,
    state: str | os.PathLike[str] | None = None,
) -> Any:
    """The server of a study as a Flower `ServerApp`.

    Parameters
    ----------
    agreement : Agreement
    done : callable
        Is given the release.
    timeout : float
        Seconds for which a round waits, and for which the first one waits for all nodes.
    state : path, optional
        File from which a server that was ended goes on when it is started anew: see `ServerMean`.

    Returns
    -------
    flwr.serverapp.ServerApp
        It raises a SiteError if a site of a study with masks tells no key, or two tell one name.

    Raises
    ------
    MissingExtraError
        If Flower is not installed.
    """
    flwr = _flower()
    app = flwr.serverapp.ServerApp()

    @app.main()  # type: ignore[untyped-decorator]
    def main(grid: Any, context: Any) -> None:
        def asked(step: bytes, action: str) -> list[tuple[str, bytes]]:
            """Name and bytes of each site that did not refuse."""
            content = flwr.app.RecordDict({_RECORD: flwr.app.ConfigRecord({_BYTES: step})})
            messages = [
                flwr.app.Message(content=content, message_type=action, dst_node_id=node)
                for node in grid.get_node_ids()
            ]
            replies = grid.send_and_receive(messages, timeout=timeout)
            own = [reply.content[_RECORD] for reply in replies if not reply.has_error()]
            for record in own:
                if _REFUSED in record:
                    _LOG.warning("%s refused: %s", record.get(_SITE, "a site"), record[_REFUSED])
            return [(record[_SITE], record[_BYTES]) for record in own if _BYTES in record]

        until = time.monotonic() + timeout
        while len(list(grid.get_node_ids())) < len(agreement.roster) and time.monotonic() < until:
            time.sleep(0.1)
        keys = None
        if agreement.masks and not ServerMean.is_begun(agreement, state):
            keys = _keys_by_name(agreement, asked(b"", "query.key"))
        server = ServerMean(agreement, keys=keys, state=state)
        while server.release is None:
            server.feed([answer for _, answer in asked(server.plan(), "query")])
            for text in server.left_out:
                _LOG.warning("left out: %s", text)
        asked(b"", "query.finish")
        done(server.release)

    return app


def _keys_by_name(agreement: Agreement, told: list[tuple[str, bytes]]) -> dict[str, bytes]:
    """One key of each site, or an error before anything is asked."""
    keys = dict(told)
    if missing := sorted(set(agreement.roster) - set(keys)):
        raise SiteError(
            f"no key came from {', '.join(missing)}, and masks need all: start these nodes, then "
            "the study again; nothing was asked or paid"
        )
    if len(keys) != len(told) or len(keys) != len(agreement.roster):
        raise SiteError(
            "two nodes say one name, or one that is not on the roster: give each node its site's; "
            "nothing was asked or paid"
        )
    return keys

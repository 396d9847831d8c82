"""How a step of the ready-made flow freezes a document, and tells what came of it."""

import logging
import os
from pathlib import Path

from flower.core.documents import Brief, Goal
from flower.core.documents.page import read_page
from flower.core.durable import locked, private_folder, set_aside
from flower.core.events import Event
from flower.core.words import Words
from flower.workflow.base import Ctx

logger = logging.getLogger(__name__)


def freeze(document: Brief | Goal, path: Path, ctx: Ctx) -> bool:
    """Write the document to its file; whether it could. What is there and is no page of ours is set aside.

    What the person added to a brief meanwhile stands in the file already: it is theirs, and stays. What goes wrong is
    one line for the person, and the run goes on with what is in memory.
    """
    try:
        private_folder(path.parent)
        with locked(path):
            if isinstance(document, Brief):
                document.additions = getattr(Brief.load(path), "additions", [])
            if _is_foreign(path, type(document)):
                aside = set_aside(path)
                tell_words(
                    ctx,
                    Words(
                        f"{path} 读不懂,挪到了 {aside.name}。",
                        f"{path} made no sense: moved to {aside.name}.",
                    ),
                )
            document.write(path)
    except OSError as error:
        tell_words(
            ctx, Words(f"{path} 写不进:{error.strerror}。", f"could not write {path}: {error.strerror}.")
        )
        return False
    return True


def tell(ctx: Ctx, event: Event) -> None:
    """Give an event to the subscriber, if there is one; what it raises changes nothing."""
    subscriber = ctx.get("_on_event")
    if subscriber is None:
        return
    try:
        subscriber(event)
    except Exception:
        # A subscriber is a guest here as everywhere.
        logger.exception("a subscriber failed on an event of kind %s", event.kind)


def tell_words(ctx: Ctx, words: Words) -> None:
    """One quiet line for the person."""
    tell(ctx, Event("notice", words.spoken(language_in(ctx)), payload=words._asdict()))


def language_in(ctx: Ctx) -> str:
    """The language in which this run speaks to its person."""
    return getattr(ctx.get("_runtime"), "language", "zh")


def _is_foreign(path: Path, kind: type[Brief] | type[Goal]) -> bool:
    text = read_page(path)
    if text is None:
        return os.path.lexists(path)  # a folder, a file that can't be read, a link that leads nowhere
    if not text.strip():
        return False
    found = kind.parse(text)
    known = found.prompt_block() if isinstance(found, Brief) else found.statement or found.checks
    return not known

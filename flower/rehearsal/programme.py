"""Which scene has the stage, told from the conversation alone.

Nothing is remembered between two requests: an endpoint that was started a moment ago, after its process was
killed, goes on where the last one was cut off. In this order:

1. a scene that `cuts_in`, when its prompt has just come;
2. the one that is being played, until its last turn or an interrupt;
3. the first, in the order of the script, whose `prompt` fits the latest words of a person;
4. one that was broken off, the latest first;
5. the first that asks for no prompt.

A scene that has been played is left out, unless it is to be played `again` and a person has spoken since.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from flower.rehearsal.call_ids import Mark
from flower.rehearsal.conversation import Called, Happening, Human, Interrupted, Report, Result, Said
from flower.rehearsal.progress import Progress
from flower.rehearsal.script import Scene


def follow(scenes: Sequence[Scene], happenings: Iterable[Happening]) -> list[Progress]:
    """How far each of `scenes` has come after `happenings`, in the order of the script."""
    all_progress = [Progress(scene) for scene in scenes]
    prompt = ""
    for at, happening in enumerate(happenings):
        if isinstance(happening, Said):
            _said(all_progress, prompt, happening.text, at)
        elif isinstance(happening, Human):
            prompt = happening.text
        for progress in all_progress:
            _take(progress, happening, at)
    return all_progress


def on_stage(all_progress: Sequence[Progress], prompt: str) -> Progress | None:
    """The one that is to be played next; None when nothing is left to play."""
    return next(_ranked(all_progress, prompt), None)


def _ranked(all_progress: Sequence[Progress], prompt: str) -> Iterator[Progress]:
    def asked_for(progress: Progress) -> bool:
        wanted = progress.scene.prompt
        return bool(wanted) and progress.playable and re.search(wanted, prompt) is not None

    latest_first = sorted(all_progress, key=lambda progress: progress.last_seen, reverse=True)
    yield from (each for each in all_progress if each.scene.cuts_in and asked_for(each))
    yield from (each for each in latest_first if each.playing)
    yield from (each for each in all_progress if asked_for(each))
    yield from (each for each in latest_first if each.interrupted)
    yield from (each for each in all_progress if not each.scene.prompt and each.playable)


def _said(all_progress: Sequence[Progress], prompt: str, words: str, at: int) -> None:
    # Two scenes may have the same words: they were those of the scene that had the stage at that moment.
    if not any(progress.knows(words) for progress in all_progress):
        return
    speaker = on_stage(all_progress, prompt)
    if speaker is not None and not speaker.waiting and speaker.knows(words):
        speaker.said(at)


def _take(progress: Progress, happening: Happening, at: int) -> None:
    match happening:
        case Called():
            progress.called(happening, at)
        case Result():
            progress.brought(happening, at)
        case Report():
            progress.reported(happening, at)
        case Mark():
            progress.marked(happening, at)
        case Interrupted():
            progress.break_off()
        case Human():
            progress.heard(happening.text)
        case Said():
            return  # told above, to its speaker alone

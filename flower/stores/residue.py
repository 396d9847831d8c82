"""What bad moments leave in a transcript, and how each is told from what somebody really said.

Each sign was seen in what the CLI writes, and is made by the CLI alone: a person or a tool that quotes an error
does not make one.
"""

import re
from collections.abc import Mapping
from typing import Any

from .entries import Block, Entry, calls_in, plain_text, results_in

_SYNTHETIC = "<synthetic>"
# A hook's refusal, by the CLI of today. Older ones said so in a field of the entry alone.
_HOOK_REFUSAL = re.compile(r"PreToolUse:\S+ hook error: ")
_INTERRUPT_MARK = re.compile(r"\[Request interrupted by user[^\]]*\]")
_REJECTED = "The user doesn't want to proceed with this tool use."
# What a command says that was ended by SIGKILL or SIGTERM, before what it had printed.
_KILLED = re.compile(r"Exit code (?:137|143)(?=\n|$)")
# A person who refused a call could say why, and those are their words.
_PERSONS_WORDS = "the user said:\n"


def is_api_error(entry: Entry) -> bool:
    """Whether the CLI wrote this in the model's name because the API could not be reached or refused.

    The CLI's other words in the model's name, ``No response requested.`` between an interrupted turn and the
    next prompt, carry the flag as well, set to false: they keep the roles alternating and stay.
    """
    if entry.get("type") != "assistant" or calls_in(entry):
        return False
    flag = entry.get("isApiErrorMessage")
    if isinstance(flag, bool):
        return flag
    message = entry.get("message")
    return isinstance(message, dict) and message.get("model") == _SYNTHETIC


def is_api_error_link(entry: Entry) -> bool:
    """Whether this is a note of the CLI that it tries again: a link of the chain, without words."""
    return entry.get("type") == "system" and entry.get("subtype") == "api_error"


def is_by_the_model(entry: Entry) -> bool:
    """Whether the model said this, and not the CLI in its name."""
    message = entry.get("message")
    return (
        entry.get("type") == "assistant"
        and isinstance(message, dict)
        and message.get("model") != _SYNTHETIC
        and not is_api_error(entry)
    )


def is_denial(entry: Entry) -> bool:
    """Whether the entry tells the model of a call that a rule or a hook kept from being made."""
    return bool(denied_in(entry))


def denied_in(entry: Entry) -> list[str]:
    """The ids of the calls in this entry that a rule or a hook kept from being made."""
    results = results_in(entry)
    if entry.get("toolDenialKind") == "permission-rule":
        # The field is the entry's; where it holds several results, the refused ones are the errors.
        refused = [result for result in results if result.get("is_error") is True] or results
    else:
        refused = [result for result in results if _is_hook_refusal(result)]
    return [result["tool_use_id"] for result in refused]


def is_interrupt_mark(entry: Entry) -> bool:
    """Whether this is the line that the CLI adds in the person's name after an interrupt."""
    # What a person typed says where it was typed.
    if entry.get("type") != "user" or "promptSource" in entry:
        return False
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return _is_mark(plain_text(content))


def is_interrupted(result: Block, entry: Mapping[str, Any]) -> bool:
    """Whether a ``tool_result`` of this entry says nothing but that the person interrupted the call."""
    text = plain_text(result.get("content"))
    if text is None:
        return False
    if _is_mark(text):
        return True
    # A file that quotes the sentence comes with an account of itself, or says that it is no error.
    quoted = result.get("is_error") is False or isinstance(entry.get("toolUseResult"), dict | list)
    return text.startswith(_REJECTED) and _PERSONS_WORDS not in text and not quoted


def killed_with(result: Block) -> str | None:
    """What a command had printed when it was killed, from its line end on; None if it wasn't killed."""
    text = plain_text(result.get("content"))
    if text is None or result.get("is_error") is not True or not _KILLED.match(text):
        return None
    return _KILLED.sub("", text, count=1)


def is_left_over(entry: Entry) -> bool:
    """Whether one of the rules for residue applies to this entry; other rules then leave it alone."""
    return is_denial(entry) or any(is_interrupted(result, entry) for result in results_in(entry))


def context_of(entry: Entry) -> int:
    """How many tokens the model saw when the main thread said this; 0 if the entry doesn't tell."""
    if entry.get("type") != "assistant" or entry.get("isSidechain") is True or is_api_error(entry):
        return 0
    message = entry.get("message")
    usage = message.get("usage") if isinstance(message, dict) else None
    if not isinstance(usage, dict):
        return 0
    terms = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(usage[term] for term in terms if isinstance(usage.get(term), int))


def _is_mark(text: str | None) -> bool:
    return text is not None and len(text) < 100 and _INTERRUPT_MARK.fullmatch(text.strip()) is not None


def _is_hook_refusal(result: Block) -> bool:
    if result.get("is_error") is not True:
        return False
    text = plain_text(result.get("content"))
    return text is not None and _HOOK_REFUSAL.match(text) is not None

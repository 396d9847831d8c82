"""The two tools by which an agent reaches its person, as a server inside this process."""

from typing import TYPE_CHECKING, Any

from flower.core.words import Words

if TYPE_CHECKING:
    from flower.core.human import HumanChannel

ASK_TOOL = "mcp__human__ask"
INBOX_TOOL = "mcp__human__inbox"

_ASK_ABOUT = Words(
    "问人一个问题,等他回答。会一直等到有回答、他跳过、或者无人应答为止。\n"
    "一次只问一件事;能列出几种选择就列出来,他可以直接选,也可以自己写。",
    "Ask the person a question and wait for the answer: until it comes, they skip it, or nobody is there.\n"
    "One thing at a time; offer choices if you can name them: they may pick one, or write their own.",
)
_INBOX_ABOUT = Words(
    "看看人有没有主动说什么。不等待:有就全部取出来,没有就说没有。",
    "See whether the person has said something unasked. It doesn't wait: all there is comes out, or word that"
    " there is nothing.",
)
_QUESTION_ABOUT = Words(
    "要问的那一件事,说清楚为什么要知道", "the one thing to ask, and why you need to know it"
)
_OPTIONS_ABOUT = Words(
    "可选的几种回答,每种一句话;没有现成的选择就不给",
    "the answers to choose from, a sentence each; leave it out if there is nothing to choose",
)
_INBOX_INPUT = {"type": "object", "properties": {}}


def human_server(channel: "HumanChannel", *, inbox: bool = True) -> Any:
    """The server named ``human``, whose tools speak to this channel."""
    from claude_agent_sdk import create_sdk_mcp_server

    # A session is offered every tool of its servers, whatever its list of tools says.
    ask, mail = human_tools(channel)
    return create_sdk_mcp_server("human", tools=[ask, mail] if inbox else [ask])


def human_tools(channel: "HumanChannel") -> list[Any]:
    """The tools ``ask`` and ``inbox`` themselves."""
    from claude_agent_sdk import tool

    language = channel.language

    @tool("ask", _ASK_ABOUT.spoken(language), _ask_input(language))
    async def ask(arguments: dict[str, Any]) -> dict[str, Any]:
        asked = await channel.ask(arguments["question"], arguments.get("options"))
        return _text(channel.spoken(asked))

    @tool("inbox", _INBOX_ABOUT.spoken(language), _INBOX_INPUT)
    async def inbox(arguments: dict[str, Any]) -> dict[str, Any]:
        return _text(channel.read_mail())

    return [ask, inbox]


def _ask_input(language: str) -> dict[str, Any]:
    # Given whole: the SDK's short form makes every parameter required.
    options = {"type": "array", "items": {"type": "string"}, "description": _OPTIONS_ABOUT.spoken(language)}
    return {
        "type": "object",
        "properties": {
            "question": {"type": "string", "description": _QUESTION_ABOUT.spoken(language)},
            "options": options,
        },
        "required": ["question"],
    }


def _text(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}

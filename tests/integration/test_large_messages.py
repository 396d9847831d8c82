"""What is said or written by the megabyte: it comes through the reader, and the store has it whole."""

import json
from pathlib import Path

from flower import Event, Runtime
from flower.rehearsal import Call, Rehearsal, Turn
from tests.support.leftovers import blocks
from tests.support.runs import bash, environment, handy, play, stored

LARGE = 3_000_000
FILE = Call(tool="Write", input={"file_path": "{cwd}/large.txt", "content": f"{{fill:{LARGE}}}"})


async def test_three_megabytes_said_written_and_printed_are_kept_whole_and_the_step_ends_well(
    tmp_path: Path,
) -> None:
    script = play(
        Turn(text=f"{{fill:{LARGE}}}", calls=[FILE]),
        Turn(text="printing it", calls=[bash("cat large.txt; tr -d '\\n' < large.txt")]),
        Turn(text="all done"),
    )
    events: list[Event] = []
    with Rehearsal(script) as model:
        # So much is more than a context holds: with handoffs, the session would give way to another.
        runtime = Runtime(
            workspace=tmp_path / "w", run_dir=tmp_path / "r", environment=environment(model), handoff=False
        )
        result = await runtime.run(handy(), "go", on_event=events.append)
        again = await runtime.run(handy(), "and again", resume=result.session_id)
        runtime.close()

        assert result.ok and result.attempts == 1 and result.text.endswith("all done"), result.errors
        assert again.ok and again.session_id == result.session_id
        assert (tmp_path / "w" / "large.txt").stat().st_size == LARGE
    assert next(len(event.text) for event in events if event.kind == "text") == LARGE
    entries = stored(tmp_path / "r", str(result.session_id))
    assert next(len(block["text"]) for block in blocks(entries, "text")) == LARGE
    assert len(blocks(entries, "tool_use")[0]["input"]["content"]) == LARGE
    results = {block["tool_use_id"]: block for block in blocks(entries, "tool_result")}
    assert len(results) == 2 and not any(block.get("is_error") for block in results.values())
    # The account that the CLI gives of a written file holds the file: one line of its output.
    assert max(len(json.dumps(entry)) for entry in entries) > LARGE

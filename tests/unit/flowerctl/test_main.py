"""Ctrl-C before there is anything to interrupt: flower is only being loaded."""

import builtins
import subprocess
import sys
from typing import Any

import pytest

from flowerctl.attach.main import main


def test_importing_the_entry_loads_nothing_that_takes_time() -> None:
    code = "import sys; before = set(sys.modules); import flowerctl.attach.main; print(*set(sys.modules) - before)"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    ours = {name for name in loaded.split() if name.partition(".")[0] in ("flowerctl", "flower_protocol")}
    assert ours == {"flowerctl", "flowerctl.attach", "flowerctl.attach.main"}
    assert not {"asyncio", "aiohttp", "msgspec", "argparse", "prompt_toolkit"} & set(loaded.split())


@pytest.mark.parametrize("arguments", [["写个脚本"], ["once", "写个脚本"]])
def test_ctrl_c_while_it_is_loading_is_a_quiet_130(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    real = builtins.__import__

    def pressed(name: str, *rest: Any, **more: Any) -> Any:
        if name in ("flowerctl.attach.command", "flowerctl.once.command"):
            raise KeyboardInterrupt
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", pressed)

    code = main(arguments)

    assert code == 130
    assert capfd.readouterr() == ("", "")

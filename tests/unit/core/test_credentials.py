"""Credentials are found in their order, shown masked, and handed to a child without anybody else's marks."""

import json
import os
import pwd
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from flower.core.credentials import (
    KNOWN,
    Credentials,
    check,
    child_env,
    describe,
    home_of,
    mask,
    normalised,
    resolve,
    user_file,
)

KEY = "ANTHROPIC_API_KEY"
SECRET = "sk-made-up-00000001"  # nineteen characters


class Places:
    """A home and a project with every file that may hold a key, each written on demand."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = root / "project"
        self.chosen = root / "chosen.env"
        self.project_file = self.project / ".env"
        self.user_file = self.home / ".config" / "flower" / ".env"
        self.settings = self.home / ".claude" / "settings.json"
        self.local_settings = self.home / ".claude" / "settings.local.json"
        self.login = self.home / ".claude" / ".credentials.json"
        for folder in (self.home, self.project, self.user_file.parent, self.settings.parent):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def env(self) -> dict[str, str]:
        return {"HOME": str(self.home), "FLOWER_ENV": str(self.chosen)}

    def resolve(self, platform: str = "linux", **variables: str) -> Credentials:
        return resolve({**self.env, **variables}, cwd=self.project, platform=platform)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "places")


def dotenv(path: Path, **settings: str) -> None:
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")


def settings_file(path: Path, **settings: str) -> None:
    path.write_text(json.dumps({"env": settings}), encoding="utf-8")


WRITERS: list[tuple[str, Callable[..., None]]] = [
    ("chosen", dotenv),
    ("project_file", dotenv),
    ("user_file", dotenv),
    ("settings", settings_file),
    ("local_settings", settings_file),
]


@pytest.mark.parametrize("first", range(len(WRITERS)))
def test_the_first_place_with_a_value_wins(places: Places, first: int) -> None:
    for name, write in WRITERS[first:]:
        write(getattr(places, name), **{KEY: f"from-{name}"})

    found = places.resolve()

    winner = WRITERS[first][0]
    assert found.values == {KEY: f"from-{winner}"}
    assert found.sources == {KEY: str(getattr(places, winner))}


def test_the_given_environment_wins_over_every_file(places: Places) -> None:
    for name, write in WRITERS:
        write(getattr(places, name), **{KEY: f"from-{name}"})

    found = places.resolve(**{KEY: "from-environment"})

    assert (found.values[KEY], found.sources[KEY]) == ("from-environment", "environment")


def test_each_key_is_looked_up_by_itself(places: Places) -> None:
    dotenv(places.project_file, ANTHROPIC_MODEL="project-model")
    dotenv(places.user_file, ANTHROPIC_MODEL="user-model", ANTHROPIC_AUTH_TOKEN="user-token")
    settings_file(places.settings, CLAUDE_CODE_EFFORT_LEVEL="high", ANTHROPIC_AUTH_TOKEN="borrowed")

    assert places.resolve().values == {
        "ANTHROPIC_MODEL": "project-model",
        "ANTHROPIC_AUTH_TOKEN": "user-token",
        "CLAUDE_CODE_EFFORT_LEVEL": "high",
    }


@pytest.mark.parametrize("emptiness", ["", "   "])
@pytest.mark.parametrize("first", range(len(WRITERS)))
def test_a_key_set_to_nothing_is_not_set_anywhere(places: Places, first: int, emptiness: str) -> None:
    for name, write in WRITERS[:first]:
        write(getattr(places, name), **{KEY: emptiness})
    name, write = WRITERS[first]
    write(getattr(places, name), **{KEY: "at last"})

    assert places.resolve(**{KEY: emptiness}).values[KEY] == "at last"


def test_all_nine_keys_are_borrowed_from_claude_codes_settings_and_nothing_else(places: Places) -> None:
    settings_file(
        places.settings, **dict.fromkeys(KNOWN, "x"), AWS_PROFILE="theirs", CLAUDE_CODE_OAUTH_TOKEN="theirs"
    )

    assert set(places.resolve().values) == set(KNOWN)
    assert len(KNOWN) == 9


def test_claude_codes_settings_are_looked_for_where_claude_code_keeps_them(
    places: Places, tmp_path: Path
) -> None:
    settings_file(places.settings, **{KEY: "of the other folder"})
    elsewhere = tmp_path / "claude"
    elsewhere.mkdir()
    settings_file(elsewhere / "settings.json", **{KEY: "of this folder"})

    assert places.resolve(CLAUDE_CONFIG_DIR=str(elsewhere)).values[KEY] == "of this folder"


def test_the_users_own_file_may_set_anything_a_projects_file_only_what_flower_knows(places: Places) -> None:
    dotenv(places.project_file, FLOWER_WINDOW="200000", NODE_OPTIONS="--require ./evil.js", DATABASE_URL="x")
    dotenv(places.user_file, AWS_PROFILE="mine", HTTPS_PROXY="http://127.0.0.1:1")

    assert places.resolve().values == {
        "FLOWER_WINDOW": "200000",
        "AWS_PROFILE": "mine",
        "HTTPS_PROXY": "http://127.0.0.1:1",
    }


def test_a_file_does_not_displace_what_the_environment_has(places: Places) -> None:
    dotenv(places.user_file, PATH="/of/the/file")

    assert "PATH" not in places.resolve(PATH="/bin").values


@pytest.mark.parametrize(
    "content",
    [b"{ no json", b"[]", b'"text"', b'{"env": []}', b'{"env": {"ANTHROPIC_API_KEY": 1}}', b"\xff\xfe"],
)
def test_settings_that_make_no_sense_are_passed_over(places: Places, content: bytes) -> None:
    places.settings.write_bytes(content)
    settings_file(places.local_settings, **{KEY: "sound"})

    assert places.resolve().values == {KEY: "sound"}


def test_a_folder_where_a_file_should_be_is_passed_over(places: Places) -> None:
    places.project_file.mkdir()
    dotenv(places.user_file, **{KEY: "sound"})

    assert places.resolve().values == {KEY: "sound"}


def test_the_chosen_file_may_be_named_from_here_or_from_home(places: Places) -> None:
    dotenv(places.project / "mine.env", **{KEY: "from here"})
    dotenv(places.home / "mine.env", **{KEY: "from home"})

    assert places.resolve(FLOWER_ENV="mine.env").values[KEY] == "from here"
    assert places.resolve(FLOWER_ENV="~/mine.env").values[KEY] == "from home"


@pytest.mark.parametrize(
    ("given", "base_url"),
    [
        ("https://gateway.example", "https://gateway.example"),
        ("https://gateway.example/", "https://gateway.example"),
        ("https://gateway.example/v1", "https://gateway.example"),
        ("https://gateway.example/v1/", "https://gateway.example"),
        ("https://gateway.example/api/v1//", "https://gateway.example/api"),
        ("https://gateway.example/v10", "https://gateway.example/v10"),
    ],
)
def test_the_base_url_may_end_as_people_write_it(places: Places, given: str, base_url: str) -> None:
    assert normalised(given) == base_url
    found = places.resolve(ANTHROPIC_BASE_URL=given)
    assert child_env(places.env | {"ANTHROPIC_BASE_URL": given}, found)["ANTHROPIC_BASE_URL"] == base_url


def test_nothing_is_written(places: Places) -> None:
    dotenv(places.project_file, **{KEY: SECRET})
    before = {path: path.stat().st_mtime_ns for path in places.home.parent.rglob("*")}

    found = places.resolve()
    child_env(places.env, found)
    check(found)

    assert {path: path.stat().st_mtime_ns for path in places.home.parent.rglob("*")} == before


@pytest.mark.parametrize(
    "variables",
    [
        {"ANTHROPIC_API_KEY": SECRET},
        {"ANTHROPIC_AUTH_TOKEN": SECRET},
        {"CLAUDE_CODE_OAUTH_TOKEN": SECRET},
        {"CLAUDE_CODE_USE_BEDROCK": "1"},
        {"CLAUDE_CODE_USE_VERTEX": "true"},
    ],
)
def test_each_way_in_is_enough(places: Places, variables: dict[str, str]) -> None:
    found = places.resolve(**variables)

    assert found.present
    assert check(found, "zh") is None


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"ANTHROPIC_API_KEY": ""},
        {"CLAUDE_CODE_USE_BEDROCK": "0"},
        {"ANTHROPIC_BASE_URL": "https://gateway.example", "ANTHROPIC_MODEL": "some-model"},
    ],
)
def test_what_lets_nobody_in_is_not_enough(places: Places, variables: dict[str, str]) -> None:
    assert not places.resolve(**variables).present


def test_the_users_login_serves_when_there_is_no_key(places: Places) -> None:
    places.login.write_text(json.dumps({"claudeAiOauth": {"accessToken": "made-up"}}))

    found = places.resolve()

    assert found.login == places.login
    assert check(found, "zh") is None


@pytest.mark.parametrize(
    "content", ["{}", '{"mcpOAuth": {"server": {}}}', '{"claudeAiOauth": null}', "not json"]
)
def test_a_credentials_file_without_a_login_in_it_is_none(places: Places, content: str) -> None:
    places.login.write_text(content)

    assert places.resolve().login is None


def test_a_login_is_looked_for_where_the_child_would_look(places: Places, tmp_path: Path) -> None:
    places.login.write_text(json.dumps({"claudeAiOauth": {"accessToken": "made-up"}}))

    assert places.resolve(CLAUDE_CONFIG_DIR=str(tmp_path / "elsewhere")).login is None


def test_on_a_mac_the_login_is_in_the_keychain_and_the_profile_tells_of_it(places: Places) -> None:
    profile = places.home / ".claude.json"
    profile.write_text(json.dumps({"oauthAccount": {"emailAddress": "someone@example.org"}}))

    assert places.resolve(platform="darwin").login == profile
    assert places.resolve(platform="linux").login is None


def test_what_is_missing_is_said_in_four_lines(places: Places) -> None:
    text = check(places.resolve(), "zh")

    assert text is not None
    lines = text.splitlines()
    assert len(lines) == 4
    assert lines[0] == "缺少凭证:需要 ANTHROPIC_API_KEY 或 ANTHROPIC_AUTH_TOKEN。"
    assert "export ANTHROPIC_API_KEY" in text


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_last_of_the_lines_names_the_way_that_needs_no_key(places: Places, language: str) -> None:
    assert (check(places.resolve(), language) or "").endswith("flower --rehearse")


def test_the_four_lines_are_english_for_who_asked_for_it(places: Places) -> None:
    text = check(places.resolve(), "en")

    assert text is not None
    assert len(text.splitlines()) == 4
    assert not re.search("[\u4e00-\u9fff]", text)
    assert text.startswith("No credentials: ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN is needed.")


def test_the_text_names_every_file_that_was_really_looked_at(places: Places) -> None:
    places.chosen.write_bytes(b"\xff\xfe")
    dotenv(places.user_file, ANTHROPIC_MODEL="some-model")

    found = places.resolve()
    looked = (check(found, "zh") or "").splitlines()[1]

    assert looked.startswith("找过:环境变量、")
    assert f"{places.chosen}(读不了)" in looked
    assert f"{places.project_file}(没有)" in looked
    assert "~/.config/flower/.env、" in looked
    assert "~/.claude/settings.json 的 env(只借那 9 个键)(没有)" in looked
    assert "~/.claude/settings.local.json" in looked
    assert [place.path for place in found.places] == [
        places.chosen,
        places.project_file,
        places.user_file,
        places.settings,
        places.local_settings,
    ]


def test_a_file_that_nobody_chose_is_not_spoken_of(places: Places) -> None:
    found = resolve({"HOME": str(places.home)}, cwd=places.project)

    assert found.places[0].path == places.project_file


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        (SECRET, "sk-m***(共 19 位)"),
        ("sk-12345678901234567", "sk-1***(共 20 位)"),
        ("short", "***(共 5 位)"),
    ],
)
def test_a_secret_is_shown_by_four_characters_at_most(value: str, masked: str) -> None:
    assert mask(value) == masked


def test_what_was_found_is_described_without_a_secret(places: Places) -> None:
    dotenv(places.user_file, ANTHROPIC_AUTH_TOKEN=SECRET, AWS_SECRET_ACCESS_KEY="made-up-and-secret-too")
    places.login.write_text(json.dumps({"claudeAiOauth": {"accessToken": "made-up"}}))

    lines = describe(
        places.resolve(ANTHROPIC_BASE_URL="https://me:password@gateway.example", ANTHROPIC_MODEL="m")
    )

    assert lines == [
        "ANTHROPIC_AUTH_TOKEN=sk-m***(共 19 位)  <- ~/.config/flower/.env",
        "ANTHROPIC_BASE_URL=https://***@gateway.example  <- 环境变量",
        "ANTHROPIC_MODEL=m  <- 环境变量",
        "AWS_SECRET_ACCESS_KEY=made***(共 22 位)  <- ~/.config/flower/.env",
        "Claude Code 的登录  <- ~/.claude/.credentials.json",
    ]


def test_no_text_about_credentials_holds_a_value(places: Places) -> None:
    dotenv(places.user_file, ANTHROPIC_AUTH_TOKEN=SECRET)

    found = places.resolve(CLAUDE_CODE_OAUTH_TOKEN="another-made-up-secret")

    for text in (repr(found), str(found), f"{found}", f"{[found]}", *describe(found, "en")):
        assert SECRET not in text
        assert "another-made-up-secret" not in text
    assert "ANTHROPIC_AUTH_TOKEN" in repr(found)


def test_a_child_gets_what_was_found_and_no_mark_of_an_outer_session(places: Places) -> None:
    dotenv(places.user_file, ANTHROPIC_AUTH_TOKEN=SECRET, AWS_PROFILE="mine", CLAUDECODE="1")
    marks = {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "CLAUDE_CODE_SSE_PORT": "1",
        "CLAUDE_CODE_HOST_AUTH_ENV_VAR": "X",
        "CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST": "1",
        "CLAUDE_CODE_SESSION_ID": "x",
    }
    kept = {**places.env, "PATH": "/bin", "HTTPS_PROXY": "http://127.0.0.1:1", "EMPTY": "", KEY: "mine"}

    child = child_env(kept | marks, places.resolve(**kept, **marks))

    assert child == kept | {"ANTHROPIC_AUTH_TOKEN": SECRET, "AWS_PROFILE": "mine"}


def test_a_child_never_sees_a_key_that_is_set_to_nothing(places: Places) -> None:
    env = places.env | {KEY: "", "ANTHROPIC_BASE_URL": " ", "CLAUDE_CODE_OAUTH_TOKEN": SECRET}

    child = child_env(env, resolve(env, cwd=places.project))

    assert child == places.env | {"CLAUDE_CODE_OAUTH_TOKEN": SECRET}


def test_a_home_that_nobody_gave_is_the_one_the_system_knows() -> None:
    known = Path(pwd.getpwuid(os.getuid()).pw_dir)

    assert home_of({"HOME": "/given"}) == Path("/given")
    assert home_of({}) == home_of({"HOME": ""}) == known


def test_a_relative_configuration_folder_is_ignored() -> None:
    assert user_file({"HOME": "/h", "XDG_CONFIG_HOME": "/c"}) == Path("/c/flower/.env")
    assert user_file({"HOME": "/h", "XDG_CONFIG_HOME": "c"}) == Path("/h/.config/flower/.env")
    assert user_file({"HOME": "/h"}) == Path("/h/.config/flower/.env")

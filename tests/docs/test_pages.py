"""What a page shows is sound by itself: its snippets, manifests, links and commands."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import shlex
import sys
import tomllib

import pytest
import yaml
from doc_blocks import DOCS, FENCE, FRAMEWORKS, PAGES, README, ROOT, blocks, blocks_of, write

from hatch_cuda_kernels import cli
from hatch_cuda_kernels.manifest import parse_manifest


@pytest.mark.parametrize(("page", "most"), [(README, 9000), (ROOT / "CHANGELOG.md", 6000)], ids=["README", "CHANGELOG"])
def test_what_a_visitor_reads_first_is_short(page, most):
    """Details are on pages of their own; the changelog of a version says what one can do with it."""
    assert len(page.read_bytes()) <= most


def test_every_fence_is_read():
    """No fence is missed because it is written another way."""
    for page in PAGES:
        assert page.read_text().count("```") == 2 * len(blocks_of(page)), page


@pytest.mark.parametrize("block", blocks("toml"), ids=str)
def test_toml_is_valid(block):
    """Every TOML snippet parses."""
    assert tomllib.loads(block.text)


@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_yaml_is_a_manifest(block, tmp_path, monkeypatch):
    """Every YAML snippet is a valid manifest, or a part of one, once the files it names exist."""
    text = block.text if "schema:" in block.text else f"schema: 1\n{block.text}"
    text += "" if "modules:" in text else "modules: {m: {source: m.cu}}\n"
    data = yaml.safe_load(text)
    for table in (data, *data["modules"].values()):
        for item in table.get("options", {}).get("include", ()):
            name = f"site/{item['package'].replace('.', '/')}/{item['folder']}" if isinstance(item, dict) else item
            (tmp_path / name).mkdir(parents=True, exist_ok=True)
        libraries = (name for name in table.get("libraries", ()) if name != "cudadevrt")
        sources = (*table.get("sources", ()), *filter(None, [table.get("source")]))
        for name in (*table.get("headers", ()), *libraries, *sources):
            write(tmp_path / name.replace("**", "x").replace("*", "x"), "")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert parse_manifest(text, root=tmp_path).modules


@pytest.mark.parametrize("block", blocks("python"), ids=str)
def test_python_compiles_and_its_imports_exist(block):
    """Every Python snippet is Python, and what it imports is there."""
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                assert_importable(alias.name)
        elif isinstance(node, ast.ImportFrom):
            assert_importable(node.module, [alias.name for alias in node.names])


def assert_importable(module, names=()):
    """Check that a module, and names in it, exist; frameworks need not be installed."""
    if module.startswith((*FRAMEWORKS, "hatch_cuda_kernels.typing")):  # the last is for type checkers, see test_stubs
        return
    imported = importlib.import_module(module)
    for name in names:
        assert hasattr(imported, name) or importlib.import_module(f"{module}.{name}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page):
    """Every relative link names a file that exists, and a heading in it."""
    prose = re.sub(r"`[^`]*`", "", FENCE.sub("", page.read_text()))
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        path, _, anchor = target.partition("#")
        if not target.startswith("https://"):
            file = (page.parent / path).resolve() if path else page
            assert file.exists(), target
            assert not anchor or anchor in anchors(file), target


def anchors(page):
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page):
    """Return the files that a page links to."""
    return {(page.parent / link).resolve() for link in re.findall(r"\]\(([^)#\s]+)", page.read_text())}


def test_every_page_is_in_the_index():
    """A reader who starts at the README gets to the index, and from there to every page."""
    index = DOCS / "index.md"
    assert index in links(README)
    assert {page for page in DOCS.rglob("*.md") if page != index} <= links(index)


@pytest.mark.parametrize("block", [*blocks("shell"), *blocks("bash")], ids=str)
def test_commands_are_spelled_right(block):
    """The command line takes every command that a page shows."""
    lines = re.sub(r"\\\n\s*", "", block.text).splitlines()
    for line in lines:
        words = shlex.split(line.partition("|")[0], comments=True) if line.startswith("hatch-cuda-kernels ") else []
        if words:
            assert cli.make_parser().parse_args([word for word in words[1:] if word not in {"&&", "||"}][: _end(words)])


def _end(words):
    """Return how many words of a command come before a redirection."""
    return next((at for at, word in enumerate(words[1:]) if word in {">", "2>", ";"}), len(words))


@pytest.fixture
def demo():
    """Return the demo's module; running it takes a network."""
    spec = importlib.util.spec_from_file_location("demo", ROOT / "example_project" / "demo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_demo_runs_commands_that_exist(demo):
    """Its commands are this program's, and its own lines fit 80 columns."""
    commands = [command for _, *commands in demo.STEPS for command in commands]
    ours = [command[len(demo.TOOL) :] for command in commands if command[: len(demo.TOOL)] == demo.TOOL]
    assert [cli.make_parser().parse_args(words).kernel for words in ours if words[0] == "explain"] == ["saxpy"] * 2
    assert {words[0] for words in ours} == {"verify", "explain"}
    assert max(map(len, demo.END.splitlines())) <= 80


def test_the_demo_ends_in_commands_that_exist(demo):
    """CI types them after the demo: they are what is indented."""
    last = demo.END.format(size=1, wheel="a.whl", here="hatch-cuda-kernels", there="hatch-cuda-kernels")
    typed = [line.rpartition("hatch-cuda-kernels ")[2].split() for line in last.splitlines() if line[0:1] == " "]
    assert [words[0] for words in typed] == ["inspect", "init"]
    assert all(cli.make_parser().parse_args(words) for words in typed)


def test_the_demo_names_what_started_it(demo, tmp_path, monkeypatch):
    """A checkout's program is on nobody's PATH: the commands begin as the demo's own did."""
    monkeypatch.chdir(tmp_path)
    for program in (".venv/bin/hatch", "bin/uvx", "other/hatch"):
        write(tmp_path / program, "")
        (tmp_path / program).chmod(0o755)
    write(tmp_path / "pipx/1/pipx_metadata.json", "{}")
    environment = {"HATCH_ENV_ACTIVE": "default", "PATH": str(tmp_path / "bin")}
    anywhere = f"{sys.executable} -m hatch_cuda_kernels"
    uv = {**environment, "UV": "/uv", "HATCH_UV": "/cache/bin/uv"}
    by_pipx = "pipx run hatch run hatch-cuda-kernels", f'pipx run --spec "{ROOT}[build]" hatch-cuda-kernels'
    assert demo.programs(uv) == ("uvx hatch run hatch-cuda-kernels", f'uvx --from "{ROOT}[build]" hatch-cuda-kernels')
    assert demo.programs({**uv, "_": "/bin/pipx"}) == by_pipx, "which may have uv do it"
    assert demo.programs({**environment, "HATCH_UV": str(tmp_path / "pipx/1/bin/uv")}) == by_pipx
    venv = {**environment, "HATCH_UV": str(tmp_path / ".venv/bin/uv")}
    own = (".venv/bin/hatch run hatch-cuda-kernels", anywhere)
    assert demo.programs(venv) == demo.programs({**venv, "PATH": str(tmp_path / "other")}) == own
    for there in (venv, environment):
        on_path = {**there, "PATH": str(tmp_path / ".venv/bin")}
        assert demo.programs(on_path) == ("hatch run hatch-cuda-kernels", anywhere)
    assert demo.programs({}) == (anywhere, anywhere)

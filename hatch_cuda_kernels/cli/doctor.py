"""Show what is installed here, and what would work.

For what would not work, it says how to fix it.

    hatch-cuda-kernels doctor
    hatch-cuda-kernels doctor --for build
    hatch-cuda-kernels doctor --package mylib
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.cli.messages import CommandResult, add_json
from hatch_cuda_kernels.cli.parser import Arguments, CommandParser, add_package
from hatch_cuda_kernels.errors import Problem
from hatch_cuda_kernels.terminal import text_table, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.doctor import Finding, Verdict

#: ``doctor.TASKS`` again, so that ``--help`` does not import that.
_ASKED = ("build", "load", "jit", "link", "record")


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    text = "a task that has to work; repeatable"
    parser.add_argument("--for", action="append", choices=_ASKED, default=[], dest="asked", help=text)
    add_package(parser, name="--package", help="show which image each of its modules gets on the devices here: ")
    add_json(parser)


def run(args: Arguments) -> CommandResult:
    """Print the report. The status is 1 if a task of ``--for`` does not work; without any, if something is broken."""
    from hatch_cuda_kernels.doctor import examine, judge, set_variables  # no other command needs it

    findings, variables = examine(), set_variables()
    verdicts = judge(findings)
    images = _images(args.package, findings) if args.package is not None else None
    data: dict[str, Any] = {name: finding.to_json() for name, finding in findings.items()}
    data["environment"] = variables
    data["verdicts"] = {name: verdict.to_json() for name, verdict in verdicts.items()}
    lines = [*_lines(findings, variables, verdicts)]
    if images is not None:
        found = {name: value for name, value in images.to_json().items() if name != "state"}
        data["package"] = {"images": [], **found}
        lines += _image_lines(args.package, images)
    served = images is None or (images.problem is None and all(image["origin"] for image in images.facts["images"]))
    return CommandResult(data, "\n".join(lines), served and _is_well(args.asked, findings, verdicts))


def _is_well(asked: list[str], findings: dict[str, Finding], verdicts: dict[str, Verdict]) -> bool:
    if asked:
        return all(verdicts[task].works for task in asked)
    broken = any(finding.state == "broken" for finding in findings.values())
    return not broken and (verdicts["build"].works or verdicts["load"].works)


def _images(package: str, findings: dict[str, Finding]) -> Finding:
    """Return which image each module of a package gets on each kind of device here, or why that is unknown."""
    from hatch_cuda_kernels.doctor import ask

    driver = findings["driver"].facts
    capabilities = list(dict.fromkeys(device["capability"] for device in driver.get("devices", ())))
    question = {"package": package, "capabilities": capabilities, "driver": driver.get("cuda", "0.0")}
    (found,) = ask(("images", json.dumps(question)))
    if found.problem is not None or capabilities:
        return found
    fix = f"hatch-cuda-kernels explain KERNEL --package {package} --arch sm_90"
    return found._replace(problem=Problem("there is no device here to choose images for", fix))


def _lines(findings: dict[str, Finding], variables: dict[str, str], verdicts: dict[str, Verdict]) -> Iterator[str]:
    rows = []
    for name, finding in findings.items():
        facts = ", ".join(filter(None, (_text(*fact) for fact in finding.facts.items())))
        rows.append((name, finding.state, facts if finding.problem is None else finding.problem.message))
    yield text_table(("here", "state", ""), rows)
    yield from (f"{name}={value}" for name, value in variables.items())
    yield ""
    lines = [(task, "yes" if verdict.works else "no", verdict.reason) for task, verdict in verdicts.items()]
    yield text_table(("for", "works", ""), lines)
    for fix in dict.fromkeys(verdict.fix for verdict in verdicts.values() if verdict.fix):
        tasks = ", ".join(task for task, verdict in verdicts.items() if verdict.fix == fix)
        yield wrap(f"  to fix {tasks}: {fix}", 4)


def _text(name: str, value: Any) -> str:  # whatever JSON holds
    if isinstance(value, dict):
        return ", ".join(f"{key} {version}" for key, version in value.items())
    if name == "devices":
        return ", ".join(f"{device['ordinal']}: {device['name']} ({device['capability']})" for device in value)
    if isinstance(value, list):
        return " ".join(str(item["path"] if isinstance(item, dict) else item) for item in value)
    if value == "":
        return ""
    if isinstance(value, bool):
        return name if value else f"not {name}"
    return f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}"


def _image_lines(package: str, images: Finding) -> Iterator[str]:
    yield f"\n{package}:"
    rows = [
        (image["module"], image["device"], image["origin"] or "none", image["arch"] or "", image["reason"])
        for image in images.facts.get("images", ())
    ]
    if rows:
        yield text_table(("module", "device", "origin", "arch", ""), rows)
    if images.problem is not None:
        yield f"  {images.problem.message}"
        if images.problem.fix:
            yield wrap(f"  to fix: {images.problem.fix}", 4)

"""The bill of materials of a wheel: what its images were made with and from, valid, and the same for the same store."""

from __future__ import annotations

import json
import re
import zipfile
from importlib.metadata import metadata

import pytest
from wheels import Wheel

from hatch_cuda_kernels.integrity import sha256
from hatch_cuda_kernels.store.contents import SBOM_FILE, open_package, sbom_text
from hatch_cuda_kernels.verify import Demands, verify_store

PROJECT = ("example-project", "0.1.0")
PLACE = f"example_project-0.1.0.dist-info/sboms/{SBOM_FILE}"


def document(wheel):
    """Return a wheel's document, read."""
    with zipfile.ZipFile(wheel) as archive:
        return json.loads(archive.read(PLACE))


def found_by_verify(wheel):
    """Return what the check says of a wheel's document: its state and the problems."""
    with open_package(str(wheel)) as reader:
        results = verify_store(reader, Demands(skip=frozenset({"assembly"})), wheel=wheel).results
    return results["sbom"].state, [problem.message for problem in results["sbom"].problems]


@pytest.mark.slow
def test_it_is_valid(example_wheel):
    """The validator of the format's authors has nothing against it."""
    json_validator = pytest.importorskip("cyclonedx.validation.json", reason="needs cyclonedx-python-lib")
    from cyclonedx.schema import SchemaVersion

    text = json.dumps(document(example_wheel))
    assert json_validator.JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


def test_it_names_what_made_the_images(example_wheel):
    """Packages have the versions and package URLs that scanners look up; what only compiles is not needed to run."""
    data = document(example_wheel)
    assert data["metadata"]["component"]["purl"] == "pkg:pypi/example-project@0.1.0"
    parts = {part["name"]: part for part in data["components"]}
    for name, scope in {"nvidia-cuda-nvrtc": "excluded", "nvidia-cuda-crt": "required"}.items():
        installed = metadata(name)["Version"]
        assert (parts[name]["version"], parts[name]["scope"]) == (installed, scope)
        assert parts[name]["purl"] == f"pkg:pypi/{name}@{installed}"


def test_it_has_the_licence_that_the_packages_state(example_wheel):
    """NVIDIA's packages say themselves that they are proprietary."""
    [part] = (part for part in document(example_wheel)["components"] if part["name"] == "nvidia-cuda-nvrtc")
    stated = metadata("nvidia-cuda-nvrtc")
    licence = stated["License-Expression" if "License-Expression" in stated else "License"]
    assert {"NVIDIA", "Proprietary"} <= {*licence.replace("-", " ").split()}
    assert part["licenses"] == [{"license": {"name": "NVIDIA Proprietary Software"}}]


def test_it_names_each_module_and_source(example_wheel):
    """A module has the digest of its index, which has those of its images; a source that of its bytes."""
    data = document(example_wheel)
    parts = {part["bom-ref"]: part for part in data["components"]}
    needs = {row["ref"]: row["dependsOn"] for row in data["dependencies"]}
    assert needs["pkg:pypi/example-project@0.1.0"] == [ref for ref in parts if ref.startswith("module ")]
    with open_package(str(example_wheel)) as reader:
        for index in reader.modules():
            listed = Wheel(example_wheel)[f"{index.module}/index.json"]
            hashes = parts[f"module {index.module}"]["hashes"]
            assert hashes == [{"alg": "SHA-256", "content": sha256(listed).hexdigest()}]
            assert {f"source {path}" for path in index.files} <= {*needs[f"module {index.module}"]}
    source = Wheel(example_wheel)["project.source/kernels/saxpy.cu"]
    assert parts["source kernels/saxpy.cu"]["hashes"] == [{"alg": "SHA-256", "content": sha256(source).hexdigest()}]


def test_it_follows_from_the_content_alone(example_store):
    """The same store gives the same bytes, without a time; another project or version gives another serial number."""
    with open_package(str(example_store)) as reader:
        first, second = (sbom_text(reader, *PROJECT, made_by="1.0") for _ in range(2))
        other = sbom_text(reader, PROJECT[0], "0.2.0+local", made_by="1.0")
    assert first == second
    assert "timestamp" not in first
    assert json.loads(first)["serialNumber"] != json.loads(other)["serialNumber"]
    assert json.loads(other)["metadata"]["component"]["purl"] == "pkg:pypi/example-project@0.2.0%2Blocal"


def test_an_altered_toolkit_is_no_package(example_wheel, tmp_path):
    """A file that is not as its package brought it has no package URL: scanners would take it for the package's."""
    parts = Wheel(example_wheel)
    parts.edit_index("saxpy", lambda data: data["toolchain"].update(nvrtc="13.0.88+0123abcd"))
    with open_package(str(parts.write(tmp_path))) as reader:
        data = json.loads(sbom_text(reader, *PROJECT, made_by="1.0"))
    [part] = (part for part in data["components"] if part.get("version") == "13.0.88+0123abcd")
    assert "purl" not in part


def test_verify_knows_the_document(example_wheel):
    """As it was built, it fits."""
    assert found_by_verify(example_wheel) == ("ok", [])


def test_verify_reports_a_document_of_other_images(example_wheel, tmp_path):
    """An image that was exchanged, with digests and a RECORD that fit, is not what the document says."""
    parts = Wheel(example_wheel)
    parts.edit_image("saxpy", "saxpy.sm_90.cubin", lambda data: data + b"\0")
    problem = f"{SBOM_FILE} is not of this wheel: it differs in module saxpy"
    assert found_by_verify(parts.write(tmp_path)) == ("failed", [problem])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace(b"13.0.88", b"13.0.48"), "it differs in .*nvidia-cuda-nvrtc@13.0.48"),
        (lambda text: text.replace(b'"lifecycles"', b'"lifecycle"'), "it differs in metadata"),
        (lambda text: text.replace(b'"version": 1\n', b'"version": 1 \n'), "it differs in order, spaces or names"),
        (lambda text: text[:-20], "is not a document that a build writes"),
        (lambda _: b"[]", "is not a document that a build writes"),
        (lambda text: text.replace(b'"bom-ref"', b'"bom_ref"'), "is not a document that a build writes"),
    ],
)
def test_verify_reports_any_change_of_the_document(example_wheel, tmp_path, change, says):
    """A document that no build of this store writes is named, with where it differs."""
    parts = Wheel(example_wheel)
    changed = change(parts.files[PLACE])
    assert changed != parts.files[PLACE]
    parts.files[PLACE] = changed
    state, [problem] = found_by_verify(parts.write(tmp_path))
    assert state == "failed"
    assert re.search(says, problem), problem


def test_verify_skips_a_wheel_without_one(example_wheel, tmp_path):
    """The option turns it off, and older releases of hatchling do not take it."""
    parts = Wheel(example_wheel)
    del parts.files[PLACE]
    assert found_by_verify(parts.write(tmp_path)) == ("skipped", [])

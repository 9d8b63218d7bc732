"""Compile source text without a store: to PTX, to a CUBIN, now or in the background, and load the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from hatch_cuda_kernels import compiler, runtime  # whose names are imported when they are used, as are the next
from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.cache import Entry, open_cache
from hatch_cuda_kernels.compiler import CompileJob, Recipe, entry_of, further_levels, read_recipe, toolchain
from hatch_cuda_kernels.driver import add_by_context, current_context_id
from hatch_cuda_kernels.environment import trace_files
from hatch_cuda_kernels.errors import CompileError, InputError, KernelNotFoundError, StaleKernelError, ToolchainError
from hatch_cuda_kernels.image import Image, Kind, Symbol
from hatch_cuda_kernels.includes import Project, ProjectFiles, normalize
from hatch_cuda_kernels.integrity import sha256
from hatch_cuda_kernels.names import normalize_name
from hatch_cuda_kernels.options import NvrtcOptions, extra_refusal, option_conflicts, options_of
from hatch_cuda_kernels.runtime import launch

if TYPE_CHECKING:
    from concurrent.futures import Future

    from hatch_cuda_kernels.execution_space import SourceSet
    from hatch_cuda_kernels.runtime.launch import Kernel, Loaded

#: What a text is called in messages and logs.
_MODULE: Final = "source"
#: What can be asked for, and of a compile to LTO-IR.
_KINDS: Final[tuple[Kind, ...]] = ("cubin", "ptx")
_KINDS_OF_LTO: Final[tuple[Kind, ...]] = (*_KINDS, "ltoir")
#: The folder that headers given as text seem to be in: searched before the include folders, and next to no file.
_GIVEN: Final = ".given"
_T = TypeVar("_T")


class _CompiledFields(NamedTuple):
    image: bytes
    kind: Kind
    arch: SmArch
    kernels: tuple[Symbol, ...]
    log: str
    cached: bool


class CompiledSource(_CompiledFields):
    """A compiled source: its image and the kernels in it."""

    def __reduce__(self) -> tuple[object, ...]:
        return CompiledSource, tuple(self)  # without the kernels that are loaded

    @property
    def lowered_names(self) -> dict[str, str]:
        """Each name expression (and every other kernel's plain name) with its lowered name."""
        return {symbol.name: symbol.lowered for symbol in self.kernels}

    def get_kernel(self, name: str) -> Kernel:
        """Return a kernel loaded for the current context, which is the only one that it can be launched in.

        Raises KernelNotFoundError, ImageRefusedError if the driver cannot use the image, or DriverError.
        """
        symbol = self._symbols.get(name) or self._symbol(name)
        context_id = current_context_id()
        kernels = self._loaded.get(context_id)
        if kernels is None:
            kernels = dict[str, "Kernel"]()
            add_by_context(self._loaded, context_id, kernels)
        if name not in kernels:
            kernels[name] = self._load(symbol, context_id)
        return kernels[name]

    def _load(self, symbol: Symbol, context_id: int) -> Kernel:
        image = self._loadable

        def load() -> Loaded:
            if current_context_id() != context_id:
                message = f"{symbol.name} was loaded for another context (or one that was reset since)"
                raise StaleKernelError(f"{message}; call get_kernel again in this context")
            return launch.load_image(image, symbol, "stand-alone")

        kernel = launch.Kernel(symbol.name, load)
        launch.launches_of(kernel).loaded()
        return kernel

    @cached_property
    def _symbols(self) -> dict[str, Symbol]:
        return {symbol.name: symbol for symbol in self.kernels}

    @cached_property
    def _loaded(self) -> dict[int, dict[str, Kernel]]:
        return {}

    @cached_property
    def _loadable(self) -> Image:
        return Image(
            module=_MODULE,
            origin="cached" if self.cached else "jitted",
            arch=self.arch,
            kind=self.kind,
            data=self.image,
            sha256=sha256(self.image).hexdigest(),
        )

    def _symbol(self, name: str) -> Symbol:
        wanted = {name, normalize_name(name)}
        for symbol in self.kernels:
            if wanted & {normalize_name(symbol.name), symbol.lowered}:
                return symbol
        raise KernelNotFoundError(name, "the compiled source", tuple(self.lowered_names))


def compile_to_ptx(
    source: str | bytes,
    *,
    arch: str | tuple[int, int] | SmArch,
    options: NvrtcOptions | Mapping[str, object] | None = None,
    names: str | Iterable[str] = (),
    headers: Mapping[str, str | bytes] | None = None,
    root: Path | str | None = None,
    use_cache: bool = True,
) -> CompiledSource:
    """Compile CUDA C++ text to PTX. Arguments and errors are those of ``compile_to_cubin``."""
    return _compile(*_request(source, "ptx", arch, options, names, headers, root), use_cache=use_cache)


def compile_to_cubin(
    source: str | bytes,
    *,
    arch: str | tuple[int, int] | SmArch,
    options: NvrtcOptions | Mapping[str, object] | None = None,
    names: str | Iterable[str] = (),
    headers: Mapping[str, str | bytes] | None = None,
    root: Path | str | None = None,
    use_cache: bool = True,
) -> CompiledSource:
    """Compile CUDA C++ text to a CUBIN.

    ``arch`` is ``sm_90`` or ``compute_90``, suffixes included, or the compute capability ``(9, 0)``; ``options`` may be
    a dict; ``names`` are name expressions to instantiate, or one of them; ``headers`` maps include names to text, which
    may include each other; ``root`` is a folder that the text's includes and ``options.include`` are relative to. Only
    headers given or found there, and the toolkit's, are seen.
    With ``use_cache``, the image is taken from the disk cache, or recorded there.
    Raises CompileError with NVRTC's log, ToolchainError, TypeError for an argument of another type, or InputError for
    one that cannot be used.
    """
    return _compile(*_request(source, "cubin", arch, options, names, headers, root), use_cache=use_cache)


def compile_async(
    source: str | bytes,
    *,
    arch: str | tuple[int, int] | SmArch,
    kind: Kind = "cubin",
    options: NvrtcOptions | Mapping[str, object] | None = None,
    names: str | Iterable[str] = (),
    headers: Mapping[str, str | bytes] | None = None,
    root: Path | str | None = None,
    use_cache: bool = True,
) -> Future[CompiledSource]:
    """Compile in the background: to a CUBIN as ``compile_to_cubin`` does, or to another ``kind``.

    The Future raises what ``compile_to_cubin`` raises, except InputError, which is raised here. NVRTC runs without the
    GIL.
    """
    request = _request(source, kind, arch, options, names, headers, root)
    return runtime.background_threads().submit(_compile, *request, use_cache=use_cache)


class _SourceRequest(NamedTuple):
    recipe: Recipe
    source: str
    headers: dict[str, str]
    root: Path | None
    arch: SmArch
    kind: Kind

    def read(self) -> SourceSet:
        return self._reading(read_recipe)

    def read_after(self, sources: SourceSet, error: CompileError) -> SourceSet | None:
        """Return sources of which more is cut, after NVRTC refused them; None where nothing more may go."""
        levels = self._reading(partial(further_levels, sources=sources, error=error))
        return None if levels is None else self._reading(partial(read_recipe, levels=levels))

    def job(self, sources: SourceSet) -> CompileJob:
        (unit,) = self.recipe.units(sources)
        return self.recipe.compile_job(unit, self.arch, (self.kind,))

    def _reading(self, read: Callable[..., _T]) -> _T:
        """Return what a reader gives of the text, which sees the headers that are given, and those below the root."""
        given = {f"{_GIVEN}/{name}": text for name, text in self.headers.items()}
        include = [*([_GIVEN] if given else []), *self.recipe.options.include]
        given[self.recipe.sources[0]] = self.source
        with TemporaryDirectory(prefix="hatch-cuda-kernels-") as nothing:
            folder = Path(self.root or nothing)
            return read(self.recipe, folder, include=include, project=Project(ProjectFiles(folder, given)))


def _compile(request: _SourceRequest, sources: SourceSet, *, use_cache: bool) -> CompiledSource:
    kind, job = request.kind, request.job(sources)

    def compile_now() -> Entry:
        """Compile, with more cut of the source as often as NVRTC asks for it: the same each time, so of one key."""
        toolchain.ask_ahead()
        run_job = compiler.run_job  # loads NVRTC
        job.check(toolchain.load_toolchain())
        _record(request, "compiling")
        shown = sources
        while True:
            try:
                return entry_of(job, kind, run_job(request.job(shown)))
            except CompileError as error:
                further = request.read_after(shown, error)
                if further is None:
                    raise
                shown = further

    made = True
    if use_cache:
        entry, made = open_cache().get_or_make(job.key(kind, toolchain.current_toolchain()), compile_now)
        if not made:
            _record(request, "cached", entry)
    else:
        entry = compile_now()
    return CompiledSource(entry.image, kind, entry.arch, _spelled(entry.kernels, job.names), entry.log, cached=not made)


def _record(request: _SourceRequest, answer: str, entry: Entry | None = None) -> None:
    """Record in the program's trace, if it has one, what became of a request."""
    if files := trace_files():
        from hatch_cuda_kernels.runtime.ladder import record_source  # few programs are traced

        path = None if entry is None else open_cache().path_of(entry)
        record_source(files, answer, request.recipe.names, request.arch, request.kind, path)


def _spelled(kernels: Sequence[Symbol], names: Sequence[str]) -> tuple[Symbol, ...]:
    """Return kernels under the names that were asked for; an entry has those that it was recorded under."""
    known = {normalize_name(symbol.name): symbol for symbol in kernels}
    asked = {name: known.get(normalize_name(name)) for name in names}
    others = known.keys() - set(map(normalize_name, names))
    return (
        *(symbol._replace(name=name) for name, symbol in asked.items() if symbol is not None),
        *(symbol for name, symbol in known.items() if name in others),
    )


def _request(
    source: object, kind: object, arch: object, options: object, names: object, headers: object, root: object
) -> tuple[_SourceRequest, SourceSet]:
    """Return what a caller asks for, and its sources. Raises TypeError or InputError, which say what is taken."""
    parsed, taken = _arch(arch), options_of(options)
    kinds = _KINDS_OF_LTO if taken.lto else _KINDS
    if kind not in kinds:
        route = "with" if taken.lto else "without"
        raise InputError(f"kind is {' or '.join(map(repr, kinds))} {route} the option lto, not {kind!r}")
    refusals = [refusal for flag in taken.extra if (refusal := extra_refusal(flag)) is not None]
    refusals += option_conflicts(taken)
    if refusals:
        raise InputError("; ".join(refusals))
    recipe = Recipe(module=_MODULE, sources=(f"{_MODULE}.cu",), options=taken, names=_names(names))
    texts, folder = _headers(headers), _root(root)
    if folder is None and taken.include:
        raise InputError("options.include names folders of a project: pass root= with them")
    unusable = [name for name in texts if not normalize("", name)]
    if unusable:
        raise InputError(f"headers: {unusable[0]!r} must be a relative path without ..")
    request = _SourceRequest(recipe, _text("source", source), texts, folder, parsed.real, kind)
    return request, request.read()


def _arch(arch: object) -> SmArch:
    match arch:
        case str():
            stated, text = None, arch
        case SmArch() | (int(), int()):
            stated = SmArch(*arch)
            text = str(stated)
        case _:
            takes = "text such as 'sm_90', a compute capability such as (9, 0), or an SmArch"
            raise TypeError(f"arch takes {takes}, not {arch!r}")
    with suppress(ValueError):
        found = SmArch.parse(text)
        if stated in {None, found}:  # the numbers of (8, 10) are those of (9, 0), too
            return found
    raise InputError(f"unknown architecture {arch!r}{_known()}")


def _known() -> str:
    """Return in words which architectures there are, as far as an NVRTC is found."""
    with suppress(ToolchainError):
        return f"; {toolchain.known_numbers()}"
    return "; write it like 'sm_90'"


def _text(what: str, text: object) -> str:
    """Return C++ text; bytes are UTF-8."""
    if not isinstance(text, str | bytes):
        raise TypeError(f"{what} takes C++ text, as str or bytes, not {text!r}")
    try:
        return text.encode().decode() if isinstance(text, str) else text.decode()
    except UnicodeError as error:
        raise InputError(f"{what} is not UTF-8: {error}; NVRTC reads no other encoding") from error


def _names(names: object) -> tuple[str, ...]:
    if isinstance(names, str):
        return (names,)
    listed = tuple(names) if isinstance(names, Iterable) else ()
    if isinstance(names, Iterable) and all(isinstance(name, str) for name in listed):
        return listed
    raise TypeError(f"names takes name expressions such as ['twice<float>'], not {names!r}")


def _headers(headers: object) -> dict[str, str]:
    if headers is None:
        return {}
    if not isinstance(headers, Mapping) or not all(isinstance(name, str) for name in headers):
        raise TypeError(f"headers takes a dict from include name to text, not {headers!r}")
    return {name: _text(f"headers[{name!r}]", text) for name, text in headers.items()}


def _root(root: object) -> Path | None:
    if root is None:
        return None
    if not isinstance(root, str | os.PathLike):
        raise TypeError(f"root takes the path of a folder, not {root!r}")
    if not Path(root).is_dir():
        raise InputError(f"root: the folder {root} does not exist")
    return Path(root)

from __future__ import annotations

import pytest
from manifests import MINIMAL, located, make_project, problems_of

WHOLE_FILE = {
    "": ["1:1: manifest: the file is empty"],
    "- a": ["1:1: manifest: expected a mapping, found a list"],
    "~": ["1:1: manifest: expected a mapping, found nothing"],
    "{}": [
        "1:1: schema: missing; write schema: 1",
        "1:1: modules: missing; list at least one module",
    ],
    "schema: 2\nmodules:": [
        "1:9: schema: expected 1, the version of the format that this package reads, found the integer 2",
        "2:1: modules: expected a mapping, found nothing",
    ],
    "schema: '1'\nmodules: {}": [
        "1:9: schema: expected 1, the version of the format that this package reads, found the string '1'",
        "2:10: modules: the mapping is empty; give at least one entry",
    ],
    "schema: 1\nmodule: {}\nmodules: {a: , b: x.cu, c: {}}": [
        "2:1: module: unknown key (did you mean 'modules'?)",
        "3:11: modules.a: expected a mapping, found nothing",
        "3:19: modules.b: expected a mapping, found the string 'x.cu'",
        "3:28: modules.c.source: missing; name the file to compile, or list several under sources",
    ],
    "schema: 1\nschema: 1\nmodules: {a: {source: 1}}": [
        "2:1: schema: duplicate key (first at line 1)",
        "3:23: modules.a.source: expected the path of a source file, found the integer 1; quote it: '1'",
    ],
    "schema: 1\nmodules:\n  a: {source: [}": [
        "3:16: manifest: not valid YAML: expected the node content, but found '}' while parsing a flow node"
    ],
}

TOP_LEVEL = {
    "zzz: 1": [
        (
            "2:1: zzz: unknown key; known here: schema, cuda, arches, options, max_spill_bytes, packing, modules,"
            " supports, stubs, max_wheel_size"
        )
    ],
    "cuda: 12.10": ["2:7: cuda: expected a CUDA release such as '13.0', found the number 12.10"],
    "cuda: 13": ["2:7: cuda: expected a CUDA release such as '13.0', found the integer 13"],
    "cuda: '12.10'": ["2:7: cuda: '12.10' is not a CUDA release this package compiles with; write 12.9, 13.0 or newer"],
    "cuda: '12.8'": ["2:7: cuda: NVRTC of CUDA 12.8 refuses an option that builds need; of CUDA 12, only 12.9 works"],
    "arches:": ["2:1: arches: expected a list of architectures or one of all, all-major, native, found nothing"],
    "arches: sm_90": [
        "2:9: arches: expected a list of architectures or one of all, all-major, native, found the string 'sm_90'"
    ],
    "arches: []": ["2:9: arches: the list is empty; give at least one item"],
    "arches: [90, 'sm_90 ', sm_80a, sm-90, gfx90a, all_major, sm_90, sm_90, [sm_90]]": [
        "2:10: arches[0]: expected an architecture such as sm_90, found the integer 90",
        "2:14: arches[1]: unknown architecture 'sm_90 ' (did you mean 'sm_90'?)",
        "2:24: arches[2]: unknown architecture 'sm_80a' (did you mean 'sm_80'?)",
        "2:32: arches[3]: unknown architecture 'sm-90' (did you mean 'sm_90'?)",
        "2:39: arches[4]: unknown architecture 'gfx90a'; write it like sm_90, compute_90, all, all-major or native",
        "2:47: arches[5]: unknown architecture 'all_major' (did you mean 'all-major'?)",
        "2:65: arches[7]: 'sm_90' is listed twice (first as [6])",
        "2:72: arches[8]: expected an architecture such as sm_90, found a list",
    ],
    "options:": ["2:1: options: expected a mapping, found nothing; leave the key out or write {}"],
    "options: {lineinfo: yes, ftz: 1, debug: 'true', fma: }": [
        "2:21: options.lineinfo: expected true or false, found the boolean yes",
        "2:31: options.ftz: expected true or false, found the integer 1",
        "2:41: options.debug: expected true or false, found the string 'true'",
        "2:49: options.fma: expected true or false, found nothing",
    ],
    "options: {std: c++23}": ["2:16: options.std: expected one of c++14, c++17, c++20, found the string 'c++23'"],
    "options: {std: 17}": ["2:16: options.std: expected one of c++14, c++17, c++20, found the integer 17"],
    "options: {maxrregcount: 256}": [
        "2:25: options.maxrregcount: expected a whole number from 1 to 255, found the integer 256"
    ],
    "options: {maxrregcount: 0x20}": [
        "2:25: options.maxrregcount: expected a whole number from 1 to 255, found the integer 0x20"
    ],
    'options: {define: {1a: 1, NO: 1, A: [1], B: "x\\ny", F(1): x}}': [
        "2:20: options.define.1a: '1a' is not a macro such as NAME or NAME(x, y)",
        "2:27: options.define: expected a string as key, found the boolean NO; quote it",
        "2:37: options.define.A: expected C++ text, found a list",
        "2:45: options.define.B: 'x\\ny' has the character '\\n'; write it as one line of plain text",
        "2:53: options.define.'F(1)': 'F(1)' is not a macro such as NAME or NAME(x, y)",
    ],
    "options: {define: [A=1]}": ["2:19: options.define: expected a mapping, found a list"],
    "options: {define: }": ["2:11: options.define: expected a mapping, found nothing; leave the key out or write {}"],
    "options: {extra: [-w, -arch=sm_90, foo, -w]}": [
        "2:23: options.extra[1]: -arch cannot be passed through: list architectures under 'arches'",
        "2:36: options.extra[2]: 'foo' is not a flag; write one flag an item, with its value after '='",
    ],
    "options: {include: }": ["2:11: options.include: expected a list, found nothing; leave the key out or write []"],
    "options: {include: [incl, /usr, C:/x, ../x, 'a\\b', kernels/saxpy.cu, '']}": [
        "2:21: options.include[0]: there is no folder 'incl'",
        "2:27: options.include[1]: '/usr' is absolute; write it relative to the manifest's folder",
        "2:33: options.include[2]: 'C:/x' is absolute; write it relative to the manifest's folder",
        "2:39: options.include[3]: '../x' leaves the project; keep the file inside the manifest's folder",
        "2:45: options.include[4]: 'a\\\\b' has a backslash; write / between folders",
        "2:52: options.include[5]: there is no folder 'kernels/saxpy.cu'",
        "2:70: options.include[6]: expected the path of a folder, found the string ''",
    ],
    "options: {include: [include, ./include/, include], pre_include: [a.h, ./a.h]}": [
        "2:30: options.include[1]: 'include' is listed twice (first as [0])",
        "2:42: options.include[2]: 'include' is listed twice (first as [0])",
        "2:71: options.pre_include[1]: 'a.h' is listed twice (first as [0])",
    ],
    "options: {pre_include: [/a.h, a/../../b, cuda_fp16.h]}": [
        "2:25: options.pre_include[0]: '/a.h' is absolute; write it relative to the manifest's folder",
        "2:31: options.pre_include[1]: 'a/../../b' leaves the project; keep the file inside the manifest's folder",
    ],
    "supports: {driver: 13.0}": [
        '2:11: supports.devices: missing; list compute capabilities, such as ["9.0"]',
        "2:20: supports.driver: expected a CUDA version such as '13.0', found the number 13.0; quote it: '13.0'",
    ],
    "supports: {devices: [9.0, '90', sm_90], driver: '580.1'}": [
        "2:22: supports.devices[0]: expected a compute capability such as '9.0', found the number 9.0; quote it: '9.0'",
        "2:27: supports.devices[1]: not a compute capability: '90' (write it like '9.0')",
        "2:33: supports.devices[2]: not a compute capability: 'sm_90' (write it like '9.0')",
        "2:49: supports.driver: '580.1' is not a CUDA version; write it like '13.0'",
    ],
    "supports: {devices: []}": ["2:21: supports.devices: the list is empty; give at least one item"],
}

IN_MODULE = {
    "lineinfo: true": [
        (
            "2:41: modules.a.lineinfo: unknown key; known here: source, sources, libraries, kernels, instances, matrix,"
            " exclude, combinations, chunk, globals, headers, arches, options, front_end, max_spill_bytes, packing,"
            " launch"
        )
    ],
    "kernels: no": ["2:50: modules.a.kernels: expected a list, found the boolean no"],
    "kernels: [no, 1, f, f, '', [f]]": [
        "2:51: modules.a.kernels[0]: expected a C++ name, found the boolean no; quote it: 'no'",
        "2:55: modules.a.kernels[1]: expected a C++ name, found the integer 1; quote it: '1'",
        "2:61: modules.a.kernels[3]: 'f' is listed twice (first as [2])",
        "2:64: modules.a.kernels[4]: expected a C++ name, found the string ''",
        "2:68: modules.a.kernels[5]: expected a C++ name, found a list",
    ],
    'globals: ["a\\tb"]': [
        "2:51: modules.a.globals[0]: 'a\\tb' has the character '\\t'; write it as one line of plain text"
    ],
    "instances: ['f<{T}>']": ["2:53: modules.a.instances[0]: unknown placeholder {T}; add it to the matrix"],
    "instances: ['f<{TYP}>'], matrix: {TYPE: [int]}": [
        "2:53: modules.a.instances[0]: unknown placeholder {TYP} (did you mean 'TYPE'?)",
        "2:75: modules.a.matrix.TYPE: no instance uses {TYPE}; remove it, or write it into an instance or the name",
    ],
    "matrix: {T: [int]}": [
        "2:50: modules.a.matrix.T: no instance uses {T}; remove it, or write it into an instance or the name"
    ],
    "instances: ['f<{T}, {U}, {V}>'], matrix: {T: [], U: [int, int], V: int}": [
        "2:86: modules.a.matrix.T: the list is empty; give at least one item",
        "2:99: modules.a.matrix.U[1]: 'int' is listed twice (first as [0])",
        "2:108: modules.a.matrix.V: expected a list, found the string 'int'",
    ],
    "instances: ['f<{T}>'], matrix: {T: [null, [int], \"a\\nb\"], T-1: [1]}": [
        "2:77: modules.a.matrix.T[0]: expected C++ text, found nothing",
        "2:83: modules.a.matrix.T[1]: expected C++ text, found a list",
        "2:90: modules.a.matrix.T[2]: 'a\\nb' has the character '\\n'; write it as one line of plain text",
        "2:99: modules.a.matrix.T-1: 'T-1' is not an axis name (a C identifier)",
    ],
    "instances: ['f<{T}>'], matrix: [T]": ["2:72: modules.a.matrix: expected a mapping, found a list"],
    "instances: ['f<{T}>', f<1>, 'f<{T}>'], matrix: {T: [1, 2]}": [
        "2:63: modules.a.instances[1]: 'f<1>' is listed twice (first by modules.a.instances[0])",
        "2:69: modules.a.instances[2]: 'f<{T}>' is listed twice (first as [0])",
    ],
    "kernels: [f<1>], instances: ['f<{T}>'], matrix: {T: [1, 2]}": [
        "2:70: modules.a.instances[0]: 'f<1>' is listed twice (first by modules.a.kernels[0])"
    ],
    "instances: ['f<{A}{B}>'], matrix: {A: [1, 11], B: [12, 2]}": [
        "2:53: modules.a.instances[0]: 'f<112>' is listed twice (first by modules.a.instances[0])"
    ],
    "headers: ['include/*.inc', ../x.h, include/a.h]": [
        "2:51: modules.a.headers[0]: no file matches 'include/*.inc'",
        "2:68: modules.a.headers[1]: '../x.h' leaves the project; keep the file inside the manifest's folder",
    ],
    "front_end: fast": ["2:52: modules.a.front_end: expected one of per-arch, lto, ptx, found the string 'fast'"],
    "options: {std: [c++17]}": ["2:56: modules.a.options.std: expected one of c++14, c++17, c++20, found a list"],
    "arches: native": ["2:49: modules.a.arches: this machine has no GPU; list architectures instead"],
}

SOURCES = {
    "kernels": "'kernels' is a folder; name a file",
    "kernels/none.cu": "there is no file 'kernels/none.cu'",
    "kernels/Saxpy.cu": "there is no file 'kernels/Saxpy.cu' (did you mean 'kernels/saxpy.cu'?)",
    "nowhere/a.cu": "there is no file 'nowhere/a.cu'",
    "/a.cu": "'/a.cu' is absolute; write it relative to the manifest's folder",
    "kernels/*/*.cu": "'kernels/*/*.cu' must have one *, which stands for the names of modules, and no ? or [",
    "'kernels/*.c?'": "'kernels/*.c?' must have one *, which stands for the names of modules, and no ? or [",
    "kernels/*.cc": "no file matches 'kernels/*.cc'",
    "../*.cu": "'../*.cu' leaves the project; keep the file inside the manifest's folder",
    "kernels/../../a.cu": "'kernels/../../a.cu' leaves the project; keep the file inside the manifest's folder",
}

NO_NAME = "which is not a module name (letters, digits, _ and -); rename it"

MODULE_NAMES = {
    "{1a: &a {source: kernels/saxpy.cu}, a.b: *a, a/b: *a, '': *a}": [
        "2:11: modules.1a: '1a' is not a module name (letters, digits, _ and -, a *, or an {AXIS})",
        "2:46: modules.'a.b': 'a.b' is not a module name (letters, digits, _ and -, a *, or an {AXIS})",
        "2:55: modules.'a/b': 'a/b' is not a module name (letters, digits, _ and -, a *, or an {AXIS})",
        "2:64: modules.'': '' is not a module name (letters, digits, _ and -, a *, or an {AXIS})",
    ],
    "{sum: &a {source: kernels/saxpy.cu}, Sum: *a, nul: *a}": [
        "2:47: modules.Sum: 'Sum' and 'sum' differ only in case, and would be one folder on some systems",
        "2:56: modules.nul: 'nul' cannot be a folder on Windows; choose another name",
    ],
    "{'*': {source: kernels/saxpy.cu}, b: {source: kernels/*.cu}, '**': {source: kernels/*.cu}}": [
        "2:11: modules.'*': the name has a * and the source has none; with one in both, each file is a module",
        "2:44: modules.b: the source has a * and the name has none; with one in both, each file is a module",
        "2:71: modules.'**': '**' is not a module name (letters, digits, _ and -, a *, or an {AXIS})",
    ],
    "{'*': {source: kernels/*.cu}, saxpy: {source: kernels/reduce.cu}, 's*': {source: kernels/s*.cu}}": [
        "2:40: modules.saxpy: modules.'*' gives a module 'saxpy', too; give them different names",
        "2:76: modules.'s*': modules.'*' gives a module 'saxpy', too; give them different names",
    ],
    "{'*': {source: kernels/*saxpy.cu, instances: ['f<{T}>']}, 'x-*': {source: 'kernels/*', instances: ['g<{T}>']}}": [
        f"{where} would be the module {name!r}, {NO_NAME}"
        for where, name in (
            ("2:11: modules.'*': kernels/saxpy.cu", ""),
            ("2:68: modules.'x-*': kernels/reduce.cu", "x-reduce.cu"),
            ("2:68: modules.'x-*': kernels/saxpy.cu", "x-saxpy.cu"),
        )
    ],
    "{'*': {source: kernels/*.cu, instances: ['f<{T}>']}}": [
        "2:51: modules.'*'.instances[0]: unknown placeholder {T}; add it to the matrix",
    ],
}

#: Entries of kernels/saxpy.cu; ``@`` is what problems call the one with a placeholder in its name.
NO_AXIS = "no axis in the module's name"
BY_MACRO = "for values of axes a macro or type with one"
AXES_IN_NAMES = {
    "'k_{T}': {%s}": ["2:11: @: unknown placeholder {T}; add it to the matrix"],
    "'k_{T}': {%s, matrix: {TT: [int]}}": [
        "2:11: @: unknown placeholder {T} (did you mean 'TT'?)",
    ],
    "'k_{T}': {%s, matrix: {T: [int, float]}}": [
        "2:56: @.matrix.T: {T} is in the name only; write it into options.define or an instance, or remove it",
    ],
    "'k_{T}': {%s, matrix: {T: [int], U: [1, 2]}, options: {define: {A: '{T}{U}', B: '{V}', C: '{ V }{0}'}}}": [
        "2:100: @.options.define.A: {U} is not in the name, so that two modules would have one; write {U} into it, too",
        "2:113: @.options.define.B: unknown placeholder {V}; add it to the matrix and the name",
    ],
    "'k_{T}': {%s, matrix: {T: [int], U: [1, 2]}, options: {define: {A: '{T}'}}}": [
        "2:66: @.matrix.U: no instance uses {U}; remove it, or write it into an instance or the name"
    ],
    "'k_{T}': {%s, matrix: {T: [int, float]}, exclude: [{T: int8}, {U: 1}], options: {define: {A: '{T}'}}}": [
        "2:85: @.exclude[0].T: T is never 'int8' (did you mean 'int'?)",
        "2:96: @.exclude[1].U: U is no axis in the module's name; write {U} into it, or remove this",
    ],
    "k: {%s, exclude: [{T: int}]}": [
        "2:52: modules.k.exclude[0].T: T is no axis in the module's name; write {T} into it, or remove this",
    ],
    "'k_{T}': {%s, matrix: {T: [int]}, exclude: [{T: int}], options: {define: {A: '{T}'}}}": [
        "2:11: @: exclude leaves no combination; remove an item of it"
    ],
    "'k_{T}_{N}': {%s, matrix: {T: [a, 'b *'], N: [1]}, exclude: [{T: a}], combinations: [{T: c}, {T: c, N: 2, M: 1},"
    " {T: b*, N: 1}, {T: a, N: 3}, {T: c, N: 2}, {N: 2, T: ' c'}], options: {define: {A: '{T}{N}'}}}": [
        "2:118: modules.'k_{T}_{N}'.combinations[0]: the value of N is missing; state those of T, N",
        f"2:126: modules.'k_{{T}}_{{N}}'.combinations[1]: M is {NO_AXIS}; write {{M}} into it, or remove this",
        "2:146: modules.'k_{T}_{N}'.combinations[2]: it is listed already; remove it",
        "2:161: modules.'k_{T}_{N}'.combinations[3]: exclude leaves it out; remove one of the two",
        "2:189: modules.'k_{T}_{N}'.combinations[5]: it is listed already; remove it",
    ],
    "'k_{T}': {%s, matrix: {T: [a b, a<b>, 'a,b']}, options: {define: {A: '{T}'}}}": [
        "2:11: @: @ with T: a b gives a module 'k_a_b', too, as T: a<b> does here; write one into an entry of its own"
    ],
    "'k_{T}': {%s, matrix: {T: [a, 'a*', 'const a&', 'const a', -1, 1, 1e-3, 1e3, a-b]}, instances: ['f<{T}>']}": [],
    "'k_{T}': {%s, matrix: {T: [" + "a" * 178 + ", " + "a" * 179 + "]}, instances: ['f<{T}>']}": [
        f"2:11: @: 'k_{'a' * 58}'... has 181 characters, and at most 180 fit; choose a shorter name, or {BY_MACRO}"
    ],
    "k_a: {%s}, 'k_{T}': {source: kernels/saxpy.cu, matrix: {T: [a]}, options: {define: {A: '{T}'}}}": [
        "2:44: @: modules.k_a gives a module 'k_a', too, as T: a does here; give them different names"
    ],
    "'k_{T}': {%s, matrix: {T: [a]}, launch: {k: {grid: 1, block: '{T}'}}}": [
        "2:94: @.launch.k.block: {T} may be 'a', which is not an integer"
    ],
    "'k_{T}': {%s, matrix: {T: [a], version: [b]}, instances: ['f<{T}, {version}>']}": [],
    "'{version}': {%s, matrix: {version: [a]}, instances: ['f<{version}>']}": [
        "2:11: modules.'{version}': the name has only axes; add a word, by which the modules are found",
        "2:60: modules.'{version}'.matrix.version: {version} is the project's version; rename the axis",
    ],
    "'k_{T}': &k {%s, matrix: {T: [1]}, instances: ['f<{T}>']}, '{T}_k': {source: kernels/reduce.cu, matrix: {T: [a]},"
    " instances: ['f<{T}>']}, 'k-{T}': *k": [
        "2:171: modules.'k-{T}': @ has a module 'k' with T: 1, too; give them different names"
    ],
    "'{T}k': {%s, matrix: {T: [1]}, options: {define: {A: '{T}'}}}": [
        f"2:11: modules.'{{T}}k': T: 1 would be the module '1k', {NO_NAME}",
    ],
}


@pytest.fixture
def root(tmp_path):
    """Return a project with two sources and a few headers."""
    return make_project(tmp_path)


@pytest.mark.parametrize("text", WHOLE_FILE, ids=repr)
def test_problems_of_the_whole_file(text, root):
    """What is wrong with the file as such is told word for word."""
    assert problems_of(text, root) == located(WHOLE_FILE[text])


@pytest.mark.parametrize("snippet", TOP_LEVEL)
def test_problems_at_the_top(snippet, root):
    """What is wrong with a key at the top is told word for word, and nothing else is."""
    assert problems_of(MINIMAL % snippet, root) == located(TOP_LEVEL[snippet])


@pytest.mark.parametrize("snippet", IN_MODULE)
def test_problems_in_a_module(snippet, root):
    """What is wrong in a module is told word for word, and nothing else is."""
    text = f"schema: 1\nmodules: {{a: {{source: kernels/saxpy.cu, {snippet}}}}}\n"
    assert problems_of(text, root) == located(IN_MODULE[snippet])


@pytest.mark.parametrize("source", SOURCES)
def test_problems_with_a_source(source, root):
    """A source that is missing, misspelt, a folder or elsewhere is told as what it is."""
    text = f"schema: 1\nmodules: {{a: {{source: {source}}}}}\n"
    assert problems_of(text, root) == [f"kernels.yaml:2:23: modules.a.source: {SOURCES[source]}"]


@pytest.mark.parametrize("modules", MODULE_NAMES)
def test_problems_with_module_names(modules, root):
    """A name that some file system could not hold beside the others is refused at the name."""
    assert problems_of(f"schema: 1\nmodules: {modules}\n", root) == located(MODULE_NAMES[modules])


@pytest.mark.parametrize("entry", AXES_IN_NAMES)
def test_problems_with_axes_in_a_name(entry, root):
    """What is wrong with the axes of a module's name is told where it is written, with what to write."""
    text = f"schema: 1\nmodules: {{{entry % 'source: kernels/saxpy.cu'}}}\n"
    expected = (problem.replace("@", "modules.'k_{T}'") for problem in AXES_IN_NAMES[entry])
    assert problems_of(text, root) == located(expected)


@pytest.mark.slow
def test_too_many_modules(root):
    """The manifest has 10,000 modules at most, of one entry or of all."""
    axes = ", ".join(f"{axis}: [{', '.join(map(str, range(100)))}]" for axis in "MN")
    entry = f"{{source: kernels/saxpy.cu, matrix: {{{axes}, L: [1]}}, options: {{define: {{A: '{{L}}{{M}}{{N}}'}}}}}}"
    text = f"schema: 1\nmodules:\n  'k_{{L}}_{{M}}_{{N}}': {entry}\n"
    assert problems_of(text, root) == []
    more = f"{text}  k: {{source: kernels/saxpy.cu}}\n"
    fix = "shorten a matrix, or split the entries between packages"
    assert problems_of(more, root) == located(
        [f"4:3: modules.k: with this, the manifest has more than 10000 modules; {fix}"]
    )
    assert problems_of(text.replace("L: [1]", "L: [1, 2]"), root) == located(
        [f"3:3: modules.'k_{{L}}_{{M}}_{{N}}': its matrix has more than 10000 combinations; {fix}"]
    )


def test_symbolic_links_out_of_the_project(root, tmp_path_factory):
    """A link out of the project is refused wherever it is used; one inside it is a file like any other."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "x.h").touch()
    (root / "away").symlink_to(outside)
    (root / "include" / "x.h").symlink_to(outside / "x.h")
    (root / "kernels" / "same.cu").symlink_to("saxpy.cu")
    text = """\
schema: 1
options: {include: [away], pre_include: [include/x.h]}
modules:
  a: {source: away/x.h, headers: [include/*.h]}
  b: {source: kernels/same.cu}
"""
    advice = "leaves the project through a symbolic link; copy the file into it"
    assert problems_of(text, root) == [
        f"kernels.yaml:2:21: options.include[0]: 'away' {advice}",
        f"kernels.yaml:2:42: options.pre_include[0]: 'include/x.h' {advice}",
        f"kernels.yaml:4:15: modules.a.source: 'away/x.h' {advice}",
        f"kernels.yaml:4:35: modules.a.headers[0]: 'include/x.h' {advice}",
    ]

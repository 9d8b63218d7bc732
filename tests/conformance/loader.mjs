// A loader of stores, written from docs/reference/store.md alone. It shares no code with the package.
// Standard input has a list of questions as in cases.json, their stores relative to the working folder; standard output
// gets the answers. It takes images without a driver: what a driver would refuse stands in the question.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";

class Refusal extends Error {
  constructor(answer) { super(answer.error); this.answer = answer; }
}

// Files

const text = value => typeof value === "string" && !value.includes("\0") && value.isWellFormed();
const innerPath = value => {
  if (!text(value) || value[1] === ":") return false;
  const parts = value.split(/[/\\]/);
  return parts[0] !== "" && !parts.includes("..");
};
const fileName = value => innerPath(value) && value !== "." && !/[/\\]/.test(value);
const size = value => Number.isInteger(value) && value >= 0 && value < 2 ** 40;
const version = value => text(value) && /^[0-9]+\.[0-9]+$/.test(value);
const optional = check => value => value === undefined || check(value);
const object = value => typeof value === "object" && value !== null && !Array.isArray(value);
const fields = checks => value =>
  object(value) && Object.entries(checks).every(([name, check]) => check(value[name]));

const isImage = fields({
  file: fileName,
  kind: value => ["cubin", "ptx", "ltoir"].includes(value),
  arch: value => text(value) && /^(sm|compute)_[1-9][0-9]*[0-9][af]?$/.test(value),
  sha256: text,
  bytes: size,
  ptx_isa: version,
  lacks: optional(value => Array.isArray(value) && value.every(text)),
  renames: optional(value => typeof value === "boolean"),
  stored: optional(fields({ file: innerPath, at: size, size, skip: size })),
});

const json = path => JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path)));

function refuseUnless(path, read) {
  try {
    const value = read();
    if (value !== undefined) return value;
  } catch {
    // told below
  }
  const file = path.split("/").slice(-(path.endsWith("index.json") ? 2 : 1)).join("/");
  throw new Refusal({ error: "damaged", file });
}

function readIndex(store, module) {
  const path = `${store}/${module}/index.json`;
  return refuseUnless(path, () => {
    const index = json(path);
    const sound = object(index) && [1, 2].includes(index.schema) && index.module === module
      && Array.isArray(index.images) && index.images.every(isImage);
    return sound ? index : undefined;
  });
}

// The listing

function linesOf(store, key) {
  const path = `${store}/kernels.tsv`;
  return refuseUnless(path, () => {
    const data = readFileSync(path);
    if (data.length > 0 && data.at(-1) !== 10) return undefined;
    const prefix = Buffer.from(`${key}\t`);
    const found = [];
    for (let at = 0, end; at < data.length; at = end + 1) {
      end = data.indexOf(10, at);
      const line = data.subarray(at, end);
      if (line.subarray(0, prefix.length).equals(prefix)) found.push(parseLine(line));
    }
    return found;
  });
}

function parseLine(line) {
  const parts = new TextDecoder("utf-8", { fatal: true }).decode(line).split("\t");
  const [key, module, lowered] = parts;
  if (parts.length < 5 || parts.length > 7 || !fileName(module)) throw new Error("malformed line");
  return { key, module, lowered };
}

// Names

const WORD = String.raw`[\p{L}\p{N}_]`;
const TOKEN = new RegExp([
  String.raw`(?:u8|[uUL])?R"([^( \t\n\v\f\r]{0,16})\([\s\S]*?\)\1"\w*`,
  String.raw`(?:u8|[uUL])?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\w*`,
  String.raw`\.?[0-9](?:[eEpP][+\-]|'\w|[\w.])*`,
  String.raw`\w+`,
  String.raw`<=>|->\*|\.\.\.|<<=|>>=|<:(?!:(?![:>]))|:>|<%|%>|%:|->|\.\*|\+\+|--|<<|>>|&&|\|\||::|##|\/\*|\/\/`,
  String.raw`[\-+*\/%^&|=<>!]=|[^ \t\n\v\f\r]`,
].join("|").replaceAll(String.raw`[\w.]`, `(?:${WORD}|\\.)`).replaceAll(String.raw`\w`, WORD), "gu");

const matches = value => [...value.matchAll(TOKEN)].map(match => match[0]);
const step = token => ("([{".includes(token) ? 1 : ")]}".includes(token) ? -1 : 0);

function tokens(value) {
  const found = [];
  let depth = 0;
  for (const token of matches(value)) {
    found.push(...(token === ">>" && depth === 0 ? [">", ">"] : [token]));
    depth += step(token);
  }
  return found;
}

function runTogether(first, second) {
  const joined = matches(first + second);
  const same = joined.length === 2 && joined[0] === first && joined[1] === second;
  return (first !== "" && !same) || (first === "." && second === ".");
}

function keyOf(name) {
  const pieces = [""];
  let depth = 0;
  for (const token of tokens(name)) {
    const last = pieces.at(-1);
    const closesTwo = token === ">" && last === ">" && depth === 0;
    if (runTogether(last, token) && !closesTwo) pieces.push(" ");
    pieces.push(token);
    depth += step(token);
  }
  return pieces.join("");
}

function templateOf(key) {
  let kept = "", depth = 0;
  for (const character of key) {
    if ("<(".includes(character)) depth += 1;
    else if (">)".includes(character)) depth -= 1;
    else if (depth === 0) kept += character;
  }
  return kept.replace(/^[&:]+/, "");
}

function findLine(store, { name, module = null, variable = false }) {
  const key = keyOf(name);
  if (/^[&<{]/.test(key)) throw new Refusal({ error: "unknown" });
  let lines = linesOf(store, variable ? `&${key}` : key);
  let unlisted = false;
  if (!variable && lines.length === 0 && key.includes("<")) {
    unlisted = true;
    if (module !== null && fileName(module) && existsSync(`${store}/${module}/index.json`)) return { module, unlisted };
    lines = linesOf(store, `<${templateOf(key)}`);
  }
  const fitting = lines.filter(line => [null, line.module, line.module.split(".")[0]].includes(module));
  if (fitting.length === 1) return { ...fitting[0], unlisted };
  throw new Refusal({ error: fitting.length > 1 ? "ambiguous" : "unknown" });
}

// The module with some values of axes, and its kernel

function findByAxes(store, ask) {
  const names = Object.keys(ask.axes).sort();
  const keys = Object.fromEntries(names.map(axis => [axis, keyOf(String(ask.axes[axis]))]));
  const values = names.map(axis => `;${axis}=${keys[axis].replaceAll(";", ";;")}`);
  const [listed] = linesOf(store, `{${ask.module}${values.join("")}`);
  if (listed) return findLine(store, { ...ask, module: listed.module });
  const further = linesOf(store, `{${[ask.module, ...names].join(";")}`);
  if (further.length !== 1) throw new Refusal({ error: further.length > 1 ? "ambiguous" : "unknown" });
  const { exclude = [] } = json(`${store}/${further[0].module}/details.json`).family;
  const excluded = exclude.some(item => Object.entries(item).every(([axis, value]) => keyOf(value) === keys[axis]));
  if (excluded) throw new Refusal({ error: "unknown" });
  return { module: further[0].module, unlisted: true };
}

// Images

function unpack(block) {
  const limits = ["-dc", "--memlimit-decompress=64MiB"];
  return execFileSync("xz", limits, { input: block, stdio: ["pipe", "pipe", "ignore"], maxBuffer: 2 ** 30 });
}

const sha256Of = data => createHash("sha256").update(data).digest("hex");

function readImage(store, module, image) {
  const { file, at, size: packed, skip } = image.stored ?? { file: `${module}/${image.file}`, size: 0 };
  let data = readFileSync(`${store}/${file}`);
  if (packed > 0) data = unpack(data.subarray(at, at + packed)).subarray(skip, skip + image.bytes);
  const sha256 = sha256Of(data);
  if (sha256 !== image.sha256) throw new Error("another digest");
  return sha256;
}

function loweredIn(store, line, image) {
  if (!image.renames) return line.lowered;
  const names = json(`${store}/${line.module}/details.json`).lowered?.[image.file] ?? {};
  if (!object(names) || !Object.values(names).every(text)) throw new Error("malformed details");
  return names[line.key] ?? line.lowered;
}

// Choosing

const INTEGRATED = ["5.3", "6.2", "7.2", "8.7", "10.1", "11.0"];
const pair = value => value.split(".").map(Number);
const compare = (a, b) => a[0] - b[0] || a[1] - b[1];

function parseArch(arch) {
  const [, major, minor, suffix] = /_([0-9]+)([0-9])([af]?)$/.exec(arch);
  return { capability: [Number(major), Number(minor)], suffix, number: Number(major + minor) };
}

function rank(image, device) {
  const { capability, suffix, number } = parseArch(image.arch);
  if (suffix === "a") return [0, -number];
  if (compare(capability, device) === 0) return [suffix ? 2 : 1, -number];
  return [suffix ? 2 : 3, -number];
}

function unsuited(image, device) {
  const { capability, suffix } = parseArch(image.arch);
  if (compare(capability, device) === 0) return null;
  if (suffix === "a") return "device";
  const sameMajor = capability[0] === device[0];
  if (suffix === "f") return !sameMajor ? "family" : device[1] < capability[1] ? "capability" : null;
  if (image.kind === "ptx") return compare(device, capability) < 0 ? "capability" : null;
  if (!sameMajor) return "major";
  return device[1] < capability[1] ? "minor" : null;
}

function onTrial(image, device) {
  const { capability, suffix } = parseArch(image.arch);
  const integrated = [capability, device].some(one => INTEGRATED.includes(one.join(".")));
  return !suffix && integrated && compare(capability, device) !== 0 && unsuited(image, device) === null;
}

function newestIsa([major, minor]) {
  if (major < 11) return [6, 0];
  if (major === 11) return [7, minor];
  if (major === 12) return [8, minor < 6 ? minor : minor - 1];
  return major === 13 ? [9, minor] : [Infinity, 0];
}

function refusal(index, image, line, device, driver) {
  const tooNew = image.kind === "ptx" && driver !== null && compare(pair(image.ptx_isa), newestIsa(pair(driver))) > 0;
  return unsuited(image, device) ?? (index.editable ? "stale" : null) ?? (tooNew ? "isa" : null)
    ?? ((image.lacks ?? []).includes(line.lowered) ? "lacks" : null);
}

function attempt(store, index, line, { device, driver, refuses = {} }, images, refused) {
  for (const image of images.sort((a, b) => compare(rank(a, device), rank(b, device)))) {
    const name = `${image.arch} ${image.kind}`;
    refused[name] = refusal(index, image, line, device, driver);
    if (refused[name]) continue;
    try {
      const sha256 = readImage(store, line.module, image);
      const lowered = loweredIn(store, line, image);
      if (!(sha256 in refuses)) return { module: line.module, image: name, sha256, lowered };
      refused[name] = "driver";
    } catch {
      refused[name] = "damaged";
    }
    if ([218, 221, 222, 223].includes(refuses[image.sha256])) break;
  }
  return null;
}

function choose(store, index, line, ask) {
  const refused = {};
  const cubins = index.images.filter(image => image.kind === "cubin");
  const taken = images => attempt(store, index, line, ask, images, refused);
  const made = ask.compiler ? compiled(store, index, ask) : {};
  return taken(cubins.filter(image => !onTrial(image, ask.device)))
    ?? taken(index.images.filter(image => image.kind === "ptx"))
    ?? (made.compile ? { refused, ...made } : null)
    ?? taken(cubins.filter(image => onTrial(image, ask.device)))
    ?? { refused, ...made };
}

// Compiling: this loader only says for what

const SUFFIXED = ["9.0", "10.0", "10.1", "10.3", "10.7", "11.0", "12.0", "12.1"];
const COMPILERS = {
  "13.0": ["7.5", "8.0", "8.6", "8.7", "8.8", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1"],
};

function compileArch(images, device, compiler) {
  if (!COMPILERS[compiler].includes(device.join("."))) return {};
  const known = SUFFIXED.includes(device.join("."));
  const has = suffix => images.some(image => parseArch(image.arch).suffix === suffix);
  const suffix = known && has("a") ? "a" : known && device[0] >= 10 && has("f") ? "f" : "";
  return { compile: `sm_${device.join("")}${suffix}` };
}

function damagedSource(store, { schema, module, files }) {
  const folder = schema === 1 ? `${module}/source` : "project.source";
  const damaged = Object.entries(files).find(([path, digest]) => {
    const file = `${store}/${folder}/${path}`;
    return !innerPath(path) || !existsSync(file) || sha256Of(readFileSync(file)) !== digest;
  });
  return damaged && `${folder}/${damaged[0]}`;
}

function compiled(store, index, { device, compiler }) {
  const found = compileArch(index.images, device, compiler);
  const damaged = found.compile && damagedSource(store, index);
  return damaged ? { damaged } : found;
}

function answer(ask) {
  const device = pair(ask.device);
  const line = ask.axes ? findByAxes(ask.store, ask) : findLine(ask.store, ask);
  const index = readIndex(ask.store, line.module);
  if (!line.unlisted) return choose(ask.store, index, line, { ...ask, device });
  return { refused: {}, ...(ask.compiler ? compiled(ask.store, index, { ...ask, device }) : {}) };
}

function answerOrError(ask) {
  try {
    return answer(ask);
  } catch (error) {
    if (error instanceof Refusal) return error.answer;
    throw error;
  }
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf-8")).map(answerOrError)));

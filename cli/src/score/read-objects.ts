// Reads Kubernetes objects from YAML or JSON: single objects, lists, several documents. All offline inputs
// use it. Returns objects as an API server would answer them.
import type { KubernetesObject, Unchecked } from "@isochrone/kubernetes";
import { isNamespaced } from "@isochrone/kubernetes/basics";
import {
  ADMISSION_KINDS,
  admittedPod,
  completedObject,
  jsonDocuments,
  quantityFault,
} from "@isochrone/kubernetes/offline";
import {
  jsonNestingProblem,
  TextError,
  YAML_LIMITS,
  yamlDocuments,
  yamlSizeProblem,
} from "@isochrone/runtime/yaml-text";
import type { TextProblem, YamlLimits } from "@isochrone/runtime/yaml-text";
import { LineCounter, parseDocument } from "yaml";
import type { Document } from "yaml";
import { isRecord } from "@isochrone/primitives";
import { DumpError, shown } from "./errors.ts";

export type Json = Readonly<Record<string, unknown>>;

/** `fail` makes an error with object and position; `path` leads from the object to the faulty value. */
export interface DumpObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly json: Unchecked<KubernetesObject>;
  fail(path: readonly (string | number)[], rule: string, value: unknown): DumpError;
}

interface ParsedDocument {
  readonly json: unknown;
  lineOf(path: readonly (string | number)[]): number | null;
}

type Path = readonly (string | number)[];
/** @param what name of the place in the message; undefined: the path */
type Fail = (path: Path, rule: string, value: unknown, what?: string) => DumpError;

/** Flattens lists. Throws DumpError. @param beside objects of the same cluster */
export function readObjects(text: string, file: string, beside: readonly DumpObject[] = []): DumpObject[] {
  const objects: DumpObject[] = [];
  for (const [index, document] of parseDocuments(text, file).entries()) {
    if (document.json === null || document.json === undefined) continue;
    const fail: Fail = (path, rule, value, what = path.join(".") || "the document") =>
      new DumpError(
        "malformed_dump",
        { file, document: index + 1, line: document.lineOf(path) },
        `${what} ${rule}, got ${shown(value)}`,
      );
    collect(document.json, [], null, fail, objects);
  }
  const rules = [...beside, ...objects].filter(({ kind }) => ADMISSION_KINDS.has(kind));
  if (rules.length === 0) return objects;
  return objects.map((object) =>
    object.kind === "Pod" ? { ...object, json: admittedPod(object.json, object.namespace, rules) } : object,
  );
}

function collect(
  json: unknown,
  path: Path,
  listKind: string | null,
  fail: Fail,
  objects: DumpObject[],
): void {
  if (!isRecord(json)) throw fail(path, "must be a Kubernetes object", json);
  // Items of a typed list (PodList) have no kind.
  const { kind: ownKind, items: listed } = json;
  const kind = ownKind ?? listKind;
  if (typeof kind !== "string") throw fail([...path, "kind"], "must be text", ownKind);
  if (kind.endsWith("List") && listed !== undefined) {
    const items = listed ?? [];
    if (!Array.isArray(items)) throw fail([...path, "items"], "must be a list", items);
    const itemKind = kind === "List" ? null : kind.slice(0, -"List".length);
    for (const [index, item] of items.entries())
      collect(item, [...path, "items", index], itemKind, fail, objects);
    return;
  }
  objects.push(readObject(json, kind, path, fail));
}

function readObject(json: Json, kind: string, path: Path, failAt: Fail): DumpObject {
  const at = (inner: Path, rule: string, value: unknown): DumpError =>
    failAt([...path, ...inner], rule, value);
  const { metadata } = json;
  if (!isRecord(metadata)) throw at(["metadata"], "must be an object", metadata);
  const { name, namespace } = metadata;
  if (typeof name !== "string" || name === "") throw at(["metadata", "name"], "must be text", name);
  if (namespace !== undefined && typeof namespace !== "string")
    throw at(["metadata", "namespace"], "must be text", namespace);
  // An object's name identifies it better than its index in a list of thousands.
  const subject = objectText(kind, namespace ?? null, name);
  const fail: DumpObject["fail"] = (inner, rule, value) =>
    failAt([...path, ...inner], rule, value, `${subject}: ${inner.join(".")}`);
  const fault = quantityFault(kind, json);
  if (fault !== null) throw fail(fault.path, fault.rule, fault.value);
  return { kind, name, namespace: namespace ?? "default", json: completedObject(kind, json), fail };
}

/** Formats as kubectl does: `Deployment shop/web`, `Node n1`. */
export function objectText(kind: string, namespace: string | null, name: string): string {
  const within = isNamespaced({ apiVersion: "", kind }) ? `${namespace ?? "default"}/` : "";
  return `${kind} ${within}${name}`;
}

/** Bytes: JSON of 5,000 nodes with 30 pods each, and near the longest string of Node.js. */
export const DUMP_BYTES = 512 * 1024 * 1024;
/** YAML of about 3,000 nodes with pods. The YAML parser needs about 1 s per MiB, the JSON parser far less. */
const DUMP_LIMITS: YamlLimits = { bytes: 64 * 1024 * 1024, nesting: 64, lexemes: 200_000 };

/** Tries JSON first: the YAML parser needs minutes for JSON of a large cluster. */
export function parseDocuments(text: string, file: string): ParsedDocument[] {
  return (text.trimStart().startsWith("{") ? parseJson(text, file) : null) ?? parseYaml(text, file);
}

/** Returns null for YAML flow style and faulty JSON. The YAML parser then reports the line. */
function parseJson(text: string, file: string): ParsedDocument[] | null {
  try {
    return [jsonDocument(text, 0, file)];
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  try {
    const documents = jsonDocuments(text);
    return documents && documents.map((each) => jsonDocument(each.text, each.linesBefore, file));
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function jsonDocument(text: string, linesBefore: number, file: string): ParsedDocument {
  const json: unknown = JSON.parse(text);
  const deep = jsonNestingProblem(json, DUMP_LIMITS.nesting);
  if (deep !== null) throw errorOf(deep, file);
  return {
    json,
    lineOf: (path) => {
      const line = lineInJson(text, path);
      return line === null ? null : line + linesBefore;
    },
  };
}

/** Returns null if the YAML parser would take too long. */
function lineInJson(text: string, path: Path): number | null {
  const lines = new LineCounter();
  if (text.length > YAML_LIMITS.bytes || yamlSizeProblem(text, DUMP_LIMITS) !== null) return null;
  return lineIn(parseDocument(text, { lineCounter: lines, uniqueKeys: false }), lines, path);
}

function parseYaml(text: string, file: string): ParsedDocument[] {
  try {
    return yamlDocuments(text, DUMP_LIMITS).map(({ document, lines, json }) => ({
      json: json(),
      lineOf: (path) => lineIn(document, lines, path),
    }));
  } catch (error) {
    if (error instanceof TextError) throw errorOf(error.problem, file);
    throw error;
  }
}

function errorOf({ document, line, message }: TextProblem, file: string): DumpError {
  return new DumpError("malformed_dump", { file, document, line }, message);
}

function lineIn(document: Document.Parsed, lines: LineCounter, path: Path): number | null {
  for (let length = path.length; length >= 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    const range =
      typeof node === "object" && node !== null && "range" in node
        ? (node.range as readonly number[] | null)
        : null;
    if (range?.[0] !== undefined) return lines.linePos(range[0]).line;
  }
  return null;
}

export function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

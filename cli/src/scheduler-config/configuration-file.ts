// A KubeSchedulerConfiguration as text: parsed with its comments, and checked as far as merging needs.
import { TextError, yamlDocuments } from "@isochrone/runtime";
import type { YamlDocument } from "@isochrone/runtime";
import { LineCounter, parseDocument } from "yaml";
import type { Document } from "yaml";
import { isList, isRecord } from "@isochrone/primitives";
import { CommandError } from "../errors.ts";
import { shown } from "../score/errors.ts";

const API_VERSION = "kubescheduler.config.k8s.io/v1";
const KIND = "KubeSchedulerConfiguration";

type Json = Readonly<Record<string, unknown>>;

interface ConfigurationFields extends Json {
  readonly profiles?: unknown;
  readonly extenders?: unknown;
}

/** Edit `document`, which keeps comments; `json` is the original content. */
export interface ConfigurationFile {
  readonly name: string;
  readonly document: Document;
  readonly json: ConfigurationFields;
  fail(path: readonly (string | number)[], rule: string, value: unknown): CommandError;
}

export function emptyConfiguration(): ConfigurationFile {
  return readConfiguration(`apiVersion: ${API_VERSION}\nkind: ${KIND}\n`, "(no file)");
}

/** Throws CommandError. */
export function readConfiguration(text: string, name: string): ConfigurationFile {
  const documents = documentsOf(text, name);
  if (documents.length > 1) throw new CommandError(`${name} must hold one document, got ${documents.length}`);
  const document = documents[0]?.document ?? parseDocument(text);
  const lines = documents[0]?.lines ?? new LineCounter();
  const fail: ConfigurationFile["fail"] = (path, rule, value) => {
    const line = lineOf(document, lines, path);
    const field = path.length === 0 ? "the document" : path.join(".");
    return new CommandError(
      `${name}${line === null ? "" : `, line ${line}`}: ${field} ${rule}, got ${shown(value)}`,
    );
  };
  const json: unknown = document.toJS();
  if (!isRecord(json)) throw fail([], `must be a ${KIND}`, json);
  const { kind, apiVersion, leaderElection } = json;
  if (kind !== KIND) throw fail(["kind"], `must be ${KIND}`, kind);
  if (apiVersion !== API_VERSION)
    throw fail(["apiVersion"], `must be ${API_VERSION} (Kubernetes 1.25 and later)`, apiVersion);
  for (const field of ["profiles", "extenders"] as const) checkList(json, field, fail);
  checkPluginConfigs(json, fail);
  if (leaderElection !== undefined && !isRecord(leaderElection))
    throw fail(["leaderElection"], "must be an object", leaderElection);
  return { name, document, json, fail };
}

function documentsOf(text: string, name: string): YamlDocument[] {
  try {
    return yamlDocuments(text);
  } catch (error) {
    if (!(error instanceof TextError)) throw error;
    const { line, message } = error.problem;
    throw new CommandError(`${name}${line === null ? "" : `, line ${line}`}: ${message}`, { cause: error });
  }
}

/** YAML with the file's comments. Certificates stay on one line, so that repeated merges are equal. */
export function configurationText(document: Document): string {
  return document.toString({ lineWidth: 0, flowCollectionPadding: false }).trimEnd();
}

function checkList(json: Json, field: string, fail: ConfigurationFile["fail"]): void {
  const value = json[field];
  if (value === undefined || value === null) return;
  if (!isList(value)) throw fail([field], "must be a list", value);
  for (const [index, entry] of value.entries())
    if (!isRecord(entry)) throw fail([field, index], "must be an object", entry);
}

function checkPluginConfigs({ profiles }: ConfigurationFields, fail: ConfigurationFile["fail"]): void {
  for (const [index, profile] of recordsOf(profiles).entries()) {
    const { pluginConfig: configs } = profile;
    if (configs === undefined || configs === null) continue;
    const path = ["profiles", index, "pluginConfig"] as const;
    if (!isList(configs)) throw fail(path, "must be a list", configs);
    for (const [at, config] of configs.entries()) {
      if (!isRecord(config)) throw fail([...path, at], "must be an object", config);
      const { args } = config;
      if (args !== undefined && args !== null && !isRecord(args))
        throw fail([...path, at, "args"], "must be an object", args);
      const { ignoredResources: ignored } = isRecord(args) ? args : {};
      if (ignored !== undefined && ignored !== null && !Array.isArray(ignored))
        throw fail([...path, at, "args", "ignoredResources"], "must be a list", ignored);
    }
  }
}

/** Returns [] if the value is not a list. */
export function recordsOf(value: unknown): Json[] {
  return isList(value) ? value.filter(isRecord) : [];
}

function lineOf(document: Document, lines: LineCounter, path: readonly (string | number)[]): number | null {
  for (let length = path.length; length >= 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    const range =
      typeof node === "object" && node !== null && "range" in node
        ? (node.range as readonly number[] | null | undefined)
        : null;
    if (range?.[0] !== undefined) return lines.linePos(range[0]).line;
  }
  return null;
}

// Lenient readers of raw Kubernetes objects: a value of the wrong type counts as absent.
import { isRecord } from "@isochrone/primitives";
import type { Metadata, Untrusted } from "./fields.ts";

/** As the API server returns it, with defaults. Must not change while a model holds it. */
export interface ApiObject {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
  readonly spec?: unknown;
  readonly status?: unknown;
}

type Json = Readonly<Record<string, unknown>>;
export type Labels = Readonly<Record<string, string>>;

const NOTHING: Json = Object.freeze({});
const NO_ITEMS: readonly Json[] = Object.freeze([]);

/** Types only the field names; values stay unknown. */
export function record<T extends object>(value: Untrusted<T> | undefined): T;
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller names the fields that it reads
export function record<T extends object = Json>(value: unknown): T;
export function record(value: unknown): Json {
  return isRecord(value) ? value : NOTHING;
}

export function records<T extends object>(value: Untrusted<readonly T[]> | undefined): readonly T[];
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller names the fields that it reads
export function records<T extends object = Json>(value: unknown): readonly T[];
export function records(value: unknown): readonly Json[] {
  return Array.isArray(value) && value.length > 0 ? value.map((entry: unknown) => record(entry)) : NO_ITEMS;
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

export function integer(value: unknown, otherwise: number): number {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : otherwise;
}

export function labelsOf(object: ApiObject): Labels {
  return textMembers(record<Metadata>(object.metadata).labels);
}

/** Drops members that aren't strings. Returns the object itself if all are. */
export function textMembers(value: unknown): Labels {
  const members = record(value);
  if (areTexts(members)) return members;
  return Object.fromEntries(
    Object.entries(members).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

function areTexts(members: Json): members is Labels {
  return Object.values(members).every((member) => typeof member === "string");
}

export function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

export function namespaceOf(object: ApiObject): string {
  return object.metadata.namespace ?? "default";
}

export function keyOf(object: ApiObject): string {
  return `${namespaceOf(object)}/${object.metadata.name}`;
}

export function isTerminating(object: ApiObject): boolean {
  return text(record<Metadata>(object.metadata).deletionTimestamp) !== "";
}

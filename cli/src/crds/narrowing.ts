// Detects whether a new CustomResourceDefinition is narrower than the old one: valid objects must stay valid
// with all their fields.
import type { KubernetesObject } from "@isochrone/kubernetes";

interface Schema extends Readonly<Record<string, unknown>> {
  readonly type?: unknown;
  readonly enum?: unknown;
  readonly required?: unknown;
  readonly nullable?: unknown;
  readonly properties?: unknown;
}

interface Version {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema?: { readonly openAPIV3Schema?: Schema };
  readonly subresources?: Schema;
}

interface Definition {
  readonly scope?: string;
  readonly names?: { readonly plural?: string; readonly kind?: string };
  readonly versions?: readonly Version[];
}

const RULES = "x-kubernetes-validations";
const KEEPS_UNKNOWN = "x-kubernetes-preserve-unknown-fields";
/** Limits by the direction of change that narrows. */
const UPPER = ["maximum", "maxLength", "maxItems", "maxProperties"];
const LOWER = ["minimum", "minLength", "minItems", "minProperties"];
/** Incomparable keywords: any other value may refuse what this one accepts. */
const EXACT = ["pattern", "format", "multipleOf", "uniqueItems", "not", "oneOf", "anyOf", "allOf"];

/** Lists everything valid under `from` but not under `to`, with place and reason; empty: nothing. */
export function narrowings(from: KubernetesObject, to: KubernetesObject): string[] {
  const [old, next] = [from.spec ?? {}, to.spec ?? {}] as [Definition, Definition];
  const name = (definition: Definition): string =>
    `${definition.scope} ${definition.names?.plural} ${definition.names?.kind}`;
  if (name(old) !== name(next)) return [`spec: is ${name(next)} and was ${name(old)}`];
  return (old.versions ?? []).filter(({ served }) => served).flatMap((version) => ofVersion(version, next));
}

function ofVersion(version: Version, next: Definition): string[] {
  const place = version.name;
  const found = next.versions?.find(({ name }) => name === version.name);
  if (found === undefined) return [`${place}: is gone`];
  if (!found.served) return [`${place}: is no longer served`];
  const lost = Object.keys(version.subresources ?? {}).filter(
    (name) => found.subresources?.[name] === undefined,
  );
  return [
    ...lost.map((name) => `${place}: the subresource ${name} is gone`),
    ...ofSchema(version.schema?.openAPIV3Schema ?? {}, found.schema?.openAPIV3Schema ?? {}, place),
  ];
}

function ofSchema(old: Schema, next: Schema, place: string): string[] {
  if (old.type !== undefined && next.type !== undefined && old.type !== next.type)
    return [`${place}: is ${text(next.type)} and was ${text(old.type)}`];
  return [
    ...ofLimits(old, next).map((what) => `${place}: ${what}`),
    ...ofProperties(old, next, place),
    ...ofChild(old, next, "items", `${place}[]`),
    ...ofChild(old, next, "additionalProperties", `${place}.*`),
  ];
}

function ofLimits(old: Schema, next: Schema): string[] {
  const tighter = (
    keys: readonly string[],
    isTighter: (before: number, after: number) => boolean,
  ): string[] =>
    keys.filter((key) => {
      const [before, after] = [old[key], next[key]];
      return typeof after === "number" && (typeof before !== "number" || isTighter(before, after));
    });
  const limits = [...tighter(UPPER, (a, b) => b < a), ...tighter(LOWER, (a, b) => b > a)];
  const exact = EXACT.filter((key) => next[key] !== undefined && !isSame(old[key], next[key]));
  return [
    ...[...limits, ...exact].map((key) => `${key} is ${text(next[key])} and was ${text(old[key])}`),
    ...ofEnum(old.enum, next.enum),
    ...added(old.required, next.required).map((name) => `${text(name)} is required and was not`),
    ...added(old[RULES], next[RULES]).map((rule) => `new rule ${text(rule)}`),
    ...(old.nullable === true && next.nullable !== true ? ["null is no longer allowed"] : []),
    ...(keepsUnknown(old) && !keepsUnknown(next) ? ["unknown fields are no longer kept"] : []),
  ];
}

function ofEnum(old: unknown, next: unknown): string[] {
  if (!Array.isArray(next)) return [];
  if (!Array.isArray(old)) return [`only ${text(next)} are allowed`];
  return added(next, old).map((value) => `${text(value)} is no longer allowed`);
}

function ofProperties(old: Schema, next: Schema, place: string): string[] {
  const [before, after] = [tableOf(old.properties), tableOf(next.properties)];
  return Object.entries(before).flatMap(([name, schema]) => {
    const found = after[name];
    if (found !== undefined) return ofSchema(tableOf(schema), tableOf(found), `${place}.${name}`);
    return keepsUnknown(next) ? [] : [`${place}.${name}: is gone`];
  });
}

function ofChild(old: Schema, next: Schema, key: string, place: string): string[] {
  const [before, after] = [old[key], next[key]];
  if (before === undefined || before === false || after === true) return [];
  if (after === undefined || after === false) return keepsUnknown(next) ? [] : [`${place}: is gone`];
  return ofSchema(tableOf(before), tableOf(after), place);
}

function keepsUnknown(schema: Schema): boolean {
  return schema[KEEPS_UNKNOWN] === true;
}

function added(first: unknown, second: unknown): unknown[] {
  const before = new Set((Array.isArray(first) ? first : []).map(text));
  return (Array.isArray(second) ? second : []).filter((value) => !before.has(text(value)));
}

function isSame(a: unknown, b: unknown): boolean {
  return text(a) === text(b);
}

function text(value: unknown): string {
  return value === undefined ? "nothing" : (JSON.stringify(value) ?? "nothing");
}

function tableOf(value: unknown): Schema {
  return typeof value === "object" && value !== null ? (value as Schema) : {};
}

// Parsers of option values. Errors name the option, the rule and the value.
import { codeOf } from "@isochrone/primitives";
import type { Relocation, Scaling, Slowdown } from "@isochrone/placement";
import { InvalidArgumentError, Option } from "commander";
import { accessSync, constants, statSync } from "node:fs";

const DURATION_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };

/** Longer timers fire at once. Milliseconds. */
export const LONGEST_MS = 24 * 3_600_000;

/** `80ms`, `2s`, `1.5m`, or a bare number of milliseconds; at most a day. */
export function durationMs(text: string): number {
  return durationFrom(0, LONGEST_MS)(text);
}

export function duration(flags: string, description: string, minMs = 0, maxMs = LONGEST_MS): Option {
  const bounds = `ms, s or m: ${inUnits(minMs)} to ${inUnits(maxMs)}`;
  return new Option(flags, `${description} (${bounds})`).argParser(durationFrom(minMs, maxMs));
}

/** As {@link durationMs}, within a range in milliseconds. */
export function durationFrom(minMs: number, maxMs: number): (text: string) => number {
  return (text) => {
    const value = durationOf(text);
    if (value < minMs || value > maxMs)
      throw new InvalidArgumentError(
        `must be a duration from ${inUnits(minMs)} to ${inUnits(maxMs)}, got ${JSON.stringify(text)}`,
      );
    return value;
  };
}

function inUnits(ms: number): string {
  const [unit] = Object.entries(DURATION_UNITS).findLast(([, size]) => ms >= size && ms % size === 0) ?? [
    "ms",
  ];
  return `${ms / DURATION_UNITS[unit]!}${unit}`;
}

function durationOf(text: string): number {
  const [, number, unit = "ms"] = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(text) ?? [];
  if (number === undefined)
    throw new InvalidArgumentError(
      `must be a duration such as 80ms, 2s or 1m, without a unit in ms, got ${JSON.stringify(text)}`,
    );
  return Number(number) * DURATION_UNITS[unit]!;
}

/** Parses `0.01` or `1%`. */
export function ratio(text: string): number {
  const value = text.endsWith("%") ? Number(text.slice(0, -1)) / 100 : Number(text);
  if (text.trim() === "" || !(value >= 0 && value <= 1))
    throw new InvalidArgumentError(`must be between 0 and 1, got ${JSON.stringify(text)}`);
  return value;
}

/** Ten terabits: beyond any link. */
const MAX_BITS_PER_SECOND = 1e13;
const RATE_UNITS: Readonly<Record<string, number>> = { "": 1, k: 1e3, M: 1e6, G: 1e9 };

/** `100M`, `1G`, or bits per second. */
export function bitsPerSecond(text: string): number {
  const [, number, unit = ""] = /^(\d+(?:\.\d+)?)([kMG]?)$/.exec(text) ?? [];
  if (number === undefined)
    throw new InvalidArgumentError(
      `must be a rate such as 100M or 1G (bits per second), got ${JSON.stringify(text)}`,
    );
  const value = Number(number) * RATE_UNITS[unit]!;
  if (value > MAX_BITS_PER_SECOND)
    throw new InvalidArgumentError(
      `must be at most ${MAX_BITS_PER_SECOND} bits per second, got ${JSON.stringify(text)}`,
    );
  return value;
}

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(
        `must be a whole number from ${min} to ${max}, got ${JSON.stringify(text)}`,
      );
    return value;
  };
}

export function positiveNumber(max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!(value > 0) || value > max)
      throw new InvalidArgumentError(
        `must be a number above 0 and at most ${max}, got ${JSON.stringify(text)}`,
      );
    return value;
  };
}

/** A server URL; http without a scheme. Ends without a slash. */
export function httpUrl(text: string): string {
  const hasScheme = /^[a-z][a-z\d+.-]*:\/\//i.test(text);
  const whole = hasScheme ? text : `http://${text}`;
  const url = URL.canParse(whole) ? new URL(whole) : null;
  const isAddress =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    (hasScheme || /^[\w.-]+:\d+\/*$|^\[[\da-f:.]+\]:\d+\/*$/i.test(text)) &&
    url.port !== "0" &&
    // Paths are appended to it.
    `${url.username}${url.password}${url.search}${url.hash}` === "";
  if (!isAddress)
    throw new InvalidArgumentError(
      `must be an http or https address without user, query and fragment, such as https://graph.example:8080 or 127.0.0.1:8080, got ${JSON.stringify(text)}`,
    );
  return whole.replace(/\/+$/, "");
}

/** `alpha=0.5,beta=0.5` -> numbers by name. */
export function assignments(text: string): Readonly<Record<string, number>> {
  const values: Record<string, number> = {};
  for (const part of text.split(",")) {
    const [, name, number] = /^\s*([a-zA-Z.-]+)=(-?\d+(?:\.\d+)?)\s*$/.exec(part) ?? [];
    if (name === undefined || !Number.isFinite(Number(number)))
      throw new InvalidArgumentError(
        `must be name=number pairs joined by commas, got ${JSON.stringify(part)}`,
      );
    values[name] = Number(number);
  }
  return values;
}

export function namedValue(
  text: string,
  before: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError(`must be name=value, got ${JSON.stringify(text)}`);
  return new Map([...before, [text.slice(0, at), text.slice(at + 1)]]);
}

export function listed(text: string): readonly string[] {
  const parts = text.split(",").map((part) => part.trim());
  if (parts.some((part) => part === ""))
    throw new InvalidArgumentError(`must be names joined by commas, got ${JSON.stringify(text)}`);
  return parts;
}

export function hostNames(text: string, before: readonly string[] = []): readonly string[] {
  if (!/^(?:[\w.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i.test(text))
    throw new InvalidArgumentError(`must be a host name or name:port, got ${JSON.stringify(text)}`);
  return [...before, text];
}

/** RFC 1123 label: names of namespaces and Services. */
export function dnsLabel(text: string): string {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text))
    throw new InvalidArgumentError(
      `must be at most 63 small letters, digits and dashes, got ${JSON.stringify(text)}`,
    );
  return text;
}

export function objectName(text: string): string {
  const parts = text.split(".");
  if (text.length > 253 || !parts.every((part) => /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(part)))
    throw new InvalidArgumentError(
      `must be at most 253 small letters, digits, dashes and dots, got ${JSON.stringify(text)}`,
    );
  return text;
}

export function objectNames(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, objectName(text)];
}

/** `namespace/name` */
export function namespacedName(text: string): readonly [namespace: string, name: string] {
  const [namespace, name, ...rest] = text.split("/");
  if (!namespace || !name || rest.length > 0)
    throw new InvalidArgumentError(`must be namespace/name, got ${JSON.stringify(text)}`);
  return [namespace, name];
}

/** `namespace/name=5`, repeatable. */
export function scalings(text: string, before: readonly Scaling[] = []): readonly Scaling[] {
  const [, workload, digits] = /^([^/=]+\/[^/=]+)=(\d{1,9})$/.exec(text) ?? [];
  if (workload === undefined)
    throw new InvalidArgumentError(
      `must be namespace/name=replicas with 0 or more replicas, got ${JSON.stringify(text)}`,
    );
  return [...before, { workload, replicas: Number(digits) }];
}

/** `namespace/pod=node`, repeatable. */
export function relocations(text: string, before: readonly Relocation[] = []): readonly Relocation[] {
  const [, pod, node] = /^([^/=]+\/[^/=]+)=([^=]+)$/.exec(text) ?? [];
  if (pod === undefined || node === undefined)
    throw new InvalidArgumentError(`must be namespace/pod=node, got ${JSON.stringify(text)}`);
  return [...before, { pod, node }];
}

/** `a:b=+10ms` or `a:b=x1.5`, repeatable. */
export function slowdowns(text: string, before: readonly Slowdown[] = []): readonly Slowdown[] {
  const [, a, b, how, amount = ""] = /^([^:=]+):([^:=]+)=([+x])(.+)$/.exec(text) ?? [];
  if (a === undefined || b === undefined)
    throw new InvalidArgumentError(
      `must be a:b=+10ms or a:b=x1.5, a and b being nodes or zones, got ${JSON.stringify(text)}`,
    );
  const link =
    how === "+"
      ? { addMs: durationMs(amount), factor: 1 }
      : { addMs: 0, factor: positiveNumber(1e6)(amount) };
  return [...before, { a, b, ...link }];
}

export function names(text: string, before: readonly string[] = []): readonly string[] {
  if (text.trim() === "") throw new InvalidArgumentError(`must be a name, got ${JSON.stringify(text)}`);
  return [...before, text];
}

/** Annotation prefix: empty, or a DNS name and a slash. */
export function annotationPrefix(text: string): string {
  if (!/^([a-z0-9]([a-z0-9.-]*[a-z0-9])?\/)?$/.test(text))
    throw new InvalidArgumentError(
      `must be empty, or a DNS name and a slash, as isochrone.dev/, got ${JSON.stringify(text)}`,
    );
  return text;
}

/** A readable file path, or a shell's `<(command)`. */
export function readableFile(text: string): string {
  return readable(text, "file");
}

export function readableFiles(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, readableFile(text)];
}

export function readableFolder(text: string): string {
  return readable(text, "folder");
}

export function readableFolders(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, readableFolder(text)];
}

function readable(text: string, what: "file" | "folder"): string {
  const refused = (reason: string): InvalidArgumentError =>
    new InvalidArgumentError(`must be a readable ${what}, got ${JSON.stringify(text)}: ${reason}`);
  let isFolder: boolean;
  try {
    accessSync(text, constants.R_OK);
    isFolder = statSync(text).isDirectory();
  } catch (error) {
    throw refused(codeOf(error) ?? String(error));
  }
  if (isFolder !== (what === "folder")) throw refused(isFolder ? "it is a folder" : "it is none");
  return text;
}

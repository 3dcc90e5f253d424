import { NamespaceError } from "./errors.ts";

const MARK = "isolab";
/** Namespace of a lab's bridge or wire; no node has this name. */
export const HUB = "_hub";
/** MAC and IP addresses number nodes in two bytes, and counters exist for every ordered pair. */
const MAX_NODES = 128;
const NODE_NAME = /^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/;
const PREFIX = /^isolab-(\d+)-(\d+)-[0-9a-f]+-/;

/** The process that created a lab, with its start time, because process ids are reused. */
export interface Owner {
  readonly pid: number;
  /** Clock ticks from boot to process start: field 22 of /proc/PID/stat. */
  readonly startTicks: number;
}

export function labPrefix({ pid, startTicks }: Owner, random: string): string {
  return `${MARK}-${pid}-${startTicks}-${random}-`;
}

export function labOf(namespace: string): { readonly prefix: string; readonly owner: Owner } | null {
  const match = PREFIX.exec(namespace);
  if (match === null) return null;
  return { prefix: match[0], owner: { pid: Number(match[1]), startTicks: Number(match[2]) } };
}

export function checkNodeNames(nodes: readonly string[]): void {
  if (nodes.length === 0 || nodes.length > MAX_NODES) {
    throw new NamespaceError("invalid_argument", `a lab has 1 to ${MAX_NODES} nodes, got ${nodes.length}`);
  }
  const bad = nodes.find((node) => !NODE_NAME.test(node));
  if (bad !== undefined) {
    throw new NamespaceError(
      "invalid_argument",
      `a node's name must be lower-case letters, digits and inner hyphens, at most 32, got ${JSON.stringify(bad)}`,
    );
  }
  const repeated = nodes.find((node, index) => nodes.indexOf(node) !== index);
  if (repeated !== undefined) {
    throw new NamespaceError("invalid_argument", `node names must differ, got "${repeated}" more than once`);
  }
}

/** Start time from /proc/PID/stat; null for a zombie. */
export function startTicksOf(stat: string): number | null {
  // The command's name in brackets may contain spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? null : Number(fields[19]);
}

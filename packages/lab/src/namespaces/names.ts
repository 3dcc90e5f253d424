import { NamespaceError } from "./errors.ts";

/** What the names of all our namespaces begin with. */
const MARK = "isolab";
/** The namespace of a lab that holds the bridge or the wire; no node has this name. */
export const HUB = "_hub";
/** MAC addresses and addresses count nodes in two bytes, and counters are kept for every ordered pair. */
const MAX_NODES = 128;
const NODE_NAME = /^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/;
const PREFIX = /^isolab-(\d+)-(\d+)-[0-9a-f]+-/;

/** Who made a lab: its process, and when that started, because the system gives process numbers again. */
export interface Owner {
  readonly pid: number;
  /** Clock ticks from boot to the process's start: field 22 of /proc/PID/stat. */
  readonly startTicks: number;
}

/** What the names of one lab's namespaces begin with. `random`: hexadecimal digits. */
export function labPrefix({ pid, startTicks }: Owner, random: string): string {
  return `${MARK}-${pid}-${startTicks}-${random}-`;
}

/** The lab's prefix and owner behind a namespace's name; null when no lab made it. */
export function labOf(namespace: string): { readonly prefix: string; readonly owner: Owner } | null {
  const match = PREFIX.exec(namespace);
  if (match === null) return null;
  return { prefix: match[0], owner: { pid: Number(match[1]), startTicks: Number(match[2]) } };
}

/** @throws NamespaceError `invalid_argument` naming what is wrong with the list of nodes */
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

/**
 * Start of a process from the text of /proc/PID/stat; null for one that has ended and only waits for its
 * parent to look.
 */
export function startTicksOf(stat: string): number | null {
  // The command's name, in brackets, may hold spaces and brackets itself.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? null : Number(fields[19]);
}

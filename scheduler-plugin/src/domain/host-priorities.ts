// The answer to /prioritize. Building 5,000 objects and serialising them costs more than the scoring. Here each node's entry is
// encoded once per cluster graph, and an answer over the same nodes as the last one only gets its scores written anew.
import type { ClusterGraph } from "@isochrone/topology";

/** kube-scheduler's MaxExtenderPriority: a Score is an integer from 0 to this. */
export const MAX_EXTENDER_PRIORITY = 10;

const OPENING = '{"Host":"';
/** By priority: what stands between a name and the next. */
const TAILS = Array.from(
  { length: MAX_EXTENDER_PRIORITY + 1 },
  (_, priority) => `","Score":${priority}},${OPENING}`,
);

/** What every node gets when nothing tells them apart. */
export const NEUTRAL_PRIORITY = 5;

/** `,{"Host":"name","Score":` is followed by two characters, a space and a digit or 10, and the brace. */
const TAIL_BYTES = 3;
const SPACE = 0x20;
const ZERO = 0x30;

const encoder = new TextEncoder();

/** An answer whose scores are still to be written. */
interface Template {
  readonly bytes: Uint8Array;
  /** Where each row's two score characters are. */
  readonly scoreAt: Int32Array;
}

export class HostPriorities {
  readonly graph: ClusterGraph;
  /** Entries of all nodes, one after the other; that of id n is at #start[n] .. #start[n + 1] - 1. */
  readonly #entries: Uint8Array;
  readonly #start: Int32Array;
  /** By id: 1 for names that are their own JSON text. */
  readonly #plain: Uint8Array;
  #lastIds: Int32Array | null = null;
  #last: Template | null = null;

  constructor(graph: ClusterGraph) {
    this.graph = graph;
    this.#plain = Uint8Array.from(graph.nodes, ({ name }) => (JSON.stringify(name) === `"${name}"` ? 1 : 0));
    const entries = graph.nodes.map(({ name }) => encodeEntry(name));
    this.#start = new Int32Array(entries.length + 1);
    for (const [id, entry] of entries.entries()) this.#start[id + 1] = this.#start[id]! + entry.length;
    this.#entries = new Uint8Array(this.#start[entries.length]!);
    for (const [id, entry] of entries.entries()) this.#entries.set(entry, this.#start[id]);
  }

  /** UTF-8 JSON. `ids` and `scores` (0 to 100) by row; names that the graph doesn't hold have id -1. Keeps `ids`. */
  answer(names: readonly string[], ids: Int32Array, scores: Float64Array): string | Uint8Array {
    const again = this.#lastIds !== null && fits(this.#lastIds, ids);
    if (!again) {
      // A template pays only from the second answer over these nodes on.
      this.#lastIds = ids;
      this.#last = null;
      return this.#text(names, ids, scores);
    }
    this.#last ??= this.#build(names, ids);
    const { bytes: blank, scoreAt } = this.#last;
    const bytes = blank.slice();
    for (let row = 0; row < scores.length; row++) {
      const priority = priorityOf(scores[row]!);
      const at = scoreAt[row]!;
      bytes[at] = priority === MAX_EXTENDER_PRIORITY ? ZERO + 1 : SPACE;
      bytes[at + 1] = ZERO + (priority % MAX_EXTENDER_PRIORITY);
    }
    return bytes;
  }

  #text(names: readonly string[], ids: Int32Array, scores: Float64Array): string {
    if (ids.length === 0) return "[]";
    let text = `[${OPENING}`;
    for (let row = 0; row < ids.length; row++) {
      const id = ids[row]!;
      const name = names[row]!;
      // The request's own strings lie one after the other in memory; the graph's would be fetched from all over it.
      const quoted = id >= 0 && this.#plain[id] === 1 ? name : JSON.stringify(name).slice(1, -1);
      text += quoted;
      text += TAILS[priorityOf(scores[row]!)]!;
    }
    return `${text.slice(0, -1 - OPENING.length)}]`;
  }

  #build(names: readonly string[], ids: Int32Array): Template {
    const start = this.#start;
    const strangers = new Map<number, Uint8Array>();
    let length = names.length === 0 ? 2 : 1;
    for (let row = 0; row < ids.length; row++) {
      const id = ids[row]!;
      if (id < 0) strangers.set(row, encodeEntry(names[row]!));
      length += id < 0 ? strangers.get(row)!.length : start[id + 1]! - start[id]!;
    }
    const bytes = new Uint8Array(length);
    const scoreAt = new Int32Array(ids.length);
    // Each entry begins with a comma; the first one is overwritten by the bracket.
    let at = 0;
    for (let row = 0; row < ids.length; row++) {
      const id = ids[row]!;
      const entry = strangers.get(row) ?? this.#entries.subarray(start[id], start[id + 1]);
      bytes.set(entry, at);
      at += entry.length;
      scoreAt[row] = at - TAIL_BYTES;
    }
    bytes[0] = "[".charCodeAt(0);
    bytes[length - 1] = "]".charCodeAt(0);
    return { bytes, scoreAt };
  }
}

/** The answer that prefers no node. */
export function equalPriorities(names: readonly string[]): string {
  return JSON.stringify(names.map((name) => ({ Host: name, Score: NEUTRAL_PRIORITY })));
}

/** The same known nodes in the same order. */
function fits(ids: Int32Array, wanted: Int32Array): boolean {
  if (ids.length !== wanted.length) return false;
  for (let row = 0; row < wanted.length; row++)
    if (wanted[row]! < 0 || wanted[row] !== ids[row]) return false;
  return true;
}

function encodeEntry(name: string): Uint8Array {
  return encoder.encode(`,{"Host":${JSON.stringify(name)},"Score": 0}`);
}

/** A score of 0 to 100 as an integer of 0 to 10. */
export function priorityOf(score: number): number {
  return Math.min(MAX_EXTENDER_PRIORITY, Math.max(0, Math.round(score / 10)));
}

// Builds the /prioritize answer. Serialising 5,000 objects costs more than scoring, so each node's entry is
// encoded once per cluster graph, and an answer for the same nodes only rewrites scores. kube-scheduler adds
// scores and gives 0 to absent nodes. So long answers subtract the lowest score and leave out nodes at it,
// which keeps the ranking.
import type { ClusterGraph } from "@isochrone/topology";

/** kube-scheduler's MaxExtenderPriority: a Score is an integer from 0 to this. */
export const MAX_EXTENDER_PRIORITY = 10;

const OPENING = '{"Host":"';
const TAILS = Array.from(
  { length: MAX_EXTENDER_PRIORITY + 1 },
  (_, priority) => `","Score":${priority}},${OPENING}`,
);

/** Score of all nodes in a listed answer that distinguishes none. */
const NEUTRAL_PRIORITY = 5;

/** Answers for up to this many nodes list all with full priorities: short and easier to read. */
export const LISTED_IN_FULL = 64;

/** `,{"Host":"name","Score":` is followed by two characters (space and digit, or 10) and the brace. */
const TAIL_BYTES = 3;
const SPACE = 0x20;
const ZERO = 0x30;

const NONE = -1;

interface Said {
  readonly priorities: Uint8Array;
  readonly base: number;
  readonly leftOut: number;
}

const encoder = new TextEncoder();

interface Template {
  readonly bytes: Uint8Array;
  /** Offset of each row's entry; one more for the end. */
  readonly entryAt: Int32Array;
}

export class HostPriorities {
  readonly graph: ClusterGraph;
  /** Entries of all nodes; that of id n is #start[n] .. #start[n + 1] - 1. */
  readonly #entries: Uint8Array;
  readonly #start: Int32Array;
  /** Keyed by id: 1 if the name needs no JSON escape. */
  readonly #plain: Uint8Array;
  #lastIds: Int32Array | null = null;
  #last: Template | null = null;
  #priorities = new Uint8Array(0);

  constructor(graph: ClusterGraph) {
    this.graph = graph;
    this.#plain = Uint8Array.from(graph.nodes, ({ name }) => (JSON.stringify(name) === `"${name}"` ? 1 : 0));
    const entries = graph.nodes.map(({ name }) => encodeEntry(name));
    this.#start = new Int32Array(entries.length + 1);
    for (const [id, entry] of entries.entries()) this.#start[id + 1] = this.#start[id]! + entry.length;
    this.#entries = new Uint8Array(this.#start[entries.length]!);
    for (const [id, entry] of entries.entries()) this.#entries.set(entry, this.#start[id]);
  }

  /** Returns UTF-8 JSON. `ids` and `scores` (0 to 100) by row; id -1: not in the graph. Retains `ids`. */
  answer(names: readonly string[], ids: Int32Array, scores: Float64Array): string | Uint8Array {
    const said = this.#judge(scores);
    const again = this.#lastIds !== null && fits(this.#lastIds, ids);
    if (!again) {
      this.#lastIds = ids;
      this.#last = null;
      return this.#text(names, ids, said);
    }
    this.#last ??= this.#build(names, ids);
    return written(this.#last, said);
  }

  /** Valid until the next answer. */
  #judge(scores: Float64Array): Said {
    const rows = scores.length;
    if (this.#priorities.length !== rows) this.#priorities = new Uint8Array(rows);
    const priorities = this.#priorities;
    const best = maximum(scores);
    let lowest = MAX_EXTENDER_PRIORITY;
    for (let row = 0; row < rows; row++) {
      const priority = priorityOf(scores[row]!, best);
      priorities[row] = priority;
      if (priority < lowest) lowest = priority;
    }
    return rows <= LISTED_IN_FULL
      ? { priorities, base: 0, leftOut: NONE }
      : { priorities, base: lowest, leftOut: lowest };
  }

  #text(names: readonly string[], ids: Int32Array, { priorities, base, leftOut }: Said): string {
    let text = "";
    for (let row = 0; row < ids.length; row++) {
      const priority = priorities[row]!;
      if (priority === leftOut) continue;
      const id = ids[row]!;
      const name = names[row]!;
      // The request's strings are adjacent in memory; the graph's are scattered.
      text += id >= 0 && this.#plain[id] === 1 ? name : JSON.stringify(name).slice(1, -1);
      text += TAILS[priority - base]!;
    }
    return text === "" ? "[]" : `[${OPENING}${text.slice(0, -1 - OPENING.length)}]`;
  }

  #build(names: readonly string[], ids: Int32Array): Template {
    const start = this.#start;
    const strangers = new Map<number, Uint8Array>();
    const entryAt = new Int32Array(ids.length + 1);
    for (let row = 0; row < ids.length; row++) {
      const id = ids[row]!;
      if (id < 0) strangers.set(row, encodeEntry(names[row]!));
      const length = id < 0 ? strangers.get(row)!.length : start[id + 1]! - start[id]!;
      entryAt[row + 1] = entryAt[row]! + length;
    }
    // Each entry begins with a comma; the first becomes the opening bracket. One byte is reserved for the
    // closing one.
    const bytes = new Uint8Array(entryAt[ids.length]! + 2);
    for (let row = 0; row < ids.length; row++) {
      const id = ids[row]!;
      bytes.set(strangers.get(row) ?? this.#entries.subarray(start[id], start[id + 1]), entryAt[row]);
    }
    return { bytes, entryAt };
  }
}

/** Moves runs of listed entries together and writes their scores. */
function written({ bytes: blank, entryAt }: Template, { priorities, base, leftOut }: Said): Uint8Array {
  const rows = priorities.length;
  const bytes = blank.slice();
  let to = 0;
  for (let row = 0; row < rows; row++) {
    if (priorities[row] === leftOut) continue;
    const first = row;
    while (row < rows && priorities[row] !== leftOut) row++;
    const from = entryAt[first]!;
    const end = entryAt[row]!;
    if (to < from) bytes.copyWithin(to, from, end);
    const back = from - to + TAIL_BYTES;
    for (let entry = first; entry < row; entry++) {
      const at = entryAt[entry + 1]! - back;
      const score = priorities[entry]! - base;
      bytes[at] = score === MAX_EXTENDER_PRIORITY ? ZERO + 1 : SPACE;
      bytes[at + 1] = ZERO + (score === MAX_EXTENDER_PRIORITY ? 0 : score);
    }
    to += end - from;
  }
  if (to === 0) to = 1;
  bytes[0] = "[".charCodeAt(0);
  bytes[to] = "]".charCodeAt(0);
  return bytes.subarray(0, to + 1);
}

export function equalPriorities(names: readonly string[]): string {
  if (names.length > LISTED_IN_FULL) return "[]";
  return JSON.stringify(names.map((name) => ({ Host: name, Score: NEUTRAL_PRIORITY })));
}

export function onlyPriority(name: string): string {
  return JSON.stringify([{ Host: name, Score: MAX_EXTENDER_PRIORITY }]);
}

function fits(ids: Int32Array, wanted: Int32Array): boolean {
  if (ids.length !== wanted.length) return false;
  for (let row = 0; row < wanted.length; row++)
    if (wanted[row]! < 0 || wanted[row] !== ids[row]) return false;
  return true;
}

function encodeEntry(name: string): Uint8Array {
  return encoder.encode(`,{"Host":${JSON.stringify(name)},"Score": 0}`);
}

/**
 * Maps scores of 0 to 100 to integers of 0 to 10. A linear scale would merge nodes at 1 ms and 9 ms as soon
 * as one is at 100 ms. The root of the distance to the best gives the finest steps near the best.
 */
export function priorityOf(score: number, best: number): number {
  const gap = Math.min(1, Math.max(0, (best - score) / 100));
  return Math.round(MAX_EXTENDER_PRIORITY * (1 - Math.sqrt(gap)));
}

function maximum(scores: Float64Array): number {
  let best = 0;
  for (let row = 0; row < scores.length; row++) if (scores[row]! > best) best = scores[row]!;
  return best;
}

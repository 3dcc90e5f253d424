/**
 * CPU of nodes with processor sharing: active pods of a node get equal shares, each at most one core (pods
 * are single-threaded). Uses virtual time: all active pods of a node advance alike, so that an arrival or
 * departure changes only the node's rate.
 */
export class SharedCpus {
  readonly #cores: Float64Array;
  readonly #pods: number;
  /** Work that each active pod of the node has received so far, ms of a core. */
  readonly #virtualMs: Float64Array;
  readonly #updatedMs: Float64Array;
  readonly #rate: Float64Array;
  readonly #nextFinishMs: Float64Array;
  /** Active pods of node n: `#active[n * #pods ...]`, `#counts[n]` of them. */
  readonly #active: Int32Array;
  readonly #counts: Int32Array;
  /** Virtual time at which a pod's work ends. */
  readonly #finishAt: Float64Array;
  /** Tournament tree of the node that finishes first; leaves start at `#leaves`. */
  readonly #winners: Int32Array;
  readonly #leaves: number;

  constructor(cores: readonly number[], pods: number) {
    const nodes = cores.length;
    this.#cores = Float64Array.from(cores);
    this.#pods = pods;
    this.#virtualMs = new Float64Array(nodes);
    this.#updatedMs = new Float64Array(nodes);
    this.#rate = new Float64Array(nodes).fill(1);
    this.#nextFinishMs = new Float64Array(nodes + 1).fill(Infinity);
    this.#active = new Int32Array(nodes * pods);
    this.#counts = new Int32Array(nodes);
    this.#finishAt = new Float64Array(pods);
    this.#leaves = 2 ** Math.ceil(Math.log2(Math.max(2, nodes)));
    this.#winners = new Int32Array(2 * this.#leaves).fill(nodes);
    for (let node = 0; node < nodes; node++) this.#winners[this.#leaves + node] = node;
    for (let at = this.#leaves - 1; at > 0; at--) this.#winners[at] = this.#winners[2 * at]!;
  }

  /** Time of the next completion; Infinity if all are idle. */
  get nextMs(): number {
    return this.#nextFinishMs[this.#winners[1]!]!;
  }

  begin(node: number, pod: number, workMs: number, nowMs: number): void {
    this.#advance(node, nowMs);
    this.#finishAt[pod] = this.#virtualMs[node]! + workMs;
    this.#active[node * this.#pods + this.#counts[node]!++] = pod;
    this.#reschedule(node, nowMs);
  }

  /** Removes and returns the pod that completes at {@link nextMs}. */
  finish(): number {
    const node = this.#winners[1]!;
    const nowMs = this.#nextFinishMs[node]!;
    this.#advance(node, nowMs);
    const base = node * this.#pods;
    let first = 0;
    for (let i = 1; i < this.#counts[node]!; i++)
      if (this.#finishAt[this.#active[base + i]!]! < this.#finishAt[this.#active[base + first]!]!) first = i;
    const pod = this.#active[base + first]!;
    this.#removeAt(node, first, nowMs);
    return pod;
  }

  /** Removes a pod before completion. Returns its remaining work. */
  abandon(node: number, pod: number, nowMs: number): number {
    const base = node * this.#pods;
    const at = this.#active.subarray(base, base + this.#counts[node]!).indexOf(pod);
    if (at < 0) return 0;
    this.#advance(node, nowMs);
    const leftMs = this.#finishAt[pod]! - this.#virtualMs[node]!;
    this.#removeAt(node, at, nowMs);
    return leftMs;
  }

  #removeAt(node: number, at: number, nowMs: number): void {
    const base = node * this.#pods;
    this.#active[base + at] = this.#active[base + --this.#counts[node]!]!;
    this.#reschedule(node, nowMs);
  }

  #advance(node: number, nowMs: number): void {
    this.#virtualMs[node]! += (nowMs - this.#updatedMs[node]!) * this.#rate[node]!;
    this.#updatedMs[node] = nowMs;
  }

  #reschedule(node: number, nowMs: number): void {
    const count = this.#counts[node]!;
    const base = node * this.#pods;
    let finishAt = Infinity;
    for (let i = 0; i < count; i++) {
      const at = this.#finishAt[this.#active[base + i]!]!;
      if (at < finishAt) finishAt = at;
    }
    const rate = count === 0 ? 1 : Math.min(1, this.#cores[node]! / count);
    this.#rate[node] = rate;
    // Rounding must not move time backwards.
    this.#nextFinishMs[node] = nowMs + Math.max(0, finishAt - this.#virtualMs[node]!) / rate;
    this.#replay(node);
  }

  #replay(node: number): void {
    const winners = this.#winners;
    const next = this.#nextFinishMs;
    for (let at = (this.#leaves + node) >> 1; at > 0; at >>= 1) {
      const left = winners[2 * at]!;
      const right = winners[2 * at + 1]!;
      winners[at] = next[left]! <= next[right]! ? left : right;
    }
  }
}

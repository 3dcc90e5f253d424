/** Maximum connections in total and per source: a peer needs one, and a second while it reconnects. */
const MAX_CONNECTIONS = 1024;
const MAX_PER_SOURCE = 64;
const IDLE_MS = 120_000;
const PROVE_MS = 10_000;

interface Entry {
  readonly sourceKey: string;
  readonly openedMs: number;
  heardMs: number;
  proven: boolean;
}

/** A full table evicts the oldest connection without a valid request: silent ones cannot keep peers out. */
export class ConnectionTable<C> {
  readonly #entries = new Map<C, Entry>();
  readonly #perSource = new Map<string, number>();

  get size(): number {
    return this.#entries.size;
  }

  get all(): Iterable<C> {
    return this.#entries.keys();
  }

  /** False if the source has no place left. Calls `evict`, which must remove the connection, to make room. */
  admits(sourceKey: string, evict: (connection: C) => void): boolean {
    if ((this.#perSource.get(sourceKey) ?? 0) >= MAX_PER_SOURCE) return false;
    if (this.#entries.size < MAX_CONNECTIONS) return true;
    for (const [connection, { proven }] of this.#entries) {
      if (proven) continue;
      evict(connection);
      return true;
    }
    return false;
  }

  add(connection: C, sourceKey: string, nowMs: number): void {
    this.#entries.set(connection, { sourceKey, openedMs: nowMs, heardMs: nowMs, proven: false });
    this.#perSource.set(sourceKey, (this.#perSource.get(sourceKey) ?? 0) + 1);
  }

  heard(connection: C, nowMs: number): void {
    const entry = this.#entries.get(connection);
    if (entry !== undefined) entry.heardMs = nowMs;
  }

  proven(connection: C): void {
    const entry = this.#entries.get(connection);
    if (entry !== undefined) entry.proven = true;
  }

  remove(connection: C): void {
    const entry = this.#entries.get(connection);
    if (entry === undefined) return;
    this.#entries.delete(connection);
    const left = (this.#perSource.get(entry.sourceKey) ?? 1) - 1;
    if (left > 0) this.#perSource.set(entry.sourceKey, left);
    else this.#perSource.delete(entry.sourceKey);
  }

  expired(nowMs: number): C[] {
    const over: C[] = [];
    for (const [connection, { proven, heardMs, openedMs }] of this.#entries) {
      if (proven ? nowMs - heardMs > IDLE_MS : nowMs - openedMs > PROVE_MS) over.push(connection);
    }
    return over;
  }
}

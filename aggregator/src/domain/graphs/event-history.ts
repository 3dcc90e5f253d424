import type { GraphEvent } from "@isochrone/topology";

/** Answer to a client that comes back with the id of the last event that it saw. */
type Resume =
  | { readonly kind: "replay"; readonly events: readonly GraphEvent[] }
  | { readonly kind: "reset" };

/** Of large clusters fewer events are kept: 200,000 changed links are some 20 MB. */
const MAX_LINKS = 200_000;

/**
 * The newest events, so that a client that was away for a while misses nothing. Ids are `<epoch>-<version>`.
 */
export class EventHistory {
  readonly #epoch: string;
  readonly #limit: number;
  readonly #events: GraphEvent[] = [];
  /** Changed links in all events: what they weigh by. */
  #links = 0;

  constructor(epoch: string, limit: number) {
    this.#epoch = epoch;
    this.#limit = limit;
  }

  idOf(version: number): string {
    return `${this.#epoch}-${version}`;
  }

  /** Null before the first one. */
  get newest(): GraphEvent | null {
    return this.#events.at(-1) ?? null;
  }

  push(event: GraphEvent): void {
    this.#events.push(event);
    this.#links += event.changed.links.length;
    while (this.#events.length > this.#limit || (this.#links > MAX_LINKS && this.#events.length > 1)) {
      this.#links -= this.#events.shift()!.changed.links.length;
    }
  }

  /** `reset` for ids of another replica or life, of a version that never was, and of one too far back. */
  after(id: string): Resume {
    const match = /^(.+)-(\d{1,15})$/.exec(id);
    const newest = this.#events.at(-1)?.version;
    if (match?.[1] !== this.#epoch || newest === undefined) return { kind: "reset" };
    const version = Number(match[2]);
    const oldest = this.#events[0]!.version;
    if (version > newest || version < oldest - 1) return { kind: "reset" };
    return { kind: "replay", events: this.#events.filter((event) => event.version > version) };
  }
}

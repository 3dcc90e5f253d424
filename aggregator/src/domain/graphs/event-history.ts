import type { GraphEvent } from "@isochrone/topology";

type Resume =
  | { readonly kind: "replay"; readonly events: readonly GraphEvent[] }
  | { readonly kind: "reset" };

/** Bounds the memory: 200,000 changed links are about 20 MB, so large clusters keep fewer events. */
const MAX_LINKS = 200_000;

/** The newest events, so that a client can reconnect without a gap. Ids are `<epoch>-<version>`. */
export class EventHistory {
  readonly #epoch: string;
  readonly #limit: number;
  readonly #events: GraphEvent[] = [];
  #links = 0;

  constructor(epoch: string, limit: number) {
    this.#epoch = epoch;
    this.#limit = limit;
  }

  idOf(version: number): string {
    return `${this.#epoch}-${version}`;
  }

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

  /** Returns `reset` for ids of another replica or process, of unknown versions, and of evicted ones. */
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

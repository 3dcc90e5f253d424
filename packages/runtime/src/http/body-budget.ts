import { HttpError } from "./problem.ts";

export interface BodyLease {
  readonly bytes: number;
  readonly isOpen: boolean;
  /** Ends the reading of this body to make room; null if impossible. Set by the reader. */
  giveWay: ((error: HttpError) => void) | null;
  /** Call before keeping that many more bytes. Throws HttpError 503 `overloaded` without room. */
  take(bytes: number): void;
  release(): void;
}

/**
 * Byte budget of all bodies in memory. When exhausted, the client holding most loses its largest unfinished
 * body, so that a flood of large bodies hits its sender.
 */
export class BodyBudget {
  readonly #totalBytes: number;
  readonly #onRefused: () => void;
  readonly #leases = new Set<Lease>();
  readonly #keeper: Keeper = {
    take: (lease, bytes) => this.#take(lease, bytes),
    release: (lease) => this.#release(lease),
  };
  #usedBytes = 0;

  constructor(totalBytes: number, onRefused: () => void) {
    this.#totalBytes = totalBytes;
    this.#onRefused = onRefused;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  open(client: string): BodyLease {
    const lease = new Lease(client, this.#keeper);
    this.#leases.add(lease);
    return lease;
  }

  #take(lease: Lease, bytes: number): void {
    if (!lease.isOpen || lease.bytes + bytes > this.#totalBytes) throw this.#refusal();
    while (this.#usedBytes + bytes > this.#totalBytes) {
      const victim = this.#largestOfHeaviest();
      if (victim === null || victim === lease) throw this.#refusal();
      this.#release(victim);
      victim.giveWay?.(this.#refusal());
      victim.giveWay = null;
    }
    lease.bytes += bytes;
    this.#usedBytes += bytes;
  }

  #release(lease: Lease): void {
    if (!this.#leases.delete(lease)) return;
    this.#usedBytes -= lease.bytes;
    lease.bytes = 0;
    lease.isOpen = false;
  }

  #largestOfHeaviest(): Lease | null {
    const held = new Map<string, number>();
    for (const { client, bytes } of this.#leases) held.set(client, (held.get(client) ?? 0) + bytes);
    let largest: Lease | null = null;
    for (const lease of this.#leases) {
      if (lease.giveWay === null) continue;
      const ahead = largest === null ? 1 : held.get(lease.client)! - held.get(largest.client)!;
      if (ahead > 0 || (ahead === 0 && lease.bytes > largest!.bytes)) largest = lease;
    }
    return largest;
  }

  #refusal(): HttpError {
    this.#onRefused();
    return new HttpError(503, "overloaded", "request bodies in progress exceed the memory limit");
  }
}

interface Keeper {
  take(lease: Lease, bytes: number): void;
  release(lease: Lease): void;
}

class Lease implements BodyLease {
  readonly client: string;
  readonly #keeper: Keeper;
  bytes = 0;
  isOpen = true;
  giveWay: BodyLease["giveWay"] = null;

  constructor(client: string, keeper: Keeper) {
    this.client = client;
    this.#keeper = keeper;
  }

  take(bytes: number): void {
    this.#keeper.take(this, bytes);
  }

  release(): void {
    this.#keeper.release(this);
  }
}

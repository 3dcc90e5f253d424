import type { Connection } from "./netlink.ts";

/** Two addresses, raw bytes as latin1. */
export interface Pair {
  readonly client: string;
  readonly server: string;
  bytes: number;
  answerBytes: number;
}

interface Known {
  readonly id: number;
  readonly zone: number;
  /** Began before the first dump. The kernel only reports its end if a collector listened at its start. */
  readonly isOld: boolean;
  bytes: number;
  answerBytes: number;
  /** The last dump that contained it, or before which it ended. */
  dump: number;
  /** The dump before which it ended (last bytes counted); null if open. */
  endedIn: number | null;
  /** Next connection of the same ends: earlier, later, in another zone, or translated to another port. */
  next: Known | null;
}

interface TableLosses {
  lostEnds: number;
  /** Lost ends of connections that began after the first dump, so the kernel should have reported them. */
  lostNewEnds: number;
  heardEnds: number;
  /** Entries of another zone that count the same packets. */
  duplicates: number;
}

/**
 * Bytes of connections since they were last taken, from table dumps and end events; a connection between two
 * dumps appears only in its end event. Connections that precede the first dump count from there.
 */
export class ConnectionTable {
  readonly losses: TableLosses = { lostEnds: 0, lostNewEnds: 0, heardEnds: 0, duplicates: 0 };
  readonly #known = new Map<string, Known>();
  #pairs = new Map<string, Pair>();
  #dump = 0;
  #isBaseline = true;
  #bytes = 0;

  beginDump(): void {
    this.#dump++;
  }

  /** Adds a dump's entry; one without counters counts nothing. */
  take(connection: Connection): void {
    if (connection.bytes === null) return;
    const known = this.#find(connection);
    if (known === null || (known.endedIn !== null && known.endedIn < this.#dump))
      this.#open(connection, false);
    // A running dump still contains connections whose end was already counted.
    else if (known.endedIn === null) this.#add(known, connection);
  }

  /** Handles an end event. Each connection has one, so a second of the same id is its successor's. */
  end(connection: Connection): void {
    this.losses.heardEnds++;
    if (connection.bytes === null) return;
    const known = this.#find(connection);
    if (known === null || known.endedIn !== null) this.#open(connection, true);
    else {
      this.#add(known, connection);
      known.endedIn = this.#dump;
    }
  }

  endDump(): void {
    this.#isBaseline = false;
    for (const [key, first] of this.#known) {
      let kept: Known | null = null;
      for (let known: Known | null = first; known !== null;) {
        const next: Known | null = known.next;
        if (known.dump >= this.#dump - 1) {
          known.next = kept;
          kept = known;
        } else if (known.endedIn === null) {
          this.losses.lostEnds++;
          if (!known.isOld) this.losses.lostNewEnds++;
        }
        known = next;
      }
      if (kept === null) this.#known.delete(key);
      else if (kept !== first || first.next !== null) this.#known.set(key, kept);
    }
  }

  #find({ key, id, zone }: Connection): Known | null {
    let known = this.#known.get(key) ?? null;
    while (known !== null && (known.id !== id || known.zone !== zone)) known = known.next;
    return known;
  }

  #add(known: Known, connection: Connection): void {
    const { bytes, answerBytes } = connection;
    this.#count(connection, (bytes ?? 0) - known.bytes, answerBytes - known.answerBytes);
    known.bytes = bytes ?? 0;
    known.answerBytes = answerBytes;
    known.dump = this.#dump;
  }

  #open(connection: Connection, hasEnded: boolean): void {
    const { key, id, zone, bytes, answerBytes } = connection;
    const others = this.#known.get(key) ?? null;
    if (others !== null && others.zone !== zone && this.#isDuplicate(others)) return;
    const next = others?.zone === zone ? others : null;
    const isOld = this.#isBaseline;
    const endedIn = hasEnded ? this.#dump : null;
    this.#known.set(key, {
      id,
      zone,
      isOld,
      bytes: bytes ?? 0,
      answerBytes,
      dump: this.#dump,
      endedIn,
      next,
    });
    if (!isOld) this.#count(connection, bytes ?? 0, answerBytes);
  }

  /** A CNI may track a connection in several zones; the first one seen counts while any exists. */
  #isDuplicate(others: Known): boolean {
    if (others.dump < this.#dump - 1) return false;
    this.losses.duplicates++;
    if (others.endedIn !== null) others.dump = this.#dump;
    return true;
  }

  takeBytes(): { readonly pairs: readonly Pair[]; readonly bytes: number } {
    const taken = { pairs: [...this.#pairs.values()], bytes: this.#bytes };
    this.#pairs = new Map();
    this.#bytes = 0;
    return taken;
  }

  #count({ client, server, isTunnel }: Connection, bytes: number, answerBytes: number): void {
    if (isTunnel || !(bytes > 0)) return;
    this.#bytes += bytes;
    const key = `${client}${server}`;
    const pair = this.#pairs.get(key);
    if (pair === undefined) this.#pairs.set(key, { client, server, bytes, answerBytes });
    else {
      pair.bytes += bytes;
      pair.answerBytes += answerBytes;
    }
  }
}

import type { Connection } from "./netlink.ts";

/** Two addresses, raw bytes as latin1. */
export interface Pair {
  readonly client: string;
  readonly server: string;
  bytes: number;
  /** Of these, what the server has sent. */
  answerBytes: number;
}

interface Known {
  readonly id: number;
  readonly zone: number;
  /** Began before the first dump. The kernel reports its end only if a collector listened then. */
  readonly isOld: boolean;
  bytes: number;
  answerBytes: number;
  /** The last dump that had it, or before which it ended. */
  dump: number;
  /** The dump before which it ended; null: it is open. Its last bytes are counted then. */
  endedIn: number | null;
  /** Another connection of the same ends and zone: earlier, later, or translated to another port. */
  next: Known | null;
}

/** What could not be counted whole. Only grows. */
interface TableLosses {
  /** Connections that went without the event that has their last bytes. */
  lostEnds: number;
  /** Lost ends of connections that began after the first dump: the kernel should have reported them. */
  lostNewEnds: number;
  /** Ends that the kernel reported. */
  heardEnds: number;
  /** Entries of another zone that count the same packets. */
  duplicates: number;
}

/**
 * Bytes of connections since they were last taken, from dumps of the kernel's table and from the events of
 * their ends: a connection that begins and ends between two dumps is told of by its end alone. A connection
 * that was there before the first dump counts from there on.
 */
export class ConnectionTable {
  readonly losses: TableLosses = { lostEnds: 0, lostNewEnds: 0, heardEnds: 0, duplicates: 0 };
  readonly #known = new Map<string, Known>();
  #pairs = new Map<string, Pair>();
  #dump = 0;
  #isBaseline = true;
  /** Bytes of all connections but tunnels since the last {@link take}. */
  #bytes = 0;

  beginDump(): void {
    this.#dump++;
  }

  /** A dump's entry. One without counters counts nothing. */
  take(connection: Connection): void {
    if (connection.bytes === null) return;
    const known = this.#find(connection);
    if (known === null || (known.endedIn !== null && known.endedIn < this.#dump))
      this.#open(connection, false);
    // A dump that was under way still has a connection whose end was already counted.
    else if (known.endedIn === null) this.#add(known, connection);
  }

  /** The event of an end. Each connection has one: a second one of the same id is of its successor. */
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

  /** Forgets what two dumps in a row did not have. */
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

  /**
   * Whether an entry of another zone counts packets that `others` count. A CNI may track one connection in
   * several zones: the zone that was seen first counts, and for as long as any of them is there.
   */
  #isDuplicate(others: Known): boolean {
    if (others.dump < this.#dump - 1) return false;
    this.losses.duplicates++;
    if (others.endedIn !== null) others.dump = this.#dump;
    return true;
  }

  /** Bytes since the last call, by pair, and of all that is no tunnel's. */
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

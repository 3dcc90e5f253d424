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
  bytes: number;
  answerBytes: number;
  /** Of the last dump that had it, or that it ended before. */
  dump: number;
  /** Its last bytes are counted: a dump that was under way may still tell of it, and so may other zones. */
  hasEnded: boolean;
}

/** What could not be counted whole. Only grows. */
interface TableLosses {
  /** Connections that went without the event that has their last bytes. */
  lostEnds: number;
  /** Entries of another zone that count the same packets. */
  duplicates: number;
}

/**
 * Bytes of connections since they were last taken, from dumps of the kernel's table and from the events of
 * their ends: a connection that begins and ends between two dumps is told of by its end alone. A connection
 * that was there before the first dump counts from there on.
 */
export class ConnectionTable {
  readonly losses: TableLosses = { lostEnds: 0, duplicates: 0 };
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
    const { key, id, zone, bytes } = connection;
    if (bytes === null) return;
    const known = this.#known.get(key);
    if (known === undefined || this.#isNext(known, connection)) this.#open(connection, false);
    else if (known.id === id && known.zone === zone && !known.hasEnded) {
      this.#count(connection, bytes - known.bytes, connection.answerBytes - known.answerBytes);
      known.bytes = bytes;
      known.answerBytes = connection.answerBytes;
      known.dump = this.#dump;
    }
  }

  /** The event of an end. */
  end(connection: Connection): void {
    const { key, id, zone, bytes } = connection;
    if (bytes === null) return;
    const known = this.#known.get(key);
    if (known === undefined || this.#isNext(known, connection)) this.#open(connection, true);
    else if (known.id === id && known.zone === zone && !known.hasEnded) {
      this.#count(connection, bytes - known.bytes, connection.answerBytes - known.answerBytes);
      known.dump = this.#dump;
      known.hasEnded = true;
    }
  }

  /** What two dumps in a row did not have is gone. */
  endDump(): void {
    this.#isBaseline = false;
    for (const [key, { dump, hasEnded }] of this.#known) {
      if (dump >= this.#dump - 1) continue;
      this.#known.delete(key);
      if (!hasEnded) this.losses.lostEnds++;
    }
  }

  #open(connection: Connection, hasEnded: boolean): void {
    const { key, id, zone, bytes, answerBytes } = connection;
    const before = this.#known.get(key);
    if (before !== undefined && !before.hasEnded) this.losses.lostEnds++;
    this.#known.set(key, { id, zone, bytes: bytes ?? 0, answerBytes, dump: this.#dump, hasEnded });
    if (!this.#isBaseline) this.#count(connection, bytes ?? 0, answerBytes);
  }

  /**
   * Whether it is another connection of the same ends. A CNI may track one in several zones, whose entries
   * count the same packets: the zone that was seen first counts, and for as long as any of them is there.
   */
  #isNext(known: Known, { id, zone }: Connection): boolean {
    if (known.zone === zone) return known.id !== id;
    if (known.dump < this.#dump - 1) return true;
    this.losses.duplicates++;
    if (known.hasEnded) known.dump = this.#dump;
    return false;
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

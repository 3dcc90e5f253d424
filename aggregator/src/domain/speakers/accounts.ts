import { NO_FACTS, authorityOf, type ClusterFacts } from "./authority.ts";
import { OPEN_PERMIT, PartRoom, type Permit, type Room, type RoomKind } from "./permit.ts";
import type { SpeakerPolicy } from "./policy.ts";
import { speakerText, type Speaker } from "./speaker.ts";

export interface AccountLimits {
  readonly windowMs: number;
  readonly maxSeries: number;
  /** Per window, of a node or an unproven source. */
  readonly maxNewSeries: number;
  /** Maximum number of accounts, and of sources over all accounts. */
  readonly maxSources: number;
  readonly tables: Readonly<Record<RoomKind, number>>;
}

/** Per node: the probe, a collector with two topics, third parties, and names before an upgrade. */
const SOURCES_OF_A_NODE = 8;
/** Share of all sources for a service, which has one per topic and node. */
const SERVICE_SOURCES_SHARE = 3 / 4;
/** Share of all series per window, and of each table, for a service, which may speak for every node. */
const SERVICE_SHARE = 1 / 2;
/** Shares of the tables for a node, with a minimum: far above its need, far below the total. */
const NODE_SHARES: Readonly<Record<RoomKind, number>> = {
  links: 1 / 64,
  pairs: 1 / 64,
  channels: 1 / 16,
  pods: 1 / 64,
};
const LEAST_ROOM = 64;
/** Share of a sender's remaining channel room that a namespace gets at its first need in a window. */
const NAMESPACE_SHARE = 1 / 4;
const LEAST_NAMESPACE_ROOM = 16;
/** Total share of links and nodes with unknown names. */
const STRANGER_SHARE = 1 / 64;
/** A new series costs one unit of its sender's budget per this many bytes. */
const BYTES_PER_SERIES = 256;
const ROOM_KINDS: readonly RoomKind[] = ["links", "pairs", "channels", "pods"];

/** Usage of one sender, or of one source if senders are not proven. */
export class Account implements Permit {
  /** Separates the series of senders; 0 is shared by all unproven ones. */
  readonly id: number;
  readonly authority: Permit["authority"];
  readonly facts: ClusterFacts;
  readonly rooms: Readonly<Record<RoomKind, Room>>;
  readonly strangers: Room;
  #seriesLeft = 0;
  readonly #maxNewSeries: number;
  untilMs = Number.NEGATIVE_INFINITY;
  readonly #channelRooms = new Map<string, Room>();
  readonly #fullRooms: Readonly<Record<RoomKind, number>> | null;
  readonly #maxSources: number;
  readonly #limits: AccountLimits;
  /** Last time of each source, oldest first. */
  readonly #sources = new Map<string, number>();

  constructor(
    id: number,
    speaker: Speaker,
    permit: Omit<Permit, "rooms" | "channelRoom">,
    limits: AccountLimits,
  ) {
    this.id = id;
    this.authority = permit.authority;
    this.facts = permit.facts;
    this.strangers = permit.strangers;
    this.#limits = limits;
    this.#maxSources = sourcesOf(speaker, limits);
    this.#maxNewSeries = newSeriesOf(speaker, limits);
    this.#fullRooms = roomsOf(speaker, limits);
    this.rooms =
      this.#fullRooms === null
        ? OPEN_PERMIT.rooms
        : { links: { left: 0 }, pairs: { left: 0 }, channels: { left: 0 }, pods: { left: 0 } };
  }

  /** A source that was silent for two windows is replaced. */
  hears(source: string, nowMs: number): boolean {
    if (this.#sources.delete(source)) {
      this.#sources.set(source, nowMs);
      return true;
    }
    if (this.#sources.size >= this.#maxSources) {
      const [oldest, heardMs] = this.#sources.entries().next().value!;
      if (Math.abs(nowMs - heardMs) < 2 * this.#limits.windowMs) return false;
      this.#sources.delete(oldest);
    }
    this.#sources.set(source, nowMs);
    return true;
  }

  channelRoom(namespace: string): Room {
    const whole = this.rooms.channels;
    if (this.#fullRooms === null) return whole;
    let room = this.#channelRooms.get(namespace);
    if (room === undefined) {
      room = new PartRoom(whole, Math.max(LEAST_NAMESPACE_ROOM, Math.floor(whole.left * NAMESPACE_SHARE)));
      this.#channelRooms.set(namespace, room);
    }
    return room;
  }

  /** Returns false if the sender has used up its budget. Known series continue. */
  admits(bytes: number): boolean {
    if (this.#seriesLeft <= 0) return false;
    this.#seriesLeft -= Math.ceil(bytes / BYTES_PER_SERIES);
    return true;
  }

  renew(nowMs: number): void {
    const { windowMs } = this.#limits;
    if (isWithin(nowMs, this.untilMs, windowMs)) return;
    this.untilMs = nowMs + windowMs;
    this.#seriesLeft = this.#maxNewSeries;
    this.#channelRooms.clear();
    if (this.#fullRooms !== null)
      for (const kind of ROOM_KINDS) this.rooms[kind].left = this.#fullRooms[kind];
  }
}

/** Returns true if the window is open. A window that starts in the future predates a clock change. */
function isWithin(nowMs: number, untilMs: number, windowMs: number): boolean {
  return nowMs < untilMs && nowMs >= untilMs - windowMs;
}

function sourcesOf(speaker: Speaker, { maxSources }: AccountLimits): number {
  if (speaker.kind === "node") return SOURCES_OF_A_NODE;
  return Math.max(SOURCES_OF_A_NODE, Math.floor(maxSources * SERVICE_SOURCES_SHARE));
}

function newSeriesOf({ kind }: Speaker, { maxSeries, maxNewSeries }: AccountLimits): number {
  return kind === "service" ? Math.max(maxNewSeries, Math.floor(maxSeries * SERVICE_SHARE)) : maxNewSeries;
}

function roomsOf({ kind }: Speaker, { tables }: AccountLimits): Record<RoomKind, number> | null {
  if (kind === "open") return null;
  const roomOf = (each: RoomKind): number =>
    Math.max(LEAST_ROOM, Math.floor(tables[each] * (kind === "node" ? NODE_SHARES[each] : SERVICE_SHARE)));
  return {
    links: roomOf("links"),
    pairs: roomOf("pairs"),
    channels: roomOf("channels"),
    pods: roomOf("pods"),
  };
}

/** No sender exhausts the others' resources. Beyond `maxSources` the longest silent is forgotten. */
export class Accounts {
  readonly #limits: AccountLimits;
  readonly #policy: SpeakerPolicy;
  readonly #facts: ClusterFacts;
  readonly #accounts = new Map<string, Account>();
  readonly #strangers: Room = { left: 0 };
  #strangersUntilMs = Number.NEGATIVE_INFINITY;
  #lastId = 0;

  constructor(limits: AccountLimits, policy: SpeakerPolicy, facts: ClusterFacts = NO_FACTS) {
    this.#limits = limits;
    this.#policy = policy;
    this.#facts = facts;
  }

  /** @param source has its own account if senders are not proven */
  of(speaker: Speaker, source: string, nowMs: number): Account {
    const name = speaker.kind === "open" ? source : speakerText(speaker);
    let account = this.#accounts.get(name);
    // A forgotten sender gets a fresh budget. Therefore never forget active ones, or they could spend several
    // budgets per window.
    if (account === undefined) account = this.#open(speaker);
    else this.#accounts.delete(name);
    this.#accounts.set(name, account);
    if (this.#accounts.size > this.#limits.maxSources)
      this.#accounts.delete(this.#accounts.keys().next().value!);
    account.renew(nowMs);
    this.#renewStrangers(nowMs);
    return account;
  }

  #open(speaker: Speaker): Account {
    const facts = this.#facts;
    const authority = authorityOf(speaker, this.#policy, facts);
    const id = speaker.kind === "open" ? 0 : ++this.#lastId;
    return new Account(id, speaker, { authority, facts, strangers: this.#strangers }, this.#limits);
  }

  #renewStrangers(nowMs: number): void {
    if (isWithin(nowMs, this.#strangersUntilMs, this.#limits.windowMs)) return;
    this.#strangersUntilMs = nowMs + this.#limits.windowMs;
    this.#strangers.left = Math.max(LEAST_ROOM, Math.floor(this.#limits.tables.links * STRANGER_SHARE));
  }
}

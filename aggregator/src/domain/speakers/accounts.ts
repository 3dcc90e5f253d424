import { NO_FACTS, authorityOf, type ClusterFacts } from "./authority.ts";
import { OPEN_PERMIT, PartRoom, type Permit, type Room, type RoomKind } from "./permit.ts";
import type { SpeakerPolicy } from "./policy.ts";
import { speakerText, type Speaker } from "./speaker.ts";

/** Bounds of what one speaker may bring per window. */
export interface AccountLimits {
  readonly windowMs: number;
  /** New series. */
  readonly maxNewSeries: number;
  /** Accounts that are remembered, and sources in all. */
  readonly maxSources: number;
  /** Entities that the tables have room for. */
  readonly tables: Readonly<Record<RoomKind, number>>;
}

/**
 * Streams of records that one node has: a probe's, a collector's of two topics, somebody else's, and what
 * they were called before an upgrade.
 */
const SOURCES_OF_A_NODE = 8;
/** A service has a stream for each topic and node that it speaks of. */
const SERVICE_SOURCES_SHARE = 3 / 4;
/** What a service may take of the tables. */
const SERVICE_SHARE = 1 / 2;
/** A node's parts of the tables, and at least so much: far more than a node has, far less than all. */
const NODE_SHARES: Readonly<Record<RoomKind, number>> = {
  links: 1 / 64,
  pairs: 1 / 64,
  channels: 1 / 16,
  pods: 1 / 64,
};
const LEAST_ROOM = 64;
/**
 * What a namespace may take of a speaker's room for channels that is left when it first needs some in a
 * window.
 */
const NAMESPACE_SHARE = 1 / 4;
const LEAST_NAMESPACE_ROOM = 16;
/** Links and nodes of names that the cluster doesn't know, in all. */
const STRANGER_SHARE = 1 / 64;
/** A new series costs its speaker as many of its budget as it takes of these. */
const BYTES_PER_SERIES = 256;
const ROOM_KINDS: readonly RoomKind[] = ["links", "pairs", "channels", "pods"];

/** What is counted on one speaker, or on one source where nobody has proven who speaks. */
export class Account implements Permit {
  /** Keeps the series of speakers apart; 0 is shared by all that have proven nothing. */
  readonly id: number;
  readonly authority: Permit["authority"];
  readonly facts: ClusterFacts;
  readonly rooms: Readonly<Record<RoomKind, Room>>;
  readonly strangers: Room;
  /** New series that may still come in this window. */
  #seriesLeft = 0;
  untilMs = Number.NEGATIVE_INFINITY;
  readonly #channelRooms = new Map<string, Room>();
  readonly #fullRooms: Readonly<Record<RoomKind, number>> | null;
  readonly #maxSources: number;
  readonly #limits: AccountLimits;
  /** When each was heard last; longest ago first. */
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
    this.#fullRooms = roomsOf(speaker, limits);
    this.rooms =
      this.#fullRooms === null
        ? OPEN_PERMIT.rooms
        : { links: { left: 0 }, pairs: { left: 0 }, channels: { left: 0 }, pods: { left: 0 } };
  }

  /**
   * Whether the account may have this source too. One that was silent for two windows gives its place to
   * another.
   */
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

  /** False: the speaker has brought too many. Its known series go on. */
  admits(bytes: number): boolean {
    if (this.#seriesLeft <= 0) return false;
    this.#seriesLeft -= Math.ceil(bytes / BYTES_PER_SERIES);
    return true;
  }

  /** Begins a new window when the last one is over. */
  renew(nowMs: number): void {
    const { windowMs, maxNewSeries } = this.#limits;
    if (isWithin(nowMs, this.untilMs, windowMs)) return;
    this.untilMs = nowMs + windowMs;
    this.#seriesLeft = maxNewSeries;
    this.#channelRooms.clear();
    if (this.#fullRooms !== null)
      for (const kind of ROOM_KINDS) this.rooms[kind].left = this.#fullRooms[kind];
  }
}

/** Whether a window is open. One that begins later than now was opened before the clock was set back. */
function isWithin(nowMs: number, untilMs: number, windowMs: number): boolean {
  return nowMs < untilMs && nowMs >= untilMs - windowMs;
}

function sourcesOf(speaker: Speaker, { maxSources }: AccountLimits): number {
  if (speaker.kind === "node") return SOURCES_OF_A_NODE;
  return Math.max(SOURCES_OF_A_NODE, Math.floor(maxSources * SERVICE_SOURCES_SHARE));
}

/** Null: without a bound of its own. */
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

/**
 * Accounts of all speakers, so that none of them takes what others need. The longest silent is forgotten
 * beyond `maxSources`.
 */
export class Accounts {
  readonly #limits: AccountLimits;
  readonly #policy: SpeakerPolicy;
  readonly #facts: ClusterFacts;
  readonly #accounts = new Map<string, Account>();
  /** See Permit. */
  readonly #strangers: Room = { left: 0 };
  #strangersUntilMs = Number.NEGATIVE_INFINITY;
  #lastId = 0;

  constructor(limits: AccountLimits, policy: SpeakerPolicy, facts: ClusterFacts = NO_FACTS) {
    this.#limits = limits;
    this.#policy = policy;
    this.#facts = facts;
  }

  /** @param source counts for itself where nobody has proven who speaks */
  of(speaker: Speaker, source: string, nowMs: number): Account {
    const name = speaker.kind === "open" ? source : speakerText(speaker);
    let account = this.#accounts.get(name);
    // Who is forgotten gets a new one: those that speak must not be, or one of them could spend several per
    // window.
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

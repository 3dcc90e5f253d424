import { NO_FACTS, OPEN_AUTHORITY, type Authority, type ClusterFacts } from "./authority.ts";

/** How many more entities of one kind somebody may have made. */
export interface Room {
  left: number;
}

/** Kinds of entities that telemetry makes by naming them. */
export type RoomKind = "links" | "pairs" | "channels" | "pods";

/** Without a bound of its own: the tables have theirs. */
export const BOUNDLESS: Room = { left: Number.POSITIVE_INFINITY };

/**
 * The part of a room that one claimant may take: nothing beyond it, and nothing that the whole no longer has.
 */
export class PartRoom implements Room {
  readonly #whole: Room;
  #own: number;

  constructor(whole: Room, own: number) {
    this.#whole = whole;
    this.#own = own;
  }

  get left(): number {
    return Math.min(this.#own, this.#whole.left);
  }

  set left(value: number) {
    const taken = this.left - value;
    this.#own -= taken;
    this.#whole.left -= taken;
  }
}

/** What a series is bound by: what its speaker may speak of, and how much new it may name. */
export interface Permit {
  readonly authority: Authority;
  readonly facts: ClusterFacts;
  readonly rooms: Readonly<Record<RoomKind, Room>>;
  /**
   * Room for channels that a pod of this namespace tells of. Of one speaker's room no namespace takes all:
   * its pods may invent as many far ends as they like.
   */
  channelRoom(namespace: string): Room;
  /**
   * For links and nodes of names that the cluster doesn't know, of all speakers together: a node that joined
   * a moment ago has its place, and invented ones never take that of others.
   */
  readonly strangers: Room;
}

/** Everything, of everybody. */
export const OPEN_PERMIT: Permit = {
  authority: OPEN_AUTHORITY,
  facts: NO_FACTS,
  rooms: { links: BOUNDLESS, pairs: BOUNDLESS, channels: BOUNDLESS, pods: BOUNDLESS },
  channelRoom: () => BOUNDLESS,
  strangers: BOUNDLESS,
};

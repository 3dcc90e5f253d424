import { NO_FACTS, OPEN_AUTHORITY, type Authority, type ClusterFacts } from "./authority.ts";

export interface Room {
  left: number;
}

export type RoomKind = "links" | "pairs" | "channels" | "pods";

/** No limit per sender. The tables have their own. */
export const BOUNDLESS: Room = { left: Number.POSITIVE_INFINITY };

/** A share of a room: limited by itself and by what remains of the whole. */
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

export interface Permit {
  readonly authority: Authority;
  readonly facts: ClusterFacts;
  readonly rooms: Readonly<Record<RoomKind, Room>>;
  /** Limits a namespace's share of a sender's room, because its pods can invent far ends. */
  channelRoom(namespace: string): Room;
  /** Shared room for links and nodes with unknown names, so that invented ones displace no others. */
  readonly strangers: Room;
}

export const OPEN_PERMIT: Permit = {
  authority: OPEN_AUTHORITY,
  facts: NO_FACTS,
  rooms: { links: BOUNDLESS, pairs: BOUNDLESS, channels: BOUNDLESS, pods: BOUNDLESS },
  channelRoom: () => BOUNDLESS,
  strangers: BOUNDLESS,
};

import type { BusError } from "../../../ports/errors.ts";

/** How to read what a library throws. */
export interface LibraryErrors {
  /** What a broker called it (`NOT_LEADER_OR_FOLLOWER`); null when it was no broker's answer. */
  brokerErrorName(error: unknown): string | null;
  /** The BusError of whatever the library threw while `doing`. */
  toBusError(error: unknown, doing: string): BusError;
}

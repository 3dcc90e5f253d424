import type { BusError } from "../../../ports/errors.ts";

export interface LibraryErrors {
  /** Returns the broker's error name (`NOT_LEADER_OR_FOLLOWER`); null if the error is no broker's answer. */
  brokerErrorName(error: unknown): string | null;
  toBusError(error: unknown, doing: string): BusError;
}

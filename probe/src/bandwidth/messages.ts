// What the bandwidth threads and the main thread say to each other; all of it can be copied to another
// thread.
import type { PacketKey } from "../ports/ports.ts";
import type { BurstOutcome } from "./burst.ts";
import type { Refusal } from "./wire.ts";

export interface ReceiverConfig {
  readonly bindAddress: string;
  /** 0: any free one. */
  readonly port: number;
  /** The node's own address, which tests are bound to. */
  readonly identity: string;
  /** Empty: tests are not authenticated. */
  readonly keys: readonly PacketKey[];
  readonly acceptTranslatedSource: boolean;
  /** Bytes and time that one test may take at most, whatever it asks for. */
  readonly maxBytes: number;
  readonly maxMs: number;
  /** For tests: enter this namespace (a path) first. */
  readonly networkNamespace?: string;
  /** Open sockets of the port, which stay their owner's. @default the receiver opens its own */
  readonly sockets?: ReceiverSockets;
  /** With such sockets: after so long without a connection the thread ends. Milliseconds. @default 10000 */
  readonly restMs?: number;
}

/** Descriptors. */
interface ReceiverSockets {
  readonly listener: number;
  readonly udp: number;
}

/** Counts since the last report. */
export interface ReceiverCounts {
  /** Tests that were taken. */
  readonly tests: number;
  /** Bytes of data that arrived for them. */
  readonly bytes: number;
  /** By reason; `finished` are the good ends. */
  readonly ends: Readonly<Partial<Record<Refusal, number>>>;
  /** UDP packets on the port that belong to no test. */
  readonly strangePackets: number;
}

export type ToReceiver =
  | { readonly type: "keys"; readonly keys: readonly PacketKey[] }
  | { readonly type: "close" };

export type FromReceiver =
  | { readonly type: "opened"; readonly port: number }
  | { readonly type: "failed"; readonly message: string; readonly errno: string }
  | { readonly type: "counts"; readonly counts: ReceiverCounts }
  /** Nobody has come for a while: the thread ends. */
  | { readonly type: "resting" }
  | { readonly type: "closed" };

export interface SenderTask {
  readonly transport: "tcp" | "udp";
  readonly address: string;
  readonly port: number;
  /** 16 bytes each. */
  readonly source: Uint8Array;
  readonly destination: Uint8Array;
  readonly bindAddress: string;
  readonly keys: readonly PacketKey[];
  readonly signingKeyId: number;
  readonly maxBytes: number;
  readonly maxBitsPerSecond: number;
  readonly maxDurationMs: number;
  readonly maxQueueMs: number;
  readonly dscp: number;
  readonly networkNamespace?: string;
}

export type SenderResult =
  | { readonly type: "done"; readonly outcome: BurstOutcome }
  /** The test didn't begin. */
  | { readonly type: "refused"; readonly refusal: Refusal }
  | { readonly type: "failed"; readonly message: string };

/** What the main thread starts the sender with. */
export interface SenderData {
  readonly task: SenderTask;
  /** One Int32; not 0 asks the sender to stop. */
  readonly abort: SharedArrayBuffer;
}

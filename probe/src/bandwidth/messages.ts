// Messages between the bandwidth threads and the main thread; all are structured-cloneable.
import type { PacketKey } from "../ports/ports.ts";
import type { BurstOutcome } from "./burst.ts";
import type { Refusal } from "./wire.ts";

export interface ReceiverConfig {
  readonly bindAddress: string;
  readonly port: number;
  readonly identity: string;
  readonly keys: readonly PacketKey[];
  readonly acceptTranslatedSource: boolean;
  /** Upper bounds per test, whatever it requests. */
  readonly maxBytes: number;
  readonly maxMs: number;
  readonly networkNamespace?: string;
  /** Open sockets of the port; their owner keeps them. @default the receiver opens its own */
  readonly sockets?: ReceiverSockets;
  /** With given sockets: idle time after which the thread ends, ms. @default 10000 */
  readonly restMs?: number;
}

interface ReceiverSockets {
  readonly listener: number;
  readonly udp: number;
}

export interface ReceiverCounts {
  readonly tests: number;
  readonly bytes: number;
  /** Keyed by reason; `finished` is a normal end. */
  readonly ends: Readonly<Partial<Record<Refusal, number>>>;
  readonly strangePackets: number;
}

export type ToReceiver =
  | { readonly type: "keys"; readonly keys: readonly PacketKey[] }
  | { readonly type: "close" };

export type FromReceiver =
  | { readonly type: "opened"; readonly port: number }
  | { readonly type: "failed"; readonly message: string; readonly errno: string }
  | { readonly type: "counts"; readonly counts: ReceiverCounts }
  | { readonly type: "resting" }
  | { readonly type: "closed" };

export interface SenderTask {
  readonly transport: "tcp" | "udp";
  readonly address: string;
  readonly port: number;
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
  | { readonly type: "refused"; readonly refusal: Refusal }
  | { readonly type: "failed"; readonly message: string };

export interface SenderData {
  readonly task: SenderTask;
  /** One Int32; nonzero asks the sender to stop. */
  readonly abort: SharedArrayBuffer;
}

import type { Responder } from "./responder.ts";

export interface Listener {
  readonly port: number;
  /** Called about ten times per second: closes idle connections and collects kernel counts. */
  sweep(nowMs: number): void;
  close(): Promise<void>;
}

export interface ListenAddress {
  readonly address: string;
  readonly port: number;
}

export interface ListenerFactory {
  /** Rejects with an error whose `code` is the system's. */
  openUdp(responder: Responder, listen: ListenAddress): Promise<Listener>;
  openTcp(responder: Responder, listen: ListenAddress): Promise<Listener>;
}

/** Receive queue of a UDP socket: some thousand packets, a fraction of a second of flood. Bytes. */
export const UDP_QUEUE_BYTES = 2 * 1024 * 1024;
/** Unread answers per TCP client, besides the kernel's buffer. Bytes. */
export const MAX_UNREAD_BYTES = 16_384;

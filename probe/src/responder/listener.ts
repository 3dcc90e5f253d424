import type { Responder } from "./responder.ts";

/** An open port of the responder. */
export interface Listener {
  readonly port: number;
  /**
   * Called about ten times a second: ends what stood still for too long, and collects the kernel's counts.
   */
  sweep(nowMs: number): void;
  close(): Promise<void>;
}

export interface ListenAddress {
  readonly address: string;
  /** 0 = any free port. */
  readonly port: number;
}

/** Opens ports: by the kernel's own calls, or by Node's. */
export interface ListenerFactory {
  /** Rejects with an error whose `code` is the system's. */
  openUdp(responder: Responder, listen: ListenAddress): Promise<Listener>;
  openTcp(responder: Responder, listen: ListenAddress): Promise<Listener>;
}

/** Receive queue of a UDP socket: some thousand packets, a fraction of a second of flood. Bytes. */
export const UDP_QUEUE_BYTES = 2 * 1024 * 1024;
/** Answers that a TCP client may leave unread here, besides what the kernel holds. Bytes. */
export const MAX_UNREAD_BYTES = 16_384;

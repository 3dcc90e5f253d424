// What the flows need of sockets. Two adapters serve it: the kernel's own sockets (sockets/kernel.ts) and
// Node's (sockets/node.ts).

/** Whom a client socket talks to, and how its packets look from outside. */
export interface Remote {
  readonly address: string;
  readonly port: number;
  /** What the socket is bound to where its family fits. */
  readonly bindAddress: string;
  /** Differentiated services code point, 0 to 63. */
  readonly dscp: number;
}

export interface DatagramEvents {
  /**
   * A packet from the peer, in hand at `atMs` of the monotonic clock; `kernelNs`: the kernel's stamp of its
   * arrival, NaN without. The buffer is only valid during the call.
   */
  onPacket(packet: Buffer, atMs: number, kernelNs: number): void;
  /** The kernel's stamp of a departure, before the answer to it is handed over. `tag`: as given to `send`. */
  onSent(tag: number, kernelNs: number): void;
  /** Packets can be sent. */
  onOpen(): void;
  /**
   * The system's name of an error; before `onOpen` the socket is useless, after it some packet before had
   * that fate.
   */
  onError(code: string): void;
  /** A send that seemed to succeed failed after all (Node learns of it later). */
  onSendFailed(code: string): void;
}

/** A datagram socket connected to one peer: the kernel drops what comes from elsewhere. */
export interface DatagramSocket {
  /**
   * Null: sent, as far as is known by now. Otherwise the system's name of the error. The buffer may be used
   * again at once.
   */
  send(packet: Buffer, tag: number): string | null;
  close(): void;
}

export interface StreamEvents {
  /** `atMs`: when the connection was seen to be open. */
  onOpen(atMs: number): void;
  onData(chunk: Buffer, atMs: number, kernelNs: number): void;
  onSent(tag: number, kernelNs: number): void;
  /**
   * Refused, broken, or ended by the peer (`closed_by_peer`). Nothing comes afterwards; the socket is closed.
   */
  onClosed(reason: string): void;
}

/** A connection that this side opens. */
export interface StreamSocket {
  /** Right before the handshake began. */
  readonly startedMs: number;
  /** The kernel's own round-trip time of the handshake, ms; NaN where it has none that can be used. */
  handshakeMs(): number;
  /** Null: taken whole. Otherwise the system's name of the error. */
  write(bytes: Buffer, tag: number): string | null;
  /** By a reset: connections come and go here, and none of them is to linger in TIME_WAIT at either end. */
  close(): void;
}

/** Opens sockets. Opening never throws: what goes wrong is an event, later. */
export interface Sockets {
  /** Whether the kernel's stamps come with packets. */
  readonly stamps: "kernel" | "user";
  openDatagram(remote: Remote, events: DatagramEvents): DatagramSocket;
  openStream(remote: Remote, events: StreamEvents): StreamSocket;
  /** Ends what was opened for the sockets' own sake. */
  close(): void;
}

/** Reason of a connection that the peer ended. */
export const CLOSED_BY_PEER = "closed_by_peer";

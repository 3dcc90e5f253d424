// The flows' socket interface, with two adapters: sockets/kernel.ts and sockets/node.ts.

export interface Remote {
  readonly address: string;
  readonly port: number;
  readonly bindAddress: string;
  readonly dscp: number;
}

export interface DatagramEvents {
  /** In hand at `atMs` (monotonic); `kernelNs`: kernel stamp or NaN. The buffer is valid during the call. */
  onPacket(packet: Buffer, atMs: number, kernelNs: number): void;
  /** The kernel's departure stamp, delivered before the packet's answer. `tag`: as given to `send`. */
  onSent(tag: number, kernelNs: number): void;
  onOpen(): void;
  /** System error name. Before `onOpen` the socket is unusable; afterwards it concerns an earlier packet. */
  onError(code: string): void;
  /** A send that seemed to succeed failed later (Node reports it asynchronously). */
  onSendFailed(code: string): void;
}

/** A datagram socket connected to one peer: the kernel drops packets from elsewhere. */
export interface DatagramSocket {
  /** Returns null if sent, else the system's error name. The buffer may be reused at once. */
  send(packet: Buffer, tag: number): string | null;
  close(): void;
}

export interface StreamEvents {
  onOpen(atMs: number): void;
  onData(chunk: Buffer, atMs: number, kernelNs: number): void;
  onSent(tag: number, kernelNs: number): void;
  /** Refused, broken, or ended by the peer (`closed_by_peer`). The last event; the socket is closed. */
  onClosed(reason: string): void;
}

export interface StreamSocket {
  readonly startedMs: number;
  /** The kernel's round-trip time of the handshake, ms; NaN if unusable. */
  handshakeMs(): number;
  /** Returns null if all bytes were accepted, else the system's error name. */
  write(bytes: Buffer, tag: number): string | null;
  /** Resets the connection, so that frequent connections leave no TIME_WAIT at either end. */
  close(): void;
}

/** Opens sockets. Never throws: failures are events. */
export interface Sockets {
  /** Whether packets carry kernel stamps. */
  readonly stamps: "kernel" | "user";
  openDatagram(remote: Remote, events: DatagramEvents): DatagramSocket;
  openStream(remote: Remote, events: StreamEvents): StreamSocket;
  close(): void;
}

export const CLOSED_BY_PEER = "closed_by_peer";

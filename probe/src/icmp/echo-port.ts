export interface EchoTarget {
  readonly address: string;
  readonly family: 4 | 6;
  readonly dscp: number;
  readonly payloadBytes: number;
}

/** Receives the outcomes of packets by queue number. Times are ns of the port's own clock; NaN: none. */
export interface EchoHandlers {
  /** The packet left. First event of a packet, unless `onRefused` comes instead. */
  onAccepted(number: number): void;
  onDeparted(number: number, departedNs: number): void;
  onRefused(number: number, error: string): void;
  /** `hops`: routers passed, -1 = unknown. `payloadBytes`: of the reply. */
  onReply(number: number, reply: ReceivedEcho): void;
  /** A damaged reply of ours: either number may be the packet's, if `source` matches. */
  onCorrupt(number: number, shortNumber: number, source: string): void;
  /** An ICMP error for a packet to `target`; only the low 16 bits of its number are known. */
  onUnreachable(shortNumber: number, target: string, error: string): void;
  /** The port's clock stepped: do not compare times across it. */
  onClockStep(): void;
}

export interface ReceivedEcho {
  readonly source: string;
  readonly receivedNs: number;
  readonly hops: number;
  readonly payloadBytes: number;
}

export interface EchoRoute {
  queue(number: number): void;
  close(): void;
}

export interface EchoPort {
  readonly stampedBy: "kernel" | "user";
  open(target: EchoTarget): EchoRoute;
  flush(handlers: EchoHandlers): void;
  drain(handlers: EchoHandlers): void;
  /** Blocks until something may have arrived, at most `timeoutMs`. False: the event loop serves this port. */
  wait(timeoutMs: number): boolean;
  nap(ms: number): boolean;
  close(): void;
}

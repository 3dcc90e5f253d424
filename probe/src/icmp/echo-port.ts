// What the scheduling loop needs of whatever sends echoes.

/** Where echoes go, and how they look. */
export interface EchoTarget {
  readonly address: string;
  readonly family: 4 | 6;
  /** 0 to 63. */
  readonly dscp: number;
  /** Without ICMP and IP headers. */
  readonly payloadBytes: number;
}

/**
 * Hears what became of packets, by the numbers they were queued with. Times are ns of the port's own clock;
 * NaN: it has none.
 */
export interface EchoHandlers {
  /** It is on its way. Comes before everything else about the packet but `onRefused`, which comes instead. */
  onAccepted(number: number): void;
  onDeparted(number: number, departedNs: number): void;
  onRefused(number: number, error: string): void;
  /** `hops`: routers passed, -1 = not known. `payloadBytes`: of the reply. */
  onReply(number: number, reply: ReceivedEcho): void;
  /**
   * A reply of ours whose bytes aren't what was sent: either of the numbers may be the packet's, as far as
   * `source` agrees.
   */
  onCorrupt(number: number, shortNumber: number, source: string): void;
  /** An ICMP error about a packet to `target`, of which only the lower 16 bits of the number are known. */
  onUnreachable(shortNumber: number, target: string, error: string): void;
  /** The port's clock jumped: times from before and from after it must not be compared. */
  onClockStep(): void;
}

export interface ReceivedEcho {
  readonly source: string;
  readonly receivedNs: number;
  readonly hops: number;
  readonly payloadBytes: number;
}

/** The way to one target. */
export interface EchoRoute {
  /** Takes a packet for the next `flush`. */
  queue(number: number): void;
  close(): void;
}

/** A sender and receiver of echoes. Its thread must do nothing else. */
export interface EchoPort {
  /** Where its times come from. */
  readonly stampedBy: "kernel" | "user";
  open(target: EchoTarget): EchoRoute;
  flush(handlers: EchoHandlers): void;
  drain(handlers: EchoHandlers): void;
  /**
   * Blocks the thread until something may have come, at most so long; false: this port is served by the event
   * loop.
   */
  wait(timeoutMs: number): boolean;
  /** Blocks the thread for so long whatever comes; false as above. */
  nap(ms: number): boolean;
  close(): void;
}

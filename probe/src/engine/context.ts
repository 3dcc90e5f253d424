import type { Distribution } from "@isochrone/telemetry";
import type { Keyring } from "../domain/keyring.ts";
import type { StallMonitor } from "../domain/stall-monitor.ts";
import type { EngineConfig, FlowSnapshot } from "../ports/ports.ts";
import type { Sockets } from "./sockets/port.ts";
import type { Timetable } from "./timetable.ts";

/** What the flows of one engine share. */
export interface EngineContext {
  readonly config: EngineConfig;
  readonly keys: Keyring;
  /** This node's identity, 16 bytes. */
  readonly identity: Uint8Array;
  readonly sockets: Sockets;
  readonly timetable: Timetable;
  readonly stalls: StallMonitor;
  /** Actual minus planned send time, seconds; replaced with each snapshot. */
  readonly lateness: { current: Distribution };
  /** How many times the configured interval lies between two sends; the whole thread's. */
  readonly pace: { readonly factor: number };
  /** Milliseconds, sub-microsecond grain, never backwards. */
  monotonic(): number;
  /** Uniform in [0, 1): for phases and back-off, not for secrets. */
  random(): number;
  /** Unpredictable 64 bits. */
  nonce(): bigint;
  /** Runs after everything that is readable now has been read. */
  afterPoll(run: () => void): void;
}

/** A peer measured by one method. */
export interface Flow {
  start(): void;
  stop(): void;
  drain(): FlowSnapshot;
}

import type { Distribution } from "@isochrone/telemetry";
import type { Keyring } from "../domain/keyring.ts";
import type { StallMonitor } from "../domain/stall-monitor.ts";
import type { EngineConfig, FlowSnapshot } from "../ports/ports.ts";
import type { Sockets } from "./sockets/port.ts";
import type { Timetable } from "./timetable.ts";

export interface EngineContext {
  readonly config: EngineConfig;
  readonly keys: Keyring;
  readonly identity: Uint8Array;
  readonly sockets: Sockets;
  readonly timetable: Timetable;
  readonly stalls: StallMonitor;
  /** Actual minus planned send time, seconds; replaced with each snapshot. */
  readonly lateness: { current: Distribution };
  /** Multiplier of the send interval for the whole thread. */
  readonly pace: { readonly factor: number };
  monotonic(): number;
  random(): number;
  nonce(): bigint;
  /** Runs `run` after reading everything that is readable now. */
  afterPoll(run: () => void): void;
}

export interface Flow {
  start(): void;
  stop(): void;
  drain(): FlowSnapshot;
}

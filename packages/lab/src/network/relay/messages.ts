import type { CallMessage } from "../../child/call-process.ts";
import type { LinkMatrix, LinkSettings } from "../links.ts";
import type { Protocol, TrafficRecord } from "../record.ts";

/** One listener of an exposed port: what `source` sends to `host:port`. */
export interface ListenerPlan {
  readonly source: number;
  readonly host: string;
  /** 0: the system chooses. */
  readonly port: number;
  /** Address that the traffic leaves from; null leaves it to the system. */
  readonly egressHost: string | null;
}

/** A port of a node, to be opened for the other nodes. */
export interface ExposePlan {
  readonly target: number;
  readonly protocol: Protocol;
  readonly port: number;
  readonly targetHost: string;
  readonly listeners: readonly ListenerPlan[];
}

/** The record of one ordered pair that had traffic. */
export interface RelayPairRecord {
  readonly source: number;
  readonly target: number;
  readonly udp: TrafficRecord;
  readonly tcp: TrafficRecord;
}

/** What the parent asks of the relay, and what it gets. */
export interface RelayCalls {
  configure: {
    readonly arguments: { readonly links: LinkMatrix; readonly seed: number };
    readonly result: null;
  };
  setLink: {
    readonly arguments: { readonly source: number; readonly target: number; readonly link: LinkSettings };
    readonly result: null;
  };
  /** The port of every listener, in the order of the plan. */
  expose: { readonly arguments: ExposePlan; readonly result: readonly number[] };
  unexpose: {
    readonly arguments: { readonly target: number; readonly protocol: Protocol; readonly port: number };
    readonly result: null;
  };
  record: { readonly arguments: { readonly lastMs: number }; readonly result: readonly RelayPairRecord[] };
}

type RelayCall = keyof RelayCalls;

/** Parent to relay. */
export interface RelayRequest<C extends RelayCall = RelayCall> {
  readonly id: number;
  readonly call: C;
  readonly arguments: RelayCalls[C]["arguments"];
}

/** Something that the parent's log should say. */
export interface RelayFault {
  readonly kind: "fault";
  readonly event: string;
  readonly message: string;
}

/** Relay to parent. */
export type RelayMessage = CallMessage | RelayFault;

import type { CallMessage } from "../../child/call-process.ts";
import type { LinkMatrix, LinkSettings } from "../links.ts";
import type { Protocol, TrafficRecord } from "../record.ts";

export interface ListenerPlan {
  readonly source: number;
  readonly host: string;
  readonly port: number;
  /** Source address of forwarded traffic; null: the system chooses. */
  readonly egressHost: string | null;
}

export interface ExposePlan {
  readonly target: number;
  readonly protocol: Protocol;
  readonly port: number;
  readonly targetHost: string;
  readonly listeners: readonly ListenerPlan[];
}

export interface RelayPairRecord {
  readonly source: number;
  readonly target: number;
  readonly udp: TrafficRecord;
  readonly tcp: TrafficRecord;
}

export interface RelayCalls {
  configure: {
    readonly arguments: { readonly links: LinkMatrix; readonly seed: number };
    readonly result: null;
  };
  setLink: {
    readonly arguments: { readonly source: number; readonly target: number; readonly link: LinkSettings };
    readonly result: null;
  };
  expose: { readonly arguments: ExposePlan; readonly result: readonly number[] };
  unexpose: {
    readonly arguments: { readonly target: number; readonly protocol: Protocol; readonly port: number };
    readonly result: null;
  };
  record: { readonly arguments: { readonly lastMs: number }; readonly result: readonly RelayPairRecord[] };
}

type RelayCall = keyof RelayCalls;

export interface RelayRequest<C extends RelayCall = RelayCall> {
  readonly id: number;
  readonly call: C;
  readonly arguments: RelayCalls[C]["arguments"];
}

export interface RelayFault {
  readonly kind: "fault";
  readonly event: string;
  readonly message: string;
}

export type RelayMessage = CallMessage | RelayFault;

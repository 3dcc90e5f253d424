// IPC messages between the kubelet and a pod's process. Types only.
import type { Behaviour } from "../manifest/model.ts";
import type { SocketAddress } from "../ports.ts";

export interface Identity {
  readonly pod: string;
  readonly namespace: string;
  readonly workload: string;
  readonly app: string;
  readonly version: string;
  readonly address: string;
}

export interface PodConfig {
  readonly identity: Identity;
  /** Service through which others call this pod; "unknown" without one. */
  readonly service: string;
  readonly behaviour: Behaviour;
  /** Ports of the container's previous run, tried first to keep routes valid; 0 = any. */
  readonly port: number;
  readonly metricsPort: number;
  readonly callTimeoutMs: number;
  readonly usageIntervalMs: number;
  readonly idleTimeoutMs: number;
  /** Its node has a CPU budget that busy work must request from. */
  readonly sharesCpu: boolean;
  readonly niceness: number | null;
}

/** A route's pod, with its address as seen from the caller's node. */
export interface RouteEndpoint extends SocketAddress {
  readonly identity: Identity;
}

export interface Route {
  readonly service: string;
  readonly namespace: string;
  readonly endpoints: readonly RouteEndpoint[];
  /** As kube-proxy does; absent: in turn. */
  readonly choice?: "random";
  /** Host name for a proxy; absent: the caller's. */
  readonly authority?: string;
}

/** Received requests by calling workload, cumulative since process start. */
export type ReceivedCounts = Readonly<Record<string, number>>;

export interface Usage {
  readonly timeMs: number;
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
}

export type ToPod =
  | { readonly type: "configure"; readonly config: PodConfig }
  | { readonly type: "routes"; readonly routes: readonly Route[] }
  | { readonly type: "counts"; readonly id: number }
  | { readonly type: "page"; readonly id: number }
  | { readonly type: "behaviour"; readonly behaviour: Behaviour }
  | { readonly type: "worked"; readonly id: number }
  | { readonly type: "stop" };

export type FromPod =
  | { readonly type: "listening"; readonly port: number; readonly metricsPort: number }
  | { readonly type: "usage"; readonly usage: Usage; readonly received: ReceivedCounts }
  | { readonly type: "counts"; readonly id: number; readonly received: ReceivedCounts }
  | { readonly type: "final"; readonly usage: Usage; readonly received: ReceivedCounts }
  | { readonly type: "page"; readonly id: number; readonly text: string }
  | { readonly type: "work"; readonly id: number; readonly cpuMs: number }
  | { readonly type: "failed"; readonly reason: string };

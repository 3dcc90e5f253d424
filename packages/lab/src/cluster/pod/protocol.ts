// What the kubelet and a pod's process say to each other over the IPC channel. Types only: nothing of this
// exists at run time.
import type { Behaviour } from "../manifest/model.ts";
import type { SocketAddress } from "../ports.ts";

/** Who a pod is, as its sidecar tells others. */
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
  /** The service under which others call this pod; "unknown" without one. */
  readonly service: string;
  readonly behaviour: Behaviour;
  /**
   * Ports of the previous run of this container, tried first so that others need not learn new ones; 0 = any.
   */
  readonly port: number;
  readonly metricsPort: number;
  /** A call through the outbound listener is answered 504 after this time. */
  readonly callTimeoutMs: number;
  readonly usageIntervalMs: number;
  /** Kept connections are closed after so long without use. */
  readonly idleTimeoutMs: number;
  /** Its node has a budget of CPU: busy work asks for its share. */
  readonly sharesCpu: boolean;
  /** Null: as it was started. */
  readonly niceness: number | null;
}

/** A pod that serves a route, with the address that reaches it from the caller's node. */
export interface RouteEndpoint extends SocketAddress {
  readonly identity: Identity;
}

export interface Route {
  readonly service: string;
  readonly namespace: string;
  readonly endpoints: readonly RouteEndpoint[];
  /** As kube-proxy chooses; absent: one after the other. */
  readonly choice?: "random";
  /** The host that a proxy knows the Service by; absent: the one that the caller names. */
  readonly authority?: string;
}

/** Requests that an application received, by the caller's workload: cumulative since the process began. */
export type ReceivedCounts = Readonly<Record<string, number>>;

export interface Usage {
  readonly timeMs: number;
  /** CPU time since the process began. */
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

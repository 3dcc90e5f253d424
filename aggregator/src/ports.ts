import type { ClusterState } from "./domain/cluster-state.ts";

/** Where a node's probe measures a peer. */
export interface ProbeAddress {
  /** IP address to send to; may be a translated one. */
  readonly address: string;
  /** What the peer itself is called by: its own IP address. */
  readonly identity: string;
  readonly udpPort: number;
  readonly tcpPort: number;
}

/** Addresses of the probes. Null: that node runs no probe with an address yet. */
export interface ProbeAddresses {
  peer(source: string, target: string): ProbeAddress | null;
  self(node: string): string | null;
}

/** Files of the web page by URL path; "/" is the document. */
export interface PageAssets {
  readonly assets: ReadonlyMap<string, { readonly contentType: string; readonly body: string | Buffer }>;
}

/** The cluster as its objects tell it. */
export interface ClusterWatch {
  /** Cheap while nothing changed. */
  current(): ClusterState;
  /** Kinds whose first list is still to come. */
  pending(): readonly string[];
  start(): Promise<void>;
  stop(): Promise<void>;
}

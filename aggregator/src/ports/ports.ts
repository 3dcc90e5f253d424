import type { Secret } from "@isochrone/runtime";
import type { ClusterNodes, ClusterState } from "../domain/cluster-state.ts";
import type { FitInput } from "../coordinates/domain/coordinate-samples.ts";
import type { CoordinateModel } from "../coordinates/domain/coordinates.ts";

/** Where a node's probe measures a peer. */
export interface ProbeAddress {
  /** IP address to send to; may be a translated one. */
  readonly address: string;
  /** What the peer itself is called by: its own IP address. */
  readonly identity: string;
  readonly udpPort: number;
  readonly tcpPort: number;
  /** Null: that probe takes no bandwidth bursts. */
  readonly bandwidthPort: number | null;
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
  /** The same object while nothing changed that is read of a node, whatever pods do. */
  nodes(): ClusterNodes;
  /** Kinds whose first list is still to come. */
  pending(): readonly string[];
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** A key of packet authentication. */
export interface HmacKey {
  /** 1 to 65535. */
  readonly id: number;
  /** Wall time, ms since the epoch; null: somebody else made it. */
  readonly createdAtMs: number | null;
  /** Base64. */
  readonly secret: Secret;
}

/** All keys that verify, oldest first, and the one that signs. */
export interface HmacKeySet {
  readonly keys: readonly HmacKey[];
  readonly signingKeyId: number;
}

/** What a store holds, and the revision that the next write must name. */
export interface StoredKeys {
  /** Null: no keys yet. */
  readonly set: HmacKeySet | null;
  /** Null: nothing is stored at all. */
  readonly revision: string | null;
}

/** Where probes read their keys from. */
export interface KeyStore {
  /** Rejects with a KeyStoreError when what is stored can't be read; no message shows a secret. */
  read(): Promise<StoredKeys>;
  /**
   * Gives the new revision. Rejects with a KeyStoreError `key_store_conflict` when `revision` is not the
   * stored one.
   */
  write(set: HmacKeySet, revision: string | null): Promise<string>;
}

/** What a fit of network coordinates came to. */
export interface CoordinateFit {
  readonly model: CoordinateModel;
  /** Time that it took, without waiting. */
  readonly durationMs: number;
  /** Of pairs that the fit was not shown; null when there were too few. */
  readonly medianRelativeError: number | null;
  readonly p90RelativeError: number | null;
  /** Samples that weren't used, by reason. */
  readonly rejected: Readonly<Record<string, number>>;
}

/** Fits network coordinates without holding up the event loop. */
export interface CoordinateFitter {
  /** One at a time; starts from the fit before, if there was one. Rejects with a CoordinateError. */
  fit(input: FitInput): Promise<CoordinateFit>;
  /** Ends a fit under way, which rejects. */
  close(): Promise<void>;
}

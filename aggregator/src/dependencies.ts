import type { Bus } from "@isochrone/bus";
import type { ClusterStore, Leadership } from "@isochrone/kubernetes";
import type { PriceTable } from "@isochrone/prices";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import type { Outside } from "@isochrone/telemetry/outside";
import type { HttpApp, RequestGate } from "@isochrone/runtime/http";
import type { Registry } from "prom-client";
import type { KeptCertificates } from "./adapters/own-certificates.ts";
import type { ClusterControllersConfig } from "./cluster-controllers.ts";
import type { Speakers } from "./domain/speakers/speaker.ts";
import type { CoordinateFitter, KeyStore, PageAssets, ProbeAddresses } from "./ports/ports.ts";
import type { AnnotationConfig } from "./writers/settings.ts";

/** What an aggregator works with. */
export interface AggregatorDependencies {
  readonly bus: Bus;
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  /** @default the probe pods' own addresses, from the store */
  readonly addresses?: ProbeAddresses;
  /** @default a thread of its own */
  readonly coordinates?: CoordinateFitter;
  /** Where the keys of packet authentication are kept. @default as the settings say */
  readonly keyStore?: KeyStore;
  /** Where the keys of records on a shared bus are kept. @default as the settings say */
  readonly recordKeyStore?: KeyStore;
  /** @default by a Lease among several replicas, else this one: it is the only one */
  readonly leadership?: Leadership;
  /** Bytes that nobody can guess, for keys and leases. @default the system's */
  readonly randomBytes?: (count: number) => Uint8Array;
  /** The web page; without it there is none. */
  readonly page?: PageAssets;
  /**
   * Adds routes of whoever composes this to the graph API's address, so that the page reaches them. @default
   * none
   */
  readonly addRoutes?: (app: HttpApp) => Promise<void>;
  /** What is written onto the cluster's objects. @default nothing */
  readonly annotations?: AnnotationConfig;
  /** The pod or machine that it runs on, for people who look for who writes. @default it has no name */
  readonly machine?: string;
  /** How what only the leader writes is written. @default nothing is */
  readonly controllers?: ClusterControllersConfig;
  /** Of the same cluster, for Leases alone: they must not wait behind other writes. @default `store` */
  readonly leaseStore?: ClusterStore;
  /** What traffic costs. @default as the settings say */
  readonly prices?: PriceTable;
  /** What is outside of the cluster. @default as the settings' file says */
  readonly outside?: Outside | null;
  /** Who may ask for what. @default everyone: for loopback only */
  readonly access?: { readonly gate: RequestGate | undefined; readonly isMetricsOpen: boolean };
  /**
   * Tells who sent a record.
   * @default by the header that the ingest sets, where access is asked for and nobody else writes to the bus
   */
  readonly speakers?: Speakers;
  /** What all replicas serve by; running. @default files, as the settings say */
  readonly certificates?: KeptCertificates | null;
  /**
   * True: the bus outlives this process, and others read and write it. False: only this process does.
   * @default false
   */
  readonly isShared?: boolean;
}

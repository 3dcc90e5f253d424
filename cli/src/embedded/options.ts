import type { Logger } from "@isochrone/runtime";

export interface EmbeddedOptions {
  /** Port of page and graph API; extender and emulator use the next two. 0: any free ones. */
  readonly port: number;
  /** @default 8, or the matrix's number of names */
  readonly nodes?: number;
  /** File of round-trip times in ms; undefined: the built-in excerpt. */
  readonly matrix?: string;
  /** File of Deployments; undefined: the sample workflow. */
  readonly manifest?: string;
  /** File of traffic prices; undefined: see `embeddedPrices`. */
  readonly prices?: string;
  readonly requestsPerSecond: number;
  readonly windowMs: number;
  readonly seed: number;
  readonly placement: "score" | "spread";
  /** Creates EndpointSlices whose hints requests follow round-robin. Stand-in only. @default false */
  readonly slices?: boolean;
  /** False: the descheduler only reports. @default true */
  readonly movesPods?: boolean;
  /** Names, or name:port, accepted besides loopback ones. */
  readonly allowedHosts: readonly string[];
  readonly logger: Logger;
  /** Kubeconfig of a cluster with simulated nodes to use; undefined: a stand-in. */
  readonly kubeconfig?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface EmbeddedUrls {
  readonly page: string;
  readonly extender: string;
  readonly lab: string;
}

import type { EndToEnd, Move } from "@isochrone/lab";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import type { EmbeddedUrls } from "../embedded/options.ts";

/** How far the graphs have come since the start. */
export interface WarmUp {
  readonly linksMeasured: number;
  readonly links: number;
  readonly channels: number;
  readonly podsReady: number;
  readonly pods: number;
  readonly seconds: number;
}

export interface LiveView {
  readonly graph: ClusterGraphSnapshot;
  readonly endToEnd: EndToEnd;
  readonly pods: readonly {
    readonly name: string;
    readonly workload: string;
    readonly node: string | null;
  }[];
}

/** Tells whoever started the embedded cluster what goes on: people by text, programs by JSON lines. */
export interface Reporter {
  /** Null: on the nodes of a cluster that there is. */
  starting(nodes: number | null): void;
  /**
   * @param pageWithControls the page with the token of the emulator's controls: for a terminal, never for a
   * log
   */
  started(urls: EmbeddedUrls, pid: number, pageWithControls: string): void;
  warming(progress: WarmUp): void;
  warm(progress: WarmUp): void;
  replacing(before: EndToEnd): void;
  replaced(before: EndToEnd, after: EndToEnd, moves: readonly Move[]): void;
  networkDown(reason: string): void;
  table(view: LiveView): void;
  tableFailed(error: unknown): void;
  /** Something went wrong that ends nothing. */
  trouble(what: string, error: unknown): void;
  stopping(): void;
  stopped(): void;
}

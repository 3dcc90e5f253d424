import type { EndToEnd, Move, TableSites } from "@isochrone/lab";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import type { ActResult, PlacingAct } from "../embedded/acts.ts";
import type { MachineState } from "../embedded/machine.ts";
import type { MoveGroup } from "../embedded/move-log.ts";
import type { BusyLink } from "../embedded/network-time.ts";
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

/** How far the measurement of an act has come. */
export interface Measuring {
  readonly act: PlacingAct;
  /** Time in which the machine was in time throughout, up to now. */
  readonly fairMs: number;
  /** It ends once that is so long, or after `patienceMs`. */
  readonly wantedMs: number;
  readonly allMs: number;
  readonly patienceMs: number;
}

/** Parts start one after the other; the page answers once it is served. */
export interface Starting {
  readonly part: string;
  /** Number of parts that have started. */
  readonly done: number;
  readonly total: number;
}

/** Tells whoever started the embedded cluster what goes on: people by text, programs by JSON lines. */
export interface Reporter {
  /** Null: on the nodes of a cluster that there is. */
  starting(nodes: number | null): void;
  /** A part begins to start. */
  startingPart(progress: Starting): void;
  /** The page answers, and says what it still waits for. */
  serving(page: string): void;
  /**
   * @param pageWithControls the page with the token of the emulator's controls: for a terminal, never for a
   * log
   */
  started(urls: EmbeddedUrls, pid: number, pageWithControls: string): void;
  /** Nodes of the matrix that was given, and which of their labels were derived from times. */
  network(network: TableSites): void;
  warming(progress: WarmUp): void;
  warm(progress: WarmUp): void;
  measuring(progress: Measuring): void;
  /** The next act begins: pods are replaced. */
  replacing(act: PlacingAct, before: ActResult): void;
  /** An act has been measured. @param before null: it is the first one */
  placed(result: ActResult, before: ActResult | null, moves: readonly Move[]): void;
  /**
   * All acts that place the workflow are over.
   * @param link the one that its calls cross most; null: they cross none
   */
  verdict(results: readonly ActResult[], link: BusyLink | null, isLive: boolean): void;
  /** The machine has become busy, or has recovered. */
  machine(state: MachineState): void;
  moved(group: MoveGroup): void;
  /** What a move brought. @param doubt why the figures say little about it; null: they do */
  moveMeasured(group: MoveGroup, after: EndToEnd, doubt: string | null): void;
  networkDown(reason: string): void;
  table(view: LiveView): void;
  tableFailed(error: unknown): void;
  /** Something went wrong that ends nothing. */
  trouble(what: string, error: unknown): void;
  stopping(): void;
  stopped(): void;
}

import type { EndToEnd, Move, TableSites } from "@isochrone/lab";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import type { ActResult, PlacingAct } from "../embedded/acts.ts";
import type { MachineState } from "../embedded/machine.ts";
import type { MoveGroup } from "../embedded/move-log.ts";
import type { BusyLink } from "../embedded/network-time.ts";
import type { EmbeddedUrls } from "../embedded/options.ts";

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

export interface Measuring {
  readonly act: PlacingAct;
  readonly fairMs: number;
  readonly wantedMs: number;
  readonly allMs: number;
  readonly patienceMs: number;
}

export interface Starting {
  readonly part: string;
  readonly done: number;
  readonly total: number;
}

/** Reports the embedded cluster's progress: text for people, JSON lines for programs. */
export interface Reporter {
  /** Null: the nodes of an existing cluster. */
  starting(nodes: number | null): void;
  startingPart(progress: Starting): void;
  serving(page: string): void;
  /**
   * @param pageWithControls contains the token of the emulator's controls: for a terminal, never for a log
   */
  started(urls: EmbeddedUrls, pid: number, pageWithControls: string): void;
  network(network: TableSites): void;
  warming(progress: WarmUp): void;
  warm(progress: WarmUp): void;
  measuring(progress: Measuring): void;
  replacing(act: PlacingAct, before: ActResult): void;
  /** An act was measured. @param before null: the first act */
  placed(result: ActResult, before: ActResult | null, moves: readonly Move[]): void;
  /** All placing acts are over. @param link the most used link; null: none */
  verdict(results: readonly ActResult[], link: BusyLink | null, isLive: boolean): void;
  machine(state: MachineState): void;
  moved(group: MoveGroup): void;
  /** @param doubt why the figures are unreliable; null: they are reliable */
  moveMeasured(group: MoveGroup, after: EndToEnd, doubt: string | null): void;
  networkDown(reason: string): void;
  table(view: LiveView): void;
  tableFailed(error: unknown): void;
  /** A failure that ends nothing. */
  trouble(what: string, error: unknown): void;
  stopping(): void;
  stopped(): void;
}

import type { Departures, WorkflowGraphSnapshot } from "@isochrone/topology";
import { rfc3339 } from "../graphs/graph-time.ts";
import { Baselines } from "./baselines.ts";
import { LossBaselines } from "./loss-baselines.ts";
import { PairReadings, type LinkReading, type PairNames } from "./pair-readings.ts";
import { PairUse } from "./pair-use.ts";

export const NO_DEPARTURES: Departures = { pairs: [], counts: { latency: 0, loss: 0 }, common: [] };

const KINDS = ["latency", "loss"] as const;
const MAX_LISTED = 20;

export class PairBaselines {
  readonly #readings = new PairReadings();
  readonly #baselines = {
    /** Milliseconds. A recovered link needs only a short confirmation. */
    latency: new Baselines({ floor: 2, ratio: 0.75, releaseMs: 20_000 }),
    loss: new LossBaselines(),
  };

  begin(pairs: number): void {
    this.#readings.begin(pairs);
  }

  add(reading: LinkReading): void {
    this.#readings.add(reading, (pair) => {
      for (const kind of KINDS) this.#baselines[kind].forget(pair);
    });
  }

  observe(nowMs: number): void {
    this.#baselines.latency.observe(this.#readings.latency(), nowMs);
    this.#baselines.loss.observe(this.#readings.packets(), nowMs);
  }

  /** @param workflows whose channels may use a pair */
  report(workflows: readonly WorkflowGraphSnapshot[], isDown: (node: string) => boolean): Departures {
    const report: Departures = { pairs: [], counts: { latency: 0, loss: 0 }, common: [] };
    let use: PairUse | null = null;
    for (const kind of KINDS) {
      const baselines = this.#baselines[kind];
      const common = baselines.common();
      const departures = baselines.departures().flatMap((departure) => {
        const names: PairNames | null = this.#readings.names(departure.series);
        return names === null || isDown(names.source) || isDown(names.target)
          ? []
          : [{ ...departure, names }];
      });
      report.counts[kind] = common?.series ?? departures.length;
      if (common !== null)
        report.common.push({ kind, since: rfc3339(common.sinceMs), pairs: common.series, all: common.all });
      for (const { names, sinceMs, value, before, error, acceptedAtMs } of departures.slice(0, MAX_LISTED)) {
        use ??= new PairUse(workflows);
        report.pairs.push({
          ...names,
          kind,
          since: rfc3339(sinceMs),
          now: value,
          before,
          error,
          acceptedAt: rfc3339(acceptedAtMs),
          workloads: use.busiest(names),
        });
      }
    }
    return report;
  }
}
